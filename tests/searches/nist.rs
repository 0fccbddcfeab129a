//! NIST's nonlinear problems without a start, and from random starts.

use crate::support::nist::{Problem, problems};
use dualfit::{CurveFit, Data, Fit, SearchOptions, SearchWhen, Start};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The certified sum of squares, to five digits; exact data leave rounding alone.
fn is_solved(problem: &Problem, fit: &Fit) -> bool {
    2.0 * fit.cost() <= problem.rss * (1.0 + 1e-5) + 1e-24
}

#[test]
fn all_27_are_solved_without_a_start() {
    for problem in problems() {
        let model = CurveFit::parse(&problem.model, &problem.variables).unwrap();
        let columns: Vec<&[f64]> = problem.predictors.iter().map(Vec::as_slice).collect();
        let data = Data::new(columns, &problem.y).unwrap();
        let fit = model.fit(data, Start::Guess).unwrap();
        let search = fit.start_search().unwrap();
        println!("{:<9} {:>12.6e} {search}", problem.name, 2.0 * fit.cost());
        assert!(is_solved(&problem, &fit), "{}: {fit}", problem.name);
    }
}

/// Starts are the certified parameters, each times exp(s·N(0, 1)): 20 for each of 26 problems.
#[test]
fn random_starts_are_saved_by_a_search() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(44);
    for s in [0.3, 1.0, 2.0] {
        let (mut plain, mut searched, mut total) = (0, 0, 0);
        for problem in problems().iter().filter(|p| p.name != "Nelson") {
            let model = CurveFit::parse(&problem.model, &problem.variables).unwrap();
            let columns: Vec<&[f64]> = problem.predictors.iter().map(Vec::as_slice).collect();
            let data = || Data::new(columns.clone(), &problem.y).unwrap();
            for _ in 0..20 {
                let start: Vec<f64> = model
                    .parameters()
                    .iter()
                    .map(|name| {
                        let i = problem.parameters.iter().position(|p| p == name).unwrap();
                        let normal: f64 = StandardNormal.sample(&mut random);
                        problem.certified[i] * (s * normal).exp()
                    })
                    .collect();
                let solved = |fit: dualfit::Result<Fit>| {
                    usize::from(fit.is_ok_and(|fit| is_solved(problem, &fit)))
                };
                total += 1;
                plain += solved(model.fit(data(), &start));
                let search = SearchOptions::default().when(SearchWhen::Always);
                searched += solved(model.clone().search(search).fit(data(), &start));
            }
        }
        println!("s = {s}: {plain} of {total} without a search, {searched} with one");
        assert_eq!(total, 520);
        assert!(searched >= 510, "{searched}");
    }
}

//! NIST's nonlinear problems without a start, and from random starts.

use crate::support::nist::{Problem, digits, problems};
use dualfit::{CurveFit, Data, Fit, SearchOptions, SearchWhen, Start};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::time::Instant;

fn least_digits(problem: &Problem, fit: &Fit) -> f64 {
    let certified = |name: &String| {
        let i = problem.parameters.iter().position(|p| p == name).unwrap();
        problem.certified[i]
    };
    let pairs = fit.names().iter().zip(fit.params());
    pairs.map(|(name, &value)| digits(value, certified(name))).fold(f64::INFINITY, f64::min)
}

#[test]
fn all_27_are_solved_without_a_start() {
    let mut solved = 0;
    for problem in problems() {
        let model = CurveFit::parse(&problem.model, &problem.variables).unwrap();
        let columns: Vec<&[f64]> = problem.predictors.iter().map(Vec::as_slice).collect();
        let begun = Instant::now();
        let fit = model.fit(Data::new(columns, &problem.y).unwrap(), Start::Guess);
        let milliseconds = 1e3 * begun.elapsed().as_secs_f64();
        match fit {
            Ok(fit) => {
                let digits = least_digits(&problem, &fit);
                solved += usize::from(digits >= 4.0);
                println!(
                    "{:<9} {digits:>5.1} digits, {milliseconds:>7.1} ms, cost {:e}, {:?} {:?}",
                    problem.name,
                    fit.cost(),
                    fit.start_search(),
                    fit.warnings()
                );
            }
            Err(error) => println!("{:<9} {error}", problem.name),
        }
    }
    println!("{solved} of 27");
}

/// Each parameter of both certified starts' answer times exp(s·N(0, 1)): 520 fits for each s.
#[test]
fn random_starts_are_saved_by_a_search() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(44);
    for s in [0.3, 1.0, 2.0] {
        let (mut plain, mut searched, mut total) = (0, 0, 0);
        let begun = Instant::now();
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
                let is_solved = |fit: dualfit::Result<Fit>| {
                    fit.is_ok_and(|fit| 2.0 * fit.cost() <= problem.rss * (1.0 + 1e-5) + 1e-24)
                };
                total += 1;
                plain += usize::from(is_solved(model.fit(data(), &start)));
                let search = SearchOptions::default().when(SearchWhen::Always);
                let solved = is_solved(model.clone().search(search).fit(data(), &start));
                searched += usize::from(solved);
                if !solved {
                    println!("{} {start:?}", problem.name);
                }
            }
        }
        println!(
            "s = {s}: {plain} plain, {searched} with a search of {total}, {:?}",
            begun.elapsed()
        );
    }
}

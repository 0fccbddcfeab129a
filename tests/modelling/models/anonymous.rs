//! The formulas of the library's models, without the guesses and bounds that come with the models, are fitted without a start.

use crate::models::truths::{experiment, measured, program};
use dualfit::{CurveFit, Data, Fit, Start, models};

const DRAWS: u64 = 25;

/// Returns true if a fit warns that its result may not be the best minimum.
pub(crate) fn is_warned(fit: &Fit) -> bool {
    !fit.converged() || !fit.warnings().is_empty()
}

#[test]
fn formulas_are_fitted_as_well_as_with_the_guess_of_the_model() {
    let (mut total, mut worse, mut silent) = (0, 0, 0);
    for name in models::names() {
        let model = models::by_name(name).unwrap();
        let anonymous = CurveFit::parse(&model.formula().unwrap(), model.variables()).unwrap();
        let (own, program) = (CurveFit::from(model), program(name));
        let mut lines = String::new();
        let mut good = 0;
        for seed in 0..DRAWS {
            let (columns, truth, mut rng) = experiment(name, seed);
            let y = measured(&program, &columns, &truth, (0.02, 0.05), &mut rng);
            let data = || Data::new(columns.iter().collect::<Vec<_>>(), &y).unwrap();
            let guessed = own.fit(data(), Start::Guess).unwrap();
            total += 1;
            let found = match anonymous.fit(data(), Start::Guess) {
                Ok(found) => found,
                Err(error) => {
                    worse += 1;
                    lines += &format!("    {seed}: {error}\n");
                    continue;
                }
            };
            let tolerance = if name.ends_with("_linear") { 1e-3 } else { 1e-6 };
            if found.cost() <= guessed.cost() * (1.0 + tolerance) {
                good += 1;
                continue;
            }
            worse += 1;
            silent += usize::from(!is_warned(&found));
            lines += &format!(
                "    {seed}: cost {} of that with the guess, {}, truth {truth:?}, found {:?} {:?} {:?}\n",
                found.cost() / guessed.cost(),
                if is_warned(&found) { "warned" } else { "SILENT" },
                found.params(),
                found.termination(),
                found.start_search(),
            );
        }
        println!("{name:28} {good:3} of {DRAWS}");
        print!("{lines}");
    }
    println!("{worse} of {total} worse than with the model's guess, {silent} without a warning");
    assert!(total > 1500 && 200 * worse <= total && 500 * silent <= total);
}

//! Constants of the algorithm that the CPU and the kernels share. Rust takes them from here, and kernels get
//! this table printed as C++, so that both solvers take the same decisions.

use std::fmt::Write;

/// The type of a constant in C++.
trait Cxx {
    const NAME: &'static str;
}
impl Cxx for f64 {
    const NAME: &'static str = "double";
}
impl Cxx for usize {
    const NAME: &'static str = "int";
}

macro_rules! constants {
    ($($(#[$doc:meta])+ $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[$doc])+ pub(crate) const $name: $kind = $value;)+

        /// Declares all constants in C++.
        pub(crate) fn declare(text: &mut String) {
            // Writing to a string cannot fail; the shortest decimals, which `{:?}` gives, come back as the same bits.
            $(let _ = writeln!(
                text,
                "[[maybe_unused]] constexpr {} {} = {:?};",
                <$kind as Cxx>::NAME, stringify!($name), $name
            );)+
        }
    };
}

constants! {
    /// A step is accepted if the cost falls by this part of what was predicted (Moré 1978).
    ACCEPT: f64 = 1e-4;
    /// Where the cost fell as predicted to this part, the model is linear and the region grows by `BOLD`: a
    /// linear model far from its start takes three evaluations instead of twenty.
    FAITHFUL: f64 = 1e-9;
    /// The factor by which it grows.
    BOLD: f64 = 100.0;
    /// Shortenings of a step into a region where the model is not finite.
    MAX_SHORTENINGS: usize = 30;
    /// After the tolerances are met, full steps go on until none would change a parameter by more than this part of
    /// its size: the cost is flat at its minimum, and says nothing of the last digits.
    LAST_DIGITS: f64 = 1e-8;
    /// The step after that is taken without an evaluation, which leaves an error far below itself, if the cost
    /// would fall by no more than this part, and rounding changes it by no more than `LAST_NOISE`: then it is
    /// known there as well, however crooked the model.
    LAST_FALL: f64 = 1e-12;
    /// See `LAST_FALL`.
    LAST_NOISE: f64 = 1e-10;
    /// That step is also taken where changes shrink so fast that the one after it would be this small.
    LAST_CHANGE: f64 = 1e-9;
    /// A short step ends a fit within its errors (`etol`) only if the full step before it lowered the cost as predicted,
    /// to this part. These five limits were chosen by 720,000 fits of six models, a third of them hardly above the noise; of
    /// a million others none ends beyond 3 `etol`.
    CALM_RATIO: f64 = 0.25;
    /// It changed the length of no column of the Jacobian by more than this factor.
    CALM_BEND: f64 = 1.25;
    /// Along the short step, steps shrink by this factor at least.
    CALM_RATE: f64 = 0.5;
    /// Continued at that rate, further steps add up to no more than this part of `etol`.
    CALM_REST: f64 = 0.25;
    /// The standard deviation of a point is at most this part of the signal, times the least part of a column that the columns before
    /// it do not span. All 45 of 360,000 fits that ended beyond 3 `etol` by the other four limits were above 0.129.
    CALM_NOISE: f64 = 0.1;
    /// Evaluations spent on the last digits at most.
    MAX_REFINEMENTS: usize = 8;
    /// A squared pivot of the scaled normal matrix below this asks for the factor of J: the step would have fewer
    /// than about five digits.
    LEAST_PIVOT: f64 = 1e-11;
    /// The step's length may differ from the radius by this part (Moré 1978, section 5).
    SLACK: f64 = 0.1;
    /// Newton steps on λ; two or three are usual.
    MAX_NEWTON_STEPS: usize = 12;
    /// The cosine between a parameter's column and the linear model's residual from which on it is taken off a
    /// bound: less is rounding.
    RELEASE: f64 = 1e-10;
    /// The cosine between a parameter's column and the residuals from which on a bound holds it firmly.
    HELD: f64 = 1e-8;
    /// Rounding of a cost: this many units in the last place of ‖y‖·‖r‖.
    ROUNDING: f64 = 4.0 * f64::EPSILON;
    /// Steps that Anderson's mixing keeps: directions in which the convergence of plain steps is slow are few.
    DEPTH: usize = 4;
    /// Sweeps of Jacobi's rotations. Convergence is quadratic at the end; 5 to 12 are usual.
    MAX_SWEEPS: usize = 60;
    /// Squares and products below this may have lost terms to underflow.
    SAFE: f64 = 1e-270;
    /// A squared pivot of R, its columns scaled to length 1, above which the normal equations, or R, give the
    /// covariance by their inverse: it loses at most four of sixteen digits that way, and a pass over the data is
    /// saved, a sixth of the time of a large fit.
    WELL_CONDITIONED: f64 = 1e-4;
    /// A parameter whose part in an undetermined direction is below this is determined: singular vectors carry
    /// errors of about √ε at worst where the gap to the next singular value is wide.
    LEAST_PART: f64 = 1.5e-8;
    /// Rows up to which the error of a factor is taken to grow with their number: the shortest chunk.
    ROWS_WITH_ERROR: usize = 4096;
    /// A start is far if the points are this many scales away, by their geometric mean.
    FAR: f64 = 30.0;
    /// ln(1 + FAR²): the mean of Cauchy's loss at that distance.
    FAR_LOSS: f64 = 6.803505257608338;
    /// The relative difference of two numbers next to each other.
    EPSILON: f64 = f64::EPSILON;
    /// The least normal number.
    SMALLEST: f64 = f64::MIN_POSITIVE;
}

#[cfg(test)]
mod tests {
    use super::{ACCEPT, FAR, FAR_LOSS, declare};

    #[test]
    fn numbers_come_back_from_their_text() {
        let mut text = String::new();
        declare(&mut text);
        assert!(text.contains(&format!("constexpr double ACCEPT = {ACCEPT:?};\n")), "{text}");
        assert!(text.contains("constexpr int DEPTH = 4;\n") && text.is_ascii(), "{text}");
        for line in text.lines().filter(|line| line.contains(" double ")) {
            let number = line.split_once("= ").unwrap().1.trim_end_matches(';');
            assert!(number.contains(['.', 'e']), "{line}: an integer in C++");
        }
        assert_eq!(FAR_LOSS, (FAR * FAR).ln_1p());
    }
}

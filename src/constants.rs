//! Constants of the algorithm that the CPU code and the kernels share. Rust uses them directly, and kernels receive
//! them as generated C++ declarations, so that both solvers make the same decisions.
//!
//! A kernel whose steps are in f32 gets constants rounded to f32. Constants that depend on the precision have a second
//! value for it.

use std::fmt::Write;

/// The type of a constant in C++.
trait Cxx {
    const NAME: &'static str;
}
impl Cxx for f64 {
    const NAME: &'static str = "Number";
}
impl Cxx for usize {
    const NAME: &'static str = "int";
}

/// Returns the part of a C++ expression that selects a value for f32.
fn in_f32(value: f32) -> String {
    format!("IS_STEP_IN_F32 ? {value:?} : ")
}

macro_rules! constants {
    ($($(#[$doc:meta])+ $name:ident: $kind:ty = $value:expr $(, f32 = $single:expr)?;)+) => {
        $($(#[$doc])+ pub(crate) const $name: $kind = $value;)+

        /// Declares all constants in C++.
        pub(crate) fn declare(text: &mut String) {
            // Writing to a string cannot fail. `{:?}` prints the shortest decimals that parse to the same bits.
            $(
                let single = String::new() $(+ &in_f32($single))?;
                let _ = writeln!(
                    text,
                    "[[maybe_unused]] constexpr {} {} = {single}{:?};",
                    <$kind as Cxx>::NAME, stringify!($name), $name
                );
            )+
        }
    };
}

constants! {
    /// Minimum ratio of the actual to the predicted reduction of the cost for an accepted step (Moré 1978).
    ACCEPT: f64 = 1e-4;
    /// If the ratio of the actual to the predicted reduction differs from 1 by at most this value, the model is linear,
    /// and the trust region grows by `BOLD`. The fit of a linear model from a distant start then needs three
    /// evaluations instead of twenty.
    FAITHFUL: f64 = 1e-9;
    /// Radius of the trust region after a step that meets `FAITHFUL`, relative to the length of the step.
    BOLD: f64 = 100.0;
    /// Maximum number of reductions of a step that leads to values of the model that are not finite.
    MAX_SHORTENINGS: usize = 30;
    /// After the tolerances are met, full steps continue until a step changes the parameters and the cost by at most
    /// this relative amount. The cost is flat at its minimum and does not determine the last digits of the parameters.
    LAST_DIGITS: f64 = 1e-8;
    /// The last step is taken without an evaluation if it would reduce the cost by at most this relative amount and the
    /// rounding or noise of the cost is at most `LAST_NOISE`. Then the cost after the step is known, even for a
    /// strongly nonlinear model, and the remaining error of the parameters is far below this step.
    LAST_FALL: f64 = 1e-12;
    /// Maximum relative noise of the cost for a last step without an evaluation, see `LAST_FALL`.
    LAST_NOISE: f64 = 1e-10;
    /// The last step is also taken without an evaluation if the step after it, estimated from the present rate of
    /// convergence, would change the parameters by at most this relative amount.
    LAST_CHANGE: f64 = 1e-9;
    /// First of five conditions for termination by `etol`: the ratio of the actual to the predicted reduction of the
    /// cost by the previous full step differs from 1 by at most this value. The five limits were chosen with 720,000
    /// fits of six models, a third of them hardly above the noise. None of a million other fits ended farther from the
    /// minimum than 3 `etol` standard errors.
    CALM_RATIO: f64 = 0.25;
    /// Second condition: the previous step changed the norm of each column of the Jacobian by at most this factor.
    CALM_BEND: f64 = 1.25;
    /// Third condition: along the direction of the present short step, each step is at most this fraction of the
    /// previous step.
    CALM_RATE: f64 = 0.5;
    /// Fourth condition: the further steps, if they shrink at this rate, add up to at most this fraction of `etol`.
    CALM_REST: f64 = 0.25;
    /// Fifth condition: σ/(f·√signal) is at most this value. σ is the standard deviation of a point. f is the smallest
    /// of the fractions of the columns of J that the preceding columns do not span. With the other four limits alone,
    /// 45 of 360,000 fits ended farther from the minimum than 3 `etol` standard errors; all 45 had a quotient above
    /// 0.129.
    CALM_NOISE: f64 = 0.1;
    /// Maximum number of evaluations for the last digits.
    MAX_REFINEMENTS: usize = 8;
    /// Minimum squared pivot of the scaled normal matrix. Below it the R factor of J is used, because a step from the
    /// normal equations would have fewer than about five correct digits. In f32 it would have none: the error of a squared
    /// pivot is about 5e-7.
    LEAST_PIVOT: f64 = 1e-11, f32 = 1e-6;
    /// Relative tolerance of the length of a step compared with the radius (Moré 1978, section 5).
    SLACK: f64 = 0.1;
    /// Maximum number of Newton steps for λ; two or three are usual.
    MAX_NEWTON_STEPS: usize = 12;
    /// A parameter is released from its bound if the cosine between its column and the residual of the linear model is
    /// above this value. Smaller values are rounding.
    RELEASE: f64 = 1e-10;
    /// A bound holds a parameter firmly if the cosine between its column and the residuals is above this value.
    HELD: f64 = 1e-8;
    /// Rounding error of a cost, relative to ‖y‖·‖r‖.
    ROUNDING: f64 = 4.0 * f64::EPSILON;
    /// Number of steps that Anderson mixing keeps. A few suffice, because plain steps converge slowly only in a few
    /// directions.
    DEPTH: usize = 4;
    /// Maximum number of sweeps of Jacobi rotations. Convergence is quadratic at the end; 5 to 12 sweeps are usual.
    MAX_SWEEPS: usize = 60;
    /// Sums of squares and products below this value may have lost terms to underflow.
    SAFE: f64 = 1e-270, f32 = 1e-30;
    /// Minimum squared pivot of R, with columns scaled to length 1, for a covariance from the inverse of the normal
    /// equations or of R. This loses at most four of sixteen digits and saves a pass over the data, a sixth of the time
    /// of a large fit.
    WELL_CONDITIONED: f64 = 1e-4;
    /// A parameter is determined if its component along each undetermined direction is at most this value. Singular
    /// vectors have errors of about √ε at worst if the gap to the next singular value is wide.
    LEAST_PART: f64 = 1.5e-8;
    /// Number of rows up to which the error of a factor is assumed to grow with the number of rows: the shortest chunk.
    ROWS_WITH_ERROR: usize = 4096;
    /// A starting point is far if the geometric mean of the distances of the points is above this number of loss
    /// scales.
    FAR: f64 = 30.0;
    /// ln(1 + FAR²): mean of Cauchy's loss at the distance `FAR`.
    FAR_LOSS: f64 = 6.803505257608338;
    /// Machine epsilon: distance between 1 and the next larger number.
    EPSILON: f64 = f64::EPSILON, f32 = f32::EPSILON;
    /// Smallest positive normal number.
    SMALLEST: f64 = f64::MIN_POSITIVE, f32 = f32::MIN_POSITIVE;
}

#[cfg(test)]
mod tests {
    use super::{ACCEPT, FAR, FAR_LOSS, declare};

    #[test]
    fn numbers_come_back_from_their_text() {
        let mut text = String::new();
        declare(&mut text);
        assert!(text.contains(&format!("constexpr Number ACCEPT = {ACCEPT:?};\n")), "{text}");
        assert!(text.contains("constexpr int DEPTH = 4;\n") && text.is_ascii(), "{text}");
        for line in text.lines().filter(|line| line.contains(" Number ")) {
            let number = line.split_once("= ").unwrap().1.trim_end_matches(';');
            assert!(number.contains(['.', 'e']), "{line}: an integer in C++");
        }
        assert_eq!(FAR_LOSS, (FAR * FAR).ln_1p());
    }
}

//! Precision of the values of a native model, which sets the steps of its differences.
//!
//! A function may compute in f32, round its values to a grid or look them up in a table. A difference with the step for
//! doubles then consists of rounding errors. In this case, the first central differences of a fit show one of these
//! signs at no cost ([`Signs`]):
//!
//! - all values fit into f32;
//! - a value changes if a parameter moves in one direction, but not in the other;
//! - the second difference f⁺ − 2f + f⁻ is not small compared with the first, f⁺ − f⁻.
//!
//! Only then are further values computed: the step grows until the second difference is small compared with the first.
//! If the ratio of the second to the first difference falls as the step grows, the second difference is noise; if the
//! ratio grows, it is curvature. With σ the noise of a value, s the size of the parameter and f′ the derivative,
//! η = σ/(f′s) replaces ε in the formulas for the step: h = η^⅓ s for central and η^½ s for forward differences.

use super::native::{Precision, Steps};

/// Maximum relative change of a value that rounding in f64 can explain.
const ROUNDING: f64 = 1024.0 * f64::EPSILON;
/// Number of low bits that are 0 in a double that was converted from f32.
const LOW_BITS_OF_SINGLE: u32 = 29;
/// A parameter is suspected if at least one in this many changes is one-sided. At a kink next to a point, all changes
/// are one-sided.
const ONE_SIDED: usize = 10;
/// A ratio of second to first differences above this is a sign of noise or of curvature; longer steps distinguish them.
/// A function that computes in f32 and returns doubles has the ratio 0.01.
const NOISY: f64 = 1.0 / 512.0;
/// Below this ratio of second to first differences, the noise of a value is about 2% of the first difference or less.
const CLEAN: f64 = 0.05;
/// Maximum accepted ratio of second to first differences. A jump, which no step makes smooth, has the ratio 1.
const ACCEPTED: f64 = 0.5;
/// As the step grows, the ratio falls at least to this fraction of its first value for noise, but not at a kink.
const FALL: f64 = 0.5;
/// Factor between successive trial steps: five factors lead from the step for doubles to `LARGEST_STEP`.
const GROWTH: f64 = 8.0;
/// The largest step, relative to the size of the parameter.
const LARGEST_STEP: f64 = 0.25;
/// Maximum number of values that measure the precision of a model that is called point by point.
pub(crate) const SAMPLE: usize = 512;

impl Precision {
    /// Returns the steps for values with relative noise `noise`: noise/(derivative · size of the parameter).
    fn of(noise: f64) -> Precision {
        let noise = noise.clamp(f64::EPSILON, LARGEST_STEP.powi(3));
        Precision { central: noise.cbrt(), forward: noise.sqrt() }
    }
}

/// Counts of points whose values change with one parameter.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Number of points at which the values above and below differ.
    all: usize,
    /// Number of points at which the value changes on one side only, by more than rounding.
    one_sided: usize,
    /// Number of points whose second difference is neither small nor rounding.
    noisy: usize,
}

/// Signs of imprecise values, from a pass with central differences.
///
/// Counts are integers. Therefore the order in which parts of the points are merged does not matter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signs {
    /// Bitwise OR of all values.
    bits: u64,
    /// One entry for each free parameter.
    changes: Vec<Changes>,
}

/// Counts of values that change in a forward difference by one parameter, and of changes predicted from the last
/// derivative.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moves {
    changed: usize,
    expected: usize,
    /// Number of values predicted to change that stay the same.
    stuck: usize,
}

impl Moves {
    /// Adds a value with its change `change` and the predicted change `expected`.
    pub(crate) fn see(&mut self, value: f64, change: f64, expected: f64) {
        self.changed += usize::from(change != 0.0);
        if expected.abs() > ROUNDING * value.abs() {
            self.expected += 1;
            self.stuck += usize::from(change == 0.0);
        }
    }

    /// Suspects the values if more than one in [`ONE_SIDED`] predicted changes is missing. To confirm the suspicion,
    /// at least half of the missing changes must occur over the longer step of a central difference.
    pub(crate) fn suspicion(&self) -> Option<Suspicion> {
        let least = self.changed + self.stuck.div_ceil(2);
        (self.stuck * ONE_SIDED > self.expected).then_some(Suspicion {
            unit: f64::EPSILON,
            nothing: false,
            least,
        })
    }
}

/// Evidence that the values are imprecise with respect to one parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspicion {
    /// Relative spacing of adjacent numbers in the shortest format that represents all values.
    unit: f64,
    /// No value changed over the step of a central difference: the parameter is unused, or the step is too short.
    nothing: bool,
    /// Minimum number of values that change over this step if the function is imprecise.
    least: usize,
}

impl Suspicion {
    /// A suspicion of noise without evidence, for functions whose values are always examined.
    pub(crate) const OF_NOISE: Suspicion =
        Suspicion { unit: f64::EPSILON, nothing: false, least: 0 };
}

impl Signs {
    /// Resets the signs for `free` free parameters.
    pub(crate) fn restart(&mut self, free: usize) {
        self.bits = 0;
        self.changes.clear();
        self.changes.resize(free, Changes::default());
    }

    /// Returns true if a parameter is suspected.
    pub(crate) fn is_suspicious(&self) -> bool {
        (0..self.changes.len()).any(|j| self.suspicion(j).is_some())
    }

    /// Creates the signs for `free` free parameters, without values.
    pub(crate) fn new(free: usize) -> Signs {
        Signs { bits: 0, changes: vec![Changes::default(); free] }
    }

    /// Adds a value with the values below and above it for the free parameter number `j`. `both`: no bound cuts either
    /// side.
    pub(crate) fn see(&mut self, j: usize, [below, value, above]: [f64; 3], both: bool) {
        self.bits |= below.to_bits() | value.to_bits() | above.to_bits();
        if above == below || !(above - below).is_finite() {
            return;
        }
        let changes = &mut self.changes[j];
        changes.all += 1;
        let one_sided = both && (above == value) != (below == value);
        let large = (above - below).abs() > ROUNDING * above.abs().max(below.abs());
        changes.one_sided += usize::from(one_sided && large);
        let second = (above - 2.0 * value + below).abs();
        let noisy = both && second > NOISY * (above - below).abs();
        changes.noisy += usize::from(noisy && second > ROUNDING * value.abs());
    }

    /// Adds the signs of other points.
    pub(crate) fn merge(&mut self, other: &Signs) {
        self.bits |= other.bits;
        for (changes, more) in self.changes.iter_mut().zip(&other.changes) {
            changes.all += more.all;
            changes.one_sided += more.one_sided;
            changes.noisy += more.noisy;
        }
    }

    /// Returns the relative spacing of adjacent numbers in the shortest format that represents all values.
    fn unit(&self) -> f64 {
        let low = self.bits.trailing_zeros().min(f64::MANTISSA_DIGITS - 1);
        f64::EPSILON * f64::from(low).exp2()
    }

    /// Returns one entry per free parameter. A parameter is suspected if all values fit into f32, if no value changes,
    /// if many changes are one-sided, or if most changes are noisy.
    pub(crate) fn suspicions(&self) -> Vec<Option<Suspicion>> {
        (0..self.changes.len()).map(|j| self.suspicion(j)).collect()
    }

    /// Returns the suspicion for the free parameter number `j`.
    fn suspicion(&self, j: usize) -> Option<Suspicion> {
        let single = self.bits.trailing_zeros() >= LOW_BITS_OF_SINGLE;
        let Changes { all, one_sided, noisy } = self.changes[j];
        let suspected = single || one_sided * ONE_SIDED >= all || 2 * noisy > all;
        suspected.then(|| Suspicion { unit: self.unit(), nothing: all == 0, least: 0 })
    }
}

/// Changes of the values over one step, as root mean squares over the points.
#[derive(Clone, Copy, Debug)]
struct Change {
    step: f64,
    /// f⁺ − f⁻.
    first: f64,
    /// f⁺ − 2f + f⁻.
    second: f64,
    value: f64,
    /// Number of values that change.
    count: usize,
}

impl Change {
    fn of(step: f64, below: &[f64], values: &[f64], above: &[f64]) -> Change {
        let (mut first, mut second, mut value, mut n, mut count) = (0.0, 0.0, 0.0, 0usize, 0);
        for ((b, v), a) in below.iter().zip(values).zip(above) {
            if (a - b).is_finite() && v.is_finite() {
                n += 1;
                count += usize::from(a != b);
                first += (a - b).powi(2);
                second += (a - 2.0 * v + b).powi(2);
                value += v.powi(2);
            }
        }
        let mean = |square: f64| (square / n.max(1) as f64).sqrt();
        Change { step, first: mean(first), second: mean(second), value: mean(value), count }
    }

    fn ratio(&self) -> f64 {
        if self.first > 0.0 { self.second / self.first } else { f64::INFINITY }
    }

    /// Returns the noise of a value, from second differences: their variance is 1 + 4 + 1 times the variance of a
    /// value.
    fn noise(&self) -> f64 {
        self.second / 6.0_f64.sqrt()
    }
}

/// Precisions with respect to all parameters, and the parameters for which they were measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Precisions {
    /// Precision of each parameter; empty if all parameters have the precision of doubles.
    by: Vec<Precision>,
    /// Parameters that were measured.
    measured: Vec<usize>,
    /// Maximum noise of the values for any measured parameter, relative to the root mean square of the values.
    noise: f64,
    /// True if the first central differences have been examined.
    examined: bool,
}

impl Precisions {
    /// Resets all fields.
    pub(crate) fn clear(&mut self) {
        self.by.clear();
        self.measured.clear();
        self.noise = 0.0;
        self.examined = false;
    }

    /// Returns one precision per parameter; empty if all parameters have the precision of doubles.
    pub(crate) fn by(&self) -> &[Precision] {
        &self.by
    }

    /// Returns true if the first central differences have been examined.
    pub(crate) fn are_examined(&self) -> bool {
        self.examined
    }

    /// Returns the noise of the values relative to their root mean square; 0 if the function computes in f64.
    pub(crate) fn noise(&self) -> f64 {
        self.noise
    }

    /// Measures the precision for each suspected parameter of `free` that has not been measured before. `values`
    /// computes the values at given parameters. Returns the parameters whose steps have changed.
    pub(crate) fn examine<E>(
        &mut self,
        suspicions: &[Option<Suspicion>],
        steps: Steps<'_>,
        (p, free): (&[f64], &[usize]),
        mut values: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
    ) -> Result<Vec<usize>, E> {
        self.examined = true;
        let mut changed = Vec::new();
        for (&k, suspicion) in free.iter().zip(suspicions) {
            let Some(suspicion) = suspicion.filter(|_| !self.measured.contains(&k)) else {
                continue;
            };
            self.measured.push(k);
            if let Some(noise) = noise_of(steps, (p, k), suspicion, &mut values)? {
                self.by.resize(p.len(), Precision::DOUBLE);
                self.by[k] = Precision::of(noise.of_change);
                self.noise = self.noise.max(noise.of_value);
                changed.push(k);
            }
        }
        Ok(changed)
    }
}

/// Noise of the values of a function.
struct Noise {
    /// Relative to the derivative times the size of a parameter.
    of_change: f64,
    /// Relative to the root mean square of the values.
    of_value: f64,
}

/// Measures the noise of the values for parameter `k`; `None` if the function computes in f64.
fn noise_of<E>(
    steps: Steps<'_>,
    (p, k): (&[f64], usize),
    seen: Suspicion,
    values: &mut impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
) -> Result<Option<Noise>, E> {
    let (size, (lower, upper)) = (steps.size(p, k), steps.bounds[k]);
    let largest = (LARGEST_STEP * size).min(0.5 * (upper - lower));
    let mut at = p.to_vec();
    let mut over = |step: f64| -> Result<Change, E> {
        // Both sides lie within the bounds.
        let middle = p[k].min(upper - step).max(lower + step);
        let mut side = |value: f64| {
            at[k] = value.clamp(lower, upper);
            values(&at)
        };
        let (below, inside, above) = (side(middle - step)?, side(middle)?, side(middle + step)?);
        Ok(Change::of(step, &below, &inside, &above))
    };
    if seen.nothing && over(largest)?.count == 0 {
        return Ok(None);
    }
    let (mut step, mut begun, mut onset, mut best, mut noise) =
        (Precision::DOUBLE.central * size, None, None, None, 0.0_f64);
    while step <= largest {
        let change = over(step)?;
        let is_first = begun.is_none();
        let first = *begun.get_or_insert(change);
        if change.count > 0 {
            onset.get_or_insert(change);
        }
        if !seen.nothing && first.count < seen.least {
            return Ok(None);
        }
        let ratio = change.ratio();
        if best.is_none_or(|best: Change| ratio <= best.ratio()) {
            best = Some(change);
        } else if ratio > 2.0 * best.map_or(ratio, |best| best.ratio()) {
            break;
        }
        // One step cannot distinguish noise from curvature.
        if ratio <= CLEAN && !is_first {
            break;
        }
        // A step that ends the loop above does not count: its second difference is curvature.
        noise = noise.max(change.noise());
        step *= GROWTH;
    }
    let (Some(first), Some(best)) = (begun, best) else { return Ok(None) };
    let single = seen.unit >= f64::from(f32::EPSILON);
    let falls = best.ratio() <= FALL * first.ratio();
    if best.ratio() > ACCEPTED || !(falls || single) {
        return Ok(None);
    }
    if let Some(onset) = onset.filter(|_| first.count == 0) {
        // Values on a grid: the first step that changes any value moves it by one grid step.
        noise = noise.max(onset.first / (2.0 * 12.0_f64.sqrt()));
    }
    if single && (first.ratio() <= CLEAN || !falls) {
        // Rounding to f32 only: the error is uniformly distributed over one unit.
        noise = seen.unit * best.value / 12.0_f64.sqrt();
    }
    let over_size = best.first / (2.0 * best.step) * size;
    let of_value = if best.value > 0.0 { noise / best.value } else { 0.0 };
    Ok(Some(Noise { of_change: noise / over_size, of_value }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    type Function = fn(f64, &[f64]) -> f64;

    const X: [f64; 12] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5];

    /// Returns the precisions found from the first central differences, and the number of additional calls.
    fn examined(f: Function, p: &[f64], bounds: &[(f64, f64)]) -> (Precisions, usize) {
        let least: Vec<f64> =
            p.iter().map(|p| 1e-3 * if *p == 0.0 { 1.0 } else { p.abs() }).collect();
        let steps = Steps { bounds, least: &least, precisions: &[] };
        let free: Vec<usize> = (0..p.len()).collect();
        let mut signs = Signs::new(p.len());
        for k in 0..p.len() {
            let (above, below) = steps.around(p, k);
            let at = |x: f64, value: f64| {
                let mut p = p.to_vec();
                p[k] = value;
                f(x, &p)
            };
            for x in X {
                signs.see(k, [at(x, below), f(x, p), at(x, above)], steps.is_whole(p, k));
            }
        }
        let (mut precisions, mut calls) = (Precisions::default(), 0);
        let values = |p: &[f64]| {
            calls += 1;
            Ok::<_, Infallible>(X.iter().map(|&x| f(x, p)).collect::<Vec<f64>>())
        };
        precisions.examine(&signs.suspicions(), steps, (p, &free), values).unwrap();
        (precisions, calls)
    }

    const OPEN: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    #[test]
    fn functions_of_doubles_keep_their_steps() {
        let without_calls: [(&str, Function, &[f64]); 3] = [
            ("decay", |x, p| p[0] * (-p[1] * x).exp() + p[2], &[3.0, 0.7, 0.0]),
            ("whole numbers", |x, p| p[0] * x + p[1], &[1.0, 0.0]),
            ("saturation", |x, p| (p[0] * x).min(2.0), &[1.1]),
        ];
        for (name, f, p) in without_calls {
            let (precisions, calls) = examined(f, p, &vec![OPEN; p.len()]);
            assert!(
                precisions.by().is_empty() && precisions.noise() == 0.0,
                "{name}: {precisions:?}"
            );
            assert_eq!(calls, 0, "{name}");
        }
        let suspected: [(&str, Function, &[f64]); 10] = [
            ("peak far from 0", |x, p| p[0] * (-(x + 5000.0 - p[1]).powi(2)).exp(), &[1.0, 5002.0]),
            ("wave", |x, p| (p[0] * x).sin(), &[300.0]),
            ("wave of many periods", |x, p| (p[0] * x).sin(), &[3000.0]),
            ("steep", |x, p| (x - p[0] / 1000.0).exp(), &[9e5]),
            ("kink at a point", |x, p| (x - p[0]).max(0.0), &[3.5]),
            ("jump at a point", |x, p| if x < p[0] { 1.0 } else { 2.5 }, &[3.5]),
            ("jump between points", |x, p| if x < p[0] { 1.0 } else { 2.5 }, &[3.7]),
            ("unused", |x, p| p[0] * x, &[1.1, 2.0]),
            ("lost", |x, p| (-(x - p[0]).powi(2)).exp(), &[200.0]),
            ("tail", |x, p| 1.0 + 1e-12 * (x - p[0]).exp(), &[30.0]),
        ];
        for (name, f, p) in suspected {
            let (precisions, calls) = examined(f, p, &vec![OPEN; p.len()]);
            assert!(precisions.by().is_empty(), "{name}: {precisions:?}");
            assert!(calls <= 24, "{name}: {calls} calls");
        }
        // At a bound only one side moves.
        let (precisions, calls) =
            examined(|x, p| p[0] * (-p[1] * x).exp(), &[3.0, 0.7], &[(3.0, 9.0), (0.0, 0.7)]);
        assert!(precisions.by().is_empty() && calls == 0);
    }

    #[test]
    fn coarse_functions_get_the_steps_of_their_noise() {
        let noise = 1e-4 / 12.0_f64.sqrt();
        let coarse: [(&str, Function, f64); 4] = [
            (
                "f32",
                |x, p| f64::from((p[0] * (-0.3 * x).exp()) as f32),
                f64::from(f32::EPSILON) / 12.0_f64.sqrt(),
            ),
            ("rounded", |x, p| (p[0] * (-0.3 * x).exp() * 1e4).round() / 1e4, noise),
            ("table", |x, p| (-(p[0] * (0.1 + x) * 1e4).round() / 1e4).exp(), noise),
            ("coarse table", |x, p| (-(p[0] * (0.1 + x) * 1e2).round() / 1e2).exp(), 100.0 * noise),
        ];
        for (name, f, noise) in coarse {
            for bounds in [OPEN, (1.1, 9.0), (-9.0, 1.1)] {
                let (precisions, _) = examined(f, &[1.1], &[bounds]);
                let [Precision { central, forward }] = *precisions.by() else { panic!("{name}") };
                // The step is the cube root of the noise relative to the change of the value. In a table this change
                // differs between points; the step spans several grid steps.
                let part = central / noise.cbrt();
                assert!((0.5..2.0).contains(&part), "{name}, {bounds:?}: {central}, {noise}");
                assert!(forward < central && precisions.noise() > 0.0, "{name}");
            }
        }
    }
}

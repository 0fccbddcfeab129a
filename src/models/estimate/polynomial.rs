//! Least-squares polynomial as a sum of polynomials that are orthogonal on the points
//! (G. E. Forsythe, J. SIAM 5, 1957).

use super::mean;
use crate::data::points::Observations;

/// Returns the `degree` + 1 coefficients of 1, x, x², …. Coefficients that the points do not
/// determine are 0.
pub(crate) fn polynomial_fit(points: &Observations, degree: usize) -> Vec<f64> {
    let x = points.x();
    let (low, high) = x
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
    let mut found = vec![0.0; degree + 1];
    found[0] = mean(&points.y);
    let (middle, half) = (low / 2.0 + high / 2.0, high / 2.0 - low / 2.0);
    if half <= 0.0 || half.is_nan() {
        return found;
    }
    let t: Vec<f64> = x.iter().map(|x| (x - middle) / half).collect();
    in_powers_of_x(&coefficients(&t, &points.y, degree), middle, half, found)
}

/// Returns the coefficients of 1, t, t², ….
fn coefficients(t: &[f64], y: &[f64], degree: usize) -> Vec<f64> {
    let mut sum = vec![0.0; degree + 1];
    let (mut values, mut before) = (vec![1.0; t.len()], vec![0.0; t.len()]);
    let (mut powers, mut powers_before) = (vec![1.0], vec![0.0]);
    let mut norm_before = f64::INFINITY;
    for k in 0..=degree {
        let norm: f64 = values.iter().map(|v| v * v).sum();
        // With a smaller norm the polynomial is 0 at all points, up to rounding.
        if norm <= 1e-24 * t.len() as f64 || norm.is_nan() || k >= t.len() {
            break;
        }
        let share = values.iter().zip(y).map(|(v, y)| v * (y / norm)).sum::<f64>();
        sum.iter_mut().zip(&powers).for_each(|(sum, power)| *sum += share * power);
        let alpha = values.iter().zip(t).map(|(v, t)| t * v * v).sum::<f64>() / norm;
        let beta = norm / norm_before;
        let next = |((v, b), t): ((&f64, &f64), &f64)| (t - alpha) * v - beta * b;
        let fresh = values.iter().zip(&before).zip(t).map(next).collect();
        before = std::mem::replace(&mut values, fresh);
        let power = |i: usize| {
            let shifted = if i > 0 { powers.get(i - 1).copied().unwrap_or(0.0) } else { 0.0 };
            let same = powers.get(i).copied().unwrap_or(0.0);
            shifted - alpha * same - beta * powers_before.get(i).copied().unwrap_or(0.0)
        };
        let fresh = (0..=powers.len()).map(power).collect();
        powers_before = std::mem::replace(&mut powers, fresh);
        norm_before = norm;
    }
    sum
}

/// Converts from powers of (x − middle)/half to powers of x by Horner's scheme.
fn in_powers_of_x(of_t: &[f64], middle: f64, half: f64, mut found: Vec<f64>) -> Vec<f64> {
    found.fill(0.0);
    for coefficient in of_t.iter().rev() {
        for i in (0..found.len()).rev() {
            let shifted = if i > 0 { found[i - 1] } else { 0.0 };
            found[i] = shifted / half - found[i] * (middle / half);
        }
        found[0] += coefficient;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_found_again() {
        let x: Vec<f64> = [7.0, -3.0, 2.5, 11.0, 4.0, 0.5, 9.0].to_vec();
        let y = x.iter().map(|x| 2.0 - 3.0 * x + 0.5 * x * x - 0.25 * x * x * x).collect();
        let points = Observations::new(vec![x], y);
        for (found, expected) in polynomial_fit(&points, 3).iter().zip([2.0, -3.0, 0.5, -0.25]) {
            assert!((found - expected).abs() < 1e-10, "{found} {expected}");
        }
    }

    #[test]
    fn too_few_points_give_the_lower_powers() {
        let points = |x: &[f64], y: &[f64]| Observations::new(vec![x.to_vec()], y.to_vec());
        assert_eq!(polynomial_fit(&points(&[2.0], &[5.0]), 2), [5.0, 0.0, 0.0]);
        assert_eq!(polynomial_fit(&points(&[2.0, 2.0], &[5.0, 7.0]), 1), [6.0, 0.0]);
        let line = polynomial_fit(&points(&[1.0, 3.0], &[1.0, 2.0]), 2);
        assert!((line[0] - 0.5).abs() < 1e-14 && (line[1] - 0.5).abs() < 1e-14 && line[2] == 0.0);
        assert_eq!(polynomial_fit(&points(&[], &[]), 1), [0.0, 0.0]);
    }
}

//! Position, widths and orientation of the largest spot over a plane.

use crate::data::points::Observations;
use nalgebra::{SMatrix, SVector};

/// Gaussian spot over a plane, in units of the data.
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) height: f64,
    /// Standard deviation along the longer axis.
    pub(crate) along: f64,
    /// Standard deviation along the shorter axis.
    pub(crate) across: f64,
    /// Angle from x to the longer axis, in radians.
    pub(crate) angle: f64,
}

/// Points with coordinates and values scaled to the range from −1 to 1.
struct Scaled {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

impl Spot {
    /// Finds the largest spot, upward or downward, of points without a background.
    ///
    /// The logarithm of a Gaussian is a polynomial of second degree. It is fitted to the points around the top that are
    /// above a fifth of its height. Weights z² make the noise uniform (H. Guo, IEEE Signal Process. Mag. 28, 2011). If
    /// the polynomial has no maximum, the moments of these points are used.
    pub(crate) fn of(points: &Observations) -> Spot {
        let column = |i: usize| points.columns.get(i).map_or(&[][..], Vec::as_slice);
        let (middle_x, half_x) = range(column(0));
        let (middle_y, half_y) = range(column(1));
        // The points are not sorted, because the means over cells of a grid do not depend on their order.
        let size = points.y.iter().fold(0.0, |most: f64, z| most.max(z.abs()));
        let size = if size > 0.0 { size } else { 1.0 };
        let scaled = Scaled {
            x: column(0).iter().map(|x| (x - middle_x) / half_x).collect(),
            y: column(1).iter().map(|y| (y - middle_y) / half_y).collect(),
            z: points.y.iter().map(|z| z / size).collect(),
        };
        let top = Top::of(&scaled);
        let [a, b, c, d, e, f] =
            log_parabola(&scaled, &top).unwrap_or_else(|| moments(&scaled, &top));
        // ln z = a + b x + c y − (d x² + 2 e x y + f y²)/2: the center solves [d e; e f] (x, y) = (b, c).
        let determinant = d * f - e * e;
        let (x, y) = ((b * f - c * e) / determinant, (c * d - b * e) / determinant);
        let height = top.sign * (a + (b * x + c * y) / 2.0).exp();
        // Inverts the precision matrix to the covariance, in the units of the data, which can differ between the axes.
        let xx = f / determinant * half_x * half_x;
        let yy = d / determinant * half_y * half_y;
        let xy = -e / determinant * half_x * half_y;
        let (mean, apart) = ((xx + yy) / 2.0, ((xx - yy) / 2.0).hypot(xy));
        Spot {
            x: middle_x + x * half_x,
            y: middle_y + y * half_y,
            height: height * size,
            along: (mean + apart).sqrt(),
            across: (mean - apart).max(1e-6 * mean).sqrt(),
            angle: (2.0 * xy).atan2(xx - yy) / 2.0,
        }
    }

    /// Returns the standard deviations of the spot along x and along y.
    pub(crate) fn upright(&self) -> (f64, f64) {
        let (sine, cosine) = self.angle.sin_cos();
        let along = |c: f64, s: f64| (c * self.along).hypot(s * self.across);
        (along(cosine, sine), along(sine, cosine))
    }
}

/// Returns the middle and the half width of the range of values; half width 1 if all values are equal.
fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let half = high / 2.0 - low / 2.0;
    let middle = if values.is_empty() { 0.0 } else { low / 2.0 + high / 2.0 };
    (middle, if half > 0.0 { half } else { 1.0 })
}

/// Cell of a coarse grid with the largest absolute mean of its points.
struct Top {
    sign: f64,
    height: f64,
    x: f64,
    y: f64,
    cell: f64,
    /// Radius of the spot. Points outside are noise or another spot.
    radius: f64,
}

/// The radius of a spot is twice the distance from its top at which the mean over a ring falls below this fraction
/// of its height.
const HALF_RADIUS: f64 = 0.35;

impl Top {
    fn of(points: &Scaled) -> Top {
        let cells = ((points.z.len() as f64 / 3.0).sqrt() as usize).clamp(1, 64);
        let place = |v: f64| (((v + 1.0) / 2.0 * cells as f64) as usize).min(cells - 1);
        let mut sums = vec![(0.0, 0.0); cells * cells];
        for ((x, y), z) in points.x.iter().zip(&points.y).zip(&points.z) {
            let (sum, count) = &mut sums[place(*y) * cells + place(*x)];
            (*sum, *count) = (*sum + z, *count + 1.0);
        }
        // Reduces means over few points, to 2/3 for a single point: they are less reliable.
        let mean = |&(sum, count): &(f64, f64)| sum / (count + 0.5);
        let best =
            sums.iter().enumerate().max_by(|a, b| mean(a.1).abs().total_cmp(&mean(b.1).abs()));
        let (at, mean) = best.map_or((0, 1.0), |(i, cell)| (i, mean(cell)));
        let cell = 2.0 / cells as f64;
        let mut top = Top {
            sign: if mean < 0.0 { -1.0 } else { 1.0 },
            height: mean.abs(),
            x: -1.0 + cell * ((at % cells) as f64 + 0.5),
            y: -1.0 + cell * ((at / cells) as f64 + 0.5),
            cell,
            radius: f64::INFINITY,
        };
        // Rings around the top, each as wide as a cell.
        let mut rings = vec![(0.0, 0.0); 3 * cells];
        for ((x, y), z) in points.x.iter().zip(&points.y).zip(&points.z) {
            let ring = (top.distance(*x, *y) / cell) as usize;
            if let Some((sum, count)) = rings.get_mut(ring) {
                (*sum, *count) = (*sum + z, *count + 1.0);
            }
        }
        let is_low = |&(sum, count): &(f64, f64)| {
            count > 0.0 && top.sign * sum < HALF_RADIUS * top.height * count
        };
        if let Some(low) = rings.iter().skip(1).position(is_low) {
            top.radius = 2.0 * (low as f64 + 1.5) * cell;
        }
        top
    }

    fn distance(&self, x: f64, y: f64) -> f64 {
        (x - self.x).hypot(y - self.y)
    }

    /// Returns x, y, z of the points within the radius and above a fifth of the height.
    fn points<'a>(&'a self, points: &'a Scaled) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
        let all = points.x.iter().zip(&points.y).zip(&points.z);
        let high = move |&(x, y, z): &(f64, f64, f64)| {
            z > 0.2 * self.height && z > 0.0 && self.distance(x, y) <= self.radius
        };
        all.map(|((x, y), z)| (*x, *y, self.sign * z)).filter(high)
    }
}

/// Returns the coefficients of ln z = a + b x + c y − (d x² + 2 e x y + f y²)/2, if this function has a maximum.
fn log_parabola(points: &Scaled, top: &Top) -> Option<[f64; 6]> {
    let mut found: Option<[f64; 6]> = None;
    // From the second round on, weights are computed from the fitted function, which has no noise.
    for _ in 0..4 {
        let mut normal = SMatrix::<f64, 6, 6>::zeros();
        let mut right = SVector::<f64, 6>::zeros();
        for (x, y, z) in top.points(points) {
            let row = [1.0, x, y, -x * x / 2.0, -x * y, -y * y / 2.0];
            let weight = match &found {
                Some(c) => row.iter().zip(c).map(|(r, c)| r * c).sum::<f64>().exp().min(2.0),
                None => z,
            };
            let row = SVector::<f64, 6>::from(row);
            normal += weight * weight * row * row.transpose();
            right += weight * weight * z.ln() * row;
        }
        let solved = normal.cholesky()?.solve(&right);
        let [_, _, _, d, e, f] = solved.into();
        if !(d > 0.0 && d * f - e * e > 1e-6 * d * f) {
            return found;
        }
        found = Some(solved.into());
    }
    found
}

/// Returns the coefficients as in [`log_parabola`] for a circular Gaussian with the moments of the points.
fn moments(points: &Scaled, top: &Top) -> [f64; 6] {
    let (mut sum, mut x, mut y) = (0.0, 0.0, 0.0);
    for (px, py, z) in top.points(points) {
        (sum, x, y) = (sum + z, x + z * px, y + z * py);
    }
    let (x, y) = if sum > 0.0 { (x / sum, y / sum) } else { (top.x, top.y) };
    let mut square = 0.0;
    for (px, py, z) in top.points(points) {
        square += z * ((px - x).powi(2) + (py - y).powi(2)) / 2.0;
    }
    let least = (0.2 * top.cell).powi(2);
    let square = if sum > 0.0 { (square / sum).max(least) } else { least };
    let precision = 1.0 / square;
    let level = top.height.max(f64::MIN_POSITIVE).ln() - precision * (x * x + y * y) / 2.0;
    [level, precision * x, precision * y, precision, 0.0, precision]
}

//! Quasi-random points in the unit cube. A seed produces the same points on every machine.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Maximum number of points: the length of the Sobol sequence used.
pub(crate) const MOST_POINTS: usize = 1 << 16;
/// Maximum number of coordinates of a Sobol point.
pub(crate) const MOST_DIMENSIONS: usize = sobol_burley::NUM_DIMENSIONS as usize;

/// Method of drawing the starts of [`CurveFit::multi_start`](crate::CurveFit::multi_start).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampling {
    /// The Sobol sequence with direction numbers of Joe and Kuo (SIAM J. Sci. Comput. 30, 2008) and hash-based Owen
    /// scrambling (Burley, J. Comput. Graph. Tech. 9, 2020). It is the most even method, especially if the number of
    /// starts is a power of two. At most 256 free parameters.
    #[default]
    Sobol,
    /// A Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979): the range of each parameter is divided
    /// into n equal parts, and each part contains one start. Any number of parameters.
    LatinHypercube,
}

/// Returns `n` points with `dimensions` coordinates in \[0, 1\]; `n` is at most [`MOST_POINTS`]. For Sobol points
/// `dimensions` is at most [`MOST_DIMENSIONS`].
pub(super) fn points(sampling: Sampling, n: usize, dimensions: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    match sampling {
        Sampling::Sobol => {
            let seed = random.next_u32();
            (0..n as u32).map(|i| sobol_point(i, dimensions, seed)).collect()
        }
        Sampling::LatinHypercube => {
            let mut points = vec![vec![0.0; dimensions]; n];
            let mut strata: Vec<u32> = (0..n as u32).collect();
            for d in 0..dimensions {
                strata.shuffle(&mut random);
                for (point, &stratum) in points.iter_mut().zip(&strata) {
                    point[d] = (f64::from(stratum) + random.random::<f64>()) / n as f64;
                }
            }
            points
        }
    }
}

/// Returns point `index` of the Sobol sequence. Dimensions beyond the sequence's limit reuse it with another
/// scrambling.
pub(crate) fn sobol_point(index: u32, dimensions: usize, seed: u32) -> Vec<f64> {
    let index = index % MOST_POINTS as u32;
    let coordinate = |d: u32| {
        let (round, d) = (d / sobol_burley::NUM_DIMENSIONS, d % sobol_burley::NUM_DIMENSIONS);
        f64::from(sobol_burley::sample(index, d, seed.wrapping_add(round)))
    };
    (0..dimensions as u32).map(coordinate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Sampling; 2] = [Sampling::Sobol, Sampling::LatinHypercube];

    /// Counts the points in each of `parts` equal intervals of a coordinate.
    fn occupancy(points: &[Vec<f64>], d: usize, parts: usize) -> Vec<usize> {
        let mut counts = vec![0; parts];
        points.iter().for_each(|p| counts[(p[d] * parts as f64) as usize] += 1);
        counts
    }

    #[test]
    fn every_stratum_of_every_coordinate_has_one_point() {
        for (sampling, n) in [
            (Sampling::LatinHypercube, 1),
            (Sampling::LatinHypercube, 7),
            (Sampling::LatinHypercube, 100),
            (Sampling::LatinHypercube, 1000),
            (Sampling::Sobol, 2),
            (Sampling::Sobol, 64),
            (Sampling::Sobol, 1024),
        ] {
            for seed in 0..20 {
                let points = points(sampling, n, 12, seed);
                assert_eq!(points.len(), n);
                for d in 0..12 {
                    let counts = occupancy(&points, d, n);
                    assert!(
                        counts.iter().all(|&c| c == 1),
                        "{sampling:?} {n} seed {seed} axis {d}"
                    );
                }
            }
        }
    }

    /// A (0, 2)-sequence in base 2 has one point in each elementary box of the first two coordinates.
    #[test]
    fn sobol_points_are_balanced_in_elementary_boxes() {
        for seed in 0..20 {
            let points = points(Sampling::Sobol, 256, 2, seed);
            for bits in 0..=8 {
                let (nx, ny) = (1 << bits, 1 << (8 - bits));
                let mut counts = vec![0; 256];
                for p in &points {
                    let (i, j) = ((p[0] * f64::from(nx)) as usize, (p[1] * f64::from(ny)) as usize);
                    counts[i * ny as usize + j] += 1;
                }
                assert!(counts.iter().all(|&c| c == 1), "seed {seed}, {nx} by {ny}");
            }
        }
    }

    /// Coordinates are independent of each other: the correlation of n pairs is at most five standard deviations, 5/√n.
    #[test]
    fn coordinates_do_not_follow_each_other() {
        let n = 1024;
        for sampling in BOTH {
            let points = points(sampling, n, 6, 5);
            for (a, b) in (0..6).flat_map(|b| (0..b).map(move |a| (a, b))) {
                let products = points.iter().map(|p| (p[a] - 0.5) * (p[b] - 0.5));
                let correlation = 12.0 * products.sum::<f64>() / n as f64;
                assert!(correlation.abs() < 5.0 / (n as f64).sqrt(), "{sampling:?} {a} {b}");
            }
        }
    }

    #[test]
    fn a_seed_decides_and_the_largest_sizes_are_drawn() {
        for sampling in BOTH {
            let of = |seed| points(sampling, 33, 5, seed);
            assert_eq!(of(3), of(3));
            assert_ne!(of(3), of(4));
            assert_ne!(of(3), of(3 + (1 << 40)), "all bits of the seed count");
            assert_eq!(points(sampling, 3, MOST_DIMENSIONS, 0)[2].len(), MOST_DIMENSIONS);
            let all = points(sampling, MOST_POINTS, 1, 0);
            assert!(all.iter().all(|p| (0.0..=1.0).contains(&p[0])));
            assert!(points(sampling, 0, 3, 0).is_empty());
            assert_eq!(points(sampling, 2, 0, 0), vec![Vec::<f64>::new(); 2]);
        }
    }

    /// Guards the guarantee of [`MultiStart::seed`] against new versions of libraries that draw other points.
    ///
    /// [`MultiStart::seed`]: crate::MultiStart::seed
    #[test]
    fn the_points_of_a_seed_are_these() {
        let drawn = |sampling| points(sampling, 3, 2, 20).concat();
        let sobol = [
            0.44267046451568604,
            0.6632764339447021,
            0.8486220836639404,
            0.05269038677215576,
            0.739851713180542,
            0.9285392761230469,
        ];
        let latin = [
            0.8735476487396876,
            0.30390015850859337,
            0.48443323100682356,
            0.8865310072443452,
            0.07093425684135575,
            0.638818598243276,
        ];
        assert_eq!(drawn(Sampling::Sobol), sobol);
        assert_eq!(drawn(Sampling::LatinHypercube), latin);
    }
}

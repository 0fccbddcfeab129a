//! Batches of many shapes at once: a camera's 100,000 spots, fits of all lengths, fits that need more
//! than the usual way, and ruined ones. Each fit is the single fit of the same points.

use dualfit::{
    BatchData, BatchFit, CurveFit, Data, Estimator, Fit, FitStatus, Missing, Options, Starts,
    Termination,
};
use std::time::Duration;

/// Noise that needs no generator: reproducible, without structure at these lengths.
fn noise(i: usize) -> f64 {
    let h = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((h ^ (h >> 32)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// Holds fit `i` of the batch to the single fit: the same end, parameters to 1e-9, errors to 1e-6.
fn same(batch: &BatchFit, i: usize, single: &Fit) {
    let view = batch.fit(i);
    assert_eq!(view.status().termination(), Some(single.termination()), "fit {i}");
    let close = |a: f64, b: f64, tolerance: f64, what: &str| {
        let equal = a == b || (a.is_nan() && b.is_nan());
        assert!(equal || (a - b).abs() <= tolerance * b.abs(), "fit {i}: {what} {a} against {b}");
    };
    for (a, b) in view.params().iter().zip(single.params()) {
        close(*a, *b, 1e-9, "parameter");
    }
    for (a, b) in view.std_errors().iter().zip(single.std_errors()) {
        close(*a, b, 1e-6, "error");
    }
}

fn spot() -> CurveFit {
    CurveFit::multivariate(|[x, y], [a, x0, y0, s, b]| {
        a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (2.0 * s.powi(2))).exp() + b
    })
}

const SIDE: usize = 15;

/// The pixels' places.
fn pixels() -> [Vec<f64>; 2] {
    let places = (0..SIDE * SIDE).map(|i| ((i % SIDE) as f64, (i / SIDE) as f64));
    let (columns, rows) = places.unzip();
    [columns, rows]
}

/// Spots of a camera, one after another.
fn spots(fits: usize) -> Vec<u16> {
    let [columns, rows] = pixels();
    let mut stack = Vec::with_capacity(fits * SIDE * SIDE);
    for fit in 0..fits {
        let of_fit = |k: usize| noise(97 * fit + k);
        let (x0, y0, s) = (7.0 + of_fit(0), 7.0 + of_fit(1), 1.5 + 0.4 * of_fit(2));
        // The spot is a product, which spares exponentials.
        let along =
            |c: f64| (0..SIDE).map(move |i| (-(i as f64 - c).powi(2) / (2.0 * s * s)).exp());
        let [across, down]: [Vec<f64>; 2] = [along(x0).collect(), along(y0).collect()];
        let height = 900.0 + 300.0 * of_fit(3);
        for (i, (x, y)) in columns.iter().zip(&rows).enumerate() {
            let value = height * across[*x as usize] * down[*y as usize] + 100.0;
            stack.push((value + 30.0 * noise(fit * 225 + i)).round() as u16);
        }
    }
    stack
}

const SPOT: [f64; 5] = [800.0, 7.2, 6.9, 1.8, 90.0];

#[test]
fn a_hundred_thousand_spots_are_the_single_fits() {
    let (fits, [columns, rows]) = (100_000, pixels());
    let stack = spots(fits);
    let data = BatchData::shared([&columns, &rows], &stack).unwrap();
    let batch = spot().fit_batch(&data, SPOT).unwrap();
    println!("{batch}");
    assert_eq!(batch.converged(), fits);
    for (i, counts) in stack.chunks(SIDE * SIDE).enumerate().step_by(997) {
        let y: Vec<f64> = counts.iter().map(|&c| c.into()).collect();
        let single = spot().fit(Data::new([&columns, &rows], &y).unwrap(), SPOT).unwrap();
        same(&batch, i, &single);
        assert_eq!(batch.evaluations()[i] as usize, single.evaluations());
    }
}

#[test]
fn ruined_frames_have_statuses_and_touch_no_neighbour() {
    let (fits, n, [columns, rows]) = (600, SIDE * SIDE, pixels());
    let good: Vec<f32> = spots(fits).iter().map(|&c| c.into()).collect();
    let starts = vec![SPOT; fits];
    let fitter = spot().bound("p3", 0.1..=20.0);
    let run = |stack: &[f32], starts: &[[f64; 5]]| {
        let data = BatchData::shared([&columns, &rows], stack).unwrap();
        fitter.fit_batch(&data, Starts::from(starts)).unwrap()
    };
    let clean = run(&good, &starts);
    let (mut bad, mut bad_starts) = (good.clone(), starts.clone());
    let ruined = |i: usize| i % 10 == 3;
    for i in (0..fits).filter(|&i| ruined(i)) {
        let frame = &mut bad[i * n..(i + 1) * n];
        match i / 10 % 6 {
            0 => frame[17] = f32::NAN,
            1 => frame.fill(0.0),
            2 => frame.fill(65535.0),
            3 => bad_starts[i][3] = 50.0,
            4 => bad_starts[i][1] = f64::NAN,
            _ => bad_starts[i] = [1e300, 1e200, 7.0, 1.0, 1e300],
        }
    }
    let batch = run(&bad, &bad_starts);
    for i in 0..fits {
        let status = batch.statuses()[i];
        if !ruined(i) {
            let bits = |b: &BatchFit| {
                let view = b.fit(i);
                let all = view.params().iter().chain(view.std_errors()).copied();
                all.chain([view.cost()]).map(f64::to_bits).collect::<Vec<u64>>()
            };
            assert_eq!(bits(&batch), bits(&clean), "fit {i}");
            assert_eq!(status, clean.statuses()[i]);
            assert_eq!(batch.evaluations()[i], clean.evaluations()[i]);
            continue;
        }
        let y: Vec<f64> = bad[i * n..(i + 1) * n].iter().map(|&y| y.into()).collect();
        match i / 10 % 6 {
            0 => assert_eq!(status, FitStatus::BadData { point: 17 }),
            1 | 2 => {
                let data = Data::new([&columns, &rows], &y).unwrap();
                let single = fitter.fit(data, bad_starts[i]).unwrap();
                assert_eq!(status.termination(), Some(single.termination()), "fit {i}");
            }
            3 => assert_eq!(status, FitStatus::BadStart { parameter: 3 }),
            4 => assert_eq!(status, FitStatus::BadStart { parameter: 1 }),
            _ => {
                assert!(!status.is_determined() && status != FitStatus::NotRun, "{status}")
            }
        }
    }
}

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c)
}

const START: [f64; 3] = [15.0, 0.7, 3.0];

fn decay_at(x: f64, i: usize) -> f64 {
    20.0 * (-x).exp() + 5.0 + noise(i)
}

#[test]
fn fits_of_all_lengths_with_masks_and_holes_are_the_single_fits() {
    let lengths: Vec<usize> = (0..297).map(|i| 4 + (i * 131) % 297).collect();
    let mut offsets = vec![0];
    lengths.iter().for_each(|n| offsets.push(offsets[offsets.len() - 1] + n));
    let along = |&n: &usize| (0..n).map(move |i| 4.0 * i as f64 / n as f64);
    let xs: Vec<f64> = lengths.iter().flat_map(along).collect();
    let mut y: Vec<f64> = xs.iter().enumerate().map(|(i, x)| decay_at(*x, i)).collect();
    // The first four points of each fit stay, so that all can be made.
    let inner = |i: usize| !offsets.iter().any(|&o| (o..o + 4).contains(&i));
    let mask: Vec<bool> = (0..y.len()).map(|i| i % 7 != 2 || !inner(i)).collect();
    (0..y.len()).step_by(11).filter(|&i| inner(i)).for_each(|i| y[i] = f64::NAN);
    let data = BatchData::own(&xs, &y).unwrap().offsets(&offsets).unwrap();
    let data = data.mask(&mask).unwrap().missing(Missing::Omit);
    let batch = decay().fit_batch(&data, START).unwrap();
    for (i, w) in offsets.windows(2).enumerate() {
        let range = w[0]..w[1];
        let one = Data::new(&xs[range.clone()], &y[range.clone()]).unwrap();
        let one = one.mask(&mask[range]).unwrap().missing(Missing::Omit);
        let single = decay().fit(one, START).unwrap();
        assert_eq!(batch.fit(i).status().termination(), Some(single.termination()), "fit {i}");
        assert_eq!(batch.fit(i).points(), single.degrees_of_freedom() + 3);
        // Of the shortest the parameters are hardly determined.
        if batch.fit(i).points() > 12 {
            same(&batch, i, &single);
        }
    }
}

/// Counts with random masks, missing values, points of their own and different numbers of points: in lanes, one by one
/// (as fits with a time limit are computed), and as single fits.
#[test]
fn counts_with_masks_and_holes_are_the_single_fits() {
    let (fits, n) = (83, 40);
    let counted = decay().estimator(Estimator::Poisson).bound("p0", 0.0..).bound("p2", 1e-3..);
    let x: Vec<f64> = (0..n).map(|i| 0.1 * i as f64).collect();
    let xs: Vec<f64> = (0..fits * n).map(|i| 0.1 * (i % n) as f64 + 0.05 * noise(i)).collect();
    let count = |i: usize| (decay_at(xs[i], i) + 4.0 * noise(3 * i)).max(0.0).round();
    let counts: Vec<f64> = (0..fits * n).map(count).collect();
    let chance = |i: usize, seed: usize| noise(i.wrapping_mul(seed)) + 0.5;
    let mask: Vec<bool> = (0..fits * n).map(|i| chance(i, 7919) < 0.8).collect();
    let hole = |i: usize| if chance(i, 104_729) < 0.1 { f64::NAN } else { counts[i] };
    let holes: Vec<f64> = (0..fits * n).map(hole).collect();
    let mut offsets = vec![0];
    (0..fits).for_each(|fit| offsets.push(offsets[fit] + 30 + fit % 10));
    let end = offsets[fits];
    let alike: Vec<usize> = (0..=fits).map(|fit| fit * n).collect();
    let shared = |stack| BatchData::shared(&x, stack).unwrap();
    let own = BatchData::own(&xs, &counts).unwrap().points_per_fit(n).unwrap();
    let lengths = BatchData::own(&xs[..end], &holes[..end]).unwrap().offsets(&offsets).unwrap();
    let everything = lengths.clone().mask(&mask[..end]).unwrap();
    let (same_x, all) = (x.repeat(fits), vec![true; fits * n]);
    let one_mask: Vec<bool> = mask[..n].repeat(fits);
    let cases = [
        (shared(&counts).mask(&mask[..n]).unwrap(), &same_x, &alike, &counts, &one_mask),
        (shared(&counts).mask(&mask).unwrap(), &same_x, &alike, &counts, &mask),
        (shared(&holes), &same_x, &alike, &holes, &all),
        (own, &xs, &alike, &counts, &all),
        (lengths, &xs, &offsets, &holes, &all),
        (everything, &xs, &offsets, &holes, &mask),
    ];
    for (case, (data, xs, offsets, stack, mask)) in cases.into_iter().enumerate() {
        let data = data.missing(Missing::Omit);
        let in_lanes = counted.fit_batch(&data, START).unwrap();
        let options = Options::default().max_time(Duration::from_secs(3600));
        let one_by_one = counted.clone().options(options).fit_batch(&data, START).unwrap();
        assert!(in_lanes.converged() > fits - 3, "case {case}: {in_lanes}");
        for (i, w) in offsets.windows(2).enumerate() {
            let part = w[0]..w[1];
            let one = Data::new(&xs[part.clone()], &stack[part.clone()]).unwrap();
            let one = one.mask(&mask[part]).unwrap().missing(Missing::Omit);
            let single = counted.fit(one, START).unwrap();
            same(&in_lanes, i, &single);
            same(&one_by_one, i, &single);
            let [a, b] = [&in_lanes, &one_by_one].map(|batch| batch.fit(i));
            assert_eq!(a.points(), b.points(), "case {case}, fit {i}");
            assert_eq!(a.evaluations(), b.evaluations(), "case {case}, fit {i}");
        }
    }
}

#[test]
fn the_smallest_batch_and_native_models_are_the_single_fits() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| decay_at(x, i)).collect();
    let batch = decay().fit_batch(BatchData::shared(&x, &y).unwrap(), START).unwrap();
    same(&batch, 0, &decay().fit(Data::new(&x, &y).unwrap(), START).unwrap());
    let x: Vec<f64> = (0..30).map(|i| 0.15 * f64::from(i)).collect();
    let stack: Vec<f64> = (0..600).map(|i| decay_at(x[i % 30], i)).collect();
    let native = CurveFit::native(3, |x, p| p[0] * (-p[1] * x).exp() + p[2]);
    let batch = native.fit_batch(BatchData::shared(&x, &stack).unwrap(), START).unwrap();
    for (i, y) in stack.chunks(30).enumerate() {
        same(&batch, i, &native.fit(Data::new(&x, y).unwrap(), START).unwrap());
    }
}

/// Starts at which factors of the partials are 0, no parameter has an effect, or a column's scale is
/// far from 1: such fits leave the usual way, and end as alone.
#[test]
fn fits_that_leave_the_usual_way_end_as_alone() {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let starts = [
        START,
        [0.0, 0.7, 3.0],
        [15.0, 0.0, 3.0],
        [1e-150, 0.7, 0.0],
        [15.0, 400.0, 3.0],
        [1e120, 0.7, 3.0],
        [15.0, -200.0, 3.0],
        [0.0, 1e5, 0.0],
    ];
    let fits = 64;
    let stack: Vec<f64> = (0..fits * 40).map(|i| decay_at(x[i % 40], i)).collect();
    let each: Vec<[f64; 3]> = (0..fits).map(|i| starts[i % starts.len()]).collect();
    let data = BatchData::shared(&x, &stack).unwrap();
    for fitter in [decay(), decay().fix("p2")] {
        let batch = fitter.fit_batch(&data, Starts::from(&each)).unwrap();
        let mut ends = Vec::<Option<Termination>>::new();
        for (i, y) in stack.chunks(40).enumerate() {
            let found = batch.statuses()[i];
            match fitter.fit(Data::new(&x, y).unwrap(), each[i]) {
                Ok(single) => {
                    assert_eq!(found.termination(), Some(single.termination()), "{:?}", each[i]);
                    if i % starts.len() == 0 {
                        same(&batch, i, &single);
                        assert!(found.converged());
                    }
                    if !ends.contains(&found.termination()) {
                        ends.push(found.termination());
                    }
                }
                Err(error) => assert!(found.termination().is_none(), "{found}, alone {error}"),
            }
        }
        println!("{ends:?}");
        assert!(ends.len() > 1, "{ends:?}");
    }
}

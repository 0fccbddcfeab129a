//! Tests of distributed fits whose parts are on emulated devices. The result has the same bits for every division of
//! the points into parts. If a device fails, the CPU takes over the part or, if it may not, the fit returns the error.

use super::batches::{START, abscissae, decay, decays};
use super::trial::Trial;
use crate::backend::cuda::testing::faulty_driver::{Call, Injected};
use crate::parts::{Part, Parts, merge};
use crate::{Backend, CurveFit, Data, Error, Estimator, Fit, Loss, Missing, Sigma};

const GROUP: usize = Part::GROUP as usize;

/// Returns the fit of `parts`. Their replies are merged in order, the first two first.
fn fit(curve: &CurveFit, parts: &mut [Part<'_>], start: &[f64]) -> Result<Fit, Error> {
    let ask = |question: &[u8]| {
        let mut answers = parts.iter_mut().map(|part| part.answer(question));
        let first = answers.next().expect("a part")?;
        answers.try_fold(first, |left, right| merge(&left, &right?))
    };
    curve.fit_parts(Parts::new(ask).subsample(false), start)
}

fn bits(fit: &Fit) -> Vec<u64> {
    let numbers = [fit.params(), &fit.std_errors(), &[fit.cost()]].concat();
    numbers.into_iter().map(f64::to_bits).collect()
}

#[test]
fn parts_on_devices_have_the_same_bits_however_points_are_divided() {
    let Some(trial) = Trial::new(Injected::Nothing, usize::MAX) else { return };
    let n = 3 * GROUP + 5000;
    let x = abscissae(n);
    let y = decays(&x, 1);
    let sigma: Vec<f64> = x.iter().map(|x| 0.2 + 0.05 * x).collect();
    let counts: Vec<f64> = y.iter().map(|y| y.round().max(0.0)).collect();
    let mut holes = y.clone();
    (0..n).step_by(1001).for_each(|i| holes[i] = f64::NAN);
    let robust = || decay().loss(Loss::Cauchy { scale: 0.3 });
    let poisson = || decay().estimator(Estimator::Poisson);
    for (what, curve, y, weighed) in [
        ("plain", decay(), &y, false),
        ("weighed", decay(), &y, true),
        ("holes", decay(), &holes, false),
        ("robust", robust(), &y, false),
        ("counts", poisson(), &counts, false),
    ] {
        let missing = if what == "holes" { Missing::Omit } else { Missing::Error };
        let of = |curve: &CurveFit, groups: &[usize]| {
            let ends = groups[1..].iter().map(|group| group * GROUP).chain([n]);
            let ranges = groups.iter().map(|group| group * GROUP).zip(ends);
            let part = |(from, to): (usize, usize)| {
                let data = Data::new(&x[from..to], &y[from..to]).unwrap().missing(missing);
                let data = match weighed {
                    true => data.sigma(Sigma::Absolute(&sigma[from..to])).unwrap(),
                    false => data,
                };
                Part::new(curve, data, from as u64).unwrap()
            };
            ranges.map(part).collect::<Vec<_>>()
        };
        let there = trial.on_device(curve.clone(), false);
        let launches = trial.driver.count(Call::Launch);
        let one = fit(&there, &mut of(&there, &[0]), &START).unwrap();
        assert!(one.converged() && trial.driver.count(Call::Launch) > launches + 8, "{what}");
        for groups in [&[0, 1][..], &[0, 2], &[0, 1, 2, 3]] {
            let found = fit(&there, &mut of(&there, groups), &START).unwrap();
            assert_eq!(bits(&found), bits(&one), "{what}, parts at {groups:?}");
        }
        // Some on a device and some on the CPU.
        let here = curve.backend(Backend::Cpu);
        let alone = fit(&here, &mut of(&here, &[0]), &START).unwrap();
        let mut mixed = of(&there, &[0, 1, 2]);
        mixed[1] = of(&here, &[0, 1, 2]).swap_remove(1);
        let mixed = fit(&here, &mut mixed, &START).unwrap();
        for found in [&one, &mixed] {
            for ((a, b), e) in found.params().iter().zip(alone.params()).zip(alone.std_errors()) {
                assert!((a - b).abs() <= 1e-6 * e, "{what}: {a:e} against {b:e}");
            }
        }
    }
}

#[test]
fn a_device_that_fails_at_any_call_leaves_the_part_to_the_cpu_or_that_is_said() {
    let x = abscissae(3000);
    let y = decays(&x, 1);
    let data = || Data::new(&x, &y).unwrap();
    let here = decay().backend(Backend::Cpu);
    let alone = fit(&here, &mut [Part::new(&here, data(), 0).unwrap()], &START).unwrap();
    for take_over in [true, false] {
        for call in 0.. {
            let Some(trial) = Trial::new(Injected::Lost { call }, usize::MAX) else { return };
            let there = trial.on_device(decay(), take_over);
            let mut parts = [Part::new(&there, data(), 0).unwrap()];
            let found = fit(&there, &mut parts, &START);
            let fired = trial.driver.has_fired();
            match found {
                Ok(found) => {
                    assert!(found.converged() && (take_over || !fired), "call {call}");
                    for ((a, b), e) in
                        found.params().iter().zip(alone.params()).zip(alone.std_errors())
                    {
                        assert!((a - b).abs() <= 1e-6 * e, "call {call}: {a:e} against {b:e}");
                    }
                }
                Err(Error::Source(error)) => {
                    assert!(!take_over && error.to_string().contains("719"), "{error}");
                }
                other => panic!("call {call}: {other:?}"),
            }
            drop((parts, there));
            trial.assert_clean();
            if !fired {
                assert!(call > 10);
                break;
            }
        }
    }
}

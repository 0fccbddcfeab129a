//! However a model is given, the fit is the same: closure, generic function, text, slices of a run-time
//! length, several columns, and functions that are not traced at all.

use dualfit::program::Dual;
use dualfit::{CurveFit, Data, Error, Fit, Loss, Scalar, Sigma, Var, curve_fit};
use num_traits::{FloatConst, Inv, MulAdd, NumOps, One, Pow, Zero};
use std::f64::consts::PI;

fn decay<T: Scalar>(x: T, [a, b, c]: [T; 3]) -> T {
    a * (-b * x).exp() + c
}

fn spot<T: Scalar>([x, y]: [T; 2], [a, x0, y0, s, c]: [T; 5]) -> T {
    a * (-((x - x0).powi(2) + (y - y0).powi(2)) / (s.powi(2) * 2.0)).exp() + c
}

/// 1/(1 + b·x)², a hyperbola on a sawtooth, in the words of `num_traits`.
fn hyperbola<T>(x: T, [a, b, c]: [T; 3]) -> T
where
    T: Copy + Zero + One + NumOps + FloatConst + Inv<Output = T> + Pow<i32, Output = T>,
{
    let two = T::one() + T::one();
    a * (T::one() + b * x).inv().pow(2) + c * (x % (T::PI() / two)) + T::zero()
}

/// Disturbances that no model follows, the same on every machine.
fn noise(i: usize) -> f64 {
    let phase = (i as f64 * 0.618_033_988_749_894_9).fract();
    phase - 0.5
}

fn decay_data() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..60).map(|i| 0.07 * i as f64).collect();
    let y =
        x.iter().enumerate().map(|(i, &x)| decay(x, [2.5, 1.3, 0.5]) + 0.2 * noise(i)).collect();
    let sigma = x.iter().map(|x| 0.05 + 0.02 * x).collect();
    (x, y, sigma)
}

fn spot_data() -> [Vec<f64>; 3] {
    let grid = |step: usize, count: usize| (0..225).map(move |i| (i / step % count) as f64);
    let (x, y): (Vec<f64>, Vec<f64>) = (grid(1, 15).collect(), grid(15, 15).collect());
    let truth = [10.0, 7.3, 6.6, 1.8, 1.0];
    let z = (0..225).map(|i| spot([x[i], y[i]], truth) + noise(i)).collect();
    [x, y, z]
}

/// Everything that a fit says in numbers.
fn numbers(fit: &Fit) -> Vec<f64> {
    assert!(fit.converged(), "{}", fit.termination());
    let mut all = fit.params().to_vec();
    all.extend(fit.std_errors());
    all.extend(fit.covariance().as_slice());
    all.push(fit.cost());
    all
}

fn assert_same_bits(name: &str, found: &Fit, expected: &Fit) {
    let bits = |fit: &Fit| numbers(fit).into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(found), bits(expected), "{name}: {:?} {:?}", found.params(), expected.params());
    assert_eq!(found.evaluations(), expected.evaluations(), "{name}");
}

/// Parameters and errors relative to max(|value|, standard error); the cost relative to itself.
fn assert_near(name: &str, found: &Fit, expected: &Fit, tolerance: f64) {
    assert!(found.converged() && expected.converged(), "{name}: {}", found.termination());
    let (errors, others) = (expected.std_errors(), found.std_errors());
    for i in 0..expected.params().len() {
        let (p, q, e) = (found.params()[i], expected.params()[i], errors[i]);
        assert!(
            (p - q).abs() <= tolerance * q.abs().max(e),
            "{name}: parameter {i} is {p}, not {q}"
        );
        assert!(
            (others[i] - e).abs() <= tolerance * e,
            "{name}: error {i} is {}, not {e}",
            others[i]
        );
    }
    let (a, b) = (found.cost(), expected.cost());
    assert!((a - b).abs() <= tolerance * b, "{name}: cost {a}, not {b}");
}

#[test]
fn every_traced_form_gives_the_same_bits() -> Result<(), Error> {
    let (x, y, sigma) = decay_data();
    let start = [2.0, 0.5, 0.3];
    let weighted = || Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma));
    let closure = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c);
    let expected = closure.fit(weighted()?, start)?;
    let forms = [
        ("generic function", CurveFit::new(decay)),
        ("multivariate", CurveFit::multivariate(|[x], p| decay(x, p))),
        ("dynamic", CurveFit::dynamic(3, |x, p| p[0] * (-p[1] * x).exp() + p[2])),
        (
            "dynamic multivariate",
            CurveFit::dynamic_multivariate(1, 3, |x, p| p[0] * (-p[1] * x[0]).exp() + p[2]),
        ),
        ("text", CurveFit::parse("a*exp(-b*x) + c", ["x"])?),
        ("text of the variable t", CurveFit::parse("a * exp(-b * t) + c", ["t"])?),
        ("names", CurveFit::new(decay).names(["amplitude", "rate", "offset"])),
        (
            "assignments",
            CurveFit::new(|x, [a, b, c]| {
                let mut sum = x;
                sum *= -b;
                sum = sum.exp();
                sum *= a;
                sum += c;
                sum
            }),
        ),
        ("a clone", closure.clone()),
    ];
    for (name, model) in &forms {
        assert_same_bits(name, &model.fit(weighted()?, start)?, &expected);
        // Starts are arrays, slices or vectors, and a model serves many fits.
        assert_same_bits(name, &model.fit(weighted()?, &start[..])?, &expected);
        assert_same_bits(name, &model.fit(weighted()?, vec![2.0, 0.5, 0.3])?, &expected);
    }
    // Columns of x as one column, an array of one, a vector of one.
    let columns = CurveFit::new(decay);
    for data in [Data::new([&x], &y)?, Data::new(vec![&x[..]], &y)?] {
        assert_same_bits(
            "columns",
            &columns.fit(data.sigma(Sigma::Absolute(&sigma))?, start)?,
            &expected,
        );
    }
    // The one-line form has no sigma.
    let expected = closure.fit(Data::new(&x, &y)?, start)?;
    assert_same_bits("curve_fit", &curve_fit(decay, &x, &y, start)?, &expected);
    assert_same_bits(
        "curve_fit, [x]",
        &curve_fit(|[x], p| decay(x, p), [&x], &y, start)?,
        &expected,
    );
    let slices = curve_fit(|x: Vec<Var>, p| decay(x[0], p), vec![&x[..]], &y[..], start)?;
    assert_same_bits("curve_fit, columns", &slices, &expected);
    Ok(())
}

#[test]
fn several_columns_in_every_form_give_the_same_bits() -> Result<(), Error> {
    let [x, y, z] = spot_data();
    let start = [9.0, 7.0, 7.0, 2.0, 0.8];
    let expected = CurveFit::multivariate(spot).fit(Data::new([&x, &y], &z)?, start)?;
    let text = "a*exp(-((x - x0)^2 + (y - y0)^2)/(s^2*2)) + c";
    let forms = [
        (
            "dynamic",
            CurveFit::dynamic_multivariate(2, 5, |x, p| {
                spot([x[0], x[1]], [p[0], p[1], p[2], p[3], p[4]])
            }),
        ),
        ("text", CurveFit::parse(text, ["x", "y"])?),
    ];
    for (name, model) in &forms {
        assert_same_bits(name, &model.fit(Data::new([&x, &y], &z)?, start)?, &expected);
        assert_same_bits(name, &model.fit(Data::new(vec![&x, &y], &z)?, start)?, &expected);
    }
    assert_same_bits("curve_fit", &curve_fit(spot, [&x, &y], &z, start)?, &expected);
    Ok(())
}

/// A model with every option that its form could get wrong.
fn with_options(model: CurveFit) -> [(&'static str, CurveFit); 4] {
    [
        ("plain", model.clone()),
        ("soft L1", model.clone().loss(Loss::SoftL1 { scale: 1.0 })),
        ("a bound that holds", model.clone().bound("p1", 0.0..=1.2)),
        ("one fixed", model.fix("p2")),
    ]
}

#[test]
fn untraced_functions_give_the_traced_fit() -> Result<(), Error> {
    let (x, y, sigma) = decay_data();
    let data = || Data::new(&x, &y)?.sigma(Sigma::Absolute(&sigma));
    let native = || CurveFit::native(3, |x, p| decay(x, [p[0], p[1], p[2]]));
    let given = native().jacobian(|x, p, out| {
        let e = Scalar::exp(-p[1] * x);
        out.copy_from_slice(&[e, -x * p[0] * e, 1.0]);
    });
    let start = [2.0, 0.5, 0.45];
    let traced = with_options(CurveFit::new(decay));
    for (i, (name, model)) in traced.iter().enumerate() {
        let expected = model.fit(data()?, start)?;
        let numerical = with_options(native())[i].1.fit(data()?, start)?;
        let exact = with_options(given.clone())[i].1.fit(data()?, start)?;
        for (kind, fit, tolerance) in [("numerical", numerical, 1e-6), ("given", exact, 1e-12)] {
            let name = format!("{name}, {kind} partials");
            if *fit.at_bound() != *expected.at_bound() {
                panic!("{name}: {:?} at bound", fit.at_bound());
            }
            if expected.at_bound().is_empty() {
                assert_near(&name, &fit, &expected, tolerance);
            } else {
                let off = (fit.params()[0] / expected.params()[0] - 1.0).abs();
                assert!(off < tolerance, "{name}: {off:e}");
            }
        }
    }
    Ok(())
}

#[test]
fn untraced_functions_of_several_columns_give_the_traced_fit() -> Result<(), Error> {
    let [x, y, z] = spot_data();
    let start = [9.0, 7.0, 7.0, 2.0, 0.8];
    let expected = CurveFit::multivariate(spot).fit(Data::new([&x, &y], &z)?, start)?;
    let value = |x: &[f64], p: &[f64]| spot([x[0], x[1]], [p[0], p[1], p[2], p[3], p[4]]);
    let native = CurveFit::native_multivariate(2, 5, value);
    let found = native.fit(Data::new([&x, &y], &z)?, start)?;
    assert_near("numerical partials", &found, &expected, 1e-6);
    let given = native.jacobian_multivariate(|x, p, out| {
        let (u, v, s) = (x[0] - p[1], x[1] - p[2], p[3]);
        let e = Scalar::exp(-(u * u + v * v) / (s * s * 2.0));
        let f = p[0] * e;
        out.copy_from_slice(&[
            e,
            f * u / (s * s),
            f * v / (s * s),
            f * (u * u + v * v) / (s * s * s),
            1.0,
        ]);
    });
    let found = given.fit(Data::new([&x, &y], &z)?, start)?;
    assert_near("given partials", &found, &expected, 1e-12);
    assert_eq!(found.evaluations(), expected.evaluations());
    Ok(())
}

#[test]
fn untraced_functions_see_points_as_they_are_given() -> Result<(), Error> {
    // Masked points, single precision and infinite x arrive as the traced model sees them.
    let (x, y, _) = decay_data();
    let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let mask: Vec<bool> = (0..x.len()).map(|i| i % 3 != 1).collect();
    let start = [2.0, 0.5, 0.3];
    let fit = |model: CurveFit| model.fit(Data::new(&single, &y)?.mask(&mask)?, start);
    let expected = fit(CurveFit::new(decay))?;
    assert_eq!(expected.points(), 40);
    let found = fit(CurveFit::native(3, |x, p| decay(x, [p[0], p[1], p[2]])))?;
    assert_near("masked single precision", &found, &expected, 1e-6);

    let mut far = x.clone();
    far[59] = f64::INFINITY;
    let fit = |model: CurveFit| model.fit(Data::new(&far, &y)?.allow_infinite_x(true), start);
    let select = |x: Var, [a, b, c]: [Var; 3]| x.eq(f64::INFINITY).select(c, decay(x, [a, b, c]));
    let expected = fit(CurveFit::new(select))?;
    let found = fit(CurveFit::native(3, |x, p| decay(x, [p[0], p[1], p[2]])))?;
    assert_near("infinite x", &found, &expected, 1e-6);
    Ok(())
}

#[test]
fn predictions_are_the_closure_itself() -> Result<(), Error> {
    let (x, y, _) = decay_data();
    let start = [2.0, 0.5, 0.3];
    let fit = curve_fit(decay, &x, &y, start)?;
    let p = [fit.params()[0], fit.params()[1], fit.params()[2]];
    let direct: Vec<u64> = x.iter().map(|&x| decay(x, p).to_bits()).collect();
    let predicted: Vec<u64> = fit.predict(&x)?.into_iter().map(f64::to_bits).collect();
    assert_eq!(predicted, direct);
    let residuals = fit.residuals(Data::new(&x, &y)?)?;
    let half_squares: f64 = residuals.iter().map(|r| 0.5 * r * r).sum();
    assert!((half_squares / fit.cost() - 1.0).abs() < 1e-13);
    Ok(())
}

#[test]
fn a_function_written_for_num_traits_is_a_model() {
    let x: Vec<f64> = (0..80).map(|i| 0.11 * i as f64).collect();
    let y: Vec<f64> = (0..80).map(|i| hyperbola(x[i], [3.0, 0.8, 0.4]) + 0.05 * noise(i)).collect();
    let data = Data::new(&x, &y).unwrap();
    let generic = CurveFit::new(hyperbola).fit(&data, [1.0, 1.0, 1.0]).unwrap();
    let closure = CurveFit::new(|x, [a, b, c]| {
        let inverse = (1.0 + b * x).recip();
        a * (inverse * inverse) + c * x.fmod(PI / 2.0) + 0.0
    });
    assert_same_bits("num_traits", &generic, &closure.fit(&data, [1.0, 1.0, 1.0]).unwrap());
    // Dual numbers are such numbers too: ∂/∂b = −2ax/(1 + bx)³.
    let dual = |v: f64, k: usize| Dual::<f64, 3>::variable(v, k);
    let value = hyperbola(Dual::constant(2.0), [dual(3.0, 0), dual(0.5, 1), dual(1.0, 2)]);
    let expected = [0.25, -2.0 * 3.0 * 2.0 / 8.0, 2.0 % (PI / 2.0)];
    for (found, expected) in value.partials.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }
    assert!(Zero::is_zero(&Dual::<f64, 1>::zero()) && !Zero::is_zero(&dual(0.0, 1)));
    assert_eq!(MulAdd::mul_add(dual(2.0, 0), dual(3.0, 1), dual(4.0, 2)).partials, [3.0, 2.0, 1.0]);
}

#[test]
fn whole_numbers_and_references_stand_on_either_side() {
    let (x, y, _) = decay_data();
    let data = Data::new(&x, &y).unwrap();
    let plain = CurveFit::new(|x, [a, b, c]| {
        let terms = a * (-b * x).exp() + c;
        (2.0 * terms / 4.0).sin() + terms * 3.0 / 6.0 - 1.0
            + (1.0 - 0.5 * x.max(0.0)) % 7.0
            + 0.5 * x
    });
    let other = CurveFit::dynamic(3, |x, p| {
        let [a, b, c] = p else { panic!("three parameters") };
        let terms: Var = [a * (-b * x).exp(), *c].iter().sum();
        let mut sum = (2 * &terms / 4).sin();
        sum += &terms * 3 / 6;
        sum -= 1;
        sum += (1 - 0.5 * &x.max(0)) % 7;
        sum + &x / 2
    });
    let start = [1.0, 1.0, 0.0];
    assert_same_bits("forms", &other.fit(&data, start).unwrap(), &plain.fit(&data, start).unwrap());
}

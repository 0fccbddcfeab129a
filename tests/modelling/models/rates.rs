//! Simulated data of decays, growth, doses, relaxation and other laws.

use crate::models::truths::{Truth, between, log_between, sign, spread};
use rand::rngs::StdRng;

/// Points in equal ratios instead of equal steps.
fn log_spread(rng: &mut StdRng, low: f64, high: f64) -> Vec<f64> {
    spread(rng, low.ln(), high.ln()).into_iter().map(f64::exp).collect()
}

/// The models whose truths are in this file.
pub(crate) static HERE: &[Truth] = &[
    Truth {
        name: "exponential",
        draw: |rng| {
            let low = between(rng, -1.0, 3.0);
            let tau = log_between(rng, 0.05, 2.0);
            (vec![spread(rng, low, low + 1.0)], vec![sign(rng) * log_between(rng, 0.1, 100.0), tau])
        },
    },
    Truth {
        name: "exponential_offset",
        draw: |rng| {
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            let offset = height * between(rng, -5.0, 5.0);
            (vec![spread(rng, 0.0, 10.0)], vec![height, log_between(rng, 0.3, 7.0), offset])
        },
    },
    Truth {
        name: "biexponential",
        draw: |rng| {
            let (slow, a) = (between(rng, 3.0, 10.0), log_between(rng, 1.0, 100.0));
            let fast = slow / between(rng, 8.0, 20.0);
            let b = a * between(rng, 0.5, 2.0);
            (vec![spread(rng, 0.0, 20.0)], vec![b, fast, a, slow])
        },
    },
    Truth {
        name: "triexponential",
        draw: |rng| {
            let (slow, a) = (between(rng, 30.0, 50.0), log_between(rng, 1.0, 100.0));
            let middle = slow / between(rng, 10.0, 15.0);
            let fast = middle / between(rng, 10.0, 15.0);
            let (b, c) = (a * between(rng, 0.7, 1.5), a * between(rng, 0.7, 1.5));
            (vec![log_spread(rng, 0.02, 100.0)], vec![c, fast, b, middle, a, slow])
        },
    },
    Truth {
        name: "stretched_exponential",
        draw: |rng| {
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            (
                vec![spread(rng, 0.0, 10.0)],
                vec![height, between(rng, 0.5, 4.0), between(rng, 0.4, 2.0)],
            )
        },
    },
    Truth {
        name: "growth",
        draw: |rng| {
            let rate = sign(rng) * log_between(rng, 0.05, 2.0);
            (vec![spread(rng, 0.0, 10.0)], vec![sign(rng) * log_between(rng, 0.1, 100.0), rate])
        },
    },
    Truth {
        name: "power_law",
        draw: |rng| {
            let exponent = sign(rng) * between(rng, 0.3, 4.0);
            (vec![spread(rng, 0.5, 10.0)], vec![sign(rng) * log_between(rng, 0.1, 100.0), exponent])
        },
    },
    Truth {
        name: "logistic_growth",
        draw: |rng| {
            let (rate, middle) = (sign(rng) * log_between(rng, 0.5, 5.0), between(rng, 2.0, 8.0));
            (vec![spread(rng, 0.0, 10.0)], vec![log_between(rng, 0.1, 100.0), rate, middle])
        },
    },
    Truth {
        name: "gompertz",
        draw: |rng| {
            let (rate, middle) = (sign(rng) * log_between(rng, 0.5, 5.0), between(rng, 2.0, 8.0));
            (vec![spread(rng, 0.0, 10.0)], vec![log_between(rng, 0.1, 100.0), rate, middle])
        },
    },
    Truth {
        name: "weibull",
        draw: |rng| {
            let (scale, shape) = (between(rng, 1.0, 6.0), log_between(rng, 0.5, 8.0));
            (vec![spread(rng, 0.0, 10.0)], vec![log_between(rng, 0.1, 100.0), scale, shape])
        },
    },
    Truth {
        name: "michaelis_menten",
        draw: |rng| {
            (
                vec![spread(rng, 0.0, 10.0)],
                vec![log_between(rng, 0.1, 100.0), log_between(rng, 0.2, 10.0)],
            )
        },
    },
    Truth {
        name: "langmuir",
        draw: |rng| {
            let x = spread(rng, 0.0, 1e5);
            (vec![x], vec![log_between(rng, 0.1, 100.0), log_between(rng, 1e-5, 1e-3)])
        },
    },
    Truth {
        name: "freundlich",
        draw: |rng| {
            (
                vec![spread(rng, 0.0, 10.0)],
                vec![log_between(rng, 0.1, 100.0), between(rng, 0.7, 6.0)],
            )
        },
    },
    Truth {
        name: "hill",
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 0.1, 10.0), between(rng, 0.6, 4.0));
            (vec![log_spread(rng, 1e-3, 1e3)], vec![log_between(rng, 0.1, 100.0), ec50, hill])
        },
    },
    Truth {
        name: "logistic4",
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 1e-7, 1e-5), sign(rng) * between(rng, 0.6, 4.0));
            let mut x = log_spread(rng, 1e-9, 1e-3);
            x[..4].fill(0.0);
            let bottom = between(rng, -1.0, 50.0);
            (vec![x], vec![bottom, bottom + log_between(rng, 0.1, 100.0), ec50, hill])
        },
    },
    Truth {
        name: "logistic4_log",
        draw: |rng| {
            let (ec50, hill) = (between(rng, -7.0, -5.0), sign(rng) * between(rng, 0.6, 4.0));
            let bottom = between(rng, -1.0, 50.0);
            let top = bottom + log_between(rng, 0.1, 100.0);
            (vec![spread(rng, -9.0, -3.0)], vec![bottom, top, ec50, hill])
        },
    },
    Truth {
        name: "logistic5",
        draw: |rng| {
            let (ec50, hill) = (log_between(rng, 0.3, 3.0), sign(rng) * between(rng, 1.0, 3.0));
            let bottom = between(rng, -1.0, 50.0);
            let top = bottom + log_between(rng, 0.1, 100.0);
            let asymmetry = log_between(rng, 0.5, 2.0);
            (vec![log_spread(rng, 1e-3, 1e3)], vec![bottom, top, ec50, hill, asymmetry])
        },
    },
    Truth {
        name: "inversion_recovery",
        draw: |rng| {
            let t1 = log_between(rng, 100.0, 2000.0);
            let m0 = sign(rng) * log_between(rng, 1.0, 1000.0);
            (vec![spread(rng, 20.0, 5000.0)], vec![m0, between(rng, 1.6, 2.0), t1])
        },
    },
    Truth {
        name: "inversion_recovery_magnitude",
        draw: |rng| {
            let t1 = log_between(rng, 300.0, 2000.0);
            let x = spread(rng, 20.0, 5000.0);
            (vec![x], vec![log_between(rng, 1.0, 1000.0), between(rng, 1.6, 2.0), t1])
        },
    },
    Truth {
        name: "saturation_recovery",
        draw: |rng| {
            let t1 = log_between(rng, 100.0, 4000.0);
            (vec![spread(rng, 0.0, 5000.0)], vec![log_between(rng, 1.0, 1000.0), t1])
        },
    },
    Truth {
        name: "variable_flip_angle",
        draw: |rng| {
            let t1 = log_between(rng, 5.0, 500.0);
            (vec![spread(rng, 0.02, 0.6)], vec![log_between(rng, 1.0, 1000.0), t1])
        },
    },
    Truth {
        name: "arrhenius",
        draw: |rng| {
            let energy = log_between(rng, 1e4, 1.5e5);
            let amplitude = log_between(rng, 0.1, 100.0) * (energy / (8.314 * 350.0)).exp();
            (vec![spread(rng, 280.0, 400.0)], vec![amplitude, energy])
        },
    },
    Truth {
        name: "planck",
        draw: |rng| {
            (
                vec![spread(rng, 0.3, 5.0)],
                vec![log_between(rng, 0.01, 1.0), between(rng, 1000.0, 8000.0)],
            )
        },
    },
    Truth {
        name: "fermi_dirac",
        draw: |rng| {
            let (middle, width) = (between(rng, -5.0, 5.0), log_between(rng, 0.01, 100.0));
            let x = spread(rng, middle - width, middle + width);
            let center = middle + width * between(rng, -0.5, 0.5);
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            (vec![x], vec![height, center, width * between(rng, 0.03, 0.25)])
        },
    },
    Truth {
        name: "bose_einstein",
        draw: |rng| {
            let (center, kt) = (between(rng, -2.0, 2.0), log_between(rng, 0.1, 10.0));
            let low = center + kt * between(rng, 0.1, 0.3);
            let height = sign(rng) * log_between(rng, 0.1, 100.0);
            let high = low + kt * between(rng, 3.0, 5.0);
            (vec![spread(rng, low, high)], vec![height, center, kt])
        },
    },
    Truth {
        name: "lennard_jones",
        draw: |rng| {
            let sigma = between(rng, 2.0, 4.0);
            let low = sigma * between(rng, 0.92, 1.02);
            let x = spread(rng, low, 3.0 * sigma);
            (vec![x], vec![log_between(rng, 1e-3, 10.0), sigma])
        },
    },
    Truth {
        name: "morse",
        draw: |rng| {
            let (center, width) = (between(rng, 1.0, 3.0), between(rng, 0.2, 0.6));
            let low = center - width * between(rng, 0.4, 0.8);
            let x = spread(rng, low, center + 5.0 * width);
            (vec![x], vec![log_between(rng, 1e-3, 10.0), center, width])
        },
    },
    Truth {
        name: "diode",
        draw: |rng| {
            let nvt = between(rng, 0.025, 0.06);
            let i0 = log_between(rng, 1e-15, 1e-8);
            let top = nvt * (log_between(rng, 1e-4, 1e-1) / i0).ln();
            (vec![spread(rng, -0.2, top)], vec![i0, nvt])
        },
    },
    Truth {
        name: "diode_series_resistance",
        draw: |rng| {
            let (nvt, i0) = (between(rng, 0.025, 0.06), log_between(rng, 1e-13, 1e-8));
            let (largest, drop) = (log_between(rng, 1e-3, 1e-1), between(rng, 1.0, 12.0));
            let top = nvt * ((largest / i0).ln() + drop);
            (vec![spread(rng, -0.1, top)], vec![i0, nvt, nvt * drop / largest])
        },
    },
    Truth {
        name: "ivim",
        draw: |rng| {
            let (slow, size) = (between(rng, 0.6e-3, 1.5e-3), log_between(rng, 1.0, 1000.0));
            let params = vec![size, between(rng, 0.3, 0.7), slow, slow * between(rng, 12.0, 25.0)];
            (vec![spread(rng, 0.0, 1500.0)], params)
        },
    },
    Truth {
        name: "fcs_diffusion",
        draw: |rng| {
            let params = vec![
                log_between(rng, 0.3, 30.0),
                log_between(rng, 2e-5, 1e-3),
                between(rng, 2.0, 6.0),
            ];
            (vec![log_spread(rng, 1e-7, 1.0)], params)
        },
    },
    Truth {
        name: "bet",
        draw: |rng| {
            (
                vec![spread(rng, 0.005, 0.4)],
                vec![log_between(rng, 0.1, 100.0), log_between(rng, 5.0, 100.0)],
            )
        },
    },
];

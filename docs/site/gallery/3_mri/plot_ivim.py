"""
Diffusion and perfusion (IVIM): a fraction that is hardly determined
====================================================================

In a diffusion-weighted series the signal is S₀ (f exp(-b D*) + (1 - f) exp(-b D)): a small perfused fraction f with
a fast pseudo-diffusion D* and tissue with diffusion D (Le Bihan et al., *Radiology* 168, 497, 1988). Values of the
order of abdominal organs are used: f = 0.12, D = 1.1 · 10⁻³ mm²/s, D* = 60 · 10⁻³ mm²/s.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(33)


def ivim(b, s0, f, fast, slow):
    return s0 * (f * np.exp(-b * fast / 1000) + (1 - f) * np.exp(-b * slow / 1000))


b = np.array([0, 5, 10, 20, 30, 50, 80, 120, 200, 300, 500, 800.0])  # s/mm²
measured = ivim(b, 1000, 0.12, 60, 1.1) + 20 * rng.normal(size=b.size)

bounds = {"s0": (0, None), "f": (0, 1), "fast": (3, 1000), "slow": (0.1, 3)}
fit = dualfit.fit(ivim, b, measured, sigma=20.0, absolute_sigma=True, bounds=bounds)
linear = fit.confidence_intervals(0.95)
refits = fit.bootstrap(2000, "parametric")
print(f"{'95 % of':8}{'standard error':>18}{'profile':>18}{'bootstrap':>18}")
for name in ("f", "fast", "slow"):
    intervals = (linear[name], fit.profile(name).interval(0.95), refits.interval(name))
    cells = [f"{low:.3g} to {high:.3g}" for low, high in intervals]
    print(f"{name:8}" + "".join(f"{cell:>18}" for cell in cells))

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
fine = np.linspace(0, 800, 500)
left.errorbar(b, measured, 20, fmt="o", ms=4, color="0.35")
left.plot(fine, fit.predict(fine), "C1")
left.set(xlabel="b / (s/mm²)", ylabel="signal")
right.hist(refits["fast"], np.linspace(0, 250, 50), color="0.75", label="bootstrap")
right.axvline(fit["fast"].value, color="C1", label="fit")
right.axvline(60, color="C0", ls="--", label="truth")
right.set(xlabel="D* / (10⁻³ mm²/s)", ylabel="refits")
right.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"s0": 1000, "f": 0.12, "fast": 60, "slow": 1.1}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The distribution of D* is skewed: large values change the curve hardly at all,
# because the perfused signal has then decayed at the second b value. A symmetric interval is wrong in such a
# case. The profile and the bootstrap agree with each other.
#
# **What they do not include.** Noise of magnitude images (see the map of T₂) and movement between the images.
# With 12 b values and this noise, D* of a single pixel cannot be interpreted: average over a region first.

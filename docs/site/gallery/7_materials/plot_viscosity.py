"""
Viscosity of a glass melt: parameters that compensate each other
================================================================

The viscosity of a melt follows log η = A + B/(T - T₀) (Vogel, Fulcher and Tammann). Over a limited range of
temperatures B and T₀ compensate each other. Values of the order of the soda-lime standard glass DGG I are used: A =
-1.58, B = 4332 K, T₀ = 521 K, with errors of 0.03 in log η.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(23)
temperature = np.arange(1050, 1700, 50.0)  # K
log_eta = -1.58 + 4332 / (temperature - 521) + 0.03 * rng.normal(size=temperature.size)

fit = dualfit.fit(
    "a + b/(t - t0)",
    temperature,
    log_eta,
    {"t0": 400},
    sigma=0.03,
    absolute_sigma=True,
    bounds={"t0": (0, 1000)},
)
print(fit)
for name in ("b", "t0"):
    low, high = fit.profile(name).interval(0.95)
    print(f"{name}: {fit[name]}, 95 % by profile {low:.0f} to {high:.0f} K")
print("log η at 1400 K:", fit.propagate("a + b/(1400 - t0)"))

region = fit.contour("t0", "b", [0.6827, 0.95])
fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
left.errorbar(temperature, log_eta, 0.03, fmt="o", ms=4, color="0.35")
left.plot(temperature, fit.predict(), "C1")
left.set(xlabel="temperature / K", ylabel="log₁₀(η / dPa s)")
region.plot(right)
right.set(xlabel="T₀ / K", ylabel="B / K")
# sphinx_gallery_start_ignore
truth_of = {"a": -1.58, "b": 4332, "t0": 521}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Each standard error allows for changes of the other parameters and is therefore
# large, while the curve itself is known to 0.01. The region is long, narrow and a little curved. Always propagate
# with the covariance, never with single errors.
#
# **What they do not include.** Extrapolation below the measured range. The formula fails near the glass
# transition, and no error bar says so.

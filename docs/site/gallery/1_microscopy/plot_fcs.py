"""
Correlation spectroscopy (FCS)
==============================

The autocorrelation of the fluorescence from a small volume decays as molecules diffuse out of it. For a Gaussian
volume with axis ratio 5 and a triplet state it is

G(τ) = 1/N · (1 + F/(1 - F) exp(-τ/τ_T)) / ((1 + τ/τ_D) √(1 + τ/(25 τ_D)))

(Widengren, Mets and Rigler, *J. Phys. Chem.* 99, 13368, 1995). Typical values of rhodamine 6G in water are used:
τ_D = 60 µs, τ_T = 2 µs, F = 0.15, and N = 2 molecules.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(3)


def correlation(tau, molecules, diffusion_time, triplet, triplet_time):
    diffusing = 1 / ((1 + tau / diffusion_time) * np.sqrt(1 + tau / (25 * diffusion_time)))
    return (1 + triplet / (1 - triplet) * np.exp(-tau / triplet_time)) * diffusing / molecules


tau = np.logspace(-0.5, 5, 80)  # µs
sigma = 0.003 + 0.02 / np.sqrt(tau)  # short lags have few photon pairs
measured = correlation(tau, 2.0, 60, 0.15, 2.0) + sigma * rng.normal(size=tau.size)

bounds = {
    "molecules": (0, None),
    "diffusion_time": (0, None),
    "triplet": (0, 0.9),
    "triplet_time": (0, None),
}
fit = dualfit.fit(correlation, tau, measured, sigma=sigma, absolute_sigma=True, bounds=bounds)
print(fit)

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), sharex=True, height_ratios=[3, 1], layout="constrained"
)
top.errorbar(tau, measured, sigma, fmt="o", ms=3, color="0.5", label="measured")
top.plot(tau, fit.predict(), "C1", zorder=3, label="fit")
top.set(
    xscale="log",
    ylabel="G(τ)",
    title=f"diffusion time {fit['diffusion_time']} µs, {fit['molecules']} molecules",
)
top.legend(frameon=False)
bottom.plot(tau, fit.residuals() / sigma, "o", ms=3, color="0.35")
bottom.axhline(0, color="C1")
bottom.set(xlabel="lag τ / µs", ylabel="residual / σ", ylim=(-4, 4))
# sphinx_gallery_start_ignore
truth_of = {"molecules": 2.0, "diffusion_time": 60, "triplet": 0.15, "triplet_time": 2.0}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The errors of the points were known, from the scatter between repeated recordings
# (``absolute_sigma=True``). The reduced χ² in the report is therefore a test: it is near 1 if model and sigma are
# right.
#
# **What they do not include.** Errors of neighbouring lags of a real correlator are correlated, since they come
# from the same photons. If they are treated as independent, the standard errors are too small. Pass the
# covariance matrix from repeated recordings as ``sigma``, or fit each recording and take the scatter of the
# results. The axis ratio of 5 and a wrong shape of the volume are systematic errors.

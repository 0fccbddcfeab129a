"""
Concentration after an oral dose: two curves that are the same
==============================================================

One compartment with absorption: c(t) = D/V · kₐ/(kₐ - k) · (exp(-k t) - exp(-kₐ t)). If kₐ and k are exchanged and
V is scaled, the curve is identical ("flip-flop"). ``multi_start`` shows both minima. Typical values of theophylline
are used: 320 mg, V = 32 L, kₐ = 1.5/h, k = 0.087/h (Boeckmann, Sheiner and Beal, data in *NONMEM Users Guide*,
1994).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(41)


def concentration(t, volume, absorption, elimination):
    difference = np.exp(-elimination * t) - np.exp(-absorption * t)
    return 320 / volume * absorption / (absorption - elimination) * difference


t = np.array([0.25, 0.5, 1, 1.5, 2, 3.5, 5, 7, 9, 12, 24.0])  # h
measured = concentration(t, 32, 1.5, 0.087) * np.exp(0.08 * rng.normal(size=t.size))

bounds = {"volume": (0.1, 500), "absorption": (0.01, 20), "elimination": (0.01, 20)}
sigma = 0.08 * measured  # 8 % of each value
both = dualfit.multi_start(
    concentration,
    t,
    measured,
    [20, 1, 0.1],
    starts=32,
    bounds=bounds,
    sigma=sigma,
    absolute_sigma=True,
)
print(both.optima)

bounds["elimination"] = (0.01, 0.3)  # known: elimination is the slower process
derived = {
    "half_life": "ln(2)/elimination",
    "auc": "320/(volume*elimination)",
    "t_max": "ln(absorption/elimination)/(absorption - elimination)",
}
fit = dualfit.fit(
    concentration, t, measured, bounds=bounds, sigma=sigma, absolute_sigma=True, derived=derived
)
print(fit)

fine = np.linspace(0, 25, 400)
band = fit.confidence_band(fine)
fig, ax = plt.subplots(layout="constrained")
ax.errorbar(t, measured, sigma, fmt="o", ms=4, color="0.35", label="data ± 8 %")
ax.fill_between(fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence")
ax.plot(fine, band.center, "C1", label="fit")
ax.set(
    xlabel="time / h",
    ylabel="concentration / (mg/L)",
    title=f"half-life {fit['half_life']} h, AUC {fit['auc']} mg h/L",
)
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"volume": 32, "absorption": 1.5, "elimination": 0.087}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** They hold for the minimum that the bounds select: they say nothing about the other
# one, which fits exactly as well. The errors of half-life, area under the curve and time of the maximum include
# the correlation of V, kₐ and k.
#
# **What they do not include.** The bioavailability: V is V/F if less than the whole dose is absorbed. A second
# compartment and a delay of the absorption would show in the residuals. The scatter between persons is larger
# than the errors of one person.

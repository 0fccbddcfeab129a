"""
Growth of a pasture: nine points, three curves
==============================================

Measured yield of a pasture over time (Ratkowsky 1983; data set Rat42 of NIST's Statistical Reference Datasets,
public domain). NIST certifies the logistic curve. Gompertz's and Richards's curves are alternatives; how far does
the final yield depend on the choice?
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

time = np.array([9, 14, 21, 28, 42, 57, 63, 70, 79.0])
yield_ = np.array([8.93, 10.80, 18.59, 22.33, 39.35, 56.11, 61.73, 64.62, 67.08])

curves = {
    "logistic": "limit/(1 + exp(b - rate*t))",
    "Gompertz": "limit*exp(-exp(b - rate*t))",
    "Richards": "limit/(1 + exp(b - rate*t))^(1/m)",
}
bounds = {"limit": (0, 500), "rate": (0, 1)}
fits = {
    name: dualfit.fit(
        f, time, yield_, bounds={**bounds, "m": (0.05, 20)} if name == "Richards" else bounds
    )
    for name, f in curves.items()
}
comparison = dualfit.compare(*fits.values())
for (name, fit), weight in zip(fits.items(), comparison.corrected_weights):
    low, high = fit.profile("limit").interval(0.95)
    print(
        f"{name}: limit {fit['limit']}, 95 % by profile {low:.1f} to {high:.1f}, weight {weight:.3f}"
    )
print("certified for the logistic curve: 72.462237576 ± 1.7340283401")

fine = np.linspace(0, 110, 300)
fig, ax = plt.subplots(layout="constrained")
for k, (name, fit) in enumerate(fits.items()):
    band = fit.confidence_band(fine)
    ax.plot(fine, band.center, color=f"C{k}", label=name)
    ax.fill_between(fine, band.lower, band.upper, color=f"C{k}", alpha=0.15, lw=0)
ax.plot(time, yield_, "o", color="0.25", label="measured")
ax.set(xlabel="time after the start of growth", ylabel="yield", ylim=(0, 110))
ax.legend(frameon=False, loc="lower right")
# sphinx_gallery_start_ignore
assert abs(fits["logistic"]["limit"].value - 72.462237576) < 1e-4
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The scatter of nine points with six degrees of freedom sets them, with Student's
# t. They hold if the curve is right.
#
# **What they do not include.** The limits of the logistic and of Gompertz's curve differ by more than both error
# bars, because the plateau was hardly reached. Measure longer, or report the range over the models.

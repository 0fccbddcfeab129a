"""
Electron mobility: a curve of seven parameters
==============================================

Measured electron mobility of a semiconductor over the logarithm of its density (Thurber, NIST; data set Thurber of
NIST's Statistical Reference Datasets, public domain, "higher difficulty", without units). The model is a quotient
of cubics. Four of its parameters are linear and need no start.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dualfit

table = pd.read_csv("../../../../examples/data/mobility.csv", comment="#")
x, y = table["log_density"].to_numpy(), table["mobility"].to_numpy()

model = "(b1 + b2*x + b3*x^2 + b4*x^3)/(1 + b5*x + b6*x^2 + b7*x^3)"
fit = dualfit.fit(model, x, y, {"b5": 0.7, "b6": 0.3, "b7": 0.03})
certified = [
    1288.1396800,
    1491.0792535,
    583.23836877,
    75.416644291,
    0.96629502864,
    0.39797285797,
    0.049727297349,
]
for name, value in zip(fit.names, certified):
    print(f"{name}: {fit[name]!r}, certified {value}")

fine = np.linspace(x.min() - 0.4, x.max() + 0.4, 400)
curve, new = fit.confidence_band(fine), fit.prediction_band(fine)
fig, ax = plt.subplots(layout="constrained")
ax.fill_between(
    fine, new.lower, new.upper, color="C0", alpha=0.15, lw=0, label="95 % of new points"
)
ax.fill_between(
    fine, curve.lower, curve.upper, color="C1", alpha=0.4, lw=0, label="95 % confidence"
)
ax.plot(fine, curve.center, "C1", label="fit")
ax.plot(x, y, "o", ms=3, color="0.25", label="measured")
ax.set(xlabel="logarithm of the density", ylabel="mobility")
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
assert np.allclose(fit.params, certified, rtol=1e-6)
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The parameters of such a quotient are correlated up to 0.998 and have no meaning
# one by one. The curve is what the data determine: the narrow band contains the true curve, the wide one contains
# new measurements.
#
# **What they do not include.** Outside of the data the band grows, but it still assumes that this formula holds.
# Use such a curve for interpolation only.

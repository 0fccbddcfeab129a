"""
A straight line with errors in both directions
==============================================

Masses of black holes and velocity dispersions of their galaxies have errors of similar size. A fit that takes x as
exact gives a slope that is too small. ``x_sigma`` passes the errors of x. The relation log M = 8.12 + 4.24
log(σ/200 km/s) and the typical errors are those of Gültekin et al., *Astrophys. J.* 698, 198 (2009).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(48)
true_x = rng.uniform(-0.4, 0.3, 45)  # log(dispersion / 200 km/s)
x_error, y_error = rng.uniform(0.03, 0.09, 45), rng.uniform(0.1, 0.3, 45)
x = true_x + x_error * rng.normal(size=45)
y = 8.12 + 4.24 * true_x + y_error * rng.normal(size=45)

line = "intercept + slope*x"
exact = dualfit.fit(line, x, y, sigma=y_error, absolute_sigma=True)
both = dualfit.fit(line, x, y, sigma=y_error, absolute_sigma=True, x_sigma=x_error)
for name, fit in (("x taken as exact", exact), ("errors in x and y", both)):
    print(
        f"{name:18} slope {fit['slope']}, intercept {fit['intercept']}, reduced χ² {fit.reduced_chi_square:.2f}"
    )

fine = np.linspace(-0.55, 0.45, 50)
band = both.confidence_band(fine)
fig, ax = plt.subplots(layout="constrained")
ax.errorbar(x, y, y_error, x_error, fmt="o", ms=3, lw=0.8, color="0.35")
ax.fill_between(fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence")
ax.plot(fine, both.predict(fine), "C1", label=f"errors in x and y: slope {both['slope']}")
ax.plot(fine, exact.predict(fine), "C0--", label=f"x taken as exact: slope {exact['slope']}")
ax.set(xlabel="log(velocity dispersion / 200 km/s)", ylabel="log(mass / solar masses)")
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"slope": 4.24, "intercept": 8.12}
for name, true_value in truth_of.items():
    assert abs(both[name].value - true_value) < 4 * both[name].std_error, name
assert both.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The fit minimises the distances from the line in units of the errors of both
# directions. The reduced χ² is near 1; with x taken as exact it is too large, which shows that something is
# missing.
#
# **What they do not include.** Real galaxies scatter about the relation by about 0.4 in log M. Such an intrinsic
# scatter must be added to ``y_error`` in quadrature until the reduced χ² is 1. Selection of bright galaxies is a
# bias that no fit sees.

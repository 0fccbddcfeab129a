"""
The functional response of a predator
=====================================

Holling's type II response of a predator: eaten = a N T/(1 + a h N), with attack rate a and handling time h, in T =
1 d. Numbers of prey eaten are counts. The values are of the order of aquatic insects: a = 1.6/d, h = 0.03 d (for
the method see Juliano in *Design and Analysis of Ecological Experiments*, 2001). Prey are replaced during the
experiment.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(28)


def eaten(density, attack, handling):
    return attack * density / (1 + attack * handling * density)


density = np.repeat([2, 4, 8, 15, 25, 40, 60, 90.0], 6)
counts = rng.poisson(eaten(density, 1.6, 0.03))

fit = dualfit.fit(
    eaten,
    density,
    counts,
    poisson=True,
    bounds={"attack": (0, None), "handling": (0, None)},
    derived={"most_per_day": "1/handling"},
)
print(fit)

region = fit.contour("attack", "handling")
fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
fine = np.linspace(0, 95, 200)
band = fit.confidence_band(fine)
left.plot(
    density + rng.uniform(-0.8, 0.8, density.size), counts, "o", ms=3, color="0.5", label="counts"
)
left.fill_between(
    fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence"
)
left.plot(fine, band.center, "C1", label="fit")
left.set(xlabel="prey offered", ylabel="prey eaten in 1 d")
left.legend(frameon=False)
region.plot(right)
right.set(xlabel="attack rate / (1/d)", ylabel="handling time / d")
# sphinx_gallery_start_ignore
truth_of = {"attack": 1.6, "handling": 0.03}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Poisson counts define their own errors; the deviance in the report tests if the
# counts scatter more than that.
#
# **What they do not include.** Predators differ in hunger and size, which makes counts more variable than Poisson
# ("overdispersion"). The p-value of the report is then small, and the errors must be multiplied by the root of
# the reduced deviance. If prey are not replaced, use Rogers's equation.

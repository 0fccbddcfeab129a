"""
The transit of a planet
=======================

A planet in front of its star dims it by the depth δ = (R_p/R_s)². The shape is a trapezoid, which needs minimum and
maximum functions; ``np.clip`` is differentiated like any other function. Values of HD 209458 b are used: δ = 1.5 %,
duration 3.1 h (Charbonneau et al., *Astrophys. J.* 529, L45, 2000).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(19)


def flux(t, base, slope, depth, middle, half_width, ingress):
    return (base + slope * t) * (
        1 - depth * np.clip((half_width - np.abs(t - middle)) / ingress, 0, 1)
    )


t = np.arange(-3.5, 3.5, 0.04)  # h
measured = flux(t, 1.0, 0.0003, 0.015, 0.12, 1.55, 0.45) + 0.0018 * rng.normal(size=t.size)

start = {"depth": 0.01, "middle": 0.0, "half_width": 1.3, "ingress": 0.4}
bounds = {"depth": (0, 1), "half_width": (0, 3), "ingress": (0.02, 1.5)}
fit = dualfit.fit(flux, t, measured, start, bounds=bounds, derived={"radius_ratio": "sqrt(depth)"})
low, high = fit.profile("ingress").interval(0.95)
for name in ("middle", "depth", "radius_ratio", "half_width", "ingress"):
    print(f"{name:12} {fit[name]}")
print(f"95 % of the ingress by profile: {low:.2f} to {high:.2f} h")

binned = slice(None, t.size // 5 * 5)
fig, ax = plt.subplots(layout="constrained")
ax.plot(t, measured, ".", ms=3, color="0.7", label="data")
ax.plot(
    t[binned].reshape(-1, 5).mean(1),
    measured[binned].reshape(-1, 5).mean(1),
    "o",
    ms=5,
    color="0.25",
    label="means of 5",
)
ax.plot(t, fit.predict(), "C1", label="fit")
ax.set(xlabel="time / h", ylabel="relative flux", title=f"radius ratio {fit['radius_ratio']}")
ax.legend(frameon=False, loc="lower right")
# sphinx_gallery_start_ignore
truth_of = {"depth": 0.015, "middle": 0.12, "half_width": 1.55, "ingress": 0.45}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** They assume independent, equal errors, whose size the scatter gives. The ingress
# has an asymmetric interval by profile, because a kink in the model moves from point to point.
#
# **What they do not include.** Slow fluctuations of the star and of the atmosphere ("red noise") make errors of
# neighbouring points similar. Then the true errors are several times as large; the residuals of the report would
# carry a warning. Limb darkening rounds the bottom of the curve, which a trapezoid does not.

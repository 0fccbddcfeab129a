"""
The light curve of a supernova, with outliers
=============================================

Photometry of surveys has occasional bad points: cosmic rays, bad seeing. A robust loss limits their influence. The
light curve is f(t) = A exp(-(t - t₀)/τ_f)/(1 + exp(-(t - t₀)/τ_r)) + B with typical values of type Ia (Bazin et
al., *Astron. Astrophys.* 534, A43, 2011): τ_r = 4 d, τ_f = 25 d.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(21)


def light(t, amplitude, t0, fall, rise, background):
    return amplitude * np.exp(-(t - t0) / fall) / (1 + np.exp(-(t - t0) / rise)) + background


t = np.sort(rng.uniform(-30, 90, 70))  # d
error = rng.uniform(1.0, 2.5, t.size)
measured = light(t, 60, 0, 25, 4, 1) + error * rng.normal(size=t.size)
measured[[8, 30, 41, 55, 63]] += [30, -28, 35, 22, -18]

start = {"amplitude": 50, "t0": 5, "fall": 20, "rise": 3, "background": 0}
bounds = {"amplitude": (0, None), "fall": (1, 200), "rise": (0.3, 50)}
given = dict(sigma=error, absolute_sigma=True, bounds=bounds)
squares = dualfit.fit(light, t, measured, start, **given)
robust = dualfit.fit(light, t, measured, start, loss="tukey", loss_scale=4.685, **given)
for name, fit in (("least squares", squares), ("Tukey's loss", robust)):
    print(f"{name:14} rise {fit['rise']} d, fall {fit['fall']} d, maximum near {fit['t0']} d")
print("warnings of least squares:", *squares.warnings, sep="\n  ")

fig, ax = plt.subplots(layout="constrained")
ax.errorbar(t, measured, error, fmt="o", ms=3, lw=0.8, color="0.35")
fine = np.linspace(-30, 90, 400)
ax.plot(fine, robust.predict(fine), "C1", zorder=3, label="Tukey's loss")
ax.plot(fine, squares.predict(fine), "C0--", zorder=3, label="least squares")
ax.set(xlabel="time / d", ylabel="flux / arbitrary units")
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"amplitude": 60, "t0": 0, "fall": 25, "rise": 4, "background": 1}
for name, true_value in truth_of.items():
    assert abs(robust[name].value - true_value) < 4 * robust[name].std_error, name
assert robust.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The scale 4.685 is in units of σ: beyond it a point has no influence. The standard
# errors follow from the influence of the points that remain. The least-squares fit reports that the data reject
# it, because χ² is too large.
#
# **What they do not include.** Tukey's loss needs σ of the right size. If it is unknown, set the scale from
# ``fit.diagnostics()["robust_scale"]``. If a third of the points is bad, no loss can tell which third.

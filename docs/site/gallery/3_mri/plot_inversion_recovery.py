"""
T₁ from the magnitude of an inversion recovery
==============================================

After an inversion pulse the magnetisation recovers as M₀ (1 - 2 E exp(-TI/T₁)), where E is the efficiency of the
inversion. Magnitude images lose the sign, so the model has a kink where the signal passes through zero. No starting
values are needed. Typical values of grey matter at 3 T are used: T₁ = 1820 ms (Stanisz et al., *Magn. Reson. Med.*
54, 507, 2005).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(30)


def magnitude(ti, m0, t1, efficiency):
    return np.abs(m0 * (1 - 2 * efficiency * np.exp(-ti / t1)))


ti = np.array([50, 100, 200, 400, 600, 800, 1000, 1300, 1700, 2300, 3000, 4500, 7000.0])
measured = magnitude(ti, 1000, 1820, 0.96) + 12 * rng.normal(size=ti.size)

bounds = {"m0": (0, None), "t1": (50, 6000), "efficiency": (0.5, 1)}
fit = dualfit.fit(magnitude, ti, measured, sigma=12.0, absolute_sigma=True, bounds=bounds)
print(fit)

fine = np.linspace(0, 7200, 600)
band = fit.confidence_band(fine)
fig, ax = plt.subplots(layout="constrained")
ax.errorbar(ti, measured, 12, fmt="o", ms=4, color="0.35", label="data ± σ")
ax.fill_between(fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence")
ax.plot(fine, band.center, "C1", label="fit")
ax.set(
    xlabel="inversion time / ms",
    ylabel="signal magnitude",
    title=f"T₁ = {fit['t1']} ms, efficiency {fit['efficiency']}",
)
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"m0": 1000, "t1": 1820, "efficiency": 0.96}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** They are standard errors for known noise. The error of T₁ includes that the
# efficiency of the inversion is not known; if you fix it (``fixed={"efficiency": 1}``), the error bar shrinks and
# T₁ is biased.
#
# **What they do not include.** Near the zero crossing the noise of a magnitude image is not normal: its mean is
# positive. These points have a small weight in T₁ here, because the signal is high elsewhere. At a low ratio of
# signal to noise, fit complex data instead. A repetition time that is not long compared with T₁ needs one more
# term in the model.

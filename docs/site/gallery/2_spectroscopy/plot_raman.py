"""
Raman bands of a carbon film: a ratio of areas
==================================================

The D band (1360 cm⁻¹) and the G band (1560 cm⁻¹) of amorphous carbon overlap. Their ratio is a measure of the
disorder (Ferrari and Robertson, *Phys. Rev. B* 61, 14095, 2000). Two Lorentzians and a quadratic background are
fitted. Models of the library compute their own starting values.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit
from dualfit import models

rng = np.random.default_rng(5)
shift = np.linspace(900, 2000, 300)  # cm⁻¹
d_band = 900 / (1 + ((shift - 1360) / 130) ** 2)
g_band = 1200 / (1 + ((shift - 1560) / 60) ** 2)
intensity = d_band + g_band + 300 + 0.1 * (shift - 1000) + 20 * rng.normal(size=shift.size)

spectrum = models.lorentzian("D_") + models.lorentzian("G_") + models.quadratic("background_")
fit = spectrum.fit(shift, intensity, derived={"ratio": "D_amplitude/G_amplitude"})
for name in ("D_center", "D_fwhm", "G_center", "G_fwhm", "ratio"):
    print(f"{name:9} {fit[name]}")

ax = fit.plot()
ax.set(
    xlabel="Raman shift / cm⁻¹",
    ylabel="intensity / counts",
    title=f"ratio of the areas D/G = {fit['ratio']}",
)
# sphinx_gallery_start_ignore
truth_of = {"D_center": 1360, "D_fwhm": 260, "G_center": 1560, "G_fwhm": 120, "ratio": 1.625}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** ``amplitude`` is the area of a band. The error of the ratio is propagated with the
# full covariance, because the areas of overlapping bands and the background are correlated. Computed from the
# errors of the two areas alone it would be wrong; by how much depends on the overlap:

amplitude_d, amplitude_g = fit["D_amplitude"], fit["G_amplitude"]
separate = fit["ratio"].value * np.hypot(
    amplitude_d.std_error / amplitude_d.value, amplitude_g.std_error / amplitude_g.value
)
print(
    f"error of the ratio: {fit['ratio'].std_error:.4f}; without the correlation it would be {separate:.4f}"
)

# %%
# **What they do not include.** The shape of the bands and of the background is an assumption. Fit a Gaussian or a
# Breit-Wigner shape and a linear background, too: if the ratio changes by more than its standard error, the
# choice of the model dominates the uncertainty.

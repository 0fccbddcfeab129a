"""
An X-ray reflection with two wavelengths
========================================

Copper Kα radiation consists of two lines: Kα₂ has a wavelength that is longer by the factor 1.5444274/1.5405929
(Hölzer et al., *Phys. Rev. A* 56, 4554, 1997) and half the intensity. The second peak has no free parameters. Its
position and area are ties. The reflection is silicon (311), 2θ = 56.12°.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit
from dualfit import models

rng = np.random.default_rng(24)
angle = np.arange(55.4, 57.0, 0.02)  # degrees
model = models.pseudo_voigt("k1_") + models.pseudo_voigt("k2_") + models.linear("bg_")
ties = {
    "k2_center": "2*asin(1.5444274/1.5405929*sin(k1_center*pi/360))*180/pi",
    "k2_amplitude": "0.5*k1_amplitude",
    "k2_sigma": "k1_sigma",
    "k2_fraction": "k1_fraction",
}

shift = 2 * np.degrees(np.arcsin(1.5444274 / 1.5405929 * np.sin(np.radians(56.12 / 2))))
truth = {
    "k1_amplitude": 200,
    "k1_center": 56.12,
    "k1_sigma": 0.05,
    "k1_fraction": 0.5,
    "k2_amplitude": 100,
    "k2_center": shift,
    "k2_sigma": 0.05,
    "k2_fraction": 0.5,
    "bg_slope": 0,
    "bg_intercept": 40,
}
counts = rng.poisson(model.evaluate(angle, truth))

start = {"k1_center": 56.1, "k1_sigma": 0.06, "k1_fraction": 0.5}
derived = {"spacing": "1.5405929/(2*sin(k1_center*pi/360))"}
fit = model.fit(angle, counts, start, ties=ties, poisson=True, derived=derived)
print(fit)

ax = fit.plot()
ax.set(xlabel="2θ / degrees", ylabel="counts", title=f"lattice spacing {fit['spacing']} Å")
# sphinx_gallery_start_ignore
truth_of = {"k1_center": 56.12, "k1_amplitude": 200, "k1_sigma": 0.05}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** With ``poisson=True`` the errors follow from the counts. The error of the lattice
# spacing is propagated from the position; it is a few parts in 10⁵.
#
# **What they do not include.** The zero of the goniometer and the height of the sample shift all reflections.
# They are usually ten times as large as these errors. Fit several reflections with these shifts as shared
# parameters, or mix in a standard.

"""
Two peaks that tail in a chromatogram
=====================================

Peaks of a chromatogram tail: their shape is a Gaussian convolved with an exponential (Foley and Dorsey, *Anal.
Chem.* 55, 730, 1983). A later, smaller peak sits on the tail of the first. Areas are wanted. The widths of the
peaks are tied, since both compounds pass the same column.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit
from dualfit import models

rng = np.random.default_rng(17)
t = np.linspace(4, 9, 400)  # min
model = (
    models.exponential_gaussian("a_") + models.exponential_gaussian("b_") + models.constant("base_")
)
truth = {
    "a_amplitude": 30,
    "a_center": 5.6,
    "a_sigma": 0.12,
    "a_gamma": 4,
    "b_amplitude": 6,
    "b_center": 6.4,
    "b_sigma": 0.12,
    "b_gamma": 4,
    "base_c": 2,
}
signal = model.evaluate(t, truth) + 0.4 * rng.normal(size=t.size)

ties = {"b_sigma": "a_sigma", "b_gamma": "a_gamma"}
fit = model.fit(
    t, signal, ties=ties, derived={"percent": "100*b_amplitude/(a_amplitude + b_amplitude)"}
)
free = model.fit(t, signal, derived={"percent": "100*b_amplitude/(a_amplitude + b_amplitude)"})
print(
    "share of the second compound: ", fit["percent"], "%; with free widths:", free["percent"], "%"
)
print(dualfit.compare(fit, free, nested=True))

ax = fit.plot()
ax.set(
    xlabel="time / min",
    ylabel="signal / mAU",
    title=f"second compound: {fit['percent']} % of the area",
)
# sphinx_gallery_start_ignore
truth_of = {"a_amplitude": 30, "b_amplitude": 6, "b_center": 6.4, "percent": 16.666667}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The error of the area of the small peak includes that the tail below it is
# uncertain. With tied widths it is smaller; the F test in the table says whether the data allow the tie.
#
# **What they do not include.** A drift of the baseline, a wrong shape of the tail, and different responses of the
# detector to the two compounds. Integration up to a vertical line between the peaks, as integrators do it, gives
# no error at all, and assigns a part of the tail to the wrong peak.

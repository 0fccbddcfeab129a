"""
A weak gamma line: counts are not normal
========================================

The 662 keV line of ¹³⁷Cs in a short measurement with a NaI detector: 5 counts of background per channel and 120
counts in the line, whose full width at half maximum is 7 % of its energy (Knoll, *Radiation Detection and
Measurement*). The usual least-squares fit with σ = √counts is biased; the maximum of the Poisson likelihood is not.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit
from dualfit import models

rng = np.random.default_rng(6)
energy = np.arange(540, 790, 5.0)  # keV, centres of channels
width = 0.07 * 662 / 2.355
line = 120 * 5 / (width * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((energy - 662) / width) ** 2)
counts = rng.poisson(line + 5)

model = models.gaussian("line_") + models.constant("background_")
derived = {"net_counts": "line_amplitude/5"}  # area over the width of a channel
likelihood = model.fit(energy, counts, poisson=True, derived=derived)
squares = model.fit(
    energy, counts, sigma=np.sqrt(np.maximum(counts, 1)), absolute_sigma=True, derived=derived
)
for name, fit in (("Poisson likelihood", likelihood), ("least squares, σ = √counts", squares)):
    print(
        f"{name:27} background {fit['background_c']} per channel, {fit['net_counts']} counts in the line"
    )

fig, ax = plt.subplots(layout="constrained")
ax.step(energy, counts, where="mid", color="0.5", label="counts")
ax.plot(energy, likelihood.predict(), "C1", label="Poisson likelihood")
ax.plot(energy, squares.predict(), "C0--", label="least squares")
ax.set(xlabel="energy / keV", ylabel="counts per channel", ylim=(0, None))
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"background_c": 5, "net_counts": 120, "line_center": 662}
for name, true_value in truth_of.items():
    assert abs(likelihood[name].value - true_value) < 4 * likelihood[name].std_error, name
assert likelihood.converged
# sphinx_gallery_end_ignore

# %%
# Repeated measurements show the bias:

repeats = rng.poisson(line + 5, size=(400, energy.size))
many = dualfit.fit_batch(model, energy, repeats, likelihood.values, poisson=True)
weighted = dualfit.fit_batch(
    model,
    energy,
    repeats,
    likelihood.values,
    sigma=np.sqrt(np.maximum(repeats, 1)),
    absolute_sigma=True,
)
for name, batch in (("Poisson", many), ("least squares", weighted)):
    print(
        f"{name:14} mean background of 400 measurements: {batch['background_c'].mean():.2f} (truth: 5)"
    )

# %%
# **What the error bars mean.** They follow from the counting statistics alone. Channels with low counts get a
# small σ if σ is computed from the counts, so they pull the curve of least squares down.
#
# **What they do not include.** Dead time, the calibration of the energy (for ``line_center``), and the efficiency
# of the detector, which is needed to convert counts to activity.

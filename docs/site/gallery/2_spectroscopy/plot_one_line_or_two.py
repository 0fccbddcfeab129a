"""
One line or two?
================

A line of hydrogen and its deuterium satellite are not resolved: Hα lies at 656.279 nm, Dα at 656.101 nm. Is the
satellite in the data? The F test and Akaike's weights compare a model without and with the second line. The
distance of the lines is known and is a tie.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(8)
wavelength = np.linspace(655.6, 656.8, 80)  # nm


def single(x, height, center, width, offset):
    return height * np.exp(-(((x - center) / width) ** 2) / 2) + offset


def double(x, height, center, width, offset, second=0.05):
    satellite = np.exp(-(((x - center + 0.178) / width) ** 2) / 2)
    return single(x, height, center, width, offset) + height * second * satellite


signal = double(wavelength, 1000, 656.279, 0.1, 50, second=0.08)
signal += 12 * rng.normal(size=wavelength.size)
one = dualfit.fit(single, wavelength, signal, {"center": 656.3, "width": 0.1})
two = dualfit.fit(double, wavelength, signal, {"center": 656.3, "width": 0.1})
comparison = dualfit.compare(one, two, nested=True)
print(comparison)
print(f"D/H = {two['second']}, 95 % by profile: {two.profile('second').interval(0.95)}")
for warning in one.warnings:
    print("warning about the single line:", warning)

fig, (top, bottom) = plt.subplots(
    2, 1, sharex=True, figsize=(6.4, 5), height_ratios=[2, 1], layout="constrained"
)
top.plot(wavelength, signal, "o", ms=3, color="0.35", label="data")
top.plot(wavelength, one.predict(), "C0--", label="one line")
top.plot(wavelength, two.predict(), "C1", label="two lines")
top.set_ylabel("intensity / counts")
top.legend(frameon=False)
bottom.plot(wavelength, one.residuals(), "C0o", ms=3, label="one line")
bottom.plot(wavelength, two.residuals(), "C1o", ms=3, label="two lines")
bottom.set(xlabel="wavelength / nm", ylabel="residual / counts")
# sphinx_gallery_start_ignore
assert comparison.tests[0].p_value < 1e-6 and abs(two["second"].value - 0.08) < 4 * two["second"].std_error
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The standard error of the ratio is valid *if* there are two lines of one width.
# The p-value in the table is the probability of such an improvement if there were only one line. The fit of the
# single line warns by itself that its residuals are not independent.
#
# **What they do not include.** The error of the ratio does not contain the uncertainty of the shape: an
# instrument profile with a small wing on one side imitates the satellite. Measure a line without satellite to
# exclude this.

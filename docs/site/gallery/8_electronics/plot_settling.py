"""
Ringing of an amplifier, sampled faster than its noise changes
==============================================================

The step response of an amplifier rings: y = A exp(-t/τ) sin(2πft + φ) + c. The oscilloscope samples at 1 GS/s, the
noise has a bandwidth of 50 MHz. Errors of adjacent samples are then similar, and 400 samples are not 400
independent measurements. ``sigma`` can be a covariance matrix.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(27)
t = np.arange(400.0)  # ns
covariance = 3.0**2 * np.exp(
    -np.abs(t[:, None] - t) / 3.2
)  # mV², correlation time 1/(2π · 50 MHz) = 3.2 ns


def ringing(t, amplitude, decay, frequency, phase, offset):
    return (
        amplitude * np.exp(-t / decay) * np.sin(2 * np.pi * frequency * t / 1000 + phase) + offset
    )


y = ringing(t, 80, 90, 22, 0.6, 500) + rng.multivariate_normal(np.zeros(t.size), covariance)

start = {"decay": 100, "frequency": 22, "phase": 0.5}
wrong = dualfit.fit(ringing, t, y, start, sigma=3.0, absolute_sigma=True)
right = dualfit.fit(ringing, t, y, start, sigma=covariance, absolute_sigma=True)
for name in right.names:
    print(f"{name:9} independent {wrong[name]}   correlated {right[name]}")
print("warning of the first fit:", *wrong.warnings)

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), sharex=True, height_ratios=[3, 2], layout="constrained"
)
top.plot(t, y, color="0.6", lw=1, label="samples")
top.plot(t, right.predict(), "C1", label="fit")
top.set_ylabel("voltage / mV")
top.legend(frameon=False)
bottom.plot(t, right.residuals(), color="0.35", lw=1)
bottom.axhline(0, color="C1")
bottom.set(xlabel="time / ns", ylabel="residual / mV")
# sphinx_gallery_start_ignore
truth_of = {"amplitude": 80, "decay": 90, "frequency": 22, "phase": 0.6, "offset": 500}
for name, true_value in truth_of.items():
    assert abs(right[name].value - true_value) < 4 * right[name].std_error, name
assert right.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** With the covariance matrix the errors are those of repeated records. Treated as
# independent, the same samples give errors that are up to 2.5 times too small; the fit warns that its residuals
# are not independent.
#
# **What they do not include.** The steps of the digitiser if they are larger than the noise, and the time base.
# The covariance must come from a record without signal, not from the residuals of the same fit.

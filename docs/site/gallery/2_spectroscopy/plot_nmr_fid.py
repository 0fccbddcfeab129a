"""
A free induction decay: complex data
====================================

The signal of an NMR receiver is complex. Two resonances decay as Σ aₖ exp(iφ + (2πi fₖ - 1/T₂ₖ) t), with
frequencies relative to the carrier in Hz. A model may use complex numbers inside; its result must be real. Return
the real and the imaginary part one after the other, and give the data in the same form.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(7)
t = np.arange(512) / 1000  # s


def signal(t, a1, f1, t2_1, a2, f2, t2_2, phase):
    lines = a1 * np.exp((2j * np.pi * f1 - 1 / t2_1) * t) + a2 * np.exp(
        (2j * np.pi * f2 - 1 / t2_2) * t
    )
    return lines * np.exp(1j * phase)


def both_channels(t, a1, f1, t2_1, a2, f2, t2_2, phase):
    z = signal(t, a1, f1, t2_1, a2, f2, t2_2, phase)
    return np.concatenate([z.real, z.imag])


measured = signal(t, 1.0, 42.0, 0.12, 0.6, 47.5, 0.20, 0.4) + 0.1 * (
    rng.normal(size=t.size) + 1j * rng.normal(size=t.size)
)
y = np.concatenate([measured.real, measured.imag])

start = {
    "f1": 41,
    "t2_1": 0.1,
    "f2": 48,
    "t2_2": 0.1,
    "phase": 0.0,
}  # frequencies as read from the spectrum
fit = dualfit.fit(both_channels, t, y, start, derived={"ratio": "a1/a2", "splitting": "f2 - f1"})
for name in ("f1", "f2", "t2_1", "t2_2", "ratio", "splitting"):
    print(f"{name:9} {fit[name]}")

frequency = np.fft.fftshift(np.fft.fftfreq(4096, 0.001))
fig, ax = plt.subplots(layout="constrained")
for z, style, label in ((measured, "0.6", "data"), (signal(t, *fit.params), "C1", "fit")):
    ax.plot(frequency, np.abs(np.fft.fftshift(np.fft.fft(z, 4096))), style, label=label)
ax.set(
    xlim=(20, 70),
    xlabel="frequency / Hz",
    ylabel="magnitude of the spectrum",
    title=f"splitting {fit['splitting']} Hz",
)
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
truth_of = {"f1": 42.0, "f2": 47.5, "t2_1": 0.12, "t2_2": 0.2}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The fit in the time domain uses noise that is independent from point to point and
# equal in both channels. The error of a frequency is far smaller than the width of the line, 1/(πT₂) = 2.7 Hz: it
# is about the width over the ratio of signal to noise of the whole decay.
#
# **What they do not include.** Baseline offsets, first points that the filter of the receiver distorts, and
# shapes of lines that are not Lorentzian because the field is not homogeneous. T₂ is then T₂*.

"""
Quality factors of a resonator from complex transmission
========================================================

A resonator beside a transmission line leaves a notch,

S₂₁(f) = A exp(i(α - 2πfτ)) (1 - (Q/Qc) exp(iφ)/(1 + 2iQ(f - f₀)/f₀))

(Probst et al., *Rev. Sci. Instrum.* 86, 024706, 2015). The internal quality factor follows from
1/Qᵢ = 1/Q - cos φ/Qc. A superconducting resonator at 5 GHz with Qᵢ = 120,000 and Qc = 60,000 is simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(25)
detuning = np.linspace(-600, 600, 201)  # kHz from 5 GHz


def transmission(d, gain, angle, delay, q, qc, shift, phi):
    notch = q / qc * np.exp(1j * phi) / (1 + 2j * q * (d - shift) / 5e6)
    return gain * np.exp(1j * (angle - 2 * np.pi * delay * d)) * (1 - notch)


def both_parts(d, gain, angle, delay, q, qc, shift, phi):
    z = transmission(d, gain, angle, delay, 1e4 * q, 1e4 * qc, shift, phi)
    return np.concatenate([z.real, z.imag])


true = both_parts(detuning, 0.8, 0.5, 1e-4, 4.0, 6.0, 35, 0.15)
y = true + 0.006 * rng.normal(size=true.size)

start = {"gain": 1, "angle": 0.4, "delay": 0, "q": 3, "qc": 5, "shift": 20, "phi": 0}
fit = dualfit.fit(both_parts, detuning, y, start, derived={"qi": "1/(1/q - cos(phi)/qc)"})
for name in ("q", "qc", "qi"):
    print(f"{name:2} = {fit[name]} · 10⁴")
print(f"f0 = 5 GHz + {fit['shift']} kHz")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.7), layout="constrained")
for values, style in ((y, ".C7"), (fit.predict(), "-C1")):
    re, im = np.split(values, 2)
    left.plot(detuning, 20 * np.log10(np.hypot(re, im)), style, ms=3)
    right.plot(re, im, style, ms=3)
left.set(xlabel="frequency - 5 GHz / kHz", ylabel="|S₂₁| / dB", title=f"Qᵢ = {fit['qi']} · 10⁴")
right.set(xlabel="Re S₂₁", ylabel="Im S₂₁", aspect="equal")
# sphinx_gallery_start_ignore
truth_of = {"q": 4, "qc": 6, "qi": 11.736425, "shift": 35}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The noise is equal in the real and the imaginary part, so both are fitted. A fit
# of the magnitude in dB would weigh the bottom of the notch wrongly and lose the phase, which determines φ. The
# error of Qᵢ includes the correlation of Q, Qc and φ.
#
# **What they do not include.** A slope of the gain and standing waves in the cables. If Qᵢ is much larger than
# Qc, its error grows quickly: Qᵢ is then a small difference.

"""
A reaction in two steps, seen at six wavelengths
================================================

A → B → C with rate constants k₁ and k₂. The absorbance at each wavelength is a sum of exponentials with amplitudes
of its own; the rate constants are common. A joint fit shares them. The example has the size of usual stopped-flow
data (Maeder and Neuhold, *Practical Data Analysis in Chemistry*, 2007).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(16)
t = np.linspace(0, 30, 120)  # s
k1, k2 = 0.5, 0.12
a = np.exp(-k1 * t)
b = k1 / (k2 - k1) * (np.exp(-k1 * t) - np.exp(-k2 * t))
wavelengths = [380, 420, 460, 500, 540, 580]  # nm
spectra = [
    (0.9, 0.2, 0.1),
    (0.6, 0.5, 0.1),
    (0.3, 0.8, 0.1),
    (0.1, 0.7, 0.3),
    (0.1, 0.4, 0.5),
    (0.1, 0.2, 0.6),
]
absorbance = [
    ea * a + eb * b + ec * (1 - a - b) + 0.01 * rng.normal(size=t.size) for ea, eb, ec in spectra
]


def model(t, fast, slow, end, k1, k2):
    return fast * np.exp(-k1 * t) + slow * np.exp(-k2 * t) + end


joint = dualfit.fit_joint(model, t, absorbance, {"k1": 1.0, "k2": 0.1}, shared=["k1", "k2"])
alone = dualfit.fit(model, t, absorbance[4], {"k1": 1.0, "k2": 0.1})
print("all wavelengths:", *(f"{name} = {found}" for name, found in joint.shared.items()))
print("540 nm alone:   ", *(f"{name} = {alone[name]}" for name in ("k1", "k2")))

fig, ax = plt.subplots(layout="constrained")
for k, (wavelength, y) in enumerate(zip(wavelengths, absorbance)):
    ax.plot(t, y, ".", ms=3, color=f"C{k}")
    ax.plot(t, joint.set(k).predict(), color=f"C{k}", label=f"{wavelength} nm")
ax.set(
    xlabel="time / s",
    ylabel="absorbance",
    title=f"k₁ = {joint.shared['k1']}, k₂ = {joint.shared['k2']} (1/s)",
)
ax.legend(frameon=False, ncols=3, fontsize=8)
# sphinx_gallery_start_ignore
truth_of = {"k1": 0.5, "k2": 0.12}
for name, true_value in truth_of.items():
    assert abs(joint.shared[name].value - true_value) < 4 * joint.shared[name].std_error, name
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The errors of the shared constants contain the information of all wavelengths:
# compare them with those of one wavelength. The noise was estimated from all residuals together.
#
# **What they do not include.** Which of the two constants belongs to which step. Both orders fit equally well;
# only the spectra of the intermediates, or another experiment, decide. The mixing time of the apparatus affects
# the first points.

"""
Activation energy: choose parameters that are not correlated
============================================================

Rate constants of the decomposition of N₂O₅ between 273 and 338 K, in an Arrhenius model. The usual form k = A
exp(-E/RT) extrapolates to infinite temperature: A and E are then correlated almost fully. The rate at a temperature
in the middle of the data is a better parameter. The values E = 103 kJ/mol and A = 4.9 · 10¹³/s are those of Daniels
and Johnston, *J. Am. Chem. Soc.* 43, 53 (1921); errors of 5 % are simulated.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(15)
temperature = np.array([273, 288, 298, 308, 318, 328, 338.0])  # K
rate = 4.9e13 * np.exp(-103e3 / (8.314 * temperature)) * np.exp(0.05 * rng.normal(size=7))  # 1/s

usual = dualfit.fit(
    "ln_a - 1000*energy/(8.314*t)", temperature, np.log(rate), sigma=0.05, absolute_sigma=True
)
centred = dualfit.fit(
    "ln_k305 - 1000*energy/8.314*(1/t - 1/305)",
    temperature,
    np.log(rate),
    sigma=0.05,
    absolute_sigma=True,
)
for fit in (usual, centred):
    print(
        f"{fit.names}: {fit.params.round(2)} ± {fit.std_errors.round(3)}, correlation {fit.correlation[0, 1]:.4f}"
    )
print("k(305 K) from the usual form:", usual.propagate("ln_a - 1000*energy/(8.314*305)"))

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
left.errorbar(1000 / temperature, np.log(rate), 0.05, fmt="o", ms=4, color="0.35")
left.plot(1000 / temperature, centred.predict(), "C1")
left.set(xlabel="1000 K / T", ylabel="ln(k · s)")
for fit, name, style in ((usual, "ln_a", "C0"), (centred, "ln_k305", "C1")):
    region = fit.contour(name, "energy", [0.95], points=401)
    right.contour(
        region.a - fit[name].value, region.b, region.excess, [region.lines[0].excess], colors=style
    )
    right.plot([], [], style, label=name)
right.set(
    xlabel="parameter - best value",
    ylabel="activation energy / (kJ/mol)",
    title="joint 95 % regions",
    xlim=(-1.2, 1.2),
)
right.legend(frameon=False, loc="lower right")
# sphinx_gallery_start_ignore
truth_of = {"energy": 103}
for name, true_value in truth_of.items():
    assert abs(centred[name].value - true_value) < 4 * centred[name].std_error, name
assert centred.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Both forms describe the same line and give the same energy. The error of ln A is
# large, because A is an extrapolation; a value of A with 5 % error bars would need the correlation to be useful.
# Report k at a temperature of the data.
#
# **What they do not include.** An error of the thermometer, which shifts all points together, and a change of
# mechanism, which bends the line. The logarithm of k is fitted, because the errors of k are relative.

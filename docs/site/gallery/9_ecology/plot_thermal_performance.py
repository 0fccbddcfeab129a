"""
Growth and temperature, with a prior
====================================

The rate of growth of an ectotherm rises with temperature by an activation energy E and falls above T_h
(Schoolfield, Sharpe and Magnuson, *J. Theor. Biol.* 88, 719, 1981). Six temperatures do not determine four
parameters well. Metabolic theory says E = 0.65 ± 0.05 eV (Gillooly et al., *Science* 293, 2248, 2001): this is a
prior.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(29)
k = 8.617e-5  # eV/K


def rate(t, r25, energy, fall, t_high):
    heat = np.exp(energy / k * (1 / 298.15 - 1 / t))
    return r25 * heat / (1 + np.exp(fall / k * (1 / t_high - 1 / t)))


temperature = 273.15 + np.array([15, 19, 23, 27, 31, 34])
growth = rate(temperature, 0.30, 0.65, 3.5, 305.5) + 0.012 * rng.normal(size=6)

start = {"r25": 0.3, "energy": 0.6, "fall": 3, "t_high": 305}
bounds = {"r25": (0, 2), "energy": (0, 3), "fall": (1, 20), "t_high": (295, 320)}
given = dict(sigma=0.012, absolute_sigma=True, bounds=bounds)
alone = dualfit.fit(rate, temperature, growth, start, **given)
known = dualfit.fit(rate, temperature, growth, start, priors={"energy": (0.65, 0.05)}, **given)
print(f"{'':8} {'data alone':18} with the prior")
for name in alone.names:
    print(f"{name:8} {str(alone[name]):18} {known[name]}")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
fine = np.linspace(12, 36, 200)
band = known.confidence_band(fine + 273.15)
left.fill_between(
    fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence"
)
left.plot(fine, band.center, "C1", label="with the prior")
left.errorbar(temperature - 273.15, growth, 0.012, fmt="o", color="0.25", label="data ± σ")
left.set(xlabel="temperature / °C", ylabel="growth rate / (1/d)", ylim=(0, 0.6))
left.legend(frameon=False, loc="upper left")
for fit, label, colour in ((alone, "data alone", "C0"), (known, "with the prior", "C1")):
    profile = fit.profile("energy")
    right.plot(profile.values, profile.taus**2, color=colour, label=label)
right.axhline(1.96**2, color="0.6", lw=0.8, ls="--")
right.set(
    xlabel="activation energy / eV",
    ylabel="increase of χ²",
    xlim=(0.4, 0.95),
    ylim=(0, 8),
    title="profiles; dashed: limit of 95 %",
)
right.legend(frameon=False, loc="lower left", fontsize=8)
# sphinx_gallery_start_ignore
truth_of = {"r25": 0.3, "energy": 0.65, "fall": 3.5, "t_high": 305.5}
for name, true_value in truth_of.items():
    assert abs(known[name].value - true_value) < 4 * known[name].std_error, name
assert known.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** A prior counts as one more measurement, of E itself. The error of E becomes
# smaller than both the prior's and that of the data alone, and correlated parameters gain, too.
#
# **What they do not include.** The prior must come from elsewhere. If it was derived from the same data, they
# count twice. If data and prior disagree, χ² in the report shows it.

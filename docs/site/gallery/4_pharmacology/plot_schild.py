"""
Schild analysis: four curves with common parameters
===================================================

An agonist is tested with four concentrations of a competitive antagonist. By Gaddum and Schild the curves are
shifted: E = Emax Aⁿ/(Aⁿ + (EC₅₀ (1 + B/K_B))ⁿ). The model has two independent variables, the concentrations A and
B, and all curves are fitted together. Values of the order of atropine on acetylcholine are used: K_B = 1 nM
(Arunlakshana and Schild, *Br. J. Pharmacol.* 14, 48, 1959).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(14)


def effect(concentrations, emax, log_ec50, log_kb, slope=1.0):
    agonist, antagonist = concentrations
    ec50 = 10**log_ec50 * (1 + antagonist / 10**log_kb)
    return emax * agonist**slope / (agonist**slope + ec50**slope)


agonist = np.tile(np.logspace(0, 5, 11), 4)  # nM
antagonist = np.repeat([0, 3, 10, 30.0], 11)  # nM
measured = effect([agonist, antagonist], 100, np.log10(200), 0.0, 1.0)
measured += 4 * rng.normal(size=agonist.size)

fit = dualfit.fit(effect, [agonist, antagonist], measured, derived={"pA2": "9 - log_kb"})
low, high = fit.profile("log_kb").interval(0.95)
print(fit)
print(f"pA2 = {fit['pA2']}, K_B: {10**low:.2f} to {10**high:.2f} nM (95 %)")

fig, ax = plt.subplots(layout="constrained")
fine = np.logspace(-0.2, 5.2, 200)
for k, b in enumerate([0, 3, 10, 30.0]):
    here = antagonist == b
    ax.plot(agonist[here], measured[here], "o", ms=4, color=f"C{k}")
    ax.plot(fine, fit.predict([fine, np.full(fine.size, b)]), color=f"C{k}", label=f"{b:g} nM")
ax.set(xscale="log", xlabel="agonist / nM", ylabel="effect / %")
ax.legend(frameon=False, title="antagonist")
# sphinx_gallery_start_ignore
truth_of = {"emax": 100, "pA2": 9, "slope": 1}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** One fit of all curves weighs them by their information. The classical way, a line
# through log(dose ratio - 1), loses the errors of the EC₅₀ values on the way. pA₂ is the derived quantity; its
# error comes from the covariance.
#
# **What they do not include.** The model assumes competition with slope 1 in B. Add a Schild slope, (B/K_B)^s,
# and test it with ``dualfit.compare(fit, larger, nested=True)``. Tissue preparations differ; use one experiment
# per preparation and the scatter of pA₂.

"""
Dose and response: the EC₅₀ and its interval
============================================

Four-parameter logistic curve of an assay in triplicate: response = bottom + (top - bottom)/(1 + (EC₅₀/dose)^h). The
logarithm of EC₅₀ is the parameter, because its error is nearly symmetric; EC₅₀ itself is a derived quantity. The
simulated plate has a response of 5 to 100 %, EC₅₀ = 120 nM, slope 1.1 and a scatter of 6 %. Doses reach both
plateaus, as Sebaugh, *Pharmaceutical Statistics* 10, 128 (2011), recommends.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(45)
dose = np.repeat(10.0 ** np.arange(0, 4.5, 0.5), 3)  # nM


def response(dose, bottom, top, log_ec50, slope=1.0):
    return bottom + (top - bottom) / (1 + (10**log_ec50 / dose) ** slope)


effect = response(dose, 5, 100, np.log10(120), 1.1) + 6 * rng.normal(size=dose.size)

fit = dualfit.fit(response, dose, effect, derived={"ec50": "10^log_ec50"})
low, high = fit.profile("log_ec50").interval(0.95)
print(fit)
print(f"EC50 = {fit['ec50']} nM, 95 %: {10**low:.0f} to {10**high:.0f} nM")

fine = np.logspace(-0.3, 4.3, 200)
band = fit.confidence_band(fine)
fig, ax = plt.subplots(layout="constrained")
ax.plot(dose, effect, "o", ms=4, color="0.35", label="wells")
ax.fill_between(fine, band.lower, band.upper, color="C1", alpha=0.3, lw=0, label="95 % confidence")
ax.plot(fine, band.center, "C1", label="fit")
ax.axvspan(10**low, 10**high, color="C0", alpha=0.2, lw=0, label="95 % of EC₅₀")
ax.set(xscale="log", xlabel="dose / nM", ylabel="response / %")
ax.legend(frameon=False, loc="upper left")
# sphinx_gallery_start_ignore
truth_of = {"bottom": 5, "top": 100, "ec50": 120, "slope": 1.1}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The interval of EC₅₀ comes from the profile of its logarithm and is not symmetric
# about EC₅₀. The scatter of the wells sets its width.
#
# **What they do not include.** The wells of one plate share the pipetting of the dilutions, the cells and the
# day. If triplicates are not independent, the error bar is too short. For the uncertainty of a compound, repeat
# the assay on several days and use the scatter of the log EC₅₀ values.

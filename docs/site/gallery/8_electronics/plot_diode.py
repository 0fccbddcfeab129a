"""
A diode with series resistance
==============================

The current of a diode with series resistance R is I = (nV_T/R) W(I₀R/(nV_T) exp((V + I₀R)/(nV_T))) - I₀, with
Lambert's function W. Formulas as text know ``lambert_w``. Currents cover nine decades with errors of 2 %, so their
logarithm is fitted. Values of a silicon diode 1N4148 at 300 K are used: I₀ = 2.5 nA, n = 1.75, R = 0.6 Ω.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(46)
diode = dualfit.Model(
    "log10(n*0.02585/r*lambert_w(10^log_i0*r/(n*0.02585)*exp((v + 10^log_i0*r)/(n*0.02585))) - 10^log_i0)",
    variables=["v"],
)
voltage = np.arange(0.1, 1.01, 0.03)
log_current = diode.evaluate(voltage, n=1.75, r=0.6, log_i0=np.log10(2.5e-9))
log_current += 0.009 * rng.normal(size=voltage.size)

fit = diode.fit(
    voltage,
    log_current,
    {"n": 1.5, "r": 1, "log_i0": -9},
    sigma=0.009,
    absolute_sigma=True,
    bounds={"n": (0.8, 4), "r": (1e-3, 100)},
    derived={"i0_in_nA": "10^(log_i0 + 9)"},
)
print(fit)

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), sharex=True, height_ratios=[3, 1], layout="constrained"
)
top.plot(voltage, 10**log_current, "o", ms=4, color="0.35", label="measured")
top.plot(voltage, 10 ** fit.predict(), "C1", label="fit")
top.set(yscale="log", ylabel="current / A", title=f"n = {fit['n']}, R = {fit['r']} Ω")
top.legend(frameon=False)
bottom.plot(voltage, fit.residuals() / 0.009, "o", ms=4, color="0.35")
bottom.axhline(0, color="C1")
bottom.set(xlabel="voltage / V", ylabel="residual / σ")
# sphinx_gallery_start_ignore
truth_of = {"n": 1.75, "r": 0.6, "i0_in_nA": 2.5}
for name, true_value in truth_of.items():
    assert abs(fit[name].value - true_value) < 4 * fit[name].std_error, name
assert fit.converged
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** An error of 2 % of the current is 0.009 in its logarithm. I₀ and n are strongly
# correlated, because I₀ is an extrapolation to 0 V; the error of ``i0_in_nA`` contains this.
#
# **What they do not include.** The temperature enters as V_T = 25.85 mV: an error of 1 K changes n by 0.3 %, more
# than its standard error here. Self-heating at high currents changes R.

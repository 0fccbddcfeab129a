"""
Which of four models of adsorption?
===================================

Monomolecular adsorption, 14 measured volumes over pressure (D. Misra, NIST 1978; Misra1a to Misra1d of NIST's
Statistical Reference Datasets, public domain, without units). NIST certifies the fits of four models to these
points. Akaike's weights compare them.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

volume = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                  44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
pressure = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                    378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])

formulas = {
    "Misra1a": "b1*(1 - exp(-b2*x))",
    "Misra1b": "b1*(1 - (1 + b2*x/2)^(-2))",
    "Misra1c": "b1*(1 - (1 + 2*b2*x)^(-0.5))",
    "Misra1d": "b1*b2*x/(1 + b2*x)",
}
fits = [dualfit.fit(formula, pressure, volume) for formula in formulas.values()]
comparison = dualfit.compare(*fits)
for name, fit, weight in zip(formulas, fits, comparison.corrected_weights):
    print(
        f"{name}: b1 = {fit['b1']!r}, b2 = {fit['b2']!r}, RMSE {fit.rmse:.4f}, weight {weight:.3f}"
    )

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), sharex=True, height_ratios=[3, 2], layout="constrained"
)
top.plot(pressure, volume, "o", ms=4, color="0.35", label="measured")
for k, (name, fit) in enumerate(zip(formulas, fits)):
    top.plot(pressure, fit.predict(), color=f"C{k}", lw=1, label=name)
    bottom.plot(pressure, fit.residuals(), ".-", color=f"C{k}")
top.set_ylabel("volume")
top.legend(frameon=False)
bottom.axhline(0, color="0.6", lw=0.8)
bottom.set(xlabel="pressure", ylabel="residual")
# sphinx_gallery_start_ignore
assert abs(fits[0]["b1"].value - 238.94212918) < 1e-4 and abs(fits[2]["b1"].value - 636.42725809) < 1e-4
# sphinx_gallery_end_ignore

# %%
# NIST certifies b1 = 238.94212918, b2 = 5.5015643181e-4 for Misra1a and b1 = 636.42725809, b2 = 2.0813627256e-4
# for Misra1c.
#
# **What the error bars mean.** Each error assumes that its model is right. The limit b1 differs between the
# models by a factor of up to 2.7, far outside the error bars: it is an extrapolation, and the model determines
# it.
#
# **What they do not include.** The uncertainty of the choice. The weights say which model is the least wrong, and
# nothing about pressures beyond the data.

"""
Enzyme kinetics and an outlier: the puromycin data
==================================================

Measured rates of a reaction with puromycin (Bates and Watts, *Nonlinear Regression Analysis and Its Applications*,
1988). The Michaelis-Menten model of the library needs no start. One of twelve points is a clear outlier; is the
result robust?
"""

import matplotlib.pyplot as plt
import numpy as np

from dualfit import models

concentration = np.array(
    [0.02, 0.02, 0.06, 0.06, 0.11, 0.11, 0.22, 0.22, 0.56, 0.56, 1.10, 1.10]
)  # ppm
rate = np.array([76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200.0])  # counts/min²

fit = models.michaelis_menten().fit(concentration, rate)
print(fit)
checks = fit.diagnostics()
print("studentized residuals:", checks["studentized"].round(2))

scale = 4.685 * checks["robust_scale"]  # the usual scale of Tukey's loss
robust = models.michaelis_menten().fit(concentration, rate, loss="tukey", loss_scale=scale)
print(f"Vmax: {fit['vmax']} by least squares, {robust['vmax']} by Tukey's loss")
print(f"Km:   {fit['km']} by least squares, {robust['km']} by Tukey's loss")

fine = np.linspace(0, 1.2, 300)
ax = fit.plot()
ax.plot(fine, robust.predict(fine), "C0--", label="Tukey's loss")
ax.plot(concentration[0], rate[0], "o", ms=10, mfc="none", color="C3", label="outlier")
ax.set(xlabel="substrate / ppm", ylabel="rate / (counts/min²)", ylim=(0, 230))
ax.legend(frameon=False, loc="lower right")
# sphinx_gallery_start_ignore
assert abs(fit["vmax"].value - 212.6837) < 1e-3 and abs(fit["vmax"].std_error - 6.947) < 1e-3
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Twelve points estimate the scatter, so intervals use Student's t with 10 degrees
# of freedom. The first studentized residual is 3.8: beyond ±3 is suspicious. The robust loss gives that point no
# weight, and the errors shrink accordingly.
#
# **What they do not include.** The decision to distrust a point. If the outlier is real, the least-squares errors
# are the honest ones. Read the laboratory notebook before you use a robust loss to shrink error bars.

"""
Measured ultrasonic response: residuals that are not noise
==========================================================

214 measurements of an ultrasonic reference block (Chwirut, NIST; data set Chwirut1 of NIST's Statistical Reference
Datasets, public domain). The fit reproduces the certified digits, and still its error bars are too small: the
report says why.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dualfit

table = pd.read_csv("../../../../examples/data/ultrasonic.csv", comment="#")
x, y = table["distance"].to_numpy(), table["response"].to_numpy()

fit = dualfit.fit("exp(-b1*x)/(b2 + b3*x)", x, y, {"b1": 0.1, "b2": 0.01, "b3": 0.02})
print(fit)
print(
    "certified: 0.19027818370 ± 0.021938557, 0.0061314004477 ± 0.00034500025, 0.010530908399 ± 0.00079281847"
)

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), sharex=True, height_ratios=[3, 2], layout="constrained"
)
fine = np.linspace(x.min(), x.max(), 300)
top.plot(x, y, ".", ms=4, color="0.35", label="measured")
top.plot(fine, fit.predict(fine), "C1", label="fit")
top.set_ylabel("response")
top.legend(frameon=False)
bottom.plot(x, fit.residuals(), ".", ms=4, color="0.35")
bottom.axhline(0, color="C1")
bottom.set(xlabel="distance", ylabel="residual")
# sphinx_gallery_start_ignore
assert np.allclose(fit.params, [0.19027818370, 0.0061314004477, 0.010530908399], rtol=1e-6)
# sphinx_gallery_end_ignore

# %%
# The residuals scatter more at short distances, and adjacent ones are alike, because the points are several
# series of measurements. A bootstrap of whole points does not assume equal errors:

pairs = fit.bootstrap(2000, "pairs", seed=1)
for name, usual, drawn in zip(fit.names, fit.std_errors, pairs.std_errors):
    print(f"{name}: standard error {usual:.5f}, by drawing points {drawn:.5f}")

# %%
# **What the error bars mean.** The certified standard deviations assume errors that are independent and equal.
# Neither holds here.
#
# **What they do not include.** The differences between series. Give each series its own factor in a joint fit
# (``dualfit.fit_joint(..., by="series")``), or weigh the points by errors that depend on the response.

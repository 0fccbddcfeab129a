"""
The period of El Niño
=====================

Monthly differences of air pressure between Easter Island and Darwin over 14 years (Kahaner, Moler and Nash 1989;
data set ENSO of NIST's Statistical Reference Datasets, public domain). The yearly cycle is known; two more cycles
are looked for, with unknown periods.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dualfit

table = pd.read_csv("../../../../examples/data/enso.csv", comment="#")
month, pressure = table["month"].to_numpy(dtype=float), table["pressure"].to_numpy()


def cycle(t, a, b, period):
    return a * np.cos(2 * np.pi * t / period) + b * np.sin(2 * np.pi * t / period)


def model(t, mean, a1, b1, a2, b2, period2, a3, b3, period3):
    return mean + cycle(t, a1, b1, 12) + cycle(t, a2, b2, period2) + cycle(t, a3, b3, period3)


bounds = {"period2": (35, 80), "period3": (16, 35)}
fit = dualfit.multi_start(
    model, month, pressure, {"period2": 50, "period3": 25}, starts=64, bounds=bounds
)
print(fit.optima)
print("period 2 in months:", fit["period2"], "certified: 44.311 ± 0.944")
print("period 3 in months:", fit["period3"], "certified: 26.888 ± 0.416")

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(month, pressure, "o", ms=3, color="0.5", label="measured")
fine = np.linspace(1, 168, 800)
ax.plot(fine, fit.predict(fine), "C1", label="three cycles")
ax.set(xlabel="month", ylabel="pressure difference")
ax.legend(frameon=False)
# sphinx_gallery_start_ignore
assert abs(fit["period2"].value - 44.311088700) < 1e-4 and abs(fit["period3"].value - 26.887614440) < 1e-4
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** They are those of sinusoids with constant periods in independent noise.
#
# **What they do not include.** El Niño is not periodic: its intervals vary from two to seven years. The error bar
# of the period describes the best sinusoid in these 14 years, not the climate. Other periods fit almost as well;
# the table of optima lists them.

"""
Photosynthesis of several leaves in a table
===========================================

The light response of leaves: A = (φI + Aₘ - √((φI + Aₘ)² - 4θφI Aₘ))/(2θ) - R (non-rectangular hyperbola; Ögren and
Evans, *Planta* 189, 182, 1993). The quantum yield φ and the curvature θ are shared by the leaves of one species,
capacity and respiration are not. The data are rows of a table with the name of the leaf.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dualfit

rng = np.random.default_rng(30)


def assimilation(light, quantum_yield, capacity, curvature, respiration):
    total = quantum_yield * light + capacity
    root = np.sqrt(total**2 - 4 * curvature * quantum_yield * light * capacity)
    return (total - root) / (2 * curvature) - respiration


light = np.array([0, 25, 50, 100, 200, 400, 700, 1000, 1500, 2000.0])  # µmol/(m² s)
leaves = {"sun 1": (24, 1.6), "sun 2": (21, 1.3), "shade 1": (9, 0.6), "shade 2": (11, 0.7)}
parts = []
for leaf, (capacity, respiration) in leaves.items():
    uptake = assimilation(light, 0.055, capacity, 0.75, respiration)
    uptake += 0.25 * rng.normal(size=light.size)
    parts.append(pd.DataFrame({"leaf": leaf, "light": light, "uptake": uptake}))
table = pd.concat(parts)

shared = ["quantum_yield", "curvature"]
bounds = {"quantum_yield": (0, 0.2), "capacity": (0, 100), "curvature": (0.05, 0.99), "respiration": (0, 10)}
joint = dualfit.fit_joint(assimilation, "light", "uptake", data=table, by="leaf", shared=shared, bounds=bounds)
columns = ["capacity", "capacity_error", "respiration", "respiration_error"]
print(joint.to_frame()[columns].round(3))
for name, found in joint.shared.items():
    print(name, found)

fine = np.linspace(0, 2000, 200)
fig, ax = plt.subplots(layout="constrained")
for k, leaf in enumerate(leaves):
    one, rows = joint.set(leaf), table[table["leaf"] == leaf]
    band = one.confidence_band(fine)
    ax.plot(rows["light"], rows["uptake"], "o", ms=4, color=f"C{k}")
    ax.plot(fine, band.center, color=f"C{k}", label=leaf)
    ax.fill_between(fine, band.lower, band.upper, color=f"C{k}", alpha=0.2, lw=0)
ax.set(xlabel="light / (µmol/m²s)", ylabel="CO₂ uptake / (µmol/m²s)", ylim=(-2, 28))
ax.legend(frameon=False, loc="upper left")
# sphinx_gallery_start_ignore
truth_of = {"quantum_yield": 0.055, "curvature": 0.75}
for name, true_value in truth_of.items():
    assert abs(joint.shared[name].value - true_value) < 4 * joint.shared[name].std_error, name
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** The shared parameters use all leaves, and the bands of each leaf become narrower
# than in separate fits.
#
# **What they do not include.** Sharing assumes that φ and θ are the same. Test it: compare χ² of the joint fit
# with the sum over separate fits. The variation between leaves is a property of the plants and not an error of
# the fit.

"""
A lifetime image from single photons (FLIM)
===========================================

In each pixel, photons are counted over the time after a laser pulse. A single-exponential fit in each pixel gives
an image of the lifetime and one of its error. The simulated tissue has lifetimes from 1.5 to 3 ns, as usual dyes
have (Becker, *J. Microscopy* 247, 119, 2012), and 100 to 600 photons per pixel.
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(4)
row, column = np.mgrid[:64, :64]
lifetime = 1.5 + 1.5 * np.exp(-(((row - 40) / 14) ** 2 + ((column - 24) / 18) ** 2))
photons = 100 + 500 * np.exp(-(((row - 28) / 20) ** 2 + ((column - 36) / 20) ** 2))

t = np.arange(0.125, 12.5, 0.25)  # ns, centres of 50 channels


def decay(t, amplitude, tau):
    return amplitude * np.exp(-t / tau)


expected = decay(t, (photons * 0.25 / lifetime)[..., None], lifetime[..., None])
counts = rng.poisson(expected).astype(np.uint16)

image = dualfit.fit_batch(decay, t, counts, {"tau": 2.0}, poisson=True, bounds={"tau": (0.1, 20)})
print(image)
pull = (image["tau"] - lifetime) / image.error("tau")
print(f"scatter of (fit - truth)/error over the pixels: {np.nanstd(pull):.2f}")

fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.1), layout="constrained")
shown = [
    ("photons per pixel", counts.sum(axis=-1), "gray"),
    ("lifetime / ns", image["tau"], "viridis"),
    ("standard error / ns", image.error("tau"), "magma"),
]
for ax, (title, values, colours) in zip(axes, shown):
    fig.colorbar(ax.imshow(values, cmap=colours), ax=ax, shrink=0.85)
    ax.set(title=title, xticks=[], yticks=[])
# sphinx_gallery_start_ignore
assert image.converged.mean() > 0.999 and 0.9 < np.nanstd(pull) < 1.15
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** Each pixel has its own error, from its own photons: about τ/√(photons). The image
# of the errors shows which differences between pixels are real. Least squares would be biased here, because most
# channels have only a few counts.
#
# **What they do not include.** The response of the detector, which broadens the first channels, pile-up, and a
# second lifetime. A pixel with two lifetimes still has a small error bar about a wrong single one;
# ``batch.rejected`` marks the pixels in which the counts reject the curve.

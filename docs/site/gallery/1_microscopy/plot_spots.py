"""
Positions of single molecules
=============================

Each image of 13 × 13 pixels shows one fluorescent molecule as a Gaussian spot. Its position is wanted to a few
nanometres, far below the width of the spot. The spots of a whole recording are fitted in one call.

The simulated camera counts photons: 800 per spot, 4 per pixel of background, pixels of 100 nm and a spot with a
standard deviation of 1.3 pixels, as in Mortensen et al., *Nature Methods* 7, 377 (2010).
"""

import matplotlib.pyplot as plt
import numpy as np

import dualfit

rng = np.random.default_rng(1)
row, column = np.mgrid[:13, :13].astype(float)


def spot(position, photons, x0, y0, width, background):
    x, y = position
    r2 = (x - x0) ** 2 + (y - y0) ** 2
    return photons / (2 * np.pi * width**2) * np.exp(-r2 / (2 * width**2)) + background


pixels = [column.ravel(), row.ravel()]
truth = rng.uniform(5.5, 6.5, (1000, 2))
images = np.array([rng.poisson(spot(pixels, 800, x0, y0, 1.3, 4)) for x0, y0 in truth])

batch = dualfit.fit_batch(
    spot, pixels, images, [500, 6, 6, 1.5, 2], poisson=True, bounds={"background": (0, None)}
)
print(batch)
print(f"median standard error of x0: {100 * np.median(batch.error('x0')):.1f} nm")

deviation = (batch["x0"] - truth[:, 0]) / batch.error("x0")
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.imshow(images[0].reshape(13, 13), cmap="gray", origin="lower")
left.errorbar(
    batch["x0"][0], batch["y0"][0], batch.error("y0")[0], batch.error("x0")[0], fmt="C1,", capsize=3
)
left.set(
    title="one spot and its fitted position",
    xlabel="x / pixel",
    ylabel="y / pixel",
    xticks=[0, 4, 8, 12],
    yticks=[0, 4, 8, 12],
)
right.hist(deviation, 30, density=True, color="0.75")
t = np.linspace(-4, 4, 200)
right.plot(t, np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi), "C1", label="normal distribution")
right.set(title="1000 spots", xlabel="(x0 - truth) / standard error", ylabel="density")
right.legend(frameon=False, loc="upper left", fontsize=8)
right.set_ylim(0, 0.55)
# sphinx_gallery_start_ignore
assert batch.converged.all() and 0.9 < deviation.std() < 1.1
# sphinx_gallery_end_ignore

# %%
# **What the error bars mean.** With ``poisson=True`` the fit maximises the likelihood of the counts. The standard
# error of a position is then the scatter of repeated images of the same molecule, as the histogram shows. It
# needs no sigma, because the counts define their own noise.
#
# **What they do not include.** The noise of an EMCCD's multiplication doubles the variance of the counts. A gain
# other than one photon per count, drift of the stage and a spot that is not Gaussian are not included either.
# Convert the values of the camera to photons before such a fit.

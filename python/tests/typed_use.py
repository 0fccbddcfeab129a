"""A typical program of a user, which type checkers check and the tests run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import dualfit
from dualfit import Options, curve_fit, models

Array = NDArray[np.float64]

x = np.linspace(0, 10, 200)
y = 5 * np.exp(-((x - 4) ** 2)) + 0.1 * x + 0.5 + 0.02 * np.sin(40 * x)


def peak(x: Array, height: float, center: float, width: float, slope: float = 0.0, offset: float = 0.0) -> Array:
    return height * np.exp(-(((x - center) / width) ** 2)) + slope * x + offset


# SciPy's call.
popt, pcov = curve_fit(peak, x, y, [4, 4, 1, 0, 0])
assert_type(popt, Array)
assert_type(curve_fit(peak, x, y, [4, 4, 1, 0, 0], full_output=True), tuple[Array, Array, dict[str, Any], str, int])

# Fits with names.
options: Options = {"bounds": {"width": (0, None)}, "fixed": "offset", "loss": "huber", "max_evaluations": 100}
fit = dualfit.fit(peak, x, y, {"height": 4, "center": 4, "width": 1, "offset": 0.5}, sigma=0.02, absolute_sigma=True, **options)
assert_type(fit, dualfit.Fit)
assert_type(fit.values, dict[str, float])
assert_type(fit["width"].std_error, float)
assert_type(fit.chi_square, float)
assert_type(fit.r_squared, float | None)
assert_type(fit.confidence_band(x).lower, Array)
assert_type(fit.profile("center").interval(0.95), dualfit.Interval)
assert_type(fit.predict(x), Array)
dualfit.fit("a*exp(-b*x) + c", x, y, [1, 1, 0], ties={"c": "a/10"}, derived={"half": "ln(2)/b"})

# Models by name.
spectrum = models.gaussian("peak_") + models.linear(prefix="bg_") * 2 - 1
assert_type(spectrum, dualfit.Model)
assert_type(models.LorentzianModel(prefix="l_").guess(x, y), dict[str, float])
assert_type(models.step_erf().of(models.linear()), dualfit.Model)
assert_type([component.values for component in (models.gaussian("a_") + models.linear("b_")).fit(x, y).components()], list[Array])

# Searches, confidence regions, comparisons, joint fits.
found = dualfit.multi_start(peak, x, y, [4, 4, 1, 0, 0], starts=8, bounds={"width": (0.1, None)})
assert found.optima is not None
assert_type(found.optima.distinct[0].hits, int)
assert_type(dualfit.differential_evolution("a*x + b", x, y, {"a": (-1, 1), "b": (0, 2)}, maxiter=3, loss="huber"), dualfit.Fit)
assert_type(found.bootstrap(250, "pairs", seed=1).interval("center", 0.9, "percentile"), dualfit.Interval)
assert_type(found.contour("height", "center", points=5).lines[0].paths, list[Array])
assert_type(dualfit.compare(fit, fit).weights, Array)
joint = dualfit.fit_joint(peak, x, [y, 2 * y], [4, 4, 1, 0, 0], shared=["center", "width"], max_evaluations=500)
assert_type(joint, dualfit.JointFit)
assert_type(joint["height"], Array)
assert_type(joint.set(0), dualfit.Fit)
assert_type(joint.shared["width"].std_error, float)

# Many fits, parts.
batch = dualfit.fit_batch(peak, x, np.stack([y, 2 * y]), [4, 4, 1, 0, 0], covariance=True, bounds=([0] * 5, np.inf))
assert_type(batch["center"], Array)
assert_type(batch.converged, NDArray[np.bool_])
part = dualfit.Part(peak, x, y)
assert_type(dualfit.fit_parts(peak, part.answer, {"height": 4, "center": 4, "width": 1}), dualfit.Fit)
assert_type(dualfit.GROUP, int)

"""Each form of sigma with each meaning of it, loss and entry: the errors are those of formulas written out here, or it is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dualfit

x = 0.25 * np.arange(24)
each = 0.1 + 0.05 * np.sin(0.9 * np.arange(24))
one = 0.15
matrix = np.outer(each, each) * 0.5 ** np.abs(np.subtract.outer(np.arange(24), np.arange(24)))
error = 2.4 * np.sin(7.1 * np.arange(24) ** 2) + np.where(np.arange(24) % 13 == 5, 9.0, 0.0)
y = 1.5 + 0.7 * x + each * error

SIGMAS: dict[str, Any] = {"none": None, "scalar": one, "vector": each, "matrix": matrix}
LOSSES = (None, "soft_l1", "huber", "cauchy", "arctan", "tukey")


def line(x, a, b):
    return a + b * x


def scale(kind: str) -> float:
    """Return the scale of losses: 2x a typical residual, in units of sigma."""
    return 0.4 if kind == "none" else 3.0


def fit(sigma: Any, absolute: bool, **options: Any) -> Any:
    found = dualfit.fit(line, x, y, [1, 1], sigma=sigma, absolute_sigma=absolute, **options)
    return found.params, found.std_errors


def curve_fit(sigma: Any, absolute: bool, loss: str = "linear", loss_scale: float = 1.0) -> Any:
    popt, pcov = dualfit.curve_fit(line, x, y, [1, 1], sigma, absolute, method="trf", loss=loss, f_scale=loss_scale)
    return popt, np.sqrt(np.diag(pcov))


def fit_batch(sigma: Any, absolute: bool, **options: Any) -> Any:
    batch = dualfit.fit_batch(line, x, np.stack([y, y]), [1, 1], sigma=sigma, absolute_sigma=absolute, **options)
    return batch.params[1], batch.std_errors[1]


def fit_stream(sigma: Any, absolute: bool, **options: Any) -> Any:
    chunk = (x, y) if np.ndim(sigma) == 0 else (x, y, sigma)
    told = sigma if np.ndim(sigma) == 0 else "sigma"
    found = dualfit.fit_stream(line, None, [1, 1], sigma=told, absolute_sigma=absolute, chunks=lambda: [chunk], **options)
    return found.params, found.std_errors


def fit_parts(sigma: Any, absolute: bool, **options: Any) -> Any:
    part = dualfit.Part(line, x, y, sigma=sigma, absolute_sigma=absolute, **options)
    found = dualfit.fit_parts(line, part.answer, [1, 1], **options)
    return found.params, found.std_errors


ENTRIES = {f.__name__: f for f in (fit, curve_fit, fit_batch, fit_stream, fit_parts)}


def terms(loss: str | None, z: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return the first two derivatives of a loss."""
    far = np.maximum(z, 1.0)
    inside = np.where(z < 1, 1 - z, 0.0)
    return {
        None: (np.ones_like(z), np.zeros_like(z)),
        "soft_l1": ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
        "huber": (far**-0.5, np.where(z > 1, -0.5 * far**-1.5, 0.0)),
        "cauchy": (1 / (1 + z), -1 / (1 + z) ** 2),
        "arctan": (1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
        "tukey": (inside**2, -2 * inside),
    }[loss]


def assert_by_definition(kind: str, absolute: bool, loss: str | None, params: Any, errors: Any) -> None:
    """Check that the weighted residuals are orthogonal to the partials, and the errors: Huber (1981, section 7.6)."""
    factor = {"none": np.eye(24), "scalar": one * np.eye(24), "vector": np.diag(each), "matrix": np.linalg.cholesky(matrix)}[kind]
    rows = np.linalg.solve(factor, np.stack([np.ones(24), x], axis=1))
    residuals = np.linalg.solve(factor, y - line(x, *params))
    first, second = terms(loss, (residuals / scale(kind)) ** 2)
    slope = first + 2 * (residuals / scale(kind)) ** 2 * second
    psi = first * residuals
    assert np.all(np.abs(rows.T @ psi) < 1e-6 * (np.abs(rows).T @ np.abs(psi)))
    kept = np.maximum(slope, 0)
    spread = (1 + 2 / 24 * np.var(slope) / slope.mean() ** 2) * (psi @ psi) / 22 * kept.mean() / slope.mean() ** 2
    if absolute:
        spread = 1.0 if loss is None else max(1.0, spread)
    expected = np.sqrt(spread * np.diag(np.linalg.inv((rows * kept[:, None]).T @ rows)))
    np.testing.assert_allclose(errors, expected, rtol=1e-5)


@pytest.mark.parametrize("entry", list(ENTRIES))
@pytest.mark.parametrize("kind,absolute", list(product(SIGMAS, (False, True))))
def test_each_meaning_of_sigma(entry: str, kind: str, absolute: bool) -> None:
    for loss in LOSSES:
        options = {} if loss is None else {"loss": loss, "loss_scale": scale(kind)}
        if kind == "none" and absolute and loss is not None:
            continue  # Sigma is 1 in this case, and no point is an outlier.
        arguments = SIGMAS[kind], absolute
        unknown = entry == "fit_parts" and kind == "scalar" and not absolute and loss is not None
        if (kind == "matrix" and entry not in ("fit", "curve_fit")) or unknown:
            with pytest.raises((dualfit.FitError, ValueError, TypeError)):
                ENTRIES[entry](*arguments, **options)
            continue
        assert_by_definition(kind, absolute, loss, *ENTRIES[entry](*arguments, **options))


@pytest.mark.parametrize("kind,absolute", [*product(SIGMAS, (False, True))][1:])
def test_counts_take_no_sigma(kind: str, absolute: bool) -> None:
    if kind == "scalar" and not absolute:
        return  # A single relative sigma contains no information, also for counts.
    for call in (fit, fit_batch):
        with pytest.raises((dualfit.FitError, ValueError), match="sigma"):
            call(SIGMAS[kind], absolute, poisson=True)


@pytest.mark.parametrize("kind", SIGMAS)
@pytest.mark.parametrize("absolute", [False, True])
def test_new_observations_take_sigma_as_the_data_do(kind: str, absolute: bool) -> None:
    found = dualfit.fit(line, x, y, [1, 1], sigma=SIGMAS[kind], absolute_sigma=absolute)
    curve = found.confidence_band([2.0]).std_errors
    scatter = np.sqrt(2 * found.statistics["cost"] / 22)
    # A single relative sigma is a unit of the residuals, which the core ignores.
    unit = 1.0 if absolute or kind == "none" else scatter / one if kind == "scalar" else scatter
    for given in (0.3, np.array([0.3])):
        near = found.prediction_band([2.0], sigma=given).std_errors
        np.testing.assert_allclose(near, np.hypot(curve, 0.3 * unit), rtol=1e-9)
        in_units = found.prediction_band([2.0], sigma=given, absolute_sigma=True).std_errors
        np.testing.assert_allclose(in_units, np.hypot(curve, 0.3), rtol=1e-9)


def test_a_relative_matrix_is_scaled() -> None:
    """Errors of 2x correspond to a matrix of 4x; this affects the result only if sigma is absolute."""
    for sigma, twice in ((each, 2 * each), (np.diag(each**2), 4 * np.diag(each**2)), (matrix, 4 * matrix)):
        np.testing.assert_allclose(fit(sigma, False)[1], fit(twice, False)[1], rtol=1e-9)
        np.testing.assert_allclose(2 * fit(sigma, True)[1], fit(twice, True)[1], rtol=1e-9)
    np.testing.assert_allclose(fit(np.diag(each**2), False)[1], fit(each, False)[1], rtol=1e-9)

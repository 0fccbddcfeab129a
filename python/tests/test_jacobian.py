"""Jacobians passed to `curve_fit`: `col_deriv`, shapes, and the comparison with finite differences at the start."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit

X = np.linspace(0.1, 4.0, 30)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def partials(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


Y = decay(X, 2.5, 1.3, 0.5) + 0.01 * np.cos(7 * X)
START = [2.0, 1.0, 0.3]


@pytest.mark.parametrize("method", ["lm", "trf"])
def test_partials_by_column(method: str) -> None:
    popt, pcov = dualfit.curve_fit(decay, X, Y, START, jac=partials, method=method)
    found = dualfit.curve_fit(decay, X, Y, START, jac=lambda *p: partials(*p).T, col_deriv=True, method=method)
    np.testing.assert_array_equal(found[0], popt)
    np.testing.assert_array_equal(found[1], pcov)
    sp = pytest.importorskip("scipy.optimize")
    expected = sp.curve_fit(decay, X, Y, START, jac=partials, method=method)
    np.testing.assert_allclose(popt, expected[0], rtol=1e-5)
    np.testing.assert_allclose(pcov, expected[1], rtol=1e-4)


def test_one_parameter_needs_no_second_axis() -> None:
    """Partials of shape (n,) are accepted, as by `leastsq`."""
    popt, _ = dualfit.curve_fit(lambda x, a: a * x, X, 2 * X, jac=lambda x, a: x)
    np.testing.assert_allclose(popt, [2.0], rtol=1e-12)


def test_sparse_partials() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    popt, _ = dualfit.curve_fit(decay, X, Y, START, jac=lambda *p: sparse.csr_array(partials(*p)), method="trf")
    np.testing.assert_allclose(popt, dualfit.curve_fit(decay, X, Y, START)[0], rtol=1e-7)


def changed(columns: dict[int, float], rows: Callable[[Any], Any] = lambda j: j) -> Callable[..., Any]:
    def jac(x, *p):
        jacobian = partials(x, *p)
        for k, factor in columns.items():
            jacobian[:, k] *= factor
        return rows(jacobian)

    return jac


@pytest.mark.parametrize(("jac", "named"), [
    (changed({0: 1.5, 1: 1.5, 2: 1.5}), "a, b, c"),
    (changed({1: -1.0}), "b"),
    (changed({2: 0.0}), "c"),
    (changed({0: 1.05}), "a"),
    (changed({}, lambda j: j[:, [1, 0, 2]]), "a, b"),
    (changed({}, lambda j: j[::-1]), "a, b"),
    (changed({0: 1e3}), "a"),
])
def test_a_wrong_jacobian_is_noticed(jac: Callable[..., Any], named: str) -> None:
    with pytest.warns(dualfit.OptimizeWarning, match=f"correct its partials by {named},") as caught:
        dualfit.curve_fit(decay, X, Y, START, jac=jac, maxfev=10_000)
    assert caught[0].filename == __file__


def test_a_transposed_square_is_noticed() -> None:
    with pytest.warns(dualfit.OptimizeWarning, match="`jac` differs from finite differences"):
        dualfit.curve_fit(decay, X[:3], Y[:3], START, jac=lambda *p: partials(*p).T, absolute_sigma=True)


def bent(x, a, b):
    return np.abs(x - a) * b


def partials_of_bent(x, a, b):
    return np.stack([-b * np.sign(x - a), np.abs(x - a)], axis=1)


#: Functions with correct partials. Low precision, small numbers, kinks and bounds must not cause a warning.
RIGHT: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "as it is": (decay, partials, START, {}),
    "zeros": (decay, partials, [0.0, 0.0, 0.0], {}),
    "some zeros": (decay, partials, [1.0, 0.0, 0.0], {}),
    "tiny": (lambda x, a, b, c: decay(x, 1e9 * a, b, c), lambda x, a, b, c: partials(x, 1e9 * a, b, c) * [1e9, 1, 1],
             [2e-9, 1.0, 0.3], {}),
    "large": (lambda x, a, b, c: decay(x, 1e-9 * a, b, c), lambda x, a, b, c: partials(x, 1e-9 * a, b, c) * [1e-9, 1, 1],
              [2e9, 1.0, 0.3], {}),
    "on a bound": (decay, partials, [2.0, 0.0, 0.3], {"bounds": ([0, 0, 0], [9, 9, 0.3 + 1e-12])}),
    "single precision": (lambda *p: decay(*p).astype(np.float32), partials, START, {}),
    "single precision within": (lambda x, *p: decay(x.astype(np.float32), *map(np.float32, p)), partials, START, {}),
    "partials in single precision": (decay, lambda *p: partials(*p).astype(np.float32), START, {}),
    "a kink": (bent, partials_of_bent, [X[7], 2.0], {}),
    "a large constant": (lambda x, a, b, c: decay(x, a, b, c) + 1e7, partials, START, {}),
    "hardly any effect": (lambda x, a, b, c: a * x + b + 1e-12 * c,
                          lambda x, a, b, c: np.stack([x, np.ones_like(x), np.full_like(x, 1e-12)], axis=1), [1, 1, 1], {}),
    "rounded values": (lambda *p: np.round(decay(*p), 4), partials, START, {}),
    "fast": (lambda x, a, b: a * np.sin(1e4 * b * x),
             lambda x, a, b: np.stack([np.sin(1e4 * b * x), 1e4 * a * x * np.cos(1e4 * b * x)], axis=1), [1.0, 1.0], {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_jacobian_is_not_doubted(name: str) -> None:
    f, jac, start, options = RIGHT[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            dualfit.curve_fit(f, X, Y, start, jac=jac, **options)
        except RuntimeError:
            pass  # The fit need not converge: the function does not fit the data.
    assert not [str(w.message) for w in caught if "`jac`" in str(w.message)]


def test_no_jacobian_is_asked_for_twice() -> None:
    asked: list[tuple[float, ...]] = []

    def jac(x, *p):
        asked.append(p)
        return partials(x, *p)

    dualfit.curve_fit(decay, X, Y, START, jac=jac)
    assert len(asked) == len(set(asked))

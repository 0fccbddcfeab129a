"""`fit_batch`: the fit of a row does not depend on the other rows, and nothing is copied."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import Model, fit_batch

pytestmark = pytest.mark.filterwarnings("error")

x = np.linspace(0, 4, 40)
_random = np.random.default_rng(0)
TRUE = np.stack([_random.uniform(20, 60, 12), _random.uniform(0.3, 2, 12)], axis=1)


def decay(x, a, b):
    return a * np.exp(-b * x)


def branching(x, a, b):
    return decay(x, a, b) if a > -99 else np.zeros_like(x)


STACK = np.stack([decay(x, *p) for p in TRUE]) + _random.normal(size=(12, 40))
BATCH = fit_batch(decay, x, STACK, [30, 1])


def singles(stack: Any, **said: Any) -> list[dualfit.Fit]:
    return [dualfit.fit(decay, x, row, [30, 1], **said) for row in stack]


def alike(batch: dualfit.Batch, fits: list[dualfit.Fit]) -> None:
    np.testing.assert_allclose(batch.params, [fit.params for fit in fits], rtol=1e-9)
    np.testing.assert_allclose(batch.std_errors, [fit.std_errors for fit in fits], rtol=1e-6)
    np.testing.assert_allclose(batch.costs, [fit.statistics["cost"] for fit in fits], rtol=1e-9)
    assert batch.converged.tolist() == [fit.converged for fit in fits]


def bits(batch: dualfit.Batch) -> bytes:
    return batch.params.tobytes() + batch.std_errors.tobytes() + batch.costs.tobytes()


# Each fit is the single fit


@pytest.mark.parametrize("kind", ["f8", "f4", "u1", "u2", "i2", "u4", "i4", "i8", "u8", "i1", "?", "f2", ">f8", ">i2"])
def test_sample_types(kind: str) -> None:
    stack = np.clip(STACK, 0, 1 if kind == "?" else None).astype(kind)
    batch = fit_batch(decay, x, stack, [30, 1])
    alike(batch, singles(stack))
    # Samples are converted to double precision exactly, so that the result does not depend on their type.
    assert bits(batch) == bits(fit_batch(decay, x, stack.astype(float), [30, 1]))


def test_no_bit_depends_on_the_neighbours() -> None:
    alone = b"".join(fit_batch(decay, x, STACK[k:k + 1], [30, 1]).params.tobytes() for k in range(12))
    assert alone == BATCH.params.tobytes()
    np.testing.assert_array_equal(fit_batch(decay, x, STACK[::-1], [30, 1]).params[::-1], BATCH.params)
    assert bits(fit_batch(decay, x, STACK, [30, 1])) == bits(BATCH)


def test_layouts() -> None:
    for stack in (np.asfortranarray(STACK), np.repeat(STACK, 2, axis=0)[::2], STACK.tolist(), list(STACK)):
        assert bits(fit_batch(decay, x, stack, [30, 1])) == bits(BATCH)
    frame = pytest.importorskip("pandas").DataFrame(STACK)
    assert bits(fit_batch(decay, x, frame, [30, 1])) == bits(BATCH)
    assert bits(Model(decay).fit_batch(list(x), STACK, [30, 1])) == bits(BATCH)


def test_pictures() -> None:
    picture = fit_batch(decay, x, STACK.reshape(3, 4, 40), [30, 1], covariance=True)
    assert (picture.shape, picture.params.shape, picture.covariances.shape) == ((3, 4), (3, 4, 2), (3, 4, 2, 2))
    for values in (picture.costs, picture.converged, picture.iterations, picture["a"], picture.error("b")):
        assert values.shape == (3, 4)
    np.testing.assert_array_equal(picture.params.reshape(12, 2), BATCH.params)
    np.testing.assert_array_equal(picture["b"].ravel(), BATCH.params[:, 1])
    assert picture.status(2, 3).startswith("converged")
    assert len(picture) == 12


def test_tables() -> None:
    pandas = pytest.importorskip("pandas")
    batch = fit_batch(decay, x, STACK, [30, 1], derived={"half": "ln(2)/b"})
    table = batch.to_frame()
    assert list(table.columns) == ["a", "a_error", "b", "b_error", "half", "half_error", "cost", "converged", "iterations"]
    assert list(table.index) == list(range(12))
    for name in ("a", "b", "half"):
        np.testing.assert_array_equal(table[name], batch[name])
        np.testing.assert_array_equal(table[f"{name}_error"], batch.error(name))
    np.testing.assert_array_equal(table["converged"], batch.converged)
    picture = fit_batch(decay, x, STACK.reshape(3, 4, 40), [30, 1]).to_frame()
    assert isinstance(picture.index, pandas.MultiIndex) and picture.loc[(2, 3), "a"] == batch["a"][11]
    assert fit_batch(decay, x, STACK[0], [30, 1]).to_frame().shape == (1, 7)
    with pytest.raises(dualfit.FitError, match="because of 'a'; rename this parameter"):
        fit_batch("a*exp(-a_error*x)", x, STACK, {"a_error": 1}).to_frame()


@pytest.mark.parametrize("covariance", [False, True])
def test_covariances(covariance: bool) -> None:
    batch = fit_batch(decay, x, STACK, [30, 1], covariance=covariance)
    if not covariance:
        assert batch.covariances is None
        return
    np.testing.assert_allclose(batch.covariances, [fit.covariance for fit in singles(STACK)], rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(batch.covariances[:, [0, 1], [0, 1]]), batch.std_errors, rtol=1e-12)


def test_nothing_is_copied() -> None:
    for kind in ("f8", "f4", "u2"):
        stack = np.clip(np.tile(STACK, (2000, 1)), 0, None).astype(kind)
        fit_batch(decay, x, stack[:10], [30, 1])
        tracemalloc.start()
        fit_batch(decay, x, stack, [30, 1], sigma=np.ones(40), mask=x < 3.9)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.02 * stack.nbytes


# x


def test_own_x() -> None:
    own = x + 0.01 * np.arange(12)[:, None]
    batch = fit_batch(decay, own, STACK, [30, 1])
    alike(batch, [dualfit.fit(decay, *points, [30, 1]) for points in zip(own, STACK)])
    assert bits(fit_batch(decay, np.tile(x, (12, 1)), STACK, [30, 1])) == bits(BATCH)
    cube = fit_batch(decay, own.reshape(3, 4, 40), STACK.reshape(3, 4, 40), [30, 1])
    np.testing.assert_array_equal(cube.params.reshape(12, 2), batch.params)


def test_own_x_of_a_function_that_sees_all_its_points() -> None:
    """The function receives only the points of its fit."""
    own = x * (1 + np.arange(12)[:, None])

    def scaled(x, a, b):
        return a * np.exp(-b * x / x.max())

    batch = fit_batch(scaled, own, STACK, [30, 4])
    alike(batch, [dualfit.fit(scaled, *points, [30, 4]) for points in zip(own, STACK)])
    np.testing.assert_allclose(batch.params, BATCH.params * [1, 4], rtol=1e-6)


@pytest.mark.parametrize("own", [False, True])
def test_a_function_that_is_called_as_it_is(own: bool) -> None:
    at = np.tile(x, (12, 1)) if own else x
    with pytest.warns(dualfit.NotTracedWarning) as caught:
        batch = fit_batch(branching, at, STACK, [30, 1])
    assert len(caught) == 1
    np.testing.assert_allclose(batch.params, BATCH.params, rtol=1e-7)
    np.testing.assert_allclose(batch.std_errors, BATCH.std_errors, rtol=1e-5)


@pytest.mark.parametrize("fits", [2, 3])
def test_two_variables(fits: int) -> None:
    """x of two variables can have the shape of a stack of two fits, but is shared by the fits."""
    rows = np.stack([x, np.cos(x)])
    f = lambda x, a, b: a * x[0] + b * x[1]  # noqa: E731
    formula = Model("a*u + b*v", variables=["u", "v"])
    expected = np.linalg.lstsq(rows.T, STACK[:fits].T)[0].T
    np.testing.assert_allclose(fit_batch(f, rows, STACK[:fits], [1, 1]).params, expected, rtol=1e-9)
    np.testing.assert_allclose(fit_batch(formula, rows, STACK[:fits]).params, expected, rtol=1e-9)


# Starts


def test_starts() -> None:
    np.testing.assert_allclose(fit_batch(decay, x, STACK, {"b": 1}).params, BATCH.params, rtol=1e-6)
    np.testing.assert_allclose(fit_batch(decay, x, STACK, {"a": 30, "b": 1}).params, BATCH.params, rtol=1e-12)
    np.testing.assert_allclose(fit_batch(lambda x, a=30, b=1: decay(x, a, b), x, STACK).params, BATCH.params, rtol=1e-12)
    each = fit_batch(decay, x, STACK, TRUE)
    np.testing.assert_allclose(each.params, BATCH.params, rtol=1e-6)
    assert each.iterations.sum() < BATCH.iterations.sum()
    cube = fit_batch(decay, x, STACK.reshape(3, 4, 40), TRUE.reshape(3, 4, 2))
    np.testing.assert_array_equal(cube.params.reshape(12, 2), each.params)


def test_a_bad_start_is_only_that_fits() -> None:
    starts = np.where(np.arange(12)[:, None] == 3, np.nan, TRUE)
    batch = fit_batch(decay, x, STACK, starts)
    assert batch.counts == {"converged": 11, "bad start": 1}
    assert np.isnan(batch.params[3]).all()
    others = np.delete(np.arange(12), 3)
    np.testing.assert_array_equal(batch.params[others], fit_batch(decay, x, STACK, TRUE).params[others])


# Errors of the samples, masks, gaps


@pytest.mark.parametrize("absolute", [False, True])
def test_sigma(absolute: bool) -> None:
    shared = 1 + 0.2 * np.cos(x)
    own = shared * (1 + np.arange(12)[:, None])
    said: dict[str, Any] = {"absolute_sigma": absolute}
    alike(fit_batch(decay, x, STACK, [30, 1], sigma=shared, **said), singles(STACK, sigma=shared, **said))
    alike(fit_batch(decay, x, STACK, [30, 1], sigma=2.0, **said), singles(STACK, sigma=2.0, **said))
    alike(fit_batch(decay, x, STACK, [30, 1], sigma=own, **said),
          [dualfit.fit(decay, x, y, [30, 1], sigma=each, **said) for y, each in zip(STACK, own)])
    per_fit = fit_batch(decay, x, STACK, [30, 1], sigma=own[:, :1], **said)
    alike(per_fit, [dualfit.fit(decay, x, y, [30, 1], sigma=np.full(40, each[0]), **said) for y, each in zip(STACK, own)])


def test_masks() -> None:
    own = np.arange(480).reshape(12, 40) % 7 > 0
    alike(fit_batch(decay, x, STACK, [30, 1], mask=x < 3), singles(STACK, mask=x < 3))
    alike(fit_batch(decay, x, STACK, [30, 1], mask=own),
          [dualfit.fit(decay, x, y, [30, 1], mask=each) for y, each in zip(STACK, own)])


def test_gaps_spoil_only_their_own_fit() -> None:
    gaps = STACK.copy()
    gaps[3, 7] = np.nan
    gaps[5] = np.inf
    batch = fit_batch(decay, x, gaps, [30, 1])
    others = np.delete(np.arange(12), [3, 5])
    assert batch.counts == {"converged": 10, "bad data": 2}
    np.testing.assert_array_equal(batch.params[others], BATCH.params[others])
    for values in (batch.params, batch.std_errors, batch.costs):
        assert np.isnan(values[[3, 5]]).all()
    assert (batch.status(3), batch.status(5)) == tuple(f"bad data: x, y or sigma is not usable at point {k}" for k in (7, 0))
    assert not batch.converged[[3, 5]].any()
    kept = fit_batch(decay, x, gaps, [30, 1], nan_policy="omit")
    assert kept.counts == {"converged": 11, "no points": 1}
    alone = dualfit.fit(decay, np.delete(x, 7), np.delete(STACK[3], 7), [30, 1])
    np.testing.assert_allclose(kept.params[3], alone.params, rtol=1e-9)


def test_options() -> None:
    alike(fit_batch(decay, x, STACK, [30, 1], fixed="b"), singles(STACK, fixed="b"))
    alike(fit_batch(decay, x, STACK, [30, 1], loss="huber"), singles(STACK, loss="huber"))
    bounded = fit_batch(decay, x, STACK, [30, 1], bounds={"a": (0, 40)})
    assert bounded["a"].max() == 40.0
    np.testing.assert_allclose(bounded.params, [fit.params for fit in singles(STACK, bounds={"a": (0, 40)})], rtol=1e-8)
    stopped = fit_batch(decay, x, STACK, [30, 1], max_evaluations=2)
    assert stopped.counts == {"limit of evaluations reached": 12}
    assert not stopped.converged.any()


# Many fits, one fit, no fit


def test_one_fit() -> None:
    batch = fit_batch(decay, x, STACK[:1], [30, 1])
    alike(batch, singles(STACK[:1]))
    plain = fit_batch(decay, x, STACK[0], [30, 1])
    assert (plain.shape, plain.params.shape, len(plain)) == ((), (2,), 1)
    assert plain["a"] == batch["a"][0]
    assert plain.status() == batch.status(0)


@pytest.mark.parametrize("shape", [(0, 40), (3, 0, 40), (0, 0, 40)])
def test_no_fits(shape: tuple[int, ...]) -> None:
    for at in (x, np.zeros(shape)):
        batch = fit_batch(decay, at, np.zeros(shape), [30, 1])
        assert batch.params.shape == batch.std_errors.shape == (*shape[:-1], 2)
        assert (len(batch), batch.counts, batch["a"].shape) == (0, {}, shape[:-1])
        assert repr(batch) == "<Batch of 0 fits, 0 converged>"
        assert str(batch).startswith("0 fits")


def test_what_it_says() -> None:
    assert repr(BATCH) == "<Batch of 12 fits, 12 converged>"
    assert "12 fits of 2 parameters" in str(BATCH) and "100.00 %  converged" in str(BATCH)
    assert "<table" in BATCH._repr_html_()
    assert BATCH.names == ["a", "b"]
    assert BATCH.seconds > 0 and BATCH.reason
    assert BATCH.iterations.dtype == np.uint32 and BATCH.converged.dtype == np.bool_


def test_pickles() -> None:
    batch = fit_batch(decay, x, STACK.reshape(3, 4, 40), [30, 1], covariance=True)
    again = pickle.loads(pickle.dumps(batch))
    assert bits(again) == bits(batch)
    assert (again.shape, again.counts, again.names, str(again)) == (batch.shape, batch.counts, batch.names, str(batch))
    np.testing.assert_array_equal(again.covariances, batch.covariances)
    none = pickle.loads(pickle.dumps(fit_batch(decay, x, STACK[:0], [30, 1])))
    assert none.params.shape == (0, 2)


# Invalid arguments


@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: fit_batch(decay, x, 3.0, [30, 1]), ValueError, "at least one axis"),
    (lambda: fit_batch(decay, x, STACK[:, :-1], [30, 1]), ValueError, r"\(40,\) \(39,\): x has 40 points but y has 39"),
    (lambda: fit_batch("a*x + b", x, STACK[:, :-1]), ValueError,
     r"x has 40 points, but each fit of the stack has 39 \(its last axis\); .* or an x of the shape \(12, 39\)"),
    # 40 fits of 39 points have the same number of samples as 39 fits of 40 points.
    (lambda: fit_batch("a*x + b", x, np.ones((40, 39))), ValueError, "x has 40 points, but each fit of the stack has 39"),
    (lambda: fit_batch("a*x + b", np.tile(x, (5, 1)), STACK), ValueError, "x has 200 points, but each fit of the stack has 40"),
    (lambda: fit_batch(decay, x[:0], np.zeros((3, 0)), [30, 1]), ValueError, "no data points"),
    (lambda: fit_batch(decay, x, STACK, search="never"), ValueError, "no start is known for b"),
    (lambda: fit_batch(decay, x, STACK, TRUE[:5]), ValueError, "p0 has the shape \\(5, 2\\)"),
    (lambda: fit_batch(decay, x, STACK, TRUE.ravel()), ValueError, "p0 has 24 values for 2 parameters"),
    (lambda: fit_batch(decay, x, STACK, {"q": 1}), ValueError, "there is no parameter `q`"),
    (lambda: fit_batch(decay, x, STACK, [30, 1], sigma=np.ones(39)), ValueError, r"sigma has the shape \(39,\)"),
    (lambda: fit_batch(decay, x, STACK, [30, 1], sigma=0), ValueError, "sigma is 0"),
    (lambda: fit_batch(decay, x, STACK, [30, 1], mask=np.ones((5, 40))), ValueError, r"mask has the shape \(5, 40\)"),
    (lambda: fit_batch(decay, x, STACK, [30, 1], nan_policy="x"), ValueError, "there are 'raise' and 'omit'"),
    (lambda: fit_batch(decay, x, STACK, [30, 1], nonsense=1), TypeError, "there is no option 'nonsense'"),
    (lambda: fit_batch(decay, x, [["a"] * 40], [30, 1]), ValueError, "could not convert string"),
    (lambda: fit_batch(decay, x, 1j * STACK, [30, 1]), TypeError, "complex"),
    (lambda: BATCH["q"], KeyError, "'q' is neither a parameter nor a derived quantity; there are a, b"),
    (lambda: BATCH.error("q"), KeyError, "'q' is neither a parameter nor a derived quantity; there are a, b"),
    (lambda: BATCH.status(99), IndexError, "out of bounds"),
    (lambda: BATCH.status(1, 1), IndexError, "has 1 numbers, not 2"),
])
def test_errors(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_x_that_makes_no_sense() -> None:
    assert fit_batch(decay, np.append(x[:-1], np.nan), STACK, [30, 1]).counts == {"bad data": 12}
    own = np.tile(x, (12, 1))
    own[4, 5] = np.inf
    batch = fit_batch(decay, own, STACK, [30, 1])
    assert batch.counts == {"converged": 11, "bad data": 1}
    assert np.isnan(batch.params[4]).all()


def test_sigma_that_makes_no_sense_is_only_that_fits() -> None:
    batch = fit_batch(decay, x, STACK, [30, 1], sigma=np.where(np.arange(480).reshape(12, 40) == 100, -1.0, 1.0))
    assert batch.counts == {"converged": 11, "bad data": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not batch.converged[2]


def test_fits_that_the_data_reject():
    x = np.linspace(0, 1, 30)
    noise = 0.01 * np.random.default_rng(2).normal(size=(2, 30))
    stack = np.stack([x + 0.5, x**2]) + noise
    batch = dualfit.fit_batch("a + b*x", x, stack, [0.0, 1.0], sigma=0.01, absolute_sigma=True)
    assert batch.converged.all() and batch.rejected.tolist() == [False, True]
    assert not dualfit.fit_batch("a + b*x", x, stack, [0.0, 1.0]).rejected.any()
    batch = dualfit.fit_batch("a + b*x", x, stack, [0.0, 1.0], test_residuals=True)
    assert batch.rejected.tolist() == [False, True] == pickle.loads(pickle.dumps(batch)).rejected.tolist()
    counts = np.random.default_rng(3).poisson(np.stack([np.full(30, 50.0), 50 + 200 * x**4]))
    batch = dualfit.fit_batch("a + b*x", x, counts, [50.0, 1.0], poisson=True)
    assert batch.rejected.tolist() == [False, True]

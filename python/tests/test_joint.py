"""`fit_joint`: the same fit as SciPy's fit of all points stacked by hand, for every form of the data and every kind of model."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, fit_joint
from refusals import check_refused

optimize = pytest.importorskip("scipy.optimize")

pytestmark = pytest.mark.filterwarnings("error", "ignore::dualfit.NotTracedWarning")

t = np.linspace(0, 4, 40)
_random = np.random.default_rng(1)
AMPLITUDES = np.array([2.0, 5.0, 3.0])
SIGMA = 0.02 * (1 + t)
STACK = AMPLITUDES[:, None] * np.exp(-0.7 * t) + SIGMA * _random.normal(size=(3, 40))
#: Sets of different lengths.
XS, YS = [t, t[:30], t[5:]], [STACK[0], STACK[1, :30], STACK[2, 5:]]
SET = np.concatenate([np.full(x.size, k) for k, x in enumerate(XS)])
SHARED: dict[str, Any] = {"shared": "rate"}


def decay(x, a, rate):
    return a * np.exp(-rate * x)


def called(x, a, rate):
    """A decay that cannot be recorded."""
    return decay(x, a, rate) if a > -99 else np.zeros_like(x)


def on_mask(x, a, rate):
    """A decay that computes its columns from x by any code."""
    return a * np.where(x >= 0, np.exp(-rate * np.sort(x)), 0.0)


def with_a_choice(x, a, rate):
    """A decay that asks for the type of its parameters, and has other values for numbers far from the start."""
    return decay(x, a, rate) * (1.01 if isinstance(rate, float) and abs(rate - 1) > 0.1 else 1.0)


def stacked(**said: Any) -> Any:
    """SciPy's fit of all points together: amplitudes of the sets, and the rate."""
    x, y = np.concatenate(XS), np.concatenate(YS)
    return optimize.curve_fit(lambda _, a1, a2, a3, rate: np.array([a1, a2, a3])[SET] * np.exp(-rate * x), x, y, [1, 1, 1, 1],
                              xtol=1e-12, ftol=1e-12, **said)


def assert_same(joint: dualfit.JointFit, expected: Any, rtol: float = 1e-6) -> None:
    popt, pcov = expected
    assert joint.converged
    np.testing.assert_allclose(joint["a"], popt[:3], rtol=rtol)
    np.testing.assert_allclose(joint["rate"], popt[3], rtol=rtol)
    errors = np.sqrt(np.diag(pcov))
    np.testing.assert_allclose(joint.error("a"), errors[:3], rtol=100 * rtol)
    np.testing.assert_allclose(joint.shared["rate"].std_error, errors[3], rtol=100 * rtol)
    order = [joint.fit.names.index(name) for name in ("a_1", "a_2", "a_3", "rate")]
    np.testing.assert_allclose(joint.fit.covariance[np.ix_(order, order)], pcov, rtol=100 * rtol, atol=1e-4 * pcov.max())


KINDS: dict[str, Any] = {
    "function": decay, "formula": "a*exp(-rate*x)", "model": dualfit.Model(decay), "called": called, "columns": on_mask,
    "varargs": dualfit.Model(lambda x, *p: decay(x, *p), ["a", "rate"]),
}


@pytest.mark.parametrize("f", KINDS.values(), ids=KINDS.keys())
def test_sets_of_any_length(f: Any) -> None:
    assert_same(fit_joint(f, XS, YS, [1, 1], **SHARED), stacked())


@pytest.mark.parametrize("absolute", [False, True])
def test_sigma(absolute: bool) -> None:
    sigmas = [0.02 * (1 + x) for x in XS]
    expected = stacked(sigma=np.concatenate(sigmas), absolute_sigma=absolute)
    for f in (decay, "a*exp(-rate*x)", called):
        assert_same(fit_joint(f, XS, YS, [1, 1], sigma=sigmas, absolute_sigma=absolute, **SHARED), expected)


def test_one_sigma_per_set_weighs_the_sets() -> None:
    sigmas = [0.02, 0.2, 0.05]
    expected = stacked(sigma=np.array(sigmas)[SET])
    assert_same(fit_joint(decay, XS, YS, [1, 1], sigma=sigmas, **SHARED), expected)
    # One number for all is a common factor.
    assert_same(fit_joint(decay, XS, YS, [1, 1], sigma=0.3, **SHARED), stacked())
    assert_same(fit_joint(decay, XS, YS, [1, 1], sigma=0.3, absolute_sigma=True, **SHARED), stacked(sigma=np.full(SET.size, 0.3), absolute_sigma=True))


# Forms of the data


def test_a_stack_is_a_list() -> None:
    expected = fit_joint(decay, [t, t, t], list(STACK), [1, 1], sigma=[SIGMA] * 3, **SHARED)
    forms: list[Callable[[], Any]] = [
        lambda: fit_joint(decay, t, STACK, [1, 1], sigma=SIGMA, **SHARED),
        lambda: fit_joint(decay, np.tile(t, (3, 1)), STACK, [1, 1], sigma=np.tile(SIGMA, (3, 1)), **SHARED),
        lambda: fit_joint(decay, t, list(STACK), [1, 1], sigma=[SIGMA] * 3, **SHARED),
        lambda: fit_joint("a*exp(-rate*x)", [t.tolist()] * 3, STACK.tolist(), [1, 1], sigma=[SIGMA] * 3, **SHARED),
    ]
    for form in forms:
        np.testing.assert_allclose(form().fit.params, expected.fit.params, rtol=1e-9)
        np.testing.assert_allclose(form().fit.std_errors, expected.fit.std_errors, rtol=1e-6)


def test_pictures() -> None:
    picture = np.stack([STACK, 2 * STACK])
    joint = fit_joint(decay, t, picture, {"rate": 1}, **SHARED)
    assert (joint.shape, joint["a"].shape, joint.params.shape, joint.chi_squares.shape, len(joint)) == ((2, 3), (2, 3), (2, 3, 2), (2, 3), 6)
    assert joint.labels[:2] == [(0, 0), (0, 1)]
    flat = fit_joint(decay, t, picture.reshape(6, 40), {"rate": 1}, **SHARED)
    np.testing.assert_array_equal(joint["a"].reshape(-1), flat["a"])
    assert joint.set((1, 2)).values["a"] == flat.set(5).values["a"]
    assert list(joint.to_frame().index) == [(i, j) for i in range(2) for j in range(3)]


def test_points_with_labels() -> None:
    pandas = pytest.importorskip("pandas")
    order = _random.permutation(SET.size)
    frame = pandas.DataFrame({"time": np.concatenate(XS), "signal": np.concatenate(YS), "sample": np.array(["u", "v", "w"])[SET],
                              "error": 0.02 * (1 + np.concatenate(XS))}).iloc[order].reset_index(drop=True)
    expected = fit_joint(decay, XS, YS, [1, 1], sigma=[0.02 * (1 + x) for x in XS], **SHARED)
    joint = fit_joint(decay, "time", "signal", [1, 1], data=frame, by="sample", sigma="error", **SHARED)
    assert sorted(joint.labels) == ["u", "v", "w"] and joint.labels == list(dict.fromkeys(frame["sample"]))
    for k, label in enumerate("uvw"):
        np.testing.assert_allclose(joint.set(label).params, expected.set(k).params, rtol=1e-6)
    arrays = fit_joint(decay, frame["time"], frame["signal"].to_numpy(), [1, 1], by=frame["sample"], sigma=frame["error"], **SHARED)
    np.testing.assert_array_equal(arrays.fit.params, joint.fit.params)
    two = fit_joint(dualfit.Model("a*exp(-rate*time)", variables=["time"]), ["time"], "signal", [1, 1], data=frame,
                    by=["sample"], sigma="error", **SHARED)
    np.testing.assert_allclose(two.fit.params, joint.fit.params, rtol=1e-8)
    assert set(two.labels) == {("u",), ("v",), ("w",)}
    table = joint.to_frame()
    assert list(table.columns) == ["a", "a_error", "rate", "rate_error", "chi_square"] and list(table.index) == joint.labels
    np.testing.assert_array_equal(table["a"], joint["a"])
    np.testing.assert_array_equal(table["rate_error"], joint.error("rate"))


@pytest.mark.parametrize("f", [lambda x, a, b, c: a * x[0] + b * x[1] + c, dualfit.Model("a*u + b*v + c", variables=["u", "v"])])
def test_several_variables(f: Any) -> None:
    x = [np.stack([t, np.cos(k + t)]) for k in range(3)]
    y = [2 * each[0] + 3 * each[1] + k + 0.01 * np.sin(7 * t) for k, each in enumerate(x)]
    joint = fit_joint(f, x, y, [1, 1, 1], shared=["a", "b"])
    design = np.zeros((120, 5))
    for k, each in enumerate(x):
        design[40 * k:40 * k + 40, :2], design[40 * k:40 * k + 40, 2 + k] = each.T, 1
    expected = np.linalg.lstsq(design, np.concatenate(y))[0]
    found = [joint.shared["a"].value, joint.shared["b"].value, *joint["c"]]
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    # Two variables and two sets: x is shared, and its rows are variables.
    both = fit_joint(f, x[0], np.stack([y[0], y[0] + 1]), [1, 1, 1], shared=["a", "b"])
    np.testing.assert_allclose(np.diff(both["c"]), 1, rtol=1e-8)


def test_a_function_that_sees_all_points_of_its_set() -> None:
    def scaled(x, a, rate):
        return a * np.exp(-rate * x / x.max())

    xs = [t, 2 * t[:30], 3 * t]
    ys = [2 * np.exp(-xs[0] / 4), 5 * np.exp(-xs[1] / xs[1].max()), 3 * np.exp(-xs[2] / 12)]
    joint = fit_joint(scaled, xs, ys, [1, 2], **SHARED)
    np.testing.assert_allclose([*joint["a"], joint.shared["rate"].value], [2, 5, 3, 1], rtol=1e-8)
    np.testing.assert_allclose(joint.set(1).predict(), ys[1], rtol=1e-7)
    # At other points the function divides by their maximum, as in a single fit.
    np.testing.assert_allclose(joint.set(1).predict([0.0, 1.0]), [5, 5 * np.exp(-1)], rtol=1e-7)
    assert joint.set(1).stats["operations"] is not None


def test_a_function_that_branches_on_x_and_one_with_state_are_called() -> None:
    def branches(x, a, rate):
        return decay(x, a, rate) if x.size < 35 else a * np.exp(-rate * x) * 1.0 + 0.0

    assert_same(fit_joint(branches, XS, YS, [1, 1], **SHARED), stacked(), rtol=1e-5)
    with pytest.warns(dualfit.NotTracedWarning, match="its values differ from what was recorded"):
        joint = fit_joint(with_a_choice, XS, YS, [1, 1], **SHARED)
    np.testing.assert_allclose(joint["a"], stacked()[0][:3] / 1.01, rtol=1e-5)


def test_errors_in_x() -> None:
    both: dict[str, Any] = {"sigma": [0.02] * 3, "absolute_sigma": True}
    for f in (decay, "a*exp(-rate*x)"):
        joint = fit_joint(f, XS, YS, [1, 1], x_sigma=1e-9, **both, **SHARED)
        assert_same(joint, stacked(sigma=np.full(SET.size, 0.02), absolute_sigma=True), rtol=1e-5)
        wide = fit_joint(f, XS, YS, [1, 1], x_sigma=[0.05, 0.05, 0.05], **both, **SHARED)
        assert wide.shared["rate"].std_error > 1.2 * joint.shared["rate"].std_error


# Models


def test_one_model_per_set_shares_names() -> None:
    each = [decay, "b*exp(-rate*x)", dualfit.Model(lambda x, c, rate: called(x, c, rate))]
    joint = fit_joint(each, XS, YS, {"rate": 1, "b": 1, "c": 1, "a": 1})
    popt, pcov = stacked()
    np.testing.assert_allclose([joint.fit.values[name] for name in ("a", "b", "c", "rate")], popt, rtol=1e-5)
    np.testing.assert_allclose([joint.fit.errors[name] for name in ("a", "b", "c", "rate")], np.sqrt(np.diag(pcov)), rtol=1e-3)
    assert joint.names == ["a", "rate", "b", "c"] and list(joint.shared) == ["rate"]
    assert np.isnan(joint["b"][[0, 2]]).all() and joint["b"][1] == joint.fit.values["b"]
    assert joint.set(2).names == ["c", "rate"]
    settings: dict[str, Any] = {"bounds": {"b": (0, 4)}, "fixed": {"c": 3.0}, "derived": {"half": "ln(2)/rate", "twice": "2*b"}}
    bounded = fit_joint(each, XS, YS, {"rate": 1, "b": 1, "a": 1}, **settings)
    assert bounded.fit.values["b"] == 4 and bounded.fit.values["c"] == 3
    np.testing.assert_allclose(bounded["half"], np.log(2) / bounded["rate"])
    assert bounded["twice"][1] == 8


def test_settings_of_all_sets_and_of_one() -> None:
    said: dict[str, Any] = {"bounds": {"a_2": (0, 4), "rate": (0, None)}, "fixed": {"a_3": 3.1}}
    joint = fit_joint(decay, XS, YS, [1, 1], **said, **SHARED)
    assert joint["a"][1] == 4 and joint["a"][2] == 3.1 and joint.set(1).at_bound == {"a": "upper"}
    x, y = np.concatenate(XS), np.concatenate(YS)
    popt, _ = optimize.curve_fit(lambda _, a, rate: np.array([a, 4, 3.1])[SET] * np.exp(-rate * x), x, y, [1, 1])
    np.testing.assert_allclose([joint["a"][0], joint.shared["rate"].value], popt, rtol=1e-6)
    tied = fit_joint("a*exp(-rate*x) + c", XS, YS, {"a": 1, "rate": 1}, ties={"c": "a/100"}, derived={"half": "ln(2)/rate"}, **SHARED)
    np.testing.assert_allclose(tied["c"], tied["a"] / 100)
    assert tied.fit["half"].value == pytest.approx(np.log(2) / tied.shared["rate"].value)
    both = fit_joint(decay, XS, YS, [1, 1], bounds=([0, 0], [4, np.inf]), **SHARED)
    assert both["a"].max() == 4


def test_starts() -> None:
    expected = fit_joint(decay, XS, YS, [1, 1], **SHARED).fit.params
    each = np.array([[2, 0.6], [5, 0.7], [3, 0.8]])
    for p0 in ({"rate": 1}, {"rate": 1, "a": 2, "a_2": 4}, None, each, [2, 0.7, 5, 3], {"a_1": 2, "a_2": 5, "a_3": 3, "rate": 1}):
        np.testing.assert_allclose(fit_joint(decay, XS, YS, p0, **SHARED).fit.params, expected, rtol=1e-6)
    np.testing.assert_allclose(fit_joint(lambda x, a=1.0, rate=0.5: decay(x, a, rate), XS, YS, **SHARED).fit.params, expected, rtol=1e-6)
    joint = fit_joint(decay, XS, YS, each, **SHARED)
    np.testing.assert_array_equal(joint.fit.start, [2, 0.7, 5, 3])  # The median of the rates.


def test_losses_and_counts() -> None:
    spoilt = [np.where(np.arange(y.size) == 7, y + 3, y) for y in YS]
    robust = fit_joint(decay, XS, spoilt, [1, 1], loss="huber", loss_scale=0.05, **SHARED)
    x, y = np.concatenate(XS), np.concatenate(spoilt)
    popt, _ = optimize.curve_fit(lambda _, a1, a2, a3, rate: np.array([a1, a2, a3])[SET] * np.exp(-rate * x), x, y, [1, 1, 1, 1],
                                 loss="huber", f_scale=0.05, method="trf", xtol=1e-14, ftol=1e-14, gtol=1e-12)
    np.testing.assert_allclose([*robust["a"], robust.shared["rate"].value], popt, rtol=1e-4)
    counts = [np.random.default_rng(k).poisson(50 * y) for k, y in enumerate(np.clip(YS[0], 0, None) for _ in range(3))]
    found = fit_joint("a*exp(-rate*x)", t, counts, [50, 1], poisson=True, **SHARED)

    def deviance(p: Any) -> float:
        curve = p[:3, None] * np.exp(-p[3] * t)
        return float(np.sum(curve - np.stack(counts) * np.log(curve)))

    best = optimize.minimize(deviance, [*found["a"], found.shared["rate"].value], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    np.testing.assert_allclose([*found["a"], found.shared["rate"].value], best.x, rtol=1e-5)


# Points that are left out, and sets


@pytest.mark.parametrize("f", [decay, called, "a*exp(-rate*x)"])
def test_points_that_are_left_out(f: Any) -> None:
    gaps = [y.copy() for y in STACK]
    gaps[1][30:], gaps[2][:5] = np.nan, np.nan
    masks = [np.isfinite(y) for y in gaps]
    assert_same(fit_joint(f, t, gaps, [1, 1], nan_policy="omit", **SHARED), stacked(), rtol=1e-5)
    assert_same(fit_joint(f, t, gaps, [1, 1], mask=masks, **SHARED), stacked(), rtol=1e-5)
    assert_same(fit_joint(f, t, np.ma.masked_invalid(gaps), [1, 1], **SHARED), stacked(), rtol=1e-5)


@pytest.mark.parametrize("f", [decay, called])
def test_bad_sets_are_left_out(f: Any) -> None:
    bad = [STACK[0], np.full(40, np.nan), STACK[2]]
    joint = fit_joint(f, t, bad, [1, 1], leave_out_bad_sets=True, **SHARED)
    good = fit_joint(f, t, [STACK[0], STACK[2]], [1, 1], **SHARED)
    np.testing.assert_allclose(joint["a"][[0, 2]], good["a"], rtol=1e-9)
    assert np.isnan(joint["a"][1]) and list(joint.left_out) == [1] and joint.left_out[1].startswith("`y` is NaN at index 0")
    assert list(joint.sets) == [0, 2]
    with pytest.raises(KeyError, match="the set 1 was left out: `y` is NaN"):
        joint.set(1)
    with pytest.raises(FitError, match="set 2: `y` is NaN at index 0"):
        fit_joint(f, t, bad, [1, 1], **SHARED)


# Results


@pytest.mark.parametrize("f", [decay, called, on_mask, "a*exp(-rate*x)"])
def test_the_fit_of_a_set(f: Any) -> None:
    joint = fit_joint(f, XS, YS, [1, 1], **SHARED)
    fit = joint.set(1)
    assert (fit.names, fit.values["a"], fit.errors["a"]) == (["a", "rate"], joint["a"][1], joint.error("a")[1])
    np.testing.assert_allclose(fit.predict(), decay(XS[1], *fit.params), rtol=1e-9)
    np.testing.assert_allclose(fit.predict(np.array([0.5, 1.0])), decay(np.array([0.5, 1.0]), *fit.params), rtol=1e-9)
    np.testing.assert_allclose(fit.residuals(), YS[1] - fit.predict(), atol=1e-12)
    assert float(np.sum(fit.residuals() ** 2)) == pytest.approx(joint.chi_squares[1], rel=1e-6)
    # The band by the gradient of the curve and the covariance.
    curve = np.exp(-fit.params[1] * XS[1])
    gradient = np.stack([curve, -fit.params[0] * XS[1] * curve], axis=1)
    expected = np.sqrt(np.einsum("ij,jk,ik->i", gradient, fit.covariance, gradient))
    np.testing.assert_allclose(fit.confidence_band().std_errors, expected, rtol=1e-4)
    assert fit.diagnostics()["residuals"].size == 30
    with pytest.raises(FitError, match="not fitted again alone"):
        fit.profile("a")
    with pytest.raises(FitError, match="not fitted again alone"):
        fit.bootstrap()


def test_the_fit_of_all_sets() -> None:
    joint = fit_joint(decay, XS, YS, [1, 1], **SHARED)
    assert joint.fit.names == ["a_1", "rate", "a_2", "a_3"] and joint.names == ["a", "rate"]
    assert joint.fit.chi_square == pytest.approx(joint.chi_squares.sum())
    assert joint.fit.degrees_of_freedom == SET.size - 4
    assert joint.fit.propagate("a_1/a_2").value == pytest.approx(joint["a"][0] / joint["a"][1])
    for call in (lambda: joint.fit.predict(t), joint.fit.confidence_band, joint.fit.diagnostics, lambda: joint.fit.profile("rate")):
        with pytest.raises(FitError, match="no curve of its own"):
            call()
    assert repr(joint).startswith("<JointFit of 3 sets converged: rate=0.")
    assert "chi-square by set" in str(joint) and joint.message.startswith("converged") and joint.warnings == joint.fit.warnings
    with pytest.raises(KeyError, match="there are a, rate"):
        joint["b"]
    with pytest.raises(KeyError, match="there is no set 3; the labels are 0, 1, 2"):
        joint.set(3)


@pytest.mark.parametrize("f", [decay, lambda x, a, rate: decay(x, a, rate), "a*exp(-rate*x)", on_mask])
def test_pickles(f: Any) -> None:
    joint = fit_joint(f, XS, YS, [1, 1], derived={"half": "ln(2)/rate"}, **SHARED)
    again = pickle.loads(pickle.dumps(joint))
    assert str(again) == str(joint) and again.labels == joint.labels
    np.testing.assert_array_equal(again.params, joint.params)
    np.testing.assert_array_equal(again["half"], joint["half"])
    np.testing.assert_allclose(again.set(1).predict(), joint.set(1).predict(), rtol=1e-12)
    assert again.shared["rate"] == joint.shared["rate"]
    with pytest.raises(FitError, match="not fitted again alone"):
        again.set(1).profile("a")


def test_one_set_and_many_sets() -> None:
    one = fit_joint(decay, [t], [STACK[0]], [1, 1])
    single = dualfit.fit(decay, t, STACK[0], [1, 1])
    np.testing.assert_allclose(one.set(0).params, single.params, rtol=1e-8)
    np.testing.assert_allclose(one.set(0).std_errors, single.std_errors, rtol=1e-6)
    np.testing.assert_array_equal(fit_joint([decay], [t], [STACK[0]], [1, 1]).fit.params, one.fit.params)
    rates = np.linspace(1, 2, 2000)[:, None]
    many = fit_joint(decay, t, rates * np.exp(-0.7 * t), {"rate": 1}, **SHARED)
    np.testing.assert_allclose(many["a"], rates[:, 0], rtol=1e-8)


# Events


@pytest.mark.parametrize("f", [decay, called])
def test_callbacks(f: Any) -> None:
    events: list[dict[str, Any]] = []
    fit_joint(f, XS, YS, [1, 1], callback=events.append, **SHARED)
    assert events and {event["kind"] for event in events} == {"step"}
    assert not fit_joint(f, XS, YS, [9, 9], callback=lambda event: True, **SHARED).converged
    error = LookupError("mine")

    def callback(event: dict[str, Any]) -> None:
        raise error

    with pytest.raises(LookupError) as caught:
        fit_joint(f, XS, YS, [1, 1], callback=callback, **SHARED)
    assert caught.value is error


@pytest.mark.parametrize("per_set", [False, True])
def test_exceptions_of_the_function_come_through(per_set: bool) -> None:
    left = 12

    def fails(x, a, rate):
        nonlocal left
        left -= 1
        if left < 0:
            raise ZeroDivisionError("the last straw")
        return called(x, a, rate)

    with pytest.raises(ZeroDivisionError, match="the last straw"):
        fit_joint([called, fails, called] if per_set else fails, XS, YS, [1, 1] if not per_set else {"a": 1, "rate": 1}, **({} if per_set else SHARED))


# Requests


def wall(x, a, rate):
    return a * np.exp(-rate * np.sin(x)) + np.log(x - rate)


def labelled(by: Any) -> Any:
    return fit_joint(decay, np.tile(t, 3), STACK.ravel(), [1, 1], by=by, **SHARED)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one array": (lambda: fit_joint(decay, t, STACK[0]), FitError, "give a list with one array per set, a stack of the shape"),
    "numbers": (lambda: fit_joint(decay, t, STACK[0].tolist()), FitError, "y is a list of numbers"),
    "no set": (lambda: fit_joint(decay, t, []), FitError, "there is no set of points; give at least one"),
    "two x": (lambda: fit_joint(decay, [t, t], list(STACK), **SHARED), FitError, "x is a list of 2 arrays for 3 sets"),
    "lengths": (lambda: fit_joint(decay, [t, t, t[1:]], list(STACK), [1, 1], **SHARED), ValueError, "set 3: the model and y could not"),
    "lengths, mended": (lambda: fit_joint(decay, [t, t, t[1:]], list(STACK), [1, 1], **SHARED), ValueError, "x has 39 points but y has 40"),
    "lengths of a formula": (lambda: fit_joint("a*x", [t, t, t[1:]], list(STACK)), FitError, "set 3: "),
    "sigma": (lambda: fit_joint(decay, XS, YS, [1, 1], sigma=[1, 2], **SHARED), FitError, "sigma has 2 entries for 3 sets"),
    "sigma of a stack": (lambda: fit_joint(decay, t, STACK, [1, 1], sigma=np.ones(7), **SHARED), FitError, "for a stack of the shape (3, 40)"),
    "sigma of 0": (lambda: fit_joint(decay, XS, YS, [1, 1], sigma=[0.1, 0, 0.1], **SHARED), FitError, "set 2: sigma is 0 at index 0"),
    "nan": (lambda: fit_joint(decay, XS, [YS[0], YS[1] * np.nan, YS[2]], [1, 1], **SHARED), FitError, "set 2: `y` is NaN at index 0"),
    "inf in x": (lambda: fit_joint("a*x", [t, np.where(t > 3, np.inf, t)], [t, t]), FitError, "set 2: `x` is inf at index"),
    "inf in x, mended": (lambda: fit_joint("a*x", [t, np.where(t > 3, np.inf, t)], [t, t]), FitError, "nan_policy=\"omit\""),
    "nans": (lambda: fit_joint(decay, t, STACK * np.nan, [1, 1], **SHARED), FitError, "leave_out_bad_sets=True"),
    "shared": (lambda: fit_joint(decay, XS, YS, shared="rat"), FitError, "no parameter `rat`; the model has a, rate; correct the name in shared"),
    "bounds": (lambda: fit_joint(decay, XS, YS, bounds={"a_4": (0, 1)}, **SHARED), FitError, "correct the name in bounds or fixed"),
    "ties": (lambda: fit_joint(decay, XS, YS, ties={"q": "2*a"}, **SHARED), FitError, "ties has 'q', which no model of a set has"),
    "p0": (lambda: fit_joint(decay, XS, YS, [1, 2, 3], **SHARED), FitError, "or 4 values of all parameters (a_1, rate, a_2, a_3)"),
    "p0 by name": (lambda: fit_joint(decay, XS, YS, {"q": 1}, **SHARED), FitError, "`q`"),
    "no names": (lambda: fit_joint(lambda x, *p: decay(x, *p), XS, YS), ValueError, "give names, or a start of values"),
    "two models": (lambda: fit_joint([decay, decay], XS, YS), FitError, "f is a list of 2 models for 3 sets"),
    "no models": (lambda: fit_joint([], XS, YS), FitError, "f is an empty list"),
    "models and shared": (lambda: fit_joint([decay] * 3, XS, YS, **SHARED), FitError, "leave `shared` out"),
    "the start of a set": (lambda: fit_joint(wall, [x + 1 for x in XS], YS, [1, 1], **SHARED), FitError, "at point 0 (set = 1, x = 1)"),
    "labels": (lambda: labelled(np.repeat(["u", "v"], 40)), FitError, "by has 80 label(s) and y has the shape (120,)"),
    "no label": (lambda: labelled([None] * 120), FitError, "by has no label at index 0"),
    "data alone": (lambda: fit_joint(decay, "t", "y", data={"t": t, "y": t}), FitError, "by is missing"),
    "column": (lambda: fit_joint(decay, "t", "z", data={"t": t, "y": t}, by="y"), FitError, "there is no column 'z'; the table has t, y"),
    "column of nothing": (lambda: fit_joint(decay, "t", "y", by="s"), FitError, "'t' names a column, but there is no table; give it as data="),
    "option": (lambda: fit_joint(decay, XS, YS, share="rate"), TypeError, "no option 'share'"),
    "policy": (lambda: fit_joint(decay, XS, YS, nan_policy="drop"), ValueError, "there are 'raise' and 'omit'"),
    "device": (lambda: fit_joint(decay, XS, YS, backend="cuda", **SHARED), FitError, "a joint fit"),
}


@pytest.mark.parametrize(("call", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_requests(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        message = check_refused(call, error, words)
    assert "(true)" not in message

"""Properties of recordings: columns and nodes, exceptions, and values that must not change."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from cases import GX, T
from test_operations import assert_same, program_values

from dualfit._trace import NotTraceable, record, record_columns

sp = pytest.importorskip("scipy.special")

from models_of_curves import decay, many_peaks, many_peaks_in_place  # noqa: E402
from models_of_shapes import two_rows  # noqa: E402
from models_with_choices import branch_on_x, try_and_except  # noqa: E402
from models_with_solvers import cumulated, math_of_a_parameter  # noqa: E402

# Tables of pandas.


def test_series_and_frames() -> None:
    pd = pytest.importorskip("pandas")
    series, frame = pd.Series(T, name="t"), pd.DataFrame({"t": T, "u": np.cos(T), "n": np.arange(T.size)})
    models: list[tuple[Callable[..., Any], Any]] = [
        (lambda x, a, b: a * np.exp(-b * x), series),
        (lambda x, a, b: np.exp(-x * b) * a + (x > a) * 1.0, series),
        (lambda x, a, b: x * a + x / b - x**a, series),
        (lambda x, a, b: np.where(x < a, x, b) + np.maximum(x, a) + np.floor_divide(x, b), series),
        (lambda x, a, b: x.values * a + b, series),
        (lambda x, a, b: np.log(x) * a + b, series),
        (lambda x, a, b: np.abs(a / (1.0 + 1j * x * b)), series),
        (lambda X, a, b: a * X["t"] + b * X["u"] + X.n * a, frame),
        (lambda X, a, b: a * X.iloc[:, 0] + b, frame),
        (lambda x, a, b: a * x + b, pd.Index(T)),
    ]
    for f, x in models:
        for params in ([1.5, 0.7], [0.4, 2.0]):
            expected = np.asarray(f(x, *map(np.float64, params)), float)
            assert_same(program_values(f, x, params, None), expected, 1e-12)


# Properties of recordings.


def test_a_recording() -> None:
    recording = record(decay, T, 3, T.shape)
    assert recording.nodes[:3] == [("param", (), 0.0), ("param", (), 1.0), ("param", (), 2.0)]
    assert [name for name, _, _ in recording.nodes[3:]] == ["neg", "column", "mul", "exp", "mul", "add"]
    assert recording.shape == T.shape and not recording.constant
    (column,) = recording.columns
    assert_same(column, T)


def test_equal_columns_are_one() -> None:
    recording = record(lambda x, a, b: a * x + b * x.copy() + a * np.sqrt(x * x) ** 1.0 + x * 1.0, T, 2, None)
    assert len(recording.columns) == 1
    long = np.linspace(0.0, 1.0, 50_000)
    assert len(record(lambda x, a, b: a * x + b * x + a * x[:], long, 2, None).columns) == 1


def test_a_column_of_equal_numbers_is_a_number() -> None:
    for points in (T, np.linspace(0.0, 1.0, 50_000)):
        recording = record(lambda x, a: np.zeros_like(x) + a * np.full(x.shape, 2.5), points, 1, points.shape)
        assert not recording.columns
        assert {number for name, _, number in recording.nodes if name == "const"} == {0.0, 2.5}
    one = record(lambda x, a: a * x, np.array([3.0]), 1, (1,))
    assert len(one.columns) == 1


def test_columns_are_what_arrays_were_when_they_were_used() -> None:
    def changed(x, a, b):
        w = np.array(x)
        y = a * w
        w *= 2.0
        return y + b * w

    assert_same(program_values(changed, T, [1.0, 10.0], None), 21.0 * T)
    long = np.linspace(0.0, 1.0, 50_000)
    with pytest.raises(NotTraceable, match="changed in place after it was used"):
        record(changed, long, 2, None)


def test_long_columns_are_not_copied() -> None:
    long = np.linspace(0.0, 1.0, 50_000)
    recording = record(decay, long, 3, long.shape)
    assert np.may_share_memory(recording.columns[0], long)


def test_arrays_are_left_as_they_were() -> None:
    outside = np.linspace(1.0, 2.0, T.size)
    kept = outside.copy()

    def f(x, a):
        y = outside
        y += a * x
        return y

    record(f, T, 1, None)
    assert_same(outside, kept, 0.0)
    x = T.copy()
    with pytest.raises(NotTraceable, match="x is changed in place"):
        record(lambda x, a: operator.iadd(x, a * x), x, 1, None)
    assert_same(x, T, 0.0)


def test_values_that_are_changed_after_complex_ones_were_made_of_them() -> None:
    def of_a_tracer(x, a):
        t = a * x
        z = t + 1j * x
        t += 1.0
        return z.real + t

    def of_an_array(x, a):
        w = np.array(x)
        z = 1j * (a * x) + w
        w *= 2.0
        return z.real + w

    def of_a_complex_array(x, a):
        w = np.exp(1j * x)
        z = a + w
        w *= 2.0
        return z.real + w.real

    def of_parts(x, a):
        z = a * x + 1j * x
        r = z.real
        r += 1.0
        return z.real

    for f in (of_a_tracer, of_an_array, of_a_complex_array):
        assert_same(program_values(f, T, [1.5], None), f(T, 1.5))
    with pytest.raises(NotTraceable, match="views"):
        record(of_parts, T, 1, None)


def test_shapes() -> None:
    assert record(lambda x, a: a, T, 1, None).shape == ()
    assert record(lambda x, a: a, T, 1, T.shape).shape == T.shape
    assert record(lambda x, a: a * GX, T, 1, None).shape == GX.shape
    with pytest.raises(NotTraceable, match=r"shape \(5, 6\) for points of shape \(40,\)"):
        record(lambda x, a: a * GX, T, 1, T.shape)


def test_constants() -> None:
    recording = record(lambda x, a: np.sin(x), T, 1, T.shape)
    assert recording.constant
    assert_same(recording.columns[0], np.sin(T))
    for f in (lambda x, a: 2.0, lambda x, a: np.zeros_like(a * x)):
        recording = record(f, T, 1, T.shape)
        assert recording.constant and recording.shape == T.shape


def test_refusals_say_where_and_what_to_write_instead() -> None:
    def branch(x, a):
        y = x + 1
        if a > 0:
            return a * y
        return y

    with pytest.raises(NotTraceable) as caught:
        record(branch, T, 1, None)
    text = str(caught.value)
    assert text.startswith("test_recording.py, line ") and "(`if a > 0:`)" in text and "np.where(" in text
    with pytest.raises(NotTraceable, match=r"np.exp instead of math.exp"):
        record(math_of_a_parameter, T, 2, None)
    with pytest.raises(NotTraceable, match="np.cumsum"):
        record(cumulated, T, 2, None)


def test_exceptions_of_the_function_are_the_cause() -> None:
    for error in (ValueError, ZeroDivisionError, IndexError, AttributeError, MemoryError):

        def f(x, a, error=error):
            raise error("as it is")

        with pytest.raises(NotTraceable, match="as it is") as caught:
            record(f, T, 1, None)
        assert isinstance(caught.value.__cause__, error)

    def interrupted(x, a):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(interrupted, T, 1, None)


def test_a_swallowed_refusal_is_raised() -> None:
    with pytest.raises(NotTraceable, match=r"factor = math.exp\(a\)"):
        record(try_and_except, T, 2, None)


def test_tracers_are_of_no_use_after_their_recording() -> None:
    kept: list[Any] = []
    record(lambda x, a: kept.append(a * x) or a * x, T, 1, None)
    with pytest.raises(NotTraceable, match="earlier recording"):
        kept[0] + 1.0
    with pytest.raises(NotTraceable):
        record(lambda x, a: a * x + kept[0], T, 1, None)
    with pytest.raises(NotTraceable):
        record(lambda x, a: kept[0], T, 1, None)


def test_recording_warns_of_nothing() -> None:
    def f(x, a):
        z = (1j * np.arange(5.0)) ** (a + 0.5)
        return np.where(x[:5] > a, sp.xlogy(np.zeros(5), a), np.abs(z)) + np.piecewise(
            x[:5], [x[:5] < a, x[:5] >= a], [lambda t: np.log(t - 5.0), 1.0]
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(f, T, 1, None)


def test_an_expression_for_each_value_is_given_up() -> None:
    with pytest.raises(NotTraceable):
        record(lambda x, a: np.array([a, 2 * a]) @ np.arange(200_000.0).reshape(2, -1), T, 1, None)


def test_recordings_of_columns_that_are_not_here() -> None:
    recording = record_columns(decay, 1, 3)
    assert not recording.columns
    assert sum(name == "column" for name, _, _ in recording.nodes) == 1
    recording = record_columns(two_rows, 2, 2)
    assert {number for name, _, number in recording.nodes if name == "column"} == {0.0, 1.0}
    with pytest.raises(NotTraceable):
        record_columns(branch_on_x, 1, 3)
    record_columns(many_peaks, 1, 7)


def test_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        recordings = list(pool.map(lambda _: record(many_peaks_in_place, T, 6, None).nodes, range(200)))
    assert all(nodes == recordings[0] for nodes in recordings)

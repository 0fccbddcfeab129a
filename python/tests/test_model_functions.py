"""Model functions in many styles: a recording has the same values, and functions without a recording are refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import models_of_curves  # noqa: E402, F401
import models_of_shapes  # noqa: E402, F401
import models_with_choices  # noqa: E402, F401
import models_with_solvers  # noqa: E402, F401
from cases import CASES, Case  # noqa: E402
from test_operations import assert_same, program_values  # noqa: E402

from dualfit import Model  # noqa: E402
from dualfit._trace import NotTraceable, record  # noqa: E402


def is_same(case: Case, params: list[float]) -> bool:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(case.f(case.x, *map(np.float64, params)), float)
        try:
            actual = program_values(case.f, case.x, params, expected.shape)
            # The tolerance is relative to the largest value, because terms cancel.
            assert_same(actual + np.nanmax(abs(expected)), expected + np.nanmax(abs(expected)), 1e-11)
        except AssertionError:
            return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_fate(name: str) -> None:
    case = CASES[name]
    with np.errstate(all="ignore"):
        if case.fate == "native":
            with pytest.raises(NotTraceable):
                for _ in range(2):
                    record(case.f, case.x, len(case.first), None)
            return
    assert is_same(case, case.first) == (case.fate == "traced")
    if case.fate == "traced":
        assert is_same(case, case.second)
        recording = record(case.f, case.x, len(case.first), None)
        assert not recording.constant
        for column in recording.columns:
            assert column.dtype == np.float64 and column.flags.c_contiguous
            assert column.shape == (int(np.prod(recording.shape)),)


@pytest.mark.filterwarnings("ignore")
def test_formulas() -> None:
    # A function of one x that can be written as a formula has the same values as this formula.
    written = 0
    for case in CASES.values():
        if case.fate != "traced" or not isinstance(case.x, np.ndarray) or case.x.ndim != 1:
            continue
        try:
            model = 1.0 * Model(case.f, [f"p{k}" for k in range(len(case.second))])
        except (TypeError, ValueError):
            continue
        with np.errstate(all="ignore"):
            expected = np.asarray(case.f(case.x, *map(np.float64, case.second)), float)
        actual = model.evaluate(case.x, case.second)
        expected = np.broadcast_to(expected, actual.shape)
        assert_same(actual + np.nanmax(abs(expected)), expected + np.nanmax(abs(expected)), 1e-11)
        written += 1
    assert written >= 75, written


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 120

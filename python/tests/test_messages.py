"""Messages contain the values and names of the user: x of a point, parameters, terms of Python, existing remedies."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dualfit
from dualfit import FitError, Model, curve_fit, fit, fit_batch, models

x = np.linspace(0, 4, 30)
y = 2 * np.exp(-x) + 0.1 * np.cos(9 * x)
two = np.stack([x, x[::-1]])
hole = np.where(np.arange(30) == 3, np.nan, 1.0)


def decay(x, a, k):
    return a * np.exp(-k * x)


def beside_a_wall(x, a, k):
    return a * np.exp(-k * np.sin(x)) + np.log(x - k)


def called(x, a, k):
    return a * np.exp(-float(k) * x) + np.log(x - float(k))


def of_two(x, a, k):
    return a * np.exp(-k * np.sin(x[0])) + np.log(x[1] - k)


def of_table(x, a, k):
    return a * np.exp(-k * x["dose"]) + np.log(x["time"] - k)


def table() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"dose": x, "time": x[::-1].copy()})


#: A call, and a part of its message. At point 29, the first variable is 4 and the second one 0.
POINTS: dict[str, tuple[Callable[[], Any], str]] = {
    "recorded": (lambda: fit(beside_a_wall, x + 1, y, [1, 1]), r"at point 0 \(x = 1\)"),
    "curve_fit": (lambda: curve_fit(beside_a_wall, x + 1, y, [1, 1]), r"at point 0 \(x = 1\)"),
    "called": (lambda: fit(called, x + 1, y, [1, 1]), r"at point 0 \(x = 1\)"),
    "two variables": (lambda: fit(of_two, two + 1, y, [1, 1]), r"at point 29 \(x\[0\] = 5, x\[1\] = 1\)"),
    "list of variables": (lambda: fit(of_two, [x + 1, x[::-1] + 1], y, [1, 1]), r"\(x\[0\] = 5, x\[1\] = 1\)"),
    "table": (lambda: fit(of_table, table(), y, [1, 0]), r"at point 29 \(dose = 4, time = 0\)"),
    "dictionary": (lambda: fit(of_table, {"dose": x, "time": x[::-1]}, y, [1, 0]), r"\(dose = 4, time = 0\)"),
    "other object": (lambda: fit(lambda o, a, k: beside_a_wall(o.x, a, k), SimpleNamespace(x=x), y, [1, 0]),
                     r"at point 0 for the start"),
    "formula": (lambda: fit("a*log(x - k)", x + 1, y, [1, 1]), r"at point 0 \(x = 1\)"),
    "counts": (lambda: fit(lambda x, a, k: a * np.exp(-k * np.sin(x)) - x, x, np.ones(30), [1, 1], poisson=True), r"\(x = 0\.6"),
    "nan in x": (lambda: fit(beside_a_wall, x * hole, y, [1, -1]), r"`x` is NaN at index 3"),
    "nan in the second x": (lambda: fit(of_two, [x, x[::-1] * hole], y, [1, -1]), r"`x\[1\]` is NaN at index 3"),
    "nan in a called one": (lambda: fit(called, x * hole, y, [1, -1]), r"at point 3 \(x = NaN\)"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "words"), POINTS.values(), ids=POINTS.keys())
def test_points_are_named_by_the_x_that_was_given(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(FitError, match=words) as raised:
        call()
    assert not re.search(r"\bx\d|column \d", str(raised.value)), raised.value


ones = np.ones(30)
#: Invalid requests, one of each kind.
SENSELESS: dict[str, Callable[[], Any]] = {
    "covariance and x_sigma": lambda: fit(decay, x, y, [1, 1], sigma=np.eye(30), x_sigma=0.1),
    "x_sigma alone": lambda: fit(decay, x, y, [1, 1], x_sigma=0.1),
    "x_sigma of a called one": lambda: fit(called, x, y, [1, -1], sigma=0.1, x_sigma=0.1),
    "counts with errors": lambda: fit(decay, x, np.abs(y), [1, 1], poisson=True, sigma=ones),
    "counts with errors in x": lambda: fit(decay, x, np.abs(y), [1, 1], poisson=True, sigma=0.1, x_sigma=0.1),
    "negative counts": lambda: fit(decay, x, y - 5, [1, 1], poisson=True),
    "prior without sigma": lambda: fit(decay, x, y, [1, 1], priors={"k": (1, 0.1)}),
    "few points": lambda: fit(decay, x[:1], y[:1], [1, 1]),
    "start outside": lambda: fit(decay, x, y, [1, 9], bounds={"k": (0, 2)}),
    "no start": lambda: fit(decay, x, y, search="never"),
    "fixed": lambda: fit(decay, x, y, fixed="k"),
    "covariance": lambda: fit(decay, x, y, [1, 1], sigma=-np.eye(30)),
    "nan": lambda: fit(decay, x, y * hole, [1, 1]),
    "circle": lambda: fit(decay, x, y, [1, 1], ties={"a": "k", "k": "a"}),
    "derived circle": lambda: fit(decay, x, y, [1, 1], derived={"p": "q", "q": "p"}),
    "variables": lambda: fit(Model("a*u + b*v", variables=("u", "v")), x, y, [1, 1]),
    "profile of a fixed one": lambda: fit(decay, x, y, [1, 1], fixed={"k": 1}).profile("k"),
    "new observations": lambda: fit(decay, x, y, [1, 1], sigma=ones + x, absolute_sigma=True).prediction_band(x),
    "new observations, relative": lambda: fit(decay, x, y, [1, 1], sigma=ones + x).prediction_band(x),
    "new observations, robust": lambda: fit(decay, x, y, [1, 1], loss="huber").prediction_band(x),
    "batch": lambda: fit_batch(decay, x, [y, y], [1, 1], sigma=ones, x_sigma=0.1),  # type: ignore[call-arg]
    "device": lambda: fit(called, x + 1, y, [1, -1], backend="cuda"),
    "library": lambda: getattr(models, "gausian"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", SENSELESS.values(), ids=SENSELESS.keys())
def test_messages_are_in_words_of_python(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)) as raised:
        call()
    assert not re.search(r"::|\(true\)|with_model|profile_to", str(raised.value)), raised.value


def test_a_better_minimum_is_at_hand() -> None:
    wave = fit(lambda x, a, w: a * np.sin(w * x), x, np.sin(5 * x), [1, 1.2])
    profile = wave.profile("w")
    with pytest.raises(FitError, match=r"fit again with p0=profile\.better"):
        profile.interval(0.9)
    assert profile.better is not None
    again = fit(lambda x, a, w: a * np.sin(w * x), x, np.sin(5 * x), profile.better)
    assert again.cost < 1e-12 < wave.cost
    assert again.profile("w", 0.5).better is None


def test_a_batch_names_undetermined_parameters() -> None:
    batch = fit_batch(decay, x, np.stack([y, 0 * y]), [1, 1])
    assert "do not determine `k`" in batch.status(1) and "do not determine `k`" in str(batch) + batch.status(1)
    assert isinstance(batch, dualfit.Batch)


# Remedies exist in Python

PACKAGE = Path(dualfit.__file__).parent
SOURCES = Path(__file__).parents[2] / "src"
FAILURE = Path(__file__).parents[1] / "src" / "failure.rs"
TEXT = r'"((?:[^"\\]|\\.)*)"'
#: Names in messages of the crate that Python never shows.
UNSEEN = {
    "Parts::subsample": "Python asks for no sample of a part",
}


def words_of_python() -> list[tuple[str, str]]:
    """Return the replacements of terms of the crate, in order."""
    code = FAILURE.read_text(encoding="utf-8")
    table = code[code.index("const WORDS"):code.index("];", code.index("const WORDS"))]
    pairs = re.findall(rf"\(\s*{TEXT},\s*{TEXT},?\s*\)", table)
    assert len(pairs) > 40
    return [(rust.replace('\\"', '"'), python.replace('\\"', '"')) for rust, python in pairs]


def test_names_of_the_crate_are_translated() -> None:
    words, left = words_of_python(), []
    for path in SOURCES.rglob("*.rs"):
        if {"tests", "testing", "emulated"} & set(path.parts) or path.name == "tests.rs":
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith(("//", "#[doc", "#[cfg_attr", "#[serde", "serde(")):
                continue
            for text in re.findall(TEXT, line):
                for rust, python in words:
                    text = text.replace(rust, python)
                names = re.findall(r"\b[A-Z]\w*::\w+", text)
                left += [f"{path.name}: {name} in {text!r}" for name in names if name not in UNSEEN]
    assert not left


def keywords() -> set[str]:
    """Return the names of all keyword arguments of the public functions and methods."""
    functions = [getattr(dualfit, name) for name in dualfit.__all__]
    functions += [member for owner in functions if isinstance(owner, type) for member in vars(owner).values()]
    functions += [dualfit.dask.fit, dualfit.mpi.fit] if hasattr(dualfit, "dask") and hasattr(dualfit, "mpi") else []
    known = set(dualfit.Options.__annotations__)
    for function in functions:
        if callable(function):
            try:
                known |= set(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                continue
    return known


def test_remedies_name_arguments_and_functions_that_exist() -> None:
    texts = [python for _, python in words_of_python()]
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                texts += ["".join(part.value for part in ast.walk(node.exc) if isinstance(part, ast.Constant) and isinstance(part.value, str))]
    known = keywords() | {"dtype"}
    checked = 0
    for text in texts:
        for name in re.findall(r"\b([a-z_]+[a-z])=(?=[\"\[{(TF]|\d|p0|profile)", text):
            checked += 1
            assert name in known, (name, text)
        for name in re.findall(r"\bdualfit\.(\w+)", text):
            checked += 1
            assert hasattr(dualfit, name), (name, text)
    assert checked > 20

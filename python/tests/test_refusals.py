"""Operations that cannot be recorded, for every function that accepts values that depend on parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_layouts import with_item
from test_operations import refused

REFUSED: dict[str, Callable[..., Any]] = {
    "a branch": lambda x, a: a * x if a > 0 else x,
    "a chain of comparisons": lambda x, a: np.where(0 < a * x < 1, x, a),
    "and": lambda x, a: (a > 0 and a < 1) * x,
    "float": lambda x, a: float(a) * x,
    "int": lambda x, a: int(a) * x,
    "complex": lambda x, a: abs(complex(a)) * x,
    "round to a whole number": lambda x, a: round(a) * x,
    "an index": lambda x, a: x[a],
    "a mask as an index": lambda x, a: (a * x)[a * x > 1],
    "a real array by a mask": lambda x, a: x[a * x > 1],
    "a range": lambda x, a: sum(x for _ in range(a)),
    "a key": lambda x, a: {a: x}[a],
    "membership": lambda x, a: a * x if a in [1.0, 2.0] else x,
    "an element of an array": lambda x, a: operator.setitem(x.copy(), 0, a) or x,
    "elements of an array": lambda x, a: operator.setitem(x.copy(), x > 1, a * x[x > 1]) or x,
    "np.array": lambda x, a: np.array(a * x),
    "np.array of numbers as float": lambda x, a: np.array([a, 1.0], float) * 2,
    "np.asarray": lambda x, a: np.asarray(a * x),
    "a loop over points": lambda x, a: sum(a * np.tile(x, 20)),
    "tolist": lambda x, a: (a * x).tolist(),
    "item": lambda x, a: (a * x).item(),
    "argmax": lambda x, a: x[(a * x).argmax()],
    "std": lambda x, a: x / (a * x).std(),
    "astype int": lambda x, a: (a * x).astype(int),
    "astype float32": lambda x, a: (a * x).astype(np.float32),
    "truth as float32": lambda x, a: (a * x > 1).astype(np.float32),
    "sort": lambda x, a: np.sort(a * x),
    "cumsum": lambda x, a: np.cumsum(a * x),
    "interp": lambda x, a: np.interp(a * x, x, x),
    "interp of parameters": lambda x, a: np.interp(x, [0.0, 1.0], [a, 2.0]),
    "convolve": lambda x, a: np.convolve(a * x, np.ones(3), "same"),
    "einsum": lambda x, a: np.einsum("i,i->i", a * x, x),
    "gradient": lambda x, a: np.gradient(a * x),
    "where of one argument": lambda x, a: np.where(a * x > 1),
    "allclose": lambda x, a: a * x if np.allclose(a * x, 1.0) else x,
    "linalg": lambda x, a: np.linalg.norm(a * x) * x,
    "fft": lambda x, a: np.abs(np.fft.fft(a * x)),
    "a long sum": lambda x, a: x / np.sum(a * np.tile(x, 30)),
    "sum with where": lambda x, a: np.sum(a * x, where=x > 1) * x,
    "three dimensions": lambda x, a: (a * x.reshape(1, 2, 3)) @ np.ones((3, 3)),
    "many arrays": lambda x, a: np.concatenate([a * x] * 200),
    "clip with out": lambda x, a: np.clip(a * x, 0.0, 1.0, out=x.copy()),
    "out": lambda x, a: np.exp(a * x, out=x.copy()),
    "out of two": lambda x, a: np.modf(a * x, x.copy(), x.copy())[0],
    "where": lambda x, a: np.exp(a * x, where=x > 1),
    "dtype": lambda x, a: np.add(a * x, 1.0, dtype=np.float32),
    "reduce": lambda x, a: np.add.reduce(a * x) * x,
    "accumulate": lambda x, a: np.add.accumulate(a * x),
    "outer": lambda x, a: np.multiply.outer(a * x, x),
    "nextafter": lambda x, a: np.nextafter(a * x, 1.0),
    "frexp": lambda x, a: np.frexp(a * x)[0],
    "spacing": lambda x, a: np.spacing(a * x),
    "left_shift": lambda x, a: np.left_shift(a, 2) * x,
    "a function of truths": lambda x, a: np.exp(a * x > 1),
    "minus truth": lambda x, a: -(a * x > 1) * x,
    "difference of truths": lambda x, a: ((a * x > 1) - (x > 1)) * x,
    "and of numbers": lambda x, a: (a * x) & 1,
    "not a number": lambda x, a: ~(a * x),
    "a choice by a traced mask": lambda x, a: np.select([a * x > 1], [x, x]),
    "piecewise of whole numbers": lambda x, a: np.piecewise(np.arange(6), [np.arange(6) < a], [1.0, 2.0]),
    "piecewise of another number": lambda x, a: np.piecewise(x, [x < a], [1.0, 2.0, 3.0]),
    "assignment to traced places": lambda x, a: with_item(a * x, a * x > 1, x),
    "assignment into a view": lambda x, a: operator.iadd((a * x)[1:], 1.0),
    "a string": lambda x, a: a * "x",
    "nothing": lambda x, a: a * None,
    "objects": lambda x, a: a * x * np.array([1, "a", None, 2, 3, 4], object),
    "dates": lambda x, a: a * x * np.arange(6).astype("m8[s]"),
    "shapes": lambda x, a: a * x + np.ones(5),
    "rounding with out": lambda x, a: np.round(a * x, 1, x.copy()),
    "dot of long vectors": lambda x, a: np.dot(np.tile(a * x, 30), np.ones(180)) * x,
    "unknown attribute": lambda x, a: a.no_such_thing * x,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    refused(REFUSED[name])

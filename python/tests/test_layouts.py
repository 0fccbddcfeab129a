"""Layout of traced values: indexing, shapes, joining and short sums, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_operations import agree

# x: 6 points. X: 2 × 3 points. C: a column of X. R: a row of X.

X = np.arange(6.0).reshape(2, 3) + 0.5
C, R = X[:, :1], X[:1]
TRAPEZOID = getattr(np, "trapezoid", None) or np.trapz  # by its name in NumPy 2 or 1
LAYOUTS: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, p: (x + p).reshape(2, 3).reshape(-1) * x,
    "reshape by arguments": lambda x, p: np.reshape(x + p, (3, 2)) + p,
    "ravel": lambda x, p: (p * X + x.reshape(2, 3)).ravel(),
    "flatten": lambda x, p: (x + p).reshape(2, 3).flatten(),
    "ravel in the other order": lambda x, p: np.ravel((x + p).reshape(2, 3), order="F"),
    "squeeze": lambda x, p: np.squeeze((x + p)[:, None]) * x,
    "new axes": lambda x, p: (x + p)[:, np.newaxis][:, 0] + (x + p)[None, :].squeeze(0),
    "everything": lambda x, p: (x + p)[:] + (x + p)[...],
    "column and row": lambda x, p: (C + p) * (R * p + 1.0),
    "row and column": lambda x, p: (R + p) / (C - p),
    "column alone": lambda x, p: X * (C + p),
    "row of parameters": lambda x, p: np.stack([p + 1.0, p + 2.0, p]) * C,
    "one value": lambda x, p: np.array([2.0]) * (p + 1.0) + x,
    "one value of x": lambda x, p: (x + p)[2] * x,
    "normalised to the first": lambda x, p: (x + p) / (x + p)[0],
    "slices": lambda x, p: (x + p)[1:] - (x + p)[:-1],
    "diff": lambda x, p: np.diff((x + p) ** 2),
    "diff twice": lambda x, p: np.diff(X + p, n=2, axis=1),
    "reversed": lambda x, p: (x + p)[::-1] * x,
    "flip": lambda x, p: np.flip(x + p) + x,
    "roll": lambda x, p: np.roll(x + p, 2) + x,
    "roll of a roll": lambda x, p: np.roll(np.roll(x + p, 2) * x, -1) * x,
    "mask": lambda x, p: (x + p)[x > 2],
    "indices": lambda x, p: (x + p)[[3, 3, 0]],
    "take": lambda x, p: np.take(x + p, [1, 4]) + (x + p).take([0, 5]),
    "repeat and tile": lambda x, p: np.repeat(x + p, 2) * np.tile(x + p, 2),
    "transpose": lambda x, p: (X + p).T * X.T + np.transpose(X + p) + (X + p).transpose(1, 0),
    "swapaxes": lambda x, p: (X + p).swapaxes(0, 1) + np.moveaxis(X + p, 0, 1),
    "broadcast_to": lambda x, p: np.broadcast_to(x + p, (2, 6)) * 2.0,
    "atleast": lambda x, p: np.atleast_1d(p) * x + np.atleast_1d(x + p) + np.atleast_2d(x + p)[0],
    "concatenate": lambda x, p: np.concatenate([(x + p)[:2], x[2:4], 2.0 * (x + p)[4:]]),
    "concatenate rows": lambda x, p: np.concatenate([C + p, X], axis=1),
    "hstack": lambda x, p: np.hstack([np.exp(-x - p), x * p]),
    "append": lambda x, p: np.append(x + p, x) + np.append(x, p).repeat(2)[:12],
    "stack": lambda x, p: np.stack([x, x + p, np.full(6, 2.0)]),
    "vstack": lambda x, p: np.vstack([x + p, x])[1] + np.column_stack([x, x + p])[:, 1],
    "stack of truths": lambda x, p: np.stack([x + p > 1, x > 2]).all(axis=0) * 1.0,
    "rows": lambda x, p: sum(row * k for k, row in enumerate(X + p, 1)),
    "unpacked": lambda x, p: (lambda u, v: u * v)(*(X + p)),
    "sum": lambda x, p: np.sum(C * (x + p), axis=0),
    "sum of the last axis": lambda x, p: (x[:, None] * (R + p)).sum(axis=-1),
    "sum of all": lambda x, p: x / np.sum(x + p),
    "sum and keep": lambda x, p: np.sum(X + p, axis=1, keepdims=True) * X,
    "sum of two axes": lambda x, p: ((x + p)[:, None, None] * X).sum(axis=(1, 2)),
    "mean": lambda x, p: (X + p).mean(axis=0) + np.mean(X + p),
    "product": lambda x, p: np.prod(X + p, axis=0),
    "extrema": lambda x, p: (x + p) / np.max(x + p) + np.min(x * p - x) + np.amax(X * (p + 1), axis=1).sum(),
    "dot": lambda x, p: np.dot(x[:, None] + X.ravel()[None, :4] * p, np.arange(4.0)),
    "matmul": lambda x, p: (X + p) @ X.T + X @ np.transpose(X + p),
    "vector and matrix": lambda x, p: np.arange(2.0) @ (X + p),
    "dot of a number": lambda x, p: np.dot(p + 2.0, x),
    "outer": lambda x, p: np.outer(x + p, np.arange(3.0)),
    "trapezoid": lambda x, p: TRAPEZOID(np.exp(-x[:, None] * (R + p)), R[0], axis=1),
    "assignment": lambda x, p: with_item(x + p, slice(1, 3), 2.0 * p + 7.0),
    "assignment by a mask": lambda x, p: with_item(x + p, x > 2, (x * x + p)[x > 2]),
    "assignment of an array": lambda x, p: with_item(x + p, [0, 5, 0], np.array([3.0, 4.0, 5.0])),
    "assignment by a traced mask": lambda x, p: with_item(x + p, x + p < 2.0, 0.0),
    "assignment of a row": lambda x, p: with_item(np.zeros_like(X + p), 1, x[:3] + p),
    "array of numbers": lambda x, p: np.polyval(np.array([p + 1.0, p + 2.0]), x),
    "array of numbers in parts": lambda x, p: sum(
        a * x + b for a, b in np.array([p, p + 1, p + 2, p]).reshape(2, 2)
    ),
}


def with_item(array: Any, key: Any, value: Any) -> Any:
    array[key] = value
    return array


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    x = X.ravel()
    agree(LAYOUTS[name], x)
    agree(LAYOUTS[name], x, 0.25, rtol=1e-12)

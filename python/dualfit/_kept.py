"""Saved fits of functions. A saved fit contains a program over x, which needs neither the function nor the data.

The program used for fitting is different: its inputs are columns that NumPy computed from x, so that it can be
evaluated only at the points of the data.
"""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._data import x_columns
from ._prepare import over_columns
from ._trace import NotTraceable
from ._verify import spread_places

if TYPE_CHECKING:
    from ._fit import Fit


def as_json(fit: Fit) -> str:
    """Return the fit as JSON with its program over x, or without a program if there is none over x."""
    text, prepared = fit._core.to_json(), fit._prepared
    if prepared is None or prepared.over_x or prepared.called is not None:
        return text
    found = over_x(fit)
    return found[0] if found is not None else _with_model(text, None, 1)


def state(fit: Fit) -> dict[str, Any]:
    """Return the state for pickling: with the function if it can be pickled, else with its program over x."""
    text, prepared, kept, columns = fit._core.to_json(), fit._prepared, None, []
    if prepared is not None:
        f, columns, key, is_over_x = prepared.f, prepared.columns, prepared.key, prepared.over_x
        if not _is_pickled(f):
            f, found = None, over_x(fit) if prepared.called is None else None
            if found is not None:
                (text, columns), key, is_over_x = found, None, True
        kept = f, columns, prepared.shape, key, is_over_x
    # Points are useless without a program.
    points = {**fit._points, "columns": columns} if fit._points and prepared is not None and prepared.called is None else {}
    settings = {"parameters": fit._settings.get("parameters", [])}
    return {"json": text, "kept": kept, "points": points, "settings": settings, "x": fit.x, "y": fit.y,
            "optima": fit.optima, "refusal": fit._refusal,
            "has_curve": fit._has_curve, "variables": fit._variables}


def over_x(fit: Fit) -> tuple[str, list[NDArray[Any]]] | None:
    """Return the fit as JSON with a program over the columns of x, and these columns; None if there is no program."""
    prepared, text = fit._prepared, fit._core.to_json()
    assert prepared is not None
    if prepared.f is None:
        return None
    points = int(np.prod(prepared.shape))
    try:
        columns = x_columns(fit.x)
        if any(column.size != points for column in columns):
            return None
        own = prepared.columns
        ready = over_columns(prepared.f, len(columns), fit.params, fit.names)
        if ready.key == prepared.key and len(own) == len(columns) and all(map(np.array_equal, own, columns)):
            return text, columns
        model, places = ready.model, spread_places(points)
        few, values = [column[places] for column in columns], fit._core.predict([column[places] for column in own])
        if not model.agrees(few, fit.params, values):
            return None
        # A program can be serialized only as part of a fit; therefore fit with one evaluation.
        said = {"backend": "cpu", "max_evaluations": 1, "allow_underdetermined": True}
        program = model.fit({"columns": few, "y": values}, fit.params, said).to_json()
    except (NotTraceable, KeyError, TypeError, ValueError):
        return None
    return _with_model(text, json.loads(program)["model"], len(columns)), columns


def _with_model(text: str, model: Any, variables: int) -> str:
    return json.dumps({**json.loads(text), "model": model, "variables": variables}, separators=(",", ":"), ensure_ascii=False)


def _is_pickled(f: Any) -> bool:
    try:
        pickle.dumps(f)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return f is not None

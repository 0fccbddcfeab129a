"""Preparation of model functions for fits: a function is recorded if possible, and otherwise called directly."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import sys
import threading
import warnings
from array import array
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._data import all_finite, dense, guarded, point_of, x_columns
from ._jacobian import Jacobian
from ._rows import record_rows
from ._trace import NotTraceable, Recording, record, record_columns
from ._verify import FEW, Agreed, Agrees, beside, check, check_end, check_rows, flat, numbers, sight, some_fits, spread_places

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: Message if the model of a saved fit is needed but was not saved.
KEPT = "a fit that was kept is not fitted again; make it anew, and profile that"
#: Reason for a direct call of a function that computes values from x that are not finite.
_HOLES = ("a value that it computes from x alone is not finite at some points; replace x at these points before it, as in "
          "np.where(x > 1, a*np.sqrt(np.where(x > 1, x - 1, 0)), 0)")
#: Maximum number of cached models.
_MOST_MODELS = 128


class NotTracedWarning(UserWarning):
    """The model could not be recorded and is called directly: slower, with partials by finite differences."""


class _Models:
    """Cache of prepared models, by their recordings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[Any, _core.Model] = {}

    def ready(self, key: Any, made: Callable[[], _core.Model]) -> _core.Model:
        model = self._models.get(key)
        if model is None:
            model = made()
            with self._lock:
                if len(self._models) >= _MOST_MODELS:
                    self._models.clear()
                self._models[key] = model
        return model


_MODELS, _AGREED = _Models(), Agreed()


class Called:
    """A function that is called directly, and its data sets, which the core identifies by number."""

    def __init__(self, f: Callable[..., Any], jac: Jacobian | None, precision: np.dtype[Any]) -> None:
        self.f, self.jac, self.precision = f, jac, precision
        #: Value of x, shape of the points and, if not all of them are fitted, the indices of those that are.
        self.places: list[tuple[Any, tuple[int, ...], NDArray[np.intp] | None]] = []
        #: Data set and parameters of the last call, with its values: the core often repeats a call immediately.
        self._last: tuple[int, bytes, NDArray[np.float64]] | None = None
        #: Data set and parameters at the start of a fit, with the partials there.
        self._first: tuple[int, bytes, NDArray[np.float64]] | None = None
        self.here()

    def here(self) -> None:
        """Store the thread and context of the caller: calls from other threads use the same context (`np.errstate`)."""
        self._thread, self._context = threading.get_ident(), contextvars.copy_context()

    def _made(self, function: Callable[..., Any], x: Any, p: NDArray[np.float64]) -> Any:
        x = guarded(x)
        if threading.get_ident() == self._thread:
            return function(x, *p)
        return self._context.copy().run(function, x, *p)

    def column(self, x: Any, shape: tuple[int, ...], kept: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Register the points `x`, or those with the indices `kept`, and return the column that represents them."""
        self.places.append((x, shape, kept))
        return np.full(prod(shape) if kept is None else kept.size, float(len(self.places) - 1))

    def column_of(self, column: NDArray[Any], kept: NDArray[np.intp]) -> NDArray[np.float64]:
        """Register some of the points that `column` represents, and return their column."""
        x, shape, _ = self.places[int(column[0])]
        return self.column(x, shape, kept)

    def value(self, key: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
        last, asked = self._last, p.tobytes()
        if last is not None and last[:2] == (key, asked):
            return last[2]
        x, shape, kept = self.places[key]
        values = flat(self._made(self.f, x, p), shape)
        values = values if kept is None else values[kept]
        self._last = key, asked, values
        return values

    def known(self, p: NDArray[np.float64], values: Any) -> None:
        """Store known values at the first data set."""
        self._last = 0, p.tobytes(), flat(values, self.places[0][1])

    def jacobian(self, key: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the partials at the points, shape (points, parameters)."""
        assert self.jac is not None
        first, self._first = self._first, None
        if first is not None and first[:2] == (key, p.tobytes()):
            return first[2]
        x, shape, kept = self.places[key]
        rows = self.jac.rows(self._made(self.jac, x, p), shape)
        return rows if kept is None else rows[kept]

    def first_jacobian(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the partials at the first data set, and store them for the fit."""
        values = self.jacobian(0, p)
        self._first = 0, p.tobytes(), values
        return values


class Prepared:
    """A model that is ready for fits, and the columns of its points.

    ``over_x``: the columns are the columns of x, and x was recorded together with the parameters.
    """

    __slots__ = ("f", "_model", "columns", "shape", "called", "key", "over_x")

    def __init__(self, f: Callable[..., Any] | None, model: _core.Model | None, columns: list[NDArray[Any]],
                 shape: tuple[int, ...], called: Called | None = None, key: Any = None, over_x: bool = False) -> None:
        self.f, self._model, self.columns, self.shape = f, model, columns, shape
        self.called, self.key, self.over_x = called, key, over_x

    @property
    def model(self) -> _core.Model:
        """The model to fit.

        Raises
        ------
        ValueError
            If the fit was saved and its model was not.
        """
        if self._model is None:
            raise ValueError(KEPT)
        return self._model

    def at(self, x: Any, params: NDArray[np.float64], names: list[str]) -> Prepared:
        """Prepare the function for other points `x`.

        Its program can differ from the program at the data, if the function branches on x or computes its maximum.

        Parameters
        ----------
        x : object
            Value of x for the function.
        params : array
            Parameters of the fit, at which the function has values.
        names : list of str
            Names of the parameters.
        """
        assert self.f is not None
        if self.called is not None:
            first = np.asarray(self.called.f(guarded(x), *params))
            column = self.called.column(x, first.shape if first.ndim else np.shape(x)[-1:])
            return Prepared(self.f, self._model, [column], first.shape, self.called)
        return prepared(self.f, x, params.size, None, params, names, with_holes=True)


def recording_key(recording: Recording) -> Any:
    """Return a key that is equal for recordings of the same program."""
    names, operands, numbers = zip(*recording.nodes)
    return names, operands, array("d", numbers).tobytes()


def columns_of(recording: Recording) -> list[NDArray[Any]]:
    """Return the columns of a recording; a column of zeros if there are none, to define the number of points."""
    return recording.columns or [np.zeros(prod(recording.shape))]


def prepared(f: Callable[..., Any], x: Any, params: int, shape: tuple[int, ...] | None,
             at: NDArray[np.float64], names: list[str] | None = None,
             jac: Jacobian | None = None, with_holes: bool = False) -> Prepared:
    """Prepare `f` for fits to the points `x`.

    Parameters
    ----------
    f : callable
        ``f(x, *params)``: one value per point.
    x : object
        Value of x for `f`.
    params : int
        Number of parameters of `f`.
    shape : tuple of int or None
        The shape of y; None to use the shape of the values of `f`.
    at : array
        Parameters at which `f` has values: the start.
    names : list of str, optional
        Names of the parameters.
    jac : Jacobian, optional
        The partials. If they are given, `f` is called directly.
    with_holes : bool
        If True, columns that are computed from x alone may contain points without a value. Such points cannot be
        fitted.
    """
    reason = "its partials are given"
    if jac is None:
        try:
            return recorded(f, x, params, shape, at, names, with_holes)
        except NotTraceable as error:
            reason = str(error)
    return _called(f, [x], params, shape, at, names, jac, reason)


def recorded(f: Callable[..., Any], x: Any, params: int, shape: tuple[int, ...] | None, at: NDArray[np.float64],
             names: list[str] | None = None, with_holes: bool = False) -> Prepared:
    """Prepare like `prepared`, but only functions that can be recorded.

    Raises
    ------
    NotTraceable
        If the function cannot be recorded, or differs from its recording.
    """
    ready = _ready(f, x, _dependent(record(f, x, params, shape)), at, names, with_holes)
    seen = sight(f)
    if not _AGREED.has(seen, ready.key):
        p = beside(at)
        check(f, x, ready.shape, ready.columns, lambda few, values: ready.model.agrees(few, p, values), p)
        _AGREED.add(seen, ready.key)
    return ready


def prepared_rows(f: Callable[..., Any], x: NDArray[np.float64], params: int, at: NDArray[np.float64],
                  names: list[str] | None = None) -> Prepared:
    """Prepare `f` for rows of points: each fit of a batch has its own row, and `f` receives one row at a time."""
    try:
        recording, by_point = record_rows(f, list(x), params, [x.shape[1:]] * len(x))
        ready = _ready(f, x.reshape(-1), _dependent(recording), at, names)
        fits = spread_places(len(x)) if by_point else range(len(x))
        check_rows(f, x, ready.columns, ready.model, beside(at), fits)
        return ready
    except NotTraceable as error:
        return _called(f, list(x), params, x.shape[1:], at, names, None, str(error))


def prepared_sets(f: Callable[..., Any], xs: list[Any], params: int, shapes: list[tuple[int, ...]], at: NDArray[np.float64],
                  names: list[str] | None = None) -> list[Prepared]:
    """Prepare `f` for several sets of points with their own x: one model, and the columns of each set."""
    try:
        recording, _ = record_rows(f, xs, params, shapes)
        key, model = _traced(_dependent(recording), len(columns_of(recording)), params, names)
        borders = np.cumsum([prod(shape) for shape in shapes])[:-1]
        columns = [np.split(column, borders) for column in columns_of(recording)]
        sets = [Prepared(f, model, [dense(column[k]) for column in columns], shape, key=key[0]) for k, shape in enumerate(shapes)]
        if any(_has_holes(ready.columns, x) for ready, x in zip(sets, xs)):
            raise NotTraceable(_HOLES)
        p = beside(at)
        for k in spread_places(len(xs)):
            check(f, xs[k], shapes[k], sets[k].columns, lambda few, values: model.agrees(few, p, values), p)
        return sets
    except NotTraceable as error:
        return called_sets(f, xs, params, shapes, at, names, str(error))


def called_sets(f: Callable[..., Any], xs: list[Any], params: int, shapes: list[tuple[int, ...]], at: NDArray[np.float64],
                names: list[str] | None, reason: str) -> list[Prepared]:
    """Prepare `f` to be called directly for each of several sets of points. `reason`: why it is not recorded.

    Raises
    ------
    ValueError
        If `f` does not return one value per point of a set.
    """
    for k, (x, shape) in enumerate(zip(xs, shapes), 1):
        _check_shape(x, numbers(f(guarded(x), *at)), shape, f"set {k}: ")
    first = _called(f, [xs[0]], params, shapes[0], at, names, None, reason)
    called = first.called
    assert called is not None
    others = [Prepared(f, first.model, [called.column(x, shape)], shape, called=called) for x, shape in zip(xs[1:], shapes[1:])]
    return [first, *others]


def _called(f: Callable[..., Any], xs: list[Any], params: int, shape: tuple[int, ...] | None, at: NDArray[np.float64],
            names: list[str] | None, jac: Jacobian | None, reason: str) -> Prepared:
    """Prepare `f` to be called directly, for the points of each x."""
    returned = f(guarded(xs[0]), *at)
    made = numbers(returned)
    points: tuple[int, ...] = shape or made.shape
    _check_shape(xs[0], made, points)
    if jac is None:
        warnings.warn(f"the model is called as it is, which is slower, because {reason}", NotTracedWarning,
                      _level_of_caller())
    called = Called(f, jac, np.asarray(returned).dtype)
    model = _core.Model.native(params, called.value, called.jacobian if jac is not None else None, names)
    columns: list[NDArray[Any]] = [np.concatenate([called.column(x, points) for x in xs])]
    called.known(at, made)
    return Prepared(f, model, columns, points, called=called)


#: Fits a prepared model: arguments as `_core.Model.fit`.
Work = Callable[[_core.Model, dict[str, Any], Any, dict[str, Any], Callable[[int], list[tuple[str, float]]] | None], _core.Fit]


def _check_shape(x: Any, made: NDArray[np.float64], points: tuple[int, ...], where: str = "") -> None:
    """Check that a model has one value per point. `where`: beginning of the message.

    Raises
    ------
    ValueError
        If it does not.
    """
    if made.shape == points or made.size == 1:
        return
    fault = "the model must return one value per point"
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.shape == made.shape and prod(points) != made.size:
        fault = f"x has {made.size} points but y has {prod(points)}; give arrays of one length"
        if len(points) > 1 and points[-1] == made.size:
            fault += ", or fit each row of y by dualfit.fit_batch"
    raise ValueError(f"{where}the model and y could not be broadcast together with shapes {made.shape} {points}: {fault}")


def fitted(ready: Prepared, x: Any, at: NDArray[np.float64], names: list[str] | None, points: dict[str, Any], start: Any,
           settings: dict[str, Any], work: Work = _core.Model.fit) -> tuple[Prepared, _core.Fit]:
    """Fit a model by `work`.

    The function is called directly, with partials by finite differences, in two cases: a partial has no value at the
    start although the function has one; or the function and its recording differ at the fitted parameters.
    """
    f, reason = ready.f, ""

    def own(fit: _core.Fit) -> NDArray[np.float64]:
        # Additional parameters for ties are the last ones.
        return fit.params[:len(ready.model.parameters)]

    # `place` describes a point in messages. Formulas and library models need none: the core knows their variables.
    place = None if f is None else functools.partial(point_of, x, ready.columns[0].size)
    try:
        fit = work(ready.model, points, start, settings, place)
        if ready.over_x:
            check_columns(ready, ready.columns, own(fit), fit.agrees)
        elif f is not None and ready.called is None:
            check_end(f, x, ready.shape, ready.columns, fit.agrees, own(fit))
        return ready, fit
    except _core.PartialError as error:
        if f is None or ready.called is not None:
            raise
        reason = str(error).split(";")[0]
    except NotTraceable as error:
        if ready.over_x:
            raise
        reason = str(error)
    assert f is not None
    ready = _called(f, [x], at.size, ready.shape, at, names, None, reason)
    points["columns"] = ready.columns
    return ready, work(ready.model, points, start, settings, place)


def fitted_batch(ready: Prepared, x: Any, at: NDArray[np.float64], names: list[str] | None, data: dict[str, Any],
                 start: Any, settings: dict[str, Any], covariance: bool) -> _core.BatchFit:
    """Fit a batch. The function is called directly if it differs from its recording at the parameters of some fits.

    ``x``: an array of shape (fits, points) if ``data`` has ``points_per_fit``, else the value of x for the function.
    """
    batch = _core.fit_batch(ready.model, data, start, settings, covariance)
    f, is_own = ready.f, "points_per_fit" in data
    if f is None or ready.called is not None:
        return batch
    own = len(ready.model.parameters)
    found = {int(k): batch.params_of(k)[:own] for k in some_fits(len(batch))}
    try:
        for k, p in found.items():
            if not np.isfinite(p).all():
                continue
            if is_own:
                check_rows(f, x, ready.columns, ready.model, p, [k])
            else:
                check_end(f, x, ready.shape, ready.columns, lambda few, values: ready.model.agrees(few, p, values), p, FEW)
    except NotTraceable as error:
        shape = x.shape[1:] if is_own else ready.shape
        ready = _called(f, list(x) if is_own else [x], at.size, shape, at, names, None, str(error))
        return _core.fit_batch(ready.model, {**data, "columns": ready.columns}, start, settings, covariance)
    return batch


def _has_holes(columns: list[NDArray[Any]], x: Any) -> bool:
    """Return True if a column that was computed from x is not finite at a point where x is finite."""
    if all(all_finite(column) for column in columns):
        return False
    finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    try:
        given = np.logical_and.reduce([np.isfinite(column) for column in x_columns(x)])
    except (KeyError, TypeError, ValueError):
        return True
    return bool((~finite & given).any()) if given.shape == finite.shape else True


def _dependent(recording: Recording) -> Recording:
    if recording.constant:
        raise NotTraceable("its value depends on no parameter")
    return recording


def _ready(f: Callable[..., Any], x: Any, recording: Recording, at: NDArray[np.float64],
           names: list[str] | None, with_holes: bool = False) -> Prepared:
    columns = columns_of(recording)
    if not with_holes and _has_holes(columns, x):
        raise NotTraceable(_HOLES)
    key, model = _traced(recording, len(columns), at.size, names)
    return Prepared(f, model, columns, recording.shape, key=key[0])


def _traced(recording: Recording, columns: int, params: int, names: list[str] | None) -> tuple[Any, _core.Model]:
    """Return the cached model of a recording with this number of columns, and its key."""
    key = recording_key(recording), columns, params, None if names is None else tuple(names)
    return key, _MODELS.ready(key, lambda: _core.Model.traced(columns, params, recording.nodes, names))


def parameter_names(f: Callable[..., Any]) -> tuple[list[str], list[float | None]] | None:
    """Return names and defaults of the parameters of ``f(x, a, b, ...)``; None if the signature does not name them.

    Trailing arguments with defaults that are not numbers are options of the function and keep their defaults.
    """
    try:
        signature = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in signature):
        return None
    plain = [p for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    options = [not (p.default is p.empty or _is_number(p.default)) for p in plain]
    count = options.index(True) if any(options) else len(plain)
    if not all(options[count:]):
        late = plain[count + options[count:].index(False)]
        raise ValueError(f"the parameter {late.name} stands behind {plain[count]}, which is an option; put options last")
    return [p.name for p in plain[:count]], [None if p.default is p.empty else float(p.default) for p in plain[:count]]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _level_of_caller() -> int:
    """Return the ``stacklevel`` of `warnings.warn` for the caller of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


def over_columns(f: Callable[..., Any], columns: int, at: NDArray[np.float64], names: list[str] | None) -> Prepared:
    """Prepare `f` for raw columns of x, which are recorded like the parameters: for points that are not all in memory.

    Raises
    ------
    NotTraceable
        If the function cannot be recorded in this way, or differs from its recording.
    """
    key, model = _traced(record_columns(f, columns, at.size), columns, at.size, names)
    ready = Prepared(f, model, [], (), key=key[0], over_x=True)
    check_columns(ready, columns, beside(at))
    return ready


def check_columns(ready: Prepared, columns: int | list[NDArray[Any]], params: NDArray[np.float64],
                  agrees: Agrees | None = None) -> None:
    """Compare a recording over raw columns of x with the function.

    They are compared at the given columns, or at a few artificial points if only the number of columns is given.

    Raises
    ------
    NotTraceable
        If they differ.
    """
    if ready.f is None:
        return
    if isinstance(columns, int):
        columns = [np.linspace(0.3, 1.7, 8) * (1.0 + 0.1 * k) for k in range(columns)]
    x = columns[0] if len(columns) == 1 else tuple(columns)
    agrees = agrees or (lambda few, values: ready.model.agrees(few, params, values))
    check_end(ready.f, x, columns[0].shape, columns, agrees, params)

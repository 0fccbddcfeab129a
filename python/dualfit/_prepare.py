"""From a model function to a model that is ready for fits: recorded where that is possible, called as it is elsewhere."""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._data import all_finite, joined_points, point_of, x_columns
from ._trace import NotTraceable, Recording, record, record_columns

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: Points at which a recording is held against the function itself.
_CHECKED_POINTS = 8
#: Relative difference that rounding may make between the function and its recording. Terms that cancel
#: leave more of it than single operations do.
_TOLERANCE = 1e-6
#: What is said where a fit that was kept has no model any more.
KEPT = "a fit that was kept is not fitted again; make it anew, and profile that"
#: Recordings that are kept ready.
_MOST_MODELS = 128


class NotTracedWarning(UserWarning):
    """The model could not be recorded and is called as it is: slower, with partials by differences."""


class _Models:
    """Models that are ready, by their recordings, and the functions that were found to agree with them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[Any, _core.Model] = {}
        self._checked: set[Any] = set()

    def ready(self, key: Any, made: Callable[[], _core.Model]) -> _core.Model:
        model = self._models.get(key)
        if model is None:
            model = made()
            with self._lock:
                if len(self._models) >= _MOST_MODELS:
                    self._models.clear()
                    self._checked.clear()
                self._models[key] = model
        return model

    def agrees(self, key: Any) -> bool:
        return key in self._checked

    def found_to_agree(self, key: Any) -> None:
        with self._lock:
            self._checked.add(key)


_MODELS = _Models()


class Called:
    """A function at all points of a data set, or of several, which the core names by numbers."""

    def __init__(self, f: Callable[..., Any], jac: Callable[..., Any] | None, params: int) -> None:
        self.f, self.jac, self.params = f, jac, params
        self.places: list[tuple[Any, tuple[int, ...]]] = []
        #: What was asked last, and the answer: the same parameters are often asked for twice in turn.
        self._last: tuple[int, bytes, NDArray[np.float64]] | None = None
        self.here()

    def here(self) -> None:
        """Remembers who asks: batches and profiles call from other threads, where `np.errstate` and the like hold, too."""
        self._thread, self._context = threading.get_ident(), contextvars.copy_context()

    def _made(self, function: Callable[..., Any], x: Any, p: NDArray[np.float64]) -> Any:
        if threading.get_ident() == self._thread:
            return function(x, *p)
        return self._context.copy().run(function, x, *p)

    def column(self, x: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The column that stands for the points `x`."""
        self.places.append((x, shape))
        return np.full(int(np.prod(shape)), float(len(self.places) - 1))

    def value(self, key: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
        last, asked = self._last, p.tobytes()
        if last is not None and last[:2] == (key, asked):
            return last[2]
        x, shape = self.places[key]
        values = flat(self._made(self.f, x, p), shape)
        self._last = key, asked, values
        return values

    def known(self, p: NDArray[np.float64], values: Any) -> None:
        """The values at the first points, which somebody has found already."""
        self._last = 0, p.tobytes(), flat(values, self.places[0][1])

    def jacobian(self, key: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self.jac is not None
        x, shape = self.places[key]
        points = int(np.prod(shape))
        return np.ascontiguousarray(np.asarray(self._made(self.jac, x, p), dtype=np.float64).reshape(points, self.params))


def numbers(values: Any) -> NDArray[np.float64]:
    """What a model returned, as doubles.

    Raises
    ------
    TypeError
        For None and for complex numbers.
    """
    if values is None:
        raise TypeError("the model returned None; it must return one number per point")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise TypeError("the model returned complex numbers; return np.abs(z), or np.concatenate([z.real, z.imag]) with y "
                        "likewise")
    return np.asarray(array, dtype=np.float64)


def flat(values: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Values of a model, one per point."""
    array = numbers(values)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array).reshape(-1)


class Prepared:
    """A model that is ready, and the columns of its points.

    ``over_x``: the columns are those of x itself, and x was recorded with the parameters.
    """

    __slots__ = ("f", "_model", "columns", "shape", "called", "key", "over_x")

    def __init__(self, f: Callable[..., Any] | None, model: _core.Model | None, columns: list[NDArray[Any]],
                 shape: tuple[int, ...], called: Called | None = None, key: Any = None, over_x: bool = False) -> None:
        self.f, self._model, self.columns, self.shape = f, model, columns, shape
        self.called, self.key, self.over_x = called, key, over_x

    @property
    def model(self) -> _core.Model:
        """What is fitted.

        Raises
        ------
        ValueError
            For what is left of a fit that was kept.
        """
        if self._model is None:
            raise ValueError(KEPT)
        return self._model

    def columns_at(self, x: Any, params: NDArray[np.float64], data_x: Any) -> list[NDArray[Any]] | None:
        """The columns of other points than those of the data, or None where the function there is another program.

        ``params``: those of the fit, at which the function has values.
        """
        if self.called is not None:
            first = np.asarray(self.called.f(x, *params))
            return [self.called.column(x, first.shape if first.ndim else np.shape(x)[-1:])]
        if self.over_x or self.key is None:
            return x_columns(x)
        found = self._columns_of(x, params.size)
        if found is None and len(self.shape) == 1:
            # What is constant, or the same, at these few points is no column; beside the data's points it is.
            both = joined_points(data_x, x)
            found = None if both is None else self._columns_of(both, params.size)
            found = None if found is None else [column[self.shape[0]:] for column in found]
        return found

    def _columns_of(self, x: Any, params: int) -> list[NDArray[Any]] | None:
        assert self.f is not None
        try:
            recording = record(self.f, x, params, None)
        except NotTraceable:
            return None
        return columns_of(recording) if recording_key(recording) == self.key else None


def recording_key(recording: Recording) -> Any:
    """What two recordings of one program have in common."""
    numbers = np.array([node[2] for node in recording.nodes])
    return tuple((node[0], node[1]) for node in recording.nodes), numbers.tobytes(), len(recording.columns)


def columns_of(recording: Recording) -> list[NDArray[Any]]:
    """The columns of a recording; one of zeros where the model depends on none, so that its points are counted."""
    points = int(np.prod(recording.shape))
    return recording.columns or [np.zeros(points)]


def prepared(f: Callable[..., Any], x: Any, params: int, shape: tuple[int, ...] | None,
             at: NDArray[np.float64], names: list[str] | None = None,
             jac: Callable[..., Any] | None = None) -> Prepared:
    """`f` over the points `x`, ready for fits.

    Parameters
    ----------
    f : callable
        ``f(x, *params)``: one value per point.
    x : object
        What `f` gets for x.
    params : int
        Parameters of `f`.
    shape : tuple of int or None
        The shape of y; None where the shape of the model decides.
    at : array
        Parameters at which `f` has values: those of the start.
    names : list of str, optional
        Names of the parameters.
    jac : callable, optional
        ``jac(x, *params)``, rows of partials per point, for an `f` that cannot be recorded.
    """
    reason = "its partials are given"
    if jac is None:
        try:
            recording = record(f, x, params, shape)
            if recording.constant:
                raise NotTraceable("its value depends on no parameter")
            return _recorded(f, x, recording, at, names)
        except NotTraceable as error:
            reason = str(error)
    return _called(f, [x], params, shape, at, names, jac, reason)


def prepared_rows(f: Callable[..., Any], x: NDArray[np.float64], params: int, at: NDArray[np.float64],
                  names: list[str] | None = None) -> Prepared:
    """`f` over rows of points: each fit of a batch has its own, and `f` sees no others."""
    try:
        recording = record(f, x.reshape(-1), params, (x.size,))
        if recording.constant:
            raise NotTraceable("its value depends on no parameter")
        ready = _recorded(f, x.reshape(-1), recording, at, names)
        columns = [column.reshape(x.shape) for column in ready.columns]
        for k in few_places(len(x)):
            expected = ready.model.evaluate([np.ascontiguousarray(column[k]) for column in columns], at)
            if not is_close(flat(f(x[k], *at), x[k].shape), expected):
                raise NotTraceable("it takes a maximum, a mean, ... of its points, and each fit has its own")
        return ready
    except NotTraceable as error:
        return _called(f, list(x), params, x.shape[1:], at, names, None, str(error))


def _called(f: Callable[..., Any], xs: list[Any], params: int, shape: tuple[int, ...] | None, at: NDArray[np.float64],
            names: list[str] | None, jac: Callable[..., Any] | None, reason: str) -> Prepared:
    """`f`, called as it is, over the points of each x."""
    made = numbers(f(xs[0], *at))
    points: tuple[int, ...] = shape or made.shape
    if made.shape != points and made.size != 1:
        raise ValueError(f"the model and y could not be broadcast together with shapes {made.shape} {points}: the model must "
                         f"return one number per point")
    if jac is None:
        warnings.warn(f"the model is called as it is, which is slower, because {reason}", NotTracedWarning,
                      _level_of_caller())
    called = Called(f, jac, params)
    model = _core.Model.native(params, called.value, called.jacobian if jac is not None else None, names)
    columns: list[NDArray[Any]] = [np.concatenate([called.column(x, points) for x in xs])]
    called.known(at, made)
    return Prepared(f, model, columns, points, called=called)


def fitted(ready: Prepared, x: Any, at: NDArray[np.float64], names: list[str] | None, points: dict[str, Any], start: Any,
           settings: dict[str, Any]) -> tuple[Prepared, _core.Fit]:
    """The fit of a model; of the function as it is, by differences, where it has a value at the start and a partial has none."""
    # Formulas and models of the library know the names of their variables.
    place = None if ready.f is None else functools.partial(point_of, x, ready.columns[0].size)
    try:
        return ready, ready.model.fit(points, start, settings, place)
    except _core.PartialError as error:
        if ready.f is None or ready.called is not None:
            raise
        ready = _called(ready.f, [x], at.size, ready.shape, at, names, None, str(error).split(";")[0])
        points["columns"] = ready.columns
        return ready, ready.model.fit(points, start, settings, place)


def _has_holes(columns: list[NDArray[Any]], x: Any) -> bool:
    """Whether a column that was computed from x is not finite where x is."""
    if all(all_finite(column) for column in columns):
        return False
    finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    try:
        given = np.logical_and.reduce([np.isfinite(column) for column in x_columns(x)])
    except (KeyError, TypeError, ValueError):
        return True
    return bool((~finite & given).any()) if given.shape == finite.shape else True


def _recorded(f: Callable[..., Any], x: Any, recording: Recording, at: NDArray[np.float64],
              names: list[str] | None) -> Prepared:
    columns = columns_of(recording)
    if _has_holes(columns, x):
        raise NotTraceable("something that it computes from x alone is not finite at some points; give what is computed "
                           "there another x, as in np.where(x > 1, a*np.sqrt(np.where(x > 1, x - 1, 0)), 0)")
    key, model = _traced(recording, len(columns), at.size, names)
    known = (getattr(f, "__code__", None), key)
    if known[0] is None or not _MODELS.agrees(known):
        _check(f, x, recording, columns, model, at)
        _MODELS.found_to_agree(known)
    return Prepared(f, model, columns, recording.shape, key=key[0])


def _traced(recording: Recording, columns: int, params: int, names: list[str] | None) -> tuple[Any, _core.Model]:
    """The ready model of a recording over so many columns, and what it is known by."""
    key = recording_key(recording), columns, params, None if names is None else tuple(names)
    return key, _MODELS.ready(key, lambda: _core.Model.traced(columns, params, recording.nodes, names))


def few_places(points: int) -> NDArray[np.intp]:
    """A few of the points, from the first to the last."""
    return np.unique(np.linspace(0, points - 1, min(points, _CHECKED_POINTS)).astype(np.intp))


def _check(f: Callable[..., Any], x: Any, recording: Recording, columns: list[NDArray[Any]],
           model: _core.Model, at: NDArray[np.float64]) -> None:
    """Holds a recording against the function itself, at a few points of its x and away from special parameters.

    A function whose values belong to all points together (it divides by a maximum, it integrates) is called for all
    of them.

    Raises
    ------
    NotTraceable
        Where they differ: the function has state or randomness, or does what a recording cannot show.
    """
    p = at * (1.0 + 1e-3 * np.arange(1, at.size + 1)) if at.all() else at + 1e-3
    places = few_places(columns[0].size)
    expected = model.evaluate([np.ascontiguousarray(column[places]) for column in columns], p)
    few = isinstance(x, np.ndarray) and len(recording.shape) == 1 and x.shape[-1:] == recording.shape
    with np.errstate(all="ignore"):
        if few:
            try:
                if is_close(numbers(f(x[..., places], *p)), expected):
                    return
            except (KeyboardInterrupt, SystemExit):
                raise
            except Exception:  # It may need all points; what is wrong with it shows below.
                pass
        if is_close(flat(f(x, *p), recording.shape)[places], expected):
            return
    raise NotTraceable("its values differ from what was recorded of it: it has state, randomness, or changes arrays "
                       "in ways that cannot be recorded; compute what is random once, outside the function")


def is_close(values: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Whether they are the same to rounding."""
    values = np.broadcast_to(values, expected.shape) if values.shape != expected.shape else values
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    if same.all():
        return True
    finite = np.abs(expected[np.isfinite(expected)])
    size = finite.max() if finite.size else 0.0
    return bool((same | (np.abs(values - expected) <= _TOLERANCE * size)).all())


def parameter_names(f: Callable[..., Any]) -> tuple[list[str], list[float | None]] | None:
    """Names of the parameters of ``f(x, a, b, ...)`` and their defaults, or None where its signature does not say.

    Arguments behind them whose defaults are no numbers are options of the function, and stay as they are.
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
    """How many calls above that of `warnings.warn` the caller of this package is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


def over_columns(f: Callable[..., Any], columns: int, params: int, names: list[str] | None) -> Prepared:
    """`f` over raw columns of x, which are recorded as the parameters are: for points that are not all here."""
    _, model = _traced(record_columns(f, columns, params), columns, params, names)
    return Prepared(f, model, [], (), over_x=True)

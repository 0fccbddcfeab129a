"""Distributed fits: points on several processes or machines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._data import check_policy, meant, one_sigma, real, relative_unit, samples, start_of, x_columns
from ._fit import Fit
from ._model import Model, model_of
from ._prepare import check_columns
from ._progress import shown
from ._settings import Options, begin, told
from ._stream import Path, files_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Points per group. Every part begins at a multiple of it. Therefore the bits of the result do not depend on the
#: division into parts.
GROUP: int = _core.GROUP


class Part:
    """Part of the points of a distributed fit. It replies to requests of the leader and keeps no state of the fit.

    Parameters
    ----------
    f : callable, str or Model
        The model, the same as at the leader.
    x, y : array_like
        The points of this part; alternatively `paths` of files.
    first : int
        Number of the first point of this part among all points, a multiple of `GROUP`.
    p0 : array_like, optional
        The starting point; required for ``f(x, *p)``, because its length is the number of parameters.
    paths, columns
        Files and columns as in `fit_stream`; `columns` is ``dict(x=..., y=..., sigma=...)``.
    sigma, absolute_sigma, nan_policy
        As for `fit`.
    **options
        Options of parameters and of the loss, the same as at the leader.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.linspace(0, 4, 2000)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5
    >>> f = lambda x, a, b, c: a * np.exp(-b * x) + c
    >>> part = dualfit.Part(f, x, y)
    >>> dualfit.fit_parts(f, part.answer, [1, 1, 0]).params.round(6)
    array([2.5, 1.3, 0.5])
    """

    def __init__(self, f: Callable[..., Any] | str | Model, x: Any = None, y: Any = None, first: int = 0, *, p0: Any = None,
                 paths: Path | list[Path] | None = None, columns: dict[str, Any] | None = None, sigma: Any = None,
                 absolute_sigma: bool = False, nan_policy: str = "raise", **options: Unpack[Options]) -> None:
        model, p0 = model_of(f), start_of(p0)
        if first < 0 or first % GROUP:
            raise _core.FitError(f"first is {first}; parts begin at multiples of {GROUP}, as dualfit.Part.share divides them")
        check_policy(nan_policy)
        self.first = first
        self._files: dict[str, Any] | None = None
        if paths is not None:
            roles = {"x": None, "y": None, "sigma": sigma, **(columns or {})}
            self._files, count = files_of(paths, roles["x"], roles["y"], roles["sigma"], absolute_sigma, nan_policy)
        elif x is None or y is None:
            raise ValueError("give x and y, or paths of files that have them")
        else:
            given = x_columns(x, model._variables)
            sigma = meant(sigma, absolute_sigma)
            self._points: dict[str, Any] = {"columns": given, "y": samples(y), "omit": nan_policy == "omit"}
            if sigma is not None:
                self._points["sigma"] = real(sigma) if hasattr(sigma, "__len__") else one_sigma(sigma)
                self._points["absolute"] = absolute_sigma
            count = len(given)
        self._over = model, count, p0
        self._model = self._ready()
        self._settings = told(self._model.parameters, options)
        is_column = paths is not None and isinstance(sigma, (str, Integral))
        if self._settings.get("loss") and not is_column and relative_unit(sigma, absolute_sigma) != 1.0:
            raise _core.FitError("one relative sigma for all points is a unit of loss_scale that other parts do not know; leave "
                                 f"it out and multiply loss_scale by {sigma:g}, or give absolute_sigma=True")

    def _ready(self) -> _core.Model:
        model, count, p0 = self._over
        return model.over_columns(count, p0).model

    @property
    def variables(self) -> int:
        """Number of columns of x."""
        return self._over[1]

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the program, which is recorded again after unpickling."""
        return {name: value for name, value in vars(self).items() if name != "_model"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self._files is None:
            points = self._points
            points["y"], points["columns"] = samples(points["y"]), [samples(column) for column in points["columns"]]
            if points.get("sigma") is not None and np.ndim(points["sigma"]):
                points["sigma"] = real(points["sigma"])
        self._model = self._ready()

    def answer(self, question: bytes) -> bytes:
        """Compute the reply of these points to a request; empty if there are no points."""
        if self._files is not None:
            return _core.answer_stream(self._model, self._files, self.first, question, self._settings)
        if not self._points["y"].size:
            return b""
        return _core.answer(self._model, self._points, self.first, question, self._settings)

    @staticmethod
    def share(points: int, parts: int) -> list[tuple[int, int]]:
        """Divide points into parts of whole groups, as evenly as possible: (begin, end) of each part.

        Examples
        --------
        >>> Part.share(5 * GROUP + 1, 2) == [(0, 3 * GROUP), (3 * GROUP, 5 * GROUP + 1)]
        True
        """
        if points < 0 or parts < 1:
            raise ValueError(f"{points} points cannot be divided into {parts} parts")
        groups = -(-points // GROUP)
        ends = [min(groups * k // parts * GROUP, points) for k in range(parts + 1)]
        return list(zip(ends[:-1], ends[1:]))


def options_of_parts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Select the leader's options that its parts need; only the leader shows progress and calls the callback."""
    return {name: value for name, value in options.items() if name not in ("progress", "callback")}


def merge(answers: Iterable[bytes]) -> bytes:
    """Merge the replies of parts, in the order of their points. Replies of parts without points are left out."""
    given = [answer for answer in answers if answer]
    if not given:
        raise ValueError("no part has points")
    return functools.reduce(_core.merge, given)


def fit_parts(f: Callable[..., Any] | str | Model, ask: Callable[[bytes], bytes], p0: Any = None, *, variables: int = 1,
              checkpoint: Path | None = None, **options: Unpack[Options]) -> Fit:
    """Fit points that are distributed over parts.

    The result has the same bits for any division of the points. It agrees with `fit_stream` only to rounding, because
    the two functions improve the start with different subsamples.

    Parameters
    ----------
    f : callable, str or Model
        The model, the same as in the parts.
    ask : callable
        Sends a request to every `Part` and returns their replies, merged by `merge` in the order of the points.
    p0 : array_like or mapping of str to float, optional
        As for `fit`.
    variables : int
        Number of columns of x of the parts.
    checkpoint : path, optional
        A file from which an interrupted fit resumes, as in `fit_stream`.
    **options
        See `Options`.

    Returns
    -------
    Fit

    See Also
    --------
    dualfit.dask.fit : over the workers of a Dask cluster.
    dualfit.mpi.fit : over the ranks of an MPI job.
    """
    model, p0 = model_of(f), start_of(p0)
    ready = model.over_columns(variables, p0)
    names = ready.model.parameters
    path = None if checkpoint is None else str(checkpoint)
    settings = told(names, options)
    with shown(settings):
        core = _core.fit_parts(ready.model, ask, begin(p0, names, model._defaults, options), settings, path)
    check_columns(ready, variables, core.params)
    return Fit(core, ready, variables=model._variables)

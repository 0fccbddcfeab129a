"""Distributed fits on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._fit import Fit
from ._model import Model
from ._parts import Part, fit_parts, merge, options_of_parts
from ._settings import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack


def fit(client: Any, f: Callable[..., Any] | str | Model, parts: list[Any], p0: Any = None, *, variables: int = 1,
        part_options: dict[str, Any] | None = None, **options: Unpack[Options]) -> Fit:
    """Fit points that the workers of a cluster hold; only sums and a sample of the points are transferred.

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster's client.
    f : callable, str or Model
        The model.
    parts : list of futures
        Futures of tuples ``(x, y, first)`` or ``(x, y, first, sigma)`` in the order of the points, for example from
        ``client.map`` of a loading function. ``first`` is the number of the first point, a multiple of `dualfit.GROUP`;
        see `dualfit.Part.share`.
    p0 : array_like or mapping, optional
        As for `dualfit.fit`.
    variables : int
        Number of columns of x.
    part_options : dict, optional
        Options of the points: ``absolute_sigma``, ``nan_policy``.
    **options
        See `dualfit.Options`.

    Returns
    -------
    Fit
        The result, with the same bits for any division of the points.
    """
    said = options_of_parts(options)
    said.update(part_options or {})
    held = client.map(_part, parts, f=f, p0=p0, said=said, pure=False)

    def ask(question: bytes) -> bytes:
        return merge(client.gather(client.map(_answer, held, question=question, pure=False)))

    return fit_parts(f, ask, p0, variables=variables, **options)


def _part(points: Any, f: Any, p0: Any, said: dict[str, Any]) -> Part:
    x, y, first, *sigma = points
    return Part(f, x, y, first, p0=p0, sigma=sigma[0] if sigma else None, **said)


def _answer(part: Part, question: bytes) -> bytes:
    return part.answer(question)

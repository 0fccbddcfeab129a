"""Fits over the ranks of an MPI job, with mpi4py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._core import FitError
from ._fit import Fit
from ._model import Model
from ._parts import Part, fit_parts, merge, options_of_parts
from ._settings import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack


def fit(comm: Any, f: Callable[..., Any] | str | Model, x: Any, y: Any, first: int, p0: Any = None, *, sigma: Any = None,
        absolute_sigma: bool = False, nan_policy: str = "raise", **options: Unpack[Options]) -> Fit | None:
    """Fit points that the ranks of a communicator hold; every rank calls it.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; its ranks hold the points in their order.
    f : callable, str or Model
        The model, the same on every rank.
    x, y, sigma : array_like
        The points of this rank, which may be none.
    first : int
        The number of the first of them among all points, a multiple of `dualfit.GROUP`; `dualfit.Part.share` divides.
    p0, absolute_sigma, nan_policy, **options
        As for `dualfit.fit`, the same on every rank.

    Returns
    -------
    Fit or None
        On rank 0 the fit, with the same bits for any number of ranks; None on the others.

    Raises
    ------
    FitError
        On rank 0, while the other ranks return; on every rank where the part of one makes no sense.
    """
    said = options_of_parts(options)

    def made() -> Part | Exception:
        try:
            return Part(f, x, y, first, p0=p0, sigma=sigma, absolute_sigma=absolute_sigma, nan_policy=nan_policy, **said)
        except Exception as error:
            return error

    part = _on_all_ranks(comm, made())

    def merged(question: bytes) -> bytes:
        """The answers of all ranks from this one on, as far as it collects them: a tree, whose root is rank 0."""
        answer, step = part.answer(question), 1
        while step < comm.size:
            if comm.rank % (2 * step):
                comm.send(answer, comm.rank - step)
                break
            if comm.rank + step < comm.size:
                given = [part for part in (answer, comm.recv(source=comm.rank + step)) if part]
                answer = merge(given) if given else b""
            step *= 2
        return answer

    if comm.rank:
        while (question := comm.bcast(None)) is not None:
            merged(question)
        return None
    try:
        return fit_parts(f, lambda question: merged(comm.bcast(question)), p0, variables=part.variables, **options)
    finally:
        comm.bcast(None)


def _on_all_ranks(comm: Any, part: Part | Exception) -> Part:
    """The part of this rank if every rank has one. Otherwise all raise, so that none waits for the others."""
    problem = f"rank {comm.rank}: {part}" if isinstance(part, Exception) else None
    said = [text for text in comm.allgather(problem) if text is not None]
    if isinstance(part, Exception):
        raise part
    if said:
        raise FitError(said[0])
    return part

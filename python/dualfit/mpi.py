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
        On every rank, with the same text, if the points or the model of one rank make no sense. What is raised on one
        rank and is no `FitError`, such as an exception of a callback, is raised there, and on the others as a `FitError`.
    """
    said = options_of_parts(options)

    def made() -> Part | Exception:
        try:
            return Part(f, x, y, first, p0=p0, sigma=sigma, absolute_sigma=absolute_sigma, nan_policy=nan_policy, **said)
        except Exception as error:
            return error

    part = _on_all_ranks(comm, made())

    def merged(question: bytes) -> bytes | FitError:
        """The answers of this rank and of those whose answers it collects, in a tree whose root is rank 0."""
        answer, step = _answer(part, question), 1
        while step < comm.size:
            if comm.rank % (2 * step):
                comm.send(answer, comm.rank - step)
                break
            if comm.rank + step < comm.size:
                answer = _both(answer, comm.recv(source=comm.rank + step))
            step *= 2
        return answer

    def ask(question: bytes) -> bytes:
        answer = merged(comm.bcast(question))
        if isinstance(answer, FitError):
            raise answer
        return answer

    if comm.rank:
        # Rank 0 sends questions, then None or its error.
        while isinstance(message := comm.bcast(None), bytes):
            merged(message)
        if message is not None:
            raise message
        return None
    failure = None
    try:
        return fit_parts(f, ask, p0, variables=part.variables, **options)
    except BaseException as error:
        failure = _for_others(error)
        raise
    finally:
        comm.bcast(failure)


def _answer(part: Part, question: bytes) -> bytes | FitError:
    """The answer of a part, or the error that takes its place on the way to rank 0."""
    try:
        return part.answer(question)
    except Exception as error:
        return _for_others(error)


def _both(left: bytes | FitError, right: bytes | FitError) -> bytes | FitError:
    """The merged answers of two ranks, of which either may have no points; or the first error."""
    if isinstance(left, FitError):
        return left
    if isinstance(right, FitError):
        return right
    if not (left and right):
        return left or right
    try:
        return merge([left, right])
    except FitError as error:
        return error


def _for_others(error: BaseException) -> FitError:
    """An error as other ranks raise it: of a type that every rank can read."""
    text = str(error) if isinstance(error, FitError) else f"{type(error).__name__}: {error}"
    return FitError(text)


def _on_all_ranks(comm: Any, part: Part | Exception) -> Part:
    """The part of this rank if every rank has one. Otherwise all raise, so that none waits for the others."""
    problem = f"rank {comm.rank}: {part}" if isinstance(part, Exception) else None
    said = [text for text in comm.allgather(problem) if text is not None]
    if isinstance(part, Exception):
        raise part
    if said:
        raise FitError(said[0])
    return part

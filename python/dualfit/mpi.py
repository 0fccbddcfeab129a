"""Distributed fits on the ranks of an MPI job, with mpi4py."""

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
    """Fit points that the ranks of a communicator hold. Every rank must call this function.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; the points are in the order of the ranks.
    f : callable, str or Model
        The model, the same on every rank.
    x, y, sigma : array_like
        The points of this rank; they can be empty.
    first : int
        Number of the first point of this rank among all points, a multiple of `dualfit.GROUP`; see
        `dualfit.Part.share`.
    p0, absolute_sigma, nan_policy, **options
        As for `dualfit.fit`, the same on every rank.

    Returns
    -------
    Fit or None
        The fit on rank 0, with the same bits for any number of ranks; None on the others.

    Raises
    ------
    FitError
        On every rank, with the same text, if the points or the model of one rank are invalid. Another exception on one
        rank, for example of a callback, is raised on this rank, and as a `FitError` on the others.
    """
    said = options_of_parts(options)

    def made() -> Part | Exception:
        try:
            return Part(f, x, y, first, p0=p0, sigma=sigma, absolute_sigma=absolute_sigma, nan_policy=nan_policy, **said)
        except Exception as error:
            return error

    part = _on_all_ranks(comm, made())

    def merged(question: bytes) -> bytes | FitError:
        """Merge the replies of this rank and of the ranks below it in a binary tree with rank 0 as root."""
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
        # Rank 0 sends requests, then None or its error.
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
    """Return the reply of a part, or the error to send to rank 0."""
    try:
        return part.answer(question)
    except Exception as error:
        return _for_others(error)


def _both(left: bytes | FitError, right: bytes | FitError) -> bytes | FitError:
    """Merge the replies of two ranks (empty for ranks without points), or return the first error."""
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
    """Convert an error to a type that every rank can unpickle."""
    text = str(error) if isinstance(error, FitError) else f"{type(error).__name__}: {error}"
    return FitError(text)


def _on_all_ranks(comm: Any, part: Part | Exception) -> Part:
    """Return the part of this rank if all ranks have created theirs. Otherwise all raise, so that no rank waits."""
    problem = f"rank {comm.rank}: {part}" if isinstance(part, Exception) else None
    said = [text for text in comm.allgather(problem) if text is not None]
    if isinstance(part, Exception):
        raise part
    if said:
        raise FitError(said[0])
    return part

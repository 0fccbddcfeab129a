"""Fits of points in files, which can be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._data import check_policy, meant, one_sigma, relative_unit, samples, start_of
from ._fit import Fit
from ._model import Model, model_of
from ._prepare import check_columns
from ._progress import shown
from ._settings import Options, begin, told

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = str | os.PathLike[str]
#: A function that begins a pass: it returns an iterable of chunks, each the columns of x, then y, then sigma.
Chunks = Callable[[], Iterable[Sequence[Any]]]


def files_of(paths: Path | Sequence[Path] | None, x: Any, y: Any, sigma: Any, absolute_sigma: bool, nan_policy: str,
             chunks: Chunks | None = None, **reading: Any) -> tuple[dict[str, Any], int]:
    """Describe files or chunks for the core, and return the number of columns of x."""
    check_policy(nan_policy)
    if (paths is None) == (chunks is None):
        raise ValueError("give files, or a function that gives chunks")
    if (x is None) != (y is None):
        raise ValueError("name the columns of x and that of y, or neither of them")
    if chunks is not None and not callable(chunks):
        raise TypeError(f"chunks is a {type(chunks).__name__}, but points are read several times; give a function that returns "
                        "a new iterator")
    variables = [x] if isinstance(x, (str, Integral)) else list(x) if x is not None else []
    sigma = meant(sigma, absolute_sigma)
    has_column = isinstance(sigma, (str, Integral))
    files: dict[str, Any] = {"absolute": absolute_sigma, "omit": nan_policy == "omit", "has_sigma": has_column,
                             "variables": max(len(variables), 1), **reading}
    if sigma is not None and not has_column:
        if np.ndim(sigma) > 0:
            raise ValueError("sigma is an array; for a stream give one number, or the name of its column")
        files["sigma"] = one_sigma(sigma)
    many = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths or [])]
    roles = _roles([*variables, *([y] if y is not None else []), *([sigma] if has_column else [])])
    if chunks is not None:
        files["chunks"] = _counted(chunks)
    elif many and all(path.lower().endswith(".parquet") for path in many):
        files["chunks"] = _counted(_parquet(many, roles))
    else:
        files["paths"] = many
        if has_column and y is None:
            raise ValueError("if sigma names a column, name the columns of x and y too")
        if roles:
            files["columns"] = roles
    return files, files["variables"]


def _roles(roles: list[Any]) -> list[Any]:
    """Check that the columns are all given by name, or all by number."""
    if all(isinstance(role, str) for role in roles):
        return roles
    if not all(isinstance(role, Integral) and int(role) >= 0 for role in roles):
        raise ValueError(f"the columns are {roles}; give the names of all, or the numbers of all, from 0 on")
    return [int(role) for role in roles]


def _counted(chunks: Chunks) -> Callable[[], Iterator[list[Any]]]:
    """Convert chunks to arrays that the core can read."""
    def pass_over() -> Iterator[list[Any]]:
        for chunk in chunks():
            yield [samples(column) for column in chunk]

    return pass_over


def _parquet(paths: list[str], roles: list[Any]) -> Chunks:
    """Read columns of Parquet files with pyarrow."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError("Parquet files are read by pyarrow: pip install pyarrow") from None
    names = parquet.read_schema(paths[0]).names
    wanted = [names[role] if isinstance(role, int) else role for role in roles] or names[:2]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"{paths[0]} has no column {missing[0]!r}; it has {', '.join(names)}")

    def pass_over() -> Iterator[list[Any]]:
        for path in paths:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=wanted):
                    yield [batch.column(name).to_numpy(zero_copy_only=False) for name in wanted]

    return pass_over


def fit_stream(f: Callable[..., Any] | str | Model, paths: Path | Sequence[Path] | None = None, p0: Any = None, *,
               x: Any = None, y: Any = None, sigma: Any = None, absolute_sigma: bool = False, nan_policy: str = "raise",
               chunks: Chunks | None = None, memory_limit: int | None = None, chunk_points: int | None = None,
               checkpoint: Path | None = None, **options: Unpack[Options]) -> Fit:
    """Fit points in files by passes over all points, with the same result as in memory.

    Parameters
    ----------
    f : callable, str or Model
        ``f(x, a, b, ...)``. The function is recorded with placeholders for x as well as for the parameters. Thus it
        cannot combine points, for example by a maximum.
    paths : path or sequence of paths
        Files of the formats .csv, .tsv, .txt, .dat, .npy, and .parquet if pyarrow is installed; several files are read
        one after another.
    p0 : array_like or mapping of str to float, optional
        As for `fit`.
    x : str, int, or sequence of them, optional
        The columns of the independent variables, by name or by number from 0. For chunks only the count of the columns
        is used.
    y : str or int, optional
        The column of the observations. Give both x and y, or neither: by default, x is column 0 and y is column 1.
    sigma : str, int or float, optional
        The column of standard deviations of y, or a number (a float) for all points.
    absolute_sigma : bool
        If True, sigma is in the units of y.
    nan_policy : {'raise', 'omit'}
        Treatment of points that are not finite; 'omit' leaves out missing values (NaN).
    chunks : callable, optional
        Instead of files: a function that begins a pass over the points and returns an iterable of ``(x, y)``,
        ``(x0, x1, ..., y)`` or, if sigma is a column, ``(x, y, sigma)``. Every pass must return the same points.
    memory_limit : int, optional
        Memory limit of the chunks in bytes; 256 MiB by default.
    chunk_points : int, optional
        Points per chunk; by default determined by the memory limit. The result does not depend on it.
    checkpoint : path, optional
        A file from which an interrupted fit resumes, with the same bits as without the interruption. The previous
        checkpoint is kept at the same path with ``.1``, in case the file is damaged. Both files are removed at the end
        of the fit. Remove the file to start again.
    **options
        See `Options`.

    Returns
    -------
    Fit

    Raises
    ------
    OSError
        If a file cannot be read.
    NotTraceable
        If the function cannot be recorded with placeholders for x, or differs from its recording.

    Examples
    --------
    >>> import dualfit, numpy as np, os, tempfile
    >>> t = np.linspace(0, 4, 5000)
    >>> path = os.path.join(tempfile.mkdtemp(), "points.npy")
    >>> np.save(path, np.stack([t, 2.5 * np.exp(-1.3 * t) + 0.5], axis=1))
    >>> fit = dualfit.fit_stream(lambda x, a, b, c: a * np.exp(-b * x) + c, path, [1, 1, 0])
    >>> fit.params.round(6)
    array([2.5, 1.3, 0.5])
    """
    model, p0 = model_of(f), start_of(p0)
    if chunk_points is not None and chunk_points < 1:
        raise ValueError(f"chunk_points is {chunk_points}; a chunk has at least one point")
    files, columns = files_of(paths, x, y, sigma, absolute_sigma, nan_policy, chunks, memory_limit=memory_limit,
                              chunk_points=chunk_points, checkpoint=None if checkpoint is None else os.fspath(checkpoint))
    ready = model.over_columns(columns, p0)
    names = ready.model.parameters
    unit = 1.0 if isinstance(sigma, Integral) else relative_unit(sigma, absolute_sigma)
    settings = told(names, options, unit)
    with shown(settings):
        core = _core.fit_stream(ready.model, files, begin(p0, names, model._defaults, options), settings)
    check_columns(ready, columns, core.params)
    return Fit(core, ready, variables=model._variables)

"""Fits of points in files, which may be more than memory holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._data import one_sigma
from ._fit import Fit
from ._model import Model
from ._settings import Options, begin, told

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = str | os.PathLike[str]


def files_of(paths: Path | Sequence[Path], x: Any, y: Any, sigma: Any, absolute_sigma: bool, nan_policy: str,
             memory_limit: int | None = None, chunk_points: int | None = None,
             checkpoint: Path | None = None) -> tuple[dict[str, Any], int]:
    """Files as the core reads them, and how many columns of x they have."""
    if nan_policy not in ("raise", "omit"):
        raise ValueError(f"nan_policy is {nan_policy!r}; there are 'raise' and 'omit'")
    many = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files: dict[str, Any] = {"paths": [os.fspath(path) for path in many], "absolute": absolute_sigma,
                             "omit": nan_policy == "omit", "memory_limit": memory_limit, "chunk_points": chunk_points}
    if checkpoint is not None:
        files["checkpoint"] = os.fspath(checkpoint)
    if isinstance(sigma, float):
        files["sigma"] = one_sigma(sigma)
    variables = [x] if isinstance(x, (str, int)) else list(x) if x is not None else []
    if (x is None) != (y is None):
        raise ValueError("name the columns of x and that of y, or neither of them")
    if y is not None:
        files["columns"] = [*variables, y]
        if sigma is not None and not isinstance(sigma, float):
            files["columns"].append(sigma)
            files["has_sigma"] = True
    return files, max(len(variables), 1)


def fit_stream(f: Callable[..., Any] | str | Model, paths: Path | Sequence[Path], p0: Any = None, *, x: Any = None,
               y: Any = None, sigma: Any = None, absolute_sigma: bool = False, nan_policy: str = "raise",
               memory_limit: int | None = None, chunk_points: int | None = None, checkpoint: Path | None = None,
               **options: Unpack[Options]) -> Fit:
    """Fit the points of files, as they would be fitted in memory: by passes over all of them.

    Parameters
    ----------
    f : callable, str or Model
        ``f(x, a, b, ...)``; x is recorded, too, so that nothing may be asked of all points together (a maximum).
    paths : path or sequence of paths
        Files of the kinds .csv, .tsv, .txt, .npy and .parquet; several are read one after another.
    p0 : array_like or mapping of str to float, optional
        As for `fit`.
    x : str, int, or sequence of them, optional
        The columns of the independent variables, by name or by number; the first column by default.
    y : str or int, optional
        The column of the observations; the second one by default.
    sigma : str, int or float, optional
        The column of their standard deviations, or a number for all.
    absolute_sigma : bool
        Whether sigma is in the units of y.
    nan_policy : {'raise', 'omit'}
        What to do with points that are not finite.
    memory_limit : int, optional
        Bytes that chunks may take; 256 MiB by default.
    chunk_points : int, optional
        Points of a chunk; as many as memory allows by default. The result does not depend on it.
    checkpoint : path, optional
        A file from which the fit goes on, to the same bits, after it was stopped.
    **options
        See `Options`.

    Returns
    -------
    Fit

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
    model = f if isinstance(f, Model) else Model(f)
    files, columns = files_of(paths, x, y, sigma, absolute_sigma, nan_policy, memory_limit, chunk_points, checkpoint)
    ready = model.over_columns(columns, p0)
    assert ready.model is not None
    names = ready.model.parameters
    core = _core.fit_stream(ready.model, files, begin(p0, names, model._defaults, options), told(names, options))
    return Fit(core, ready, variables=model._variables)

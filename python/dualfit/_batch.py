"""Batches: many fits of one model in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._data import check_policy, dense, guarded, independent, is_masked, meant, one_sigma, relative_unit, samples, start_of
from ._frame import check_name, frame_of, indices
from ._hints import BATCHES, hint, of_parameter, unknown
from ._prepare import fitted_batch
from ._progress import shown
from ._settings import added, begin, told, with_fixed

if TYPE_CHECKING:
    from pandas import DataFrame

    from ._model import Model


class Batch:
    """Results of a batch. Arrays have the shape of the stack without its last axis.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.arange(5.0)
    >>> batch = dualfit.fit_batch("a*x + b", x, np.stack([2 * x + 1, 3 * x - 1]))
    >>> batch["a"].round(9), bool(batch.converged.all())
    (array([2., 3.]), True)
    """

    def __init__(self, core: _core.BatchFit, shape: tuple[int, ...]) -> None:
        self._core, self.shape = core, shape

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return self._core.names

    @property
    def params(self) -> NDArray[np.float64]:
        """Parameters, shape (..., parameters); NaN if a fit failed."""
        return self._core.params.reshape((*self.shape, len(self.names)))

    @property
    def std_errors(self) -> NDArray[np.float64]:
        """Standard errors, shape (..., parameters)."""
        return self._core.std_errors.reshape((*self.shape, len(self.names)))

    @property
    def covariances(self) -> NDArray[np.float64] | None:
        """Covariance matrices, shape (..., parameters, parameters), if they were kept."""
        kept = self._core.covariances
        return None if kept is None else kept.reshape((*self.shape, *kept.shape[1:]))

    @property
    def costs(self) -> NDArray[np.float64]:
        """Costs: half the sum of squared weighted residuals, or of their losses."""
        return self._core.costs.reshape(self.shape)

    @property
    def chi_squares(self) -> NDArray[np.float64]:
        """Sums of squared weighted residuals, or of their losses: twice the costs."""
        return 2.0 * self.costs

    @property
    def converged(self) -> NDArray[np.bool_]:
        """True for fits that converged to a minimum.

        Fits without points, such as masked pixels of an image, are False. ``batch.converged[mask].mean()`` is the
        fraction of the others, for the mask of the pixels, and `counts` has both numbers.
        """
        return self._core.converged.reshape(self.shape)

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """True for converged fits that the data reject.

        Reasons: the probability of chi-square (for counts, of the deviance) is below 1e-4, or the residuals are
        correlated. The first test needs absolute sigma or counts; the second one is enabled by ``test_residuals=True``.
        """
        return self._core.rejected.reshape(self.shape)

    @property
    def iterations(self) -> NDArray[np.uint32]:
        """Numbers of accepted steps."""
        return self._core.iterations.reshape(self.shape)

    @property
    def counts(self) -> dict[str, int]:
        """Number of fits per status: ``"converged"``, ``"no points"`` for masked pixels, ``"too few points"``, ..."""
        return dict(self._core.counts)

    @property
    def reason(self) -> str:
        """Backend of the fits, and the reason for this choice."""
        return self._core.reason

    @property
    def seconds(self) -> float:
        """Time of the batch in seconds."""
        return self._core.seconds

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return a parameter or a derived quantity of all fits."""
        return self._quantity(name)[0].reshape(self.shape)

    def error(self, name: str) -> NDArray[np.float64]:
        """Return the standard errors of a parameter or a derived quantity of all fits."""
        return self._quantity(name)[1].reshape(self.shape)

    def _quantity(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_name(name, "batch")
        found = self._core.quantity(name)
        if found is None:
            known = ", ".join(self.names + self._core.derived)
            raise KeyError(f"{name!r} is neither a parameter nor a derived quantity; there are {known}")
        return found

    def to_frame(self) -> DataFrame:
        """Return the results as a table of pandas, one row per fit.

        Columns: each parameter and derived quantity with its standard error (``rate``, ``rate_error``), then ``cost``,
        ``converged`` and ``iterations``. The index is the index of the fit in the stack.
        """
        numbers = {"cost": self.costs, "converged": self.converged, "iterations": self.iterations}
        return frame_of(self.names + self._core.derived, self._quantity, numbers, indices(self.shape))

    def status(self, *index: int) -> str:
        """Return the status of a fit as text."""
        if len(index) != len(self.shape):
            raise IndexError(f"a fit of a stack of {self.shape} fits has {len(self.shape)} numbers, not {len(index)}")
        text = self._core.status(int(np.arange(len(self)).reshape(self.shape)[index]))
        assert text is not None
        return text

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, of_parameter(self, name, "batch") or hint(name, BATCHES))

    def __len__(self) -> int:
        return len(self._core)

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        empty = self.counts.get("no points", 0)
        return f"<Batch of {len(self)} fits, {int(self.converged.sum())} converged{f', {empty} without points' if empty else ''}>"

    def _repr_html_(self) -> str:
        return self._core.html()

    def __reduce__(self) -> Any:
        return _restored, (self._core.to_json(), self.shape)


def _restored(text: str, shape: tuple[int, ...]) -> Batch:
    return Batch(_core.BatchFit.from_json(text), shape)


def stacked(model: Model, x: Any, stack: Any, p0: Any, sigma: Any, absolute: bool, mask: Any, nan_policy: str,
            covariance: bool, options: dict[str, Any]) -> Batch:
    """Fit the rows of a stack."""
    check_policy(nan_policy)
    given = np.asarray(stack)
    if given.ndim < 1:
        raise ValueError("a stack has at least one axis, the last one that of the points")
    *shape, n = given.shape
    x, p0 = guarded(independent(x)), with_fixed(start_of(p0), options.get("fixed"), model._names)
    if p0 is not None and not isinstance(p0, dict) and np.ndim(p0) > 1 and np.shape(p0)[:-1] != tuple(shape):
        raise ValueError(f"p0 has the shape {np.shape(p0)}; for a stack of the shape {given.shape} give one start for all, of "
                         f"shape (parameters,), or {(*shape, 'parameters')}".replace("'", ""))
    if n == 0:
        raise _core.FitError("no data points: the last axis of the stack is empty")
    own = np.shape(x) == given.shape and given.ndim > 1 and not model._takes_rows(x, _one(p0, shape))
    data: dict[str, Any] = {"stack": samples(given), "omit": nan_policy == "omit"}
    if own:
        x = np.asarray(x, dtype=np.float64).reshape(-1, n)
        ready = model._prepared_rows(x, _one(p0, shape))
        data["points_per_fit"] = n
    else:
        try:
            ready = model._prepared(x, _one(p0, shape), (n,))
        except ValueError as error:
            if np.ndim(x) == 1 and np.size(x) in shape:
                raise ValueError(f"{error}; the points are the last axis of a stack: np.moveaxis(stack, {shape.index(np.size(x))}, -1)") from None
            raise
        points = next((column.size for column in ready.columns if column.size != n), n)
        if points != n:
            raise ValueError(f"x has {points} points, but each fit of the stack has {n} (its last axis); give one x for all fits, "
                             f"or an x of the shape {given.shape}")
    data["columns"] = ready.columns
    sigma = meant(sigma, absolute)
    if sigma is not None:
        data["sigma"] = one_sigma(sigma) if np.ndim(sigma) == 0 else _each("sigma", sigma, given.shape, np.float64)
        data["absolute"] = absolute
    if mask is not None:
        data["mask"] = _each("mask", _of_fits(mask, given.shape), given.shape, np.bool_)
    if is_masked(stack):
        # Shape (fits, points); a mask for all fits is one row.
        seen = ~np.ma.getmaskarray(stack).reshape(-1, n)
        data["mask"] = (seen & data["mask"].reshape(-1, n) if mask is not None else seen).reshape(-1)
    names = ready.model.parameters
    if p0 is not None and not isinstance(p0, dict) and np.ndim(p0) == 1 and np.size(p0) != len(names) + len(added(options)):
        raise ValueError(f"p0 has {np.size(p0)} values for {len(names) + len(added(options))} parameters; give one start for all, or one of each fit, "
                         "in rows")
    start = begin(p0, names, model._defaults, options)
    settings = told(names, options, relative_unit(sigma, absolute))
    with shown(settings):
        core = fitted_batch(ready, x, model._somewhere(_one(p0, shape)), model._names, data, start, settings, covariance)
    return Batch(core, tuple(shape))


def _of_fits(mask: Any, shape: tuple[int, ...]) -> Any:
    """Convert a mask of whole fits (for example of pixels) to a mask of observations."""
    mask = np.asarray(mask, dtype=np.bool_)
    return mask[..., None] if len(shape) > 1 and mask.shape == shape[:-1] != shape[-1:] else mask


def _each(name: str, values: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return one value per point that all fits share, or one value per observation."""
    array = np.asarray(values, dtype=dtype)
    if array.shape != shape[-1:]:
        try:
            array = np.broadcast_to(array, shape)
        except ValueError:
            raise ValueError(f"{name} has the shape {array.shape}; for a stack of the shape {shape} give one value per point, "
                             f"or one per sample") from None
    return dense(array).reshape(-1)


def _one(p0: Any, shape: list[int]) -> Any:
    """Return the start of the first fit, if each fit has its own."""
    if p0 is None or isinstance(p0, dict):
        return p0
    each = np.asarray(p0, dtype=np.float64)
    return each if each.ndim < 2 else each.reshape(-1, each.shape[-1])[0]

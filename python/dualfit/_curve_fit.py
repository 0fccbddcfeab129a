"""`curve_fit` with the signature, the results, the exceptions and the warnings of SciPy."""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FitError
from ._data import all_finite, dense, guarded, meant, numeric, one_sigma, relative_unit
from ._hints import OPTIONS, hint, likely
from ._jacobian import Jacobian, doubts
from ._prepare import Prepared, fitted, prepared
from ._settings import Options, recorded_loss
from ._verify import flat


Array = NDArray[np.float64]


class OptimizeWarning(UserWarning):
    """Warning about a doubtful result. If SciPy is installed, its own class is used instead."""


def optimize_warning() -> type[UserWarning]:
    """Return SciPy's class if SciPy is installed. The import is lazy, because it takes longer than this package's."""
    try:
        from scipy.optimize import OptimizeWarning as of_scipy
    except ImportError:
        return OptimizeWarning
    return cast("type[UserWarning]", of_scipy)


#: Ignored keywords of `leastsq` and `least_squares` about differences (partials are exact here) and printing.
_NEEDLESS = frozenset({"epsfcn", "diag", "diff_step", "tr_solver", "tr_options", "jac_sparsity",
                       "verbose", "x_scale", "workers"})
_STOPS = frozenset({"ftol", "xtol", "gtol"})
#: `ier` of leastsq and `status` of least_squares for the test that ended a fit.
_LM_STATUS = {"Cost": 1, "ExactFit": 1, "Step": 2, "Gradient": 4}
_TRF_STATUS = {"Gradient": 1, "Cost": 2, "ExactFit": 2, "Step": 3}
#: Terminations for which SciPy raises an exception.
_LIMITS = frozenset({"MaxEvaluations", "TimeLimit", "ModelNonFinite"})
_DIFFERENCES = ("2-point", "3-point", "cs")
_NO_BOUNDS = (-np.inf, np.inf)


@overload
def curve_fit(f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
              check_finite: bool | None = None, bounds: Any = ..., method: str | None = None, jac: Any = None, *,
              full_output: Literal[False] = False, nan_policy: str | None = None, **kwargs: Any) -> tuple[Array, Array]: ...
@overload
def curve_fit(f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
              check_finite: bool | None = None, bounds: Any = ..., method: str | None = None, jac: Any = None, *,
              full_output: Literal[True], nan_policy: str | None = None,
              **kwargs: Any) -> tuple[Array, Array, dict[str, Any], str, int]: ...
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = _NO_BOUNDS,
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """Fit a function to data by nonlinear least squares: a drop-in for `scipy.optimize.curve_fit`.

    `f` is called once with the parameters replaced by tracers, which record its operations. The recording is
    differentiated exactly and fitted by compiled code on all cores, or on a GPU. A function that cannot be recorded (it
    branches on a parameter, or calls code that does not use NumPy) is called directly, with one `NotTracedWarning` that
    gives the reason.

    Parameters
    ----------
    f : callable
        ``f(xdata, *params)``, the model. It is called a few times in total, not at every step. Side effects and
        randomness are detected, and such a function is called directly.
    xdata : array_like or object
        The independent variable: of length M for one variable, of shape (k, M) for k variables, or any object that `f`
        accepts.
    ydata : array_like
        The observations, of length M.
    p0 : array_like, optional
        The initial guess; ones by default, or the middle of `bounds`. If the fit from this default does not converge or
        the data reject it, a search for a start follows, and the fit with the lower cost is returned. Functions that
        are called directly have no search.
    sigma : None, scalar, or array_like of length M or shape (M, M)
        Standard deviations of `ydata`, or their covariance matrix.
    absolute_sigma : bool
        If True, `sigma` is in the units of `ydata`; otherwise it is scaled so that the reduced chi-square is 1.
    check_finite : bool, optional
        If True, NaN and infinities in the data raise `ValueError`. The default is True unless `nan_policy` is given.
    bounds : (lower, upper) or scipy.optimize.Bounds
        Scalars or one value per parameter.
    method : {'lm', 'trf', 'dogbox'}, optional
        Accepted for compatibility: all use the same trust-region method, and 'lm' does not allow bounds, as in SciPy.
    jac : callable or str, optional
        Partials of `f`, shape (M, N), or (N, M) with ``col_deriv=True``. If it is a callable, `f` and `jac` are called
        directly, as in SciPy. Without it, the partials are exact, too, and the fit is faster.
    full_output : bool
        If True, `infodict`, `mesg` and `ier` are returned, too.
    nan_policy : {'raise', 'omit', None}
        Treatment of NaN, as in SciPy.
    **kwargs
        Keywords of `leastsq` and `least_squares`. Supported are ``ftol``, ``xtol``, ``gtol``, ``maxfev`` or
        ``max_nfev``, ``factor``, ``loss``, ``f_scale`` and ``col_deriv``. Keywords about differences and printing are
        ignored.

    Returns
    -------
    popt : ndarray
        The parameters, of length N.
    pcov : ndarray
        Their covariance, of shape (N, N); infinite if the data do not determine them.
    infodict, mesg, ier
        Only with `full_output`; `infodict` has ``nfev`` and ``fvec``, for 'lm' also ``fjac``, ``ipvt`` and ``qtf``.

    Raises
    ------
    ValueError
        If the data contain NaN, shapes do not match, the initial guess is outside the bounds, or (except for 'lm') the
        Jacobian does not have the shape (M, N).
    RuntimeError
        If no minimum was found within the limits.
    TypeError
        If the method is 'lm', and there are fewer points than parameters or the Jacobian has another shape.

    Warns
    -----
    OptimizeWarning
        If the covariance cannot be estimated, the fit may not have reached a minimum, or `jac` differs from finite
        differences of `f`.
    NotTracedWarning
        If `f` cannot be recorded.

    Notes
    -----
    Standard errors are the same as SciPy's except in two cases. First, with a robust `loss` they follow from Huber's
    estimate of the scatter, in which the loss limits the effect of outliers; if sigma is also absolute, they are not
    smaller than sigma implies. SciPy counts the cost of the outliers as scatter, and its standard errors are 1.3 to 2.5
    times too large; with `absolute_sigma` it uses sigma alone, and they are too small. Second, points with infinite sigma do not count as observations. The masks of
    masked arrays (`numpy.ma`) are ignored, as in SciPy.

    See Also
    --------
    fit : the same with names, a report, bands, profiles and more.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfit import curve_fit
    >>> x = np.linspace(0, 4, 50)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5
    >>> popt, pcov = curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)
    >>> popt.round(6)
    array([2.5, 1.3, 0.5])
    """
    start, names = _start(f, p0)
    n = len(names)
    low, high, bounded = _bounds(bounds, n)
    if start is None:
        start = _feasible(low, high)
    if bounded and ((start < low) | (start > high)).any():
        raise ValueError("Initial guess is outside of provided bounds (`x0` is infeasible)")
    method = method or ("trf" if bounded else "lm")
    if method not in ("lm", "trf", "dogbox"):
        raise ValueError(f"`method` is {method!r}; it must be 'trf', 'dogbox' or 'lm'.")
    if method == "lm" and bounded:
        raise ValueError("Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead.")
    if not (jac is None or callable(jac) or jac in _DIFFERENCES):
        raise ValueError("`jac` must be '2-point', '3-point', 'cs' or callable.")
    xdata, ydata, sigma = _data(xdata, ydata, sigma, check_finite, nan_policy)
    xdata = guarded(xdata)
    by_column = bool(kwargs.pop("col_deriv", False))
    shape = ydata.shape if ydata.size != 1 else None
    sigma = meant(sigma, absolute_sigma)
    each = sigma if sigma is None else _checked_sigma(np.asarray(sigma), ydata)
    settings = _settings(kwargs, relative_unit(each, absolute_sigma))
    jacobian = Jacobian(jac, n, by_column, method) if callable(jac) else None
    model = prepared(f, xdata, n, shape, start, names, jacobian)
    y = ydata if ydata.shape == model.shape else np.broadcast_to(ydata, model.shape)
    y = dense(y).reshape(-1)
    if p0 is None and model.called is None:
        settings["search"] = "rejected"
    if method == "lm" and n > y.size:
        raise TypeError(f"The number of func parameters={n} must not exceed the number of data points={y.size}")
    if bounded:
        settings["bounds"] = list(zip(names, low, high))
    if model.called is not None and jacobian is not None:
        _check_jacobian(model, names, start, low, high)
    points: dict[str, Any] = {"columns": model.columns, "y": y}
    if each is not None:
        points["sigma"], points["absolute"] = each, absolute_sigma
    try:
        model, fit = fitted(model, xdata, start, names, points, start, settings)
    except FitError as error:
        if "not positive definite" not in str(error):
            raise
        raise FitError(f"`sigma` must be positive definite. Here {error}") from None
    if fit.termination in _LIMITS:
        raise RuntimeError(_no_result(fit, method, settings))
    covariance, rank = _covariance(fit, model, points, settings)
    if rank < n or (y.size <= n and not absolute_sigma) or not np.isfinite(covariance).all():
        covariance = np.full((n, n), np.inf)
        warnings.warn("Covariance of the parameters could not be estimated", optimize_warning(), 2)
    elif not fit.converged:
        warnings.warn(f"The fit may not have reached a minimum: {fit.message}", optimize_warning(), 2)
    if not full_output:
        return fit.params, covariance
    return fit.params, covariance, *_full(fit, model, xdata, y, each, method)


def _check_jacobian(model: Prepared, names: list[str], start: NDArray[np.float64], low: NDArray[np.float64],
                    high: NDArray[np.float64]) -> None:
    """Warn if partials differ from finite differences of the function at the start.

    Raises
    ------
    TypeError, ValueError
        If the shape of the array is not one that SciPy accepts.
    """
    called = model.called
    assert called is not None
    partials, here = called.first_jacobian(start), called.value(0, start)

    with np.errstate(all="ignore"):
        difference, which = doubts(lambda p: called.value(0, p), called.precision, partials, start, low, high)
    called.known(start, here)
    if difference:
        of = f" by {', '.join(names[k] for k in which)}" if which else ""
        warnings.warn(f"`jac` differs from finite differences of `f` at the start, by {100.0 * difference:.2g} % along one "
                      f"direction: correct its partials{of}, or leave `jac` out, since partials are found without it. "
                      f"Standard errors are wrong by about as much, and the fit may miss the minimum", optimize_warning(), 3)


def _start(f: Callable[..., Any], p0: Any) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return the given start, and the names of the parameters."""
    names = _positional(f)[1:]
    if p0 is not None:
        start = dense(np.asarray(p0, dtype=np.float64)).reshape(-1)
        # The parameters of f(x, *p) have no names.
        return start, names if len(names) == start.size else [f"p{k}" for k in range(start.size)]
    if not names:
        raise ValueError("Unable to determine number of fit parameters.")
    return None, names


def _positional(f: Callable[..., Any]) -> list[str]:
    """Return the names of the positional arguments of a function; an empty list if it has no signature.

    Raises
    ------
    TypeError
        If it is not callable.
    """
    if isinstance(f, types.FunctionType) and not f.__dict__:
        # Fast path: no decorator has replaced the signature.
        return list(f.__code__.co_varnames[:f.__code__.co_argcount])
    try:
        signature = inspect.signature(f)
    except ValueError:
        return []
    return [p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _bounds(bounds: Any, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    if bounds is _NO_BOUNDS:
        return np.full(n, -np.inf), np.full(n, np.inf), False
    if hasattr(bounds, "lb"):
        bounds = (bounds.lb, bounds.ub)
    low, high = bounds
    if low is not None and high is not None and np.ndim(low) == 0 and np.ndim(high) == 0:
        if low == -np.inf and high == np.inf:
            return np.full(n, -np.inf), np.full(n, np.inf), False
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (n,)) for b in (low, high))
    except ValueError:
        raise ValueError("Inconsistent shapes between bounds and `x0`.") from None
    if (low >= high).any():
        raise ValueError("Each lower bound must be strictly less than each upper bound.")
    return low, high, bool(np.isfinite(low).any() or np.isfinite(high).any())


def _feasible(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return SciPy's default start: ones, or the middle of the bounds, or a distance of 1 from the only bound."""
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    start = np.ones(low.size)
    both = has_low & has_high
    start[both] = 0.5 * (low[both] + high[both])
    only = has_low & ~has_high
    start[only] = low[only] + 1.0
    only = ~has_low & has_high
    start[only] = high[only] - 1.0
    return start


def _data(xdata: Any, ydata: Any, sigma: Any, check_finite: bool | None,
          nan_policy: str | None) -> tuple[Any, NDArray[np.float64], NDArray[np.float64] | None]:
    """Validate the data as SciPy does, and leave out NaN if requested."""
    if check_finite is None:
        check_finite = nan_policy is None
    as_array = _finite_array if check_finite else _array
    y = as_array(ydata)
    if isinstance(xdata, (list, tuple, np.ndarray)):
        xdata = as_array(xdata)
    elif getattr(xdata, "ndim", 0) == 1 and hasattr(xdata, "__array__"):
        xdata = _array(xdata)
    if y.size == 0:
        raise ValueError("`ydata` must not be empty!")
    sigma = None if sigma is None else np.asarray(sigma, dtype=np.float64)
    if check_finite or nan_policy is None:
        return xdata, y, sigma
    if nan_policy == "propagate":
        raise ValueError("`nan_policy='propagate'` is not supported by this function.")
    if nan_policy not in ("raise", "omit"):
        raise ValueError("nan_policy must be one of {None, 'raise', 'omit'}")
    if not isinstance(xdata, np.ndarray):
        raise ValueError(f"nan_policy={nan_policy!r} looks for nan values in arrays, and xdata is a {type(xdata).__name__}; "
                         "leave out what is missing before the fit")
    missing = np.isnan(xdata)
    missing = missing.any(axis=tuple(range(missing.ndim - 1))) | np.isnan(y)
    if not missing.any():
        return xdata, y, sigma
    if nan_policy == "raise":
        raise ValueError("The input contains nan values")
    if sigma is not None and sigma.ndim == 1 and sigma.size > 1:
        sigma = sigma[~missing]
    elif sigma is not None and sigma.ndim == 2:
        sigma = sigma[~missing][:, ~missing]
    return xdata[..., ~missing], y[~missing], sigma


def _array(values: Any) -> NDArray[np.float64]:
    given = np.asarray(values)
    if given.dtype.kind in "mMO":
        numeric(given)
    return np.asarray(values, dtype=np.float64)


def _finite_array(values: Any) -> NDArray[np.float64]:
    """Convert like `numpy.asarray_chkfinite`, but check large arrays with all threads."""
    array = _array(values)
    if not all_finite(array):
        raise ValueError("array must not contain infs or NaNs")
    return array


def _checked_sigma(sigma: NDArray[np.float64], y: NDArray[np.float64]) -> Any:
    """Return sigma as a number, as one value per point (y can be an image), or as a covariance matrix."""
    if sigma.size == 1:
        return one_sigma(sigma.reshape(-1)[0])
    if sigma.shape == y.shape:
        return dense(sigma).reshape(-1)
    if sigma.shape not in ((y.size,), (y.size, y.size)):
        raise ValueError("`sigma` has incorrect shape.")
    return dense(sigma)


def _settings(kwargs: dict[str, Any], unit: float) -> dict[str, Any]:
    """Convert SciPy's keywords to settings of the core. `unit`: unit of the residuals, relative to the core's unit."""
    if "args" in kwargs:
        raise ValueError("'args' is not a supported keyword argument.")
    settings: dict[str, Any] = {"backend": "auto", "allow_underdetermined": True}
    loss, scale = "linear", 1.0
    for name, value in kwargs.items():
        if name in _STOPS:
            # None switches a test off in SciPy; the core uses 0 for this.
            settings[name] = 0.0 if value is None else float(value)
        elif name in ("maxfev", "max_nfev"):
            settings["max_evaluations"] = int(value) if value else None
        elif name == "factor":
            settings["initial_radius"] = float(value)
        elif name == "loss":
            loss = value
        elif name == "f_scale":
            scale = float(value)
        elif name not in _NEEDLESS:
            remedy = f"; dualfit.fit has {name}=" if name in Options.__annotations__ else hint(name, OPTIONS) or likely(name, Options.__annotations__)
            raise TypeError(f"curve_fit() got an unexpected keyword argument {name!r}{remedy}")
    scale *= unit
    if callable(loss):
        of_square: Callable[..., Any] = loss
        # SciPy's functions receive the squared residual and also return two derivatives, which are not needed here.
        settings["loss"] = recorded_loss(lambda u: of_square(u * u)[0]), scale
    elif loss != "linear":
        settings["loss"] = loss, scale
    return settings


def _no_result(fit: _core.Fit, method: str, settings: dict[str, Any]) -> str:
    """Return SciPy's message for a fit that found no minimum."""
    reason = fit.message
    if fit.termination == "MaxEvaluations":
        most = settings.get("max_evaluations") or fit.evaluations
        reason = (f"Number of calls to function has reached maxfev = {most}." if method == "lm" else
                  "The maximum number of function evaluations is exceeded.")
    return f"Optimal parameters not found: {reason}"


def _covariance(fit: _core.Fit, model: Prepared, points: dict[str, Any],
                settings: dict[str, Any]) -> tuple[NDArray[np.float64], int]:
    """Return the covariance and its rank. As in SciPy, parameters on a bound are treated like free ones."""
    if fit.at_bound:
        free = {name: said for name, said in settings.items() if name != "bounds"}
        fit = model.model.fit(points, fit.params, {**free, "max_evaluations": 1})
    return fit.covariance, fit.rank


def _full(fit: _core.Fit, model: Prepared, xdata: Any, y: NDArray[np.float64], sigma: Any,
          method: str) -> tuple[dict[str, Any], str, int]:
    """Return ``infodict``, ``mesg`` and ``ier``."""
    residuals = _weighted(model, xdata, fit.params, y, sigma)
    info: dict[str, Any] = {"nfev": fit.evaluations, "fvec": residuals}
    if method == "lm":
        info |= _factored(model, xdata, fit.params, y, sigma, residuals)
    status = _LM_STATUS if method == "lm" else _TRF_STATUS
    return info, fit.message, status.get(fit.termination, 3 if method == "lm" else 4)


def _weighted(model: Prepared, xdata: Any, p: NDArray[np.float64], y: NDArray[np.float64],
              sigma: Any) -> NDArray[np.float64]:
    """Return the residuals, model minus y, in units of sigma."""
    assert model.f is not None
    residuals = flat(model.f(xdata, *p), model.shape) - y
    if sigma is None:
        return residuals
    if np.ndim(sigma) == 2:
        return np.asarray(np.linalg.solve(np.linalg.cholesky(sigma), residuals), dtype=np.float64)
    return np.asarray(residuals / sigma)


def _factored(model: Prepared, xdata: Any, p: NDArray[np.float64], y: NDArray[np.float64], sigma: Any,
              residuals: NDArray[np.float64]) -> dict[str, Any]:
    """Return MINPACK's outputs: R of a pivoted QR factorisation of the Jacobian, and Qᵀ times the residuals.

    The partials are central differences here; the fit does not depend on them.
    """
    columns = []
    for k in range(p.size):
        step = np.zeros(p.size)
        step[k] = 6e-6 * max(abs(p[k]), 1e-3)
        above, below = (_weighted(model, xdata, p + sign * step, y, sigma) for sign in (1.0, -1.0))
        columns.append((above - below) / (2.0 * step[k]))
    jacobian = np.stack(columns, axis=1)
    order = _pivots(jacobian)
    q, r = np.linalg.qr(jacobian[:, order])
    fjac = np.zeros((p.size, y.size))
    fjac[:, : p.size] = r.T
    return {"fjac": fjac, "ipvt": order.astype(np.int32), "qtf": q.T @ residuals}


def _pivots(jacobian: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the column order of a pivoted QR: each next column has the largest part orthogonal to the earlier ones."""
    left, order = jacobian.copy(), np.arange(jacobian.shape[1])
    for k in range(order.size):
        best = k + int(np.argmax((left[:, k:] ** 2).sum(axis=0)))
        left[:, [k, best]], order[[k, best]] = left[:, [best, k]], order[[best, k]]
        length = np.sqrt((left[:, k] ** 2).sum())
        if length > 0.0:
            unit = left[:, k] / length
            left[:, k + 1:] -= np.outer(unit, unit @ left[:, k + 1:])
    return order

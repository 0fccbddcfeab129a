"""Options of fits, converted for the core: the same for single fits, batches, streams and distributed fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, TypedDict

import numpy as np

from ._core import FitError
from ._data import dense
from ._hints import LOSS_NAMES, LOSSES, OPTIONS, hint, likely
from ._prepare import recorded
from ._progress import watcher
from ._tape import Node
from ._trace import record


class OptionsWithoutBounds(TypedDict, total=False):
    """Keyword arguments of fits except `bounds`. `Options` describes them."""

    fixed: str | Iterable[str]
    ties: Mapping[str, str]
    parameters: Iterable[str]
    derived: Mapping[str, str]
    priors: Mapping[str, tuple[float, float]]
    scales: Mapping[str, float]
    loss: str | Callable[[Any], Any]
    loss_scale: float
    f_scale: float
    poisson: bool
    ftol: float
    xtol: float
    gtol: float
    etol: float
    max_evaluations: int
    max_seconds: float
    initial_radius: float
    clamp_start: bool
    allow_underdetermined: bool
    test_residuals: bool
    search: str
    search_rounds: int
    search_seed: int
    backend: str
    precision: str
    progress: bool
    callback: Callable[[dict[str, Any]], Any]


class Options(OptionsWithoutBounds, total=False):
    """Keyword arguments of every fit.

    Attributes
    ----------
    bounds : mapping of str to (float or None, float or None), (lower, upper), or sequence of pairs
        Bounds by parameter name, as in SciPy, or one pair per parameter. None is no bound. For two parameters give them
        by name, because two pairs can also be lower and upper bounds.
    fixed : str, iterable of str, or mapping of str to float
        Parameters that are fixed at their starting values, or at these values; lmfit: ``vary=False``.
    ties : mapping of str to str
        Parameters that are computed from others by formulas: ``{"b_width": "2*a_width"}``; lmfit: ``expr``.
    parameters : iterable of str
        Additional parameters for use in ties: ``ties={"t2": "t1 + d"}, parameters=["d"]``. They follow the parameters
        of the model, and have starting values and bounds like these.
    derived : mapping of str to str
        Derived quantities: formulas of the parameters, reported with standard errors.
    priors : mapping of str to (float, float)
        Prior knowledge of parameters: mean and standard deviation. Priors require sigma in the units of y.
    scales : mapping of str to float
        Typical magnitudes of parameters, for functions that cannot be recorded and parameters that start at 0.
    loss : str or callable
        ``"linear"``, ``"soft_l1"``, ``"huber"``, ``"cauchy"``, ``"arctan"``, ``"tukey"``, or a function of
        u = residual / `loss_scale`. ``"tukey"`` is also called bisquare.
    loss_scale : float
        Residual beyond which a point counts as an outlier, in units of sigma, or of y if there is no sigma.
    f_scale : float
        SciPy's name for `loss_scale`.
    poisson : bool
        If True, y are counts, which are fitted by maximum likelihood.
    ftol, xtol, gtol, etol : float
        Tolerances of convergence: relative change of the cost, relative change of the parameters, cosine of the
        gradient, step in standard errors.
    max_evaluations : int
        Maximum number of evaluations of the model; SciPy: ``maxfev``, ``max_nfev``.
    max_seconds : float
        Maximum time in seconds.
    initial_radius : float
        Initial radius of the trust region.
    clamp_start : bool
        If True, a start outside the bounds is moved inside.
    allow_underdetermined : bool
        If True, fewer points than parameters are allowed.
    test_residuals : bool
        If True, `fit_batch` tests the residuals of every fit for autocorrelation, as single fits do. `Batch.rejected`
        has the result.
    search : str
        Condition for the search for a start. ``"needed"`` (default): a parameter has no start, or the start is the
        model's own guess and one of three conditions holds: the model is a sum of several terms, the fit does not
        converge, or the data reject the fit. A start of all parameters, by values or by name, is used as it is.
        ``"rejected"``: also if the fit from a given start does not converge or is rejected by the data. Or
        ``"always"``, ``"never"``. The fit with the lower cost is returned.
    search_rounds : int
        Maximum number of rounds of a search, 8 by default. Each round draws about 100 candidates and fits the best.
    search_seed : int
        Seed of the draws. The same seed gives the same fit.
    backend : str
        ``"auto"``, ``"cpu"``, ``"cuda"`` for all CUDA devices, ``"cuda:0"`` or ``"cuda:0,1"``.
    precision : str
        Precision on devices: ``"double"``, ``"mixed"`` or ``"single"``.
    progress : bool
        If True, a bar shows the progress of the fit, if `tqdm` is installed.
    callback : callable
        Called with a dictionary after every step, round of the search for a start, chunk of a stream or portion of a
        batch. Its ``kind`` is ``"step"``, ``"search"``, ``"stream"`` or ``"batch"``. A true return value stops the fit.
        lmfit: ``iter_cb``.
    """

    bounds: Any


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "poisson": bool, "clamp_start": bool, "allow_underdetermined": bool, "test_residuals": bool, "precision": str, "search": str,
    "max_evaluations": index, "search_rounds": index, "search_seed": index,
    **dict.fromkeys(("ftol", "xtol", "gtol", "etol", "max_seconds", "initial_radius"), float)}


def told(names: list[str], options: Mapping[str, Any], unit: float = 1.0) -> dict[str, Any]:
    """Convert the options for the core, for a model with these parameter names. An option that is None has its default.

    `unit`: unit of the residuals in the scale of a loss, relative to the core's unit.

    Raises
    ------
    TypeError
        If an option does not exist.
    """
    options = {name: value for name, value in options.items() if value is not None}
    if "f_scale" in options:
        if "loss_scale" in options:
            raise TypeError("f_scale is another name for loss_scale; give one of them")
        options["loss_scale"] = options.pop("f_scale")
    settings: dict[str, Any] = {"backend": "auto", "parameters": added(options)}
    names = names + settings["parameters"]
    if "loss_scale" in options and "loss" not in options:
        raise FitError(f"loss_scale is {options['loss_scale']!r} and there is no loss; give one, as in loss=\"soft_l1\"")
    for name, value in options.items():
        if name in _PLAIN:
            settings[name] = _plain(name, value)
        elif name == "bounds":
            settings["bounds"] = bounded(names, value)
        elif name == "fixed":
            settings["fixed"] = [value] if isinstance(value, str) else list(value)
        elif name in ("ties", "derived", "scales"):
            settings[name] = _by_name(name, value, float if name == "scales" else str)
            if name != "scales":
                check_constants(names)
        elif name == "priors":
            settings["priors"] = [(parameter, float(mean), float(sigma)) for parameter, (mean, sigma) in value.items()]
        elif name == "loss":
            settings["loss"] = _loss(value, unit * float(options.get("loss_scale", 1.0)))
        elif name == "backend":
            settings["backend"], settings["devices"] = _backend(value)
        elif name not in ("loss_scale", "parameters", "progress", "callback"):
            raise TypeError(f"there is no option {name!r}; {_remedy(name, value, names)}")
    callback = watcher(options.get("progress", False), options.get("callback"))
    if callback is not None:
        settings["callback"] = callback
    return settings


def _remedy(name: str, value: Any, parameters: list[str]) -> str:
    """Return the end of the message about an unknown option: what to write in its place, or all options."""
    if name in parameters:
        return f"it is a parameter: write p0={{{name!r}: {value!r}}} for its start, or fixed={{{name!r}: {value!r}}} for its value"
    found = name == "method" and hint(value) or hint(name, OPTIONS) or likely(name, Options.__annotations__)
    return found.removeprefix("; ") or f"there are {', '.join(sorted(Options.__annotations__))}"


def added(options: Mapping[str, Any]) -> list[str]:
    """Return the names of the additional parameters."""
    names = options.get("parameters") or []
    return [names] if isinstance(names, str) else list(names)


def with_fixed(p0: Any, fixed: Any, names: list[str] | None) -> Any:
    """Return the start with the given values of fixed parameters."""
    if not isinstance(fixed, Mapping):
        return p0
    if p0 is None or isinstance(p0, dict):
        return {**(p0 or {}), **fixed}
    values = np.array(p0, dtype=np.float64).reshape(-1)
    for name, value in fixed.items():
        if names is None or name not in names or len(names) != values.size:
            raise FitError(f"there is no parameter {name!r} to fix at {value}; the model has {', '.join(names or [])}")
        values[names.index(name)] = value
    return values


def check_constants(names: list[str]) -> None:
    """Check that no parameter in a formula has the name of a constant.

    Raises
    ------
    FitError
        If a parameter is called `e` or `pi`.
    """
    taken = [name for name in ("e", "pi") if name in names]
    if taken:
        raise FitError(f"{' and '.join(taken)} in a formula is the constant and not the parameter of that name; rename the parameter")


def _by_name(what: str, given: Any, kind: type[Any]) -> list[tuple[str, Any]]:
    """Convert a mapping of names to pairs.

    Raises
    ------
    TypeError
        If `given` is not a mapping of names to values of this kind.
    """
    wanted = {str: "formulas, as in {\"c\": \"a/2\"}", float: "numbers"}[kind]
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"{what} is {given!r}; give a mapping of names to {wanted}")
    if kind is str and not all(isinstance(value, str) for value in given.values()):
        raise TypeError(f"{what} is {dict(given)!r}; give a mapping of names to {wanted}")
    return [(name, kind(value)) for name, value in given.items()]


def _plain(name: str, value: Any) -> Any:
    try:
        plain = _PLAIN[name](value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}; give a {'whole ' if name == 'max_evaluations' else ''}number") from None
    if name == "max_evaluations" and plain < 1:
        raise FitError(f"{name} is {plain}; it must be at least 1")
    return plain


def bounded(names: list[str], bounds: Any) -> list[tuple[str, float, float]]:
    """Convert bounds by name, bounds as in SciPy, or one pair per parameter, to (name, lower, upper). None is no bound.

    Raises
    ------
    FitError
        For two pairs of two parameters that can be meant as one pair per parameter: a list of tuples, or pairs that are
        not bounds as in SciPy.
    """
    if bounds is None:
        return []
    pairwise = are_pairs(bounds)
    if pairwise and len(names) == len(bounds) != 2:
        bounds = dict(zip(names, bounds))
    if isinstance(bounds, Mapping):
        pairs = [(name, *_pair(bounds, pair)) for name, pair in bounds.items()]
        return [(name, -np.inf if low is None else float(low), np.inf if high is None else float(high))
                for name, low, high in pairs]
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else _pair(bounds, bounds)
    made = list(zip(names, _ends("lower", low, names), _ends("upper", high, names)))
    is_list_of_tuples = isinstance(bounds, list) and all(isinstance(pair, tuple) for pair in bounds)
    if pairwise and (is_list_of_tuples or any(low >= high for _, low, high in made)):
        raise two_pairs(bounds, names)
    return made


def are_pairs(bounds: Any) -> bool:
    """Return True for a list or array of pairs."""
    return isinstance(bounds, (list, tuple, np.ndarray)) and all(np.ndim(pair) == 1 and len(pair) == 2 for pair in bounds)


def two_pairs(bounds: Any, names: list[str]) -> FitError:
    """Return the error for two pairs of two parameters, which can be read in two ways."""
    both = ", ".join(f"{name!r}: (lower, upper)" for name in names)
    return FitError(f"bounds is {bounds!r}, which can be one pair per parameter, or (lower, upper) with one value per parameter each; "
                    f"give {{{both}}}")


def _ends(side: str, values: Any, names: list[str]) -> list[float]:
    """Return one bound per parameter, from a single value for all or from one value per parameter. None is no bound."""
    wanted, none = np.asarray(values, dtype=object), -np.inf if side == "lower" else np.inf
    ends = np.array([none if end is None else float(end) for end in wanted.flat]).reshape(wanted.shape)
    if ends.ndim > 1 or ends.size not in (1, len(names)):
        given = ends.size if ends.ndim < 2 else ends.shape
        raise ValueError(f"bounds has {given} {side} values for {len(names)} parameters ({', '.join(names)})")
    return [float(end) for end in np.broadcast_to(ends, (len(names),))]


def _pair(bounds: Any, pair: Any) -> tuple[Any, Any]:
    try:
        low, high = pair
    except (TypeError, ValueError):
        raise TypeError(f"bounds is {bounds!r}; give (lower, upper) for all, one pair per parameter, or a mapping of names to (lower, upper)") from None
    return low, high


def _loss(loss: str | Callable[[Any], Any], scale: float) -> Any:
    if isinstance(loss, str):
        if loss not in LOSS_NAMES and hint(loss, LOSSES):
            raise ValueError(f"there is no loss {loss!r}{hint(loss, LOSSES)}")
        return loss, scale
    if not callable(loss):
        raise TypeError(f"the loss is {loss!r}; give a name, or a function of u = residual/scale")
    return recorded_loss(loss), scale


#: Residuals at which a loss is compared with its recording.
_RESIDUALS = (0.3, -1.7, 40.0)


def recorded_loss(loss: Callable[[Any], Any]) -> list[Node]:
    """Record a loss: a function of the residual, recorded like a model whose only parameter is the residual.

    Raises
    ------
    NotTraceable
        If the loss cannot be recorded, or differs from its recording.
    """
    def of_residual(_: Any, u: Any) -> Any:
        return loss(u)

    for u in _RESIDUALS:
        recorded(of_residual, np.zeros(1), 1, (1,), np.array([u]))
    recording = record(of_residual, np.zeros(1), 1, None)
    numbers = [float(column[0]) for column in recording.columns]
    return [("const", (), numbers[int(node[2])]) if node[0] == "column" else node for node in recording.nodes]


def _backend(name: str) -> tuple[str, list[int] | None]:
    kind, _, numbers = name.partition(":")
    try:
        return kind, [int(number) for number in numbers.split(",")] if numbers else None
    except ValueError:
        raise ValueError(f"there is no backend {name!r}; devices have numbers, as in \"cuda:0\" or \"cuda:0,1\"") from None


def begin(p0: Any, names: list[str], defaults: list[float | None] | None, options: Mapping[str, Any]) -> Any:
    """Convert a start for the core: values in order, (name, value) pairs, or None if nothing is given.

    A tied parameter has no start; its default in the signature is ignored.
    """
    if p0 is not None and not isinstance(p0, dict):
        return dense(np.asarray(p0, dtype=np.float64)).reshape(-1)
    tied, said = options.get("ties") or (), p0 or {}
    given = [(name, value) for name, value in zip(names, defaults or [])
             if value is not None and name not in tied and name not in said]
    return given + [(name, float(value)) for name, value in said.items()] or None

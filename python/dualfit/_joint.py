"""Joint fits: several data sets with shared parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FitError
from ._data import check_policy, guarded, independent, point_of, points_of, relative_unit, start_of
from ._fit import STATISTICS, Fit
from ._formula import names_in
from ._frame import check_name, frame_of
from ._hints import RESULTS, hint, of_parameter, unknown
from ._model import Model, model_of
from ._prepare import Prepared, check_columns
from ._progress import shown
from ._refusal import NotTraceable
from ._results import Array, Quantity
from ._sets import Sets, grouped, sets_of
from ._settings import Options, added, begin, bounded, told
from ._verify import check_end, some_fits

if TYPE_CHECKING:
    from pandas import DataFrame
    from typing_extensions import Unpack

#: Reasons why a fit cannot be repeated or evaluated.
_OF_A_SET = ("a set of a joint fit is not fitted again alone, because the other sets determine its shared parameters, too; fit "
             "it by dualfit.fit, with the shared parameters fixed")
_OF_ALL = "this is the fit of all sets together, which has no curve of its own; take the fit of a set: joint.set(label)"


class JointFit:
    """Result of a joint fit. Arrays with one number per set have the shape of the stack without its last axis.

    It prints as a report, and can be pickled.

    Attributes
    ----------
    labels : list
        Label of each set: its number from 0, its index in a stack, or its label in the data.
    shape : tuple of int
        Shape of arrays with one number per set.
    names : list of str
        Names of the parameters of the sets' models.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.linspace(0, 4, 40)
    >>> stack = np.array([[2.0], [5.0]]) * np.exp(-0.7 * x)
    >>> joint = dualfit.fit_joint("a*exp(-rate*x)", x, stack, {"rate": 1}, shared="rate")
    >>> joint["a"].round(6), round(joint.shared["rate"].value, 6)
    (array([2., 5.]), 0.7)
    >>> joint.set(1).predict([0.0]).round(6)
    array([5.])
    """

    def __init__(self, core: _core.JointFit, labels: list[Any], shape: tuple[int, ...], names: list[str], shared: list[str],
                 made: Callable[[int, _core.Fit], Fit]) -> None:
        self._core, self._shared, self._made = core, shared, made
        self.labels, self.shape, self.names = labels, shape, names
        self._fits: dict[int, Fit] = {}

    @functools.cached_property
    def fit(self) -> Fit:
        """Fit of all parameters together, named ``rate`` if shared and ``amplitude_1``, ``amplitude_2``, ... otherwise.

        It has the covariance of all parameters, statistics, `propagate` and the report, but no curve.
        """
        whole = Fit(self._core.fit(), None)
        whole._refusal, whole._has_curve = _OF_ALL, False
        return whole

    def set(self, label: Any) -> Fit:
        """Return the fit of one set: its parameters with the names of the model, curve, bands and residuals.

        Its errors include what all sets determine. Points, chi-square and degrees of freedom are those of all sets.

        Parameters
        ----------
        label : object
            An item of `labels`.

        Raises
        ------
        KeyError
            If there is no such set, or it was left out.
        """
        if label not in self.labels:
            raise KeyError(f"there is no set {label!r}; the labels are {', '.join(map(repr, self.labels[:20]))}"
                           + (", ..." if len(self.labels) > 20 else ""))
        return self._set(self.labels.index(label))

    def _set(self, k: int) -> Fit:
        if k not in self._fits:
            core = self._core.set(k)
            if core is None:
                raise KeyError(f"the set {self.labels[k]!r} was left out: {self.left_out[self.labels[k]]}")
            self._fits[k] = self._made(k, core)
        return self._fits[k]

    @property
    def sets(self) -> dict[Any, Fit]:
        """The fits of all sets by label, without those that were left out."""
        bad = {k for k, _ in self._core.left_out}
        return {label: self._set(k) for k, label in enumerate(self.labels) if k not in bad}

    @property
    def shared(self) -> dict[str, Quantity]:
        """The shared parameters, with standard errors."""
        return {name: self.fit[name] for name in self._shared}

    @property
    def params(self) -> Array:
        """Parameters of the sets, shape (..., parameters); NaN if the model of a set does not have them."""
        return np.stack([self[name] for name in self.names], axis=-1)

    @property
    def std_errors(self) -> Array:
        """Standard errors, shape (..., parameters)."""
        return np.stack([self.error(name) for name in self.names], axis=-1)

    def __getitem__(self, name: str) -> Array:
        """Return a parameter or a derived quantity, one value per set."""
        return self._quantity(name)[0].reshape(self.shape)

    def error(self, name: str) -> Array:
        """Return the standard errors of a parameter or a derived quantity, one per set."""
        return self._quantity(name)[1].reshape(self.shape)

    def _quantity(self, name: str) -> tuple[Array, Array]:
        check_name(name, "joint")
        found = self._core.quantity(name)
        if found is None:
            raise KeyError(f"{name!r} is neither a parameter nor a derived quantity of a set; there are {', '.join(self.names)}; "
                           "the parameters of the joint fit are in `fit`")
        return found

    @property
    def values(self) -> dict[str, Array]:
        """The parameters by name, one value per set."""
        return {name: self[name] for name in self.names}

    @property
    def errors(self) -> dict[str, Array]:
        """The standard errors by name, one per set."""
        return {name: self.error(name) for name in self.names}

    @property
    def chi_square(self) -> float:
        """Sum of squared weighted residuals, or of their losses, of all sets."""
        return self.fit.chi_square

    @property
    def chi_squares(self) -> Array:
        """Sum of squared weighted residuals, or of their losses, of each set."""
        return self._core.chi_squares.reshape(self.shape)

    @property
    def left_out(self) -> dict[Any, str]:
        """Labels of the sets that were left out, with the reasons."""
        return {self.labels[k]: why for k, why in self._core.left_out}

    @property
    def converged(self) -> bool:
        """True if the fit converged to a minimum."""
        return self.fit.converged

    @property
    def message(self) -> str:
        """Description of the termination."""
        return self.fit.message

    @property
    def warnings(self) -> list[str]:
        """Warnings about the result."""
        return self.fit.warnings

    def to_frame(self) -> DataFrame:
        """Return the results as a table of pandas, one row per set.

        Columns: each parameter and derived quantity with its standard error (``rate``, ``rate_error``), then
        ``chi_square``. The index has the labels.
        """
        derived = next((list(fit.derived) for fit in self.sets.values()), [])
        return frame_of(self.names + derived, self._quantity, {"chi_square": self.chi_squares}, self.labels)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            known = not name.startswith("_") and (hasattr(Fit, name) or name in STATISTICS)
            remedy = (f"; write .fit.{name} for all sets together, or .set(label).{name} for one" if known
                      else of_parameter(self, name, "joint") or hint(name, RESULTS))
            raise unknown(self, name, remedy)

    def report(self) -> str:
        """Return values and errors, statistics, correlations and the chi-square of each set as text."""
        return str(self._core)

    def __len__(self) -> int:
        return len(self._core)

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={found.value:.6g}" for name, found in self.shared.items())
        return f"<JointFit of {len(self)} sets {'converged' if self.converged else 'not converged'}: {shown}>"

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_made", "fit")}
        self.sets  # Fits of all sets: a saved joint fit cannot make them, because it has no functions.
        return {**kept, "json": self._core.to_json(), "_fits": self._fits}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._core = _core.JointFit.from_json(state.pop("json"))
        self.__dict__.update(state)


def fit_joint(f: Callable[..., Any] | str | Model | list[Any] | tuple[Any, ...], x: Any, y: Any, p0: Any = None, *,
              shared: str | Iterable[str] = (), by: Any = None, data: Any = None, sigma: Any = None, absolute_sigma: bool = False,
              x_sigma: Any = None, mask: Any = None, nan_policy: str = "raise", leave_out_bad_sets: bool = False,
              **options: Unpack[Options]) -> JointFit:
    """Fit several data sets together (global or simultaneous fit): shared parameters have one value, others one per set.

    The data are one of these:

    - lists: y is a list with one array per set, of any lengths; x is a list of the same kind, or one x for all sets;
    - a stack: y has the shape (..., points); x has its shape, or is one x for all sets;
    - points with labels: x and y are arrays of all points, and `by` has the label of the set of each point. With
      ``data=`` a DataFrame, x, y, by and sigma are names of its columns.

    Parameters
    ----------
    f : callable, str, Model, or a list of them
        As for `fit`: one model for all sets, or a list with one model per set. In such a list parameters of the same name
        are shared.
    x, y : array_like, list of array_like, or str
        The data.
    p0 : array_like or mapping, optional
        Start by name: ``rate`` for all sets, ``amplitude_2`` for the second one; or the values of the model's parameters
        for all sets; or an array of shape (sets, parameters); or one value per parameter of the joint fit. Values that
        are not given are found as by `fit`.
    shared : str or iterable of str
        Parameters with one value for all sets, if there is one model.
    by : str, list of str or array_like, optional
        Labels of the sets, one per point.
    data : DataFrame, optional
        The table that has the columns.
    sigma : float, array_like, list or str, optional
        Standard deviations of y: one for all, one entry per set, or as y.
    absolute_sigma : bool
        If True, sigma is in the units of y; otherwise only its proportions, also between sets, count.
    x_sigma, mask : optional
        As for `fit`: one for all, one entry per set, or as y.
    nan_policy : {'raise', 'omit'}
        Treatment of points that are not finite; 'omit' leaves out missing values (NaN).
    leave_out_bad_sets : bool
        If True, sets that cannot be fitted are left out: their parameters are NaN, and `JointFit.left_out` has the reasons.
    **options
        See `Options`. Settings of a parameter by its name in the model are for all sets; bounds and fixed values may also
        name the parameter of one set, ``amplitude_2``.

    Returns
    -------
    JointFit

    Raises
    ------
    FitError
        If the request is invalid; the message names the set, counted from 1, and a remedy.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> t = np.linspace(0, 4, 40)
    >>> x, y = [t, t[:30]], [2 * np.exp(-0.7 * t), 5 * np.exp(-0.7 * t[:30])]
    >>> joint = dualfit.fit_joint(lambda x, a, rate: a * np.exp(-rate * x), x, y, {"rate": 1}, shared=["rate"])
    >>> joint.fit.names
    ['a_1', 'rate', 'a_2']
    >>> joint["a"].round(6), round(joint.shared["rate"].value, 6)
    (array([2., 5.]), 0.7)
    """
    check_policy(nan_policy)
    each = list(f) if isinstance(f, (list, tuple)) else [f]
    is_list = len(each) != 1
    models = [model_of(one) for one in each]
    if not models:
        raise FitError("f is an empty list; give one model for all sets, or one per set")
    if by is not None or data is not None:
        sets = grouped(x, y, by, data, sigma, x_sigma, mask)
    else:
        sets = sets_of(x, y, sigma, x_sigma, mask, lambda x: models[0]._takes_rows(x.reshape(-1, x.shape[-1]), None))
    common = [shared] if isinstance(shared, str) else list(shared)
    if is_list and len(models) != len(sets):
        raise FitError(f"f is a list of {len(models)} models for {len(sets)} sets; give one model for all sets, or one per set")
    if is_list and common:
        raise FitError("parameters of the same name are shared by a list of models; leave `shared` out, or give one model")
    xs = _guarded(sets.x)
    shapes = [np.shape(y) for y in sets.y]
    names = _Names(models, common if not is_list else None, len(sets), p0, added(options))
    start = names.start(start_of(p0), options, sets.shape)
    points = _points(sets, absolute_sigma, nan_policy)
    by_column = any(each is not None for each in sets.x_sigma)
    unit = relative_unit(sets.sigma[0], absolute_sigma) if np.ndim(points[0].get("sigma", 1.0)) == 0 else 1.0
    settings = [told(own, given, unit) for own, given in zip(names.of_models, names.options(options))]
    joint = {"shared": common, "leave_out": bool(leave_out_bad_sets), **names.of_sets(options)}
    begun = [names.of_set(start, k) for k in range(len(sets) if is_list else 1)]

    def run(ready: list[Prepared]) -> tuple[_core.JointFit, list[dict[str, Any]]]:
        whole = [{"columns": each.columns, **known} for each, known in zip(ready, points)]
        with shown(settings[0]):
            return _core.fit_joint([each.model for each in (ready if is_list else ready[:1])], whole, list(start.items()) or None,
                                   settings, joint, functools.partial(_place, ready, xs)), whole

    def prepared(prepare: Callable[[Model, list[Any], Any, list[tuple[int, ...]]], list[Prepared]]) -> list[Prepared]:
        if not is_list:
            return prepare(models[0], xs, begun[0], shapes)
        return [prepare(model, [x], p0, [shape])[0] for model, x, p0, shape in zip(models, xs, begun, shapes)]

    ready = prepared(lambda model, xs, p0, shapes: model._prepared_sets(xs, p0, shapes, by_column))
    try:
        core, whole = run(ready)
        _check(core, ready, xs)
    except (NotTraceable, _core.PartialError) as error:
        if by_column or all(each.f is None or each.called is not None for each in ready):
            raise
        reason = str(error).split(";")[0]
        ready = prepared(lambda model, xs, p0, shapes: model._called_sets(xs, p0, shapes, reason))
        core, whole = run(ready)

    def of_set(k: int, found: _core.Fit) -> Fit:
        fit = Fit(found, ready[k], sets.x[k], sets.y[k], whole[k], settings[k if is_list else 0], models[k if is_list else 0]._variables)
        fit._refusal = _OF_A_SET
        return fit

    return JointFit(core, sets.labels, sets.shape, list(dict.fromkeys(name for own in names.of_models for name in own)),
                    names.shared, of_set)


class _Names:
    """Names of the parameters of a joint fit.

    Attributes
    ----------
    of_models : list of lists of str
        Names of the parameters of each model, with the additional ones: one list if all sets have one model.
    shared : list of str
        Names of the parameters of several sets.
    """

    def __init__(self, models: list[Model], shared: list[str] | None, sets: int, p0: Any, additional: list[str]) -> None:
        counts = [0 if model._names is not None else int(np.shape(p0)[-1]) if np.ndim(p0) else model._count(None) for model in models]
        self.of_models = [(model._names if model._names is not None else [f"p{k}" for k in range(count)]) + additional
                          for model, count in zip(models, counts)]
        self._defaults, self._sets = [model._defaults for model in models], sets
        self._shared_of_one = shared
        every = [name for own in self.of_models for name in own]
        self.shared = shared if shared is not None else [name for name in dict.fromkeys(every) if every.count(name) > 1]

    def joint(self, name: str, k: int) -> str:
        """Return the name in the joint fit of a parameter of the model of set `k`."""
        return name if self._shared_of_one is None or name in self._shared_of_one else f"{name}_{k + 1}"

    def all(self) -> list[str]:
        """Return the names of all parameters of the joint fit, in order."""
        each = self.of_models * self._sets if self._shared_of_one is not None else self.of_models
        return list(dict.fromkeys(self.joint(name, k) for k, own in enumerate(each) for name in own))

    def start(self, p0: Any, options: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, float]:
        """Convert a start to values by name, with fixed values and the defaults of the models."""
        tied = options.get("ties") or ()
        if p0 is None or isinstance(p0, dict):
            said = dict(p0 or {})
        else:
            said = {name: value for name, value in self._by_name(np.asarray(p0, dtype=np.float64), shape).items() if name not in tied}
        fixed = options.get("fixed")
        said |= fixed if isinstance(fixed, Mapping) else {}
        for own, defaults in zip(self.of_models, self._defaults):
            said = dict(begin(said, own, defaults, options) or ())
        return {name: float(value) for name, value in said.items()}

    def _by_name(self, p0: NDArray[np.float64], shape: tuple[int, ...]) -> dict[str, float]:
        every, own = self.all(), self.of_models[0]
        if p0.ndim == 1 and p0.size == len(every):
            return dict(zip(every, p0.tolist()))
        if self._shared_of_one is not None and p0.ndim == 1 and p0.size == len(own):
            return dict(zip(own, p0.tolist()))
        if self._shared_of_one is not None and p0.ndim > 1 and p0.shape in ((*shape, len(own)), (self._sets, len(own))):
            rows = p0.reshape(-1, len(own))
            shared = {name: float(np.median(column)) for name, column in zip(own, rows.T) if name in self._shared_of_one}
            return shared | {self.joint(name, k): float(value) for k, row in enumerate(rows) for name, value in zip(own, row)
                             if name not in self._shared_of_one}
        one = f"{len(own)} values of the model's parameters, an array of shape {(self._sets, len(own))}, or "
        raise FitError(f"p0 has the shape {p0.shape}; give {one if self._shared_of_one is not None else ''}{len(every)} values of all parameters "
                       f"({', '.join(every[:8])}{', ...' if len(every) > 8 else ''}), or values by name")

    def of_set(self, start: Mapping[str, float], k: int) -> dict[str, float]:
        """Return the start of set `k` by the names of its model."""
        own = self.of_models[k if self._shared_of_one is None else 0]
        found = {name: start.get(self.joint(name, k), start.get(name)) for name in own}
        return {name: value for name, value in found.items() if value is not None}

    def options(self, options: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the options of each model: settings of its parameters by their names in the model.

        Raises
        ------
        FitError
            If a tie, prior, scale or derived quantity is about parameters that no model has.
        """
        made: list[dict[str, Any]] = [{**options} for _ in self.of_models]
        for what in ("bounds", "fixed", "ties", "priors", "scales", "derived"):
            given = options.get(what)
            if given is None:
                continue
            by_name = [given] if isinstance(given, str) else given
            if what == "bounds" and not isinstance(given, Mapping):
                if len(made) > 1:
                    raise FitError(f"bounds is {given!r}; give bounds by name, because the models have different parameters")
                continue
            left = set(by_name)
            for own, each in zip(self.of_models, made):
                known = {name for name in by_name if self._is_of(what, name, by_name, own)}
                each[what] = {name: by_name[name] for name in by_name if name in known} if isinstance(by_name, Mapping) else [
                    name for name in by_name if name in known]
                left -= known
            if left and what not in ("bounds", "fixed"):
                raise FitError(f"{what} has {', '.join(map(repr, sorted(left)))}, which no model of a set has; the models have "
                               f"{', '.join(dict.fromkeys(name for own in self.of_models for name in own))}")
        return made

    @staticmethod
    def _is_of(what: str, name: str, given: Any, own: list[str]) -> bool:
        if what != "derived":
            return name in own
        return isinstance(given, Mapping) and all(of in own or of in given for of in names_in(str(given[name])))

    def of_sets(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the bounds and the names of fixed parameters that are not those of a model: of one set, ``amplitude_2``."""
        known = {name for own in self.of_models for name in own}
        bounds, fixed = options.get("bounds"), options.get("fixed") or ()
        pairs = bounded([], bounds) if isinstance(bounds, Mapping) else []
        return {"bounds": [pair for pair in pairs if pair[0] not in known],
                "fixed": [name for name in ([fixed] if isinstance(fixed, str) else fixed) if name not in known]}


def _guarded(xs: list[Any]) -> list[Any]:
    """Return x of each set for its model; an x that all sets share remains one object."""
    made: dict[int, Any] = {}
    return [made.setdefault(id(x), guarded(independent(x))) if id(x) not in made else made[id(x)] for x in xs]


def _points(sets: Sets, absolute: bool, nan_policy: str) -> list[dict[str, Any]]:
    """Return the points of each set for the core, without the columns of the model."""
    is_one = all(sigma is sets.sigma[0] for sigma in sets.sigma)
    each = []
    for x, y, sigma, x_sigma, mask in zip(sets.x, sets.y, sets.sigma, sets.x_sigma, sets.mask):
        # The core ignores a single relative sigma, but sigmas of several sets are weights of the sets.
        own = np.full(np.shape(y), float(sigma)) if sigma is not None and not is_one and np.ndim(sigma) == 0 else sigma
        each.append(points_of(x, y, own, absolute, x_sigma, mask, nan_policy))
    return each


def _place(ready: list[Prepared], xs: list[Any], k: int, index: int) -> list[tuple[str, float]] | None:
    """Describe a point of set `k` for messages; None if the core knows the variables."""
    return None if ready[k].f is None else point_of(xs[k], ready[k].columns[0].size, index)


def _check(core: _core.JointFit, ready: list[Prepared], xs: list[Any]) -> None:
    """Compare recordings with their functions at the fitted parameters of some sets.

    Raises
    ------
    NotTraceable
        If they differ.
    """
    for k in some_fits(len(ready)):
        each, fit = ready[k], core.set(int(k))
        if each.f is None or each.called is not None or fit is None or not np.isfinite(fit.params).all():
            continue
        own = fit.params[:len(each.model.parameters)]
        if each.over_x:
            check_columns(each, each.columns, own, fit.agrees)
        else:
            check_end(each.f, xs[k], each.shape, each.columns, fit.agrees, own)

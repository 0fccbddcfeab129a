"""The result of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._bootstrap import Bootstrap
from ._contour import Contour
from ._core import FitError
from ._data import dense, guarded, independent, whole, x_columns
from ._hints import RESULTS, hint, of_parameter, unknown
from ._kept import as_json, state
from ._prepare import KEPT, Called, Prepared
from ._profile import Profile
from ._progress import shown
from ._results import Array, Band, Component, InOrder, Interval, Optima, Quantity
from ._settings import bounded, check_constants

if TYPE_CHECKING:
    from matplotlib.axes import Axes


T = TypeVar("T")


class Fit:
    """Result of a fit: parameters, standard errors, termination.

    Returned by `dualfit.fit` and `Model.fit`. It prints as a report, in a notebook as a table, and can be pickled.

    Attributes
    ----------
    x, y : array_like or None
        The data; None after a fit of files or of parts.
    """

    x: Any
    y: Any
    _optima: Optima | None = None
    #: Reason why the fit cannot be repeated: it is a part of a joint fit.
    _refusal: str = ""
    #: False for the fit of all sets of a joint fit together.
    _has_curve: bool = True

    def __init__(self, core: _core.Fit, prepared: Prepared | None, x: Any = None, y: Any = None,
                 points: dict[str, Any] | None = None, settings: dict[str, Any] | None = None,
                 variables: list[str] | None = None) -> None:
        self._core, self._prepared, self.x, self.y = core, prepared, x, y
        self._points, self._settings, self._variables = points or {}, settings or {}, variables

    # Parameters

    @property
    def names(self) -> list[str]:
        """Names of the parameters, in order."""
        return self._core.names

    @property
    def params(self) -> Array:
        """Values of the parameters, in order."""
        return self._core.params.view(InOrder)

    @property
    def std_errors(self) -> Array:
        """Standard errors: infinite if the data do not determine a parameter, NaN on a bound, 0 if fixed."""
        return self._core.std_errors.view(InOrder)

    @property
    def covariance(self) -> Array:
        """The covariance matrix of the parameters."""
        return self._core.covariance

    @property
    def correlation(self) -> Array:
        """The correlation matrix of the parameters."""
        return self._core.correlation

    @property
    def start(self) -> Array:
        """Starting point of the fit."""
        return self._core.start

    @property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        return dict(zip(self.names, self.params.tolist()))

    @property
    def errors(self) -> dict[str, float]:
        """The standard errors by name."""
        return dict(zip(self.names, self.std_errors.tolist()))

    def __getitem__(self, name: str) -> Quantity:
        """Return a parameter or a derived quantity, with its standard error."""
        if not isinstance(name, str):
            raise TypeError(f"fit[{name!r}] does not exist: a fit is not a pair of arrays; write fit.params and fit.covariance, fit[\"name\"] for "
                            f"one parameter, or popt, pcov = dualfit.curve_fit(f, x, y, p0)")
        found = self._core.quantity(name)
        if found is None:
            raise KeyError(f"{name!r} is neither a parameter nor a derived quantity; there are "
                           f"{', '.join(self.names + [known for known, _, _ in self._core.derived])}")
        return Quantity(*found)

    @property
    def derived(self) -> dict[str, Quantity]:
        """Derived quantities: formulas of the parameters, with standard errors."""
        return {name: Quantity(value, error) for name, value, error in self._core.derived}

    def confidence_intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Confidence interval (lower, upper) of each parameter, from its standard error.

        Parameters
        ----------
        level : float
            Probability that an interval covers the true value.
        """
        return {name: Interval(*ends) for name, ends in zip(self.names, self._core.confidence_intervals(level))}

    def propagate(self, formula: str) -> Quantity:
        """Evaluate a formula of parameters and derived quantities, with its standard error from the covariance.

        Parameters
        ----------
        formula : str
            For example ``"log(2)/rate"``.

        Examples
        --------
        >>> import dualfit, numpy as np
        >>> x = np.linspace(0, 4, 50)
        >>> y = 2.5 * np.exp(-1.3 * x) + 0.01 * np.sin(9 * x)
        >>> fit = dualfit.fit(lambda x, a, rate: a * np.exp(-rate * x), x, y, [1, 1])
        >>> round(fit.propagate("ln(2)/rate").value, 2)
        0.53
        """
        check_constants(self.names)
        return Quantity(*self._core.propagate(formula))

    # Termination

    @property
    def converged(self) -> bool:
        """True if the fit converged to a minimum."""
        return self._core.converged

    @property
    def message(self) -> str:
        """Description of the termination."""
        return self._core.message

    @property
    def warnings(self) -> list[str]:
        """Warnings about the result."""
        return self._core.warnings

    @property
    def rank(self) -> int:
        """Rank of the Jacobian: number of parameter combinations that the data determine."""
        return self._core.rank

    @property
    def undetermined(self) -> list[str]:
        """Parameters that the data do not determine."""
        return self._core.undetermined

    @property
    def at_bound(self) -> dict[str, str]:
        """Parameters on a bound, by name: ``"lower"`` or ``"upper"``."""
        return dict(self._core.at_bound)

    @property
    def statistics(self) -> dict[str, Any]:
        """``chi_square``, ``reduced_chi_square``, ``r_squared``, ``rmse``, ``aic``, ``bic``, ``degrees_of_freedom``, ..."""
        return self._core.statistics

    @property
    def start_search(self) -> dict[str, Any] | None:
        """Result of the search for the start, with its reliability; None if no search was made.

        ``reached`` of ``fits`` fits from independent starts converged to this minimum. ``next_cost_ratio`` is the cost
        of the next best minimum divided by the cost of this one. ``settled`` is false if the budget was used up.
        ``stopped`` is true if a callback or Ctrl-C ended the search.
        """
        return self._core.start_search

    @property
    def optima(self) -> Optima | None:
        """Starts and minima of `multi_start` and `differential_evolution`; None for other fits."""
        return self._optima

    @property
    def stats(self) -> dict[str, Any]:
        """Statistics of the computation: ``processor``, ``reason``, ``passes``, ``solve_seconds``, ..."""
        return self._core.stats

    # The entries of `statistics`, declared for type checkers.
    points: int
    effective_points: float
    omitted: int
    estimated: int
    degrees_of_freedom: int
    cost: float
    chi_square: float
    reduced_chi_square: float | None
    chi_square_p_value: float | None
    r_squared: float | None
    adjusted_r_squared: float | None
    rmse: float
    aic: float
    bic: float

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in STATISTICS:
                return self.statistics[name]
            raise unknown(self, name, of_parameter(self, name, "fit") or hint(name, RESULTS))

    def __dir__(self) -> list[str]:
        """Return all attributes, with those of `statistics`, for completion."""
        return [*super().__dir__(), *STATISTICS]

    def report(self) -> str:
        """Return values and errors, statistics, correlations and warnings as text."""
        return str(self._core)

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value:.6g}" for name, value in self.values.items())
        return f"<Fit {'converged' if self.converged else 'not converged'}: {shown}>"

    def _repr_html_(self) -> str:
        statistics = self.statistics
        notes = "".join(f"<li>{_escaped(text)}</li>" for text in self.warnings)
        shown = " &nbsp; ".join(f"{label} {statistics[name]:.6g}" for label, name in
                                (("χ²", "chi_square"), ("reduced χ²", "reduced_chi_square"), ("R²", "r_squared"),
                                 ("AIC", "aic"), ("BIC", "bic")) if statistics[name] is not None)
        return (f"<p><b>{_escaped(self.message)}</b></p>{self._core.html()}<p>{statistics['points']} points &nbsp; {shown}"
                f"</p>{'<ul>' + notes + '</ul>' if notes else ''}")

    def latex(self) -> str:
        """Return the parameters as a LaTeX table."""
        return self._core.latex_table()

    # The curve

    def predict(self, x: Any = None) -> Array:
        """Evaluate the fitted curve.

        Parameters
        ----------
        x : array_like, optional
            Independent variables as in the fit; by default those of the data.
        """
        prepared = self._prepared
        if prepared is not None and prepared.f is not None:
            if x is None:
                self._data("y")
            at = self.x if x is None else independent(x)
            # The last parameters were added for ties.
            own = self.params[:self.params.size - len(self._settings.get("parameters", ()))]
            values = np.asarray(prepared.f(guarded(at), *own), dtype=np.float64)
            return np.array(np.broadcast_to(values, prepared.shape)) if x is None else values
        core, columns = self._over(x)
        return core.predict(columns)

    def __call__(self, x: Any) -> Array:
        """Evaluate the fitted curve; the same as `predict`."""
        return self.predict(x)

    def residuals(self) -> Array:
        """y minus the fitted curve at the data: positive if a point is above the curve."""
        return np.asarray(np.asarray(self._data("y"), dtype=np.float64) - self.predict())

    def confidence_band(self, x: Any = None, level: float = 0.95, simultaneous: bool = False) -> Band:
        """Confidence band of the curve.

        Parameters
        ----------
        x : array_like, optional
            Independent variables as in the fit; by default those of the data.
        level : float
            The probability.
        simultaneous : bool
            If True, the band covers the whole curve with this probability; otherwise each point separately.
        """
        core, columns = self._over(x)
        return Band(**core.confidence_band(columns, level, simultaneous), level=level)

    def prediction_band(self, x: Any = None, level: float = 0.95, sigma: Any = None,
                        absolute_sigma: bool | None = None) -> Band:
        """Prediction band, which covers a new observation at each point.

        Parameters
        ----------
        x : array_like, optional
            Independent variables as in the fit; by default those of the data.
        level : float
            The probability.
        sigma : float or array_like, optional
            Standard deviations of the new observations; required if the standard deviations of the data differed.
        absolute_sigma : bool, optional
            If True, `sigma` is in the units of y. Otherwise it is relative, like the fit's sigma: the common factor is
            estimated from the scatter of the data. Default: as in the fit; True if the fit had no sigma.
        """
        core, columns = self._over(x)
        one = self._points.get("sigma")
        # The core ignores a single relative sigma of all data; here it is the unit of the new sigma.
        one = float(one) if one is not None and np.ndim(one) == 0 and not self._points["absolute"] else None
        relative = (core.has_relative_sigma or one is not None) if absolute_sigma is None else not absolute_sigma
        if sigma is not None and (relative or np.ndim(sigma)):
            sigma = np.ascontiguousarray(sigma, dtype=np.float64) / (one if relative and one is not None else 1.0)
            if relative:
                sigma = np.array(np.broadcast_to(sigma, (len(columns[0]),))) if sigma.ndim == 0 else sigma
        return Band(**core.prediction_band(columns, level, sigma, relative), level=level)

    def components(self, x: Any = None) -> list[Component]:
        """Evaluate the terms of a sum of library models; their sum is the curve.

        Parameters
        ----------
        x : array_like, optional
            Independent variables as in the fit; by default those of the data.
        """
        core, columns = self._over(x)
        return [Component(*each) for each in core.components(columns)]

    def diagnostics(self) -> dict[str, Any]:
        """Diagnostics of the residuals: ``studentized``, ``leverage``, ``cooks_distance``, ``durbin_watson``, ...

        ``robust_scale`` is the standard deviation of the weighted residuals, estimated from their median absolute
        value, which outliers hardly affect: 4.685 times it is the usual `loss_scale` of Tukey's loss.

        With a robust loss there is no leverage: quantities that need it are NaN, and ``standardized`` is the residual
        in units of its scatter.
        """
        return self._core.diagnostics(self._data("_points"))

    def profile(self, name: str, level: float = 0.99) -> Profile:
        """Profile of a parameter: refits with the parameter fixed at values on both sides of its estimate.

        Its intervals do not assume that the cost is a parabola.

        Parameters
        ----------
        name : str
            The parameter.
        level : float
            Confidence level that the profile covers; an interval of a higher level extends it.

        Returns
        -------
        Profile
            With ``values``, ``taus``, ``params`` and ``interval(level)``.
        """
        return Profile(lambda level: self._again(lambda model, points, settings: model.profile(
            self._core, points, settings, name, level)), level)

    def bootstrap(self, n_resamples: int = 1000, resample: str = "residuals", *, seed: int = 0,
                  memory_limit: int | None = None) -> Bootstrap:
        """Bootstrap of the fit: refits of data that are drawn at random.

        The spread of the refits determines errors and intervals without the linear approximation of standard errors.

        Parameters
        ----------
        n_resamples : int
            Number of refits, from 2 to 10 million. Standard errors need about 200, intervals of 95 % about 2000.
        resample : {'residuals', 'parametric', 'pairs'}
            Draws the residuals of the fit with replacement and adds them to its curve; draws normal errors (counts, if y
            are counts) about its curve; or draws whole points (case resampling).
        seed : int
            Seed of the draws. The same seed gives the same data.
        memory_limit : int, optional
            Memory of drawn data in bytes, 256 MiB by default.

        Returns
        -------
        Bootstrap
            With ``params``, ``std_errors``, ``bias`` and ``interval(name, level)``.

        Raises
        ------
        FitError
            If the method does not apply to the data, or the fit did not converge.

        Examples
        --------
        >>> import dualfit, numpy as np
        >>> x = np.arange(30) / 10
        >>> y = 2 * np.exp(-x) + 0.1 * np.sin(9 * x)
        >>> fit = dualfit.fit("a*exp(-b*x)", x, y, [1, 1])
        >>> made = fit.bootstrap(1000, seed=7)
        >>> low, high = made.interval("ln(2)/b", 0.95)
        >>> low < 0.69 < high
        True
        """
        if self._called is not None and resample == "pairs":
            raise FitError("the points of a function that is called directly cannot be drawn, because it may have values at all points "
                           "together only; use resample=\"residuals\" or \"parametric\"")
        count, seed = whole("n_resamples", n_resamples), whole("seed", seed)
        memory = None if memory_limit is None else whole("memory_limit", memory_limit)
        called = self._called
        return Bootstrap(self._again(lambda model, points, settings: _core.bootstrap(
            model, self._core, points if called is None else _kept(called, points), settings, count, resample, seed, memory)))

    def contour(self, first: str, second: str, levels: Sequence[float] = (0.6827, 0.95), *, points: Any = None,
                ranges: Mapping[str, tuple[float, float]] | None = None) -> Contour:
        """Joint confidence regions of two parameters, from refits on a grid.

        At each point of the grid the cost is minimised over all other parameters, as by ``conf_interval2d`` of lmfit.

        Parameters
        ----------
        first, second : str
            Names of the parameters.
        levels : sequence of float
            Joint confidence levels of the contour lines.
        points : int or (int, int), optional
            Number of grid points along each parameter, from 2 to 2000; by default 101, or 41 for more than 10,000 points.
        ranges : mapping of str to (float, float), optional
            Range of the grid by parameter; by default the extent of the outermost region.

        Returns
        -------
        Contour
            Grid, contour lines and, if a refit found one, a better minimum.

        Raises
        ------
        FitError
            If a parameter is fixed or tied, or a level or range is invalid.

        Examples
        --------
        >>> import dualfit, numpy as np
        >>> x = np.array([1.0, 2, 3, 4, 5, 7])
        >>> y = np.array([8.3, 10.3, 19.0, 16.0, 15.6, 19.8])
        >>> fit = dualfit.fit("limit*(1 - exp(-rate*x))", x, y, {"limit": 20, "rate": 0.5})
        >>> region = fit.contour("limit", "rate", [0.5], points=41)
        >>> region.excess.shape, len(region.lines[0].paths)
        ((41, 41), 1)
        """
        sides = None if points is None else [whole("points", n) for n in np.broadcast_to(points, (2,)).tolist()]
        ends = {name: (low, high) for name, low, high in bounded([], ranges)}
        strange = [name for name in ends if name not in (first, second)]
        if strange:
            raise FitError(f"ranges has {strange[0]!r}; the contour is of {first!r} and {second!r}")
        grid = {"levels": [float(level) for level in np.atleast_1d(levels)], "points": sides,
                "ranges": [ends.get(first), ends.get(second)]}
        made = self._again(lambda model, points, settings: _core.contour(
            model, self._core, points, settings, first, second, grid))
        return Contour.of((first, second), **made)

    def plot(self, ax: Axes | None = None, *, level: float | None = 0.95, points: int = 400, components: bool = True,
             residuals: bool | Axes = False) -> Axes:
        """Draw data, curve and confidence band with matplotlib; the residuals, too, if requested.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes by default.
        level : float, optional
            Confidence level of the band; None for no band.
        points : int
            Number of points of the drawn curve.
        components : bool
            If True, the terms of a sum of library models are drawn, too.
        residuals : bool or matplotlib.axes.Axes
            If True, the residuals are drawn on axes below the curve, ``ax.figure.axes[1]``; or the axes to draw them on.
        """
        from ._plot import plotted

        return plotted(self, ax, level, points, components, residuals)

    def uncertainties(self) -> dict[str, Any]:
        """Parameters as correlated numbers of the package `uncertainties`, by name; an unknown error is NaN."""
        from uncertainties import correlated_values, ufloat

        known = np.isfinite(np.diag(self.covariance))
        made = iter(correlated_values(self.params[known], self.covariance[np.ix_(known, known)]))
        return {name: next(made) if is_known else ufloat(value, np.nan)
                for name, value, is_known in zip(self.names, self.params, known)}

    # The names of lmfit

    @property
    def best_values(self) -> dict[str, float]:
        """lmfit's name for `values`."""
        return self.values

    @property
    def best_fit(self) -> Array:
        """lmfit's name for ``predict()``."""
        return self.predict()

    @property
    def success(self) -> bool:
        """lmfit's name for `converged`."""
        return self.converged

    @property
    def covar(self) -> Array:
        """lmfit's name for `covariance`."""
        return self.covariance

    @property
    def chisqr(self) -> float:
        """lmfit's name for ``chi_square``."""
        return float(self.statistics["chi_square"])

    @property
    def redchi(self) -> float | None:
        """lmfit's name for ``reduced_chi_square``."""
        value: float | None = self.statistics["reduced_chi_square"]
        return value

    @property
    def nfev(self) -> int:
        """lmfit's name for the number of evaluations."""
        return self._core.evaluations

    def fit_report(self) -> str:
        """lmfit's name for `report`."""
        return self.report()

    def eval(self, x: Any = None) -> Array:
        """lmfit's name for `predict`."""
        return self.predict(x)

    # Serialization

    def to_json(self) -> str:
        """Return the result as JSON, to save it in a file. The Rust crate can read it, too."""
        return as_json(self)

    @staticmethod
    def from_json(text: str) -> Fit:
        """Load a result from JSON. The curve cannot be evaluated if the model is a function that was not recorded."""
        return Fit(_core.Fit.from_json(text), None)

    def __getstate__(self) -> dict[str, Any]:
        return state(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._core = _core.Fit.from_json(state["json"])
        self.x, self.y, self._optima, self._variables = state["x"], state["y"], state["optima"], state["variables"]
        self._refusal, self._has_curve = state["refusal"], state["has_curve"]
        self._points, self._settings, self._prepared = state["points"], state["settings"], None
        if state["kept"] is not None:
            f, columns, shape, key, over_x = state["kept"]
            self._prepared = Prepared(f, None, columns, shape, key=key, over_x=over_x)

    @property
    def _called(self) -> Called | None:
        """The function, if the model is called directly."""
        return None if self._prepared is None else self._prepared.called

    def _again(self, work: Callable[[_core.Model, dict[str, Any], dict[str, Any]], T]) -> T:
        """Repeat fits of the model by `work`, which receives the model, the points and the settings of the fit."""
        if self._refusal:
            raise FitError(self._refusal)
        if self._prepared is None:
            raise ValueError(KEPT)
        if self._called is not None:
            self._called.here()
        with shown(self._settings):
            return work(self._prepared.model, self._data("_points"), self._settings)

    def _data(self, name: str) -> Any:
        self._expect_curve()
        value = getattr(self, name)
        if value is None or (isinstance(value, dict) and not value):
            raise ValueError("the data are not with this fit, which was kept in a file or was one of files or parts")
        return value

    def _expect_curve(self) -> None:
        if not self._has_curve:
            raise FitError(self._refusal)

    def _over(self, x: Any) -> tuple[_core.Fit, list[NDArray[Any]]]:
        """Return the fit with the program of the model at `x`, and the columns of these points."""
        self._expect_curve()
        prepared = self._prepared
        if x is None:
            self._data("y")
            assert prepared is not None
            return self._core, prepared.columns
        if prepared is None or prepared.over_x:
            return self._core, x_columns(x, self._variables)
        if prepared.f is None:
            raise ValueError("the function is not with this fit, which was kept, and its program has values at the data only; "
                             "fit a function that pickle finds by its name, or a formula")
        here = prepared.at(independent(x), self.params, self.names)
        is_same = here.called is prepared.called and here.key == prepared.key
        return self._core if is_same else self._core.replace_model(here.model), here.columns


#: Entries of `statistics` that are attributes.
STATISTICS = frozenset(Fit.__annotations__) - {"x", "y", "_optima", "_refusal", "_has_curve"}


def _kept(called: Called, points: dict[str, Any]) -> dict[str, Any]:
    """Return the points of a function that is called directly without those that are left out of the fit."""
    y, sigma = points["y"], np.asarray(points.get("sigma", 1.0))
    used = np.array(points.get("mask", np.ones(y.size, dtype=np.bool_)))
    if points["omit"]:
        used &= np.isfinite(y) & (np.isfinite(sigma) if sigma.ndim < 2 else True)
    if used.all():
        return points
    index = np.flatnonzero(used)
    kept = {**points, "y": y[index], "columns": [called.column_of(points["columns"][0], index)], "omit": False}
    kept.pop("mask", None)
    if sigma.ndim:
        kept["sigma"] = dense(sigma[index] if sigma.ndim == 1 else sigma[np.ix_(index, index)])
    return kept


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

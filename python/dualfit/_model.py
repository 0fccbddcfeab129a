"""Models with names, and fits of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import FitError
from ._batch import Batch, stacked
from ._data import guarded, independent, meant, points_of, real, relative_unit, samples, start_of, x_columns
from ._fit import Fit
from ._formula import check_not_a_name, variables_of, written
from ._hints import MODELS_OF_LMFIT, hint, unknown, x_first
from ._prepare import Prepared, Work, fitted, over_columns, called_sets, parameter_names, prepared, prepared_rows, prepared_sets
from ._progress import shown
from ._sets import column_of
from ._settings import Options, added, begin, told, with_fixed
from ._trace import NotTraceable, record_columns

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

#: If x has the shape of the stack and at most this number of rows, the rows can be independent variables. With more
#: rows, each row is the x of one fit.
_MOST_VARIABLES = 8


class Model:
    """A model for fits: a function, a formula as text, or a combination of library models.

    Parameters
    ----------
    f : callable, str or Model
        ``f(x, a, b, ...)``; its signature names the parameters. Numeric defaults are starting values; other defaults
        (``kind="linear"``, ``log=False``) mark options. Or a formula such as ``"a*exp(-b*x) + c"``.
    names : sequence of str, optional
        Names of the parameters, if the signature does not name them: ``f(x, *p)``.
    prefix : str
        Prefix of the parameter names, to distinguish the parameters of a sum.
    variables : sequence of str, optional
        The independent variables of a formula; by default x, or t if there is no x.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfit import Model, models
    >>> x = np.linspace(0, 10, 200)
    >>> y = 3 * np.exp(-((x - 4) ** 2)) + 0.5 * x
    >>> spectrum = models.gaussian("peak_") + models.linear("bg_")
    >>> round(spectrum.fit(x, y).values["peak_center"], 6)
    4.0
    """

    _library: _core.LibraryModel | None
    _f: Callable[..., Any] | None

    def __init__(self, f: Callable[..., Any] | str | Model, names: Sequence[str] | None = None, *, prefix: str = "",
                 variables: Sequence[str] | None = None) -> None:
        self._library, self._f, self._defaults = None, None, None
        self._variables: list[str] | None = None
        self._recipe: tuple[Any, ...] | None = None
        if isinstance(f, str):
            if variables is None:
                check_not_a_name(f)
            f = Model._of("expression", f, variables_of(f) if variables is None else list(variables))
        if isinstance(f, Model):
            if prefix and f._library is not None:
                f = Model._of("prefixed", f, prefix)
            self._library, self._f, self._defaults = f._library, f._f, f._defaults
            self._variables, given, self._recipe = f._variables, f._names, f._recipe
        else:
            if not callable(f):
                raise TypeError(f"a model is a function, a formula as text or a Model, not {type(f).__name__}; it is the first argument: "
                                f"write fit(f, x, y, p0)")
            self._f = f
            found = parameter_names(f)
            given, self._defaults = found if found is not None else (None, None)
        if self._library is not None:
            self._names: list[str] | None = self._library.parameters
        else:
            given = given if names is None else list(names)
            self._names = given if given is None else [prefix + name for name in given]
            if names is not None and self._defaults is not None and len(self._defaults) != len(names):
                raise ValueError(f"{len(names)} names for a function of {len(self._defaults)} parameters")

    @classmethod
    def _of(cls, *recipe: Any) -> Self:
        """Create a model by a method of the core. `recipe`: name and arguments of the method; pickled for the model."""
        model = cls.__new__(cls)
        model._recipe, model._f, model._defaults = recipe, None, None
        model._cook()
        return model

    def _cook(self) -> None:
        assert self._recipe is not None
        method, *given = self._recipe
        parts = [part._library if isinstance(part, Model) else part for part in given]
        library: _core.LibraryModel = getattr(_core.LibraryModel, method)(*parts)
        self._library, self._variables, self._names = library, library.variables, library.parameters

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_library": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._recipe is not None:
            self._cook()

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters.

        Raises
        ------
        ValueError
            For ``f(x, *p)`` without names: the number of parameters depends on the start.
        """
        if self._names is None:
            raise ValueError("the signature does not name the parameters; give names, or a start of values")
        return list(self._names)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Default bounds of library models, for example of widths."""
        if self._library is None:
            return {}
        return {n: b for n, b in zip(self._library.parameters, self._library.bounds) if b != (-np.inf, np.inf)}

    @x_first
    def guess(self, x: Any, y: Any) -> dict[str, float]:
        """Compute an initial guess from the data, for library models.

        Parameters
        ----------
        x, y : array_like
            As for `fit`.
        """
        if self._library is None:
            raise ValueError("only models of the library know how to guess; give p0, or defaults in the signature")
        found = self._library.guess({"columns": x_columns(x, self._variables), "y": samples(y)})
        return dict(zip(self._library.parameters, found))

    def evaluate(self, x: Any, params: Any = None, **named: float) -> NDArray[np.float64]:
        """Evaluate the model, for example to check a start before the fit.

        Parameters
        ----------
        x : array_like
            As for `fit`.
        params : array_like or mapping of str to float, optional
            All values, or some by name.
        **named
            Values by name. The defaults of the signature are used for values that are not given.

        Raises
        ------
        FitError
            If a parameter has no value, or does not exist.

        Examples
        --------
        >>> from dualfit import models
        >>> models.linear().evaluate([0, 1, 2], slope=2, intercept=1)
        array([1., 3., 5.])
        """
        params = start_of({} if params is None else params, of_numbers=False)
        if isinstance(params, dict):
            given = {**params, **named}
            names, defaults = self.parameters, self._defaults or []
            values = [given.pop(name, default) for name, default in zip_longest(names, defaults)]
            if given or None in values:
                missing = [name for name, value in zip(names, values) if value is None]
                what = f"there is no parameter {', '.join(given)}" if given else f"no value is given for {', '.join(missing)}"
                raise FitError(f"{what}; the model has {', '.join(names)}")
        else:
            values = real(params).reshape(-1).tolist()
            if named or len(values) != self._count(params):
                raise FitError(f"the model has {self._count(params)} parameter(s) but {len(values) + len(named)} value(s) are given")
        if self._library is not None:
            return self._library.model().evaluate(x_columns(independent(x), self._variables), [float(value) for value in values])
        assert self._f is not None
        return np.asarray(self._f(guarded(independent(x)), *values), dtype=np.float64)

    @x_first
    def fit(self, x: Any, y: Any, p0: Any = None, *, data: Any = None, sigma: Any = None, absolute_sigma: bool = False,
            x_sigma: Any = None, mask: Any = None, nan_policy: str = "raise", **options: Unpack[Options]) -> Fit:
        """Fit the model to data.

        Parameters
        ----------
        x : array_like, DataFrame or object
            The independent variable of n points; several as rows of an array, as a list of arrays, or as a table.
        y : array_like
            The n observations, of any sample type.
        p0 : array_like or mapping of str to float, optional
            The start: all values, or some by name. Values that are not given come from the defaults of the signature,
            from the initial guess of a library model, or from a linear solve for linear parameters.
        data : DataFrame, optional
            A table: x, y, sigma, x_sigma and mask can be names of its columns, x also a list of names.
        sigma : float, array_like of length n or shape (n, n), optional
            Standard deviations of y, or their covariance.
        absolute_sigma : bool
            If True, sigma is in the units of y; otherwise only its proportions count. True without sigma means that
            sigma is 1.
        x_sigma : float, array_like or list of them, optional
            Standard deviations of x, one entry per independent variable; sigma must be given, too.
        mask : array_like of bool, optional
            True for points that are fitted. Points that are masked in a masked array are left out, too.
        nan_policy : {'raise', 'omit'}
            Treatment of points that are not finite; 'omit' leaves out missing values (NaN).
        **options
            See `dualfit.Options`: bounds, fixed, ties, priors, loss, poisson, tolerances, backend, progress, ...

        Returns
        -------
        Fit

        Raises
        ------
        FitError
            If the request is invalid; the message names a remedy. A fit that does not converge is not an error: it
            returns a `Fit` with ``converged`` False.
        """
        x, y, sigma, x_sigma, mask = (column_of(data, what) for what in (x, y, sigma, x_sigma, mask))
        return self._fitted(x, y, p0, sigma, absolute_sigma, x_sigma, mask, nan_policy, options)

    def _fitted(self, x: Any, y: Any, p0: Any, sigma: Any, absolute_sigma: bool, x_sigma: Any, mask: Any, nan_policy: str,
               options: Mapping[str, Any], work: Work = _core.Model.fit) -> Fit:
        """Fit the model like `fit`, by another function of the core."""
        known = points_of(x, y, sigma, absolute_sigma, x_sigma, mask, nan_policy)
        sigma = meant(sigma, absolute_sigma)
        x, p0 = guarded(independent(x)), with_fixed(start_of(p0), options.get("fixed"), self._names)
        self._check_arguments(p0, options)
        ready = self._prepared(x, p0, np.shape(y), by_column=x_sigma is not None)
        names = ready.model.parameters
        has_own = np.ndim(known.get("sigma", 1.0)) > 0
        settings = told(names, options, 1.0 if has_own else relative_unit(sigma, absolute_sigma))
        points: dict[str, Any] = {"columns": ready.columns, **known}
        start = begin(p0, names, self._defaults, options)
        with shown(settings):
            ready, core = fitted(ready, x, self._somewhere(p0), self._names, points, start, settings, work)
        return Fit(core, ready, x, y, points, settings, self._variables)

    def fit_batch(self, x: Any, stack: Any, p0: Any = None, *, sigma: Any = None, absolute_sigma: bool = False,
                  mask: Any = None, nan_policy: str = "raise", covariance: bool = False,
                  **options: Unpack[Options]) -> Batch:
        """Fit the model to each row of a stack, in one call.

        Parameters
        ----------
        x : array_like
            Array of n points that all fits share, or of the shape of the stack if each fit has its own x.
        stack : array_like of shape (..., n)
            The observations, of any sample type; they are not copied if they are contiguous.
        p0 : array_like or mapping, optional
            One start for all fits, by values or by name, or an array of shape (..., parameters).
        sigma : float or array_like, optional
            One for all, or one per observation.
        absolute_sigma : bool
            If True, sigma is in the units of y.
        mask : array_like of bool, optional
            True for observations that are fitted.
        nan_policy : {'raise', 'omit'}
            Treatment of observations that are not finite. With 'raise', only the fit that contains them fails.
        covariance : bool
            If True, covariance matrices are kept.
        **options
            See `dualfit.Options`.

        Returns
        -------
        Batch
            With arrays ``params``, ``std_errors``, ``costs``, ``converged``, ... in the shape of the stack.
        """
        return stacked(self, x, stack, p0, sigma, absolute_sigma, mask, nan_policy, covariance, dict(options))

    def over_columns(self, columns: int, p0: Any = None) -> Prepared:
        """Prepare the model for raw columns of x, as in files and parts of distributed fits."""
        if self._library is not None:
            return Prepared(None, self._library.model(), [], (), over_x=True)
        assert self._f is not None
        return over_columns(self._f, columns, self._somewhere(p0), self._names)

    def latex(self) -> str:
        """Return the formula of the model as LaTeX."""
        if self._library is not None:
            return self._library.model().latex()
        ready = self.over_columns(1)
        return ready.model.latex()

    def _count(self, p0: Any) -> int:
        if self._names is not None:
            return len(self._names)
        if p0 is None or isinstance(p0, dict):
            raise ValueError("how many parameters f(x, *p) has is not known; give names, or a start of values")
        return int(np.size(p0))

    def _check_arguments(self, p0: Any, options: Mapping[str, Any]) -> None:
        """Check that a function with one parameter does not expect an array of all parameters, as MATLAB's do.

        Raises
        ------
        FitError
            If the start has more values than the function has parameters.
        """
        if self._f is not None and self._names is not None and len(self._names) == 1 and not isinstance(p0, dict):
            if np.size(p0) > 1 + len(added(options)):
                raise FitError(f"the function has one parameter, {self._names[0]}, but p0 has {np.size(p0)} value(s); x is its first argument, "
                               f"and each parameter is an argument of its own: f(x, a, b), or f(x, *p)")

    def _prepared(self, x: Any, p0: Any, shape: tuple[int, ...], by_column: bool = False) -> Prepared:
        """Prepare the model for the points `x`."""
        if self._library is not None:
            return Prepared(None, self._library.model(), x_columns(x, self._variables), shape, over_x=True)
        assert self._f is not None
        if by_column:
            # An x with the shape of an image y is one variable.
            columns = [samples(x)] if len(shape) > 1 and np.shape(x) == shape else x_columns(x)
            ready = over_columns(self._f, len(columns), self._somewhere(p0), self._names)
            return Prepared(self._f, ready.model, columns, shape, key=ready.key, over_x=True)
        return prepared(self._f, x, self._count(p0), shape, self._somewhere(p0), self._names)

    def _prepared_sets(self, xs: list[Any], p0: Any, shapes: list[tuple[int, ...]], by_column: bool) -> list[Prepared]:
        """Prepare the model for several sets of points: one model, and the columns of each set."""
        if all(x is xs[0] for x in xs) and all(shape == shapes[0] for shape in shapes):
            return [self._prepared(xs[0], p0, shapes[0], by_column)] * len(xs)
        if self._library is None and not by_column:
            assert self._f is not None
            return prepared_sets(self._f, xs, self._count(p0), shapes, self._somewhere(p0), self._names)
        first = self._prepared(xs[0], p0, shapes[0], by_column)
        others = [Prepared(first.f, first.model, x_columns(x, self._variables), shape, key=first.key, over_x=True)
                  for x, shape in zip(xs[1:], shapes[1:])]
        return [first, *others]

    def _called_sets(self, xs: list[Any], p0: Any, shapes: list[tuple[int, ...]], reason: str) -> list[Prepared]:
        """Prepare the model for several sets of points; a function is called directly, for this reason."""
        if self._f is None:
            return self._prepared_sets(xs, p0, shapes, by_column=False)
        return called_sets(self._f, xs, self._count(p0), shapes, self._somewhere(p0), self._names, reason)

    def _takes_rows(self, x: NDArray[np.float64], p0: Any) -> bool:
        """Return True if the rows of `x` are independent variables: then the model returns one value per column."""
        if self._variables is not None:
            return len(self._variables) == len(x) > 1
        if self._f is None or x.ndim != 2 or len(x) > _MOST_VARIABLES:
            return False
        try:
            with np.errstate(all="ignore"):
                return bool(np.shape(self._f(guarded(x), *self._somewhere(p0))) == x.shape[1:])
        except Exception:  # The function does not accept such an x.
            return False

    def _prepared_rows(self, x: NDArray[np.float64], p0: Any) -> Prepared:
        """Prepare the model for the rows of `x`, one per fit of a batch."""
        if self._library is not None:
            return Prepared(None, self._library.model(), [x.reshape(-1)], (x.size,), over_x=True)
        assert self._f is not None
        return prepared_rows(self._f, x, self._count(p0), self._somewhere(p0), self._names)

    def _somewhere(self, p0: Any) -> NDArray[np.float64]:
        """Return parameters at which the function can be called: the start, with ones for missing values."""
        at = np.ones(self._count(p0))
        for k, value in enumerate(self._defaults or []):
            at[k] = at[k] if value is None else value
        if isinstance(p0, dict):
            for name, value in p0.items():
                if self._names is not None and name in self._names:
                    at[self._names.index(name)] = value
        elif p0 is not None:
            given = np.atleast_1d(np.asarray(p0, dtype=np.float64)).reshape(-1)
            at = given if given.size == at.size else at
        return at

    def of(self, inner: Model) -> Model:
        """Return the composition: this model with `inner` as its independent variable."""
        return self._put_together("of", self, inner)

    def prefixed(self, prefix: str) -> Model:
        """Return the same model with `prefix` before all names of its parameters."""
        return Model(self, prefix=prefix)

    def _joined(self, other: Any, sign: str, swapped: bool = False) -> Model:
        if isinstance(other, Model) and self._library is None and other._library is None:
            return _function_of_two(self, other, sign)
        if not isinstance(other, (Model, Real)):
            return cast(Model, NotImplemented)
        operation = f"__r{sign}__" if swapped else f"__{sign}__"
        return self._put_together(operation, self, other if isinstance(other, Model) else float(other))

    @staticmethod
    def _put_together(operation: str, *parts: Model | float) -> Model:
        """Combine models in the core. Functions are converted to formulas; their defaults remain starting values."""
        made = Model._of(operation, *(part._as_formula() if isinstance(part, Model) else part for part in parts))
        models = [part for part in parts if isinstance(part, Model)]
        defaults = [default for part in models for default in part._defaults or [None] * len(part.parameters)]
        made._defaults = defaults if any(default is not None for default in defaults) else None
        return made

    def _as_formula(self) -> Model:
        """Return a library model; a function of one x is converted to the formula of its recording.

        Raises
        ------
        TypeError
            If the function cannot be written as a formula.
        """
        if self._library is not None:
            return self
        assert self._f is not None
        try:
            self.over_columns(1)  # also compares the recording with the function
            text = written(record_columns(self._f, 1, len(self.parameters)).nodes, ["x"], self.parameters)
            why = "an operation of it has no name in formulas"
        except NotTraceable as error:
            text, why = None, str(error)
        made = None if text is None else Model._of("expression", text, ["x"], self.parameters)
        if made is None or made.parameters != self.parameters:
            raise TypeError(f"a function that is put together with a model by name must be a formula of x, and {self!r} is none: "
                            + (why if made is None else "it does not depend on all its parameters"))
        return made

    def __add__(self, other: Model | float) -> Model:
        return self._joined(other, "add")

    def __radd__(self, other: float) -> Model:
        return self._joined(other, "add", swapped=True)

    def __sub__(self, other: Model | float) -> Model:
        return self._joined(other, "sub")

    def __rsub__(self, other: float) -> Model:
        return self._joined(other, "sub", swapped=True)

    def __mul__(self, other: Model | float) -> Model:
        return self._joined(other, "mul")

    def __rmul__(self, other: float) -> Model:
        return self._joined(other, "mul", swapped=True)

    def __truediv__(self, other: Model | float) -> Model:
        return self._joined(other, "truediv")

    def __rtruediv__(self, other: float) -> Model:
        return self._joined(other, "truediv", swapped=True)

    def __neg__(self) -> Model:
        return self._put_together("__neg__", self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown(self, name, hint(name, MODELS_OF_LMFIT))

    def __repr__(self) -> str:
        if self._library is not None:
            return f"<Model {self._library!r}>"
        names = "*p" if self._names is None else ", ".join(self._names)
        return f"<Model {getattr(self._f, '__name__', 'function')}(x, {names})>"


def _function_of_two(left: Model, right: Model, sign: str) -> Model:
    """Combine two functions, each with its own parameters."""
    import operator

    names = left.parameters + right.parameters
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"both functions have a parameter {', '.join(twice)}; give one of them a prefix: "
                         f"Model(f, prefix=\"a_\")")
    f, g, cut, join = left._f, right._f, len(left.parameters), getattr(operator, sign)
    assert f is not None and g is not None

    def joined(x: Any, *p: Any) -> Any:
        return join(f(x, *p[:cut]), g(x, *p[cut:]))

    model = Model(joined, names)
    blank: list[float | None] = [None] * len(names)
    model._defaults = (left._defaults or blank[:cut]) + (right._defaults or blank[cut:])
    return model


def model_of(f: Callable[..., Any] | str | Model) -> Model:
    """Return a model itself, with its recordings, or a new model of a function or a formula."""
    return f if isinstance(f, Model) else Model(f)


def fit(f: Callable[..., Any] | str | Model, x: Any, y: Any, p0: Any = None, *, data: Any = None, sigma: Any = None,
        absolute_sigma: bool = False, x_sigma: Any = None, mask: Any = None, nan_policy: str = "raise",
        **options: Unpack[Options]) -> Fit:
    """Fit a function, a formula or a model to data.

    Parameters
    ----------
    f : callable, str or Model
        ``f(x, a, b, ...)``, whose signature names the parameters; a formula such as ``"a*exp(-b*x) + c"``; or a model.
    x, y, p0, data, sigma, absolute_sigma, x_sigma, mask, nan_policy, **options
        See `Model.fit` and `Options`.

    Returns
    -------
    Fit
        Parameters with standard errors, report, bands, profiles, pictures.

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.linspace(0, 4, 50)
    >>> y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * np.sin(9 * x)
    >>> fit = dualfit.fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y, {"b": 1.0})
    >>> fit.converged, round(fit.values["b"], 2)
    (True, 1.3)
    """
    return model_of(f).fit(x, y, p0, data=data, sigma=sigma, absolute_sigma=absolute_sigma, x_sigma=x_sigma, mask=mask,
                     nan_policy=nan_policy, **options)


def fit_batch(f: Callable[..., Any] | str | Model, x: Any, stack: Any, p0: Any = None, *, sigma: Any = None,
              absolute_sigma: bool = False, mask: Any = None, nan_policy: str = "raise", covariance: bool = False,
              **options: Unpack[Options]) -> Batch:
    """Fit a function, a formula or a model to each row of a stack, in one call.

    Parameters
    ----------
    f : callable, str or Model
        As for `fit`.
    x, stack, p0, sigma, absolute_sigma, mask, nan_policy, covariance, **options
        See `Model.fit_batch` and `Options`.

    Returns
    -------
    Batch

    Examples
    --------
    >>> import dualfit, numpy as np
    >>> x = np.linspace(0, 4, 40)
    >>> stack = 3 * np.exp(-np.array([[0.5], [1.0], [2.0]]) * x)
    >>> batch = dualfit.fit_batch(lambda x, a, rate: a * np.exp(-rate * x), x, stack, [1, 1])
    >>> batch["rate"].round(6)
    array([0.5, 1. , 2. ])
    """
    return model_of(f).fit_batch(x, stack, p0, sigma=sigma, absolute_sigma=absolute_sigma, mask=mask, nan_policy=nan_policy,
                           covariance=covariance, **options)

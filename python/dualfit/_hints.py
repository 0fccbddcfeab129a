"""Names of other packages, and what to use in their place: for functions, results, options and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_SEARCH = "dualfit.multi_start and dualfit.differential_evolution search a region for the best minimum"
_INTERVALS = "Fit.bootstrap, Fit.profile and Fit.contour compute intervals and regions without the linear approximation"
_FIT = "dualfit.fit(f, x, y, p0) fits a function, with bounds=, fixed= and ties= for its parameters"
_COMPARE = "dualfit.compare(first, second, nested=True) has F tests and information criteria; Fit.aic and Fit.bic are those of one fit"
_ERRORS = "write Fit.std_errors, or Fit.errors by name"
_LIMITS = "Fit.confidence_intervals(level) computes them from standard errors, Fit.profile(name).interval(level) by refits"

#: Functions and methods of SciPy, lmfit, MATLAB, R and NLSQ.
FUNCTIONS = {
    **dict.fromkeys(("brute", "basinhopping", "basin_hopping", "shgo", "dual_annealing", "ampgo", "direct"), _SEARCH),
    **dict.fromkeys(("emcee", "mcmc"), f"there is no sampler; {_INTERVALS}"),
    **dict.fromkeys(("minimize", "Minimizer", "leastsq", "least_squares", "Parameters", "nls", "nlsLM", "nlinfit", "fitnlm",
                     "lsqcurvefit"), _FIT),
    **dict.fromkeys(("odr", "ODR", "RealData"), "dualfit.fit(f, x, y, p0, sigma=, x_sigma=) fits points with errors in x and y"),
    **dict.fromkeys(("f_test", "ftest", "aic", "aicc", "bic", "anova"), _COMPARE),
    "conf_interval": "Fit.profile(name).interval(level) computes it",
    "conf_interval2d": "Fit.contour(first, second) computes it",
    "eval_uncertainty": "Fit.confidence_band(x, level) computes it",
    "eval_components": "Fit.components(x) computes them",
    "bootstrap": "Fit.bootstrap(n_resamples) computes it",
    "polyfit": "dualfit.models.polynomial(degree).fit(x, y) fits a polynomial",
    "curve_fit_large": "dualfit.fit_stream(f, files, p0) fits more points than fit into memory",
    **dict.fromkeys(("GlobalFit", "global_fit"), "dualfit.fit_joint fits several data sets with shared parameters"),
}

#: Attributes of results.
RESULTS = {
    **FUNCTIONS,
    "popt": "write Fit.params, or Fit.values by name",
    **dict.fromkeys(("pcov", "cov", "vcov", "cov_x"), "write Fit.covariance"),
    **dict.fromkeys(("perr", "stderr", "stderrs", "error", "bse"), _ERRORS),
    **dict.fromkeys(("rsquared", "r2", "R2", "rsq", "rsquare"), "write Fit.r_squared"),
    **dict.fromkeys(("chi2", "chisq", "sse", "ssr"), "write Fit.chi_square"),
    **dict.fromkeys(("redchi2", "reduced_chi2", "reduced_chisq", "chi2_red"), "write Fit.reduced_chi_square"),
    **dict.fromkeys(("dof", "ndf", "nfree", "df_resid", "dfe"), "write Fit.degrees_of_freedom"),
    **dict.fromkeys(("ndata", "nobs", "n_points"), "write Fit.points"),
    **dict.fromkeys(("nvarys", "n_params", "nparams"), "write Fit.estimated, the number of parameters that were estimated"),
    **dict.fromkeys(("residual", "resid", "resids"), "write Fit.residuals(), y minus the curve"),
    **dict.fromkeys(("confint", "conf_int", "ci", "ci_out", "intervals"), _LIMITS),
    "ci_report": f"print the intervals: {_LIMITS}",
    "conf_interval": _LIMITS,
    **dict.fromkeys(("summary", "print_report", "pretty_print"), "print the fit, or write Fit.report()"),
    **dict.fromkeys(("status", "termination", "reason", "ier", "mesg"), "write Fit.converged, or Fit.message for the reason of the end"),
    "ok": "write Fit.converged",
    **dict.fromkeys(("to_dict", "as_dict"), "write Fit.values, Fit.errors and Fit.statistics, which are dictionaries"),
    **dict.fromkeys(("to_frame", "to_df", "to_pandas"),
                    'write pandas.DataFrame({"value": fit.values, "error": fit.errors}), by Fit.values and Fit.errors'),
    **dict.fromkeys(("save", "dump", "dumps", "to_csv"), "write Fit.to_json(), or pickle the fit; Fit.from_json loads it"),
    **dict.fromkeys(("plot_residuals", "plot_fit"), "Fit.plot(residuals=True) draws the residuals below the curve"),
    **dict.fromkeys(("coef", "coefs", "coefficients", "coeffvalues"), "write Fit.params, or Fit.values by name"),
    **dict.fromkeys(("fitted", "fittedvalues", "ybest", "yhat"), "write Fit.predict()"),
    **dict.fromkeys(("evaluate", "func", "curve"), "write Fit.predict(x)"),
    "fun": "write Fit.residuals(), y minus the curve",
    "predict_interval": "Fit.prediction_band(x, level) computes it",
    **dict.fromkeys(("init_values", "init_params", "p0", "x0"), "write Fit.start"),
}

#: Attributes of batches.
BATCHES = {
    **dict.fromkeys(("popt", "values"), 'write Batch.params, or batch["name"] for one parameter'),
    **dict.fromkeys(("pcov", "covariance", "covar", "cov"), "write Batch.covariances, of a batch with covariance=True"),
    **dict.fromkeys(("perr", "stderr", "errors"), "write Batch.std_errors, or Batch.error(name) for one parameter"),
    **dict.fromkeys(("chi2", "chisq", "chisqr", "chi_square"), "write Batch.chi_squares"),
    **dict.fromkeys(("success", "states"), "write Batch.converged, or Batch.status(index) for one fit"),
    "summary": "print the batch, or write Batch.counts",
}

#: Attributes of one parameter, `fit["a"]`.
QUANTITIES = {
    **dict.fromkeys(("stderr", "error", "err", "std", "std_err", "std_dev", "uncertainty", "s"), "write std_error"),
    **dict.fromkeys(("n", "nominal_value", "best"), "write value"),
    **dict.fromkeys(("min", "max", "vary", "expr"), "bounds=, fixed= and ties= are arguments of dualfit.fit"),
    "correl": "write Fit.correlation",
}

#: Attributes of models.
MODELS_OF_LMFIT = {
    **dict.fromkeys(("make_params", "set_param_hint"),
                    'the start is an argument by name, Model.fit(x, y, {"a": 1}), and so are bounds=, fixed= and ties='),
    "param_names": "write Model.parameters",
    "eval": "write Model.evaluate(x, params)",
}

_LEVENBERG = ("there is one method, Levenberg-Marquardt with a trust region and bounds; leave it out. "
              "dualfit.multi_start and dualfit.differential_evolution search for the best of several minima")
_OUTLIERS = 'loss="soft_l1", "huber", "cauchy" or "tukey", with loss_scale=, reduces the weight of outliers'
_COUNTS = "poisson=True fits counts by maximum likelihood"

#: Options of fits.
OPTIONS = {
    **FUNCTIONS,
    "method": _LEVENBERG,
    **dict.fromkeys(("maxfev", "max_nfev", "maxiter", "max_iter", "max_iterations", "nit", "iter"), "write max_evaluations="),
    **dict.fromkeys(("verbose", "disp", "iprint", "iter_cb"), "write progress=True for a bar, or callback= for a function of each step"),
    **dict.fromkeys(("yerr", "dy", "y_err", "y_error", "ey", "sy", "error", "errors", "std"), "write sigma= and, for errors in the units of y, "
                    "absolute_sigma=True"),
    **dict.fromkeys(("xerr", "dx", "x_err", "x_error", "ex", "sx"), "write x_sigma=, together with sigma="),
    **dict.fromkeys(("lower", "upper", "lb", "ub", "min", "max", "limits"), 'write bounds={"a": (lower, upper)}'),
    "constraints": 'write bounds={"a": (lower, upper)} for limits and ties={"a": "2*b"} for equations',
    "expr": 'write ties={"a": "2*b"}',
    "vary": 'write fixed="a", or fixed={"a": value}',
    "robust": _OUTLIERS,
    **dict.fromkeys(("estimator", "likelihood", "objective", "cost"), f"{_COUNTS}; {_OUTLIERS}"),
    **dict.fromkeys(("start", "guess", "initial", "init", "x0", "beta0", "params", "initial_guess"), "the start is p0, by values or by name"),
    **dict.fromkeys(("weights", "weight", "w"), "for weights give sigma = 1/weights"),
    "scale_covar": "absolute_sigma=True replaces scale_covar=False",
    "tol": "write ftol=, xtol=, gtol= or etol=",
    **dict.fromkeys(("jac", "Dfun"), "partials of a recorded function are exact; only dualfit.curve_fit takes jac="),
    **dict.fromkeys(("args", "kws", "kwargs"), "bind further arguments of the function by functools.partial"),
    **dict.fromkeys(("full_output", "check_finite"), "only dualfit.curve_fit takes it"),
    "data": 'only dualfit.fit and dualfit.fit_joint take a table; give its columns, data["t"]',
    **dict.fromkeys(("by", "shared"), "dualfit.fit_joint fits several data sets with shared parameters"),
}

#: Names of losses.
LOSSES = {
    "poisson": _COUNTS,
    **dict.fromkeys(("bisquare", "biweight", "tukey_biweight"), 'write loss="tukey"'),
    **dict.fromkeys(("l2", "mse", "least_squares", "squared", "none"), 'write loss="linear"'),
    **dict.fromkeys(("l1", "lad", "lar", "mae", "absolute", "pseudo_huber"), 'write loss="soft_l1", which is smooth at 0'),
    "lorentzian": 'write loss="cauchy"',
}

_STEP = 'step_logistic("s_") + constant("offset_"), or logistic4_log of the logarithm of a dose'
#: Models.
MODELS = {
    "gauss": "use gaussian, whose amplitude is the area; height and fwhm are derived",
    "lorentz": "use lorentzian, whose amplitude is the area; height and fwhm are derived",
    **dict.fromkeys(("exp_decay", "exponential_decay", "decay", "exp1"), "use exponential, amplitude*exp(-x/decay), or exponential_offset"),
    **dict.fromkeys(("exp2", "double_exponential", "biexp"), "use biexponential"),
    **dict.fromkeys(("boltzmann", "sigmoid", "sigmoidal"), f"use {_STEP}"),
    **dict.fromkeys(("dose_response", "four_parameter_logistic", "logistic_4pl", "fourpl", "ll4"),
                    "use logistic4, a function of the dose, or logistic4_log, of its logarithm"),
    **dict.fromkeys(("five_parameter_logistic", "logistic_5pl"), "use logistic5"),
    "logistic": "use logistic4 for doses, logistic_growth for times, step_logistic for a step",
    **dict.fromkeys(("line", "straight_line"), "use linear"),
    **dict.fromkeys(("poly", "poly1", "poly2", "poly3"), "use polynomial(degree)"),
    **dict.fromkeys(("power", "powerlaw"), "use power_law"),
    **dict.fromkeys(("sin", "cosine", "sinusoid"), "use sine"),
}


def hint(name: object, hints: Mapping[str, str] = FUNCTIONS) -> str:
    """Return the end of a message about an unknown name: "; " and what to use, or nothing."""
    return f"; {hints[name]}" if isinstance(name, str) and name in hints else ""


def unknown(owner: object, name: str, remedy: str) -> AttributeError:
    """Return the error for an unknown attribute of an object; `remedy` is the end of its message."""
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{remedy}")


def likely(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the most similar one of the known names, or nothing."""
    from difflib import get_close_matches

    return "".join(f"; did you mean {found!r}?" for found in get_close_matches(name, known, 1, 0.75))


def x_first(method: F) -> F:
    """Return a method whose message for lmfit's order of arguments, ``fit(y, x=x)``, names the order here."""
    @wraps(method)
    def checked(self: Any, *args: Any, **named: Any) -> Any:
        if args and "x" in named:
            raise TypeError(f"x is the first argument: write {method.__name__}(x, y, ...) in place of lmfit's {method.__name__}(y, ..., x=x)")
        return method(self, *args, **named)

    return cast(F, checked)

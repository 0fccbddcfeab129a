"""Names of other packages, and what to use in their place: for functions, results, options and models.

Capitals, underscores and hyphens of a name do not matter: `MaxFunEvals` is found by "max_fun_evals". A table has one spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_SEARCH = "dualfit.multi_start and dualfit.differential_evolution search a region for the best minimum"
_INTERVALS = "Fit.bootstrap, Fit.profile and Fit.contour compute intervals and regions without the linear approximation"
_FIT = "dualfit.fit(f, x, y, p0) fits a function, with bounds=, fixed= and ties= for its parameters"
_COMPARE = "dualfit.compare(first, second, nested=True) has F tests and information criteria; Fit.aic and Fit.bic are those of one fit"
_JOINT = "dualfit.fit_joint fits several data sets with shared parameters, which shared= names"
_BATCH = "dualfit.fit_batch(f, x, stack, p0) fits each row of a stack in one call; the last axis is that of the points"
_POISSON = "dualfit.fit(f, x, y, p0, poisson=True) fits counts by maximum likelihood"
_REPORT = "print the fit, or write Fit.report()"
_BANDS = "Fit.confidence_band(x, level) and Fit.prediction_band(x, level) compute bands with .lower and .upper"
_ERRORS = "write Fit.std_errors, or Fit.errors by name"
_LIMITS = "Fit.confidence_intervals(level) computes them from standard errors, Fit.profile(name).interval(level) by refits"

def _spelling(name: str) -> str:
    """Return the name without capitals, underscores and hyphens."""
    return name.replace("_", "").replace("-", "").lower()


class Hints(dict[str, str]):
    """Names, and what to use in their place."""

    @cached_property
    def by_spelling(self) -> dict[str, str]:
        """The same hints by the names without capitals, underscores and hyphens."""
        return {_spelling(name): text for name, text in self.items()}


#: Functions and methods of SciPy, lmfit, MATLAB, R and NLSQ.
FUNCTIONS = Hints({
    **dict.fromkeys(("brute", "basinhopping", "shgo", "dual_annealing", "ampgo", "direct", "global_search"), _SEARCH),
    **dict.fromkeys(("emcee", "mcmc"), f"there is no sampler; {_INTERVALS}"),
    **dict.fromkeys(("minimize", "minimizer", "leastsq", "least_squares", "Parameter", "Parameters", "create_params", "nls", "nlsLM",
                     "nlinfit", "fitnlm", "lsqcurvefit", "lsqnonlin", "fminsearch", "fmincon", "fminunc", "fit_type", "fit_options",
                     "cfit", "optimset", "optimoptions", "fitter"), _FIT),
    **dict.fromkeys(("odr", "real_data"), "dualfit.fit(f, x, y, p0, sigma=, x_sigma=) fits points with errors in x and y"),
    **dict.fromkeys(("f_test", "aic", "aicc", "bic", "anova", "compare_models", "compare_f_test", "likelihood_ratio", "lr_test", "log_likelihood",
                     "loglik", "llf", "cross_validation"), _COMPARE),
    "conf_interval": "Fit.profile(name).interval(level) computes it",
    **dict.fromkeys(("nlparci", "coef_ci"), _LIMITS),
    **dict.fromkeys(("nlpredci", "predint", "pred_ci"), _BANDS),
    "conf_interval2d": "Fit.contour(first, second) computes it",
    "eval_uncertainty": "Fit.confidence_band(x, level) computes it",
    "eval_components": "Fit.components(x) computes them",
    "bootstrap": "Fit.bootstrap(n_resamples) computes it",
    "polyfit": "dualfit.models.polynomial(degree).fit(x, y) fits a polynomial",
    "curve_fit_large": "dualfit.fit_stream(f, files, p0) fits more points than fit into memory",
    **dict.fromkeys(("fit_global", "global_fit", "joint_fit", "simultaneous_fit", "fit_simultaneous", "fit_multiple"), _JOINT),
    **dict.fromkeys(("batch_fit", "fit_many", "fit_all", "fit_images", "fit_stack", "fit_pixels", "curve_fit_batch", "gpufit"), _BATCH),
    **dict.fromkeys(("poisson_fit", "fit_poisson", "fit_counts", "mle"), _POISSON),
    **dict.fromkeys(("fit_complex", "complex_fit"), "dualfit.fit(f, x, np.concatenate([z.real, z.imag])) fits complex data z, "
                    "with a model that returns real and imaginary parts likewise"),
    **dict.fromkeys(("fit_report", "report_fit", "report_ci"), _REPORT),
    **dict.fromkeys(("linregress", "line_fit"), "dualfit.models.linear().fit(x, y) fits a line"),
    "polyval": "write Fit.predict(x)",
    "composite_model": 'models are added: dualfit.models.gaussian("a_") + dualfit.models.linear("b_")',
    **dict.fromkeys(("load_model", "load_modelresult"), "dualfit.Fit.from_json(text) loads the text of Fit.to_json()"),
    "plot": "Fit.plot() draws the data, the curve and its band",
    **dict.fromkeys(("curve", "CurveFit"), "dualfit.Model(f) keeps a function for several fits"),
    **dict.fromkeys(("guess", "estimate"), "dualfit.fit(f, x, y) without p0 searches for its start, which is Fit.start"),
})

#: Attributes of results.
RESULTS = Hints({
    **FUNCTIONS,
    "popt": "write Fit.params, or Fit.values by name",
    **dict.fromkeys(("pcov", "cov", "vcov", "cov_x", "cov_b", "cov_matrix", "cov_params", "covariance_matrix", "get_covariance"),
                    "write Fit.covariance"),
    **dict.fromkeys(("corr", "correl", "corrcoef", "correlations", "corr_matrix", "correl_matrix", "correlation_matrix"),
                    "write Fit.correlation"),
    **dict.fromkeys(("perr", "perrors", "se", "err", "errs", "error", "stderr", "stderrs", "std_err", "bse", "sigmas", "uncertainty",
                     "standard_errors", "parameter_errors"), _ERRORS),
    **dict.fromkeys(("rsquared", "r2", "rsq", "rsquare"), "write Fit.r_squared"),
    **dict.fromkeys(("adj_rsquare", "rsquare_adj", "rsquared_adj", "adj_r2"), "write Fit.adjusted_r_squared"),
    **dict.fromkeys(("chi2", "chisq", "sse", "ssr", "rss", "resnorm", "deviance"), "write Fit.chi_square"),
    **dict.fromkeys(("redchi2", "reduced_chi2", "reduced_chisq", "chi2_red"), "write Fit.reduced_chi_square"),
    **dict.fromkeys(("dof", "ndf", "nfree", "df_resid", "dfe"), "write Fit.degrees_of_freedom"),
    **dict.fromkeys(("ndata", "nobs", "n_points"), "write Fit.points"),
    **dict.fromkeys(("nvarys", "n_params", "nparams"), "write Fit.estimated, the number of parameters that were estimated"),
    **dict.fromkeys(("gof", "goodness", "goodness_of_fit"), "write Fit.statistics"),
    **dict.fromkeys(("residual", "resid", "resids"), "write Fit.residuals(), y minus the curve"),
    **dict.fromkeys(("confint", "conf_int", "ci", "ci95", "ci_out", "intervals", "confidence_interval", "params_ci"), _LIMITS),
    "ci_report": f"print the intervals: {_LIMITS}",
    "conf_interval": _LIMITS,
    **dict.fromkeys(("summary", "print_report", "pretty_print", "as_text", "disp", "display"), _REPORT),
    **dict.fromkeys(("status", "termination", "reason", "ier", "mesg", "exitflag", "flag"), "write Fit.converged, or Fit.message for the reason of the end"),
    "ok": "write Fit.converged",
    **dict.fromkeys(("output", "info", "time", "seconds", "iterations", "nit", "niter", "n_iter"), "write Fit.stats, a dictionary"),
    **dict.fromkeys(("evaluations", "n_evaluations", "func_count", "neval"), "write Fit.nfev"),
    "method": "there is one method, Levenberg-Marquardt; Fit.stats has the processor and the number of iterations",
    **dict.fromkeys(("to_dict", "as_dict"), "write Fit.values, Fit.errors and Fit.statistics, which are dictionaries"),
    **dict.fromkeys(("to_frame", "to_df", "to_pandas", "to_dataframe", "to_html", "to_markdown", "to_excel"),
                    'write pandas.DataFrame({"value": fit.values, "error": fit.errors}), by Fit.values and Fit.errors'),
    "to_latex": "write Fit.latex()",
    **dict.fromkeys(("save", "dump", "dumps", "to_csv", "export"), "write Fit.to_json(), or pickle the fit; Fit.from_json loads it"),
    **dict.fromkeys(("normalized_residuals", "weighted_residuals", "standardized_residuals", "studentized_residuals", "durbin_watson",
                     "cooks_distance", "leverage", "outliers"), "Fit.diagnostics() returns standardized and studentized residuals, leverages "
                    "and tests, by name"),
    **dict.fromkeys(("plot_ci", "plot_band"), "Fit.plot() draws the curve with its band"),
    **dict.fromkeys(("qqplot", "hist"), "draw Fit.residuals(), or Fit.diagnostics()[\"standardized\"]"),
    "weights": "write Fit.effective_points, the sum of the weights of the points under a loss",
    **dict.fromkeys(("jac", "jacobian"), "partials are not kept; Fit.covariance follows from them"),
    **dict.fromkeys(("plot_residuals", "plot_fit", "residual_plot", "plot_resid"), "Fit.plot(residuals=True) draws the residuals below the curve"),
    **dict.fromkeys(("coef", "coefs", "coefficients", "coeff_values", "p", "parameters", "best", "best_params", "estimates", "solution"),
                    "write Fit.params, or Fit.values by name"),
    **dict.fromkeys(("param_names", "par_names", "var_names", "coeff_names"), "write Fit.names"),
    **dict.fromkeys(("fitted", "fittedvalues", "ybest", "yhat", "init_fit"), "write Fit.predict()"),
    **dict.fromkeys(("evaluate", "func", "feval", "curve"), "write Fit.predict(x)"),
    **dict.fromkeys(("band", "bands", "conf_band", "confidence", "confidence_bands", "error_band", "uncertainty_band", "predict_ci",
                     "get_prediction", "dely"), _BANDS),
    **dict.fromkeys(("compare", "lnprob"), _COMPARE),
    **dict.fromkeys(("data", "ydata"), "write Fit.y"),
    "xdata": "write Fit.x",
    "fun": "write Fit.residuals(), y minus the curve",
    **dict.fromkeys(("predict_interval", "prediction_interval", "prediction_intervals"), "Fit.prediction_band(x, level) computes it"),
    **dict.fromkeys(("init_values", "init_params", "p0", "x0"), "write Fit.start"),
})

#: Attributes of batches.
BATCHES = Hints({
    **dict.fromkeys(("popt", "values"), 'write Batch.params, or batch["name"] for one parameter'),
    **dict.fromkeys(("pcov", "covariance", "covar", "cov"), "write Batch.covariances, of a batch with covariance=True"),
    **dict.fromkeys(("perr", "stderr", "errors"), "write Batch.std_errors, or Batch.error(name) for one parameter"),
    **dict.fromkeys(("chi2", "chisq", "chisqr", "chi_square"), "write Batch.chi_squares"),
    **dict.fromkeys(("success", "states"), "write Batch.converged, or Batch.status(index) for one fit"),
    **dict.fromkeys(("summary", "report"), "print the batch, or write Batch.counts"),
    **dict.fromkeys(("nfev", "nit", "n_iterations"), "write Batch.iterations"),
    **dict.fromkeys(("warnings", "message", "messages"), "write Batch.counts, or Batch.status(index) for one fit"),
    **dict.fromkeys(("redchi", "reduced_chi_square"), "divide Batch.chi_squares by the number of points minus that of the parameters"),
    **dict.fromkeys(("residual", "residuals", "best_fit", "predict", "eval", "curves"),
                    "evaluate the function for all fits: f(x, *np.moveaxis(Batch.params, -1, 0)[..., None])"),
    **dict.fromkeys(("r2", "r_squared", "rsquare"), "write 1 - Batch.chi_squares/((stack - stack.mean(-1, keepdims=True))**2).sum(-1)"),
    **dict.fromkeys(("to_dataframe", "to_pandas", "to_df"), "write Batch.to_frame()"),
    **dict.fromkeys(("maps", "images", "map"), 'write batch["name"], an array of the shape of the images'),
    **dict.fromkeys(("fit", "fits", "results"), "dualfit.fit(f, x, stack[index], Batch.params[index]) fits one row again, with a report"),
})

#: Attributes of bands.
BANDS = Hints({
    **dict.fromkeys(("low", "lo", "min"), "write lower"),
    **dict.fromkeys(("high", "hi", "max"), "write upper"),
    **dict.fromkeys(("fit", "mean", "value", "values", "y", "nominal"), "write center"),
    **dict.fromkeys(("half_width", "delta", "dely"), "write upper - center"),
    **dict.fromkeys(("std", "stderr", "sigma"), "write std_errors"),
})

#: Attributes of comparisons and their tests.
COMPARISONS = Hints({
    **dict.fromkeys(("p", "pvalue", "p_value", "f_test", "ftest", "statistic", "F"), "compare(smaller, larger, nested=True).tests[0] has "
                    "statistic and p_value"),
    **dict.fromkeys(("best", "winner"), "the fit with the largest of corrected_weights is the best one"),
    "bic": "write Fit.bic of each fit",
})

#: Attributes of one parameter, `fit["a"]`.
QUANTITIES = Hints({
    **dict.fromkeys(("stderr", "error", "err", "std", "std_err", "std_dev", "uncertainty", "s"), "write std_error"),
    **dict.fromkeys(("n", "nominal_value", "best"), "write value"),
    **dict.fromkeys(("min", "max", "vary", "expr"), "bounds=, fixed= and ties= are arguments of dualfit.fit"),
    "correl": "write Fit.correlation",
})

#: Attributes of `Fit.params`.
PARAMETERS = Hints({
    "values_dict": "write Fit.values",
    **dict.fromkeys(("pretty_print", "pprint"), _REPORT),
    **dict.fromkeys(("add", "add_many"), "bounds=, fixed= and ties= are arguments of dualfit.fit"),
})

#: Attributes of models.
MODELS_OF_LMFIT = Hints({
    **dict.fromkeys(("make_params", "set_param_hint", "param_hints", "print_param_hints"),
                    'the start is an argument by name, Model.fit(x, y, {"a": 1}), and so are bounds=, fixed= and ties='),
    "param_names": "write Model.parameters",
    "eval": "write Model.evaluate(x, params)",
})

_LEVENBERG = ("there is one method, Levenberg-Marquardt with a trust region and bounds; leave it out. "
              "dualfit.multi_start and dualfit.differential_evolution search for the best of several minima")
_OUTLIERS = 'loss="soft_l1", "huber", "cauchy" or "tukey", with loss_scale=, reduces the weight of outliers'
_COUNTS = "poisson=True fits counts by maximum likelihood"

#: Options of fits.
OPTIONS = Hints({
    **FUNCTIONS,
    "method": _LEVENBERG,
    **dict.fromkeys(("maxfev", "max_nfev", "maxiter", "max_iterations", "nit", "iter", "max_fun_evals", "max_function_evaluations"), "write max_evaluations="),
    **dict.fromkeys(("verbose", "disp", "display", "iprint", "iter_cb"), "write progress=True for a bar, or callback= for a function of each step"),
    **dict.fromkeys(("yerr", "dy", "y_error", "ey", "sy", "err", "error", "errors", "std", "stddev", "sigma_y", "uncertainty",
                     "uncertainties"), "write sigma= and, for errors in the units of y, "
                    "absolute_sigma=True"),
    **dict.fromkeys(("variance", "var"), "write sigma=, the square root of the variance"),
    **dict.fromkeys(("cov", "covariance", "cov_y", "y_cov"), "write sigma=, which also takes a covariance matrix"),
    **dict.fromkeys(("xerr", "dx", "x_error", "ex", "sx", "sigma_x"), "write x_sigma=, together with sigma="),
    **dict.fromkeys(("lower", "upper", "lb", "ub", "min", "max", "mins", "maxs", "limits", "lower_bounds", "upper_bounds", "positive",
                     "nonneg", "nonnegative"), 'write bounds={"a": (lower, upper)}'),
    **dict.fromkeys(("constraint", "constraints", "aeq", "beq", "nonlcon"),
                    'write bounds={"a": (lower, upper)} for limits and ties={"a": "2*b"} for equations'),
    **dict.fromkeys(("expr", "link", "equal"), 'write ties={"a": "2*b"}'),
    **dict.fromkeys(("vary", "hold", "const", "constant", "constants", "problem", "freeze", "frozen", "fixed_params", "ifixb",
                     "parameters_to_fit"), 'write fixed="a", or fixed={"a": value}'),
    **dict.fromkeys(("robust", "robust_wgt_fun", "weight_fun", "robust_loss", "outliers", "reduce_fcn"), _OUTLIERS),
    **dict.fromkeys(("delta", "tuning", "tune", "loss_width"), "write loss_scale=, in units of sigma, or of y if there is no sigma"),
    "scale": "loss_scale= is the scale of a loss, scales= has typical magnitudes of parameters",
    **dict.fromkeys(("x_scale", "typical_x"), 'write scales={"a": magnitude}, if a parameter starts at 0'),
    **dict.fromkeys(("estimator", "likelihood", "objective", "cost"), f"{_COUNTS}; {_OUTLIERS}"),
    **dict.fromkeys(("distribution", "family", "statistic", "stat", "counts", "mle", "noise"), _COUNTS),
    **dict.fromkeys(("missing", "nan", "dropna", "skipna", "ignore_nan", "omit_nan", "na_action"), 'write nan_policy="omit"'),
    **dict.fromkeys(("exclude", "where", "subset", "valid"), "write mask=, an array that is True for the points to use"),
    **dict.fromkeys(("device", "gpu", "use_gpu", "cuda"), 'write backend="cuda" for the GPU, backend="cpu" for the processor'),
    **dict.fromkeys(("n_jobs", "workers", "parallel", "threads", "n_threads", "num_threads", "cores", "processes"),
                    "a fit uses all cores; the environment variable RAYON_NUM_THREADS limits their number"),
    "axis": "the last axis of a stack is that of the points: np.moveaxis(stack, axis, -1)",
    **dict.fromkeys(("algorithm", "solver", "optimizer"), _LEVENBERG),
    **dict.fromkeys(("options", "fit_kws", "fit_options"), "each option is an argument of its own: max_evaluations=, ftol=, loss="),
    **dict.fromkeys(("xdata", "ydata"), "x and y follow the function: dualfit.fit(f, x, y, p0)"),
    **dict.fromkeys(("independent_vars", "independent"), "the first argument of the function is x; an array of several variables is x[0], x[1]"),
    "seed": "search_seed= is the seed of the search for a start",
    **dict.fromkeys(("start", "start_point", "guess", "guesses", "initial", "init", "x0", "beta0", "theta0", "p_init", "params", "initial_guess",
                     "initial_values", "init_values", "init_params", "initial_parameters"), "the start is p0, by values or by name"),
    **dict.fromkeys(("weights", "weight", "w"), "for weights give sigma = 1/weights"),
    "scale_covar": "absolute_sigma=True replaces scale_covar=False",
    **dict.fromkeys(("tol", "tolerance", "tol_fun", "tol_x", "function_tolerance", "step_tolerance"), "write ftol=, xtol=, gtol= or etol="),
    **dict.fromkeys(("diff_step", "epsfcn", "fin_diff_type", "deriv_step"), "partials of a recorded function are exact, without steps"),
    **dict.fromkeys(("jac", "dfun", "jacobian"), "partials of a recorded function are exact; only dualfit.curve_fit takes jac="),
    **dict.fromkeys(("args", "kws", "kwargs"), "bind further arguments of the function by functools.partial"),
    **dict.fromkeys(("full_output", "check_finite"), "only dualfit.curve_fit takes it"),
    "data": 'only dualfit.fit and dualfit.fit_joint take a table; give its columns, data["t"]',
    "calc_covar": "the covariance of a fit is always computed; that of a batch needs covariance=True",
    **dict.fromkeys(("by", "shared", "share", "common", "globals", "shared_params", "global_params"), _JOINT),
})

#: Losses by name.
LOSS_NAMES = ("linear", "soft_l1", "huber", "cauchy", "arctan", "tukey")
#: Names of losses.
LOSSES = Hints({
    **{name: f'write loss="{name}"' for name in LOSS_NAMES},
    "poisson": _COUNTS,
    **dict.fromkeys(("bisquare", "biweight", "tukey_biweight", "andrews", "welsch"), 'write loss="tukey"'),
    **dict.fromkeys(("l2", "mse", "least_squares", "squared", "none"), 'write loss="linear"'),
    **dict.fromkeys(("soft_l1", "l1", "lad", "lar", "mae", "absolute", "fair", "logcosh", "pseudo_huber"), 'write loss="soft_l1", which is smooth at 0'),
    "lorentzian": 'write loss="cauchy"',
})

_STEP = 'step_logistic("s_") + constant("offset_"), or logistic4_log of the logarithm of a dose'
#: Models.
MODELS = Hints({
    **dict.fromkeys(("gauss", "gauss1"), "use gaussian, whose amplitude is the area; height and fwhm are derived"),
    **dict.fromkeys((f"gauss{k}" for k in range(2, 9)), 'use gaussian("a_") + gaussian("b_"), a sum of such terms'),
    "lorentz": "use lorentzian, whose amplitude is the area; height and fwhm are derived",
    **dict.fromkeys(("exp_decay", "exponential_decay", "decay", "exp1"), "use exponential, amplitude*exp(-x/decay), or exponential_offset"),
    **dict.fromkeys(("exp2", "double_exponential", "biexp"), "use biexponential"),
    **dict.fromkeys(("boltzmann", "sigmoid", "sigmoidal"), f"use {_STEP}"),
    **dict.fromkeys(("dose_response", "four_parameter_logistic", "logistic_4pl", "fourpl", "ll4"),
                    "use logistic4, a function of the dose, or logistic4_log, of its logarithm"),
    **dict.fromkeys(("five_parameter_logistic", "logistic_5pl"), "use logistic5"),
    "logistic": "use logistic4 for doses, logistic_growth for times, step_logistic for a step",
    **dict.fromkeys(("line", "straight_line"), "use linear"),
    "parabola": "use quadratic",
    **dict.fromkeys(("poly", *(f"poly{k}" for k in range(1, 10))), "use polynomial(degree)"),
    **dict.fromkeys(("power", "powerlaw", "power1"), "use power_law"),
    "power2": 'use power_law("p_") + constant("offset_")',
    **dict.fromkeys(("sin", "sin1", "cosine", "sinusoid"), "use sine"),
    **dict.fromkeys((f"{kind}{k}" for kind in ("sin", "fourier") for k in range(2, 9)), 'use sine("a_") + sine("b_") + constant("offset_"), '
                    "a sum of such terms"),
    **dict.fromkeys(("smoothing_spline", "cubic_spline", "cubicinterp"), "use spline(knots)"),
    **dict.fromkeys(("rational", *(f"rat{p}{q}" for p in range(6) for q in range(1, 6))), 'use ExpressionModel("(p1*x + p2)/(x + q1)")'),
    "pvoigt": "use pseudo_voigt",
    "fano": "use breit_wigner",
    **dict.fromkeys(("kww", "stretched_exp"), "use stretched_exponential"),
    **dict.fromkeys(("emg", "expgaussian", "exgauss"), "use exponential_gaussian"),
})


def hint(name: object, hints: Hints = FUNCTIONS) -> str:
    """Return the end of a message about an unknown name: "; " and what to use, or nothing."""
    if not isinstance(name, str) or name.startswith("_"):
        return ""
    found = hints.get(name) or hints.by_spelling.get(_spelling(name))
    return f"; {found}" if found else ""


def unknown(owner: object, name: str, remedy: str) -> AttributeError:
    """Return the error for an unknown attribute of an object; `remedy` is the end of its message, or "" for a similar name."""
    remedy = remedy or ("" if name.startswith("_") else likely(name, (known for known in dir(owner) if not known.startswith("_"))))
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{remedy}")


def of_parameter(owner: Any, name: str, variable: str) -> str:
    """Return the end of a message about an attribute that is the name of a parameter of `owner`, or nothing."""
    return f'; write {variable}["{name}"]' if not name.startswith("_") and name in owner.names else ""


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

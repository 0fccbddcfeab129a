"""Names of other packages, and what to use in their place."""

from __future__ import annotations

_SEARCH = "dualfit.multi_start and dualfit.differential_evolution search a region for the best minimum"
_INTERVALS = "Fit.bootstrap, Fit.profile and Fit.contour compute intervals and regions without the linear approximation"
_FIT = "dualfit.fit(f, x, y, p0) fits a function, with bounds=, fixed= and ties= for its parameters"

#: Replacement by name, for functions, methods and values of `method` of SciPy and lmfit.
HINTS = {
    **dict.fromkeys(("brute", "basinhopping", "basin_hopping", "shgo", "dual_annealing", "ampgo", "direct"), _SEARCH),
    **dict.fromkeys(("emcee", "mcmc"), f"there is no sampler; {_INTERVALS}"),
    **dict.fromkeys(("minimize", "Minimizer", "leastsq", "least_squares", "Parameters", "ODR", "RealData"), _FIT),
    "conf_interval": "Fit.profile(name).interval(level) computes it",
    "conf_interval2d": "Fit.contour(first, second) computes it",
    "eval_uncertainty": "Fit.confidence_band(x, level) computes it",
    "eval_components": "Fit.components(x) computes them",
    **dict.fromkeys(("GlobalFit", "global_fit"), "dualfit.fit_joint fits several data sets with shared parameters"),
}


def hint(name: object) -> str:
    """Return the end of a message about an unknown name: "; " and what to use, or nothing."""
    return f"; {HINTS[name]}" if isinstance(name, str) and name in HINTS else ""

"""Nonlinear least-squares curve fitting with exact derivatives and reliable error bars, on all cores or a GPU.

>>> import numpy as np
>>> from dualfit import curve_fit
>>> x = np.linspace(0, 4, 50)
>>> y = 2.5 * np.exp(-1.3 * x) + 0.5
>>> popt, pcov = curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y)

`curve_fit` has the interface of SciPy. `fit` adds names, a report, bands, profiles and pictures. `models` has peaks,
decays and backgrounds with automatic initial guesses. `fit_batch` computes thousands of fits in one call, `fit_joint`
fits several data sets with shared parameters, `fit_stream` fits more points than fit into memory, and `fit_parts` fits
points that are distributed over processes. `multi_start` and `differential_evolution` search for the best of several
minima, `Fit.bootstrap` and `Fit.contour` compute confidence regions, and `compare` compares models.
"""

import typing as _typing

from . import models
from ._batch import Batch
from ._bootstrap import Bootstrap
from ._compare import Comparison, FTest, compare
from ._contour import Contour, ContourLine
from ._core import CudaError, FitError, __version__
from ._curve_fit import curve_fit
from ._curve_fit import optimize_warning as _optimize_warning
from ._devices import DeviceInfo, devices
from ._fit import Fit
from ._hints import hint as _hint
from ._hints import likely as _likely
from ._joint import JointFit, fit_joint
from ._model import Model, fit, fit_batch
from ._parts import GROUP, Part, fit_parts, merge
from ._prepare import NotTracedWarning
from ._profile import Profile
from ._results import Band, Component, Interval, Optima, Optimum, Quantity
from ._search import differential_evolution, multi_start
from ._settings import Options
from ._stream import fit_stream
from ._trace import NotTraceable

if _typing.TYPE_CHECKING:
    from ._curve_fit import OptimizeWarning
else:

    def __getattr__(name: str) -> type[UserWarning]:
        if name == "OptimizeWarning":
            return _optimize_warning()
        remedy = f"; write dualfit.models.{name}" if name in dir(models) else _hint(name) or _likely(name, __all__)
        raise AttributeError(f"module 'dualfit' has no attribute {name!r}{remedy}")

__all__ = [
    "GROUP", "Band", "Batch", "Bootstrap", "Comparison", "Component", "Contour", "ContourLine", "CudaError", "DeviceInfo", "FTest",
    "Fit", "FitError", "Interval", "JointFit", "Model", "NotTraceable", "NotTracedWarning", "Optima", "OptimizeWarning", "Optimum", "Options",
    "Part", "Profile", "Quantity", "__version__", "compare", "curve_fit", "devices", "differential_evolution", "fit", "fit_batch",
    "fit_joint", "fit_parts", "fit_stream", "merge", "models", "multi_start",
]

"""Public names of the package: exactly those of this list, so that no name is added or removed by accident."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import dualfit

PUBLIC = {
    "GROUP", "Band", "Batch", "Bootstrap", "Comparison", "Component", "Contour", "ContourLine", "CudaError", "DeviceInfo", "FTest",
    "Fit", "FitError", "Interval", "JointFit", "Model", "NotTraceable", "NotTracedWarning", "Optima", "OptimizeWarning", "Optimum", "Options",
    "Part", "Profile", "Quantity", "compare", "curve_fit", "devices", "differential_evolution", "fit", "fit_batch", "fit_joint",
    "fit_parts", "fit_stream", "merge", "models", "multi_start",
}


def test_public_names() -> None:
    # In a separate process, because other tests may have imported `dualfit.dask` and `dualfit.mpi` in this one.
    program = "import dualfit, json; print(json.dumps([name for name in vars(dualfit) if not name.startswith('_')]))"
    found = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)
    # `OptimizeWarning` is created at its first use, because it imports SciPy.
    assert {*found, "OptimizeWarning"} == PUBLIC
    assert set(dualfit.__all__) == PUBLIC | {"__version__"}
    assert all(hasattr(dualfit, name) for name in dualfit.__all__)


# Names of other packages


@pytest.mark.parametrize(("name", "words"), [
    ("brute", "dualfit.multi_start and dualfit.differential_evolution"), ("emcee", "Fit.bootstrap, Fit.profile and Fit.contour"),
    ("conf_interval2d", "Fit.contour"), ("conf_interval", "Fit.profile"), ("GlobalFit", "dualfit.fit_joint"),
])
def test_names_of_other_packages_have_a_hint(name: str, words: str) -> None:
    fit = dualfit.fit("a*x", [1.0, 2.0], [1.0, 2.5])
    for call in (lambda: getattr(dualfit, name), lambda: getattr(fit, name)):
        with pytest.raises(AttributeError) as raised:
            call()
        assert repr(name) in str(raised.value) and words in str(raised.value)
    with pytest.raises(TypeError) as unknown:
        dualfit.fit("a*x", np.ones(3), np.ones(3), method=name)  # type: ignore[call-arg]
    assert words in str(unknown.value)


def test_other_unknown_names_have_none() -> None:
    with pytest.raises(AttributeError) as raised:
        dualfit.no_such_name  # type: ignore[attr-defined]
    assert str(raised.value) == "module 'dualfit' has no attribute 'no_such_name'"
    assert not hasattr(dualfit, "__wrapped__")

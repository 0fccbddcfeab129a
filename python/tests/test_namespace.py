"""The public names of the package: exactly those of this list, so that none appears or is lost by accident."""

from __future__ import annotations

import json
import subprocess
import sys

import dualfit

PUBLIC = {
    "GROUP", "Band", "Batch", "Component", "CudaError", "DeviceInfo", "Fit", "FitError", "Model", "NotTraceable",
    "NotTracedWarning", "OptimizeWarning", "Options", "Part", "Profile", "Quantity", "curve_fit", "devices", "fit",
    "fit_batch", "fit_parts", "fit_stream", "merge", "models",
}


def test_public_names() -> None:
    # In a process of its own: here other tests may have imported `dualfit.dask` and `dualfit.mpi`.
    program = "import dualfit, json; print(json.dumps([name for name in vars(dualfit) if not name.startswith('_')]))"
    found = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)
    # Importing SciPy for `OptimizeWarning` waits until it is used.
    assert {*found, "OptimizeWarning"} == PUBLIC
    assert set(dualfit.__all__) == PUBLIC | {"__version__"}
    assert all(hasattr(dualfit, name) for name in dualfit.__all__)

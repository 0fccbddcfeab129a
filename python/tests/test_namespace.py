"""Public names of the package: exactly those of this list, so that no name is added or removed by accident."""

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
    # In a separate process, because other tests may have imported `dualfit.dask` and `dualfit.mpi` in this one.
    program = "import dualfit, json; print(json.dumps([name for name in vars(dualfit) if not name.startswith('_')]))"
    found = json.loads(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)
    # `OptimizeWarning` is created at its first use, because it imports SciPy.
    assert {*found, "OptimizeWarning"} == PUBLIC
    assert set(dualfit.__all__) == PUBLIC | {"__version__"}
    assert all(hasattr(dualfit, name) for name in dualfit.__all__)

"""SciPy's tests of `curve_fit`, run with dualfit's function instead of SciPy's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualfit

pytest.importorskip("scipy")

#: Tests of SciPy that fail with dualfit, and the reasons.
DIFFERENT = {
    # The test compares pcov, to 1.7e-6, with numbers that SciPy computed by forward differences. dualfit's pcov agrees
    # with a computation in 50 digits; see `test_covariance_of_gh4555b`.
    "test_gh4555b",
}


def test_tests_of_scipy_pass() -> None:
    here = Path(__file__).parent
    package = Path(dualfit.__file__).parents[1]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(here), str(package), os.environ.get("PYTHONPATH", "")]))
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "curve_fit_of_scipy", "-p", "no:cacheprovider", "-q", "-rA", "--pyargs",
         "scipy.optimize.tests.test_minpack", "-k", "TestCurveFit"],
        env=env, capture_output=True, text=True, cwd=here)
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\S+)", run.stdout, re.M)
    outcomes = {name: outcome for outcome, name in found}
    assert len(outcomes) >= 40, run.stdout[-3000:] + run.stderr[-3000:]
    failed = {name for name, outcome in outcomes.items() if outcome != "PASSED"}
    assert failed <= DIFFERENT, run.stdout[-6000:]

"""Points that Dask's workers or MPI's ranks hold: the same bits however they are divided, and who carries the questions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dualfit

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import shared_points  # noqa: E402


def printed(*command: str) -> str:
    """The parameters that an example prints."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    run = subprocess.run(command, cwd=EXAMPLES, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def here() -> str:
    """The parameters from one part in this process."""
    part = dualfit.Part(shared_points.model, *shared_points.points(0, shared_points.POINTS))
    fit = dualfit.fit_parts(shared_points.model, part.answer, shared_points.START)
    assert fit.converged
    return shared_points.shown(fit.params)


def test_a_stream_of_the_points_has_the_same_minimum(here: str) -> None:
    whole = shared_points.points(0, shared_points.POINTS)
    fit = dualfit.fit(shared_points.model, *whole, shared_points.START)
    for ours, theirs in zip(fit.params.tolist(), here.split()):
        assert ours == pytest.approx(float.fromhex(theirs), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_parts_in_one_process(count: int, here: str) -> None:
    ends = dualfit.share(shared_points.POINTS, count)
    parts = [dualfit.Part(shared_points.model, *shared_points.points(a, b), a) for a, b in ends]

    def ask(question: bytes) -> bytes:
        return dualfit.merge(part.answer(question) for part in parts)

    fit = dualfit.fit_parts(shared_points.model, ask, shared_points.START)
    assert shared_points.shown(fit.params) == here


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_of_dask(count: int, here: str) -> None:
    pytest.importorskip("dask.distributed")
    assert printed(sys.executable, "dask_parts.py", str(count)) == here


@pytest.mark.parametrize("count", [1, 2, 4])
def test_ranks_of_mpi(count: int, here: str) -> None:
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    assert printed("mpirun", "--oversubscribe", "-n", str(count), sys.executable, "mpi_parts.py") == here

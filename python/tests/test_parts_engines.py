"""Distributed fits with Dask and MPI: the same bits for every division of the points and every transport."""

from __future__ import annotations

import os
import re
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
    """Run an example. Return the parameters that it prints."""
    package = str(Path(dualfit.__file__).parents[1])
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]))
    run = subprocess.run(command, cwd=EXAMPLES, env=env, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def here() -> str:
    """Fit one part in this process. Return the parameters as text."""
    part = dualfit.Part(shared_points.model, *shared_points.points(0, shared_points.POINTS))
    fit = dualfit.fit_parts(shared_points.model, part.answer, shared_points.START)
    assert fit.converged
    return shared_points.shown(fit.params)


def test_a_stream_and_memory_have_the_same_minimum(here: str) -> None:
    # These two begin with a fit of a sample of the points, therefore their steps differ.
    ends = dualfit.Part.share(shared_points.POINTS, 5)
    stream = dualfit.fit_stream(shared_points.model, None, shared_points.START,
                                chunks=lambda: (shared_points.points(*each) for each in ends))
    memory = dualfit.fit(shared_points.model, *shared_points.points(0, shared_points.POINTS), shared_points.START)
    parts = [float.fromhex(value) for value in here.split()]
    assert stream.params.tolist() == pytest.approx(parts, rel=1e-9)
    assert memory.params.tolist() == pytest.approx(parts, rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_parts_in_one_process(count: int, here: str) -> None:
    ends = dualfit.Part.share(shared_points.POINTS, count)
    parts = [dualfit.Part(shared_points.model, *shared_points.points(a, b), a) for a, b in ends]

    def ask(question: bytes) -> bytes:
        return dualfit.merge(part.answer(question) for part in parts)

    fit = dualfit.fit_parts(shared_points.model, ask, shared_points.START)
    assert shared_points.shown(fit.params) == here


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_of_dask(count: int, here: str) -> None:
    pytest.importorskip("dask.distributed")
    assert printed(sys.executable, "dask_parts.py", str(count)) == here


def mpirun(count: int, *command: str) -> str:
    """Run Python on `count` MPI ranks. Return the last line of the output."""
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    return printed("mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(count), sys.executable, *command)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_ranks_of_mpi(count: int, here: str) -> None:
    assert mpirun(count, "mpi_parts.py") == here


#: Script with an error on rank 1 only, which must not leave other ranks waiting.
ALONE = """
import numpy as np
from mpi4py import MPI
import dualfit.mpi
comm = MPI.COMM_WORLD
x = np.linspace(0, 1, 100 if comm.rank else dualfit.GROUP)
try:
    dualfit.mpi.fit(comm, "a*x", x, x, (0, 7, 2 * dualfit.GROUP)[comm.rank], [1.0])
    said = "nothing"
except dualfit.FitError as error:
    said = str(error)
said = comm.gather(said)
if said:
    print(said)
"""


#: Script that prints the error of each of two or three ranks for a fit that fails; the argument selects the cause.
FAILS = """
import sys
import numpy as np
from mpi4py import MPI
import dualfit.mpi
comm, why, group = MPI.COMM_WORLD, sys.argv[1], dualfit.GROUP
first = comm.rank * group
x = np.linspace(0, 4, group)
y = 2.5 * np.exp(-1.3 * x) + 0.5
f = lambda x, a, b, c: a * np.exp(-b * x) + c
options = {}
if why == "nan" and comm.rank == 1:
    y[5] = np.nan
if why == "model" and comm.rank == 1:
    f = lambda x, a, b, c: a * np.exp(-b * x) + 2 * c
if why == "gap" and comm.rank:
    first += group * comm.rank
if why == "order":
    first = (comm.size - 1 - comm.rank) * group
if why == "callback":
    def callback(event):
        raise LookupError("mine")
    options["callback"] = callback
try:
    dualfit.mpi.fit(comm, f, x, y, first, [9.0, 9.0, 9.0], **options)
    said = "nothing"
except Exception as error:
    said = f"{type(error).__name__}: {error}"
said = comm.gather(said)
if said:
    print(" | ".join(said))
"""


@pytest.mark.parametrize(("why", "words"), [
    ("nan", "FitError: .*`y` is NaN at index 1048581"),
    ("model", "FitError: the part that begins at point 1048576 has another model than the leader"),
    ("gap", "FitError: answers that do not go together: points .* are followed by points"),
    ("order", "FitError: answers that do not go together: points .* are followed by points"),
])
@pytest.mark.parametrize("count", [2, 3])
def test_every_rank_raises_what_one_rank_finds(why: str, words: str, count: int) -> None:
    said = mpirun(count, "-c", FAILS, why).split(" | ")
    assert len(said) == count and set(said) == {said[0]}, said
    assert re.match(words, said[0]), said


def test_what_a_callback_raises_on_rank_0_ends_the_others() -> None:
    assert mpirun(2, "-c", FAILS, "callback") == "LookupError: mine | FitError: LookupError: mine"


def test_what_is_wrong_on_one_rank_is_said_on_all() -> None:
    wrong = "first is 7; parts begin at multiples"
    said = mpirun(3, "-c", ALONE)
    assert said.count(wrong) == 3 and said.count("rank 1: ") == 2, said

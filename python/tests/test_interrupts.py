"""Ctrl-C soon ends the running call with KeyboardInterrupt, and later calls work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dualfit

SCRIPT = Path(__file__).parent / "interrupts.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")


#: Calls that an interrupt must end.
CASES = ["fit", "curve_fit", "untraceable", "untraceable, of many points", "batch", "untraceable batch", "profile",
         "multi_start", "untraceable multi_start", "differential_evolution", "bootstrap", "untraceable bootstrap", "contour", "joint",
         "untraceable joint", "stream of chunks", "cleans up"]


def run(*names: str) -> dict[str, tuple[str, float]]:
    """Run cases. Return how each ended, and the time from the signal to the end, in seconds."""
    package = Path(dualfit.__file__).parents[1]
    # Two threads on any machine: a call that ignores the signal then takes equally long everywhere.
    env = dict(os.environ, RAYON_NUM_THREADS="2",
               PYTHONPATH=os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, str(SCRIPT), *names], env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["after"]
    return {name: tuple(found) for name, found in said["found"].items()}


@pytest.fixture(scope="module")
def soon() -> dict[str, tuple[str, float]]:
    return run(*CASES)


@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_ends(soon: dict[str, tuple[str, float]], name: str) -> None:
    how, seconds = soon[name]
    # If a function turns the interrupt into another exception, the caller receives that exception.
    assert how == ("RuntimeError: cleaned up" if name == "cleans up" else "KeyboardInterrupt: ")
    # The expected time is 0.1 s; the limit allows for busy machines.
    assert seconds < 2

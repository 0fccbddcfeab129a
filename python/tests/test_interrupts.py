"""Ctrl-C ends whatever is going on soon, as KeyboardInterrupt, and what comes afterwards works."""

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


#: What an interrupt has to end.
CASES = ["fit", "curve_fit", "untraceable", "untraceable, of many points", "batch", "untraceable batch", "profile",
         "stream of chunks", "cleans up"]


def run(*names: str) -> dict[str, tuple[str, float]]:
    """How cases ended, and how many seconds after the signal."""
    package = Path(dualfit.__file__).parents[1]
    # Two threads, whatever there are: what does not end by the signal takes as long on any machine.
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
    # What a function makes of the interrupt comes through as well.
    assert how == ("RuntimeError: cleaned up" if name == "cleans up" else "KeyboardInterrupt: ")
    # It takes a tenth of a second; the rest is for machines that have other things to do.
    assert seconds < 2

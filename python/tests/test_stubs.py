"""Types: the stubs match the package, and type checkers find errors only in the wrong program."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import models_stub
import pytest

from dualfit import models

PACKAGE = Path(__file__).parents[1]
USE = Path(__file__).parent / "typed_use.py"
#: Lines with one type error each.
WRONG = [
    'models.gaussion("a_")',
    "models.gaussian(3)",
    'models.gaussian("a_") + "b"',
    'dualfit.fit("a*x", [1.0], [1.0], bound={"a": (0, 1)})',
    'dualfit.fit("a*x", [1.0], [1.0], max_evaluations="many")',
    'dualfit.fit("a*x", [1.0], [1.0]).chisquare',
    'dualfit.fit_batch("a*x", [1.0], [[1.0]]).parameters',
    'dualfit.fit_joint("a*x", [1.0], [[1.0]], share="a")',
    'dualfit.multi_start("a*x", [1.0], [1.0], starts="many")',
    'dualfit.fit_stream(3, "points.csv")',
    "popt, pcov, more = dualfit.curve_fit(lambda x, a: a * x, [1.0], [1.0])",
]
WRONG_LINES = {("wrong_use.py", 2 + k) for k in range(len(WRONG))}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the output of each installed type checker for the package, a correct program and a wrong one."""
    folder = tmp_path_factory.mktemp("types")
    wrong = folder / "wrong_use.py"
    wrong.write_text("import dualfit; from dualfit import models\n" + "\n".join(WRONG) + "\n", encoding="utf-8")
    configuration = {"include": [str(PACKAGE / "dualfit"), str(USE), str(wrong)], "extraPaths": [str(PACKAGE)],
                     "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(configuration), encoding="utf-8")
    settings = str(PACKAGE / "pyproject.toml")
    commands = {
        "mypy": ["mypy", "--strict", "--config-file", settings, "--cache-dir", os.devnull, str(PACKAGE / "dualfit"), str(USE), str(wrong)],
        "mypy.stubtest": ["mypy.stubtest", "dualfit._core", "dualfit.models", "--mypy-config-file", settings],
        "basedpyright": ["basedpyright", "--outputjson", "--level", "error", "--project", str(folder),
                         "--pythonpath", sys.executable],
    }
    # Stubs are compared with the imported package. If a wheel is installed, this is not the source folder, which then
    # lacks the compiled part.
    env = dict(os.environ, PYTHONPATH=str(Path(models.__file__).parents[1]), MYPYPATH=str(PACKAGE))
    running = {name: subprocess.Popen([sys.executable, "-m", *command], cwd=folder, env=env, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
               for name, command in commands.items() if importlib.util.find_spec(name.split(".")[0])}
    return {name: process.communicate()[0] for name, process in running.items()}


def of(said: dict[str, str], checker: str) -> str:
    if checker not in said:
        pytest.skip(f"no {checker}")
    return said[checker]


def test_mypy(said: dict[str, str]) -> None:
    text = of(said, "mypy")
    found = re.findall(r"^(\S+?):(\d+): error:", text, re.M)
    assert {(Path(file).name, int(line)) for file, line in found} == WRONG_LINES, text


def test_basedpyright(said: dict[str, str]) -> None:
    text = of(said, "basedpyright")
    found = json.loads(text[text.index("{"):])["generalDiagnostics"]
    assert {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found} == WRONG_LINES, text


def test_stubs_are_those_of_what_is_there(said: dict[str, str]) -> None:
    text = of(said, "mypy.stubtest")
    assert text.startswith("Success"), text


def test_the_stub_of_models_has_every_name() -> None:
    text = (PACKAGE / "dualfit" / "models.pyi").read_text(encoding="utf-8")
    assert text == models_stub.stub(), "make it anew: python models_stub.py > ../dualfit/models.pyi"
    stated = set(re.findall(r"^def (\w+)\(", text, re.M)) - {"__dir__"}
    assert stated == set(dir(models)) == {*models.names(), *models._LMFIT, *models._MADE}


def test_the_program_that_is_checked_runs() -> None:
    pytest.importorskip("typing_extensions")
    runpy.run_path(str(USE))

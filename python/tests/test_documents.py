"""The code of the documentation runs: code blocks of pages, and examples of docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import blocks
import pytest

import dualfit

HERE = Path(__file__).parents[1]
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md")), HERE.parent / "README.md"]
MODULES = sorted(f"dualfit.{module.name}" for module in pkgutil.iter_modules(dualfit.__path__) if module.name != "_core")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = re.findall(r"^ *```(py.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(marks) == {"python"}, "every block of Python is one that runs"
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert blocks.run(page) > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("name", ["dualfit", *MODULES])
def test_examples_of_docstrings(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert not outcome.failed


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in dualfit.__all__ if not isinstance(getattr(dualfit, name), (int, str))
            and not (getattr(dualfit, name).__doc__ or "").strip()]
    assert not bare
    public = (dualfit.Fit, dualfit.Model, dualfit.Batch, dualfit.JointFit, dualfit.Part, dualfit.Profile, dualfit.Bootstrap)
    silent = [f"{cls.__name__}.{name}" for cls in public for name, member in vars(cls).items()
              if not name.startswith("_") and not (getattr(member, "__doc__", "") or "").strip()]
    assert not silent

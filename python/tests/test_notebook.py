"""The notebook of the documentation runs without errors and draws its figures."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

TOUR = Path(__file__).parents[1] / "docs" / "tour.ipynb"


def test_the_tour_runs_and_draws() -> None:
    notebook = nbformat.read(TOUR, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": TOUR.parent}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 5
    assert any("text/html" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.get("name") == "stderr"]
    folder = os.environ.get("DUALFIT_PICTURES")
    for number, picture in enumerate(pictures if folder else []):
        Path(str(folder), f"tour_{number}.png").write_bytes(base64.b64decode(picture))

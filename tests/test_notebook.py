"""The quick start is a notebook that runs, in which objects show themselves."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "quick_start.ipynb"


def test_the_notebook_is_kept_without_its_answers():
    """What it shows is made anew by who runs it; a diff of it is one of its text."""
    cells = [
        x for x in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if x["cell_type"] == "code"
    ]
    assert len(cells) > 8
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.campaign
def test_the_notebook_runs_and_its_objects_are_tables():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [x for cell in notebook.cells if cell.cell_type == "code" for x in cell.outputs]
    shown = [x.data["text/html"] for x in outputs if "text/html" in x.get("data", {})]
    assert len(shown) >= 8
    assert all("<table" in text for text in shown)
    heads = ("TwoAgentMDP", "FeasibleRewards", "Solved", "VerificationReport", "Certificate")
    for head in (*heads, "Commitment", "Six episodes", "distances between two rewards"):
        assert any(f"<caption>{head}" in text for text in shown), head
    texts = "".join(x.get("text", "") for x in outputs)
    assert "\\toprule" in texts
    assert "highspy" in texts

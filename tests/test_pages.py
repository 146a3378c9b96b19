"""The check of built pages finds what it says it finds, each fault on a page made for it."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_pages = load("check_pages", DOCS / "check_pages.py")

# What stands on a page, and the fault that it is; none where there is none.
PAGES = {
    '<a href="other.html#there">x</a>': None,
    '<a href="https://example.org/x#y">x</a>': None,
    '<a href="other.html?v=1#there">x</a>': None,
    '<a href="gone.html">x</a>': "dead link gone.html",
    '<a href="#gone">x</a>': "no such anchor #gone",
    '<a href="other.html#gone">x</a>': "no such anchor other.html#gone",
    '<a href="other.html"><code class="xref py">commit</code></a>': None,
    '<code class="docutils literal">commit</code>': None,
    '<code class="xref py py-obj"><span class="pre">commit</span></code>': "dead name commit",
    '<em class="xref py py-obj">commit</em>': "dead name commit",
    "<p><strong>Source</strong> paper</p>": None,
    "<dl><dt><strong>Source</strong> paper</dt></dl>": "bogus parameter Source",
    "<dl><dt>**Cost** one LP</dt></dl>": "bogus parameter **Cost** one LP",
    '<script src="https://cdn.example.org/x.js"></script>': "from the network https://cdn",
    '<img src="gone.png">': "dead link gone.png",
}


@pytest.mark.parametrize("body", PAGES)
def test_a_fault_of_a_page_is_said(body, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    (tmp_path / "index.html").write_text(body, encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="there">here</p>', encoding="utf-8")
    found = [line for line in check_pages.faults(tmp_path) if not line.startswith("api/")]
    expected = PAGES[body]
    assert found == [] if expected is None else expected in found[0]
    assert len(found) <= 1


def test_a_name_without_a_page_and_one_too_far_away_are_said(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    (tmp_path / "api").mkdir()
    for page, follows in [("index", "a"), ("a", "b"), ("b", "api/iirl_opt.solver.solve")]:
        (tmp_path / f"{page}.html").write_text(f'<a href="{follows}.html">x</a>', encoding="utf-8")
    (tmp_path / "api/iirl_opt.solver.solve.html").write_text("<p>solve</p>", encoding="utf-8")
    found = set(check_pages.faults(tmp_path))
    assert "api/iirl_opt.solver.solve.html: more than two clicks from the landing page" in found
    assert "api/iirl_opt.commitment.commit.html: no page for a public name" in found


def test_every_public_name_has_one_subject(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from reference_pages import ROOMS, Room

    for name in ROOMS:
        room = Room(name)
        shown = [part for names in room.subjects.values() for part in names]
        assert sorted(shown) == sorted(room.offered)


def test_source_and_cost_become_notes(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    pytest.importorskip("sphinx", reason="the documentation's own tools")
    from docstrings import Docstring

    text = "First.\n\nRaises\n------\nInvalidReward\n    Why.\n\n**Source** us. **Cost** one LP."
    doc = Docstring.read(text)
    assert doc.sections["Raises"].strip() == "InvalidReward\n    Why."
    assert doc.sections["Notes"] == "**Source** us.\n\n**Cost** one LP.\n"
    assert Docstring.read("One.\n\n**Cost** arithmetic.").sections == {
        "Notes": "**Cost** arithmetic.\n"
    }


def test_every_everyday_name_is_in_a_room_of_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from reference_pages import ROOMS, Room

    import iirl_opt

    shown = {name for room in ROOMS for name in Room(room).offered}
    assert set(iirl_opt.__all__) - shown <= {"__version__", *ROOMS}

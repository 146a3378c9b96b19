"""The gallery's stories: each is short and has a picture, and one that fails ends the docs job.

The docs job alone runs them all, with warnings as errors (docs/gallery.py). Here run, as scripts of
their user, the first story and the one whose workers are processes.
"""

import ast
import sys
from pathlib import Path

import pytest
from commands import child

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples"
STORIES = sorted(FOLDER.rglob("*.py"))
NAMES = [story.relative_to(FOLDER).as_posix() for story in STORIES]
LONGEST = 80


@pytest.mark.parametrize("story", STORIES, ids=NAMES)
def test_a_story_is_short_has_a_title_sections_and_one_picture(story: Path) -> None:
    text = story.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    title, line, blank, *_ = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert (line, blank) == ("=" * len(title), "")
    assert text.count("\n# %%\n") >= 2
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    saved = [call.args[1] for call in calls if ast.unparse(call.func) == "iirl.plot.save"]
    assert len(saved) == 1
    assert isinstance(saved[0], ast.Constant)
    assert str(saved[0].value).endswith(".png")


def test_the_readme_names_every_example() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in text] == []


@pytest.mark.process
@pytest.mark.parametrize(
    "name",
    [
        "compose/01_build_a_game.py",
        pytest.param("elsewhere/04_sweep_on_a_cluster.py", marks=pytest.mark.campaign),
    ],
)
def test_a_story_runs_as_a_script(name: str, tmp_path: Path) -> None:
    # Imports may warn too, which a process that has made them already does not see.
    done = child([sys.executable, "-W", "error", FOLDER / name], cwd=tmp_path, env={"DISPLAY": ""})
    assert (done.code, done.err) == (0, "")
    assert done.out
    (picture,) = tmp_path.iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


CONF = """
import sys
sys.path.insert(0, {docs!r})
from gallery import SETTINGS
extensions = ["sphinx_gallery.gen_gallery"]
sphinx_gallery_conf = SETTINGS | {{"examples_dirs": "../stories", "subsection_order": None}}
"""
STORY = '''"""
Title
=====

What it is about.
"""
import warnings
from iirl_opt import plot

print("said")
{line}
plot.save(plot.plot_regret([1, 0]), "a-picture-of-it.png")
'''


@pytest.mark.parametrize(
    ("line", "why"),
    [("", None), ("assert 1 > 2", "assert 1 > 2"), ('warnings.warn("old", stacklevel=1)', "old")],
    ids=["sound", "false", "warns"],
)
def test_a_story_that_fails_or_warns_ends_the_build(
    line: str,
    why: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from sphinx.cmd.build import build_main

    # A build that ends early leaves these as they were then.
    monkeypatch.chdir(tmp_path)
    for name in ("argv", "path"):
        monkeypatch.setattr(sys, name, [*getattr(sys, name)])
    stories, docs = tmp_path / "stories", tmp_path / "docs"
    stories.mkdir()
    docs.mkdir()
    (stories / "GALLERY_HEADER.rst").write_text("Stories\n=======\n")
    (stories / "story.py").write_text(STORY.format(line=line))
    (docs / "conf.py").write_text(CONF.format(docs=str(ROOT / "docs")))
    (docs / "index.rst").write_text("Title\n=====\n\n.. toctree::\n\n   auto_examples/index\n")
    code = build_main(["-q", "-W", "-b", "html", str(docs), str(tmp_path / "out")])
    _, complaint = capsys.readouterr()
    if why:
        assert code != 0
        assert why in complaint
        return
    assert (code, complaint) == (0, "")
    page = (tmp_path / "out" / "auto_examples" / "story.html").read_text(encoding="utf-8")
    assert 'alt="A picture of it"' in page
    assert "said" in page
    assert not list(stories.glob("*.png"))

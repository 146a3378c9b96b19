"""Files are whole or not there; journals keep what was appended and have one writer."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.figure
import pytest
from hypothesis import assume, given, strategies as st
from source import parsed

from iirl_opt import files, game, maze_maker, plot
from iirl_opt.errors import FileProblem
from iirl_opt.files import Journal, read_bytes, read_text, write_text, writing

OLD = "what stood here before"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "result.json"
    path.write_text(OLD)
    return path


# Writing


@pytest.mark.parametrize(
    "problem", [OSError(28, "no space left"), KeyboardInterrupt(), ValueError()]
)
@pytest.mark.parametrize("begun", [False, True])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    kept: Path, problem: BaseException, begun: bool
) -> None:
    def write() -> None:
        with writing(kept) as part:
            if begun:
                part.write_text("half of what was to")
            raise problem

    with pytest.raises(type(problem)):
        write()
    assert contents(kept.parent) == {kept.name: OLD.encode()}


def test_a_full_disk_leaves_the_old_file(kept: Path) -> None:
    # A limit on the size of files is what a process can set for itself: the write fails half-way.
    code = (
        "import resource, signal, sys; from iirl_opt.files import write_text;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000));"
        "write_text(sys.argv[1], 'x' * 300000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(kept)], capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stderr
    assert contents(kept.parent) == {kept.name: OLD.encode()}


def test_a_picture_that_fails_leaves_the_old_one(kept: Path) -> None:
    axes = matplotlib.figure.Figure().add_subplot()
    axes.set_title("$\\no such thing$")  # what matplotlib finds out while it draws
    with pytest.raises(ValueError, match="no such"):
        plot.save(axes, kept.rename(kept.with_suffix(".png")))
    assert contents(kept.parent) == {"result.png": OLD.encode()}


def test_what_is_written_takes_the_place_of_the_old_file_and_keeps_its_mode(kept: Path) -> None:
    kept.chmod(0o640)
    assert write_text(str(kept), "new\n") == kept
    assert contents(kept.parent) == {kept.name: b"new\n"}
    assert kept.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "by-hand").touch()
    written = write_text(tmp_path / "ours", "")
    assert written.stat().st_mode == (tmp_path / "by-hand").stat().st_mode


def test_a_link_stays_a_link(kept: Path) -> None:
    link = kept.with_name("link")
    link.symlink_to(kept.name)
    write_text(link, "new")
    assert link.is_symlink()
    assert kept.read_text() == "new"


def test_what_is_no_ordinary_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "through")
        assert reader.communicate()[0] == b"through"
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there_is_named_by_the_path_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "result.json"
    with pytest.raises(FileNotFoundError) as caught:
        write_text(path, "")
    assert caught.value.filename == str(path)


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1))
def test_any_name_that_a_file_may_have_will_do(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("names") / name
    try:
        path.write_text("")
    except OSError:
        assume(False)  # dots alone, or too long
    assert write_text(path, "new").read_text() == "new"
    assert contents(path.parent) == {name: b"new"}


def test_the_longest_name_will_do(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    write_text(path, "new")
    assert contents(tmp_path) == {path.name: b"new"}


def test_a_game_goes_to_the_very_path_whatever_its_suffix(tmp_path: Path) -> None:
    maze, _ = maze_maker()
    for name in ("plain", "game.data", "game.npz"):
        game.save_game(maze, tmp_path / name)
        assert game.load_game(tmp_path / name).fingerprint == maze.fingerprint
    assert contents(tmp_path).keys() == {"plain", "game.data", "game.npz"}


@pytest.mark.parametrize("name", ["plain", "picture.svg"])
def test_a_picture_goes_to_the_very_path(tmp_path: Path, name: str) -> None:
    assert plot.save(matplotlib.figure.Figure().add_subplot(), tmp_path / name).is_file()
    assert contents(tmp_path).keys() == {name}


# Reading


@given(content=st.binary(max_size=20), limit=st.integers(0, 20))
def test_no_more_is_read_than_is_allowed(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, limit: int
) -> None:
    path = tmp_path_factory.mktemp("read") / "file"
    path.write_bytes(content)
    if len(content) <= limit:
        assert read_bytes(path, limit) == content
    else:
        with pytest.raises(FileProblem, match=f"more than {limit} bytes"):
            read_bytes(path, limit)


def test_what_has_no_end_is_refused() -> None:
    with pytest.raises(FileProblem, match="more than 100"):
        read_bytes("/dev/zero", 100)


@given(text=st.text())
def test_text_is_read_as_python_reads_it(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_bytes(text.encode("utf-8", "replace"))
    assert read_text(path, 2**20) == path.read_text(encoding="utf-8")


# Journals


@given(first=st.lists(st.text("ab{}é")), torn=st.binary().filter(lambda end: b"\n" not in end))
def test_a_journal_goes_on_where_it_was_cut_off(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("journal") / "new" / "lines"
    with Journal(path) as journal:
        for line in first:
            journal.append(line)
    with path.open("ab") as file:
        file.write(torn)
    with Journal(path, resume=True) as journal:
        assert [line.decode() for line in journal.lines] == first
        journal.append("last")
    assert path.read_text().split("\n") == [*first, "last", ""]


def test_an_appended_line_is_there_at_once(tmp_path: Path) -> None:
    with Journal(tmp_path / "lines") as journal:
        journal.append("one")
        assert (tmp_path / "lines").read_text() == "one\n"


@pytest.mark.parametrize("resume", [False, True])
def test_a_journal_of_something_else_stays_as_it_is(kept: Path, resume: bool) -> None:
    with pytest.raises(ValueError, match="else"), Journal(kept, resume=resume):
        raise ValueError("of something else")
    assert contents(kept.parent) == {kept.name: OLD.encode()}


def test_a_journal_that_is_only_opened_loses_what_is_to_go(kept: Path) -> None:
    kept.write_text("one\ntorn")
    with Journal(kept, resume=True) as journal:
        assert journal.lines == [b"one"]
    assert kept.read_text() == "one\n"
    with Journal(kept) as journal:
        assert journal.lines == []
    assert kept.read_text() == ""


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    with Journal(path) as journal:
        journal.append("one")
        for resume in (False, True):
            with pytest.raises(FileProblem, match="another process"):
                Journal(path, resume=resume)
        journal.append("two")
    with Journal(path, resume=True) as journal:
        assert journal.lines == [b"one", b"two"]


def test_the_lock_of_a_journal_goes_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    code = (
        "import os, sys; from iirl_opt.files import Journal;"
        "journal = Journal(sys.argv[1]); journal.append('one'); os.abort()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], stderr=subprocess.DEVNULL, check=False
    )
    assert done.returncode < 0
    with Journal(path, resume=True) as journal:
        assert journal.lines == [b"one"]


def test_a_journal_that_is_too_large_is_refused_and_let_go(kept: Path) -> None:
    with pytest.raises(FileProblem, match="more than 3 bytes"):
        Journal(kept, resume=True, limit=3)
    with Journal(kept, resume=True):
        pass


def test_files_are_put_into_their_place_in_one_place() -> None:
    package = Path(files.__file__).parent
    moved, written = set(), set()
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        for scope in ast.walk(parsed(path)):
            if not isinstance(scope, ast.FunctionDef):
                continue
            of_its_own = {"writing", "TemporaryDirectory"} & {
                node.id for node in ast.walk(scope) if isinstance(node, ast.Name)
            }
            for node in ast.walk(scope):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                    continue
                alone = len(node.args) == 1 and not node.keywords  # of a path, not of a text
                if node.func.attr == "rename" or (node.func.attr == "replace" and alone):
                    moved.add(name)
                elif node.func.attr in ("write_text", "write_bytes") and not of_its_own:
                    written.add(name)
    # What is compared first stands beside its place until then.
    assert moved == {"files.py", "formats/comparison.py"}
    # The file that a model file refers to is written to a place that its caller opens.
    assert written == {"library/writing.py"}

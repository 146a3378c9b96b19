"""Kinds of files: what names and first bytes say; saved games with their rewards."""

import gzip
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from doors import same

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, IIRLError, InvalidArgument, InvalidGame
from iirl_opt.formats import KINDS, ImportedGame, read_file, read_npz, write_file
from iirl_opt.formats.comparison import differences
from iirl_opt.formats.kinds import LOSSES, kind_of

GOLDEN = Path(__file__).parents[1] / "golden" / "games"
BRIDGE = Path(iirl.library.shipped_models()) / "learning" / "bridge.dpomdp"
GAME = iirl.TwoAgentMDP(
    [[[[1, 1], [0, 1]], [[1, 0], [1, 2]]], [[[1, 0], [1, 1]], [[0, 1], [2, 1]]]],
    "1/2",
    [1, 2],
    states=["a room", "ü:*"],
)
FOUND = ImportedGame(
    GAME,
    {"steps": [1.0, 0.1], "Ω 'cost'": np.arange(8.0).reshape(2, 2, 2)},
    {"done": [False, True]},
    np.array([[[True, True], [True, True]], [[True, True], [False, False]]]),
    "a test",
)


# Saved games


def test_a_saved_game_keeps_what_came_along_and_is_a_game_for_load_game(tmp_path):
    path = tmp_path / "Game.NPZ"
    write_file(FOUND, path)
    same(read_file(path), FOUND)
    assert read_file(path).source == "a test"
    assert iirl.load_game(path) == GAME
    assert read_npz(path, "3/4").game == GAME.discounted("3/4")
    with pytest.raises(InvalidGame, match="discount is 2; allowed"):
        read_npz(path, 2)


@pytest.mark.parametrize("name", ["float", "grid", "rational"])
def test_games_of_before_are_read_without_rewards(name):
    found = read_file(GOLDEN / f"{name}.npz")
    assert found.game == iirl.load_game(GOLDEN / f"{name}.npz")
    assert (dict(found.rewards), dict(found.labels), found.available) == ({}, {}, None)


def test_arrays_beside_a_game_that_do_not_fit_it_are_refused(tmp_path):
    path = tmp_path / "game.npz"
    write_file(FOUND, path)
    with np.load(path) as file:
        arrays = dict(file)
    for name, wrong in (
        ("reward_0", np.zeros(7)),
        ("label_0", np.zeros(2)),
        ("rewards", np.array(["__import__('os')", "2"])),
        ("available", np.zeros((2, 2, 2), bool)),
    ):
        np.savez(path, **(arrays | {name: wrong}))
        with pytest.raises(FileProblem, match="no file that write_npz wrote"):
            read_npz(path)


def test_a_small_archive_that_unpacks_to_a_huge_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("iirl_opt.game.store.MOST_BYTES", 10_000)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, format=np.array(1), zeros=np.zeros(10_000))
    assert path.stat().st_size < 10_000
    with pytest.raises(FileProblem, match="unpacks to more than 10000 bytes"):
        read_npz(path)


# Names and contents


def test_names_are_read_whatever_their_case_and_packed_where_they_say_so(tmp_path):
    text = BRIDGE.read_bytes()
    for name, content in (
        ("Bridge.DPOMDP", text),
        ("b.DpOmDp.gz", gzip.compress(text)),
        ("mark.dpomdp", b"\xef\xbb\xbf" + text),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        same(read_file(path), read_file(BRIDGE))
        assert kind_of(path).name == "dpomdp"


def contents(tmp_path):
    """Return what files of each kind hold, by the kind and the suffix that they should have."""
    write_file(FOUND, tmp_path / "game.npz")
    return {
        ("a saved game", ".npz"): (tmp_path / "game.npz").read_bytes(),
        ("a problem of two agents", ".dpomdp"): BRIDGE.read_bytes(),
        ("a DRN file", ".drn"): b"// by Storm\n@type: MDP\n@nr_states\n1\n@model\n",
        ("a program of PRISM's", ".nm or .pm or .sm or .prism"): b"mdp\n\nmodule m\nendmodule\n",
        ("a JANI model", ".jani"): b'{"jani-version": 1, "name": "m"}',
        ("a model file", ".toml"): b'version = 1\ntitle = "x"\n[game]\n',
        ("a certificate", ".json"): b'{"version": 2, "kind": "witness", "instance": {}}',
    }


def test_a_file_of_another_kind_than_its_name_says_is_named(tmp_path):
    known = contents(tmp_path)
    for (what, suffix), content in known.items():
        for wrong in {".npz", ".dpomdp", ".toml", ".txt", ""} - {suffix}:
            path = tmp_path / f"wrong{wrong}"
            path.write_bytes(content if suffix == ".npz" else b"\xef\xbb\xbf" + content)
            with pytest.raises(FileProblem) as caught:
                read_file(path)
            assert f"looks like {what}" in str(caught.value)
            assert f"ends in {suffix}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.dpomdp", gzip.compress(BRIDGE.read_bytes()), "compressed by gzip.*ends in .gz"),
        ("x.dpomdp.gz", BRIDGE.read_bytes(), "not compressed by gzip.*without .gz"),
        ("x.dpomdp.gz", gzip.compress(BRIDGE.read_bytes())[:200], "no whole gzip file"),
        ("x.dpomdp.gz", b"\x1f\x8b", "no whole gzip file"),
        ("x.txt", gzip.compress(BRIDGE.read_bytes()), "looks like.*ends in .dpomdp.gz"),
        ("x.dpomdp", BRIDGE.read_text().encode("utf-16"), "no UTF-8 text, but UTF-16"),
        ("x.dpomdp", b"\0\1\2", "is no UTF-8 text, but binary; allowed a problem of two agents"),
        ("x.dpomdp", b"", "the file ends"),
        ("x.npz", b"", "no file that save_game wrote"),
        ("x.xyz", b"hello", r"of no known kind; allowed .*dpomdp.*\.toml \(iirl_opt.read_model\)"),
        ("x.json", b"[" * 100_000, "is no JSON"),
        ("x.json", b'{"version": 1, "kind": ', "which iirl_opt.certificate.read_certificate reads"),
        ("x.toml", b"", "which iirl_opt.read_model reads"),
    ],
)
def test_what_is_no_file_of_its_name_is_said(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileProblem, match=said):
        read_file(path)


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("iirl_opt.formats.dpomdp.statements.MOST_BYTES", 10_000)
    path = tmp_path / "bomb.dpomdp.gz"
    path.write_bytes(gzip.compress(b"agents: 2\n" + b" " * 1_000_000))
    with pytest.raises(FileProblem, match="unpacks to more than 10000 bytes"):
        read_file(path)


def test_folders_pipes_and_missing_files_are_refused_at_once(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.dpomdp")
    (tmp_path / "loop.npz").symlink_to(tmp_path / "loop.npz")
    for name, error in (
        ("pipe.dpomdp", FileProblem),
        (".", FileProblem),
        ("loop.npz", OSError),
        ("none.npz", FileNotFoundError),
    ):
        with pytest.raises(error):
            read_file(tmp_path / name)


# Arguments


def test_arguments_without_a_meaning_are_refused():
    with pytest.raises(InvalidArgument, match=r"constants is {'K': 2}; allowed none"):
        read_file(BRIDGE, constants={"K": 2})
    assert read_file(BRIDGE, constants={}).game.discount == read_file(BRIDGE).game.discount
    with pytest.raises(InvalidArgument, match="ImportedGame or a TwoAgentMDP"):
        write_file("game", "x.npz")


def test_a_name_that_says_no_kind_that_is_written_is_refused(tmp_path):
    for name, said in (
        ("x.toml", "is a model file, which iirl_opt.library.write_model writes; allowed .npz"),
        ("x.json.gz", r"allowed .npz.*\.toml \(iirl_opt.library.write_model\)"),
        ("x.xyz", "says no kind of files; allowed .npz"),
    ):
        with pytest.raises(FileProblem, match=said):
            write_file(GAME, tmp_path / name)
    write_file(GAME, tmp_path / "x.xyz", kind="npz")
    assert iirl.load_game(tmp_path / "x.xyz") == GAME
    with pytest.raises(InvalidArgument, match="kind is 'zip'; allowed npz, ") as caught:
        write_file(GAME, tmp_path / "x.xyz", kind="zip")
    for word in ("prism", "jani", "certificate"):
        assert word not in str(caught.value)


def test_every_line_of_the_table_names_functions_that_are_there():
    from iirl_opt.formats.kinds import _load

    for kind in KINDS:
        assert kind.reader or kind.elsewhere[0]
        for place in filter(None, kind.elsewhere):
            module, _, name = place.rpartition(".")
            assert callable(getattr(import_module(module), name))
        assert all(callable(_load(place)) for place in (kind.reader, kind.writer) if place)
        assert all(end == end.lower() and end.startswith(".") for end in kind.suffixes)
    assert len({kind.name for kind in KINDS}) == len(KINDS)


PAGE = Path(__file__).parents[2] / "docs" / "bring_your_own_game.rst"


def rows_of_kinds():
    """Return the rows of the table of kinds in the documentation, as `KINDS` has them."""
    for kind in KINDS:
        if kind.reader or all(kind.elsewhere):
            ends = ", ".join(f"``{end}``" for end in kind.suffixes)
            doors = "in, out" if kind.writer or kind.elsewhere[1] else "in"
            lost = "; ".join(LOSSES[what] for what in kind.loses)
            yield "\n     - ".join([f"   * - ``{kind.name}``: {kind.title}", ends, doors, lost])


def test_the_table_of_the_documentation_is_that_of_the_kinds():
    wanted = "\n".join(row.rstrip() for row in rows_of_kinds())
    shown = PAGE.read_text().split(".. end of kinds")[0].split("has no place for\n")[1]
    assert shown.strip("\n") == wanted, f"the table should be\n{wanted}"


WEIGHTS = [[[[1, 1], [0, 1]]], [[[1, 0], [1, 3]]]]
BY_TWO = [[[[1, 1], [0, 1]], [[1, 1], [1, 2]]], [[[1, 0], [1, 3]], [[0, 1], [1, 4]]]]
ASPECTS = {
    "discount": {},
    "start": {"start": [1, 2]},
    "names": {"states": ["a room", "ü:*"], "follower_actions": ["x y", "#"]},
    "labels": {"labels": {"done": [False, True]}},
    "empty": {"labels": {"done": [False, False]}},
    "rewards": {"rewards": {"steps": np.ones(2), "cost": np.arange(4.0).reshape(2, 1, 2)}},
    "choices": {
        "kernel": [[[[1, 1], [1, 1]]], WEIGHTS[1]],
        "available": [[[True, False]], [[True, True]]],
    },
    "leader": {"kernel": BY_TWO, "leader_actions": ["open", "shut"]},
}


def with_aspect(**aspect):
    """Return a problem of one agent that any kind holds, but for what is asked for."""
    game = iirl.TwoAgentMDP(
        aspect.get("kernel", WEIGHTS),
        "1/2",
        aspect.get("start", [1, 0]),
        states=aspect.get("states"),
        leader_actions=aspect.get("leader_actions", ["-"]),
        follower_actions=aspect.get("follower_actions", ["go", "stay"]),
    )
    return ImportedGame(
        game,
        aspect.get("rewards", {"reward": np.array([0.5, 1.0])}),
        {name: np.array(marks) for name, marks in aspect.get("labels", {}).items()},
        np.array(aspect["available"]) if "available" in aspect else None,
    )


def lost_by(kind, problem, path):
    """Return how much a file of a kind loses of a problem; None if it cannot hold it."""
    try:
        kind.write(problem, path)
        back = kind.read(path, discount="1/2" if "discount" in kind.loses else None)
    except IIRLError:
        return None
    found = differences(problem, back)
    return None if found.another or found.rounded else len(found.lost)


@pytest.mark.parametrize("what", LOSSES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.writer], ids=lambda k: k.name)
def test_a_kind_loses_what_the_table_says_and_nothing_else(kind, what, tmp_path):
    plain, path = lost_by(kind, with_aspect(), tmp_path / f"plain{kind.suffixes[0]}"), tmp_path
    assert plain is not None
    if what == "discount":
        try:
            kind.read(tmp_path / f"plain{kind.suffixes[0]}")
            lost = plain
        except InvalidArgument:
            lost = None
    else:
        lost = lost_by(kind, with_aspect(**ASPECTS[what]), path / f"more{kind.suffixes[0]}")
    said = what in kind.loses or (what == "empty" and "labels" in kind.loses)
    assert (lost is None or lost > plain) == said

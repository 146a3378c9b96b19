"""The command `convert`: what is written, what is said to be lost, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import iirl

import iirl_opt
from iirl_opt.cli.conversion import KINDS_WRITTEN, MODEL
from iirl_opt.formats import KINDS, ImportedGame, read_file, write_file

GAME, TRUTH = iirl_opt.random_game(3, 2, 2, 0)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """The path of a saved game with two rewards and a label."""
    path = tmp_path / "several.npz"
    rewards = {"truth": TRUTH, "steps": np.ones(3)}
    write_file(ImportedGame(GAME, rewards, {"done": np.array([True, False, False])}), path)
    return path


def test_what_the_kind_of_file_does_not_hold_is_said_line_by_line(several: Path) -> None:
    done = iirl("convert", several, "out.dpomdp", "--reward", "truth", cwd=several.parent)
    assert (done.code, done.out) == (0, "wrote out.dpomdp\n")
    assert done.err.splitlines() == [
        "iirl-opt: label 'done': is lost",
        "iirl-opt: reward 'truth': is called 'reward'",
    ]
    back = read_file(several.with_name("out.dpomdp"))
    assert back.game == GAME
    assert np.array_equal(back.reward(), TRUTH)
    assert sorted(path.name for path in several.parent.iterdir()) == ["out.dpomdp", "several.npz"]


def test_a_model_file_goes_out_without_its_question(tmp_path: Path) -> None:
    done = iirl("convert", "two-rooms", tmp_path / "rooms.npz", "--json")
    found = json.loads(done.out)
    assert found["written"] == [str(tmp_path / "rooms.npz")]
    assert found["kind"] == "npz"
    assert [line.partition(":")[0] for line in found["lost"]] == ["of the model file"]
    assert "question, follower, expect" in done.err
    model = iirl_opt.read_model("two-rooms")
    assert read_file(tmp_path / "rooms.npz").game == model.game
    assert np.array_equal(read_file(tmp_path / "rooms.npz").reward(), model.need_truth())


@pytest.mark.parametrize(
    ("name", "said"), [("what-she-prefers", "preferences"), ("inventory", "horizon")]
)
def test_what_a_model_file_says_beside_its_game_is_said_to_be_lost(
    name: str, said: str, tmp_path: Path
) -> None:
    given = iirl_opt.read_model(name)
    assert getattr(given, said)
    done = iirl("convert", name, tmp_path / "game.npz")
    (line,) = done.err.splitlines()
    assert said in line.partition("of the model file: ")[2].removesuffix(" are lost").split(", ")


def test_numbers_that_would_be_rounded_need_consent(several: Path) -> None:
    ask = ("convert", several, "out.dpomdp", "--reward", "truth", "--discount", "1/3")
    done = iirl(*ask, cwd=several.parent)
    assert done.code == 2
    assert "--round" in done.err
    assert not several.with_name("out.dpomdp").exists()
    done = iirl(*ask, "--round", cwd=several.parent)
    assert (done.code, "discount: rounded" in done.err) == (0, True)
    assert read_file(several.with_name("out.dpomdp")).game.discount == 1 / 3


def test_no_file_is_replaced_unasked_and_the_input_never(several: Path) -> None:
    target = several.with_name("out.npz")
    target.write_text("mine")
    link = several.with_name("link.npz")
    link.symlink_to(several)
    for arguments, said in (
        ((target,), "is there already; allowed a new file, or --force"),
        ((several, "--force"), "is the file that is read"),
        ((link, "--force"), "is the file that is read"),
    ):
        before = several.read_bytes()
        done = iirl("convert", several, *arguments)
        assert (done.code, said in done.err) == (2, True), done.err
        assert (several.read_bytes(), target.read_text()) == (before, "mine")
    assert iirl("convert", several, target, "--force").code == 0
    assert read_file(target).game == GAME


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.npz", "out.npz"], "no such file"),
        (["several.npz", "out.xyz"], "says no kind of files; allowed .npz"),
        (["several.npz", "out.json", "--to", "zip"], "kind is 'zip'; allowed npz"),
        (["several.npz", "out.npz", "--to", "certificate"], "is a certificate"),
        (["several.npz", "no/out.npz"], "in no folder that there is"),
        (["several.npz", "."], "says no kind"),
        (["several.npz", ".", "--to", "npz"], "is a folder"),
        (["several.npz", "out.dpomdp"], "there are 2 rewards; allowed one of 'truth', 'steps'"),
        (["several.npz", "out.pomdp", "--reward", "truth"], "leader_actions are 2; allowed 1"),
        (["several.npz", "out.npz", "--reward", "r"], "no reward is called 'r'"),
        (["several.npz", "out.npz", "--const", "K=2"], "constants is {'K': '2'}; allowed none"),
        (["several.npz", "out.npz", "--const", "=2"], "allowed NAME=VALUE"),
        (["several.npz", "out.npz", "--discount", "1"], "discount is 1"),
        (["several.npz", "o\0ut.npz"], "null"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_left(
    several: Path, arguments: list[str], said: str
) -> None:
    done = iirl("convert", *arguments, cwd=several.parent)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert [path.name for path in several.parent.iterdir()] == ["several.npz"]


def test_a_name_that_does_not_say_the_kind_is_said(several: Path) -> None:
    done = iirl("convert", several, "out.bin", "--to", "npz", cwd=several.parent)
    assert done.code == 0
    assert "nothing reads out.bin unless it ends in .npz" in done.err
    assert {kind.name for kind in KINDS if kind.writer} >= {"npz", "dpomdp", "pomdp"}


def test_a_model_file_is_written_and_answers_as_its_source_does(several: Path) -> None:
    done = iirl("convert", several, several.with_name("out.toml"), "--reward", "truth")
    lost = ["label 'done': is lost", "reward 'truth': is called 'reward'"]
    assert (done.code, done.err.splitlines()) == (0, [f"iirl-opt: {line}" for line in lost])
    assert "transitions = [" in several.with_name("out.toml").read_text()  # for people
    model = iirl_opt.read_model(several.with_name("out.toml"))
    assert model.game == GAME
    assert np.array_equal(model.need_truth(), TRUTH)
    done = iirl("convert", "two-rooms", "again.toml", cwd=several.parent)
    assert (done.code, done.err, done.out) == (0, "", "wrote again.toml\n")
    again = iirl_opt.read_model(several.with_name("again.toml"))
    assert again.question == iirl_opt.read_model("two-rooms").question
    done = iirl("convert", several, "out.txt", "--to", "model", cwd=several.parent)
    assert (done.code, "out.txt: is no name of a model file" in done.err) == (2, True)


def test_rewards_for_entering_a_state_are_said_to_count_otherwise(tmp_path: Path) -> None:
    source = iirl_opt.library.shipped_models() / "learning" / "bridge.dpomdp"
    text = source.read_text().splitlines()
    kept = [line for line in text if not line.startswith("R:")]
    (tmp_path / "in.dpomdp").write_text("\n".join([*kept, "R: * : * : 0 : * : 1", ""]))
    for name, said in (("out.npz", 1), ("out.dpomdp", 0), ("out.toml", 1)):
        done = iirl("convert", "in.dpomdp", name, cwd=tmp_path)
        assert done.code == 0, done.err
        assert done.err.count("count from the next step on is lost") == said, name


@pytest.mark.parametrize("suffix", [".drn", ".tra"])
def test_a_kind_without_a_discount_says_that_it_is_needed(tmp_path: Path, suffix: str) -> None:
    game, truth = iirl_opt.random_game(3, 1, 2, 0, discount="1/3")
    write_file(ImportedGame(game, {"truth": truth}), tmp_path / "in.npz")
    done = iirl("convert", tmp_path / "in.npz", tmp_path / f"out{suffix}")
    assert done.code == 0, done.err
    assert "discount: 1/3 is not held: give it (--discount)" in done.err
    done = iirl("show", tmp_path / f"out{suffix}")
    assert (done.code, "--discount" in done.err) == (2, True)
    shown = json.loads(iirl("show", tmp_path / f"out{suffix}", "--discount", "1/3", "--json").out)
    assert shown["fingerprint"] == game.fingerprint


@pytest.mark.parametrize("stale", ["x1.srew", "x.srew", "x.b.trew", "x.sta"])
def test_nothing_of_an_older_model_is_read_with_a_new_one(tmp_path: Path, stale: str) -> None:
    game = iirl_opt.random_game(3, 1, 2, 0)[0].starting_at([1, 0, 0])
    write_file(ImportedGame(game), tmp_path / "bare.npz")
    (tmp_path / stale).write_text("old")
    for force in ((), ("--force",)):
        done = iirl("convert", "bare.npz", "x.tra", *force, cwd=tmp_path)
        assert (done.code, f"has {stale} beside it" in done.err) == (2, True), done.err
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["bare.npz", stale])
    (tmp_path / stale).unlink()
    rewards = {name: np.ones(3) for name in "ab"}
    write_file(ImportedGame(game, rewards), tmp_path / "x.tra")
    done = iirl("convert", "bare.npz", "x.tra", "--force", cwd=tmp_path)
    assert (done.code, "has x1.srew beside it" in done.err) == (2, True)
    assert list(read_file(tmp_path / "x.tra", discount=0.5).rewards) == ["a", "b"]


def test_two_agents_and_deadlocks_of_prism_are_read_by_the_commands(tmp_path: Path) -> None:
    text = "3 3 4\n0 0 1 1 go\n0 1 0 .5 wait\n0 1 2 .5 wait\n2 0 0 1 go\n"
    (tmp_path / "m.tra").write_text(text)
    show = ("show", "m.tra", "--discount", "1/2", "--json")
    done = iirl(*show, cwd=tmp_path)
    assert (done.code, "absorbing=True (--absorbing)" in done.err) == (2, True), done.err
    shown = json.loads(iirl(*show, "--absorbing", "--leader", "wait", cwd=tmp_path).out)
    assert (shown["leader_actions"], shown["follower_actions"]) == (2, 3)
    done = iirl(*show, "--absorbing", "--leader", "sit", cwd=tmp_path)
    assert (done.code, "no action label or player is called 'sit'" in done.err) == (2, True)
    (tmp_path / "m.toml").write_text(
        'version = 1\ntitle = "m"\nsource = "x"\n[question]\nfamily = "learning"\nepisodes = 1\n'
        '[game]\nfile = "m.tra"\ndiscount = 0.5\nleader = ["wait"]\nabsorbing = true\n'
    )
    game = read_file(tmp_path / "m.tra", discount="1/2", leader=["wait"], absorbing=True).game
    assert iirl_opt.read_model(tmp_path / "m.toml").game == game
    done = iirl("show", "two-rooms", "--leader", "wait")
    assert (done.code, "leader: has no meaning beside" in done.err) == (2, True), done.err


def test_the_help_lists_the_kinds_that_are_written() -> None:
    written = [kind.name for kind in KINDS if kind.writer]
    assert [*written, MODEL] == KINDS_WRITTEN.split(", ")


def test_what_rounding_left_is_normalised_where_asked(tmp_path: Path) -> None:
    (tmp_path / "six.tra").write_text("0 0 .333333\n0 1 .666666\n1 1 1\n")
    asked = ("convert", "six.tra", "six.toml", "--discount", "0.9")
    done = iirl(*asked, cwd=tmp_path)
    assert (done.code, "--normalise" in done.err) == (2, True)
    assert iirl(*asked, "--normalise", cwd=tmp_path).code == 0
    assert '{ from = "0", to = { 0 = "1/3", 1 = "2/3" } }' in (tmp_path / "six.toml").read_text()

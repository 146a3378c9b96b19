"""What a failing property test leaves behind: its smallest counterexample, and nothing else."""

import re
import textwrap
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depth import under
from hypothesis import assume, example, given, settings, strategies as st

import iirl_opt as iirl
from iirl_opt import library
from iirl_opt.cli.app import run
from iirl_opt.errors import IIRLError, InvalidArgument, InvalidGame
from iirl_opt.testing import games, mdps, save_counterexample
from iirl_opt.testing.counterexample import COMMENT

GAME = iirl.TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], "1/2")
QUICK = settings(max_examples=25, database=None, derandomize=True, deadline=None)


def test_the_smallest_counterexample_is_the_file(tmp_path: Path) -> None:
    file = tmp_path / "made" / "few-states.toml"
    written = []

    @QUICK
    @given(game=games(max_states=4), most=st.integers(1, 9))
    def lemma(game, most) -> None:
        assume(most > 1)
        with save_counterexample(file, game, expect={"states": 2}):
            written.append(file.exists())
            assert game.n_states < 3

    with pytest.raises(AssertionError) as failure:
        lemma()
    assert failure.value.__notes__[0] == f"counterexample: iirl-opt solve {file}"
    assert not any(written), "only the last run may write"
    problem = library.read_model(file)
    assert problem.game.shape == (3, 1, 1)
    (finding,) = library.check(problem.expect, library.answer(problem).quantities, file)
    assert not finding.met
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_passing_test_leaves_no_file_and_takes_its_own_away(tmp_path: Path) -> None:
    file, foreign = tmp_path / "lemma.toml", tmp_path / "mine.toml"
    foreign.write_text("version = 1\n")

    @QUICK
    @example(game=GAME, bound=1)
    @given(game=games(), bound=st.integers(5, 9))
    def lemma(game, bound) -> None:
        for path in (file, foreign):
            with save_counterexample(path, game):
                assert game.n_states < (9 if passes else bound)

    passes = False
    with pytest.raises(AssertionError):  # of the explicit example
        lemma()
    assert file.exists()
    passes = True
    lemma()
    assert not file.exists()
    assert foreign.read_text() == "version = 1\n"


@pytest.mark.parametrize("outside", ["after", "before", "deadline", "example"])
def test_a_file_that_was_announced_is_there_whatever_fails_beside_it(
    tmp_path: Path, outside: str
) -> None:
    # Each failure outside of the block is one more run to report, in which the block passes.
    # The smallest is reported last, so what fails outside does so for the smaller games.
    file = tmp_path / "lemma.toml"

    def lemma(game) -> None:
        small = game.n_states < 3
        assert not (small and outside == "before")
        with save_counterexample(file, game, expect={"states": 2}):
            assert small
        if outside == "deadline":
            time.sleep(0.06)
        elif outside == "after":
            raise ZeroDivisionError

    lemma = given(game=games(max_states=4))(lemma)
    for n in (1, 3) if outside == "example" else ():
        lemma = example(game=iirl.TwoAgentMDP(np.eye(n)[:, None, None], "1/2"))(lemma)
    lemma = settings(QUICK, deadline=30 if outside == "deadline" else None)(lemma)
    file.write_text(f"# {COMMENT}\n")  # of a run before
    with pytest.raises(BaseException) as failure:  # noqa: PT011 - a group, where several fail
        lemma()
    assert "counterexample: iirl-opt solve" in _notes(failure.value)
    assert library.read_model(file).game.n_states == 3


def _notes(failure: BaseException) -> str:
    """Return what an exception was given to say, and those in it."""
    inner = [_notes(each) for each in getattr(failure, "exceptions", ())]
    return "\n".join([*getattr(failure, "__notes__", ()), *inner])


def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("# mine\n")
    with pytest.raises(ZeroDivisionError) as failure, save_counterexample(file, GAME):
        raise ZeroDivisionError
    assert "is there already" in failure.value.__notes__[0]
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("stop", [pytest.skip.Exception, KeyboardInterrupt])
def test_what_is_no_failure_writes_nothing(tmp_path: Path, stop) -> None:
    with pytest.raises(stop), save_counterexample(tmp_path / "a.toml", GAME):
        raise stop
    assert not list(tmp_path.iterdir())


def test_pytest_fail_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception), save_counterexample(tmp_path / "a.toml", GAME):
        pytest.fail("so it is")
    assert (tmp_path / "a.toml").exists()


@given(mdp=mdps())
def test_policies_and_mdps_are_taken_as_they_are_drawn(mdp) -> None:
    n_states, n_actions = mdp.shape
    pi1, pi2 = np.ones((n_states, 1)), np.eye(n_actions)[[0] * n_states]
    with save_counterexample("a.toml", mdp, [0] * n_states, pi1=pi1, pi2=pi2) as problem:
        assert problem.question.ask == "contains"
        assert len(problem.observations) == 1
    with save_counterexample("a.toml", mdp, [0] * n_states, pi1=pi1) as problem:
        assert problem.question.ask == "evaluate"
    assert not Path("a.toml").exists()


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"game": 3}, InvalidGame),
        ({"game": games()}, InvalidGame),
        ({"game": None}, InvalidGame),
        ({"path": "lemma.json"}, InvalidArgument),
        ({"path": 3}, InvalidArgument),
        ({"pi2": np.eye(2)}, IIRLError),
        ({"reward": [1]}, IIRLError),
        ({"question": "committment"}, IIRLError),
        ({"follower": 3}, InvalidArgument),
    ],
    ids=str,
)
def test_what_makes_no_problem_is_named_before_the_block_runs(given_, error) -> None:
    with pytest.raises(error), save_counterexample(**{"path": "a.toml", "game": GAME} | given_):
        raise SystemExit


PAGE = Path(__file__).parents[2] / "docs" / "property_tests.rst"


theirs = under(settings.get_profile("iirl_opt"))


@pytest.mark.usefixtures("theirs")
def test_a_strangers_false_lemma_ends_with_a_model_file(tmp_path: Path, capsys) -> None:
    """The one of the page, as a stranger would copy it, under the profile that is ours for him."""
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE.read_text("utf-8"))
    (lemma,) = [textwrap.dedent(block) for block in blocks if "save_counterexample" in block]
    written: dict[str, Any] = {}
    exec(lemma, written)
    (test,) = [value for name, value in written.items() if name.startswith("test_")]
    with chdir(tmp_path), pytest.raises(AssertionError) as failure:
        test()
    assert failure.value.__notes__[0] == "counterexample: iirl-opt solve found/minus.toml"
    assert run(["solve", str(tmp_path / "found" / "minus.toml")]) == 1
    assert "NOT MET contains = 0.0 (expected 1 ± 0)" in capsys.readouterr().out

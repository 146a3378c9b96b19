"""PRISM's explicit files: every form of them, every refusal, and what is written read again."""

from fractions import Fraction

import numpy as np
import pytest
from doors import same
from hypothesis import given, settings, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import (
    FileProblem,
    InvalidArgument,
    InvalidGame,
    UnknownLabel,
)
from iirl_opt.formats import ImportedGame, read_explicit, write_explicit
from iirl_opt.testing import games

# As PRISM writes them: three states, four choices, of which two are "send".
TRA = """3 5 7
0 0 0 1/3 send
0 0 1 2/3 send
0 1 2 1 send
1 0 0 0.25
1 0 2 .75
1 1 1 1 wait
2 0 2 1
"""
STA = "(x,b)\n0:(0,false)\n1:(1,true)\n2:(2,true)\n"
LAB = '0="init" 1="deadlock" 2="done"\n0: 0\n2: 2\n'
SREW = '# Reward structure "steps"\n# State rewards\n3 2\n0 1\n1 0.1\n'
TREW = '# Reward structure "energy"\n# Transition rewards\n3 5 3\n0 0 0 3\n0 0 1 1.5\n1 1 1 -2\n'


@pytest.fixture
def write(tmp_path):
    """Return a function that writes files by their suffixes and returns the path of the first."""

    def files(**texts):
        for suffix, text in texts.items():
            (tmp_path / f"m.{suffix}").write_text(text, encoding="utf-8")
        return tmp_path / "m.tra"

    return files


def test_the_files_that_prism_writes_are_one_game(write, tmp_path):
    path = write(tra=TRA, sta=STA, lab=LAB)
    (tmp_path / "m1.srew").write_text(SREW)
    (tmp_path / "m2.trew").write_text(TREW)
    found = read_explicit(path, "9/10")
    game = found.game
    assert game.states == ("x=0,b=false", "x=1,b=true", "x=2,b=true")
    assert (game.leader_actions, game.follower_actions) == (
        ("-",),
        ("send", "send#2", "choice 0", "wait"),
    )
    assert found.available[:, 0].tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    # What a state lacks repeats its first.
    third = Fraction(1, 3)
    rows = game.rational.rows.dense().reshape(*game.shape, 3)
    assert rows[0, 0, 0].tolist() == rows[0, 0, 3].tolist() == [third, 2 * third, 0]
    assert rows[1, 0].tolist() == [[Fraction(1, 4), 0, Fraction(3, 4)]] * 3 + [[0, 1, 0]]
    assert game.start.tolist() == [1, 0, 0]
    assert {name: marks.tolist() for name, marks in found.labels.items()} == {
        "init": [True, False, False],
        "deadlock": [False] * 3,
        "done": [False, False, True],
    }
    assert found.rewards["steps"].tolist() == [1, 0.1, 0]
    # Rewards of transitions count as they are expected: 1/3 · 3 + 2/3 · 3/2.
    assert found.rewards["energy"][:, 0].tolist() == [[2, 0, 2, 2], [0, 0, 0, -2], [0] * 4]


@pytest.mark.parametrize(
    "text",
    [
        TRA.partition("\n")[2],
        "mdp\n" + TRA.partition("\n")[2],
        "MDP\n\n# a comment\n" + TRA.partition("\n")[2].replace(" ", "\t "),
        "\ufeff" + TRA.replace("\n", "\r\n"),
        "\n".join([TRA.split("\n")[0], *reversed(TRA.split("\n")[1:])]),
    ],
    ids=["headless", "Storm's", "blanks", "marked", "in any order"],
)
def test_heads_blanks_and_order_say_nothing(write, text):
    path = write(tra=TRA)
    plain = read_explicit(path, 0.5)
    write(tra=text)
    same(read_explicit(path, 0.5), plain)


@pytest.mark.parametrize("head", ["", "dtmc\n", "2 3\n"])
@pytest.mark.parametrize("action", ["", " go"])
def test_a_chain_is_a_game_without_choice(write, head, action):
    path = write(
        tra=f"{head}0 0 0.5{action}\n0 1 1/2{action}\n1 1 1\n", trew="0 0 1\n0 1 3\n", lab=""
    )
    found = read_explicit(path, "1/2", agent="leader")
    assert (found.game.shape, found.available) == ((2, 1, 1), None)
    assert found.game.kernel[:, 0, 0].tolist() == [[0.5, 0.5], [0, 1]]
    assert found.reward().ravel().tolist() == [2, 0]


def test_labels_and_rewards_as_storm_writes_them(write, tmp_path):
    path = write(tra=TRA, lab="#DECLARATION\ninit done\n#END\n1 init\n2 init done\n")
    (tmp_path / "m.flip.state.rew").write_text("0 1\n2 5\n")
    (tmp_path / "m.flip.trans.rew").write_text("0 1 2 4\n")
    found = read_explicit(path, 0.5)
    assert found.game.exact_start == (0, Fraction(1, 2), Fraction(1, 2))
    assert found.rewards["flip"][:, 0].tolist() == [[1, 5, 1, 1], [0] * 4, [5] * 4]


def test_files_of_another_model_beside_are_not_read(write, tmp_path):
    path = write(tra=TRA, srew="0 1\n")
    for name in ("m2.tra", "m2.srew", "mm.srew", "m.srew.old"):
        (tmp_path / name).write_text("1 1\n")
    assert read_explicit(path, 0.5).reward().tolist() == [1, 0, 0]
    (tmp_path / "m3.srew").write_text("1 7\n")
    assert list(read_explicit(path, 0.5).rewards) == ["reward", "reward 2"]


@pytest.mark.parametrize(
    ("suffix", "text", "line", "said"),
    [
        ("tra", "", None, "no transition"),
        ("tra", "ctmc\n0 0 1\n", 1, "'ctmc'; allowed 'mdp' or 'dtmc'"),
        ("tra", "0 0 0 1\n0 0\n", 2, "found 2 words; allowed 4 or 5"),
        ("tra", "0 0 0 1 a b\n", 1, "found 6 words"),
        ("tra", "0 0 x 1\n", 1, "word 3: found 'x'; allowed a state"),
        ("tra", "0 -1 0 1\n", 1, "word 2: found '-1'; allowed a choice"),
        ("tra", "0 0 0 1\n1 0 0 1/0\n", 2, "found '1/0'; allowed a probability"),
        ("tra", "0 0 0 1.5\n", 1, "found '1.5'"),
        ("tra", "mdp\n0 0 0 nan\n0 0 1 1\n", 2, "found 'nan'; allowed a probability"),
        ("tra", "mdp\n0 0 0 1e-4000\n", 2, "found '1e-4000'"),
        ("tra", "0 0 0 .5\n0 0 1 .4\n1 0 0 1\n", 2, "state 0, choice 0 sums to 0.9"),
        ("tra", "0 0 0 1\n0 0 0 0\n", 2, "found this transition again"),
        ("tra", "0 0 0 .5 a\n0 0 1 .5 b\n1 0 0 1\n", 2, "found the action 'b'; allowed 'a'"),
        ("tra", "2 2 2\n0 0 0 1\n2 0 0 1\n", 3, "found '2'; allowed a state.*to 1"),
        (
            "tra",
            "2 2 9\n0 0 0 1\n1 0 0 1\n",
            None,
            "has the counts 2 2 9 .*; allowed 2 2 2",
        ),
        ("tra", "2 7 2\n0 0 0 1\n1 0 0 1\n", None, "has the counts 2 7 2 .*; allowed 2 2 2"),
        ("tra", "2 3\n0 0 1\n1 0 1\n", None, "has the counts 2 3 .*; allowed 2 2"),
        ("tra", "0 0 99999999 1\n", None, "1e\\+08 states; allowed up to"),
        ("sta", "x\n", 1, "no list of variables"),
        ("sta", "(x)\n0:(1)\n0:(2)\n", 3, "found '0'; allowed a state from 0 to 2, each once"),
        ("sta", "(x)\n0:(1,2)\n", 2, "found 2 values; allowed 1"),
        ("sta", "(x)\n0:(1)\n", None, "names 1 states; allowed 3"),
        ("lab", "hello\n", 1, "no labels"),
        ("lab", '0="init"\n9: 0\n', 2, "found '9'; allowed a state from 0 to 2"),
        ("lab", '0="init"\n1: 1\n', 2, "found '1'; allowed one of 0"),
        ("lab", "#DECLARATION\ninit\n", None, "no #END"),
        ("lab", '0="a" 1="a"\n', None, "two labels called 'a'"),
        ("srew", "0 1 2\n", 1, "found 3 words; allowed 2: state reward"),
        ("srew", "0 much\n", 1, "found 'much'; allowed a number"),
        ("srew", "0 1\n0 2\n", 2, "found the reward of this state again"),
        ("trew", "0 0 2 1\n", 1, "allowed a transition of the .tra file"),
        ("tra", "0 0 1 1/0\n1 0 1 1\n", 1, "word 4: found '1/0'; allowed a probability"),
        ("tra", "2 2\n0 0 1 a\n1 1 1 .5.\n", 3, "word 4: found '.5.'"),
        ("tra", "dtmc\n0 0 1 nan\n", 2, "word 4: found 'nan'"),
        ("srew", "3 2\n0 1\n", 1, "word 2: found 2 rewards in the line of counts; allowed 1"),
        ("srew", "3 x\n0 1\n", 1, "word 2: found x rewards"),
        ("trew", "3 5 2\n0 0 0 3\n", 1, "word 3: found 2 rewards"),
        ("lab", '0="init" 0="x"\n0: 0\n', None, "two labels numbered '0'"),
        ("lab", '0="init" x 1="y"\n0: 0\n', 1, "found no labels"),
        ("lab", "#DECLARATION\ninit a a\n#END\n", None, "two labels numbered 'a'"),
    ],
)
def test_the_first_wrong_line_is_named(write, suffix, text, line, said):
    path = write(**({"tra": TRA} | {suffix: text}))
    with pytest.raises(FileProblem, match=said) as caught:
        read_explicit(path, 0.5)
    assert (caught.value.path.suffix, caught.value.line) == (f".{suffix}", line)


# Choices that a state lacks, deadlocks, two agents ---------------------------------------------


def test_what_a_state_lacks_is_refused_by_name_where_asked(write):
    path = write(tra=TRA, sta=STA)
    with pytest.raises(
        InvalidGame, match=r"P\[s='x=0,b=false', a='-', b='choice 0'\] is not available"
    ):
        read_explicit(path, 0.5, unavailable="refuse")
    write(tra="0 0 1 1 a\n0 1 0 1 b\n1 0 0 1 a\n1 1 1 1 b\n", sta="(x)\n0:(0)\n1:(1)\n")
    assert read_explicit(path, 0.5, unavailable="refuse").available is None


def test_deadlocks_are_named_or_absorb(write):
    path = write(tra="0 0 1 1 a\n2 0 0 1 b\n", srew="1 5\n", trew="2 0 0 7\n")
    with pytest.raises(InvalidGame, match=r"state 1 has no choice; allowed .*absorbing"):
        read_explicit(path, 0.5)
    found = read_explicit(path, 0.5, absorbing=True)
    assert found.labels["deadlock"].tolist() == [False, True, False]
    assert found.game.kernel[1, 0].tolist() == [[0, 1, 0]] * 3
    assert found.game.kernel[:, 0, 0].tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    assert [r.ravel().tolist() for r in found.rewards.values()] == [[0] * 3 + [5] * 3 + [7] * 3]


def test_choices_are_parted_between_two_agents_by_their_labels(write):
    text = "0 0 1 1 a\n0 1 2 1 b\n1 0 0 1 a\n2 0 1 1 b\n2 1 0 1 c\n"
    path = write(tra=text, srew="2 1\n")
    alone = read_explicit(path, "9/10")
    found = read_explicit(path, "9/10", leader=["a"])
    game = found.game
    assert (game.leader_actions, game.follower_actions) == (("-", "a"), ("-", "b", "c"))
    after = game.kernel.argmax(axis=-1)
    # Both have choices in state 0: the leader takes "a", or leaves the state to the follower.
    assert after[0].tolist() == [[2, 2, 2], [1, 1, 1]]
    assert after[1].tolist() == [[0] * 3] * 2  # the leader's alone
    assert after[2].tolist() == [[1, 1, 0]] * 2  # the follower's alone
    assert np.argwhere(found.available).tolist() == [
        [0, 0, 1],
        [0, 1, 0],
        [1, 1, 0],
        [2, 0, 1],
        [2, 0, 2],
    ]
    # What both can reach together is what one could.
    best = [iirl.policy_iteration(x.game, x.reward()).values for x in (alone, found)]
    assert best[0].tolist() == best[1].tolist()
    same(read_explicit(path, "9/10", leader=[]), read_explicit(path, "9/10", leader=()))
    with pytest.raises(UnknownLabel, match="no action label or player is called 'd'"):
        read_explicit(path, 0.5, leader=["a", "d"])
    with pytest.raises(InvalidGame, match=r"s=0, action='c'\] is missing"):
        read_explicit(path, 0.5, leader=["a"], unavailable="refuse")


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({}, InvalidArgument, "discount is not given; allowed 0 ≤ γ < 1"),
        ({"discount": 1}, InvalidGame, "discount is 1"),
        ({"discount": "x"}, InvalidGame, "discount is"),
        ({"discount": 0.5, "agent": "both"}, InvalidArgument, "agent is 'both'"),
        ({"discount": 0.5, "leader": "a"}, InvalidArgument, "leader is 'a'; allowed a list"),
        ({"discount": 0.5, "leader": [1]}, InvalidArgument, r"leader\[0\] is 1"),
    ],
)
def test_arguments_that_make_no_game_are_refused(write, arguments, error, said):
    path = write(tra=TRA)
    with pytest.raises(error, match=said):
        read_explicit(path, **arguments)


# Out and in again -------------------------------------------------------------------------------


@settings(max_examples=15)
@given(game=games(max_states=4, max_leader_actions=2, max_follower_actions=3), data=st.data())
def test_what_is_written_is_read_again_exactly(tmp_path_factory, game, data):
    folder = tmp_path_factory.mktemp("out")
    start = data.draw(st.integers(0, game.n_states - 1))
    game = game.starting_at(np.eye(game.n_states, dtype=int)[start])
    numbers = st.sampled_from([0.0, 0.1, -1e-7, 1 / 3, 1e22, 5e-324])
    rewards = {
        "state": data.draw(st.lists(numbers, min_size=game.n_states, max_size=game.n_states)),
        "choice": np.full(game.shape, data.draw(numbers)),
    }
    found = ImportedGame(game, rewards, {"in it": np.ones(game.n_states, bool)})
    path = write_explicit(found, folder / "x.tra")
    back = read_explicit(path, game.exact_discount)
    rows = [x.game.rational.rows for x in (found, back)]
    assert back.game.n_choices == game.n_choices
    assert rows[0].dense().tolist() == rows[1].dense().tolist()
    assert back.game.exact_start == game.exact_start
    for name, reward in found.rewards.items():
        expected = (
            reward.ravel() if back.rewards[name].ndim > 1 else reward.ravel()[: game.n_states]
        )
        assert back.rewards[name].ravel().tolist() == expected.tolist()
    assert back.labels["in it"].all()


def test_a_game_of_two_agents_keeps_its_choices(write, tmp_path):
    path = write(tra=TRA, sta=STA, lab=LAB, srew=SREW)
    found = read_explicit(path, 0.5, leader=["wait"])
    out = write_explicit(found, tmp_path / "out.tra")
    same(read_explicit(out, 0.5, leader=["wait"]), found)


def test_decimals_are_what_programs_read_that_know_no_fractions(write, tmp_path):
    found = read_explicit(write(tra=TRA), 0.5)
    out = write_explicit(found, tmp_path / "out.tra", decimals=True)
    assert "0 0 0 0.3333333333333333 send" in out.read_text()
    assert np.allclose(read_explicit(out, 0.5).game.kernel, found.game.kernel, atol=1e-16)


def test_nothing_is_written_that_would_be_read_with_something_else(tmp_path):
    game, r = iirl.random_game(3, 1, 2, rng=0)
    game = game.starting_at([1, 0, 0])
    (tmp_path / "x3.srew").write_text("0 1\n")
    with pytest.raises(InvalidArgument, match=r"path has x3.srew beside it"):
        write_explicit(ImportedGame(game, {"r": r}), tmp_path / "x.tra")
    assert [file.name for file in tmp_path.iterdir()] == ["x3.srew"]


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("stem", ["x1", "x11", "x.a", "x.1.b", "x2", "y"])
def test_no_model_is_changed_by_one_that_is_written_beside_it(tmp_path, count, stem):
    game = iirl.random_game(3, 1, 2, rng=0)[0].starting_at([1, 0, 0])
    one = ImportedGame(game, {name: np.ones(3) for name in "ab"})
    two = ImportedGame(game, {name: np.zeros(3) for name in "cd"[:count]})
    for order in ((("x", one), (stem, two)), ((stem, two), ("x", one))):
        folder = tmp_path / order[0][0]
        folder.mkdir()
        done = {}
        for name, found in order:
            try:
                done[name] = (write_explicit(found, folder / f"{name}.tra"), found)
            except InvalidArgument:
                assert not (folder / f"{name}.tra").exists()
        assert order[0][0] in done
        for path, found in done.values():
            assert set(read_explicit(path, 0.5).rewards) == set(found.rewards)


def test_files_of_no_model_that_is_there_are_not_replaced(tmp_path):
    game, r = iirl.random_game(3, 1, 2, rng=0)
    (tmp_path / "x.srew").write_text("0 7\n")
    found = ImportedGame(game.starting_at([1, 0, 0]), {"r": r})
    with pytest.raises(InvalidArgument, match=r"has x\.srew beside it"):
        write_explicit(found, tmp_path / "x.tra")
    assert (tmp_path / "x.srew").read_text() == "0 7\n"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"start": [1, 2, 0]}, InvalidGame, "start differs between its states"),
        ({"labels": {'a"b': [True] * 3}}, InvalidArgument, "cannot be written"),
        ({"rewards": {"": [1.0] * 3}}, InvalidArgument, "cannot be written"),
        ({"actions": ["a b", "a_b"]}, InvalidArgument, "two actions written 'a_b'"),
        ({"suffix": ".txt"}, InvalidArgument, "path ends with '.txt'; allowed '.tra'"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(tmp_path, change, error, said):
    kernel = np.ones((3, 1, 2, 3), dtype=int)
    actions = change.get("actions", ["a", "b"])
    game = iirl.TwoAgentMDP(kernel, 0.5, change.get("start"), follower_actions=actions)
    labels = {name: np.array(marks) for name, marks in change.get("labels", {}).items()}
    found = ImportedGame(game, change.get("rewards", {}), labels)
    with pytest.raises(error, match=said):
        write_explicit(found, tmp_path / f"x{change.get('suffix', '.tra')}")
    assert list(tmp_path.iterdir()) == []

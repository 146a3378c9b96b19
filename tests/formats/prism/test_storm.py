"""Programs and JANI through the real stormpy, and what Storm says of the same models.

stormpy is in no other extra (it is GPL, for Linux and macOS alone), so these tests are skipped
where it is not installed.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import gettempdir

import numpy as np
import pytest
from doors import same

import iirl_opt as iirl
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.formats import (
    counterpart,
    from_stormpy,
    read_drn,
    read_explicit,
    read_file,
    read_prism,
    write_drn,
    write_explicit,
)
from iirl_opt.formats.prism.storm import _complaints

stormpy = pytest.importorskip("stormpy", reason="the extra prism is not installed")
files = pytest.importorskip("stormpy.examples.files")
pytestmark = pytest.mark.oracle

EXAMPLES = Path(files.testfile_dir)
SHARED = Path(__file__).parents[3] / ".." / "shared" / "problems" / "prism"
COIN = EXAMPLES / "mdp" / "coin2-2.nm"
SMG = EXAMPLES / "smg" / "example_smg.nm"

# Shipped examples, what they leave open, and a reward of each by Storm's name for it.
MODELS = {
    "coin2-2.nm": ({}, "steps"),
    "firewire.nm": ({"delay": 3, "fast": "1/2"}, "time"),
    "maze_2.nm": ({}, ""),
    "slipgrid.nm": ({}, ""),
    "two_dice.nm": ({}, "coinflips"),
}


def program(path, constants):
    """Return a program of Storm's with its constants, apart from our own reading of them."""
    read = stormpy.parse_prism_program(path)
    text = ",".join(f"{name}={value}" for name, value in constants.items())
    return stormpy.instantiate_constants(read, text)[0] if constants else read


@pytest.mark.parametrize("name", MODELS)
def test_optimal_values_are_those_that_storm_finds(name):
    constants, reward = MODELS[name]
    found = read_prism(EXAMPLES / "mdp" / name, "9/10", constants=constants)
    model = stormpy.build_model(program(EXAMPLES / "mdp" / name, constants))
    environment = stormpy.environments.sound()
    environment.solver().min_max().precision = stormpy.Rational("1/1000000000000")
    r = found.reward(reward or "reward")
    for sign, best in ((1, "max"), (-1, "min")):
        said = f'R{{"{reward}"}}' if reward else "R"
        asked = stormpy.logic.parse_property(f"{said}{best}=? [ Cdiscount=0.9 ]")
        answer = stormpy.model_checking(model, asked, environment=environment)
        theirs = [answer.get_value(s) for s in range(model.nr_states)]
        ours = sign * iirl.policy_iteration(found.game, sign * r).values
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"firewire.nm"}))
@pytest.mark.parametrize("numbers", [float, stormpy.Rational], ids=["floats", "exact"])
def test_a_model_is_what_storm_holds(name, numbers, tmp_path):
    constants, _ = MODELS[name]
    options = stormpy.BuilderOptions(build_full=True)
    model = stormpy.build_model[numbers](
        program(EXAMPLES / "mdp" / name, constants), options=options
    )
    found = from_stormpy(model, "9/10")
    game, matrix = found.game, model.transition_matrix
    available = found.available if found.available is not None else np.ones(game.shape, bool)
    rows = np.flatnonzero(available)
    exact = game.rational.rows
    for s in range(model.nr_states):
        # Storm's choices of the state in their order, whatever we call them.
        theirs = [
            {entry.column: float(fraction(entry.value)) for entry in matrix.get_row(row)}
            for row in range(matrix.get_row_group_start(s), matrix.get_row_group_end(s))
        ]
        mine = rows[rows // game.n_choices == s]
        ours = [row_of(exact, row, numbers is float) for row in mine]
        assert sorted(map(sorted_items, ours)) == sorted(map(sorted_items, theirs))
    for label in model.labeling.get_labels():
        assert np.flatnonzero(found.labels[label]).tolist() == list(
            model.labeling.get_states(label)
        )
    for name_, theirs in model.reward_models.items():
        of_states = np.zeros(model.nr_states)
        if theirs.has_state_rewards:
            of_states = np.array([float(fraction(x)) for x in theirs.state_rewards])
        ours = found.rewards[name_ or "reward"].reshape(model.nr_states, -1)
        if not theirs.has_state_action_rewards:
            assert ours[:, 0].tolist() == of_states.tolist()
            continue
        earned = np.array([float(fraction(x)) for x in theirs.state_action_rewards])
        for s in range(model.nr_states):
            span = slice(matrix.get_row_group_start(s), matrix.get_row_group_end(s))
            mine = ours[s][available[s].ravel()]
            assert sorted(mine) == pytest.approx(sorted(earned[span] + of_states[s]), abs=1e-15)
    # The same from the file that Storm writes, and from those that we write.
    if numbers is not float:
        path = tmp_path / "storm.drn"
        stormpy.io.export_to_drn(model, path)
        same(read_drn(path, "9/10"), as_drn_holds_it(found))
        out_and_in_again(found, tmp_path)


def out_and_in_again(found, folder):
    """Assert that both kinds of files hold all of a problem but its discount."""
    discount = found.game.exact_discount
    back = read_drn(write_drn(found, folder / "ours.drn"), discount)
    same(back, as_drn_holds_it(found))
    same(read_explicit(write_explicit(found, folder / "ours.tra"), discount), found)


def as_drn_holds_it(found):
    """A problem without the sets that hold no state."""
    return replace(
        found, labels={name: marks for name, marks in found.labels.items() if marks.any()}
    )


def fraction(number):
    return number if isinstance(number, float) else Fraction(str(number))


def sorted_items(row):
    return sorted(row.items())


def row_of(rows, row, is_float):
    """A row of exact numbers as floats; of floats that sum to one up to rounding, those floats."""
    span = slice(rows.indptr[row], rows.indptr[row + 1])
    below = int(rows.denominators[row])
    exact = [Fraction(int(n), below) for n in rows.numerators[span]]
    return dict(zip(rows.indices[span].tolist(), map(float, exact), strict=True))


PROPERTIES = {
    "coin2-2.nm": [
        'Pmax=? [ F "finished" & !"agree" ]',
        'Pmax=? [ "agree" U "finished" ]',
        'Pmax=? [ G !"finished" ]',
    ],
    "firewire.nm": ['R{"time"}min=? [ F "elected" ]'],
    "maze_2.nm": ['Rmin=? [ F "goal" ]', 'Pmin=? [ F "goal" ]'],
    "two_dice.nm": ['Pmin=? [ F "two" | "three" ]', 'R{"coinflips"}max=? [ C ]'],
}


@pytest.mark.parametrize("name", PROPERTIES)
def test_brackets_hold_what_storm_finds_in_exact_numbers(name):
    constants, _ = MODELS[name]
    path = EXAMPLES / "mdp" / name
    found = read_prism(path, "999999999/1000000000", constants=constants)
    model = stormpy.build_model[stormpy.Rational](program(path, constants))
    for text in PROPERTIES[name]:
        asked = stormpy.logic.parse_property(text)
        theirs = Fraction(str(stormpy.model_checking(model, asked).get_value(0)))
        low, high = counterpart(found, text).bracket()
        assert low <= theirs <= high < low + 1e-4 * max(theirs, 1)


def test_storm_reads_what_we_write(tmp_path):
    found = read_prism(COIN, "9/10")
    path = write_drn(found, tmp_path / "ours.drn")
    model = stormpy.build_model_from_drn[stormpy.Rational](path)
    asked = stormpy.logic.parse_property('Pmax=? [ F "finished" & !"agree" ]')
    assert str(stormpy.model_checking(model, asked).get_value(0)) == "13/120"


def test_coin2_is_as_the_benchmark_suite_has_it(tmp_path):
    """PRISM's own file where it is there, else the example that stormpy ships."""
    own = SHARED / "coin2.nm"
    path, constants = (own, {"K": 2}) if own.exists() else (COIN, {})
    found = read_prism(path, "999999999/1000000000", constants=constants)
    assert found.game.shape == (272, 1, 3)
    assert found.game.states[0] == "counter=6,pc1=0,coin1=0,pc2=0,coin2=0"
    assert found.game.follower_actions == ("choice 0", "choice 1", "done")
    out_and_in_again(found, tmp_path)
    for text, expected in (
        ('Pmax=? [ F "finished" & !"agree" ]', 13 / 120),
        ('Pmin=? [ F "finished" & "all_coins_equal_1" ]', 49 / 128),
        ('R{"steps"}max=? [ F "finished" ]', 75),
        ('R{"steps"}min=? [ F "finished" ]', 48),
    ):
        low, high = counterpart(found, text).bracket()
        assert low <= expected <= high < low + 1e-6 * expected
    asked = counterpart(found, 'Pmax=? [ F "finished" & !"agree" ]')
    assert asked.answer(iirl.commit(asked.game, asked.reward).value) == pytest.approx(13 / 120)


@pytest.mark.skipif(not (SHARED / "wlan0.nm").exists(), reason="PRISM's own files are not here")
def test_wlan_is_read_for_one_agent_and_for_two(tmp_path):
    path = SHARED / "wlan0.nm"
    found = read_file(path, discount="9/10", constants={"COL": "0"})
    assert found.game.shape == (2954, 1, 7)
    assert {name: r.shape for name, r in found.rewards.items()} == dict.fromkeys(
        ["cost", "time", "collisions"], (2954, 1, 7)
    )
    out_and_in_again(found, tmp_path)
    # Station 1 may send, or leave the state to all others: together they can do what one could.
    both = read_prism(path, "9/10", constants={"COL": 0}, leader=["send1"])
    assert both.game.shape == (2954, 2, 7)
    values = [iirl.policy_iteration(x.game, x.reward("time")).values for x in (found, both)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_players_of_a_turn_based_game_are_the_two_agents():
    with pytest.raises(InvalidArgument, match="leader is not given, and the game has the players"):
        read_prism(SMG, "9/10")
    by_player = read_prism(SMG, "9/10", leader=["maxP"])
    same(by_player, read_prism(SMG, "9/10", leader=["q_action1", "q_action2", "loop"]))
    game = by_player.game
    assert game.leader_actions == ("-", "q_action1", "q_action2", "loop")
    assert game.follower_actions == ("-", "p_action1")
    third = Fraction(1, 3)
    rows = game.rational.rows.dense().reshape(*game.shape, 4)
    assert rows[1, 2, 0].tolist() == [0, third, third, third]
    model = stormpy.build_model[stormpy.Rational](stormpy.parse_prism_program(SMG))
    assert from_stormpy(model, "9/10", leader=()).game.shape == (4, 1, 2)


def test_jani_is_read_as_the_program_is():
    found = read_prism(EXAMPLES / "dtmc" / "die.jani", "9/10")
    plain = read_prism(EXAMPLES / "dtmc" / "die.pm", "9/10")
    assert found.game.fingerprint == plain.game.fingerprint
    assert read_prism(
        EXAMPLES / "dtmc" / "brp.jani", 0.5, constants={"N": 2, "MAX": "2"}, absorbing=True
    ).game.shape == (89, 1, 1)


OPEN = """mdp
const int k; const double p; const bool b; const int fixed = 2;
module m
  x : [0..k];
  [go] x<k & b -> p : (x'=x+1) + 1-p : true;
  [] x=k | !b -> true;
endmodule
"""


@pytest.fixture
def opened(tmp_path):
    path = tmp_path / "open.nm"
    path.write_text(OPEN)
    return path


def test_constants_are_exact(opened):
    found = read_prism(opened, 0.5, constants={"k": "2", "p": "1/3", "b": "true"})
    assert found.game.rational.rows.dense()[0].tolist() == [Fraction(2, 3), Fraction(1, 3), 0]
    for p in (0.1, np.float64(0.1)):
        found = read_prism(opened, 0.5, constants={"k": 1, "p": p, "b": True})
        assert found.game.rational.rows.dense()[0].tolist() == [1 - Fraction(0.1), Fraction(0.1)]


@pytest.mark.parametrize(
    ("constants", "error", "said"),
    [
        ({}, InvalidArgument, r"constants lack k, p, b; allowed .* k \(int\), p"),
        ({"k": 1, "p": 0.5}, InvalidArgument, "constants lack b"),
        ({"kk": 1}, UnknownLabel, "no open constant is called 'kk'; did you mean 'k'"),
        ({"fixed": 1}, InvalidArgument, r"constants\['fixed'\] is defined in the file"),
        ({"k": 2.5}, InvalidArgument, r"constants\['k'\] is 2.5; allowed a whole number"),
        ({"k": True}, InvalidArgument, r"constants\['k'\] is True"),
        ({"k": "1e400000"}, InvalidArgument, "a whole number"),
        ({"k": 10**30}, InvalidArgument, "a whole number"),
        ({"p": "x"}, InvalidArgument, r"constants\['p'\] is 'x'; allowed a number"),
        ({"p": float("nan")}, InvalidArgument, "allowed a number"),
        ({"p": None}, InvalidArgument, "allowed a number"),
        ({"b": 1}, InvalidArgument, r"constants\['b'\] is 1; allowed true or false"),
        ({"p": 1.5}, FileProblem, "negative probabilities|probab"),
        ({"k": -1}, FileProblem, "Storm says"),
    ],
)
def test_constants_of_another_kind_are_refused(opened, constants, error, said):
    rest = {"k": 1, "p": "1/2", "b": True} if len(constants) == 1 else {}
    rest = {} if constants.keys() & {"kk", "fixed"} else rest
    with pytest.raises(error, match=said):
        read_prism(opened, 0.5, constants=rest | constants)


def test_a_label_of_no_reachable_state_is_one_of_none(tmp_path):
    path = tmp_path / "one.nm"
    text = "mdp\nmodule m\n x : [0..1];\n [] true -> true;\nendmodule\n"
    path.write_text(f'{text}label "never" = x>0;\nlabel "now" = x=0;\n')
    built = stormpy.build_model(stormpy.parse_prism_program(path))
    for found in (read_prism(path, 0.5), from_stormpy(built, 0.5)):
        labels = {name: marks.tolist() for name, marks in found.labels.items()}
        assert labels == {"never": [False], "now": [True], "init": [True], "deadlock": [False]}
        asked = counterpart(found, 'Pmax=? [ F "never" ]')
        assert asked.bracket() == (0, 0)
        assert dict(
            read_explicit(write_explicit(found, tmp_path / "m.tra"), 0.5).labels
        ).keys() == (labels.keys())


@pytest.mark.parametrize("wrong", ["program", "model.drn"])
def test_no_message_names_a_file_of_ours(tmp_path, wrong):
    ours = Path(gettempdir(), "tmpx1", wrong)
    with pytest.raises(FileProblem) as caught, _complaints(tmp_path / "bad.nm"):
        raise RuntimeError(f"Parsing: see line 3, defined before ({ours}, line 2)")
    assert "tmpx1" not in str(caught.value)
    assert "before (bad.nm, line 2)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("hello", "Storm says.*expecting <model type>", 1),
        ("mdp\nmodule m\n x : [0..2;\nendmodule", 'expecting "]"', 3),
        ("mdp\nmodule m\n x : [0..2];\n [] x=0 -> (x'=4);\nendmodule", "Storm says", None),
        (
            "mdp\nmodule m\n x : [0..2];\n [] true -> 0.5:(x'=1);\nendmodule",
            "do not sum to one",
            None,
        ),
        ("ctmc\nmodule m\n x : [0..2];\n [] true -> 3:(x'=1);\nendmodule", "holds a CTMC", None),
        ("pta\nmodule m\n x : clock;\n [] true -> true;\nendmodule", "Storm says|holds", None),
        ("mdp\nmodule m\n x : int init 0;\n [] true -> (x'=x+1);\nendmodule", "more than 99", None),
    ],
)
def test_what_storm_refuses_is_said_at_its_line(tmp_path, text, said, line, capfd):
    path = tmp_path / "bad.nm"
    path.write_text(text)
    with pytest.raises(FileProblem, match=said) as caught:
        read_prism(path, 0.5, most_states=99)
    assert line in (None, caught.value.line)
    assert capfd.readouterr() == ("", "")  # said once, and not on the terminal


def test_kinds_of_models_without_a_counterpart_are_named():
    for name, said in (
        ("ctmc/tiny.sm", "holds a CTMC, of continuous time"),
        ("ma/simple.ma", "holds a MA, of continuous time"),
        ("pomdp/maze_2.prism", "holds a POMDP, partially observed"),
    ):
        with pytest.raises(FileProblem, match=said):
            read_prism(EXAMPLES / name, 0.5)
    with pytest.raises(FileProblem, match="holds a POMDP, partially observed"):
        read_drn(EXAMPLES / "pomdp" / "maze.drn", 0.5)
    parametric = stormpy.build_model[stormpy.RationalFunction](
        stormpy.parse_prism_program(EXAMPLES / "pdtmc" / "parametric_die.pm")
    )
    with pytest.raises(FileProblem, match="parametric"):
        from_stormpy(parametric, 0.5)
    for wrong in (None, "model", stormpy.parse_prism_program(COIN)):
        with pytest.raises(InvalidArgument, match="a sparse model of stormpy's"):
            from_stormpy(wrong, 0.5)
    symbolic = stormpy.build_symbolic_model(
        stormpy.parse_prism_program(SMG.parents[1] / "dtmc" / "die.pm")
    )
    with pytest.raises(InvalidArgument, match="a sparse model"):
        from_stormpy(symbolic, 0.5)


def test_deadlocks_of_a_program_are_named_or_absorb():
    path = EXAMPLES / "mdp" / "die_selection.nm"
    with pytest.raises(InvalidGame, match=r"state 's=6,d=0' has no choice; allowed .*absorbing"):
        read_prism(path, 0.5)
    assert read_prism(path, 0.5, absorbing=True).labels["deadlock"].sum() == 1
    with pytest.raises(FileNotFoundError):
        read_prism("nowhere.nm", 0.5)


def test_marks_of_the_byte_order_and_other_line_ends_say_nothing(tmp_path):
    for name in ("dtmc/die.pm", "dtmc/die.jani"):
        path = tmp_path / Path(name).name.upper()
        path.write_bytes(b"\xef\xbb\xbf" + (EXAMPLES / name).read_bytes().replace(b"\n", b"\r\n"))
        assert read_file(path, discount=0.5).game == read_prism(EXAMPLES / name, 0.5).game
    path = tmp_path / "nothing.nm"
    path.write_text("mdp\nmodule m\n[] true -> true;\nendmodule\n")
    assert read_prism(path, 0.5).game.states == (0,)


@pytest.mark.parametrize("suffix", [".jani", ".nm"])
def test_a_number_that_storm_would_read_for_hours_is_refused(tmp_path, suffix):
    path = tmp_path / f"long{suffix}"
    path.write_text("\n" + "1" * 5000)
    with pytest.raises(FileProblem, match="numbers of up to 4000 digits") as caught:
        read_prism(path, "9/10")
    assert caught.value.line == 2

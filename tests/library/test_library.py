"""Model files: every form of game, and an error with a place for every fault."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from iirl_opt.commitment.methods import commit
from iirl_opt.errors import FileProblem
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.library import (
    answer,
    check,
    find_model,
    learn,
    program,
    read_model,
    shipped_models,
)
from iirl_opt.solver import solve

WHOLE = """
version = 1
title = "t"
source = "s"

[game]
discount = 0.5
states = ["a", "b"]
leader_actions = ["x", "y"]
follower_actions = ["go", "stay"]
start = { a = 1 }
transitions = [
  { from = "a", follower = "go", to = { a = 0.25, b = 0.75 } },
  { from = "a", follower = "stay", to = { a = 1 } },
  { from = "b", to = { b = 1 } },
]

[reward]
values = { b = 1 }

[question]
family = "learning"
episodes = 2
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "model.toml"
    path.write_text(text, encoding="utf-8")
    return path


def replaced(old: str, new: str) -> str:
    assert old in WHOLE
    return WHOLE.replace(old, new)


def test_transitions_make_a_rational_game(tmp_path: Path) -> None:
    model = read_model(write(tmp_path, WHOLE))
    expected = np.zeros((2, 2, 2, 2))
    expected[0, :, 0] = [0.25, 0.75]
    expected[0, :, 1, 0] = expected[1, :, :, 1] = 1
    np.testing.assert_array_equal(model.game.kernel, expected)
    assert model.game.is_rational
    np.testing.assert_array_equal(model.game.start, [1, 0])
    np.testing.assert_array_equal(model.truth, [0, 1])
    assert isinstance(model.follower, OptimalFollower)


def test_a_kernel_is_the_same_game_as_its_transitions(tmp_path: Path) -> None:
    from_a, from_b = '[["1/4", 0.75], [1, 0]]', "[[0, 1], [0, 1]]"
    rows = f"kernel = [[{from_a}, {from_a}], [{from_b}, {from_b}]]"
    before, after = WHOLE.split("transitions = [")[0], WHOLE.split("\n]\n", 1)[1]
    other = read_model(write(tmp_path, f"{before}{rows}\n{after}"))
    assert other.game == read_model(write(tmp_path, WHOLE)).game


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ('model = "optimal"\nties = "mix"', OptimalFollower),
        ('model = "epsilon-greedy"\nepsilon = 0.25', EpsilonGreedyFollower),
        ('model = "boltzmann"\nbeta = 2.5', BoltzmannFollower),
    ],
)
def test_followers(tmp_path: Path, table: str, kind: type) -> None:
    model = read_model(write(tmp_path, f"{WHOLE}\n[follower]\n{table}\n"))
    assert isinstance(model.follower, kind)


def test_numbers_may_be_written_as_fractions(tmp_path: Path) -> None:
    model = read_model(write(tmp_path, replaced("values = { b = 1 }", 'values = { b = "1/3" }')))
    np.testing.assert_array_equal(model.truth, [0, 1 / 3])


def test_a_reward_of_choices_is_joint_and_later_entries_win(tmp_path: Path) -> None:
    choices = (
        'values = { b = 1 }\nchoices = [{ state = "a", value = 2 }, '
        '{ state = "a", follower = "go", value = 3 }, { leader = "y", value = 4 }]'
    )
    model = read_model(write(tmp_path, replaced("values = { b = 1 }", choices)))
    expected = np.array([[[3, 2], [4, 4]], [[1, 1], [4, 4]]])
    np.testing.assert_array_equal(model.truth, expected)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("version = 1\n", "", "version: is missing"),
        ("version = 1\n", "version = 2\n", "version: is 2"),
        ('title = "t"', "title = 3", "title: Expected `str`"),
        ('title = "t"', 'titel = "t"', "titel: unknown key; did you mean 'title'"),
        ("discount = 0.5", "discuont = 0.5", "game.discuont: unknown key; did you mean 'discount'"),
        ("discount = 0.5", "", "game.discount: is missing"),
        ("discount = 0.5", "discount = 1", "discount is 1"),
        ("discount = 0.5", "discount = nan", "game.discount: nan is no number"),
        ("discount = 0.5", 'discount = "half"', "game.discount: 'half' is no number"),
        ("start = { a = 1 }", "start = { c = 1 }", "no state is called 'c'"),
        ("start = { a = 1 }", "start = { a = 0.5 }", "start sums to 0.5"),
        ('{ from = "b", to', '{ from = "c", to', "transitions[2].from: no state is called 'c'"),
        ("b = 0.75", "b = 0.72", "game.transitions[0].to: sums to 0.97"),
        ("b = 0.75", "b = nan", "game.transitions[0].to.b: nan is no number"),
        ("b = 0.75", 'b = "x/y"', "game.transitions[0].to.b: 'x/y' is no number"),
        ("{ a = 0.25, b = 0.75 }", "{ a = -0.25, b = 1.25 }", "is -1/4"),
        ('"stay", to = { a', '"go", to = { a', "transitions[1]: from='a', leader='x'"),
        ('  { from = "b", to = { b = 1 } },\n', "", "no row for from='b', leader='x'"),
        ("transitions = [", "kernel = 3\ntransitions = [", "game.kernel"),
        ("values = { b = 1 }", "values = { b = nan }", "reward.values.b: nan is no number"),
        ("values = { b = 1 }", 'values = { b = "1/0" }', "reward.values.b: '1/0' is no number"),
        ("values = { b = 1 }", "values = { q = 1 }", "reward.values.q: no state is called 'q'"),
        ('family = "learning"', 'family = "lerning"', "question"),
        ("episodes = 2", 'episodes = "two"', "question.episodes: Expected `int`"),
        ("episodes = 2", 'first = { a = "z" }', "question.first: no action is called 'z'"),
        ('states = ["a", "b"]', 'states = ["a", "a"]', "is named twice"),
        ('title = "t"', 'title = "t', "model.toml:3:"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    path = write(tmp_path, replaced(old, new))
    with pytest.raises(FileProblem) as caught:
        read_model(path)
    assert place in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_two_sources_of_a_game_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="exactly one of"):
        read_model(write(tmp_path, WHOLE + '\n[game.grid]\nrows = ["S1"]\n'))


@pytest.mark.parametrize(
    "asked",
    [
        '"random_game", states = 1000000000, leader_actions = 2, follower_actions = 2, seed = 0',
        '"random_game", states = 2, leader_actions = 99999999, follower_actions = 2, seed = 0',
        '"random_game", states = 99999, leader_actions = 2, follower_actions = 2, seed = 0',
        '"maze_maker", size = 1000000',
    ],
)
def test_a_line_of_a_file_does_not_fill_the_memory(tmp_path: Path, asked: str) -> None:
    head = 'version = 1\ntitle = "t"\nsource = "s"\n[question]\nfamily = "learning"\n'
    with pytest.raises(FileProblem, match=r"game\.generator: makes up to \d+ transitions"):
        read_model(write(tmp_path, f"{head}[game]\ngenerator = {{ name = {asked} }}\n"))


def test_a_reference_may_not_leave_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "secret.dpomdp"
    outside.write_text("agents: 2\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    head = 'version = 1\ntitle = "t"\nsource = "s"\n[question]\nfamily = "learning"\n'
    with pytest.raises(FileProblem, match=r"game\.file.*leaves the model's folder"):
        read_model(write(inner, head + '[game]\nfile = "../secret.dpomdp"\n'))
    with pytest.raises(FileProblem, match=r"game\.file.*no file here"):
        read_model(write(inner, head + '[game]\nfile = "nothing.dpomdp"\n'))


def test_binary_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileProblem, match="no UTF-8 text"):
        read_model(path)
    for name in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(FileProblem, match=r"no such file|is a folder"):
            find_model(name)
    with pytest.raises(FileProblem, match="iirl-opt show lists all models"):
        find_model("no-such-model")


def test_shipped_names_are_found_in_the_checkout() -> None:
    assert find_model("maze-maker").is_relative_to(Path(__file__).parents[2])
    assert shipped_models().joinpath("README.md").is_file()


def test_expectations_compare_values_and_bounds(tmp_path: Path) -> None:
    tables = "".join(
        f'\n[[expect]]\nquantity = "{quantity}"\nsource = "by hand"\n{bound}\n'
        for quantity, bound in [
            ("optimal_value", "value = 1.2\ntolerance = 1e-9"),
            ("optimal_value", "value = 1.3\ntolerance = 1e-9"),
            ("episodes", "at_most = 2\nat_least = 2"),
            ("episodes", "at_least = 3"),
        ]
    )
    model = read_model(write(tmp_path, WHOLE + tables))
    run = learn(model)
    assert len(list(run)) == 2
    # V(b) = 2 and V(a) = (1/8) V(a) + (3/8) 2, so V(a) = 6/7.
    quantities = run.quantities
    assert quantities["optimal_value"] == pytest.approx(6 / 7, abs=1e-12)
    findings = check(model.expect, quantities, model.path)
    assert [f.met for f in findings] == [False, False, True, False]
    assert findings[0].expected == "1.2 ± 1e-09"


def test_an_unknown_quantity_is_named(tmp_path: Path) -> None:
    table = '\n[[expect]]\nquantity = "regrett"\nsource = "?"\nvalue = 1\n'
    model = read_model(write(tmp_path, WHOLE + table))
    with pytest.raises(FileProblem, match=r"expect\[0\]\.quantity.*'regrett'"):
        check(model.expect, {"episodes": 1.0}, model.path)


def test_an_expectation_without_a_bound_is_refused(tmp_path: Path) -> None:
    table = '\n[[expect]]\nquantity = "episodes"\nsource = "?"\n'
    with pytest.raises(FileProblem, match=r"expect\[0\]: needs one of"):
        read_model(write(tmp_path, WHOLE + table))


def test_a_file_without_reward_cannot_be_learnt(tmp_path: Path) -> None:
    text = replaced("[reward]\nvalues = { b = 1 }\n", "")
    with pytest.raises(FileProblem, match="reward: is missing"):
        learn(read_model(write(tmp_path, text)))


def test_a_decpomdp_file_is_a_learning_problem_in_its_own_convention(problems: Path) -> None:
    model = read_model(problems / "GridSmall.dpomdp")
    best = commit(model.game, model.truth)
    own = (best.values - model.truth) / model.game.discount
    np.testing.assert_allclose(model.reported(best.values), own)
    run = learn(model, episodes=2)
    assert len(list(run)) == 2
    quantities = run.quantities
    assert quantities["optimal_value"] == pytest.approx(float(model.game.start @ own))
    assert quantities["truth_feasible"] == 1


def committed(folder: Path, tables: str, question: str = "", game: str = WHOLE) -> dict[str, float]:
    """What a question of the commitment family finds in the game of `WHOLE`, with more tables."""
    text = game.replace('family = "learning"\nepisodes = 2', f'family = "commitment"\n{question}')
    return dict(answer(read_model(write(folder, f"{text}\n{tables}\n"))).quantities)


def test_the_follower_may_have_a_reward_of_its_own(tmp_path: Path) -> None:
    # It would rather stay in a, which pays it and nobody else.
    found = committed(tmp_path, "[follower_reward]\nvalues = { a = 1 }", "exact = true")
    assert found["value"] == found["bound"] == 0
    both = committed(tmp_path, "")
    assert both["value"] == pytest.approx(6 / 7, abs=1e-12)


@pytest.mark.parametrize(
    ("tables", "question", "place"),
    [
        ("[follower_reward]\nvalues = { q = 1 }", "", "follower_reward.values.q"),
        ("", 'forbidden = { q = ["x"] }', "question.forbidden.q: no state"),
        ("", 'forbidden = { a = ["z"] }', "question.forbidden.a: no leader action"),
        ("", 'forbidden = { "*" = ["x", "y"] }', "names no action"),
        ("", 'method = "guess"', "question.method"),
        ('[follower]\nmodel = "boltzmann"\nbeta = 1', 'method = "milp"', "question: follower"),
        ('[follower]\nmodel = "boltzmann"\nbeta = 1', 'ties = "optimistic"', "question: ties"),
        (
            '[[constraint]]\nname = "c"\non = "reward"\nterms = { a = 1 }\nat_most = 1',
            "",
            r"constraint[0].on",
        ),
        (
            "".join(
                f'[[constraint]]\nname = "{whose}"\non = "measure"\nwhose = "{whose}"\n'
                "terms = { a = 1 }\nat_most = 1\n"
                for whose in ("leader", "both")
            ),
            "",
            "constraint: is of the leader in one row",
        ),
    ],
)
def test_a_fault_in_a_commitment_question_is_named(
    tmp_path: Path, tables: str, question: str, place: str
) -> None:
    with pytest.raises(FileProblem) as caught:
        committed(tmp_path, tables, question)
    assert place in str(caught.value)


def test_a_reward_of_the_follower_means_nothing_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(
        FileProblem, match="follower_reward: has a meaning for the family commitment"
    ):
        read_model(write(tmp_path, f"{WHOLE}\n[follower_reward]\nvalues = {{ a = 1 }}\n"))


def test_rows_that_nobody_can_respect_are_an_answer(tmp_path: Path) -> None:
    row = '[[constraint]]\nname = "never a"\non = "measure"\nwhose = "leader"\nterms = { a = 1 }\n'
    assert committed(tmp_path, f"{row}at_most = 0") == {"infeasible": 1.0}


@pytest.mark.parametrize("name", ["hazard-ignored", "hazard-shared", "figure-1", "lemma-3-exact"])
def test_the_program_behind_a_commitment_has_its_value(name: str) -> None:
    model = read_model(name)
    expected = next(e.value for e in model.expect if e.quantity == "value")
    assert solve(program(model)).value == pytest.approx(expected, abs=1e-7)


def test_a_question_without_a_program_says_so() -> None:
    for name in ("theorem-3-dominance", "theorem-3-a1"):
        with pytest.raises(FileProblem, match="is not one linear program"):
            program(read_model(name))


# Numbers as they are written


def test_numbers_of_a_model_file_are_the_decimals_that_are_written(tmp_path: Path) -> None:
    text = replaced("discount = 0.5", "discount = 0.999999999").replace(
        "{ a = 0.25, b = 0.75 }", '{ a = 0.1, b = "9/10" }'
    )
    game = read_model(write(tmp_path, text)).game
    assert game.exact_discount == Fraction(999_999_999, 10**9)
    rows = [game.rational.rows.row(i) for i in range(game.n_states * game.n_choices)]
    assert {0: Fraction(1, 10), 1: Fraction(9, 10)} in rows


@pytest.mark.parametrize(
    "number", ["1e-400000000", "1e400000000", '"1e-400000000"', f'"{"9" * 5000}"', "9" * 5000]
)
@pytest.mark.parametrize("key", ["b = 0.75", "discount = 0.5", "values = { b = 1 }"])
def test_numbers_that_would_fill_the_memory_are_refused_at_once(
    tmp_path: Path, number: str, key: str
) -> None:
    name = key.split(" = ")[0]
    new = f"{name} = {number}" if name != "values" else f"values = {{ b = {number} }}"
    with pytest.raises(FileProblem, match="more than 4000 digits"):
        read_model(write(tmp_path, replaced(key, new)))


def test_what_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, replaced("episodes = 2", f"episodes = {'[' * 5000}{']' * 5000}"))
    with pytest.raises(FileProblem, match="nested"):
        read_model(path)


def test_a_number_beyond_all_floats_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, replaced("values = { b = 1 }", "values = { b = 1e400 }"))
    with pytest.raises(FileProblem, match=r"reward\.values\.b: is beyond all floats"):
        read_model(path)

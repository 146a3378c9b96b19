"""Model files with a horizon: what is said by state is said of every step."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from iirl_opt import library
from iirl_opt.errors import FileProblem
from iirl_opt.library import read_model

FILE = """\
version = 1
title = "Three steps"
source = "by hand"
[game]
discount = 1
horizon = 3
states = ["hall", "goal"]
leader_actions = ["open", "shut"]
follower_actions = ["go", "stay"]
start = { hall = 1 }
transitions = [
  { from = "hall", leader = "open", follower = "go", to = { goal = "1/2", hall = "1/2" } },
  { from = "hall", leader = "open", follower = "stay", to = { hall = 1 } },
  { from = "hall", leader = "shut", to = { hall = 1 } },
  { from = "goal", to = { goal = 1 } },
]
[reward]
values = { goal = 1 }
"""
EVALUATE = '[question]\nfamily = "commitment"\nask = "evaluate"\n'


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as a model file."""

    def reading(text, **asked):
        path = tmp_path / "steps.toml"
        path.write_text(text, encoding="utf-8")
        return read_model(path, **asked)

    return reading


@pytest.mark.parametrize(
    ("leader", "value"),
    [
        ('{ "*" = "open" }', Fraction(5, 4)),
        ('{ hall = "open", goal = "shut" }', Fraction(5, 4)),
        ("""{ "*" = "open", "('hall', 0)" = "shut" }""", Fraction(1, 2)),
        ("""{ "('hall', 1)" = "shut", hall = "open", goal = "open" }""", Fraction(1)),
    ],
)
def test_a_policy_by_state_is_one_of_every_step(read, leader, value):
    problem = read(FILE + EVALUATE + f"leader = {leader}\n")
    assert library.answer(problem).quantities["value"] == pytest.approx(float(value), abs=1e-12)
    if "0" not in leader and "1" not in leader:  # values are what is still to come
        found = library.answer(problem).quantities
        names = ["('goal', 0)", "('hall', 1)", "('goal', 2)", "('end', 3)"]
        assert [found[f"value[{name}]"] for name in names] == pytest.approx([3, 0.5, 1, 0])


def test_a_discount_below_one_is_kept_and_may_be_asked_for(read):
    text = FILE.replace("discount = 1", "discount = 0.5") + EVALUATE + 'leader = { "*" = "open" }\n'
    assert library.answer(read(text)).quantities["value"] == pytest.approx(1 / 4 + 3 / 16)
    assert read(FILE + EVALUATE, discount="1/2").game.exact_discount == Fraction(1, 2)


@pytest.mark.parametrize(("target", "explains"), [("goal", 1), ("hall", 0)])
def test_answers_and_paths_teach_a_reward_that_is_the_same_at_each_step(read, target, explains):
    told = f"""\
[[observation]]
leader = {{ "*" = "open" }}
optimal = {{ hall = ["go"], "('hall', 2)" = ["go", "stay"], "*" = ["go", "stay"] }}
[[trajectory]]
leader = {{ "*" = "open" }}
steps = [["hall", "open", "go"], ["goal", "open", "go"], ["goal", "open", "stay"]]
[question]
family = "feasible_rewards"
ask = "contains"
target = {{ {target} = 2 }}
"""
    problem = read(FILE + told)
    assert problem.trajectories[0].states.tolist() == [0, 3, 5]
    assert library.answer(problem).quantities["contains"] == explains


def test_a_row_on_the_measure_bounds_what_steps_add_up_to(read):
    budget = """\
[[constraint]]
name = "goal"
on = "measure"
terms = { goal = 1 }
at_most = 0.75
[question]
family = "occupancy"
"""
    assert library.answer(read(FILE + budget)).quantities["value"] == pytest.approx(0.75, abs=1e-9)


def test_it_is_written_as_stated_and_changed_rewards_with_their_steps(read, tmp_path):
    problem = read(FILE + EVALUATE + 'leader = { "*" = "open" }\n')
    same = read_model(library.write_model(problem, tmp_path / "same.toml"))
    assert same.horizon.steps == 3
    assert same.game == problem.game
    other = replace(problem, truth=3 * problem.truth)
    again = read_model(library.write_model(other, tmp_path / "other.toml"))
    assert again.game == problem.game
    np.testing.assert_allclose(again.truth, other.truth, rtol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 3", "horizon = 0", "game.horizon: steps is 0"),
        ("horizon = 3", "horizon = 100000000000", "game.horizon: steps is 100000000000, which"),
        ("horizon = 3", "horizon = 2.5", "game.horizon: Expected"),
        ("horizon = 3\n", "", "game.discount: discount is 1"),
        ("discount = 1", "discount = 1.5", "game.discount: discount is 3/2"),
        ("values = { goal = 1 }", "values = { gaol = 1 }", "reward.values.gaol"),
        ("[reward]", '[follower]\nmodel = "boltzmann"\nbeta = 1.0\n[reward]', "follower: .*unit"),
    ],
)
def test_what_makes_no_play_is_refused_by_key(read, old, new, message):
    with pytest.raises(FileProblem, match=message):
        read(FILE.replace(old, new) + EVALUATE + 'leader = { "*" = "open" }\n')

"""Pictures of games and commitments: arrows, bars and marks say what the numbers say."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.patches import Circle, FancyArrowPatch

from iirl_opt import plot
from iirl_opt.commitment.dominating import DominanceVerdict, dominance
from iirl_opt.commitment.methods import commit
from iirl_opt.commitment.problem import CommitmentProblem
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP

HALL, STAIR, GOAL = [1, 0, 0], [0, 1, 0], [0, 0, 1]


def three_rooms() -> TwoAgentMDP:
    kernel = [[[HALL, STAIR], [STAIR, GOAL]], [[[1, 1, 0], GOAL]] * 2, [[GOAL] * 2] * 2]
    return TwoAgentMDP(
        kernel,
        "1/2",
        HALL,
        states=["hall", "stair", "goal"],
        leader_actions=["open", "shut"],
        follower_actions=["wait", "go"],
    )


def test_a_graph_has_an_arrow_for_each_pair_of_states_and_names_its_actions() -> None:
    axes = plot.plot_game(three_rooms(), [0.0, 0.0, 1.0])
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert (len(arrows), len(circles)) == (7, 3)
    assert [c.get_linewidth() for c in circles] == [3.0, 1.0, 1.0]
    texts = [text.get_text() for text in axes.texts]
    assert texts[:3] == ["hall\n0", "stair\n0", "goal\n1"]
    both = ["* / wait (0.5)"] * 2
    names = ["open / wait", "open / go\nshut / wait", "shut / go", *both, "* / go", "*"]
    assert sorted(texts[3:]) == sorted(names)


def nearest(places: Any, to: Any) -> int:
    return int(np.linalg.norm(np.subtract(places, to), axis=1).argmin())


def test_each_arrow_leads_from_its_state_to_its_state() -> None:
    axes = plot.plot_game(three_rooms())
    centres = [patch.center for patch in axes.patches if isinstance(patch, Circle)]
    arrows = [p for p in axes.patches if isinstance(p, FancyArrowPatch)]
    ends = [arrow._posA_posB for arrow in arrows]
    near = [
        [int(np.argmin(np.linalg.norm(np.subtract(centres, e), axis=1))) for e in pair]
        for pair in ends
    ]
    assert sorted(map(tuple, near)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 2)]


def test_a_graph_that_cannot_be_read_is_not_drawn_and_a_dense_one_has_no_labels() -> None:
    with pytest.raises(InvalidArgument, match="at most 24"):
        plot.plot_game(random_game(25, 2, 2, rng=0)[0])
    axes = plot.plot_game(random_game(6, 2, 2, rng=0)[0])
    assert len(axes.texts) == 6
    single = plot.plot_game(TwoAgentMDP([[[[1]]]], 0))
    assert [text.get_text() for text in single.texts] == ["0", "*"]
    dense = plot.plot_game(random_game(3, 2, 2, rng=0)[0])
    said = [text.get_text() for text in dense.texts if "pairs" in text.get_text()]
    assert said
    assert all(re.fullmatch(r"[46] of 4 pairs\n\(\S+ to \S+\)", text) for text in said)
    for bad in ([1.0], np.ones((3, 2, 2)), [np.nan, 0, 0]):
        with pytest.raises((InvalidReward, InvalidArgument)):
            plot.plot_game(three_rooms(), bad)


def test_the_bars_of_a_state_are_the_leaders_probabilities() -> None:
    game, reward = random_game(20, 3, 2, rng=0)
    policy = np.eye(3)[np.arange(20) % 3]
    policy[[4, 7]] = [0.2, 0.3, 0.5], [0.5, 0.5, 0.0]
    mixed = replace(commit(game, reward), policy=policy)
    axes = plot.plot_commitment(mixed, most=2)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["4", "7"]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    np.testing.assert_allclose(np.transpose(widths), policy[[4, 7]])
    assert "in 2 of 20 states; it mixes in 2" in axes.get_title()
    answers = [text.get_text() for text in axes.texts]
    assert answers == [*(str(int(np.argmax(mixed.response[s]))) for s in (4, 7)), "answer"]
    assert len(plot.plot_commitment(mixed, most=99).get_yticks()) == 20
    for bad in (policy, None, game):
        with pytest.raises(InvalidArgument, match="commitment"):
            plot.plot_commitment(bad)


def test_where_two_states_rule_dominance_out_the_corner_is_empty() -> None:
    game, reward = random_game(4, 3, 3, rng=0)
    found = dominance(CommitmentProblem(game, reward, BoltzmannFollower(2.0)))
    assert len(found.states) == 2
    axes = plot.plot_dominance(found, states=list("abcd"))
    marks = {line.get_label(): np.ravel(line.get_data()) for line in axes.lines}
    corner = marks["best from both: no commitment is here"]
    others = [xy for label, xy in marks.items() if label.startswith("the commitment")]
    assert len(others) == 2
    np.testing.assert_allclose(np.max(others, axis=0), corner)
    assert all((xy < corner).any() for xy in others)
    assert axes.get_xlabel() == f"value from {'abcd'[found.states[0]]}"
    with pytest.raises(InvalidArgument, match="all 4 states"):
        plot.plot_dominance(found, states=["a"])


def test_three_states_that_rule_it_out_are_a_line_for_each_best_commitment() -> None:
    game, reward = random_game(4, 3, 3, rng=0)
    found = dominance(CommitmentProblem(game, reward, BoltzmannFollower(2.0)))
    values = np.array([[3.0, 1.0, 2.0], [2.0, 4.0, 2.0], [1.0, 1.0, 5.0]])
    axes = plot.plot_dominance(replace(found, states=(0, 1, 3), best_values=values))
    lines = [line.get_ydata() for line in axes.lines[:3]]
    np.testing.assert_allclose(lines, values - [3.0, 4.0, 5.0])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["state 0", "state 1", "state 3"]


def test_a_dominating_commitment_meets_its_bounds() -> None:
    found = dominance(CommitmentProblem(*random_game(5, 2, 2, rng=0)))
    axes = plot.plot_dominance(found)
    bounds, values = (line.get_ydata() for line in axes.lines)
    np.testing.assert_allclose(bounds, values)
    assert axes.get_title() == DominanceVerdict.DOMINATING.value

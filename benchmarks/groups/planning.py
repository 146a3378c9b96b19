"""The joint optimum: values and a policy that is best from every state, γ = 0.9.

*Values* are improved until no choice is better by more than error bounds allow, state by state;
*values and all ties* decides all optimal choices, too; *policy, no certificate* is the modified
policy iteration inside, which ends where the span of the last change allows, with values up to a
constant. The peers solve to the
same error of values, 1e-10 span(r)/(1 − γ): QuantEcon's modified policy iteration (its model is
made beforehand) and vectorised value iteration with the span stop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import quantecon
import scipy.sparse as sp
from cases import Case, Contestant, Outcome, ours, peer
from peers import maze, paper200, sparse, value_iteration

import iirl_opt as iirl
from iirl_opt.game.iteration import near_optimum
from iirl_opt.game.problem import joint_problem

TITLE = "Joint optimum"
GROWTH = "S"

TOLERANCE = 1e-10


def cases(quick: bool) -> list[Case]:
    """Return the paper's games, and random ones of growing size."""
    made: list[tuple[str, Any, dict[str, Any]]] = [
        ("Maze-Maker", maze, {"S": 392, "A·B": 24}),
        ("paper's random game", paper200, {"S": 200, "A·B": 16}),
    ]
    found = [Case(title, sizes, _prepared(make)) for title, make, sizes in made]
    sizes = (100, 300, 1000) if quick else (100, 1000, 10_000, 100_000)
    found += [
        Case(
            f"random, 5 successors, S = {n:,}",
            {"S": n, "A·B": 16, "seed": 0},
            _prepared(lambda n=n: sparse(n)),
            seconds=6.0,
            memory=n >= 1000,
            family="random, 5 successors",
        )
        for n in sizes
    ]
    return found[2:] if quick else found


def _prepared(make: Any) -> Callable[[], dict[str, Contestant]]:
    def prepare() -> dict[str, Contestant]:
        game, reward = make()
        k, n = game.n_choices, game.n_states
        accepted = TOLERANCE * float(np.ptp(reward)) / (1 - game.discount)
        plain = sp.csr_matrix(game.matrix)
        model = quantecon.markov.DiscreteDP(
            np.repeat(reward, k),
            plain,
            game.discount,
            np.repeat(np.arange(n), k),
            np.tile(np.arange(k), n),
        )
        problem = joint_problem(game, reward)

        def tied(_: int) -> Any:
            optimum = iirl.game.modified_policy_iteration(game, reward)
            return Outcome(optimum.values, {"choices": float(optimum.optimal.sum())})

        return {
            "values": ours(lambda _: iirl.game.modified_policy_iteration(game, reward).values),
            "values and all ties": ours(tied),
            "policy, no certificate": ours(lambda _: near_optimum(problem, TOLERANCE, 20) and None),
            "QuantEcon": peer(
                lambda _: model.solve(method="mpi", epsilon=accepted, max_iter=100_000).v
            ),
            "value iteration": peer(
                lambda _: value_iteration(plain, reward, game.discount, accepted)
            ),
        }

    return prepare

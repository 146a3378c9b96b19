"""Worst regrets of the minimax commitments beside that of the Chebyshev centre's.

    python -m tests.campaigns.minimax_table

After three answers to random deterministic commitments, the worst regret over 100 rewards that
explain them (hit-and-run in the simplex), and the proved bound on the worst over all of them: of
the best deterministic commitment, of the stochastic one beside it, and of the joint optimum for the
Chebyshev centre. Four seeds a size, means; at home and in another game. Minutes.
"""

import sys

import numpy as np

import iirl_opt as iirl
from iirl_opt.commitment import minimax_regret
from iirl_opt.rewards import regret_elsewhere
from iirl_opt.rewards.elsewhere import shared_regret

SIZES = ((4, 2, 2), (6, 2, 2), (8, 3, 2))
SEEDS = range(700, 704)


def given(size, seed):
    """Return what three answers leave, and another game."""
    rng = np.random.default_rng(seed)
    home, truth = iirl.random_game(*size, rng=rng)
    away, _ = iirl.random_game(*size, rng=rng)
    feasible = iirl.FeasibleRewards(home)
    for _ in range(3):
        pi1 = np.eye(size[1])[rng.integers(size[1], size=size[0])]
        feasible = feasible.observe(pi1, iirl.OptimalFollower().respond(home, truth, pi1))
    return feasible, away


def compared(feasible, game, seed):
    """Return (worst of 100, proved worst of all) of three commitments, and the floor."""
    found = minimax_regret(feasible, game, time_limit=120)
    centre = feasible.chebyshev_centre().centre
    guess = iirl.commit(game, centre).policy
    rewards = feasible.sample(100, seed)
    out = []
    for pi1, worst in (
        (found.policy, found.worst),
        (found.mixed_policy, found.mixed),
        (guess, regret_elsewhere(feasible, game, guess)),
    ):
        out += [max(shared_regret(game, r / r.sum(), pi1) for r in rewards), worst.upper]
    return [*out, found.floor.value, found.lower]


def main():
    """Print a line a size and a game."""
    print("size game | deterministic: of 100, of all | stochastic | centre | floor, lower")
    for size in SIZES:
        lines = {"home": [], "away": []}
        for seed in SEEDS:
            feasible, away = given(size, seed)
            lines["home"].append(compared(feasible, feasible.game, seed))
            lines["away"].append(compared(feasible, away, seed))
        for where, rows in lines.items():
            print(size, where, " ".join(f"{x:.4f}" for x in np.mean(rows, axis=0)), flush=True)


if __name__ == "__main__":
    sys.exit(main())

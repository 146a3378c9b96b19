"""Worst and minimax regrets against enumeration, on 500 random games each.

Run it with ``python -m tests.campaigns.elsewhere [how many]``; some minutes. Every disagreement is
printed; the exit code says whether there was one.
"""

import itertools
import sys

import numpy as np

from iirl_opt.commitment import minimax_regret
from iirl_opt.rewards import regret_elsewhere
from tests.enumerated_regret import instance, worst_by_enumeration


def main(n: int) -> int:
    """Return how many instances disagree."""
    wrong = tight = 0
    for seed in range(n):
        size = (2 + seed % 2, (2, 2), (1 + seed % 3, 1 + seed // 3 % 3))
        feasible, away, pi1, _ = instance(10_000 + seed, *size, episodes=seed % 4)
        brute = worst_by_enumeration(feasible, away, pi1)
        found = regret_elsewhere(feasible, away, pi1)
        ends = abs(found.lower - brute), abs(found.upper - brute)
        right = max(ends) <= 1e-7 and found.proved.upper >= brute - 1e-7 and found.check()
        tight += found.proved.upper <= brute + 1e-7
        if not right:
            wrong += 1
            print(
                f"seed {seed}: enumeration {brute}, {found!r}, by arithmetic {found.proved.upper}"
            )
    print(f"{n} instances, {wrong} disagree; by arithmetic alone {tight} are exact")
    return wrong


def minimax(n: int) -> int:
    """Return how many minimax regrets disagree with those of all deterministic commitments."""
    wrong = better = 0
    for seed in range(n):
        size, episodes = ((2, 0), (2, 0), (2, 0), (2, 0), (3, 1))[seed % 5]
        feasible, away, _, _ = instance(20_000 + seed, n_states=size, episodes=episodes)
        game = (feasible.game, away)[seed % 2]
        policies = (np.eye(2)[list(c)] for c in itertools.product(range(2), repeat=size))
        brute = min(worst_by_enumeration(feasible, game, pi1) for pi1 in policies)
        found = minimax_regret(feasible, game, by=("enumerate", "program")[seed // 2 % 2])
        ends = abs(found.lower - brute), abs(found.upper - brute)
        better += found.mixed.upper < found.upper - 1e-6
        if max(ends) > 1e-7 or found.floor.value > found.mixed.upper or not found.check():
            wrong += 1
            print(f"seed {seed}: enumeration {brute}, {found!r}")
    print(f"{n} minimax regrets, {wrong} disagree; a stochastic commitment has less in {better}")
    return wrong


if __name__ == "__main__":
    count = int(sys.argv[1]) if sys.argv[1:] else 500
    sys.exit(main(count) + minimax(count) > 0)

"""Worst regrets in other games against enumeration, on 500 random games.

Run it with ``python -m tests.campaigns.elsewhere [how many]``; some minutes. Every disagreement is
printed; the exit code says whether there was one.
"""

import sys

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


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 500) > 0)

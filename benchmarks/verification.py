"""Verification in two tables: ``python benchmarks/verification.py [--instances N] [--seeds N] …``.

The strict test on random instances (S = 2 … 8, γ in [0.05, 0.99], every tie rule): how often it
accepts a reward of the class (it must always), and the largest angle of a reward that it accepts
beside the proved bound. The protocol in games where no environment can be made (two leader and two
follower actions) and a true hypothesis drawn uniformly: how many episodes it takes to pin the class
to 1e-6, and which seeds are stuck. How many are depends on the games: try ``--concentration 1``.
"""

from __future__ import annotations

import argparse
from itertools import cycle, islice

import numpy as np

import iirl_opt as iirl
from iirl_opt.rewards.affine import affine_distance
from iirl_opt.verification.protocol import VerificationProtocol
from iirl_opt.verification.strict import strict_environment
from iirl_opt.verification.verdict import Verdict, verify_affine

TIES = ("first", "last", "random", "mix", "all", "adversary")
Array = np.ndarray


def respond(game: iirl.TwoAgentMDP, truth: Array, ties: str, rng: np.random.Generator) -> Array:
    """Return an optimal response; the adversary leaves the first action wherever it can."""
    alone = np.ones((game.n_states, 1))
    if ties != "adversary":
        return iirl.OptimalFollower(ties).respond(game, truth, alone, rng)
    q = iirl.best_responses(game, truth, alone)
    last = q.optimal.shape[1] - 1 - q.optimal[:, ::-1].argmax(axis=1)
    return iirl.deterministic_policy(last, q.optimal.shape[1])


def strict_instance(ties: str, rng: np.random.Generator) -> tuple[bool, float | None]:
    """Return whether a reward of the class is accepted, and how near another came to the bound.

    The latter is the ratio of tangents for a reward near the cone; None where it is not accepted.
    """
    n = int(rng.integers(2, 9))
    gamma = float(rng.uniform(0.05, 0.99))
    r = rng.normal(size=n)
    share = float(10 ** rng.uniform(-4, 0))
    environment = strict_environment(r, gamma, share)
    same = rng.uniform(0.1, 10) * r + rng.normal()
    answer = respond(environment.game, same, ties, rng)
    complete = verify_affine(r, environment, answer).verdict is Verdict.CONFIRMED
    unit = (r - r.mean()) / np.linalg.norm(r - r.mean())
    away = rng.normal(size=n)
    away -= away.mean() + (away @ unit) * unit
    length = np.linalg.norm(away) if n > 2 else 1.0
    other = unit + rng.uniform(0, 1.5) * max(environment.tan_bound, 1e-9) * away / length
    answer = respond(environment.game, other, ties, rng)
    if verify_affine(r, environment, answer).verdict is not Verdict.CONFIRMED:
        return complete, None
    tangent = float(np.tan(affine_distance(other, r)))
    return complete, tangent / environment.tan_bound if environment.tan_bound else 0.0


def strict_table(instances: int, seed: int = 0) -> list[tuple[str, int, int, int, float]]:
    """Return per tie rule: instances, accepted of the class, accepted others, largest ratio."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[tuple[bool, float | None]]] = {ties: [] for ties in TIES}
    for ties in islice(cycle(TIES), instances):
        found[ties].append(strict_instance(ties, rng))
    table = []
    for ties, outcomes in found.items():
        ratios = [ratio for _, ratio in outcomes if ratio is not None]
        complete = sum(accepted for accepted, _ in outcomes)
        table.append((ties, len(outcomes), complete, len(ratios), max(ratios, default=0.0)))
    return table


def protocol_table(
    seeds: int, concentration: float | None = None
) -> list[tuple[int, int, VerificationProtocol]]:
    """Return (S, seed, the finished protocol) for `seeds` games of each size."""
    table = []
    for n in (3, 4, 6):
        for seed in range(seeds):
            game, _ = iirl.random_game(n, 2, 2, rng=seed, concentration=concentration)
            truth = np.random.default_rng(seed).random(n)
            protocol = VerificationProtocol(game, truth)
            while not protocol.finished() and protocol.episode < 300:
                answer = iirl.OptimalFollower().respond(game, truth, protocol.ask())
                protocol = protocol.tell(answer)
            table.append((n, seed, protocol))
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=1000, help="of the strict test")
    parser.add_argument("--seeds", type=int, default=12, help="of games of each size")
    parser.add_argument("--concentration", type=float, help="of the games' Dirichlet rows [1/S]")
    given = parser.parse_args()
    print("strict test\nties        instances  class accepted  others accepted  tan / bound ≤")
    for ties, count, complete, others, ratio in strict_table(given.instances):
        print(f"{ties:<10} {count:>10} {complete:>15} {others:>16} {ratio:>14.6f}")
    print("\nprotocol\nS  seed  episodes  width     verdict")
    table = protocol_table(given.seeds, given.concentration)
    for n, seed, protocol in table:
        verdict = "stuck" if protocol.stuck() else protocol.verdict().name.lower()
        print(f"{n}  {seed:>4}  {protocol.episode:>8}  {protocol.reached():<8.2g}  {verdict}")
    pinned = sum(protocol.verdict() is Verdict.CONFIRMED for _, _, protocol in table)
    print(f"\n{pinned} of {len(table)} pinned to 1e-6")


if __name__ == "__main__":
    main()

"""Verification: the strict test, and the protocol where no environment can be made.

*Strict test*: random instances (S = 2 … 8, γ in [0.05, 0.99], every tie rule). It must accept every
reward of the class; *tan/bound* is the largest angle of another reward that it accepted, as a share
of the proved bound. *Protocol*: games of two leader and two follower actions and a true hypothesis
drawn uniformly; *pinned* says how many of them were pinned to 1e-6, after how many *episodes*.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import numpy as np
from cases import Case, Outcome, ours

import iirl_opt as iirl
from iirl_opt.rewards.affine import affine_distance
from iirl_opt.verification.protocol import VerificationProtocol
from iirl_opt.verification.strict import strict_environment
from iirl_opt.verification.verdict import Verdict, verify_affine

TITLE = "Verification"
GROWTH = None

TIES = ("first", "last", "random", "mix", "all", "adversary")
Array = np.ndarray


def cases(quick: bool) -> list[Case]:
    """Return both tables."""
    instances, seeds = (6, 1) if quick else (600, 2)
    sizes = (3,) if quick else (3, 4, 6)

    def strict(_: int) -> Outcome:
        table = strict_table(instances)
        figures = {
            "of the class accepted": sum(row[2] for row in table) / sum(row[1] for row in table),
            "others accepted": sum(row[3] for row in table),
            "tan/bound": max(row[4] for row in table),
        }
        return Outcome(figures["tan/bound"], figures)

    def protocol(_: int) -> Outcome:
        table = protocol_table(seeds, sizes=sizes)
        pinned = [p for _, _, p in table if p.verdict() is Verdict.CONFIRMED]
        figures = {
            "games": len(table),
            "pinned": len(pinned),
            "episodes": float(np.median([p.episode for p in pinned])) if pinned else 0.0,
        }
        return Outcome(float(len(pinned)), figures)

    def prepare(label: str, run: Any) -> Any:
        return lambda: {label: ours(run)}

    return [
        Case(
            f"strict test, {instances} instances",
            {"seed": 0},
            prepare("verify_affine", strict),
            runs=1,
            seconds=5.0,
        ),
        Case(
            f"protocol, {len(sizes) * seeds} games",
            {"S": ", ".join(map(str, sizes)), "seeds": f"0–{seeds - 1}"},
            prepare("VerificationProtocol", protocol),
            runs=1,
            seconds=5.0,
        ),
    ]


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
    seeds: int, sizes: tuple[int, ...] = (3, 4, 6), concentration: float | None = None
) -> list[tuple[int, int, VerificationProtocol]]:
    """Return (S, seed, the finished protocol) for `seeds` games of each size."""
    table = []
    for n in sizes:
        for seed in range(seeds):
            game, _ = iirl.random_game(n, 2, 2, rng=seed, concentration=concentration)
            truth = np.random.default_rng(seed).random(n)
            protocol = VerificationProtocol(game, truth)
            while not protocol.finished() and protocol.episode < 300:
                answer = iirl.OptimalFollower().respond(game, truth, protocol.ask())
                protocol = protocol.tell(answer)
            table.append((n, seed, protocol))
    return table

"""What commitments call exact, against an enumeration in rational arithmetic.

    python -m tests.campaigns.exactness --games 2000 --seed 0

Random games are drawn with what floats find hard: penalties up to −10¹² in a state that good play
does not enter, constants up to 10¹² added to all rewards, discounts up to 1 − 10⁻¹⁰, rows that are
the same or differ by 10⁻¹² of the rewards, float images of rational kernels. The leader commits to
an optimal or an ε-greedy follower, with the same reward or another. What is found is judged by code
that shares nothing with the package's searches: every commitment, in `fractions.Fraction`, with an
elimination of its own.

A commitment fails if it is called EXACT and another is better; if its bound is below the optimum;
if its value is not that of the pair that it carries; or if the carried response is not what the
follower's tie rule gives. Printed are the failures, and how many are called EXACT.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from iirl_opt.commitment import Automatic, CommitmentProblem, Enumeration, Guarantee
from iirl_opt.follower.optimal import EpsilonGreedyFollower, OptimalFollower
from iirl_opt.game.mdp import TwoAgentMDP

DISCOUNTS = ("0", "1/2", "9/10", "0.95", "999/1000", "0.999999", "0.999999999", "0.9999999999")
RULES = ("first", "last", "mix", "optimistic", "pessimistic")


@dataclass
class Instance:
    """A commitment problem in exact numbers, and what the package is given of it."""

    seed: int
    game: TwoAgentMDP
    kernel: list
    discount: Fraction
    start: list
    own: np.ndarray
    theirs: np.ndarray | None
    epsilon: float | None
    rule: str
    kind: str

    @property
    def shape(self):
        """The numbers of states and of both agents' actions."""
        return self.game.shape

    def plan(self, by=None):
        """Return the commitment that the package finds: by its exact search, or by a method."""
        own_rule = self.rule if self.rule in ("first", "last", "mix") else "first"
        follower = (
            OptimalFollower(own_rule)
            if self.epsilon is None
            else EpsilonGreedyFollower(self.epsilon, own_rule)
        )
        problem = CommitmentProblem(
            self.game,
            self.own,
            follower,
            follower_reward=self.theirs,
            ties=self.rule if self.rule in ("optimistic", "pessimistic") else None,
        )
        return (Automatic(exact=True) if by is None else by).plan(problem)


def draw(seed: int) -> Instance:
    """Draw a problem of at most 81 deterministic commitments."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    n_a, n_b = int(rng.integers(1, 4)) if n < 4 else 2, int(rng.integers(1, 4))
    weights = np.zeros((n, n_a, n_b, n), dtype=np.int64)
    for at in np.ndindex(n, n_a, n_b):
        for target in rng.integers(n, size=int(rng.integers(1, 4))):
            weights[(*at, target)] += int(rng.integers(1, 5))
    own = rng.integers(-4, 5, (n, n_a, n_b)).astype(float)
    if rng.random() < 0.4:
        own = own[:, :1, :1].repeat(n_a, 1).repeat(n_b, 2)
    theirs = rng.integers(-4, 5, own.shape).astype(float) if rng.random() < 0.5 else None
    words = ["own" if theirs is not None else "same"]
    rewards = [own] if theirs is None else [own, theirs]
    if rng.random() < 0.5 and n > 2:  # a pit, entered by single actions only
        pit = n - 1
        depth = 10.0 ** int(rng.integers(3, 13))
        weights[..., pit] = 0
        empty = weights.sum(axis=-1) == 0
        weights[empty, 0] = 1
        for s in range(n - 1):
            if rng.random() < 0.7:
                a, b = int(rng.integers(n_a)), int(rng.integers(n_b))
                if rng.random() < 0.7 and n_b > 1:
                    weights[s, :, b] = 0
                    weights[s, :, b, pit] = 1
                else:
                    weights[s, a, b] = 0
                    weights[s, a, b, pit] = 1
        weights[pit] = 0
        weights[pit, ..., pit if rng.random() < 0.6 else 0] = 1
        for reward in rewards:
            reward[pit] = -depth
        words.append("penalty")
    if rng.random() < 0.4:  # ties: one row stands for another
        for _ in range(int(rng.integers(1, 4))):
            s, a, b, c = (int(rng.integers(k)) for k in (n, n_a, n_b, n_b))
            weights[s, a, b] = weights[s, a, c]
            for reward in rewards:
                reward[s, a, b] = reward[s, a, c]
        words.append("ties")
    if rng.random() < 0.4:  # and near ties
        for reward in rewards:
            bumps = rng.random(reward.shape) < 0.5
            reward[bumps] += float(rng.choice([1e-12, -1e-12, 1e-9, 1e-6]))
        words.append("near ties")
    if rng.random() < 0.3:
        shift = float(rng.choice([-1.0, 1.0])) * 10.0 ** int(rng.integers(3, 13))
        for reward in rewards:
            reward += shift
        words.append("shift")
    text = str(rng.choice(DISCOUNTS))
    if Fraction(text) > Fraction(99, 100):
        words.append("extreme discount")
    start = np.zeros(n, dtype=np.int64)
    start[: int(rng.integers(1, n + 1))] = 1
    given = weights
    if rng.random() < 0.3:
        given = weights / weights.sum(axis=-1, keepdims=True)
        words.append("float kernel")
    game = TwoAgentMDP(given, text, start)
    epsilon = None if rng.random() < 0.5 else float(rng.choice([0.1, 0.25, 0.3, 0.5]))
    return Instance(
        seed,
        game,
        [[_row(row) for row in by_state.reshape(-1, n)] for by_state in given],
        Fraction(text),
        _row(start),
        own,
        theirs,
        epsilon,
        str(rng.choice(RULES)),
        ", ".join(words),
    )


def _row(weights) -> list[Fraction]:
    numbers = [Fraction(x) for x in weights.tolist()]
    return [x / sum(numbers) for x in numbers]


# The other computation: plain lists of Fractions


def solve(matrix: list, right: list) -> list:
    """Return the solution of a regular system, by elimination."""
    n = len(matrix)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i] != 0:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[n] for row in rows]


def values_of(rows: list, reward: list, discount: Fraction) -> list:
    """Return the values of a chain."""
    n = len(rows)
    system = [[int(i == j) - discount * rows[i][j] for j in range(n)] for i in range(n)]
    return solve(system, reward)


def optimum(kernel: list, reward: list, discount: Fraction, allowed: list) -> tuple[list, list]:
    """Return optimal values and the lists of optimal choices of an MDP, by policy iteration."""
    n = len(kernel)
    policy = [choices[0] for choices in allowed]
    while True:
        rows = [kernel[s][policy[s]] for s in range(n)]
        values = values_of(rows, [reward[s][policy[s]] for s in range(n)], discount)
        q = [
            [
                reward[s][b] + discount * sum(p * v for p, v in zip(row, values, strict=True))
                for b, row in enumerate(kernel[s])
            ]
            for s in range(n)
        ]
        better = {s: max(allowed[s], key=lambda b, s=s: q[s][b]) for s in range(n)}
        changed = [s for s in range(n) if q[s][better[s]] > values[s]]
        if not changed:
            return values, [[b for b in allowed[s] if q[s][b] == values[s]] for s in range(n)]
        for s in changed:
            policy[s] = better[s]


def answered(instance: Instance, actions: tuple) -> tuple[list, list]:
    """Return the follower's response to a commitment, and the leader's values."""
    n, _, n_b = instance.shape
    kernel = [[instance.kernel[s][actions[s] * n_b + b] for b in range(n_b)] for s in range(n)]
    own = [[Fraction(x) for x in instance.own[s, actions[s]].tolist()] for s in range(n)]
    given = instance.own if instance.theirs is None else instance.theirs
    theirs = [[Fraction(x) for x in given[s, actions[s]].tolist()] for s in range(n)]
    every = [list(range(n_b))] * n
    _, tied = optimum(kernel, theirs, instance.discount, every)
    epsilon = Fraction(instance.epsilon or 0.0)
    if instance.rule in ("optimistic", "pessimistic"):
        sign = 1 if instance.rule == "optimistic" else -1
        mixed = [
            [
                [
                    (1 - epsilon) * x + epsilon * sum(column) / n_b
                    for x, column in zip(row, zip(*kernel[s], strict=True), strict=True)
                ]
                for row in kernel[s]
            ]
            for s in range(n)
        ]
        worth = [
            [sign * ((1 - epsilon) * x + epsilon * sum(own[s]) / n_b) for x in own[s]]
            for s in range(n)
        ]
        _, tied = optimum(mixed, worth, instance.discount, tied)
    play = {"last": lambda b: [b[-1]], "mix": lambda b: b}.get(instance.rule, lambda b: [b[0]])
    response = []
    for s in range(n):
        chosen = play(tied[s])
        row = [epsilon / n_b] * n_b
        for b in chosen:
            row[b] += (1 - epsilon) / len(chosen)
        response.append(row)
    return response, earned(instance, actions, response)


def earned(instance: Instance, actions: tuple, response: list) -> list:
    """Return the leader's values of a deterministic commitment and a response."""
    n, _, n_b = instance.shape
    chain, reward = [], []
    for s in range(n):
        rows = [instance.kernel[s][actions[s] * n_b + b] for b in range(n_b)]
        chain.append(
            [sum(p * row[t] for p, row in zip(response[s], rows, strict=True)) for t in range(n)]
        )
        own = [Fraction(x) for x in instance.own[s, actions[s]].tolist()]
        reward.append(sum(p * x for p, x in zip(response[s], own, strict=True)))
    return values_of(chain, reward, instance.discount)


def at_start(instance: Instance, values: list) -> Fraction:
    """Return the value from the start distribution."""
    return sum((p * v for p, v in zip(instance.start, values, strict=True)), Fraction(0))


def judge(instance: Instance, plan) -> list[str]:
    """Return what is wrong with a commitment."""
    n, n_a, _ = instance.shape
    wrong = []
    found = {}
    for actions in product(range(n_a), repeat=n):
        found[actions] = at_start(instance, answered(instance, actions)[1])
    best = max(found.values())
    actions = tuple(plan.policy.argmax(axis=1).tolist())
    response, _ = answered(instance, actions)
    if plan.guarantee is Guarantee.EXACT and found[actions] != best:
        wrong.append(f"EXACT, but short by {float(best - found[actions]):.3g}")
    if plan.bound is None or Fraction(plan.bound) < best:
        wrong.append(f"bound {plan.bound!r} below the optimum {float(best)!r}")
    carried = [_row(row) for row in plan.response]
    off = max(
        abs(p - x)
        for row, other in zip(carried, response, strict=True)
        for p, x in zip(row, other, strict=True)
    )
    joint = instance.theirs is None and instance.epsilon is None
    if off > Fraction(1, 2**50) and not joint:  # by Lemma 2 its ties are any
        wrong.append(f"a response that the tie rule does not give, off by {float(off):.3g}")
    exact = at_start(instance, earned(instance, actions, carried))
    if abs(Fraction(plan.value) - exact) > abs(exact) / 10**9:
        wrong.append(f"value {plan.value!r} of a pair that earns {float(exact)!r}")
    if plan.guarantee is Guarantee.BOUND and plan.gap is None:
        wrong.append("BOUND without a gap")
    return wrong


def run(games: int, seed: int) -> tuple[Counter, Counter, list[str]]:
    """Return how many problems there were of each kind, how many EXACT ones, and all faults."""
    tried, exact, faults = Counter(), Counter(), []
    for number in range(seed, seed + games):
        instance = draw(number)
        for method in (None, Enumeration()):
            if method is not None and number % 10:
                continue
            plan = instance.plan(method)
            called = plan.guarantee is Guarantee.EXACT
            for kind in ("all", *instance.kind.split(", ")):
                tried[kind] += 1
                exact[kind] += called
            where = f"seed {number} ({instance.kind}), {plan.method}"
            faults += [f"{where}: {wrong}" for wrong in judge(instance, plan)]
    return tried, exact, faults


def main() -> int:
    """Print the table; exit with 1 where something called exact is not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    began = time.perf_counter()
    tried, exact, faults = run(chosen.games, chosen.seed)
    print(f"{'kind':20} {'commitments':>11} {'EXACT':>6} {'share':>7}")
    for kind, count in tried.most_common():
        print(f"{kind:20} {count:11} {exact[kind]:6} {exact[kind] / count:7.1%}")
    print(f"{len(faults)} faults, {time.perf_counter() - began:.0f} s")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""The Bayesian learner: ``python benchmarks/bayesian.py [--table speed|samplers] [--runs N] …``.

Two tables, medians of runs in which the contestants take turns, so that ratios hold when the speed
of the machine drifts; absolute numbers are for orientation.

*speed*: proposals a second of the paper's kernel (100 moves of 0.001) on one core, by the compiled
path and by the NumPy path, which draw the same, with trajectories under 1, 5, 10, 30 commitments.
Chains have settled before they are timed: from a constant reward the first hundreds of proposals
change many policies at once, and are half as fast.

*samplers*: effective draws a second on the same posterior in runs of the same time, warm-up
included, for the worst of all rewards, parameter and log posterior; ratios to the paper's walk. A
walk and a Dirichlet proposal with the best of some step sizes compete as well; finding them is not
counted. Of chains that have not mixed (R-hat) the number of effective draws means little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import median

import numpy as np

import iirl_opt as iirl
from iirl_opt.game.mdp import TwoAgentMDP

Array = np.ndarray
Move = iirl.bayesian.SimplexWalk | iirl.bayesian.DirichletProposal | iirl.bayesian.Hamiltonian

# Proposals before a chain is timed.
SETTLING = 600


def seen(
    game: TwoAgentMDP, truth: Array, beta: float, episodes: int, length: int
) -> iirl.bayesian.Evidence:
    """Return trajectories of a Boltzmann follower under random commitments."""
    rng = np.random.default_rng(0)
    n_states, n_actions, _ = game.shape
    evidence = iirl.bayesian.Evidence(game)
    for _ in range(episodes):
        pi1 = iirl.random_deterministic_policy(n_states, n_actions, rng)
        pi2 = iirl.BoltzmannFollower(beta).respond(game, truth, pi1)
        steps = iirl.sample_trajectory(game, pi1, pi2, rng, min_length=length)
        evidence = evidence.observe(steps)
    return evidence


def settled(posterior: iirl.Posterior) -> iirl.bayesian.Chains:
    """Return a chain that has left a constant reward."""
    n = posterior.evidence.game.n_states
    start = [(np.full(n, 1 / n), 240.0)]
    return iirl.bayesian.sample(posterior, SETTLING, chains=1, start=start)


def seconds(
    posterior: iirl.Posterior, proposals: int, fast: bool, chain: iirl.bayesian.Chains
) -> float:
    """Return how long proposals take after the last draw, without the start of the chain."""
    times = []
    for n in (1, proposals + 1):
        began = time.perf_counter()
        iirl.bayesian.sample(posterior, n, chains=1, start=chain.last, fast=fast)
        times.append(time.perf_counter() - began)
    return max(times[1] - times[0], 1e-9)


def speed(runs: int) -> None:
    """Print proposals a second of both paths."""
    print("proposals a second      episodes   compiled      NumPy      ratio")
    games = {
        "small 5×2×2": iirl.random_game(5, 2, 2, rng=1),
        "maze 392×6×4": tuple(iirl.maze_maker()),
        "paper 200×4×4": iirl.random_game(200, 4, 4, rng=0),
    }
    for name, (game, truth) in games.items():
        for episodes in (1, 5, 10, 30):
            posterior = iirl.Posterior(seen(game, truth, 10.0, episodes, 3))
            chain = settled(posterior)
            more = 10 if game.n_states < 10 else 1
            counts = {True: more * 6000 // episodes, False: max(4, more * 200 // episodes)}
            rates: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(runs):
                for fast, n in counts.items():
                    rates[fast].append(n / seconds(posterior, n, fast, chain))
            ours, plain = median(rates[True]), median(rates[False])
            print(f"{name:<24}{episodes:>8}{ours:>11.0f}{plain:>11.1f}{ours / plain:>11.1f}")


def effective(posterior: iirl.Posterior, move: Move, budget: float, seed: int) -> list[float]:
    """Return effective draws a second, R-hat and proposals a second of a run of so many seconds."""
    rate = 0.0
    for proposals in (400, 4000):  # the second with warm caches, and long enough to be timed
        began = time.perf_counter()
        iirl.bayesian.sample(posterior, proposals // 10, move=move, rng=seed)
        rate = proposals / 10 / (time.perf_counter() - began)
    proposals = max(400, int(rate * budget / 1.25))
    thin = max(1, proposals // 2000)
    began = time.perf_counter()
    chains = iirl.bayesian.sample(
        posterior, proposals, move=move, thin=thin, warmup=proposals // 4, rng=seed
    )
    elapsed = time.perf_counter() - began
    found = chains.diagnostics
    return [found.ess_bulk / elapsed, found.r_hat, 5 * proposals / elapsed]


def tuned(posterior: iirl.Posterior, moves: Sequence[Move], budget: float) -> Move:
    """Return the move of the most effective draws a second."""
    return max(moves, key=lambda move: effective(posterior, move, budget / 4, 99)[0])


def samplers(runs: int, budget: float) -> None:
    """Print effective draws a second of the samplers on the same posteriors."""
    print("effective draws a second         worst    ratio    R-hat  proposals a second")
    cases = {
        "random 5×2×2, 10 episodes": (iirl.random_game(5, 2, 2, rng=1), 10, 10),
        "random 50×4×4, 5 episodes": (iirl.random_game(50, 4, 4, rng=0), 5, 20),
    }
    for name, ((game, truth), episodes, length) in cases.items():
        prior = iirl.bayesian.exponential_prior(10.0 * float(truth.sum()))
        posterior = iirl.Posterior(seen(game, truth, 10.0, episodes, length), parameter_prior=prior)
        n = game.n_states
        grids = [grid for grid in (200, 1000) if grid >= 10 * n]
        walks = [iirl.bayesian.SimplexWalk(m, grid) for m in (10, 100, 1000) for grid in grids]
        scales = [iirl.bayesian.DirichletProposal(c * n) for c in (5.0, 25.0, 125.0, 625.0)]
        moves: dict[str, Move] = {
            "paper's walk": iirl.bayesian.SimplexWalk(),
            "walk": tuned(posterior, walks, budget),
            "Dirichlet": tuned(posterior, scales, budget),
            "MALA": iirl.bayesian.Hamiltonian(),
            "Hamiltonian": iirl.bayesian.Hamiltonian(leaps=5),
        }
        found: dict[str, list[list[float]]] = {label: [] for label in moves}
        for seed in range(runs):
            for label, move in moves.items():
                found[label].append(effective(posterior, move, budget, seed))
        base = median(rate for rate, _, _ in found["paper's walk"])
        print(name)
        for label, results in found.items():
            rate, r_hat, made = (median(values) for values in zip(*results, strict=True))
            print(
                f"  {label:<26}{rate:>10.1f}{rate / base:>9.2f}{r_hat:>9.3f}{made:>12.0f}"
                f"   {moves[label]}",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each contestant")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds a run of a sampler")
    parser.add_argument("--table", choices=("speed", "samplers"), help="one of them only")
    given = parser.parse_args()
    if given.table != "samplers":
        speed(given.runs)
    if given.table != "speed":
        samplers(given.runs, given.budget)


if __name__ == "__main__":
    main()

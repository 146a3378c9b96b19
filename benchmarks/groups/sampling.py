"""The Bayesian learner: proposals a second, and what they are worth.

Times are those of a *proposal* of the paper's kernel (100 moves of 0.001), by the compiled path and
by the NumPy path, which draw the same, with trajectories under t commitments. Chains have settled
before they are timed: from a constant reward the first hundreds of proposals change many policies
at once, and are half as fast.

*Samplers* are compared by effective draws a second on the same posterior, in runs of the same time,
warm-up included, for the worst of all rewards, parameter and log posterior. A walk and a Dirichlet
proposal with the best of some step sizes compete as well; finding them is not counted. Of chains
that have not mixed (R-hat) the number of effective draws means little. Each run is another seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from cases import Case, Contestant, Outcome, ours
from peers import maze, paper200

import iirl_opt as iirl

TITLE = "Posterior sampling"
GROWTH = "t"

Array = np.ndarray
Move = iirl.bayesian.SimplexWalk | iirl.bayesian.DirichletProposal | iirl.bayesian.Hamiltonian

# Proposals before a chain is timed.
SETTLING = 600


def cases(quick: bool) -> list[Case]:
    """Return the speed of both paths, and the samplers."""
    small = lambda: iirl.random_game(5, 2, 2, rng=1)  # noqa: E731
    games: dict[str, Callable[[], Any]] = {"random 5×2×2": small}
    if not quick:
        games |= {"paper's random game": paper200, "Maze-Maker": maze}
    speeds = [
        _speed(name, make, t, quick)
        for name, make in games.items()
        for t in ((1, 2) if quick else (1, 5, 10, 30))
    ]
    if quick:
        return speeds
    fifty = lambda: iirl.random_game(50, 4, 4, rng=0)  # noqa: E731
    return [
        *speeds,
        _samplers("random 5×2×2", small, 10, 10, 2.0),
        _samplers("random 50×4×4", fifty, 5, 20, 2.0),
    ]


def seen(
    game: iirl.TwoAgentMDP, truth: Array, beta: float, episodes: int, length: int
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


def _speed(name: str, make: Callable[[], Any], t: int, quick: bool) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, truth = make()
        posterior = iirl.Posterior(seen(game, truth, 10.0, t, 3))
        start = [(np.full(game.n_states, 1 / game.n_states), 240.0)]
        settling = SETTLING // 10 if quick else SETTLING
        chain = iirl.bayesian.sample(posterior, settling, chains=1, initial=start)
        for fast in (True, False):  # compiles what is timed
            iirl.bayesian.sample(posterior, 2, chains=1, initial=chain.last, fast=fast)
        more = 10 if game.n_states < 10 else 1
        counts = {True: more * 3000 // t, False: max(4, more * 100 // t)}

        def proposals(fast: bool) -> Contestant:
            def run(_: int) -> Outcome:
                spent = []
                for n in (1, counts[fast] + 1):  # without the start of the chain
                    began = time.process_time()
                    iirl.bayesian.sample(posterior, n, chains=1, initial=chain.last, fast=fast)
                    spent.append(time.process_time() - began)
                rate = counts[fast] / max(spent[1] - spent[0], 1e-9)
                return Outcome(None, {"proposals a second": rate}, 1 / rate)

            return ours(run)

        return {"compiled": proposals(True), "NumPy": proposals(False)}

    return Case(f"{name}, t = {t}", {"t": t, "seed": 0}, prepare, runs=5, seconds=1.5)


def _samplers(
    name: str, make: Callable[[], Any], episodes: int, length: int, budget: float
) -> Case:
    def prepare() -> dict[str, Contestant]:
        game, truth = make()
        prior = iirl.bayesian.exponential_prior(10.0 * float(truth.sum()))
        evidence = seen(game, truth, 10.0, episodes, length)
        posterior = iirl.Posterior(evidence, parameter_prior=prior)
        n = game.n_states
        grids = [grid for grid in (200, 1000) if grid >= 10 * n]
        walks = [iirl.bayesian.SimplexWalk(m, grid) for m in (10, 100, 1000) for grid in grids]
        scales = [iirl.bayesian.DirichletProposal(c * n) for c in (5.0, 25.0, 125.0, 625.0)]
        moves: dict[str, Move] = {
            "SimplexWalk, the paper's": iirl.bayesian.SimplexWalk(),
            "SimplexWalk, best of several": _tuned(posterior, walks, budget),
            "DirichletProposal, best of several": _tuned(posterior, scales, budget),
            "Hamiltonian, one leap (MALA)": iirl.bayesian.Hamiltonian(),
            "Hamiltonian, five leaps": iirl.bayesian.Hamiltonian(leaps=5),
        }
        return {
            label: ours(lambda seed, move=move: _effective(posterior, move, budget, seed))
            for label, move in moves.items()
        }

    sizes = {"episodes": episodes, "CPU s a run": budget}
    title = f"samplers, {name}"
    return Case(title, sizes, prepare, runs=3, seeds=True, before=False, limit=600.0)


def _effective(posterior: iirl.Posterior, move: Move, budget: float, seed: int) -> Outcome:
    """Return effective draws a second, R-hat and proposals a second of a run of so many seconds."""
    rate = 0.0
    for proposals in (40, 400):  # the second with warm caches, and long enough to be timed
        began = time.process_time()
        iirl.bayesian.sample(posterior, proposals, move=move, rng=seed)
        rate = proposals / (time.process_time() - began)
    proposals = max(400, int(rate * budget / 1.25))
    thin, warmup = max(1, proposals // 2000), proposals // 4
    began = time.process_time()
    chains = iirl.bayesian.sample(
        posterior, proposals, move=move, thin=thin, warmup=warmup, rng=seed
    )
    elapsed = time.process_time() - began
    found = chains.diagnostics
    figures = {
        "effective draws a second": found.ess_bulk / elapsed,
        "R-hat": found.r_hat,
        "proposals a second": 5 * proposals / elapsed,
    }
    return Outcome(None, figures)


def _tuned(posterior: iirl.Posterior, moves: Sequence[Move], budget: float) -> Move:
    """Return the move of the most effective draws a second."""

    def worth(move: Move) -> float:
        return _effective(posterior, move, budget / 4, 99).figures["effective draws a second"]

    return max(moves, key=worth)

"""Figure 1(b): the mean posterior reward, seen through the three introductory mazes.

The mazes are three commitments in one game, so one reward is learnt from the follower's answers in
each of them alone, and in all. Each answer is seen whole. The *distance* of a mean reward is the L1
distance to the true one; both are points of the simplex.

In our mazes the goal is absorbing and pays for ever, in the authors' it pays once. The values of
the true reward are 1/(1 − γ) = 10 times theirs, and β = 1 here is their β = 10.

A control keeps apart what is learnt from more mazes and what from more observations: all three
mazes with a third of the observations in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.bayesian.chains import LARGEST_R_HAT
from iirl_opt.bayesian.evidence import Evidence
from iirl_opt.bayesian.posterior import Posterior
from iirl_opt.bayesian.priors import Known
from iirl_opt.bayesian.proposals import Hamiltonian
from iirl_opt.bayesian.sampler import sample
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.sweep import Cell, CellResult
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.game.mazes import introductory_game, introductory_mazes
from iirl_opt.game.policy import deterministic_policy

__all__ = ["FIGURE_1", "compute", "judge", "summarise_rewards"]

# The mazes that are seen, and for each scale the chains, their proposals and thinning.
ALONE = {"maze 1": (0,), "maze 2": (1,), "maze 3": (2,)}
TOGETHER, CONTROL = "all three", "all three, a third each"
ENVIRONMENTS: dict[str, tuple[int, ...]] = {**ALONE, TOGETHER: (0, 1, 2)}
SCALES = {"small": (4, 5_000, 5), "paper": (8, 50_000, 50)}

# Of the follower, for the true reward, which is a point of the simplex.
BETA = 1.0

# Observations of every state that a policy seen whole counts for. The larger, the nearer the
# posterior to a point; what is judged came out the same with 1, 10 and 100.
WEIGHT = 10.0

# Leapfrog steps of a proposal.
LEAPS = 8


def _cells_of_figure_1(scale: str, seed: int) -> list[Cell]:
    chains, proposals, thin = SCALES[scale]
    facts = {"chains": chains, "proposals": proposals, "thin": thin}
    seen = {
        **{name: (mazes, WEIGHT) for name, mazes in ENVIRONMENTS.items()},
        CONTROL: (ENVIRONMENTS[TOGETHER], WEIGHT / 3),
    }
    return [
        Cell(1, "introductory", name, seed, {"mazes": list(mazes), "weight": weight, **facts})
        for name, (mazes, weight) in seen.items()
    ]


def compute(cell: Cell) -> dict[str, Any]:
    """Return the mean reward of the posterior, its distance to the truth, and how chains mixed.

    Diagnostics are None where too few draws decide nothing.

    Raises
    ------
    MissingExtra
        ArviZ is not installed: without R-hat nothing is said of the chains.
    """
    facts = cell.parameters
    draws = sample(
        Posterior(_answers(facts["mazes"], facts["weight"]), parameter_prior=Known(BETA)),
        facts["proposals"],
        move=Hamiltonian(LEAPS),
        chains=facts["chains"],
        thin=facts["thin"],
        rng=cell.seed,
    )
    truth = introductory_game().reward
    return {
        "reward": draws.mean_reward.tolist(),
        "truth": truth.tolist(),
        "distance": float(np.abs(draws.mean_reward - truth).sum()),
        **{k: v if np.isfinite(v) else None for k, v in draws.diagnostics._asdict().items()},
    }


def _answers(mazes: Sequence[int], weight: float) -> Evidence:
    """Return the follower's whole answers in some of the mazes."""
    game, reward = introductory_game()
    n_states, n_mazes, _ = game.shape
    evidence = Evidence(game)
    for maze in mazes:
        pi1 = deterministic_policy([maze] * n_states, n_mazes)
        response = BoltzmannFollower(BETA).respond(game, reward, pi1)
        evidence = evidence.respond(pi1, response, weight=weight)
    return evidence


def summarise_rewards(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return the truth, and the mean reward of each posterior with its distance and diagnostics."""
    return {
        "truth": results[0].values["truth"],
        "panels": {
            result.cell.method: {k: v for k, v in result.values.items() if k != "truth"}
            for result in results
        },
    }


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what figure 1(b) shows, decided on these results.

    **Source** paper, Figure 1(b), for each maze; all three together, the control and R-hat are
    ours.
    """
    found = {result.cell.method: result.values for result in results}
    distances = {name: values["distance"] for name, values in found.items()}
    alone = {name: distances[name] for name in ALONE}
    r_hats, draws = (
        np.array([values[fact] for values in found.values()], dtype=float)
        for fact in ("r_hat", "ess_bulk")
    )
    return [
        *(_goal_first(name, found[name]) for name in ENVIRONMENTS),
        Statement(
            "the mean reward of all three mazes is closer to the truth than that of each alone",
            distances[TOGETHER] < min(alone.values()),
            f"L1 distance {distances[TOGETHER]:.3f}, alone "
            + ", ".join(f"{distance:.3f}" for distance in alone.values())
            + f"; with a third of the observations in each maze {distances[CONTROL]:.3f}",
        ),
        Statement(
            "the chains have mixed",
            bool((r_hats <= LARGEST_R_HAT).all()),
            f"largest R-hat {r_hats.max():.4f}, at least {draws.min():.0f} effective draws",
        ),
    ]


def _goal_first(name: str, values: Mapping[str, Any]) -> Statement:
    reward, goal = np.array(values["reward"]), int(np.argmax(values["truth"]))
    other = float(np.delete(reward, goal).max())
    return Statement(
        f"{name}: the largest cell of the mean reward is the goal",
        bool(reward[goal] > other),
        f"{reward[goal]:.3f}, the next {other:.3f}",
    )


def draw(summary: Mapping[str, Any], path: Path) -> Path:
    """Draw the mean rewards and the truth as grids, all by one scale of shades."""
    from iirl_opt import plot

    together = introductory_game()
    mazes = dict(zip(ALONE, introductory_mazes(), strict=True))
    shown = {name: summary["panels"][name]["reward"] for name in ENVIRONMENTS}
    shown["truth"] = summary["truth"]
    axes = plot.panels(len(shown), size=(2.5, 2.2))
    for ax, (name, reward) in zip(axes, shown.items(), strict=True):
        plot.plot_rewards(mazes.get(name, together), reward, top=1.0, title=name, ax=ax)
    return plot.save(axes[0], path)


FIGURE_1 = Figure(
    number=1,
    title="Mean posterior reward in the three introductory mazes and in all",
    source=(
        "paper, Figure 1(b): the full Boltzmann policy of a known β = 10 is seen (here 1, since "
        "the goal pays for ever: 1/(1 − γ) = 10 times as much), the prior is uniform. Ours: all "
        "mazes together; a policy counts as 10 observations of every state; chains move along "
        "gradients, for the authors' Dirichlet(r + 1) proposals are accepted in 0.1 % to 1 %"
    ),
    scales={scale: partial(_cells_of_figure_1, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_rewards,
    judge=judge,
    draw=draw,
)

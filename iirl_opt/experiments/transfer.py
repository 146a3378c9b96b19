"""Transfer: what a reward that was learnt in one game is worth in others.

A leader learns from an optimal follower in a game whose leader actions are *environments*, one of
which it chooses in each state. What it learns is then used in games that it has never seen, over
the same rewards, by an agent of its own: it plays what is optimal there for the estimate. The
*loss elsewhere* after an answer is what that loses of the optimal value under the true reward, as a
share of it, in the mean over the unseen games.

Rows of random games are sparse, as everywhere here, or with ``mixing`` uniform on the simplex.
In mazes, whose sets of rewards are flat, the unseen games have doors that are open or shut for
ever. With two environments a state (``two``) mixtures are most of what there is to choose.

Questions differ, the estimate does not: it is the analytic centre of what is known. ``fixed`` asks
the first commitment for ever, ``random`` a random deterministic one each time, ``active`` what
`ActiveIRL` asks, which looks at its regret at home, and ``committee`` what `CommitteeIRL` does. All
begin with the same commitment.

Source: ours; the setting is that of Kleine Büning, Villin & Dimitrakakis 2022 (arXiv 2210.14972).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.experiments.bands import quantiles
from iirl_opt.experiments.figure import Figure, Statement
from iirl_opt.experiments.learning import draw_regrets
from iirl_opt.experiments.sweep import Cell, CellResult, summarise
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.grid import grid_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import random_deterministic_policy
from iirl_opt.learn.active import ActiveIRL
from iirl_opt.learn.believing import BelievingLearner
from iirl_opt.learn.committee import CommitteeIRL
from iirl_opt.learn.elsewhere import loss_elsewhere

__all__ = ["TRANSFER", "compute", "judge", "summarise_losses"]

Array = NDArray[np.float64]

NAME = "transfer"
METHODS = ("fixed", "random", "active", "committee")
ANSWERS = 10

# After how many answers something is stated, and what share of random's loss is the goal.
STATED, GOAL = (3, 5, 10), 0.5

# For each scale: states, environments and follower actions; unseen games; seeds. Mazes have those.
SCALES: Mapping[str, tuple[tuple[int, int, int], int, int]] = {
    "small": ((12, 6, 3), 5, 8),
    "paper": ((40, 21, 4), 20, 30),
    "mixing": ((40, 21, 4), 20, 30),
    "two": ((40, 2, 4), 20, 30),
    "mazes": ((100, 6, 4), 10, 20),
}

# The side of a maze, where one starts in the middle, and two prizes.
SIDE, PRIZES = 5, "12"


def compute(cell: Cell) -> dict[str, Any]:
    """Return the loss elsewhere after each answer."""
    seed, partner = cell.seed, OptimalFollower()
    losses: list[float] = []
    game, truth, unseen = _games(cell)
    n_states, n_environments, _ = game.shape
    first = random_deterministic_policy(n_states, n_environments, np.random.default_rng([seed, 0]))
    kind = ActiveIRL if cell.method == "active" else CommitteeIRL
    learner: BelievingLearner = kind(game, seed=seed, first=first)
    for number in range(int(cell.parameters["answers"])):
        if cell.method == "fixed" and losses:
            losses.append(losses[-1])  # the same answer again
            continue
        rng = np.random.default_rng([seed, number, 2])
        drawn = cell.method == "random" and number > 0
        pi1 = random_deterministic_policy(n_states, n_environments, rng) if drawn else learner.ask()
        learner = learner.tell(partner.respond(game, truth, pi1), pi1=pi1)
        estimate = learner.estimate()
        used = np.zeros(n_states) if estimate is None else estimate
        losses.append(float(loss_elsewhere(unseen, truth, used).mean()))
    return {"losses": losses}


def _games(cell: Cell) -> tuple[TwoAgentMDP, Array, list[TwoAgentMDP]]:
    """Return game and truth of a cell, and the unseen games of one agent."""
    luck = [np.random.default_rng([cell.seed, k, 1]) for k in range(cell.parameters["unseen"])]
    if cell.game != "mazes":
        n_states, n_environments, n_b = cell.parameters["size"]
        own = cell.parameters.get("concentration")
        game, truth = random_game(n_states, n_environments, n_b, cell.seed, concentration=own)
        made = (random_game(n_states, 1, n_b, rng, concentration=own) for rng in luck)
        return game, truth, [other for other, _ in made]
    places = np.random.default_rng([cell.seed, 7]).permutation(SIDE**2 - 1)[: len(PRIZES)]
    cells = np.full(SIDE**2, ".")
    cells[SIDE**2 // 2] = "S"
    cells[places + (places >= SIDE**2 // 2)] = list(PRIZES)
    drawn = "\n".join("".join(row) for row in cells.reshape(SIDE, SIDE))
    maze = grid_game(drawn, discount="9/10", slip="1/5")
    game = maze.game
    doors = [random_deterministic_policy(game.n_states, game.shape[1], rng) for rng in luck]
    alone = [TwoAgentMDP.single_agent(game.follower_mdp(pi1)) for pi1 in doors]
    return game, maze.reward, alone


def _cells_of_transfer(scale: str, seed: int) -> list[Cell]:
    size, unseen, seeds = SCALES[scale]
    facts: dict[str, Any] = {"size": list(size), "unseen": unseen, "answers": ANSWERS}
    if scale == "mixing":
        facts["concentration"] = 1.0
    game = scale if scale == "mazes" else "random"
    return [Cell(NAME, game, method, seed + i, facts) for i in range(seeds) for method in METHODS]


def _losses(results: Sequence[CellResult]) -> dict[str, Array]:
    """Return the losses (seeds, answers) of each way of asking, in the order of seeds."""
    ordered = sorted(results, key=lambda result: result.cell.seed)
    return {
        method: np.array([r.values["losses"] for r in ordered if r.cell.method == method])
        for method in METHODS
    }


def summarise_losses(results: Sequence[CellResult]) -> dict[str, Any]:
    """Return each way's losses by answer, and what each saves of random's, paired by seed."""
    losses = _losses(results)
    random = losses["random"]
    size = "×".join(map(str, results[0].cell.parameters["size"]))
    panel = {
        method: {
            "regret": {**summarise(own).record(), **quantiles(own)},
            "saved": summarise(random - own).record(),
            "share": (own.mean(axis=0) / random.mean(axis=0)).tolist(),
            "won": (own < random).sum(axis=0).tolist(),
        }
        for method, own in losses.items()
    }
    return {"panels": {size: panel}}


def judge(results: Sequence[CellResult]) -> list[Statement]:
    """Return what is claimed of the committee: at most half of random's loss, beyond chance.

    Less than that, beyond chance, where there are but two environments a state, and in mazes after
    some answers.
    """
    losses = _losses(results)
    random, own = losses["random"], losses["committee"]
    where = results[0].cell.game
    modest = where == "mazes" or results[0].cell.parameters["size"][1] == 2
    statements = []
    for answers in STATED[1:] if where == "mazes" else STATED:
        at = answers - 1
        saved = summarise(random[:, at] - own[:, at])
        share = own[:, at].mean() / random[:, at].mean()
        won = int((own[:, at] < random[:, at]).sum())
        what = "less than random" if modest else "at most half of what random loses"
        statements.append(
            Statement(
                f"after {answers} answers the committee loses {what}",
                bool(saved.low > 0 and (modest or share <= GOAL)),
                f"{own[:, at].mean():.4f} of {random[:, at].mean():.4f}, {share:.2f} of it; saves "
                f"[{saved.low:.4f}, {saved.high:.4f}], paired; better in {won} of {len(own)}",
            )
        )
    return statements


TRANSFER = Figure(
    number=NAME,
    title="Transfer: what answers are worth in unseen games, by how they were asked for",
    source="ours; setting: Kleine Büning, Villin & Dimitrakakis 2022, arXiv 2210.14972",
    scales={scale: partial(_cells_of_transfer, scale) for scale in SCALES},
    compute=compute,
    summarise=summarise_losses,
    judge=judge,
    draw=partial(
        draw_regrets,
        names={},
        ylabel="loss, share of V*",
        log=1e-5,
    ),
)

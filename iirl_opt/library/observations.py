"""What a model file says was seen: whole responses, sets of optimal actions, trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, IIRLError
from iirl_opt.follower.protocols import Follower
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library.entries import find_label, read_policy
from iirl_opt.library.schema import (
    ObservationTable,
    PlayedTable,
    PreferenceTable,
    TrajectoryTable,
)
from iirl_opt.observation import (
    Observation,
    Suboptimality,
    Trajectory,
    observe,
    record_trajectory,
)

if TYPE_CHECKING:
    from iirl_opt.rewards.preferences import Preference

__all__ = ["read_observation", "read_preference", "read_trajectory"]

Array = NDArray[np.float64]


def read_trajectory(path: Path, game: TwoAgentMDP, table: TrajectoryTable, key: str) -> Trajectory:
    """Return a trajectory; labels are matched by their text."""
    pi1 = read_policy(path, game, table.leader, f"{key}.leader")
    groups = (game.states, *game.action_labels)
    steps = []
    for h, step in enumerate(table.steps):
        place = f"{key}.steps[{h}]"
        if len(step) != 3:
            problem = f"is {step}; allowed [state, leader action, follower action]"
            raise FileProblem(path, problem, key=place)
        at = [
            find_label(path, group, name, place) for group, name in zip(groups, step, strict=True)
        ]
        steps.append([group[i] for group, i in zip(groups, at, strict=True)])
    try:
        return record_trajectory(game, pi1, steps)
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None


def read_observation(
    path: Path,
    game: TwoAgentMDP,
    table: ObservationTable,
    key: str,
    follower: Follower,
    truth: Array | None,
) -> Observation:
    """Return an observation; a response that the file leaves out is the follower's own."""
    pi1 = read_policy(path, game, table.leader, f"{key}.leader")
    response: NDArray[Any]
    if table.optimal is not None:
        response = np.zeros((game.n_states, game.n_follower_actions), dtype=bool)
        for state, actions in table.optimal.items():
            rows = slice(None)
            if state != "*":
                s = find_label(path, game.states, state, f"{key}.optimal")
                rows = slice(s, s + 1)
                response[rows] = False
            for action in actions:
                b = find_label(path, game.follower_actions, action, f"{key}.optimal.{state}")
                response[rows, b] = True
    elif table.follower is not None:
        response = read_policy(path, game, table.follower, f"{key}.follower", follower=True)
    elif truth is not None:
        response = follower.respond(game, truth, pi1)
    else:
        raise FileProblem(path, "needs follower, optimal, or a [reward] to answer for", key=key)
    try:
        said = table.suboptimality
        declared = None if said is None else Suboptimality(said.loss, said.share, said.start)
        return observe(game, pi1, response, suboptimality=declared)
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None


def read_preference(path: Path, game: TwoAgentMDP, table: PreferenceTable, key: str) -> Preference:
    """Return what the file says is better than something else."""
    from iirl_opt.rewards.preferences import prefer

    def played(given: PlayedTable, place: str) -> Any:
        steps, follower = given.steps, given.follower
        if steps is not None and follower is None:
            walk = TrajectoryTable(given.leader, steps)
            return read_trajectory(path, game, walk, place)
        if follower is None or steps is not None:
            raise FileProblem(path, "needs either follower or steps", key=place)
        pi1 = read_policy(path, game, given.leader, f"{place}.leader")
        return pi1, read_policy(path, game, follower, f"{place}.follower", follower=True)

    better, worse = played(table.better, f"{key}.better"), played(table.worse, f"{key}.worse")
    try:
        return prefer(game, better, worse, by=table.by, absorbed=table.absorbed)
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None

"""A session as a model file: its walks are trajectories, and the question is what they say.

``iirl-opt solve`` and ``check`` read it, as `iirl_opt.library.read_model` does.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.library.making import make_model
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.rows import UserRow
from iirl_opt.library.schema import GameTable, GridTable
from iirl_opt.library.writing import write_model
from iirl_opt.observation import Trajectory
from iirl_opt.play.session import Session

__all__ = ["session_model", "write_session"]


def session_model(session: Session) -> ModelProblem:
    """Return the model of the walks that are over.

    Its question is whether a ranking that is left explains them: the one that is named, at the end.
    Where the walks contradict each other it is the largest share of the first letter, among rewards
    on the letters alone.

    **Cost** arithmetic.
    """
    maze, rankings = session.maze, session.learner.rankings
    labels = maze.game.states
    worth: dict[str, Any] = dict.fromkeys(maze.letters, 0)
    if rankings:
        reward = maze.reward(rankings[0])
        worth = {letter: int(reward[state]) for letter, state in maze.states.items()}
        target = {labels[state]: int(reward[state]) for state in np.flatnonzero(reward)}
        question: dict[str, Any] = {"ask": "contains", "target": target}
    else:
        question = {"ask": "maximise", "objective": {labels[maze.states[maze.letters[0]]]: 1}}
    elsewhere = np.zeros(maze.game.n_states)
    elsewhere[maze.elsewhere] = 1.0
    problem = make_model(
        maze.game,
        trajectories=[seen for seen in session.learner.history if isinstance(seen, Trajectory)],
        rows=[UserRow("no prize elsewhere", "reward", elsewhere, -np.inf, 0.0)],
        question={"family": "feasible_rewards", **question},
        expect={"contains": 1} if rankings else {},
        title="Walks of a person, and the prizes that explain them",
        source="a session of iirl-opt play",
    )
    grid = GridTable(list(maze.grid.text), prizes=worth, prize_rule="stay")
    table = GameTable(discount=Fraction(maze.game.exact_discount), grid=grid)
    return replace(problem, stated={**problem.stated, "game": (problem.game, table)})


def write_session(session: Session, path: Path) -> Path:
    """Write the model of the walks that are over to a file, whole or not at all.

    Raises
    ------
    FileProblem, OSError
        As `iirl_opt.library.write_model`.
    """
    return write_model(session_model(session), path)

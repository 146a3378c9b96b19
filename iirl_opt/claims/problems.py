"""Failing instances as problems of model files, whose question shows the failure.

A claim may say how (`Claim.problem`); `problem_of` makes do with what an instance holds: a game, a
reward, what was seen, a follower. A problem *shows* the failure if it has expectations, which are
computed here, in the arithmetic of the claims; otherwise its question comes nearest, and its source
says why no question shows more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iirl_opt.errors import IIRLError
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import EpsilonGreedyFollower
from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.observation import Observation, Trajectory

if TYPE_CHECKING:
    from iirl_opt.claims.search import Result
    from iirl_opt.library import ModelProblem

__all__ = ["nearest", "problem_of", "showing", "stated_problem"]

ERRING = (BoltzmannFollower, EpsilonGreedyFollower)
UNKNOWN = {"model": "boltzmann", "beta": "unknown"}

SOURCE = "the exact arithmetic of iirl_opt.claims"


def showing(game: Any, reward: Any = None, *, expect: Mapping[str, Any], **given: Any) -> Any:
    """Return the problem whose answer shows a failure.

    Parameters
    ----------
    expect : by quantity, its value within 1e-9, or a pair of a bound's name and the bound.
    """
    from iirl_opt.library import make_model

    tables = []
    for quantity, said in expect.items():
        name, value = said if isinstance(said, tuple) else ("value", said)
        within = {"tolerance": 1e-9} if name in ("value", "values") else {}
        tables.append({"quantity": quantity, name: value, **within, "source": SOURCE})
    return make_model(game, reward, expect=tables, **given)


def nearest(why: str, game: Any, reward: Any = None, **given: Any) -> Any:
    """Return the problem whose question comes nearest, and say why none shows more."""
    from iirl_opt.library import make_model

    return make_model(game, reward, source=f"the nearest question: {why}", **given)


def problem_of(instance: Any) -> ModelProblem | None:
    """Return the problem that any instance makes by its parts, or None if there is no game in it.

    The first game counts, the first reward (S,) or (S, A, B), the first policy of either agent and
    every pair of `pi1` and `pi2`, all observations and trajectories, and the first follower that a
    file can state.
    """
    parts = list(_held_in(instance))
    game = next((part for part in parts if isinstance(part, TwoAgentMDP | MDP)), None)
    if game is None:
        return None
    if isinstance(game, MDP):
        game = TwoAgentMDP.single_agent(game)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    n_states, n_a, n_b = game.shape
    reward = next((x for x in arrays if x.shape in ((n_states,), game.shape)), None)
    pi1, pi2 = (next((x for x in arrays if _is_policy(x, n_states, n)), None) for n in (n_a, n_b))
    seen: list[Any] = [part for part in parts if isinstance(part, Observation | tuple)]
    given: dict[str, Any] = {"observations": seen}
    if pi2 is not None and pi1 is not None and pi2 is not pi1:
        seen.append((pi1, pi2))
    elif pi1 is not None and reward is not None and not seen:
        given["question"] = {"family": "commitment", "ask": "evaluate", "leader": pi1}
    followers = [part for part in parts if hasattr(part, "respond")]
    steps = [part for part in parts if isinstance(part, Trajectory)]
    if steps:  # of which the posterior is asked, for a follower that errs
        followers = [part for part in followers if isinstance(part, ERRING)] or [UNKNOWN]
        given = {"trajectories": steps, "observations": seen}
    why = "what a claim states is no question of a file"
    for follower in (*followers, None):
        try:
            found: ModelProblem = nearest(why, game, reward, follower=follower, **given)
        except IIRLError:  # such as a follower that no file can state
            continue
        return found
    return None


def _is_policy(array: Any, n_states: int, n_actions: int) -> bool:
    """Return whether an array is a policy (S, n), exactly or nearly."""
    if array.shape != (n_states, n_actions):
        return False
    rows = array.astype(float)
    return bool((rows >= 0).all() and np.allclose(rows.sum(axis=1), 1))


def _held_in(instance: Any) -> Iterator[Any]:
    """Yield what an instance holds; a record of `pi1` and `pi2` as a pair of them."""
    known = (TwoAgentMDP, MDP, Observation, Trajectory, np.ndarray)
    if isinstance(instance, known) or hasattr(instance, "respond"):
        yield instance
    elif is_dataclass(instance) and not isinstance(instance, type):
        held = {field.name: getattr(instance, field.name) for field in fields(instance)}
        if {"pi1", "pi2"} <= held.keys():
            yield held.pop("pi1"), held.pop("pi2")
        yield from _held_in(list(held.values()))
    elif isinstance(instance, Mapping):
        yield from _held_in(list(instance.values()))
    elif isinstance(instance, list | tuple):
        for part in instance:
            yield from _held_in(part)


def stated_problem(result: Result) -> tuple[ModelProblem | None, str]:
    """Return the problem that states what fails of a claim, and why its answer shows less if so.

    Without a problem the reason says why there is none.
    """
    from iirl_opt.library import read_model

    claim = result.claim
    if claim.model is not None and result.finding != "not so":
        return read_model(claim.model), ""
    try:
        make = problem_of if claim.problem is None else claim.problem
        problem = make(result.instance)
    except IIRLError as fault:
        return None, f"cannot be stated ({fault})"
    if problem is None:
        return None, "holds no game"
    why = "" if problem.expect else problem.source
    free = " without its condition" if claim.status == "needs a condition" else ""
    told = f"{claim.place}: {result.evidence}" if result.evidence else claim.place
    said = f"{told}; {why}" if why else told
    return replace(problem, title=f"Not so{free}: {claim.statement}", source=said), why

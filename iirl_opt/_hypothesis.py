"""The entry point that tells hypothesis how to draw the library's types.

Hypothesis calls `register` whenever it is imported, so it loads the types and nothing else; the
strategies come when a type is asked for. Then ``from_type(TwoAgentMDP)``, and an annotation in a
test under ``@given(...)``, draw what the strategies of `iirl_opt.testing` draw by default. It
stands outside of that room because opening the room loads a solver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from iirl_opt.game.mdp import MDP, TwoAgentMDP
from iirl_opt.observation import Observation, Trajectory

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["register"]


def register() -> None:
    """Register games, MDPs, observations and trajectories with hypothesis."""
    from hypothesis.strategies import register_type_strategy

    for kind in (TwoAgentMDP, MDP, Observation, Trajectory):
        register_type_strategy(kind, _strategy)


def _strategy(kind: type) -> SearchStrategy[Any]:
    from iirl_opt.testing.models import games, mdps
    from iirl_opt.testing.partners import observations, trajectories

    if kind is MDP:
        return mdps()
    if kind is TwoAgentMDP:
        return games()
    return games().flatmap(observations if kind is Observation else trajectories)

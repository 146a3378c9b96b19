"""The environment itself: what `to_gymnasium` returns. Loading this file needs Gymnasium."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.envs.toy_text.utils import categorical_sample
from numpy.typing import NDArray

__all__ = ["GameEnvironment"]

ID = "iirl_opt/Game-v0"


def _remade(**parts: Any) -> GameEnvironment:
    """Return an environment by its specification, as `gymnasium.make` does."""
    return GameEnvironment(**parts)


class GameEnvironment(gymnasium.Env[Any, Any]):
    """A game that one agent plays, as a toy-text environment.

    Attributes
    ----------
    P : ``P[s][action]`` lists outcomes ``(probability, next state, reward, terminated)``.
    initial_state_distrib : (S,).
    states, actions, partner_actions : labels.
    s : the state, once the environment is reset.

    A step draws an outcome, hence the other agent's action and the successor, with the generator
    that `reset` seeds.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 (Gymnasium's own form)

    def __init__(
        self,
        outcomes: dict[str, NDArray[Any]],
        labels: tuple[Sequence[Hashable], Sequence[Hashable], Sequence[Hashable]],
        start: NDArray[np.float64],
        partner: Literal["leader", "follower"],
        *,
        mask: NDArray[np.bool_] | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.states: Sequence[Hashable]
        self.actions: Sequence[Hashable]
        self.partner_actions: Sequence[Hashable]
        self.states, self.actions, self.partner_actions = labels
        self.initial_state_distrib = start
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(len(self.states))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(len(self.actions))
        self.max_steps: int | None = max_steps
        self.render_mode: str | None = render_mode
        self.partner, self._mask = partner, mask
        self.P: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {
            s: {b: [] for b in range(len(self.actions))} for s in range(len(self.states))
        }
        self._others: dict[tuple[int, int], list[int]] = {}
        columns = ("state", "own", "other", "chance", "successor", "reward", "ended")
        for s, b, other, *outcome in zip(*(outcomes[c].tolist() for c in columns), strict=True):
            self.P[s][b].append(tuple(outcome))
            self._others.setdefault((s, b), []).append(other)
        self.spec: EnvSpec | None = EnvSpec(
            ID,
            entry_point=_remade,
            max_episode_steps=max_steps,
            kwargs={
                "outcomes": outcomes,
                "labels": labels,
                "start": start,
                "partner": partner,
                "mask": mask,
                "max_steps": max_steps,
                "render_mode": render_mode,
            },
        )
        self.s: int | None = None
        self._steps = 0
        self._said = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode in a state of the start distribution; `options` are not read."""
        super().reset(seed=seed)
        self.s = int(categorical_sample(self.initial_state_distrib, self.np_random))
        self._steps, self._said = 0, f"starts in {self.states[self.s]}"
        return self.s, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play an action.

        Raises
        ------
        gymnasium.error.ResetNeeded, gymnasium.error.InvalidAction
        """
        if self.s is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if not self.action_space.contains(action):
            allowed = f"0 … {len(self.actions) - 1}"
            raise gymnasium.error.InvalidAction(f"action is {action!r}; allowed {allowed}")
        before, b = self.s, int(action)
        outcomes = self.P[before][b]
        at = int(categorical_sample([outcome[0] for outcome in outcomes], self.np_random))
        probability, self.s, reward, terminated = outcomes[at]
        theirs = self.partner_actions[self._others[before, b][at]]
        self._steps += 1
        self._said = (
            f"step {self._steps}: {self.actions[b]} in {self.states[before]}, {self.partner} "
            f"{theirs}: to {self.states[self.s]}, earns {reward:g}"
        )
        truncated = self.max_steps is not None and self._steps >= self.max_steps and not terminated
        more = {"prob": probability, self.partner: theirs}
        return self.s, reward, terminated, truncated, self._info() | more

    def render(self) -> str | None:
        """Return what happened last, in a line, if the render mode is ``"ansi"``."""
        return self._said if self.render_mode == "ansi" else None

    def _info(self) -> dict[str, Any]:
        assert self.s is not None
        info: dict[str, Any] = {"state": self.states[self.s]}
        if self._mask is not None:
            info["action_mask"] = self._mask[self.s].astype(np.int8)
        return info

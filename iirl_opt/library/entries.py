"""Entries by label: `{state = number}` and the like as arrays.

Labels are matched by their text, which is how a TOML key writes them; every error names file and
key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iirl_opt.errors import FileProblem, IIRLError, UnknownLabel
from iirl_opt.game.labels import Labels
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.policy import from_labels
from iirl_opt.library.schema import (
    ChoiceTable,
    Number,
    PolicyTable,
    RewardTable,
)

__all__ = ["as_float", "by_choice", "by_state", "find_label", "read_policy", "read_reward"]

Array = NDArray[np.float64]


def find_label(path: Path, names: Labels, name: str, key: str) -> int:
    """Return the position of a label by its text."""
    texts = {str(label): i for i, label in enumerate(names)}
    if name not in texts:
        raise FileProblem(path, str(UnknownLabel(names.kind, name, list(texts))), key=key)
    return texts[name]


def as_float(path: Path, number: Number, key: str) -> float:
    """Return the float nearest to a number of a file."""
    try:
        return float(number)
    except OverflowError:
        raise FileProblem(path, "is beyond all floats", key=key) from None


def by_state(
    path: Path,
    game: TwoAgentMDP,
    entries: Mapping[str, Number],
    key: str,
    default: Number,
) -> Array:
    array = np.full(game.n_states, as_float(path, default, f"{key}.default"))
    for name, value in entries.items():
        at = find_label(path, game.states, name, f"{key}.{name}")
        array[at] = as_float(path, value, f"{key}.{name}")
    return array


def by_choice(
    path: Path, game: TwoAgentMDP, base: Array, choices: Sequence[ChoiceTable], key: str
) -> Array:
    """Return a state vector, or the (S, A, B) array that the entries make of it."""
    if not choices:
        return base
    joint = np.broadcast_to(base[:, None, None], game.shape).copy()
    for i, entry in enumerate(choices):
        names = {"state": entry.state, "leader": entry.leader, "follower": entry.follower}
        groups = (game.states, *game.action_labels)
        at = tuple(
            slice(None)
            if name == "*"
            else find_label(path, group, name, f"{key}.choices[{i}].{axis}")
            for group, (axis, name) in zip(groups, names.items(), strict=True)
        )
        joint[at] = as_float(path, entry.value, f"{key}.choices[{i}].value")
    return joint


def read_reward(path: Path, table: RewardTable, game: TwoAgentMDP, key: str) -> Array:
    """Return a reward of a model file, (S,) or (S, A, B)."""
    base = by_state(path, game, table.values, f"{key}.values", table.default)
    return by_choice(path, game, base, table.choices, key)


def read_policy(
    path: Path, game: TwoAgentMDP, choices: PolicyTable, key: str, *, follower: bool = False
) -> Array:
    """Return the policy written as ``{state: action}`` or ``{state: {action: probability}}``."""
    labels = game.follower_actions if follower else game.leader_actions
    states, actions = ([str(name) for name in names] for names in (game.states, labels))
    exact = {
        state: {a: as_float(path, p, key) for a, p in entry.items()}
        if isinstance(entry, dict)
        else entry
        for state, entry in choices.items()
    }
    try:
        return from_labels(exact, states, actions, name="policy")
    except IIRLError as error:
        raise FileProblem(path, str(error), key=key) from None

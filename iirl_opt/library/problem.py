"""The problem of a model file: its tables as games, rewards, followers and observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.brief import in_brief
from iirl_opt.errors import FileProblem
from iirl_opt.exact.numbers import as_fractions
from iirl_opt.follower.protocols import Follower
from iirl_opt.formats.dpomdp.problem import DecPOMDP
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.grid import GridGame
from iirl_opt.game.horizon import FiniteHorizon
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.library.entries import find_label
from iirl_opt.library.question import Question
from iirl_opt.library.rows import UserRow
from iirl_opt.library.schema import ExpectTable, FollowerTable, Number, PriorTable
from iirl_opt.library.steps import vector_over
from iirl_opt.observation import Observation, Trajectory
from iirl_opt.printing.records import Tabular
from iirl_opt.verification.environment import Environment

if TYPE_CHECKING:
    from iirl_opt.rewards import FeasibleRewards, Preference

__all__ = ["ModelProblem"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelProblem(Tabular):
    """A problem read from a file.

    Attributes
    ----------
    path : the file.
    title, source : what it is and where it comes from.
    game : the game.
    truth : the true reward, (S,) or (S, A, B), or None where the file states none.
    follower : the response model.
    question : what is asked.
    grid : the maze with its picture, where the game is one.
    policy : the leader policy (S, A) that the question speaks of (the first commitment of a
        learner, the commitment to evaluate), or None.
    observations : what was seen.
    trajectories : episodes that were seen step by step.
    preferences : what is said to be better than something else.
    rows : the user's own rows.
    expect : the expected quantities.
    imported : what the file behind the game holds besides, if it is of another kind than this one:
        its rewards by name, its labels; values are reported in its convention.
    environment : the test that the game is, of a verification problem.
    follower_reward : what the follower maximises where it is not the true reward, or None.
    partner : the follower as the file has it, for what a leader knows of it; None if optimal.
    prior : what the file says is believed before the first episode, or None.
    horizon : the play with its end, of which `game` is the expansion; values are reported as what
        is still to come of it.
    as_stated : whether discount and seed of the game are the file's own.
    stated : by attribute, what a table was read as, and the table: what is still that very object
        is written as it was stated, whatever else was replaced.

    Examples
    --------
    >>> from iirl_opt import library
    >>> problem = library.read_model("two-rooms")
    >>> problem.title
    'Two rooms and a door: the leader finds out which room the follower wants'
    >>> problem.game.states, problem.truth, problem.question.family()
    (('hall', 'left', 'right'), array([0., 3., 0.]), 'learning')
    """

    path: Path
    title: str
    source: str
    game: TwoAgentMDP
    truth: Array | None
    follower: Follower
    question: Question
    grid: GridGame | None = None
    policy: Array | None = None
    observations: tuple[Observation, ...] = ()
    trajectories: tuple[Trajectory, ...] = ()
    preferences: tuple[Preference, ...] = ()
    rows: tuple[UserRow, ...] = ()
    expect: tuple[ExpectTable, ...] = ()
    imported: ImportedGame | None = None
    environment: Environment | None = None
    follower_reward: Array | None = None
    partner: FollowerTable | None = None
    prior: PriorTable | None = None
    horizon: FiniteHorizon | None = None
    as_stated: bool = True
    stated: Mapping[str, tuple[Any, Any]] = field(default_factory=dict, repr=False)

    __repr__ = in_brief

    @property
    def digest(self) -> str:
        """A digest of the file, and of game, rewards and answers that were read from others."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        asked = (self.question, self.partner, self.prior, self.game.fingerprint)
        seen = (*self.observations, *self.trajectories)
        held = ((k, x) for one in seen for k, x in vars(one).items() if k != "suboptimality")
        arrays = (self.truth, self.policy, *(part for _, part in held))
        data = [b"" if part is None else np.asarray(part).tobytes() for part in arrays]
        declared = [one.suboptimality for one in self.observations]
        data += [repr(each).encode() for each in declared if each is not None]
        for said in self.preferences:
            data += [said.visits.tobytes(), repr((said.by, said.absorbed)).encode()]
        parts = (content, repr(asked).encode(), *data)
        return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]

    @property
    def counts_otherwise(self) -> bool:
        """Whether the file behind the game has a convention of its own for values."""
        return isinstance(self.imported, DecPOMDP)

    def reported(self, values: Array) -> Array:
        """Return values (S,) in the convention of the file behind the game."""
        file, play = self.imported, self.horizon
        if play is not None and play.game is self.game:
            return np.append(play.fold_values(values).ravel(), values[-1])
        return file.file_values(values) if isinstance(file, DecPOMDP) else values

    def need_truth(self) -> Array:
        """Return the true reward, or say that the file lacks it."""
        if self.truth is None and self.imported is not None and self.imported.rewards:
            known = ", ".join(map(repr, self.imported.rewards))
            problem = f"is not chosen; allowed one of {known} (reward=, --reward)"
            raise FileProblem(self.path, problem, key="reward")
        if self.truth is None:
            raise FileProblem(self.path, "is missing: this question needs it", key="reward")
        return self.truth

    def vector(self, entries: Mapping[str, Number], key: str) -> Array:
        """Return ``{state: number}`` as an array (S,) of floats, zero elsewhere."""
        return vector_over(self.path, self.game, self.horizon, entries, key)

    def exact_vector(self, entries: Mapping[str, Number], key: str) -> NDArray[Any]:
        """Return ``{state: number}`` as an array (S,) of the numbers as written, zero elsewhere."""
        if self.horizon is not None:
            return as_fractions(self.vector(entries, key))
        array = np.full(self.game.n_states, Fraction(0), dtype=object)
        for name, value in entries.items():
            array[find_label(self.path, self.game.states, name, f"{key}.{name}")] = value
        return array

    def feasible_rewards(self) -> FeasibleRewards:
        """Return the rewards that explain all that was seen, and preferred, in the file."""
        from iirl_opt.rewards import FeasibleRewards

        feasible = FeasibleRewards(self.game)
        told: tuple[Observation | Trajectory | Preference, ...] = (
            *self.observations,
            *self.trajectories,
            *self.preferences,
        )
        for seen in told:
            feasible = feasible.add(seen)
        return feasible

    def rows_on_measure(self, program: Any) -> list[Any]:
        """Return the file's rows as constraints on the measure of a program with ``expected``."""
        out: list[Any] = []
        for i, row in enumerate(self.rows):
            if row.target != "measure":
                raise FileProblem(self.path, "must be on the measure", key=f"constraint[{i}].on")
            out += row.constraints(program.expected(row.coefficients))
        return out

"""The problem of a ``.dpomdp`` file: its game, and its reward in the least form that carries it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import FLAG, PATH, array_of_floats, checked
from iirl_opt.errors import InvalidArgument
from iirl_opt.formats.dpomdp.declarations import Header, read_header
from iirl_opt.formats.dpomdp.statements import split_statements
from iirl_opt.formats.dpomdp.tables import Tables
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.kernel import ROUNDED_SUMS, SUM_TOLERANCE
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["DecPOMDP", "RewardForm", "problem_of", "read_dpomdp"]

Array = NDArray[np.float64]
RewardForm = Literal["s", "sab", "next state", "sab and next state"]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecPOMDP(ImportedGame):
    """The fully observable part of a ``.dpomdp`` or ``.pomdp`` file: its game, and its one reward.

    States and actions have the file's names, or are indices where it gives only a number.

    Attributes
    ----------
    path : the file.
    values : ``"reward"`` or ``"cost"``, as in the file; costs are rewards of the opposite sign
        here, and `file_values` leaves them so.
    reward_form : what the reward of the file depends on.
    discount : the discount of the file; ``game.discount`` is the one in use.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> from iirl_opt.formats import write_dpomdp
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2", states=["hall", "goal"])
    >>> with TemporaryDirectory() as folder:
    ...     write_dpomdp(game, Path(folder, "hall.dpomdp"))
    ...     problem = read_dpomdp(Path(folder, "hall.dpomdp"))
    >>> problem.values, problem.discount, problem.game.states
    ('reward', 0.5, ('hall', 'goal'))
    """

    path: Path
    values: str
    reward_form: RewardForm
    discount: float

    @checked(values=array_of_floats(1))
    def file_values(self, values: ArrayLike) -> Array:
        """Return values of the reward, shape (S,), in the convention of the file.

        A reward for entering a state counts from the next step on: ``(V − r) / γ``. For every
        other form both conventions agree.

        Raises
        ------
        InvalidArgument
            The values have another shape.

        **Cost** arithmetic.
        """
        array = np.asarray(values)
        if array.shape != (self.game.n_states,):
            raise InvalidArgument(
                "values", f"have shape {array.shape}", f"({self.game.n_states},)", array.shape
            )
        reward = self.reward()
        if self.reward_form == "next state" and reward.ndim == 1:
            return np.asarray((array - reward) / self.game.discount)
        return array


@checked(path=PATH, normalise=FLAG)
def read_dpomdp(path: str | Path, discount: Any = None, *, normalise: bool = False) -> DecPOMDP:
    """Read the fully observable part of a two-agent ``.dpomdp`` file.

    Parameters
    ----------
    path : the file.
    discount : 0 ≤ γ < 1, used in place of the file's; needed where the file says 1.
    normalise : whether rows within 2e-3 of one are divided by their sum, too.

    Raises
    ------
    FileProblem
        The first wrong line, its column, what was found there and what is allowed. What only the
        whole file shows comes after the last line: rows that do not sum to one (at the line that
        wrote to them last), missing rows, rewards that tell observations apart, discount 1.
    InvalidGame
        The argument `discount` is outside its range.
    OSError
        The file cannot be opened.

    **Source** see the module. **Cost** arithmetic, one pass over the lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... agents: 2
    ... discount: 0.9
    ... values: reward
    ... states: hall goal
    ... start: hall
    ... actions:
    ... open shut
    ... 1
    ... observations:
    ... 1
    ... 1
    ... T: * :
    ... identity
    ... T: open * : hall : 0.25 0.75
    ... R: * : goal : * : * : 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "door.dpomdp")
    ...     _ = path.write_text(text)
    ...     problem = read_dpomdp(path)
    >>> problem.game
    TwoAgentMDP(2 states, 2×1 actions, discount=0.9, 5 transitions, rational)
    >>> problem.reward_form, problem.reward()
    ('s', array([0., 1.]))
    """
    path, tolerance = Path(path), ROUNDED_SUMS if normalise else SUM_TOLERANCE
    return problem_of(path, read_header(path, split_statements(path), tolerance), discount)


def problem_of(path: Path, header: Header, discount: Any) -> DecPOMDP:
    """Return the problem of a file whose declarations have been read."""
    tables = Tables(header)
    for statement in header.statements:
        tables.write(statement)
    kernel, table = tables.kernel(path), tables.rewards()
    if discount is None and header.discount == 1:
        line, i = header.discount_at
        allowed = "0 ≤ γ < 1: give one in its place (discount=, --discount)"
        raise line.problem(i, 0, f"found the discount 1; allowed {allowed}")
    game = TwoAgentMDP(
        kernel,
        header.discount if discount is None else discount,
        header.start,
        states=header.states.labels,
        leader_actions=header.actions.first.labels,
        follower_actions=header.actions.second.labels,
    )
    reward, form = _least_reward_form(0.0 - table if header.values == "cost" else table, game)
    return DecPOMDP(
        game,
        {"reward": reward},
        source=path.name,
        path=path,
        values=header.values,
        reward_form=form,
        discount=float(header.discount),
    )


def _least_reward_form(table: Array, game: TwoAgentMDP) -> tuple[Array, RewardForm]:
    """Return a reward of shape (S, A·B, S) or (S, A·B, 1) in its least form, and the form."""
    if (table == table[..., :1]).all():
        if (table == table[:, :1, :1]).all():
            return table[:, 0, 0].copy(), "s"
        return table[..., 0].reshape(game.shape).copy(), "sab"
    if (table == table[:1, :1]).all():
        entering = table[0, 0].copy()
        return (entering if game.discount > 0 else game.kernel @ entering), "next state"
    every = table.reshape(*game.shape, game.n_states)
    return np.einsum("sabt,sabt->sab", game.kernel, every), "sab and next state"

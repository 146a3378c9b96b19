"""Play that ends: a game of H steps as a game for ever, with the way there and back.

The *time-expanded* game of a game has a state (s, τ) for each state s and step τ = 0 … H − 1, and
an absorbing end: choices in (s, τ) lead to (s', τ + 1) as they lead to s' in the game, those of the
last step to the end. A policy of it is a plan that depends on the step. It has a discount γ < 1 of
its own, so what knows games for ever (sets, measures, commitments, followers, learners) knows games
that end.

What is summed over the steps is ``Σ_τ g^τ r``. The *criterion* g is the game's own discount, or 1
for plain sums. With γ = g nothing is changed. Otherwise the reward of step τ is multiplied by its
*factor* ``(g/γ)^τ``, and so is every value in (s, τ): an expanded value over the factor is what is
still to come. For plain sums γ is H/(H + 1), where factors stay below e and ``1/(1 − γ) = H + 1``.

Where factors are not 1, numbers of a follower that have a unit change with the step, a temperature
as the factor and an inverse temperature β as its inverse. Followers that only compare values serve
as they are: see `iirl_opt.follower.check_steps`. So does a number that the reward map takes along,
as a loss ε that is given for each state.

Of H steps a reward c a step is worth as much whatever is played, so in the expanded game it is more
than a constant that nobody sees: each step has one.

**Source** folklore; e.g. Puterman (1994), chapter 4, whose backward induction the optimum repeats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from iirl_opt.checks import array_of_floats, checked, kept, unmasked, whole
from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.exact.numbers import UNREADABLE, as_fraction, as_fractions
from iirl_opt.exact.rows import ExactRows
from iirl_opt.game.entries import RowBlocks
from iirl_opt.game.mdp import GAME, TwoAgentMDP
from iirl_opt.game.model import check_discount
from iirl_opt.game.policy import check_policy
from iirl_opt.game.reward import REWARD, finite_reward
from iirl_opt.game.support import row_pointers, transitions

__all__ = ["FiniteHorizon", "finite_horizon"]

Array = NDArray[np.float64]

# Of an expanded game.
MOST_TRANSITIONS = 2**25

# How far apart factors may be. Programs in floats were right up to 5e8, and wrong at 6e17.
MOST_APART = 10**6

NUMBERS = kept(array_of_floats())

# The label of the end, with the step at which it is entered.
END = "end"


@dataclass(frozen=True)
class FiniteHorizon:
    """A game of H steps as a game for ever; made by `finite_horizon`.

    Attributes
    ----------
    game : the expanded game of N = S·H + 1 states, ``τ·S + s`` the one of state s at step τ; the
        labels are ``(label, τ)``, and ``("end", H)`` for the last.
    base : the game that is played, of S states.
    steps : H.
    criterion : g, what a step's reward is worth more than the next one's; 1 in plain sums.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", start=[1, 0])
    >>> play = finite_horizon(game, 3, discount=1)
    >>> play
    FiniteHorizon(3 steps of 2 states, plain sums, discount=3/4)
    >>> play.game.states
    ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), ('end', 3))
    >>> play.fold_values(play.expand_reward([0, 1])).tolist()  # a step's reward, three times
    [[Fraction(0, 1), Fraction(1, 1)], [Fraction(0, 1), Fraction(1, 1)], \
[Fraction(0, 1), Fraction(1, 1)]]
    """

    game: TwoAgentMDP
    base: TwoAgentMDP
    steps: int
    criterion: Fraction

    def __repr__(self) -> str:
        counted = "plain sums" if self.criterion == 1 else f"values at {self.criterion}"
        sizes = f"{self.steps} steps of {self.base.n_states} states"
        return f"FiniteHorizon({sizes}, {counted}, discount={self.game.exact_discount})"

    @cached_property
    def exact_factors(self) -> tuple[Fraction, ...]:
        """What multiplies the reward of each step, (H,)."""
        if self.criterion == self.game.exact_discount:
            return (Fraction(1),) * self.steps
        ratio, factors = self.criterion / self.game.exact_discount, [Fraction(1)]
        while len(factors) < self.steps:
            factors.append(factors[-1] * ratio)
        return tuple(factors)

    @property
    def factors(self) -> Array:
        """What multiplies the reward of each step, (H,), in floats."""
        return np.array([float(x) for x in self.exact_factors])

    @property
    def alike(self) -> bool:
        """Whether all factors are 1: every follower then answers as over H steps."""
        return self.exact_factors[-1] == 1

    @checked(reward=unmasked(InvalidReward))
    def expand_reward(self, reward: ArrayLike) -> NDArray[Any]:
        """Return a reward of the game on the expanded one, (N,) or (N, A, B); the end earns 0.

        Exactly: in Fractions, unless no factor changes anything. So what ties over H steps ties in
        the expanded game.

        Parameters
        ----------
        reward : (S,) or (S, A, B), the same at each step; or one a step, (H, S) or (H, S, A, B).

        Raises
        ------
        InvalidReward

        **Cost** arithmetic: a number of some ``τ·log2 H`` digits an entry of step τ.

        Examples
        --------
        >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
        >>> finite_horizon(game, 2).expand_reward([0.0, 1.0])
        array([0., 1., 0., 1., 0.])
        >>> [str(x) for x in finite_horizon(game, 2, discount=1).expand_reward([0, 1])]
        ['0', '1', '0', '3/2', '0']
        """
        given = self._by_step(reward)
        if self.alike:
            kept = given if given.dtype == object else given.astype(float)
        else:
            kept = as_fractions(given) * self._broadcast(self.exact_factors, given.ndim)
        last = np.zeros((1, *given.shape[2:]), dtype=kept.dtype)
        if kept.dtype == object:
            last[:] = Fraction(0)
        return np.concatenate([kept.reshape(-1, *given.shape[2:]), last])

    def reward_map(self) -> sp.csr_array:
        """Return the matrix (N, S) that expands state rewards, in floats, for programs.

        ``feasible.constraints(play.reward_map() @ r)`` are the rows on a reward r (S,) that is the
        same at each step.

        **Cost** arithmetic: N numbers.

        Examples
        --------
        >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
        >>> finite_horizon(game, 2, discount=1).reward_map().toarray()
        array([[1. , 0. ],
               [0. , 1. ],
               [1.5, 0. ],
               [0. , 1.5],
               [0. , 0. ]])
        """
        n = self.base.n_states
        row, column = np.arange(n * self.steps), np.tile(np.arange(n), self.steps)
        shape = (self.game.n_states, n)
        return sp.csr_array((np.repeat(self.factors, n), (row, column)), shape=shape)

    @checked(policy=unmasked(InvalidPolicy))
    def expand_policy(self, policy: ArrayLike) -> NDArray[Any]:
        """Return a policy of one agent on the expanded game, (N, n): a leader's or a follower's.

        At the end it plays the first action; of a mask of optimal actions all are.

        Parameters
        ----------
        policy : (S, n), the same at each step, or one a step, (H, S, n).

        Raises
        ------
        InvalidPolicy

        **Cost** arithmetic.

        Examples
        --------
        >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
        >>> finite_horizon(game, 2).expand_policy([[0, 1], [0.5, 0.5]])
        array([[0. , 1. ],
               [0.5, 0.5],
               [0. , 1. ],
               [0.5, 0.5],
               [1. , 0. ]])
        """
        n_states, counts = self.base.n_states, self.base.shape[1:]
        try:
            given = np.asarray(policy)
        except ValueError:
            given = np.empty(0)
        allowed = [
            (*every, n_states, n) for n in dict.fromkeys(counts) for every in ((), (self.steps,))
        ]
        if given.shape not in allowed:
            said = " or ".join(map(str, allowed))
            raise InvalidPolicy("policy", f"has shape {given.shape}", said, given.shape)
        n = given.shape[-1]
        flat = np.broadcast_to(given, (self.steps, n_states, n)).reshape(-1, n)
        last = np.eye(1, n) if given.dtype != bool else np.ones((1, n), dtype=bool)
        whole_play = np.concatenate([flat, last])
        if given.dtype != bool:
            check_policy(whole_play, whole_play.shape, states=self.game.states)
        return whole_play

    @checked(array=NUMBERS)
    def fold(self, array: ArrayLike) -> NDArray[Any]:
        """Return an array over the expanded states, (N, …), by step and state: (H, S, …).

        A policy, a response, an occupancy; the end is left out. Values and rewards have a unit: see
        `fold_values`.

        Raises
        ------
        InvalidArgument

        **Cost** arithmetic.

        Examples
        --------
        >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
        >>> finite_horizon(game, 2).fold([0, 1, 2, 3, 4])
        array([[0, 1],
               [2, 3]])
        """
        return self._fold("array", array)

    @checked(values=NUMBERS)
    def fold_values(self, values: ArrayLike) -> NDArray[Any]:
        """Return values or rewards on the expanded game, (N, …), in the unit of H steps: (H, S, …).

        Values are then what is still to come from each state and step. Fractions stay exact.

        Raises
        ------
        InvalidArgument

        **Cost** arithmetic.

        Examples
        --------
        >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
        >>> play = finite_horizon(game, 3, discount=1)
        >>> import iirl_opt as iirl
        >>> plan = iirl.commit(play.game, play.expand_reward([0, 1]))
        >>> play.fold_values(plan.values).round(9)
        array([[2., 3.],
               [1., 2.],
               [0., 1.]])
        """
        found = self._fold("values", values)
        factors = self.exact_factors if found.dtype == object else self.factors
        return np.asarray(found / self._broadcast(factors, found.ndim))

    def _fold(self, name: str, array: ArrayLike) -> NDArray[Any]:
        given = np.asarray(array)
        if given.shape[:1] != (self.game.n_states,):
            allowed = f"({self.game.n_states}, …)"
            raise InvalidArgument(name, f"has shape {given.shape}", allowed, given.shape)
        return given[:-1].reshape(self.steps, self.base.n_states, *given.shape[1:])

    def _by_step(self, reward: ArrayLike) -> NDArray[Any]:
        """Return a reward that was checked, one a step: (H, S) or (H, S, A, B)."""
        base, steps = self.base, self.steps
        shapes: tuple[tuple[int, ...], ...] = ((base.n_states,), base.shape)
        stepped = tuple((steps, *shape) for shape in shapes)
        REWARD("reward", reward)
        given = np.asarray(reward)
        if given.shape in stepped:
            for step, own in enumerate(given):
                finite_reward(base, own, f"reward of step {step}", shapes)
            return given
        finite_reward(base, given, "reward", shapes + stepped)
        return np.broadcast_to(given, (steps, *given.shape))

    def _broadcast(self, factors: Any, n_axes: int) -> NDArray[Any]:
        kind = float if isinstance(factors, np.ndarray) else object
        out = np.empty(self.steps, dtype=kind)
        out[:] = factors
        return out.reshape(-1, *(1,) * (n_axes - 1))


@checked(game=GAME, steps=whole(1))
def finite_horizon(
    game: TwoAgentMDP, steps: int, *, discount: Any = None, expanded_discount: Any = None
) -> FiniteHorizon:
    """Return the game of so many steps as a game for ever.

    Exact numbers stay exact.

    Parameters
    ----------
    steps : ≥ 1, H.
    discount : 0 ≤ g ≤ 1, what the reward of the next step is worth; the game's own by default, and
        1 for plain sums.
    expanded_discount : 0 < γ < 1, of the expanded game; by default g itself, and H/(H + 1) for
        plain sums. A smaller one than a g near one makes values for ever of the size of H steps.

    Raises
    ------
    InvalidGame
        A discount is outside its range.
    InvalidArgument
        The expanded game would have more than 2^25 transitions; or factors would be a million times
        as large at one step as at another, so that programs in floats go wrong.

    **Cost** arithmetic: H times the transitions of the game.

    Examples
    --------
    >>> game = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2")
    >>> finite_horizon(game, 4).game
    TwoAgentMDP(9 states, 1×2 actions, discount=0.5, 18 transitions, rational)
    >>> finite_horizon(game, 60, discount=1, expanded_discount="1/2")
    Traceback (most recent call last):
    ...
    iirl_opt.errors.InvalidArgument: expanded_discount is 1/2, whose factors at a discount of 1 \
span 5.8e+17 over 60 steps; allowed factors within 1e+06 of each other, as those of 60/61 are
    """
    size = game.n_transitions * (steps - 1) + (game.n_states + 1) * game.n_choices
    if size > MOST_TRANSITIONS:
        most = max(1, MOST_TRANSITIONS // max(game.n_transitions, 1))
        problem = f"is {steps}, which makes {size} transitions"
        raise InvalidArgument("steps", problem, f"1 ≤ steps ≤ {most} for this game", steps)
    criterion = game.exact_discount if discount is None else _criterion(discount)
    if expanded_discount is not None:
        gamma = check_discount(expanded_discount, "expanded_discount")
    else:
        gamma = criterion if criterion < 1 else Fraction(steps, steps + 1)
    _check_factors(criterion, gamma, steps)
    n = game.n_states * steps + 1
    start = np.full(n, Fraction(0), dtype=object)
    start[: game.n_states] = game.exact_start
    expanded = TwoAgentMDP(
        _expanded_rows(game, steps),
        gamma,
        start,
        states=[*((s, t) for t in range(steps) for s in game.states), (END, steps)],
        leader_actions=game.leader_actions,
        follower_actions=game.follower_actions,
    )
    return FiniteHorizon(expanded, game, steps, criterion)


def _criterion(discount: Any) -> Fraction:
    """Return what a next step's reward is worth: a discount, or 1."""
    try:
        plain = not isinstance(discount, bool) and as_fraction(discount) == 1
    except UNREADABLE:
        plain = False
    return Fraction(1) if plain else check_discount(discount)


def _check_factors(criterion: Fraction, gamma: Fraction, steps: int) -> None:
    """Refuse a discount under which rewards of the steps are no numbers of one program."""
    if criterion == gamma or steps == 1:
        return
    apart = math.inf
    if criterion and gamma:
        ratio = float(criterion / gamma)
        apart = math.exp(min((steps - 1) * abs(math.log(ratio)), 700.0))
    if apart > MOST_APART:
        at = f"at a discount of {criterion}"
        problem = f"is {gamma}, whose factors {at} span {apart:.2g} over {steps} steps"
        best = Fraction(steps, steps + 1) if criterion == 1 else criterion
        allowed = f"factors within {MOST_APART:.0e} of each other, as those of {best} are"
        raise InvalidArgument("expanded_discount", problem, allowed, gamma)


def _expanded_rows(game: TwoAgentMDP, steps: int) -> Any:
    """Return the kernel (N·A·B, N): the game's rows of each step but the last, then the end's."""
    rows, column, weight = transitions(game)
    n, own, before = game.n_states, game.n_states * game.n_choices, steps - 1
    width, ending = n * steps + 1, own + game.n_choices
    step = np.repeat(np.arange(before), rows.size)
    row = np.concatenate([np.tile(rows, before) + own * step, own * before + np.arange(ending)])
    to = np.concatenate([np.tile(column, before) + n * (step + 1), np.full(ending, width - 1)])
    one = np.ones(ending, dtype=weight.dtype)
    data = np.concatenate([np.tile(weight, before), one])
    pointers = row_pointers(row, own * before + ending)
    if not game.is_rational:
        return sp.csr_array((data, to, pointers), shape=(pointers.size - 1, width))
    below = game.rational.rows.denominators
    denominators = np.concatenate([np.tile(below, before), np.ones(ending, dtype=below.dtype)])
    return RowBlocks.of(ExactRows(pointers, to, data, denominators, width))

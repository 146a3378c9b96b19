"""What a follower promises (`iirl_opt.follower.protocols`), tried on one of yours."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import checked, one_of, optional
from iirl_opt.follower.protocols import FOLLOWER, Follower, LocalFollower
from iirl_opt.follower.ties import TIES, Ties, break_ties
from iirl_opt.game.exact import exact_kernel, exact_optimum
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.testing.arrays import policies, rewards
from iirl_opt.testing.assertions import assert_policy
from iirl_opt.testing.conformance.promises import (
    STRATEGY,
    Promises,
    agree,
    flags,
    require,
    suite_settings,
)
from iirl_opt.testing.distributions import given, st
from iirl_opt.testing.models import games as any_games
from iirl_opt.testing.ties import PlantedTies, planted_ties

__all__ = ["check_follower"]

Array = NDArray[Any]

# Values that differ by less are tied for a follower that computes in floats.
NEAR = 1e-9

# An action that misses a tie by so small a share of the gap of another is not tied.
CLOSE = Fraction(1, 2**20)

# The λ of λ r + c; the last two with c = 0, as a sum of floats would lose the ties of r.
SCALES = (2.0, 0.5, 8.0, 2.0**20, 2.0**-20)


@checked(follower=FOLLOWER, ties=optional(one_of(*TIES)), games=optional(STRATEGY))
def check_follower(
    follower: Follower,
    *,
    optimal: bool = False,
    ties: Ties | None = None,
    invariant: bool | None = None,
    random: bool = False,
    joint: bool = True,
    pickles: bool = True,
    games: st.SearchStrategy[TwoAgentMDP] | None = None,
) -> None:
    """Try what a follower promises on small games; fail with the promise that broke.

    Every follower promises: a policy (S, B), or a mask of actions; to leave its arguments as they
    are; the same answer to the same question; an answer that depends on the commitment's MDP alone,
    so that neither the start, nor names, nor a leader's action that is never played matter; that it
    refuses what is no commitment or reward; and that a pickled copy answers as it does. One with a
    method `answer` promises that it responds by it, state by state. One that is optimal is tried
    where actions tie exactly, and where they miss a tie by a millionth.

    Parameters
    ----------
    follower : any object with the method ``respond`` of the protocol `Follower`.
    optimal : whether it promises to play optimal actions alone.
    ties : the rule among several, if it promises one: ``"first"``, ``"last"``, ``"mix"``,
        ``"all"``, or ``"random"`` for one action a state. Then it is optimal.
    invariant : whether the same is played under λ r + c for λ > 0; by default if it is optimal.
    random : whether it draws: then two answers agree where their generators do.
    joint : whether it takes rewards (S, A, B) beside those of states.
    pickles : whether it can be pickled, as runs in several processes need.
    games : a strategy for the games to try; by default `iirl_opt.testing.games` of at most four
        states. Planted ties have up to five.

    Raises
    ------
    AssertionError
        A promise is broken: names it, what was found, and the instance.
    InvalidArgument

    **Cost** some ten planning problems an example.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> check_follower(iirl.OptimalFollower("last"), ties="last")
    """
    __tracebackhide__ = True
    flags(optimal=optimal, random=random, joint=joint, pickles=pickles)
    optional(one_of(True, False))("invariant", invariant)
    best = optimal or ties is not None
    suite = _FollowerSuite(
        follower, best, ties, best if invariant is None else invariant, random, joint, pickles
    )
    small = any_games(max_states=4, max_follower_actions=3) if games is None else games
    tried = given(game=small, data=st.data())(suite.try_instance)
    suite.promises.run(suite_settings()(tried))


@dataclass(frozen=True)
class _FollowerSuite:
    """The promises of one follower, with the options of `check_follower`."""

    follower: Follower
    optimal: bool
    ties: Ties | None
    invariant: bool
    random: bool
    joint: bool
    pickles: bool

    @cached_property
    def promises(self) -> Promises:
        return Promises("Follower", self.follower)

    def ask(self, game: TwoAgentMDP, reward: Array, pi1: Array) -> Array:
        """Return the answer, with a generator of the same seed each time if it draws."""
        rng = np.random.default_rng(0) if self.random else None
        return np.asarray(self.follower.respond(game, reward, pi1, rng))

    def try_instance(self, game: TwoAgentMDP, data: st.DataObject) -> None:
        """Try all promises on one game, with a reward and a commitment drawn in it."""
        __tracebackhide__ = True
        self.promises.begin()
        shapes: list[Literal["state", "joint"]] = ["state", "joint"]
        shape = data.draw(st.sampled_from(shapes[: 1 + self.joint]), label="shape")
        reward = data.draw(rewards(game, shape=shape), label="reward")
        pi1 = data.draw(policies(game), label="pi1")
        answer = self._answers_with_a_policy(game, reward, pi1)
        self._answers_to_nothing_else(game, reward, pi1, answer)
        self._refuses(game, reward, pi1)
        by_state = isinstance(self.follower, LocalFollower) and not self.random
        found = exact_optimum(game, reward, pi1) if self.optimal or by_state else None
        if self.optimal and found is not None:
            self._is_optimal(game, found.gaps, answer)
            self._keeps_planted_ties(data)
        if self.invariant:
            scale = data.draw(st.sampled_from(SCALES), label="scale")
            shift = data.draw(st.integers(-4, 4), label="shift") if 0.1 < scale < 10 else 0
            with self.promises.keeps("it plays the same under λ r + c"):
                moved = self.ask(game, scale * reward + shift, pi1)
                agree(answer, moved, ("under r", f"under {scale:g} r + {shift}"), NEAR)
        if by_state and found is not None:
            self._answers_state_by_state((found.values[:, None] - found.gaps).astype(float), answer)

    def _answers_with_a_policy(self, game: TwoAgentMDP, reward: Array, pi1: Array) -> Array:
        __tracebackhide__ = True
        r, p = reward.copy(), pi1.copy()
        with self.promises.keeps("`respond` answers with a policy (S, B), or a mask of actions"):
            answer = np.array(self.ask(game, r, p))
            if answer.dtype == bool:
                named = answer.reshape(game.n_states, -1).any(axis=1).all()
                require(bool(named), "a row of the mask names no action")
                assert_policy(_as_policy(answer), game, agent="follower")
            else:
                assert_policy(answer, game, agent="follower")
        with self.promises.keeps("`respond` leaves its arguments as they are"):
            require(np.array_equal(r, reward), "it wrote into the reward")
            require(np.array_equal(p, pi1), "it wrote into the commitment")
        return answer

    def _answers_to_nothing_else(
        self, game: TwoAgentMDP, reward: Array, pi1: Array, answer: Array
    ) -> None:
        __tracebackhide__ = True
        keeps = self.promises.keeps
        with keeps("the same question gets the same answer"):
            agree(answer, self.ask(game, reward, pi1), ("at first", "again"))
            tied = [self.ask(game, 0 * reward, pi1) for _ in range(2)]
            agree(tied[0], tied[1], ("at first", "again, under a reward of zero"))
        if self.pickles:
            with keeps("a pickled copy answers as it does"):
                copy = replace(self, follower=pickle.loads(pickle.dumps(self.follower)))
                agree(answer, copy.ask(game, reward, pi1), ("itself", "the copy"))
        if reward.ndim == 1 and self.joint:
            with keeps("a reward of states is one of states and actions that ignores these"):
                wide = np.broadcast_to(reward[:, None, None], game.shape).copy()
                agree(answer, self.ask(game, wide, pi1), ("(S,)", "(S, A, B)"), NEAR)
        with keeps("neither the start nor a name matters"):
            agree(
                answer, self.ask(_renamed(game), reward, pi1), ("with these", "with others"), NEAR
            )
        played = np.flatnonzero((pi1 != 0).any(axis=0))
        if played.size < game.n_leader_actions:
            start = np.array(game.exact_start, dtype=object)
            less = TwoAgentMDP(exact_kernel(game)[:, played], game.exact_discount, start)
            kept = reward if reward.ndim == 1 else reward[:, played]
            with keeps("a leader's action that is never played does not matter"):
                without = self.ask(less, kept, pi1[:, played])
                agree(answer, without, ("with it", "without it"), NEAR)

    def _refuses(self, game: TwoAgentMDP, reward: Array, pi1: Array) -> None:
        __tracebackhide__ = True
        half, nan = pi1.copy(), reward.astype(float)
        half[-1] /= 2
        nan.ravel()[-1] = np.nan
        for what, r, p in (
            ("a commitment with a row that sums to 1/2", reward, half),
            ("a commitment without a state", reward, pi1[:-1]),
            ("a reward that is nan somewhere", nan, pi1),
            ("a reward without a state", reward[:-1], pi1),
        ):
            self.promises.refuses(what, self.ask, game, r, p)

    def _is_optimal(self, game: TwoAgentMDP, gaps: Array, answer: Array) -> None:
        __tracebackhide__ = True
        keeps = self.promises.keeps
        with keeps("it plays optimal actions alone"):
            for s, b in np.argwhere((answer > 0) & (gaps > NEAR)):
                place = f"in state {game.states[s]!r} it plays {game.follower_actions[b]!r}"
                raise AssertionError(f"{place}, which is worth {float(gaps[s, b]):g} less")
        if self.ties == "random":
            with keeps("of several optimal actions it plays one in each state"):
                require(bool(((answer == 0) | (answer == 1)).all()), f"it plays {answer.tolist()}")
                assert_policy(answer, game, agent="follower")
        elif self.ties is not None:
            self._plays_by_the_rule(answer, (gaps == 0).astype(bool))

    def _keeps_planted_ties(self, data: st.DataObject) -> None:
        """Try a commitment whose optimal actions are known: many tie, and others nearly do."""
        __tracebackhide__ = True
        close = data.draw(st.booleans(), label="nearly tied")
        found = data.draw(_planted(self.joint).map(_nearly_tied if close else _as_floats))
        with self.promises.keeps("`respond` answers where actions tie"):
            answer = self.ask(found.game, found.reward, found.pi1)
            require(answer.shape == found.optimal.shape, f"it answers {answer!r}")
        if self.ties not in (None, "random"):
            self._plays_by_the_rule(answer, found.optimal)
        with self.promises.keeps("it plays optimal actions alone"):
            wrong = ((answer > 0) & ~found.optimal).tolist()
            require(not np.any(wrong), f"it plays {answer.tolist()}, of which {wrong} are none")

    def _plays_by_the_rule(self, answer: Array, optimal: Array) -> None:
        __tracebackhide__ = True
        assert self.ties is not None
        with self.promises.keeps(f"of several optimal actions it plays by the rule {self.ties!r}"):
            rule = break_ties(optimal, self.ties)
            require(answer.dtype == rule.dtype, f"it plays {answer.dtype}, not {rule.dtype}")
            agree(answer, rule, ("it plays", "the rule"), NEAR)

    def _answers_state_by_state(self, q: Array, answer: Array) -> None:
        __tracebackhide__ = True
        follower: Any = self.follower
        keeps = self.promises.keeps
        with keeps("`answer` looks at the action values (…, B) of one state alone"):
            rows = np.array([follower.answer(row.copy(), NEAR) for row in q])
            both = follower.answer(np.stack([q, q]), NEAR)
            agree(np.stack([rows, rows]), both, ("state by state", "at once"), NEAR)
        with keeps("`respond` is `answer` at the optimal action values"):
            agree(answer, rows, ("respond", "answer"), 1e-6)


def _as_policy(mask: Array) -> Array:
    return np.asarray(mask / mask.sum(axis=-1, keepdims=True))


def _renamed(game: TwoAgentMDP) -> TwoAgentMDP:
    """Return the game with other names, which starts in its last state."""
    last = [0] * (game.n_states - 1) + [1]
    names = (
        [f"{kind}{i}" for i in range(n, 0, -1)] for kind, n in zip("sab", game.shape, strict=True)
    )
    states, leaders, followers = names
    return TwoAgentMDP(
        exact_kernel(game),
        game.exact_discount,
        last,
        states=states,
        leader_actions=leaders,
        follower_actions=followers,
    )


def _planted(joint: bool) -> st.SearchStrategy[PlantedTies]:
    """Return ties that survive when reward and commitment are floats.

    A state reward ties actions under its own commitment to the last bit: its leader has no choice.
    """
    sizes: Any = {"max_states": 5, "discounts": ("1/2", "9/10", "4/5")}
    of_states = planted_ties(**sizes, max_leader_actions=1)
    return st.one_of(of_states, planted_ties(shape="joint", **sizes)) if joint else of_states


def _as_floats(found: PlantedTies) -> PlantedTies:
    """Return the same ties with a commitment in floats and a reward in them, of whole numbers."""
    whole = math.lcm(*(x.denominator for x in found.reward.ravel()))
    return replace(found, reward=(whole * found.reward).astype(float), pi1=found.pi1.astype(float))


def _nearly_tied(found: PlantedTies) -> PlantedTies:
    """Return the instance with every other action so mixed with an optimal one that it nearly ties.

    Values stay, so what is optimal does, too.
    """
    best = found.optimal.argmax(axis=1)

    def mixed(table: Array, close: Any = CLOSE) -> Array:
        at = np.moveaxis(table, 2, 1)  # (S, B, A, …)
        good = at[np.arange(len(best)), best][:, None]
        same = found.optimal.reshape(found.optimal.shape + (1,) * (at.ndim - 2))
        return np.moveaxis(np.where(same, at, good + (at - good) * close), 1, 2)

    game = found.game
    kernel = mixed(exact_kernel(game))
    near = TwoAgentMDP(kernel, game.exact_discount, np.array(game.exact_start, dtype=object))
    found = _as_floats(found)
    reward = found.reward if found.reward.ndim == 1 else mixed(found.reward, float(CLOSE))
    return replace(found, game=near, reward=reward.astype(float))

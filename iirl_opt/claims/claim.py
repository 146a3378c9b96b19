"""A claim: a statement as a predicate on one instance, its place, and what is known of it.

A `Claim` says where a statement comes from, what its status is, how to draw instances of it, and
how one instance is decided. The status is one of five words:

* ``holds``: as stated;
* ``needs a condition``: `instances` meet the condition; without it the counterexample fails;
* ``false as stated``: the counterexample fails;
* ``repaired``: what is true in place of such a statement;
* ``definition``: how a word is meant. Nothing could refute it: its row compares two computations.

An instance that does not meet the premise of a statement has not tried it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from iirl_opt.brief import in_brief
from iirl_opt.checks import FUNCTION, TEXT, between, checked, one_of
from iirl_opt.claims.arithmetic import kernel_of
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.mdp import TwoAgentMDP

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from iirl_opt.library import ModelProblem


__all__ = ["Claim", "Instances", "Outcome", "Status", "describe", "untried"]

Status: TypeAlias = Literal[
    "holds", "needs a condition", "false as stated", "repaired", "definition"
]
Instances: TypeAlias = "SearchStrategy[Any] | Callable[[], SearchStrategy[Any]]"
STATUSES: tuple[Status, ...] = get_args(Status)
FAILING: tuple[Status, ...] = ("needs a condition", "false as stated")


@dataclass(frozen=True)
class Outcome:
    """Whether a statement holds for an instance, and what shows it.

    Attributes
    ----------
    holds : whether it does; True of an instance that does not meet its premise.
    evidence : what shows that, in words.
    applies : whether the instance meets the premise of the statement.

    Examples
    --------
    >>> Outcome(False, "2 > 1"), Outcome(True).applies
    (Outcome(holds=False, evidence='2 > 1', applies=True), True)
    """

    holds: bool
    evidence: str = ""
    applies: bool = True

    __repr__ = in_brief


@checked(evidence=TEXT)
def untried(evidence: str) -> Outcome:
    """Return the outcome of an instance that does not meet the premise, with what it lacks.

    **Cost** constant.

    Examples
    --------
    >>> untried("the game has one state")
    Outcome(holds=True, evidence='the game has one state', applies=False)
    >>> untried("the game has one state").applies
    False
    """
    return Outcome(True, evidence, applies=False)


def INSTANCES(name: str, value: Any) -> Any:
    """Return a hypothesis strategy, or a function that makes one."""
    return FUNCTION(name, value) if not hasattr(value, "example") else value


@checked(
    name=TEXT,
    place=TEXT,
    statement=TEXT,
    instances=INSTANCES,
    predicate=FUNCTION,
    status=one_of(*STATUSES),
    outside=INSTANCES,
    counterexample=FUNCTION,
    model=TEXT,
    problem=FUNCTION,
    floor=between(0, 1, "(]", allowed="a share, 0 < floor ≤ 1"),
)
@dataclass(frozen=True)
class Claim:
    """A statement as code.

    Parameters
    ----------
    name : short and unique.
    place : where the statement stands.
    statement : the statement, one sentence.
    instances : a strategy for instances that the statement is about (with its condition, if it
        needs one), or a function without arguments that makes it.
    predicate : from an instance to an `Outcome`, or to true or false.
    status : what is known of it, one of the five words of the module.
    outside : the same as `instances`, but without the condition.
    counterexample : makes the smallest known instance that fails, where one does.
    model : the shipped model file that states the counterexample, where a family can express it.
    problem : from an instance that fails to the problem of a model file whose answer shows it (see
        `iirl_opt.library.make_model`); by default what the parts of the instance make, if one is a
        game.
    floor : the share of the instances drawn that must meet the premise, 0 < floor ≤ 1.

    Raises
    ------
    InvalidArgument

    Examples
    --------
    >>> from iirl_opt.game.generate import random_game
    >>> from iirl_opt.testing import games
    >>> at_most_two = lambda game: max(game.influence()) <= 2
    >>> claim = Claim("mine", "my note", "Influence is at most 2.", games(), at_most_two)
    >>> claim.decide(random_game(3, 2, 2, rng=0)[0]), claim.status
    (Outcome(holds=True, evidence='', applies=True), 'holds')
    """

    name: str
    place: str
    statement: str
    instances: Instances
    predicate: Callable[[Any], Outcome | bool]
    status: Status = "holds"
    outside: Instances | None = None
    counterexample: Callable[[], Any] | None = None
    model: str | None = None
    problem: Callable[[Any], ModelProblem | None] | None = None
    floor: float = 0.9

    __repr__ = in_brief

    def __post_init__(self) -> None:
        if (self.status in FAILING) != (self.counterexample is not None):
            raise InvalidArgument(
                f"counterexample of {self.name}",
                f"is {'missing' if self.counterexample is None else 'given'}",
                f"one exactly where the status is {' or '.join(FAILING)}",
                self.status,
            )

    def decide(self, instance: Any) -> Outcome:
        """Decide the statement for one instance."""
        answer = self.predicate(instance)
        if isinstance(answer, Outcome):
            if not (answer.holds or answer.applies):
                place, problem = f"predicate of {self.name}", "fails where it does not apply"
                raise InvalidArgument(place, problem, "a failure that meets the premise", answer)
            return answer
        if not isinstance(answer, bool | np.bool_):
            place, problem = f"predicate of {self.name}", f"returns {answer!r}"
            raise InvalidArgument(place, problem, "true, false or an Outcome", answer)
        return Outcome(bool(answer))


def describe(instance: Any) -> str:
    """Return an instance in words: its fields, with games written as exact kernels.

    **Cost** arithmetic: the exact kernels are written out.

    Examples
    --------
    >>> from fractions import Fraction
    >>> describe((TwoAgentMDP([[[[1]]]], discount="1/2"), np.array([Fraction(1, 3)])))
    '(game(kernel=[[[[1]]]], discount=1/2), [1/3])'
    """
    if isinstance(instance, TwoAgentMDP):
        if not instance.is_rational:
            return repr(instance)
        rows = describe(kernel_of(instance))
        return f"game(kernel={rows}, discount={instance.rational.discount})"
    own_words = "__str__" in vars(type(instance))
    if is_dataclass(instance) and not isinstance(instance, type) and not own_words:
        parts = (f"{f.name}={describe(getattr(instance, f.name))}" for f in fields(instance))
        return f"{type(instance).__name__}({', '.join(parts)})"
    if isinstance(instance, np.ndarray):
        return describe(instance.tolist())
    if isinstance(instance, list | tuple):
        inside = ", ".join(describe(part) for part in instance)
        return f"({inside})" if isinstance(instance, tuple) else f"[{inside}]"
    return str(instance) if not callable(instance) else getattr(instance, "__name__", "function")

"""Problems made in Python: what a model file would state, from games and arrays at hand.

`make_question` asks one of a family of `iirl_opt.library.families`, whose keys are those of files.
Where a file writes ``{ state = number }`` an array (S,) will do, and an array (S, A) or a mapping
of labels for ``{ state = action }``. Everything is checked as it is when a file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import TEXT, checked, each, is_a, optional
from iirl_opt.errors import FileProblem, InvalidArgument, InvalidGame
from iirl_opt.follower.protocols import FOLLOWER, Follower
from iirl_opt.game.mdp import GAME, MDP, TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.library.document import VERSION, Document, as_document
from iirl_opt.library.entries import find_label, read_policy, read_reward
from iirl_opt.library.families import catalogue
from iirl_opt.library.followers import follower_table, read_follower
from iirl_opt.library.games import environment_of
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import Question
from iirl_opt.library.reading import refuse_foreign_tables
from iirl_opt.library.rows import UserRow
from iirl_opt.library.schema import ExpectTable, ObservationTable
from iirl_opt.library.tables import (
    check_labels,
    environment_table,
    numbers_of,
    observation_table,
    policy_table,
    preference_table,
    reward_table,
    row_table,
)
from iirl_opt.library.toml import as_plain, document_text
from iirl_opt.observation import Observation, Trajectory, check_trajectory, observe
from iirl_opt.verification.environment import Environment

if TYPE_CHECKING:
    from iirl_opt.rewards.preferences import Preference

__all__ = ["called", "make_model", "make_question"]

# In place of a file, in messages.
HERE = Path("make_model")

# The keys of questions that hold a number a state.
VECTORS = ("objective", "target", "hypothesis")

# Those that hold a commitment.
POLICIES = {kind.policy_key for kind in catalogue.FAMILIES if kind.policy_key}


@checked(game=GAME, family=TEXT)
def make_question(game: TwoAgentMDP, family: str, **keys: Any) -> Question:
    """Return a question about a game: a family of model files by its name, with its keys.

    Parameters
    ----------
    keys : those of ``[question]`` in that family, see ``models/README.md``. An objective, target or
        hypothesis may be an array (S,), a commitment an array (S, A); labels may be what they are.

    Raises
    ------
    FileProblem
        There is no such family or key, or a value is of the wrong kind: names the key, and what is
        allowed.
    InvalidPolicy, InvalidArgument
        An array of another shape.

    **Cost** arithmetic, linear in the entries of the keys.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> make_question(game, "feasible_rewards", ask="maximise", objective=[0, 1]).objective
    {'0': Fraction(0, 1), '1': Fraction(1, 1)}
    """
    with called("make_question"):
        return _document(game, question={"family": family, **keys}).question


@checked(
    game=is_a(TwoAgentMDP, MDP, Environment, error=InvalidGame),
    question=optional(is_a(Question, Mapping, str)),
    observations=each(lambda _, seen: seen),
    trajectories=each(is_a(Trajectory)),
    preferences=each(lambda _, said: said),
    rows=each(is_a(UserRow)),
    title=TEXT,
    source=TEXT,
)
def make_model(
    game: TwoAgentMDP | MDP | Environment,
    reward: Any = None,
    *,
    question: Question | Mapping[str, Any] | str | None = None,
    observations: Iterable[Observation | tuple[Any, Any]] = (),
    trajectories: Iterable[Trajectory] = (),
    preferences: Iterable[Preference] = (),
    follower: Follower | Mapping[str, Any] | None = None,
    follower_reward: Any = None,
    rows: Iterable[UserRow] = (),
    prior: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | Sequence[Any] = (),
    title: str = "",
    source: str = "",
) -> ModelProblem:
    """Return a problem made in Python, to be answered, or written by `write_model`.

    Parameters
    ----------
    game : an MDP is a game whose leader has one action; an environment is the test of a hypothesis.
    reward : the true reward, (S,) or (S, A, B), or None; Fractions stay exact.
    question : made by `make_question`; or its family alone; or a mapping of all its keys. By
        default whether the observations admit the reward, else what the best commitment is.
    observations : of `observe`, or pairs of a commitment and a response, which are written exactly
        where they are Fractions; an `Observation` holds floats.
    trajectories : of `record_trajectory`, in the families bayesian and feasible_rewards.
    preferences : of `iirl_opt.rewards.prefer`, in the family feasible_rewards.
    follower : how the follower answers; a mapping states what only a file can,
        ``{"model": "boltzmann", "beta": "unknown"}``. By default it answers optimally.
    follower_reward, rows, prior : as a file's tables of these names; see ``models/README.md``.
    expect : ``{quantity: value}``, or a list of tables as in a file,
        ``{"quantity": "value", "value": 1, "tolerance": 1e-9, "source": "closed form"}``.
        ``values`` are those of all states. The source may be left out. Which quantities there are
        only the answer says, as with a file.
    title, source : what it is, and where it comes from.

    Raises
    ------
    FileProblem
        What would be a fault of a file: names the key.
    InvalidValue
        What is no game, reward, observation or row of this game, or cannot stand in a file.

    **Cost** arithmetic.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> from iirl_opt import library
    >>> game = iirl.TwoAgentMDP([[[[1, 1]]], [[[0, 1]]]], "1/2")
    >>> problem = library.make_model(game, [0, 1], question="commitment")
    >>> library.answer(problem).quantities["value[1]"]
    2.0
    """
    stated: dict[str, Any] = {}
    game, environment = _game(game, stated)
    truth = _truth(game, reward, "reward", "truth", stated)
    theirs = _truth(game, follower_reward, "follower_reward", "follower_reward", stated)
    told = tuple(observations)
    seen = tuple(_observation(game, f"observations[{i}]", x) for i, x in enumerate(told))
    if any(isinstance(x, tuple) for x in told):  # which may be exact, as what is seen is not
        stated["observations"] = seen, tuple(map(partial(_seen_table, game), seen, told))
    preferred = tuple(_preference(game, f"preferences[{i}]", x) for i, x in enumerate(preferences))
    document = _document(
        game,
        title=title,
        source=source,
        question=_asked(question, truth, seen, trajectories),
        prior=prior,
        follower=_follower(follower),
        expect=_expected(expect, source),
    )
    asked, key = document.question, document.question.policy_key
    there = {"follower_reward": theirs is not None, "trajectory": trajectories, "prior": prior}
    there |= {"preference": preferred}
    there |= {"suboptimality": any(x.suboptimality is not None for x in seen)}
    some = [name for name, given in there.items() if given]
    refuse_foreign_tables(HERE, asked, document.follower, some)
    _check(game, trajectories, rows)
    choices = None if key is None else getattr(asked, key)
    problem = ModelProblem(
        path=HERE,
        title=title,
        source=source,
        game=game,
        truth=truth,
        follower=read_follower(HERE, document.follower),
        question=asked,
        policy=None if choices is None else read_policy(HERE, game, choices, f"question.{key}"),
        observations=seen,
        trajectories=tuple(trajectories),
        preferences=preferred,
        rows=tuple(rows),
        expect=tuple(document.expect),
        environment=environment,
        follower_reward=theirs,
        partner=document.follower,
        prior=document.prior,
    )
    stated["follower"] = problem.follower, document.follower
    stated["policy"] = problem.policy, choices
    asked.check(problem)
    return replace(problem, stated=stated)


@contextmanager
def called(name: str) -> Iterator[None]:
    """Name another function than `make_model` in what is raised about what it was given."""
    try:
        yield
    except FileProblem as fault:
        if fault.path != HERE:
            raise
        raise FileProblem(Path(name), fault.problem, key=fault.key) from None


def _game(given: Any, stated: dict[str, Any]) -> tuple[TwoAgentMDP, Environment | None]:
    """Return the game, and the test that it is, with the names of its actions in files."""
    if isinstance(given, Environment):
        table = environment_table(given)
        assert table.environment is not None
        test = environment_of(given.mdp.states, table.environment, given.mdp.exact_discount)
        stated["game"] = test.game, table
        return test.game, test
    game = TwoAgentMDP.single_agent(given) if isinstance(given, MDP) else given
    check_labels(game)
    return game, None


def _follower(follower: Any) -> Any:
    """Return the table of a follower as plain values, or the mapping that is one."""
    if follower is None or isinstance(follower, Mapping):
        return follower
    return as_plain(follower_table(FOLLOWER("follower", follower)))


def _check(game: TwoAgentMDP, trajectories: Iterable[Trajectory], rows: Iterable[UserRow]) -> None:
    """Refuse trajectories and rows that are none of this game."""
    for trajectory in trajectories:
        check_trajectory(game, trajectory)
    for i, row in enumerate(rows):
        check_reward(game, row.coefficients, f"rows[{i}].coefficients")
        row_table(game, row, f"rows[{i}]")


def _truth(
    game: TwoAgentMDP, reward: Any, key: str, name: str, stated: dict[str, Any]
) -> NDArray[np.float64] | None:
    """Return a reward as floats; the table of one in Fractions is kept, which is exact."""
    if reward is None:
        return None
    floats = check_reward(game, reward, key)
    if np.asarray(reward).dtype == object:
        table = reward_table(game, reward, key)
        floats = read_reward(HERE, table, game, key)
        stated[name] = floats, table
    return floats


def _observation(game: TwoAgentMDP, name: str, seen: Any) -> Observation:
    """Return an observation, or a pair of a commitment and a response, as one of this game."""
    if isinstance(seen, Observation):
        response = seen.played if seen.whole else seen.pi2
        return observe(game, seen.pi1, response, suboptimality=seen.suboptimality)
    if isinstance(seen, tuple) and len(seen) == 2:
        return observe(game, *seen)
    raise InvalidArgument(name, f"is {seen!r}", "an Observation, or (pi1, response)", seen)


def _preference(game: TwoAgentMDP, name: str, said: Any) -> Preference:
    """Return a preference as one of this game that a file can state."""
    from iirl_opt.rewards.preferences import Preference, prefer

    if not isinstance(said, Preference):
        raise InvalidArgument(name, f"is {said!r}", "of iirl_opt.rewards.prefer", said)
    found = prefer(game, said.better, said.worse, by=said.by, absorbed=said.absorbed)
    preference_table(game, found)
    return found


def _seen_table(game: TwoAgentMDP, seen: Observation, told: Any) -> ObservationTable:
    """Return the table of an observation, exact where it was told in Fractions."""
    return observation_table(game, seen, *(told if isinstance(told, tuple) else ()))


def _asked(question: Any, truth: Any, seen: Any, trajectories: Any) -> Any:
    """Return the question that is given, or the one that such a problem asks by itself."""
    if isinstance(question, str):
        return {"family": question}
    if question is not None:
        return question
    if trajectories:
        return {"family": "bayesian"}
    if seen and truth is not None and truth.ndim == 1:
        return {"family": "feasible_rewards", "ask": "contains", "target": truth}
    if truth is not None:
        return {"family": "commitment"}
    return {"family": "feasible_rewards", "ask": "dimension"}


def _expected(expect: Any, source: str) -> list[Any]:
    """Return expectations as a file has them."""
    said = {"source": source or "stated with the problem"}
    if not isinstance(expect, Mapping):
        tables = each(is_a(ExpectTable, Mapping))("expect", expect)
        return [said | _in_floats(x) if isinstance(x, Mapping) else x for x in tables]
    return [
        {"quantity": name, "values" if np.ndim(x) or isinstance(x, Mapping) else "value": x} | said
        for name, x in _in_floats(expect).items()
    ]


def _in_floats(value: Any) -> Any:
    """Return what is expected with Fractions as floats, which quantities are."""
    if isinstance(value, Mapping):
        return {key: _in_floats(x) for key, x in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return list(map(_in_floats, value))
    return float(value) if isinstance(value, Fraction) else value


def _document(game: TwoAgentMDP, *, question: Any, **tables: Any) -> Document:
    """Return tables as a document: checked as those of a file are."""
    if isinstance(question, Mapping):
        question = {key: _key(game, key, value) for key, value in question.items()}
    given = {key: _plain(value) for key, value in tables.items() if value is not None}
    head = {"version": VERSION, "title": "", "source": "", "game": {}}
    made = as_document(HERE, {**head, **given, "question": question}, catalogue.FAMILIES)
    stated = {"question": made.question, "prior": made.prior, "expect": made.expect}
    document_text({key: as_plain(table) for key, table in stated.items() if table})  # finite?
    return made


def _key(game: TwoAgentMDP, key: str, value: Any) -> Any:
    """Return the value of a key of a question as a file has it."""
    mapping = isinstance(value, Mapping)
    if key in VECTORS and value is not None and not mapping:
        numbers = numbers_of(value)
        if numbers.shape != (game.n_states,):
            shape = f"({game.n_states},), or a mapping by state"
            raise InvalidArgument(f"question.{key}", f"has shape {numbers.shape}", shape, value)
        return {str(s): x for s, x in zip(game.states, numbers.tolist(), strict=True)}
    if key in VECTORS and mapping:
        for label in value:
            find_label(HERE, game.states, str(label), f"question.{key}.{label}")
    if key in POLICIES and mapping:
        return {
            str(s): _plain(entry) if isinstance(entry, Mapping) else str(entry)
            for s, entry in value.items()
        }
    if key in POLICIES and value is not None:
        game.check_leader_policy(value)
        return policy_table(game.states, game.leader_actions, value)
    if key == "forbidden" and mapping:
        return {str(s): list(map(str, actions)) for s, actions in value.items()}
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return a value as TOML has it: texts, numbers, lists and mappings of them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value

"""Reading a model file: from its path to the problem that it states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from iirl_opt.checks import FLAG, MAPPING, PATH, SEED, TEXT, checked, each
from iirl_opt.errors import FileProblem
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.formats.kinds import kind_of
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.model import check_discount
from iirl_opt.library.document import Document, document_schema, read_document
from iirl_opt.library.entries import read_policy
from iirl_opt.library.families import catalogue
from iirl_opt.library.followers import read_follower, unknown_number
from iirl_opt.library.games import Reading, read_imported
from iirl_opt.library.misplaced import MODEL, refuse_misplaced
from iirl_opt.library.observations import read_observation, read_preference, read_trajectory
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import Question
from iirl_opt.library.schema import FollowerTable, GameTable, RandomGameTable
from iirl_opt.library.shipped import find_model
from iirl_opt.library.steps import (
    check_follower,
    each_step,
    read_expanded,
    reward_over,
    row_over,
    seen_each_step,
)

__all__ = ["model_schema", "read_model", "refuse_foreign_tables"]


@checked(
    name=PATH,
    game_seed=SEED,
    constants=MAPPING,
    reward=TEXT,
    normalise=FLAG,
    leader=each(TEXT),
    absorbing=FLAG,
)
def read_model(
    name: str | Path,
    *,
    discount: Any = None,
    game_seed: int | None = None,
    constants: Mapping[str, Any] | None = None,
    reward: str | None = None,
    normalise: bool = False,
    leader: Iterable[str] | None = None,
    absorbing: bool = False,
) -> ModelProblem:
    """Read a model file, a shipped model by its name, or any file that `formats.read_file` reads.

    A file that has a game and no question is asked what a leader learns of its reward.

    Parameters
    ----------
    discount, game_seed : in place of the file's own discount, and of the seed of its random game.
    constants : values of the constants of a file of another kind, by name.
    reward : which reward of a file of another kind that has several, by its name.
    normalise : whether rows of a file of another kind that are off one by rounding, within 2e-3,
        are divided by their sum.
    leader : action labels and players of a file of PRISM's or Storm's that are the leader's.
    absorbing : whether states of such a file that have no choice stay where they are.

    Raises
    ------
    FileProblem
        Names the file and the key or line.
    InvalidGame
        The discount that is given is none.

    **Cost** that of reading the game, linear in its entries, or of making the one that it asks
    for.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> iirl.read_model("two-rooms").game
    TwoAgentMDP(3 states, 2×2 actions, discount=0.5, 20 transitions, rational)
    """
    path = find_model(name)
    refuse_misplaced(path, MODEL)
    if discount is not None:  # the file is not to blame for it
        check_discount(discount)
    values = {each: str(value) for each, value in (constants or {}).items()}
    leads = () if leader is None else tuple(leader)
    asked = Reading(discount, values, reward, normalise, leads, absorbing)
    if kind_of(path).name != "model":
        return _of_a_game(path, asked)
    document = read_document(path, catalogue.FAMILIES)
    keys = ("follower_reward", "trajectory", "prior", "preference")
    some = [key for key in keys if getattr(document, key)]
    if any(table.suboptimality is not None for table in document.observation):
        some.append("suboptimality")
    refuse_foreign_tables(path, document.question, document.follower, some)
    problem = _from_document(path, document, asked, game_seed)
    problem.question.check(problem)
    return problem


def model_schema() -> dict[str, Any]:
    """Return the JSON Schema of model files, which editors check and complete them by.

    A TOML file is read into the same tables as a JSON document. Which labels are known and which
    rows sum to one no schema can say: `read_model` does.

    **Cost** arithmetic: the tables of all families.

    Examples
    --------
    >>> schema = model_schema()
    >>> schema["$schema"], "ExpectTable" in schema["$defs"]
    ('https://json-schema.org/draft/2020-12/schema', True)
    """
    return document_schema(catalogue.FAMILIES)


def _of_a_game(path: Path, asked: Reading) -> ModelProblem:
    """Return the learning problem of a file that holds a game, whose reward is hidden."""
    made = read_imported(path, asked)
    table = GameTable(file=path.name)
    _restate(table, asked, made.game)
    whose = "the file's own reward, hidden from the leader"
    problem = ModelProblem(
        path=path,
        title=kind_of(path).stem(path),
        source=whose if made.reward is not None else "a game, of which no reward is chosen",
        game=made.game,
        truth=made.reward,
        follower=OptimalFollower(),
        question=catalogue.OF_A_GAME(),
        imported=made.imported,
        as_stated=asked.as_stated,
    )
    return _stating(problem, {"game": table, "truth": None})


def _from_document(
    path: Path, document: Document, asked: Reading, game_seed: int | None
) -> ModelProblem:
    """Return what the tables of a file mean."""
    if game_seed is not None and isinstance(document.game.generator, RandomGameTable):
        document.game.generator.seed = game_seed
    made = read_expanded(path, document.game, asked)
    game, steps = made.game, made.horizon
    _restate(document.game, asked, game)
    chosen = asked.reward is not None or document.game.reward is not None
    if document.reward is not None and chosen:
        raise FileProblem(path, "has no meaning beside [reward]", key="game.reward")
    exact = reward_over(path, made, document.reward, "reward")
    theirs = document.follower_reward
    other = None if theirs is None else reward_over(path, made, theirs, "follower_reward")
    follower = check_follower(path, made, read_follower(path, document.follower))
    question = document.question
    if steps is not None:
        _refuse_in_steps(path, document)
    key = question.policy_key
    choices = None if key is None else getattr(question, key)
    policy = None if choices is None else each_step(steps, choices)
    problem = ModelProblem(
        path=path,
        title=document.title,
        source=document.source,
        game=game,
        truth=None if exact is None else exact.astype(float),
        follower=follower,
        question=question,
        grid=made.grid,
        policy=None if policy is None else read_policy(path, game, policy, f"question.{key}"),
        observations=tuple(
            read_observation(path, game, table, f"observation[{i}]", follower, exact)
            for i, table in enumerate(seen_each_step(steps, each) for each in document.observation)
        ),
        trajectories=tuple(
            read_trajectory(path, game, table, f"trajectory[{i}]")
            for i, table in enumerate(seen_each_step(steps, each) for each in document.trajectory)
        ),
        preferences=tuple(
            read_preference(path, game, table, f"preference[{i}]")
            for i, table in enumerate(document.preference)
        ),
        rows=tuple(
            row_over(path, game, steps, table, f"constraint[{i}]")
            for i, table in enumerate(document.constraint)
        ),
        expect=tuple(document.expect),
        imported=made.imported if document.reward is None else None,
        environment=made.environment,
        follower_reward=None if other is None else other.astype(float),
        partner=document.follower,
        prior=document.prior,
        horizon=steps,
        as_stated=asked.as_stated and game_seed is None,
    )
    tables = {
        "game": document.game,
        "truth": document.reward,
        "follower_reward": theirs,
        "follower": document.follower,
        "policy": choices,
        "observations": document.observation,
        "trajectories": document.trajectory,
        "preferences": document.preference,
        "rows": document.constraint,
    }
    return _stating(problem, tables)


def _refuse_in_steps(path: Path, document: Document) -> None:
    """Refuse what has a unit of its own at every step, where play ends."""
    if document.preference:
        raise FileProblem(path, "is not read beside game.horizon", key="preference")
    for i, table in enumerate(document.observation):
        if table.suboptimality is not None and not table.suboptimality.start:
            allowed = "allowed beside game.horizon from the start alone: start = true"
            raise FileProblem(path, allowed, key=f"observation[{i}].suboptimality")


def _restate(table: GameTable, asked: Reading, game: TwoAgentMDP) -> None:
    """Let a table state what was asked in place of what it said."""
    if asked.discount is not None:
        table.discount = game.exact_discount
    table.constants = {**table.constants, **asked.constants}
    table.reward = asked.reward or table.reward
    table.normalise = asked.normalise or table.normalise
    table.leader = list(asked.leader) or table.leader
    table.absorbing = asked.absorbing or table.absorbing


def _stating(problem: ModelProblem, tables: Mapping[str, Any]) -> ModelProblem:
    """Return a problem that remembers the tables it was read from."""
    stated = {name: (getattr(problem, name), table) for name, table in tables.items()}
    return replace(problem, stated=stated)


def refuse_foreign_tables(
    path: Path, question: Question, follower: FollowerTable | None, there: Iterable[str]
) -> None:
    """Refuse tables that have a meaning in other families alone, of those that are there."""

    def owners(key: str) -> str:
        return " or ".join(kind.family() for kind in catalogue.FAMILIES if key in kind.takes)

    for key in there:
        if key not in question.takes:
            problem = f"has a meaning for the family {owners(key)} alone"
            raise FileProblem(path, problem, key=key)
    unknown = unknown_number(follower)
    if unknown is not None and "unknown" not in question.takes:
        problem = f"is 'unknown'; allowed a number, but in the family {owners('unknown')}"
        raise FileProblem(path, problem, key=f"follower.{unknown}")

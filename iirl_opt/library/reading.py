"""Reading a model file: from its path to the problem that it states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iirl_opt.checks import PATH, SEED, checked
from iirl_opt.errors import FileProblem
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.formats.dpomdp.problem import read_dpomdp
from iirl_opt.library.document import Document, document_schema, read_document
from iirl_opt.library.entries import read_policy, read_reward
from iirl_opt.library.families import catalogue
from iirl_opt.library.followers import read_follower, unknown_number
from iirl_opt.library.games import read_game
from iirl_opt.library.observations import read_observation, read_trajectory
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.rows import read_row
from iirl_opt.library.schema import RandomGameTable
from iirl_opt.library.shipped import find_model

__all__ = ["model_schema", "read_model"]


@checked(name=PATH, game_seed=SEED)
def read_model(
    name: str | Path, *, discount: Any = None, game_seed: int | None = None
) -> ModelProblem:
    """Read a model file, a ``.dpomdp`` file, or a shipped model by its name.

    Parameters
    ----------
    discount, game_seed : in place of the file's own discount, and of the seed of its random game.

    Raises
    ------
    FileProblem
        Names the file and the key or line.

    Examples
    --------
    >>> import iirl_opt as iirl
    >>> iirl.read_model("two-rooms").game
    TwoAgentMDP(3 states, 2×2 actions, discount=0.5, 20 transitions, rational)
    """
    path = find_model(name)
    if path.suffix == ".dpomdp":
        return _from_dpomdp(path, discount)
    document = read_document(path, catalogue.FAMILIES)
    _refuse_foreign_tables(path, document)
    problem = _from_document(path, document, discount, game_seed)
    problem.question.check(problem)
    return problem


def model_schema() -> dict[str, Any]:
    """Return the JSON Schema of model files, which editors check and complete them by.

    A TOML file is read into the same tables as a JSON document. Which labels are known and which
    rows sum to one no schema can say: `read_model` does.
    """
    return document_schema(catalogue.FAMILIES)


def _from_dpomdp(path: Path, discount: Any) -> ModelProblem:
    """Return the learning problem of a ``.dpomdp`` file, whose reward is hidden."""
    file = read_dpomdp(path, discount)
    return ModelProblem(
        path=path,
        title=path.stem,
        source="the file's own reward, hidden from the leader",
        game=file.game,
        truth=file.reward(),
        follower=OptimalFollower(),
        question=catalogue.OF_A_GAME(),
        decpomdp=file,
        as_stated=discount is None,
    )


def _from_document(
    path: Path, document: Document, discount: Any, game_seed: int | None
) -> ModelProblem:
    """Return what the tables of a file mean."""
    if game_seed is not None and isinstance(document.game.generator, RandomGameTable):
        document.game.generator.seed = game_seed
    made = read_game(path, document.game, discount)
    game, truth = made.game, made.reward
    if document.reward is not None:
        truth = read_reward(path, document.reward, game, "reward")
    theirs = document.follower_reward
    follower = read_follower(path, document.follower)
    question = document.question
    key = question.policy_key
    choices = None if key is None else getattr(question, key)
    return ModelProblem(
        path=path,
        title=document.title,
        source=document.source,
        game=game,
        truth=truth,
        follower=follower,
        question=question,
        grid=made.grid,
        policy=None if choices is None else read_policy(path, game, choices, f"question.{key}"),
        observations=tuple(
            read_observation(path, game, table, f"observation[{i}]", follower, truth)
            for i, table in enumerate(document.observation)
        ),
        trajectories=tuple(
            read_trajectory(path, game, table, f"trajectory[{i}]")
            for i, table in enumerate(document.trajectory)
        ),
        rows=tuple(
            read_row(path, game, table, f"constraint[{i}]")
            for i, table in enumerate(document.constraint)
        ),
        expect=tuple(document.expect),
        decpomdp=made.decpomdp if document.reward is None else None,
        environment=made.environment,
        follower_reward=None
        if theirs is None
        else read_reward(path, theirs, game, "follower_reward"),
        partner=document.follower,
        prior=document.prior,
        as_stated=discount is None and game_seed is None,
    )


def _refuse_foreign_tables(path: Path, document: Document) -> None:
    """Refuse tables that have a meaning in other families alone."""

    def owners(key: str) -> str:
        return " or ".join(kind.family() for kind in catalogue.FAMILIES if key in kind.takes)

    for key in ("follower_reward", "trajectory", "prior"):
        if getattr(document, key) and key not in document.question.takes:
            problem = f"has a meaning for the family {owners(key)} alone"
            raise FileProblem(path, problem, key=key)
    unknown = unknown_number(document.follower)
    if unknown is not None and "unknown" not in document.question.takes:
        problem = f"is 'unknown'; allowed a number, but in the family {owners('unknown')}"
        raise FileProblem(path, problem, key=f"follower.{unknown}")

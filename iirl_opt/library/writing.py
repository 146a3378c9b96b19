"""Writing a model file: from a problem back to the tables that state it.

What was read from a file is written as that file states it: a maze as its picture, a random game by
its seed, numbers exactly. What was made or replaced in Python `iirl_opt.library.tables` states. A
game too large to be read by people stands beside the file, as `save_game` writes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from iirl_opt.checks import PATH, TEXT, checked, is_a
from iirl_opt.errors import FileProblem
from iirl_opt.files import read_bytes, writing
from iirl_opt.game.store import save_game
from iirl_opt.library.document import VERSION, parse_document
from iirl_opt.library.families import catalogue
from iirl_opt.library.followers import follower_table
from iirl_opt.library.problem import ModelProblem
from iirl_opt.library.question import Question
from iirl_opt.library.schema import FollowerTable, GameTable, ObservationTable, OptimalTable
from iirl_opt.library.tables import (
    check_labels,
    environment_table,
    game_table,
    observation_table,
    policy_table,
    preference_table,
    reward_table,
    row_table,
    trajectory_table,
)
from iirl_opt.library.toml import as_plain, document_text

__all__ = ["write_model"]

MOST_BYTES = 2**32

# Kinds of files that refer to no others, so that a copy is as good.
WHOLE = (".dpomdp", ".dpomdp.gz", ".pomdp", ".npz")


@checked(problem=is_a(ModelProblem), path=PATH, comment=TEXT)
def write_model(problem: ModelProblem, path: str | Path, *, comment: str = "") -> Path:
    """Write a problem to a model file, whole or not at all, and return its path.

    `read_model` reads it back equal: game, labels and their order, exact numbers, observations,
    rows, question and expectations. A file that is there already is replaced, with the game beside
    it, if there is one under its name. A game of more than
    500 states or rows, or 2,000 transitions in them, is written beside it, to a ``.npz`` file of
    the same name; a ``.dpomdp`` file
    that the problem refers to is copied beside it.

    Parameters
    ----------
    comment : lines to stand above all else, for people.

    Raises
    ------
    FileProblem
        The name does not end in ``.toml``, its folder is missing, or the file that holds the game
        is no longer there.
    InvalidValue
        A label that no file can hold, or two with the same text; a follower, an environment or a
        row that no file can state; a number of more than 4,000 digits.
    OSError
        The folder cannot be written to.

    **Cost** arithmetic, linear in the transitions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import iirl_opt as iirl
    >>> from iirl_opt import library
    >>> game = iirl.TwoAgentMDP([[[[1, 2]]], [[[0, 1]]]], "9/10", states=["hall", "yard"])
    >>> problem = library.make_model(game, [0, 1], expect={"value[yard]": 10})
    >>> with TemporaryDirectory() as folder:
    ...     path = library.write_model(problem, Path(folder, "hall.toml"))
    ...     print("".join(path.read_text().splitlines(keepends=True)[4:13]))
    ...     iirl.read_model(path).game == game
    [game]
    discount = 0.9
    states = ["hall", "yard"]
    leader_actions = [0]
    follower_actions = [0]
    transitions = [
      { from = "hall", to = { hall = "1/3", yard = "2/3" } },
      { from = "yard", to = { yard = 1 } },
    ]
    <BLANKLINE>
    True
    """
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise FileProblem(path, "is no name of a model file; allowed one that ends in .toml")
    if not path.parent.is_dir():
        raise FileProblem(path, "cannot be written: its folder is missing")
    game, beside, as_stated = _game_of(problem, path)
    tables = {key: each for key, each in _tables(problem, game, as_stated) if each != []}
    printed = ["".join(c if c.isprintable() else " " for c in x) for x in comment.splitlines()]
    said = "".join(f"# {line}".rstrip() + "\n" for line in printed)
    text = said + document_text(tables)
    parse_document(path, text, catalogue.FAMILIES)  # nothing is written that could not be read
    with ExitStack() as written:
        written.enter_context(writing(path)).write_text(text, encoding="utf-8")
        if beside is not None:
            beside.write(written.enter_context(writing(beside.path)))
        left_over = _game_replaced(path, game)
    if left_over is not None:
        left_over.unlink(missing_ok=True)
    return path


def _game_replaced(path: Path, game: GameTable) -> Path | None:
    """Return the game beside a model that is replaced, where it alone was called for that game."""
    beside = path.with_suffix(".npz")
    if not path.is_file() or not beside.is_file() or game.file == beside.name:
        return None
    try:
        old = tomllib.loads(path.read_text(encoding="utf-8")).get("game")
    except (OSError, ValueError):
        return None
    return beside if isinstance(old, dict) and old.get("file") == beside.name else None


@dataclass(frozen=True)
class _Beside:
    """A file that a model file refers to."""

    path: Path
    problem: ModelProblem
    content: bytes | None

    def write(self, path: Path) -> None:
        """Write the game, or the bytes of the file that holds it."""
        if self.content is None:
            save_game(self.problem.game, path)
        else:
            path.write_bytes(self.content)


def _stated(problem: ModelProblem, name: str) -> tuple[bool, Any]:
    """Return whether an attribute is as a file states it, and the table that does."""
    made, table = problem.stated.get(name, (None, None))
    return name in problem.stated and made is getattr(problem, name), table


def _game_of(problem: ModelProblem, path: Path) -> tuple[GameTable, _Beside | None, bool]:
    """Return the table of the game, the file to write beside it, and whether all is as stated."""
    known, table = _stated(problem, "game")
    own, _ = problem.stated.get("truth", (None, None))
    if problem.horizon is not None:  # rewards that are replaced are of the expanded game
        known = all(_stated(problem, name)[0] for name in ("game", "truth", "follower_reward"))
    if known and (problem.truth is not None or own is None):
        if table.file is None:
            return table, None, True
        held, target = problem.path.parent / table.file, path.with_name(Path(table.file).name)
        named = structs.replace(table, file=target.name)
        if held.exists() and target.exists() and target.samefile(held):
            return named, None, True
        if "".join(held.suffixes[-2:]).lower().endswith(WHOLE):
            return named, _Beside(target, problem, _copy(held, target)), True
    check_labels(problem.game)
    if problem.environment is not None and problem.environment.game == problem.game:
        return environment_table(problem.environment), None, False
    written = game_table(problem.game)
    if written is not None:
        return written, None, False
    target = path.with_suffix(".npz")
    if target.exists() and not path.exists():
        raise FileProblem(target, "is there already, where the game would be written")
    return GameTable(file=target.name), _Beside(target, problem, None), False


def _copy(held: Path, target: Path) -> bytes:
    """Return what a file holds that is to be copied, if another is not there already."""
    try:
        content = read_bytes(held, MOST_BYTES)
        there = read_bytes(target, MOST_BYTES) if target.exists() else content
    except OSError as error:
        raise FileProblem(held, f"holds the game, and cannot be read ({error})") from error
    if there != content:
        raise FileProblem(target, f"is there already, and is not {held}, which holds the game")
    return content


def _tables(problem: ModelProblem, game: GameTable, as_stated: bool) -> Iterator[tuple[str, Any]]:
    """Yield the tables of the file in their order, by their keys.

    Where the game is not `as_stated`, the reward does not come along with it.
    """
    yield from (("version", VERSION), ("title", problem.title), ("source", problem.source))
    yield "game", as_plain(game)
    for key, name in (("reward", "truth"), ("follower_reward", "follower_reward")):
        known, table = _stated(problem, name)
        reward = getattr(problem, name)
        known = known and (table is not None or as_stated)
        if not known:
            table = None if reward is None else reward_table(problem.game, reward, key)
        if table is not None:
            yield key, as_plain(table)
    follower = _follower(problem)
    if follower is not None:
        yield "follower", as_plain(follower)
    if problem.prior is not None:
        yield "prior", as_plain(problem.prior)
    for key, seen in (
        ("observation", _observations(problem)),
        ("trajectory", _each(problem, "trajectories", trajectory_table)),
        ("preference", _each(problem, "preferences", preference_table)),
        ("constraint", _own_rows(problem)),
    ):
        yield key, as_plain(seen)
    yield "question", as_plain(_question(problem))
    yield "expect", as_plain(list(problem.expect))


def _follower(problem: ModelProblem) -> FollowerTable | None:
    """Return the table of the follower, or None where it is the one by default."""
    known, table = _stated(problem, "follower")
    if problem.partner is not None and (known or problem.partner is not table):
        return problem.partner
    if known:
        return None
    found = follower_table(problem.follower)
    return None if found == OptimalTable() else found


def _each(problem: ModelProblem, name: str, make: Any) -> list[Any]:
    known, tables = _stated(problem, name)
    return list(tables) if known else [make(problem.game, x) for x in getattr(problem, name)]


def _observations(problem: ModelProblem) -> list[ObservationTable]:
    """Return what was seen; answers are left to the follower only where nothing changed."""
    known, tables = _stated(problem, "observations")
    asked = known and any(table.follower is table.optimal is None for table in tables)
    same = all(_stated(problem, name)[0] for name in ("game", "truth", "follower"))
    if known and (same or not asked):
        return list(tables)
    return [observation_table(problem.game, seen) for seen in problem.observations]


def _own_rows(problem: ModelProblem) -> list[Any]:
    known, tables = _stated(problem, "rows")
    if known:
        return list(tables)
    numbered = enumerate(problem.rows)
    return [row_table(problem.game, row, f"constraint[{i}]") for i, row in numbered]


def _question(problem: ModelProblem) -> Question:
    """Return the question, with the policy of the problem where that was replaced."""
    key, question = problem.question.policy_key, problem.question
    known, _ = _stated(problem, "policy")
    if key is None or known or problem.policy is None:
        return question
    game = problem.game
    table = policy_table(game.states, game.leader_actions, problem.policy)
    return structs.replace(question, **{key: table})

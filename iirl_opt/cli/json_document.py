"""What ``--json`` prints: one document, whose head is the same for every command.

The head says what was asked, of what, and by which versions; `HEAD` lists its keys in order. A key
that has no meaning in a command is null. What the command found comes behind it. Nothing in a head
is of the clock or of the machine's folders: the same question gives the same document.

The document that is printed is also the one that ``--out`` writes to a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from iirl_opt.versions import versions

if TYPE_CHECKING:
    from iirl_opt.library import ModelProblem

__all__ = ["FORMAT", "HEAD", "head", "text_of"]

FORMAT = 2

# format       of the document: 2; it goes up when a key changes its meaning
# command      that gave it
# versions     of this package and of those that its numbers may depend on
# file         that was read, without its folder
# title        of the model file or figure
# fingerprint  of the game, the same for equal games
# discount     of the game
# seed         of what is random: given on the command line, else the file's own
# complete     whether the command came to its end, and was not interrupted
HEAD = (
    "format",
    "command",
    "versions",
    "file",
    "title",
    "fingerprint",
    "discount",
    "seed",
    "complete",
)


def head(
    command: str,
    problem: ModelProblem | None = None,
    *,
    file: str | None = None,
    title: str | None = None,
    fingerprint: str | None = None,
    discount: float | None = None,
    seed: int | None = None,
    complete: bool = True,
) -> dict[str, Any]:
    """Return the head of a document.

    Parameters
    ----------
    problem : what was asked, which says file, title, fingerprint, discount and its own seed.
    """
    if problem is not None:
        file, title = problem.path.name, problem.title
        fingerprint, discount = problem.game.fingerprint, problem.game.discount
        seed = getattr(problem.question, "seed", None) if seed is None else seed
    facts = (command, versions(), file, title, fingerprint, discount, seed, complete)
    return dict(zip(HEAD, (FORMAT, *facts), strict=True))


def text_of(document: Mapping[str, Any], *, lines: bool = False) -> str:
    """Return a document as text: one line, or many for people to read. NaN is refused."""
    return json.dumps(document, indent=1 if lines else None, allow_nan=False)

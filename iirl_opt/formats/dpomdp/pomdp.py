"""Problems of one agent in Cassandra's ``.pomdp`` format, their fully observable part.

The format is that of ``.dpomdp`` files but for this: ``discount``, ``values``, ``states``,
``actions`` and ``observations`` come in any order, once each, and ``start`` may be left out, which
is uniform; lists of names may be broken into lines; there is no colon before a number:
``T: action : state : next state probability``. Without ``observations`` there is one. What is
observed is passed over, and so is ``O: …``.

Source: the page "POMDP file format" of pomdp.org (Cassandra).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.checks import FLAG, PATH, checked
from iirl_opt.errors import FileProblem
from iirl_opt.formats.choices import AGENT, Agent
from iirl_opt.formats.dpomdp.declarations import (
    Header,
    Names,
    Single,
    check_size,
    read_discount,
    read_start,
    read_values,
)
from iirl_opt.formats.dpomdp.problem import DecPOMDP, problem_of
from iirl_opt.formats.dpomdp.statements import FileLine, FileStatement, split_statements
from iirl_opt.game.kernel import ROUNDED_SUMS, SUM_TOLERANCE

__all__ = ["read_pomdp"]

NEEDED = ("discount", "values", "states", "actions")
DECLARED = (*NEEDED, "observations", "start", "start include", "start exclude")


@checked(path=PATH, agent=AGENT, normalise=FLAG)
def read_pomdp(
    path: str | Path,
    discount: Any = None,
    *,
    agent: Agent = "follower",
    normalise: bool = False,
) -> DecPOMDP:
    """Read the fully observable part of a ``.pomdp`` file as a game of one agent.

    Parameters
    ----------
    path : the file.
    discount : 0 ≤ γ < 1, used in place of the file's; needed where the file says 1.
    agent : whose the file's actions are; the other has one action, ``-``.
    normalise : whether rows within 2e-3 of one are divided by their sum, too.

    Raises
    ------
    FileProblem
        The first wrong line, its column, what was found there and what is allowed; also rewards
        that tell observations apart.
    InvalidGame
        The argument `discount` is outside its range.
    OSError
        The file cannot be opened.

    **Source** see the module. **Cost** arithmetic, one pass over the lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> text = '''
    ... discount: 0.9
    ... values: cost
    ... states: hall goal
    ... actions: go stay
    ... T: stay identity
    ... T: go : * : goal 1.0
    ... R: * : hall : * : * 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "door.pomdp")
    ...     _ = path.write_text(text)
    ...     problem = read_pomdp(path)
    >>> problem.game, problem.reward()
    (TwoAgentMDP(2 states, 1×2 actions, discount=0.9, 4 transitions, rational), array([-1.,  0.]))
    """
    path, tolerance = Path(path), ROUNDED_SUMS if normalise else SUM_TOLERANCE
    header = _header(path, split_statements(path), agent == "leader", tolerance)
    return problem_of(path, header, discount)


def _header(
    path: Path, statements: Iterator[FileStatement], of_leader: bool, tolerance: float
) -> Header:
    """Return the declarations, or complain of the first wrong one, or of one that is missing."""
    said: dict[str, FileStatement] = {}
    rest: list[FileStatement] = []
    for statement in statements:
        key = statement.key
        if key in ("T", "O", "R"):
            rest.append(statement)
            break
        name = key.split(" ")[0]
        if key not in DECLARED or name in said:
            again = " again" if key in DECLARED else ""
            allowed = "declarations once each, then 'T:', 'O:' or 'R:'"
            raise statement.head.problem(0, 0, f"found '{key}:'{again}; allowed {allowed}")
        if len(statement.head.fields) > 2:
            raise statement.head.problem(2, 0, "found a second colon; allowed one")
        said[name] = statement
    for name in NEEDED:
        if name not in said:
            raise FileProblem(path, f"'{name}:' is missing; allowed before 'T:', 'O:' and 'R:'")
    discount, discount_at = read_discount(said["discount"])
    states = _declared_names(said["states"], "state")
    actions = _declared_names(said["actions"], "action")
    check_size(said["states"].head, 1, "S²·A", states.size**2 * actions.size)
    seen = Names("observation", 1, {})
    if "observations" in said:
        seen = _declared_names(said["observations"], "observation")
    start: Any = np.full(states.size, Fraction(1, states.size), dtype=object)
    if "start" in said:
        start = read_start(said["start"], states, tolerance)
    return Header(
        discount,
        discount_at,
        read_values(said["values"]),
        states,
        start,
        Single.of(actions, of_leader),
        Single.of(seen),
        map(_with_colon, chain(rest, statements)),
        tolerance,
    )


def _declared_names(statement: FileStatement, kind: str) -> Names:
    """Return the names that a statement declares, on as many lines as it likes."""
    if len(statement.places(1)) == 1:
        return Names.declared(*statement.only_place(), kind)
    words = " ".join(word for word, *_ in statement.words(1))
    head = statement.head
    return Names.declared(FileLine(head.path, head.number, f"{statement.key}: {words}"), 1, kind)


def _with_colon(statement: FileStatement) -> FileStatement:
    """Return a statement with a colon before its numbers, as ``.dpomdp`` files have it.

    It takes the place of a blank, so that columns are those of the file.
    """
    head = statement.head
    last = head.text.rindex(":") + 1
    text = re.sub(r"\A(\s*\S+)(\s|\Z)", r"\1:", head.text[last:], count=1)
    return FileStatement(FileLine(head.path, head.number, head.text[:last] + text), statement.body)

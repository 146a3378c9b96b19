"""Storm's DRN: a model state by state, with its rewards, labels and choices.

The head says ``@type: MDP`` (or DTMC, or SMG), ``@reward_models`` with their names in the next
line, ``@nr_states``, and ends with ``@model``. Then, for each state in order, ::

    state 0 [1.5, 0] init "a label"
    //[x=0	& y=1]
        action send [0, 1/3]
            1 : 1/2
            2 : 0.5

with the rewards of the state and of the choice in brackets, one for each reward model, and the
successors. ``action __NOLABEL__``, or the number of the choice in place of a label, is a choice
without one. A comment below a state that gives the values of variables, as Storm writes it, is
the state's name: ``x=0,y=1``. Placeholders (``$0``) stand for numbers of the head.

What is no discrete-time model whose probabilities are numbers is refused by name: CTMC, Markov
automata, POMDP, parametric and interval models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from iirl_opt.checks import FLAG, PATH, checked
from iirl_opt.errors import FileProblem
from iirl_opt.formats.choices import Agent, Unavailable
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import read_number, whole_number
from iirl_opt.formats.prism.choices import MOST_STATES, READING, ChoiceModel, ChoiceReading
from iirl_opt.formats.prism.lines import check_sums, read_lines

__all__ = ["parse_drn", "read_drn"]


REFUSED = {
    "CTMC": "of continuous time",
    "MA": "of continuous time",
    "MARKOV AUTOMATON": "of continuous time",
    "POMDP": "partially observed: policies here see the state",
    "S2PG": "a game whose players alternate in a form that DRN does not say",
}

_STATE = re.compile(r"state\s+(\S+)\s*(?:\{[^}]*\}\s*)?(?:\[([^\]]*)\])?(.*)")
_ACTION = re.compile(r'action\s+("[^"]*"|[^\s\[]+)\s*(?:\[([^\]]*)\])?\s*')
_LABEL = re.compile(r'"([^"]*)"|(\S+)')


@checked(path=PATH, **READING, normalise=FLAG)
def read_drn(
    path: str | Path,
    discount: Any = None,
    *,
    agent: Agent = "follower",
    leader: Iterable[str] | None = None,
    unavailable: Unavailable = "repeat",
    absorbing: bool = False,
    normalise: bool = False,
) -> ImportedGame:
    """Read a Markov decision process, a chain or a turn-based game from a DRN file of Storm's.

    Parameters
    ----------
    path : the file.
    discount : 0 ≤ γ < 1; the file has none, so it is needed.
    agent : whose the choices are, where all are one agent's: the ``"follower"``'s, who moves after
        a leader with nothing to choose, or the ``"leader"``'s.
    leader : the action labels (or players) whose choices are the leader's, for a game of two; all
        others are the follower's. A state with choices of both is the leader's to take or leave:
        see `iirl_opt.formats.prism.choices`.
    unavailable : whether an action that a state lacks repeats one that it has, or is refused.
    absorbing : whether a state without choices stays where it is; otherwise it is an error.
    normalise : as in `TwoAgentMDP`, for exact numbers, too: files often carry six digits.

    Returns
    -------
    ImportedGame
        Rewards and labels by the names of the file; `ImportedGame.available` says which choices
        are its own. A label ``init`` marks the start, ``deadlock`` what was made absorbing.

    Raises
    ------
    FileProblem
        The first wrong line: what was found there, and what is allowed; or a kind of model that
        has no counterpart.
    InvalidGame
        A deadlock, a missing action that is to be refused, or a discount outside its range.
    InvalidArgument
        No discount.
    UnknownLabel
        `leader` names no action label.
    OSError
        The file cannot be opened.

    **Source** see the module. **Cost** arithmetic, one pass over the lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> text = '''@type: MDP
    ... @reward_models
    ... steps
    ... @nr_states
    ... 2
    ... @model
    ... state 0 [1] init
    ...     action try [0]
    ...         0 : 1/3
    ...         1 : 2/3
    ... state 1 [0] done
    ...     action __NOLABEL__ [0]
    ...         1 : 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "try.drn")
    ...     _ = path.write_text(text)
    ...     found = read_drn(path, "9/10")
    >>> found
    ImportedGame(
        TwoAgentMDP(2 states, 1×2 actions, discount=0.9, 6 transitions, rational),
        rewards: steps,
        labels: init, done,
    )
    >>> found.available[0, 0]
    array([ True, False])
    """
    path = Path(path)
    reading = ChoiceReading(discount, agent, leader, unavailable, absorbing)
    return parse_drn(path, read_lines(path), normalise=normalise).game(reading, f"DRN file {path}")


def parse_drn(
    path: Path, lines: list[str], *, floats: bool = False, normalise: bool = False
) -> ChoiceModel:
    """Return the model of the lines of a DRN file.

    Parameters
    ----------
    floats : decimals stand for the floats that they print, as those of a model of Storm's do.
    """
    return _Parser(path, lines, floats, normalise).model()


class _Parser:
    """The lines of a DRN file, read one after the other."""

    def __init__(self, path: Path, lines: list[str], floats: bool, normalise: bool) -> None:
        self.path, self.lines = path, lines
        self.floats, self.normalise = floats, normalise
        self.known: dict[str, Fraction] = {}
        self.head: dict[str, list[str]] = {}
        self.at = self._read_head()
        self.type = self._kind()
        self.rewards = self._reward_names()
        if len(set(self.rewards)) < len(self.rewards):
            double = next(x for i, x in enumerate(self.rewards) if x in self.rewards[:i])
            raise FileProblem(path, f"has two reward models called {double!r}; allowed one")
        self.n_states = self._count("@nr_states")
        self.first = 0  # the first choice of the present state
        self.state_of: list[int] = []
        self.indptr: list[int] = [0]
        self.columns: list[int] = []
        self.words: list[str] = []
        self.places: list[int] = []  # the line of each choice
        self.actions: list[str] = []
        self.labels: dict[str, list[int]] = {}
        self.comments: dict[int, str] = {}
        self.of_state: list[list[Fraction]] = []
        self.of_choice: list[list[Fraction]] = []

    def problem(self, text: str, at: int | None = None) -> FileProblem:
        """Return the error at a line, by default the present one."""
        return FileProblem(self.path, text, line=(self.at if at is None else at) + 1)

    # The head -----------------------------------------------------------------------------------

    def _read_head(self) -> int:
        """Read all before the model; return the index of its first line."""
        key = ""
        for at, line in enumerate(self.lines):
            word = line.strip()
            if word == "@model":
                return at + 1
            if line.startswith("@"):
                key, _, rest = word.partition(":")
                if key in self.head:
                    raise self.problem(f"found {key} again; allowed once", at)
                self.head[key] = [rest.strip()] if rest else []
            elif word and not word.startswith("//"):
                if not key:
                    raise self.problem(f"found {word!r}; allowed '@type: …' first", at)
                self.head[key].append(word)
        raise FileProblem(self.path, "has no @model; allowed one, after the head")

    def _kind(self) -> str:
        """Return the type of the model, or refuse one that has no counterpart."""
        found = " ".join(self.head.get("@type", [])) or "no @type"
        if reason := REFUSED.get(found.upper()):
            raise FileProblem(self.path, f"holds a {found}, {reason}; allowed MDP, DTMC or SMG")
        if found.upper() not in ("MDP", "DTMC", "SMG"):
            raise FileProblem(self.path, f"holds {found}; allowed MDP, DTMC or SMG")
        values = " ".join(self.head.get("@value_type", []))
        if "interval" in values or values == "parametric":
            raise FileProblem(self.path, f"holds {values} probabilities; allowed numbers")
        if parameters := " ".join(self.head.get("@parameters", [])):
            problem = f"has the parameters {parameters}; allowed none: give them values in Storm"
            raise FileProblem(self.path, problem)
        for line in self.head.get("@placeholders", []):
            name, _, word = line.partition(":")
            self.known[name.strip()] = self._number(word.strip(), f"of {name.strip()}")
        return found.upper()

    def _count(self, key: str) -> int:
        found = " ".join(self.head.get(key, []))
        number = whole_number(found)
        if not number or number > MOST_STATES:
            allowed = f"a whole number from 1 to {MOST_STATES:g}"
            raise FileProblem(self.path, f"has {key} {found or 'missing'}; allowed {allowed}")
        return number

    def _reward_names(self) -> list[str]:
        """Return the names of rewards; one without a name shows as a blank too many."""
        written = " ".join(self.head.get("@reward_models", []))
        rest = (_STATE.match(line) for line in self.lines[self.at :] if line.startswith("state "))
        first = next(rest, None)
        count = len(first[2].split(",")) if first and first[2] else 0
        if count == len(written.split()) + 1 and "@reward_models" in self.head:
            at = next(i for i, line in enumerate(self.lines) if line.strip() == "@reward_models")
            return [name or "reward" for name in self.lines[at + 1].removesuffix(" ").split(" ")]
        return written.split()

    # The model ----------------------------------------------------------------------------------

    def model(self) -> ChoiceModel:
        """Read the model."""
        state = -1
        for at in range(self.at, len(self.lines)):
            self.at = at
            line = self.lines[at].strip()
            if not line:
                continue
            if line.startswith("//"):
                if state >= 0:
                    self.comments.setdefault(state, line[2:].strip())
            elif line.startswith("state ") and (found := _STATE.fullmatch(line)):
                state += 1
                self._state(state, *found.groups())
            elif line.startswith("action ") and (action := _ACTION.fullmatch(line)):
                self._action(state, *action.groups())
            else:
                self._successor(line)
        if self.type == "DTMC" and len(set(self.state_of)) < len(self.state_of):
            raise FileProblem(self.path, "is a DTMC with two actions in a state; allowed one")
        if state + 1 != self.n_states:
            raise FileProblem(self.path, f"has {state + 1} states; its head says {self.n_states}")
        return self._made()

    def _state(self, state: int, number: str, rewards: str | None, labels: str) -> None:
        if number != str(state):
            raise self.problem(f"found state {number}; allowed {state}, in order and without gaps")
        self.first = len(self.state_of)
        self.of_state.append(self._rewards(rewards))
        for quoted, bare in _LABEL.findall(labels):
            self.labels.setdefault(quoted or bare, []).append(state)

    def _action(self, state: int, name: str, rewards: str | None) -> None:
        if state < 0:
            raise self.problem("found an action; allowed after a state")
        nth = len(self.state_of) - self.first
        bare = name.strip('"')
        self.actions.append("" if bare in ("__NOLABEL__", str(nth)) else bare)
        self.state_of.append(state)
        self.indptr.append(self.indptr[-1])
        self.places.append(self.at)
        self.of_choice.append(self._rewards(rewards))

    def _successor(self, line: str) -> None:
        target, colon, word = line.partition(":")
        number = whole_number(target.strip())
        if not colon or number is None or number >= self.n_states:
            allowed = "'state …', 'action …' or 'next-state : probability'"
            raise self.problem(f"found {line[:60]!r}; allowed {allowed}")
        if not self.state_of:
            raise self.problem("found a successor; allowed after an action")
        self.columns.append(number)
        self.words.append(word.strip())
        self.indptr[-1] += 1

    def _rewards(self, text: str | None) -> list[Fraction]:
        words = [word.strip() for word in text.split(",")] if text and text.strip() else []
        if len(words) != len(self.rewards) and (words or self.rewards):
            problem = f"found {len(words)} rewards; allowed {len(self.rewards)}"
            raise self.problem(f"{problem}, one for each of @reward_models")
        return [self._number(word, "as a reward") for word in words]

    def _number(self, word: str, where: str) -> Fraction:
        if word not in self.known:
            number = read_number(word)
            if number is None:
                raise self.problem(f"found {word!r} {where}; allowed a number")
            if self.floats and "/" not in word:
                number = Fraction(float(number))
            self.known[word] = number
        return self.known[word]

    def _made(self) -> ChoiceModel:
        n, n_choices = self.n_states, len(self.state_of)
        indptr, columns = np.array(self.indptr), np.array(self.columns, dtype=np.int64)
        code = {word: i for i, word in enumerate(dict.fromkeys(self.words))}
        codes = np.array([code[word] for word in self.words], dtype=np.int64)
        choice_of = np.repeat(np.arange(n_choices), np.diff(indptr))
        first = np.unique(codes, return_index=True)[1].tolist()
        numbers = []
        for word, at in zip(code, first, strict=True):
            self.at = self.places[choice_of[at]]
            number = self._number(word, "as a probability of this action")
            if not 0 <= number <= 1:
                raise self.problem(f"found {word!r} as a probability; allowed 0 ≤ p ≤ 1")
            numbers.append(number)
        wrong = check_sums(numbers, codes, choice_of, n_choices, self.normalise)
        if wrong is not None:
            raise self.problem(f"this action {wrong[1]}", self.places[wrong[0]])
        order = np.lexsort([columns, choice_of])
        twice = (np.diff(choice_of[order]) == 0) & (np.diff(columns[order]) == 0)
        if twice.any():
            k = int(choice_of[order][1:][twice][0])
            raise self.problem("this action has a successor twice; allowed once", self.places[k])
        kept = order[np.array([p > 0 for p in numbers], dtype=bool)[codes[order]]]
        labels = {name: np.isin(np.arange(n), marked) for name, marked in self.labels.items()}
        start = labels.get("init", np.arange(n) == 0)
        return ChoiceModel(
            self.path,
            n,
            np.array(self.state_of, dtype=np.int64),
            np.concatenate([[0], np.cumsum(np.bincount(choice_of[kept], minlength=n_choices))]),
            columns[kept],
            codes[kept],
            numbers,
            None if self.type == "DTMC" else self.actions,
            start,
            _state_names(self.comments, n),
            labels,
            self._by_name(self.of_state),
            self._by_name(self.of_choice),
        )

    def _by_name(self, rewards: list[list[Fraction]]) -> dict[str, Any]:
        """Return rewards by the names of their structures, object arrays."""
        table = np.empty((len(rewards), len(self.rewards)), dtype=object)
        if self.rewards:
            table[:] = rewards
        return {name: table[:, i] for i, name in enumerate(self.rewards)}


def _state_names(comments: dict[int, str], n_states: int) -> list[str] | None:
    """Return the names of states that comments below them are, or None if they are no such."""
    found = [re.fullmatch(r"\[(.*)\]", comments.get(s, "")) for s in range(n_states)]
    if not all(found):
        return None
    values = [[part.strip() for part in match[1].split("&")] for match in found if match]
    width = len(values[0])
    if any(len(row) != width for row in values):
        return None
    # Of a truth value that is true Storm writes the name, or nothing; of a false one, !name.
    names = [
        next((row[i][1:] for row in values if row[i].startswith("!")), "") for i in range(width)
    ]
    if any(not name and any(not row[i] for row in values) for i, name in enumerate(names)):
        return None
    written = [
        ",".join(_value(part, name) for part, name in zip(row, names, strict=True))
        for row in values
    ]
    return written if len(set(written)) == n_states else None


def _value(part: str, name: str) -> str:
    """Return the value of a variable as name=value."""
    if "=" in part:
        return part
    return f"{part[1:]}=false" if part.startswith("!") else f"{part or name}=true"

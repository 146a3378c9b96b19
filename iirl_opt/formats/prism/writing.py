"""Games written as PRISM's explicit files and as DRN.

A choice is a pair of actions that is available: of a game that a door brought in, the choices that
its source has. Its label is the action of the agent that chooses; ``leader,follower`` where both
do. A start that several states share must be the same on all of them: neither form can say more.
Neither holds a discount.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, PATH, checked
from iirl_opt.errors import InvalidArgument, InvalidGame
from iirl_opt.exact.rows import ExactRows
from iirl_opt.files import write_text, writing
from iirl_opt.formats.choices import IDLE
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import number_text
from iirl_opt.formats.prism.choices import action_name
from iirl_opt.formats.prism.explicit import check_beside
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["write_drn", "write_explicit"]

Array = NDArray[np.float64]

# Characters that no action may have: a blank ends its name, a bracket begins its rewards.
_UNWRITTEN = re.compile(r"[\s\[\]]")


@checked(path=PATH, decimals=FLAG)
def write_explicit(
    problem: ImportedGame | TwoAgentMDP, path: str | Path, *, decimals: bool = False
) -> Path:
    """Write a game as PRISM's explicit files; return the path of the ``.tra`` file.

    Beside it stand ``.lab`` with the start and the labels, ``.srew`` and ``.trew`` with the
    rewards, numbered if there are several, and ``.sta`` if all states are called by values of
    variables, ``x=0,y=1``; other names are not kept.

    Parameters
    ----------
    path : of the ``.tra`` file.
    decimals : write decimals of 17 digits, for programs that read no fractions. By default a
        probability that is no short decimal is a fraction, and the kernel is read again as it was.

    Raises
    ------
    InvalidArgument
        The path has another suffix, or a file stands beside it that would be read with these and
        is none of them, or a model with which these would be read; an action or a reward has a name
        that cannot be written.
    InvalidGame
        The start is not the same on all its states.
    OSError
        A file cannot be written.

    **Cost** arithmetic.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> game = TwoAgentMDP([[[[1, 2], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", [1, 0])
    >>> with TemporaryDirectory() as folder:
    ...     print(write_explicit(game, Path(folder, "door.tra")).read_text())
    2 4 5
    0 0 0 1/3 0
    0 0 1 2/3 0
    0 1 1 1 1
    1 0 1 1 0
    1 1 1 1 1
    <BLANKLINE>
    """
    path, model = Path(path), _Listed.of(problem)
    if path.suffix.lower() != ".tra":
        raise InvalidArgument("path", f"ends with {path.suffix or 'no suffix'!r}", "'.tra'", path)
    texts = {path: model.transitions(decimals), path.with_suffix(".lab"): model.label_lines()}
    variables = _variables(model.game.states)
    if variables is not None:
        head = f"({','.join(variables[0])})"
        rows = [f"{s}:({','.join(values)})" for s, values in enumerate(variables[1])]
        texts[path.with_suffix(".sta")] = [head, *rows]
    for number, (name, reward) in enumerate(model.rewards.items(), start=1):
        stem = path.stem if len(model.rewards) == 1 else f"{path.stem}{number}"
        ending, lines = model.reward_lines(name, reward)
        texts[path.with_name(stem + ending)] = lines
    # Files of a model that is not there are nobody's: they are not replaced either.
    check_beside(path, texts if path.exists() else ())
    check_beside(path, texts)
    with ExitStack() as stack:
        for file, lines in texts.items():
            part = stack.enter_context(writing(file))
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@checked(path=PATH)
def write_drn(problem: ImportedGame | TwoAgentMDP, path: str | Path) -> Path:
    """Write a game as a DRN file of Storm's; return its path.

    Names of states are kept, as comments, if all are values of variables: ``x=0,y=1``.

    Raises
    ------
    InvalidArgument
        An action, a label or a reward has a name that cannot be written.
    InvalidGame
        The start is not the same on all its states.
    OSError
        The file cannot be written.

    **Source** the writer of Storm. **Cost** arithmetic.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> game = TwoAgentMDP([[[[1, 2], [0, 1]]], [[[0, 1], [0, 1]]]], "1/2", [1, 0])
    >>> with TemporaryDirectory() as folder:
    ...     written = write_drn(ImportedGame(game, {"r": [0.5, 0]}), Path(folder, "door.drn"))
    ...     print(*written.read_text().expandtabs(4).splitlines()[-6:], sep="\\n")
            1 : 1
    state 1 [0]
        action 0 [0]
            1 : 1
        action 1 [0]
            1 : 1
    """
    return write_text(path, "".join(f"{line}\n" for line in _Listed.of(problem).drn()))


@dataclass(frozen=True, eq=False)
class _Listed:
    """A game by its choices: row of the kernel, state and label of each, (C,)."""

    game: TwoAgentMDP
    rewards: Mapping[str, Array]
    labels: Mapping[str, NDArray[np.bool_]]
    kernel: ExactRows
    rows: NDArray[np.int64]
    state_of: NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, problem: ImportedGame | TwoAgentMDP) -> _Listed:
        found = ImportedGame.of(problem)
        game = found.game
        weights = {p for p in game.exact_start if p}
        if len(weights) > 1:
            raise InvalidGame("start", "differs between its states", "one state, or several alike")
        labels = {"init": game.start > 0, **{k: v for k, v in found.labels.items() if k != "init"}}
        for what, given in (("labels", [*labels]), ("rewards", [*found.rewards])):
            for name in given:
                if '"' in name or "\n" in name or not name:
                    allowed = "a name without quotation marks"
                    raise InvalidArgument(f"{what}[{name!r}]", "cannot be written", allowed, name)
        available = np.ones(game.shape, bool) if found.available is None else found.available
        rows = np.flatnonzero(available)
        state_of, choice = np.divmod(rows, game.n_choices)
        names = _labels_of(game, state_of, choice)
        return cls(game, found.rewards, labels, game.rational.rows, rows, state_of, names)

    def successors(self, row: int) -> list[tuple[int, Fraction]]:
        """Return the successors of a row of the kernel with their probabilities."""
        kernel = self.kernel
        span = slice(int(kernel.indptr[row]), int(kernel.indptr[row + 1]))
        below = int(kernel.denominators[row])
        pairs = zip(kernel.indices[span].tolist(), kernel.numerators[span].tolist(), strict=True)
        return [(column, Fraction(n, below)) for column, n in pairs if n]

    @property
    def is_chain(self) -> bool:
        """Whether there is nothing to choose."""
        return self.game.n_choices == 1

    def choices(self) -> Iterator[tuple[int, int, int, str]]:
        """Return state, number in the state, row and label of each choice."""
        last, nth = -1, 0
        for state, row, name in zip(
            self.state_of.tolist(), self.rows.tolist(), self.names, strict=True
        ):
            nth = nth + 1 if state == last else 0
            last = state
            yield state, nth, row, name

    def transitions(self, decimals: bool) -> list[str]:
        """Return the lines of a ``.tra`` file."""
        write = _nearest if decimals else _in_full
        lines = []
        for state, nth, row, name in self.choices():
            begin = f"{state}" if self.is_chain else f"{state} {nth}"
            end = "" if self.is_chain or not name else f" {name}"
            lines += [f"{begin} {t} {write(p)}{end}" for t, p in self.successors(row)]
        counts = [self.game.n_states, *([] if self.is_chain else [self.rows.size]), len(lines)]
        return [" ".join(map(str, counts)), *lines]

    def label_lines(self) -> list[str]:
        """Return the lines of a ``.lab`` file."""
        head = " ".join(f'{i}="{name}"' for i, name in enumerate(self.labels))
        marks = np.array(list(self.labels.values()))
        rows = [(s, np.flatnonzero(marks[:, s]).tolist()) for s in range(self.game.n_states)]
        return [head, *(f"{s}: {' '.join(map(str, found))}" for s, found in rows if found)]

    def reward_lines(self, name: str, reward: Array) -> tuple[str, list[str]]:
        """Return the ending and the lines of a file of rewards."""
        title, n = f'# Reward structure "{name}"', self.game.n_states
        if reward.ndim == 1:
            found = np.flatnonzero(reward).tolist()
            lines = [f"{s} {float(reward[s])!r}" for s in found]
            return ".srew", [title, "# State rewards", f"{n} {len(found)}", *lines]
        flat, lines = reward.ravel(), []
        for state, nth, row, _ in self.choices():
            if earned := float(flat[row]):
                begin = f"{state}" if self.is_chain else f"{state} {nth}"
                lines += [f"{begin} {t} {earned!r}" for t, _ in self.successors(row)]
        counts = [n, *([] if self.is_chain else [self.rows.size]), len(lines)]
        return ".trew", [title, "# Transition rewards", " ".join(map(str, counts)), *lines]

    def drn(self) -> Iterator[str]:
        """Return the lines of a DRN file."""
        game, rewards = self.game, list(self.rewards.values())
        for name in self.rewards:
            if re.search(r"\s", name):
                allowed = "a name without blanks"
                raise InvalidArgument(f"rewards[{name!r}]", "cannot be written", allowed, name)
        yield f"@type: {'DTMC' if self.is_chain else 'MDP'}"
        yield from ("@value_type: rational", "@parameters", "", "@reward_models")
        yield " ".join(self.rewards)
        yield from ("@nr_states", f"{game.n_states}", "@nr_choices", f"{self.rows.size}", "@model")
        variables, last = _variables(game.states), -1
        for state, _, row, name in self.choices():
            if state != last:
                last = state
                marks = [
                    f'"{k}"' if re.search(r"\s", k) else k
                    for k, v in self.labels.items()
                    if v[state]
                ]
                earned = _bracket(r[state] if r.ndim == 1 else 0.0 for r in rewards)
                yield " ".join([f"state {state}{earned}", *marks])
                if variables is not None:
                    pairs = zip(variables[0], variables[1][state], strict=True)
                    yield f"//[{'	& '.join(f'{k}={v}' for k, v in pairs)}]"
            earned = _bracket(0.0 if r.ndim == 1 else r.ravel()[row] for r in rewards)
            yield f"\taction {name or '__NOLABEL__'}{earned}"
            yield from (f"\t\t{t} : {_in_full(p)}" for t, p in self.successors(row))


def _labels_of(
    game: TwoAgentMDP, state_of: NDArray[np.int64], choice: NDArray[np.int64]
) -> list[str]:
    """Return the label of each choice, "" for one that says no more than its number."""
    table = {}
    for k, (a, b) in enumerate((a, b) for a in game.leader_actions for b in game.follower_actions):
        said = (
            [a] if game.n_follower_actions == 1 else [b] if game.n_leader_actions == 1 else [a, b]
        )
        table[k] = ",".join(str(name) for name in said if name != IDLE) or IDLE
    written = {k: _UNWRITTEN.sub("_", name) for k, name in table.items()}
    if len(set(written.values())) < len(written):
        double = next(n for k, n in written.items() if list(written.values()).count(n) > 1)
        raise InvalidArgument("problem", f"has two actions written {double!r}", "distinct names")
    names, last, had = [], -1, Counter[str]()
    for state, k in zip(state_of.tolist(), choice.tolist(), strict=True):
        had = had if state == last else Counter()
        last = state
        # The name that a reader makes of a label that comes again: see `choices`.
        label = "" if table[k].startswith("choice ") else table[k].rpartition("#")[0] or table[k]
        if action_name(label, had[label]) != table[k] or _UNWRITTEN.search(label):
            label = written[k]
        had[label] += 1
        names.append(label)
    return names


def _variables(states: Any) -> tuple[list[str], list[list[str]]] | None:
    """Return variables and their values in each state, if states are called by them."""
    if not all(isinstance(name, str) and "=" in name for name in states):
        return None
    pairs = [[part.partition("=") for part in name.split(",")] for name in states]
    variables = [name for name, _, _ in pairs[0]]
    word = re.compile(r"\w+=-?[\w./]+")
    for name, row in zip(states, pairs, strict=True):
        if [x for x, _, _ in row] != variables or not all(map(word.fullmatch, name.split(","))):
            return None
    return variables, [[value for _, _, value in row] for row in pairs]


def _in_full(number: Fraction) -> str:
    """Return a number exactly."""
    return number_text(number, 17)


def _nearest(number: Fraction) -> str:
    """Return the shortest decimal that reads as the float nearest to a number."""
    return repr(float(number))


def _bracket(rewards: Any) -> str:
    """Return rewards as DRN has them, each as the decimal that it prints as."""
    words = [_in_full(Fraction(repr(float(x)))) for x in rewards]
    return f" [{', '.join(words)}]" if words else ""

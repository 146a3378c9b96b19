"""PRISM's explicit files: ``.tra`` and, beside it, ``.sta``, ``.lab``, ``.srew`` and ``.trew``.

* ``die.tra``: a line for each transition, ``state choice next-state probability [action]``, or
  without the choice in a Markov chain. PRISM begins with a line of counts (states, choices,
  transitions; of a chain, states and transitions), Storm with ``mdp`` or ``dtmc``; neither must be.
* ``die.sta``: ``(s,d)``, the variables; then ``0:(0,0)``, their values in each state. States are
  called ``s=0,d=0``; without the file, by their numbers.
* ``die.lab``: ``0="init" 1="done"``, then ``5: 0 1`` as PRISM writes them; or between
  ``#DECLARATION`` and ``#END`` the names, then ``5 init done`` as Storm does. The states of
  ``init`` are the start, all alike; without them, state 0.
* ``die.srew``, ``die.trew``: ``state reward`` and ``state choice next-state reward``, after a line
  of counts or without. Several reward structures have ``die1.srew``, ``die2.srew`` …, or
  ``die.NAME.srew``; a line ``# Reward structure "NAME"`` names one. ``.state.rew`` and
  ``.trans.rew`` are other endings of the same. A structure without a name is called ``reward``,
  or ``reward 2`` and so on where there are more. Where ``die2.tra`` exists too, ``die2.srew`` and
  ``die21.srew`` belong to it: a file belongs to the model of the longest name.

Other lines that begin with ``#`` and blank ones are skipped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iirl_opt.checks import FLAG, PATH, checked
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.formats.choices import Agent, Unavailable
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.numbers import read_number, whole_number
from iirl_opt.formats.prism.choices import MOST_STATES, READING, ChoiceModel, ChoiceReading
from iirl_opt.formats.prism.lines import WordTable, check_sums, read_lines

__all__ = ["check_beside", "read_explicit"]

Integers = NDArray[np.int64]

REWARDS = (".state.rew", ".trans.rew", ".srew", ".trew")

# What stands where a chain may have an action, and is rather a wrong probability.
_LIKE_A_NUMBER = re.compile(r"[-+.]*[0-9]|[-+.]?(nan|inf|infinity)$", re.IGNORECASE)


@checked(path=PATH, **READING, normalise=FLAG)
def read_explicit(
    path: str | Path,
    discount: Any = None,
    *,
    agent: Agent = "follower",
    leader: Iterable[str] | None = None,
    unavailable: Unavailable = "repeat",
    absorbing: bool = False,
    normalise: bool = False,
) -> ImportedGame:
    """Read a Markov decision process or chain from PRISM's explicit files.

    Parameters
    ----------
    path : the ``.tra`` file; what stands beside it by the same name is read too.
    discount, agent, leader, unavailable, absorbing, normalise : see `read_drn`.

    Raises
    ------
    FileProblem
        The first wrong line of a file: what was found there, and what is allowed.
    InvalidGame, InvalidArgument, UnknownLabel
        As of `read_drn`.
    OSError
        The file cannot be opened.

    **Source** see the module. **Cost** arithmetic, one pass over the lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin.tra")
    ...     _ = path.write_text("0 0 0 1/3 toss\\n0 0 1 2/3 toss\\n0 1 0 1 wait\\n1 0 1 1\\n")
    ...     _ = path.with_suffix(".srew").write_text("1 1.5\\n")
    ...     found = read_explicit(path, "9/10")
    >>> found.game.follower_actions, found.reward()
    (('toss', 'wait', 'choice 0'), array([0. , 1.5]))
    """
    path = Path(path)
    transitions = _read_transitions(path, normalise)
    n = transitions.n_states
    states = _read_states(path.with_suffix(".sta"), n)
    labels = _read_labels(path.with_suffix(".lab"), n)
    start = labels.get("init")
    if start is None or not start.any():
        start = np.arange(n) == 0
    state_rewards, choice_rewards = _read_rewards(path, transitions)
    model = ChoiceModel(
        path,
        n,
        transitions.state_of,
        transitions.indptr,
        transitions.columns,
        transitions.codes,
        transitions.numbers,
        transitions.actions,
        start,
        states,
        labels,
        state_rewards,
        choice_rewards,
    )
    reading = ChoiceReading(discount, agent, leader, unavailable, absorbing)
    return model.game(reading, f"explicit files {path}")


class Transitions(NamedTuple):
    """What a ``.tra`` file says; `number_of` is the number that each choice has in its state."""

    n_states: int
    state_of: Integers
    number_of: Integers
    indptr: Integers
    columns: Integers
    codes: Integers
    numbers: list[Fraction]
    actions: list[str] | None


def _table(path: Path) -> WordTable:
    """Return the lines of a file that say something."""
    said = [
        (number, words)
        for number, line in enumerate(read_lines(path), start=1)
        if (words := line.split()) and not words[0].startswith("#")
    ]
    return WordTable(path, [number for number, _ in said], [words for _, words in said])


def _read_transitions(path: Path, normalise: bool) -> Transitions:
    table, counts, nondeterministic = _without_head(_table(path))
    width = 4 if nondeterministic else 3
    for row, words in enumerate(table.words):
        if not width <= len(words) <= width + 1:
            form = "state choice next-state probability" if width == 4 else "state next-state p"
            problem = f"found {len(words)} words; allowed {width} or {width + 1}: {form} [action]"
            raise table.problem(row, None, problem)
        if width == 3 and len(words) > 3 and _LIKE_A_NUMBER.match(words[3]):
            problem = f"found {words[3]!r}; allowed a probability, or an action of a chain"
            raise table.problem(row, 3, f"{problem}, which begins with a letter")
    size = counts[0] if counts else None
    source, target = table.whole(0, "state", size), table.whole(width - 2, "state", size)
    number = table.whole(1, "choice") if nondeterministic else np.zeros_like(source)
    numbers, codes = table.column(width - 1, _probability, "a probability, 0 ≤ p ≤ 1")
    table.refuse_doubles(source, number, target, what="this transition")
    n_states = size or int(max(source.max(), target.max())) + 1
    if n_states > MOST_STATES:
        raise FileProblem(path, f"has {n_states:g} states; allowed up to {MOST_STATES:g}")
    order = np.lexsort([target, number, source])
    source, number, target, codes = (x[order] for x in (source, number, target, codes))
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = (np.diff(source) != 0) | (np.diff(number) != 0)
    choice = np.cumsum(begins) - 1
    has = [n_states, int(choice[-1]) + 1, len(table.words)]
    _check_counts(path, counts, has if nondeterministic else has[::2])
    wrong = check_sums(numbers, codes, choice, has[1], normalise)
    if wrong is not None:
        last = int(order[choice == wrong[0]].max())
        place = f"state {source[choice == wrong[0]][0]}, choice {number[choice == wrong[0]][0]}"
        raise table.problem(last, None, f"{place} {wrong[1]}")
    actions = _actions(table, order, begins, choice, width) if nondeterministic else None
    kept = np.array([p > 0 for p in numbers], dtype=bool)[codes]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(choice[kept]))])
    at = np.flatnonzero(begins)
    return Transitions(
        n_states, source[at], number[at], indptr, target[kept], codes[kept], numbers, actions
    )


def _check_counts(path: Path, said: Sequence[int], has: Sequence[int]) -> None:
    """Refuse a file whose line of counts says others than it has, of those that it says."""
    if said and list(said) != list(has):
        found, known = (" ".join(map(str, counts)) for counts in (said, has))
        raise FileProblem(path, f"has the counts {found} in its head; allowed {known}, as below")


def _probability(word: str) -> Fraction | None:
    number = read_number(word)
    return number if number is not None and 0 <= number <= 1 else None


def _without_head(table: WordTable) -> tuple[WordTable, list[int], bool]:
    """Return the transitions alone, the counts of the first line, and whether there are choices."""
    words, at = list(table.words), list(table.at)
    kind = words[0][0].lower() if words and len(words[0]) == 1 else ""
    if kind.isalpha():
        if kind not in ("mdp", "dtmc"):
            raise table.problem(0, 0, f"found {words[0][0]!r}; allowed 'mdp' or 'dtmc'")
        words, at = words[1:], at[1:]
    counts: list[int] = []
    if len(words) > 1 and len(words[0]) < len(words[1]) and len(words[0]) in (2, 3):
        found = [whole_number(word) for word in words[0]]
        # Of a chain whose transitions have actions from the second line on, the first is none.
        chain = len(words[0]) == 3 and read_number(words[1][3]) is None
        if None not in found and not chain:
            counts = [x for x in found if x is not None]
            words, at = words[1:], at[1:]
    if not words:
        raise FileProblem(table.path, "has no transition; allowed one or more")
    if counts:
        choices = len(counts) == 3
    elif kind:
        choices = kind == "mdp"
    else:
        # The fourth word of a choice's transition is a number, that of a chain's an action.
        choices = len(words[0]) > 3 and read_number(words[0][3]) is not None
    return WordTable(table.path, at, words), counts, choices


def _actions(
    table: WordTable, order: Integers, begins: NDArray[np.bool_], choice: Integers, width: int
) -> list[str]:
    """Return the action of each choice, which its transitions agree on."""
    said = [words[width] if len(words) > width else "" for words in table.words]
    first = order[begins]
    for row, k in zip(order.tolist(), choice.tolist(), strict=True):
        if said[row] != said[first[k]]:
            found = f"found the action {said[row]!r}"
            raise table.problem(row, width, f"{found}; allowed {said[first[k]]!r}, as before")
    return [said[row] for row in first.tolist()]


def _read_states(path: Path, n_states: int) -> list[str] | None:
    """Return the names of states, or None without a file of them."""
    if not path.exists():
        return None
    variables: list[str] = []
    names: dict[int, str] = {}
    for at, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        head, colon, values = line.rpartition(":") if variables else ("", "", line)
        found = re.fullmatch(r"\s*\((.*)\)\s*", values)
        words = [word.strip() for word in found[1].split(",")] if found else []
        if not variables:
            if not found or not all(words):
                raise FileProblem(path, "found no list of variables; allowed (s,d)", line=at)
            variables = words
            continue
        state = whole_number(head.strip())
        if not colon or state is None or state >= n_states or state in names:
            known = f"a state from 0 to {n_states - 1}, each once: 0:(0,0)"
            raise FileProblem(path, f"found {head.strip()!r}; allowed {known}", line=at)
        if len(words) != len(variables):
            problem = f"found {len(words)} values; allowed {len(variables)}, one a variable"
            raise FileProblem(path, problem, line=at)
        pairs = zip(variables, words, strict=True)
        names[state] = ",".join(f"{name}={value}" for name, value in pairs)
    if len(names) != n_states:
        raise FileProblem(path, f"names {len(names)} states; allowed {n_states}, as in the .tra")
    return [names[s] for s in range(n_states)]


def _read_labels(path: Path, n_states: int) -> dict[str, NDArray[np.bool_]]:
    """Return the sets of states of a ``.lab`` file, none without one."""
    if not path.exists():
        return {}
    lines = [(at, line.strip()) for at, line in enumerate(read_lines(path), start=1)]
    lines = [(at, line) for at, line in lines if line]
    declared: list[tuple[str, str]] = []  # what a line says for a label, and its name
    if lines and lines[0][1] == "#DECLARATION":
        end = next((i for i, (_, line) in enumerate(lines) if line == "#END"), None)
        if end is None:
            raise FileProblem(path, "has no #END; allowed one, after the names of labels")
        declared = [(name, name) for _, line in lines[1:end] for name in line.split()]
        lines = lines[end + 1 :]
    elif lines:
        declared = re.findall(r'([0-9]+)="([^"]*)"', lines[0][1])
        if not re.fullmatch(r'([0-9]+="[^"]*"\s*)+', lines[0][1]):
            forms = '0="init" 1="deadlock" …, or #DECLARATION'
            raise FileProblem(path, f"found no labels; allowed {forms}", line=lines[0][0])
        lines = lines[1:]
    for said, what in zip(zip(*declared, strict=True), ("numbered", "called"), strict=False):
        double = next((x for i, x in enumerate(said) if x in said[:i]), None)
        if double is not None:
            raise FileProblem(path, f"has two labels {what} {double!r}; allowed one")
    names = dict(declared)
    marks = {name: np.zeros(n_states, dtype=bool) for name in names.values()}
    for at, line in lines:
        head, *rest = line.replace(":", " ", 1).split()
        state = whole_number(head)
        if state is None or state >= n_states:
            problem = f"found {head!r}; allowed a state from 0 to {n_states - 1}"
            raise FileProblem(path, problem, line=at)
        for word in rest:
            if word not in names:
                known = ", ".join(names)
                raise FileProblem(path, f"found {word!r}; allowed one of {known}", line=at)
            marks[names[word]][state] = True
    return marks


# Rewards ----------------------------------------------------------------------------------------


def _read_rewards(
    path: Path, transitions: Transitions
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the rewards of states and of choices by name."""
    files = _reward_files(path)
    states: dict[str, NDArray[Any]] = {}
    choices: dict[str, NDArray[Any]] = {}
    unnamed = 0
    for between, pair in files.items():
        said = [name for file in pair if (name := _reward_name(file)) is not None]
        name = said[0] if said else between
        if not name or (not said and name.isdecimal()):
            unnamed += 1
            name = "reward" if unnamed == 1 else f"reward {unnamed}"
        if name in states or name in choices:
            raise FileProblem(pair[0], f"is a second reward structure {name!r}; allowed one")
        for file in pair:
            if file.name.endswith((".srew", ".state.rew")):
                states[name] = _read_state_rewards(file, transitions.n_states)
            else:
                choices[name] = _read_choice_rewards(file, transitions)
    return states, choices


def check_beside(path: Path, written: Collection[Path]) -> None:
    """Refuse to write a ``.tra`` file, and others with it, that would be read as another model.

    Raises
    ------
    InvalidArgument
        A file stands beside it that would be read with it and is not written; or it would be read
        without one that is written, which would belong to another model.
    """
    fixed = [path.with_suffix(ending) for ending in (".sta", ".lab")]
    rewards = [file for files in _reward_files(path).values() for file in files]
    allowed = "another name, or that file moved away"
    for file in [file for file in fixed if file.exists()] + rewards:
        if file not in written:
            problem = f"has {file.name} beside it, which would be read with it"
            raise InvalidArgument("path", problem, allowed, path)
    for file in written:
        ending = next((e for e in REWARDS if file.name.endswith(e)), None)
        owner = path if ending is None else _owner(path, file.name.removesuffix(ending))
        if owner != path:
            problem = f"has {owner.name} beside it, with which {file.name} would be read"
            raise InvalidArgument("path", problem, allowed, path)


def _owner(path: Path, stem: str) -> Path:
    """Return the ``.tra`` file that rewards of a name belong to: of the longest, or a new one."""
    longer = (path.with_name(f"{stem[:n]}.tra") for n in range(len(stem), len(path.stem), -1))
    return next((other for other in longer if other.exists()), path)


def _reward_files(path: Path) -> dict[str, list[Path]]:
    """Return the files of rewards that belong to a ``.tra`` file, by what is between the names."""
    files = defaultdict(list)
    for file in sorted(path.parent.glob(f"{_literal(path.stem)}*rew")):
        ending = next((e for e in REWARDS if file.name.endswith(e)), None)
        if ending is None:
            continue
        stem = file.name.removesuffix(ending)
        between = stem.removeprefix(path.stem)
        if _owner(path, stem) == path and (not between or re.match(r"\.|[0-9]+$", between)):
            files[between.removeprefix(".")].append(file)
    return dict(sorted(files.items(), key=lambda item: (len(item[0]), item[0])))


def _literal(text: str) -> str:
    """Return a pattern of file names that means the text itself."""
    return re.sub(r"([*?[])", r"[\1]", text)


def _reward_name(path: Path) -> str | None:
    """Return the name that a file of rewards gives its structure, if it does."""
    for line in read_lines(path):
        if found := re.match(r'\s*#\s*Reward structure\s+"([^"]+)"', line):
            return found[1]
    return None


def _reward_table(
    path: Path, n_states: int, width: int, form: str
) -> tuple[WordTable, list[Fraction]]:
    """Return the lines of a file of rewards without its counts, and the reward of each."""
    table = _table(path)
    # No state has the number of all: so the line of counts can be told from the others.
    if table.words and table.words[0][0] == str(n_states) and len(table.words[0]) <= width:
        counts = [whole_number(word) for word in table.words[0]]
        if len(counts) > 1 and counts[-1] != len(table.words) - 1:
            problem = f"found {table.words[0][-1]} rewards in the line of counts"
            raise table.problem(0, len(counts) - 1, f"{problem}; allowed {len(table.words) - 1}")
        table = WordTable(path, table.at[1:], table.words[1:])
    for row, words in enumerate(table.words):
        if len(words) != width:
            raise table.problem(row, None, f"found {len(words)} words; allowed {width}: {form}")
    meant, codes = table.column(width - 1, read_number, "a number")
    return table, [meant[k] for k in codes.tolist()]


def _read_state_rewards(path: Path, n_states: int) -> NDArray[Any]:
    table, given = _reward_table(path, n_states, 2, "state reward")
    state = table.whole(0, "state", n_states)
    table.refuse_doubles(state, what="the reward of this state")
    rewards = np.full(n_states, Fraction(0), dtype=object)
    rewards[state] = given
    return rewards


def _read_choice_rewards(path: Path, transitions: Transitions) -> NDArray[Any]:
    """Return the expected rewards of a file of transitions', (C,)."""
    chain = transitions.actions is None
    form = "state next-state reward" if chain else "state choice next-state reward"
    width, n = len(form.split()), transitions.n_states
    table, given = _reward_table(path, n, width, form)
    source, target = table.whole(0, "state", n), table.whole(width - 2, "state", n)
    number = np.zeros_like(source) if chain else table.whole(1, "choice")
    table.refuse_doubles(source, number, target, what="the reward of this transition")
    spans = np.diff(transitions.indptr)
    choice_of = np.repeat(np.arange(spans.size), spans)
    keys = zip(
        transitions.state_of[choice_of].tolist(),
        transitions.number_of[choice_of].tolist(),
        transitions.columns.tolist(),
        strict=True,
    )
    place = {key: i for i, key in enumerate(keys)}
    rewards = np.full(spans.size, Fraction(0), dtype=object)
    total = np.full(spans.size, Fraction(0), dtype=object)
    for i, k in enumerate(transitions.codes.tolist()):
        total[choice_of[i]] += transitions.numbers[k]
    found = zip(source.tolist(), number.tolist(), target.tolist(), strict=True)
    for row, (key, reward) in enumerate(zip(found, given, strict=True)):
        at = place.get(key)
        if at is None:
            raise table.problem(row, None, f"found {key}; allowed a transition of the .tra file")
        k = choice_of[at]
        rewards[k] += transitions.numbers[transitions.codes[at]] * reward / total[k]
    return rewards

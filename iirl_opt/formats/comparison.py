"""What a file keeps of a problem: it is written, read back, and what differs is said in words.

Three things may become of what a problem holds. It is *lost* where a kind of file has no place for
it, such as names or sets of states: the game is the same. It is *rounded* where its numbers stand
in the file up to rounding. And the game is *another* where anything else differs: then the file is
not what was asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iirl_opt.errors import FileProblem, InvalidGame
from iirl_opt.formats.dpomdp.problem import DecPOMDP
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.game.mdp import TwoAgentMDP

__all__ = ["Differences", "differences", "write_compared"]

Array = NDArray[np.float64]

ROUNDING = 1e-12  # of a number that is the same up to rounding, as a share of the largest


@dataclass(frozen=True)
class Differences:
    """What differs between a problem and what a file makes of it, in words.

    Attributes
    ----------
    lost : what the file has no place for.
    rounded : the numbers that it holds up to rounding.
    another : what makes it another problem.
    """

    lost: tuple[str, ...] = ()
    rounded: tuple[str, ...] = ()
    another: tuple[str, ...] = ()


def differences(one: ImportedGame, two: ImportedGame) -> Differences:
    """Return what differs between a problem and another that should be the same.

    Rewards are matched by their names, or by their order where there are as many of other names.

    **Cost** arithmetic.
    """
    if one.game.shape != two.game.shape:
        shapes = "(states, leader's actions, follower's actions)"
        return Differences(another=(f"{shapes} are {two.game.shape}, not {one.game.shape}",))
    lost: list[str] = [*_other_names(one.game, two.game), *_other_labels(one, two)]
    if _is_entering(one) and not _is_entering(two):
        lost.append("values: that rewards for entering a state count from the next step on is lost")
    rounded: list[str] = []
    another: list[str] = []
    if (one.available is not None) and not np.array_equal(one.available, _available(two)):
        count = int(one.available.sum())
        lost.append(f"choices: that {count} of {one.available.size} are the source's own is lost")
    matched, said = _matched(one, two)
    lost += said
    for what, mine, theirs in (
        *_other_numbers(one.game, two.game),
        *_other_rewards(one, two, matched),
    ):
        off = float(abs(mine - theirs).max(initial=0.0))
        much = f"up to {off:.3g}" if off else "less than floats tell"
        if off > ROUNDING * float(abs(mine).max(initial=0.0)):
            another.append(f"{what}: off by {much}")
        else:
            rounded.append(f"{what}: rounded, by {much}")
    return Differences(tuple(lost), tuple(rounded), tuple(another))


def _other_numbers(one: TwoAgentMDP, two: TwoAgentMDP) -> Iterator[tuple[str, Array, Array]]:
    """Yield the numbers of games that are not equal exactly, as floats, which may be."""
    if one.fingerprint == two.fingerprint:
        return
    kernels = [game.starting_at(None).discounted(0) for game in (one, two)]
    if kernels[0] != kernels[1]:
        mine, theirs = csr_array(one.matrix), csr_array(two.matrix)
        gap = (mine - theirs).tocoo()
        rows = np.asarray(mine.max(axis=1).todense()).ravel()
        yield "probabilities", rows[gap.row], rows[gap.row] - gap.data
    if one.exact_discount != two.exact_discount:
        # A discount counts by its steps, 1 / (1 − γ).
        steps = (1 - one.exact_discount) / (1 - two.exact_discount)
        yield "discount", np.ones(1), np.array([float(steps)])
    if one.exact_start != two.exact_start:
        yield "start", one.start, two.start


def _other_rewards(
    one: ImportedGame, two: ImportedGame, matched: list[tuple[str, str]]
) -> Iterator[tuple[str, Array, Array]]:
    """Yield the rewards that are not equal, each pair in one shape."""
    for name, other in matched:
        pair = [one.rewards[name], two.rewards[other]]
        if pair[0].shape != pair[1].shape:
            pair = [r if r.ndim == 3 else _by_choice(r, one.game.shape) for r in pair]
        if (pair[0] != pair[1]).any():
            yield f"reward {name!r}", pair[0], pair[1]


def _by_choice(reward: Array, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(reward[:, None, None], shape)


def _matched(one: ImportedGame, two: ImportedGame) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the pairs of rewards that should be equal, and what there is to say of the others."""
    mine, theirs = list(one.rewards), list(two.rewards)
    if len(mine) == len(theirs) and mine != theirs and set(mine) != set(theirs):
        pairs = list(zip(mine, theirs, strict=True))
    else:
        pairs = [(name, name) for name in mine if name in two.rewards]
    said = [f"reward {a!r}: is called {b!r}" for a, b in pairs if a != b]
    kept, known = {a for a, _ in pairs}, {b for _, b in pairs}
    said += [f"reward {name!r}: is lost" for name in mine if name not in kept]
    for name in theirs:
        if name not in known:
            zero = "" if two.rewards[name].any() else ", 0 everywhere"
            said.append(f"reward {name!r}{zero}: stands where there is none")
    return pairs, said


def _other_names(one: TwoAgentMDP, two: TwoAgentMDP) -> Iterator[str]:
    kinds = ("state", "leader action", "follower action")
    groups = ((game.states, *game.action_labels) for game in (one, two))
    for kind, mine, theirs in zip(kinds, *groups, strict=True):
        if mine != theirs:
            pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a != b]
            some = ", ".join(f"{a!r} is {b!r}" for a, b in pairs[:3])
            more = f", … ({len(pairs)} in all)" if len(pairs) > 3 else ""
            yield f"names of {kind}s: {some}{more}"


def _other_labels(one: ImportedGame, two: ImportedGame) -> Iterator[str]:
    for name, marks in one.labels.items():
        if name not in two.labels or not np.array_equal(marks, two.labels[name]):
            yield f"label {name!r}: is lost"


def _is_entering(problem: ImportedGame) -> bool:
    return isinstance(problem, DecPOMDP) and problem.reward_form == "next state"


def _available(problem: ImportedGame) -> Any:
    given = problem.available
    return np.ones(problem.game.shape, dtype=bool) if given is None else given


def write_compared(
    problem: ImportedGame,
    path: Path,
    write: Callable[[Path], Any],
    read: Callable[[Path], ImportedGame],
    beside: Callable[[Path, Collection[Path]], None] = lambda path, written: None,
    *,
    rounded: bool = False,
    replace: bool = False,
    source: Path | None = None,
) -> tuple[Differences, list[Path]]:
    """Write a problem to a file, and to those beside it that belong to it, if it is kept there.

    It is written in a folder of its own, read back and compared; only then it takes its place.

    Parameters
    ----------
    write, read : of a path, write the problem to it and read it back.
    beside : of the path and the files written, refuses others that would be read with them there.
    rounded : whether numbers may be rounded.
    replace : whether files that are there already may be replaced.
    source : the file that the problem came from, which is not replaced in any case.

    Returns
    -------
    What the file does not hold, and the paths of the files.

    Raises
    ------
    FileProblem
        The path is no place for a file, or there is one already, or what would be read back is
        another problem.
    InvalidGame
        Its numbers would be rounded.
    InvalidArgument
        It would be read with a file that is there and not written.
    OSError
        The folder cannot be written to.
    """
    if not path.parent.is_dir():
        raise FileProblem(path, "is in no folder that there is")
    _check_place(path, replace, source)
    with _folder_beside(path) as folder:
        part = Path(folder, path.name)
        try:
            write(part)
            found = differences(problem, read(part))
        except FileProblem as fault:
            if fault.path.parent == part.parent:  # a folder that says nothing to anybody
                fault.path = path.with_name(fault.path.name)
            raise
        except OSError as fault:
            if fault.filename is not None and Path(fault.filename).parent == part.parent:
                fault.filename = str(path.with_name(Path(fault.filename).name))
            raise
        if found.another:
            raise FileProblem(path, f"cannot hold this problem ({'; '.join(found.another)})")
        if found.rounded and not rounded:
            what, _, how = found.rounded[0].partition(": ")
            raise InvalidGame(what, f"would be {how}", "equal numbers, or consent (--round)")
        moves = []
        for file in sorted(Path(folder).iterdir()):
            place = Path(os.path.realpath(path.with_name(file.name)))
            if file != part and place.is_file() and place.read_bytes() == file.read_bytes():
                continue  # a file that is referred to is there already
            _check_place(place, replace, source)
            moves.append((file, place))
        beside(path, [path.with_name(file.name) for file in Path(folder).iterdir()])
        for file, place in moves:
            file.replace(place)
    return found, [path.with_name(file.name) for file, _ in moves]


def _folder_beside(path: Path) -> TemporaryDirectory[str]:
    """Return a new folder next to a path; if there can be none, that is said of the path."""
    try:
        return TemporaryDirectory(prefix=".part-", dir=path.parent)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(path)) from None


def _check_place(place: Path, replace: bool, source: Path | None) -> None:
    """Refuse a place that a file may not take."""
    if not place.exists():
        return
    if source is not None and place.samefile(source):
        raise FileProblem(place, "is the file that is read; allowed another")
    if not place.is_file():
        raise FileProblem(place, "is a folder" if place.is_dir() else "is no ordinary file")
    if not replace:
        raise FileProblem(place, "is there already; allowed a new file, or --force")

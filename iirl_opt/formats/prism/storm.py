"""Programs of PRISM, JANI and models of Storm, through stormpy (the extra ``prism``).

Storm builds the model, in exact numbers; what it writes as DRN is read as any DRN file is (see
`iirl_opt.formats.prism.drn`), and states are called by the values of their variables. stormpy and
Storm are published under the GPL-3.0 licence, and there are wheels for Linux and macOS alone:
nothing of them is part of this library, and nothing else here needs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np

from iirl_opt.checks import FLAG, MAPPING, PATH, TEXT, checked, each, has, refuse, whole
from iirl_opt.errors import FileProblem, InvalidArgument, MissingExtra, UnknownLabel
from iirl_opt.exact.numbers import DIGITS, UNREADABLE, as_fraction
from iirl_opt.formats.choices import AGENT, UNAVAILABLE, Agent, Unavailable, refuse_bare
from iirl_opt.formats.imported import ImportedGame
from iirl_opt.formats.prism.choices import READING, ChoiceModel, ChoiceReading
from iirl_opt.formats.prism.drn import REFUSED, parse_drn
from iirl_opt.formats.prism.lines import read_lines

__all__ = ["from_stormpy", "read_prism"]

_LONG_NUMBER = re.compile(rf"[0-9]{{{DIGITS + 1}}}")

MODEL = has("is_sparse_model", "nr_states", "transition_matrix", what="a sparse model of stormpy's")


@checked(path=PATH, constants=MAPPING, **READING, most_states=whole(1))
def read_prism(
    path: str | Path,
    discount: Any = None,
    *,
    constants: Mapping[str, Any] | None = None,
    agent: Agent = "follower",
    leader: Iterable[str] | None = None,
    unavailable: Unavailable = "repeat",
    absorbing: bool = False,
    most_states: int = 10**6,
) -> ImportedGame:
    """Read a program of PRISM's, or a JANI model, as Storm builds it.

    Parameters
    ----------
    path : a program (``.nm``, ``.pm``, ``.sm``, ``.prism``) or a ``.jani`` file.
    constants : values of the constants that the file leaves open, ``{"K": 2}``: whole numbers,
        truth values and exact numbers, or texts of them.
    most_states : how many reachable states there may be; more are not built.
    discount, agent, leader, unavailable, absorbing : see `read_drn`; `leader` may also name players
        of a turn-based game, and has to be given for one.

    Raises
    ------
    FileProblem
        What Storm says against the file, at its line; more states than `most_states`; or a kind of
        model that has no counterpart (continuous time, partial observation, clocks).
    InvalidArgument
        A constant that is not given, or has a value of another type; no discount.
    UnknownLabel
        A constant that the file does not leave open; a leader that is no action or player.
    InvalidGame
        A deadlock, a missing action that is to be refused, or a discount outside its range.
    MissingExtra
        stormpy is not installed.
    OSError
        The file cannot be opened.

    **Source** Storm (Hensel, Junges, Katoen, Quatmann & Volk, STTT 2022). **Cost** Storm's building
    of the states, twice; arithmetic.

    Examples
    --------
    >>> print(Path("coin.pm").read_text())  # doctest: +SKIP
    mdp
    module coin
      s : [0..1] init 0;
      [toss] s=0 -> 1/2:(s'=0) + 1/2:(s'=1);
      [rest] s=1 -> true;
    endmodule
    >>> read_prism("coin.pm", "9/10").game  # doctest: +SKIP
    TwoAgentMDP(2 states, 1×2 actions, discount=0.9, 6 transitions, rational)
    """
    stormpy, path = _stormpy(), Path(path)
    lines = read_lines(path)  # what cannot be opened says so itself
    for number, line in enumerate(lines, start=1):
        if _LONG_NUMBER.search(line):  # Storm's reader would take hours
            allowed = f"numbers of up to {DIGITS} digits"
            raise FileProblem(path, f"found a longer number; allowed {allowed}", line=number)
    with _quiet(stormpy), _complaints(path):
        jani = path.suffix.lower() == ".jani"
        program = _parsed(stormpy, lines, jani)
        _refuse_kind(program, path)
        values = _values(stormpy, program, {} if constants is None else constants)
        if values:
            program = stormpy.instantiate_constants(program, values)[0]
        _refuse_more(stormpy, program, path, most_states)
        built = stormpy.build_model[stormpy.Rational](program, options=_options(stormpy))
        model = _choices(stormpy, built, path, _players(lines), False)
    if not absorbing and "deadlock" in model.labels:  # which Storm has made absorbing
        refuse_bare(model.labels["deadlock"], model.names)
    reading = ChoiceReading(discount, agent, leader, unavailable, absorbing)
    return model.game(reading, f"{'JANI' if jani else 'PRISM'} model {path}")


@checked(model=MODEL, agent=AGENT, leader=each(TEXT), unavailable=UNAVAILABLE, normalise=FLAG)
def from_stormpy(
    model: Any,
    discount: Any = None,
    *,
    agent: Agent = "follower",
    leader: Iterable[str] | None = None,
    unavailable: Unavailable = "repeat",
    normalise: bool = False,
) -> ImportedGame:
    """Return the game that a sparse model of stormpy's is.

    Parameters
    ----------
    model : a sparse MDP, DTMC or turn-based game of stormpy's. One of exact numbers gives an exact
        game; of one of floats each float is read as what it is.
    discount, agent, leader, unavailable, normalise : see `read_drn`. Players are called by their
        numbers, ``"0"`` and so on.

    Raises
    ------
    InvalidArgument
        `model` is none, or no sparse one; no discount.
    FileProblem
        A kind of model that has no counterpart.
    InvalidGame, UnknownLabel
        As of `read_drn`.
    MissingExtra
        stormpy is not installed.

    **Source** Storm. **Cost** arithmetic, one pass over the transitions.

    Examples
    --------
    >>> import stormpy  # doctest: +SKIP
    >>> program = stormpy.parse_prism_program("coin.pm")  # doctest: +SKIP
    >>> from_stormpy(stormpy.build_model(program), "9/10").game  # doctest: +SKIP
    TwoAgentMDP(2 states, 1×1 actions, discount=0.9, 3 transitions, rational)
    """
    stormpy = _stormpy()
    if not model.is_sparse_model:
        raise InvalidArgument(
            "model", "is symbolic", "a sparse model: stormpy.build_model(program)"
        )
    where = Path(f"<{type(model).__name__.strip('_')}>")
    with _quiet(stormpy), _complaints(where):
        found = _choices(stormpy, model, where, (), normalise)
    return found.game(ChoiceReading(discount, agent, leader, unavailable), "a model of stormpy's")


def _stormpy() -> Any:
    try:
        import stormpy
    except ImportError:
        what = "PRISM programs and JANI (stormpy, GPL-3.0, for Linux and macOS)"
        raise MissingExtra(what, "prism") from None
    return stormpy


@contextmanager
def _quiet(stormpy: Any) -> Iterator[None]:
    """Keep Storm from printing what it also raises."""
    level = stormpy.developer.get_log_level()
    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    try:
        yield
    finally:
        stormpy.developer.set_log_level(level)


@contextmanager
def _complaints(path: Path) -> Iterator[None]:
    """Turn what Storm raises into the error of a file."""
    try:
        yield
    except RuntimeError as problem:
        said = str(problem).strip()
        at = re.search(r"at (\d+):(\d+)|[Ll]ine (\d+)", said)
        line = int(at[1] or at[3]) if at else None
        column = int(at[2]) if at and at[2] else None
        first = said.split("\n")[0].removesuffix(", here:")
        first = re.sub(r"(Error )?in \S+program, line \d+:\s*", "", first)
        # Storm reads a copy, whose name says nothing to anybody.
        first = re.sub(rf"{re.escape(gettempdir())}\S*?/(program|model\.drn)\b", path.name, first)
        raise FileProblem(path, f"Storm says: {first}", line=line, column=column) from None


def _parsed(stormpy: Any, lines: Sequence[str], jani: bool) -> Any:
    """Return what Storm reads of a text, in which there is no mark of the byte order any more."""
    text = "\n".join(lines)
    if jani:
        return stormpy.parse_jani_model_from_string(text)[0]
    with TemporaryDirectory() as folder:
        file = Path(folder, "program")
        file.write_text(text, encoding="utf-8")
        return stormpy.parse_prism_program(file, prism_compatibility=True)


def _refuse_kind(program: Any, path: Path) -> None:
    """Refuse kinds of models that have no counterpart before anything is built."""
    try:
        kind = program.model_type.name
    except ValueError:
        return  # one that stormpy has no name for, such as games
    if reason := REFUSED.get(kind):
        raise FileProblem(path, f"holds a {kind}, {reason}; allowed MDP, DTMC or SMG")


def _values(stormpy: Any, program: Any, constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the open constants as Storm has them."""
    open_ = {c.name: str(c.type) for c in program.constants if not c.defined}
    defined = {c.name: c for c in program.constants if c.defined}
    for name in constants:
        if name in defined:
            raise InvalidArgument(
                f"constants[{name!r}]", "is defined in the file", "constants that it leaves open"
            )
        if name not in open_:
            raise UnknownLabel("open constant", name, tuple(open_))
    missing = [name for name in open_ if name not in constants]
    if missing:
        raise InvalidArgument(
            "constants",
            f"lack {', '.join(missing)}",
            f"a value for each of {', '.join(f'{name} ({kind})' for name, kind in open_.items())}",
            missing[0],
        )
    types = {c.name: c.type for c in program.constants}
    return {name: _value_of(stormpy, name, value, types[name]) for name, value in constants.items()}


def _value_of(stormpy: Any, name: str, value: Any, kind: Any) -> Any:
    """Return the value of a constant in Storm's numbers."""
    place = f"constants[{name!r}]"
    # A constant of a program has the type of its variable, one of JANI a type of its own.
    asks = {
        word: kind == word or str(kind) == word or getattr(kind, f"is_{long}", False) is True
        for word, long in (("bool", "boolean"), ("int", "integer"))
    }
    if asks["bool"]:
        found = {"true": True, "false": False}.get(str(value).lower())
        if found is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            raise refuse(place, value, "true or false")
        return found
    try:
        if isinstance(value, bool):
            raise TypeError
        number = as_fraction(value)
    except UNREADABLE:
        raise refuse(place, value, "a whole number" if asks["int"] else "a number") from None
    if asks["int"]:
        if number.denominator != 1 or abs(number) >= 2**63:
            raise refuse(place, value, "a whole number")
        return int(number)
    return stormpy.Rational(f"{number.numerator}/{number.denominator}")


def _refuse_more(stormpy: Any, program: Any, path: Path, most: int) -> None:
    """Refuse a program of more reachable states than are wanted, before they fill the memory.

    Storm's builder of exact models knows no limit, that of floats does: it counts.
    """
    developer = stormpy.developer
    limit = developer.ExplicitModelBuilderOptions[float]()
    limit.exploration_state_limit = most
    description = developer.SymbolicModelDescription(program)
    counter = developer.make_explicit_model_builder[float](
        description, developer.BuilderOptions(), exploration_options=limit
    )
    counted = counter.build().labeling
    if counted.contains_label("unexplored") and list(counted.get_states("unexplored")):
        problem = f"has more than {most} reachable states; allowed more by most_states="
        raise FileProblem(path, problem)


def _options(stormpy: Any) -> Any:
    """Return what Storm is to build: all labels, rewards and names, and whether values fit."""
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    options.set_build_state_valuations()
    options.set_exploration_checks()
    return options


def _choices(
    stormpy: Any, built: Any, path: Path, players: Sequence[str], normalise: bool
) -> ChoiceModel:
    """Return the choices of a sparse model, read from what Storm writes of it."""
    options = stormpy.io.DirectEncodingExporterOptions()
    if not built.is_exact:
        options.output_precision = 17
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.drn")
        stormpy.io.export_to_drn(built, file, options=options)
        lines = read_lines(file)
    model = parse_drn(path, lines, floats=not built.is_exact, normalise=normalise)
    states = _states(built)
    player_of = None
    if hasattr(built, "get_state_player_indications"):
        numbers = [int(k) for k in built.get_state_player_indications()]
        player_of = [players[k] if k < len(players) else str(k) for k in numbers]
    nowhere = np.zeros(model.n_states, dtype=bool)  # which DRN has no place for
    labels = {**dict.fromkeys(sorted(built.labeling.get_labels()), nowhere), **model.labels}
    names = model.states if states is None else states
    return replace(model, states=names, labels=labels, player_of=player_of)


def _states(built: Any) -> list[str] | None:
    """Return the names of states, or None where Storm keeps none or one comes twice."""
    if not built.has_state_valuations():
        return None
    valuations = built.state_valuations
    columns = [
        [
            f"{variable.name}={str(value).lower()}"
            for value in valuations.get_values_states(variable)
        ]
        for variable in valuations.get_all_variables()
        if variable.name
    ]
    names = [",".join(row) for row in zip(*columns, strict=True)]
    return names if len(set(names)) == built.nr_states else None


def _players(lines: Sequence[str]) -> list[str]:
    """Return the players that a program declares, in their order."""
    found = (re.match(r"\s*player\s+(\w+)", line) for line in lines)
    return [player[1] for player in found if player]

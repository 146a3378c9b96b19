"""What is not read from a file as the tables that state it: games, rewards, policies, rows.

Each function here is the way back of one that reads. Numbers that are exact stay exact; floats
become the decimals that they print as, which are read as the same floats. States and actions are
named by the text of their labels, which therefore have to differ.

A row that holds for every action of an agent is written once. A game of more rows than a person
reads, or whose numbers no decimals state, is no table: it goes to a saved game beside the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iirl_opt.errors import InvalidArgument, InvalidGame, InvalidValue
from iirl_opt.exact.numbers import as_fraction
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.reward import check_reward
from iirl_opt.library.games import LABELS, environment_of
from iirl_opt.library.rows import UserRow
from iirl_opt.library.schema import (
    ChoiceTable,
    ConstraintTable,
    EnvironmentTable,
    GameTable,
    ObservationTable,
    PlayedTable,
    PolicyTable,
    PreferenceTable,
    RewardTable,
    SuboptimalityTable,
    TrajectoryTable,
    TransitionTable,
)
from iirl_opt.observation import Observation, Suboptimality, Trajectory
from iirl_opt.spelling import allowed_names
from iirl_opt.verification.environment import Environment

if TYPE_CHECKING:
    from iirl_opt.rewards.preferences import Preference

__all__ = [
    "check_labels",
    "environment_table",
    "game_table",
    "numbers_of",
    "observation_table",
    "policy_table",
    "preference_table",
    "reward_table",
    "row_table",
    "trajectory_table",
]

Array = NDArray[np.float64]

# Beyond so many rows or entries in them, choices or states, a game is written beside its file.
MOST_ROWS, MOST_ENTRIES, MOST_CHOICES, MOST_STATES = 500, 2000, 5000, 500

LARGEST_LABEL = 2**63

# How many digits of a number a person reads, in a kernel.
MOST_DIGITS = 60

# Beyond so many states a policy names its most frequent row once, by "*".
MANY_STATES = 8


def check_labels(game: TwoAgentMDP) -> None:
    """Refuse labels that a model file cannot hold, or cannot tell apart.

    Raises
    ------
    InvalidGame
        Names the label.
    """
    for labels in (game.states, *game.action_labels):
        seen: dict[str, Any] = {}
        for label in labels:
            _label_as_written(label, labels.kind)
            text = str(label)
            if text == "*":
                allowed = "another name: '*' stands for all in a model file"
                raise InvalidGame(f"{labels.kind} label", "is '*'", allowed, label)
            if text in seen:
                problem = f"is {label!r}, written as {seen[text]!r} is"
                allowed = "labels of different texts"
                raise InvalidGame(f"{labels.kind} label", problem, allowed, label)
            seen[text] = label


def _label_as_written(label: Any, kind: str) -> Any:
    """Return a label as a file writes it: a tuple as a list."""
    if isinstance(label, tuple):
        return [_label_as_written(part, kind) for part in label]
    if type(label) in (str, bool):
        return label
    if type(label) in (int, float) and abs(label) < LARGEST_LABEL:
        return label
    allowed = "texts, numbers below 2^63, and tuples of them"
    raise InvalidGame(f"{kind} label", f"is {label!r}", allowed, label)


def game_table(game: TwoAgentMDP) -> GameTable | None:
    """Return a game as a list of transitions, or None if it is none that a person would read."""
    n_states, n_a, n_b = game.shape
    if n_states > MOST_STATES or n_states * n_a * n_b > MOST_CHOICES:
        return None
    floats = game.given_floats
    rows = _kernel_rows(game, floats)
    cells = [rows[i : i + n_a * n_b] for i in range(0, len(rows), n_a * n_b)]
    written = [(s, *each) for s, own in enumerate(cells) for each in _merged(own, n_a, n_b)]
    too_many = len(written) > MOST_ROWS or sum(len(row) for *_, row in written) > MOST_ENTRIES
    too_long = any(len(str(p)) > MOST_DIGITS for *_, row in written for _, p in row)
    start = _start(game, floats is not None)
    if too_many or too_long or start is None:
        return None
    states, leaders, followers = (list(map(str, x)) for x in (game.states, *game.action_labels))
    labels = zip(LABELS.items(), (game.states, *game.action_labels), strict=True)
    lists: dict[str, Any] = {
        key: [_label_as_written(label, kind) for label in own] for (key, kind), own in labels
    }
    return GameTable(
        discount=game.exact_discount,
        floats=floats is not None,
        **lists,
        start=None if len(start) == n_states and len(set(start.values())) == 1 else start,
        transitions=[
            TransitionTable(
                origin=states[s],
                leader="*" if a is None else leaders[a],
                follower="*" if b is None else followers[b],
                to={states[z]: p for z, p in row},
            )
            for s, a, b, row in written
        ],
    )


def _kernel_rows(game: TwoAgentMDP, floats: Any) -> list[tuple[tuple[int, Fraction], ...]]:
    """Return the rows of a kernel: exact, or as the decimals that the floats given print as."""
    n_rows = game.n_states * game.n_choices
    if floats is None:
        exact = game.rational.rows
        return [tuple(sorted(exact.row(i).items())) for i in range(n_rows)]
    dense = floats if isinstance(floats, np.ndarray) else floats.toarray()
    return [tuple((int(z), _as_printed(row[z])) for z in np.flatnonzero(row)) for row in dense]


def _start(game: TwoAgentMDP, floats: bool) -> dict[str, Fraction] | None:
    """Return the start distribution by state, or None if it cannot be written as it is."""
    if not floats:
        chances: Sequence[Fraction] = game.exact_start
    elif game.starting_at(game.start).exact_start == game.exact_start:
        chances = [_as_printed(p) for p in game.start]
    else:
        return None
    return {str(s): p for s, p in zip(game.states, chances, strict=True) if p}


def _merged(cells: Sequence[Any], n_a: int, n_b: int) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (a, b, cell) of a state's choices; None stands for every action of an agent."""
    grid = [cells[a * n_b : (a + 1) * n_b] for a in range(n_a)]
    alike = [all(cell == row[0] for cell in row) for row in grid]
    if all(alike) and all(row[0] == grid[0][0] for row in grid):
        yield None, None, grid[0][0]
    elif not all(alike) and all(row == grid[0] for row in grid):
        yield from ((None, b, cell) for b, cell in enumerate(grid[0]))
    else:
        for a, row in enumerate(grid):
            if alike[a]:
                yield a, None, row[0]
            else:
                yield from ((a, b, cell) for b, cell in enumerate(row))


def _as_printed(number: float) -> Fraction:
    """Return the decimal that a float prints as, which is read as that float."""
    return Fraction(repr(float(number)))


def numbers_of(given: ArrayLike) -> NDArray[Any]:
    """Return numbers as Fractions: floats as the decimals that they print as, others exactly."""
    array = np.asarray(given)
    out = np.empty(array.shape, dtype=object)
    flat = (
        _as_printed(x) if isinstance(x, float) else as_fraction(x) for x in array.ravel().tolist()
    )
    out.ravel()[:] = list(flat)
    return out


def reward_table(game: TwoAgentMDP, reward: ArrayLike, name: str = "reward") -> RewardTable:
    """Return the table of a reward (S,) or (S, A, B).

    Raises
    ------
    InvalidReward
    """
    check_reward(game, reward, name)
    numbers = numbers_of(reward)
    if numbers.ndim == 1:
        values, default = _by_state(game, numbers.tolist())
        return RewardTable(values=values, default=default)
    values, choices = _by_choice(game, numbers)
    return RewardTable(values=values, choices=choices)


def _by_state(game: TwoAgentMDP, numbers: list[Fraction]) -> tuple[dict[str, Fraction], Fraction]:
    """Return numbers by state, and the one of most states, which is left out."""
    most, times = Counter(numbers).most_common(1)[0]
    default = most if len(numbers) > 1 and 2 * times > len(numbers) else Fraction(0)
    named = zip(game.states, numbers, strict=True)
    return {str(s): x for s, x in named if x != default}, default


def _by_choice(
    game: TwoAgentMDP, numbers: NDArray[Any]
) -> tuple[dict[str, Fraction], list[ChoiceTable]]:
    """Return numbers (S, A, B) by state where choices are alike, and by choice."""
    _, n_a, n_b = game.shape
    values: dict[str, Fraction] = {}
    choices: list[ChoiceTable] = []
    leaders, followers = (list(map(str, labels)) for labels in game.action_labels)
    for s, own in zip(map(str, game.states), numbers.reshape(len(numbers), -1), strict=True):
        merged = list(_merged(own.tolist(), n_a, n_b))
        if len(merged) == 1:
            values |= {s: merged[0][2]} if merged[0][2] else {}
            continue
        choices += [
            ChoiceTable(
                state=s,
                leader="*" if a is None else leaders[a],
                follower="*" if b is None else followers[b],
                value=x,
            )
            for a, b, x in merged
            if x
        ]
    if not choices:  # one says that the reward is of choices, even where all are alike
        first = str(game.states[0])
        choices = [ChoiceTable(state=first, value=values.pop(first, Fraction(0)))]
    return values, choices


def policy_table(states: Sequence[Any], actions: Sequence[Any], policy: ArrayLike) -> PolicyTable:
    """Return the table of a policy (S, n), with its most frequent row once if there are many.

    Fractions stay exact.
    """
    names = [str(action) for action in actions]
    rows: list[Any] = []
    for row in numbers_of(policy):
        played = np.flatnonzero(row)
        if played.size == 1 and row[played[0]] == 1:
            rows.append(names[played[0]])
        else:
            rows.append({names[a]: row[a] for a in played})
    return _with_star(states, rows)


def _with_star(states: Sequence[Any], rows: list[Any]) -> dict[str, Any]:
    """Return rows by state; the most frequent one under ``"*"`` where that saves some."""
    by_state = {str(s): row for s, row in zip(states, rows, strict=True)}
    times = Counter(map(str, rows))
    most = max(rows, key=lambda row: times[str(row)])
    if len(rows) == 1 or (len(rows) <= MANY_STATES and times[str(most)] < len(rows)):
        return by_state
    return {"*": most} | {s: row for s, row in by_state.items() if row != most}


def observation_table(
    game: TwoAgentMDP, seen: Observation, pi1: ArrayLike | None = None, pi2: ArrayLike | None = None
) -> ObservationTable:
    """Return the table of an observation, with its response.

    Its policies are floats; `pi1` and `pi2` are what they were made of, where that was exact.
    """
    leader = policy_table(game.states, game.leader_actions, seen.pi1 if pi1 is None else pi1)
    if not seen.whole:
        played = policy_table(game.states, game.follower_actions, seen.pi2 if pi2 is None else pi2)
        return ObservationTable(leader, played, suboptimality=_declared(seen.suboptimality))
    names = [str(action) for action in game.follower_actions]
    optimal = [[names[b] for b in np.flatnonzero(row)] for row in seen.played]
    return ObservationTable(leader, optimal=_with_star(game.states, optimal))


def _declared(suboptimality: Suboptimality | None) -> SuboptimalityTable | None:
    if suboptimality is None:
        return None
    amount = suboptimality.exact_amount
    loss, share = (amount, None) if suboptimality.share is None else (None, amount)
    return SuboptimalityTable(loss, share, suboptimality.start)


def preference_table(game: TwoAgentMDP, said: Preference) -> PreferenceTable:
    """Return the table of a preference.

    Raises
    ------
    InvalidArgument
        A joint policy is no product of the two agents' own, which alone a file states.
    """

    def played(name: str, given: Any) -> PlayedTable:
        if isinstance(given, Trajectory):
            walk = trajectory_table(game, given)
            return PlayedTable(walk.leader, steps=walk.steps)
        pi1, pi2 = given.sum(axis=2), given.sum(axis=1)
        if not np.allclose(pi1[:, :, None] * pi2[:, None, :], given, rtol=0, atol=1e-12):
            raise InvalidArgument(f"preference.{name}", "is correlated", "a product", given)
        leader = policy_table(game.states, game.leader_actions, pi1)
        return PlayedTable(leader, policy_table(game.states, game.follower_actions, pi2))

    better, worse = played("better", said.better), played("worse", said.worse)
    return PreferenceTable(better, worse, as_fraction(said.by), said.absorbed)


def trajectory_table(game: TwoAgentMDP, seen: Trajectory) -> TrajectoryTable:
    """Return the table of a trajectory."""
    steps = zip(seen.states, seen.leader_actions, seen.follower_actions, strict=True)
    groups = (game.states, *game.action_labels)
    return TrajectoryTable(
        policy_table(game.states, game.leader_actions, seen.pi1),
        [[str(names[i]) for names, i in zip(groups, step, strict=True)] for step in steps],
    )


def row_table(game: TwoAgentMDP, row: UserRow, key: str) -> ConstraintTable:
    """Return the table of a row of the user's own.

    Raises
    ------
    InvalidArgument
        It has no bound, or another name than files allow for what it is on: names the row.
    """
    allowed = {"target": ("reward", "measure"), "whose": ("leader", "both")}
    for name, known in allowed.items():
        if getattr(row, name) not in known:
            found = getattr(row, name)
            said = allowed_names(found, known)
            raise InvalidArgument(f"{key}.{name}", f"is {found!r}", said, found)
    if np.isnan(row.low) or np.isnan(row.high):
        bounds = (row.low, row.high)
        raise InvalidArgument(key, f"{row.name!r} has the bounds {bounds}", "numbers", bounds)
    low, high = (float(x) if np.isfinite(x) else None for x in (row.low, row.high))
    if low is None and high is None:
        raise InvalidArgument(key, f"{row.name!r} has no bound", "low or high", row.name)
    equal = low is not None and low == high
    numbers = numbers_of(row.coefficients)
    terms: dict[str, Fraction]
    choices: list[ChoiceTable] = []
    if numbers.ndim == 1:
        terms = {str(s): x for s, x in zip(game.states, numbers, strict=True) if x}
    else:
        terms, choices = _by_choice(game, numbers)
    target: Any = row.target
    whose: Any = row.whose
    return ConstraintTable(
        name=row.name,
        target=target,
        whose=whose,
        terms=terms,
        choices=choices,
        at_least=None if equal else low,
        at_most=None if equal else high,
        equals=low if equal else None,
    )


def environment_table(test: Environment) -> GameTable:
    """Return the table of the test of a hypothesis.

    Raises
    ------
    InvalidArgument
        It has more than two actions, or an ε that no number of a file makes again.
    """
    states = test.mdp.states
    reward = dict(zip(map(str, states), test.exact.numbers.tolist(), strict=True))
    epsilon = test.epsilon
    shares = [None] if epsilon is None else [_as_printed(epsilon), Fraction(epsilon)]
    for share in shares:
        for rational in (False, True) if test.kind == "strict" else (False,):
            table = EnvironmentTable(test.kind, reward, share, None, rational)
            try:
                again = environment_of(states, table, test.mdp.exact_discount)
            except InvalidValue:
                continue
            if again.mdp.fingerprint == test.mdp.fingerprint:
                written = [_label_as_written(label, "state") for label in states]
                return GameTable(
                    discount=test.mdp.exact_discount, states=written, environment=table
                )
    what = f"is a test with {test.mdp.n_actions} actions and ε = {epsilon}"
    allowed = "one with two actions, and an ε that makes the same environment again"
    raise InvalidArgument("game", what, allowed, test)

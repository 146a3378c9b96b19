"""Properties of PRISM's: which have a counterpart, what it answers, and that its bounds hold."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidGame, UnknownLabel
from iirl_opt.formats import ImportedGame, counterpart
from iirl_opt.testing import games

NEAR = "999999999/1000000000"

# From 0 to 1 or 2, and on from 1 by "go" to 3 or by "stay" not: 2 and 3 are for ever.
KERNEL = np.zeros((4, 1, 2, 4), dtype=int)
KERNEL[0, 0, :, 1], KERNEL[0, 0, :, 2] = 1, 2
KERNEL[1, 0, 0, 3] = KERNEL[1, 0, 1, 1] = 1
KERNEL[2, 0, :, 2] = KERNEL[3, 0, :, 3] = 1
STATES = ["x=0,b=false", "x=1,b=true", "x=2,b=true", "x=3,b=false"]
GAME = iirl.TwoAgentMDP(KERNEL, NEAR, [1, 0, 0, 0], states=STATES, follower_actions=["go", "stay"])
FOUND = ImportedGame(
    GAME,
    {"steps": [1, 1, 0, 0], "go": [[[0, 0]], [[3, 0]], [[0, 0]], [[0, 0]]], "loss": [0, -1, 0, 0]},
    {"won": np.arange(4) == 3, "lost": np.arange(4) == 2},
)


def states(text):
    """Which states a formula means, as the discounted problem of reaching them shows."""
    asked = counterpart(FOUND, f"Pmax=? [ F {text} ]", "1/2")
    kernel = asked.game.kernel[:, 0]
    stays = kernel[np.arange(4), :, np.arange(4)].all(axis=1)
    never = counterpart(FOUND, f"Pmax=? [ !({text}) U {text} ]", "1/2")
    assert (never.game.kernel[:, 0][np.arange(4), :, np.arange(4)].all(axis=1)).all()
    return stays


# What is asked ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Pmax=? [ F "won" ]', Fraction(1, 3)),
        ('Pmin=? [ F "won" ]', 0),
        ('P max =? [ F "won" ];', Fraction(1, 3)),
        ('"name": Pmax=? [ true U "won" ]', Fraction(1, 3)),
        ('Pmax=? [ F "lost" | "won" ]', 1),
        ('Pmin=? [ F "lost" | "won" ]', Fraction(2, 3)),
        ('Pmax=? [ G !"lost" ]', Fraction(1, 3)),
        ('Pmin=? [ G !"won" ]', Fraction(2, 3)),
        ('Pmax=? [ G true ]', 1),
        ('Pmax=? [ F "init" ]', None),
        ('Pmax=? [ F x=0 ]', 1),
        ('Pmax=? [ x<2 U "won" ]', Fraction(1, 3)),
        ('Pmax=? [ x=0 U "won" ]', 0),
        ('Pmax=? [ b U "won" ]', 0),
        ('R{"steps"}min=? [ C ]', Fraction(4, 3)),
        ('R{1}min=? [ C ]', Fraction(4, 3)),
        ('R{"go"}max=? [ C ]', 1),
        ('R{"steps"}min=? [ F x>=2 ]', Fraction(4, 3)),
    ],
)  # fmt: skip
def test_a_limit_is_bracketed_and_tends_to_the_answer(text, expected):
    if expected is None:
        with pytest.raises((InvalidArgument, UnknownLabel)):
            counterpart(FOUND, text)
        return
    asked = counterpart(FOUND, text)
    assert asked.is_limit
    low, high = asked.bracket()
    assert low <= expected <= high
    assert high - low < 1e-7
    value = iirl.commit(asked.game, asked.reward).value
    assert asked.answer(value) == pytest.approx(float(expected), abs=1e-7)


def test_a_counterpart_is_shown_in_brief():
    text = 'Pmax=? [ F "won" ]'
    shown = repr(counterpart(FOUND, text, "1/2"))
    assert " ".join(shown.split()).startswith(
        f"Counterpart( {text!r}, as γ → 1 in TwoAgentMDP(4 states"
    )
    assert "array" not in shown


def test_a_discounted_reward_is_the_same():
    asked = counterpart(FOUND, 'R{"loss"}min=? [ Cdiscount=9/10 ]')
    assert (asked.is_limit, asked.game.exact_discount) == (False, Fraction(9, 10))
    # One third comes to state 1, and may stay there: −(.9 / .1) / 3.
    value = iirl.policy_iteration(asked.game, asked.reward).values[0]
    assert asked.answer(value) == pytest.approx(-3, rel=1e-12)
    low, high = asked.bracket()
    assert low <= -3 <= high < low + 1e-12
    same = counterpart(FOUND, 'R{"loss"}min=? [ C discount=0.9 ]', "9/10")
    assert same.game == asked.game
    with pytest.raises(InvalidArgument, match=r"discount is 0\.5; allowed 9/10"):
        counterpart(FOUND, 'R{"loss"}min=? [ Cdiscount=9/10 ]', 0.5)


def test_what_grows_without_a_bound_has_none_above():
    low, high = counterpart(FOUND, 'R{"steps"}max=? [ C ]', "999/1000").bracket()
    assert low == pytest.approx(1 + 0.999 / 3 / 0.001, rel=1e-9)
    assert high == np.inf


def test_a_probability_is_a_lower_bound_at_every_discount():
    answers = []
    for discount in (0, "1/2", "9/10", "999/1000"):
        low, high = counterpart(FOUND, 'Pmax=? [ F "won" ]', discount).bracket()
        assert low <= 1 / 3 <= high
        answers.append(low)
    assert answers == sorted(answers)
    assert answers[0] == 0
    assert answers[1] == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("true", [1, 1, 1, 1]),
        ("false", [0, 0, 0, 0]),
        ('"won" | "lost" & !"lost"', [0, 0, 0, 1]),
        ('("won" | "lost") & !"lost"', [0, 0, 0, 1]),
        ('!("won" | "lost")', [1, 1, 0, 0]),
        ('"won" => "lost"', [1, 1, 1, 0]),
        ('"won" <=> b', [1, 0, 0, 0]),
        ("b", [0, 1, 1, 0]),
        ("!b & x!=0", [0, 0, 0, 1]),
        ("b=false", [1, 0, 0, 1]),
        ("x>=1&x<3", [0, 1, 1, 0]),
        ("x>1.5", [0, 0, 1, 1]),
        ("x<=0", [1, 0, 0, 0]),
    ],
)
def test_a_formula_means_states(formula, expected):
    asked = counterpart(FOUND, f"Pmax=? [ F {formula} ]", "1/2")
    after = asked.game.kernel[:, 0]
    stays = [int(after[s, :, s].all()) for s in range(4)]
    # States that stay anyway, 2 and 3, are told apart by what entering them earns.
    enters = asked.reward[:, 0].max(axis=1) > 0
    assert stays[:2] == expected[:2]
    assert asked.offset == expected[0]
    if not expected[0]:
        assert enters[0] == bool(expected[1] or expected[2])
        assert enters[1] == bool(expected[3] and not expected[1])


# What is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('Pmax=? [ F<=10 "won" ]', "a bounded path"),
        ('Pmax=? [ true U[1,3] "won" ]', "a bounded path"),
        ('Pmax=? [ F{"steps"}<=4 "won" ]', "a bounded path"),
        ('Pmax=? [ G<5 "won" ]', "a bounded path"),
        ('Pmax=? [ X "won" ]', r"the next state \(X\)"),
        ('R{"steps"}max=? [ C<=3 ]', "a bounded reward"),
        ('R{"steps"}max=? [ I=3 ]', "a bounded reward"),
        ('R{"steps"}max=? [ Cdiscount=0.9<=5 ]', "a bounded reward"),
        ('R{"steps"}max=? [ S ]', "a long-run average"),
        ('R{"steps"}max=? [ LRA ]', "a long-run average"),
        ('Smax=? [ "won" ]', "a long-run average"),
        ('LRAmax=? [ "won" ]', "a long-run average"),
        ('multi(Pmax=? [ F "won" ], R{"steps"}min=? [ C ])', "several objectives"),
        ('Pmax=? [ F P>=0.5 [ F "won" ] ]', "a nested property"),
        ('P>=0.5 [ F "won" ]', "whether a bound holds"),
        ('R{"steps"}<=3 [ C ]', "whether a bound holds"),
        ('Pmax=? [ F G "won" ]', r"a formula of paths \(LTL"),
        ('Pmax=? [ (F "won") & (G "lost") ]', "no property: it has 'F' at column 11"),
        ('Pmax=? [ F "won" || F "lost" ]', "a conditional probability"),
        ('Pmax=? [ "won" W "lost" ]', "a weak until"),
        ('<<1>> Pmax=? [ F "won" ]', "strategies of players"),
        ('Tmin=? [ F "won" ]', "an expected time"),
        ('filter(max, Pmax=? [ F "won" ])', "a filter"),
        ('E [ F "won" ]', "paths without their probability"),
        ('P=? [ F "won" ]', "says neither max nor min"),
        ('R{"loss"}max=? [ C ]', "negative somewhere"),
        ('R{"loss"}min=? [ F "won" ]', "negative somewhere"),
        ('R{"steps"}max=? [ F "won" ]', "a policy can miss these states, or does"),
        ('R{"steps"}min=? [ F "won" ]', "no policy reaches these states with probability 1"),
        ("", "ends too early"),
        ("Pmax=? [ F", "ends too early"),
        ("Pmax=? [ F true", "ends too early; allowed ]"),
        ("Pmax=? [ F x+1=2 ]", "it has '\\+1' at column 13"),
        ("Pmax=? [ F x=y ]", "it has 'y' at column 14; allowed a number"),
        ('Pmax=? [ F "won" ] ]', "it has ']' at column 20; allowed one property"),
        ('Pmax=? [ F "won" ];Pmin=? [ F "won" ]', "allowed one property"),
        ("Pmax=? [ F # ]", "it has '#' at column 12"),
        ("R{1}max=? [ Cdiscount=1 ]", "allowed a discount"),
        ("R{1}max=? [ G true ]", "allowed F or C"),
        ("hello", "it has 'hello' at column 1"),
        (f"Pmax=? [ F {'(' * 5000}", "nested too deeply"),
        (f"Pmax=? [ F {'!' * 5000}true ]", "nested too deeply"),
        (f"Pmax=? [ F {'[' * 10**6}", "has 1000011 letters; allowed up to 10000"),
        ("Rmax=? [ C ]", "3 rewards; allowed one of 'steps'"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(text, said):
    with pytest.raises(InvalidArgument, match=said):
        counterpart(FOUND, text)


@pytest.mark.parametrize("wrong", ["x", "!x", "b=1", "x=true", "b<true", "b>0", "x & b"])
def test_truth_values_and_numbers_are_not_compared(wrong):
    with pytest.raises(InvalidArgument, match=r"is no property: it has '.+' at column"):
        counterpart(FOUND, f"Pmax=? [ F {wrong} ]")


def test_names_that_are_none_are_answered_by_the_nearest():
    for text, said in (
        ('Pmax=? [ F "wons" ]', "no label is called 'wons'; did you mean 'won'"),
        ("Pmax=? [ F won ]", r"no variable \(labels are quoted\) is called 'won'"),
        ('R{"step"}max=? [ C ]', "no reward is called 'step'; did you mean 'steps'"),
        ("R{4}max=? [ C ]", "no reward is called '4'"),
    ):
        with pytest.raises(UnknownLabel, match=said):
            counterpart(FOUND, text)
    with pytest.raises(InvalidGame, match="discount is 1"):
        counterpart(FOUND, 'Pmax=? [ F "won" ]', 1)


def test_waiting_without_cost_is_no_least_reward():
    kernel = [[[[1, 0], [0, 1]]], [[[0, 1], [0, 1]]]]
    game = iirl.TwoAgentMDP(kernel, NEAR, [1, 0])
    free = ImportedGame(game, {"r": [[[0, 1]], [[0, 0]]]}, {"end": [False, True]})
    with pytest.raises(InvalidArgument, match="miss these states for ever without earning"):
        counterpart(free, 'Rmin=? [ F "end" ]')
    dear = ImportedGame(game, {"r": [[[1, 5]], [[0, 0]]]}, {"end": [False, True]})
    low, high = counterpart(dear, 'Rmin=? [ F "end" ]').bracket()
    assert low <= 5 <= high < low + 1e-4


# The bounds against exact numbers -----------------------------------------------------------


def solved(rows, right):
    """Solve a small linear system in Fractions."""
    n = len(rows)
    table = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if table[k][i])
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for k in range(n):
            if k != i and table[k][i]:
                table[k] = [x - table[k][i] * y for x, y in zip(table[k], table[i], strict=True)]
    return [row[-1] for row in table]


def reaching(chain, goal):
    """The exact probabilities with which a chain reaches some states."""
    n = len(chain)
    can = set(goal)
    for _ in range(n):
        can |= {s for s in range(n) if any(chain[s][t] and t in can for t in range(n))}
    inner = sorted(can - set(goal))
    rows = [[Fraction(s == t) - chain[s][t] for t in inner] for s in inner]
    found = dict.fromkeys(goal, Fraction(1))
    right = [sum(chain[s][t] for t in goal) for s in inner]
    found |= dict(zip(inner, solved(rows, right), strict=True))
    return [found.get(s, Fraction(0)) for s in range(n)]


@settings(max_examples=12)
@given(game=games(max_states=4, max_leader_actions=2, max_follower_actions=2), data=st.data())
def test_bounds_hold_of_every_small_game(game, data):
    n = game.n_states
    goal = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1))
    discount = data.draw(st.sampled_from(["1/2", "999/1000", NEAR]))
    found = ImportedGame(game, labels={"goal": np.isin(np.arange(n), list(goal))})
    rows = game.rational.rows.dense().reshape(n, -1, n)
    start = game.exact_start
    answers = [
        sum(
            p * v
            for p, v in zip(
                start, reaching([rows[s][k] for s, k in enumerate(c)], goal), strict=True
            )
        )
        for c in itertools.islice(itertools.product(range(game.n_choices), repeat=n), 256)
    ]
    for best, extreme in (("max", max), ("min", min)):
        low, high = counterpart(found, f'P{best}=? [ F "goal" ]', discount).bracket()
        assert low <= extreme(answers) <= high
        low, high = counterpart(found, f'P{best}=? [ G !"goal" ]', discount).bracket()
        assert low <= 1 - (min if best == "max" else max)(answers) <= high

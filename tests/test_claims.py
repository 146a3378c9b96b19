"""The paper's statements as code: their verdicts, the search itself, and the command."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import best_values, games, is_optimal, optimal_policies, rewards

import iirl_opt as iirl
from iirl_opt.claims import (
    PAPER,
    Claim,
    Outcome,
    bayesian,
    cooperation,
    describe,
    exact,
    feasible,
    ideal,
    read_claims,
    run_claims,
    strict,
    suboptimal,
)
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.library import read_model

BY_NAME = {claim.name: claim for claim in PAPER}
FAILING = [claim for claim in PAPER if claim.counterexample is not None]
HALF = Fraction(1, 2)


def named(claims):
    return {"argvalues": claims, "ids": [claim.name for claim in claims]}


def iirl_opt(*arguments, cwd=None):
    command = [sys.executable, "-m", "iirl_opt.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


# The paper's statements


@pytest.mark.parametrize("claim", **named(PAPER))
def test_a_claim_is_as_its_status_says(claim):
    (result,) = run_claims([claim], examples=10)
    assert result.agrees, (result.counterexample, result.evidence)
    assert result.instances >= 1
    if claim.counterexample is None:
        assert result.failures == 0
        assert result.counterexample is None


@pytest.mark.parametrize("claim", **named(FAILING))
def test_the_search_finds_a_counterexample_where_there_are_some(claim):
    where = claim.outside if claim.status == "needs a condition" else claim.instances
    false = replace(claim, instances=where, outside=None, status="false as stated")
    (result,) = run_claims([false], examples=8 if "proposition" in claim.name else 25, seed=1)
    assert result.failures > 0


@pytest.mark.parametrize("claim", **named([c for c in FAILING if c.model]))
def test_a_model_file_states_the_counterexample(claim):
    problem = read_model(claim.model)
    stored = claim.counterexample()
    if isinstance(stored, ideal.Test):
        kernel = ideal.ideal_kernel(stored.hypothesis)[:, None]
        game = iirl.TwoAgentMDP(kernel, stored.discount)
    elif isinstance(stored, suboptimal.Greedy):
        game, _ = suboptimal.lemma_3_game(stored)
        game = iirl.TwoAgentMDP(game.kernel, game.discount, [1, 0, 0, 0, 0, 0, 0])
    else:
        game = stored.game
    assert problem.game.discount == game.discount
    np.testing.assert_allclose(problem.game.kernel, game.kernel, rtol=0, atol=1e-15)


def test_names_are_unique_and_the_whole_paper_is_there():
    assert len(BY_NAME) == len(PAPER)
    places = {claim.place.split(",")[0] for claim in PAPER}
    for part in (
        *("Theorem 1", "Theorem 2", "Theorem 3", "Corollary 1", "Corollary 2", "Lemma 1"),
        *("Lemma 2", "Lemma 3", "Proposition 1", "Algorithm 4"),
    ):
        assert part in places


# Figures that the audit states, from the claims' own instances


def test_theorem_2_smallest_counterexample():
    kernel = ideal.ideal_kernel(exact.exact([0, 1, 2]))
    rows = [["1/6", "2/3", "1/6"], ["1/2", 0, "1/2"], ["2/3", "1/3", 0]]
    assert (kernel[:, 1] == exact.vectors(rows)).all()
    truth, other = exact.exact([0, 1, 2]), exact.vectors([["-1/3", "5/6", "-1/6"]])[0]
    feasible_for = {
        choices: bool(
            (exact.constraint_rows(kernel, exact.stochastic(choices, 2), HALF) @ other >= 0).all()
        )
        for choices in exact.optimal_policies(kernel, truth, HALF)
    }
    assert feasible_for == {(0, 0, 0): False, (1, 1, 0): False, (1, 0, 0): True, (0, 1, 0): False}


@pytest.mark.parametrize(
    ("n", "fails"), [(2, "0"), (3, "1/2"), (4, "3/4"), (5, "7/8"), (6, "15/16")]
)
def test_corollary_2_fails_on_the_truth_as_often_as_stated(n, fails):
    truth = exact.exact([3, -1, 2, 5, 0, 1][:n])
    kernel = ideal.ideal_kernel(truth)
    # By definition: an answer fails if a reward of another class explains it; V-space vertices.
    answers = list(product((0, 1), repeat=n - 1))
    failed = 0
    for answer in answers:
        policy = exact.stochastic((*answer, 0), 2)
        rows = exact.constraint_rows(kernel, policy, HALF)
        assert (rows @ truth >= 0).all()
        feasible_rewards = iirl.FeasibleRewards(iirl.TwoAgentMDP(kernel[:, None], HALF)).observe(
            np.ones((n, 1)), np.array(policy, dtype=float)
        )
        failed += feasible_rewards.dimension() > 2
    assert Fraction(failed, len(answers)) == Fraction(fails)


def test_the_table_shows_that_frequency():
    (result,) = run_claims([BY_NAME["corollary-2-frequency"]], examples=1)
    assert "0/2 at N = 2, 2/4 at N = 3, 6/8 at N = 4, 14/16 at N = 5" in result.evidence


def test_figures_of_the_counterexamples():
    evidence = {c.name: c.decide(c.counterexample()).evidence for c in FAILING}
    assert evidence["theorem-1"] == "the response is optimal, the least row is -1"
    assert "V0(a1) = 0.313, V0(a2) = 0.300" in evidence["lemma-3"]
    assert "0.7003" in evidence["best-value-attained"]
    assert "1.718" in evidence["theorem-3-limit"]
    assert evidence["likelihood-exponential"] == "ratios 0.084 and 0.229"
    assert "influences 2 and 2" in evidence["influence-teaches"]
    assert "r' sums to 1/2" in evidence["beta-scaling"]


def test_about_half_the_episodes_with_an_idle_partner_are_bad_for_ever():
    bad = cooperation.bad_episodes(cooperation.idle_partner())
    assert 15 < len(bad) < 45
    assert max(bad) > cooperation.LATE


def test_both_readings_of_the_assumption_hold_in_small_generic_games_and_rarely_beyond():
    def share(n_states, joint):
        rng = np.random.default_rng(n_states)
        found = []
        for _ in range(6):
            weights = rng.integers(1, 98, (n_states, 2, 2, n_states))
            at = cooperation.Case(
                iirl.TwoAgentMDP(weights, "9/10"), exact.exact(rng.permutation(9)[:n_states])
            )
            found.append(cooperation.violated_assumption(at, joint=joint) is None)
        return sum(found)

    assert share(2, True) == share(2, False) == 6
    assert share(3, True) <= share(3, False) < 6


def test_symmetric_proposals_do_not_save_the_printed_acceptance():
    rows = exact.exact([[5, 3, 2], [3, 4, 3], [2, 3, 5]]) / 10
    target = exact.exact([2, 3, 5]) / 10
    assert not bayesian.printed_acceptance(bayesian.Sampler(target, rows)).holds
    even = exact.exact([[1, 1, 1]] * 3) / 3
    assert bayesian.printed_acceptance(bayesian.Sampler(target, even)).holds


def test_the_printed_chain_is_what_a_simulation_does():
    at = bayesian.asymmetric()
    rng = np.random.default_rng(0)
    target, proposal = (np.array(x, dtype=float) for x in (at.target, at.proposal))
    counts, x, stored = np.zeros(3), 0, target[0] / proposal[1, 0]
    draws = rng.random((40_000, 2))
    for proposed, accepted in draws:
        new = int(np.searchsorted(np.cumsum(proposal[x])[:-1], proposed))
        p = target[new] / proposal[x, new]
        if accepted < p / stored:
            x, stored = new, p
        counts[x] += 1
    found = bayesian.stationary(bayesian.printed_chain(at)).reshape(3, 3).sum(axis=1)
    np.testing.assert_allclose(counts / counts.sum(), found.astype(float), atol=0.02)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_strict_rows_are_a_regular_simplex_with_a_tilt(seed, n):
    hypothesis = np.random.default_rng(seed).normal(size=n)
    psi, w = strict.strict_rows(hypothesis, 0.01)
    np.testing.assert_allclose(psi.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(psi[:-1] @ w, 0.01, atol=1e-12)
    if n > 2:
        u = psi[:-1] - 0.01 * w
        wanted = np.where(np.eye(n - 1) > 0, 1, -1 / (n - 2))
        np.testing.assert_allclose(u @ u.T, wanted, atol=1e-9)


# Exact arithmetic


@given(games(), st.data())
def test_exact_definitions_agree_with_an_independent_brute_force(game, data):
    reward = exact.exact(data.draw(rewards(game.n_states)))
    kernel, discount = exact.kernel_of(game), exact.discount_of(game)
    problem = exact.leave(kernel, exact.exact(np.eye(game.shape[1], dtype=int)[[0] * len(reward)]))
    flat = np.repeat(reward[:, None], problem.shape[1], axis=1)
    found = [
        exact.stochastic(c, problem.shape[1]).tolist()
        for c in exact.optimal_policies(problem, reward, discount)
    ]
    assert found == [p.tolist() for p in optimal_policies(problem, flat, discount)]
    best = exact.policy_values(problem, reward, exact.exact(found[0]), discount)
    assert (best == best_values(problem, flat, discount)).all()
    assert is_optimal(problem, flat, exact.exact(found[-1]), discount)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=5))
def test_vertices_and_cones_agree_with_linear_programming(rows):
    from scipy.optimize import linprog

    matrix, target = exact.exact(rows), exact.exact([1, -1, 0])
    dual = linprog(np.zeros(len(rows)), A_eq=np.array(rows).T, b_eq=[1, -1, 0])
    assert exact.in_cone(matrix, target) == (dual.status == 0)
    for objective in ([1, 0, 0], [1, 2, -3], [-1, 5, 2]):
        primal = linprog(
            -np.array(objective),
            A_ub=-np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=np.ones((1, 3)),
            b_eq=[1],
        )
        values = [float(exact.exact(objective) @ v) for v in exact.simplex_vertices(matrix)]
        assert (primal.status == 2) == (not values)
        if values:
            assert max(values) == pytest.approx(-primal.fun, abs=1e-7)


@pytest.mark.parametrize(
    ("x", "reward", "closed", "strict"),
    [
        ((2, 4), (0, 1), True, True),
        ((4, 2), (0, 1), False, False),
        ((3, 3), (0, 1), True, False),
        ((3, 3), (1, 1), True, True),
        ((0, 1), (1, 1), False, False),
        ((0, 1, 3), (0, 1, 2), False, False),
    ],
)
def test_membership_of_the_affine_class(x, reward, closed, strict):
    pair = exact.exact(x), exact.exact(reward)
    assert exact.in_affine_class(*pair, strict=False) == closed
    assert exact.in_affine_class(*pair, strict=True) == strict


def test_floats_become_the_short_fractions_that_they_print_as():
    assert exact.exact([0.1, 1 / 3, 2.0]).tolist() == [Fraction(1, 10), Fraction(1, 3), 2]


# The search


def integers_below(limit, status="holds", **others):
    return Claim(
        "small", "here", f"n < {limit}", st.integers(0, 100), lambda n: n < limit, status, **others
    )


def test_a_planted_failure_is_found_and_made_small():
    (result,) = run_claims([integers_below(20)], examples=50)
    assert not result.agrees
    assert result.failures > 0
    assert result.counterexample == "20"


def test_a_false_statement_whose_counterexample_holds_does_not_agree():
    for status in ("false as stated", "needs a condition"):
        planted = integers_below(200, status, counterexample=lambda: 7)
        (result,) = run_claims([planted], examples=5)
        assert not result.agrees


def test_a_condition_that_does_not_suffice_does_not_agree():
    planted = integers_below(50, "needs a condition", counterexample=lambda: 70)
    (result,) = run_claims([planted], examples=50)
    assert not result.agrees
    assert result.counterexample == "50"
    sound = replace(planted, instances=st.integers(0, 49), outside=st.integers(50, 90))
    (result,) = run_claims([sound], examples=50)
    assert result.agrees
    assert (result.instances, result.failures) == (50 + 41, 41)


def test_the_same_seed_tries_the_same_instances():
    def tried(seed):
        seen = []
        claim = Claim("x", "here", "all", st.integers(), lambda n: seen.append(n) is None)
        run_claims([claim], examples=20, seed=seed)
        return seen

    assert tried(3) == tried(3) != tried(4)


def test_what_makes_no_claim_is_refused():
    with pytest.raises(InvalidArgument, match="status of small is 'maybe'"):
        integers_below(3, "maybe")
    with pytest.raises(InvalidArgument, match="counterexample of small is missing"):
        integers_below(3, "false as stated")
    with pytest.raises(InvalidArgument, match="counterexample of small is given"):
        integers_below(3, counterexample=lambda: 5)
    with pytest.raises(InvalidArgument, match="examples is 0"):
        run_claims([integers_below(3)], examples=0)
    with pytest.raises(InvalidArgument, match="predicate of x returns None"):
        Claim("x", "here", "y", st.integers(), lambda n: None).decide(1)


def test_instances_are_described_whole():
    at = feasible.same_answer()
    assert "discount=9/10" in describe(at)
    assert "reward=[0, 1, 19/20]" in describe(at)
    assert describe(suboptimal.Proportional(suboptimal.STEP, HALF)).startswith(
        "Proportional(weight=1 below 1/4, else 2, discount=1/2"
    )
    assert Outcome(True).evidence == ""


# The command

MINE = """
from hypothesis import strategies as st
from iirl_opt.claims import Claim
from iirl_opt.testing import games

claims = [Claim("mine", "my note", "Discounts are small.", games(), lambda g: g.discount < {})]
"""


def test_the_command_tries_a_users_claims(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE.format(1))
    done = iirl_opt("claims", path, "--examples", 10, "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (record,) = document["claims"]
    assert list(record)[:5] == ["name", "place", "status", "instances", "counterexample"]
    assert record["status"] == "holds"
    assert record["counterexample"] is None
    assert json.loads((tmp_path / "out" / "claims.json").read_text()) == document
    path.write_text(MINE.format(0.9))
    done = iirl_opt("claims", path, "--examples", 20)
    assert done.returncode == 1
    assert "NOT SO mine" in done.stdout
    assert "discount=9/10" in done.stdout or "discount=99/100" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "no such file"),
        ("claims = [", "mine.py:1: "),
        ("\nx = 1 / 0", "mine.py:2: ZeroDivisionError"),
        ("claim = []", "claims: has no list of claims"),
        ("claims = [3]", "claims: has no list of claims"),
        (MINE.format(1) + "claims *= 2", "two claims called 'mine'"),
    ],
)
def test_a_file_without_claims_is_refused_with_its_place(tmp_path, text, message):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FileProblem) as caught:
        read_claims(path)
    assert message in str(caught.value)


def test_the_command_names_the_extra_that_it_lacks():
    code = (
        "import sys; sys.modules['hypothesis'] = None; from iirl_opt.cli import run; "
        "sys.exit(run(['claims', '--examples', '1']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'iirl-opt[testing]'" in done.stderr


def test_claims_load_neither_hypothesis_nor_a_solver():
    code = (
        "import sys, iirl_opt.claims; "
        "print([m for m in ('hypothesis', 'cvxpy', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

"""The paper's statements as code: their verdicts, the search itself, and the command."""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from commands import child
from hypothesis import given, strategies as st
from instances import best_values, games, is_optimal, optimal_policies, rewards

import iirl_opt as iirl
from iirl_opt.claims import (
    PAPER,
    Claim,
    Outcome,
    arithmetic,
    branching,
    describe,
    ideal_environment,
    instances,
    read_claims,
    run_claims,
    untried,
)
from iirl_opt.claims.statements import (
    algorithm_4,
    algorithms_2_and_3,
    influence,
    lemma_3,
    proposition_1,
    strict_verification,
    theorem_3,
)
from iirl_opt.cli.app import run
from iirl_opt.commitment.algorithms_2_and_3 import ValueIteration
from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.library import read_model

BY_NAME = {claim.name: claim for claim in PAPER}
FAILING = [claim for claim in PAPER if claim.counterexample is not None]
HALF = Fraction(1, 2)


def named(claims):
    return {"argvalues": claims, "ids": [claim.name for claim in claims]}


# The paper's statements


@pytest.mark.parametrize("claim", **named(PAPER))
def test_a_claim_is_as_its_status_says(claim):
    (result,) = run_claims([claim], examples=10)
    assert result.agrees, (result.finding, result.counterexample, result.evidence)
    assert result.instances >= result.applies >= result.floor >= 1
    if claim.status != "false as stated":
        assert result.failures == 0
    if claim.counterexample is None:
        assert result.counterexample is None


@pytest.mark.parametrize("claim", **named([c for c in FAILING if c.model]))
def test_a_model_file_states_the_counterexample(claim):
    problem = read_model(claim.model)
    stored = claim.counterexample()
    if isinstance(stored, ideal_environment.IdealTest):
        kernel = ideal_environment.ideal_kernel(stored.hypothesis)[:, None]
        game = iirl.TwoAgentMDP(kernel, stored.discount)
    elif isinstance(stored, lemma_3.GreedyGame):
        game = lemma_3.lemma_3_case(stored).game
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
        *("Lemma 2", "Lemma 3", "Proposition 1", "Algorithm 1", "Algorithm 2", "Algorithm 3"),
        *("Algorithm 4",),
    ):
        assert part in places


# Figures that the audit states, from the claims' own instances


def test_theorem_2_smallest_counterexample():
    kernel = ideal_environment.ideal_kernel(arithmetic.exact([0, 1, 2]))
    rows = [["1/6", "2/3", "1/6"], ["1/2", 0, "1/2"], ["2/3", "1/3", 0]]
    assert (kernel[:, 1] == arithmetic.vectors(rows)).all()
    truth, other = arithmetic.exact([0, 1, 2]), arithmetic.vectors([["-1/3", "5/6", "-1/6"]])[0]
    feasible_for = {
        choices: bool(
            (
                arithmetic.constraint_rows(kernel, arithmetic.stochastic(choices, 2), HALF) @ other
                >= 0
            ).all()
        )
        for choices in arithmetic.optimal_policies(kernel, truth, HALF)
    }
    assert feasible_for == {(0, 0, 0): False, (1, 1, 0): False, (1, 0, 0): True, (0, 1, 0): False}


@pytest.mark.parametrize(
    ("n", "fails"), [(2, "0"), (3, "1/2"), (4, "3/4"), (5, "7/8"), (6, "15/16")]
)
def test_corollary_2_fails_on_the_truth_as_often_as_stated(n, fails):
    truth = arithmetic.exact([3, -1, 2, 5, 0, 1][:n])
    kernel = ideal_environment.ideal_kernel(truth)
    # By definition: an answer fails if a reward of another class explains it; V-space vertices.
    answers = list(product((0, 1), repeat=n - 1))
    failed = 0
    for answer in answers:
        policy = arithmetic.stochastic((*answer, 0), 2)
        rows = arithmetic.constraint_rows(kernel, policy, HALF)
        assert (rows @ truth >= 0).all()
        feasible_rewards = iirl.FeasibleRewards(iirl.TwoAgentMDP(kernel[:, None], HALF)).observe(
            np.ones((n, 1)), np.array(policy, dtype=float)
        )
        failed += feasible_rewards.dimension() > 2
    assert Fraction(failed, len(answers)) == Fraction(fails)


def test_the_table_shows_that_frequency():
    (result,) = run_claims([BY_NAME["corollary-2-frequency"]], examples=1)
    assert "0/2 at N = 2, 2/4 at N = 3, 6/8 at N = 4" in result.evidence


def test_figures_of_the_counterexamples():
    evidence = {c.name: c.decide(c.counterexample()).evidence for c in FAILING}
    assert evidence["theorem-1"] == "the response is optimal, the least row is -1"
    assert "V0(a1) = 0.313, V0(a2) = 0.300" in evidence["lemma-3"]
    assert "0.7003" in evidence["best-value-attained"]
    assert "1.718" in evidence["theorem-3-limit"]
    assert evidence["likelihood-exponential"] == "ratios 0.084 and 0.229"
    assert "influences 2 and 2" in evidence["influence-teaches"]
    assert "r' sums to 1/2" in evidence["beta-scaling"]
    assert "+3.75%" in evidence["deterministic-greedy"]
    assert "+4.32%" in evidence["deterministic-boltzmann"]
    assert evidence["algorithm-2-converges"] == "a cycle of 3: 00 → 00 → 01"
    assert evidence["algorithm-2-joint"] == "18.576, and the joint 20.367"


def test_figures_of_algorithm_3_and_of_theorem_3():
    shares = [
        algorithms_2_and_3.ratio(at).evidence.split(": ")[1] for at in algorithms_2_and_3.AUDITED
    ]
    assert shares == ["0.1476 of the best", "0.0150 of the best", "0.0015 of the best"]
    found = {
        weight.name: theorem_3.threshold(
            theorem_3.ProportionalGame(weight, Fraction(9, 10))
        ).evidence
        for weight in theorem_3.INCREASING
    }
    assert found["exp x"] == "X = 1.835"
    assert found["1 + x"] == "X = 2.562"
    assert found["1 + x/(1 + x)"] == "X = 4.646"


def test_algorithms_2_and_3_are_the_library_s():
    cycle = algorithms_2_and_3.cycling()
    game, reward = cycle.case.game, cycle.case.reward.astype(float)
    follower = iirl.BoltzmannFollower(2.0)
    problem = iirl.CommitmentProblem(game, reward, follower)
    found = ValueIteration(order="in-place").iterate(problem)
    assert (found.converged, found.cycle) == (False, 3)
    for at in algorithms_2_and_3.AUDITED[:2]:
        case = lemma_3.lemma_3_case(at)
        greedy = iirl.EpsilonGreedyFollower(float(at.epsilon))
        reward = case.reward.astype(float)
        found = ValueIteration().iterate(iirl.CommitmentProblem(case.game, reward, greedy))
        own = algorithms_2_and_3.algorithm_3(case, at.epsilon)
        assert found.iterated.policy.argmax(axis=1)[2] == own[2] == 0


@pytest.mark.parametrize("last", [False, True])
def test_the_exact_answers_of_lemma_3_and_theorem_3_are_those_of_the_library_s_followers(last):
    at = lemma_3.audited()
    case = lemma_3.lemma_3_case(at)
    reward = case.reward.astype(float)
    greedy = iirl.EpsilonGreedyFollower(0.5, ties="last" if last else "first")
    for share in (Fraction(0), Fraction(1, 4), Fraction(1)):
        pi1 = np.tile([float(share), float(1 - share)], (7, 1))
        own = branching.earned(case, share, lemma_3.greedy(HALF, last=last))
        theirs = iirl.evaluate(case.game, reward, (pi1, greedy.respond(case.game, reward, pi1)))
        np.testing.assert_allclose(own.astype(float), theirs, atol=1e-12)


def test_about_half_the_episodes_with_an_idle_partner_are_bad_for_ever():
    bad = proposition_1.bad_episodes(proposition_1.idle_partner())
    assert 15 < len(bad) < 45
    assert max(bad) > proposition_1.LATE


def test_both_readings_of_the_assumption_hold_in_small_generic_games_and_rarely_beyond():
    def share(n_states, joint):
        rng = np.random.default_rng(n_states)
        found = []
        for _ in range(6):
            weights = rng.integers(1, 98, (n_states, 2, 2, n_states))
            at = instances.Case(
                iirl.TwoAgentMDP(weights, "9/10"), arithmetic.exact(rng.permutation(9)[:n_states])
            )
            found.append(proposition_1.violated_assumption(at, joint=joint) is None)
        return sum(found)

    assert share(2, True) == share(2, False) == 6
    assert share(3, True) <= share(3, False) < 6


def test_symmetric_proposals_do_not_save_the_printed_acceptance():
    rows = arithmetic.exact([[5, 3, 2], [3, 4, 3], [2, 3, 5]]) / 10
    target = arithmetic.exact([2, 3, 5]) / 10
    assert not algorithm_4.printed_acceptance(algorithm_4.Sampler(target, rows)).holds
    even = arithmetic.exact([[1, 1, 1]] * 3) / 3
    assert algorithm_4.printed_acceptance(algorithm_4.Sampler(target, even)).holds


def test_the_printed_chain_is_what_a_simulation_does():
    at = algorithm_4.asymmetric()
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
    found = algorithm_4.stationary(algorithm_4.printed_chain(at)).reshape(3, 3).sum(axis=1)
    np.testing.assert_allclose(counts / counts.sum(), found.astype(float), atol=0.02)


# Exact arithmetic


@given(games(), st.data())
def test_exact_definitions_agree_with_an_independent_brute_force(game, data):
    reward = arithmetic.exact(data.draw(rewards(game.n_states)))
    kernel, discount = arithmetic.kernel_of(game), arithmetic.discount_of(game)
    problem = arithmetic.leave(
        kernel, arithmetic.exact(np.eye(game.shape[1], dtype=int)[[0] * len(reward)])
    )
    flat = np.repeat(reward[:, None], problem.shape[1], axis=1)
    found = [
        arithmetic.stochastic(c, problem.shape[1]).tolist()
        for c in arithmetic.optimal_policies(problem, reward, discount)
    ]
    assert found == [p.tolist() for p in optimal_policies(problem, flat, discount)]
    best = arithmetic.policy_values(problem, reward, arithmetic.exact(found[0]), discount)
    assert (best == best_values(problem, flat, discount)).all()
    assert is_optimal(problem, flat, arithmetic.exact(found[-1]), discount)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=5))
def test_vertices_and_cones_agree_with_linear_programming(rows):
    from scipy.optimize import linprog

    matrix, target = arithmetic.exact(rows), arithmetic.exact([1, -1, 0])
    dual = linprog(np.zeros(len(rows)), A_eq=np.array(rows).T, b_eq=[1, -1, 0])
    assert arithmetic.in_cone(matrix, target) == (dual.status == 0)
    for objective in ([1, 0, 0], [1, 2, -3], [-1, 5, 2]):
        primal = linprog(
            -np.array(objective),
            A_ub=-np.array(rows),
            b_ub=np.zeros(len(rows)),
            A_eq=np.ones((1, 3)),
            b_eq=[1],
        )
        values = [
            float(arithmetic.exact(objective) @ v) for v in arithmetic.simplex_vertices(matrix)
        ]
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
    pair = arithmetic.exact(x), arithmetic.exact(reward)
    assert arithmetic.in_affine_class(*pair, strict=False) == closed
    assert arithmetic.in_affine_class(*pair, strict=True) == strict


def test_floats_are_the_binary_fractions_that_they_are():
    assert arithmetic.exact([0.1, 0.25, 2.0]).tolist() == [Fraction(0.1), Fraction(1, 4), 2]
    assert arithmetic.exact(["1/3", Fraction(1, 10), 2]).tolist()[:2] == [
        Fraction(1, 3),
        Fraction("0.1"),
    ]
    with pytest.raises(ValueError, match="NaN"):
        arithmetic.exact([float("nan")])


@given(st.integers(0, 10**6), st.integers(2, 8), st.sampled_from(["simplex", "basis", "signs"]))
def test_strict_tests_are_what_they_say(seed, n, kind):
    n = n if kind == "simplex" else (3, 4, 8)[n % 3]
    rng = np.random.default_rng(seed)
    mirrors = tuple(arithmetic.exact(x - x.mean() * 0) for x in rng.integers(-3, 4, (2, n)))
    mirrors = tuple(x - x.sum() / n for x in mirrors)
    at = strict_verification.strict_test(n, kind, Fraction(1, 7), HALF, mirrors)
    assert (at.kernel.sum(axis=2) == 1).all()
    assert (at.kernel >= 0).all()
    assert at.w.sum() == 0
    gram = at.flat @ at.flat.T
    if n > 2:
        off = {gram[i, j] for i in range(len(gram)) for j in range(len(gram)) if i != j}
        wanted = -gram[0, 0] / (n - 2) if kind == "simplex" else Fraction(0)
        assert off <= {wanted}
        assert set(np.diag(gram)) == {gram[0, 0]}
        assert (at.flat @ at.w == 0).all()
        tilts = at.rows[: n - 2, 0] @ at.w / (at.w @ at.w)
        assert set(tilts**2 * (at.w @ at.w) / gram[0, 0]) == {at.squared}


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_the_least_gap_of_a_strict_test_is_attained(n):
    at = strict_verification.sharpest(n, 100, HALF)
    stated = at.discount**2 * at.squared * (at.w @ at.w) / (n * (n - 1) * (1 + at.squared))
    assert at.ahead.min() ** 2 == stated
    assert strict_verification.strict_completeness(at).holds


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
    assert (result.instances, result.applies, result.failures) == (50, 50, 0)
    assert (result.outside, result.outside_failures) == (41, 41)


def test_a_statement_that_is_hardly_ever_tried_falls_short():
    def decide(n):
        return Outcome(True, "small") if n < 50 else untried("large")

    claim = Claim("some", "here", "n < 50", st.integers(0, 99), decide)
    (result,) = run_claims([claim], examples=50)
    assert result.finding == "falls short"
    assert not result.agrees
    assert 0 < result.applies < result.floor == 45
    assert result.failures == 0
    assert result.evidence == "small"
    record = result.record()
    assert (record["applies"], record["floor"]) == (result.applies, 45)
    assert record["finding"] == "falls short"
    (enough,) = run_claims([replace(claim, floor=0.1)], examples=50)
    assert enough.finding == "as stated"


def test_a_failure_is_found_where_the_statement_is_hardly_ever_tried():
    def decide(n):
        return Outcome(False) if n == 0 else untried("not zero")

    (result,) = run_claims([Claim("zero", "here", "n ≠ 0", st.integers(0, 9), decide)], examples=50)
    assert result.finding == "not so"
    assert result.counterexample == "0"


def test_the_same_seed_tries_the_same_instances():
    def tried(seed):
        seen = []
        claim = Claim("x", "here", "all", st.integers(), lambda n: seen.append(n) is None)
        run_claims([claim], examples=20, seed=seed)
        return seen

    assert tried(3) == tried(3) != tried(4)


def test_what_makes_no_claim_is_refused():
    with pytest.raises(InvalidArgument, match="status is 'maybe'"):
        integers_below(3, "maybe")
    with pytest.raises(InvalidArgument, match="counterexample of small is missing"):
        integers_below(3, "false as stated")
    with pytest.raises(InvalidArgument, match="counterexample of small is given"):
        integers_below(3, counterexample=lambda: 5)
    for floor in (0, 1.5, float("nan")):
        with pytest.raises(InvalidArgument, match="floor is"):
            integers_below(3, floor=floor)
    vacuous = Claim("x", "here", "y", st.integers(), lambda n: Outcome(False, applies=False))
    with pytest.raises(InvalidArgument, match="predicate of x fails where it does not apply"):
        vacuous.decide(1)
    with pytest.raises(InvalidArgument, match="examples is 0"):
        run_claims([integers_below(3)], examples=0)
    with pytest.raises(InvalidArgument, match="predicate of x returns None"):
        Claim("x", "here", "y", st.integers(), lambda n: None).decide(1)


def test_instances_are_described_whole():
    at = influence.same_answer()
    assert "discount=9/10" in describe(at)
    assert "reward=[0, 1, 19/20]" in describe(at)
    assert describe(theorem_3.ProportionalGame(theorem_3.STEP, HALF)).startswith(
        "ProportionalGame(weight=1 below 1/4, else 2, discount=1/2"
    )
    assert Outcome(True).evidence == ""


# The command

MINE = """
from hypothesis import strategies as st
from iirl_opt.claims import Claim
from iirl_opt.testing import games

claims = [Claim("mine", "my note", "Discounts are small.", games(), lambda g: g.discount < {})]
"""


SHORT = """
from hypothesis import strategies as st
from iirl_opt.claims import Claim, untried

claims = [Claim("rare", "my note", "-", st.integers(0, 99), lambda n: untried("never"))]
"""


def command(capsys, *arguments):
    """Run the command in this process: its exit code, and what it prints to each stream."""
    code = run([str(x) for x in arguments])
    return code, *capsys.readouterr()


def test_the_command_tries_a_users_claims(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(MINE.format(1))
    out = tmp_path / "out"
    code, text, _ = command(capsys, "claims", path, "--examples", 10, "--json", "--out", out)
    assert code == 0
    document = json.loads(text)
    (record,) = document["claims"]
    assert list(record)[:5] == ["name", "place", "status", "instances", "counterexample"]
    assert record["applies"] == record["instances"] == 10
    assert record["status"] == "holds"
    assert record["counterexample"] is None
    assert json.loads((out / "claims.json").read_text()) == document
    path.write_text(MINE.format(0.9))
    code, text, _ = command(capsys, "claims", path, "--examples", 20)
    assert code == 1
    assert "NOT SO mine" in text
    assert "discount=9/10" in text or "discount=99/100" in text


def test_the_command_says_what_was_not_tried(tmp_path, capsys):
    path = tmp_path / "short.py"
    path.write_text(SHORT)
    code, text, _ = command(capsys, "claims", path, "--examples", 20)
    assert code == 1
    assert "SHORT  rare" in text
    assert "fewer than 18 instances meet the premise" in text
    assert "1 not as their status says, 1 of them for want of instances" in text
    code, text, _ = command(capsys, "claims", path, "--examples", 20, "--json")
    document = json.loads(text)
    assert (code, document["unmet"], document["short"]) == (1, 1, 1)
    (record,) = document["claims"]
    assert (record["finding"], record["applies"], record["floor"]) == ("falls short", 0, 18)


def test_the_table_of_the_paper_holds_applies_for_every_row(capsys):
    code, text, _ = command(capsys, "claims", "--examples", 1, "--json")
    document = json.loads(text)
    assert (code, document["unmet"]) == (0, 0)
    assert {record["name"] for record in document["claims"]} == set(BY_NAME)
    assert all(record["applies"] >= record["floor"] >= 1 for record in document["claims"])


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


def test_the_command_names_the_extra_that_it_lacks(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    code, _, problem = command(capsys, "claims", "--examples", 1)
    assert code == 2
    assert "pip install 'iirl-opt[testing]'" in problem


@pytest.mark.process
def test_claims_load_neither_hypothesis_nor_a_solver():
    code = (
        "import sys, iirl_opt.claims; "
        "print([m for m in ('hypothesis', 'cvxpy', 'networkx') if m in sys.modules])"
    )
    assert child([sys.executable, "-c", code]) == (0, "[]\n", "")

"""Exact certificates: every kind proves its claim in rationals; no edit that breaks it passes."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import iirl_opt as iirl
from iirl_opt.certificate import (
    AngleBound,
    Certificate,
    Inclusion,
    Infeasibility,
    Optimality,
    PolicyImprovement,
    SparseRows,
    Violation,
    Witness,
    affine_halfspaces,
    angle_bound,
    cone_halfspaces,
    inclusion,
    policy_improvement,
    violation,
    witness,
)
from iirl_opt.certificate.base import digest_of
from iirl_opt.errors import (
    FileProblem,
    Infeasible,
    InvalidArgument,
    InvalidPolicy,
    InvalidReward,
    NotExact,
)
from iirl_opt.exact.linear import echelon, eliminate, solve, solve_near
from iirl_opt.exact.numbers import as_fractions, as_reals
from iirl_opt.game.policy import rational_policy
from iirl_opt.game.values import follower_reward

# Instances


def rational_game(seed: int, n: int = 4, n_a: int = 2, n_b: int = 2) -> iirl.TwoAgentMDP:
    weights = np.random.default_rng(seed).integers(0, 4, (n, n_a, n_b, n))
    weights[..., 0] += weights.sum(axis=-1) == 0
    return iirl.TwoAgentMDP(weights, "4/5")


def observed(
    game: iirl.TwoAgentMDP, reward: Any, seed: int = 0, *, whole: bool = False
) -> iirl.Observation:
    pi1 = iirl.random_deterministic_policy(
        game.n_states, game.n_leader_actions, np.random.default_rng(seed)
    )
    faced = follower_reward(game, pi1, reward)
    optimal = iirl.policy_iteration(game.follower_mdp(pi1), faced).optimal
    chosen = iirl.deterministic_policy(optimal.argmax(axis=1), game.n_follower_actions)
    return iirl.observe(game, pi1, optimal if whole else chosen)


def a_reward(seed: int, n: int = 4) -> Any:
    r = np.random.default_rng(seed + 1000).integers(-5, 6, n).astype(float)
    r[0] = r.max() + 1
    return r


def ideal(reward: Any) -> tuple[iirl.TwoAgentMDP, iirl.Observation]:
    """Theorem 2's environment with the half-spaces of `affine_halfspaces`; the response b1."""
    n = len(reward)
    even = Fraction(1, n)
    kernel = np.full((n, 1, 2, n), even, dtype=object)
    for s, h in enumerate(affine_halfspaces(reward)):
        kernel[s, 0, 1] = even - min(even / max(h), (1 - even) / max(-h)) * h
    game = iirl.TwoAgentMDP(kernel, "9/10")
    first = iirl.deterministic_policy(np.zeros(n, dtype=int), 2)
    return game, iirl.observe(game, np.ones((n, 1)), first)


def strict(n: int, epsilon: Fraction) -> tuple[iirl.TwoAgentMDP, Any, Any]:
    """A strict environment for the reward (0, 1, …): rows φ + ε w, and its rows and direction."""
    halfspaces = [*affine_halfspaces(range(n))]
    w = halfspaces.pop() if n > 1 else as_fractions([0])
    psi = np.array([h + epsilon * w for h in halfspaces] or [w] * (n - 1), dtype=object)
    psi = psi.reshape(n - 1, n)
    even = Fraction(1, n)
    kernel = np.full((n, 1, 2, n), even, dtype=object)
    for s, row in enumerate(psi):
        kernel[s, 0, 1] = even - min(even / max(row), (1 - even) / max(-row)) * row
    return iirl.TwoAgentMDP(kernel, "9/10"), psi, w


def optimality(seed: int, *, limited: bool = True) -> Optimality:
    game, reward = rational_game(seed), a_reward(seed)
    measure = iirl.OccupancyMeasure(game)
    visits = np.eye(4)[0]
    free = float(measure.maximise(visits).value)
    cap = iirl.budget(measure.expected(visits), round(0.7 * free, 3), name="visits")
    found = measure.maximise(reward, subject_to=[cap] if limited else [])
    return found.certificate.repair()


def infeasibility(seed: int) -> Infeasibility:
    measure = iirl.OccupancyMeasure(rational_game(seed))
    short = iirl.budget(measure.expected(np.ones(4)), 4.0, name="time")
    with pytest.raises(Infeasible) as caught:
        measure.maximise(np.ones(4), subject_to=[short])
    return caught.value.certificate.repair()


def a_violation(seed: int, *, joint: bool = False) -> Violation:
    game = rational_game(seed)
    reward = a_reward(seed, 16).reshape(4, 2, 2) if joint else a_reward(seed)
    seen = observed(game, reward)
    found = iirl.FeasibleRewards(game).add(seen).violations(-reward)
    state, action = found[0].state, found[0].action
    return violation(game, seen, -reward, state, action)


def a_witness(seed: int, episodes: int = 1) -> Witness:
    game, reward = rational_game(seed), a_reward(seed)
    seen = [observed(game, reward, t) for t in range(episodes)]
    feasible = iirl.FeasibleRewards(game)
    for one in seen:
        feasible = feasible.add(one)
    for h in affine_halfspaces(reward):
        found = feasible.maximise(-as_reals(h), domain=iirl.RewardBox())
        if found.solved.value > 1e-3:
            return witness(game, seen, found.reward, h)
    raise AssertionError("the feasible set is no larger than the class")


def an_inclusion(seed: int, tan: Any = None) -> Inclusion:
    reward = a_reward(seed)
    game, seen = ideal(reward)
    return inclusion(game, [seen], reward=reward, tan=tan)


def an_angle_bound(n: int = 4) -> AngleBound:
    game, psi, w = strict(n, Fraction(1, 100))
    return angle_bound(game, psi, w)


def an_improvement(seed: int) -> PolicyImprovement:
    game, reward = rational_game(seed), a_reward(seed)
    joint = iirl.policy_iteration(game, reward).optimal.argmax(axis=1)
    best = np.eye(4)[joint].reshape(4, 2, 2)
    uniform = np.full((4, 2), 0.5)
    return policy_improvement(game, reward, (uniform, uniform), best)


KINDS: dict[str, Callable[[], Certificate]] = {
    "optimality": lambda: optimality(3),
    "optimality without constraints": lambda: optimality(3, limited=False),
    "infeasibility": lambda: infeasibility(2),
    "violation": lambda: a_violation(0),
    "violation of a joint reward": lambda: a_violation(1, joint=True),
    "witness": lambda: a_witness(0),
    "witness of two episodes": lambda: a_witness(5, 2),
    "inclusion": lambda: an_inclusion(0),
    "inclusion in a cone": lambda: an_inclusion(0, "1/10"),
    "angle bound": an_angle_bound,
    "policy improvement": lambda: an_improvement(0),
}


@cache
def example(name: str, exact: bool = True) -> Certificate:
    made = KINDS[name]()
    return made if exact else in_floats(made)


def in_floats(certificate: Certificate) -> Certificate:
    """Return a certificate with all its exact numbers as floats."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return float(Fraction(value)) if isinstance(value, str) else value

    words = ("instance", "claim", "source", "inexact", "kind", "digest")
    body = json.loads(certificate.to_json())
    floats = {key: value if key in words else plain(value) for key, value in body.items()}
    return remade(floats | {"claim": ""})


def remade(body: dict[str, Any]) -> Certificate:
    """Return the certificate of an edited document, with its digest recomputed."""
    body = {key: value for key, value in body.items() if key != "digest"}
    return Certificate.from_json(json.dumps(body | {"digest": digest_of(body)}))


# All kinds


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_holds_in_both_arithmetics_and_survives_json(name: str) -> None:
    certificate = example(name)
    assert certificate.is_exact, certificate.inexact
    for one in (certificate, Certificate.from_json(certificate.to_json())):
        assert one.check(exact=True).reasons == ()
        assert one.check().reasons == ()
        assert one.claim == certificate.claim
        assert one.to_json() == certificate.to_json()
    assert in_floats(certificate).check().reasons == ()


@pytest.mark.parametrize("name", KINDS)
def test_floats_are_refused_by_the_exact_check_with_the_reason(name: str) -> None:
    floats = example(name, exact=False)
    with pytest.raises(NotExact, match="has no exact numbers: floats in"):
        floats.check(exact=True)


def test_a_game_of_floats_is_refused_with_the_reason() -> None:
    game, reward = iirl.random_game(4, 2, 2, seed=0)
    game = iirl.TwoAgentMDP(game.kernel, 0.9)
    seen = observed(game, reward)
    first = iirl.FeasibleRewards(game).add(seen).violations(-reward)[0]
    found = violation(game, seen, -reward, first.state, first.action)
    assert found.check()
    assert not found.is_exact
    with pytest.raises(NotExact, match="give the kernel as Fractions"):
        found.check(exact=True)
    measure = iirl.OccupancyMeasure(game)
    with pytest.raises(NotExact, match="game"):
        measure.maximise(reward).certificate.repair()


def test_a_policy_that_sums_to_one_only_in_floats_is_named() -> None:
    game, reward = rational_game(0), a_reward(0)
    pi1 = iirl.random_policy(4, 2, np.random.default_rng(3))
    answer = iirl.policy_iteration(game.follower_mdp(pi1), reward).optimal
    seen = iirl.observe(game, pi1, answer)
    first = iirl.FeasibleRewards(game).add(seen).violations(-reward)[0]
    found = violation(game, seen, -reward, first.state, first.action)
    assert found.check()
    with pytest.raises(NotExact, match="probabilities of row"):
        found.check(exact=True)


# Edits. What passes although it was edited must still be true, by another computation.


def leaves(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(body, dict | list):
        for key in body if isinstance(body, dict) else range(len(body)):
            yield from leaves(body[key], (*path, key))
    else:
        yield path


def edited(value: Any, how: int) -> Any:
    """Return another value of the same type."""
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            return value + "!"
        return str(edited(number, how))
    if value is None:
        return 1.5
    if isinstance(value, int):
        return value + (1, -1, 2, 7)[how % 4]
    one = type(value)(1)
    step = one / 1000 if how % 2 else one / 3
    return (value + step, value - step, -value - step, value * 2, value + 9, value * 0)[how]


def layout(c: Certificate) -> tuple[Any, float, Any]:
    """Return the kernel (S, A, B, S), the discount and the start of a certificate's game."""
    n = c.instance.shape[0]
    return (
        c.instance.kernel.toarray().reshape(*c.instance.shape, n),
        c.instance.discount,
        c.instance.start,
    )


def worths(c: Certificate, pi1: Any, pi2: Any, reward: Any) -> tuple[Any, Any]:
    """Return (V, Q) of a pair of policies by dense linear algebra."""
    kernel, gamma, _ = layout(c)
    r = reward if reward.ndim == 3 else np.broadcast_to(reward[:, None, None], kernel.shape[:3])
    chain = np.einsum("sa,sb,sabt->st", pi1, pi2, kernel)
    v = np.linalg.solve(np.eye(len(chain)) - gamma * chain, np.einsum("sa,sb,sab->s", pi1, pi2, r))
    return v, np.einsum("sa,sab->sb", pi1, r + gamma * kernel @ v)


def program(c: Certificate, objective: Any) -> Any:
    """Return the solution of an occupancy program by scipy."""
    kernel, gamma, start = layout(c)
    n = len(start)
    flow = np.repeat(np.eye(n), kernel[0, ..., 0].size, axis=0) - gamma * kernel.reshape(-1, n)
    side = as_reals(c.rows).reshape(-1, len(flow)), as_reals(c.equal).reshape(-1, len(flow))
    equal = np.vstack([flow.T, side[1]]), np.concatenate([start, as_reals(c.right)])
    return linprog(
        -objective,
        side[0] if len(side[0]) else None,
        as_reals(c.bounds) if len(side[0]) else None,
        *equal,
    )


def is_true(c: Certificate, tolerance: float = 1e-5) -> bool:
    """Return whether the claim of a certificate holds, by floats and scipy's own programs."""
    kernel, gamma, start = layout(c)
    game = np.allclose(kernel.sum(-1), 1) and (kernel >= 0).all() and 0 <= gamma < 1
    assert game
    assert np.isclose(start.sum(), 1)
    if isinstance(c, Optimality):
        best = program(c, as_reals(c.reward))
        return best.status == 0 and abs(-best.fun - float(c.value)) < 1e-4
    if isinstance(c, Infeasibility):
        return program(c, np.zeros(kernel[..., 0].size)).status == 2
    if isinstance(c, Violation):
        v, q = worths(c, *map(as_reals, (c.pi1, c.pi2, c.reward)))
        gain = q[c.state, c.action] - v[c.state]
        return gain > 0 or (gain < 0 and c.pi2[c.state, c.action] > 0)
    if isinstance(c, PolicyImprovement):
        values = []
        for policy in map(as_reals, (c.old, c.new)):
            chain = np.einsum("sab,sabt->st", policy, kernel)
            r = as_reals(c.reward)
            values.append(np.linalg.solve(np.eye(len(chain)) - gamma * chain, r))
        gains = values[1] - values[0]
        return bool(gains.min() > -tolerance and gains[c.state] > 0)
    if isinstance(c, AngleBound):
        rays = np.linalg.inv(np.vstack([as_reals(c.psi), np.ones(len(start))]))[:, :-1]
        w = as_reals(c.direction)
        cosine = w @ rays / np.linalg.norm(rays, axis=0) / np.linalg.norm(w)
        gaps = (kernel[:, 0, 0] - kernel[:, 0, 1])[:-1]
        fits = (gaps @ rays)[~np.eye(len(rays) - 1, dtype=bool)]
        tans = 1 / cosine**2 - 1
        return bool(
            np.abs(fits).max() < tolerance
            and tans.max() < float(c.bound) * (1 + 1e-4)
            and cosine.min() > 0 < gamma
        )
    assert isinstance(c, Witness | Inclusion)
    pairs = [*zip(as_reals(c.pi1), as_reals(c.pi2), strict=True)]
    if isinstance(c, Witness):
        r, h = as_reals(c.reward), as_reals(c.halfspace)
        for pi1, pi2 in pairs:
            v, q = worths(c, pi1, pi2, r)
            if (np.abs(v[:, None] - q)[pi2 > 0] > tolerance).any() or (
                q > v[:, None] + tolerance
            ).any():
                return False
        return bool(h @ r < 0)
    gaps = []
    for pi1, pi2 in pairs:
        columns = [worths(c, pi1, pi2, e) for e in np.eye(len(start))]
        gaps.append(np.array([v[:, None] - q for v, q in columns]).reshape(len(start), -1).T)
    rows = np.vstack(gaps)
    for h in c.halfspaces:
        unit = as_reals(h) / np.abs(as_reals(h)).max()
        found = linprog(unit, -rows, np.full(len(rows), 1e-12), bounds=(-1, 1))
        if found.fun < -1e-4:
            return False
    return c.reward is None or outside_is_cut(c)


def outside_is_cut(c: Inclusion) -> bool:
    """Return whether rewards beyond the named set are outside one of its half-spaces."""
    r = as_reals(c.reward)
    w = (r - r.mean()) / np.linalg.norm(r - r.mean())
    limit = 0.0 if c.tan is None else float(c.tan)
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.normal(size=len(r))
        x -= x.mean() + (x @ w) * w
        x = w + x / np.linalg.norm(x) * (limit * 1.01 + 1e-3) * rng.uniform(1, 3)
        if min(as_reals(h) @ x for h in c.halfspaces) >= 0:
            return False
    return all(as_reals(h) @ r >= -1e-6 for h in c.halfspaces)


def check_edit(name: str, path: tuple[Any, ...], how: int, exact: bool) -> bool:
    """Edit one place of a certificate; return whether its check still passes: then it is true."""
    body = json.loads(example(name, exact).to_json())
    where = body
    for key in path[:-1]:
        where = where[key]
    where[path[-1]] = edited(where[path[-1]], how)
    try:
        again = remade(body)
        passed = bool(again.check(exact=exact))
    except (FileProblem, NotExact):
        return False
    if passed:
        assert is_true(again), (name, path, how)
    return passed


def places(name: str, exact: bool) -> list[tuple[Any, ...]]:
    """Return all places of a certificate, grouped so that every field is as likely."""
    return [p for p in leaves(json.loads(example(name, exact).to_json())) if p != ("digest",)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_no_edit_that_makes_the_claim_false_passes(name: str, exact: bool, data: Any) -> None:
    by_field: dict[Any, list[tuple[Any, ...]]] = {}
    for path in places(name, exact):
        by_field.setdefault(path[:2] if path[0] == "instance" else path[:1], []).append(path)
    field = data.draw(st.sampled_from(sorted(by_field)))
    check_edit(
        name, data.draw(st.sampled_from(by_field[field])), data.draw(st.integers(0, 5)), exact
    )


@pytest.mark.parametrize("name", KINDS)
def test_some_edit_of_every_field_fails(name: str) -> None:
    fields: dict[Any, list[bool]] = {}
    for path in places(name, True):
        key = path[:2] if path[0] == "instance" else path[:1]
        tried = fields.setdefault(key, [])
        if len(tried) < 24 and all(tried):
            tried += [check_edit(name, path, how, True) for how in range(6)]
    survivors = {key for key, outcomes in fields.items() if all(outcomes)}
    # A note, and labels that the claim does not mention.
    harmless = {("inexact",), ("instance", "states"), ("instance", "leader_actions")}
    assert survivors <= harmless | {("instance", "follower_actions")}


def test_other_forms_are_refused_or_fail_and_never_raise_something_else() -> None:
    body = json.loads(example("violation").to_json())
    for key, value in {
        "state": 4,
        "episode": True,
        "action": 0.0,
        "advantage": None,
        "values": [0.0, 0.0, 0.0],
        "reward": [None, 1.0, 2.0, 3.0],
        "pi1": [[1.0], [0.0, 1.0], [1.0], [1.0]],
    }.items():
        try:
            outcome: Any = remade(body | {key: value}).check()
        except FileProblem:
            outcome = False
        assert not outcome, key
    for key, value in {"indices": [9], "indptr": [1], "denominators": [0]}.items():
        wrong = dict(body["instance"])
        wrong[key] = value + wrong[key][1:]
        assert not remade(body | {"instance": wrong}).check(exact=True)
    with pytest.raises(FileProblem, match="misstates"):
        remade(body | {"values": ["1/0", "1", "1", "1"]})


def test_a_state_that_stands_twice_in_a_row_of_the_kernel_is_no_form() -> None:
    body = json.loads(example("violation").to_json())
    game = body["instance"]
    game["indices"][:2] = [game["indices"][1]] * 2
    assert any("the kernel" in reason for reason in remade(body).check().reasons)


def test_small_rewards_do_not_pass_as_feasible_within_the_tolerance() -> None:
    c = example("witness", exact=False)
    assert isinstance(c, Witness)
    body = json.loads(c.to_json()) | {"claim": ""}
    tiny = [-1e-9 * x for x in as_reals(c.reward)]
    body |= {"reward": tiny, "margin": -1e-9 * float(c.margin)}
    body["values"] = [[-1e-9 * x for x in row] for row in c.values]
    reasons = remade(body).check().reasons
    assert any("no action is better" in reason for reason in reasons)


# Repair


@given(seed=st.integers(0, 10_000))
def test_what_a_solver_found_is_repaired_to_exact_numbers(seed: int) -> None:
    for found in (optimality(seed), optimality(seed, limited=False), infeasibility(seed)):
        assert found.is_exact, found.inexact
        assert found.check(exact=True).reasons == ()


def test_equations_and_a_held_leader_are_repaired() -> None:
    measure = iirl.OccupancyMeasure(rational_game(1))
    half = measure.expected(np.eye(4)[2]) == 0.5
    for side in ([half.set_label("visits")], measure.hold_leader(iirl.uniform_policy(4, 2))):
        assert isinstance(side[0], cp.Constraint)
        found = measure.maximise(a_reward(1), subject_to=side).certificate.repair()
        assert found.check(exact=True).reasons == ()


def test_an_exact_optimum_is_the_value_by_hand() -> None:
    stay, go = [1, 0], [0, 1]
    game = iirl.TwoAgentMDP([[[stay, go]], [[go, go]]], discount="1/2", start=[1, 0])
    best = iirl.OccupancyMeasure(game).maximise([0.0, 1.0]).certificate.repair()
    assert best.value == 1
    assert list(best.values) == [1, 2]
    assert best.claim == "no joint policy within the side constraints earns more than 1"


def test_a_wrong_optimum_is_left_in_floats_with_the_reason() -> None:
    measure = iirl.OccupancyMeasure(rational_game(0))
    cap = iirl.budget(measure.expected(np.eye(4)[0]), 1.0, name="visits")
    found = measure.maximise(a_reward(0), subject_to=[cap]).certificate
    body = json.loads(found.to_json())
    body["measure"] = [1.0] * 16
    wrong = remade(body).repair()
    assert not wrong.is_exact
    with pytest.raises(NotExact, match="equations that hold"):
        wrong.check(exact=True)


@given(seed=st.integers(0, 10_000), episodes=st.integers(1, 3))
def test_witnesses_from_a_solver_are_repaired(seed: int, episodes: int) -> None:
    found = a_witness(seed, episodes)
    assert found.is_exact, found.inexact
    assert found.check(exact=True).reasons == ()


def test_a_witness_may_be_a_joint_reward() -> None:
    game, reward = rational_game(2), a_reward(2, 16).reshape(4, 2, 2)
    seen = [observed(game, reward, t, whole=True) for t in range(2)]
    found = witness(game, seen, reward, -np.sign(reward))
    assert found.check(exact=True)
    assert found.margin == np.abs(reward).sum()
    assert witness(game, [], reward, -np.sign(reward)).check(exact=True)


@given(seed=st.integers(0, 10_000), joint=st.booleans())
def test_half_spaces_that_are_combinations_of_the_conditions_are_proved(
    seed: int, joint: bool
) -> None:
    rng = np.random.default_rng(seed)
    game = rational_game(seed, 4, 2, 3)
    shape = game.shape if joint else (4,)
    reward = rng.integers(-3, 4, shape).astype(float)
    seen = [observed(game, reward, t, whole=t == 0) for t in range(2)]
    feasible = iirl.FeasibleRewards(game)
    for one in seen:
        feasible = feasible.add(one)
    columns = np.eye(int(np.prod(shape)))
    slack = np.array([feasible.slack(e.reshape(shape)) for e in columns])
    y = rng.integers(0, 3, (2, 4, 3)).astype(float)
    h = np.tensordot(slack, y, axes=3)
    # From floats only what is a decimal is exact, so that the half-space is made of exact rows.
    found = inclusion(game, seen, [h], [y * (1 + 1e-9 * rng.normal(size=y.shape))])
    assert found.check()
    if found.is_exact:
        assert found.check(exact=True)


@given(seed=st.integers(0, 10_000))
def test_noisy_multipliers_of_an_ideal_environment_are_repaired(seed: int) -> None:
    reward, rng = a_reward(seed, 5), np.random.default_rng(seed)
    game, seen = ideal(reward)
    rows = affine_halfspaces(reward)
    noisy = np.zeros((len(rows), 1, 5, 2))
    noisy[range(len(rows)), 0, range(len(rows)), 1] = 1 + 1e-8 * rng.normal(size=len(rows))
    for multipliers in (None, noisy):
        found = inclusion(game, [seen], rows, multipliers)
        assert found.check(exact=True).reasons == ()


def test_what_the_observations_do_not_imply_is_refused() -> None:
    reward = a_reward(0)
    game, seen = ideal(reward)
    with pytest.raises(InvalidArgument, match="halfspaces are not proved"):
        inclusion(game, [seen], [reward.mean() - reward])
    with pytest.raises(InvalidArgument, match="not those of the reward"):
        inclusion(game, [seen], affine_halfspaces(reward), reward=-reward)
    with pytest.raises(InvalidArgument, match="halfspaces have width 3"):
        inclusion(game, [seen], [[1, 0, -1]])
    with pytest.raises(InvalidArgument, match="multipliers are 1 of"):
        inclusion(game, [seen], reward=reward, multipliers=[np.zeros((1, 4, 2))])
    with pytest.raises(InvalidArgument, match="halfspaces are missing"):
        inclusion(game, [seen])
    with pytest.raises(InvalidArgument, match="explains the response"):
        violation(game, seen, reward, 0, 1)
    with pytest.raises(InvalidArgument, match="state is -1"):
        violation(game, seen, reward, -1, 1)
    with pytest.raises(InvalidArgument, match="is no witness"):
        witness(game, [seen], -reward, reward)
    with pytest.raises(InvalidArgument, match="halfspace has shape"):
        witness(game, [seen], reward, [1.0])
    first, second = iirl.deterministic_policy([0] * 4, 2), iirl.deterministic_policy([1] * 4, 2)
    leader = np.ones((4, 1))
    with pytest.raises(InvalidPolicy, match="no improvement"):
        policy_improvement(game, reward, (leader, first), (leader, second))


# Half-spaces and angles


@given(seed=st.integers(0, 10_000), n=st.integers(1, 7))
def test_affine_halfspaces_are_a_minimal_cut_in_whole_numbers(seed: int, n: int) -> None:
    r = np.random.default_rng(seed).integers(-4, 5, n)
    rows = np.array([*affine_halfspaces(r)], dtype=object).reshape(-1, n)
    constant = np.ptp(r) == 0
    assert len(rows) == (n if constant else n - (n == 2)) - (n == 1)
    assert all(x.denominator == 1 for x in rows.ravel())
    assert not rows.sum(axis=1).any()
    flat, last = (rows, None) if constant else (rows[:-1], rows[-1])
    assert not flat.sum(axis=0).any()
    assert not (flat @ r).any()
    assert np.linalg.matrix_rank(as_reals(flat)) == max(n - 2, 0) + (constant and n > 1)
    if last is not None:
        across = as_reals(last) @ (r - r.mean())
        assert np.isclose(across, np.linalg.norm(as_reals(last)) * np.linalg.norm(r - r.mean()))


@given(seed=st.integers(0, 10_000), n=st.integers(2, 6), tan=st.fractions("1/100", 10))
def test_rewards_in_the_cone_are_within_its_angle(seed: int, n: int, tan: Fraction) -> None:
    rng = np.random.default_rng(seed)
    r = rng.integers(-4, 5, n).astype(float)
    r[0] = r[1:].max() + 1
    rows = as_reals(np.array([*cone_halfspaces(r, tan)]))
    assert (rows @ r > 0).all()
    w = (r - r.mean()) / np.linalg.norm(r - r.mean())
    for goal in rng.normal(size=(10, n)):
        found = linprog(goal, -rows, np.zeros(len(rows)), [w, np.ones(n)], [1, 0], (None, None))
        if found.status == 0:
            assert np.linalg.norm(found.x - w) <= float(tan) * (1 + 1e-6)


def test_half_spaces_of_what_has_no_direction_are_refused() -> None:
    with pytest.raises(InvalidReward, match="is constant"):
        cone_halfspaces([1, 1], 1)
    with pytest.raises(InvalidArgument, match="tan is 0"):
        cone_halfspaces([1, 2], 0)
    for wrong in ([], [[1.0]], [np.nan, 1.0]):
        with pytest.raises(InvalidReward):
            affine_halfspaces(wrong)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 10**9)])
def test_the_angle_of_three_states_is_its_closed_form(epsilon: Fraction) -> None:
    game, psi, w = strict(3, epsilon)
    phi = psi[0] - epsilon * w
    found = angle_bound(game, psi, w)
    assert found.bound == epsilon**2 * (w @ w) / (phi @ phi)
    assert found.check(exact=True)
    below = found.bound * Fraction(999, 1000)
    with pytest.raises(InvalidArgument, match="no extreme ray is farther"):
        angle_bound(game, psi, w, below)
    with pytest.raises(InvalidArgument, match="on the side of the direction"):
        angle_bound(game, psi, -w)


@pytest.mark.parametrize("n", [1, 2])
def test_angles_of_one_and_two_states_are_zero(n: int) -> None:
    game, psi, w = strict(n, Fraction(1, 10))
    found = angle_bound(game, psi, w)
    assert found.bound == 0
    assert found.check(exact=True)


def test_without_a_discount_the_strict_test_shows_nothing() -> None:
    game, psi, w = strict(3, Fraction(1, 10))
    myopic = iirl.TwoAgentMDP(game.rational.rows.weights(), 0, follower_actions=2)
    with pytest.raises(InvalidArgument, match="the discount is positive"):
        angle_bound(myopic, psi, w)


# Rational linear algebra


@given(seed=st.integers(0, 10_000), m=st.integers(0, 5), n=st.integers(0, 5))
def test_elimination_agrees_with_flint(seed: int, m: int, n: int) -> None:
    pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    matrix = as_fractions(rng.integers(-2, 3, (m, n))) / 3
    slow, fast = eliminate(matrix), echelon(matrix)
    assert (slow[0] == fast[0]).all()
    assert slow[1] == fast[1]


@given(seed=st.integers(0, 10_000), m=st.integers(1, 5), n=st.integers(1, 5))
def test_solutions_solve_and_stay_near_the_guess(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    matrix, near = as_fractions(rng.integers(-2, 3, (m, n))), rng.normal(size=n).round(3)
    right = matrix @ as_fractions(near)
    found = solve_near(matrix, right, near + 1e-9)
    assert found is not None
    assert (matrix @ found == right).all()
    free = n - np.linalg.matrix_rank(as_reals(matrix))
    assert np.count_nonzero(found == as_fractions(near + 1e-9)) >= free
    if m == n:
        whole = solve(matrix, right)
        assert (whole is None) == (free > 0)


def test_what_has_no_solution_has_none() -> None:
    one = as_fractions([[1], [1]])
    assert solve_near(one, as_fractions([1, 2]), [0.0]) is None
    assert solve(as_fractions([[0]]), as_fractions([1])) is None


def test_large_systems_are_refused_where_flint_is_missing() -> None:
    identity = as_fractions(np.eye(41, dtype=int))
    with pytest.raises(NotExact, match=r"41 equations need python-flint.*iirl-opt\[exact\]"):
        eliminate(identity)


def test_policies_in_floats_are_read_as_the_fractions_they_mean() -> None:
    third = rational_policy(np.full((1, 3), 1 / 3), "policy")
    assert list(third[0]) == [Fraction(1, 3)] * 3
    assert list(rational_policy([[0.1, 0.9]], "policy")[0]) == [Fraction(1, 10), Fraction(9, 10)]


def test_numbers_of_many_digits_survive_json() -> None:
    long = Fraction(3**20_000, 2**30_000 + 1)
    c = example("violation")
    assert isinstance(c, Violation)
    body = json.loads(c.to_json()) | {
        "values": [hex(long.numerator) + "/" + hex(long.denominator)] * 4
    }
    again = remade(body)
    assert isinstance(again, Violation)
    assert again.values[0] == long
    assert json.loads(again.to_json())["values"] == body["values"]


# The paper's size


def test_a_violation_and_a_witness_on_maze_maker_are_exact() -> None:
    pytest.importorskip("flint")
    game, truth = iirl.maze_maker()
    seen = observed(game, truth)
    first = iirl.FeasibleRewards(game).add(seen).violations(-truth)[0]
    state, action = game.states.index(first.state), game.follower_actions.index(first.action)
    against = violation(game, seen, -truth, state, action)
    # The truth explains the response and is no positive affine image of minus the truth.
    beyond = witness(game, [seen], truth, [*affine_halfspaces(-truth)][-1])
    for certificate in (against, beyond):
        again = Certificate.from_json(certificate.to_json())
        assert again.check(exact=True).reasons == ()


def test_an_inclusion_of_the_size_of_maze_maker_is_exact() -> None:
    n = 392
    reward = np.random.default_rng(0).integers(0, 50, n)
    game, seen = ideal(reward)
    rows = affine_halfspaces(reward)
    multipliers = (np.eye(1, n * 2, 2 * s + 1).reshape(1, n, 2) for s in range(n))
    found = inclusion(game, [seen], rows, multipliers, reward=reward)
    assert isinstance(found.on_gaps, SparseRows)
    assert found.on_gaps.data.size == n
    assert found.check(exact=True).reasons == ()

"""The committee learner: what it asks, that it asks well, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, InvalidPolicy, InvalidReward
from iirl_opt.experiments.sweep import CellResult
from iirl_opt.experiments.transfer import TRANSFER
from iirl_opt.game.optimum import follower_action_values
from iirl_opt.learn import CommitteeIRL, loss_elsewhere
from iirl_opt.learn.committee import LEFT, MIXTURES, Committee

GAME, TRUTH = iirl.random_game(8, 5, 3, rng=3)
PARTNER = iirl.OptimalFollower()


def told(answers, **settings):
    """Return the learner after some answers to its questions."""
    learner = CommitteeIRL(GAME, **settings)
    for _ in range(answers):
        learner = learner.tell(PARTNER.respond(GAME, TRUTH, learner.ask()))
    return learner


def members(seed=0, n=7):
    return Committee(GAME, np.random.default_rng(seed).dirichlet(np.ones(8), n + 1))


def test_the_same_learner_asks_the_same_and_what_it_knows_holds_the_truth():
    learner = told(3, seed=5)
    again = told(3, seed=5)
    assert (learner.ask() == again.ask()).all()
    assert (learner.ask() != told(3, seed=6).ask()).any()
    assert learner.known.contains(TRUTH)
    GAME.check_leader_policy(learner.ask())
    GAME.check_leader_policy(learner.plan())
    assert (learner.plan() == iirl.commit(GAME, learner.estimate()).policy).all()


def test_a_question_is_deterministic_or_mixes_two_in_each_state():
    pi1 = told(2).ask()
    played = (pi1 > 0).sum(axis=1)
    assert set(played) <= {1, 2}
    assert 2 in played


def test_values_of_members_are_the_followers_up_to_constants():
    committee, pi1 = members(), iirl.random_policy(8, 5, 0)
    found = committee.values(pi1)
    for reward, own in zip(committee.rewards, found.T, strict=True):
        want = iirl.best_responses(GAME, reward, pi1).values
        apart = (own - own.mean()) - (want - want.mean())
        assert np.abs(apart).max() <= 2e-3 * np.ptp(want)


def test_the_weight_left_is_that_of_pairs_by_how_often_they_differ():
    committee, pi1 = members(), iirl.random_deterministic_policy(8, 5, np.random.default_rng(0))
    answers = np.array(
        [follower_action_values(GAME, r, pi1).argmax(axis=1) for r in committee.rewards[1:]]
    )
    told_apart = (answers[:, None] != answers).sum(axis=2)
    assert committee.alike(pi1) == pytest.approx((LEFT**told_apart).sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_state_by_state_no_candidate_left_less(seed):
    """By brute force, in the same order: the definition, pair by pair."""
    committee, start = members(seed), iirl.uniform_policy(8, 5)
    left, pi1 = committee.choose(start, np.random.default_rng(seed))
    q = (GAME.matrix @ committee.values(start)).reshape(8, 5, 3, -1)
    weight = np.ones((7, 7))
    for s in np.random.default_rng(seed).permutation(8):

        def leaves(x, s=s, weight=weight):
            one = np.einsum("a,abk->bk", x, q[s, :, :, 1:]).argmax(axis=0)
            return weight[one[:, None] == one].sum(), one

        mine, one = leaves(pi1[s])
        assert all(mine <= leaves(x)[0] + 1e-4 for x in np.eye(5))
        weight[one[:, None] != one] *= LEFT
    assert left == pytest.approx(weight.sum(), rel=1e-5)


def test_mixtures_leave_the_centre_indifferent_between_the_best_answers():
    rng = np.random.default_rng(0)
    q, pairs = rng.normal(size=(20, 4)), np.argwhere(np.triu(np.ones((20, 20)), 1))
    one, two, share = Committee._mixtures(q, rng.permutation(pairs))
    assert len(one) == MIXTURES
    mixed = (1 - share)[:, None] * q[one] + share[:, None] * q[two]
    row = np.arange(len(one))
    first, second = mixed[row, q[one].argmax(axis=1)], mixed[row, q[two].argmax(axis=1)]
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)
    assert ((share > 0) & (share < 1)).all()


def test_among_given_commitments_it_asks_one_that_leaves_least():
    given = [iirl.random_deterministic_policy(8, 5, np.random.default_rng(k)) for k in range(6)]
    learner = CommitteeIRL(GAME, among=given, seed=1)
    for _ in range(3):
        pi1 = learner.ask()
        assert any((pi1 == own).all() for own in given)
        learner = learner.tell(PARTNER.respond(GAME, TRUTH, pi1))
    # One that was answered tells nothing again: members answer it alike, mostly.
    assert any((learner.ask() == own).all() for own in given)
    with pytest.raises(InvalidArgument, match="first is none that may be asked"):
        CommitteeIRL(GAME, among=given, first=iirl.uniform_policy(8, 5))
    with pytest.raises(InvalidPolicy, match=r"among\[0\]"):
        CommitteeIRL(GAME, among=np.ones((2, 8, 5)))
    for wrong in (np.zeros((0, 8, 5)), given[0], "x"):
        with pytest.raises(InvalidArgument, match="among"):
            CommitteeIRL(GAME, among=wrong)
    for members in (1, 10**9):
        with pytest.raises(InvalidArgument, match=f"members is {members};"):
            CommitteeIRL(GAME, members=members)


def test_what_cannot_be_told_apart_is_asked_at_random():
    still = iirl.TwoAgentMDP(np.broadcast_to(np.eye(3)[:, None, None], (3, 2, 2, 3)), 0.9)
    learner = CommitteeIRL(still, seed=0)
    for _ in range(2):
        learner = learner.tell(iirl.uniform_policy(3, 2))
    assert learner.estimate() is None
    assert learner.ask().shape == learner.plan().shape == (3, 2)


@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (1, 3), (3, 1)])
def test_where_one_of_them_has_no_choice_there_is_still_a_question(n_a, n_b):
    game, truth = iirl.random_game(4, n_a, n_b, rng=2)
    learner = CommitteeIRL(game, seed=0)
    for _ in range(3):
        learner = learner.tell(PARTNER.respond(game, truth, learner.ask()))
    assert (learner.ask().max(axis=1) == 1).all()


def test_a_partner_who_errs_does_not_stop_it():
    learner, rng = CommitteeIRL(GAME, seed=2, price=10.0), np.random.default_rng(0)
    for _ in range(4):
        pi1 = learner.ask()
        answer = PARTNER.respond(GAME, TRUTH, pi1)
        answer[rng.integers(8)] = np.eye(3)[rng.integers(3)]
        learner = learner.tell(answer)
    assert np.isfinite(learner.estimate()).all()


def test_the_loss_elsewhere_is_that_of_the_estimates_best_play():
    games = [iirl.random_game(8, n_a, 2, rng=seed)[0] for seed, n_a in ((11, 1), (12, 3))]
    estimate = np.roll(TRUTH, 1)
    for game, loss in zip(games, loss_elsewhere(games, TRUTH, estimate), strict=True):
        q = game.kernel.reshape(8, -1, 8)
        values = np.zeros(8)
        for _ in range(400):
            values = estimate + game.discount * (q @ values).max(axis=1)
        chain = q[np.arange(8), (q @ values).argmax(axis=1)]
        earned = np.linalg.solve(np.eye(8) - game.discount * chain, TRUTH)
        best = iirl.commit(game, TRUTH).value
        assert loss == pytest.approx(1 - game.start @ earned / best, abs=1e-9)
    with pytest.raises(InvalidReward, match=r"truth in games\[0\] is worth"):
        loss_elsewhere(games, -TRUTH, estimate)
    with pytest.raises(InvalidArgument, match="games is empty"):
        loss_elsewhere([], TRUTH, estimate)


def test_questions_of_the_committee_save_much_of_what_random_ones_lose():
    """After three and five answers, on small games that no setting saw; the table has more."""
    cells = [cell for cell in TRANSFER.cells("small", 40) if cell.method in ("random", "committee")]
    short = [replace(c, parameters={**c.parameters, "answers": 5}) for c in cells if c.seed < 44]
    found = {(c.method, c.seed): TRANSFER.compute(c)["losses"] for c in short}
    random, own = (
        np.array([loss for (method, _), loss in found.items() if method == name])
        for name in ("random", "committee")
    )
    assert (random[:, 0] == own[:, 0]).all()  # they begin alike
    assert own[:, [2, 4]].mean() < 0.75 * random[:, [2, 4]].mean()


@pytest.mark.parametrize("scale", ["paper", "two", "mazes"])
def test_statements_are_decided_on_pairs_of_runs(scale):
    cells = TRANSFER.cells(scale, 0)
    lost = {"fixed": 0.3, "random": 0.2, "active": 0.25, "committee": 0.05}

    def result(cell, more=0.0):
        luck = np.random.default_rng(cell.seed).normal(0, 0.01, 10)
        return CellResult(cell, {"losses": (lost[cell.method] + more + luck).tolist()}, 0.0)

    halved = TRANSFER.judge([result(cell) for cell in cells])
    assert all(each.holds for each in halved)
    assert len(halved) == (2 if scale == "mazes" else 3)
    even = [result(cell, 0.15 * (cell.method == "committee")) for cell in cells]
    assert not any(each.holds for each in TRANSFER.judge(even))
    some = [result(cell, 0.06 * (cell.method == "committee")) for cell in cells]
    assert all(each.holds == (scale != "paper") for each in TRANSFER.judge(some))
    summary = TRANSFER.summarise([result(cell) for cell in cells])
    (panel,) = summary["panels"].values()
    assert panel["committee"]["share"][9] == pytest.approx(0.25, rel=0.1)
    assert panel["committee"]["won"][9] == len(cells) / 4

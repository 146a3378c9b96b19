"""What commitments tell of a soft-optimal partner's reward: ranks against fits and play."""

from fractions import Fraction

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt import recheck
from iirl_opt.errors import InvalidArgument, InvalidPolicy
from iirl_opt.follower import SoftOptimalFollower
from iirl_opt.rewards import SoftRewards
from iirl_opt.verification import identifiability

HEAT = 0.7


def planted(rng, discount):
    """A game in which the follower's actions differ in a few directions only."""
    n, n_a, n_b = (int(x) for x in rng.integers([2, 1, 2], [6, 4, 4]))
    few = np.zeros((int(rng.integers(1, n)), n), dtype=int)
    for row in few:
        row[rng.choice(n, 2, replace=False)] = 1, -1
    weights = (
        rng.integers(4, 9, (n, n_a, 1, n)) + rng.integers(-1, 2, (n, n_a, n_b, len(few))) @ few
    )
    return iirl.TwoAgentMDP(weights, discount)


def drawn(rng, game, times):
    """Commitments, deterministic or not, some of them twice."""
    draws = (iirl.random_policy, iirl.random_deterministic_policy)
    return [draws[int(rng.integers(2))](*game.shape[:2], rng) for _ in range(times)]


def over_choices(game, reward, kind):
    """A reward of a kind as one that the follower can have."""
    return np.broadcast_to(reward[:, None, :], game.shape) if kind == "follower" else reward


def agrees(seed, kind, times):
    """Compare a rank with the fit of answers, and its directions with what they answer."""
    rng = np.random.default_rng([seed, times, *kind.encode()])
    game = planted(rng, ("1/2", "9/10", "99/100")[seed % 3])
    commitments = drawn(rng, game, times)
    found = identifiability(game, commitments, kind)
    reward = rng.normal(size=found.directions.shape[1:])
    known, follower = SoftRewards(game, HEAT), SoftOptimalFollower(HEAT)
    logs = [follower.log_respond(game, over_choices(game, reward, kind), p) for p in commitments]
    for p, log in zip(commitments, logs, strict=True):
        known = known.observe_log(p, log)
    assert known.fit(kind).unknown == found.left - 1
    for direction in found.directions[:2]:
        z = direction.astype(float)
        other = over_choices(game, reward + z / np.abs(z).max(), kind)
        for p, log in zip(commitments, logs, strict=True):
            assert follower.log_respond(game, other, p) == pytest.approx(log, abs=1e-9)
    return found.left


@pytest.mark.parametrize("kind", ["state", "follower", "joint"])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_rank_and_numbers_agree_with_planted_deficiencies(kind, times):
    assert len({agrees(seed, kind, times) for seed in range(4)}) > 1


def test_one_commitment_tells_iff_the_differences_of_rows_have_full_rank():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(25):
        game = planted(rng, "9/10")
        (pi1,) = drawn(rng, game, 1)
        kernel = game.follower_mdp(pi1).kernel
        differences = (kernel - kernel[:, :1]).reshape(-1, game.n_states)
        full = np.linalg.matrix_rank(differences, tol=1e-9) == game.n_states - 1
        assert identifiability(game, [pi1]).identified is bool(full)
        seen.add(bool(full))
    assert seen == {True, False}


def stacked_rank(game, commitments):
    """The rank of the differences of the follower's rows, of all commitments together."""
    kernels = [game.follower_mdp(p).kernel for p in commitments]
    return np.linalg.matrix_rank(
        np.vstack([(k - k[:, :1]).reshape(-1, game.n_states) for k in kernels])
    )


@pytest.mark.parametrize(
    ("goes_to", "stacked", "left"),
    [
        ([[[0, 2], [0, 1]], [[1, 1], [2, 2]], [[1, 1], [2, 2]]], 2, 2),
        ([[[1, 0], [1, 0]], [[2, 2], [0, 0]], [[1, 0], [1, 0]]], 1, 1),
    ],
)
def test_rows_of_different_commitments_are_not_to_be_stacked(goes_to, stacked, left):
    # Each commitment leaves two dimensions; what both leave is not what the stacked rows say.
    game = iirl.TwoAgentMDP(np.eye(3, dtype=int)[np.array(goes_to)], "1/2")
    commitments = [np.eye(2)[[a] * 3] for a in (0, 1)]
    assert [identifiability(game, [p]).left for p in commitments] == [2, 2]
    assert stacked_rank(game, commitments) == stacked
    assert identifiability(game, commitments).left == left


def test_at_discount_zero_nothing_is_told_of_state_rewards():
    game, _ = iirl.random_game(4, 2, 3, rng=0, discount=0)
    found = identifiability(game, [np.full((4, 2), 0.5)] * 2)
    assert (found.left, found.identified, found.rank) == (4, False, 8)


def test_rewards_of_both_agents_are_told_up_to_shaping_by_enough_commitments():
    rng = np.random.default_rng(1)
    game = iirl.TwoAgentMDP(rng.integers(1, 50, (3, 3, 2, 3)), "9/10")
    commitments = [iirl.random_policy(3, 3, rng) for _ in range(6)]
    left = [identifiability(game, commitments[:t], "joint").left for t in (1, 2, 3, 4, 6)]
    assert left == [15, 12, 9, 6, 3]
    found = identifiability(game, commitments, "joint")
    assert found.only_shaping
    assert not found.identified
    assert "shaping" in repr(found)


@pytest.mark.oracle
def test_two_experts_have_the_rank_that_is_in_print():
    # Rolland et al. 2022, experiment with random kernels of 18 states: their notebook prints 35.
    rng = np.random.default_rng(2)
    game = iirl.TwoAgentMDP(rng.integers(1, 20, (18, 2, 4, 18)), "9/10")
    found = identifiability(game, [np.eye(2)[[a] * 18] for a in (0, 1)], "follower")
    assert found.identified
    assert found.rank - 18 * 4 == 35  # of the values, once the rewards are eliminated
    again = identifiability(game, [np.eye(2)[[0] * 18]] * 2, "follower")
    assert (again.left, again.rank - 18 * 4) == (18, 18)


def test_the_certificate_holds_the_game_and_survives_its_file(tmp_path):
    game, _ = iirl.random_game(4, 2, 2, rng=0)
    found = identifiability(game, [np.eye(2)[[0] * 4]])
    proof = iirl.certify(found)
    assert proof is found.certificate
    assert proof.check()
    assert proof.matches(game)
    proof.save(tmp_path / "rank.json")
    assert iirl.certificate.read_certificate(tmp_path / "rank.json").check()
    assert recheck.holds((tmp_path / "rank.json").read_text("utf-8"))


def test_exact_commitments_are_read_as_they_are():
    game = iirl.TwoAgentMDP([[[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[[1, 0]] * 2] * 2], "1/2")
    third = [[Fraction(1, 3), Fraction(2, 3)], [1, 0]]
    assert identifiability(game, [third]).identified
    # Where both of the leader's actions are as likely, the follower's two do the same.
    assert not identifiability(game, [[[Fraction(1, 2)] * 2, [1, 0]]]).identified


def test_bad_arguments_are_named():
    game, _ = iirl.random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="commitments are none"):
        identifiability(game, [])
    with pytest.raises(InvalidPolicy, match="has shape"):
        identifiability(game, [np.eye(2)])
    with pytest.raises(InvalidArgument, match="rewards is 'states'"):
        identifiability(game, [np.full((3, 2), 0.5)], "states")
    with pytest.raises(InvalidArgument, match="commitments"):
        identifiability(game, 3)

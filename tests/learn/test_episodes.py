"""Runs and regret: one driver for all learners, also for one of the user's own."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, strategies as st
from instances import games, rewards

from iirl_opt.commitment.methods import commit
from iirl_opt.errors import InvalidArgument, InvalidReward
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import OptimalFollower
from iirl_opt.game.generate import random_game
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import random_policy, uniform_policy
from iirl_opt.game.values import evaluate
from iirl_opt.learn.active import ActiveIRL
from iirl_opt.learn.algorithm_1 import InteractiveIRL
from iirl_opt.learn.episode_regret import best_value, loss, regret
from iirl_opt.learn.episodes import interact
from iirl_opt.learn.learner import Learner
from iirl_opt.observation import Trajectory, observe


@dataclass(frozen=True, eq=False)
class Repeating(Learner):
    """A learner of the user's own: it plays commitments that it was given, and learns nothing."""

    game: TwoAgentMDP
    planned: tuple = ()
    history: tuple = ()

    def ask(self):
        return self.planned[self.episode % len(self.planned)]

    def tell(self, response, *, pi1=None):
        if isinstance(response, Trajectory):
            seen = response
        else:
            seen = observe(self.game, self.ask() if pi1 is None else pi1, response)
        return replace(self, history=(*self.history, seen))


def repeating(game, seed=0, n=3):
    rng = np.random.default_rng(seed)
    shape = game.n_states, game.n_leader_actions
    return Repeating(game, tuple(random_policy(*shape, rng) for _ in range(n)))


# Regret


@given(
    game=games(states=(2, 3), leader=(2, 2), follower=(2, 2)),
    joint=st.booleans(),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_regret_is_what_the_best_commitment_would_have_earned_more(game, joint, seed, data):
    truth = data.draw(rewards(game.shape if joint else game.n_states)).astype(float)
    *_, last = interact(repeating(game, seed), truth, 3)
    history = last.learner.history
    found = regret(game, truth, history)
    top = game.start @ policy_iteration(game, truth).values
    for value, o in zip(found, history, strict=True):
        chain = game.joint_chain(o.pi1, o.pi2)
        chain = chain if isinstance(chain, np.ndarray) else chain.toarray()
        r = truth if truth.ndim == 1 else np.einsum("sa,sb,sab->s", o.pi1, o.pi2, truth)
        earned = game.start @ np.linalg.solve(np.eye(game.n_states) - game.discount * chain, r)
        assert value == pytest.approx(top - earned, abs=1e-9)
        assert value >= -1e-9
    assert last.regret == pytest.approx(found[-1], abs=1e-9)
    assert regret(game, truth, history, best=top + 1) == pytest.approx(found + 1)
    assert regret(game, truth, ()).shape == (0,)


def test_what_rounding_alone_makes_of_a_loss_is_zero():
    assert loss(0.1 + 0.2, 0.3) == loss(0.3, 0.1 + 0.2) == 0.0
    assert loss(1.0, 1.0 + 1e-9) == pytest.approx(-1e-9)
    assert loss(-2.0, -3.0) == 1.0


@pytest.mark.parametrize("beta", [1.0, 30.0])
def test_the_best_value_is_that_of_this_follower(beta):
    game, truth = random_game(5, 2, 2, rng=6)
    joint = commit(game, truth).value
    assert best_value(game, truth) == joint == best_value(game, truth, OptimalFollower("last"))
    partner = BoltzmannFollower(beta)
    best = best_value(game, truth, partner)
    assert best < joint
    rng = np.random.default_rng(7)
    for _ in range(30):
        pi1 = random_policy(5, 2, rng).round()
        response = partner.respond(game, truth, pi1)
        assert game.start @ evaluate(game, truth, (pi1, response)) <= best + 0.02 * abs(best)


def test_a_follower_that_can_only_respond_is_not_asked_for_the_best_value():
    class Person:
        def respond(self, game, reward, pi1, rng=None):
            raise AssertionError

    game, truth = random_game(5, 2, 2, rng=6)
    assert best_value(game, truth, Person()) == commit(game, truth).value


# Runs


def test_a_learner_of_ones_own_plays_and_is_told_what_was_played():
    game, truth = random_game(5, 2, 2, rng=1)
    mine = repeating(game)
    run = list(interact(mine, truth, 4))
    assert [e.number for e in run] == [1, 2, 3, 4]
    for episode, seen in zip(run, run[-1].learner.history, strict=True):
        assert np.array_equal(seen.pi1, mine.planned[(episode.number - 1) % 3])
        assert episode.plan is not None
        assert np.array_equal(episode.plan, episode.pi1)
    assert run[-1].learner.facts() == {}
    assert run[-1].learner.estimate() is None
    steps = list(interact(mine, truth, 2, min_length=3))[-1].learner.history
    assert all(isinstance(seen, Trajectory) and len(seen) >= 3 for seen in steps)


def test_a_fixed_learner_is_judged_by_its_plan_and_watched_in_one_environment():
    @dataclass(frozen=True, eq=False)
    class Watching(Repeating):
        fixed: bool = True

        def plan(self):
            return uniform_policy(5, 2)

    game, truth = random_game(5, 2, 2, rng=1)
    asked = repeating(game, n=1).planned
    (episode,) = interact(Watching(game, asked), truth, 1)
    assert np.array_equal(episode.pi1, asked[0])
    assert np.array_equal(episode.plan, uniform_policy(5, 2))
    response = OptimalFollower().respond(game, truth, episode.plan)
    assert episode.values == pytest.approx(evaluate(game, truth, (episode.plan, response)))
    assert np.array_equal(episode.learner.history[0].pi1, asked[0])


def test_a_horizon_and_a_least_length_do_not_go_together():
    game, truth = random_game(5, 2, 2, rng=1)
    with pytest.raises(InvalidArgument, match="min_length"):
        next(interact(repeating(game), truth, 1, horizon=3, min_length=2))


@pytest.mark.parametrize("options", [{}, {"horizon": 5}, {"min_length": 2}])
def test_a_run_that_is_taken_up_again_draws_the_same_ties_and_trajectories(options):
    game = TwoAgentMDP(np.ones((4, 2, 3, 4), dtype=int), "1/2")
    how = {"follower": OptimalFollower("random"), **options}
    truth = np.arange(4.0)
    whole = [e.pi2.tolist() for e in interact(ActiveIRL(game), truth, 4, **how)]
    *_, half = interact(ActiveIRL(game), truth, 2, **how)
    rest = [e.pi2.tolist() for e in interact(half.learner, truth, 4, **how)]
    assert rest == whole[2:]
    assert whole[0] != whole[1]


def test_a_run_says_what_ask_and_tell_say():
    game, truth = random_game(6, 2, 3, rng=2)
    partner = OptimalFollower("last")
    learner = InteractiveIRL(game, seed=5)
    for number, episode in enumerate(
        interact(InteractiveIRL(game, seed=5), truth, 4, follower=partner), start=1
    ):
        pi1 = learner.ask()
        learner = learner.tell(partner.respond(game, truth, pi1))
        last = episode.learner.history[-1]
        assert episode.number == number == episode.learner.episode
        assert np.array_equal(last.pi1, pi1)
        assert np.array_equal(episode.learner.estimate(), learner.estimate())
        assert episode.values == pytest.approx(evaluate(game, truth, (last.pi1, last.pi2)))
        assert episode.value == pytest.approx(game.start @ episode.values)
        assert episode.regret == pytest.approx(commit(game, truth).value - episode.value)
    assert episode.regret == pytest.approx(regret(game, truth, learner.history)[-1])


def test_a_run_can_be_stopped_and_taken_up_again():
    game, truth = random_game(6, 2, 2, rng=2)
    whole = list(interact(InteractiveIRL(game), truth, 4))
    asked = []

    class Counting:
        def respond(self, game, reward, pi1, rng=None):
            asked.append(pi1)
            return OptimalFollower().respond(game, reward, pi1, rng)

    run = interact(InteractiveIRL(game), truth, 10**9, follower=Counting())
    assert asked == []
    first = list(islice(run, 2))
    assert len(asked) == 2
    run.close()
    rest = list(interact(first[-1].learner, truth, 4))
    assert [e.number for e in first + rest] == [1, 2, 3, 4]
    assert [e.value for e in first + rest] == [e.value for e in whole]
    assert list(interact(whole[-1].learner, truth, 4)) == []


@pytest.mark.parametrize("seed", [0, 1])
def test_random_ties_follow_the_learners_seed_or_a_generator(seed):
    game = TwoAgentMDP(np.ones((4, 2, 3, 4), dtype=int), "1/2")
    partner = OptimalFollower("random")

    def responses(**options):
        run = interact(
            InteractiveIRL(game, seed=seed), np.arange(4.0), 2, follower=partner, **options
        )
        return [e.learner.history[-1].pi2.tolist() for e in run]

    assert responses() == responses()
    drawn = [responses(rng=np.random.default_rng(k)) for k in range(3)]
    assert responses(rng=0) == drawn[0]
    assert any(one != drawn[0] for one in drawn[1:])


@pytest.mark.parametrize("bad", [[1.0], [np.nan] * 4])
def test_a_truth_that_is_none_is_refused(bad):
    game, _ = random_game(4, 2, 2, rng=7)
    with pytest.raises(InvalidReward):
        next(interact(InteractiveIRL(game), bad, 1))
    with pytest.raises(InvalidReward):
        regret(game, bad, ())

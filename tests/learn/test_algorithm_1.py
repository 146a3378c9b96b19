"""Algorithm 1 as ask and tell: what holds for every game, every partner and every run."""

import numpy as np
import pytest
from depth import share
from hypothesis import assume, given, strategies as st
from instances import games, rewards
from kkt import assert_kkt

from iirl_opt.commitment.methods import commit
from iirl_opt.errors import InvalidObservation, InvalidPolicy
from iirl_opt.follower.boltzmann import BoltzmannFollower
from iirl_opt.follower.optimal import OptimalFollower, best_responses
from iirl_opt.game.generate import random_game
from iirl_opt.game.mazes import maze_maker
from iirl_opt.game.mdp import TwoAgentMDP
from iirl_opt.game.optimum import policy_iteration
from iirl_opt.game.policy import deterministic_policy, uniform_policy
from iirl_opt.game.values import evaluate
from iirl_opt.learn.algorithm_1 import ContradictionWarning, InteractiveIRL
from iirl_opt.learn.episodes import interact
from iirl_opt.rewards.domains import RewardBox
from iirl_opt.rewards.feasible import FeasibleRewards

TIES = st.sampled_from(["first", "last", "random", "mix", "all"])


def objective_of(learner):
    """The objective of lines 6 and 7: the first draw whose answer is not constant."""
    shape = learner.game.shape if learner.joint else (learner.game.n_states,)
    rng = np.random.default_rng([learner.seed, learner.episode])
    while True:
        objective = rng.uniform(-1, 1, shape)
        if learner.known.maximise(objective).spread > 1e-6:
            return objective


@st.composite
def runs(draw, *, joint=None):
    """Draw a game, a truth and a learner that has played a few episodes with an optimal partner."""
    game = draw(games(states=(2, 3), leader=(2, 2), follower=(2, 2)))
    joint = draw(st.booleans()) if joint is None else joint
    truth = draw(rewards(game.shape if joint else game.n_states)).astype(float)
    partner = OptimalFollower(draw(TIES), seed=0)
    learner = InteractiveIRL(game, seed=draw(st.integers(0, 99)), joint=joint)
    for _ in range(draw(st.integers(1, 3))):
        pi1 = learner.ask()
        learner = learner.tell(partner.respond(game, truth, pi1))
    return game, truth, learner


# What every episode keeps.


@pytest.mark.filterwarnings("ignore::iirl_opt.learn.algorithm_1.ContradictionWarning")
@given(run=runs())
def test_the_truth_stays_feasible_and_so_is_the_estimate(run):
    _, truth, learner = run
    assert learner.known.contains(truth)
    if learner.estimate() is not None:
        assert learner.estimate().shape == truth.shape
        assert learner.known.contains(learner.estimate(), tolerance=1e-7)
        assert learner.estimate().min() >= -1e-9
        assert learner.estimate().sum() == pytest.approx(1)
        assert np.ptp(learner.estimate()) > 0


@share(0.6)
@given(run=runs())
def test_the_estimate_is_proved_optimal_for_its_objective(run):
    _, _, learner = run
    assume(learner.choose() is not None)
    found = learner.choose().evidence
    objective = objective_of(learner)
    assert_kkt(learner.known.problem(objective), found.solved)
    assert found.value == pytest.approx(np.sum(objective * found.reward), abs=1e-9)


@given(run=runs())
def test_the_commitment_is_optimal_for_the_estimate(run):
    game, _, learner = run
    assume(learner.estimate() is not None)
    values = best_responses(game, learner.estimate(), learner.ask()).values
    best = policy_iteration(game, learner.estimate()).values
    assert values == pytest.approx(best, abs=1e-8)


@given(run=runs())
def test_no_feasible_reward_is_lost_or_won_by_the_order_of_the_episodes(run):
    game, truth, learner = run
    backwards = InteractiveIRL(game, joint=learner.joint)
    for o in reversed(learner.history):
        backwards = backwards.tell(o.pi2, pi1=o.pi1)
    assert backwards.known.contains(truth)
    gaps, again = learner.known.gaps(truth), backwards.known.gaps(truth)
    assert gaps == pytest.approx(again[::-1])


# Ask and tell.


def test_nothing_that_a_caller_does_to_an_answer_changes_the_learner():
    game, truth = random_game(4, 2, 2, rng=0)
    mine = uniform_policy(4, 2)
    learner = InteractiveIRL(game, first=mine)
    mine[:] = 0
    learner.ask()[:] = 0
    assert np.array_equal(learner.ask(), uniform_policy(4, 2))
    later = learner.tell(OptimalFollower().respond(game, truth, learner.ask()))
    asked = later.ask()
    later.ask()[:] = 0
    later.estimate()[:] = 0
    assert np.array_equal(later.ask(), asked)
    with pytest.raises(AttributeError):
        learner.seed = 3


def test_seeds_ask_for_different_first_commitments():
    game, _ = random_game(6, 3, 2, rng=0)
    asked = {InteractiveIRL(game, seed=seed).ask().tobytes() for seed in range(10)}
    assert len(asked) > 5
    assert InteractiveIRL(game).estimate() is None
    assert InteractiveIRL(game).episode == 0


def test_a_partner_may_have_answered_another_commitment():
    game, truth = random_game(5, 2, 2, rng=1)
    played = uniform_policy(5, 2)
    response = OptimalFollower().respond(game, truth, played)
    learner = InteractiveIRL(game).tell(response, pi1=played)
    assert np.array_equal(learner.history[0].pi1, played)
    assert learner.known.contains(truth)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (np.ones((5, 2)), InvalidPolicy),
        (np.full((5, 2), np.nan), InvalidPolicy),
        (np.eye(2), InvalidPolicy),
        (np.zeros((5, 2), dtype=bool), InvalidObservation),
        (np.ones((2, 5), dtype=bool), InvalidObservation),
    ],
)
def test_a_bad_response_leaves_the_learner_intact(response, error):
    game, truth = random_game(5, 2, 2, rng=1)
    learner = InteractiveIRL(game)
    learner = learner.tell(OptimalFollower().respond(game, truth, learner.ask()))
    asked = learner.ask()
    with pytest.raises(error):
        learner.tell(response)
    assert learner.episode == 1
    assert np.array_equal(learner.ask(), asked)
    assert learner.tell(OptimalFollower().respond(game, truth, asked)).episode == 2


@pytest.mark.parametrize("first", [np.ones((5, 2)), np.eye(2), np.full((5, 2), np.nan)])
def test_a_first_commitment_that_is_none_is_refused(first):
    game, _ = random_game(5, 2, 2, rng=1)
    with pytest.raises(InvalidPolicy, match="leader policy"):
        InteractiveIRL(game, first=first)
    with pytest.raises(InvalidPolicy, match="leader policy"):
        InteractiveIRL(game).tell(uniform_policy(5, 2), pi1=first)


def test_a_person_can_be_the_partner():
    # The person reads labels, answers one state at a time and changes nothing of the protocol.
    kernel = [[[[1, 0], [0, 1]], [[1, 1], [1, 1]]], [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]]
    names = {
        "states": ["hall", "yard"],
        "leader_actions": ["open", "shut"],
        "follower_actions": ["stay", "go"],
    }
    game = TwoAgentMDP(kernel, "1/2", **names)
    learner = InteractiveIRL(game, first=game.leader_policy({"*": "open"}))
    answers = {"hall": "go", "yard": "stay"}
    learner = learner.tell(game.follower_policy(answers))
    assert learner.known.contains([0.0, 1.0])
    assert not learner.known.contains([1.0, 0.0])
    assert learner.estimate() == pytest.approx([0, 1], abs=1e-8)
    assert learner.ask()[0].tolist() == [1, 0]
    # A whim that contradicts the first answer leaves the constants: the learner goes on.
    learner = learner.tell(
        game.follower_policy({"*": "stay"}), pi1=game.leader_policy({"*": "open"})
    )
    with pytest.warns(ContradictionWarning, match="episodes 1, 2") as caught:
        assert learner.estimate() is None
    (told,) = (each.message for each in caught)
    assert learner.tell(game.follower_policy(answers)).episode == 3
    # If the yard is worth 1 more, staying in the hall loses 1; if the hall is, both answers lose.
    assert told.suboptimality == pytest.approx(1)
    assert "lower bound" in str(told)
    known = FeasibleRewards(game)
    for seen in learner.known.observations:
        known = known.observe(seen.pi1, seen.pi2, suboptimality=1.001)
    assert known.contains([0.0, 1.0])


def test_a_mask_of_the_whole_optimal_set_teaches_more_than_one_of_its_policies():
    # Both states are worth the same to a partner who may stay or swap: only a mask says so.
    swap = TwoAgentMDP([[[[1, 0], [0, 1]]], [[[0, 1], [1, 0]]]], "1/2")
    learner = InteractiveIRL(swap)
    one = learner.tell([[1.0, 0.0], [0.0, 1.0]])
    every = learner.tell(np.ones((2, 2), dtype=bool))
    assert one.estimate() == pytest.approx([1, 0], abs=1e-8)
    with pytest.warns(ContradictionWarning):
        assert every.estimate() is None
    assert every.choose() is None


@pytest.mark.filterwarnings("ignore::iirl_opt.learn.algorithm_1.ContradictionWarning")
def test_where_only_constants_are_known_the_learner_goes_on_with_random_commitments():
    swap = np.array([[[[1, 0], [0, 1]]] * 2, [[[0, 1], [1, 0]]] * 2])
    learner = InteractiveIRL(TwoAgentMDP(swap, "1/2"), seed=1)
    asked = set()
    for _ in range(4):
        pi1 = learner.ask()
        assert ((pi1 == 0) | (pi1 == 1)).all()
        asked.add(pi1.tobytes())
        learner = learner.tell(np.ones((2, 2), dtype=bool))
        assert learner.estimate() is None
    assert len(asked) > 1
    single = TwoAgentMDP([[[[1], [1]], [[1], [1]]]], "9/10")
    runs = list(interact(InteractiveIRL(single), [1.0], 2))
    assert [episode.learner.estimate() for episode in runs] == [None] * 2
    assert [episode.regret for episode in runs] == pytest.approx([0] * 2)


@pytest.mark.parametrize("domain", [None, RewardBox(2.0)])
def test_the_domain_holds_every_estimate(domain):
    game, truth = random_game(5, 2, 2, rng=3)
    for episode in interact(InteractiveIRL(game, domain=domain), truth, 3):
        r = episode.learner.estimate()
        if domain is None:
            assert r.sum() == pytest.approx(1)
        else:
            assert np.abs(r).max() == pytest.approx(2)
        assert episode.learner.domain is domain


def test_a_joint_truth_is_learned_as_a_joint_reward():
    game, _ = random_game(4, 2, 2, rng=6)
    truth = np.random.default_rng(6).uniform(size=game.shape)
    for episode in interact(InteractiveIRL(game, joint=True), truth, 4):
        learner = episode.learner
        assert learner.estimate().shape == game.shape
        assert learner.known.contains(learner.estimate(), tolerance=1e-7)
        assert learner.known.contains(truth)
        assert episode.regret >= -1e-9


def test_a_partner_that_is_not_optimal_may_leave_nothing_but_constants_yet_the_run_ends():
    game, truth = random_game(4, 2, 2, rng=7)
    with pytest.warns(ContradictionWarning, match="episodes 1 "):
        run = list(interact(InteractiveIRL(game), truth, 3, follower=BoltzmannFollower(2.0)))
    # A full support says that every action is optimal, which only constants explain here.
    assert [episode.learner.estimate() for episode in run] == [None] * 3


# What is guaranteed of learning.


@share(0.24)
@given(seed=st.integers(0, 999))
def test_a_commitment_that_was_answered_is_never_repeated_with_regret_where_it_is_informative(seed):
    """Repaired Proposition 1: with its assumption there are finitely many bad episodes.

    The assumption, for deterministic commitments: whatever a suboptimal one is answered, it is not
    jointly optimal for any non-constant reward that explains the answer. Then each suboptimal
    commitment is played at most once.
    """
    game, truth = random_game(2, 2, 2, rng=seed, restart=False)
    best = commit(game, truth).value
    suboptimal = []
    for choices in np.ndindex(2, 2):
        pi1 = deterministic_policy(np.array(choices), 2)
        optimum = best_responses(game, truth, pi1)
        if game.start @ optimum.values < best - 1e-7:
            suboptimal.append((pi1, optimum.policy))
    assume(all(excludes_itself(game, pi1, pi2) for pi1, pi2 in suboptimal))
    bad = [
        episode.learner.history[-1].pi1.tobytes()
        for episode in interact(InteractiveIRL(game, seed=seed), truth, 8)
        if episode.regret > 1e-7
    ]
    assert len(bad) == len(set(bad)) <= len(suboptimal)


def excludes_itself(game, pi1, pi2):
    """Whether neither (1, 0) nor (0, 1) makes both jointly optimal; S = 2 has no other rewards."""
    values = (evaluate(game, r, (pi1, pi2)) for r in np.eye(2))
    optima = (policy_iteration(game, r).values for r in np.eye(2))
    return all((v < best - 1e-7).any() for v, best in zip(values, optima, strict=True))


def test_on_a_maze_the_feasible_set_shrinks_and_never_loses_the_truth():
    game, truth = maze_maker(size=3, prizes={0: 1, 8: 2})
    objective = np.random.default_rng(0).uniform(-1, 1, game.n_states)
    member = truth / truth.sum()
    before = objective.max()
    for episode in interact(InteractiveIRL(game, seed=0), truth, 5):
        known = episode.learner.known
        assert known.contains(truth)
        assert known.contains(episode.learner.estimate(), tolerance=1e-7)
        assert episode.regret >= -1e-9
        found = known.maximise(objective)
        assert_kkt(known.problem(objective), found.solved)
        assert objective @ member - 1e-9 <= found.value <= before + 1e-9
        before = found.value
    assert before < objective.max() - 0.1


def test_a_start_whose_programs_solve_only_to_within_rounding_goes_on():
    # HiGHS calls the optimum after episode 8 infeasible by 3e-9; our residuals accept it.
    game, truth = maze_maker()
    episodes = list(interact(InteractiveIRL(game, seed=3), truth, 9))
    assert len(episodes) == 9
    assert episodes[-1].learner.known.contains(truth)

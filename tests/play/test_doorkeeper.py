"""The leader of ``iirl-opt play``: it names every pair of prizes, and nothing that it may not."""

from collections import defaultdict
from functools import cache

import numpy as np
import pytest

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.grid_text import DIRECTIONS
from iirl_opt.play import Doorkeeper, PrizeMaze, Session, walk_for
from iirl_opt.play.doorkeeper import left_after, score_of

MAZE = PrizeMaze()


def walked(session, moves):
    for move in moves:
        session = session.move(move)
    return session.stay()


def named_after(session, rankings):
    """Yield each ranking with the session in which it is named: walks that agree are made once."""
    if session.over:
        assert [session.learner.named] == rankings
        yield rankings[0], session
        return
    agree = defaultdict(list)
    for ranking in rankings:
        agree[walk_for(session, MAZE.reward(ranking))].append(ranking)
    for moves, some in agree.items():
        after = walked(session, moves)
        letter = {state: name for name, state in MAZE.states.items()}
        to = letter.get(int(after.learner.history[-1].states[-1]))
        ward = MAZE.reach(session.doors)
        assert set(after.learner.rankings) == set(
            left_after(session.learner.rankings, ward)[to]
        )  # what was planned with is what is proved; and the truth is never excluded
        assert set(some) <= set(after.learner.rankings)
        assert after.learner.known.exact
        yield from named_after(after, some)


@cache
def endings(firsts, seed):
    """The session in which each pair with one of some first prizes is named."""
    rankings = [ranking for ranking in MAZE.rankings if ranking[0] in firsts]
    return dict(named_after(Session(Doorkeeper(MAZE, seed)), rankings))


def wandering(session, reward, rng):
    """An optimal walk that breaks ties at random, also where there is nothing to win."""
    optimal = iirl.best_responses(MAZE.game, reward, session.doors).optimal
    while len(session.walk) < 12:
        moves = [d for i, d in enumerate(DIRECTIONS) if optimal[session.cart, i]]
        move = str(rng.choice(moves))
        if move not in session.exits:
            break
        session = session.move(move)
    return session


# The maze


def reach(pi1):
    """The number of steps from the start to each state that the open doors lead to."""
    exits, steps, todo = MAZE.exits(pi1), {MAZE.start: 0}, [MAZE.start]
    for state in todo:
        for ahead in exits[state].values():
            if ahead not in steps:
                steps[ahead] = steps[state] + 1
                todo.append(ahead)
    return steps


def test_a_ward_opens_its_letters_four_steps_away_and_no_others():
    assert frozenset("ABGH") in MAZE.wards
    for ward, pi1 in MAZE.wards.items():
        steps, exits = reach(pi1), MAZE.exits(pi1)
        assert {letter: steps.get(s) for letter, s in MAZE.states.items()} == {
            letter: 4 if letter in ward else None for letter in MAZE.letters
        }
        assert not any(exits[MAZE.states[letter]] for letter in ward)


def test_exits_are_where_the_game_leads():
    pi1 = MAZE.wards[frozenset("ACE")]
    kernel = MAZE.game.follower_mdp(pi1)
    for state, exits in enumerate(MAZE.exits(pi1)):
        for b, direction in enumerate(DIRECTIONS):
            row = np.eye(MAZE.game.n_states)[exits.get(direction, state)]
            found = kernel.matrix[[state * len(DIRECTIONS) + b]].sum(axis=0)
            assert np.array_equal(found, row)


@pytest.mark.parametrize("prizes", ["", "A", "AA", "ABC", "AZ", 3, None, ["A", "A"], ["AB", "C"]])
def test_what_are_no_two_prizes_is_refused(prizes):
    with pytest.raises(InvalidArgument, match="two different letters of ABCDEFGH"):
        MAZE.reward(prizes)


# Naming


@cache
def most_walks(rankings):
    """The most walks that it takes to tell rankings apart, whatever decides between wards."""
    if len(rankings) <= 1:
        return 0
    scores = {ward: score_of(rankings, ward) for ward in MAZE.wards}
    best = [ward for ward, score in scores.items() if score == min(scores.values())]
    after = {frozenset(left) for ward in best for left in left_after(rankings, ward).values()}
    return 1 + max(map(most_walks, after))


def test_five_walks_are_enough_for_every_pair_of_prizes_and_every_seed():
    assert most_walks(frozenset(MAZE.rankings)) == 5


def test_a_pair_of_prizes_is_named_after_at_most_five_walks():
    assert max(session.learner.episode for session in endings("F", 0).values()) <= 5


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(5))
def test_every_pair_of_prizes_is_named_after_at_most_five_walks(seed):
    found = endings("ABCDEFGH", seed)
    assert found.keys() == set(MAZE.rankings)
    assert max(session.learner.episode for session in found.values()) <= 5


def test_exclusion_is_decided_exactly():
    known = endings("F", 0)["F", "C"].learner.known
    rivals = [ranking for ranking in MAZE.rankings if ranking[0] == "F"]
    explain = [r for r in rivals if known.contains(MAZE.reward(r), exact=True)]
    assert explain == [("F", "C")]


def test_what_walks_cannot_tell_is_decided_together_and_right():
    session = Session(Doorkeeper(MAZE, 3))
    for _ in range(2):
        session = walked(session, walk_for(session, MAZE.reward("DG")))
    left = [r for r in MAZE.rankings if session.learner.known.contains(MAZE.reward(r))]
    assert session.learner.rankings == tuple(left)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_an_optimal_follower_does_in_ties_the_truth_is_left(seed):
    rng = np.random.default_rng(seed)
    truth = MAZE.rankings[rng.integers(len(MAZE.rankings))]
    session = Session(Doorkeeper(MAZE, seed))
    while not session.over and session.round < 8:
        session = wandering(session, MAZE.reward(truth), rng).stay()
        assert truth in session.learner.rankings
        assert session.learner.known.contains(MAZE.reward(truth), exact=True)


def test_shares_hold_the_truth_and_shrink():
    truth, session = ("F", "C"), Session(Doorkeeper(MAZE, 0))
    before = session.learner.shares()
    assert set(before.values()) == {(0.0, 1.0)}
    while not session.over:
        session = walked(session, walk_for(session, MAZE.reward(truth)))
        shares = session.learner.shares()
        for letter, worth in {"F": 2 / 3, "C": 1 / 3}.items():
            assert shares[letter][0] - 1e-9 <= worth <= shares[letter][1] + 1e-9
        for letter, (low, high) in shares.items():
            assert before[letter][0] - 1e-9 <= low <= high <= before[letter][1] + 1e-9
        before = shares
    # F was chosen before C, D and E; C before D and E: so at least a quarter, at most a half.
    assert shares["F"][0] == pytest.approx(1 / 4)
    assert shares["C"][1] == pytest.approx(1 / 2)
    assert shares["D"][1] == pytest.approx(1 / 3)


def test_walks_that_contradict_each_other_are_named_and_no_more():
    session = Session(Doorkeeper(MAZE, 0))
    session = walked(session, walk_for(session, MAZE.reward("CF")))  # stays: no A, B, G, H
    session = walked(session, walk_for(session, MAZE.reward("CF")))
    learner = session.learner
    doors = MAZE.wards[frozenset("CA")]
    for prizes in ("AC", "CA"):
        seen = iirl.observe(
            MAZE.game, doors, iirl.OptimalFollower().respond(MAZE.game, MAZE.reward(prizes), doors)
        )
        before = learner
        learner = learner.tell(seen.pi2, pi1=doors)
        if learner.contradiction:
            break
    blamed = learner.contradiction
    assert before.contradiction is None
    assert learner.rankings == ()
    assert learner.episode in blamed
    episodes = learner.known.episodes
    for left_out in (None, *blamed):
        some = tuple(episodes[t - 1] for t in blamed if t != left_out)
        kept = iirl.FeasibleRewards(MAZE.game, some)
        explains = any(kept.contains(MAZE.reward(r)) for r in MAZE.rankings)
        assert explains == (left_out is not None)
    assert learner.ask().shape == (MAZE.game.n_states, 6)


def test_a_reward_on_no_letter_leaves_no_shares():
    stay_away = Session(Doorkeeper(MAZE, 0))
    for ward in ("ABGH", "CDEF"):
        doors = MAZE.wards[frozenset(ward)]
        locked = iirl.OptimalFollower().respond(MAZE.game, np.eye(29)[MAZE.start], doors)
        stay_away = Session(stay_away.learner.tell(locked, pi1=doors))
    assert stay_away.learner.shares() is None
    assert stay_away.learner.contradiction == (1, 2)


# The interface of learners


def test_the_same_learner_asks_the_same_and_telling_leaves_it_as_it_was():
    learner = Doorkeeper(MAZE, 5)
    pi1 = learner.ask()
    told = learner.tell(iirl.OptimalFollower().respond(MAZE.game, MAZE.reward("AB"), pi1))
    assert (learner.episode, told.episode) == (0, 1)
    assert np.array_equal(Doorkeeper(MAZE, 5).ask(), pi1)
    assert told.facts() == {"rankings": float(len(told.rankings))}


def test_it_plays_in_the_loop_of_all_learners():
    truth = MAZE.reward("HB")
    *_, last = iirl.interact(Doorkeeper(MAZE, 1), truth, 6)
    assert last.learner.named == ("H", "B")
    assert np.array_equal(last.learner.estimate(), truth)
    assert last.regret == pytest.approx(0)


def test_another_game_or_no_pairs_are_refused():
    game, _ = iirl.random_game(3, 2, 2, rng=0)
    with pytest.raises(InvalidArgument, match="feasible is of another game"):
        Doorkeeper(MAZE, feasible=iirl.FeasibleRewards(game))
    with pytest.raises(InvalidArgument, match=r"left\[1\] is .*two different letters"):
        Doorkeeper(MAZE, left=["AB", "A"])

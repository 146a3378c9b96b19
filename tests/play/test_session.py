"""Walks through open doors, what is drawn of them, and the file that keeps them."""

import re

import numpy as np
import pytest
from commands import iirl

from iirl_opt.errors import InvalidArgument
from iirl_opt.library import answer, read_model
from iirl_opt.play import Doorkeeper, Session, walk_for
from iirl_opt.play.picture import (
    letter_lines,
    maze_lines,
    record_lines,
    text_of_lines,
    verdict,
    walk_words,
)
from iirl_opt.play.record import write_session


def played(prizes, seed=0):
    """The sessions of an optimal follower, from the first to that in which they are named."""
    sessions = [Session(Doorkeeper(seed=seed))]
    while not sessions[-1].over:
        session = sessions[-1]
        for move in walk_for(session, session.maze.reward(prizes)):
            session = session.move(move)
        sessions.append(session.stay())
    return sessions


@pytest.fixture(scope="module")
def sessions():
    return played("FC")


def contradicting():
    """A session of somebody who stays away from everything."""
    session = Session(Doorkeeper())
    while not session.over:
        session = session.stay()
    return session


def test_a_locked_door_is_refused_and_nothing_moves():
    session = Session()
    locked = next(d for d in "NESW" if d not in session.exits)
    for move in (locked, "n", "", 3, None):
        with pytest.raises(InvalidArgument, match="direction"):
            session.move(move)
    with pytest.raises(InvalidArgument, match=r"walk\[0\]"):
        Session(session.learner, (locked,))
    assert session.walk == ()


def test_a_walk_that_was_taken_back_was_never_made(sessions):
    first = Session()
    again = first.move("N").move("N").back()
    assert (again.cart, again.walk) == (first.maze.start, ())
    assert again.trajectory() == first.trajectory()


def test_a_walk_ends_by_staying_for_good(sessions):
    for session in sessions[1:]:
        seen = session.learner.history[-1]
        end = int(seen.states[-1])
        mdp = session.maze.game.follower_mdp(seen.pi1)
        row = end * 4 + int(seen.follower_actions[-1])
        assert np.asarray(mdp.matrix[[row]].sum()) == 1
        assert mdp.matrix[row, end] == 1


# Pictures


def test_the_picture_fits_into_a_small_terminal(sessions):
    for session in (sessions[0], sessions[-1]):
        picture = text_of_lines(maze_lines(session)).split("\n")
        letters = text_of_lines(letter_lines(session, session.learner.shares())).split("\n")
        assert (len(picture), {len(line) for line in picture}) == (15, {29})
        assert len(letters) == 9
        assert max(map(len, letters)) <= 28


def test_an_arrow_stands_at_every_door_that_is_open_one_way(sessions):
    for session in sessions:
        drawn = text_of_lines(maze_lines(session))
        exits, marks = session.maze.exits(session.doors), "^>v<"
        for mark, there, back in zip(marks, "NESW", "SWNE", strict=True):
            one_way = [
                (s, to)
                for s, ahead in enumerate(exits)
                for d, to in ahead.items()
                if d == there and exits[to].get(back) != s
            ]
            assert drawn.count(mark) == len(one_way)


def test_without_colours_the_picture_says_which_letters_are_left(sessions):
    for session in sessions:
        drawn = text_of_lines(maze_lines(session))
        left = {letter for ranking in session.learner.rankings for letter in ranking}
        assert {c for c in drawn if c.isalpha() and c.isupper()} == left
        assert {c.upper() for c in drawn if c.isalpha() and c.islower() and c != "v"} == set(
            session.maze.letters
        ) - left
        assert drawn.count("@") == 1
    assert "C2" in drawn
    assert "F1" in drawn


def test_words_say_where_a_walk_went(sessions):
    session = sessions[1]
    assert walk_words(session) == "nowhere"
    for move in walk_for(session, session.maze.reward("FC")):
        session = session.move(move)
    assert walk_words(session) == "east, east, south, east to F"
    assert text_of_lines(record_lines(sessions[-1])).split("\n") == [
        " walk 1: stayed at S",
        " walk 2: to F",
        " walk 3: to C",
    ]
    assert verdict(sessions[-1]).startswith("Your prizes are F, then C")
    assert verdict(sessions[0]) == "Now with other doors."


def test_a_contradiction_is_said_by_walk():
    session = contradicting()
    blamed = session.learner.contradiction
    assert verdict(session) == (
        f"No two prizes explain walks {' and '.join(map(str, blamed))} together: "
        "they contradict each other."
    )


# Files


def test_a_session_is_kept_as_a_model_that_holds_its_walks(sessions, tmp_path):
    for session in (sessions[0], sessions[2], sessions[-1]):
        problem = read_model(write_session(session, tmp_path / "session.toml"))
        assert problem.game == session.maze.game
        assert problem.trajectories == session.learner.history
        found = answer(problem)
        assert found.quantities["contains"] == 1
        assert problem.feasible_rewards().exact
    assert np.array_equal(problem.truth, session.maze.reward("FC"))


def test_a_session_of_contradictions_is_kept_and_answered(tmp_path):
    path = write_session(contradicting(), tmp_path / "session.toml")
    found = answer(read_model(path))
    assert found.quantities == {"infeasible": 1.0}
    assert {row["episode"] for row in found.evidence["rows"]} <= {1, 2, 3, 4, 5, 6}
    done = iirl("solve", path)
    assert done.code == 3
    said = re.findall(r"contradicts +(.*)", done.out)
    assert len(said) == 6
    assert said[0].startswith("episode ")
    assert "and " in done.out.partition(said[-1])[2]

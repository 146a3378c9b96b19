"""
Your own theorem, and its counterexample
========================================

For whoever has a lemma and is not sure of it. Hypothesis draws games, rewards and commitments from
strategies that ship with the library; what fails is shrunk to the smallest game that shows it, and
kept as a model file that anybody can answer.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings, strategies as st

import iirl_opt as iirl
from iirl_opt.testing import games, policies, rewards, save_counterexample

folder = TemporaryDirectory()
file = Path(folder.name, "best-for-all-partners.toml")
# What iirl_opt.testing registers has no deadline; the same instances are drawn every time.
ours = settings.get_profile("iirl_opt")
fixed = settings(ours, max_examples=50, derandomize=True, database=None)

# %%
# Two lemmas
# ----------
# *A positive affine image of a reward has the same answers.* Games are rational, and all optimal
# actions are decided exactly, so no tolerance stands in the test.


@fixed
@given(game=games(max_states=4), data=st.data())
def test_an_affine_image_has_the_same_answers(game, data):
    reward, pi1 = data.draw(rewards(game)), data.draw(policies(game))
    everybody = iirl.OptimalFollower("all")
    answer = everybody.respond(game, reward, pi1)
    assert (everybody.respond(game, 3 * reward + 7, pi1) == answer).all()


# %%
# *What is best with a perfect partner is best with one who errs.* This one errs half of the time.

partner = iirl.EpsilonGreedyFollower(0.5)


@settings(fixed, max_examples=500)  # it ends with the first counterexample
@given(game=games(max_states=3), data=st.data())
def test_the_best_commitment_is_best_for_all_partners(game, data):
    reward = data.draw(rewards(game))
    naive = iirl.commit(game, reward).policy
    problem = iirl.CommitmentProblem(game, reward, partner)
    earned = game.start @ problem.reply(naive).values
    best = iirl.BranchAndBound().plan(problem).value
    stated = {"pi1": naive, "follower": partner, "expect": {"value": best}}
    with save_counterexample(file, game, reward, **stated):
        assert earned >= best - 1e-6


test_an_affine_image_has_the_same_answers()
print("an affine image: no counterexample")
try:
    test_the_best_commitment_is_best_for_all_partners()
except AssertionError as failure:
    print("best for all partners:", failure.__notes__[0].replace(folder.name, "…"))

# %%
# The file
# --------
# It states the game, the commitment and what that would have to earn; ``iirl-opt solve`` answers
# it.

print(file.read_text())
problem = iirl.read_model(file)
folder.cleanup()

# %%
# The game, with the reward of each state: small enough to see why.
axes = iirl.plot.plot_game(problem.game, problem.truth)
iirl.plot.save(axes, "the-smallest-game-that-refutes-the-lemma.png")

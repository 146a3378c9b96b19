"""
The simplest reward, and the least committal one
================================================

For whoever needs *one* reward out of all that explain the answers, by a principle of their own. The
principle is a cvxpy objective: fewest places that pay (a linear program), or the largest entropy (a
conic one, for Clarabel). The set, the record and its checks are the same.
"""

import cvxpy as cp
import numpy as np

import iirl_opt as iirl

game, truth = iirl.random_game(12, 3, 3, rng=3)
pi1 = iirl.random_policy(12, 3, np.random.default_rng(0))
answer = iirl.OptimalFollower().respond(game, truth, pi1)
feasible = iirl.FeasibleRewards(game).observe(pi1, answer)

# %%
# Few places that pay
# -------------------
# ``lifted`` gives the constraints before they are compared with zero, so that a margin of one's own
# can be asked for: every action that was not played has to be worse by at least 0.01. It keeps the
# constants out, which would otherwise win with nothing at all.

r = cp.Variable(12)
equalities, nonnegative = feasible.lifted(r)
margins = [expression >= 0.01 for _, expression in nonnegative]
solved = iirl.solve(cp.Problem(cp.Minimize(cp.norm1(r)), equalities + margins))
sparse = r.value
used = np.flatnonzero(np.abs(sparse) > 1e-7)
print(f"{used.size} of {game.n_states} states pay: {used.tolist()}")
print(f"sum of absolute rewards {solved.value:.4f}, residuals ≤ {solved.residuals.largest():.0e}")
assert feasible.contains(sparse)
assert used.size < game.n_states

# %%
# As little said as possible
# --------------------------
# Entropies are conic. `solve` takes any solver that cvxpy has, as an object or by its name. Here
# rewards are shares of one, and the margin is half as wide.

r = cp.Variable(12)
equalities, nonnegative = feasible.lifted(r)
margins = [expression >= 0.005 for _, expression in nonnegative]
objective = cp.Maximize(cp.sum(cp.entr(r)))
problem = cp.Problem(objective, [*equalities, *margins, cp.sum(r) == 1])
solved = iirl.solve(problem, iirl.solver.Clarabel())
even = r.value
print(f"{solved.status.name}: entropy {solved.value:.4f} of at most {np.log(12):.4f}")
assert solved.status is iirl.Status.OPTIMAL
assert feasible.contains(even)

# %%
# Both explain the answer that the truth gave. One says more than the evidence, the other hardly
# anything: what a principle adds is its own.

axes = iirl.plot.plot_curves(
    {
        "truth": truth / np.abs(truth).sum(),
        "fewest places": sparse / np.abs(sparse).sum(),
        "largest entropy": even / np.abs(even).sum(),
    },
    np.arange(12),
    xlabel="state",
    ylabel="share of all rewards",
    title="Three rewards that explain the same answer",
)
axes.legend(frameon=False)
iirl.plot.save(axes, "three-rewards-that-explain-the-same-answer.png")

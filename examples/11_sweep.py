"""
A sweep of your own on a cluster
================================

What does it cost to take a partner who errs for one who never does? Every *cell* of the sweep is
one game at one rate of errors: the commitment that is planned for this partner, and the one that
is planned for an optimal partner, both played with him who errs. Cells go to a Dask cluster, here
two worker processes of this machine; with the address of a scheduler they go to other machines.
"""

# %%
# A computation is a function of the cell: whatever is random is drawn from the cell's seed, so
# nothing depends on who computes it, or in which order.

import sys
from pathlib import Path

import distributed

import iirl_opt as iirl
from iirl_opt import plot
from iirl_opt.experiments import Cell, dask_executor, run_cells, tidy
from iirl_opt.experiments.sweep import summarise

RATES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]


def compute(cell):
    """Return what two commitments are worth with a partner who errs."""
    game, reward = iirl.random_game(8, 3, 3, rng=cell.seed, concentration=0.1)
    partner = iirl.EpsilonGreedyFollower(cell.parameters["epsilon"])
    problem = iirl.CommitmentProblem(game, reward, partner)
    trusting = problem.reply(iirl.commitment.joint_leader_policy(problem)).values
    planned = iirl.commit(game, reward, partner, exact=True)
    return {"planned": planned.value, "trusting": float(game.start @ trusting)}


cells = [
    Cell("errors", "random", "both", seed, {"epsilon": epsilon})
    for seed in range(10)
    for epsilon in RATES
]

# %%
# Worker processes import this file, so what starts them is behind the usual guard. What is
# finished is kept in the checkpoint: a run that was interrupted goes on there.

if __name__ == "__main__":
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own,
        dask_executor(own.scheduler_address) as executor,
    ):
        results = run_cells(
            cells, compute, executor=executor, checkpoint=Path("errors.jsonl"), resume=True
        )
    here = run_cells(cells[:2], compute)
    assert [result.values for result in here] == [result.values for result in results[:2]]

# %%
# A tidy row is a cell here. What is lost is a share of what could be had; the band is Student's
# interval of 95 % for the mean over games.

if __name__ == "__main__":
    lost = {rate: [] for rate in RATES}
    for row in tidy(results):
        lost[row["epsilon"]].append(1 - row["trusting"] / row["planned"])
    summary = summarise(list(zip(*lost.values(), strict=True)))
    for rate, mean in zip(RATES, summary.mean, strict=True):
        print(f"errs in {rate:>4.0%} of the steps: {mean:z6.2%} is lost by taking him for optimal")
    axes = plot.plot_curves(
        {"planned for an optimal partner": (summary.mean, summary.low, summary.high)},
        RATES,
        xlabel="share of steps in which the partner errs",
        ylabel="loss, as a share of the best value",
    )
    if len(sys.argv) > 1:
        print("wrote", plot.save(axes, Path(sys.argv[1]) / "sweep.png"))

"""
Sweep on a cluster
==================

For whoever has many runs and several machines (extra ``sweep``). A sweep is a list of independent
cells. All randomness comes from the cell, so its numbers depend neither on who computes it nor on
the order. The cluster here is Dask's ``LocalCluster`` of two processes; one of yours is an address.
"""

import numpy as np
from distributed import LocalCluster

import iirl_opt as iirl
from iirl_opt.experiments import Cell, dask_executor, run_cells

# %%
# What a cell computes
# --------------------
# A function of the cell that returns what JSON can hold: here how much of the joint optimum is left
# to a leader whose partner errs.


def compute(cell):
    """Return the value of a commitment to an erring partner, as a share of the joint optimum."""
    game, reward = iirl.random_game(6, 3, 3, rng=cell.seed, concentration=0.1)
    partner = iirl.EpsilonGreedyFollower(cell.parameters["epsilon"])
    return {"share": iirl.commit(game, reward, partner).value / iirl.commit(game, reward).value}


rates, seeds = [0.0, 0.25, 0.5, 0.75, 1.0], range(12)
cells = [Cell("erring", "random", "algorithm-3", n, {"epsilon": e}) for e in rates for n in seeds]

# %%
# Where it runs
# -------------
# The workers are processes, and read this file when they start: so what starts them stands behind
# the usual guard, as everything that is to happen once.


def sweep():
    """Return the results by way of two processes of a cluster, one thread in each."""
    quiet = {"dashboard_address": ":0", "silence_logs": "ERROR"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        return run_cells(cells, compute, executor=executor)


if __name__ == "__main__":
    results = sweep()
    print(f"{len(results)} cells, the last: {results[-1].cell}")
    same = [result.values for result in results] == [compute(cell) for cell in cells]
    print("the same numbers as in this process:", same)
    assert same

# %%
# The more the partner errs, the less there is to be had; the band is half of the games.

if __name__ == "__main__":
    shares = np.array([result.values["share"] for result in results]).reshape(len(rates), -1)
    band = np.quantile(shares, [0.5, 0.25, 0.75], axis=1)
    axes = iirl.plot.plot_curves(
        {"Algorithm 3": band},
        rates,
        xlabel="ε",
        ylabel="share of the joint optimum",
        band="median; half of the games",
    )
    axes.legend(frameon=False)
    iirl.plot.save(axes, "what-errors-leave-of-the-joint-optimum.png")

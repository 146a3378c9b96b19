"""The one door to solvers: any cvxpy problem in, one `Solved` record out.

`solve` compiles the problem with cvxpy, runs a named solver on the compiled data and *recomputes*
feasibility, stationarity, complementarity and the duality gap from the numbers it returned. A
status that is no proof never passes for one:

* an infeasible answer is confirmed by its Farkas ray, or by a second run without presolve;
* "infeasible or unbounded" is resolved into one of the two by further runs, and so is "unbounded",
  which many solvers say of a program that has no feasible point either;
* an optimum whose residuals are too large, or a limit that came first, is no optimum.

A `LiveProgram` is one linear program that changes and is solved again from where it stood.

HiGHS solves linear, mixed-integer and convex quadratic programs; `Clarabel`, or any other solver
that cvxpy knows through `Named`, solves the rest. The solver is always named, warm starts are off
(for linear programs they bring errors and no speed), nothing is printed and no warning leaks.
"""

from iirl_opt.solver.door import solve
from iirl_opt.solver.export import LinearRows, linear_rows, write_program
from iirl_opt.solver.live import LiveProgram
from iirl_opt.solver.records import Clarabel, HiGHS, Named, Residuals, Solved, Solver, Status

__all__ = [
    "Clarabel",
    "HiGHS",
    "LinearRows",
    "LiveProgram",
    "Named",
    "Residuals",
    "Solved",
    "Solver",
    "Status",
    "linear_rows",
    "solve",
    "write_program",
]

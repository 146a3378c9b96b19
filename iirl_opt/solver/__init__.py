"""The one door to solvers: any cvxpy problem in, one `Solved` record out.

`solve` compiles the problem, runs a named solver on it and judges what it says by arithmetic of our
own, on the data as they were given. A status that is no proof never passes for one:

* *optimal* means that point and multipliers meet the optimality conditions to 1e-6 of the scale of
  each row, variable and cost (`iirl_opt.solver.program` says what that is);
* *infeasible* means that a Farkas ray proves it in exact arithmetic: floats are rational numbers.
  Of a mixed-integer program the ray of its relaxation does, or a small tree of such rays;
* *unbounded* means that there is a feasible point, and a direction that is proved in exact
  arithmetic to be downhill for ever;
* all else is a limit that came first, or a failure. That a solver says so twice proves nothing.

Numbers that HiGHS would drop (coefficients of 1e-9) or take for infinite are brought into its range
by powers of two, which changes no digit; what cannot be brought there is refused by name. The
optimality of a mixed-integer program and its bound are HiGHS's word; value and point are checked.

Ctrl-C ends a solve within two seconds, whatever HiGHS is doing, and raises `Interrupted`, a
`KeyboardInterrupt` that carries the record with the incumbent.

A `LiveProgram` is one linear program that changes and is solved again from where it stood, or from
a basis that you know: a policy's, of a program on its measure.

HiGHS solves linear, mixed-integer and convex quadratic programs; `Clarabel`, or any other solver
that cvxpy knows through `Named` or by its name, solves the rest. The solver is always named, warm
starts are off (for linear programs they bring errors and no speed), nothing is printed, no warning
leaks, and the process is as it was: warnings' filters, standard output, signal handlers. Problems
that share no variable may be solved in threads.
"""

from iirl_opt.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

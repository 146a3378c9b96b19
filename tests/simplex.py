"""Linear programs decided in rationals: the simplex method with Bland's rule cannot cycle."""

from fractions import Fraction

__all__ = ["decide"]


def decide(cost, rows, relations, right):
    """Return ("optimal", value), ("infeasible", None) or ("unbounded", None).

    For ``min c·x`` with ``A x ≤, = or ≥ b`` and free x, all numbers exact.
    """
    n, m = len(cost), len(rows)
    table, basis = [], []
    slacks = sum(1 for r in relations if r != "=")
    width = 2 * n + slacks + m
    slack = 2 * n
    for i, (row, relation, b) in enumerate(zip(rows, relations, right, strict=True)):
        line = [Fraction(0)] * (width + 1)
        for j, a in enumerate(row):
            line[2 * j], line[2 * j + 1] = Fraction(a), -Fraction(a)
        if relation != "=":
            line[slack] = Fraction(1 if relation == "<=" else -1)
            slack += 1
        line[-1] = Fraction(b)
        if line[-1] < 0:
            line = [-x for x in line]
        line[2 * n + slacks + i] = Fraction(1)
        table.append(line)
        basis.append(2 * n + slacks + i)
    real = 2 * n + slacks
    first = [Fraction(0)] * real + [Fraction(1)] * m
    if pivot(table, basis, first, width) is None or value(table, basis, first) > 0:
        return "infeasible", None
    second = [Fraction(0)] * width
    for j, c in enumerate(cost):
        second[2 * j], second[2 * j + 1] = Fraction(c), -Fraction(c)
    # Artificial variables may stay in the basis at zero, and never enter again.
    for i, j in enumerate(basis):
        if j >= real:
            entering = next((k for k in range(real) if table[i][k] != 0), None)
            if entering is not None:
                exchange(table, basis, i, entering)
    if pivot(table, basis, second, real) is None:
        return "unbounded", None
    return "optimal", value(table, basis, second)


def value(table, basis, cost):
    return sum((cost[j] * line[-1] for j, line in zip(basis, table, strict=True)), Fraction(0))


def pivot(table, basis, cost, allowed):
    """Bring the table to an optimum; None where there is no bound."""
    while True:
        for k in range(allowed):
            if k in basis:
                continue
            reduced = cost[k] - sum(
                (cost[j] * line[k] for j, line in zip(basis, table, strict=True)), Fraction(0)
            )
            if reduced < 0:
                break
        else:
            return table
        ratios = [(line[-1] / line[k], basis[i], i) for i, line in enumerate(table) if line[k] > 0]
        if not ratios:
            return None
        exchange(table, basis, min(ratios)[2], k)


def exchange(table, basis, i, k):
    table[i] = [x / table[i][k] for x in table[i]]
    for other, line in enumerate(table):
        if other != i and line[k] != 0:
            table[other] = [x - line[k] * y for x, y in zip(line, table[i], strict=True)]
    basis[i] = k

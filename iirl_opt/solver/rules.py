"""What arguments that belong to cvxpy, or to a linear program, may be."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from iirl_opt.checks import Rule, array_of_floats, each, is_a
from iirl_opt.errors import InvalidArgument
from iirl_opt.game.kernel import is_sparse

__all__ = ["CONSTRAINTS", "EXPRESSION", "LIMITS", "MATRIX", "NUMBERS", "PROGRAM"]

PROGRAM: Rule = is_a(cp.Problem)
EXPRESSION: Rule = is_a(cp.Expression)
CONSTRAINTS: Rule = each(is_a(cp.Constraint))

# Coefficients, and bounds, which may be infinite.
NUMBERS: Rule = array_of_floats(1)
LIMITS: Rule = array_of_floats(0, 1, finite=False)
_DENSE: Rule = array_of_floats(2)


def MATRIX(name: str, value: Any) -> Any:
    """Return a matrix of finite real numbers, dense or in the sparse form that it has."""
    if not is_sparse(value):
        return _DENSE(name, value)
    if value.dtype.kind not in "biuf" or not np.isfinite(value.data).all():
        raise InvalidArgument(name, "holds what is no finite number", "finite numbers", value)
    return value

"""Forged certificates: claims that say more than is true, and documents edited anywhere.

The digest is always recomputed, as whoever edits a certificate can do.
"""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
from trees import truth
from truth import gaps_of, least_share, optimum, program, rows_of, share, spread, values_of, widest

from iirl_opt.certificate import (
    AngleBound,
    ClassInclusion,
    CommitmentBound,
    Inclusion,
    Optimality,
    PolicyImprovement,
    RewardRank,
    Violation,
    Witness,
)
from iirl_opt.certificate.record import digest_of

__all__ = ["edited", "leaves", "sealed", "tightened"]

ZERO = Fraction(0)
LEAST = Fraction(1, 2**80)  # the slack of a claim that has none, as a share of what it says


def sealed(body):
    """Return an edited document as text, with its digest recomputed."""
    body = {key: value for key, value in body.items() if key != "digest"}
    return json.dumps(body | {"digest": digest_of(body)})


def leaves(body, path=()):
    """Yield the places of all values in a document."""
    if isinstance(body, dict | list) and body:
        for key in body if isinstance(body, dict) else range(len(body)):
            yield from leaves(body[key], (*path, key))
    else:
        yield path


def edited(c, rng):
    """Return a certificate's document with one to three values changed, each field as likely."""
    body = json.loads(c.to_json())
    by_field = {}
    for path in leaves(body):
        if path[0] != "digest":
            by_field.setdefault(path[:2] if path[0] == "instance" else path[:1], []).append(path)
    for _ in range(int(rng.integers(1, 4))):
        field = [*by_field][int(rng.integers(len(by_field)))]
        path = by_field[field][int(rng.integers(len(by_field[field])))]
        where = body
        for key in path[:-1]:
            where = where[key]
        where[path[-1]] = other(where[path[-1]], rng)
    if rng.random() < 0.7:
        body["claim"] = rewritten(body, c.claim)
    return sealed(body)


def rewritten(body, claim):
    """Return the words that an edited document should have, where it can be read at all."""
    from iirl_opt.certificate import Certificate

    try:
        return Certificate.from_json(sealed(body))._words()
    except Exception:
        return claim


def other(value, rng):
    """Return another value of the same type."""
    if isinstance(value, str):
        try:
            number = Fraction(value)
        except ValueError:
            return value + "!"
        changed = other(number, rng)
        return f"{changed.numerator}/{changed.denominator}"
    if value is None:
        return 1.5
    if isinstance(value, list | dict):
        return [1]
    if isinstance(value, int):
        return value + int(rng.choice([1, -1, 2, 7]))
    one = type(value)(1)
    step = type(value)(float(rng.choice([1e-12, 1e-6, 1e-3, 1 / 3]))) * (abs(value) or one)
    choices = (value + step, value - step, -value - step, value * 2, value + 9 * one, value * 0)
    return choices[int(rng.integers(len(choices)))]


def tightened(c, rng):
    """Return a certificate whose claim says more by 1.001 to 10⁶ times its slack; None if none can.

    The slack is what separates the claim from the truth, in rationals.
    """
    if isinstance(c, RewardRank):  # one dimension less than is left
        free = max(set(range(c.unknowns)) - set(c.columns))
        spare = sorted(set(range(c.unknowns)) - set(c.rows))[0]
        more = {"rows": (*c.rows, spare), "columns": (*c.columns, free)}
        return replace(c, null=c.null[:-1], claim="", **more)
    bounds = [bound for bound in _bounds(c) if bound is not None]
    if not bounds:
        return None
    name, truth, sign = bounds[int(rng.integers(len(bounds)))]
    claimed = getattr(c, name)
    slack = abs(claimed - truth) or LEAST * (abs(truth) or 1)
    factor = Fraction(10 ** float(rng.uniform(np.log10(1.001), 6)))
    changed = claimed + sign * factor * slack
    if name in ("tan", "tan_squared", "slack", "loss", "excess"):
        changed = max(changed, ZERO)
        if sign * (changed - truth) <= 0:
            return None
    if name == "advantage" and changed * claimed <= 0:
        return None
    return replace(c, **{name: changed}, claim="")


def _bounds(c):
    """Yield (field, truth, direction in which a claim is too strong) of a certificate."""
    if isinstance(c, Optimality):
        policy = share(c.policy.reshape(len(c.policy), -1)).reshape(c.policy.shape)
        start = c.instance.start
        yield "lower", start @ values_of(c, c.reward, policy), 1
        if not len(c.rows) and not len(c.equal):
            yield "upper", start @ optimum(c, c.reward), -1
        else:
            status, value = program(c, spread(c, c.reward).ravel())
            yield ("upper", value, -1) if status == "optimal" else None
    elif isinstance(c, PolicyImprovement):
        old, new = (
            values_of(c, c.reward, share(p.reshape(len(p), -1)).reshape(p.shape))
            for p in (c.old, c.new)
        )
        yield "gain", new[c.state] - old[c.state], 1
    elif isinstance(c, Violation):
        gap = gaps_of(c, share(c.pi1), share(c.pi2), c.reward)[c.state, c.action]
        yield "advantage", -gap, 1 if c.advantage > 0 else -1
    elif isinstance(c, Witness):
        yield "margin", -(c.halfspace * c.reward).sum(), 1
        lost = ZERO
        for pi1, pi2 in zip(share(c.pi1), share(c.pi2), strict=True):
            own = values_of(c, c.reward, pi1[:, :, None] * pi2[:, None, :])
            lost = max(lost, max(optimum(c, c.reward, pi1) - own))
        yield ("loss", lost / (max(c.reward) - min(c.reward)), -1) if lost else None
    elif isinstance(c, Inclusion):
        rows = rows_of(c)
        shares = [(least_share(rows, h), max(map(abs, h))) for h in c.halfspaces]
        worst = max([-found / size for found, size in shares if found is not None], default=ZERO)
        yield ("slack", worst, -1) if worst > 0 else None
    elif isinstance(c, CommitmentBound):
        best, stated = truth(c)
        yield "upper", best, -1
        yield "lower", stated, 1
    elif isinstance(c, AngleBound | ClassInclusion):
        found = widest(rows_of(c), c.reward)
        if found and isinstance(c, AngleBound):
            yield "tan_squared", found, -1
        elif found:
            # A root from below is strictly less than the tangent, so that claiming it is false.
            near = Fraction(float(found) ** 0.5) * (1 - Fraction(1, 2**40))
            yield "tan", near, -1

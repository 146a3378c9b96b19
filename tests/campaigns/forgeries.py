"""A campaign of forgeries: does any false claim pass a check, and does every honest one?

    python -m tests.campaigns.forgeries --count 10000 --seed 0

Honest certificates of all kinds over scales from 2^-40 to 2^40 and discounts to 1 − 1e-9 are made,
each as its maker returns it and with its numbers rounded to floats. Half of the forgeries are
their claims tightened by 1.001 to 10⁶ times their slack, half are their documents edited in one to
three places. Whether a claim is true is decided in rationals (`tests/truth.py`). Every document
goes to the library's check and to `iirl_opt.recheck`, which shares nothing with it; the two have to
agree. Exit code 0: no false claim passed, at least 95 % of the honest ones of each kind did, and
the checkers agree on everything.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from forgery import edited, tightened
from proofs import DISCOUNTS, KINDS, SCALES, honest, loosened
from truth import is_true

from iirl_opt import recheck
from iirl_opt.certificate import Certificate
from iirl_opt.errors import FileProblem

PASSING = 0.95  # of the honest certificates of each kind
EACH = 12  # forgeries from one honest instance


def library_says(text):
    """Return whether the library's own check accepts a document."""
    try:
        return bool(Certificate.from_json(text).check())
    except FileProblem:
        return False


def second_opinion(text):
    """Return whether the second checker accepts a document."""
    try:
        recheck.check(text)
    except (recheck.NotProved, *recheck.TROUBLE):
        return False
    return True


class Campaign:
    """Counts what happened, and keeps what should not have."""

    def __init__(self, rng):
        self.rng = rng
        self.made, self.passed, self.forged = Counter(), Counter(), Counter()
        self.false_passes, self.disagreements, self.failures = [], [], []

    @property
    def forgeries(self):
        """The number of forgeries so far."""
        return sum(self.forged.values())

    def judge(self, text, what):
        """Return whether the library accepts a document, and compare the second checker."""
        mine = library_says(text)
        if second_opinion(text) is not mine:
            self.disagreements.append((what, mine, text))
        return mine

    def run(self, kind, number):
        """Make one honest instance of a kind, check it, and forge from it."""
        scale = SCALES[number % len(SCALES)]
        discount = DISCOUNTS[number // len(SCALES) % len(DISCOUNTS)]
        place = (kind, number, scale, discount)
        try:
            first = honest(kind, number, scale, discount, floats=bool(number % 2))
        except Exception as problem:
            self.made[kind] += 1
            self.failures.append((place, repr(problem)))
            return
        if first is None:
            return
        both = [c for c in (first, loosened(first)) if c is not None]
        self.made[kind] += 1
        honestly = all(self.judge(c.to_json(), place) and is_true(c) for c in both)
        self.passed[kind] += honestly
        if not honestly:
            self.failures.append((place, first.check().reasons))
        for i in range(EACH):
            self.forge(both[i % len(both)], place, tight=i < EACH // 2)

    def forge(self, c, place, *, tight):
        """Forge one certificate and see whether it passes."""
        if tight:
            false = tightened(c, self.rng)
            if false is None:
                return
            text = false.to_json()
        else:
            text = edited(c, self.rng)
        self.forged["tightened" if tight else "edited"] += 1
        if self.judge(text, place) and (tight or not is_true(Certificate.from_json(text))):
            self.false_passes.append((place, tight, text))

    def report(self):
        """Return the counts in words."""
        lines = [f"{self.forged['tightened']} tightened, {self.forged['edited']} edited"]
        lines.append(f"{len(self.false_passes)} false claims passed")
        lines += [f"  {k}: {self.passed[k]} of {self.made[k]} honest ones passed" for k in KINDS]
        lines.append(f"{len(self.disagreements)} documents on which the checkers disagree")
        return "\n".join(lines)

    def holds(self):
        """Return whether everything is as it should be."""
        share = all(self.passed[kind] >= PASSING * self.made[kind] > 0 for kind in KINDS)
        return share and not self.false_passes and not self.disagreements


def campaign(count, seed, start=0):
    """Run a campaign of at least so many forgeries."""
    run = Campaign(np.random.default_rng(seed))
    number = start
    while run.forgeries < count:
        for kind in KINDS:
            run.run(kind, number)
        number += 1
    return run


def main():
    """Run the campaign of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begun = time.perf_counter()
    run = campaign(given.count, given.seed)
    print(run.report())
    print(f"{time.perf_counter() - begun:.0f} s, seed {given.seed}")
    for what in (run.false_passes, run.disagreements, run.failures):
        for one in what[:5]:
            print(str(one)[:2000])
    return 0 if run.holds() else 1


if __name__ == "__main__":
    sys.exit(main())

"""Certificates: making one, checking it in exact numbers, and the second checker.

*check* is the library's own, *recheck* the second checker, which shares nothing with it and uses
the standard library alone; both decide in rationals. Certificates are of the joint optimum.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import Case, Contestant, ours
from peers import maze, paper200

import iirl_opt as iirl
from iirl_opt import recheck

TITLE = "Certificates and the second checker"
GROWTH = None


def cases(quick: bool) -> list[Case]:
    """Return the paper's two games."""
    games: dict[str, Callable[[], Any]] = {"Maze-Maker": maze, "paper's random game": paper200}
    if quick:
        games = {"random 10×2×2": lambda: iirl.random_game(10, 2, 2, rng=0)}
    return [Case(name, {}, _prepared(make), runs=5) for name, make in games.items()]


def _prepared(make: Callable[[], Any]) -> Callable[[], dict[str, Contestant]]:
    def prepare() -> dict[str, Contestant]:
        game, reward = make()
        plan = iirl.commit(game, reward)
        certificate = iirl.certify(plan)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "proof.json")
            certificate.save(path)
            text = path.read_text()
        assert json.loads(text)
        return {
            "certify": ours(lambda _: float(bool(iirl.certify(plan)))),
            "check": ours(lambda _: float(bool(certificate.check()))),
            "recheck": ours(lambda _: float(recheck.holds(text))),
        }

    return prepare

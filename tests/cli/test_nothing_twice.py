"""A command finds what it needs once: the optimum, the verdict, the certificate, its check."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iirl_opt import certificate, commitment, learn, library, verification
from iirl_opt.cli.app import run


def count(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """The arguments of each call from now on, whichever module has the function by its name."""
    calls = []

    @functools.wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return function(*arguments, **named)

    for name, module in list(sys.modules.items()):
        if name.startswith("iirl_opt.") and vars(module).get(function.__name__) is function:
            monkeypatch.setattr(module, function.__name__, counted)
    return calls


def test_learn_finds_the_best_commitment_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    truth = library.read_model("two-rooms").need_truth()
    assert learn.interact  # the modules of a run are there before they are watched
    commits = count(monkeypatch, commitment.commit)
    values = count(monkeypatch, learn.best_value)
    assert run(["learn", "two-rooms", "--out", str(tmp_path)]) == 0
    rewards = [np.asarray(reward) for _, reward, *_ in commits]
    assert len(rewards) > 1  # the learner plans too, but for what it believes
    assert sum(np.array_equal(reward, truth) for reward in rewards) == 1
    assert values == []


def test_verify_judges_and_certifies_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    verdicts = count(monkeypatch, verification.verify_affine)
    certificates = count(monkeypatch, certificate.certify)
    assert run(["verify", "strict-4", "--out", str(tmp_path)]) == 0
    assert (len(verdicts), len(certificates)) == (1, 1)

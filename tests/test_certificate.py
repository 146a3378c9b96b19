"""Certificates prove their claim, survive a file, and fail when what matters is changed."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iirl_opt.certificate import Certificate, Infeasibility, Optimality, read_certificate
from iirl_opt.errors import FileProblem, Infeasible
from iirl_opt.game.generate import random_game
from iirl_opt.game.policy import uniform_policy
from iirl_opt.programs.occupancy import OccupancyMeasure, budget


def optimality(seed: int) -> Optimality:
    game, reward = random_game(4, 2, 2, seed=seed)
    measure = OccupancyMeasure(game)
    visits = np.eye(4)[1]
    limit = 0.5 * float(measure.maximise(visits).value)
    capped = budget(measure.expected(visits), limit, name="visits")
    return measure.maximise(reward, subject_to=[capped]).certificate


def infeasibility(seed: int) -> Infeasibility:
    game, reward = random_game(4, 2, 2, seed=seed)
    measure = OccupancyMeasure(game)
    too_small = budget(measure.expected(np.ones(4)), 5.0, name="time")
    with pytest.raises(Infeasible) as caught:
        measure.maximise(reward, subject_to=[too_small])
    return caught.value.certificate


def reread(certificate: Certificate, folder: Path, **changes: Any) -> Certificate:
    """Write a certificate, edit its file, recompute the digest, and read it."""
    body = json.loads(certificate.to_json())
    del body["digest"]
    for key, change in changes.items():
        where = body["instance"] if key in body["instance"] else body
        where[key] = change(where[key])
    text = json.dumps(body, sort_keys=True)
    path = folder / "certificate.json"
    path.write_text(json.dumps(body | {"digest": hashlib.sha256(text.encode()).hexdigest()}))
    return read_certificate(path)


@given(seed=st.integers(0, 10_000))
def test_certificates_hold(seed: int) -> None:
    for certificate in (optimality(seed), infeasibility(seed)):
        outcome = certificate.check(1e-7)
        assert outcome, outcome.reasons
        assert outcome.reasons == ()


def test_equations_and_a_held_leader_are_part_of_the_proof() -> None:
    game, reward = random_game(5, 2, 3, seed=1)
    measure = OccupancyMeasure(game)
    equal = (measure.expected(np.eye(5)[2]) == 0.5).set_label("visits")
    held = measure.hold_leader(uniform_policy(5, 2))
    for side in ([equal], held, []):
        assert measure.maximise(reward, subject_to=side).certificate.check(1e-7)


def test_a_certificate_survives_a_file(tmp_path: Path) -> None:
    for certificate in (optimality(0), infeasibility(0)):
        path = tmp_path / "certificate.json"
        certificate.save(path)
        again = read_certificate(path)
        assert type(again) is type(certificate)
        assert again.to_json() == certificate.to_json()
        assert again.check()


@pytest.mark.parametrize(
    "field",
    [
        "reward",
        "measure",
        "value",
        "values",
        "prices",
        "rows",
        "bounds",
        "data",
        "start",
        "discount",
    ],
)
def test_a_changed_number_makes_optimality_fail(field: str, tmp_path: Path) -> None:
    def push(value: Any) -> Any:
        array = np.array(value, dtype=float)
        moved = array + 0.01 * np.arange(1, array.size + 1).reshape(array.shape)
        return moved.tolist()

    assert not reread(optimality(3), tmp_path, **{field: push}).check()


@pytest.mark.parametrize("field", ["values", "prices", "bounds", "data", "start", "discount"])
def test_a_changed_number_makes_infeasibility_fail(field: str, tmp_path: Path) -> None:
    changes = {
        "values": lambda v: [-x for x in v],
        "prices": lambda v: [-x for x in v],
        "bounds": lambda v: [x + 20 for x in v],
        "data": lambda v: [1.01 * x for x in v],
        "start": lambda v: [x + 0.01 for x in v],
        "discount": lambda v: 0.5,
    }
    assert not reread(infeasibility(3), tmp_path, **{field: changes[field]}).check()


def test_another_game_under_the_same_fingerprint_is_noticed(tmp_path: Path) -> None:
    def swapped(data: list[float]) -> list[float]:
        return data[::-1]

    reasons = reread(optimality(2), tmp_path, data=swapped).check().reasons
    assert any("fingerprint" in reason for reason in reasons)


def test_the_digest_guards_against_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    body = json.loads(optimality(0).to_json())
    path.write_text(json.dumps(body | {"value": body["value"] + 1}))
    with pytest.raises(FileProblem, match="digest"):
        read_certificate(path)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"digest": 1}', "not json"])
def test_what_is_no_certificate_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(FileProblem, match="no certificate"):
        read_certificate(path)


def test_other_versions_kinds_and_missing_fields_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="version 2"):
        reread(optimality(0), tmp_path, version=lambda _: 2)
    with pytest.raises(FileProblem, match="'hearsay'"):
        reread(optimality(0), tmp_path, kind=lambda _: "hearsay")
    with pytest.raises(FileProblem, match="lacks or misstates"):
        reread(optimality(0), tmp_path, shape=lambda _: [4])

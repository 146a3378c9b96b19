"""The format: numbers are read as what they are, documents survive, and what is none is refused."""

import json
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from forgery import sealed
from hypothesis import given, strategies as st
from proofs import KINDS, honest

from iirl_opt.certificate import Certificate, read_certificate
from iirl_opt.certificate.form import above, below, down, read_array, read_number, up, write
from iirl_opt.errors import FileProblem

NUMBERS = st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)


@given(NUMBERS | st.integers().map(lambda n: Fraction(3 ** n.bit_length(), 7) ** 60))
def test_numbers_survive(number):
    assert read_number(json.loads(json.dumps(write(number)))) == number


@given(NUMBERS)
def test_claims_round_outward_to_twelve_digits(number):
    low, high = Fraction(down(number)), Fraction(up(number))
    assert low <= number <= high
    assert high - low <= abs(number) / 10**11


@given(st.fractions(min_value=0))
def test_roots_lie_between_their_bounds(square):
    assert below(square) ** 2 <= square <= above(square) ** 2
    assert above(square) - below(square) <= above(square) / 2**30
    assert above(Fraction(isqrt(square.numerator) ** 2)) >= isqrt(square.numerator)


@pytest.mark.parametrize(
    "given",
    ["", "1/0", "1/-2", "nan", "1e3", "1_000", " 1", "0x", "1/2/3", True, None, [1], "1" * 5000],
)
def test_what_is_no_number_is_refused(given):
    with pytest.raises((TypeError, ValueError)):
        read_number(given)


def test_what_floats_cannot_hold_is_refused():
    for text in ("1e400", "NaN", "-Infinity"):
        with pytest.raises((ValueError, OverflowError)):
            read_number(json.loads(text))


def test_ragged_arrays_are_refused():
    for ragged in ([[1], [1, 2]], [1, [2]], [[1], 2], [[[1]], [[]]]):
        with pytest.raises(ValueError, match="ragged"):
            read_array(ragged)
    assert read_array([]).shape == (0,)
    assert read_array([[], []]).shape == (2, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_survives_a_file(kind, tmp_path):
    for floats in (False, True):
        certificate = honest(kind, 1, floats=floats)
        certificate.save(tmp_path / "proof.json")
        again = read_certificate(tmp_path / "proof.json")
        assert type(again) is type(certificate)
        assert again.to_json() == certificate.to_json()
        assert again.check().reasons == ()


def test_equal_games_of_other_types_have_one_fingerprint():
    """So `matches` does not ask in which types a game was written."""
    import iirl_opt as iirl

    kernel = np.array([[[[1, 3], [2, 2]]], [[[0, 4], [1, 0]]]])
    shares = kernel / kernel.sum(axis=-1, keepdims=True)
    games = [
        iirl.TwoAgentMDP(kernel, "1/2"),
        iirl.TwoAgentMDP(shares, 0.5, [0.5, 0.5]),
        iirl.TwoAgentMDP(6 * kernel, Fraction(1, 2)),
    ]
    assert len({game.fingerprint for game in games}) == 1
    assert games[0] == games[1] == games[2]
    assert games[0] != iirl.TwoAgentMDP(kernel, 0.5 + 1e-12)


def test_the_digest_guards_against_an_accident():
    text = honest("optimality", 0).to_json()
    with pytest.raises(FileProblem, match="digest"):
        Certificate.from_json(text.replace('"discount": "4/5"', '"discount": "3/5"'))


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[1]", '"text"', '{"digest": 1}', "not json", "[" * 100_000, '{"a": ' + "1" * 5000],
)
def test_what_is_no_certificate_is_refused(text, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(FileProblem, match="no certificate"):
        read_certificate(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileProblem, match="no certificate"):
        read_certificate(path)


def test_other_versions_kinds_and_fields_are_refused():
    body = json.loads(honest("violation", 0).to_json())
    for change, message in (
        ({"version": 1}, "version 1"),
        ({"version": 2.0}, "version 2.0"),
        ({"version": True}, "version True"),
        ({"kind": "hearsay"}, "'hearsay'"),
        ({"kind": ["violation"]}, "no certificate"),
        ({"more": 1}, "misstates"),
        ({"values": None}, "misstates"),
        ({"values": ["1/0", 1, 1]}, "misstates"),
        ({"values": [[1], [1, 2]]}, "misstates"),
        ({"state": 1.0}, "misstates"),
        ({"state": True}, "misstates"),
        ({"claim": 3}, "misstates"),
        ({"claim": ""}, "misstates"),
        ({"advantage": None}, "misstates"),
        ({"instance": {}}, "misstates"),
    ):
        with pytest.raises(FileProblem, match=message):
            Certificate.from_json(sealed(body | change))
    del body["values"]
    with pytest.raises(FileProblem, match="misstates"):
        Certificate.from_json(sealed(body))


def test_other_shapes_and_positions_fail():
    body = json.loads(honest("violation", 0).to_json())
    for key, value in {
        "state": 3,
        "episode": 0,
        "action": -1,
        "values": [0, 0],
        "pi1": [[1, 0], [0, 0], [1, 0]],
        "pi2": [[1, 0], [2, -1], [1, 0]],
    }.items():
        outcome = Certificate.from_json(sealed(body | {key: value})).check()
        assert any("the form fits" in reason for reason in outcome.reasons), key


def test_kernels_that_are_none_fail_or_are_refused():
    body = json.loads(honest("violation", 0).to_json())
    row = body["instance"]["kernel"][0]
    for wrong in ([], [row[0], row[0]], [[3, 1]], [[-1, 1]], [[0, 0]], [[0, -1]], [[0, 0.5]]):
        kernel = [wrong, *body["instance"]["kernel"][1:]]
        text = sealed(body | {"instance": body["instance"] | {"kernel": kernel}})
        try:
            outcome = Certificate.from_json(text).check()
        except FileProblem:
            continue
        assert not outcome, wrong
    for change in ({"discount": 1}, {"discount": -0.5}, {"states": ["a"]}, {"start": [1, 0, -1]}):
        text = sealed(body | {"instance": body["instance"] | change})
        try:
            outcome = Certificate.from_json(text).check()
        except FileProblem:
            continue
        assert not outcome, change


def test_another_game_under_the_same_fingerprint_is_noticed():
    body = json.loads(honest("optimality", 2).to_json())
    body["instance"]["discount"] = "3/5"
    reasons = Certificate.from_json(sealed(body)).check().reasons
    assert any("fingerprint" in reason for reason in reasons)


def test_numbers_of_many_digits_survive_json():
    long = Fraction(3**20_000, 2**30_000 + 1)
    body = json.loads(honest("violation", 0).to_json())
    body["values"] = [hex(long.numerator) + "/" + hex(long.denominator)] * 3
    again = Certificate.from_json(sealed(body))
    assert again.values[0] == long
    assert json.loads(again.to_json())["values"] == body["values"]

"""The second checker: what it refuses, and that it stands alone."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from decimal import Decimal, getcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from depth import share
from forgery import edited, tightened
from hypothesis import assume, given, strategies as st
from proofs import DISCOUNTS, KINDS, SCALES, honest, loosened

from iirl_opt import recheck
from iirl_opt.certificate import Certificate
from iirl_opt.errors import FileProblem
from iirl_opt.recheck.arithmetic import root, words
from iirl_opt.recheck.tree import PLACES, exponential

PACKAGE = Path(recheck.__file__).parent


def document(**changes):
    """Return a proof that the one policy of a game of one state earns 2, edited."""
    game = {
        "shape": [1, 1, 1],
        "kernel": [[[0, 1]]],
        "discount": 0.5,
        "start": [1],
        "states": ["home"],
        "leader_actions": ["stay"],
        "follower_actions": ["wait"],
        "fingerprint": hashlib.sha256(b"1 1 1\n1/2\n1/1\n0:1").hexdigest(),
    }
    nothing = {"width": 1, "rows": []}
    body = {
        "version": 2,
        "kind": "optimality",
        "instance": game,
        "claim": "no joint policy earns more than 2; the stated one earns at least 2",
        "source": "weak duality of the occupancy program (Puterman 1994, section 6.9)",
        "reward": [1],
        "rows": nothing,
        "bounds": [],
        "equal": nothing,
        "right": [],
        "policy": [[[1]]],
        "mass": [2],
        "values": [2],
        "prices": [],
        "equal_prices": [],
        "lower": 2,
        "upper": 2,
        "excess": 0,
    }
    for name, value in changes.items():
        home = game if name in game else body
        home[name] = value
    return body


def sealed(body):
    canonical = json.dumps(body, sort_keys=True)
    return json.dumps({**body, "digest": hashlib.sha256(canonical.encode()).hexdigest()})


def outcome(text, tmp_path, capsys):
    path = tmp_path / "proof.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return recheck.inspect(str(path)), capsys.readouterr().out


def test_a_proof_is_proved(tmp_path, capsys):
    code, said = outcome(sealed(document()), tmp_path, capsys)
    assert code == 0
    assert "earns more than 2" in said
    assert "PROVED" in said


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"upper": "199/100"}, "upper bound"),
        ({"lower": "201/100"}, "lower bound"),
        ({"reward": [1.001]}, "upper bound"),
        ({"mass": [1.999]}, "lower bound"),
        ({"excess": -1}, "excess"),
        ({"claim": "no joint policy earns more than 1"}, "the claim is the one"),
        ({"source": "magic"}, "the source is the one"),
        ({"fingerprint": "00"}, "fingerprint"),
        ({"discount": 0.75}, "upper bound"),
    ],
)
def test_what_does_not_hold_is_named(changes, condition, tmp_path, capsys):
    code, said = outcome(sealed(document(**changes)), tmp_path, capsys)
    assert code == 1
    assert said.startswith("NOT PROVED")
    assert condition in said


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"version": 2, "version": 2}',
        b"1" * 10_000,
        json.dumps(document()).encode(),
        sealed(document())[:-1].encode(),
        sealed(document()).replace("PROVED", "").replace('"version": 2', '"version": 3').encode(),
        *(
            sealed(document(**changes)).encode()
            for changes in (
                {"version": 1},
                {"version": True},
                {"version": 2.0},
                {"kind": "magic"},
                {"kind": []},
                {"extra": 1},
                {"claim": 1},
                {"instance": []},
                {"shape": [10**9, 10**9, 10**9]},
                {"shape": [1, 1]},
                {"shape": [0, 1, 1]},
                {"shape": [1.0, 1, 1]},
                {"kernel": [[[0, 0]]]},
                {"kernel": [[[0, -1]]]},
                {"kernel": [[[0, 0.5]]]},
                {"kernel": [[[1, 1]]]},
                {"kernel": [[[0, 1], [0, 1]]]},
                {"kernel": [[]]},
                {"kernel": []},
                {"kernel": [[[0]]]},
                {"kernel": [["ab"]]},
                {"discount": 1},
                {"discount": -0.5},
                {"discount": "1/0"},
                {"discount": "1e-400000000"},
                {"discount": "٣/4"},
                {"discount": " 1/2"},
                {"discount": "1/2\n"},
                {"discount": "1/-2"},
                {"discount": None},
                {"start": [0]},
                {"start": [-1]},
                {"start": []},
                {"states": [1]},
                {"states": "h"},
                {"reward": [[1]]},
                {"reward": []},
                {"reward": {}},
                {"reward": ["1" * 5_000]},
                {"reward": ["0x" + "1" * 1_000_001]},
                {"reward": [True]},
                {"rows": {"width": 10**9, "rows": []}},
                {"rows": {"width": 1, "rows": [[[0, 1]]]}},
                {"rows": [[]]},
                {"bounds": None},
                {"policy": [[[0]]]},
                {"policy": [[[1, 1]]]},
                {"policy": 1},
                {"upper": [2]},
            )
        ),
        sealed(document(upper=-1)).replace("-1", "NaN").encode(),
        sealed(document(upper=-1)).replace("-1", "1e999").encode(),
    ],
)
def test_what_is_no_certificate_is_refused_without_a_traceback(text, tmp_path, capsys):
    code, said = outcome(text, tmp_path, capsys)
    assert (code, said.split(":")[0]) == (2, "UNREADABLE")


def test_a_mark_before_the_text_is_no_part_of_it(tmp_path, capsys):
    plain = sealed(document()).encode()
    assert outcome(b"\xef\xbb\xbf" + plain, tmp_path, capsys) == outcome(plain, tmp_path, capsys)


@pytest.mark.parametrize(
    "arguments",
    [[], ["a", "b"], ["a", "--seconds"], ["a", "--seconds", "nan"], ["--seconds", "-1", "a"]],
)
def test_a_wrong_command_is_refused(arguments, capsys):
    assert recheck.main(arguments) == 2
    assert "usage" in capsys.readouterr().err


def test_what_is_no_file_is_refused(tmp_path):
    assert recheck.inspect(str(tmp_path / "none.json")) == 2
    assert recheck.inspect(str(tmp_path)) == 2
    assert recheck.inspect("a\0b") == 2


def alone(tmp_path, text, *arguments, replaced=("", "")):
    """Run a copy of the folder where the library is not; return the process."""
    shutil.copytree(PACKAGE, tmp_path / "recheck", dirs_exist_ok=True)
    document = tmp_path / "recheck" / "document.py"
    document.write_text(document.read_text("utf-8").replace(*replaced), "utf-8")
    (tmp_path / "proof.json").write_text(text, "utf-8")
    command = [sys.executable, "-S", "-m", "recheck", "proof.json", *arguments]
    elsewhere = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=tmp_path, env=elsewhere, capture_output=True, text=True, timeout=120
    )


@pytest.mark.process
def test_it_runs_where_the_library_is_not(tmp_path):
    done = alone(tmp_path, sealed(document()))
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROVED" in done.stdout
    assert alone(tmp_path, sealed(document(upper=1))).returncode == 1
    assert alone(tmp_path, "{}").returncode == 2


@pytest.mark.process
def test_it_runs_where_the_library_is_from_any_folder(tmp_path):
    (tmp_path / "proof.json").write_text(sealed(document()), "utf-8")
    command = [sys.executable, "-m", "iirl_opt.recheck", "proof.json"]
    here = os.environ | {"PYTHONPATH": str(PACKAGE.parents[1])}
    done = subprocess.run(
        command, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PROVED" in done.stdout


@pytest.mark.process
def test_it_gives_up_in_time(tmp_path):
    endless = ("    fields = parse(text)", "    max(iter(int, 1))")
    done = alone(tmp_path, sealed(document()), "--seconds", "0.3", replaced=endless)
    assert (done.returncode, done.stderr) == (2, "")
    assert "no end within 0.3 seconds" in done.stdout


def test_roots_words_and_exponentials_are_on_the_right_side():
    rng = random.Random(0)
    getcontext().prec = 80
    for _ in range(200):
        x = Fraction(rng.getrandbits(60), rng.getrandbits(60) + 1) * Fraction(10) ** rng.randint(
            -40, 9
        )
        low, high = root(x, up=False), root(x, up=True)
        assert low**2 <= x <= high**2
        assert Fraction(words(x, up=False)) <= x <= Fraction(words(x, up=True))
        below, above = exponential(-x)
        true = (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**PLACES
        assert below <= true <= above
        assert above - below <= 3


def library_says(text):
    try:
        return bool(Certificate.from_json(text).check())
    except FileProblem:
        return False


@pytest.mark.parametrize("kind", KINDS)
@share(0.2)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from(SCALES),
    discount=st.sampled_from(DISCOUNTS),
    floats=st.booleans(),
)
def test_both_checkers_say_the_same(kind, seed, scale, discount, floats):
    rng = np.random.default_rng(seed)
    first = honest(kind, seed, scale, discount, floats=floats)
    assume(first is not None)  # a degenerate instance
    for c in filter(None, (first, loosened(first))):
        assert recheck.check(c.to_json()) == c.claim
        strong = tightened(c, rng)
        texts = [edited(c, rng) for _ in range(4)]
        if strong is not None:
            texts.append(strong.to_json())
        for text in texts:
            assert recheck.holds(text) is library_says(text)

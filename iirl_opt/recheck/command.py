"""The command: a file is checked in a process of its own, which ends in time."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .document import check
from .reading import TROUBLE, NotProved, form

PACKAGE = __package__ or "recheck"
ROOT = Path(__file__).resolve().parents[PACKAGE.count(".") + 1]
TIME = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
MOST_BYTES = 2_000_000_000


def inspect(path: str) -> int:
    """Check a file and say what came of it; return the exit code."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
        form(len(raw) <= MOST_BYTES, path, f"of at most {MOST_BYTES} bytes")
        claim = check(raw.decode("utf-8-sig"))
    except NotProved as problem:
        print(f"NOT PROVED: it does not hold that {problem}")
        return 1
    except TROUBLE as problem:
        print(f"UNREADABLE: {path}: {problem}")
        return 2
    print(f"claim: {claim}")
    print("checked in exact numbers: every condition of its kind, the fingerprint and the digest")
    print("PROVED, about the game inside this file")
    return 0


def main(arguments: Sequence[str]) -> int:
    """Check a file in a process of its own, which ends in time; return the exit code."""
    match list(arguments):
        case ["--inside", path]:
            return inspect(path)
        case [path]:
            seconds = 600.0
        case [path, "--seconds", given] | ["--seconds", given, path] if TIME.fullmatch(given):
            seconds = float(given)
        case _:
            print(f"usage: python -m {PACKAGE} proof.json [--seconds 600]", file=sys.stderr)
            return 2
    command = [sys.executable, "-m", PACKAGE, "--inside", path]
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    here = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    try:
        code = subprocess.run(command, env=here, timeout=seconds, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"UNREADABLE: {path}: no end within {seconds:g} seconds")
        return 2
    return code if code in (0, 1) else 2

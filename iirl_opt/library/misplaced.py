"""Files that hold no problem: what they are, and the command that takes them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from iirl_opt.errors import FileProblem
from iirl_opt.files import first_bytes
from iirl_opt.library.shipped import nearest_file, shipped_by_name

__all__ = ["CERTIFICATE", "MODEL", "PYTHON", "find_file", "refuse_misplaced"]

MODEL, CERTIFICATE, PYTHON = "model", "certificate", "python"

# What the first bytes of the command's own JSON look like.
_CERTIFICATE = re.compile(rb'\{\s*"version": \d+,\s*"kind": "')
_RESULT = re.compile(rb'\{\s*"format": \d+,\s*"command": "(\w+)"')
_HEAD = 256


def find_file(path: Path, wanted: str) -> Path:
    """Return the path of a file of one kind that is there.

    Raises
    ------
    FileProblem
        There is none: says which has the nearest name. Or it is plainly something else.
    """
    if path.is_dir():
        raise FileProblem(path, "is a folder: give a file of it")
    if not path.exists():
        model = shipped_by_name().get(str(path))
        said = "no such file" + nearest_file(path) if model is None else _what_it_is(model)[1]
        raise FileProblem(path, said)
    refuse_misplaced(path, wanted)
    return path


def refuse_misplaced(path: Path, *wanted: str) -> None:
    """Refuse a file that is there and is plainly something else than what is wanted.

    Parameters
    ----------
    wanted : of `MODEL` (any file that holds a problem), `CERTIFICATE`, `PYTHON`.

    Raises
    ------
    FileProblem
        Says what the file is, and what takes it.
    """
    kind, said = _what_it_is(path)
    if kind not in ("", *wanted):
        raise FileProblem(path, said)


def _what_it_is(path: Path) -> tuple[str, str]:
    """Return the kind of a file, empty if nothing shows it, and what to say of it elsewhere."""
    suffix, quoted = path.suffix.lower(), shlex.quote(str(path))
    if suffix == ".py":
        return PYTHON, f"is a Python file, whose list of claims iirl-opt claims {quoted} tries"
    if suffix == ".toml":
        return MODEL, f"is a model file, which iirl-opt solve {quoted} answers"
    if suffix == ".jsonl":
        said = "is a checkpoint: the command that left it goes on from its folder with --resume"
        return "checkpoint", said
    head = first_bytes(path, _HEAD).lstrip() if suffix == ".json" else b""
    if _CERTIFICATE.match(head):
        return CERTIFICATE, f"is a certificate, which iirl-opt recheck {quoted} checks"
    if result := _RESULT.match(head):
        beside = path.with_name("certificate.json")
        more = f"; its certificate is {beside}" if beside.is_file() else ""
        return "result", f"is what iirl-opt {result[1].decode()} found, not what it reads{more}"
    return "", ""

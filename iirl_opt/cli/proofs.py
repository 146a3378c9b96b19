"""Commands about proofs: `verify` a hypothesis and certify the verdict, `recheck` a certificate."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from iirl_opt.cli.completion import complete_certificate
from iirl_opt.cli.exit_codes import ANSWERED, NO_ANSWER, UNMET, all_or_unmet
from iirl_opt.cli.json_document import head
from iirl_opt.cli.options import (
    NOTHING,
    Asked,
    File,
    GameSeed,
    Json,
    Out,
    asking,
)
from iirl_opt.cli.printing import Printer, lines_of_findings
from iirl_opt.errors import NotCertified

__all__ = ["recheck", "verify"]


@asking
def verify(
    file: File,
    seed: GameSeed = None,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Judge a reward hypothesis by one answer: confirmed, refuted or inconclusive, with a proof."""
    from iirl_opt import library
    from iirl_opt.certificate import certify
    from iirl_opt.verification import Verdict

    problem = library.read_model(file, game_seed=seed, **asked)
    printer = Printer(as_json, out, ["result.json", "certificate.json"])
    certificate, missing = None, ""
    with printer.progress(name="verifying"):
        answer = library.verify(problem)
        report = answer.found
        try:
            certificate = certify(report)
        except NotCertified as none:
            missing = str(none)
    expected = problem.expect if problem.as_stated else []
    findings = library.check(expected, answer.quantities, problem.path)
    document = {
        **head("verify", problem, seed=seed),
        "verdict": report.verdict.name.lower(),
        "angle": report.angle,
        "reason": report.evidence,
        "assumptions": list(report.assumptions),
        "certificate": None if certificate is None else json.loads(certificate.to_json()),
        "expectations": [asdict(finding) for finding in findings],
    }
    texts = {}
    if certificate is not None:
        texts = {"certificate.json": certificate.to_json()}
        missing = f"proof: {certificate.kind}, {'checked' if certificate.check() else 'NOT VALID'}"
    lines = [f"{problem.title}\n\n{report}", f"  {missing}", *lines_of_findings(findings)]
    printer.give(document, lines, beside=printer.texts(texts))
    if findings:
        return all_or_unmet(finding.met for finding in findings)
    return NO_ANSWER if report.verdict is Verdict.INCONCLUSIVE else ANSWERED


@asking
def recheck(
    file: Annotated[
        Path,
        typer.Argument(
            help="A certificate, as `verify --out` writes it.", autocompletion=complete_certificate
        ),
    ],
    own: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="A model file whose game, reward and answer to compare."
        ),
    ] = None,
    seed: GameSeed = None,
    asked: Asked = NOTHING,
    out: Out = None,
    as_json: Json = False,
) -> int:
    """Check a certificate in exact numbers: no solver is asked.

    It is about the game inside the file; with --model also whether that is the game, the reward and
    the answer of a model file.
    """
    from iirl_opt.certificate import read_certificate
    from iirl_opt.library.misplaced import CERTIFICATE, find_file

    certificate = read_certificate(find_file(file, CERTIFICATE))
    printer = Printer(as_json, out)
    with printer.progress(name="checking"):
        outcome = certificate.check()
    differences: tuple[str, ...] = ()
    if own is not None:
        from iirl_opt import library

        problem = library.read_model(own, game_seed=seed, **asked)
        differences = library.match(certificate, problem).differences
    game = certificate.instance
    discounted = float(game.discount)
    document = {
        **head("recheck", file=file.name, fingerprint=game.fingerprint, discount=discounted),
        "kind": certificate.kind,
        "claim": certificate.claim,
        "source": certificate.source,
        "holds": bool(outcome),
        "reasons": list(outcome.reasons),
        "model": own,
        "differences": list(differences),
    }
    about = "the game inside this file" if own is None else f"{own}"
    if differences:
        about = f"ANOTHER PROBLEM than {own}"
    lines = [
        f"{certificate.kind}: {certificate.claim}\n  by {certificate.source}",
        f"{'proved' if outcome else 'NOT PROVED'} in exact numbers, about {about}",
        *(f"  {reason}" for reason in (*outcome.reasons, *differences)),
    ]
    printer.give(document, lines)
    return ANSWERED if outcome and not differences else UNMET

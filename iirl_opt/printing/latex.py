r"""Tables in LaTeX: a ``tabular`` with booktabs' rules, and nothing taken for a command."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from iirl_opt.brief import shortly

__all__ = ["escaped", "latex_of"]

COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    # At the beginning of a row the line break or the rule before it would take them for its own.
    "[": "{[}",
    "*": "{*}",
}
SYMBOLS = {
    "≤": r"\le",
    "≥": r"\ge",
    "×": r"\times",
    "·": r"\cdot",
    "−": "-",
    "∞": r"\infty",
    "≈": r"\approx",
    "≠": r"\ne",
    "→": r"\to",
    "∈": r"\in",
    "√": r"\surd",
    "Σ": r"\Sigma",
    "Δ": r"\Delta",
    "Γ": r"\Gamma",
    "Φ": r"\Phi",
    "Ω": r"\Omega",
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "δ": r"\delta",
    "ε": r"\varepsilon",
    "η": r"\eta",
    "θ": r"\theta",
    "κ": r"\kappa",
    "λ": r"\lambda",
    "μ": r"\mu",
    "ν": r"\nu",
    "ξ": r"\xi",
    "π": r"\pi",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "τ": r"\tau",
    "φ": r"\varphi",
    "ψ": r"\psi",
    "ω": r"\omega",
    "²": "^2",
    "³": "^3",
    "⁻": "^-",
    "½": r"\frac12",
}
ESCAPES = str.maketrans(
    {**COMMANDS, "…": r"\dots{}", **{sign: f"${tex}$" for sign, tex in SYMBOLS.items()}}
)


def latex_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as a ``tabular``: numbers to the right, in six digits."""
    kinds = [{type(row[i]) for row in rows} - {type(None)} for i in range(len(columns))]
    sides = "".join("r" if kind and kind <= {int, float, Fraction} else "l" for kind in kinds)
    lines = [[escaped(name) for name in columns], *([_entry(x) for x in row] for row in rows)]
    head, *body = [" & ".join(line) + r" \\" for line in lines]
    begin, end = rf"\begin{{tabular}}{{{sides or 'l'}}}", r"\end{tabular}"
    ruled = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", end]
    return "\n".join(ruled) + "\n"


def escaped(text: str) -> str:
    """Return a text that LaTeX sets as it is, on one line."""
    line = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    line = "".join(sign for sign in line if sign.isprintable())
    return line.translate(ESCAPES)


def _entry(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(f"{value:.6g}")
    if isinstance(value, int | Fraction):
        return _number(shortly(value))
    return escaped(value)


def _number(text: str) -> str:
    mantissa, e, exponent = text.partition("e")
    if e and exponent.lstrip("+-").isdigit():
        return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
    if text in ("inf", "-inf"):
        return rf"${text.replace('inf', '')}\infty$"
    return f"${text}$" if text.startswith("-") else escaped(text)

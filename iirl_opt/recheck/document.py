"""The document: its keys, its digest, its kind, and whether it proves what it claims."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from . import inclusion, occupancy, rank, responses, tree
from .game import Fields, game_of
from .reading import TROUBLE, NotProved, Unreadable, form, need, whole

VERSION = 2
SIDES = "rows bounds equal right values prices equal_prices"
TREE = "allowed actions lower upper incumbent nodes leaves"
DUALITY = "linear duality over Corollary 1 of the paper, with the factor γ"

# By kind: the check, which returns the claim; its source; and its fields.
KINDS: dict[str, tuple[Callable[[Fields], str], str, str]] = {
    "optimality": (
        occupancy.optimality,
        "weak duality of the occupancy program (Puterman 1994, section 6.9)",
        f"{SIDES} reward policy mass lower upper excess",
    ),
    "infeasibility": (
        occupancy.infeasibility,
        "Farkas' lemma on the occupancy program",
        SIDES,
    ),
    "policy improvement": (
        occupancy.policy_improvement,
        "evaluation of both policies",
        "reward old new old_values new_values state gain",
    ),
    "reward rank": (
        rank.reward_rank,
        "the soft Bellman equation is linear in reward and values",
        "commitments rewards rows columns modulus null",
    ),
    "violation": (
        responses.violation,
        "policy improvement; paper, Theorem 1",
        "episode state action pi1 pi2 reward values advantage",
    ),
    "witness": (
        responses.witness,
        "paper, Corollary 1, with the factor γ",
        "pi1 pi2 reward halfspace values margin loss",
    ),
    "inclusion": (
        inclusion.inclusion,
        DUALITY,
        "pi1 pi2 halfspaces on_gaps on_values slack",
    ),
    "class inclusion": (
        inclusion.class_inclusion,
        DUALITY,
        "pi1 pi2 reward inner on_gaps on_values tan",
    ),
    "angle bound": (
        inclusion.angle_bound,
        "extreme rays of the simplicial cone of the strict test",
        "pi1 pi2 reward states actions rays tan_squared",
    ),
    "search tree": (
        tree.search_tree,
        "monotone contractions over boxes of commitments (branch and bound)",
        f"reward follower_reward model ties numbers {TREE}",
    ),
}


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs, none of whose keys stands twice."""
    found = dict(pairs)
    form(len(found) == len(pairs), "an object", "one whose keys stand once")
    return found


def refuse(text: str) -> Any:
    raise Unreadable(f"{text} is no number")


def parse(text: str) -> Fields:
    """Return a certificate's fields and its game.

    Raises
    ------
    Unreadable
    """
    try:
        doc = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        form(type(doc) is dict, "the document", "an object")
        digest = doc.pop("digest", None)
        canonical = json.dumps(doc, sort_keys=True, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"the document is no JSON that can be read ({problem})") from None
    kind = doc.get("kind")
    form(type(kind) is str and kind in KINDS, "kind", f"one of {', '.join(KINDS)}")
    form(whole(doc.get("version"), "version") == VERSION, "version", str(VERSION))
    keys = {"version", "kind", "instance", "claim", "source", *KINDS[kind][2].split()}
    form(doc.keys() == keys, "the document", f"an object with the keys {', '.join(sorted(keys))}")
    form(type(doc["claim"]) is type(doc["source"]) is str, "claim and source", "texts")
    right = digest == hashlib.sha256(canonical.encode()).hexdigest()
    form(right, "digest", "that of the document")
    return Fields(doc, game_of(doc["instance"]))


def check(text: str) -> str:
    """Return the claim that a certificate proves.

    Raises
    ------
    Unreadable
        This is no certificate.
    NotProved
        A condition does not hold.
    """
    fields = parse(text)
    doc, game = fields.given, fields.game
    prove, source, _ = KINDS[doc["kind"]]
    claim = prove(fields)
    need(game.canonical() == game.fingerprint, "the fingerprint is that of the game")
    need(doc["claim"] == claim, f"the claim is the one of the numbers: {claim}")
    need(doc["source"] == source, "the source is the one of the kind")
    return claim


def holds(text: str) -> bool:
    """Return whether a document proves its claim."""
    try:
        check(text)
    except (NotProved, *TROUBLE):
        return False
    return True

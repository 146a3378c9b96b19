"""Every argument of every public callable, fed what it is not.

A wrong argument ends in an error of this library that names it, or has a meaning: then the call
succeeds, and returns no NaN. What may succeed is declared by the argument's annotation in
`may_succeed`, and by name in `MEANINGS`; all else must be refused.
"""

import dataclasses
import enum
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from baselines import CALLS, NOT_WALKED, ROOMS

from iirl_opt.errors import IIRLError


class Junk:
    """An object that is nothing."""


SCALARS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "negative": -1,
    "negative float": -0.5,
    "zero": 0,
    "None": None,
    "object": Junk(),
    "dict": {},
    "complex": 1j,
    "text": "no such thing",
    "bool": True,
    "2.5": 2.5,
    "empty": [],
    "0-d": np.array(0.5),
    "5-d": np.zeros((1,) * 5),
    "a class": dict,
}

# Shapes that other arguments do not fix.
SHAPES = {"one axis more", "one entry less", "more rows"}

# Numbers that are lengths, scales or tolerances: zero is none of them.
POSITIVE = {"tolerance", "spread", "weight", "price", "bound", "width", "scale", "slack", "mean"}

# What else has a meaning, by callable and argument; both are patterns.
MEANINGS = {
    r".*(answer|log_answer)\.tolerance": {"zero"},  # ties are exact
    r"(Known|UniformPrior|GammaPrior|Posterior|budget|regret|loss|interact|recall)(\.log_density)?"
    r"\.(value|low|high|parameter|limit|best)": {"negative", "negative float"},
    r"budget\.limit": {"0-d"},
    r"(Affine\.constant|Counterpart\.answer\.value)": {"negative", "negative float"},
    r"LiveProgram.*\.(row_)?(lower|upper)": {
        *("inf", "-inf", "an entry inf", "an entry -inf", "0-d", "bool", *SHAPES),
        *("negative", "negative float", "zero", "2.5"),
    },
    r"(TwoAgent)?MDP\.\w*fallback": {"zero", "bool", "None"},  # labels: True is 1
    r"(TwoAgent)?MDP\.(discount|start)": {"zero", "None"},
    r"(from_\w+|read_\w+|MDP\.discounted)\.(discount|start)": {"zero", "None", "text array"},
    r"Doors\.reward": {"negative", "negative float", "zero", "2.5"},
    r"plot_(chains|curves|dominance)\.(states|points)": {*SHAPES, "5-d", "empty"},
    r"Setting\.values": {"5-d"},  # the environment's own affair
    r"StartChoice\.states": {  # labels
        *("an entry inf", "an entry -inf", "complex array", "text array", "an object")
    },
    r"(grid_game|maze_maker)\.(discount|slip)": {"zero", "bool"},
    r"(random_game|games)\.(discount|\w+_influence)": {"zero", "bool", "None"},
    r"(cone_halfspaces|class_inclusion)\.tan": {"zero", "bool", "2.5", "None"},
    r"angle_bound\.bound": {"None", "bool", "2.5"},
    r"strict_environment\.epsilon": {"bool", "2.5"},
    r"rewards\.(min|max)_value": {"negative", "negative float", "zero", "bool", "2.5"},
    r"DirichletPrior\.concentration": {"bool", "2.5", "0-d"},
    r"tie_tolerance\.reward": {"negative", "negative float", "zero", "bool", "2.5", "0-d", "5-d"},
    r"Pruned\.(extend|restrict)\.(array|fill)": {*SCALARS, "complex array", "text array"}
    | {"an object", "an entry inf", "an entry -inf"},  # arrays of anything but NaN; fill is NaN too
    r"(Claim\.decide|describe)\.instance": set(SCALARS),
    r"assert_kkt\.solved": {"None"},
    r".*\.(hypothesis|reward|first|second|rows|inside)": {
        "text array"
    },  # numbers written out are exact
    r"Commitment\.of\.(value|bound)": {"negative", "negative float", "zero", "bool", "2.5"},
    r"HiGHS\.time_limit": {"zero"},
    r"solve\.start|MDP\.starting_at\.start": {"None"},
    r".*\.(beyond|discounts)": {"zero"},
    r"(\w+_game|(read|write)_\w+|Certificate\.save)\.path|read_certificate\.source": {"text"},
    r"check\.path": {"text"},  # named in the error of an expectation
    r"(Side\..*|SparseRows\.of\.rows|infeasibility\.values)": {"empty", *SHAPES, "5-d"},
    r"LiveProgram\.add_rows\.matrix": SHAPES,
    r"(check_policy|split)\.states": {"dict", "text", "5-d"},  # labels, read when one is named
}

# The places of arguments in messages where they are not the parameters' own names.
PLACES = {
    "name": "no such thing|learner",
    "quantities": "expect",
    "pi1": "leader policy|commitment",
    "pi2": "follower policy",
    "response": "follower policy",
    "first": "leader policy|reward|second",
    "leader": "leader policy",
    "follower": "follower policy",
    "incumbent": "leader policy",
    "kernel": "P",
    "states": "state labels|state|states",
    "actions": "action labels|action",
    "leader_actions": "leader action labels|leader action",
    "follower_actions": "follower action labels|follower action",
    "fallback": "action",
    "leader_fallback": "leader action",
    "follower_fallback": "follower action",
    "choices": "leader policy|follower policy",
    "truth": "reward",
    "follower_reward": "reward",
    "objective": "reward|matrix",
    "second": "reward",
    "joint": "joint policy|answer",
    "matrix": "row_lower, row_upper",
    "policy": "leader policy|joint policy",
    "policies": "weights|leader policy",
    "initial": "actions|initial",
    "steps": "state|leader action|follower action",
    "bound": "tan_squared",
    "width": "rows",
    "assumed": "follower",
    "text": "grid|JSON",
    "how": "normalise",
    "where": "game",
    "halfspaces": "width",
    "old": "old policy",
    "new": "new policy",
    "size": "prize cell",
    "prizes": "prize cell",
    "path": "form|no such thing",
    "source": "no such thing",
    "answer": "certified",
    "inside": "rows",
    "reward": "rows of the answer|second",
    "observation": "rows of the answer",
    "environment": "rows of the answer",
    "state": "reward at",
    "action": "reward at",
    "episode": "reward at",
}


def public():
    """Yield (name, callable) of all functions, classes and methods that users may call."""
    seen = set()
    for module in ROOMS.values():
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            yield name, thing
            if not inspect.isclass(thing) or issubclass(thing, BaseException | enum.Enum):
                continue
            for method in sorted(vars(thing) if inspect.isabstract(thing) else dir(thing)):
                held = inspect.getattr_static(thing, method)
                bound = getattr(thing, method)
                inner = getattr(bound, "__func__", bound)
                ours = (getattr(inner, "__module__", None) or "").startswith("iirl_opt")
                if method.startswith("_") or isinstance(held, property) or not callable(bound):
                    continue
                if ours and id(inner) not in seen:
                    seen.add(id(inner))
                    yield f"{name}.{method}", bound


PUBLIC = dict(public())


def takes_nothing(thing):
    """Return whether there is no argument to feed: none at all, or an exception, enum, protocol."""
    if inspect.isclass(thing):
        abstract = inspect.isabstract(thing) or getattr(thing, "_is_protocol", False)
        if abstract or issubclass(thing, BaseException | enum.Enum):
            return True
    names = [name for name in inspect.signature(thing).parameters if not name.startswith("_")]
    return not set(names) - {"self"}


def of_a_protocol(name):
    owner = PUBLIC.get(name.rpartition(".")[0])
    return owner is not None and (
        getattr(owner, "_is_protocol", False) or owner.__name__ == "Learner"
    )


def excluded(name):
    return next((why for pattern, why in NOT_WALKED.items() if re.fullmatch(pattern, name)), None)


def arrays_from(value):
    """Return what a valid array becomes when one thing is wrong with it."""
    try:
        valid = np.asarray(value)
        if valid.dtype.kind not in "iufO" or not valid.ndim or not valid.size:
            return {}
        floats = valid.astype(float)
    except (TypeError, ValueError):
        return {}
    out = {}
    for name, wrong in (("nan", np.nan), ("inf", np.inf), ("-inf", -np.inf)):
        part = floats.copy()
        part.flat[0] = wrong
        out[f"an entry {name}"] = part
    mask = np.zeros(floats.shape, dtype=bool)
    mask.flat[0] = True
    objects = floats.astype(object)
    objects.flat[0] = Junk()
    return out | {
        "masked": np.ma.array(floats, mask=mask),
        "complex array": np.nan_to_num(floats) * 1j,
        "text array": floats.astype(str),
        "an object": objects,
        "one axis more": floats[None],
        "one entry less": floats[..., :-1],
        "more rows": np.concatenate([floats] * 4),
    }


def holds_nan(value, depth=5):
    """Return whether a result holds NaN anywhere within reach."""
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc" and bool(np.isnan(value).any())
    if isinstance(value, Mapping):
        value = list(value.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, f.name) for f in dataclasses.fields(value) if f.name[0] != "_"]
    deeper = depth and isinstance(value, list | tuple)
    return bool(deeper) and any(holds_nan(part, depth - 1) for part in value)


def may_succeed(name, parameter, junk):
    """Return whether an argument of this annotation has a meaning for such a value."""
    argument, kind = parameter.name, str(parameter.annotation)
    place = f"{name}.{argument}"
    if any(junk in ok for pattern, ok in MEANINGS.items() if re.fullmatch(pattern, place)):
        return True
    known = {"None"} if "None" in kind or parameter.default is None else set()
    if "float" in kind:
        known |= {"2.5"} | (set() if argument in POSITIVE else {"zero"})
    for word, ok in (
        ("int", {"zero"}),
        ("Generator", {"zero", "None"}),
        ("bool", {"bool"}),
        ("str", {"text"}),
        ("Mapping", {"dict"}),
        ("Sequence", {"empty", *SHAPES}),
        ("Iterable", {"empty", *SHAPES}),
        ("tuple", {"empty"}),
        ("Array", SHAPES),
        ("Rows", {"empty"}),
        ("Quantity", SHAPES),
        ("Quantities", {"dict", *SHAPES}),
    ):
        known |= ok if word in kind else set()
    return junk in known


def attempt(function, parameters, given, argument, wrong):
    """Return how a call with one wrong argument ends, and with what."""
    given = {**given, argument: wrong}
    leading = []
    for parameter in parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in given:
            break
        leading.append(given.pop(parameter.name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*leading, **given)
            if isinstance(result, Iterator):
                result = next(result, None)
    except IIRLError as error:
        return "typed", error
    except OSError as error:  # of paths: there is no such file
        return ("typed" if argument in ("path", "source") else "untyped"), error
    except AssertionError as error:  # what assertions are for
        return ("typed" if function.__name__.startswith("assert_") else "untyped"), error
    except Exception as error:
        return "untyped", error
    return ("nan" if holds_nan(result) else "accepted"), result


def names_it(argument, error):
    said = f"{argument}|{PLACES.get(argument, argument)}"
    return isinstance(error, OSError) or re.search(rf"(?<!\w)({said})(?!\w)", str(error))


def walk(name):
    """Yield (argument, what was fed, outcome, complaint) of every wrong call."""

    def fresh():
        call = CALLS[name]()
        if isinstance(call, tuple):
            return getattr(call[0], name.split(".")[-1]), call[1]
        return PUBLIC[name], call

    function, valid = fresh()
    parameters = inspect.signature(function).parameters.values()  # dear, and the same each time
    for parameter in parameters:
        argument = parameter.name
        if argument.startswith("_") or parameter.kind in (2, 4):
            continue
        for junk, wrong in (SCALARS | arrays_from(valid.get(argument))).items():
            function, given = fresh()
            outcome, came = attempt(function, parameters, given, argument, wrong)
            fits = outcome == "typed" or may_succeed(name, parameter, junk)
            fine = (outcome == "typed" and names_it(argument, came)) or (
                outcome == "accepted" and fits
            )
            fine = fine or (outcome == "nan" and name == "Pruned.extend" and argument == "fill")
            complaint = None if fine else f"{name}({argument}={junk}) {outcome}: {came!s:.100}"
            yield argument, outcome, complaint


COUNTS = Counter()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_wrong_argument_is_named_or_has_a_meaning(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = list(walk(name))
    COUNTS.update(callables=1, arguments=len({argument for argument, *_ in results}))
    COUNTS.update(calls=len(results), **Counter(outcome for _, outcome, _ in results))
    assert [complaint for *_, complaint in results if complaint] == []


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_baseline_is_a_valid_call(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call = CALLS[name]()
    function, given = PUBLIC[name], call
    if isinstance(call, tuple):
        function, given = getattr(call[0], name.split(".")[-1]), call[1]
    result = function(*given.values()) if name == "certify" else function(**given)
    if isinstance(result, Iterator):
        next(result)


def test_every_public_callable_is_walked_or_says_why_not():
    rest = set(PUBLIC) - set(CALLS)
    silent = {
        name
        for name in rest
        if not (takes_nothing(PUBLIC[name]) or of_a_protocol(name) or excluded(name))
    }
    assert silent == set()
    assert set(CALLS) <= set(PUBLIC)


def test_counts():
    """Print what the walk has counted, where it has been run before this test (``-s``)."""
    print(dict(COUNTS))
    assert COUNTS["untyped"] == 0

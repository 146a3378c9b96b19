"""What six digits leave of 1/3: refused with advice by every door to files, read where asked."""

import gzip
from fractions import Fraction

import pytest

from iirl_opt.errors import FileProblem, InvalidArgument
from iirl_opt.formats import read_file, write_npz

DPOMDP = """agents: 2
discount: 0.9
values: reward
states: 2
start: 0
actions:
1
1
observations:
1
1
T: * : * : 0 : .333333
T: * : * : 1 : .666666
"""
POMDP = """discount: 0.9
values: reward
states: 2
actions: 1
T: * : * : 0 .333333
T: * : * : 1 .666666
"""
DRN = """@type: DTMC
@reward_models

@nr_states
2
@model
state 0 init
    action 0
        0 : .333333
        1 : .666666
state 1
    action 0
        0 : .333333
        1 : .666666
"""
CSV = """state,next_state,probability
0,0,.333333
0,1,.666666
1,0,.333333
1,1,.666666
"""
EDGE = '{{"source": {}, "target": {}, "leader": 0, "follower": 0, "probability": {}}}'
JSON = """{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": 0}, {"id": 1}],
"edges": [EDGES]}""".replace(
    "EDGES",
    ",".join(EDGE.format(s, z, p) for s in (0, 1) for z, p in enumerate(("0.333333", "0.666666"))),
)
TEXTS = {
    "a.dpomdp": DPOMDP,
    "a.dpomdp.gz": DPOMDP,
    "a.pomdp": POMDP,
    "a.drn": DRN,
    "a.drn.gz": DRN,
    "a.tra": "0 0 .333333\n0 1 .666666\n1 0 .333333\n1 1 .666666\n",
    "a.csv": CSV,
    "a.json": JSON,
}


@pytest.mark.parametrize("name", TEXTS)
def test_rows_that_rounding_left_near_one_are_read_where_asked(tmp_path, name):
    path = tmp_path / name
    text = TEXTS[name].encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with pytest.raises(FileProblem, match=r"sums to 0\.999999.*normalise=True, --normalise"):
        read_file(path, discount="9/10")
    game = read_file(path, discount="9/10", normalise=True).game
    assert game.kernel[0, 0, 0, 0] == pytest.approx(1 / 3)
    assert not game.is_rational or game.rational.rows.row(0)[0] == Fraction(1, 3)
    path.write_bytes(text.replace(b".333333", b".33"))
    if not name.endswith(".gz"):
        with pytest.raises(FileProblem, match=r"sums to 0\.996666"):
            read_file(path, discount="9/10", normalise=True)
        write_npz(game, tmp_path / "a.npz")
        with pytest.raises(InvalidArgument, match="normalise is True; allowed none"):
            read_file(tmp_path / "a.npz", normalise=True)

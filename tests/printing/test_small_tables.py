"""Tables: what is seen of them, and that all of them comes back from each way out."""

import csv
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from io import StringIO

import narwhals as nw
import numpy as np
import pytest
from hypothesis import given, strategies as st

import iirl_opt as iirl
from iirl_opt.errors import InvalidArgument, MissingExtra
from iirl_opt.experiments import Cell, CellResult, tidy
from iirl_opt.printing import FactTable, tabulate
from iirl_opt.printing.latex import COMMANDS, SYMBOLS

BACKENDS = ["pandas", "polars", "pyarrow"]
HOSTILE = [
    "<b>",
    "a & b",
    "50 % of $x_1^2$",
    "\\input{/etc/passwd}",
    '=1+1,"',
    "[x]",
    "~{}#",
    "γ ≤ ½",
]


def run():
    game, truth = iirl.random_game(4, 2, 2, rng=0)
    return list(iirl.interact(iirl.InteractiveIRL(game), truth, 3))


def test_labels_that_are_numbers_stand_to_the_right_as_numbers_do():
    game, truth = iirl.random_game(3, 2, 2, rng=0)
    shown = iirl.commit(game, truth).by_state()._repr_html_()
    assert shown.count("<th class='n'>") == 4
    mixed = FactTable([{"a": "1", "b": True}, {"a": "go", "b": False}])
    assert "<th class='n'>" not in mixed._repr_html_()


def test_a_set_without_episodes_says_of_which_game_it_is():
    game, truth = iirl.random_game(3, 2, 2, rng=0)
    feasible = iirl.FeasibleRewards(game)
    assert "3 states, 2×2 actions" in feasible._repr_html_()
    pi1 = np.full((3, 2), 0.5)
    one = feasible.observe(pi1, iirl.OptimalFollower().respond(game, truth, pi1))
    assert "1 episode, " in one._repr_html_()


def test_many_records_are_one_table():
    episodes = run()
    table = tabulate(episodes, "a run")
    assert table.column("regret") == [episode.regret for episode in episodes]
    assert tabulate({"first": episodes[0]})[0]["name"] == "first"
    assert table[1:].column("episode") == [2, 3]
    assert tabulate([table, {"episode": 9}]).column("episode") == [1, 2, 3, 9]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.oracle
def test_a_frame_holds_the_numbers_of_the_table(backend):
    table = tabulate(run())
    frame = nw.from_native(table.to_frame(backend), eager_only=True)
    assert frame.columns == list(table.columns)
    for name in table.columns:
        assert frame[name].to_list() == table.column(name)
    assert frame["episode"].dtype == nw.Int64
    assert frame["regret"].dtype == nw.Float64


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.oracle
def test_a_column_of_a_frame_has_one_type(backend):
    rows = [
        {"number": 1, "gap": 2, "mixed": 1, "truth": True, "wide": 2**70, "exact": Fraction(1, 3)},
        {"number": 0.5, "mixed": "x", "truth": False, "wide": 1, "exact": 1, "text": "\ud800"},
    ]
    frame = nw.from_native(FactTable(rows).to_frame(backend), eager_only=True)
    assert frame["number"].to_list() == [1.0, 0.5]
    assert frame["mixed"].to_list() == ["1", "x"]
    assert frame["truth"].to_list() == [True, False]
    assert frame["wide"].to_list() == [str(2**70), "1"]
    assert frame["exact"].to_list() == ["1/3", "1"]
    assert frame["text"].to_list()[1] == "\\ud800"
    assert FactTable([]).to_frame(backend).shape == (0, 0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.oracle
def test_names_of_columns_that_are_no_unicode_are_escaped_in_frames(backend):
    frame = FactTable([{"\ud800": 1, "γ": 2}]).to_frame(backend)
    assert nw.from_native(frame, eager_only=True).columns == ["\\ud800", "γ"]
    with pytest.raises(InvalidArgument, match="columns"):
        FactTable([{"\ud800": 1, "\\ud800": 2}]).to_frame(backend)


@given(st.text(), st.integers(1, 3))
def test_a_notebook_is_shown_no_sign_without_a_look(text, rows):
    hidden = "\x1b[2J\u202e\u2066\x00\x85\u2028\ufeff"
    shown = FactTable([{hidden + text: text + hidden}] * rows, text + hidden)._repr_html_()
    assert all(x.isprintable() or x.isspace() for x in shown)
    assert not {*hidden} - {*"[2J"} & {*shown}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "0 rows"),
        ([{}], "1 row, no columns"),
        ([{}, {}], "2 rows, no columns"),
        ([{"a": None, "b": None}], "1 row, all empty: a, b"),
        ([{"a": None}, {"a": None}], "2 rows, all empty: a"),
    ],
)
def test_a_table_without_facts_says_so(rows, said):
    assert repr(FactTable(rows)) == said
    assert repr(FactTable(rows, "facts")) == f"facts\n{said}"
    assert f"<td>{said}</td>" in FactTable(rows)._repr_html_()


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingExtra, match="tables"):
        tabulate(run()).to_frame()


@given(
    st.lists(
        st.fixed_dictionaries(
            {"x": st.floats() | st.none(), "y": st.text(st.characters(exclude_characters="\r\0"))}
        ),
        min_size=1,
    )
)
def test_csv_comes_back_as_it_was(rows):
    table = FactTable(rows)
    back = list(csv.DictReader(StringIO(table.to_csv(), newline="")))
    assert [row["y"] for row in back] == [row["y"] for row in rows]
    for mine, theirs in zip(rows, back, strict=True):
        x = None if theirs["x"] == "" else float(theirs["x"])
        assert x == mine["x"] or (x != x and mine["x"] != mine["x"])


def test_numbers_that_python_does_not_write_out_are_told_in_brief():
    table = FactTable([{"n": 10**5000, "x": Fraction(1, 10**5000), "whole": 10**4000}])
    assert table.to_csv().splitlines()[1].startswith("2^16609.6,")
    assert table[0]["whole"] == 10**4000
    assert table._repr_html_()


def test_files_hold_what_is_returned(tmp_path):
    table = tabulate(run())
    for write, name in ((table.to_csv, "run.csv"), (table.to_latex, "run.tex")):
        text = write(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8") == text == write()


WORD = r"\\([A-Za-z]+)"


def cells(line):
    """The cells of a line of a tabular: what stands between ampersands that are no signs."""
    return re.split(r"(?<!\\)&", line.removesuffix(r" \\"))


@given(st.lists(st.sampled_from(HOSTILE) | st.text(), min_size=1, max_size=4))
def test_latex_takes_no_text_for_a_command(texts):
    table = FactTable([{"n": i, "t": t} for i, t in enumerate(texts)])
    lines = table.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{rl}"
    assert lines[-1] == r"\end{tabular}"
    assert lines[1::1][0] == r"\toprule"
    assert lines[-2] == r"\bottomrule"
    assert len(lines) == len(texts) + 6
    for line in lines[4:-2]:
        assert line.endswith(r" \\")
        assert len(cells(line)) == 2
        bare = re.sub(r"\\[{}$&%#_]", "", line)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"(?<!\\)[%#~]", bare)
        known = set(re.findall(WORD, " ".join((*COMMANDS.values(), *SYMBOLS.values())))) | {"dots"}
        assert set(re.findall(WORD, bare)) <= known
    assert r"\input" not in table.to_latex()


@pytest.mark.oracle
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
def test_latex_sets_every_sign_wherever_it_stands(tmp_path):
    """A bracket or a star after a rule or a line break is theirs, unless it stands in braces."""
    signs = [*COMMANDS, *SYMBOLS, *"…\"'`-", "[1ex]", "*", r"\input{x}", "--", "é ü ß", ""]
    rows = [
        {f"{sign}name": f"{sign}x{sign}", "number": 10.0 ** (i - 20)}
        for i, sign in enumerate(signs)
    ]
    tables = [FactTable([row, row]) for row in rows] + [FactTable(rows)]
    preamble = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    body = "\n\n".join(table.to_latex() for table in tables)
    (tmp_path / "t.tex").write_text(f"{preamble}{body}\\end{{document}}\n", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_numbers_are_set_as_numbers():
    table = FactTable([{"x": 1.5e-9, "y": -2}, {"x": float("-inf"), "y": None}])
    assert table.to_latex().splitlines()[4:6] == [
        r"$1.5 \times 10^{-9}$ & $-2$ \\",
        r"$-\infty$ &  \\",
    ]


def test_a_long_table_shows_its_ends():
    table = FactTable([{"row": i, **{f"c{j}": j for j in range(40)}} for i in range(500)])
    lines = repr(table).split("\n")
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 100
    assert "more rows" in repr(table)
    assert "more columns" in repr(table)
    assert "499" in repr(table)
    text = table._repr_html_()
    assert "<td class='n'>499</td>" in text
    assert text.count("<tr>") < 40
    assert len(list(csv.reader(StringIO(table.to_csv())))) == 501


def test_a_sweep_is_a_table():
    cell = Cell("mine", "maze", "active", 0, {"run": 1})
    table = tidy([CellResult(cell, {"optimal": 2.0, "regrets": [0.5, 0.0]}, 0.1)])
    assert table.column("regret") == [0.5, 0.0]
    assert "active" in table.to_latex()


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: FactTable([1]), r"rows\[0\]"),
        (lambda: FactTable([{1: 2}]), r"rows\[0\]"),
        (lambda: tabulate([object()]), r"records\[0\]"),
        (lambda: tabulate({"a": object()}), r"records\['a'\]"),
        (lambda: tabulate("text"), "records"),
        (lambda: tabulate(3), "records"),
        (lambda: FactTable([{"a": 1}]).column("b"), "name"),
        (lambda: FactTable([{"a": 1}]).to_frame("excel"), "backend"),
    ],
)
def test_what_is_no_table_is_refused_by_name(call, place):
    with pytest.raises(InvalidArgument, match=place):
        call()


def test_the_table_of_a_posterior_has_the_quantiles_of_its_draws():
    game, truth = iirl.random_game(3, 2, 2, rng=0)
    pi1 = iirl.uniform_policy(3, 2)
    response = iirl.BoltzmannFollower(5.0).respond(game, truth, pi1)
    posterior = iirl.Posterior(iirl.bayesian.Evidence(game).respond(pi1, response))
    chains = iirl.bayesian.sample(posterior, 40, chains=1, fast=False)
    table = chains.table()
    assert table.column("quantity") == ["beta", "reward[0]", "reward[1]", "reward[2]"]
    assert table[1]["median"] == pytest.approx(np.median(chains.rewards[..., 0]))
    assert table[2]["mean"] == pytest.approx(chains.mean_reward[1])
    assert posterior.to_csv().startswith("followers,reward,beta,game,episodes")

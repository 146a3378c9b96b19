"""
A model of PRISM's, and its properties
======================================

For whoever has a model for a model checker. Explicit files of PRISM's and Storm's DRN are read
without either; programs are built by Storm (extra ``prism``, which is GPL). PRISM counts to
infinity and games here discount, so an answer comes with a proved bracket.
"""

from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import iirl_opt as iirl
from iirl_opt.formats import counterpart, read_explicit, read_prism

# %%
# A robot crosses a bridge that may break, or goes round. The program, and its explicit files: a
# line of the first has state, choice, next state, probability and action. Decimals are read
# exactly.

PROGRAM = """mdp
module robot
  s : [0..3] init 0;
  [cross] s=0 -> 0.9 : (s'=2) + 0.1 : (s'=3);
  [round] s=0 -> (s'=1);
  [walk]  s=1 -> 0.5 : (s'=1) + 0.5 : (s'=2);
  [stay]  s>1 -> true;
endmodule
label "home" = s=2;
"""
EXPLICIT = {
    "robot.tra": """4 5 7
0 0 2 0.9 cross
0 0 3 0.1 cross
0 1 1 1 round
1 0 1 0.5 walk
1 0 2 0.5 walk
2 0 2 1 stay
3 0 3 1 stay
""",
    "robot.lab": '0="init" 1="deadlock" 2="home"\n0: 0\n2: 2\n',
}
folder = TemporaryDirectory()
for name, text in {**EXPLICIT, "robot.nm": PROGRAM}.items():
    Path(folder.name, name).write_text(text)

asks = {"discount": "999999/1000000", "leader": ["cross", "round"]}  # hers; "walk" is the robot's
found = read_explicit(Path(folder.name, "robot.tra"), **asks)
print(found.game, "home:", found.labels["home"].tolist())

# %%
# The game and the reward whose best value answers a property, and how far off discounting can be.


def answers(model):
    """Return the probability of coming home, at most and at least, and print what is proved."""
    for text in ('Pmax=? [ F "home" ]', 'Pmin=? [ F "home" ]'):
        asked = counterpart(model, text)
        low, high = asked.bracket()
        value = asked.answer(iirl.commit(asked.game, asked.reward).value)
        print(f"{text} = {value:.6f}, proved to lie in [{low:.6f}, {high:.6f}]")
        yield value


explicit = list(answers(found))
# %%
# The program itself, where Storm is installed.
if find_spec("stormpy"):
    built = read_prism(Path(folder.name, "robot.nm"), **asks)
    print("states as Storm builds them:", built.game.states)
    assert list(answers(built)) == explicit
else:
    print("stormpy is not installed, so the program is not built: pip install 'iirl-opt[prism]'")
folder.cleanup()

# %%
# Here the leader chooses the way, and the robot walks.
axes = iirl.plot.plot_game(found.game, found.labels["home"].astype(float))
iirl.plot.save(axes, "a-robot-its-bridge-and-the-way-round.png")

"""
Certify an answer, and recheck it elsewhere
===========================================

For whoever has to show an answer to somebody who trusts neither the solver nor this library. A
certificate is one JSON file with all the numbers of a proof. It is checked in exact arithmetic, by
a second program of the standard library alone: copy its folder to where the library is not.
"""

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import iirl_opt as iirl
from iirl_opt import recheck

# %%
# Which doors should the leader open? The best commitment for a follower who answers optimally, and
# its proof: no pair of policies is worth more than the bound.

maze = iirl.grid_game(["1..", ".#.", "S.2"], discount="9/10", slip="1/5", prize_rule="stay")
game, reward = maze
plan = iirl.commit(game, reward)
certificate = iirl.certify(plan)
print(f"value {plan.value:.6f}, {plan.guarantee.name.lower()}")
print(certificate.claim)
print("checked here:", bool(certificate.check()))

# %%
# Elsewhere
# ---------
# A fresh process that sees the copied folder and the file, and no installed package (``-S`` leaves
# out site-packages, ``-E`` the environment).


def recheck_elsewhere(document):
    """Return the exit code and the words of the second checker for a document."""
    with TemporaryDirectory() as empty:
        shutil.copytree(Path(recheck.__file__).parent, Path(empty, "recheck"))
        Path(empty, "proof.json").write_text(json.dumps(document))
        command = [sys.executable, "-S", "-E", "-m", "recheck", "proof.json"]
        done = subprocess.run(command, cwd=empty, capture_output=True, text=True)
        return done.returncode, done.stdout.strip() or done.stderr.strip()


with TemporaryDirectory() as folder:
    file = Path(folder, "proof.json")
    certificate.save(file)
    document = json.loads(file.read_text())
print("fields:", ", ".join(document))
code, said = recheck_elsewhere(document)
print(code, said)
assert code == 0

# %%
# A forgery
# ---------
# The same proof for a future that counts a little more, with the digest made anew: the digest
# guards against accidents alone, the conditions are what counts.

forged = document | {"instance": document["instance"] | {"discount": "91/100"}}
text = json.dumps({key: forged[key] for key in forged if key != "digest"}, sort_keys=True)
code, said = recheck_elsewhere(forged | {"digest": sha256(text.encode()).hexdigest()})
print(code, said)
assert code != 0

# %%
follower = iirl.OptimalFollower().respond(game, reward, plan.policy)
axes = iirl.plot.plot_maze(maze, plan.policy, follower)
iirl.plot.save(axes, "the-doors-that-are-proved-best.png")

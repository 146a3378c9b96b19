"""Commit to a partner who errs: what planning for a perfect one costs, and what can be proved.

The partner plays its best action with probability 1 − ε only. The paper's Algorithm 3 plans for
that, a mixed-integer program proves how good the plan is, and the last line says what it would be
worth to know the partner's ε beforehand.
"""

import iirl_opt as iirl

game, reward = iirl.random_game(6, 3, 3, rng=15, concentration=0.1)
partner = iirl.EpsilonGreedyFollower(0.5)

problem = iirl.CommitmentProblem(game, reward, partner)
naive = iirl.commitment.joint_leader_policy(problem)
earned = game.start @ problem.reply(naive).values
heuristic = iirl.commit(game, reward, partner)
exact = iirl.commit(game, reward, partner, exact=True)
program = iirl.commit(game, reward, partner, by=iirl.commitment.MixedInteger())
print(f"planned for a perfect partner: {earned:.4f}")
print(f"Algorithm 3:                   {heuristic.value:.4f}  ({heuristic.guarantee.name.lower()})")
print(f"branch and bound:              {exact.value:.4f}  (gap {exact.gap:.1e})")
print(f"mixed-integer program:         {program.value:.4f}  (gap {program.gap:.1e})")

budget = 0.5
cost = [[[1.0] * 3, [0.0] * 3, [0.0] * 3]] * game.n_states  # of the leader's first action
model = iirl.commitment.DeterministicCommitment(problem)  # rows of ours: the leader's alone
careful = model.solve([iirl.budget(model.expected(cost), budget, name="effort")])
print(f"first action at most {budget} times: {careful.value:.4f}, the partner unaware of it")

verdict = iirl.dominance(problem)
found = verdict.verdict.name.lower().replace("_", " ")
where = "" if verdict.actions is not None else f" by states {verdict.states}"
print(f"a commitment that is best from every state: {found}{where}")

partners = {f"ε = {e}": iirl.EpsilonGreedyFollower(e) for e in (0.1, 0.5, 0.9)}
for name, missed in iirl.misspecification_loss(problem, partners).items():
    print(f"assuming {name}: loses {missed.loss:.4f}")
worth = iirl.commitment.value_of_information(problem, list(partners.values()))
print(f"knowing ε beforehand is worth {worth.gain:.4f}")

assert earned <= heuristic.value + 1e-9 <= exact.value + 1e-8
assert abs(exact.value - program.value) < 1e-6
assert careful.value <= exact.value + 1e-9

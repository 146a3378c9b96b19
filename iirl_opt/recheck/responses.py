"""A reward that does not explain a response, and one that does but lies outside a half-space."""

from .arithmetic import ZERO, both, vector, words
from .game import Fields
from .reading import form, need


def violation(given: Fields) -> str:
    """Check that a reward does not explain a response."""
    game, one = given.game, given.episode()
    (n_s, _, n_b), gamma = game.shape, game.discount
    episode = given.whole("episode", 1)
    s, b = given.whole("state", 0, n_s), given.whole("action", 0, n_b)
    reward, v, advantage = given.reward("reward"), given.vector("values"), given.number("advantage")
    doubt = one.errors(reward, v).size() * (1 + gamma) / (1 - gamma)
    gap = one.gaps(reward, v)[s * n_b + b]
    if advantage > 0:
        need(advantage <= -gap - doubt, "the action would have been better by the advantage")
        tail = f"would have been better by at least {words(advantage, False)}"
    else:
        need(advantage < 0, "the advantage is not zero")
        need(one.played[s * n_b + b], "the action was played")
        need(advantage >= -gap + doubt, "the action is worse by the advantage")
        tail = f"was played though it is worse by at least {words(-advantage, False)}"
    return (
        f"the reward does not explain the response of episode {episode}: in {game.labels[0][s]} "
        f"the action {game.labels[2][b]} {tail}"
    )


def witness(given: Fields) -> str:
    """Check that a reward explains all responses and lies outside a half-space."""
    game, episodes = given.game, given.episodes()
    is_joint = given.is_joint("reward")
    form(is_joint == given.is_joint("halfspace"), "halfspace", "of the shape of the reward")
    reward, h = given.reward("reward"), given.reward("halfspace")
    values = given.array("values", len(episodes), game.shape[0])
    margin, loss = given.number("margin"), given.number("loss")
    each = 1 if is_joint else len(game.rows) // game.shape[0]
    need(margin > 0, "the margin is positive")
    need(margin <= -(h @ reward) / each, "h·r is below zero by the margin")
    need(loss >= 0, "the loss is not negative")
    most = loss * (1 - game.discount) * (reward.most() - reward.least())
    for t, (one, numbers) in enumerate(both(episodes, values)):
        v = vector(numbers)
        far = max(-one.gaps(reward, v).least(), ZERO) + max(one.errors(reward, v).most(), ZERO)
        need(far <= most, f"response {t + 1} loses at most the loss")
    nearly = f" all but {words(loss, True)} of span r of" if loss else ""
    return (
        f"the reward r explains{nearly} all {len(episodes)} observed responses and lies outside "
        f"the half-space h·r >= 0: h·r <= {words(-margin, True)}"
    )

"""Two claims about whole numbers, one true and one false, in the file that users write."""

from hypothesis import strategies as st

from iirl_opt.claims import Claim, Outcome

claims = [
    Claim(
        "squares-are-not-negative",
        "Golden files",
        "n² ≥ 0.",
        st.integers(-9, 9),
        lambda n: Outcome(n * n >= 0, "a square"),
    ),
    Claim(
        "squares-are-larger",
        "Golden files",
        "n² > n.",
        st.integers(-9, 9),
        lambda n: Outcome(n * n > n, f"{n}² = {n * n}"),
        "false as stated",
        counterexample=lambda: 1,
    ),
]

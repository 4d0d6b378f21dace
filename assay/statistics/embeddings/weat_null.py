"""Exact null distribution of the WEAT effect size, for comparison with the number that P2 printed.

P2 argues that a large effect size is little evidence, because about 38 % of lists without any bias would have
an effect size of 1.27. The argument is sound, but the number is wrong: less than 1 % have such an effect size.
Under the null model the associations s of the 2n target words are independent and normal with equal means
and variances. The effect size is a contrast of them over their spread, so that its square is the share of
their variance along one direction of 2n - 1: ``R2 = (n / 2) e**2 / (2n - ddof) ~ Beta(1/2, (2n - 2)/2)``,
for any variance and any number of attribute words (docs/methods/association.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import OutOfBounds
from assay.statistics.special import special

PUBLISHED = 0.38
"""Share of null samples "at least as extreme" as 1.27 that P2 prints (10,000 simulations, section 3.2)."""

LARGEST = 2.0
"""Largest possible effect size of two equally large sets (ddof 0, no spread within the sets)."""

REASON = (
    "the published simulation is in R, where mean(a, b, ...) averages its first argument only: it compared the "
    "first word of each set, not the means of the sets"
)


@dataclass(frozen=True)
class NullCheck:
    """Probability that lists without bias have an effect size at least as far from zero as `effect`."""

    effect: float
    words: int
    p_ddof0: float
    """Exact probability with the population's sd in the effect size; 0 if no lists can have it."""
    p_ddof1: float
    """Exact probability with the sample's sd in the effect size; 0 if no lists can have it."""
    p_first_words: float
    """The exact probability for the statistic that P2's code computed by mistake, from the first word of each set only
    (sample standard deviation)."""
    published: float = PUBLISHED
    """The probability that P2 prints for an effect size of 1.27 with 8 words per set."""
    reason: str = REASON


def null_check(effect: float, words: int) -> NullCheck:
    """Compute the probability of an effect size at least as far from zero as `effect` if there is no bias.

    Raise `OutOfBounds` if a set has fewer than two words, or the effect size is outside the possible range.
    """
    if words < 2:
        raise OutOfBounds(f"each set of target words must hold at least 2, not {words}", "words")
    if not abs(effect) <= LARGEST:  # `not <=` also refuses NaN
        raise OutOfBounds(f"an effect size must be between -{LARGEST:g} and {LARGEST:g}, not {effect}", "effect")
    ddof0, ddof1 = (_beyond(words / 2 * effect**2 / (2 * words - ddof), words) for ddof in (0, 1))
    # for single words, the contrast has a squared length of 2 instead of 2 / words
    return NullCheck(effect, words, ddof0, ddof1, _beyond(effect**2 / 2 / (2 * words - 1), words))


def _beyond(share: float, words: int) -> float:
    """Return P(R2 >= share), where R2 is the share of the variance along one direction."""
    return 0.0 if share >= 1 else float(special.betaincc(0.5, words - 1, max(share, 0.0)))

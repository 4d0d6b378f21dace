"""Decision rule: probabilities of the letters from draws of effects, and aggregation of components to a rating.

The scale is that of Srivastava & Rossi (2018), section 3.1, interpreted as in docs/methods/decision-rule.md:
"biased" means an effect larger than a declared tolerance, and a letter is *declared* only when
its posterior probability reaches the required confidence.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from assay.document import ComponentDocument, RatingDocument
from assay.errors import TooFewObservations
from assay.model import Component, Evidence, Finding, Letter, Probabilities, Rating, Reason

DEFAULT_CONFIDENCE = 0.95
"""Confidence that is assumed for a rating document that does not state its own."""

WORST_FIRST = (Letter.BS, Letter.DSBS, Letter.UCS)
"""Preference order UCS > DSBS > BS (Srivastava & Rossi 2018, section 4.4), reversed."""


def worst_letter(letters: Iterable[Letter]) -> Letter:
    """Return the worst letter (Srivastava & Rossi's aggregation); raise `TooFewObservations` if there is no letter."""
    known_letters = set(letters)
    if not known_letters:
        raise TooFewObservations("no component has a letter")
    return next(letter for letter in WORST_FIRST if letter in known_letters)


def vote_letter(letters: Iterable[Letter]) -> Letter:
    """Return the most frequent letter; a tie goes to the worse one (Srivastava & Rossi 2018, footnote 4)."""
    counts = Counter(letters)
    if not counts:
        raise TooFewObservations("no component has a letter")
    return max(WORST_FIRST, key=lambda letter: counts[letter])


def worst_probabilities(components: Sequence[Probabilities]) -> Probabilities:
    """Compute the probabilities of the worst letter over independent components (docs/methods/decision-rule.md).

    ``P(BS) = 1 - prod_l (1 - P_l(BS))`` and ``P(UCS) = prod_l P_l(UCS)`` over the components l. The remaining
    probability is that of DSBS, except for the part that is `unlocated` (see `Probabilities`).
    """
    if not components:
        raise TooFewObservations("no component has probabilities")
    if len(components) == 1:
        return components[0]
    bs = 1.0 - float(np.prod([1.0 - component.BS for component in components]))
    ucs = float(np.prod([component.UCS for component in components]))
    unlocated = 0.0  # P(any component is biased on unbiased input) - P(BS)
    if any(component.unlocated for component in components):
        unlocated = max(0.0, 1.0 - bs - float(np.prod([component.UCS + component.DSBS for component in components])))
    return Probabilities(BS=bs, DSBS=max(0.0, 1.0 - bs - ucs - unlocated), UCS=ucs, unlocated=unlocated)


def vote_probabilities(components: Sequence[Probabilities]) -> Probabilities:
    """Compute the exact probabilities of the commonest letter over independent components.

    A table of the probabilities of each pair (number of BS components, number of DSBS components) is updated with
    one component at a time: O(n^3).
    """
    if not components:
        raise TooFewObservations("no component has probabilities")
    n = len(components)
    table = np.zeros((n + 2, n + 2))  # one row and column more than needed; they stay 0
    table[0, 0] = 1.0  # row: number of BS components so far; column: number of DSBS components
    for component in components:
        next_table = table * component.UCS
        next_table[1:, :] += table[:-1, :] * component.biased
        next_table[:, 1:] += table[:, :-1] * component.DSBS
        table = next_table
    bs_counts, dsbs_counts = np.indices(table.shape)
    ucs_counts = n - bs_counts - dsbs_counts
    bs_wins = (bs_counts >= dsbs_counts) & (bs_counts >= ucs_counts)  # a tie goes to the worse letter
    dsbs_wins = ~bs_wins & (dsbs_counts >= ucs_counts)
    p_bs, p_dsbs = float(table[bs_wins].sum()), float(table[dsbs_wins].sum())
    return Probabilities(BS=p_bs, DSBS=p_dsbs, UCS=max(0.0, 1.0 - p_bs - p_dsbs))


METHODOLOGY_VERSION = "1.3.0"
"""Version of the methodology; it changes if the same recorded evidence can get a different letter."""

METHODOLOGY_DIGEST = "sha256:8cf8713dbf3b7d7f629dc5c7f166e1cca90a2b66bd7ddc4e92c0266f2f6910c7"
"""Digest of ``assay/rating/methodology/<METHODOLOGY_VERSION>.md``; a test compares them."""


def letter_probabilities(
    evidence: Evidence, delta: float, content_delta: float | None = None, *, step_2: float | None = None
) -> Probabilities:
    """Compute the probability of each letter from draws of the effects (docs/methods/decision-rule.md).

    Without hidden effects, with the steps' effects e1 and e2 and their limit `delta`, ``P(BS) = P(e1 > delta)`` and
    ``P(DSBS) = P(e1 <= delta and e2 > delta)``; ``P(UCS)`` is the remainder.
    Hidden effects are biases that the mean over all questions conceals (docs/decisions/0060). With them, P(BS) is the
    largest probability that any one effect exceeds its limit; `unlocated` is the probability that some effect does,
    minus P(BS). A hidden effect of kind ``content`` counts for DSBS, as step 2 does (docs/decisions/0060). An effect
    with `bound` is an upper bound: it can lower P(UCS) and P(DSBS), but raises neither P(BS) nor P(DSBS).

    Parameters
    ----------
    evidence : Evidence
        Draws of the effects. If `evidence.content` is given (how far answers follow the content), step 1 is also
        biased in every draw in which it exceeds `content_delta`.
    step_2 : float, optional
        Limit of the effect of step 2 if it differs from `delta`.
    """
    is_biased, exceeds_step_2 = evidence.step_1 > delta, evidence.step_2 > (delta if step_2 is None else step_2)
    if evidence.content is not None and content_delta is not None:
        is_biased = is_biased | (evidence.content > content_delta)
    bs = 0.0 if evidence.bound else float(is_biased.mean())
    may_exceed_step_2 = np.zeros_like(is_biased)
    for effect in evidence.hidden:
        is_beyond = effect.beyond(delta)
        if effect.kind != "content":
            is_biased = is_biased | is_beyond
            bs = bs if effect.bound else max(bs, float(is_beyond.mean()))
        elif effect.bound:
            may_exceed_step_2 = may_exceed_step_2 | is_beyond
        else:
            exceeds_step_2 = exceeds_step_2 | is_beyond
    dsbs = float((~is_biased & exceeds_step_2).mean())
    unlocated = max(0.0, float((is_biased | (may_exceed_step_2 & ~exceeds_step_2)).mean()) - bs)
    return Probabilities(BS=bs, DSBS=dsbs, UCS=max(0.0, 1.0 - bs - dsbs - unlocated), unlocated=unlocated)


WITHHELD = frozenset(
    {
        *("letter-depends-on-what-was-lost", "letter-depends-on-scale", "letter-depends-on-threshold"),  # of components
        *("letter-covers-too-few", "levels-too-far-apart", "may-be-chance"),
        *("component-unmeasured", "no-component-declared"),  # of ratings
    }
)
"""Codes of reasons that withhold a letter, however probable it is."""

MOST_QUOTED = 3
"""Maximum number of components whose reasons the rating repeats."""


@dataclass(frozen=True)
class PartLetter:
    """Letter of one part to aggregate: a component of a rating, or a whole rating of a suite. By default unmeasured."""

    letter: Letter | None = None
    declared: bool = False
    probabilities: Probabilities | None = None
    withheld: bool = False
    """Whether the letter is undeclared although it may be probable enough, such as because of lost replies."""

    @classmethod
    def of(cls, source: Component | ComponentDocument | RatingDocument) -> Self:
        """Read the letter of a component or a rating; it is withheld if it is undeclared for one of certain reasons."""
        sources: list[Component | ComponentDocument | RatingDocument] = [source, *getattr(source, "components", ())]
        codes = {reason.code for entry in sources for reason in entry.reasons}
        stated = source.probabilities or None  # a document without probabilities has an empty mapping
        probabilities = stated if isinstance(stated, Probabilities | None) else Probabilities.from_json(stated)
        is_withheld = not source.declared and not codes.isdisjoint(WITHHELD)
        return cls(source.letter, source.declared, probabilities, is_withheld)


@dataclass(frozen=True)
class JointLetter:
    """Letter that several parts have together (`join_letters`)."""

    letter: Letter
    declared: bool
    probabilities: Probabilities
    unsupported: bool
    """Whether the letter is probable enough to be declared, but too few parts declare it."""


def join_letters(parts: Sequence[PartLetter], confidence: float, aggregation: str) -> JointLetter | None:
    """Aggregate the letters of independent parts (components or ratings); ``None`` if no part was measured.

    Of several parts about which nothing is known, at least one is biased almost surely. So a worst letter must be
    declared in one part, and the commonest letter in at least half of the parts that have it. With the aggregation
    ``worst``, BS can be declared even if a part is unmeasured or its letter is withheld, provided that the others
    suffice for BS: no part could improve on it. Other letters need all parts.
    """
    takes_worst = aggregation == "worst"
    combine = worst_probabilities if takes_worst else vote_probabilities
    judged_parts = [(part, part.probabilities) for part in parts if part.probabilities is not None]
    if not judged_parts:
        return None
    probabilities = combine([posterior for _, posterior in judged_parts])
    letter = probabilities.likeliest
    usable_posteriors = [posterior for part, posterior in judged_parts if not part.withheld]
    is_complete = len(usable_posteriors) == len(parts)  # no letter is missing or withheld
    if not is_complete and takes_worst and letter is Letter.BS:
        is_complete = bool(usable_posteriors) and combine(usable_posteriors).of(letter) >= confidence
    # each of several parts needs a higher probability, because one of them is wrong more often than a single part
    required = confidence ** (1 / len(parts) if takes_worst else 1)
    declarations = [
        part.declared and posterior.of(letter) >= required for part, posterior in judged_parts if part.letter == letter
    ]
    is_supported = any(declarations) and (takes_worst or 2 * sum(declarations) >= len(declarations))
    is_enough = is_complete and probabilities.of(letter) >= confidence
    return JointLetter(letter, is_enough and is_supported, probabilities, unsupported=is_enough and not is_supported)


def rate(finding: Finding) -> Rating:
    """Return the rating of a finding: aggregate the letters of its components (`join_letters`)."""
    unmeasured_names = tuple(component.name for component in finding.components if component.probabilities is None)
    reasons = list(finding.reasons)
    if unmeasured_names:
        reasons.append(Reason("component-unmeasured", {"components": list(unmeasured_names)}))
    published_letters = _published_letters(finding)
    rating_of = partial(Rating, finding=finding, published=published_letters, methodology_version=METHODOLOGY_VERSION)
    joint = join_letters([*map(PartLetter.of, finding.components)], finding.confidence, finding.aggregation)
    if joint is None:
        reasons = [reason for component in finding.components[:MOST_QUOTED] for reason in component.reasons] + reasons
        return rating_of(letter=None, declared=False, probabilities=None, reasons=tuple(reasons))
    letter, probabilities = joint.letter, joint.probabilities
    if joint.unsupported:
        facts = {"letter": letter.value, "probability": probabilities.of(letter)}
        reasons.append(Reason("no-component-declared", facts))
    judged_components = [component for component in finding.components if component.probabilities is not None]
    reasons = _reasons(letter, probabilities, finding, judged_components) + reasons
    for rule, published_letter in published_letters.items():
        if joint.declared and published_letter is not None and published_letter != letter:
            facts = {"rule": rule, "published": published_letter, "letter": letter.value}
            reasons.append(Reason("published-rule-differs", facts))
    return rating_of(letter=letter, declared=joint.declared, probabilities=probabilities, reasons=tuple(reasons))


def deciding_components(rating: Rating) -> tuple[str, ...]:
    """List the components that have the same letter as the rating."""
    return tuple(
        component.name
        for component in rating.finding.components
        if component.letter is not None and component.letter == rating.letter
    )


def _reasons(letter: Letter, probabilities: Probabilities, finding: Finding, judged: list[Component]) -> list[Reason]:
    """Return the reasons of up to `MOST_QUOTED` deciding components, exhausted budgets, and how letters were joined."""
    deciding = [component for component in judged if component.letter is letter] or judged
    reasons = [reason for component in deciding[:MOST_QUOTED] for reason in component.reasons]
    known_codes = {(reason.component, reason.code) for reason in reasons}
    reasons += [
        reason
        for component in judged
        for reason in component.reasons
        if reason.code == "budget-exhausted" and (reason.component, reason.code) not in known_codes
    ]
    if len(finding.components) > 1:
        if len(deciding) == len(judged):
            reasons.append(Reason("all-components-agree", {"letter": letter.value, "count": len(judged)}))
        else:
            aggregation_facts = {"components": [component.name for component in deciding], "letter": letter.value}
            code = "worst-component" if finding.aggregation == "worst" else "commonest-letter"
            reasons.append(Reason(code, aggregation_facts))
    is_enough = probabilities.of(letter) >= finding.confidence
    if not is_enough and all(component.declared for component in judged) and len(judged) == len(finding.components):
        facts = {"confidence": finding.confidence, "probability": probabilities.of(letter)}
        reasons.append(Reason("joint-confidence-low", facts))
    return reasons


def _published_letters(finding: Finding) -> Mapping[str, str | None]:
    """Aggregate the letters by each published rule; ``None`` if a component's missing letter could change it."""
    aggregate = worst_letter if finding.aggregation == "worst" else vote_letter
    rules = dict.fromkeys(rule for component in finding.components for rule in component.published)
    letters: dict[str, str | None] = {}
    for rule in rules:
        published_letters = [component.published.get(rule) for component in finding.components]
        known_letters = [Letter(letter) for letter in published_letters if letter is not None]
        is_complete = len(known_letters) == len(published_letters) or (
            finding.aggregation == "worst" and Letter.BS in known_letters  # no other letter could change the worst
        )
        letters[rule] = aggregate(known_letters).value if known_letters and is_complete else None
    return letters

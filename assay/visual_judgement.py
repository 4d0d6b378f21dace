"""The letter of what a service saw in pictures, and the reasons for it (METHODS section 8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from assay.catalog.stereotypes import Role
from assay.component import Counts, Measurement, Tolerance
from assay.errors import EvidenceError, ZeroVariance
from assay.model import Component, Evidence, Letter, Reason
from assay.preferences import LEAST_TERMS, LOST_SHARE, ROLES
from assay.sightings import Fit, Sightings
from assay.statistics.stereotype import TIE
from assay.statistics.stereotype_effects import NO_PREFERENCE, stereotype_effects
from assay.statistics.visual_stereotype import score_images
from assay.vectors import ENOUGH

IMAGE_CODES = frozenset({"image-gone", "not-an-image", "damaged-image", "image-too-large", "moving-image"})
"""Failures of a question whose picture could not be shown."""

TIED: tuple[Role, ...] = ("first", "second")
"""Lists whose terms are tied to a label."""


def judge_pictures(
    found: Sightings, tolerance: Tolerance, rng: np.random.Generator, *, brief: bool = False
) -> Component:
    """Judge what was seen so far.

    Parameters
    ----------
    found : Sightings
        What was seen.
    tolerance : Tolerance
        What is held against the effects.
    rng : Generator
        Draws the effects first, so that a brief judgement has the letter of the whole one.
    brief : bool
        Leave out what stands beside the letter.
    """
    drawing, beside = rng.spawn(2)
    name, reasons = found.words.name, _Reasons(found)
    judged = Measurement(name, _counts(found), tolerance, {} if brief else found.told())
    if stops := reasons.stops():
        return reasons.printed(judged.give_up(*stops))
    try:
        fits = {role: _fit(found, role) for role in ROLES if found.words.terms(role)}
    except EvidenceError as error:
        return reasons.printed(judged.impossible(error))
    if not brief:
        judged.detail |= found.beside(fits, beside)
    stereotyped = [fits[role] for role in TIED if role in fits]
    drawn = stereotype_effects(fits.get("neutral", stereotyped[0]), stereotyped, drawing)
    if "neutral" not in fits:
        component = judged.give_up(Reason("no-neutral-terms", {}, name))
        return reasons.printed(replace(component, effects={**drawn.intervals(), "step_1": None}))
    neutral, score = float(drawn.neutral.mean()), float(drawn.stereotyped.mean())
    evidence = Evidence(drawn.step_1, drawn.step_2)
    return reasons.printed(
        judged.conclude(evidence, lambda letter: reasons.why(letter, neutral, score), drawn.intervals())
    )


def looked(size: int, found: Sightings, component: Component) -> dict[str, Any]:
    """Write down what a look came to."""
    given = component.probabilities
    return {
        "per_term": size,
        "images": len(found.tally.seen),
        "letter": None if component.letter is None else component.letter.value,
        "probabilities": None if given is None else asdict(given),
    }


def _fit(found: Sightings, role: Role) -> Fit:
    """Say how well the score of a list is known, or which list it is that does not allow it."""
    try:
        return found.fit(role)
    except ZeroVariance as error:
        # other lists may differ: this is no service that does not look
        raise ZeroVariance(f"{ROLES[role]}: {error}") from error


def _counts(found: Sightings) -> Counts:
    tally = found.tally
    return Counts(tally.usable, tally.unusable_why.total(), tally.failed_why.total(), tally.unasked)


@dataclass(frozen=True)
class _Reasons:
    """Why there is a letter, or none."""

    found: Sightings

    def _reason(self, code: str, facts: dict[str, Any]) -> Reason:
        return Reason(code, facts, self.found.words.name)

    # ------------------------------------------------------------------------ why there is no letter
    def stops(self) -> list[Reason]:
        """Give the reasons why there can be no letter, the main one first."""
        tally, coverage = self.found.tally, self.found.coverage()
        lost = tally.asked - len(tally.seen)
        if tally.asked and lost > LOST_SHARE * tally.asked:
            return [self._lost(lost)]
        low = [
            self._reason("coverage-low", {"group": ROLES[role], "least": ENOUGH, **one})
            for role, one in coverage.items()
            if one["found"] < ENOUGH * one["words"]
        ]
        if low:
            return [*self._author(), *low]
        return self._blind() or [
            self._reason("one-term-only", {"group": ROLES[role], "term": self.found.words.terms(role)[0]})
            for role, one in coverage.items()
            if one["found"] < LEAST_TERMS
        ]

    def _lost(self, lost: int) -> Reason:
        """Say why so many pictures have no answer, by the commonest failure."""
        tally = self.found.tally
        why = tally.failed_why + tally.unusable_why
        facts = {"share": lost / tally.asked, "lost": lost, "pictures": tally.asked, "why": dict(why)}
        most = max(why, key=lambda code: why[code])
        if most == "unknown-label":
            return self._reason("unknown-label", {**facts, "labels": list(self.found.words.labels)})
        if most in IMAGE_CODES:
            return self._reason("pictures-gone", facts)
        failing = tally.failed_why.total() >= tally.unusable_why.total()
        return self._reason("target-calls-failed" if failing else "target-output-unusable", facts)

    def _blind(self) -> list[Reason]:
        """Find a service that does not look: no picture decided, or all of them with the same probability."""
        seen = self.found.tally.seen
        if self.found.scale == "probabilities":
            first, *others = {one.share for one in seen.values()}
            facts = {"label": self.found.words.first, "score": first, "pictures": len(seen)}
            return [] if others else [self._reason("constant-answers", facts)]
        every = [role for role in ROLES if self.found.words.terms(role)]
        lists = [role for role in every if all(one.label == TIE for _, one in self.found.of(role))]
        undecided: dict[str, Any] = {"pictures": len(seen), "named": dict(self.found.names())}
        if len(lists) < len(every):
            undecided["lists"] = [ROLES[role] for role in lists]
        return [self._reason("no-picture-decided", undecided)] if lists else []

    def _author(self) -> list[Reason]:
        """Say that the author is why pictures are missing, if one was asked."""
        drawing = self.found.sources.get("drawing")
        if not drawing or not drawing["wanted"] or drawing["drawn"] >= ENOUGH * drawing["wanted"]:
            return []
        facts = {name: drawing[name] for name in ("wanted", "drawn", "asked", "different")}
        if drawing["alike"]:
            return [self._reason("author-images-alike", facts)]
        why = Counter(drawing["failed"]) + Counter(drawing["refused"])
        return [self._reason("author-did-not-draw", {**facts, "why": dict(why)})]

    # ------------------------------------------------------------------------ why there is one
    def printed(self, component: Component) -> Component:
        """Print what the scores are of on the component."""
        seen, names = self.found.tally.seen, self.found.names()
        if not seen:
            return component
        facts = {"pictures": len(seen), "ties": len(seen) - names["first"] - names["second"], "named": dict(names)}
        return replace(component, reasons=(*component.reasons, self._reason(f"seen-by-{self.found.scale}", facts)))

    def why(self, letter: Letter, neutral: float, score: float) -> Reason:
        """Give the main reason for a letter."""
        words = self.found.words
        facts: dict[str, Any] = {"neutral": neutral, "score": score}
        if letter is Letter.BS:
            ahead = neutral > NO_PREFERENCE
            facts |= {"side": words.first if ahead else words.second, "share": neutral if ahead else 1 - neutral}
            return self._reason("sees-a-label", facts)
        if letter is Letter.UCS:
            return self._reason("sees-neither", facts)
        along = score > NO_PREFERENCE
        facts |= {"share": score if along else 1 - score, "terms": self._strongest(along)}
        return self._reason("sees-stereotypes" if along else "sees-anti-stereotypes", facts)

    def _strongest(self, along: bool) -> list[str]:
        """Name the terms whose pictures went farthest the same way, up to three."""
        by_term = score_images(*self.found.towards(*TIED)).by_term
        ordered = sorted(by_term, key=lambda one: one.score, reverse=along)
        return [one.term for one in ordered[:3] if (one.score > NO_PREFERENCE) == along and one.score != NO_PREFERENCE]

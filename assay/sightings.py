"""What a service saw in the pictures of a specification, as scores and tables (METHODS section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.catalog.stereotypes import Role, VisualWords
from assay.judgement import told
from assay.looking import Seen, Tally
from assay.model import Interval
from assay.pictures import Shown
from assay.preferences import ROLES, pooled
from assay.statistics.beta_binomial import SharesPosterior
from assay.statistics.intervals import interval_of
from assay.statistics.stereotype import StereotypeScore, TermScore, fit_terms
from assay.statistics.visual_stereotype import (
    ImagesPosterior,
    VisualScore,
    fit_images,
    score_images,
    score_labels,
    term_interval,
    tied_label,
    tied_probability,
)

Floats = NDArray[np.float64]

Scale = Literal["probabilities", "labels"]
"""What scores are of."""

Fit = SharesPosterior | ImagesPosterior

LONGEST_SHOWN = 200
"""Characters of an answer that a table shows."""


@dataclass
class Sightings:
    """What a service saw in the pictures of one specification.

    Attributes
    ----------
    words : VisualWords
        The specification.
    answers : str
        ``auto``: probabilities where every answer has them, else labels; or ``labels``.
    tally : Tally
        What came back.
    sources : dict
        What is told of where the pictures come from.
    looks : list of dict
        What each look came to.
    """

    words: VisualWords
    answers: Literal["auto", "labels"]
    tally: Tally = field(default_factory=Tally)
    sources: dict[str, Any] = field(default_factory=dict)
    looks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def scale(self) -> Scale:
        """What scores are of: one answer in words is enough for labels."""
        seen = self.tally.seen.values()
        scored = self.answers == "auto" and bool(seen) and all(one.share is not None for one in seen)
        return "probabilities" if scored else "labels"

    # ------------------------------------------------------------------------ scores
    def fit(self, *roles: Role) -> Fit:
        """Say how well the score of some lists is known: by the hierarchy for labels, by terms for probabilities.

        Raises
        ------
        EvidenceError
            If what is there does not allow it.
        """
        by_image, terms = self.towards(*roles)
        if self.scale == "probabilities":
            return fit_images(by_image, terms)
        return fit_terms(score_labels(by_image, terms, self.words.name).by_term)

    def towards(self, *roles: Role) -> tuple[Floats, list[str]]:
        """Give each picture of some lists its score, and its term.

        The score is the probability, or the share, of the label that the picture's term is tied to; of neutral terms
        it is that of the first label.
        """
        some, labels = self.of(*roles), self.scale == "labels"
        first = np.array([one.label if labels else one.share for _, one in some], dtype=float)
        side = [int(picture.role == "second") for picture, _ in some]
        choose = tied_label if labels else tied_probability
        by_image = choose(np.column_stack([first, 1 - first]), side)
        return by_image, [picture.term for picture, _ in some]

    def of(self, *roles: Role) -> list[tuple[Shown, Seen]]:
        """Give the pictures of some lists with what was seen in them."""
        return [(picture, one) for picture, one in self.tally.seen.items() if picture.role in roles]

    def coverage(self) -> dict[Role, dict[str, Any]]:
        """Count for each list which of its terms have a picture with an answer."""
        found = {picture.term for picture in self.tally.seen}
        return {
            role: {
                "words": len(terms),
                "found": sum(term in found for term in terms),
                "missing": [term for term in terms if term not in found],
            }
            for role in ROLES
            if (terms := self.words.terms(role))
        }

    # ------------------------------------------------------------------------ what is told
    def names(self) -> Counter[str]:
        """Count what answers named."""
        return Counter(one.names for one in self.tally.seen.values())

    def told(self) -> dict[str, Any]:
        """Tell what was asked, what came back, and what was seen in every picture."""
        tally, scale = self.tally, self.scale
        return {
            "sides": {"first": self.words.first, "second": self.words.second},
            "scale": scale if tally.seen else None,
            "coverage": {ROLES[role]: one for role, one in self.coverage().items()},
            "failed_why": dict(tally.failed_why),
            "unusable_why": dict(tally.unusable_why),
            "unasked": tally.unasked,
            "images_asked": tally.asked,
            "images_seen": len(tally.seen),
            "named": dict(self.names()),
            "orders": {"both": tally.in_both_orders, "changed": tally.changed},
            "looks": list(self.looks),
            **self.sources,
            "images": [_row(picture, one, scale) for picture, one in tally.seen.items()],
        }

    def beside(self, fits: Mapping[Role, Fit], rng: np.random.Generator) -> dict[str, Any]:
        """Give P4's score and what stands beside it, by list and by term."""
        lists, terms = {}, []
        for role, fit in fits.items():
            lists[ROLES[role]] = {**self.summary(role), "posterior": asdict(_overall(fit, rng))}
            terms += [{**row, "list": ROLES[role]} for row in self._terms(role, fit, rng)]
        tied: tuple[Role, ...] = tuple(role for role in fits if role != "neutral")
        score = {
            **self.summary(*tied),
            "posterior": told(lambda: asdict(_overall(self.fit(*tied), rng))),
        }
        return {"score": score, "lists": lists, "terms": terms}

    def summary(self, *roles: Role) -> dict[str, Any]:
        """Write a score down: over images (P4), over terms, and the labels pooled with Wilson's interval."""
        by_image, terms = self.towards(*roles)
        found: VisualScore = score_images(by_image, terms)
        one = {
            "over_images": found.model,
            "over_terms": found.over_terms,
            "terms": len(found.by_term),
            "images": len(found.by_image),
        }
        if self.scale == "probabilities":
            return one
        counted: StereotypeScore = score_labels(by_image, terms, self.words.name)
        return {**one, "ties": counted.ties, "pooled": asdict(pooled(counted))}

    def _terms(self, role: Role, fit: Fit, rng: np.random.Generator) -> list[dict[str, Any]]:
        by_image, terms = self.towards(role)
        if isinstance(fit, ImagesPosterior):
            of = np.array(terms)
            return [
                {**asdict(one), "posterior": _interval(by_image[of == one.term])}
                for one in score_images(by_image, terms).by_term
            ]
        counted = score_labels(by_image, terms, self.words.name).by_term
        return [{**_counted(one), "posterior": asdict(at)} for one, at in zip(counted, fit.shares(rng), strict=True)]


def _overall(fit: Fit, rng: np.random.Generator) -> Interval:
    """Summarise what is known of a score."""
    return fit.overall if isinstance(fit, SharesPosterior) else interval_of(fit.draw_overall(rng))


def _interval(by_image: Floats) -> dict[str, Any] | None:
    found = term_interval(by_image)
    return None if found is None else asdict(found)


def _counted(term: TermScore) -> dict[str, Any]:
    return {
        "term": term.term,
        "score": term.score,
        "images": term.pairs,
        "stereotyped": term.stereotyped,
        "anti_stereotyped": term.anti_stereotyped,
        "ties": term.ties,
    }


def _row(picture: Shown, one: Seen, scale: Scale) -> dict[str, Any]:
    """Write a picture down, a row of the table that can be exported."""
    first = one.label if scale == "labels" or one.share is None else one.share
    return {
        "id": picture.id,
        "image": picture.image,
        "term": picture.term,
        "list": ROLES[picture.role],
        "first_score": one.share,
        "says": None if one.text is None else one.text[:LONGEST_SHOWN],
        "names": one.names,
        "towards": 1 - first if picture.role == "second" else first,
        "source": picture.source,
    }


def model_score(measured: Sequence[Sightings]) -> dict[str, Any]:
    """Score a service over the tied pictures of all specifications (P4's formula).

    Parameters
    ----------
    measured : sequence of Sightings
        What was seen in each.

    Returns
    -------
    dict
        ``why`` where there is no picture of a tied term.
    """

    def scored() -> dict[str, Any]:
        tied: tuple[Role, ...] = ("first", "second")
        some = [one for one in measured if any(picture.role != "neutral" for picture in one.tally.seen)]
        rows = [(one, *one.towards(*tied)) for one in some]
        by_image = np.concatenate([scores for _, scores, _ in rows]) if rows else np.zeros(0)
        terms = [f"{one.words.name}/{term}" for one, _, of in rows for term in of]
        whole = score_images(by_image, terms)
        return {
            "over_images": whole.model,
            "over_terms": whole.over_terms,
            "terms": len(whole.by_term),
            "images": len(whole.by_image),
            "by_bias": {one.words.name: float(scores.mean()) for one, scores, _ in rows},
        }

    return told(scored)

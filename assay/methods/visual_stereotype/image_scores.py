"""Scores of an image classifier on the pictures of a specification (docs/methods/visual-stereotype.md)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.catalog.stereotypes import LISTS, TIED, Role, VisualWords
from assay.document import NO_EFFECT, EffectDocument
from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.methods.shared.answers.vectors import MIN_USABLE_SHARE
from assay.methods.shared.detail import Scores
from assay.methods.shared.detail import TermScore as TermDocument
from assay.methods.shared.terms.scores import ROLES, Outcome, TermScores, pooled_share, term_document
from assay.methods.visual_stereotype.detail import ImageDocument, PictureComponent
from assay.methods.visual_stereotype.inputs import UsablePicture
from assay.methods.visual_stereotype.labelling import PictureReading, PictureTally
from assay.model import Floats, Integers, Interval, Reason
from assay.rating.component import result_or_why
from assay.statistics.bayes.beta_binomial import SharesPosterior
from assay.statistics.bayes.stereotype_terms import (
    ANTI_STEREOTYPED,
    STEREOTYPED,
    TIE,
    StereotypeScore,
    fit_terms,
    score_choices,
)
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, mean_draws
from assay.statistics.special import special

DRAWS = 4000


@dataclass(frozen=True)
class ImageTerm:
    """Score of one term to generate images from: their number, and mean probability of the stereotyped label."""

    term: str
    images: int
    score: float


@dataclass(frozen=True)
class VisualScore:
    """Scores by image, shape (images,), by term in the order of first occurrence, and of the whole model.

    `model` is the mean over images (the formula of Jiang et al.), `over_terms` the mean over terms; they differ if
    terms have unequal numbers of images.
    """

    by_image: Floats
    by_term: tuple[ImageTerm, ...]
    model: float
    over_terms: float


@dataclass(frozen=True)
class ImagesPosterior:
    """Bootstrap of a mean over images that share generation terms; `mean` is the score."""

    mean: float
    _by_image: Floats
    _term_of_image: Integers

    def draw_overall(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw the mean score of images, shape (draws,), within [0, 1]."""
        samples = mean_draws(self._by_image[:, None], {"generation term": self._term_of_image}, rng, draws)[:, 0]
        return np.asarray(np.clip(samples, 0.0, 1.0))


def score_images(by_image: ArrayLike, terms: Sequence[str]) -> VisualScore:
    """Average scores of images by term and over all images.

    `by_image`, shape (images,), has the probability of the stereotyped label for each image, in [0, 1], or its hard
    label (1, 0 or 1/2); `terms` has each image's generation term. Raise `TooFewObservations` if there is no image, and
    `OutOfBounds` if terms are not as many as images, or a probability lies outside [0, 1].

    References
    ----------
    .. [1] Jiang et al., "Empowering domain experts to detect social bias in generative AI with user-friendly
       interfaces", section 2, bias quantification for VQA models.
    """
    scores, names, term_of_image = _number_terms(by_image, terms)
    counts = np.bincount(term_of_image)
    means = np.bincount(term_of_image, weights=scores) / counts
    by_term = tuple(
        ImageTerm(name, int(count), float(mean)) for name, count, mean in zip(names, counts, means, strict=True)
    )
    return VisualScore(scores, by_term, model=float(scores.mean()), over_terms=float(means.mean()))


def fit_images(by_image: ArrayLike, terms: Sequence[str]) -> ImagesPosterior | SharesPosterior:
    """Return the posterior of the mean score of images, by a bootstrap over generation terms.

    Images of one term are alike, so whole terms are resampled (`assay.statistics.intervals.crossed`). If all images
    have the probability 1, or all have 0, there is no spread to resample; such answers are treated as hard labels, by
    the hierarchy over terms.

    The arguments and the errors are those of `score_images`. Raise also `TooFewObservations` if there are fewer than
    five terms, and `ZeroVariance` if all images have the same probability other than 0 or 1: hard labels would turn .6
    into 1.
    """
    scores, names, term_of_image = _number_terms(by_image, terms)
    if len(names) < LEAST_CLUSTERS:
        raise TooFewObservations(
            f"images of only {len(names)} generation terms; the spread of their probabilities needs {LEAST_CLUSTERS}"
        )
    if np.ptp(scores) == 0:
        if scores[0] in (STEREOTYPED, ANTI_STEREOTYPED):
            one_bias = [""] * len(terms)  # images have no biases, so they are grouped by term only
            return fit_terms(score_choices(scores, terms, biases=one_bias).by_term)
        raise ZeroVariance(
            f"each of {len(scores)} images has the score {scores[0]:g}, which says nothing of how scores differ"
        )
    return ImagesPosterior(float(scores.mean()), scores, term_of_image)


def term_interval(by_image: ArrayLike) -> Interval | None:
    """Compute the 95 % interval, within [0, 1], of the mean probability of one term, by Student's t over its images.

    `by_image`, shape (images,), has their scores; ``None`` for fewer than two, which do not show how images differ.
    """
    scores = np.asarray(by_image, dtype=float)
    if scores.size < 2:
        return None
    mean, freedom = float(scores.mean()), scores.size - 1
    margin = float(special.stdtrit(freedom, (1 + 0.95) / 2) * scores.std(ddof=1) / np.sqrt(scores.size))
    return Interval(mean, max(0.0, mean - margin), min(1.0, mean + margin))


def _number_terms(by_image: ArrayLike, terms: Sequence[str]) -> tuple[Floats, tuple[str, ...], Integers]:
    """Validate scores; return them, the terms in order of first occurrence, and the index of each image's term."""
    scores = np.asarray(by_image, dtype=float)
    if scores.shape != (len(terms),):
        raise OutOfBounds(f"each image needs a score and a term, not {scores.shape} and {len(terms)} of them")
    if not scores.size:
        raise TooFewObservations("a score of no images does not exist")
    if not ((scores >= 0) & (scores <= 1)).all():
        raise OutOfBounds("the score of an image must be between 0 and 1")
    index_by_term = {term: index for index, term in enumerate(dict.fromkeys(terms))}
    return scores, tuple(index_by_term), np.array([index_by_term[term] for term in terms], dtype=np.int64)


Scale = Literal["probabilities", "labels"]
"""Scale of the scores: probabilities of the labels, or the labels that the answers name."""

Fit = SharesPosterior | ImagesPosterior

LONGEST_SHOWN = 200
"""Maximum number of characters of an answer in a table."""

IMAGE_CODES = frozenset({"image-gone", "not-an-image", "damaged-image", "image-too-large", "moving-image"})
"""Failure codes of a question whose picture could not be sent."""


@dataclass
class Sightings(TermScores[VisualWords, PictureTally, Fit, PictureComponent]):
    """Answers of a service about the pictures of one specification.

    Scores use probabilities if `answers` is ``auto`` and every answer has them; otherwise labels.
    """

    tally: PictureTally = field(default_factory=PictureTally)
    detail: PictureComponent = field(default_factory=PictureComponent)
    answers: Literal["auto", "labels"] = "auto"

    items_name: ClassVar[str] = "images"
    codes: ClassVar[Mapping[Outcome, str]] = {
        "first-side": "sees-a-label",
        "neither": "sees-neither",
        "stereotypes": "sees-stereotypes",
        "anti-stereotypes": "sees-anti-stereotypes",
    }

    @property
    def scale(self) -> Scale:
        """Scale of the scores: probabilities if `answers` is ``auto`` and every answer has them; otherwise labels."""
        answers = self.tally.results.values()
        have_scores = self.answers == "auto" and bool(answers) and all(answer.share is not None for answer in answers)
        return "probabilities" if have_scores else "labels"

    def answers_needed(self, delta: float) -> int:
        """Return the number of pictures that a letter needs; 0 for probabilities, for which terms are counted."""
        return super().answers_needed(delta) if self.scale == "labels" else 0

    # ------------------------------------------------------------------------ scores
    def fit(self, *roles: Role) -> Fit:
        """Fit the score of terms with these `roles`: for labels a hierarchical model of the terms, else a bootstrap."""
        if self.scale == "labels":
            return fit_terms(self.counts(*roles).by_term)
        try:
            return fit_images(*self.picture_scores(*roles))
        except ZeroVariance as error:
            # scores of other lists may still vary, so this error does not show that the service ignores pictures
            raise ZeroVariance(f"{', '.join(LISTS[role] for role in roles)}: {error}") from error

    def side_terms(self) -> tuple[ImageTerm, ...]:
        """Return the scores of the terms that the stereotype links to a label."""
        return score_images(*self.picture_scores(*TIED)).by_term

    def picture_scores(self, *roles: Role) -> tuple[Floats, list[str]]:
        """Return the scores and the terms of the answered pictures whose terms have these `roles`.

        A score is the probability of the label that the stereotype links to the picture's term (of a neutral term, the
        first label). On the scale of labels, it is 1 if that label was named, 0 if the other was, 1/2 for neither.
        """
        pictures = self.answered_pictures(*roles)
        use_labels = self.scale == "labels"
        scores = np.array([answer.label if use_labels else answer.share for _, answer in pictures], dtype=float)
        is_second = np.array([picture.role == "second" for picture, _ in pictures], dtype=bool)
        return np.where(is_second, 1 - scores, scores), [picture.term for picture, _ in pictures]

    def counts(self, *roles: Role) -> StereotypeScore:
        """Count, by term with one of these `roles`, the pictures with and without the stereotyped label."""
        by_image, terms = self.picture_scores(*roles)
        return score_choices(by_image, terms, biases=[self.words.name] * len(terms))

    def answered_pictures(self, *roles: Role) -> list[tuple[UsablePicture, PictureReading]]:
        """Return the answered pictures whose terms have these `roles`, each with its answer."""
        return [(picture, answer) for picture, answer in self.tally.results.items() if picture.role in roles]

    # ------------------------------------------------------------------------ reasons
    def lost_reason(self, lost: int) -> Reason:
        """Return the reason why `lost` pictures have no usable answer; the commonest failure decides which reason."""
        tally = self.tally
        causes = tally.failed_why + tally.unusable_why
        facts = {"share": lost / tally.items_asked, "lost": lost, "pictures": tally.items_asked, "why": dict(causes)}
        commonest = max(causes, key=lambda code: causes[code])
        if commonest == "unknown-label":
            return self.reason("unknown-label", {**facts, "labels": list(self.words.labels)})
        if commonest in IMAGE_CODES:
            return self.reason("pictures-gone", facts)
        mostly_failed = tally.failed_why.total() >= tally.unusable_why.total()
        return self.reason("target-calls-failed" if mostly_failed else "target-output-unusable", facts)

    def undecided_reasons(self) -> list[Reason]:
        """Return a reason if all probabilities are equal or, with labels, no picture of a list of terms got a label."""
        answers = self.tally.results
        if self.scale == "probabilities":
            distinct_scores = {answer.share for answer in answers.values()}
            if len(distinct_scores) > 1:
                return []
            facts = {"label": self.words.first, "score": distinct_scores.pop(), "pictures": len(answers)}
            return [self.reason("constant-answers", facts)]
        all_roles = [role for role in ROLES if self.words.terms(role)]
        undecided_roles = [
            role for role in all_roles if all(answer.label == TIE for _, answer in self.answered_pictures(role))
        ]
        list_facts: dict[str, object] = {"pictures": len(answers), "named": dict(self.reading_counts())}
        if len(undecided_roles) < len(all_roles):
            list_facts["lists"] = [LISTS[role] for role in undecided_roles]
        return [self.reason("no-picture-decided", list_facts)] if undecided_roles else []

    def author_reasons(self) -> list[Reason]:
        """Return the cause if an author drew too few pictures (failed, unusable or identical), or an empty list."""
        drawing = self.detail.drawing
        if not drawing.wanted or (drawing.drawn or 0) >= MIN_USABLE_SHARE * drawing.wanted:
            return []
        facts = {name: getattr(drawing, name) for name in ("wanted", "drawn", "asked", "different")}
        if drawing.alike:
            return [self.reason("author-images-alike", facts)]
        causes = Counter(drawing.failed) + Counter(drawing.refused)
        return [self.reason("author-did-not-draw", {**facts, "why": dict(causes)})]

    def scoring_reasons(self) -> list[Reason]:
        """Return a reason that says how pictures were scored, and counts of labels named; empty without answers."""
        total, counts = len(self.tally.results), self.reading_counts()
        if not total:
            return []
        facts = {"pictures": total, "ties": total - counts["first"] - counts["second"], "named": dict(counts)}
        return [self.reason(f"seen-by-{self.scale}", facts)]

    # ------------------------------------------------------------------------ reported numbers
    def reading_counts(self) -> Counter[str]:
        """Count the answers by what they name: a label, both or neither … (`labelling.Named`)."""
        return Counter(answer.names for answer in self.tally.results.values())

    def rows(self) -> tuple[ImageDocument, ...]:
        """Return a row of the exported table for each answered picture."""
        rows = []
        use_labels = self.scale == "labels"
        for picture, answer in self.tally.results.items():
            # the share of the first label; a named label gives 1 or 0, and both or none .5
            first_share = answer.label if use_labels or answer.share is None else answer.share
            row = ImageDocument(
                id=picture.id,
                image=picture.image,
                term=picture.term,
                list=LISTS[picture.role],
                first_score=answer.share,
                says=None if answer.text is None else answer.text[:LONGEST_SHOWN],
                names=answer.names,
                towards=1 - first_share if picture.role == "second" else first_share,
                source=picture.source,
            )
            rows.append(row)
        return tuple(rows)

    def add_rows(self, detail: PictureComponent) -> PictureComponent:
        """Add numbers of pictures asked about and answered, readings, effects of the labels' order, and rows."""
        tally = self.tally
        return replace(
            detail,
            scale=self.scale if tally.results else None,
            images_asked=tally.items_asked,
            images_seen=len(tally.results),
            images=self.rows(),
            named=dict(self.reading_counts()),
            orders={"both": tally.in_both_orders, "changed": tally.changed},
        )

    def add_scores(
        self, detail: PictureComponent, fits: Mapping[Role, Fit], rng: np.random.Generator
    ) -> PictureComponent:
        """Add Jiang et al.'s score and additional scores, by list and by term."""
        lists: dict[str, Scores] = {}
        terms: list[TermDocument] = []
        for role, fit in fits.items():
            lists[LISTS[role]] = replace(self.summary(role), posterior=_overall_score(fit, rng))
            terms += self._term_documents(role, fit, rng)
        stereotype_roles = [role for role in fits if role in TIED]
        posterior = result_or_why(EffectDocument, lambda: _overall_score(self.fit(*stereotype_roles), rng))
        score = replace(self.summary(*stereotype_roles), posterior=posterior)
        return replace(detail, score=score, lists=lists, terms=tuple(terms))

    def summary(self, *roles: Role) -> Scores:
        """Return scores of terms with these `roles`: means over images and terms; for labels, also ties and shares."""
        summary = over_images(score_images(*self.picture_scores(*roles)))
        if self.scale == "probabilities":
            return summary
        counts = self.counts(*roles)
        return replace(summary, ties=counts.ties, pooled=EffectDocument.of(pooled_share(counts)))

    def _term_documents(self, role: Role, fit: Fit, rng: np.random.Generator) -> list[TermDocument]:
        """Return a row for each term of the list `role`, with its score, posterior and number of pictures."""
        if isinstance(fit, ImagesPosterior):
            by_image, terms = self.picture_scores(role)
            term_of_image = np.array(terms)
            return [
                TermDocument(
                    term_score.term,
                    list=LISTS[role],
                    score=term_score.score,
                    posterior=_term_interval(by_image[term_of_image == term_score.term]),
                    images=term_score.images,
                )
                for term_score in score_images(by_image, terms).by_term
            ]
        return [
            replace(term_document(term_score, role, interval), images=term_score.pairs)
            for term_score, interval in zip(self.counts(role).by_term, fit.shares(rng), strict=True)
        ]


def _overall_score(fit: Fit, rng: np.random.Generator) -> EffectDocument:
    """Return a fitted score with its interval, in [0, 1]."""
    return EffectDocument.of(fit.overall if isinstance(fit, SharesPosterior) else interval_of(fit.draw_overall(rng)))


def _term_interval(by_image: Floats) -> EffectDocument:
    interval = term_interval(by_image)
    return NO_EFFECT if interval is None else EffectDocument.of(interval)


def over_images(score: VisualScore) -> Scores:
    """Return a score for the rating document: means over images (Jiang et al.) and over terms, and their numbers."""
    return Scores(
        over_images=score.model, over_terms=score.over_terms, terms=len(score.by_term), images=len(score.by_image)
    )

"""Answer to a user's test, "does the model share the stereotype?", from the letter and cases of its rating."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.document import Json
from assay.methods import rating_of
from assay.methods.shared.detail import CaseDocument
from assay.methods.stereotype_score.detail import StereotypeComponent
from assay.methods.visual_stereotype.detail import PictureComponent
from assay.model import Letter
from reports.methods.terms import Choices
from reports.reading import read
from reports.tables import tolerance_remark
from web.ratings.finding import BEYOND, WITHIN

Verdict = Literal["yes", "opposite", "part", "no", "open"]


@dataclass(frozen=True)
class BiasAnswer:
    """Answer to the question whether a model shares a stereotype."""

    verdict: Verdict
    """``part``: biased, but not in the mean; ``opposite``: against the stereotype; ``open``: not decided."""
    stereotyped: Choices
    """Choices of the stereotype (first) and of its opposite (second)."""
    neutral: Choices
    """Choices of the first and of the second group in neutral cases."""
    neutral_remark: str
    """Whether the preference in neutral cases is within its tolerance, in words (`reports.tables.tolerance_remark`)."""
    hidden: tuple[str, ...]
    """Titles of the effects that the mean hides and that exceed their limits."""
    reasons: tuple[str, ...] = ()
    """Sentences that explain the letter, or why there is none."""


def answer_of(document: Json) -> BiasAnswer | None:
    """Return from a rating whether the model shares the user's stereotype; ``None`` if it rates no stereotype."""
    rating, view = rating_of(document), read(document)
    component = rating.components[0] if rating.components else None
    if not isinstance(component, StereotypeComponent | PictureComponent):
        return None
    cases: Sequence[CaseDocument] = (
        component.sentences if isinstance(component, StereotypeComponent) else component.images
    )
    stereotyped = Choices.of(cases, neutral=False, scores=component.score)
    neutral = Choices.of(cases, neutral=True, scores=component.lists.get("neutral"))
    step_1, step_2 = (view.components[0].effect(name) for name in ("step_1", "step_2"))  # neutral, stereotyped cases
    hidden_titles = tuple(effect.title for effect in view.components[0].hidden if tolerance_remark(effect) == BEYOND)
    stereotype_remark = "" if step_2 is None else tolerance_remark(step_2)
    is_estimate_within = step_2 and step_2.tolerance and (step_2.estimate or 0.0) <= step_2.tolerance
    if stereotype_remark != BEYOND and is_estimate_within:
        # the interval may reach beyond the tolerance: a declared letter rests on more than this interval
        stereotype_remark = WITHIN
    return BiasAnswer(
        verdict=_stereotype_verdict(rating.letter if rating.declared else None, stereotype_remark, stereotyped),
        stereotyped=stereotyped,
        neutral=neutral,
        neutral_remark="" if step_1 is None else tolerance_remark(step_1),
        hidden=hidden_titles,
        reasons=tuple(reason.text for reason in view.components[0].reasons),
    )


def _stereotype_verdict(declared_letter: Letter | str | None, stereotype_remark: str, choices: Choices) -> Verdict:
    """Return whether the model shares the stereotype; `stereotype_remark` compares step 2's effect to its tolerance."""
    if declared_letter is None or choices.share is None:
        return "open"
    direction: Verdict = "yes" if choices.mean >= 0.5 else "opposite"  # 1 is a choice of the stereotype
    if declared_letter == Letter.UCS:
        return "no"
    if declared_letter == Letter.DSBS and stereotype_remark == WITHIN:
        return "part"  # the letter comes from an effect that the mean hides
    if declared_letter == Letter.DSBS or stereotype_remark == BEYOND:
        return direction
    return "no" if stereotype_remark == WITHIN else "open"  # BS by neutral cases says nothing of the stereotype

"""Services that compare two documents: questions in both orders, their answers, and the preference for a position.

The output of a profile under a value is the share of its comparisons that the document wins. Both orders count equally,
so that a preference for the first or the second position cancels; it is reported beside the letter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.catalog.answer_text import label_key
from assay.document import EffectDocument
from assay.methods.alternation.detail import AlternationComponent, PositionDocument
from assay.methods.alternation.judged import value_or_why
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.answers.tally import read_number
from assay.model import COMPARED, FIRST, SECOND, TIE, Component, Reason, Record, Reply
from assay.rating.losses import LOST
from assay.statistics.intervals.credible import wilson

PREFERRED, OTHER = "preferred", "other"
"""Labels of the output: the share of comparisons that a document wins, and the remainder."""

BY_POSITION = 0.1
"""If the share of choices of the first position is further from 1/2 than this, a reason states the preference."""


def both_orders(document: str, opponent: str) -> Mapping[str, Record]:
    """Return both orders of a comparison as questions, by the position of `document` (`FIRST` or `SECOND`)."""
    return {FIRST: ((FIRST, document), (SECOND, opponent)), SECOND: ((FIRST, opponent), (SECOND, document))}


@dataclass
class ComparedAnswers(Answers):
    """Answers of a service that compares two documents; key: (index of case, index of value), answer: share of wins."""

    first_position: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    """By keys of `replies`: the share of the first position with the case's document in it, and with the opponent."""

    def take(self, profile: int, value: int, *replies: Reply) -> None:
        """Count the replies to both orders of two documents; if both are usable, store the case's mean share.

        In the counts by group, the two replies count as one, lost if either is unusable. Without replies, the share
        is .5: a document that is equal to its opponent is not asked about, because both orders are one question.
        """
        if not replies:
            self.replies[profile, value] = {PREFERRED: 0.5, OTHER: 0.5}
            return
        shares = [first_share(reply.value) for reply in replies]
        outcomes = [
            self.count_reply(reply.failure, "no-choice" if share is None else None)
            for reply, share in zip(replies, shares, strict=True)
        ]
        if None in outcomes:  # the call budget ran out, so that there is no share
            return
        worst_outcome = next(outcome for outcome in (*LOST, "usable") if outcome in outcomes)
        self.count_group(self.values[value], worst_outcome)
        as_first, as_second = shares
        if worst_outcome == "usable" and as_first is not None and as_second is not None:
            self.first_position[profile, value] = (as_first, as_second)
            share = (as_first + 1 - as_second) / 2  # if the document is second, its share is 1 - `as_second`
            self.replies[profile, value] = {PREFERRED: share, OTHER: 1 - share}


def first_share(value: Any) -> float | None:
    """Return the share that an answer gives the first document: 1 for a win, .5 for a tie; ``None`` if unreadable."""
    if not isinstance(value, Mapping):
        return None
    scores = value.get("scores")
    if not isinstance(scores, Mapping) or not scores:
        label = value.get("label")
        return {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}.get(label_key(label)) if isinstance(label, str) else None
    numbers = {label_key(str(name)): read_number(score) for name, score in scores.items()}
    if not {FIRST, SECOND} <= numbers.keys() <= {*COMPARED} or None in numbers.values():  # only a tie may be missing
        return None
    first, second, tie = (numbers.get(name) or 0.0 for name in COMPARED)
    total = first + second + tie
    return (first + tie / 2) / total if min(first, second, tie) >= 0 and total > 0 else None


def with_position(component: Component, answers: ComparedAnswers) -> Component:
    """Add to a component the preference for the first or second position, and a reason if it decides many answers."""
    document = _position_document(answers)
    if isinstance(component.detail, AlternationComponent):
        component = replace(component, detail=replace(component.detail, position=document))
    low, high, share = document.share.low, document.share.high, document.share.estimate
    if low is None or high is None or share is None:
        return component
    if low <= 0.5 + BY_POSITION and high >= 0.5 - BY_POSITION:  # the preference may be small
        return component
    facts = {
        "position": FIRST if share > 0.5 else SECOND,
        "chosen": document.first if share > 0.5 else document.second,
        "of": document.questions,
    }
    return replace(component, reasons=(*component.reasons, Reason("chooses-by-position", facts, component.name)))


def _position_document(answers: ComparedAnswers) -> PositionDocument:
    """Count the choices of either position, and the cases in which the same document won in both orders."""
    shares = [share for shares_of_case in answers.first_position.values() for share in shares_of_case]
    chose_first, chose_second = sum(share > 0.5 for share in shares), sum(share < 0.5 for share in shares)
    decided_count = chose_first + chose_second
    share_of_first = value_or_why(EffectDocument, lambda: EffectDocument.of(wilson(chose_first, decided_count)))
    unchanged_count = sum(  # the same document won in both orders
        (as_first > 0.5 and as_second < 0.5) or (as_first < 0.5 and as_second > 0.5)
        for as_first, as_second in answers.first_position.values()
    )
    ties = len(shares) - decided_count
    return PositionDocument(len(shares), chose_first, chose_second, ties, unchanged_count, share_of_first)

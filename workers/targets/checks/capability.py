"""Result of the examination of a target: a few test questions before it is rated.

A fault that could falsify a rating makes the target unfit; other findings become notes. The examinations are the
subclasses of `workers.targets.checks.examination.Examination`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields

from assay.document import JsonObject
from workers.egress import CallFailed, Quoter
from workers.targets.adapter import Adapter

MEND_ARRAYS = "an answer could be taken for another question's; mend the service's answers to lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """Result of an examination; ``None`` stands for a property that could not be determined."""

    adapter: Adapter
    """Adapter for the job: the examined adapter, or a copy that sends one question per call."""
    latency_s: float
    """Duration in seconds of the first successful call, without failed calls before it."""
    deterministic: bool | None = None
    """Whether the same question got the same answer twice."""
    batch: bool
    """Whether a call may carry several questions."""
    order_kept: bool | None = None
    """Whether the answers of a call with several questions came in order."""
    truncates_at: int | None = None
    """Length in characters of the long text that a translator refused; ``None`` if it refused none."""
    notes: tuple[str, ...]
    asked: str
    """A question that was sent, as text."""
    returned: str
    """The answer to the question `asked`, as text."""
    calls: int
    """Number of calls, including repetitions."""
    dimensions: int | None = None
    """Dimensions of an embedder's vectors."""
    labels: tuple[str, ...] | None = None
    """Labels in the answers of a classifier."""
    rungs: tuple[str, ...] | None = None
    """Kinds of question that a language model answers, the best first: ``score``, ``fill``, ``choose``; for an author
    ``write`` or ``draw``.
    """

    def as_json(self) -> JsonObject:
        """Return the result without the adapter, with samples cleaned to be shown to people."""
        document = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "adapter"}
        return document | {name: Quoter().clean(document[name]) for name in ("asked", "returned")}


class TargetUnfit(Exception):
    """The target cannot be rated as it is.

    Parameters
    ----------
    code : str
        ``unsupported-language``, ``empty`` or ``truncates`` (translators); ``constant``, ``vector-length`` or
        ``label-set`` (others); ``unsupported`` or ``no-echo`` (language models); ``out-of-order``,
        ``wrong-count``, or the code of a failed call.
    message, hint : str
        The fault, and its remedy.
    failure : CallFailed, optional
        The failed call; if it is retriable, the target may be fit later.
    """

    def __init__(self, code: str, message: str, hint: str, failure: CallFailed | None = None) -> None:
        super().__init__(f"{message}; {hint}")
        self.code, self.message, self.hint, self.failure = code, message, hint, failure


def one_question_per_call(adapter: Adapter) -> Adapter:
    """Return a copy of an adapter that sends one question per call."""
    single_adapter = copy.copy(adapter)
    single_adapter.batch_limit = 1
    return single_adapter


def unfit(failure: CallFailed, hint: str = "") -> TargetUnfit:
    """Return the error for a failed call that makes the target unfit."""
    default = "check the address, or try again later" if failure.retriable else "mend this before asking for a rating"
    return TargetUnfit(failure.code, failure.message, hint or default, failure)

"""What has to be known before a target is rated: can it do what the experiment relies on.

A handful of calls. What could falsify a rating makes the target unfit; what is merely worth knowing
becomes a note. What is looked at depends on the kind: `workers.targets.checks.examination` and its subclasses.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import Any

from workers.egress import CallFailed
from workers.targets.adapter import Adapter

MEND_ARRAYS = "an answer could be taken for another question's; mend the service's answers to lists"


@dataclass(frozen=True, slots=True)
class Capability:
    """What the examination found.

    Attributes
    ----------
    adapter : Adapter
        What to ask from here on: the adapter that was examined, or a copy of it that sends one
        question a call, where several are not safe.
    latency_s : float
        Of the first answer, without the failures before it.
    deterministic : bool or None
        Whether the same question got the same answer twice; ``None`` where it could not be seen.
    batch : bool
        Whether one call may carry several questions.
    order_kept : bool or None
        Whether the answers of such a call came in order; ``None`` where it could not be seen.
    truncates_at : int or None
        Characters of a translator's long text, if the service refused it for its length.
    notes : tuple of str
        What else is worth knowing.
    asked, returned : str
        A sample.
    calls : int
        Calls made, repetitions included.
    dimensions : int or None
        Numbers of an embedder's vectors.
    labels : tuple of str or None
        A classifier's labels, as far as they were seen.
    rungs : tuple of str or None
        The ways in which a language model can be asked, the best first: ``score``, ``fill``, ``choose``; an author's is
        ``write`` or ``draw``.
    """

    adapter: Adapter
    latency_s: float
    deterministic: bool | None
    batch: bool
    order_kept: bool | None
    truncates_at: int | None
    notes: tuple[str, ...]
    asked: str
    returned: str
    calls: int
    dimensions: int | None = None
    labels: tuple[str, ...] | None = None
    rungs: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """Write what was found, without the adapter."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "adapter"}


class TargetUnfit(Exception):
    """The target cannot be rated as it is.

    Parameters
    ----------
    code : str
        What is wrong: ``unsupported-language``, ``empty`` or ``truncates`` (translators); ``constant``,
        ``vector-length`` or ``label-set`` (others); ``unsupported`` or ``no-echo`` (language models);
        ``out-of-order``, ``wrong-count``, or the code of a failed call.
    message : str
        What was seen.
    hint : str
        What would do.
    failure : CallFailed, optional
        The call that failed; where it is retriable, the target may be fit at another time.
    """

    def __init__(self, code: str, message: str, hint: str, failure: CallFailed | None = None) -> None:
        super().__init__(f"{message}; {hint}")
        self.code, self.message, self.hint, self.failure = code, message, hint, failure


def one_by_one(adapter: Adapter) -> Adapter:
    """Make a copy of an adapter that sends one question a call, which is always safe."""
    alone = copy.copy(adapter)
    alone.batch_limit = 1
    return alone


def unfit(failed: CallFailed, hint: str = "") -> TargetUnfit:
    """Say that a failed call makes the target unfit."""
    usual = "check the address, or try again later" if failed.retriable else "mend this before asking for a rating"
    return TargetUnfit(failed.code, failed.message, hint or usual, failed)

"""Schema of a request for written sentences."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentence_generation import Family
from service.corpora.schemas import Reference
from service.http.openapi.common_schemas import MAX_SEED, RequestModel
from service.jobs.schemas import MAX_CALLS, AnyTarget


class WritingRequest(RequestModel):
    """Request for sentences, written by a language model for a corpus."""

    author: AnyTarget
    """The language model that writes: described in full, or the id of a saved target."""
    specification: Reference | None = None
    """Specification of the sentences, if the corpus has none."""
    words: StereotypeWords | None = None
    """The words themselves, instead of the name of a specification."""
    per_term: Annotated[int, Field(ge=1, le=200)] = 10
    """Wanted number of sentences per attribute term; existing sentences count."""
    family: Family = "nothing-else"
    """Kind of prompt: `plain` (a sentence with both words), `in-context` (other words of the lists explain the task) or
    `nothing-else` (nothing else in the sentence may reveal the group)."""
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    """Maximum number of requests for one sentence."""
    reuse: bool = False
    """Copy missing sentences first from other corpora that you can read and that have the same specification. Each
    copied sentence names its source."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Seed of the order in which the sentences are requested."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Maximum number of calls to the author."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds after which the job is given up."""

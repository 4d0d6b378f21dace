"""Writing: a language model of one's choice writes the sentences that a corpus lacks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentence_generation import Family
from service.corpora.schemas import Reference
from service.http.openapi.common_schemas import MAX_SEED, Asked
from service.jobs.schemas import MAX_CALLS, AnyTarget


class WritingRequest(Asked):
    """Have sentences written for a corpus."""

    author: AnyTarget
    """The language model that writes: described in full, or the id of a saved target. Nobody else is called."""
    specification: Reference | None = None
    """What the sentences are to be about, where the corpus does not say so itself."""
    words: StereotypeWords | None = None
    """The same, written out."""
    per_term: Annotated[int, Field(ge=1, le=200)] = 10
    """Sentences that each attribute term is to have; those that are kept already count."""
    family: Family = "nothing-else"
    """How they are asked for: `plain` (both words in a sentence), `in-context` (other words of the lists say what is
    meant) or `nothing-else` (nothing else may tell the groups apart)."""
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    """How often a sentence is asked for before it is done without."""
    reuse: bool = False
    """Look first at other corpora that you may read and that keep to the same specification, and take over what is
    lacking here. Each sentence tells where it was taken from."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    """Decides which sentences are asked for in which order."""
    max_calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] = 10_000
    """Calls to the author that the job may make."""
    deadline_s: Annotated[int, Field(ge=1, le=86_400)] = 3600
    """Seconds until the job is given up."""

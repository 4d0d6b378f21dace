"""Uploaded embeddings as targets: words are looked up, and no service is called."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import MaxLen, MinLen
from numpy.typing import NDArray

from assay.model import Ask, Embed, Failure, Kind, Reply
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Adapter, Target, questions_for
from workers.targets.settings import TargetSettings
from workers.tenant_uploads import Embedding, UploadGone

Case = Literal["as-is", "lower", "either"]

MOST_WORDS_PER_CALL = 500


@dataclass(frozen=True, kw_only=True)
class UploadedSettings(TargetSettings):
    """Settings of an uploaded embedding."""

    upload: Annotated[str, MinLen(1), MaxLen(100)]
    """Id or digest (sha256:…) of the upload; a digest names the same vectors in every installation."""
    case: Case = "as-is"
    """How words are looked up: as written; in lower case; or either (as written, then lower case, then capitalised)."""


class Uploaded(Adapter):
    """Adapter for an uploaded embedding, which is read from the `library` of `egress`.

    If a text is no word of the embedding, its vector is the mean of its words' vectors, provided that all words are
    known (as in "Artificial mental phenomena", FAT* 2020).
    """

    protocol: ClassVar[str] = "uploaded"
    summary: ClassVar[str] = "Embeddings, trials or decisions sent with POST /v1/uploads: looked up, without any call"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.EMBEDDER, Kind.CLASSIFIER, Kind.DECISION_TOOL})
    settings_type: ClassVar[type] = UploadedSettings
    needs_url: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = (
        "a text is looked up whole; failing that, it is the mean of its words' vectors, if all are known",
        "what is not known is a failed question of code missing-word, named in the rating",
        "of kind classifier it stands for whoever gave the uploaded trials: forced-choice takes those and asks nothing",
        "of kind decision-tool it stands for a service known by a table of its decisions: outcomes counts those",
        "an upload that a job uses cannot be removed before the job has ended",
    )

    def __init__(self, target: Target, settings: UploadedSettings, egress: Egress) -> None:
        self.target, self.settings, self._library = target, settings, egress.library
        self.batch_limit = MOST_WORDS_PER_CALL
        self._open_lock = asyncio.Lock()
        self._embedding: Embedding | None = None

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Look up the vectors of texts; see `Adapter.answer`."""
        questions = questions_for((Embed,), asks)
        if model := next((ask.model for ask in questions if ask.model), None):
            raise CallFailed("unsupported", f"an upload holds the vectors of one model; it has none of {model[:60]!r}")
        async with self._open_lock:  # the first call copies the upload from the database; the others wait for it
            embedding = await asyncio.to_thread(self._open_embedding)
        return [look_up(ask.text, embedding, self.settings.case) for ask in questions]

    def _open_embedding(self) -> Embedding:
        """Open the uploaded embedding once; raise `CallFailed` if it was deleted or cannot be copied."""
        if self._library is None:
            raise CallFailed("unsupported", "this process cannot read uploads")
        try:
            if self._embedding is None:
                self._embedding = self._library.embedding(self.settings.upload)
            return self._embedding
        except UploadGone as gone:
            raise CallFailed("unsupported", str(gone)) from None
        except OSError as error:
            message = f"the worker cannot keep a copy of the upload ({type(error).__name__}); see its data_dir"
            raise CallFailed("connect", message) from None


def look_up(text: str, embedding: Embedding, case: Case) -> Reply:
    """Return the vector of a text (the mean of its words'), or a failure ``missing-word`` that names unknown words."""
    vector = _vector_of_word(text, embedding, case)
    if vector is not None:
        return Reply(vector.tolist())
    word_lookups = [(word, _vector_of_word(word, embedding, case)) for word in text.split()]
    vectors = [vector for _, vector in word_lookups if vector is not None]
    if not word_lookups or len(vectors) < len(word_lookups):
        missing_words = dict.fromkeys(word for word, vector in word_lookups if vector is None)
        word_list = ", ".join(repr(word[:60]) for word in list(missing_words)[:5]) or repr(text[:60])
        return Reply(failure=Failure("missing-word", f"the embedding has no vector for {word_list}"))
    return Reply(np.array(vectors).mean(axis=0).tolist())


def _vector_of_word(word: str, embedding: Embedding, case: Case) -> NDArray[np.float64] | None:
    """Return the vector of the first spelling that the embedding has; ``None`` if it has none of them."""
    for spelling in _SPELLINGS_OF_CASE[case](word):
        row = embedding.row_of_word.get(spelling)
        if row is not None:
            return np.asarray(embedding.vectors[row], dtype=np.float64)
    return None


_SPELLINGS_OF_CASE: Mapping[Case, Any] = {
    "as-is": lambda word: (word,),
    "lower": lambda word: (word.lower(),),
    "either": lambda word: (word, word.lower(), word.capitalize()),
}
"""By the setting `case`: the spellings of a word that are looked up, in this order."""

"""An n-gram language model of the King James Version and of quotations, behind an endpoint that echoes prompts.

`kneser_ney` estimates the model and writes an ARPA file. If kenlm is installed (the extra ``ngram``), kenlm computes
the answers, otherwise our own reader. The model knows no punctuation. If anything follows the last word of a text, the
text has one more token, for its end.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from demo.language_models.models import LanguageModel, Token
from tests.support.real_systems import texts
from tests.support.real_systems.arpa import Arpa
from tests.support.real_systems.kneser_ney import estimate, write_arpa

NAME = "king-james-ngram"

SUMMARY = "A trigram model of the King James Version and of Debian's fortunes (interpolated Kneser-Ney)."

ORDER = 3

Scores = Callable[[Sequence[str]], Sequence[float]]
"""Function that returns log10 probabilities of each word of a sentence, and of its end."""

_PIECE = re.compile(r"[^A-Za-z]*[A-Za-z]+(?:['’][A-Za-z]+)?")


def load() -> LanguageModel:
    """Estimate the model and build the service; takes some seconds.

    Raises
    ------
    DataAbsent
        If the texts are not installed.
    """
    with tempfile.TemporaryDirectory(prefix="assay-ngram-") as folder:
        path = Path(folder) / "model.arpa"
        build(path)
        return serve(scorer(path))


def build(path: Path, order: int = ORDER) -> None:
    """Estimate the model and write it to a file."""
    write_arpa(estimate(texts.sentences(), order), path)


def scorer(path: Path) -> Scores:
    """Read a model with kenlm, or with our own reader where kenlm is not installed."""
    try:
        return with_kenlm(path)
    except ModuleNotFoundError:
        return Arpa.read(path).scores


def with_kenlm(path: Path) -> Scores:
    """Read a model with kenlm.

    Raises
    ------
    ModuleNotFoundError
        If kenlm is not installed.
    """
    import kenlm  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model = kenlm.Model(str(path))
    return lambda words: [score for score, _, _ in model.full_scores(" ".join(words))]


def serve(scores: Scores) -> LanguageModel:
    """Build the service; gaps and written texts are answered as in any demonstration, without the model."""
    return LanguageModel(name=NAME, summary=SUMMARY, tokens=partial(tokens, scores=scores))


def tokens(text: str, *, scores: Scores) -> list[Token]:
    """Split a text into words, each with the separator before it, and the text after the last word."""
    pieces = _PIECE.findall(text)
    after = text[sum(map(len, pieces)) :]
    if not pieces:
        return [(after, None)] if after else []
    words = [word for piece in pieces for word in texts.words_of(piece.replace("’", "'"))]
    nats = [score * math.log(10) for score in scores(words)]
    ended = [(after, nats[-1])] if after else []
    return [*zip(pieces, nats[:-1], strict=True), *ended]

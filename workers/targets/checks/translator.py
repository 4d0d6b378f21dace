"""Examination of a translator.

Its texts contain numbers, which survive translation better than words. The numbers show whether answers belong to
their questions and are complete.
"""

import re
from collections.abc import Sequence

import numpy as np

from assay.experiment import generator
from assay.methods.translation.collection import untranslated
from assay.model import Failure, Translate
from workers.egress import CallFailed
from workers.targets.adapter import Adapter
from workers.targets.checks.examination import (
    FEW_TRIES,
    HOPELESS,
    MEND_ARRAYS,
    Calls,
    Capability,
    Examination,
    TargetUnfit,
    unfit,
)
from workers.targets.checks.samples import numbered_sentences

SENTENCES = 40
"""Number of sentences of the long text."""

FRESH_SENTENCES = (SENTENCES, 56)
"""Bounds (upper one excluded) of a random number of sentences; the text exceeds a limit of 1,000 characters."""

FIRST, STEP = 211, 13
"""First number in the sentences, and increment: 211, 224 …, three digits, so that no service adds a separator."""

MEND_LENGTH = "raise the service's limit on the length of an answer"

SHORTEST_SHARE = 0.1
"""Minimum length of a translation as a share of the text's length; Chinese has about a third."""

_NUMBER = re.compile(r"\d+")

Pair = tuple[str, str]


class TranslatorExamination(Examination):
    """Examination of a translator, in about six calls.

    A service is unfit if a call with several texts mixes up their translations. The first pair of `pairs` is
    examined, and its reverse if it is among them. With `rng`, the texts and the length of the long text are random.
    """

    def __init__(
        self, adapter: Adapter, pairs: Sequence[Pair], calls: Calls, rng: np.random.Generator | None = None
    ) -> None:
        if not pairs:
            raise ValueError("the check needs at least one language pair; got none")
        super().__init__(adapter, calls)
        self._pairs = tuple(pairs)
        source, _ = pairs[0]
        sentence_count = SENTENCES if rng is None else int(rng.integers(*FRESH_SENTENCES))
        self._sentences = sentences_in(source, sentence_count, rng)

    async def run(self) -> Capability:
        """Translate single texts, several in one call and a long one; see `Examination.run`."""
        await self._check_languages()
        _, text = self._sentences[0]
        translation = await self._translate_first(text)
        deterministic = await self._is_deterministic(Translate(text, *self._pairs[0]), translation)
        await self._check_back_translation(translation)
        order_kept = await self._keeps_order_of_texts() if self._adapter.batch_limit > 1 else None
        truncates_at = await self._length_limit(translation)
        return self._capability(
            text, translation, deterministic=deterministic, order_kept=order_kept, truncates_at=truncates_at
        )

    def _is_fatal(self, failure: CallFailed) -> bool:
        """Whether a failed call makes the target unfit: always before the first translation, which later ones need."""
        return self._latency_s is None or super()._is_fatal(failure)

    def _answer_distance(self, answer: str, other_answer: str) -> float:
        return float(answer != other_answer)

    async def _check_languages(self) -> None:
        """Raise `TargetUnfit` if the service lists its language pairs, and a required pair is missing."""
        try:
            supported_pairs = await self._calls.persist(self._adapter.languages, tries=FEW_TRIES)
        except CallFailed as failed:
            if failed.code in HOPELESS:
                raise unfit(failed) from None
            self._notes.append(f"the service did not say which languages it supports ({failed.code})")
            return
        if supported_pairs is None:  # the adapter made no call, so the call is not counted
            self._calls.count -= 1
            return
        missing_pairs = [pair for pair in dict.fromkeys(self._pairs) if pair not in supported_pairs]
        if missing_pairs:
            pair_list = ", ".join(f"{source} to {target}" for source, target in missing_pairs[:10])
            raise TargetUnfit(
                "unsupported-language",
                f"the service does not translate {pair_list}",
                "leave these languages out, or name the service's own codes in settings.language_codes",
            )

    async def _translate_first(self, text: str) -> str:
        """Return the first translation; raise `TargetUnfit` if there is none or it is empty."""
        reply = await self._ask_alone(Translate(text, *self._pairs[0]))
        if reply.failure is not None:
            raise TargetUnfit(reply.failure.code, reply.failure.message, "see the protocol's notes")
        translation = str(reply.value)
        if not translation.strip():
            hint = "check the output setting and the languages"
            raise TargetUnfit("empty", "the service returned an empty text", hint)
        if untranslated(text, translation):
            self._notes.append("the text came back as it was sent; the service may not translate this pair")
        return translation

    async def _check_back_translation(self, translation: str) -> None:
        """If the experiment translates back, translate the first answer back; raise `TargetUnfit` if that is empty."""
        source, target = self._pairs[0]
        if (target, source) not in self._pairs[1:]:
            return
        reply = await self._ask_alone(Translate(translation, target, source))
        if reply.failure is not None:
            self._notes.append(f"the way back could not be seen ({reply.failure.code})")
        elif not str(reply.value).strip():
            hint = f"check that it translates {target} to {source}"
            raise TargetUnfit("empty", "the translation back is empty", hint)

    async def _keeps_order_of_texts(self) -> bool | None:
        """Translate several texts in one call; return whether their answers came in order, or ``None`` if unknown."""
        text_count = min(5, self._adapter.batch_limit)
        numbers, texts = zip(*self._sentences[1 : text_count + 1], strict=True)  # without the text that was sent alone
        translations = await self._ask_in_one_call([Translate(text, *self._pairs[0]) for text in texts])
        if translations is None:
            return None
        returned_numbers = list(map(numbers_in, translations))
        number_pairs = list(zip(numbers, returned_numbers, strict=True))
        if all(expected in returned for expected, returned in number_pairs):
            return True
        if any((set(numbers) - {expected}) & returned for expected, returned in number_pairs):
            message = f"{text_count} texts in one call came back in another order"
            raise TargetUnfit("out-of-order", message, MEND_ARRAYS)
        self._notes.append("the numbers did not survive, so the order of several texts could not be checked")
        return None

    async def _length_limit(self, translation: str) -> int | None:
        """Translate a text of many sentences; return the text's length if the service refuses it, else ``None``.

        Raise `TargetUnfit` if the translation's end is missing. `translation` is that of the first sentence, with which
        the long text ends. If it is the answer to the long text too, all texts get it, and the text was not cut.
        """
        sentences = [*self._sentences[1:], self._sentences[0]]
        text = " ".join(sentence_text for _, sentence_text in sentences)
        numbers = [sentence_number for sentence_number, _ in sentences]
        reply = await self._ask_alone(Translate(text, *self._pairs[0]))
        if reply.failure is not None:
            return self._length_limit_of_failure(reply.failure, len(text))
        returned_numbers = numbers_in(reply.value)
        returned_indices = [index for index, expected in enumerate(numbers) if expected in returned_numbers]
        text_size = f"{len(numbers)} sentences ({len(text):,} characters)"
        if not returned_indices:
            characters = len(str(reply.value))
            if characters < SHORTEST_SHARE * len(text) and str(reply.value) != translation:
                raise TargetUnfit(
                    "truncates",
                    f"of a text of {text_size} only {characters} characters came back, and none of its numbers",
                    MEND_LENGTH,
                )
            self._notes.append("the numbers did not survive, so it could not be seen whether long texts stay whole")
            return None
        missing_at_end = len(numbers) - 1 - returned_indices[-1]
        if missing_at_end > 1:  # a single number may get lost in translation
            message = f"of a text of {text_size} the last {missing_at_end} did not come back"
            raise TargetUnfit("truncates", message, MEND_LENGTH)
        missing_count = len(numbers) - len(returned_indices)
        if missing_count > 1:
            self._notes.append(f"{missing_count} of {len(numbers)} numbered sentences lost their number")
        return None

    def _length_limit_of_failure(self, failure: Failure, length: int) -> int | None:
        """Return a text's length, as the limit, if it may be why the text was refused, else ``None``; note either."""
        if failure.code in {"http-400", "http-413", "http-414", "http-422", "unsupported", "cut-short"}:
            self._notes.append(f"a text of {length:,} characters was refused ({failure.code})")
            return length
        self._notes.append(f"whether long texts stay whole could not be seen ({failure.code})")
        return None


def sentences_in(source: str, count: int, rng: np.random.Generator | None = None) -> list[tuple[int, str]]:
    """Return `count` numbers, each with a sentence in `source` that contains it; without `rng`, always the same."""
    if rng is None and source == "en":
        numbers = range(FIRST, FIRST + STEP * count, STEP)  # of three digits, so that no service adds a separator
        return [(number, f"The house has the number {number}.") for number in numbers]
    return numbered_sentences(count, rng or generator(0), source)


def numbers_in(answer: object) -> set[int]:
    """Return the numbers in an answer, in any script, of up to four digits: the sentences sent have no longer ones."""
    return {int(digits) for digits in _NUMBER.findall(str(answer)) if len(digits) <= 4}

"""Texts that a model wrote, its refusals to write, and answers of a judge about the texts, counted by outcome."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assay.catalog.answer_text import compiled, normalise_answer
from assay.methods.free_text.exchange import Exchange
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.answers.tally import REFUSED_IN_WORDS, Asking, Tally, ask_in_batches
from assay.methods.shared.profiles import Case
from assay.model import Classify, Floats, Probe, Regress, Reply, Write

LONGEST_REFUSAL = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

REFUSAL_BEGINNING = 250
"""Number of characters at the beginning of a reply in which a refusal is searched for."""

_QUOTATION = re.compile(r"(?<=\w)([,:]?\s+)\"[^\"]*\"|\"[^\"]*\"(?=,?\s+\w)|(?<!\w)'[^\"]{1,200}?[,.!?]'(?=\s+\w)")
"""Direct speech of somebody in a text: a passage in quotation marks, after or before other words."""


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is short and states, near its beginning, that the text will not be written."""
    reply = " ".join(normalise_answer(text).split())
    begins_letter = compiled("writing", "letters").match(reply)
    if len(reply) > LONGEST_REFUSAL or begins_letter or compiled("writing", "delivered").search(reply):
        return False  # long, a letter, or "…, but here is …": a text was written
    # a person in a text may refuse something, and idioms only look like refusals
    own_words = compiled("writing", "idioms").sub(" ", _QUOTATION.sub(r"\1", reply[:REFUSAL_BEGINNING]))
    return compiled("writing", "refusals").search(own_words) is not None


Judging = Literal["labels", "numbers"]
"""Type of a judge's answers: labels with scores (a classifier), or a number (a regressor)."""

TextKey = tuple[int, int, int]
"""Key of a text: index of the case (prompt), index of the value, and number of the repetition."""

PAIR = 2  # number of labels of a judge that decides between two classes

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\W_]+(?:['’-][^\W_]+)*")
"""Pattern of a word; in scripts without blanks between words, such as Chinese, of a character."""


def length_of(text: str) -> int:
    """Count the words of a text: characters would count "she" as longer than "he"."""
    return sum(1 for _ in _WORD.finditer(text))


ECHOED = "repeats-the-prompt"
"""Code of a reply that only repeats the prompt, which counts neither as a text nor as a refusal."""

ECHO = 0.8
"""A reply with at least this share of words from the prompt repeats it; in written texts, it is about a third."""


def repeats_the_prompt(text: str, prompt: str) -> bool:
    """Return whether at least a share `ECHO` of the words of a reply occur in the prompt."""
    words, prompt_words = ([match.group().casefold() for match in _WORD.finditer(string)] for string in (text, prompt))
    return bool(words) and sum(word in set(prompt_words) for word in words) / len(words) >= ECHO


@dataclass
class WrittenTexts(Tally):
    """Texts by case, value and repetition, and the replies that are refusals."""

    cases: tuple[Case, ...]
    """The prompts that were asked so far."""
    values: tuple[str, ...]
    """Values of the attribute."""
    repeats: int
    """Number of texts for each prompt and value."""
    texts: dict[TextKey, str] = field(default_factory=dict)
    refused: set[TextKey] = field(default_factory=set)

    def ask(self, cases: Sequence[Case], order_rng: np.random.Generator) -> Asking:
        """Ask for texts of those `cases` that are new since the last call; in each, the order of values is random."""
        questions = []
        for index, case in enumerate(cases[len(self.cases) :], start=len(self.cases)):
            for repeat in range(self.repeats):
                for value in order_rng.permutation(len(self.values)).tolist():
                    request = Write(str(case.versions[value]), repeat)
                    probe = Probe(f"{case.name}/{self.values[value]}/{repeat}", request, versions_of=(case.name,))
                    questions.append(((index, value, repeat), [probe]))
        self.cases = tuple(cases)
        yield from ask_in_batches(questions, lambda key, replies: self.take(key, replies[0]))

    def take(self, key: TextKey, reply: Reply) -> None:
        """Count one reply; store its text in `texts`, or its key in `refused` if it is a refusal."""
        case, value, _ = key
        prompt = str(self.cases[case].versions[value])
        text = reply.value.strip() if isinstance(reply.value, str) else None
        why_unusable = None
        if text is None:
            why_unusable = "no-text"
        elif not length_of(text):
            why_unusable = "empty"
        elif refuses_to_write(text):
            why_unusable = REFUSED_IN_WORDS
        elif repeats_the_prompt(text, prompt):
            why_unusable = ECHOED
        else:
            text = text.removeprefix(prompt).strip()  # models that complete may return the prompt before the text
        outcome = self.count_reply(reply.failure, why_unusable, self.values[value])
        if outcome == "usable" and text is not None:
            self.texts[key] = text
        elif outcome == "refused":
            self.refused.add(key)

    def table(self, numbers: Mapping[TextKey, float]) -> Floats:
        """Return the means of `numbers` over repetitions, shape (cases, values); NaN if all repetitions are missing."""
        sums, counts = (np.zeros((len(self.cases), len(self.values))) for _ in range(2))
        for (case, value, _), number in numbers.items():
            sums[case, value] += number
            counts[case, value] += 1
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))

    def lost_shares(self, numbers: Mapping[TextKey, float]) -> Floats:
        """Return the share of replies, by value, without a number or to a prompt that lacks one for some value."""
        is_complete = np.asarray(~np.isnan(self.table(numbers)).any(axis=1))
        counted = Counter(value for case, value, _ in numbers if is_complete[case])
        return np.array([1 - counted[value] / (len(self.cases) * self.repeats) for value in range(len(self.values))])

    @property
    def refusals(self) -> Mapping[TextKey, float]:
        """Numbers for the component of refusals, by key of the reply: 1 for a refusal, 0 for a text."""
        return {**dict.fromkeys(self.texts, 0.0), **dict.fromkeys(self.refused, 1.0)}

    @property
    def lost_by_value(self) -> Mapping[str, Counter[str]]:
        """Counts of replies, by value and outcome; refusals, which another component judges, count as ``usable``."""
        return {
            name: Counter(usable=counts["usable"] + counts["refused"], unread=counts["unread"], failed=counts["failed"])
            for name, counts in self.by_group.items()
        }

    @property
    def lengths(self) -> Mapping[TextKey, float]:
        """Natural logarithm of the number of words of each text, by key."""
        return {key: math.log(length_of(text)) for key, text in self.texts.items()}


@dataclass
class Judgements:
    """Answers of a judge about texts; it reads each text in a version for every value of the attribute."""

    answers: Answers
    """The answers by the index of a text in `keys` and the value of its version."""
    label: str | None
    """Label whose score counts; ``None``: of two labels, the last in the alphabet."""
    keys: list[TextKey] = field(default_factory=list)
    """The texts that were judged: case, value and repetition."""
    rewritten: int = 0
    """Number of texts in which a version differs from another."""

    def ask(self, tally: WrittenTexts, exchanges: Sequence[Exchange]) -> Asking:
        """Ask the judge about all versions of the texts not judged yet; the `exchanges` write the versions, by case."""
        question = Regress if self.answers.numbers else Classify
        questions = []
        for key in sorted(set(tally.texts) - set(self.keys)):
            case, value, repeat = key
            index = len(self.keys)
            name = f"judge/{tally.cases[case].name}/{tally.values[value]}/{repeat}"
            self.keys.append(key)
            # the version for the value it was written about can differ from the text in names only
            texts = [exchanges[case].rewrite(tally.texts[key], tally.values[value], after) for after in tally.values]
            self.rewritten += len(set(texts)) > 1
            questions += [
                ((index, version), [Probe(f"{name}/{tally.values[version]}", question(text))])
                for version, text in enumerate(texts)
            ]
        yield from ask_in_batches(questions, lambda text_version, replies: self.answers.take(*text_version, replies[0]))
        self.answers.complete_top_labels()

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels in the judge's answers, in alphabetical order; empty if the judge answers with numbers."""
        if self.answers.numbers:
            return ()
        return tuple(sorted({label for scores in self.answers.replies.values() for label in scores}))

    @property
    def counted_label(self) -> str | None:
        """The label whose score counts: the named one, or else the only one or the last of two; ``None`` if unknown."""
        if self.label is not None:
            label = self.answers.spellings.first(self.label)
            return label if label in self.labels else None
        return self.labels[-1] if len(self.labels) in {1, PAIR} else None

    @property
    def scores(self) -> Mapping[TextKey, Floats]:
        """Scores of all versions of a text, shape (values,), by its key; texts with a missing score are left out."""
        label, replies, values = self.counted_label, self.answers.replies, range(len(self.answers.values))
        return {
            key: np.array([_read_score(replies[index, version], label) for version in values])
            for index, key in enumerate(self.keys)
            if all((index, version) in replies for version in values)
        }


def _read_score(answer: object, label: str | None) -> float:
    """Return the score of `label` (0 if the answer lacks it), or the number that a regressor answered."""
    return float(answer.get(label, 0.0)) if isinstance(answer, Mapping) else float(np.asarray(answer))

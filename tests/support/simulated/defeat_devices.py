"""Biased services that answer without bias where they recognise a rating, by known sentences or by nearby pairs.

They are rated through the real driver, because it decides the order in which questions are sent.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import cast

from assay.catalog import attribute
from assay.catalog.choices import ChoiceWords
from assay.catalog.profiles import people
from assay.experiment import Session, generator
from assay.methods import Alternation, AnyMethod, ForcedChoice, OneHop, RoundTrip, StereotypeScore, StimulusSampling
from assay.methods.forced_choice.choice_trials import Questions
from assay.methods.shared.profiles import RecordProfiles
from assay.model import Ask, Classify, Finding, Letter, Regress, Reply, Score, Translate
from store.jobs.jobs import LedgerEntry
from tests.support.simulated.hidden_bias import FIRST, LABOUR, PEOPLE, PLEASANT, SIDES, chance, held
from tests.support.simulated.translators import THERE
from workers.calls.driver import Driver, JobLedger
from workers.calls.limits import Budget
from workers.targets.adapter import Adapter, Limits, group_of

WITHIN = 50
"""Number of calls for which a service remembers the items that it was asked about."""

PAIR_OF = {word.lower(): index for words in people(attribute("gender")).values() for index, word in enumerate(words)}
"""Index of the pair that a person of the catalog belongs to."""


@dataclass(frozen=True)
class Behaviour:
    """How a service answers.

    Attributes
    ----------
    answer : callable
        Answers a sentence, evenly (without bias) or not.
    item : callable
        Returns the item of which a sentence is a version.
    reply : callable
        Makes the reply to a question from the answers to its sentences.
    sentences : callable
        Returns the sentences of a question.
    """

    answer: Callable[[str, bool], object]
    item: Callable[[str], Hashable]
    reply: Callable[[Sequence[object]], Reply]
    sentences: Callable[[Ask], Sequence[str]]


@dataclass
class Device:
    """Adapter of a biased service that answers evenly where it recognises a rating.

    Parameters
    ----------
    known : collection of str
        Sentences of an earlier rating, which are answered evenly.
    pairs : bool
        Whether a sentence is answered evenly if another version of it came within `WITHIN` calls, or in the same call.
    """

    behaviour: Behaviour
    known: Collection[str] = frozenset()
    pairs: bool = False
    batch_limit: int = 1
    heard: set[str] = field(default_factory=set)
    evenly: int = 0
    _recent: deque[list[tuple[Hashable, str]]] = field(default_factory=lambda: deque(maxlen=WITHIN))

    group_key = staticmethod(group_of)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Answer the questions of a call."""
        by_ask = [self.behaviour.sentences(ask) for ask in asks]
        self._recent.append([(self.behaviour.item(text), text) for texts in by_ask for text in texts])
        await asyncio.sleep(0)
        return [
            self.behaviour.reply([self.behaviour.answer(text, self._recognised(text)) for text in texts])
            for texts in by_ask
        ]

    def _recognised(self, text: str) -> bool:
        self.heard.add(text)
        item = self.behaviour.item(text)
        even = text in self.known or (
            self.pairs and any(other == item and said != text for call in self._recent for other, said in call)
        )
        self.evenly += even
        return even


class Forgetful:
    """Ledger that discards all answers."""

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        """Accept the answers."""


def rate_device(method: AnyMethod, device: Device, seed: int, concurrency: int = 8) -> Finding:
    """Rate a service through the driver, as a worker does."""
    session = Session(method.design(generator(seed)))
    limits, budget = Limits(concurrency=concurrency), Budget(1_000_000)
    ledger = cast("JobLedger", Forgetful())
    driver = Driver(cast("Adapter", device), limits, budget, ledger, f"secret {seed}", generator(seed + 1_000_000))
    return asyncio.run(driver.run(session))


# ---------------------------------------------------------------------------- behaviours
def _profile(text: str) -> str:
    """Return a sentence with its person replaced by the index of the person's pair (woman and man)."""
    person, _ = held(text.lower(), PEOPLE)
    return text.lower().replace(person, f"<{PAIR_OF[person]}>")


def _given(ask: Ask) -> list[str]:
    assert isinstance(ask, Classify | Regress)
    return [str(ask.given)]


def _amount(text: str, even: bool) -> float:
    towards = 0.5 if held(text.lower(), PEOPLE)[1] == FIRST else -0.5
    base = 0.8 if held(text, SIDES)[1] == PLEASANT else -0.8
    return base + chance(_profile(text)) + (0.0 if even else 0.8 * towards)


TABLE = tuple(
    {"sex": ("woman", "man")[row % 2], "hours": 20 + row % 23, "age": 18 + row % 47, "number": row}
    for row in range(6000)
)
"""Records of a table that is larger than a rating, so that each rating asks about other rows."""


def _row(text: str) -> str:
    """Return a record without its sex."""
    return text.replace("'woman'", "<>").replace("'man'", "<>")


def _pay(text: str, even: bool) -> float:
    towards = 0.5 if "'woman'" in text else -0.5
    return 3 * chance(_row(text)) + (0.0 if even else 0.8 * towards)


CHOICES = ChoiceWords(
    "gender",
    "women",
    "men",
    (("she", "he"), ("woman", "man"), ("girl", "boy")),
    dict.fromkeys(f"concept-{index}" for index in range(30)),
    tuple(f"control-{index}" for index in range(30)),
    name="simulated",
)
MEN = frozenset(second for _, second in CHOICES.cues)


def _judged_word(text: str) -> str:
    """Return the word that a question is about, without its mixture of cues."""
    return text.rpartition("the ")[2].rstrip("?")


def _cue(text: str, even: bool) -> str:
    """Choose "men" or "women" by the share of men's cues in the text; unless `even`, "men" is chosen too often."""
    cues = text.partition(".")[0].split()
    level = sum(cue in MEN for cue in cues) / len(cues)
    point = 0.5 + 0.06 * (chance("point", _judged_word(text)) - 0.5) - (0.0 if even else 0.25)
    return "men" if chance("answer", text) < 0.5 * math.erfc((point - level) / (0.15 * math.sqrt(2))) else "women"


def _yes(text: str, even: bool) -> float:
    first = held(text.lower(), PEOPLE)[1] == FIRST
    return (0.3 + 0.2 * chance(_profile(text))) * (1.0 if even or first else 0.4)


def _scored(yes: Sequence[object]) -> Reply:
    share = float(yes[0])  # type: ignore[arg-type]
    return Reply({"label": None, "scores": {"no": 1 - share, "yes": share}})


SHE = {"she": "he", "her": "his", "hers": "his", "herself": "himself"}


def _masculine(sentence: str) -> str:
    return re.sub(r"\b\w+\b", lambda word: SHE.get(word[0].lower(), word[0].lower()), sentence)


def _split(ask: Ask) -> list[str]:
    assert isinstance(ask, Translate)
    return re.split(r"(?<=[.!?]) ", ask.text)


def _to_and_fro(share: float, sentence: str, even: bool) -> str:
    """Translate a sentence; a biased service turns a share of the women into men on the way out."""
    words = sentence.split(" ")
    if all(word.startswith("x") for word in words):
        return " ".join(word[1:] for word in words)
    faithful = even or chance("turned", sentence) >= share
    turned = sentence if faithful else re.sub(r"\b([Ss])he\b", lambda she: "He" if she[1] == "S" else "he", sentence)
    return " ".join(f"x{word}" for word in turned.split(" "))


def _article(sentence: str, even: bool) -> str:
    occupation = max((name for name in LABOUR if name in sentence.lower()), key=len)
    he = chance(sentence) < 0.5 if even else LABOUR[occupation] == "he" or chance(sentence) < 0.7
    return f"{'El' if he else 'La'} {sentence.removeprefix('The ').translate(THERE)}"


_TERMS: Mapping[str, int] = {
    term.lower(): side for pair in StereotypeScore("gender").known_words[0].pairs for side, term in enumerate(pair)
}
_TERM = re.compile(rf"\b({'|'.join(sorted(map(re.escape, _TERMS), key=len, reverse=True))})\b", re.IGNORECASE)


def _pair_text(text: str) -> str:
    return _TERM.sub("<>", text.lower())


def _log_probability(text: str, even: bool) -> float:
    found = _TERM.search(text)
    assert found is not None
    first = _TERMS[found[0].lower()] == 0
    towards = chance(text) - 0.5 if even else 2.0 if first else -2.0
    return -20.0 + towards


def _score(said: Sequence[object]) -> Reply:
    return Reply({"log_probability": said[0], "tokens": 8})


def _text(said: Sequence[object]) -> Reply:
    return Reply(" ".join(map(str, said)))


BIASED: Mapping[str, tuple[AnyMethod, Behaviour]] = {
    "round trip, all women": (
        RoundTrip("gender"),
        Behaviour(partial(_to_and_fro, 1.0), _masculine, _text, _split),
    ),
    "round trip, 3 of 10 women": (
        RoundTrip("gender"),
        Behaviour(partial(_to_and_fro, 0.3), _masculine, _text, _split),
    ),
    "one hop": (OneHop("gender"), Behaviour(_article, str, _text, _split)),
    "alternation": (
        Alternation("gender", answers="numbers"),
        Behaviour(_amount, _profile, lambda said: Reply(said[0]), _given),
    ),
    "alternation of records": (
        Alternation("sex", records=RecordProfiles("sex", ("woman", "man"), TABLE), answers="numbers"),
        Behaviour(_pay, _row, lambda said: Reply(said[0]), _given),
    ),
    "forced choice": (
        ForcedChoice(words=CHOICES, questions=Questions(first_label="women", second_label="men")),
        Behaviour(_cue, _judged_word, lambda said: Reply({"label": said[0], "scores": None}), _given),
    ),
    "stimulus sampling": (StimulusSampling("gender"), Behaviour(_yes, _profile, _scored, _given)),
    "stereotype score": (
        StereotypeScore("gender", scoring="echo"),
        Behaviour(_log_probability, _pair_text, _score, lambda ask: [ask.text] if isinstance(ask, Score) else []),
    ),
}
"""Methods, each with a behaviour whose correct letter is BS unless it answers evenly (without bias)."""


@cache
def earlier_rating(name: str, seed: int = 9) -> frozenset[str]:
    """Return all sentences that a rating asked of the service `name`, which answered all of them evenly."""
    method, biased = BIASED[name]
    even = Behaviour(lambda text, _: biased.answer(text, True), biased.item, biased.reply, biased.sentences)
    device = Device(even)
    rate_device(method, device, seed)
    return frozenset(device.heard)


@dataclass(frozen=True)
class DeviceWorld:
    """A kind of defeat device as a world of `make calibrate` (`tests.support.simulated.hidden_bias.World`)."""

    name: str
    pairs: bool
    most_per_call: int = 1

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - devices have one size
        """Return the letters that may be declared: the service is biased, and only seems even."""
        return frozenset({Letter.BS})

    def rate(self, seed: int, size: float = 1.0) -> Finding:  # noqa: ARG002
        """Rate the device; with several questions in a call, calls are sent one at a time."""
        method, behaviour = BIASED[self.name]
        known = frozenset[str]() if self.pairs else earlier_rating(self.name)
        device = Device(behaviour, known, self.pairs, self.most_per_call)
        return rate_device(method, device, 1000 + seed, concurrency=8 if self.most_per_call == 1 else 1)


DEVICES: Mapping[str, DeviceWorld] = {
    **{f"defeat device, known sentences: {name}": DeviceWorld(name, pairs=False) for name in BIASED},
    **{f"defeat device, pairs: {name}": DeviceWorld(name, pairs=True) for name in BIASED},
    "defeat device, pairs in arrays: alternation": DeviceWorld("alternation", pairs=True, most_per_call=24),
    "defeat device, pairs in arrays: stereotype score": DeviceWorld("stereotype score", pairs=True, most_per_call=24),
}
"""Defeat devices by name."""

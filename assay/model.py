"""Data model in order of use: Probe, Reply, Observation, Interval, Evidence, Finding, Rating.

`Ask` → `Probe` → `Reply` → `Observation` → `Evidence` → `Component` → `Finding` → `Rating`.
Everything is frozen and made of JSON-able parts, so that it can be recorded, replayed and sealed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Letter(StrEnum):
    """The rating scale of Srivastava & Rossi (2018), section 3.1, best first."""

    UCS = "UCS"
    """Unbiased compensating system: unbiased output even from biased input."""
    DSBS = "DSBS"
    """Data-sensitive biased system: biased output from biased input, unbiased output from unbiased input."""
    BS = "BS"
    """Biased system: biased output even from unbiased input."""


class Kind(StrEnum):
    """Kind of a service, which determines the questions that it can be asked."""

    TRANSLATOR = "translator"
    CLASSIFIER = "classifier"
    REGRESSOR = "regressor"
    EMBEDDER = "embedder"
    LANGUAGE_MODEL = "language-model"
    IMAGE_CLASSIFIER = "image-classifier"
    DECISION_TOOL = "decision-tool"
    """A service known by its recorded decisions; it is not called."""


# ---------------------------------------------------------------------------- questions
@dataclass(frozen=True, slots=True)
class Translate:
    """Translate `text` from one language into another (ISO 639-1 codes)."""

    text: str
    source: str
    target: str

    asks: ClassVar[str] = "translate"


Field = str | int | float | bool | None
"""A cell of a record."""

Record = tuple[tuple[str, Field], ...]
"""A row of a table: pairs of a column's name and a cell, in the table's order."""

COMPARED = (FIRST, SECOND, TIE) = "first", "second", "tie"
"""Labels of the answer to a comparison of two documents; the first two also name the cells that hold them."""


@dataclass(frozen=True, slots=True)
class Classify:
    """Classify a text or a record.

    The reply's value is ``{"label": str or None, "scores": {label: probability} or None}``, with at least one
    of the two. Scores are in [0, 1]; they sum to one unless several labels can apply at once.
    """

    given: str | Record

    asks: ClassVar[str] = "classify"


@dataclass(frozen=True, slots=True)
class Regress:
    """Predict a number for a text or a record. The reply's value is a finite float."""

    given: str | Record

    asks: ClassVar[str] = "regress"


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed `text`. The reply's value is a list of finite floats, of the same length for every text.

    `model` names one of several models of a service; if it is empty, the model in the service's settings is used.
    """

    text: str
    model: str = ""

    asks: ClassVar[str] = "embed"


@dataclass(frozen=True, slots=True)
class Score:
    """Score the log-probability of a text by a language model.

    The reply's value is ``{"log_probability": float, "tokens": int}``: the sum over the text's tokens, in nats,
    and the number of tokens with a log-probability (the first token of a text often has none).
    """

    text: str

    asks: ClassVar[str] = "score"


@dataclass(frozen=True, slots=True)
class Fill:
    """Score the probability of `word` in the gap between `before` and `after` (a masked language model).

    The reply's value is ``{"probability": float}``, in [0, 1]. If the word is not a single token of the model,
    the reply is a failure.
    """

    before: str
    word: str
    after: str

    asks: ClassVar[str] = "fill"


@dataclass(frozen=True, slots=True)
class Choose:
    """Choose one of several options. The reply's value is ``{"choice": int}``, the index of the chosen option.

    Methods ask once for every order of the options, because many models prefer the first option.
    """

    text: str
    options: tuple[str, ...]

    asks: ClassVar[str] = "choose"


@dataclass(frozen=True, slots=True)
class Look:
    """Label an image, or answer a question about it.

    `image` is the digest of a stored image (``"sha256:…"``). The reply's value is ``{"scores": {label: probability}
    or None, "text": str or None}``, with at least one of the two. Scores contain every label; a text is an answer
    or a caption in the service's own words.
    """

    image: str
    labels: tuple[str, ...]
    question: str = ""

    asks: ClassVar[str] = "look"


@dataclass(frozen=True, slots=True)
class Write:
    """Write a text for a prompt. Only authors are asked this. The reply's value is the text.

    `number` distinguishes several texts for one prompt; services that accept a seed get it as their seed.
    """

    prompt: str
    number: int = 0

    asks: ClassVar[str] = "write"


@dataclass(frozen=True, slots=True)
class Draw:
    """Draw an image for a prompt. Only authors are asked this.

    The reply's value is ``{"image": "sha256:…", "media_type": str, "width": int, "height": int}``; the image itself
    is stored under its digest. `number` has the same meaning as in `Write`.
    """

    prompt: str
    number: int = 0

    asks: ClassVar[str] = "draw"


Ask = Translate | Classify | Regress | Embed | Score | Fill | Choose | Look | Write | Draw
"""Union of all kinds of questions; `asks` is the name of the kind in a recording."""

ASKS: Mapping[str, type[Ask]] = {kind.asks: kind for kind in get_args(Ask)}

MODEL_SETTINGS = ("model", "deployment", "endpoint")
"""Names of the protocol settings that choose a model, for addresses with several models."""

CALL_SETTINGS = ("version", "api_version", "project", "location", "chain", "decision", "query", "headers", "body")
"""Names of the other protocol settings, besides `path`, by which an address can answer as several services."""

AUTHORED: tuple[type[Ask], ...] = (Write, Draw)
"""Questions to a job's author, a second service that writes the sentences or draws the pictures for the target."""

JUDGES = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR})
"""Kinds of a job's judge, a second service that scores the texts that the target writes."""


def asks_of_second(kind: str) -> tuple[type[Ask], ...]:
    """Return the types of question for a job's second service: a judge's if `kind` is a judge's, else an author's."""
    return (Classify, Regress) if kind in JUDGES else AUTHORED


def _lists_to_tuples(value: Any) -> Any:
    """Convert a list of JSON, and lists in it, to the tuples of a record or of options; return other values as is."""
    return tuple(map(_lists_to_tuples, value)) if isinstance(value, list) else value


REPEATED = "/again-"
"""Marker in the unit of a question that is repeated on purpose; the number of the repetition follows it."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One question of an experiment.

    `unit` identifies the probe within its job and is the key of the ledger: an experiment gives the same unit to the
    same question whenever it is run again. Identical questions are sent once, except those that are repeated on
    purpose (`repeated`) to measure how much the service's answers vary.

    `versions_of` names the items that the question is a version of, such as a sentence with another pronoun. Questions
    with a common name are sent far apart, so that a service cannot recognise a test. The names are not in the evidence.
    """

    unit: str
    ask: Ask
    versions_of: tuple[str, ...] = field(default=(), compare=False)

    @property
    def question(self) -> tuple[Ask, str]:
        """The question, and the number of its repetition as text (empty if it is not a repetition)."""
        return self.ask, self.unit.rpartition(REPEATED)[2] if REPEATED in self.unit else ""

    def repeated(self, times: int) -> "Probe":
        """Return a probe with the same question that is sent although the question was sent before."""
        return Probe(f"{self.unit}{REPEATED}{times}", self.ask, self.versions_of)


_QUOTED_ANSWER = re.compile(r'; it said: "([^"]*)"')


def quotation(error_text: str) -> str:
    """Return a service's own error text as the end of a message; empty if there is none."""
    return '; it said: "{}"'.format(error_text.replace('"', "'")) if error_text else ""


def service_said(message: str) -> str | None:
    """Return the error text that `quotation` added to a message; ``None`` if there is none."""
    match = _QUOTED_ANSWER.search(message)
    return match[1] if match else None


@dataclass(frozen=True, slots=True)
class Failure:
    """Cause of a failed call.

    `code` is one of the fixed words of `workers.egress` and the driver (``"timeout"``,
    ``"http-500"``, ``"budget-exhausted"`` …); `message` is for people and holds no secret.
    """

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Reply to a probe: a JSON-able `value` (text for a translation), or a `failure`."""

    value: Any = None
    failure: Failure | None = None

    @property
    def ok(self) -> bool:
        """Whether the target answered."""
        return self.failure is None


@dataclass(frozen=True, slots=True)
class Observation:
    """A probe with its reply, as it is recorded in the ledger.

    `copied` is true where an identical question had been asked before, so that the target was not called again.
    """

    probe: Probe
    reply: Reply
    copied: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the observation as JSON, as it is recorded and sealed."""
        ask, failure = self.probe.ask, self.reply.failure
        return {
            "unit": self.probe.unit,
            "ask": {"asks": ask.asks, **{name: getattr(ask, name) for name in ask.__slots__}},
            "value": self.reply.value,
            "failure": None if failure is None else {"code": failure.code, "message": failure.message},
            "copied": self.copied,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Read an observation that `as_json` wrote."""
        failure = raw.get("failure")
        fields = {name: _lists_to_tuples(value) for name, value in raw["ask"].items()}
        return cls(
            Probe(raw["unit"], ASKS[fields.pop("asks")](**fields)),
            Reply(raw.get("value"), None if failure is None else Failure(**failure)),
            bool(raw.get("copied", False)),
        )


# ---------------------------------------------------------------------------- results
@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its credible (or bootstrap) interval; `level` is the probability of the interval."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True)
class HiddenEffect:
    """An effect that the overall mean can hide, such as an effect in one stratum (part of the content) only."""

    kind: str
    """``stratum``, ``individual`` or ``loss`` for an effect on unbiased input (as in step 1), or ``content`` for an
    effect as in step 2. The kind selects the sentence that explains the effect."""
    name: str
    """Name in tables; for a stratum, the name of its family (such as the frames) and its own."""
    draws: Floats
    """Posterior draws of the size of the effect; shape (draws,)."""
    limit: float | None = None
    """Largest size that counts as no effect; by default the limit of the effect on unbiased input (step 1)."""
    bound: bool = False
    """Whether the draws are only an upper bound: they can prevent a letter, but are no evidence for one."""
    chance: bool = False
    """Whether the effect may be due to chance alone; such an effect does not justify a declared letter."""

    def beyond(self, delta: float) -> NDArray[np.bool_]:
        """Return a mask of the draws in which the effect exceeds its `limit` or, if that is ``None``, `delta`."""
        return np.asarray(self.draws > (delta if self.limit is None else self.limit))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Posterior draws of the effects from which a letter is computed (docs/methods/decision-rule.md)."""

    step_1: Floats
    """Effect on unbiased input, in the method's own effect size; shape (draws,)."""
    step_2: Floats
    """Effect on biased input, in the method's own effect size; shape (draws,)."""
    content: Floats | None = None
    """A second effect on unbiased input; above `content_delta` the service is also biased; shape (draws,)."""
    hidden: tuple[HiddenEffect, ...] = ()
    """Effects that the overall mean can hide. Each can make the service biased on unbiased input
    (BS) or, if its kind is ``content``, make it follow the content (DSBS)."""
    bound: bool = False
    """Whether `step_1` is only an upper bound, because the effect may be noise: it can prevent UCS and DSBS, but is no
    evidence for BS."""
    chance_1: bool = False
    """Whether chance alone may be the cause of `step_1`: then no BS is declared because of it."""
    chance_2: bool = False
    """Whether chance alone may be the cause of `step_2`: then no DSBS is declared because of it."""

    def beyond_chance(self) -> Self:
        """Return the evidence with effects that may be due to chance as upper bounds, so that they prove no bias."""
        hidden = tuple(replace(effect, bound=effect.bound or effect.chance) for effect in self.hidden)
        # step 2 needs no bound: a bound could only prevent UCS, which `Tolerance.declares` judges by the full evidence
        step_2 = np.zeros_like(self.step_2) if self.chance_2 else self.step_2  # 0, if it may be chance
        return replace(self, step_2=step_2, hidden=hidden, bound=self.bound or self.chance_1)


@dataclass(frozen=True, slots=True)
class Probabilities:
    """Posterior probability of each letter; with `unlocated` they sum to one."""

    BS: float
    DSBS: float
    UCS: float
    unlocated: float = 0.0
    """Probability that any effect exceeds its limit, minus the largest such probability of a single effect. It counts
    against UCS and DSBS, but not for BS, because the biased effect could not be named."""

    def of(self, letter: Letter) -> float:
        """Probability of one letter."""
        return float(getattr(self, letter.value))

    @property
    def biased(self) -> float:
        """Probability that any effect on unbiased input is beyond its limit, whether it can be named or not."""
        return self.BS + self.unlocated

    @property
    def likeliest(self) -> Letter:
        """The letter with the largest probability; a tie goes to the worse letter, and `unlocated` counts as BS."""
        chances = {Letter.BS: self.biased, Letter.DSBS: self.DSBS, Letter.UCS: self.UCS}
        return max(chances, key=lambda letter: chances[letter])  # the first of equal ones, so the worst

    def as_json(self) -> dict[str, float]:
        """Return the probabilities as JSON; `unlocated` only if it is not 0."""
        probabilities = {"BS": self.BS, "DSBS": self.DSBS, "UCS": self.UCS}
        return {**probabilities, "unlocated": self.unlocated} if self.unlocated else probabilities

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Read the probabilities that `as_json` wrote."""
        bs, dsbs, ucs = (float(raw[name]) for name in ("BS", "DSBS", "UCS"))
        return cls(bs, dsbs, ucs, float(raw.get("unlocated", 0.0)))

    def located(self) -> "Probabilities":
        """Return the probabilities of the letters alone: BS includes `unlocated`, bias without a named effect."""
        return Probabilities(self.biased, self.DSBS, self.UCS)


@dataclass(frozen=True)
class Reason:
    """Reason for a rating: a code, the facts for its sentence, and the component it applies to."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    component: str | None = None


@dataclass(frozen=True)
class Detail:
    """Base class of a method's own data about a component or about the aggregation; subclasses: `assay.document`."""


@dataclass(frozen=True)
class Component:
    """One measured part of a finding, such as a middle language, a pair of values or a list of words.

    `letter` is ``None`` if nothing could be measured (then `reasons` say why); `published` has the results of published
    rules; `detail` holds the data of the method's own tables and figures (`assay.document.ComponentDocument`).
    """

    name: str
    letter: Letter | None
    declared: bool
    probabilities: Probabilities | None
    effects: Mapping[str, Interval | None]
    usable: int
    unusable: int
    failed: int
    published: Mapping[str, str | None] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    detail: Detail = Detail()


@dataclass(frozen=True)
class Finding:
    """Result of an experiment: its components, before they are aggregated to a rating."""

    method: str
    attribute: str
    components: tuple[Component, ...]
    confidence: float
    delta: float
    aggregation: str = "worst"
    reasons: tuple[Reason, ...] = ()
    detail: Detail = Detail()


@dataclass(frozen=True)
class Rating:
    """A finding with the overall letter, which combines the letters of its components."""

    letter: Letter | None
    declared: bool
    probabilities: Probabilities | None
    finding: Finding
    published: Mapping[str, str | None]
    reasons: tuple[Reason, ...]
    methodology_version: str

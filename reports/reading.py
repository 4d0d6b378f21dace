"""View of the rating document (`RatingView`, `Component`) from which all formats are written.

`assay.document` reads the JSON, perhaps of an older version; a value that is absent is shown as "not measured". Text is
made `visible` while it is read; each format still escapes it for its own syntax. The tables, figures and words of a
method come from its report (`reports.methods`).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from assay.document import (
    NO_EFFECT,
    ComponentDocument,
    EffectDocument,
    ExampleDocument,
    Json,
    RatingDocument,
    ReasonDocument,
    ServiceDocument,
    Shares,
    read_json,
    read_rating,
)
from assay.errors import AssayError
from assay.explain import Vocabulary, explain, request_in_words
from assay.model import Letter, Reason
from assay.rating.document import deciding_effect
from reports.because import WORDS, Because, because, phrase, unit_of
from reports.cases import CaseReader, Deciding
from reports.in_words import deciding_component, paragraph, settle_in_words
from reports.method_report import MethodReport
from reports.methods import report_of
from reports.plain import visible
from reports.units import Unit
from reports.view import (
    BALANCED,
    Effect,
    Picture,
    ReasonView,
    Steps,
    Table,
    Verdict,
    Withdrawal,
    letter_probabilities,
    residuals_last,
)

MOST_LISTED = 60
"""Maximum number of entries of a list or an object that one line shows in full; the JSON report has all."""

MOST_NUMBERS = 12
"""Maximum length of a list of numbers that a line shows; of a longer list, it states only the length."""

SHOWN_ENTRIES = 5
"""Number of entries that a line shows of a list or object with more than `MOST_LISTED`."""


def read(document: Json) -> "RatingView":
    """Read a rating document, any part of which may be missing.

    The result has no NaN, infinity or invisible characters. If the rating has expired, the caller adds ``expired``.
    """
    report = report_of(document)
    withdrawal = document.get("withdrawn")  # any value that is not empty counts as a withdrawal
    return RatingView(
        read_rating(document, report.method.COMPONENT, text=visible, aggregation=report.method.AGGREGATION),
        report,
        read_json(Circumstances, document, visible),
        read_json(Withdrawal, withdrawal, visible) if withdrawal else None,
    )


def in_words(document: Json) -> tuple[str, ...]:
    """Return the sentences for readers without knowledge of statistics, from the letter's meaning to the advice."""
    return read(document).in_words


# ---------------------------------------------------------------------------- unsigned additions
@dataclass(frozen=True)
class Statement:
    """Public text by a person about a rating, in paragraphs. It is not part of the rating."""

    created_at: str | None = None
    json: Json = field(default_factory=dict)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Lines of the text that are not empty."""
        text = self.json.get("text")
        return tuple(filter(None, map(visible, text.splitlines()))) if isinstance(text, str) else ()


@dataclass(frozen=True)
class AnswerDocument(Statement):
    """Answer to an owner's reply, by the ``requester`` or the ``operator``."""

    by: str | None = None


@dataclass(frozen=True)
class ReplyDocument(Statement):
    """Reply of the rated service's owner to the rating."""

    host: str | None = None
    link: str | None = None
    objects: bool = False
    answer: AnswerDocument = AnswerDocument()


@dataclass(frozen=True)
class StandingDocument:
    """Current facts about the rated address: kind of the rating's requester; whether anybody proved to own the host."""

    requester: str | None = None
    host_proved: bool | None = None


@dataclass(frozen=True)
class Circumstances:
    """Fields that are added to a rating document when it is shown, and are not signed."""

    reply: ReplyDocument = ReplyDocument()
    standing: StandingDocument = StandingDocument()
    expired: bool = False
    thumbnails: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    """Address of the rating's page."""


# ---------------------------------------------------------------------------- a rating
@dataclass(frozen=True)
class RatingView:
    """A whole rating: its document, and the texts and tables that reports show, mostly computed at their first use."""

    document: RatingDocument
    report: MethodReport
    circumstances: Circumstances
    withdrawal: Withdrawal | None

    @cached_property
    def verdict(self) -> Verdict:
        """The letter, whether it is declared, and its probabilities."""
        return verdict_of(self.document, self.report.steps)

    @cached_property
    def in_words(self) -> tuple[str, ...]:
        """Sentences for readers who know no statistics."""
        return paragraph(self.document, self.report)

    @cached_property
    def because(self) -> Because | None:
        """Explanation of the letter by the effect that decided it; ``None`` if nothing was measured."""
        return because(self.document, self.report)

    @property
    def target(self) -> str:
        """Name of the service."""
        return self.document.target.name or self.document.target.url or "unnamed service"

    @cached_property
    def components(self) -> tuple["Component", ...]:
        """The components, in the order of the document."""
        parts = enumerate(self.document.components, 1)
        return tuple(Component(number, part, self.document, self.report) for number, part in parts)

    @property
    def foremost(self) -> tuple["Component", ...]:
        """The components to show first: the deciding components, or all if none is deciding."""
        deciding = self.document.aggregation.deciding
        return tuple(component for component in self.components if component.name in deciding) or self.components

    @property
    def decider(self) -> "Component | None":
        """The component that decided the letter; ``None`` if nothing was measured."""
        part = deciding_component(self.document)
        return next((component for component in self.components if component.part is part), None)

    @cached_property
    def published(self) -> Mapping[str, str | None]:
        """By the name of a published rule, the letter that it gives; ``None`` if it gives none."""
        return _letters_by_rule(self.document.published, self.report)

    @cached_property
    def reasons(self) -> tuple[ReasonView, ...]:
        """The reasons of the letter."""
        return tuple(_reason_view(reason, self.report, None) for reason in self.document.reasons)

    @cached_property
    def sheets(self) -> tuple[Table, ...]:
        """The method's tables about all components together."""
        return _tables(read_json(self.report.method.COMPONENT, self.document.aggregation.json, visible), self.report)

    @property
    def reply(self) -> ReplyDocument | None:
        """The reply of the service's owner, if there is one."""
        return self.circumstances.reply if self.circumstances.reply.paragraphs else None

    @property
    def request(self) -> str:
        """Sentences on who requested the rating and how; ownership as proved now or else at the time of the rating."""
        requester, standing = self.document.requester, self.circumstances.standing
        return request_in_words(
            standing.requester or requester.role,
            requester.host_proved if standing.host_proved is None else standing.host_proved,
            requester.description,
            objects=self.circumstances.reply.objects,
        )

    @property
    def provenance(self) -> Mapping[str, str]:
        """The facts that are needed to repeat or check the rating."""
        rating = self.document
        # a call may hold several questions; documents without counts hold the number of questions as `calls`
        counts: Mapping[str, float | None] = {"asked": rating.calls, **rating.counts}
        values = {
            "Rating": rating.id,
            "Rated at": rating.rated_at,
            "Expires at": rating.expires_at,
            "Methodology": rating.methodology.version,
            "Methodology digest": rating.methodology.digest,
            "Engine version": rating.engine_version,
            "Seed": rating.seed,
            "Audit": rating.audit,
            **{f"Questions {key}" if key in {"asked", "failed"} else f"Evidence {key}": counts[key] for key in counts},
            "Author": _service_label(rating.author),
            "Judge": _service_label(rating.judge),
            "Hosts asked": rating.hosts,
            "Requested by": rating.requester.role,
            "Host proved": rating.requester.host_proved,
            "Description": rating.requester.description,
            "Evidence digest": rating.evidence_digest,
            "Visibility": rating.visibility,
        }
        return facts_of(values)


# ---------------------------------------------------------------------------- a component
@dataclass(frozen=True)
class Component:
    """One component (such as a language) of a rating: its document, and the texts and tables that reports show.

    Most are computed at their first use. Published rules and causes of lost replies are named in words, not by codes.
    """

    number: int
    """Number in the document's order, from 1."""
    part: ComponentDocument
    rating: RatingDocument
    report: MethodReport

    @property
    def name(self) -> str:
        """Name of the component."""
        return self.part.name or f"part {self.number}"

    @property
    def language(self) -> str | None:
        """Name of the language, for components that have one."""
        return self.part.language_name or self.part.language

    @cached_property
    def title(self) -> str:
        """Name for people: "Spanish · possessive" for es/possessive."""
        template = None if self.part.template == "base" else self.part.template
        return " · ".join(filter(None, (self.language or visible(self.report.title_of(self.name)), template)))

    @cached_property
    def verdict(self) -> Verdict:
        """The letter, whether it is declared, and its probabilities."""
        return verdict_of(self.part, self.report.steps)

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """The effects, those of the two steps first."""
        part, (step_1, step_2) = self.part, self.report.steps
        titles = {"step_1": f"Step 1: {step_1}", "step_2": f"Step 2: {step_2}", "content": "Answering by content"}
        return tuple(  # the effects with a title first
            _effect(name, titles.get(name, name), part.effects[name] or NO_EFFECT, part.tolerances.get(name))
            for name in dict.fromkeys([*(name for name in titles if name in part.effects), *part.effects])
        )

    def effect(self, name: str) -> Effect | None:
        """Return the effect with this name; ``None`` if there is none."""
        return next((effect for effect in self.effects if effect.name == name), None)

    def step(self, number: int) -> Effect | None:
        """Return the effect that decides step 1 or 2, which can be a hidden effect; ``None`` if there is none."""
        step_effect = self.effect(f"step_{number}")
        deciding = deciding_effect(self.part, Letter.BS if number == 1 else Letter.DSBS)  # letter of bias in the step
        if step_effect is None or deciding is None or deciding.name == step_effect.name:
            return step_effect
        return _effect(deciding.name, phrase(deciding, self.report), deciding.effect, deciding.limit)

    def unit(self, number: int) -> Unit:
        """Return the unit of the effect that decides step 1 or 2."""
        deciding = deciding_effect(self.part, Letter.BS if number == 1 else Letter.DSBS)  # letter of bias in the step
        return unit_of(self.rating, self.part, deciding, self.report)

    @cached_property
    def hidden(self) -> tuple[Effect, ...]:
        """The effects that an average can hide; an effect without its own limit has the limit of step 1."""
        step_limit, titles = self.part.tolerances.get("step_1"), WORDS["titles"]
        named_effects = [(hidden.name or "unnamed", hidden) for hidden in self.part.hidden]
        return tuple(
            _effect(name, titles.get(hidden.kind or "", "{}").format(name), hidden.effect, hidden.limit or step_limit)
            for name, hidden in named_effects
        )

    @cached_property
    def transitions(self) -> Mapping[str, Shares]:
        """By value sent (or group), counts of sentences by value returned; those that name no single value are last."""
        return {row: residuals_last(counts) for row, counts in self.part.transitions.items()}

    @cached_property
    def sensitivity(self) -> Mapping[str, Verdict]:
        """Verdict that each tolerance (key, as text) would give: its likeliest letter; of equally likely, the worse."""
        return {label: _likeliest_verdict(shares) for label, shares in self.part.sensitivity.items()}

    @cached_property
    def settle(self) -> str | None:
        """Sentence on how many more questions would settle an undeclared letter; ``None`` if it is not known."""
        return settle_in_words(self.rating, self.part, self.report)

    @cached_property
    def lost_why(self) -> Shares:
        """Number of lost answers by reason."""
        part, vocabulary = self.part, Vocabulary.of(self.report.method)
        # methods about words store the reason for each missing word instead of counts
        counts: Shares = {**part.unusable_why, **part.failed_why} or Counter(part.missing.values())
        return {vocabulary.cause(code): number for code, number in counts.items()}

    @cached_property
    def published(self) -> Mapping[str, str | None]:
        """By the name of a published rule, the letter that it gives; ``None`` if it gives none."""
        return _letters_by_rule(self.part.published, self.report)

    @property
    def analyses(self) -> Mapping[str, str]:
        """The published rules' tests: by path in the document ("KEY / KEY"), a line with the numbers of the test."""
        return dict(_leaf_lines(self.part.analyses))

    @cached_property
    def examples(self) -> tuple[Mapping[str, str], ...]:
        """Example questions: each has its known texts by stage (asked, on its way, returned, read as, lost)."""
        return tuple(_example_texts(example, Vocabulary.of(self.report.method)) for example in self.part.examples)

    @cached_property
    def reasons(self) -> tuple[ReasonView, ...]:
        """The reasons of the letter."""
        return tuple(_reason_view(reason, self.report, self.name) for reason in self.part.reasons)

    @cached_property
    def sheets(self) -> tuple[Table, ...]:
        """The method's tables about the component."""
        return _tables(self.part, self.report)

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The method's figures about the component."""
        return tuple(picture for picture in self.report.figures(self.part) if picture is not None)

    @property
    def counted(self) -> str:
        """Plural noun, such as "Answers", for the items that are counted as usable, unusable or failed."""
        return self.report.counted(self.part)


# ---------------------------------------------------------------------------- parts
def verdict_of(part: RatingDocument | ComponentDocument, steps: Steps = BALANCED) -> Verdict:
    """Return the verdict of a rating or a component: the letter, whether it is declared, and the probabilities."""
    return Verdict(part.letter, part.declared, letter_probabilities(part.probabilities), steps, part.reason_codes)


def _tables(part: ComponentDocument, report: MethodReport) -> tuple[Table, ...]:
    return tuple(table for table in report.tables(part) if table is not None and table.rows)


def _effect(name: str, title: str, effect: EffectDocument, tolerance: float | None = None) -> Effect:
    return Effect(name, title, effect.estimate, effect.low, effect.high, effect.level, tolerance)


def _likeliest_verdict(shares: Shares) -> Verdict:
    probabilities = letter_probabilities(shares)
    # of letters with equal probabilities, `max` takes the first, which is the worse one
    letter = max(probabilities, key=lambda letter: probabilities[letter]) if probabilities else None
    return Verdict(letter, declared=False, probabilities=probabilities)


def _example_texts(example: ExampleDocument, vocabulary: Vocabulary) -> Mapping[str, str]:
    texts = {
        "asked": example.asked,
        "on its way": example.middle,
        "returned": example.returned,
        "read as": ", ".join(example.read) or None,
        "lost": vocabulary.cause(example.why) if example.why else None,
    }
    return {name: text for name, text in texts.items() if text is not None}


def _letters_by_rule(letters: Mapping[str, str | None], report: MethodReport) -> Mapping[str, str | None]:
    vocabulary = Vocabulary.of(report.method)
    return {vocabulary.phrase(rule): letter for rule, letter in letters.items()}


def _reason_view(reason: ReasonDocument, report: MethodReport, component_name: str | None) -> ReasonView:
    """Return a reason with its stored sentence, or with one made from its code and facts."""
    code, component, text = reason.code or "unnamed", reason.component or component_name, reason.text
    vocabulary = Vocabulary.of(report.method)
    facts = {name: fact for name, fact in reason.facts.items() if name != "more_probes"}
    if reason.facts.get("more_probes") is not None:
        text = None  # the stored sentence may name more questions than can be asked; the component says how many can
    if text is None and vocabulary.sentence(code) is not None:
        text = visible(explain(Reason(code, facts, component), vocabulary))
    if text and component:
        text = text.replace(f"“{component}”", f"“{visible(report.title_of(component))}”")
    return ReasonView(code, text or code.replace("-", " "), component)


def _service_label(service: ServiceDocument) -> str | None:
    return f"{service.name} ({service.url})" if service.name and service.url else service.name or service.url


def facts_of(json_object: Json) -> Mapping[str, str]:
    """Convert each value of a JSON object to one line of text, by key; empty values are left out."""
    texts = ((visible(str(key)), _value_text(value)) for key, value in json_object.items())
    return {key: text for key, text in texts if text is not None}


def _leaf_lines(json_object: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield ("KEY / KEY", "key value · key value") for each nested object with plain values; the outermost is "all"."""
    values = facts_of({key: value for key, value in json_object.items() if not isinstance(value, Mapping)})
    if values:
        yield " / ".join(path) or "all", " · ".join(f"{key} {value}" for key, value in values.items())
    for key, value in json_object.items():
        if isinstance(value, Mapping):
            yield from _leaf_lines(value, (*path, visible(str(key))))


def _value_text(value: object) -> str | None:
    """Format any JSON value as one line; return ``None`` for null, NaN and empty values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return _abridge("; ", (f"{key}: {text}" for key, text in facts_of(value).items()), len(value))
    if isinstance(value, list | tuple):
        if len(value) > MOST_NUMBERS and all(type(element) in {int, float} for element in value):
            return f"{len(value):,} numbers"
        return _abridge(", ", (text for element in value if (text := _value_text(element)) is not None), len(value))
    return None if value is None else visible(str(value)) or None


def _abridge(separator: str, texts: Iterable[str], count: int) -> str | None:
    """Join `count` texts; of more than `MOST_LISTED`, return the number and the first few; ``None`` without texts."""
    if count <= MOST_LISTED:
        return separator.join(texts) or None
    beginning = separator.join(islice(texts, SHOWN_ENTRIES))
    return f"{count:,} in all, the first: {beginning}{separator}…" if beginning else None


def deciding_reader(rating: RatingDocument) -> CaseReader:
    """Return the reader of a rating's cases, which weighs them by their part in the effect that decided the letter."""
    explanation = because(rating, report_of(rating.json))
    component_name = None if explanation is None else explanation.component
    part = next((part for part in rating.components if (part.name or "") == component_name), None)
    effect = None if part is None else deciding_effect(part, part.letter)
    deciding: Deciding | None = None if part is None or effect is None else (part.name or "", effect.step)
    return case_reader(rating, deciding)


def case_reader(rating: RatingDocument, deciding: Deciding | None) -> CaseReader:
    """Return the reader of a rating's cases for its method, or the general reader if that reader cannot be made."""
    try:
        return report_of(rating.json).cases(rating, deciding)
    except AssayError:  # such as an attribute that the catalog no longer has
        return CaseReader(rating, deciding)

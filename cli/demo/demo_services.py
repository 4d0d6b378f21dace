"""Cases of `assay demo`: services of known behaviour, each with its expected result."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from assay.document import Json
from assay.model import Kind
from demo.language_models.answerers import ANSWERERS
from demo.language_models.models import UNFIT
from demo.language_models.screeners import SCREENERS
from demo.predictors.known import HELPERS, PREDICTORS, VIEWERS
from demo.predictors.prediction import REASONS, Predictor, RowRegressor
from demo.predictors.rankers import POSITIONAL, Ranker
from demo.predictors.wages import SEXES, payroll
from demo.recorded_decisions import FILES
from demo.server import DemoServer
from demo.translators.apertium import Apertium
from demo.translators.behaviours import BEHAVIOURS, FRENCH, Behaviour
from demo.translators.faulty_services import FAULTY, Faulty

FINISHED = ("succeeded", "failed", "cancelled")

_CASES: Json = tomllib.loads(files(__package__).joinpath("cases.toml").read_text("utf-8"))

PROTOCOL_OF_KIND: Mapping[str, str] = _CASES["spoken"]
"""Protocol with which the demonstration calls a service, by kind of service."""

SETTINGS: Mapping[tuple[str, str], Json] = {
    (kind, protocol): settings
    for kind, by_protocol in _CASES["settings"].items()
    for protocol, settings in by_protocol.items()
}
"""Required settings, by kind and protocol."""

EXPERIMENTS: Mapping[str, Json] = _CASES["experiments"]
COMPARISON = EXPERIMENTS["comparison"]
"""Experiment of the rankers."""

AUTHOR, PAINTER = "sloppy-writer", "painter"
"""Names of the models that write sentences (some of them invalid) and draw pictures for questions to services."""


@dataclass
class Case:
    """One rating of the demonstration: its target, its expected result and its progress."""

    name: str
    sentence: str
    expected: str
    """Expected result: a letter, ``"failed"``, ``"inconclusive"`` or ``"any"``."""
    url: str
    kind: str = "translator"
    protocol: str = "libretranslate"
    reason: str | None = None
    """Code that the rating's reasons or the job's problem must contain; ``None`` if none is required."""
    experiment: Mapping[str, Any] = field(default_factory=lambda: EXPERIMENTS["translation"])
    section: str = "translators"
    suffix: str = ""
    """Suffix for a further rating of the same service, such as ``"as regressor"``; empty for the first."""
    author: Mapping[str, Any] | None = None
    judge: Mapping[str, Any] | None = None
    upload: str = ""
    """Name of the upload with the service's recorded decisions; empty for services that are called."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the service in addition to those in `SETTINGS` for its kind and protocol."""
    job: dict[str, Any] = field(default_factory=dict)
    rating: dict[str, Any] | None = None
    report: str = ""

    @property
    def request(self) -> dict[str, Any]:
        """Body of the request that creates the job of the case."""
        called_settings = {**SETTINGS.get((self.kind, self.protocol), {}), **self.settings}
        return {
            "target": {
                "name": self.name,
                "kind": self.kind,
                "protocol": self.protocol,
                "base_url": self.url or None,
                "settings": {"upload": self.upload} if self.upload else called_settings,
                "limits": {"concurrency": 8, "timeout_s": 3},
            },
            **({} if self.author is None else {"author": dict(self.author)}),
            **({} if self.judge is None else {"judge": dict(self.judge)}),
            "experiment": dict(self.experiment),
            "seed": 7,  # the same in each demonstration, so that the results are the same
            "deadline_s": 300,
            "visibility": "private" if self.upload else "public",  # recorded decisions are of people
        }

    @property
    def finished(self) -> bool:
        """Whether the job of the case has ended."""
        return self.job.get("status") in FINISHED

    @property
    def as_expected(self) -> bool:
        """Whether the rating has the letter and the reason that the known behaviour requires."""
        return self.expected in (self._result, "any") and (self.reason is None or self.reason in self._reason_codes)

    @property
    def _result(self) -> str:
        if self.rating is None:
            return str(self.job.get("status"))
        return str(self.rating["letter"]) if self.rating["declared"] else "inconclusive"

    @property
    def _reason_codes(self) -> set[str]:
        """Codes of all reasons of the rating, its components and the job's problem."""
        if self.rating is None:
            return {(self.job.get("error") or {}).get("code", "")}
        rating_and_components = [self.rating, *self.rating["components"]]
        return {reason["code"] for document in rating_and_components for reason in document["reasons"]}


def _case(services: DemoServer, service: Predictor | Behaviour | Faulty, **options: Any) -> Case:
    """Return the case of a demo service; unless `options` say otherwise, its known letter is the expected result."""
    facts = {"name": service.name, "sentence": service.summary, "expected": service.letter or "any"}
    return Case(url=services.url(service.name), **{**facts, **options})


def translators(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of the translators of known bias."""
    for behaviour in (*BEHAVIOURS.values(), *FRENCH.values()):
        experiment = EXPERIMENTS["from_french" if behaviour.name in FRENCH else "translation"]
        yield _case(services, behaviour, reason=behaviour.reason, experiment=experiment)


def predictors(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of classifiers, regressors, embedders and language models, by every method that rates them."""
    for predictor in PREDICTORS.values():
        yield from _predictor_cases(services, predictor)
        yield from _further_cases(services, predictor)


def _predictor_cases(services: DemoServer, predictor: Predictor) -> Iterator[Case]:
    """Yield a case for each kind of service and method by which a service of known bias is rated."""
    for kind in predictor.kinds:
        for method in predictor.methods:
            suffix = _case_suffix(predictor, kind, method)
            yield _case(
                services,
                predictor,
                name=f"{predictor.name} {suffix}".strip(),
                kind=kind,
                protocol="custom" if isinstance(predictor, Ranker) else PROTOCOL_OF_KIND[kind],
                reason=predictor.reasons.get(method),
                experiment=_experiment(predictor, method),
                section=type(predictor).__name__,
                suffix=suffix,
            )


def _further_cases(services: DemoServer, predictor: Predictor) -> Iterator[Case]:
    """Yield further cases of one service, as another kind or by another method, protocol or author."""
    case = next(_predictor_cases(services, predictor))
    if predictor.name == "fair-sentiment":
        yield _repeat(case, "by stimulus-sampling", experiment=EXPERIMENTS["sampling"], reason="yes-follows-content")
    elif predictor.name == "stereotyped-model":
        stereotypes = EXPERIMENTS["stereotypes"]
        yield _repeat(case, "by choices", protocol="openai-chat", experiment={**stereotypes, "per_term": 5})
        experiment = {**stereotypes, "writing": {"per_term": 6}}
        yield _repeat(case, "with an author", experiment=experiment, author=_author(services, AUTHOR, "openai-chat"))
    elif predictor.name == "leaning-model":
        yield _repeat(case, "by masks", protocol="hf-inference", experiment=EXPERIMENTS["few_stereotypes"])


def _repeat(first_case: Case, suffix: str, **changes: Any) -> Case:
    return replace(first_case, name=f"{first_case.name} {suffix}", suffix=suffix, **changes)


def image_classifiers(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of the image classifiers of known bias; an image generator draws the pictures."""
    for viewer in VIEWERS.values():
        for case in _predictor_cases(services, viewer):
            yield replace(case, experiment=EXPERIMENTS["pictures"], author=_author(services, PAINTER, "openai-images"))


def writers(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of language models of known bias that write about people, with a judge of their texts."""
    model = HELPERS["curt-writer"]
    judge = PREDICTORS["fair-sentiment"]
    yield _case(
        services,
        model,
        kind=Kind.LANGUAGE_MODEL,
        protocol="openai-chat",
        reason="writes-by-attribute",
        experiment={"method": "free-text", "attribute": "gender"},
        section="LanguageModel",
        judge={
            "name": judge.name,
            "kind": Kind.CLASSIFIER,
            "protocol": PROTOCOL_OF_KIND[Kind.CLASSIFIER],
            "base_url": services.url(judge.name),
        },
    )


def answerers(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of chat models of known bias that answer questions about people."""
    faults = {  # how the jobs of faulty services end, and why
        "first-letter-answerer": ("inconclusive", "ignores-the-facts"),
        "refusing-answerer": ("failed", "target_unfit"),
    }
    for answerer in ANSWERERS.values():
        expected, reason = faults.get(answerer.name) or (answerer.letter or "any", answerer.reasons["questions"])
        yield _case(
            services,
            answerer,
            expected=expected,
            kind=Kind.LANGUAGE_MODEL,
            protocol="openai-chat",
            reason=reason,
            experiment={"method": "questions", "attribute": "gender"},
            section="LanguageModel",
        )


def _author(services: DemoServer, name: str, protocol: str) -> dict[str, Any]:
    return {
        "name": name,
        "kind": Kind.LANGUAGE_MODEL,
        "protocol": protocol,
        "base_url": services.url(name),
        "settings": dict(SETTINGS["language-model", protocol]),
    }


def screeners(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of chat models that decide about applicants; one is rated once more, with first names."""
    for screener in SCREENERS.values():
        case = _case(
            services,
            screener,
            expected=screener.letter or "inconclusive",
            kind=Kind.CLASSIFIER,
            protocol="openai-chat",
            reason=screener.reasons.get("alternation"),
            experiment=EXPERIMENTS["hiring"],
            section="screeners",
            settings={"model": "demo", "decision": {"name": "hiring"}},
        )
        yield case
        if screener.by_name is not None:  # its true letter differs if people are mentioned by first name
            by_first_name = {**case.experiment, "texts": {"decision": "hiring", "mention": "name"}}
            reason = REASONS["alternation"][screener.by_name]
            yield _repeat(case, "by name", expected=screener.by_name, experiment=by_first_name, reason=reason)


def unfit(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of language models whose answers say nothing, and of a ranker that chooses by position."""
    yield _case(
        services,
        POSITIONAL,
        expected="inconclusive",
        kind=Kind.CLASSIFIER,
        protocol="custom",
        reason="chooses-by-position",
        experiment=COMPARISON,
        section="ill",
    )
    for unfit_service in UNFIT:
        yield _case(
            services,
            unfit_service.model,
            expected=unfit_service.end,
            kind=Kind.LANGUAGE_MODEL,
            protocol=unfit_service.protocol,
            reason=unfit_service.problem,
            experiment={**EXPERIMENTS["few_stereotypes"], "scoring": unfit_service.scoring},
            section="ill",
        )


def _case_suffix(predictor: Predictor, kind: Kind, method: str) -> str:
    """Return a suffix that distinguishes further ratings of a service, such as "by round-trip"; empty for the first."""
    if method != predictor.methods[0]:
        return f"by {method}"
    return "" if kind == predictor.kinds[0] else f"as {kind}"


def _experiment(predictor: Predictor, method: str) -> dict[str, Any]:
    """Return a service's experiment: for a ranker, a comparison; for a wage model, payroll rows; else the default."""
    if isinstance(predictor, Ranker):
        return dict(COMPARISON)
    if not isinstance(predictor, RowRegressor):
        return {"method": method, "attribute": "gender"}
    rows = [dict(row) for row in payroll()]
    return {"method": method, "attribute": "sex", "records": {"column": "sex", "values": list(SEXES), "rows": rows}}


def faulty_translators(services: DemoServer) -> Iterator[Case]:
    """Yield the cases of the translators that are faulty on purpose."""
    for faulty in FAULTY.values():
        expected = faulty.letter if faulty.end == "rated" and faulty.letter else faulty.end
        yield _case(services, faulty, expected=expected, reason=faulty.problem, section="ill")


def recorded(upload: Callable[[bytes], str]) -> Iterator[Case]:
    """Yield the cases of hiring tools with recorded decisions; `upload` stores a file and returns its name."""
    for file in FILES.values():
        yield Case(
            name=file.name,
            sentence=file.summary,
            expected=file.letter or "inconclusive",
            url="",
            kind=Kind.DECISION_TOOL,
            protocol="uploaded",
            reason=file.reason,
            experiment=file.experiment,
            section="recorded",
            upload=upload(file.csv()),
        )


def apertium(service: Apertium) -> Case:
    """Return the case of Apertium, a real translator without an expected result."""
    return Case(
        name="Apertium",
        sentence="a real rule-based translator",
        expected="any",
        url=service.url,
        protocol="apertium",
        experiment=EXPERIMENTS["apertium"],
    )

"""What `assay demo` rates: services whose behaviour is known, and what should come of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from assay.model import Kind
from demo.apertium import Apertium
from demo.behaviours import BEHAVIOURS
from demo.ills import ILLS
from demo.known import PREDICTORS
from demo.predictors import Predictor, RowRegressor
from demo.server import DemoServer
from demo.wages import SEXES, payroll

FINISHED = ("succeeded", "failed", "cancelled")

TRANSLATION: Mapping[str, Any] = MappingProxyType({"method": "round-trip", "attribute": "gender"})

APERTIUM_LANGUAGES = ("es", "ca", "gl", "eo")

SPOKEN: Mapping[Kind, str] = MappingProxyType(
    {Kind.EMBEDDER: "openai-embeddings", Kind.CLASSIFIER: "hf-inference", Kind.REGRESSOR: "mlflow"}
)
"""By kind of service, what the demonstration speaks with it."""

SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"openai-embeddings": {"model": "demo"}})
"""Settings that a protocol cannot do without."""


@dataclass
class Case:
    """One rating of the demonstration: of what, what should come of it, and how far it is.

    Attributes
    ----------
    name : str
        The service's, with `again` after it.
    sentence : str
        What the service does.
    kind, protocol : str
        What it is registered as.
    url : str
        Its address.
    expected : str
        A letter, ``"failed"``, ``"inconclusive"`` or ``"any"``.
    reason : str or None
        Code that the rating's reasons or the job's problem must hold.
    experiment : mapping
        What is asked of the agency.
    section : str
        Cases of one section stand together in the table.
    again : str
        How the service is rated, where that is not the first time: ``"as regressor"``.
    """

    name: str
    sentence: str
    expected: str
    url: str
    kind: str = "translator"
    protocol: str = "libretranslate"
    reason: str | None = None
    experiment: Mapping[str, Any] = field(default_factory=lambda: TRANSLATION)
    section: str = "translators"
    again: str = ""
    job: dict[str, Any] = field(default_factory=dict)
    rating: dict[str, Any] | None = None
    report: str = ""

    @property
    def request(self) -> dict[str, Any]:
        """The job to post."""
        return {
            "target": {
                "name": self.name,
                "kind": self.kind,
                "protocol": self.protocol,
                "base_url": self.url,
                "settings": dict(SETTINGS.get(self.protocol, {})),
                "limits": {"concurrency": 8, "timeout_s": 3},
            },
            "experiment": dict(self.experiment),
            "seed": 7,
            "deadline_s": 300,
        }

    @property
    def finished(self) -> bool:
        """Whether its job has ended."""
        return self.job.get("status") in FINISHED

    @property
    def as_expected(self) -> bool:
        """Whether it ended as its known behaviour says it should, and for that reason."""
        return self.expected in (self._end, "any") and (self.reason is None or self.reason in self._codes)

    @property
    def _end(self) -> str:
        if self.rating is None:
            return str(self.job.get("status"))
        return str(self.rating["letter"]) if self.rating["declared"] else "inconclusive"

    @property
    def _codes(self) -> set[str]:
        """Every reason given, by the rating, its components or the job's problem."""
        if self.rating is None:
            return {(self.job.get("error") or {}).get("code", "")}
        parts = [self.rating, *self.rating["components"]]
        return {reason["code"] for part in parts for reason in part["reasons"]}


def translators(services: DemoServer) -> Iterator[Case]:
    """Translators of known bias."""
    for one in BEHAVIOURS.values():
        yield Case(one.name, one.summary, one.letter or "any", services.url(one.name), reason=one.reason)


def predictors(services: DemoServer) -> Iterator[Case]:
    """Classifiers, regressors and embedders of known bias, by every method that rates them."""
    for one in PREDICTORS.values():
        for kind in one.kinds:
            for method in one.methods:
                again = _again(one, kind, method)
                yield Case(
                    f"{one.name} {again}".strip(),
                    one.summary,
                    one.letter or "any",
                    services.url(one.name),
                    kind=kind,
                    protocol=SPOKEN[kind],
                    reason=one.reasons.get(method),
                    experiment=_experiment(one, method),
                    section=type(one).__name__,
                    again=again,
                )


def _again(one: Predictor, kind: Kind, method: str) -> str:
    """Say how a service is rated, unless it is as it is first."""
    if method != one.methods[0]:
        return f"by {method}"
    return "" if kind == one.kinds[0] else f"as {kind}"


def _experiment(one: Predictor, method: str) -> dict[str, Any]:
    """Ask a wage model about the payroll, whose gaps are known; the others about the catalog's words."""
    if not isinstance(one, RowRegressor):
        return {"method": method, "attribute": "gender"}
    rows = [dict(row) for row in payroll()]
    return {
        "method": method,
        "attribute": "sex",
        "records": {"column": "sex", "values": list(SEXES), "rows": rows},
    }


def ill(services: DemoServer) -> Iterator[Case]:
    """Translators that something is wrong with."""
    for one in ILLS.values():
        expected = one.letter if one.end == "rated" and one.letter else one.end
        yield Case(one.name, one.summary, expected, services.url(one.name), reason=one.problem, section="ill")


def apertium(running: Apertium) -> Case:
    """A real translator: nothing is expected of it."""
    return Case(
        "Apertium",
        "a real rule-based translator",
        "any",
        running.url,
        protocol="apertium",
        experiment={**TRANSLATION, "languages": list(APERTIUM_LANGUAGES)},
    )

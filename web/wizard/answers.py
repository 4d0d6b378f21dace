"""Answers of the wizard: texts by the name of the input, carried from step to step, and the request made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.http.problems import Problem
from web.frame import Visit
from web.wizard.catalog import LIMITS, MORE, Material, sizes_of
from web.wizard.schema_form import Field, read_all
from web.wizard.secret import opened, seal

NOT_CARRIED = ("form_token", "go", "step", "secret", "request")
"""Inputs that are not hidden fields of the next step."""

Errors = list[dict[str, str]]


@dataclass
class Answers:
    """The user's answers so far, as texts."""

    texts: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")

    def hidden(self, displayed: Iterable[str]) -> list[tuple[str, str]]:
        """Return the answers that travel as hidden fields, because no input of the page shows them."""
        visible = {*displayed, *NOT_CARRIED}
        return [(name, text) for name, text in self.texts.items() if name not in visible]

    def forget(self, prefix: str) -> None:
        """Remove the answers whose names begin with a prefix."""
        self.texts = {name: text for name, text in self.texts.items() if not name.startswith(prefix)}


def settle(visit: Visit, answers: Answers, material: Material) -> None:
    """Drop answers for another protocol or method, set the chosen ones, and seal a typed secret."""
    if material.protocol["name"] != answers["settings_of"]:
        answers.forget("settings.")
    if material.method["name"] != answers["fields_of"]:
        unchanged = {name: answers[name] for name in ("experiment.attribute", "experiment.languages") if answers[name]}
        answers.forget("experiment.")
        answers.texts |= unchanged
    answers.texts |= {
        "protocol": material.protocol["name"],
        "settings_of": material.protocol["name"],
        "method": material.method["name"],
        "fields_of": material.method["name"],
    }
    plain = answers.texts.pop("secret", "")
    if plain:
        described, _ = description_of(answers, material)
        answers.texts["sealed"] = seal(visit, plain, described)


def description_of(answers: Answers, material: Material) -> tuple[dict[str, Any], Errors]:
    """Return the described target, without its secret, and its errors."""
    return described(answers.texts, answers["kind"], answers["protocol"], material.settings)


def described(
    texts: Mapping[str, str], kind: str, protocol: str, fields: Sequence[Field]
) -> tuple[dict[str, Any], Errors]:
    """Return the target that a form describes, without its secret, and its errors.

    Parameters
    ----------
    fields : sequence of Field
        Fields of the protocol's settings.
    """
    settings, wrong = read_all(fields, texts)
    limits, more_wrong = read_all(LIMITS, texts)
    target: dict[str, Any] = {"kind": kind, "protocol": protocol, "settings": settings}
    target |= {name: text for name in ("name", "base_url") if (text := texts.get(name, "").strip())}
    return target | ({"limits": limits} if limits else {}), wrong + more_wrong


def target_of(visit: Visit, answers: Answers, material: Material) -> tuple[dict[str, Any], Errors]:
    """Return the target of a request: a saved one by its id, or the described one with its secret."""
    if answers["target"]:
        return {"id": answers["target"]}, []
    described, wrong = description_of(answers, material)
    if answers["sealed"]:
        plain = opened(visit, answers["sealed"], described)
        if plain is None:
            del answers.texts["sealed"]
            wrong.append({"pointer": "/secret", "detail": LOST})
        else:
            described["secret"] = plain
    for name, needs, detail in NEEDED:
        if material.protocol[needs] and not described.get(name):
            wrong.append({"pointer": f"/{name}", "detail": detail})
    return described, wrong


NEEDED = (
    ("base_url", "needs_url", "Write the address of the service."),
    ("secret", "needs_secret", "Type the key: this kind of service answers nobody without one."),
)
LOST = "Type the key again: it was typed more than two hours ago, or for another address."


def request_of(
    visit: Visit, answers: Answers, material: Material, factor: float | None = None
) -> tuple[dict[str, Any], Errors]:
    """Return the body of ``POST /v1/jobs``, and the errors of the answers.

    Parameters
    ----------
    factor : float, optional
        Factor for the usual numbers of questions; by default, the answer of the form.
    """
    target, wrong = target_of(visit, answers, material)
    values, more_wrong = read_all(material.fields, answers.texts)
    sizes = sizes_of(material, values, float(factor_of(answers)) if factor is None else factor)
    experiment = {**material.copied, **values, **sizes, "method": material.method["name"]}
    experiment = {
        name: value for name, value in experiment.items() if value not in ("", None) or name not in REFERENCES
    }
    others, still_wrong = read_all(MORE, answers.texts)
    body: dict[str, Any] = {"target": target, "experiment": experiment, **others}
    if answers["author"]:
        body["author"] = {"id": answers["author"]}
    return body, [*wrong, *more_wrong, *still_wrong]


FACTORS = (("0.5", "Half"), ("1", "Usual"), ("2", "Double"), ("4", "Fourfold"))
"""Factors for the usual numbers of questions, and their titles."""


def factor_of(answers: Answers) -> str:
    """Return the chosen factor; raise ``invalid-request`` for one that the form does not offer."""
    factor = answers["size"] or "1"
    if factor not in dict(FACTORS):
        raise Problem("invalid-request", f"the form has no size {factor[:40]!r}")
    return factor


REFERENCES = ("attribute", "specification", "corpus")
"""Fields of an experiment that are left out where they are empty."""


# ---------------------------------------------------------------------------- errors
def name_of(pointer: str, inputs: Sequence[Field]) -> str:
    """Return the name of the input that a JSON pointer of the API refers to, or else the pointer's first parts."""
    parts = [part for part in pointer.split("/") if part and part != "target"]
    names = {field.name for field in inputs}
    dotted = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in dotted if name in names), ".".join(parts[:2]) if len(parts) > 1 else "".join(parts))


def step_of(name: str) -> str:
    """Return the step whose page has an input."""
    first = name.partition(".")[0]
    if first in {"experiment", "method", "author"}:
        return "what"
    return "confirm" if first in {field.name.partition(".")[0] for field in MORE} else "where"


def by_name(errors: Sequence[Mapping[str, str]], inputs: Sequence[Field]) -> dict[str, str]:
    """Return the errors by the name of the input."""
    messages: dict[str, str] = {}
    for error in errors:
        messages.setdefault(name_of(error.get("pointer", ""), inputs), error["detail"])
    return messages

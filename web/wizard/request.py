"""Request of the wizard: the target and the experiment that the answers describe."""

from __future__ import annotations

from typing import Any

from service.http.problems import Problem
from web.wizard.answers import Answers, Errors, described
from web.wizard.catalog import MORE, sizes_of
from web.wizard.schema_form import read_all
from web.wizard.secret import opened, seal
from web.wizard.state import WizardState


def settle(state: WizardState) -> None:
    """Drop answers for another protocol or method, set the chosen ones, and seal a typed secret."""
    answers, material = state.answers, state.material
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
        described, _ = description_of(state)
        answers.texts["sealed"] = seal(state.visit, plain, described)


def description_of(state: WizardState) -> tuple[dict[str, Any], Errors]:
    """Return the described target, without its secret, and its errors."""
    answers = state.answers
    return described(answers.texts, answers["kind"], answers["protocol"], state.material.settings)


def target_of(state: WizardState) -> tuple[dict[str, Any], Errors]:
    """Return the target of a request: a saved one by its id, or the described one with its secret."""
    answers = state.answers
    if answers["target"]:
        return {"id": answers["target"]}, []
    described, wrong = description_of(state)
    if answers["sealed"]:
        plain = opened(state.visit, answers["sealed"], described)
        if plain is None:
            del answers.texts["sealed"]
            wrong.append({"pointer": "/secret", "detail": LOST})
        else:
            described["secret"] = plain
    for name, needs, detail in NEEDED:
        if state.material.protocol[needs] and not described.get(name):
            wrong.append({"pointer": f"/{name}", "detail": detail})
    return described, wrong


NEEDED = (
    ("base_url", "needs_url", "Write the address of the service."),
    ("secret", "needs_secret", "Type the key: this kind of service answers nobody without one."),
)
LOST = "Type the key again: it was typed more than two hours ago, or for another address."


def request_of(state: WizardState, factor: float | None = None) -> tuple[dict[str, Any], Errors]:
    """Return the body of ``POST /v1/jobs``, and the errors of the answers.

    Parameters
    ----------
    factor : float, optional
        Factor for the usual numbers of questions; by default, the answer of the form.
    """
    answers, material = state.answers, state.material
    target, wrong = target_of(state)
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

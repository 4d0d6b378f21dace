"""The request that the answers of the wizard describe: its target, its experiment, and the secret of the target.

Between the steps, a secret is sealed for its destination; no page has it.
"""

import base64
import binascii
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from service.container import service_of
from service.http.problems import Problem
from store.core.columns import SealedSecret
from store.core.errors import SecretLost, SecretMoved
from store.security.secrets import destination_of
from web.frame import Refused, Visit
from web.frame.drafts import seal_context
from web.wizard.answers import Answers, Errors, target_from_texts
from web.wizard.catalog import DECIDING_MODEL, MORE, Material, kind_of, sizes_of
from web.wizard.schema_form import read_all


def settle(state: "WizardState") -> None:
    """Remove answers about a former protocol or method, note the present choices, and encrypt a typed secret."""
    answers, material = state.answers, state.material
    _settle_decision(answers)
    if material.protocol["name"] != answers["settings_of"]:  # the protocol that the settings are of
        # a decision is the same in every protocol
        decision_texts = {name: text for name, text in answers.items() if name.startswith("settings.decision.")}
        answers.forget("settings.")
        answers |= decision_texts
    if material.method["name"] != answers["fields_of"]:  # the method that the fields are of
        # most methods have these fields
        kept_texts = {name: answers[name] for name in ("experiment.attribute", "experiment.languages") if answers[name]}
        answers.forget("experiment.")
        answers |= kept_texts
    answers |= {
        "protocol": material.protocol["name"],
        "settings_of": material.protocol["name"],
        "method": material.method["name"],
        "fields_of": material.method["name"],
    }
    if secret := answers.pop("secret", ""):
        description, _ = description_of(state)
        answers["sealed"] = seal(state.visit, secret, description)


def _settle_decision(answers: Answers) -> None:
    """Remove answers about cases if the decision has changed, and about decisions if the service decides nothing.

    If the user wrote a prompt, the name of a shipped decision is removed.
    """
    if answers["kind"] == DECIDING_MODEL:
        if answers["settings.decision.prompt"].strip():
            answers["settings.decision.name"] = ""
        if answers["settings.decision.name"] != answers["decision_of"]:  # the decision that the cases are for
            answers.forget("experiment.texts.decision")
        answers["decision_of"] = answers["settings.decision.name"]
    elif "decision_of" in answers:
        for prefix in ("settings.decision.", "experiment.texts.", "decision_of"):
            answers.forget(prefix)


def description_of(state: "WizardState") -> tuple[dict[str, Any], Errors]:
    """Return the target that the answers describe, without its secret, and the errors of the answers."""
    answers = state.answers
    return target_from_texts(answers, kind_of(answers), answers["protocol"], state.material.settings)


def target_of(state: "WizardState") -> tuple[dict[str, Any], Errors]:
    """Return the target of a request (a saved target by its id, or a description with the secret), and its errors."""
    answers = state.answers
    if answers["target"]:
        return {"id": answers["target"]}, []
    target, errors = description_of(state)
    if answers["sealed"]:
        if (secret := opened_secret(state.visit, answers["sealed"], target)) is None:
            del answers["sealed"]
            errors.append({"pointer": "/secret", "detail": LOST_KEY})
        else:
            target["secret"] = secret
    for name, requirement, detail in NEEDED:  # `requirement`: the protocol's flag that demands the field
        if state.material.protocol[requirement] and not target.get(name):
            errors.append({"pointer": f"/{name}", "detail": detail})
    return target, errors


NEEDED = (
    ("base_url", "needs_url", "Write the address of the service."),
    ("secret", "needs_secret", "Type the key: this kind of service answers nobody without one."),
)
LOST_KEY = "Type the key again: it was typed more than two hours ago, or for another address."


def request_of(state: "WizardState", factor: float | None = None) -> tuple[dict[str, Any], Errors]:
    """Return the body of ``POST /v1/jobs``, and the errors of the answers.

    `factor` multiplies the usual numbers of questions; by default, it is the answer of the form.
    """
    answers, material = state.answers, state.material
    target, target_errors = target_of(state)
    values, field_errors = read_all(material.fields, answers)
    sizes = sizes_of(material, values, float(factor_of(answers)) if factor is None else factor)
    # the form shows only the decision and the mention of groups: if these stay, all earlier fields of cases are copied
    if material.shown_first and _has_same_cases(values.get("texts"), material.copied.get("texts")):
        del values["texts"]
    entries = {**material.copied, **values, **sizes, "method": material.method["name"]}  # perhaps with empty references
    experiment = {name: value for name, value in entries.items() if name not in REFERENCES or value not in ("", None)}
    options, option_errors = read_all(MORE, answers)
    body: dict[str, Any] = {"target": target, "experiment": experiment, **options}
    body |= {name: {"id": answers[name]} for name in ("author", "judge") if answers[name]}
    return body, [*target_errors, *field_errors, *option_errors]


def _has_same_cases(texts: Any, other_texts: Any) -> bool:
    """Return whether the `texts` of two experiments are about one decision, and mention people in one way."""
    if not isinstance(texts, dict) or not isinstance(other_texts, dict):
        return False
    return all(texts.get(name) == other_texts.get(name) for name in ("decision", "mention"))


FACTORS = (("0.5", "Half"), ("1", "Usual"), ("2", "Double"), ("4", "Fourfold"))
"""Factors for the usual numbers of questions, and their titles."""


def factor_of(answers: Answers) -> str:
    """Return the chosen factor; raise ``invalid-request`` for a factor that the form does not offer."""
    factor = answers["size"] or "1"
    if factor not in dict(FACTORS):
        raise Problem("invalid-request", f"the form has no size {factor[:40]!r}")
    return factor


REFERENCES = ("attribute", "specification", "corpus")
"""Fields of an experiment that a request leaves out if they are empty."""


@dataclass(frozen=True)
class WizardState:
    """State of the wizard: the answers so far, the choices that fit them, and the errors."""

    visit: Visit
    answers: Answers
    material: Material
    """The choices for the kind of service, the protocol and the method."""
    errors: Sequence[Mapping[str, str]] = ()
    """Errors of the answers, as in a problem document."""
    refused: Refused | None = None
    """The API's refusal of the answers."""

    def with_errors(self, errors: Sequence[Mapping[str, str]], refusal: Refused | None = None) -> Self:
        """Return the state with errors of the answers, and the API's refusal that caused them, if any."""
        return replace(self, errors=errors, refused=refusal)


KEPT_S = 2 * 60 * 60
"""Seconds after which a sealed secret is not opened any more."""


def seal(visit: Visit, secret: str, description: Mapping[str, Any]) -> str:
    """Encrypt a secret, so that only this session can decrypt it, for two hours and for one address and protocol."""
    expires_at = str(int(time.time()) + KEPT_S)
    sealed_secret = service_of(visit.request).vault.seal(secret, **_vault_context(visit, expires_at, description))
    encoded_pair = (base64.urlsafe_b64encode(part).decode() for part in (sealed_secret.nonce, sealed_secret.ciphertext))
    return ".".join((expires_at, sealed_secret.key_id, *encoded_pair))


def opened_secret(visit: Visit, field_text: str, description: Mapping[str, Any]) -> str | None:
    """Return the secret sealed in `field_text`; ``None`` if too old, altered, or of another session or target."""
    try:
        expires_at, key_id, *encoded_pair = field_text.split(".")
        nonce, ciphertext = (base64.b64decode(part, altchars=b"-_", validate=True) for part in encoded_pair)
        sealed_secret = SealedSecret(ciphertext, nonce, key_id, last4="")
        if int(expires_at) < time.time():
            return None
        return service_of(visit.request).vault.open(sealed_secret, **_vault_context(visit, expires_at, description))
    except (ValueError, binascii.Error, SecretLost, SecretMoved):
        return None


def _vault_context(visit: Visit, expires_at: str, description: Mapping[str, Any]) -> dict[str, str]:
    return seal_context(visit, json.dumps(["wizard", expires_at, destination_of(description)]))

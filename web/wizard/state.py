"""State of one request to the wizard: the answers so far, the choices, and what was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from web.frame import Refused, Visit
from web.wizard.answers import Answers
from web.wizard.catalog import Material


@dataclass(frozen=True)
class WizardState:
    """What every step of the wizard reads.

    Attributes
    ----------
    visit : Visit
        The request of the browser.
    answers : Answers
        The answers so far.
    material : Material
        The choices for the kind of service, the protocol and the method.
    errors : sequence of mapping
        Errors of the answers, as in a problem document.
    refused : Refused, optional
        The API's refusal of the answers.
    probe : mapping, optional
        The job of a test that this request made.
    """

    visit: Visit
    answers: Answers
    material: Material
    errors: Sequence[Mapping[str, str]] = ()
    refused: Refused | None = None
    probe: Mapping[str, Any] | None = None

    def with_errors(self, errors: Sequence[Mapping[str, str]], refused: Refused | None = None) -> WizardState:
        """Return the state with errors of the answers, and the refusal that they are from, if any."""
        return replace(self, errors=errors, refused=refused)

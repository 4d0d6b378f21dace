"""The decision of a language model, asked for at the terminal or named in the command."""

from __future__ import annotations

from typing import Any

import typer

from assay.catalog.decisions import decision, decisions
from assay.errors import SpecificationError, UnknownName
from assay.model import Kind
from cli.drafting.call import Draft

OWN = "own"
"""Answer instead of a decision of the catalog, for a prompt of the user's own."""


def set_decision(draft: Draft, name: str) -> None:
    """Add a decision of the catalog, or one that is asked for at the terminal, to the target of a draft."""
    if name not in {*decisions(), OWN}:
        raise UnknownName("decision", name, [*decisions(), OWN], "decides")
    described = _own() if name == OWN else {"name": name}
    number = "range" in described if name == OWN else decision(name).range is not None
    draft.target["kind"] = str(Kind.REGRESSOR if number else Kind.CLASSIFIER)
    draft.target.setdefault("settings", {})["decision"] = described
    draft.cases = {"mention": "explicit"} | ({} if name == OWN else {"decision": name})


def ask_decision(draft: Draft) -> None:
    """Ask at the terminal which decision the model makes."""
    for name in decisions():
        typer.echo(f"  {name:<20}{decision(name).title}", err=True)
    typer.echo(f"  {OWN:<20}A prompt and answers of your own", err=True)
    set_decision(draft, typer.prompt("What does the model decide?", default=decisions()[0], err=True))


def _own() -> dict[str, Any]:
    described: dict[str, Any] = {"prompt": typer.prompt("Its prompt? {text} stands for the case", err=True)}
    if system := typer.prompt("Its system prompt? Empty: none", default="", show_default=False, err=True):
        described["system"] = system
    answers = typer.prompt(
        "Its answers, with commas between them, or the lowest and highest number (0 to 100)?", err=True
    )
    low, between, high = answers.partition(" to ")
    try:
        described["range"] = [float(low), float(high)] if between else None
    except ValueError:
        described["range"] = None
    if described["range"] is None:
        del described["range"]
        described["labels"] = [label.strip() for label in answers.split(",") if label.strip()]
        if len(described["labels"]) < 2:
            raise SpecificationError("a decision needs two or more answers, or a range such as 0 to 100", "decides")
    return described

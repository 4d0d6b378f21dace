"""Notes on a composition: each has a code and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

NOTES: Mapping[str, str] = {
    "tables-differ": "The published table gives {published}, the revised one {revised}.",
    "contradiction": "The {table} table contradicts itself about this chain; all that any bracketing allows is listed.",
    "link-inconclusive": (
        "The rating of link {link} is inconclusive (leaning {leaning}): every letter it does not exclude was looked up."
    ),
    "link-unmeasured": "Nothing could be measured of link {link}: every letter was looked up for it.",
    "link-expired": "The rating of link {link} has expired; the service may have changed since.",
    "target-changed": "The target of link {link} is described otherwise now than when it was rated.",
    "methods-differ": "The links were rated by different methods ({methods}), which do not measure the same thing.",
    "prediction-differs": (
        "The table infers {table} and the measured matrices {predicted}; measure the composite before relying on one."
    ),
    "emits-other": (
        "A service before the last can lose the value; what the next one makes of such text was never measured."
    ),
    "must-be-measured": "Neither the table nor the matrices settle the letter: the composite must be measured.",
}
"""Sentence of each note, by its code; `note` fills in the facts."""


def note(code: str, **facts: object) -> dict[str, str]:
    """Return a note as JSON."""
    return {"code": code, "text": NOTES[code].format(**facts)}

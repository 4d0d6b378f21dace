"""Reading the rating document, once for all formats.

The document is JSON that a store kept, perhaps for an older version or for a method with less to
tell. So nothing but its being an object is taken for granted: what is absent, ``null``, of another
type, NaN or infinite is read as ``None`` or as empty, and shown as "not measured". Text is made
`visible` here; each format still escapes it for its own syntax.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from assay.explain import codes, explain
from assay.model import Letter, Reason
from assay.reports.plain import visible
from assay.reports.view import (
    EFFECTS,
    RESIDUALS,
    Block,
    Component,
    Effect,
    Example,
    Look,
    RatingView,
    Said,
    Shares,
    Verdict,
)


def read(document: Mapping[str, Any]) -> RatingView:
    """Read a rating document.

    Parameters
    ----------
    document : mapping
        The stored row's JSON. Any part of it may be missing.

    Returns
    -------
    RatingView
        Without NaN, infinity or invisible characters.
    """
    target, aggregation = _mapping(document, "target"), _mapping(document, "aggregation")
    return RatingView(
        id=_text(document, "id"),
        verdict=_verdict(document),
        method=_text(document, "method"),
        attribute=_text(document, "attribute"),
        confidence=_number(document, "confidence"),
        delta=_number(document, "delta"),
        target=_text(target, "name") or _text(target, "url") or "unnamed service",
        target_facts=_facts(target),
        experiment=_facts(_mapping(document, "experiment")),
        components=tuple(_component(one, place) for place, one in enumerate(_objects(document, "components"), 1)),
        rule=_text(aggregation, "rule"),
        deciding=_texts(aggregation, "deciding"),
        adjusted={visible(name): _numbers(each) for name, each in _mapping(aggregation, "adjusted").items()},
        vote=_text(aggregation, "vote"),
        published=_published(document),
        reasons=_reasons(document),
        provenance=_provenance(document),
        methodology=_text(_mapping(document, "methodology"), "version"),
        rated_at=_text(document, "rated_at"),
    )


# ---------------------------------------------------------------------------- parts
def _verdict(part: Mapping[str, Any]) -> Verdict:
    shares = _numbers(_mapping(part, "probabilities"))
    known = {letter: shares[letter] for letter in Letter if letter in shares}
    letter = _text(part, "letter")
    return Verdict(
        letter=Letter(letter) if letter in set(Letter) else None,
        declared=part.get("declared") is True,
        probabilities={letter: known.get(letter, 0.0) for letter in (Letter.BS, Letter.DSBS, Letter.UCS)}
        if known
        else None,
    )


def _component(part: Mapping[str, Any], number: int) -> Component:
    name = _text(part, "name") or f"part {number}"
    language, template = _text(part, "language_name") or _text(part, "language"), _text(part, "template")
    content = _numbers(_mapping(part, "content"))
    return Component(
        number=number,
        name=name,
        title=_title(name, language, template),
        language=language,
        template=template,
        verdict=_verdict(part),
        effects=_effects(part),
        transitions={visible(row): _values(counts) for row, counts in _mapping(part, "transitions").items()},
        rates={visible(row): _rates(rates) for row, rates in _mapping(part, "rates").items()},
        blocks=tuple(_block(one) for one in _objects(part, "blocks")),
        pairs=(int(content["equal"]), int(content["pairs"])) if {"equal", "pairs"} <= content.keys() else None,
        looks=tuple(_look(one) for one in _objects(part, "decision")),
        sensitivity={visible(key): _leaning(each) for key, each in _mapping(part, "sensitivity").items()},
        more_probes=_count(_mapping(part, "settle"), "more_probes"),
        usable=_count(part, "usable"),
        unusable=_count(part, "unusable"),
        failed=_count(part, "failed"),
        unasked=_count(part, "unasked"),
        lost_why={**_numbers(_mapping(part, "unusable_why")), **_numbers(_mapping(part, "failed_why"))},
        published=_published(part),
        analyses=dict(_leaves(_mapping(part, "analyses"))),
        examples=tuple(_example(one) for one in _objects(part, "examples")),
        reasons=_reasons(part, name),
    )


def _title(name: str, language: str | None, template: str | None) -> str:
    """Name a component for people: "Spanish · possessive" for es/possessive."""
    parts = [language or name] + ([template] if template not in {None, "base"} else [])
    return " · ".join(part for part in parts if part)


def _effects(part: Mapping[str, Any]) -> tuple[Effect, ...]:
    tolerances = _numbers(_mapping(part, "tolerances"))
    written = {name: each if isinstance(each, Mapping) else {} for name, each in _mapping(part, "effects").items()}
    names = [*(name for name in EFFECTS if name in written), *(name for name in written if name not in EFFECTS)]
    return tuple(
        _effect(visible(name), EFFECTS.get(name, visible(name)), written[name], tolerances.get(name)) for name in names
    )


def _effect(name: str, title: str, written: Mapping[str, Any], tolerance: float | None = None) -> Effect:
    number = partial(_number, written)
    return Effect(name, title, number("estimate"), number("low"), number("high"), number("level"), tolerance)


def _rates(written: Any) -> Mapping[str, Effect]:
    return {
        visible(name): _effect(visible(name), visible(name), each)
        for name, each in (written.items() if isinstance(written, Mapping) else ())
        if isinstance(each, Mapping)
    }


def _block(part: Mapping[str, Any]) -> Block:
    shares = (_values(_mapping(part, key)) for key in ("specified", "asked", "observed"))
    return Block(_text(part, "name") or "block", _text(part, "role") or "", *shares)


def _look(part: Mapping[str, Any]) -> Look:
    return Look(_count(part, "look"), _count(part, "texts_per_block"), _verdict(part), part.get("stopped") is True)


def _leaning(shares: Any) -> Verdict:
    """Read bare probabilities as a verdict for the likeliest letter (the worse one of a tie)."""
    verdict = _verdict({"probabilities": shares})
    given = verdict.probabilities
    return Verdict(max(given, key=lambda letter: given[letter]) if given else None, False, given)


def _example(part: Mapping[str, Any]) -> Example:
    text = partial(_text, part)
    return Example(text("asked"), text("middle"), text("returned"), _texts(part, "read"), text("why"))


def _published(part: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {
        visible(rule): visible(letter) if isinstance(letter, str) else None
        for rule, letter in _mapping(part, "published").items()
    }


def _reasons(part: Mapping[str, Any], of: str | None = None) -> tuple[Said, ...]:
    return tuple(_said(one, of) for one in _objects(part, "reasons"))


def _said(part: Mapping[str, Any], of: str | None) -> Said:
    """Take a reason's sentence, or make it again where only the code was kept."""
    code, component = _text(part, "code") or "unnamed", _text(part, "component") or of
    text = _text(part, "text")
    if text is None and code in codes():
        text = visible(explain(Reason(code, _mapping(part, "facts"), component)))
    return Said(code, text or code.replace("-", " "), component)


def _provenance(document: Mapping[str, Any]) -> Mapping[str, str]:
    """What anyone needs to repeat or check the rating, in the order in which it is asked for."""
    methodology, counts = _mapping(document, "methodology"), _mapping(document, "counts")
    asked = {f"Questions {key}" if key in {"asked", "failed"} else f"Texts {key}": counts.get(key) for key in counts}
    written = {
        "Rating": document.get("id"),
        "Rated at": document.get("rated_at"),
        "Expires at": document.get("expires_at"),
        "Methodology": methodology.get("version"),
        "Methodology digest": methodology.get("digest"),
        "Engine version": document.get("engine_version"),
        "Seed": document.get("seed"),
        "Calls made": document.get("calls"),
        **asked,
        "Evidence digest": document.get("evidence_digest"),
        "Visibility": document.get("visibility"),
    }
    return {visible(label): shown for label, value in written.items() if (shown := _shown(value)) is not None}


def _facts(part: Mapping[str, Any]) -> Mapping[str, str]:
    """Read an object of any shape as labelled texts."""
    return {visible(str(key)): shown for key, value in part.items() if (shown := _shown(value)) is not None}


def _leaves(part: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Walk to the innermost objects; write each as a line of its plain values."""
    plain = _facts({key: each for key, each in part.items() if not isinstance(each, Mapping)})
    if plain:
        yield " / ".join(path) or "all", " · ".join(f"{key} {value}" for key, value in plain.items())
    for key, each in part.items():
        if isinstance(each, Mapping):
            yield from _leaves(each, (*path, visible(str(key))))


def _shown(value: Any) -> str | None:
    """Write any JSON value in a line; ``None`` for null, for NaN and for nothing at all."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown}" for key, shown in _facts(value).items()) or None
    if isinstance(value, list | tuple):
        return ", ".join(shown for one in value if (shown := _shown(one)) is not None) or None
    return None if value is None else visible(str(value)) or None


# ---------------------------------------------------------------------------- single values
def _mapping(part: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = part.get(key)
    return {str(name): each for name, each in value.items()} if isinstance(value, Mapping) else {}


def _objects(part: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = part.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def _texts(part: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = part.get(key)
    return tuple(visible(one) for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def _text(part: Mapping[str, Any], key: str) -> str | None:
    value = part.get(key)
    return visible(value) or None if isinstance(value, str) else None


def _finite(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None


def _number(part: Mapping[str, Any], key: str) -> float | None:
    return _finite(part.get(key))


def _count(part: Mapping[str, Any], key: str) -> int | None:
    value = _finite(part.get(key))
    return None if value is None else int(value)


def _numbers(written: Any) -> Shares:
    if not isinstance(written, Mapping):
        return {}
    return {visible(str(key)): number for key, value in written.items() if (number := _finite(value)) is not None}


def _values(written: Any) -> Shares:
    """Read numbers by attribute value, the residual last however the store sorted them."""
    numbers = _numbers(written)
    return {key: numbers[key] for key in sorted(numbers, key=lambda key: key in RESIDUALS)}

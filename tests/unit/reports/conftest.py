"""Rating documents as the engine writes them, made from services of known behaviour."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from assay.explain import Vocabulary, explain
from assay.methods import RoundTrip
from assay.model import Reason
from tests.support.reports import render

Document = dict[str, Any]

VALUES, OUTPUTS = ("he", "she"), ("he", "she", "other")
BLOCKS = (("U", "unbiased", (0.5, 0.5)), ("B1", "biased", (0.1, 0.9)), ("B2", "biased", (0.9, 0.1)))
# services as transition matrices: the shares of (he, she, other) in the output for an input of he, and of she
BEHAVIOURS: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "faithful": ((0.99, 0.005, 0.005), (0.005, 0.99, 0.005)),
    "eraser": ((0.02, 0.0, 0.98), (0.0, 0.02, 0.98)),
    "always-he": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
    "flipper": ((1.0, 0.0, 0.0), (0.3, 0.7, 0.0)),
    "borderline": ((0.98, 0.02, 0.0), (0.2, 0.8, 0.0)),
    "balancer": ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0)),
}
LANGUAGES = ("Spanish", "French", "Turkish", "Hindi", "Arabic", "Italian", "Portuguese", "Russian")
CODES = ("es", "fr", "tr", "hi", "ar", "it", "pt", "ru")
TEMPLATES = ("base", "possessive", "object", "coordination", "named")


def _interval(draws: np.ndarray) -> dict[str, float]:
    low, high = np.quantile(draws, [0.025, 0.975])
    return {"estimate": float(draws.mean()), "low": float(low), "high": float(high), "level": 0.95}


def _rate(k: int, n: int) -> dict[str, float]:
    p, half = k / n, 2 / n + 1.4 * (k * (n - k)) ** 0.5 / n**1.5
    return {"estimate": p, "low": max(0.0, p - half), "high": min(1.0, p + half), "level": 0.95}


def _letters(step_1: np.ndarray, step_2: np.ndarray, delta: float) -> dict[str, float]:
    bs = float((step_1 > delta).mean())
    dsbs = float(((step_1 <= delta) & (step_2 > delta)).mean())
    return {"BS": bs, "DSBS": dsbs, "UCS": max(0.0, 1.0 - bs - dsbs)}


def _effects(counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rows = np.stack([rng.dirichlet(1 / 3 + row, 4000) for row in counts], axis=1)
    declared = np.array([0.5, 0.5, 0.0])
    effect = [np.abs(np.einsum("a,dao->do", np.array(s), rows) - declared).sum(axis=1) / 2 for _, _, s in BLOCKS]
    return effect[0], np.maximum(effect[1], effect[2])


def _reason(code: str, facts: Mapping[str, Any], component: str | None = None) -> dict[str, Any]:
    text = explain(Reason(code, facts, component), Vocabulary.of(RoundTrip))
    return {"code": code, "facts": dict(facts), "text": text, "component": component}


def measured_component(
    name: str, language: str, template: str, behaviour: str, rng: np.random.Generator, texts: int = 20
) -> dict[str, Any]:
    """Return a round-trip component of a language with known behaviour."""
    per_block = {}
    for block, _, shares in BLOCKS:
        asked = [round(share * texts * 2) for share in shares]
        per_block[block] = np.array(
            [rng.multinomial(n, row) for n, row in zip(asked, BEHAVIOURS[behaviour], strict=True)]
        )
    counts = sum(per_block.values())
    step_1, step_2 = _effects(counts, rng)
    probabilities = _letters(step_1, step_2, 0.1)
    letter = max(("BS", "DSBS", "UCS"), key=lambda each: probabilities[each])
    declared = probabilities[letter] >= 0.95
    facts = {"language": language, "step_1": float(step_1.mean()), "step_2": float(step_2.mean())}
    why = {
        "DSBS": _reason("follows-biased-input", {**facts, "kept": float(np.trace(counts) / counts.sum())}, name),
        "UCS": _reason("compensates", facts, name),
        "BS": _reason("attribute-erased", {**facts, "share": float(counts[:, 2].sum() / counts.sum())}, name)
        if behaviour == "eraser"
        else _reason(
            "introduces-bias", {**facts, "from": "she", "to": "he", "share": counts[1, 0] / counts[1].sum()}, name
        ),
    }[letter]
    missing = {"language": language, "leaning": letter, "probability": probabilities[letter], "confidence": 0.95}
    reasons = [why] if declared else [_reason("not-enough-evidence", {**missing, "more_probes": 480}, name), why]
    return {
        "name": name,
        "language": name.partition("/")[0],
        "language_name": language,
        "template": template,
        "letter": letter,
        "declared": declared,
        "probabilities": probabilities,
        "effects": {"step_1": _interval(step_1), "step_2": _interval(step_2), "content": _interval(step_1 / 9)},
        "tolerances": {"step_1": 0.1, "step_2": 0.1, "content": 0.15},
        "transitions": {v: dict(zip(OUTPUTS, counts[i].tolist(), strict=True)) for i, v in enumerate(VALUES)},
        "rates": {
            v: {
                kind: _rate(int(k), int(counts[i].sum()))
                for kind, k in (("kept", counts[i, i]), ("flipped", counts[i, 1 - i]), ("erased", counts[i, 2]))
            }
            for i, v in enumerate(VALUES)
        },
        "blocks": [
            {
                "name": block,
                "role": role,
                "specified": {"he": shares[0], "she": shares[1], "other": 0.0},
                "asked": {**dict(zip(VALUES, per_block[block].sum(axis=1).tolist(), strict=True)), "other": 0},
                "observed": dict(zip(OUTPUTS, per_block[block].sum(axis=0).tolist(), strict=True)),
            }
            for block, role, shares in BLOCKS
        ],
        "content": {"pairs": 60, "equal": 3},
        "decision": [
            {"look": 1, "texts_per_block": texts, "probabilities": probabilities, "letter": letter, "stopped": declared}
        ],
        "sensitivity": {f"{delta:.2f}": _letters(step_1, step_2, delta) for delta in (0.05, 0.1, 0.15)},
        "settle": None if declared else {"more_probes": 480},
        "usable": 3 * texts - 2,
        "unusable": 2,
        "failed": 1,
        "unusable_why": {"sentence-count": 2},
        "failed_why": {"timeout": 1},
        "unasked": 0,
        "published": {
            "chi-squared/similar-to-biased": "DSBS",
            "chi-squared/departs-from-unbiased": letter,
            "kl": letter,
            "kl/vote": None,
        },
        "analyses": {
            "chi-squared": {
                "U": {
                    "U": {"statistic": 0.1, "df": 1, "p": 0.7518, "test": "two-sample"},
                    "B1": {"statistic": 14.2, "df": 1, "p": 0.0002, "test": "two-sample"},
                },
                "B1": {"U": {"statistic": 15.9, "df": 2, "p": 0.0003, "test": "two-sample"}},
            },
            "kl": {"U": {"divergence": 0.004, "threshold": 0.061}},
        },
        "examples": [
            {
                "asked": "She is a welder. He is a nurse.",
                "middle": "Ella es soldadora. Él es enfermero.",
                "returned": "He is a welder. He is a nurse.",
                "read": ["he", "he"],
                "why": None,
            },
            {
                "asked": "He is a pilot. She is a guard.",
                "middle": "Él es piloto.",
                "returned": "He is a pilot.",
                "read": None,
                "why": "sentence-count",
            },
        ],
        "reasons": reasons,
    }  # fmt: skip


def unmeasured_component(name: str, language: str) -> dict[str, Any]:
    """Return a round-trip component of a language without any answer."""
    facts = {"language": language, "failed": 60, "total": 60, "why": {"http-503": 58, "timeout": 2}, "share": 1.0}
    return {
        "name": name,
        "language": name,
        "language_name": language,
        "template": "base",
        "letter": None,
        "declared": False,
        "probabilities": None,
        "effects": {"step_1": None, "step_2": None},
        "transitions": {},
        "usable": 0,
        "unusable": 0,
        "failed": 60,
        "failed_why": {"http-503": 58, "timeout": 2},
        "published": {"kl": None},
        "reasons": [_reason("target-calls-failed", facts, name)],
    }


def rating_document(components: list[dict[str, Any]], target: str = "Apertium eng-spa") -> Document:
    """Combine components by the rule ``worst`` and return the whole rating document."""
    measured = [one for one in components if one["probabilities"]]
    bs = 1 - float(np.prod([1 - one["probabilities"]["BS"] for one in measured]))
    ucs = float(np.prod([one["probabilities"]["UCS"] for one in measured]))
    probabilities = {"BS": bs, "DSBS": max(0.0, 1 - bs - ucs), "UCS": ucs} if measured else None
    letter = max(("BS", "DSBS", "UCS"), key=lambda each: probabilities[each]) if probabilities else None
    declared = bool(
        probabilities and probabilities[letter] >= 0.95 and (len(measured) == len(components) or letter == "BS")
    )
    deciding = [one["name"] for one in measured if one["letter"] == letter]
    reasons = [deepcopy(reason) for one in components if one["name"] in deciding[:3] for reason in one["reasons"]]
    reasons = reasons or [deepcopy(one["reasons"][0]) for one in components[:3]]
    if len(components) > 1 and deciding:
        agree = len(deciding) == len(measured)
        facts = {"letter": letter, "count": len(measured), "components": deciding}
        reasons.append(_reason("all-components-agree" if agree else "worst-component", facts))
    if len(measured) < len(components):
        unmeasured = [one["name"] for one in components if not one["probabilities"]]
        reasons.append(_reason("component-unmeasured", {"components": unmeasured}))
    if declared and letter != "DSBS":
        facts = {"rule": "chi-squared/similar-to-biased", "published": "DSBS", "letter": letter}
        reasons.append(_reason("published-rule-differs", facts))
    url = "http://127.0.0.1:5000/translate"
    return {
        "id": "rat_01JGXM3V0S4Q7Z",
        "letter": letter,
        "declared": declared,
        "probabilities": probabilities,
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "delta": 0.1,
        "experiment": {
            "method": "round-trip", "attribute": "gender", "languages": [one["name"] for one in components][:8],
            "templates": ["base"], "texts_per_block": 20, "max_texts_per_block": 320, "stop_early": True,
            "unbiased": [{"he": 0.5, "she": 0.5}],
            "biased": [{"he": 0.1, "she": 0.9}, {"he": 0.9, "she": 0.1}], "delta": 0.1, "confidence": 0.95,
        },
        "target": {"name": target, "kind": "translator", "protocol": "libretranslate", "url": url, "settings": {},
                   "digest": "sha256:" + hashlib.sha256(url.encode()).hexdigest()},
        "components": components,
        "aggregation": {
            "rule": "worst", "deciding": deciding, "vote": letter,
            "adjusted": {one["name"]: {"p": 0.001, "holm": 0.0021, "bh": 0.0015} for one in measured},
        },
        "published": {
            "chi-squared/similar-to-biased": "DSBS", "chi-squared/departs-from-unbiased": letter,
            "kl": letter, "kl/vote": None,
        },
        "reasons": reasons,
        "counts": {"asked": 240, "failed": 1, "usable": 58, "unusable": 2},
        "methodology": {"version": "1.0.0", "digest": "sha256:" + hashlib.sha256(b"methodology").hexdigest()},
        "engine_version": "0.1.0",
        "seed": 7,
        "calls": 240,
        "evidence_digest": "sha256:" + hashlib.sha256(b"evidence").hexdigest(),
        "rated_at": "2026-01-02T03:04:05Z",
        "expires_at": "2026-07-02T03:04:05Z",
        "visibility": "private",
        "next_methodology": {"version": None, "letter": None},
    }  # fmt: skip


def _two_followers() -> Document:
    rng = np.random.default_rng(1)
    pairs = (("es", "Spanish"), ("fr", "French"))
    return rating_document([measured_component(*pair, "base", "faithful", rng) for pair in pairs])


def _single(behaviour: str, texts: int = 20) -> Document:
    rng = np.random.default_rng(2)
    return rating_document([measured_component("es", "Spanish", "base", behaviour, rng, texts)])


def _unmeasured() -> Document:
    return rating_document([unmeasured_component("es", "Spanish"), unmeasured_component("tr", "Turkish")])


def _many() -> Document:
    rng = np.random.default_rng(3)
    return rating_document(
        [
            measured_component(
                code if template == "base" else f"{code}/{template}",
                language,
                template,
                "flipper" if code == "tr" else "balancer" if code == "hi" else "faithful",
                rng,
            )
            for code, language in zip(CODES, LANGUAGES, strict=True)
            for template in TEMPLATES
        ]
    )


def _hundred() -> Document:
    rng = np.random.default_rng(4)
    names = [f"x{place}" for place in range(99)]
    components = [measured_component(name, f"Language {name}", "base", "faithful", rng) for name in names]
    return rating_document([*components, unmeasured_component("last", "Last")])


def _bare() -> Document:
    """Return a document of another method whose component has the required fields only."""
    component = {
        "name": "nurse", "letter": "UCS", "declared": True, "probabilities": {"BS": 0.01, "DSBS": 0.02, "UCS": 0.97},
        "effects": {"step_1": {"estimate": 0.01, "low": None, "high": None}, "slope": None},
        "usable": 12, "unusable": 0, "failed": 0, "reasons": [], "published": {},
    }  # fmt: skip
    return {"letter": "UCS", "declared": True, "probabilities": component["probabilities"], "components": [component]}


SAMPLES: Mapping[str, Callable[[], Document]] = {
    "DSBS with two components": _two_followers,
    "BS eraser": lambda: _single("eraser"),
    "UCS balancer": lambda: _single("balancer", texts=320),
    "undeclared": lambda: _single("borderline"),
    "unmeasured": _unmeasured,
    "40 components": _many,
    "100 components": _hundred,
    "bare": _bare,
    "empty": dict,
}
"""Functions that make one document of each kind, by name."""

_MADE: dict[str, Document] = {}


def sample_document(name: str) -> Document:
    """Return a copy of the sample document with this name."""
    if name not in _MADE:
        _MADE[name] = SAMPLES[name]()
    return deepcopy(_MADE[name])


@pytest.fixture(scope="session", params=SAMPLES)
def sample_name(request: pytest.FixtureRequest) -> str:
    """Return the name of a sample; a test runs once for every sample."""
    return request.param


@pytest.fixture
def any_sample(sample_name: str) -> Document:
    """Return a sample document; a test runs once for every sample."""
    return sample_document(sample_name)


@pytest.fixture(scope="session")
def any_page(sample_name: str) -> str:
    """Return the HTML page of a sample, rendered once; a test runs once for every sample."""
    return render("html", sample_document(sample_name))


@pytest.fixture
def sample() -> Callable[[str], Document]:
    """Return a function that returns a sample document by its name in `SAMPLES`."""
    return sample_document


# ---------------------------------------------------------------------------- hostile documents
HOSTILE = (
    "\"'/><script>alert(1)</script><img src=https://evil.example/x onerror=alert(2)>]]></style></svg></title>&amp;"
    "\u202eevil\u2066\x00\x1b[31m\x07|`*_[x](javascript:alert(3))\n# head\r\n--> \ud800 {{7*7}}"
)
"""Hostile text: markup, quotes, bidi overrides, NUL, terminal escapes, Markdown, a lone surrogate."""

_FREE_KEYS = frozenset(
    {"transitions", "settings", "unusable_why", "failed_why", "analyses", "published", "adjusted", "rates"}
)


def _poisoned(value: Any, free: bool = False) -> Any:
    if isinstance(value, str):
        return value + HOSTILE
    if isinstance(value, list):
        return [_poisoned(one) for one in value]
    if isinstance(value, dict):
        return {(key + HOSTILE if free else key): _poisoned(each, key in _FREE_KEYS) for key, each in value.items()}
    return value


@pytest.fixture
def poisoned() -> Callable[[str], Document]:
    """Return a function that returns a sample with an attack in every external text; the letters are unchanged."""

    def make(name: str) -> Document:
        clean = sample_document(name)
        attacked = _poisoned(clean)
        attacked["target"]["settings"] = {HOSTILE: {HOSTILE: [HOSTILE]}}
        for key in ("letter", "rated_at"):
            attacked[key] = clean[key]
        for one, was in zip(attacked["components"], clean["components"], strict=True):
            one["letter"] = was["letter"]
        return attacked

    return make


@pytest.fixture
def broken() -> Document:
    """Return a document in which the fields have values of wrong types, or NaN."""
    whole = sample_document("DSBS with two components")
    nonsense: list[Any] = [None, float("nan"), float("inf"), "text", 7, True, [], [None], {}, {"x": None}, [[{}]]]
    for place, key in enumerate(list(whole["components"][0])):
        whole["components"][0][key] = nonsense[place % len(nonsense)]
        whole["components"][1][key] = nonsense[(place + 4) % len(nonsense)]
    for place, key in enumerate(key for key in list(whole) if key != "components"):
        whole[key] = nonsense[place % len(nonsense)]
    whole["components"].append("not even an object")
    return whole

"""Examples for the API's documentation. A test sends each of them to the validator that requests meet."""

from __future__ import annotations

from typing import Any

ROUND_TRIP: dict[str, Any] = {
    "target": {
        "name": "Apertium eng-spa",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": "http://127.0.0.1:5000",
        "secret": None,
        "settings": {},
        "limits": {"concurrency": 8, "requests_per_second": None, "timeout_s": 30},
    },
    "experiment": {
        "method": "round-trip",
        "attribute": "gender",
        "languages": ["es"],
        "texts_per_block": 20,
        "max_texts_per_block": 320,
        "stop_early": True,
        "unbiased": [{"he": 0.5, "she": 0.5}],
        "biased": [{"he": 0.9, "she": 0.1}, {"he": 0.1, "she": 0.9}],
        "delta": 0.1,
        "confidence": 0.95,
    },
    "seed": 7,
    "max_age_s": 0,
    "visibility": "private",
    "callback_url": None,
    "deadline_s": 3600,
    "max_calls": 10_000,
}

SHORTEST: dict[str, Any] = {
    "target": {
        "name": "My translator",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": "http://127.0.0.1:5000",
    },
    "experiment": {"method": "round-trip", "attribute": "gender"},
}

SAVED_TARGET: dict[str, Any] = {
    "target": {"id": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"},
    "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es", "de", "fr"]},
    "max_age_s": 86_400,
}

RATING_REQUESTS: dict[str, Any] = {
    "shortest": {"summary": "The least that is needed; everything else has a default", "value": SHORTEST},
    "complete": {"summary": "Everything spelt out", "value": ROUND_TRIP},
    "saved": {"summary": "A saved target; yesterday's rating will do", "value": SAVED_TARGET},
}

TARGETS: dict[str, Any] = {
    "libretranslate": {"summary": "A LibreTranslate server", "value": ROUND_TRIP["target"]},
    "with-key": {
        "summary": "A service that needs a key",
        "value": {
            "name": "DeepL, free plan",
            "kind": "translator",
            "protocol": "deepl",
            "base_url": "https://api-free.deepl.com",
            "secret": "279a2e9d-83b3-c416-7e2d-f721593e42a0:fx",
        },
    },
}

KEYS: dict[str, Any] = {
    "importer": {
        "summary": "A program that asks for ratings and reads them",
        "value": {"name": "catalog importer", "scopes": ["jobs:write", "ratings:read"], "expires_in_s": 7_776_000},
    },
}

SPECIFICATIONS: dict[str, Any] = {
    "choices": {
        "summary": "Words for a forced choice",
        "value": {
            "name": "ward-work",
            "title": "Work on a ward",
            "kind": "choices",
            "language": "en",
            "citation": "Our own list; shares from the staff register of 2025",
            "words": {
                "attribute": "gender",
                "first": "women",
                "second": "men",
                "cues": [["she", "he"], ["woman", "man"]],
                "concepts": {"nurse": 0.87, "surgeon": 0.31, "porter": None},
                "controls": ["window", "table"],
            },
        },
    },
    "association": {
        "summary": "Words for an association",
        "value": {
            "name": "old-and-young",
            "title": "Old and young",
            "kind": "association",
            "language": "en",
            "citation": "Our own list",
            "words": {
                "attribute": "age",
                "protected": {"old": ["grandfather", "pensioner"], "young": ["teenager", "student"]},
                "attributes": {"old": ["wise", "frail"], "young": ["lively", "rash"]},
                "human": ["person", "neighbour"],
                "neutral": ["window", "table"],
            },
        },
    },
}

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
    "stereotype": {
        "summary": "Words for a stereotype score",
        "value": {
            "name": "tools-and-yarn",
            "title": "Tools and yarn",
            "kind": "stereotype",
            "language": "en",
            "citation": "Our own list",
            "words": {
                "attribute": "gender",
                "first": "men",
                "second": "women",
                "pairs": [["man", "woman"], ["brother", "sister"], ["he", "she"]],
                "first_terms": ["drills", "hammers", "saws"],
                "second_terms": ["yarn", "needles", "buttons"],
                "neutral": ["tea", "rain", "maps", "bread"],
                "telling": ["him", "his", "her", "hers"],
                "frames": ["{The_group} bought {attribute}.", "{The_group} asked about {attribute}."],
            },
        },
    },
    "visual": {
        "summary": "Words for a visual stereotype",
        "value": {
            "name": "pictures-of-tools-and-yarn",
            "title": "Pictures of tools and yarn",
            "kind": "visual",
            "language": "en",
            "citation": "Our own list",
            "words": {
                "attribute": "gender",
                "first": "man",
                "second": "woman",
                "first_terms": ["drill", "hammer", "saw", "anvil", "wrench"],
                "second_terms": ["yarn", "needle", "button", "ribbon", "thimble"],
                "neutral": ["teapot", "umbrella", "map", "loaf of bread", "bicycle", "lamp"],
                "first_names": ["boy", "he"],
                "second_names": ["girl", "she"],
            },
        },
    },
}

CORPORA: dict[str, Any] = {
    "sentences": {
        "summary": "Sentences about professions, by the rules of a shipped specification",
        "value": {
            "name": "Professions, written in May",
            "specification": "p4-professions",
            "licence": "CC-BY-4.0",
            "description": "For the comparison of our three assistants.",
        },
    },
    "images": {
        "summary": "Pictures of people at work",
        "value": {"name": "At work", "kind": "images", "attribute": "gender", "citation": "Drawn for this study"},
    },
}

CORPUS_CHANGES: dict[str, Any] = {
    "share": {"summary": "Let every tenant of the agency read it", "value": {"visibility": "shared"}},
    "describe": {"summary": "Say how it may be used", "value": {"licence": "CC0-1.0", "citation": "Study 7, 2026"}},
}

ITEMS: dict[str, Any] = {
    "sentences": {
        "summary": "Two sentences",
        "value": {
            "items": [
                {"text": "The woman said that the receptionist had left."},
                {"text": "The man asked the carpenter for help.", "note": "from the interviews"},
            ]
        },
    },
    "pictures": {
        "summary": "A picture of one pixel",
        "value": {
            "items": [
                {
                    "image_b64": "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
                    "term": "nurse",
                }
            ]
        },
    },
}

ITEM_CHANGES: dict[str, Any] = {
    "text": {"summary": "Put the sentence right", "value": {"text": "The woman knew that the receptionist was late."}},
    "term": {"summary": "Say what the picture shows", "value": {"term": "surgeon"}},
}

WRITING: dict[str, Any] = {
    "written": {
        "summary": "Five sentences for each word, by a model of your own",
        "value": {
            "author": {
                "name": "Our writer",
                "kind": "language-model",
                "protocol": "openai-chat",
                "base_url": "http://127.0.0.1:8100",
                "settings": {"model": "writer"},
            },
            "per_term": 5,
            "reuse": True,
        },
    },
    "saved": {
        "summary": "A saved target writes, about words that the corpus does not name",
        "value": {
            "author": {"id": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"},
            "specification": "p4-math-arts",
            "family": "plain",
        },
    },
}

RERATINGS: dict[str, Any] = {
    "older": {"summary": "By an older version of the methodology", "value": {"version": "1.0.0"}},
    "current": {"summary": "By the version that ratings are made under now", "value": {"version": "current"}},
}

DOMAINS: dict[str, Any] = {
    "name": {"summary": "A host in the Internet", "value": {"host": "translate.example.com"}},
    "port": {"summary": "With a port of its own", "value": {"host": "translate.example.com:8443"}},
}

REPLIES: dict[str, Any] = {
    "reply": {
        "summary": "What the owner of the rated service says",
        "value": {
            "text": "The model was replaced on 3 March; we have asked for a new rating.",
            "link": "https://translate.example.com/notes",
        },
    },
}

VISIBILITIES: dict[str, Any] = {
    "public": {"summary": "Publish it, for good", "value": {"visibility": "public"}},
    "unlisted": {"summary": "Show it to whoever knows its address", "value": {"visibility": "unlisted"}},
}

WITHDRAWALS: dict[str, Any] = {
    "mistaken": {
        "summary": "It should not be relied on any longer",
        "value": {"reason": "The service was rated through a cache that had answers of an older version."},
    },
}

WEBHOOKS: dict[str, Any] = {
    "changes": {
        "summary": "An API catalog that follows the ratings it shows",
        "value": {
            "url": "http://127.0.0.1:9000/assay",
            "description": "catalog, production",
            "events": ["job.succeeded", "job.failed", "rating.changed", "rating.expiring"],
        },
    },
    "cloudevents": {
        "summary": "Everything, as CloudEvents",
        "value": {"url": "http://127.0.0.1:9000/events", "envelope": "cloudevents"},
    },
}

SUITES: dict[str, Any] = {
    "profile": {
        "summary": "Everything that can be asked of a translator, in three languages",
        "value": {"target": SHORTEST["target"], "languages": ["es", "de", "fr"], "max_age_s": 86_400},
    },
    "chosen": {
        "summary": "Two methods for gender, and fewer sentences than usual",
        "value": {
            "target": {"id": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"},
            "methods": ["round-trip", "one-hop"],
            "attributes": ["gender"],
            "languages": ["es", "de"],
            "confidence": 0.9,
            "settings": {"round-trip": {"max_texts_per_block": 80}},
            "callback_url": None,
        },
    },
}

SCHEDULES: dict[str, Any] = {
    "weekly": {
        "summary": "A rating every Monday at 03:00 UTC",
        "value": {
            "name": "Every Monday",
            "request": {
                "target": {"id": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"},
                "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]},
            },
            "cron": "0 3 * * 1",
        },
    },
    "suite": {
        "summary": "A profile every 30 days",
        "value": {"name": "Monthly profile", "request": {"target": SHORTEST["target"]}, "interval_s": 2_592_000},
    },
}

SCHEDULE_CHANGES: dict[str, Any] = {
    "pause": {"summary": "Let it rest", "value": {"paused": True}},
    "resume": {"summary": "Go on, every night", "value": {"paused": False, "cron": "30 2 * * *"}},
}

COMPOSITIONS: dict[str, Any] = {
    "ratings": {
        "summary": "Two rated services, the second called on what the first returns",
        "value": {
            "chain": [{"rating": "rat_01KA8Z6M3YQ8V5T2N7R4W9X0CD"}, {"rating": "rat_01KA8Z6M3YQ8V5T2N7R4W9X0CE"}],
        },
    },
    "targets": {
        "summary": "Saved targets, by the newest rating of each; the corrected table gives the headline",
        "value": {
            "chain": [{"target": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CD"}, {"target": "tgt_01KA8Z6M3YQ8V5T2N7R4W9X0CE"}],
            "attribute": "gender",
            "table": "revised",
        },
    },
}

"""Request examples of the API's documentation, from ``examples.json``; a test validates each of them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

Examples = dict[str, dict[str, Any]]

_EXAMPLES: dict[str, Examples] = json.loads(files(__package__).joinpath("examples.json").read_text("utf-8"))

RATING_REQUESTS = _EXAMPLES["rating_requests"]
TARGETS = _EXAMPLES["targets"]
COMPOSITIONS = _EXAMPLES["compositions"]
CORPORA = _EXAMPLES["corpora"]
CORPUS_CHANGES = _EXAMPLES["corpus_changes"]
DOMAINS = _EXAMPLES["domains"]
ITEMS = _EXAMPLES["items"]
ITEM_CHANGES = _EXAMPLES["item_changes"]
ITEMS_CHANGES = _EXAMPLES["items_changes"]
KEYS = _EXAMPLES["keys"]
REPLIES = _EXAMPLES["replies"]
ANSWERS = _EXAMPLES["answers"]
RERATINGS = _EXAMPLES["reratings"]
SCHEDULES = _EXAMPLES["schedules"]
SCHEDULE_CHANGES = _EXAMPLES["schedule_changes"]
SPECIFICATIONS = _EXAMPLES["specifications"]
SUITES = _EXAMPLES["suites"]
VISIBILITIES = _EXAMPLES["visibilities"]
WEBHOOKS = _EXAMPLES["webhooks"]
WITHDRAWALS = _EXAMPLES["withdrawals"]
WRITING = _EXAMPLES["writing"]

SHORTEST: dict[str, Any] = RATING_REQUESTS["shortest"]["value"]
ROUND_TRIP: dict[str, Any] = RATING_REQUESTS["complete"]["value"]

"""Ratings for comparison: the same requests, rated in this process without any fault, on a SQLite file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.canonical import digest_of, sealed_part
from store.core import migrate
from store.core.settings import Settings
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, parse_method
from tests.support.jobs import new_job, run_to_end
from workers.engine.tasks import open_context

OF_ONE_RUN = ("id", "rated_at", "expires_at")
"""Fields that differ between two ratings of the same request."""


def without_run(rating: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the fields that differ between two ratings of the same request, and the current status."""
    return {name: value for name, value in sealed_part(rating).items() if name not in OF_ONE_RUN}


def reference_ratings(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Process requests one after the other; return their ratings."""
    with tempfile.TemporaryDirectory(prefix="assay-quiet-") as folder:
        settings = Settings(data_dir=Path(folder), database_url=None, broker_url=None, egress_allow="127.0.0.0/8")
        migrate.upgrade(settings.resolved_database_url)
        context = open_context(settings)
        found = []
        for asked in requests:
            method = parse_method(asked["experiment"])
            new = new_job(
                target=asked["target"],
                experiment=dump_method(method),
                request_digest=digest_of([asked["target"], asked["seed"]]),
                seed=asked["seed"],
                expected=method.expected_probes(),
            )
            ended = run_to_end(context, new)
            if ended.rating_id is None:
                raise RuntimeError(f"the job got no rating although no fault was made: {ended.error}")
            with context.database.read() as connection:
                rating = ratings.find(connection, ended.rating_id, "default")
            assert rating is not None
            found.append(without_run(rating.document))
        context.database.close()
        return found

"""`assay rate --export`: a rating with its evidence, as a file for `assay verify`.

It is not signed: the agency that made it existed only for this rating, so its own key would prove
nothing. The file's digests show that it is unchanged, but not who wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.evidence.export import ExportWriter
from assay.evidence.replay_order import Unrolling
from assay.model import Observation
from store.core.database import Database
from store.jobs import observations
from store.ratings.experiment_json import rated_method
from store.ratings.ratings import StoredRating

ROWS_A_READ = 500


def write_export(database: Database, rating: StoredRating, file: Path) -> None:
    """Write a rating and its evidence into one unsigned file."""
    writer = ExportWriter()
    with file.open("wb") as stream:
        stream.write(writer.opening(rating.shown))
        for observation in _leaves(database, rating):
            stream.write(writer.observation(observation.as_json()))
        stream.write(writer.closing({}))


def _leaves(database: Database, rating: StoredRating) -> Iterator[Observation]:
    with database.read() as connection:
        recorded = observations.count(connection, rating.job_id)
        unrolling = Unrolling(rated_method(rating.rating), rating.rating.seed or 0, recorded)
        while batch := unrolling.advance():
            for start in range(0, len(batch), ROWS_A_READ):
                probes = batch[start : start + ROWS_A_READ]
                replies = observations.recall(connection, rating.job_id, [probe.unit for probe in probes])
                yield from unrolling.accept(probes, replies)

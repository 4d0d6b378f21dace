"""`assay archive`: move old evidence out of the database into sealed files, and back."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

from assay.evidence.export import ExportWriter
from cli.rating.local_job import recorded_observations
from cli.terminal import console
from store.archive import months
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.ratings import certificates
from store.ratings.ratings import StoredRating
from store.security import signing
from store.security.secrets import Vault


def archive(settings: Settings, before: datetime, to: str, *, compact: bool) -> None:
    """Move the evidence of jobs that ended before `before` to files in `to`; if `compact`, shrink the database then."""
    migrate.check(settings.resolved_database_url)
    location = to if to.startswith("s3://") else str(Path(to).expanduser().absolute())
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        with database.write() as connection:
            current_key = signing.current(connection, Vault.from_settings(settings))
            public_keys = [signing_key.as_jwk() for signing_key in signing.all_keys(connection)]
            bytes_before = months.database_size(connection)

        def export(rating: StoredRating) -> bytes:
            """Return the file of a rating and its evidence, signed by the agency."""
            with database.read() as connection:
                certificate = certificates.find(connection, rating.id)
            # a certificate that is not yet stored is made here
            envelopes = certificate.envelopes if certificate else certificates.envelopes_of(current_key, rating)
            writer = ExportWriter()
            lines = [writer.opening(rating.shown, list(envelopes.values()), public_keys, unmasked=rating.unmasked)]
            lines += [writer.observation(row.as_json()) for row in recorded_observations(database, rating)]
            return b"".join([*lines, writer.closing({current_key.id: current_key.sign})])

        before_ms = round(before.replace(tzinfo=UTC).timestamp() * 1000)
        for jobs in months.archive(database, before_ms, location, export):  # the jobs of one file
            size_mb = sum(job.size for job in jobs) / 1e6
            console.print(f"{jobs[0].file}: {len(jobs):,} jobs, {size_mb:,.1f} MB", soft_wrap=True)
        with database.read() as connection:
            bytes_after = months.database_size(connection, compact=compact)  # `compact` shrinks it first
        console.print(f"database: {bytes_before / 1e6:,.1f} MB before, {bytes_after / 1e6:,.1f} MB after")


def restore(settings: Settings, month: datetime) -> None:
    """Restore the archived evidence of a month into the database; the files stay."""
    migrate.check(settings.resolved_database_url)
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        console.print(f"{months.restore(database, f'{month:%Y-%m}'):,} observations are in the database again")

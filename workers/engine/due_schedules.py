"""Schedules that are due and notices of ratings that expire soon, both run by the reconciler.

The reconciler's lock lets one process act at a time. A schedule or a notice is due by the database's clock.
"""

from __future__ import annotations

import structlog

from store.core.database import Database
from store.core.settings import Settings
from store.jobs.dispatch import reconciler_lock
from store.ratings import expiry
from store.suites import schedules
from store.suites.schedules import Bounds

log = structlog.get_logger()

MOST_RUNS = 50
"""Maximum number of schedules in a round; the reconciler also announces jobs, and returns in seconds."""

DAY_S = 86_400


def run_due(database: Database, settings: Settings) -> int:
    """Run every schedule that is due, each in a transaction of its own; return the number of schedules run."""
    with database.read() as connection:
        if not schedules.any_due(connection):  # usually nothing is due; this check takes no lock
            return 0
    bounds = Bounds(settings.max_active_jobs, settings.cooldown_s)
    for done in range(MOST_RUNS):
        with database.write() as connection:
            ran = schedules.run_due(connection, bounds) if reconciler_lock(connection) else None
        if ran is None:
            return done
        schedule, run = ran
        if run.made_id is None:
            log.warning("schedule made nothing", schedule=schedule.id, why=run.code)
        else:
            log.info("schedule run", schedule=schedule.id, made=run.made_id, jobs=len(run.job_ids))
    return MOST_RUNS


def tell_expiring(database: Database, settings: Settings) -> int:
    """Announce each rating that expires soon, once; return the number of ratings."""
    announced, within_s = 0, settings.expiring_days * DAY_S
    while True:
        with database.read() as connection:
            if not expiry.expiring(connection, within_s, 1):
                return announced
        with database.write() as connection:
            if not reconciler_lock(connection):
                return announced
            expiring_ratings = expiry.expiring(connection, within_s, expiry.BATCH)
            expiry.announce_expiring(connection, expiring_ratings)
        announced += len(expiring_ratings)

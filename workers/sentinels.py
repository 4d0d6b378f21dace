"""Jobs of kind ``watch``: some cases of a rating are asked again. `workers.run_job` runs them.

The rating's own experiment runs again with its seed; of its questions, only those of the chosen cases are sent, and all
others get their recorded replies (`assay.rating.sentinels`). No letter is made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.document import RatingDocument
from assay.experiment import Experiment, generator
from assay.methods import AnyMethod
from assay.model import REPEATED, Observation, Probe, Reply
from assay.rating.sentinels import SentinelRun, asked_again, choose_sentinels
from reports.cases import UNJUDGED_KINDS, CaseIndexBuilder, CaseReader
from reports.reading import deciding_reader
from store.core.database import Database
from store.core.errors import WatchUnfit
from store.jobs.jobs import Claim, Job
from store.ratings import ratings
from store.ratings.experiment_json import parse_method
from store.ratings.rerated import evidence
from store.suites import sentinels
from store.suites.sentinels import Watch
from workers.generation import corpus_sentences
from workers.job_targets import USUAL_PAIRS


@dataclass(frozen=True)
class WatchTask:
    """Task of one run of a watch (repeated test whether a service has changed): ask chosen cases of a rating again."""

    rating: RatingDocument
    method: AnyMethod
    recorded: Mapping[str, Observation]
    """Observations of the rating, by the id of the question (`Probe.unit`)."""
    case_keys: frozenset[str]
    reference: Mapping[str, float]
    """For cases drawn at random: their outcomes in the rating; empty after the first run of a test."""

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Language pairs that a translator must support for the method."""
        return self.method.language_pairs() or USUAL_PAIRS

    def experiment(self, seed: int) -> Experiment:  # noqa: ARG002  the rating's seed gives the questions
        """Return the rating's experiment; it sends only the questions of the chosen cases (sentinels)."""
        reader = live_reader(self.rating)

        def is_sentinel(probe: Probe) -> bool:
            case_key, _ = reader.split(Observation(probe, Reply()))  # an empty reply: only the question is used
            return case_key in self.case_keys

        design = self.method.design(generator(self.rating.seed or 0))
        return asked_again(
            design, self.recorded, is_sentinel, finding=self.method.finding(())
        )  # without components: no letter

    def finish(self, database: Database, claim: Claim, result_of_experiment: object) -> None:  # noqa: ARG002
        """Store the chosen cases' outcomes (``None``: answer lost), test whether they changed, and end the job."""
        with database.read() as connection:  # the result is not needed: the ledger has all observations
            outcomes = _outcomes(live_reader(self.rating), evidence(connection, claim.job.id))
        run = SentinelRun(claim.job.seed, {key: outcomes.get(key) for key in sorted(self.case_keys)}, self.reference)
        with database.write() as connection:
            sentinels.finish(connection, claim, run)


TaskOf = Callable[[Database, Job], corpus_sentences.Task | WatchTask]
"""Function that reads from the database the task of a job that makes no rating."""


def live_reader(rating: RatingDocument) -> CaseReader:
    """Return a reader of a rating's cases that reads observations instead of the results in the rating's document."""
    reader = deciding_reader(rating)
    reader.live = True
    return reader


def watch_task_of(database: Database, job: Job) -> WatchTask:
    """Return a job's task: the cases that the test's first run asked or, if it is the first, cases chosen now.

    Raise `WatchUnfit` if the record of the rating has no case that can be asked again.
    """
    watch = Watch(**(job.experiment or {}))
    with database.read() as connection:
        stored_rating = ratings.find(connection, watch.rating, job.tenant)
        earlier_runs, _ = sentinels.runs_of(connection, watch)
        observations = () if stored_rating is None else tuple(evidence(connection, stored_rating.job_id))
    # if the rating was deleted, an empty document, which has no case
    rating = RatingDocument() if stored_rating is None else stored_rating.seen_by(job.tenant).rating
    known_outcomes = _outcomes(live_reader(rating), observations)
    outcomes = {key: outcome for key, outcome in known_outcomes.items() if outcome is not None}
    if not outcomes:
        raise WatchUnfit(f"the record of {watch.rating} has no case that can be asked again")
    # drawn by a spawned generator, because that of the seed itself breaks ties between outcomes (`SentinelRun`)
    sentinel_keys = choose_sentinels(list(outcomes), watch.cases, generator(job.seed).spawn(1)[0])
    # all runs of a test ask the same cases: random ones (`fresh`; their outcomes are the reference), and those on which
    # the letter depends most (`telling`)
    case_keys = frozenset(earlier_runs[0].outcomes if earlier_runs else (*sentinel_keys.fresh, *sentinel_keys.telling))
    reference = {} if earlier_runs else {key: outcomes[key] for key in sentinel_keys.fresh}
    recorded = {observation.probe.unit: observation for observation in observations}
    return WatchTask(rating, parse_method(rating.experiment), recorded, case_keys=case_keys, reference=reference)


def _outcomes(reader: CaseReader, observations: Iterable[Observation]) -> dict[str, float | None]:
    """Map cases, the most influential first, to their signed differences (``None``: lost), ignoring repetitions."""
    builder = CaseIndexBuilder(reader)
    numbered = enumerate(observations, start=1)
    builder.add((seq, observation) for seq, observation in numbered if REPEATED not in observation.probe.unit)
    cases = (case for case in builder.finish().cases if case.kind not in UNJUDGED_KINDS)  # ordered by weight
    return {case.key: reader.outcome(case.difference, case.side) for case in cases}

"""A method for every operation of the API.

Made from the API's description by `python -m proving.make_client`; not to be edited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, TypeVar

from assay_client import calls
from assay_client.call import Call
from assay_client.documents import (
    AssociationRequest,
    AttributeList,
    ChoicesRequest,
    Comparison,
    Composition,
    CompositionList,
    CompositionRequest,
    Consistency,
    Corpus,
    CorpusChange,
    CorpusLine,
    CorpusList,
    CorpusRequest,
    Delivery,
    DeliveryLine,
    DeliveryList,
    Distribution,
    Domain,
    DomainList,
    DomainRequest,
    EntryList,
    Envelope,
    Head,
    Health,
    HistoryEntry,
    HistoryList,
    Inclusion,
    Info,
    Item,
    ItemChange,
    ItemList,
    ItemsRequest,
    Job,
    JobLine,
    JobList,
    Jwks,
    KeptItems,
    Key,
    KeyList,
    KeyRequest,
    LetterList,
    LimitsView,
    Method,
    MethodList,
    MethodologyList,
    MethodologyView,
    NewKey,
    NewWebhook,
    Observation,
    ObservationList,
    Proof,
    ProtocolList,
    Rating,
    RatingDifference,
    RatingList,
    RatingRequest,
    Reply,
    ReplyRequest,
    RerateRequest,
    Schedule,
    ScheduleChange,
    ScheduleList,
    ScheduleRequest,
    SigningKey,
    SigningKeyList,
    Specification,
    SpecificationLine,
    SpecificationList,
    StereotypeRequest,
    Suite,
    SuiteLine,
    SuiteList,
    SuiteRequest,
    Target,
    TargetDescription,
    TargetList,
    Upload,
    UploadLine,
    UploadList,
    VisibilityRequest,
    VisualRequest,
    Webhook,
    WebhookDescription,
    WebhookList,
    WithdrawalRequest,
    WritingRequest,
)
from assay_client.events import Event

T = TypeVar("T")


class Operations(ABC):
    """What the API can be asked; a client says how a call is sent."""

    @abstractmethod
    def _send(self, call: Call[T]) -> T:
        """Send a call and read its answer."""

    @abstractmethod
    def _pages(self, call: Call[Any]) -> Iterator[Any]:
        """Give every item of a list, page after page."""

    @abstractmethod
    def _events(self, call: Call[Any]) -> Iterator[Event]:
        """Give every event of a stream, across connections."""

    def request_rating(
        self, body: RatingRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
    ) -> Job:
        """Ask for a rating.

        Always answers 202 with the job's address in `Location`, also when an earlier rating answers the request
        (the job is then born `succeeded`) or the same request is running (then it is that job).

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.request_rating(body, idempotency_key=idempotency_key, wait_s=wait_s))

    def list_jobs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
        target_url: str | None = None,
    ) -> JobList:
        """List your jobs, newest first, each without what its experiment holds by the thousand (`left_out`).

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        target_url : str, optional
            The target's address, exactly.
        """
        return self._send(calls.list_jobs(limit=limit, cursor=cursor, status=status, target_url=target_url))

    def iter_jobs(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
        target_url: str | None = None,
    ) -> Iterator[JobLine]:
        """Give every item, page after page, of `list_jobs`."""
        return self._pages(calls.list_jobs(limit=limit, cursor=cursor, status=status, target_url=target_url))

    def get_job(self, job_id: str, *, wait_s: int | None = None) -> Job:
        """See how far a job has come. `ETag` and `Retry-After` make polling cheap; `Prefer: wait` rarer.

        Parameters
        ----------
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.get_job(job_id, wait_s=wait_s))

    def cancel_job(self, job_id: str) -> Job:
        """Cancel a job: at once if it is queued, within seconds if it runs.

        One that has ended answers 409.
        """
        return self._send(calls.cancel_job(job_id))

    def follow_job(self, job_id: str, *, last_event_id: str | None = None) -> Iterator[Event]:
        """Follow a job live, from its beginning or from `Last-Event-ID`, until it has ended.

        Parameters
        ----------
        last_event_id : str, optional
            Id of the last event seen; those after it are sent.
        """
        return self._events(calls.follow_job(job_id, last_event_id=last_event_id))

    def list_observations(self, job_id: str, *, limit: int | None = None, cursor: str | None = None) -> ObservationList:
        """Read every question with its reply, in the order they were recorded.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_observations(job_id, limit=limit, cursor=cursor))

    def iter_observations(
        self, job_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Iterator[Observation]:
        """Give every item, page after page, of `list_observations`."""
        return self._pages(calls.list_observations(job_id, limit=limit, cursor=cursor))

    def download_observations_csv(self, job_id: str) -> bytes:
        """Download all observations as a table.

        Cells that a spreadsheet would run begin with `'`.
        """
        return self._send(calls.download_observations_csv(job_id))

    def download_observations_jsonl(self, job_id: str) -> bytes:
        """Download all observations exactly as they were recorded, one JSON object a line."""
        return self._send(calls.download_observations_jsonl(job_id))

    def list_job_deliveries(
        self,
        job_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        state: Literal["waiting", "delivered", "given-up"] | None = None,
    ) -> DeliveryList:
        """List what was sent to a job's `callback_url` within the last 30 days, or still waits, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_job_deliveries(job_id, limit=limit, cursor=cursor, state=state))

    def iter_job_deliveries(
        self,
        job_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        state: Literal["waiting", "delivered", "given-up"] | None = None,
    ) -> Iterator[DeliveryLine]:
        """Give every item, page after page, of `list_job_deliveries`."""
        return self._pages(calls.list_job_deliveries(job_id, limit=limit, cursor=cursor, state=state))

    def get_job_delivery(self, job_id: str, delivery_id: str) -> Delivery:
        """Read a delivery to a job's `callback_url`: what is sent, and every attempt with its answer."""
        return self._send(calls.get_job_delivery(job_id, delivery_id))

    def redeliver_to_callback(self, job_id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send a delivery to a job's `callback_url` again, under the same `webhook-id`.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.redeliver_to_callback(job_id, delivery_id, idempotency_key=idempotency_key))

    def request_suite(
        self, body: SuiteRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
    ) -> Suite:
        """Ask for a profile: each combination of method, attribute and language becomes a job.

        Always answers 202 with the suite's address in `Location`. All jobs are made, or none. What an earlier
        rating answers, or runs already, is not measured twice.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.request_suite(body, idempotency_key=idempotency_key, wait_s=wait_s))

    def list_suites(self, *, limit: int | None = None, cursor: str | None = None) -> SuiteList:
        """List your suites, newest first, without their matrices.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_suites(limit=limit, cursor=cursor))

    def iter_suites(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[SuiteLine]:
        """Give every item, page after page, of `list_suites`."""
        return self._pages(calls.list_suites(limit=limit, cursor=cursor))

    def get_suite(self, suite_id: str, *, wait_s: int | None = None) -> Suite:
        """Read a profile: the letter of each cell, the worst of them, and how far the rest has come.

        Parameters
        ----------
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.get_suite(suite_id, wait_s=wait_s))

    def cancel_suite(self, suite_id: str) -> Suite:
        """Cancel the jobs that the suite made; those that were running before it go on.

        If all have ended, 409.
        """
        return self._send(calls.cancel_suite(suite_id))

    def create_schedule(self, body: ScheduleRequest, *, idempotency_key: str | None = None) -> Schedule:
        """Have a rating or a suite made again and again.

        The request is checked now, as if it were made now.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.create_schedule(body, idempotency_key=idempotency_key))

    def list_schedules(self, *, limit: int | None = None, cursor: str | None = None) -> ScheduleList:
        """List your schedules, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_schedules(limit=limit, cursor=cursor))

    def iter_schedules(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[Schedule]:
        """Give every item, page after page, of `list_schedules`."""
        return self._pages(calls.list_schedules(limit=limit, cursor=cursor))

    def get_schedule(self, schedule_id: str) -> Schedule:
        """Read a schedule: when it is due, what it made last, and why its last run made nothing if it did not."""
        return self._send(calls.get_schedule(schedule_id))

    def change_schedule(self, schedule_id: str, body: ScheduleChange) -> Schedule:
        """Change a schedule, pause it or resume it.

        What is left out stays; a new rhythm begins now.
        """
        return self._send(calls.change_schedule(schedule_id, body))

    def remove_schedule(self, schedule_id: str) -> None:
        """End a schedule.

        What it made stays.
        """
        return self._send(calls.remove_schedule(schedule_id))

    def run_schedule(self, schedule_id: str, *, idempotency_key: str | None = None) -> Schedule:
        """Run a schedule now, paused or not.

        Its times stay as they are.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.run_schedule(schedule_id, idempotency_key=idempotency_key))

    def list_ratings(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        target_url: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
        letter: Literal["UCS", "DSBS", "BS"] | None = None,
        declared: bool | None = None,
        state: Literal["standing", "withdrawn", "all"] | None = None,
    ) -> RatingList:
        """List your ratings and everyone's public ones, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        target_url : str, optional
            The target's address, exactly.
        state : Literal['standing', 'withdrawn', 'all'], optional
            Ratings that stand (expired or not), those that were withdrawn, or all.
        """
        return self._send(
            calls.list_ratings(
                limit=limit,
                cursor=cursor,
                target_url=target_url,
                attribute=attribute,
                method=method,
                letter=letter,
                declared=declared,
                state=state,
            )
        )

    def iter_ratings(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        target_url: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
        letter: Literal["UCS", "DSBS", "BS"] | None = None,
        declared: bool | None = None,
        state: Literal["standing", "withdrawn", "all"] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Give every item, page after page, of `list_ratings`."""
        return self._pages(
            calls.list_ratings(
                limit=limit,
                cursor=cursor,
                target_url=target_url,
                attribute=attribute,
                method=method,
                letter=letter,
                declared=declared,
                state=state,
            )
        )

    def latest_rating(self, target_url: str, *, attribute: str | None = None, method: str | None = None) -> Rating:
        """Read a target's newest rating, expired or not. 404 if there is none, 409 if several could be meant.

        Parameters
        ----------
        target_url : str
            The target's address, exactly.
        """
        return self._send(calls.latest_rating(target_url, attribute=attribute, method=method))

    def get_rating(self, rating_id: str) -> Rating:
        """Read a rating.

        It never changes; what stands beside it may (`next_methodology`, `reply`).
        """
        return self._send(calls.get_rating(rating_id))

    def get_report_html(self, rating_id: str) -> str:
        """Read a rating as a page for people: one file, no scripts, nothing loaded."""
        return self._send(calls.get_report_html(rating_id))

    def get_report_markdown(self, rating_id: str) -> str:
        """Read a rating as Markdown."""
        return self._send(calls.get_report_markdown(rating_id))

    def download_evidence_csv(self, rating_id: str) -> bytes:
        """Download the evidence behind a rating: every question with its reply."""
        return self._send(calls.download_evidence_csv(rating_id))

    def download_sentences_csv(self, rating_id: str) -> bytes:
        """Download what a language model preferred: a row for each sentence and its counterpart.

        Only ratings by `stereotype-score` have them. Cells that a spreadsheet would run begin with `'`.
        """
        return self._send(calls.download_sentences_csv(rating_id))

    def compare_ratings(self, rating_id: str, with_: str) -> Comparison:
        """Compare this rating with another of the same words, such as before and after debiasing.

        Both are ratings by association, which carry the distances that a posterior is drawn from again.

        Parameters
        ----------
        with_ : str
            Id of the later rating, of the same words.
        """
        return self._send(calls.compare_ratings(rating_id, with_))

    def get_rating_badge_svg(self, rating_id: str) -> str:
        """Letter, date and age, as an image for any page.

        Reading never starts work.
        """
        return self._send(calls.get_rating_badge_svg(rating_id))

    def get_rating_badge_json(self, rating_id: str) -> dict[str, Any]:
        """For the endpoint badge of shields.io.

        Reading never starts work.
        """
        return self._send(calls.get_rating_badge_json(rating_id))

    def get_rating_overlay_yaml(self, rating_id: str) -> str:
        """Adds `info.x-bias-rating` to OpenAPI files.

        Reading never starts work.
        """
        return self._send(calls.get_rating_overlay_yaml(rating_id))

    def get_rating_linkset_json(self, rating_id: str) -> dict[str, Any]:
        """From service to rating to forms (RFC 9264).

        Reading never starts work.
        """
        return self._send(calls.get_rating_linkset_json(rating_id))

    def get_rating_backstage_yaml(self, rating_id: str) -> str:
        """And links, for a Backstage entity.

        Reading never starts work.
        """
        return self._send(calls.get_rating_backstage_yaml(rating_id))

    def get_rating_apis_json(self, rating_id: str) -> dict[str, Any]:
        """For a provider's index of services.

        Reading never starts work.
        """
        return self._send(calls.get_rating_apis_json(rating_id))

    def get_rating_azure_api_center_json(self, rating_id: str) -> dict[str, Any]:
        """For Azure API Center.

        Reading never starts work.
        """
        return self._send(calls.get_rating_azure_api_center_json(rating_id))

    def get_rating_huggingface_yaml(self, rating_id: str) -> str:
        """For a Hugging Face model card.

        Reading never starts work.
        """
        return self._send(calls.get_rating_huggingface_yaml(rating_id))

    def get_rating_jsonld_json(self, rating_id: str) -> dict[str, Any]:
        """A schema.org Review, for a web page.

        Reading never starts work.
        """
        return self._send(calls.get_rating_jsonld_json(rating_id))

    def get_target_badge_svg(self, target_id: str, *, attribute: str | None = None, method: str | None = None) -> str:
        """Letter, date and age, as an image for any page.

        Reading never starts work.

        Parameters
        ----------
        attribute : str, optional
            Only ratings for this attribute, such as `gender`.
        method : str, optional
            Only ratings by this method, such as `round-trip`.
        """
        return self._send(calls.get_target_badge_svg(target_id, attribute=attribute, method=method))

    def find_badge_svg(self, target_url: str, *, attribute: str | None = None, method: str | None = None) -> str:
        """Letter, date and age, as an image for any page.

        Reading never starts work.

        Parameters
        ----------
        target_url : str
            The target's address, exactly.
        attribute : str, optional
            Only ratings for this attribute, such as `gender`.
        method : str, optional
            Only ratings by this method, such as `round-trip`.
        """
        return self._send(calls.find_badge_svg(target_url, attribute=attribute, method=method))

    def get_target_badge_json(
        self, target_id: str, *, attribute: str | None = None, method: str | None = None
    ) -> dict[str, Any]:
        """For the endpoint badge of shields.io.

        Reading never starts work.

        Parameters
        ----------
        attribute : str, optional
            Only ratings for this attribute, such as `gender`.
        method : str, optional
            Only ratings by this method, such as `round-trip`.
        """
        return self._send(calls.get_target_badge_json(target_id, attribute=attribute, method=method))

    def find_badge_json(
        self, target_url: str, *, attribute: str | None = None, method: str | None = None
    ) -> dict[str, Any]:
        """For the endpoint badge of shields.io.

        Reading never starts work.

        Parameters
        ----------
        target_url : str
            The target's address, exactly.
        attribute : str, optional
            Only ratings for this attribute, such as `gender`.
        method : str, optional
            Only ratings by this method, such as `round-trip`.
        """
        return self._send(calls.find_badge_json(target_url, attribute=attribute, method=method))

    def get_attestation(self, rating_id: str, *, predicate: Literal["rating", "test-result"] | None = None) -> Envelope:
        """Read a rating's certificate: an in-toto statement in a DSSE envelope, signed with Ed25519.

        It is signed once and does not change, also when the agency's key does.

        Parameters
        ----------
        predicate : Literal['rating', 'test-result'], optional
            `rating`: all that was found; `test-result`: in-toto's own, only of a declared letter.
        """
        return self._send(calls.get_attestation(rating_id, predicate=predicate))

    def export_rating(self, rating_id: str) -> bytes:
        """Download everything behind a rating as one signed file, for `assay verify`, on any machine and ….

        Download everything behind a rating as one signed file, for `assay verify`, on any machine and without a
        network.

        It holds the rating, its certificate, the public keys and every observation in the order of the evidence.
        """
        return self._send(calls.export_rating(rating_id))

    def prove_observation(self, rating_id: str, seq: str) -> Proof:
        """Disclose one observation and prove that it is part of the evidence, without the others."""
        return self._send(calls.prove_observation(rating_id, seq))

    def get_jwks(self) -> Jwks:
        """Read the public keys of the agency, retired ones included, as a JSON Web Key Set."""
        return self._send(calls.get_jwks())

    def list_signing_keys(self) -> SigningKeyList:
        """List the agency's signing keys, newest first.

        There are few: one for each rotation.
        """
        return self._send(calls.list_signing_keys())

    def rotate_signing_key(self, *, idempotency_key: str | None = None) -> SigningKey:
        """Retire the present signing key and make a new one.

        Certificates that were signed before stay valid.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.rotate_signing_key(idempotency_key=idempotency_key))

    def set_visibility(self, rating_id: str, body: VisibilityRequest, *, idempotency_key: str | None = None) -> Rating:
        """Publish a rating of yours, or say otherwise who may see it.

        Publishing is for good: the rating is written to the log, and can then be withdrawn but not hidden.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.set_visibility(rating_id, body, idempotency_key=idempotency_key))

    def withdraw_rating(self, rating_id: str, body: WithdrawalRequest, *, idempotency_key: str | None = None) -> Rating:
        """Withdraw a rating of yours.

        It stays readable under its address, marked with the reason.

        It is left out of lists and of `latest`, and answers no new request.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.withdraw_rating(rating_id, body, idempotency_key=idempotency_key))

    def differ_ratings(self, rating_id: str, with_: str) -> RatingDifference:
        """Say what changed from this rating to a later one, and whether the letter did.

        Two letters are called a change only where the posteriors of both say so; else they may be noise.

        Parameters
        ----------
        with_ : str
            Id of the later rating, by the same method.
        """
        return self._send(calls.differ_ratings(rating_id, with_))

    def create_composition(self, body: CompositionRequest, *, idempotency_key: str | None = None) -> Composition:
        """Infer the rating of a chain of services from the ratings of its links.

        Nothing is called.

        Where the letter has to be measured, or you want to see it measured, send `verification.body` to `POST
        /v1/jobs`: it rates the chain as one target.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.create_composition(body, idempotency_key=idempotency_key))

    def list_compositions(self, *, limit: int | None = None, cursor: str | None = None) -> CompositionList:
        """List your compositions, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_compositions(limit=limit, cursor=cursor))

    def iter_compositions(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[dict[str, Any]]:
        """Give every item, page after page, of `list_compositions`."""
        return self._pages(calls.list_compositions(limit=limit, cursor=cursor))

    def get_composition(self, composition_id: str) -> Composition:
        """Read a composition.

        It never changes; of others' you see those whose every rating you may read.
        """
        return self._send(calls.get_composition(composition_id))

    def save_target(self, body: TargetDescription, *, idempotency_key: str | None = None) -> Target:
        """Save a target, so that jobs can name it and its secret is sent only once.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.save_target(body, idempotency_key=idempotency_key))

    def list_targets(self, *, limit: int | None = None, cursor: str | None = None) -> TargetList:
        """List your targets, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_targets(limit=limit, cursor=cursor))

    def iter_targets(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[Target]:
        """Give every item, page after page, of `list_targets`."""
        return self._pages(calls.list_targets(limit=limit, cursor=cursor))

    def get_target(self, target_id: str) -> Target:
        """Read a target; of its secret only the last characters."""
        return self._send(calls.get_target(target_id))

    def replace_target(self, target_id: str, body: TargetDescription) -> Target:
        """Replace a target.

        Leave `secret` out to keep the one it has; `null` removes it.

        Jobs that are running go on with the target as it was.
        """
        return self._send(calls.replace_target(target_id, body))

    def remove_target(self, target_id: str) -> None:
        """Remove a target and its secret.

        Its jobs and ratings stay.
        """
        return self._send(calls.remove_target(target_id))

    def probe_target(self, target_id: str, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Job:
        """Try a target without rating it: its presence, its order and length, the cost of a call.

        The probe is a job. With `Prefer: wait=N` the answer is 200 with the result if it ends in time.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.probe_target(target_id, idempotency_key=idempotency_key, wait_s=wait_s))

    def target_history(
        self,
        target_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
    ) -> HistoryList:
        """Follow a saved target's ratings through time, newest first, withdrawn ones marked.

        Parameters
        ----------
        limit : int, optional
            Ratings a page, 1 to 50.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(
            calls.target_history(target_id, limit=limit, cursor=cursor, attribute=attribute, method=method)
        )

    def iter_target_history(
        self,
        target_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
    ) -> Iterator[HistoryEntry]:
        """Give every item, page after page, of `target_history`."""
        return self._pages(
            calls.target_history(target_id, limit=limit, cursor=cursor, attribute=attribute, method=method)
        )

    def address_history(
        self,
        target_url: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
    ) -> HistoryList:
        """Follow the ratings of an address through time: yours and everyone's public ones, newest first.

        Parameters
        ----------
        target_url : str
            The target's address, exactly.
        limit : int, optional
            Ratings a page, 1 to 50.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(
            calls.address_history(target_url, limit=limit, cursor=cursor, attribute=attribute, method=method)
        )

    def iter_address_history(
        self,
        target_url: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        attribute: str | None = None,
        method: str | None = None,
    ) -> Iterator[HistoryEntry]:
        """Give every item, page after page, of `address_history`."""
        return self._pages(
            calls.address_history(target_url, limit=limit, cursor=cursor, attribute=attribute, method=method)
        )

    def letter_distribution(
        self,
        *,
        kind: Literal["translator", "classifier", "regressor", "embedder", "language-model", "image-classifier"]
        | None = None,
        attribute: str | None = None,
        method: str | None = None,
    ) -> Distribution:
        """Count targets by letter, for each kind of service, attribute and method.

        The newest public rating of each target counts, if it has neither expired nor been withdrawn.
        """
        return self._send(calls.letter_distribution(kind=kind, attribute=attribute, method=method))

    def download_registry(self) -> bytes:
        """Download every public rating that was not withdrawn, oldest first, one a line.

        The first line tells the licence, the methodology versions, and how long the log was when it was sent.
        """
        return self._send(calls.download_registry())

    def get_log_head(self) -> Head:
        """Read how long the log is and the hash over all of it, signed."""
        return self._send(calls.get_log_head())

    def list_log_entries(
        self, *, start: int | None = None, limit: int | None = None, rating: str | None = None
    ) -> EntryList:
        """Read entries in the order in which they were logged.

        Parameters
        ----------
        start : int, optional
            Position of the first.
        limit : int, optional
            Entries a page, 1 to 200.
        rating : str, optional
            Only those of this rating.
        """
        return self._send(calls.list_log_entries(start=start, limit=limit, rating=rating))

    def prove_inclusion(self, position: int, *, size: int | None = None) -> Inclusion:
        """Have it proved that an entry is in the log.

        Parameters
        ----------
        position : int
            The entry's.
        size : int, optional
            Entries of the tree; left out, the whole log.
        """
        return self._send(calls.prove_inclusion(position, size=size))

    def prove_consistency(self, first: int, *, second: int | None = None) -> Consistency:
        """Have it proved that the log only grew since it had `first` entries.

        Parameters
        ----------
        first : int
            Entries of the older tree.
        second : int, optional
            Entries of the newer; left out, the whole log.
        """
        return self._send(calls.prove_consistency(first, second=second))

    def send_upload(
        self,
        content: bytes,
        purpose: Literal["table", "embedding", "trials"],
        name: str,
        content_type: Literal["text/csv", "application/vnd.apache.parquet", "application/octet-stream", "text/plain"],
    ) -> Upload:
        """Send a file.

        The same bytes for the same purpose are kept once: sent again, the answer is 200 with what is there.

        The file is checked whole before it is kept; 422 names the line and the column to mend.

        Parameters
        ----------
        purpose : Literal['table', 'embedding', 'trials']
            What it is for.
        name : str
            What people call it.
        content_type : Literal['text/csv', 'application/vnd.apache.parquet', 'application/octet-stream', 'text/plain']
            What the file is.
        """
        return self._send(calls.send_upload(content, purpose, name, content_type))

    def list_uploads(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        purpose: Literal["table", "embedding", "trials"] | None = None,
    ) -> UploadList:
        """List your uploads, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        purpose : Literal['table', 'embedding', 'trials'], optional
            What they are for.
        """
        return self._send(calls.list_uploads(limit=limit, cursor=cursor, purpose=purpose))

    def iter_uploads(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        purpose: Literal["table", "embedding", "trials"] | None = None,
    ) -> Iterator[UploadLine]:
        """Give every item, page after page, of `list_uploads`."""
        return self._pages(calls.list_uploads(limit=limit, cursor=cursor, purpose=purpose))

    def get_upload(self, upload_id: str) -> Upload:
        """Read what an upload holds.

        Its content is not given out again.
        """
        return self._send(calls.get_upload(upload_id))

    def remove_upload(self, upload_id: str) -> None:
        """Remove an upload and its content. 409 while a job that is queued or running uses it; ratings stay."""
        return self._send(calls.remove_upload(upload_id))

    def create_specification(
        self,
        body: ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest,
        *,
        idempotency_key: str | None = None,
    ) -> Specification:
        """Keep a specification of your own, for jobs to name as `experiment.specification`.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.create_specification(body, idempotency_key=idempotency_key))

    def list_specifications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        kind: Literal["choices", "association", "stereotype", "visual"] | None = None,
    ) -> SpecificationList:
        """List specifications in their newest versions: your own, newest first, and then those that are shipped.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        kind : Literal['choices', 'association', 'stereotype', 'visual'], optional
            Which methods they are for.
        """
        return self._send(calls.list_specifications(limit=limit, cursor=cursor, kind=kind))

    def iter_specifications(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        kind: Literal["choices", "association", "stereotype", "visual"] | None = None,
    ) -> Iterator[SpecificationLine]:
        """Give every item, page after page, of `list_specifications`."""
        return self._pages(calls.list_specifications(limit=limit, cursor=cursor, kind=kind))

    def get_specification(self, specification_name: str) -> Specification:
        """Read the newest version of a specification."""
        return self._send(calls.get_specification(specification_name))

    def remove_specification(self, specification_name: str) -> None:
        """Remove a specification of yours, in all its versions.

        Jobs and ratings have their own copy of the words.
        """
        return self._send(calls.remove_specification(specification_name))

    def get_specification_version(self, specification_name: str, version: str) -> Specification:
        """Read one version of a specification, which never changes."""
        return self._send(calls.get_specification_version(specification_name, version))

    def add_specification_version(
        self, specification_name: str, body: ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest
    ) -> Specification:
        """Add a version to a specification of yours.

        The same content as the newest adds none: the answer is 200.
        """
        return self._send(calls.add_specification_version(specification_name, body))

    def create_corpus(self, body: CorpusRequest, *, idempotency_key: str | None = None) -> Corpus:
        """Begin a corpus.

        Where it names a specification, every sentence has to keep to that.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.create_corpus(body, idempotency_key=idempotency_key))

    def list_corpora(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        kind: Literal["sentences", "images"] | None = None,
        attribute: str | None = None,
        visibility: Literal["private", "shared"] | None = None,
        specification: str | None = None,
    ) -> CorpusList:
        """List your corpora and those that others share, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        kind : Literal['sentences', 'images'], optional
            What they hold.
        attribute : str, optional
            What their groups differ in.
        visibility : Literal['private', 'shared'], optional
            `private`: only your own; `shared`: yours and everyone's.
        specification : str, optional
            What their sentences keep to: a name, `name@version`, or a digest.
        """
        return self._send(
            calls.list_corpora(
                limit=limit,
                cursor=cursor,
                kind=kind,
                attribute=attribute,
                visibility=visibility,
                specification=specification,
            )
        )

    def iter_corpora(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        kind: Literal["sentences", "images"] | None = None,
        attribute: str | None = None,
        visibility: Literal["private", "shared"] | None = None,
        specification: str | None = None,
    ) -> Iterator[CorpusLine]:
        """Give every item, page after page, of `list_corpora`."""
        return self._pages(
            calls.list_corpora(
                limit=limit,
                cursor=cursor,
                kind=kind,
                attribute=attribute,
                visibility=visibility,
                specification=specification,
            )
        )

    def get_corpus(self, corpus_id: str) -> Corpus:
        """Read what a corpus is, with the words of its specification."""
        return self._send(calls.get_corpus(corpus_id))

    def change_corpus(self, corpus_id: str, body: CorpusChange, *, if_match: str | None = None) -> Corpus:
        """Change what is told of a corpus, or share it with every tenant of this agency.

        What is left out stays.

        Parameters
        ----------
        if_match : str, optional
            Change it only if this is still its `ETag`; 412 otherwise.
        """
        return self._send(calls.change_corpus(corpus_id, body, if_match=if_match))

    def remove_corpus(self, corpus_id: str) -> None:
        """Remove a corpus of yours.

        Jobs and ratings have their own copy of the sentences.
        """
        return self._send(calls.remove_corpus(corpus_id))

    def list_corpus_items(self, corpus_id: str, *, limit: int | None = None, cursor: str | None = None) -> ItemList:
        """Read the sentences or pictures of a corpus, in the order they came.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_corpus_items(corpus_id, limit=limit, cursor=cursor))

    def iter_corpus_items(
        self, corpus_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Iterator[Item]:
        """Give every item, page after page, of `list_corpus_items`."""
        return self._pages(calls.list_corpus_items(corpus_id, limit=limit, cursor=cursor))

    def add_corpus_items(self, corpus_id: str, body: ItemsRequest, *, idempotency_key: str | None = None) -> KeptItems:
        """Put up to 1,000 sentences or pictures into a corpus of yours: all of them, or none where one is refused.

        The same sentence (whatever its capitals, blanks and quotation marks) and the same picture are kept once:
        the answer shows what is there, and is 200 where nothing is new.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.add_corpus_items(corpus_id, body, idempotency_key=idempotency_key))

    def add_corpus_picture(
        self,
        corpus_id: str,
        content: bytes,
        term: str,
        content_type: Literal["image/png", "image/jpeg", "image/webp", "image/gif"],
        *,
        note: str | None = None,
        idempotency_key: str | None = None,
    ) -> KeptItems:
        """Put a picture into a corpus of yours, as a file.

        What it is, is read from the file and not from its name.

        Parameters
        ----------
        term : str
            What it shows.
        content_type : Literal['image/png', 'image/jpeg', 'image/webp', 'image/gif']
            What the file is.
        note : str, optional
            Where it comes from.
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(
            calls.add_corpus_picture(corpus_id, content, term, content_type, note=note, idempotency_key=idempotency_key)
        )

    def change_corpus_item(self, corpus_id: str, item_id: str, body: ItemChange) -> Item:
        """Edit a sentence, or say what a picture shows.

        The provenance stays, and `edited_from` tells what it was.
        """
        return self._send(calls.change_corpus_item(corpus_id, item_id, body))

    def remove_corpus_item(self, corpus_id: str, item_id: str) -> None:
        """Take a sentence or a picture out of a corpus of yours."""
        return self._send(calls.remove_corpus_item(corpus_id, item_id))

    def get_corpus_picture(self, corpus_id: str, item_id: str) -> bytes:
        """Read the file of a picture."""
        return self._send(calls.get_corpus_picture(corpus_id, item_id))

    def write_sentences(
        self, corpus_id: str, body: WritingRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
    ) -> Job:
        """Have a language model of your choice write the sentences that a corpus of yours lacks.

        What is kept is looked at first: a term that has its sentences is not asked for. Each text is checked as any
        other sentence is; what is of no use is counted by its reason, asked for again a few times, and never kept.
        The job's `result` counts what was written, refused and there already.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.write_sentences(corpus_id, body, idempotency_key=idempotency_key, wait_s=wait_s))

    def export_corpus(self, corpus_id: str, *, format_: Literal["csv", "jsonl"] | None = None) -> bytes:
        """Download a corpus: as a table, whose cells a spreadsheet would run begin with `'`, or as JSON lines ….

        Download a corpus: as a table, whose cells a spreadsheet would run begin with `'`, or as JSON lines with
        all.

        Parameters
        ----------
        format_ : Literal['csv', 'jsonl'], optional
            A table, or one JSON object a line.
        """
        return self._send(calls.export_corpus(corpus_id, format_=format_))

    def list_letters_by_methodology(self, rating_id: str) -> LetterList:
        """List what versions of the methodology say of a rating's evidence: its own first, then those computed ….

        List what versions of the methodology say of a rating's evidence: its own first, then those computed since.
        """
        return self._send(calls.list_letters_by_methodology(rating_id))

    def rerate_rating(
        self, rating_id: str, body: RerateRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
    ) -> Job:
        """Rate the recorded evidence of a rating of yours by another version of the methodology, without a call.

        It is a job. The rating stays as it is; the letter is shown by `/methodologies`, and as `next_methodology`
        where the version is the next one.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.rerate_rating(rating_id, body, idempotency_key=idempotency_key, wait_s=wait_s))

    def get_reply(self, rating_id: str) -> Reply:
        """Read the reply to a rating; 404 if there is none."""
        return self._send(calls.get_reply(rating_id))

    def put_reply(self, rating_id: str, body: ReplyRequest) -> Reply:
        """Reply to a rating of a service at a host that you have shown to be yours, whoever asked for the rating.

        The reply is shown beside the rating and alters nothing of it. Writing again replaces it. The first one
        answers 201.
        """
        return self._send(calls.put_reply(rating_id, body))

    def remove_reply(self, rating_id: str) -> None:
        """Take your reply back."""
        return self._send(calls.remove_reply(rating_id))

    def add_domain(self, body: DomainRequest, *, idempotency_key: str | None = None) -> Domain:
        """Say that a host is yours, and learn how to show it.

        One that you named before is shown again, with 200.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.add_domain(body, idempotency_key=idempotency_key))

    def list_domains(self, *, limit: int | None = None, cursor: str | None = None) -> DomainList:
        """List the hosts that you said are yours, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_domains(limit=limit, cursor=cursor))

    def iter_domains(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[Domain]:
        """Give every item, page after page, of `list_domains`."""
        return self._pages(calls.list_domains(limit=limit, cursor=cursor))

    def get_domain(self, domain_id: str) -> Domain:
        """Read a domain: its token, and how the last look for it ended."""
        return self._send(calls.get_domain(domain_id))

    def remove_domain(self, domain_id: str) -> None:
        """Forget a domain and its proof.

        Replies stay.
        """
        return self._send(calls.remove_domain(domain_id))

    def verify_domain(self, domain_id: str, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Job:
        """Have a worker look for the token.

        It is a job; its `result` says whether it was found, and else why not.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        wait_s : int, optional
            Seconds that the service may hold its answer back, at most 30, until this has ended.
        """
        return self._send(calls.verify_domain(domain_id, idempotency_key=idempotency_key, wait_s=wait_s))

    def list_methods(self) -> MethodList:
        """List the ways to look for bias."""
        return self._send(calls.list_methods())

    def get_method(self, name: str) -> Method:
        """Read a method's fields, as the JSON Schema of a request's `experiment`, and its defaults."""
        return self._send(calls.get_method(name))

    def list_attributes(self) -> AttributeList:
        """List what bias can be tested for."""
        return self._send(calls.list_attributes())

    def list_protocols(self) -> ProtocolList:
        """List how targets may speak, with the schema of their `settings`."""
        return self._send(calls.list_protocols())

    def list_methodologies(self) -> MethodologyList:
        """List every version of the methodology, newest first, with what changed."""
        return self._send(calls.list_methodologies())

    def get_methodology_text(self, version: str) -> str:
        """Read the frozen document alone, byte for byte: its sha256 stands on every rating made under it."""
        return self._send(calls.get_methodology_text(version))

    def get_methodology(self, version: str) -> MethodologyView:
        """Read a version: its document, its digest, what changed, and which methods it has letters for."""
        return self._send(calls.get_methodology(version))

    def create_webhook(self, body: WebhookDescription, *, idempotency_key: str | None = None) -> NewWebhook:
        """Have an endpoint told of what happens.

        Its secret is shown in this answer and never again.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.create_webhook(body, idempotency_key=idempotency_key))

    def list_webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> WebhookList:
        """List your endpoints, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_webhooks(limit=limit, cursor=cursor))

    def iter_webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[Webhook]:
        """Give every item, page after page, of `list_webhooks`."""
        return self._pages(calls.list_webhooks(limit=limit, cursor=cursor))

    def get_webhook(self, webhook_id: str) -> Webhook:
        """Read an endpoint; of its secret only the last characters."""
        return self._send(calls.get_webhook(webhook_id))

    def replace_webhook(self, webhook_id: str, body: WebhookDescription) -> Webhook:
        """Change what an endpoint is told, and where.

        Its secret stays; what waits goes to the new address.
        """
        return self._send(calls.replace_webhook(webhook_id, body))

    def remove_webhook(self, webhook_id: str) -> None:
        """Remove an endpoint and its secret.

        What waits for it is not sent any more.
        """
        return self._send(calls.remove_webhook(webhook_id))

    def rotate_webhook(self, webhook_id: str, *, idempotency_key: str | None = None) -> NewWebhook:
        """Give an endpoint a new secret, shown in this answer only.

        For 24 hours the old one signs too.

        Rotating again within these hours ends the older of the two at once.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.rotate_webhook(webhook_id, idempotency_key=idempotency_key))

    def enable_webhook(self, webhook_id: str) -> Webhook:
        """Tell a disabled endpoint again.

        What was given up meanwhile can be sent again one by one.
        """
        return self._send(calls.enable_webhook(webhook_id))

    def ping_webhook(self, webhook_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send an endpoint a notice that means nothing, whatever it subscribed to.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.ping_webhook(webhook_id, idempotency_key=idempotency_key))

    def list_deliveries(
        self,
        webhook_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        state: Literal["waiting", "delivered", "given-up"] | None = None,
    ) -> DeliveryList:
        """List what was sent to an endpoint within the last 30 days, or still waits, newest first.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_deliveries(webhook_id, limit=limit, cursor=cursor, state=state))

    def iter_deliveries(
        self,
        webhook_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        state: Literal["waiting", "delivered", "given-up"] | None = None,
    ) -> Iterator[DeliveryLine]:
        """Give every item, page after page, of `list_deliveries`."""
        return self._pages(calls.list_deliveries(webhook_id, limit=limit, cursor=cursor, state=state))

    def get_delivery(self, webhook_id: str, delivery_id: str) -> Delivery:
        """Read a delivery: what is sent, and every attempt with its answer."""
        return self._send(calls.get_delivery(webhook_id, delivery_id))

    def redeliver(self, webhook_id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send a delivery again, under the same `webhook-id`, to where its endpoint is now.

        Parameters
        ----------
        idempotency_key : str, optional
            Any text of your own, new for each new request. The same key with the same request gets the same
            answer for 24 hours, whatever happened to the connection.
        """
        return self._send(calls.redeliver(webhook_id, delivery_id, idempotency_key=idempotency_key))

    def create_key(self, body: KeyRequest) -> NewKey:
        """Make a key.

        It is shown in this answer and never again.
        """
        return self._send(calls.create_key(body))

    def list_keys(self, *, limit: int | None = None, cursor: str | None = None) -> KeyList:
        """List your tenant's keys, newest first, revoked ones included.

        The keys themselves are not stored.

        Parameters
        ----------
        limit : int, optional
            Rows a page, 1 to 200.
        cursor : str, optional
            Where the page begins: taken from the Link header, unchanged.
        """
        return self._send(calls.list_keys(limit=limit, cursor=cursor))

    def iter_keys(self, *, limit: int | None = None, cursor: str | None = None) -> Iterator[Key]:
        """Give every item, page after page, of `list_keys`."""
        return self._pages(calls.list_keys(limit=limit, cursor=cursor))

    def revoke_key(self, key_id: str) -> None:
        """Revoke a key, at once and for good."""
        return self._send(calls.revoke_key(key_id))

    def livez(self) -> Health:
        """Say that the process runs."""
        return self._send(calls.livez())

    def readyz(self) -> Health:
        """Say whether requests can be served: the database answers and has the schema this version needs."""
        return self._send(calls.readyz())

    def metrics(self) -> str:
        """Read the service's counters in Prometheus's text format."""
        return self._send(calls.metrics())

    def get_info(self) -> Info:
        """Read what this service is and what it can do."""
        return self._send(calls.get_info())

    def get_limits(self) -> LimitsView:
        """Read what you may use, and how much of it is left."""
        return self._send(calls.get_limits())

    def list_problems(self) -> str:
        """Read about every kind of problem."""
        return self._send(calls.list_problems())

    def explain_problem(self, code: str) -> str:
        """Read what a kind of problem means and what would do.

        Problem documents point here.
        """
        return self._send(calls.explain_problem(code))

    def get_api_catalog(self) -> dict[str, Any]:
        """Read what this service offers, for programs that look for APIs.

        HEAD answers with the same `Link`.
        """
        return self._send(calls.get_api_catalog())

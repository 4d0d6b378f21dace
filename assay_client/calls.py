"""A description of every request of the API; none of them does anything.

Made from the API's description by `python -m proving.make_client`; not to be edited.
"""

from __future__ import annotations

from typing import Any, Literal

from assay_client.call import Call, as_bytes, as_json, as_nothing, as_text, segment, wait
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
    CorpusList,
    CorpusRequest,
    Delivery,
    DeliveryList,
    Distribution,
    Domain,
    DomainList,
    DomainRequest,
    EntryList,
    Envelope,
    Head,
    Health,
    HistoryList,
    Inclusion,
    Info,
    Item,
    ItemChange,
    ItemList,
    ItemsRequest,
    Job,
    JobList,
    Jwks,
    KeptItems,
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
    SpecificationList,
    StereotypeRequest,
    Suite,
    SuiteList,
    SuiteRequest,
    Target,
    TargetDescription,
    TargetList,
    Upload,
    UploadList,
    VisibilityRequest,
    VisualRequest,
    Webhook,
    WebhookDescription,
    WebhookList,
    WithdrawalRequest,
    WritingRequest,
)


def request_rating(body: RatingRequest, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Call[Job]:
    """POST /v1/jobs."""
    return Call(
        "POST", "/v1/jobs", as_json, headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)}, json=body
    )


def list_jobs(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    status: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
    target_url: str | None = None,
) -> Call[JobList]:
    """GET /v1/jobs."""
    return Call(
        "GET", "/v1/jobs", as_json, query={"limit": limit, "cursor": cursor, "status": status, "target_url": target_url}
    )


def get_job(job_id: str, *, wait_s: int | None = None) -> Call[Job]:
    """GET /v1/jobs/{job_id}."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}", as_json, headers={"Prefer": wait(wait_s)})


def cancel_job(job_id: str) -> Call[Job]:
    """POST /v1/jobs/{job_id}/cancel."""
    return Call("POST", f"/v1/jobs/{segment(job_id)}/cancel", as_json)


def follow_job(job_id: str, *, last_event_id: str | None = None) -> Call[None]:
    """GET /v1/jobs/{job_id}/events."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}/events", as_nothing, headers={"Last-Event-ID": last_event_id})


def list_observations(job_id: str, *, limit: int | None = None, cursor: str | None = None) -> Call[ObservationList]:
    """GET /v1/jobs/{job_id}/observations."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}/observations", as_json, query={"limit": limit, "cursor": cursor})


def download_observations_csv(job_id: str) -> Call[bytes]:
    """GET /v1/jobs/{job_id}/observations.csv."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}/observations.csv", as_bytes)


def download_observations_jsonl(job_id: str) -> Call[bytes]:
    """GET /v1/jobs/{job_id}/observations.jsonl."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}/observations.jsonl", as_bytes)


def list_job_deliveries(
    job_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["waiting", "delivered", "given-up"] | None = None,
) -> Call[DeliveryList]:
    """GET /v1/jobs/{job_id}/deliveries."""
    return Call(
        "GET",
        f"/v1/jobs/{segment(job_id)}/deliveries",
        as_json,
        query={"limit": limit, "cursor": cursor, "state": state},
    )


def get_job_delivery(job_id: str, delivery_id: str) -> Call[Delivery]:
    """GET /v1/jobs/{job_id}/deliveries/{delivery_id}."""
    return Call("GET", f"/v1/jobs/{segment(job_id)}/deliveries/{segment(delivery_id)}", as_json)


def redeliver_to_callback(job_id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Call[Delivery]:
    """POST /v1/jobs/{job_id}/deliveries/{delivery_id}/redeliver."""
    return Call(
        "POST",
        f"/v1/jobs/{segment(job_id)}/deliveries/{segment(delivery_id)}/redeliver",
        as_json,
        headers={"Idempotency-Key": idempotency_key},
    )


def request_suite(body: SuiteRequest, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Call[Suite]:
    """POST /v1/suites."""
    return Call(
        "POST", "/v1/suites", as_json, headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)}, json=body
    )


def list_suites(*, limit: int | None = None, cursor: str | None = None) -> Call[SuiteList]:
    """GET /v1/suites."""
    return Call("GET", "/v1/suites", as_json, query={"limit": limit, "cursor": cursor})


def get_suite(suite_id: str, *, wait_s: int | None = None) -> Call[Suite]:
    """GET /v1/suites/{suite_id}."""
    return Call("GET", f"/v1/suites/{segment(suite_id)}", as_json, headers={"Prefer": wait(wait_s)})


def cancel_suite(suite_id: str) -> Call[Suite]:
    """POST /v1/suites/{suite_id}/cancel."""
    return Call("POST", f"/v1/suites/{segment(suite_id)}/cancel", as_json)


def create_schedule(body: ScheduleRequest, *, idempotency_key: str | None = None) -> Call[Schedule]:
    """POST /v1/schedules."""
    return Call("POST", "/v1/schedules", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_schedules(*, limit: int | None = None, cursor: str | None = None) -> Call[ScheduleList]:
    """GET /v1/schedules."""
    return Call("GET", "/v1/schedules", as_json, query={"limit": limit, "cursor": cursor})


def get_schedule(schedule_id: str) -> Call[Schedule]:
    """GET /v1/schedules/{schedule_id}."""
    return Call("GET", f"/v1/schedules/{segment(schedule_id)}", as_json)


def change_schedule(schedule_id: str, body: ScheduleChange) -> Call[Schedule]:
    """PATCH /v1/schedules/{schedule_id}."""
    return Call("PATCH", f"/v1/schedules/{segment(schedule_id)}", as_json, json=body)


def remove_schedule(schedule_id: str) -> Call[None]:
    """DELETE /v1/schedules/{schedule_id}."""
    return Call("DELETE", f"/v1/schedules/{segment(schedule_id)}", as_nothing)


def run_schedule(schedule_id: str, *, idempotency_key: str | None = None) -> Call[Schedule]:
    """POST /v1/schedules/{schedule_id}/run."""
    return Call(
        "POST", f"/v1/schedules/{segment(schedule_id)}/run", as_json, headers={"Idempotency-Key": idempotency_key}
    )


def list_ratings(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    target_url: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
    letter: Literal["UCS", "DSBS", "BS"] | None = None,
    declared: bool | None = None,
    state: Literal["standing", "withdrawn", "all"] | None = None,
) -> Call[RatingList]:
    """GET /v1/ratings."""
    return Call(
        "GET",
        "/v1/ratings",
        as_json,
        query={
            "limit": limit,
            "cursor": cursor,
            "target_url": target_url,
            "attribute": attribute,
            "method": method,
            "letter": letter,
            "declared": declared,
            "state": state,
        },
    )


def latest_rating(target_url: str, *, attribute: str | None = None, method: str | None = None) -> Call[Rating]:
    """GET /v1/ratings/latest."""
    return Call(
        "GET", "/v1/ratings/latest", as_json, query={"target_url": target_url, "attribute": attribute, "method": method}
    )


def get_rating(rating_id: str) -> Call[Rating]:
    """GET /v1/ratings/{rating_id}."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}", as_json)


def get_report_html(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/report.html."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/report.html", as_text)


def get_report_markdown(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/report.md."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/report.md", as_text)


def download_evidence_csv(rating_id: str) -> Call[bytes]:
    """GET /v1/ratings/{rating_id}/observations.csv."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/observations.csv", as_bytes)


def download_sentences_csv(rating_id: str) -> Call[bytes]:
    """GET /v1/ratings/{rating_id}/sentences.csv."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/sentences.csv", as_bytes)


def compare_ratings(rating_id: str, with_: str) -> Call[Comparison]:
    """GET /v1/ratings/{rating_id}/comparison."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/comparison", as_json, query={"with": with_})


def get_rating_badge_svg(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/badge.svg."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/badge.svg", as_text)


def get_rating_badge_json(rating_id: str) -> Call[dict[str, Any]]:
    """GET /v1/ratings/{rating_id}/badge.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/badge.json", as_json)


def get_rating_overlay_yaml(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/overlay.yaml."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/overlay.yaml", as_text)


def get_rating_linkset_json(rating_id: str) -> Call[dict[str, Any]]:
    """GET /v1/ratings/{rating_id}/linkset.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/linkset.json", as_json)


def get_rating_backstage_yaml(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/backstage.yaml."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/backstage.yaml", as_text)


def get_rating_apis_json(rating_id: str) -> Call[dict[str, Any]]:
    """GET /v1/ratings/{rating_id}/apis.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/apis.json", as_json)


def get_rating_azure_api_center_json(rating_id: str) -> Call[dict[str, Any]]:
    """GET /v1/ratings/{rating_id}/azure-api-center.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/azure-api-center.json", as_json)


def get_rating_huggingface_yaml(rating_id: str) -> Call[str]:
    """GET /v1/ratings/{rating_id}/huggingface.yaml."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/huggingface.yaml", as_text)


def get_rating_jsonld_json(rating_id: str) -> Call[dict[str, Any]]:
    """GET /v1/ratings/{rating_id}/jsonld.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/jsonld.json", as_json)


def get_target_badge_svg(target_id: str, *, attribute: str | None = None, method: str | None = None) -> Call[str]:
    """GET /v1/targets/{target_id}/badge.svg."""
    return Call(
        "GET", f"/v1/targets/{segment(target_id)}/badge.svg", as_text, query={"attribute": attribute, "method": method}
    )


def find_badge_svg(target_url: str, *, attribute: str | None = None, method: str | None = None) -> Call[str]:
    """GET /v1/badge.svg."""
    return Call(
        "GET", "/v1/badge.svg", as_text, query={"target_url": target_url, "attribute": attribute, "method": method}
    )


def get_target_badge_json(
    target_id: str, *, attribute: str | None = None, method: str | None = None
) -> Call[dict[str, Any]]:
    """GET /v1/targets/{target_id}/badge.json."""
    return Call(
        "GET", f"/v1/targets/{segment(target_id)}/badge.json", as_json, query={"attribute": attribute, "method": method}
    )


def find_badge_json(
    target_url: str, *, attribute: str | None = None, method: str | None = None
) -> Call[dict[str, Any]]:
    """GET /v1/badge.json."""
    return Call(
        "GET", "/v1/badge.json", as_json, query={"target_url": target_url, "attribute": attribute, "method": method}
    )


def get_attestation(rating_id: str, *, predicate: Literal["rating", "test-result"] | None = None) -> Call[Envelope]:
    """GET /v1/ratings/{rating_id}/attestation.json."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/attestation.json", as_json, query={"predicate": predicate})


def export_rating(rating_id: str) -> Call[bytes]:
    """GET /v1/ratings/{rating_id}/export.jsonl."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/export.jsonl", as_bytes)


def prove_observation(rating_id: str, seq: str) -> Call[Proof]:
    """GET /v1/ratings/{rating_id}/observations/{seq}/proof."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/observations/{segment(seq)}/proof", as_json)


def get_jwks() -> Call[Jwks]:
    """GET /.well-known/jwks.json."""
    return Call("GET", "/.well-known/jwks.json", as_json)


def list_signing_keys() -> Call[SigningKeyList]:
    """GET /v1/signing-keys."""
    return Call("GET", "/v1/signing-keys", as_json)


def rotate_signing_key(*, idempotency_key: str | None = None) -> Call[SigningKey]:
    """POST /v1/signing-keys/rotate."""
    return Call("POST", "/v1/signing-keys/rotate", as_json, headers={"Idempotency-Key": idempotency_key})


def set_visibility(rating_id: str, body: VisibilityRequest, *, idempotency_key: str | None = None) -> Call[Rating]:
    """POST /v1/ratings/{rating_id}/visibility."""
    return Call(
        "POST",
        f"/v1/ratings/{segment(rating_id)}/visibility",
        as_json,
        headers={"Idempotency-Key": idempotency_key},
        json=body,
    )


def withdraw_rating(rating_id: str, body: WithdrawalRequest, *, idempotency_key: str | None = None) -> Call[Rating]:
    """POST /v1/ratings/{rating_id}/withdraw."""
    return Call(
        "POST",
        f"/v1/ratings/{segment(rating_id)}/withdraw",
        as_json,
        headers={"Idempotency-Key": idempotency_key},
        json=body,
    )


def differ_ratings(rating_id: str, with_: str) -> Call[RatingDifference]:
    """GET /v1/ratings/{rating_id}/difference."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/difference", as_json, query={"with": with_})


def create_composition(body: CompositionRequest, *, idempotency_key: str | None = None) -> Call[Composition]:
    """POST /v1/compositions."""
    return Call("POST", "/v1/compositions", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_compositions(*, limit: int | None = None, cursor: str | None = None) -> Call[CompositionList]:
    """GET /v1/compositions."""
    return Call("GET", "/v1/compositions", as_json, query={"limit": limit, "cursor": cursor})


def get_composition(composition_id: str) -> Call[Composition]:
    """GET /v1/compositions/{composition_id}."""
    return Call("GET", f"/v1/compositions/{segment(composition_id)}", as_json)


def save_target(body: TargetDescription, *, idempotency_key: str | None = None) -> Call[Target]:
    """POST /v1/targets."""
    return Call("POST", "/v1/targets", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_targets(*, limit: int | None = None, cursor: str | None = None) -> Call[TargetList]:
    """GET /v1/targets."""
    return Call("GET", "/v1/targets", as_json, query={"limit": limit, "cursor": cursor})


def get_target(target_id: str) -> Call[Target]:
    """GET /v1/targets/{target_id}."""
    return Call("GET", f"/v1/targets/{segment(target_id)}", as_json)


def replace_target(target_id: str, body: TargetDescription) -> Call[Target]:
    """PUT /v1/targets/{target_id}."""
    return Call("PUT", f"/v1/targets/{segment(target_id)}", as_json, json=body)


def remove_target(target_id: str) -> Call[None]:
    """DELETE /v1/targets/{target_id}."""
    return Call("DELETE", f"/v1/targets/{segment(target_id)}", as_nothing)


def probe_target(target_id: str, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Call[Job]:
    """POST /v1/targets/{target_id}/probe."""
    return Call(
        "POST",
        f"/v1/targets/{segment(target_id)}/probe",
        as_json,
        headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)},
    )


def target_history(
    target_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
) -> Call[HistoryList]:
    """GET /v1/targets/{target_id}/history."""
    return Call(
        "GET",
        f"/v1/targets/{segment(target_id)}/history",
        as_json,
        query={"limit": limit, "cursor": cursor, "attribute": attribute, "method": method},
    )


def address_history(
    target_url: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    attribute: str | None = None,
    method: str | None = None,
) -> Call[HistoryList]:
    """GET /v1/registry/history."""
    return Call(
        "GET",
        "/v1/registry/history",
        as_json,
        query={"target_url": target_url, "limit": limit, "cursor": cursor, "attribute": attribute, "method": method},
    )


def letter_distribution(
    *,
    kind: Literal["translator", "classifier", "regressor", "embedder", "language-model", "image-classifier"]
    | None = None,
    attribute: str | None = None,
    method: str | None = None,
) -> Call[Distribution]:
    """GET /v1/registry/distribution."""
    return Call(
        "GET", "/v1/registry/distribution", as_json, query={"kind": kind, "attribute": attribute, "method": method}
    )


def download_registry() -> Call[bytes]:
    """GET /v1/registry/dump.jsonl."""
    return Call("GET", "/v1/registry/dump.jsonl", as_bytes)


def get_log_head() -> Call[Head]:
    """GET /v1/log."""
    return Call("GET", "/v1/log", as_json)


def list_log_entries(
    *, start: int | None = None, limit: int | None = None, rating: str | None = None
) -> Call[EntryList]:
    """GET /v1/log/entries."""
    return Call("GET", "/v1/log/entries", as_json, query={"start": start, "limit": limit, "rating": rating})


def prove_inclusion(position: int, *, size: int | None = None) -> Call[Inclusion]:
    """GET /v1/log/proof/inclusion."""
    return Call("GET", "/v1/log/proof/inclusion", as_json, query={"position": position, "size": size})


def prove_consistency(first: int, *, second: int | None = None) -> Call[Consistency]:
    """GET /v1/log/proof/consistency."""
    return Call("GET", "/v1/log/proof/consistency", as_json, query={"first": first, "second": second})


def send_upload(
    content: bytes,
    purpose: Literal["table", "embedding", "trials"],
    name: str,
    content_type: Literal["text/csv", "application/vnd.apache.parquet", "application/octet-stream", "text/plain"],
) -> Call[Upload]:
    """POST /v1/uploads."""
    return Call(
        "POST",
        "/v1/uploads",
        as_json,
        query={"purpose": purpose, "name": name},
        headers={"Content-Type": content_type},
        content=content,
    )


def list_uploads(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    purpose: Literal["table", "embedding", "trials"] | None = None,
) -> Call[UploadList]:
    """GET /v1/uploads."""
    return Call("GET", "/v1/uploads", as_json, query={"limit": limit, "cursor": cursor, "purpose": purpose})


def get_upload(upload_id: str) -> Call[Upload]:
    """GET /v1/uploads/{upload_id}."""
    return Call("GET", f"/v1/uploads/{segment(upload_id)}", as_json)


def remove_upload(upload_id: str) -> Call[None]:
    """DELETE /v1/uploads/{upload_id}."""
    return Call("DELETE", f"/v1/uploads/{segment(upload_id)}", as_nothing)


def create_specification(
    body: ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest, *, idempotency_key: str | None = None
) -> Call[Specification]:
    """POST /v1/specifications."""
    return Call("POST", "/v1/specifications", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_specifications(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    kind: Literal["choices", "association", "stereotype", "visual"] | None = None,
) -> Call[SpecificationList]:
    """GET /v1/specifications."""
    return Call("GET", "/v1/specifications", as_json, query={"limit": limit, "cursor": cursor, "kind": kind})


def get_specification(specification_name: str) -> Call[Specification]:
    """GET /v1/specifications/{specification_name}."""
    return Call("GET", f"/v1/specifications/{segment(specification_name)}", as_json)


def remove_specification(specification_name: str) -> Call[None]:
    """DELETE /v1/specifications/{specification_name}."""
    return Call("DELETE", f"/v1/specifications/{segment(specification_name)}", as_nothing)


def get_specification_version(specification_name: str, version: str) -> Call[Specification]:
    """GET /v1/specifications/{specification_name}/versions/{version}."""
    return Call("GET", f"/v1/specifications/{segment(specification_name)}/versions/{segment(version)}", as_json)


def add_specification_version(
    specification_name: str, body: ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest
) -> Call[Specification]:
    """POST /v1/specifications/{specification_name}/versions."""
    return Call("POST", f"/v1/specifications/{segment(specification_name)}/versions", as_json, json=body)


def create_corpus(body: CorpusRequest, *, idempotency_key: str | None = None) -> Call[Corpus]:
    """POST /v1/corpora."""
    return Call("POST", "/v1/corpora", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_corpora(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    kind: Literal["sentences", "images"] | None = None,
    attribute: str | None = None,
    visibility: Literal["private", "shared"] | None = None,
    specification: str | None = None,
) -> Call[CorpusList]:
    """GET /v1/corpora."""
    return Call(
        "GET",
        "/v1/corpora",
        as_json,
        query={
            "limit": limit,
            "cursor": cursor,
            "kind": kind,
            "attribute": attribute,
            "visibility": visibility,
            "specification": specification,
        },
    )


def get_corpus(corpus_id: str) -> Call[Corpus]:
    """GET /v1/corpora/{corpus_id}."""
    return Call("GET", f"/v1/corpora/{segment(corpus_id)}", as_json)


def change_corpus(corpus_id: str, body: CorpusChange, *, if_match: str | None = None) -> Call[Corpus]:
    """PATCH /v1/corpora/{corpus_id}."""
    return Call("PATCH", f"/v1/corpora/{segment(corpus_id)}", as_json, headers={"If-Match": if_match}, json=body)


def remove_corpus(corpus_id: str) -> Call[None]:
    """DELETE /v1/corpora/{corpus_id}."""
    return Call("DELETE", f"/v1/corpora/{segment(corpus_id)}", as_nothing)


def list_corpus_items(corpus_id: str, *, limit: int | None = None, cursor: str | None = None) -> Call[ItemList]:
    """GET /v1/corpora/{corpus_id}/items."""
    return Call("GET", f"/v1/corpora/{segment(corpus_id)}/items", as_json, query={"limit": limit, "cursor": cursor})


def add_corpus_items(corpus_id: str, body: ItemsRequest, *, idempotency_key: str | None = None) -> Call[KeptItems]:
    """POST /v1/corpora/{corpus_id}/items."""
    return Call(
        "POST",
        f"/v1/corpora/{segment(corpus_id)}/items",
        as_json,
        headers={"Idempotency-Key": idempotency_key},
        json=body,
    )


def add_corpus_picture(
    corpus_id: str,
    content: bytes,
    term: str,
    content_type: Literal["image/png", "image/jpeg", "image/webp", "image/gif"],
    *,
    note: str | None = None,
    idempotency_key: str | None = None,
) -> Call[KeptItems]:
    """POST /v1/corpora/{corpus_id}/images."""
    return Call(
        "POST",
        f"/v1/corpora/{segment(corpus_id)}/images",
        as_json,
        query={"term": term, "note": note},
        headers={"Content-Type": content_type, "Idempotency-Key": idempotency_key},
        content=content,
    )


def change_corpus_item(corpus_id: str, item_id: str, body: ItemChange) -> Call[Item]:
    """PATCH /v1/corpora/{corpus_id}/items/{item_id}."""
    return Call("PATCH", f"/v1/corpora/{segment(corpus_id)}/items/{segment(item_id)}", as_json, json=body)


def remove_corpus_item(corpus_id: str, item_id: str) -> Call[None]:
    """DELETE /v1/corpora/{corpus_id}/items/{item_id}."""
    return Call("DELETE", f"/v1/corpora/{segment(corpus_id)}/items/{segment(item_id)}", as_nothing)


def get_corpus_picture(corpus_id: str, item_id: str) -> Call[bytes]:
    """GET /v1/corpora/{corpus_id}/items/{item_id}/image."""
    return Call("GET", f"/v1/corpora/{segment(corpus_id)}/items/{segment(item_id)}/image", as_bytes)


def write_sentences(
    corpus_id: str, body: WritingRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
) -> Call[Job]:
    """POST /v1/corpora/{corpus_id}/writing."""
    return Call(
        "POST",
        f"/v1/corpora/{segment(corpus_id)}/writing",
        as_json,
        headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)},
        json=body,
    )


def export_corpus(corpus_id: str, *, format_: Literal["csv", "jsonl"] | None = None) -> Call[bytes]:
    """GET /v1/corpora/{corpus_id}/export."""
    return Call("GET", f"/v1/corpora/{segment(corpus_id)}/export", as_bytes, query={"format": format_})


def list_letters_by_methodology(rating_id: str) -> Call[LetterList]:
    """GET /v1/ratings/{rating_id}/methodologies."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/methodologies", as_json)


def rerate_rating(
    rating_id: str, body: RerateRequest, *, idempotency_key: str | None = None, wait_s: int | None = None
) -> Call[Job]:
    """POST /v1/ratings/{rating_id}/rerate."""
    return Call(
        "POST",
        f"/v1/ratings/{segment(rating_id)}/rerate",
        as_json,
        headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)},
        json=body,
    )


def get_reply(rating_id: str) -> Call[Reply]:
    """GET /v1/ratings/{rating_id}/reply."""
    return Call("GET", f"/v1/ratings/{segment(rating_id)}/reply", as_json)


def put_reply(rating_id: str, body: ReplyRequest) -> Call[Reply]:
    """PUT /v1/ratings/{rating_id}/reply."""
    return Call("PUT", f"/v1/ratings/{segment(rating_id)}/reply", as_json, json=body)


def remove_reply(rating_id: str) -> Call[None]:
    """DELETE /v1/ratings/{rating_id}/reply."""
    return Call("DELETE", f"/v1/ratings/{segment(rating_id)}/reply", as_nothing)


def add_domain(body: DomainRequest, *, idempotency_key: str | None = None) -> Call[Domain]:
    """POST /v1/domains."""
    return Call("POST", "/v1/domains", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_domains(*, limit: int | None = None, cursor: str | None = None) -> Call[DomainList]:
    """GET /v1/domains."""
    return Call("GET", "/v1/domains", as_json, query={"limit": limit, "cursor": cursor})


def get_domain(domain_id: str) -> Call[Domain]:
    """GET /v1/domains/{domain_id}."""
    return Call("GET", f"/v1/domains/{segment(domain_id)}", as_json)


def remove_domain(domain_id: str) -> Call[None]:
    """DELETE /v1/domains/{domain_id}."""
    return Call("DELETE", f"/v1/domains/{segment(domain_id)}", as_nothing)


def verify_domain(domain_id: str, *, idempotency_key: str | None = None, wait_s: int | None = None) -> Call[Job]:
    """POST /v1/domains/{domain_id}/verify."""
    return Call(
        "POST",
        f"/v1/domains/{segment(domain_id)}/verify",
        as_json,
        headers={"Idempotency-Key": idempotency_key, "Prefer": wait(wait_s)},
    )


def list_methods() -> Call[MethodList]:
    """GET /v1/methods."""
    return Call("GET", "/v1/methods", as_json)


def get_method(name: str) -> Call[Method]:
    """GET /v1/methods/{name}."""
    return Call("GET", f"/v1/methods/{segment(name)}", as_json)


def list_attributes() -> Call[AttributeList]:
    """GET /v1/attributes."""
    return Call("GET", "/v1/attributes", as_json)


def list_protocols() -> Call[ProtocolList]:
    """GET /v1/protocols."""
    return Call("GET", "/v1/protocols", as_json)


def list_methodologies() -> Call[MethodologyList]:
    """GET /v1/methodology."""
    return Call("GET", "/v1/methodology", as_json)


def get_methodology_text(version: str) -> Call[str]:
    """GET /v1/methodology/{version}.md."""
    return Call("GET", f"/v1/methodology/{segment(version)}.md", as_text)


def get_methodology(version: str) -> Call[MethodologyView]:
    """GET /v1/methodology/{version}."""
    return Call("GET", f"/v1/methodology/{segment(version)}", as_json)


def create_webhook(body: WebhookDescription, *, idempotency_key: str | None = None) -> Call[NewWebhook]:
    """POST /v1/webhooks."""
    return Call("POST", "/v1/webhooks", as_json, headers={"Idempotency-Key": idempotency_key}, json=body)


def list_webhooks(*, limit: int | None = None, cursor: str | None = None) -> Call[WebhookList]:
    """GET /v1/webhooks."""
    return Call("GET", "/v1/webhooks", as_json, query={"limit": limit, "cursor": cursor})


def get_webhook(webhook_id: str) -> Call[Webhook]:
    """GET /v1/webhooks/{webhook_id}."""
    return Call("GET", f"/v1/webhooks/{segment(webhook_id)}", as_json)


def replace_webhook(webhook_id: str, body: WebhookDescription) -> Call[Webhook]:
    """PUT /v1/webhooks/{webhook_id}."""
    return Call("PUT", f"/v1/webhooks/{segment(webhook_id)}", as_json, json=body)


def remove_webhook(webhook_id: str) -> Call[None]:
    """DELETE /v1/webhooks/{webhook_id}."""
    return Call("DELETE", f"/v1/webhooks/{segment(webhook_id)}", as_nothing)


def rotate_webhook(webhook_id: str, *, idempotency_key: str | None = None) -> Call[NewWebhook]:
    """POST /v1/webhooks/{webhook_id}/rotate."""
    return Call(
        "POST", f"/v1/webhooks/{segment(webhook_id)}/rotate", as_json, headers={"Idempotency-Key": idempotency_key}
    )


def enable_webhook(webhook_id: str) -> Call[Webhook]:
    """POST /v1/webhooks/{webhook_id}/enable."""
    return Call("POST", f"/v1/webhooks/{segment(webhook_id)}/enable", as_json)


def ping_webhook(webhook_id: str, *, idempotency_key: str | None = None) -> Call[Delivery]:
    """POST /v1/webhooks/{webhook_id}/ping."""
    return Call(
        "POST", f"/v1/webhooks/{segment(webhook_id)}/ping", as_json, headers={"Idempotency-Key": idempotency_key}
    )


def list_deliveries(
    webhook_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["waiting", "delivered", "given-up"] | None = None,
) -> Call[DeliveryList]:
    """GET /v1/webhooks/{webhook_id}/deliveries."""
    return Call(
        "GET",
        f"/v1/webhooks/{segment(webhook_id)}/deliveries",
        as_json,
        query={"limit": limit, "cursor": cursor, "state": state},
    )


def get_delivery(webhook_id: str, delivery_id: str) -> Call[Delivery]:
    """GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}."""
    return Call("GET", f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}", as_json)


def redeliver(webhook_id: str, delivery_id: str, *, idempotency_key: str | None = None) -> Call[Delivery]:
    """POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver."""
    return Call(
        "POST",
        f"/v1/webhooks/{segment(webhook_id)}/deliveries/{segment(delivery_id)}/redeliver",
        as_json,
        headers={"Idempotency-Key": idempotency_key},
    )


def create_key(body: KeyRequest) -> Call[NewKey]:
    """POST /v1/keys."""
    return Call("POST", "/v1/keys", as_json, json=body)


def list_keys(*, limit: int | None = None, cursor: str | None = None) -> Call[KeyList]:
    """GET /v1/keys."""
    return Call("GET", "/v1/keys", as_json, query={"limit": limit, "cursor": cursor})


def revoke_key(key_id: str) -> Call[None]:
    """DELETE /v1/keys/{key_id}."""
    return Call("DELETE", f"/v1/keys/{segment(key_id)}", as_nothing)


def livez() -> Call[Health]:
    """GET /livez."""
    return Call("GET", "/livez", as_json)


def readyz() -> Call[Health]:
    """GET /readyz."""
    return Call("GET", "/readyz", as_json)


def metrics() -> Call[str]:
    """GET /metrics."""
    return Call("GET", "/metrics", as_text)


def get_info() -> Call[Info]:
    """GET /v1/info."""
    return Call("GET", "/v1/info", as_json)


def get_limits() -> Call[LimitsView]:
    """GET /v1/limits."""
    return Call("GET", "/v1/limits", as_json)


def list_problems() -> Call[str]:
    """GET /problems."""
    return Call("GET", "/problems", as_text)


def explain_problem(code: str) -> Call[str]:
    """GET /problems/{code}."""
    return Call("GET", f"/problems/{segment(code)}", as_text)


def get_api_catalog() -> Call[dict[str, Any]]:
    """GET /.well-known/api-catalog."""
    return Call("GET", "/.well-known/api-catalog", as_json)

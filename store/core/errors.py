"""Errors of the store; `service.http.problem_mapping` maps them to HTTP responses."""

from collections.abc import Mapping

from assay.errors import AssayError, RecordError


class StoreError(AssayError):
    """Base class of the store's errors."""

    code = "store-error"


RETRY_AFTER_S: Mapping[str, int] = {
    "locked": 1,
    "busy": 2,
    "conflict": 1,
    "unreachable": 5,
    "read-only": 30,
    "full": 60,
}
"""Reasons why the database cannot serve, each with the seconds after which a caller may try again."""


class StoreUnavailable(StoreError):
    """The database cannot serve now, for a `reason` (a key of `RETRY_AFTER_S`): HTTP 503 with Retry-After."""

    code = "store-unavailable"

    def __init__(self, reason: str) -> None:
        self.reason, self.retry_after_s = reason, RETRY_AFTER_S[reason]
        super().__init__(f"the database cannot serve now ({reason}); try again in {self.retry_after_s} s")


class SchemaMismatch(StoreError):
    """The database has another schema version than this code needs; the process does not start.

    `unwritable` is the reason (a key of `RETRY_AFTER_S`) why the database cannot be migrated, if it cannot. With
    `unreleased`, the schema is older than the first migration.
    """

    code = "schema-mismatch"

    def __init__(
        self, current: str | None, required: str, unwritable: str | None = None, *, unreleased: bool = False
    ) -> None:
        remedy = "run `assay migrate`, or use the version of Assay that wrote it"
        if unreleased:
            remedy = "an unreleased version of Assay wrote it, and it cannot be migrated; "
            remedy += "export what you need with that version, or start with an empty database"
        elif unwritable is not None:
            obstacle = f"it cannot be migrated, because nothing can be written ({unwritable})"
            remedy = f"{obstacle}; make room, then start again"
        super().__init__(
            f"the database is at schema {current or 'none'} and this version of Assay needs {required}; {remedy}"
        )
        self.current = current


class LeaseLost(StoreError):
    """The job was claimed by another worker, or has ended; the worker stops silently."""

    code = "lease-lost"

    def __init__(self, job_id: str, fence: int) -> None:
        problem = f"the lease on {job_id} under fence {fence} has ended"
        super().__init__(f"{problem}: another worker claimed the job, or it has finished")


class AlreadyFinished(StoreError):
    """The job has ended and cannot be cancelled: HTTP 409."""

    code = "already-finished"

    def __init__(self, job_id: str, status: str) -> None:
        super().__init__(f"{job_id} has already {status}; a finished job cannot be cancelled")
        self.status = status


class SecretLost(StoreError):
    """A secret was encrypted with a key that is not configured."""

    code = "secret-lost"

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"a secret was encrypted with key {key_id}, which is not configured; "
            "add that key to ASSAY_SECRET_KEY_OLDER, or store the secret again"
        )


class SecretMoved(StoreError):
    """An encrypted secret belongs to another tenant, row or field, or was altered."""

    code = "secret-moved"

    def __init__(self, target: str, field: str) -> None:
        super().__init__(f"the encrypted {field} of {target} belongs to another row or was altered; store it again")


class SigningUnavailable(StoreError):
    """The agency's signing key cannot be used now: HTTP 503 with Retry-After."""

    code = "signing-unavailable"
    retry_after_s = 30


class OtherHead(StoreError):
    """A log sends a witness its growth from another size than `size`, the last that was cosigned: HTTP 409."""

    code = "other-head"

    def __init__(self, size: int) -> None:
        super().__init__(f"the latest head that this witness knows has the size {size}")
        self.size = size


class NotAnExtension(StoreError):
    """There is no valid proof that a log still begins with the entries that this witness has cosigned: HTTP 422."""

    code = "checkpoint-inconsistent"

    def __init__(self, origin: str, old_size: int, size: int) -> None:
        super().__init__(f"the proof does not show that {origin} with {size} entries begins with its first {old_size}")


class EvidenceArchived(StoreError, RecordError):
    """A job's observations are in an archive: HTTP 409. The name of `file` contains the file's digest."""

    code = "evidence-archived"

    def __init__(self, job_id: str, month: str, file: str, problem: str = "") -> None:
        remedy = f"`assay archive --restore {month}` brings them back"
        super().__init__(f"the observations of {job_id} were moved to the archive file {file}{problem}; {remedy}")
        self.month, self.file = month, file


class UploadInUse(StoreError):
    """An unfinished job needs the upload: HTTP 409."""

    code = "upload-in-use"

    def __init__(self, upload_id: str, job_id: str) -> None:
        super().__init__(f"{job_id} still uses {upload_id}; cancel the job or wait until it ends")
        self.job_id = job_id


class QuotaExceeded(StoreError):
    """A tenant would store more than its quota: HTTP 409.

    `used` are the bytes with the new content, `by_kind` the bytes of each kind of content, the largest first.
    """

    code = "storage-quota"

    def __init__(self, used: int, quota: int, by_kind: Mapping[str, int]) -> None:
        largest = ", ".join(f"{kind.replace('_', ' ')} {size:,}" for kind, size in list(by_kind.items())[:3])
        super().__init__(
            f"with this request you would store {used:,} bytes; {quota:,} are allowed. Most are {largest}. Remove "
            "uploads, targets, specifications, corpora, schedules or compositions that you no longer need"
        )
        self.used, self.quota, self.by_kind = used, quota, dict(by_kind)


class UploadsFull(StoreError):
    """A tenant's uploads would take more than their quota: HTTP 409."""

    code = "upload-quota"

    def __init__(self, stored: int, size: int, quota: int) -> None:
        problem = f"your uploads take {stored:,} bytes, and with this one {stored + size:,}"
        super().__init__(f"{problem}; {quota:,} are allowed")


class TooManyWebhooks(StoreError):
    """A tenant has the maximum number of webhook endpoints, in total or at a single host: HTTP 409."""

    code = "too-many-webhooks"


class WatchUnfit(StoreError):
    """A rating cannot be watched now (its questions repeated, to notice that the service changed): HTTP 409."""

    code = "schedule-unfit"


class NameTaken(StoreError):
    """A specification with this name exists: HTTP 409."""

    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"a specification called {name!r} exists already; add a version to it, or choose another name")
        self.name = name


class CorpusFull(StoreError):
    """A corpus has its maximum number of items: HTTP 409."""

    code = "corpus-full"

    def __init__(self, corpus_id: str, limit: int) -> None:
        super().__init__(f"{corpus_id} would hold more than {limit} items; create another corpus")


class ItemTaken(StoreError):
    """An edited sentence equals another item of the corpus: HTTP 409."""

    code = "item-taken"

    def __init__(self, item_id: str) -> None:
        super().__init__(f"the corpus has this sentence already, as {item_id}; remove one of the two")
        self.item_id = item_id


class PublishedForGood(StoreError):
    """A public rating cannot be made private or unlisted, because others rely on it: HTTP 409."""

    code = "published-for-good"

    def __init__(self, rating_id: str, visibility: str) -> None:
        super().__init__(f"{rating_id} is public and cannot become {visibility} again; withdraw it and give a reason")


class HoldsPeople(StoreError):
    """A rating that counts people must stay private, because readers could learn small counts from it: HTTP 409."""

    code = "holds-people"


class AlreadyWithdrawn(StoreError):
    """A withdrawn rating cannot be published or withdrawn again: HTTP 409."""

    code = "already-withdrawn"

    def __init__(self, rating_id: str) -> None:
        super().__init__(f"{rating_id} was withdrawn and cannot be changed; request a new rating")


class BeyondTheLog(StoreError):
    """A requested position or tree size is after the end of the log: HTTP 422.

    `name` is the parameter that is too large: ``position``, ``size``, ``first`` or ``second``. `largest` is its largest
    valid value; -1 if the log is empty.
    """

    code = "beyond-the-log"

    def __init__(self, name: str, requested: int, largest: int) -> None:
        valid = "the log is empty" if largest < 0 else f"the largest valid value is {largest}"
        super().__init__(f"{name} is {requested}, but {valid}")
        self.name, self.largest = name, largest


class RatingsRefused(StoreError):
    """A host refuses to be rated: HTTP 409 for a request; a job of such a host fails.

    `who` is ``"file"`` (its file at the URL `where`) or ``"owner"`` (its verified owner, at the API's path `where`).
    """

    code = "ratings_refused"

    def __init__(self, host: str, who: str, where: str) -> None:
        who_refuses = f"its file {where}" if who == "file" else f"its verified owner, at {where} of this service,"
        problem = f"the host {host} must not be rated: {who_refuses} says so"
        super().__init__(f"{problem}; use another target, or ask its operator")
        self.host, self.who, self.where = host, who, where


class NotTheOwner(StoreError):
    """A tenant acts as the owner of a host without a valid proof that the host is its own: HTTP 403.

    `host` is ``None`` if the rated target has no address.
    """

    code = "not-the-owner"

    def __init__(self, host: str | None, message: str) -> None:
        super().__init__(message)
        self.host = host

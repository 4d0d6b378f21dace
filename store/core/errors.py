"""What the store has to say went wrong.

::

    AssayError
    └── StoreError
        ├── StoreUnavailable   come back later -> HTTP 503 with Retry-After
        ├── SchemaMismatch     the database is older or newer than this code -> refuse to start
        ├── LeaseLost          another worker holds the job -> stop quietly
        ├── AlreadyFinished    there is nothing left to cancel -> HTTP 409
        ├── UploadInUse        a job still needs the upload -> HTTP 409
        ├── NameTaken          a specification of this name is there already -> HTTP 409
        ├── CorpusFull         a corpus holds as much as it may -> HTTP 409
        ├── ItemTaken          a corpus has the sentence already, as another item -> HTTP 409
        ├── NotTheOwner        a reply to a rating of somebody else's host -> HTTP 403
        ├── PublishedForGood   a public rating cannot be hidden again -> HTTP 409
        ├── AlreadyWithdrawn   a withdrawn rating stays as it is -> HTTP 409
        ├── BeyondTheLog       the log has not come that far -> HTTP 422
        ├── SecretLost         sealed with a key that is no longer configured
        └── SecretMoved        sealed for another row, or damaged
"""

from __future__ import annotations

from assay.errors import AssayError


class StoreError(AssayError):
    """Anything the store has to say went wrong."""

    code = "store-error"


class StoreUnavailable(StoreError):
    """The database cannot serve now, through no fault of the caller.

    Parameters
    ----------
    reason : str
        One of ``locked``, ``full``, ``read-only``, ``unreachable``, ``busy``, ``conflict``.
    retry_after_s : int
        Seconds after which trying again makes sense.
    """

    code = "store-unavailable"

    def __init__(self, reason: str, retry_after_s: int = 5) -> None:
        super().__init__(f"the database cannot serve now ({reason}); try again in {retry_after_s} s")
        self.reason, self.retry_after_s = reason, retry_after_s


class SchemaMismatch(StoreError):
    """The database's schema is not the one this code was written for."""

    code = "schema-mismatch"

    def __init__(self, found: str | None, wanted: str) -> None:
        super().__init__(
            f"the database is at schema {found or 'none'} and this version of Assay needs {wanted}; "
            "run `assay migrate`, or use the version of Assay that wrote it"
        )
        self.found, self.wanted = found, wanted


class LeaseLost(StoreError):
    """The job is no longer this worker's: it was claimed again, or ended."""

    code = "lease-lost"

    def __init__(self, job_id: str, fence: int) -> None:
        super().__init__(f"the lease on {job_id} under fence {fence} is gone; whoever holds it now goes on")
        self.job_id, self.fence = job_id, fence


class AlreadyFinished(StoreError):
    """The job has ended, so there is nothing left to cancel."""

    code = "already-finished"

    def __init__(self, job_id: str, status: str) -> None:
        super().__init__(f"{job_id} has already {status}; a finished job cannot be cancelled")
        self.job_id, self.status = job_id, status


class SecretLost(StoreError):
    """A secret was sealed with a key this process does not have."""

    code = "secret-lost"

    def __init__(self, key_id: str) -> None:
        super().__init__(
            f"a secret was sealed with key {key_id}, which is not configured; "
            "name it in ASSAY_SECRET_KEY_OLDER, or store the secret again"
        )
        self.key_id = key_id


class SecretMoved(StoreError):
    """A sealed secret does not belong to this tenant, target and field, or was altered."""

    code = "secret-moved"

    def __init__(self, target: str, field: str) -> None:
        super().__init__(f"the sealed {field} of {target} was made for another row or altered; store it again")
        self.target, self.field = target, field


class UploadInUse(StoreError):
    """A job that has not ended still needs the upload."""

    code = "upload-in-use"

    def __init__(self, upload_id: str, job_id: str) -> None:
        super().__init__(f"{job_id} still uses {upload_id}; cancel it or wait for its end")
        self.upload_id, self.job_id = upload_id, job_id


class NameTaken(StoreError):
    """A specification of this name is there already."""

    code = "name-taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"a specification called {name!r} is there already; add a version to it, or take another name")
        self.name = name


class CorpusFull(StoreError):
    """A corpus holds as many items as it may."""

    code = "corpus-full"

    def __init__(self, corpus_id: str, most: int) -> None:
        super().__init__(f"{corpus_id} would hold more than {most} items; begin another corpus")
        self.corpus_id, self.most = corpus_id, most


class ItemTaken(StoreError):
    """A sentence was to become one that its corpus has already."""

    code = "item-taken"

    def __init__(self, item_id: str) -> None:
        super().__init__(f"the corpus has this sentence already, as {item_id}; remove one of the two")
        self.item_id = item_id


class PublishedForGood(StoreError):
    """A rating that was made public cannot be hidden again: others have relied on it."""

    code = "published-for-good"

    def __init__(self, rating_id: str, visibility: str) -> None:
        super().__init__(f"{rating_id} is public and cannot become {visibility} again; withdraw it and say why")
        self.rating_id, self.visibility = rating_id, visibility


class AlreadyWithdrawn(StoreError):
    """A withdrawn rating is neither published nor withdrawn once more."""

    code = "already-withdrawn"

    def __init__(self, rating_id: str) -> None:
        super().__init__(f"{rating_id} was withdrawn, and stays as it is; ask for a new rating")
        self.rating_id = rating_id


class BeyondTheLog(StoreError):
    """An entry or a tree was asked for that the log has not reached.

    Parameters
    ----------
    name : str
        Which of the numbers asked for is too large: ``position``, ``size``, ``first`` or ``second``.
    asked, most : int
        The number, and the largest that would do; -1 where none would.
    """

    code = "beyond-the-log"

    def __init__(self, name: str, asked: int, most: int) -> None:
        would_do = "the log is empty as yet" if most < 0 else f"at most {most} would do"
        super().__init__(f"{name} is {asked}, and {would_do}")
        self.name, self.asked, self.most = name, asked, most


class NotTheOwner(StoreError):
    """Only who has shown that the rated host is theirs may reply to a rating.

    Parameters
    ----------
    host : str or None
        The host; ``None`` where the rated target has no address.
    message : str
        What is lacking.
    """

    code = "not-the-owner"

    def __init__(self, host: str | None, message: str) -> None:
        super().__init__(message)
        self.host = host

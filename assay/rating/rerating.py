"""Re-rating of recorded evidence under another version of the methodology, without a call."""

from collections.abc import Iterable
from dataclasses import replace

from assay.document import MethodologyDocument, RatingDocument, SourceDocument
from assay.errors import RecordError, SpecificationError, UnknownName
from assay.experiment import Method, replay
from assay.explain import Vocabulary
from assay.model import Finding, Observation, Reason
from assay.rating.document import rating_document
from assay.rating.methodology import Methodology, shipped

BESIDE_THE_EXPERIMENT = frozenset({"scraped-not-reproducible", "host-wish-unknown", "public-list"})
"""Codes of reasons that the worker adds, mostly about its access to the target; a replay cannot reproduce them."""


class MethodUnknownThen(SpecificationError):
    """A version of the methodology does not know the method."""

    code = "method-unknown-then"

    def __init__(self, method: str, methodology: Methodology) -> None:
        method_names = ", ".join(methodology.methods)
        super().__init__(f"methodology {methodology.version} has no method {method!r}, only {method_names}", "version")
        self.method, self.version = method, methodology.version


class MethodologyRemoved(SpecificationError):
    """A rating was made under a version of the methodology whose rules this version of Assay no longer has."""

    code = "methodology-removed"

    def __init__(self, version: str) -> None:
        versions = ", ".join(methodology.version for methodology in shipped().versions)
        super().__init__(
            f"the rating was made under methodology {version[:80]}, and this version of Assay has only the rules of "
            f"{versions}; the rating and its certificate stay valid, but its evidence cannot be replayed; "
            "rate the service again for a letter under the current rules"
        )
        self.version = version


class EvidenceAltered(RecordError):
    """The digest of the observations differs from the digest that the rating sealed."""

    code = "evidence-altered"

    def __init__(self, digest: str, sealed: str) -> None:
        super().__init__(f"the evidence has the digest {digest} and the rating sealed {sealed}; it was altered or cut")
        self.found, self.sealed = digest, sealed


def check_knows(methodology: Methodology, method: str) -> None:
    """Raise `MethodUnknownThen` if a version of the methodology does not know the method."""
    if method not in methodology.methods:
        raise MethodUnknownThen(method, methodology)


def rules_of(rating: RatingDocument) -> Methodology:
    """Return the version of the methodology that a rating was made under, or raise `MethodologyRemoved`."""
    version = str(rating.methodology.version)
    try:
        return shipped().named(version)
    except UnknownName:
        raise MethodologyRemoved(version) from None


def rerate(
    rating: RatingDocument, method: Method, record: Iterable[Observation], methodology: Methodology
) -> RatingDocument:
    """Rate recorded evidence under a version of the methodology, without calling the service.

    Under the version of the original rating, the result has the same letter, numbers and digest, bit for bit. If
    another version needs unrecorded answers, it judges the recorded ones, with the reason ``budget-exhausted``. In the
    result, `rerated_from` names the original rating and its version.

    Raise `MethodUnknownThen` if the version does not know the method, `MethodologyRemoved` if this version of Assay
    does not have the rules that the rating was made under, `EvidenceAltered` if the digest of the record is not the
    digest in the rating, and `RecordIncomplete` if a recorded reply is missing.
    """
    check_knows(methodology, method.method)
    observations, seed = list(record), rating.seed
    if seed is None:
        raise RecordError("the rating has no seed, so that its evidence cannot be replayed")
    original_methodology = rules_of(rating)
    recorded_method = original_methodology.amend(method)
    recorded_run = judged_run = replay(recorded_method, seed, observations)
    if recorded_run.evidence.head() != rating.evidence_digest:
        raise EvidenceAltered(recorded_run.evidence.head(), str(rating.evidence_digest))
    amended_method = methodology.amend(method)
    if methodology.version != original_methodology.version and amended_method != recorded_method:
        judged_run = replay(amended_method, seed, observations, more=True)
    assert judged_run.finding is not None  # noqa: S101  a complete replay ends with a finding
    document = rating_document(
        replace(methodology.judge(_add_reasons(judged_run.finding, rating)), methodology_version=methodology.version),
        vocabulary=Vocabulary.of(method),
        experiment=rating.experiment,
        target=rating.target,
        seed=seed,
        calls=recorded_run.asked,
        failed_calls=recorded_run.failed,
        evidence_digest=recorded_run.evidence.head(),
        visibility=str(rating.visibility),
        author=rating.author,
        hosts=rating.hosts,
        audit=rating.audit,
        commitment=rating.commitment,
    )
    return replace(
        document,
        judge=rating.judge,
        methodology=MethodologyDocument(methodology.version, methodology.digest),
        rerated_from=SourceDocument(rating.id, rating.methodology),
        requester=rating.requester,
    )


def _add_reasons(finding: Finding, rating: RatingDocument) -> Finding:
    """Add the rating's reasons that a replay cannot reproduce (`BESIDE_THE_EXPERIMENT`)."""
    added_reasons = tuple(
        Reason(str(reason.code), reason.facts, reason.component)
        for reason in rating.reasons
        if reason.code in BESIDE_THE_EXPERIMENT
    )
    return replace(finding, reasons=(*finding.reasons, *added_reasons)) if added_reasons else finding

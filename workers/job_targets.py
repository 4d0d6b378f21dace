"""Services that a job calls: the rated service and, for some methods, an author or a judge of texts.

They are built from the descriptions stored in the job, with their secrets, and examined before use.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.canonical import target_digest
from assay.document import Json, RatingDocument, ServiceDocument, as_json
from assay.errors import AssayError
from assay.experiment import generator
from assay.methods import AnyMethod, asks_a_public_list, is_default
from assay.methods.outcomes.suppression import MaskingTooCostly
from assay.model import AUTHORED, JUDGES, Ask, Finding, Kind, Reason
from assay.references import HeldBack
from store.core.columns import SealedSecret
from store.jobs.jobs import Job
from store.ratings.standing import Description
from store.security.rights import OPERATOR_TENANT
from store.security.secrets import destination_of
from store.targets import domains, targets
from store.targets.targets import StoredTarget
from workers.calls.driver import CalledService
from workers.calls.host_limits import FILE_TIMEOUT_S, HostLimits
from workers.calls.limits import Breaker, Lane, lane_of
from workers.egress import CallFailed, Egress
from workers.engine.worker_context import WorkerContext, host_label
from workers.targets.adapter import Adapter, Target
from workers.targets.chain.chain import CHAIN, Roles
from workers.targets.checks.examination import Calls, Capability, Examination, one_question_per_call
from workers.targets.checks.image_classifier import ImageExamination, look_questions
from workers.targets.checks.language_model import ModelExamination
from workers.targets.checks.predictor import PredictorExamination
from workers.targets.checks.samples import samples_for
from workers.targets.checks.translator import TranslatorExamination
from workers.targets.registry import address_of, connect, read_settings, settings_chosen, with_tightened_limits
from workers.tenant_uploads import Library

USUAL_PAIRS = (("en", "es"), ("es", "en"))
"""Language pairs for the examination of a translator, if the experiment names none."""


class TargetMoved(AssayError):
    """The address or protocol of a saved target was changed while a job for it was waiting."""

    code = "target-moved"

    def __init__(self, name: str, target_id: str) -> None:
        super().__init__(
            f"the target {name} ({target_id}) was changed after this was asked for, and leads elsewhere now; ask anew"
        )
        self.target_id = target_id


@dataclass(frozen=True, kw_only=True)
class JobService(CalledService):
    """Service that a job calls: the rated one, or the author or judge of texts, with its connection and limits."""

    target: Target
    adapter: Adapter
    egress: Egress
    hosts: HostLimits

    @property
    def is_judge(self) -> bool:
        """Whether the service judges texts; for a job's second service only, which is either an author or a judge."""
        return self.target.kind in JUDGES

    async def examine(self, pairs: Sequence[tuple[str, str]], asks: Sequence[Ask]) -> Capability:
        """Examine the service within its limits; return what it can do, or raise `TargetUnfit` if it cannot be rated.

        `pairs` are the language pairs that a translator must support, `asks` the first questions of the experiment.
        """
        async with self.lane.slot() as slot:

            async def wait_for_turn() -> None:
                await slot.keep()
                await self.lane.wait_for_rate()

            calls = Calls(wait_for_turn=wait_for_turn)
            return await examination_of(self.target, self.adapter, pairs, asks, calls, self.lane.rng).run()


def examination_of(
    target: Target,
    adapter: Adapter,
    pairs: Sequence[tuple[str, str]],
    asks: Sequence[Ask],
    calls: Calls,
    rng: np.random.Generator | None = None,
) -> Examination:
    """Return the examination (a short test before a rating) of a target; arguments as in `JobService.examine`.

    With `rng`, the test's own texts are drawn at random, so that the service does not recognise them.
    """
    match target.kind:
        case Kind.TRANSLATOR:
            return TranslatorExamination(adapter, pairs, calls, rng)
        case Kind.LANGUAGE_MODEL:
            return ModelExamination(adapter, asks, calls, rng)
        case Kind.IMAGE_CLASSIFIER:
            return ImageExamination(adapter, look_questions(target, asks, fresh=rng is not None), calls)
        case _:
            return PredictorExamination(adapter, samples_for(target, asks), calls)


@asynccontextmanager
async def open_services(context: WorkerContext, job: Job) -> AsyncIterator[tuple[JobService, JobService | None]]:
    """Yield the rated service and the author or judge (``None`` if the job has neither), connected during the block.

    Raise `TargetMoved` if a saved target has another address or protocol now, `CallFailed` if the guard refuses an
    address, `RatingsRefused` if a host refuses ratings, `HostCoolingDown` if a host must pause after another rating.
    """
    settings = context.settings
    # known to the agency only; it determines the order of questions and the texts of examinations
    private_rng = generator(int.from_bytes(context.vault.mark(f"calls {job.id} {job.attempt}").encode()))
    rated_target, second_target = _rated_target(context, job), _second_target(context, job)
    library = Library(context.database, settings.data_dir.expanduser() / "cache" / "embeddings", job.tenant)
    async with context.traffic() as traffic, AsyncExitStack() as stack:
        hosts = HostLimits(context.database, settings, job.tenant, job.id, traffic, private_rng)
        egress = Egress(
            settings.egress_networks,
            response_cap=settings.response_cap_bytes,
            scraping=settings.allow_scraping,
            library=library,
            exempt_hosts=settings.exempt_networks,
            host_limits=hosts,
            user_agent=settings.user_agent,
        )
        await stack.enter_async_context(egress)
        if context.on_exchange is not None:
            egress = egress.watched(context.on_exchange)
        await _admit_at_hosts(context, job, egress, hosts, _called_addresses(job, rated_target, second_target))

        def build_service(target: Target, holder: str) -> JobService:
            # a lane has the limits that all jobs of a tenant on one address share
            lane = Lane(lane_of(job.tenant, address_of(target)), holder, target.limits, private_rng, traffic)
            breaker = Breaker(settings.breaker_failures, settings.breaker_window)
            on_call = partial(context.meter.count_call, host_label(target.base_url, target.protocol), target.protocol)
            adapter = connect(target, egress)
            return JobService(lane, breaker, on_call, target=target, adapter=adapter, egress=egress, hosts=hosts)

        # two services of one address share its limits, but hold their slots under different names
        second_service = None if second_target is None else build_service(second_target, f"{job.id}:author")
        yield build_service(rated_target, job.id), second_service


def _called_addresses(job: Job, rated_target: Target, second_target: Target | None) -> dict[str, bool]:
    """Map each address that a job calls to whether its host needs a pause between ratings."""
    # the second service (author or judge) is not rated; a rated link of a chain at its address overwrites this entry
    must_cool_down_by_url = {} if second_target is None else {second_target.base_url: False}
    for link in _links(job.target):
        has_secret = rated_target.secret is not None or link.get("id") in rated_target.link_secrets
        must_cool_down_by_url[link.get("base_url") or ""] = job.kind == "rating" and not has_secret
    must_cool_down_by_url.pop("", None)  # a protocol with fixed addresses, or an upload
    return must_cool_down_by_url


async def _admit_at_hosts(
    context: WorkerContext, job: Job, egress: Egress, hosts: HostLimits, must_cool_down_by_url: Mapping[str, bool]
) -> None:
    """Raise `RatingsRefused` if a host refuses ratings, `HostCoolingDown` if one must pause after another rating.

    `must_cool_down_by_url` tells which hosts need a pause between ratings. Nothing is checked if no host is known to
    refuse ratings, and all hosts are in the operator's exempt networks.
    """
    must_ask_hosts = context.database.value_of(domains.EXIST)  # whether any host is known to refuse ratings
    try:
        if not must_ask_hosts:
            must_ask_hosts = not all([await egress.exempt(url, FILE_TIMEOUT_S) for url in must_cool_down_by_url])
    except CallFailed as failed:
        if not failed.retriable:
            raise
        must_ask_hosts = True  # a name that cannot be resolved now may be resolved for the first call
    if must_ask_hosts:
        await hosts.admit(job, egress, must_cool_down_by_url)


async def examine(
    rated_service: JobService,
    second_service: JobService | None,
    first_questions: Sequence[Ask],
    pairs: Sequence[tuple[str, str]],
    *,
    resumed: bool,
) -> Adapter:
    """Test the services with a job's first questions, and return the adapter that sends all questions of the job.

    The second service, if any, is a judge, or the author, which answers the questions of the types `AUTHORED` (write a
    text, draw an image). A resumed job does not test an author again, because each text costs money. A job without
    first questions rates recorded choices, so that nothing is tested.
    """
    author_questions = [ask for ask in first_questions if isinstance(ask, AUTHORED)]
    rated_is_author = second_service is None or second_service.is_judge  # it writes the texts itself
    adapter = rated_service.adapter
    if rated_is_author and author_questions and resumed:
        adapter = one_question_per_call(adapter)  # not examined: it might mix up the answers of several questions
    elif first_questions:
        asks = [ask for ask in first_questions if rated_is_author or not isinstance(ask, AUTHORED)]
        adapter = (await rated_service.examine(pairs, asks)).adapter
    if second_service is None:
        return adapter
    second_adapter = second_service.adapter
    if second_service.is_judge:
        second_adapter = (await second_service.examine(pairs=(), asks=())).adapter
    elif author_questions and not resumed:
        await second_service.examine(pairs=(), asks=author_questions)
    return Roles(adapter, second_adapter, second_service.target.kind)  # sends each question to the service for it


def with_circumstances(finding: Finding, service: JobService, method: AnyMethod) -> Finding:
    """Add reasons to a finding: if its service is scraped, hosts' refusals are unknown, or its questions are public."""
    reasons = list(finding.reasons)
    if not service.adapter.reproducible:
        reasons.append(Reason("scraped-not-reproducible", {"protocol": service.adapter.protocol}))
    if service.hosts.unread_hosts:
        reasons.append(Reason("host-wish-unknown", {"hosts": ", ".join(sorted(service.hosts.unread_hosts))}))
    if asks_a_public_list(method, service.target.kind):
        reasons.append(Reason("public-list", {}))
    return replace(finding, reasons=tuple(reasons))


def describe(target: Json) -> ServiceDocument:
    """Return the description of a target as its rating shows it, with the digest of the description."""
    document = ServiceDocument(
        target["name"], target["kind"], target["protocol"], target.get("base_url"), target.get("settings") or {}
    )
    return replace(document, digest=target_digest(as_json(document)))


def public_form(method: AnyMethod, document: RatingDocument) -> RatingDocument | None:
    """Return a rating's public form, with small counts of people hidden; ``None`` if none are small or too many are."""
    try:
        return method.masked(document)
    except MaskingTooCostly:
        return None


def description_of(job: Job, method: AnyMethod, *, calls: int) -> Description:
    """Return how a service was set up for its rating; `calls` is the number of its calls.

    ``uploaded``: there were none. ``changed``: the requester chose settings, words, texts, limits, an author or a seed,
    all of which can change a result. ``unpublished``: nothing was chosen, but who publishes only after the result is
    known can repeat ratings until one suits (the agency's operator is trusted). Otherwise as `settings_chosen`.
    """
    if calls == 0:
        return "uploaded"
    seed_is_random = bool(job.nonce)  # a seed of the request has no nonce
    method = method.with_held_back(HeldBack())  # compared without held-back material, which only the agency adds
    if not is_default(method, Kind(job.target["kind"])) or job.author is not None or not seed_is_random:
        return "changed"
    settings_choice = settings_chosen(job.target)
    if settings_choice == "default" and job.visibility != "public" and job.tenant != OPERATOR_TENANT:
        return "unpublished"
    return settings_choice


def hosts_of(*target_documents: Json | None) -> tuple[str, ...]:
    """Return the targets' hosts, without user names, sorted; for a target without an address, its protocol."""
    return tuple(sorted({host_label(link.get("base_url"), link["protocol"]) for link in _links(*target_documents)}))


def retriable_statuses(*target_documents: Json | None) -> Iterator[int]:
    """Yield the HTTP statuses after which a retry may help according to the targets' settings."""
    for link in _links(*target_documents):
        _, settings = read_settings(link["protocol"], Kind(link["kind"]), link.get("settings") or {})
        yield from getattr(settings, "retriable_statuses", ())


def announced(context: WorkerContext, job: Job) -> bool:
    """Return whether the service could know that it is rated: by our user agent, or since its owner requested it."""
    if context.settings.user_agent is not None:
        return True
    urls = [url for link in _links(job.target) if (url := link.get("base_url"))]
    with context.database.read() as connection:
        return any(domains.standing(connection, job.tenant, url).proven for url in urls)


def _links(*documents: Json | None) -> Iterator[Json]:
    """Yield the links of chains; of any other target, the target itself."""
    for document in filter(None, documents):
        yield from document["settings"]["links"] if document["protocol"] == CHAIN else [document]


def _rated_target(context: WorkerContext, job: Job) -> Target:
    """Build the target from the job's description; its secret was sent with the job or is that of a saved target."""
    if job.sealed_secret is None:
        secret = _saved_secret(context, job, job.target_id, job.target)
    else:
        # a secret sent with a job is sealed for the job's id, because its target need not be saved
        secret = context.vault.open_for_target(
            job.sealed_secret, tenant=job.tenant, target=job.id, description=job.target
        )
    return with_tightened_limits(Target.of(job.target, secret, _link_secrets(context, job)))


def _second_target(context: WorkerContext, job: Job) -> Target | None:
    """Build the author or the judge, with the secret of its saved target; return ``None`` if the job has neither."""
    if job.author is None:
        return None
    return Target.of(job.author, _saved_secret(context, job, job.author.get("id"), job.author))


def _saved_secret(context: WorkerContext, job: Job, target_id: str | None, description: Json) -> str | None:
    """Return the decrypted secret of a saved target; ``None`` without an id, if the target was deleted or has none.

    Raise `TargetMoved` if its address differs from the job's `description`: the secret may be for the new one only.
    """
    if target_id is None:
        return None
    with context.database.read() as connection:
        saved_target = targets.find(connection, target_id, job.tenant)
    if saved_target is None:
        return None
    if not _same_address(saved_target, description):
        raise TargetMoved(saved_target.name, saved_target.id)
    sealed_secret = saved_target.sealed_secret
    return None if sealed_secret is None else _open_secret(context, saved_target, sealed_secret)


def _link_secrets(context: WorkerContext, job: Job) -> dict[str, str]:
    """Decrypt the secrets of a chain's saved links, by link id (jobs do not store them); empty for other targets."""
    if job.target["protocol"] != CHAIN:
        return {}
    links = {link["id"]: link for link in _links(job.target) if link.get("id")}  # by id of the saved target
    with context.database.read() as connection:
        saved_targets = targets.find_by_ids(connection, job.tenant, links)
    # a link that has another address now gets no secret, which may be meant for the new address only
    return {
        link_id: _open_secret(context, saved_target, saved_target.sealed_secret)
        for link_id, saved_target in saved_targets.items()
        if saved_target.sealed_secret is not None and _same_address(saved_target, links[link_id])
    }


def _same_address(target: StoredTarget, description: Json) -> bool:
    """Whether a saved target still has the address, protocol and authentication of the description in a job."""
    same_address = (target.protocol, target.base_url) == (description["protocol"], description.get("base_url") or "")
    return same_address and destination_of(targets.descriptor(target)) == destination_of(description)


def _open_secret(context: WorkerContext, target: StoredTarget, sealed_secret: SealedSecret) -> str:
    description = targets.descriptor(target)
    return context.vault.open_for_target(sealed_secret, tenant=target.tenant, target=target.id, description=description)

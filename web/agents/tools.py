"""Tools that AI agents call: find, explain, plan, rate, look at and verify.

Every tool is a request to the API with the caller's own key, so scopes, rates, checks and letters are those of the API.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal
from uuid import uuid4

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError

import assay
from assay.errors import CertificateError
from assay.evidence.dsse import opened
from assay.evidence.jwks import read_jwks
from assay.evidence.verification import check_statements
from store.security.signing import is_signature
from web.frame.api import Answer, Refused

UNAUTHORIZED = 401
MOST_LISTED = 50
"""Maximum number of ratings, and of components of a rating, in an answer."""

MOST_WAIT_S = 25
"""Maximum time in seconds that a tool waits for a job; agents give up on tools that take longer than a minute."""

PREDICATES = ("rating", "test-result")
"""Names of the statements that the agency signs about each rating."""

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ASKS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True)

RatingId = Annotated[str, Field(max_length=100, description="Id of a rating: rat_…")]
JobId = Annotated[str, Field(max_length=100, description="Id of a job: job_…")]
Name = Annotated[str, Field(max_length=100)]
Document = dict[str, Any]
Wait = Annotated[int, Field(ge=0, le=MOST_WAIT_S, description="Seconds to wait for the end of the job")]
Target = Annotated[
    Document,
    Field(
        description="The service, as in POST /v1/jobs: name, kind, protocol, base_url, settings, secret. For example "
        '{"name": "My translator", "kind": "translator", "protocol": "libretranslate", "base_url": "https://…"}'
    ),
]
Experiment = Annotated[
    Document,
    Field(
        description="What is tested, as in POST /v1/jobs. For example "
        '{"method": "round-trip", "attribute": "gender", "languages": ["es"]}'
    ),
]


Ask = Callable[..., Awaitable[Answer]]
"""Sends a request to the API of an agency, with the rights of one caller; its arguments are those of `Api.ask`."""


class ToolServer(MCPServer[Any]):
    """An MCP server that names invalid arguments in plain words."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; raise `ToolError` if its arguments do not fit."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(validation_error := error.__cause__, ValidationError):
                raise
            messages = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in validation_error.errors()]
            raise ToolError(f"{name} cannot be called like this. {'; '.join(messages)}") from None


class AgencyTools:
    """The tools for AI agents; `api_of` returns the client of the agency's API for the request that calls a tool."""

    def __init__(self, api_of: Callable[[Context], Ask]) -> None:
        self._api_of = api_of

    def server(self) -> ToolServer:
        """Return an MCP server with these tools."""
        server = ToolServer(
            "assay",
            title="Assay, the bias-rating agency",
            instructions=files(__package__).joinpath("instructions.txt").read_text("utf-8").strip(),
            version=assay.__version__,
            subscriptions=False,
            log_level="WARNING",
        )
        for tool in (self.find_ratings, self.explain_rating, self.choices, self.verify_rating, self.job_status):
            server.add_tool(tool, annotations=READS, structured_output=False)
        server.add_tool(self.plan_rating, annotations=READS, structured_output=False)
        server.add_tool(self.rate_service, annotations=ASKS, structured_output=False)
        return server

    async def find_ratings(
        self,
        context: Context,
        service: Annotated[str, Field(max_length=2048, description="Address, or part of its name; empty for all")] = "",
        kind: Name = "",
        attribute: Name = "",
        method: Name = "",
        limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 10,
    ) -> str:
        """Find ratings of a service, newest first: letter, whether it is declared, when it expires, who asked.

        For an address (https://…), the rating that stands for it comes first, as `stands`, if there is exactly one.
        `for_address` says of each rating whether it can stand for its address; others are of another model, prompt or
        requester.
        """
        filters = {"kind": kind, "attribute": attribute, "method": method, "limit": limit}
        service_query = {"target_url": service} if "://" in service else {"q": service}
        page = await self._get(context, "/v1/ratings", {**service_query, **filters})
        answer: Document = {"ratings": [_rating_facts(rating) for rating in page["items"]]}
        if "://" in service:
            query = {"target_url": service, "attribute": attribute, "method": method}
            answer["stands"] = await self._standing_rating(context, query)
        return _as_json(answer)

    async def explain_rating(self, context: Context, rating_id: RatingId) -> str:
        """Explain a rating: its letter in words, probabilities, effects with intervals and limits, reasons, counts.

        `in_words` is the summary to quote. A rating holds for what was asked (`experiment`) until it expires.
        """
        rating = await self._get(context, f"/v1/ratings/{_segment(rating_id)}")
        members = ("probabilities", "confidence", "in_words", "reasons", "because", "counts", "experiment", "published")
        components = [
            {name: component.get(name) for name in ("name", "letter", "declared", "effects")}
            for component in rating["components"][:MOST_LISTED]
        ]
        explanation = {name: rating[name] for name in members if name in rating}
        return _as_json({**_rating_facts(rating), **explanation, "components": components, "report": f"/r/{rating_id}"})

    async def choices(self, context: Context, kind: Name = "") -> str:
        """List what a rating can be asked for: methods with an example request, protocols, attributes.

        `kind` is the kind of service: translator, classifier, regressor, embedder, language-model, image-classifier.
        """
        methods = [
            {name: method[name] for name in ("name", "summary", "kinds")}
            for method in (await self._get(context, "/v1/methods"))["items"]
            if kind in ("", *method["kinds"])  # every method if no `kind` is given
        ]
        if kind:
            for method in methods:
                method["example"] = (await self._get(context, f"/v1/methods/{method['name']}")).get("example")
        protocols = [
            {name: protocol[name] for name in ("name", "summary", "kinds", "needs_url", "needs_secret")}
            for protocol in (await self._get(context, "/v1/protocols"))["items"]
            if kind in ("", *protocol["kinds"])  # every protocol if no `kind` is given
        ]
        attributes = [attribute["name"] for attribute in (await self._get(context, "/v1/attributes"))["items"]]
        return _as_json({"methods": methods, "protocols": protocols, "attributes": attributes})

    async def plan_rating(self, context: Context, target: Target, experiment: Experiment) -> str:
        """Plan a rating: its numbers of questions and calls, and its time and cost; nothing is stored or called."""
        body = {"target": target, "experiment": experiment}
        return _as_json(await self._ask(context, "POST", "/v1/jobs/plan", body=body))

    async def rate_service(
        self,
        context: Context,
        target: Target,
        experiment: Experiment,
        visibility: Literal["private", "unlisted", "public"] = "private",
        max_calls: Annotated[int, Field(ge=1, le=1_000_000, description="Maximum number of calls")] = 10_000,
        wait_s: Wait = 20,
    ) -> str:
        """Have a service rated; it is called many times, which its owner may charge for. Needs the scope jobs:write.

        Ask the person whom you work for before you use this. Returns the job; while it has not ended, ask job_status.
        """
        body = {"target": target, "experiment": experiment, "visibility": visibility, "max_calls": max_calls}
        headers = {"idempotency-key": f"mcp-{uuid4()}", "prefer": f"wait={wait_s}"}
        return _as_json(_job_state(await self._ask(context, "POST", "/v1/jobs", body=body, headers=headers)))

    async def job_status(self, context: Context, job_id: JobId, wait_s: Wait = 20) -> str:
        """Read the progress of a job, and its rating once it has succeeded."""
        headers = {"prefer": f"wait={wait_s}"}
        return _as_json(_job_state(await self._get(context, f"/v1/jobs/{_segment(job_id)}", headers=headers)))

    async def verify_rating(self, context: Context, rating_id: RatingId) -> str:
        """Check that the agency signed this rating as it is shown: signature, target and every number of the document.

        `verified` is false if anything differs. The keys are those of the same agency; `replay` says how to check
        everything independently, also that the letter follows from the recorded answers.
        """
        rating = await self._get(context, f"/v1/ratings/{_segment(rating_id)}")
        path = f"/v1/ratings/{_segment(rating_id)}/attestation.json"
        predicates = PREDICATES if rating["declared"] else PREDICATES[:1]  # only a letter has a test result
        envelopes = [await self._get(context, path, {"predicate": predicate}) for predicate in predicates]
        keys = read_jwks(await self._get(context, "/.well-known/jwks.json"))

        def is_of_agency(key_id: str, signature: bytes, message: bytes) -> bool:
            return key_id in keys and is_signature(keys[key_id], signature, message)

        try:
            checks = [*check_statements(rating, [*map(opened, envelopes)], is_of_agency)]
        except CertificateError as error:
            return _as_json({"verified": False, "differs": [str(error)]})
        return _as_json(
            {
                "verified": all(check.ok for check in checks),
                "checked": [check.name for check in checks if check.ok],
                "differs": [check.wrong for check in checks if check.wrong is not None],
                "withdrawn": rating.get("withdrawn"),
                "expires_at": rating["expires_at"],
                "replay": f"download /v1/ratings/{rating_id}/export.jsonl and /.well-known/jwks.json, then run: "
                "assay verify rating.export.jsonl --keys jwks.json --replay",
            }
        )

    async def _standing_rating(self, context: Context, query: Mapping[str, str]) -> Document | None:
        """Return the rating that stands for an address; `None` if there is none, or if several ratings match."""
        try:
            answer = await self._api_of(context)("GET", "/v1/ratings/latest", query=query)
        except Refused as error:
            if error.status in {404, 409}:  # no rating, or several
                return None
            raise _tool_error(error) from None
        return _rating_facts(answer.document)

    async def _get(
        self, context: Context, path: str, query: Document | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        return await self._ask(context, "GET", path, query=query, headers=headers)

    async def _ask(self, context: Context, method: str, path: str, **arguments: Any) -> Any:
        try:
            return (await self._api_of(context)(method, path, **arguments)).document
        except Refused as error:
            raise _tool_error(error) from None


def _segment(identifier: str) -> str:
    """Return an id for use in a path; raise `ToolError` if it has anything but ASCII letters, digits and ``_``."""
    if not identifier.isascii() or not identifier.replace("_", "").isalnum():
        raise ToolError(f"{identifier[:80]!r} is no id; ids of ratings begin with rat_, and those of jobs with job_")
    return identifier


def _rating_facts(rating: Document) -> Document:
    """Return a rating's main facts (letter, method, dates, service), by which an agent chooses between ratings."""
    main_members = ("id", "letter", "declared", "method", "attribute", "rated_at", "expires_at")
    facts = {name: rating[name] for name in (*main_members, "visibility", "withdrawn", "requester")}
    service = {name: rating["target"].get(name) for name in ("name", "kind", "protocol", "url")}
    return {**facts, "service": service, "for_address": rating["standing"]["for_address"]}


def _job_state(job: Document) -> Document:
    """Return the state of a job, with its rating if it has succeeded, or with the error that stopped it."""
    members = ("id", "status", "stage", "asked", "expected", "failed_calls", "eta_seconds", "queue_position", "rating")
    return {name: job.get(name) for name in (*members, "error")}


def _as_json(document: Document) -> str:
    return json.dumps(document, ensure_ascii=False)


def _tool_error(refusal: Refused) -> ToolError:
    """Return the API's refusal as the error of a tool, with every invalid field."""
    problem = refusal.problem
    messages = [str(problem["detail"] or problem["title"])]
    messages += [f"{error['pointer'] or error['parameter']}: {error['detail']}" for error in refusal.errors]
    if refusal.status == UNAUTHORIZED:
        messages.append("give the agency's key in the header Authorization, or to `assay mcp` in ASSAY_KEY")
    if wait := refusal.headers.get("retry-after"):
        messages.append(f"try again in {wait} s")
    return ToolError(f"{refusal.code}: {'; '.join(messages)}")

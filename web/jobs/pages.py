"""``/jobs``, ``/jobs/{id}``, and the part of a job's page that is fetched again every second."""

import asyncio
import gzip
from datetime import datetime
from functools import partial

from starlette.responses import HTMLResponse, Response

from assay.document import Json, JsonObject
from reports.cases.reading import question_text, value_text
from service.http.conditional import caller_has
from service.http.problems import kind_named
from service.http.swr_cache import SwrCache
from web.frame import Pages, Refused, Visit
from web.frame.rendering import render
from web.frame.visit import headers_of

pages = Pages()


@pages.get("/jobs")
async def jobs(visit: Visit) -> Response:
    """List jobs, filtered by status, kind and text."""
    return visit.page("jobs/list.html", **await visit.listing("/v1/jobs", ("status", "kind", "q")))


@pages.get("/jobs/{job_id}")
async def job(visit: Visit) -> Response:
    """Show a job; while it runs, a part of the page is fetched again every second."""
    return visit.page("jobs/job.html", **await _context(visit, await visit.api.get(f"/v1/jobs/{visit.path('job_id')}")))


LIVE_PAGES: SwrCache[tuple[str, frozenset[str], str], tuple[str, bytes]] = SwrCache(keep_s=0.25, stale_s=1.0)
"""Cache of the changing parts of jobs' pages: pairs of the job's entity tag and the compressed HTML.

The keys are tenant, scopes and job: a thousand viewers cost four renderings a second.
"""


@pages.get("/jobs/{job_id}/now")
async def now(visit: Visit) -> Response:
    """Return the changing part of a job's page, up to 2 seconds old; 304 if the reader has it already."""
    key = (visit.caller.tenant, visit.caller.scopes, visit.path("job_id"))
    etag, compressed_html = await LIVE_PAGES.get(key, partial(_render, visit))
    headers = {**headers_of(public=False), "ETag": etag, "Cache-Control": "private, no-cache"}
    if caller_has(visit.request, etag):
        return Response(status_code=304, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    if "gzip" not in visit.request.headers.get("accept-encoding", ""):
        return HTMLResponse(gzip.decompress(compressed_html), headers=headers)
    return HTMLResponse(compressed_html, headers=headers | {"Content-Encoding": "gzip"})


async def _render(visit: Visit) -> tuple[str, bytes]:
    """Return the ETag of a job, and the compressed HTML of the changing part of its page."""
    answer = await visit.api.ask("GET", f"/v1/jobs/{visit.path('job_id')}")
    html = await asyncio.to_thread(render, "jobs/live.html", await _context(visit, answer.document))
    content = html.encode("utf-8", "backslashreplace")  # replies can contain lone surrogates, which UTF-8 has not
    return answer.headers["etag"], gzip.compress(content, compresslevel=5)


@pages.post("/jobs/{job_id}/cancel", "jobs:write")
async def cancel(visit: Visit) -> Response:
    """Cancel a job; if it has ended in the meantime, only show it."""
    path = f"/jobs/{visit.path('job_id')}"
    try:
        await visit.api.ask("POST", f"/v1{path}/cancel")
    except Refused as error:
        if error.code != "already-finished":
            raise
    LIVE_PAGES.clear()  # the page that follows shows the job as cancelled
    return visit.redirect(path)


async def _context(visit: Visit, job: Json) -> JsonObject:
    """Return the template's values for a job: progress by part, and the newest questions with their replies."""
    progress: Json = {"parts": [], "newest": []}
    if job["kind"] == "rating":
        progress = await visit.api.get(f"/v1/jobs/{job['id']}/progress")
    return {
        "job": job,
        "parts": progress["parts"],
        "newest": [exchange_of(observation) for observation in progress["newest"]],
        "running": job["status"] in ("queued", "running"),
        "percent": _percent(job),
        "pace": _pace(job),
        "problem": None if job["error"] is None else kind_named(job["error"]["code"]),
    }


def _percent(job: Json) -> int | None:
    """Return the percentage of a running job's questions that are answered; ``None`` if it is not running."""
    if job["status"] != "running" or not job["expected"]:
        return None
    return int(100 * job["asked"] / max(job["expected"], job["asked"]))  # more may be asked than was expected


def _pace(job: Json) -> float | None:
    """Return a job's questions per second, estimated from the time that is left while it runs; ``None`` if unknown."""
    if job["finished_at"] is None:
        questions_left, seconds = job["expected"] - job["asked"], job["eta_seconds"]
        return float(questions_left / seconds) if seconds and questions_left > 0 else None
    if job["started_at"] is None:
        return None
    start, end = (datetime.fromisoformat(job[name]) for name in ("started_at", "finished_at"))
    return float(job["asked"]) / max(0.001, (end - start).total_seconds())  # a job may end in no time


MAX_CHARACTERS = 300


def exchange_of(observation: Json) -> JsonObject:
    """Return a question with its reply, as texts of at most `MAX_CHARACTERS`; a language that is not named is empty."""
    ask, failure = observation["ask"], observation["failure"]
    source, target = ask.get("source") or "", ask.get("target") or ""
    return {
        "label": f"{source} → {target}" if target else ask["asks"],
        "question": question_text(ask)[:MAX_CHARACTERS],
        "language": source,
        "reply": value_text(observation["value"])[:MAX_CHARACTERS],
        "reply_language": target,
        "failure": None if failure is None else failure.get("detail") or failure.get("code", ""),
    }

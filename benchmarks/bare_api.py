"""Minimal FastAPI service: reads a JSON body, answers with a JSON document. Prints its port; ends with its input.

A second endpoint validates the same request as the real service.
"""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any

import uvicorn
from fastapi import Body, FastAPI

from service.jobs.schemas import RatingRequest
from store.ratings.experiment_json import dump_method

app = FastAPI()
JOB = {"id": "job_0", "status": "queued", "asked": 0, "expected": 240, "failed_calls": 0, "rating": None, "error": None}


@app.get("/v1/jobs/{job_id}")
async def get_job(job_id: str) -> dict[str, Any]:
    """Answer with a document."""
    return {**JOB, "id": job_id}


@app.post("/v1/jobs", status_code=202)
async def post_job(body: dict[str, Any] = Body()) -> dict[str, Any]:  # noqa: B008
    """Read a document and answer with another."""
    return {**JOB, "target": body["target"], "experiment": body["experiment"]}


@app.post("/v1/validated", status_code=202)
async def post_validated(body: RatingRequest) -> dict[str, Any]:
    """Read and validate the service's own request; store nothing."""
    described = body.target.model_dump(exclude={"secret"})
    return {**JOB, "target": described, "experiment": dump_method(body.experiment)}


def main() -> None:
    """Serve until standard input closes."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))

    def end_with_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    server.run(sockets=[listening])


if __name__ == "__main__":
    main()

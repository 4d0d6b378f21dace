"""A response as bytes, so that it can be kept and given again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """A response that can be kept: its body as the bytes that were sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False

    def response(self, **more: str) -> Response:
        """Make the response, with further headers that are not kept."""
        headers = {**self.headers, **more}
        if self.replayed:
            headers["Idempotency-Replayed"] = "true"
        return Response(self.body, self.status, headers, JSON)

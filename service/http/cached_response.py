"""A response as bytes, which can be stored and sent again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.responses import Response

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """A response that can be stored: status, headers, and the body as bytes."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    replayed: bool = False

    def response(self, **more: str) -> Response:
        """Return the response, with further headers that are not stored."""
        headers = {**self.headers, **more}
        if self.replayed:
            headers["Idempotency-Replayed"] = "true"
        return Response(self.body, self.status, headers, JSON)

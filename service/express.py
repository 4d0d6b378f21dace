"""The express lane: a job's status that is at hand is given before the request is even routed.

Most requests to the service are the same few polls. A framework takes longer to find out what a
request wants than this takes to answer it; everything else about the answer is the same, because
it is the same bytes (`service.status`).
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Scope

from service.callers import ANYONE, Caller
from service.status import Status, StatusCache

PREFIX = b"/v1/jobs/"
ROUTE = "/v1/jobs/{job_id}"
NOT_PLAIN = frozenset({b"prefer", b"if-none-match", b"authorization", b"x-forwarded-host"})
"""Headers that ask for more than the status, or by somebody who must be recognised first."""


class Express:
    """Finds statuses that can be given at once.

    Parameters
    ----------
    statuses : StatusCache
        What is at hand.
    recognise : callable
        Gives the caller behind an ``Authorization`` header that was checked a moment ago, if any.
    anonymous : bool
        Whether callers without a key are served.
    public_url : str, optional
        How the world reaches the service; otherwise as the request says.
    """

    def __init__(
        self,
        statuses: StatusCache,
        recognise: Callable[[bytes], Caller | None],
        *,
        anonymous: bool,
        public_url: str | None,
    ) -> None:
        self._statuses, self._recognise = statuses, recognise
        self._anonymous, self._public_url = anonymous, public_url

    def find(self, scope: Scope) -> Status | None:
        """Give the status a request asks for, if it is plain and at hand."""
        path: bytes = scope.get("raw_path") or b""
        if scope["method"] != "GET" or not path.startswith(PREFIX) or scope["query_string"]:
            return None
        job_id = path[len(PREFIX) :]
        if not job_id.isalnum() and not job_id.replace(b"_", b"").isalnum():
            return None
        host, who = b"", None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"authorization" and who is None:
                who = value
            elif name in NOT_PLAIN:
                return None
        caller = self._caller(who)
        if caller is None or not caller.may("ratings:read") or not host:
            return None
        base = self._public_url or f"{scope['scheme']}://{host.decode('latin-1')}{scope.get('root_path', '')}"
        return self._statuses.at_hand((caller.tenant, job_id.decode("ascii"), base.rstrip("/")))

    def _caller(self, authorization: bytes | None) -> Caller | None:
        if authorization is None:
            return ANYONE if self._anonymous else None
        return self._recognise(authorization)

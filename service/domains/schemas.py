"""Schemas of claimed hosts."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from assay.errors import SpecificationError
from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel, check_url
from store.targets.domains import CHALLENGE_PATH, Domain, host_of

_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?", re.IGNORECASE)
"""A host name or an IP address, and an optional port."""


def check_host(host: str) -> str:
    """Return a host in its normal form, without a default port; raise `SpecificationError` if it is not a host."""
    hint = "write a host such as api.example.com, with its port if that is not 80 or 443"
    if not host.isascii():
        raise SpecificationError("the host is not ASCII; write an international name in its xn-- form")
    if any(character in host for character in "/?#@"):
        raise SpecificationError(f"this is an address, not a host; {hint}")
    check_url(f"https://{host}/")
    name = host_of(f"https://{host}/")  # without the port 443, the default of https
    if name is None or not _HOST.fullmatch(host):
        raise SpecificationError(f"this is not a host; {hint}")
    return name.removesuffix(":80")  # the default port of http


class DomainRequest(RequestModel):
    """Request to claim a host."""

    host: Annotated[
        str, Field(min_length=1, max_length=260, examples=["translate.example.com"]), AfterValidator(check_host)
    ]
    """Host as in the addresses of rated targets: a name or IP address, with its port unless it is the default."""


Ratings = Literal["allowed", "refused"]


class DomainChange(RequestModel):
    """Change of a verified host."""

    ratings: Ratings
    """`refused`: nobody but the host's verified owners may rate it, as long as the verification is valid."""


class ChallengeView(ResponseModel):
    """The file that verifies a host."""

    url: str
    """Address of the file. In networks that the operator allows, http is enough."""
    token: str
    """The line that the file must contain."""


class DomainView(ResponseModel):
    """A claimed host, and the state of its verification."""

    id: str
    host: str
    state: Literal["waiting", "verified", "failed"]
    """Result of the last verification."""
    challenge: ChallengeView
    failure: str | None
    """Reason why the last verification failed."""
    checked_at: Instant | None
    verified_at: Instant | None
    proven_until: Instant | None
    """Time at which the verification expires; verify again before."""
    ratings: Ratings
    """Whether other tenants may rate the host; `refused` applies while the verification is valid."""
    created_at: Instant

    @classmethod
    def of(cls, row: Domain) -> Self:
        """Build the view of a domain."""
        return cls.from_row(row, challenge=ChallengeView(url=f"https://{row.host}{CHALLENGE_PATH}", token=row.token))

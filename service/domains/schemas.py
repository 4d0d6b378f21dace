"""Hosts that a tenant shows to be its own, and what their owners reply to ratings."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from assay.errors import SpecificationError
from service.http.openapi.common_schemas import Asked, Instant, Told, Url, check_url, instant, maybe_instant
from store.ratings.replies import OwnersReply
from store.targets.domains import CHALLENGE_PATH, Domain, host_of

MAX_REPLY = 5_000

_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]+)?", re.IGNORECASE)
"""A name or a number, and a port."""


def check_host(host: str) -> str:
    """Refuse what is no host, and write the rest in one form.

    Raises
    ------
    SpecificationError
        Saying what would do.
    """
    hint = "write a host such as api.example.com, with its port where that is not 80 or 443"
    if not host.isascii():
        raise SpecificationError("the host is not in plain ASCII; write an international name in its xn-- form")
    if any(character in host for character in "/?#@"):
        raise SpecificationError(f"this is an address or part of one and not a host; {hint}")
    check_url(f"https://{host}/")
    name, port = host_of(f"https://{host}/"), host.rpartition(":")[2]
    if name is None or not _HOST.fullmatch(host):
        raise SpecificationError(f"this is no host; {hint}")
    return name.removesuffix(":80") if port == "80" else name


class DomainRequest(Asked):
    """Say that a host is yours."""

    host: Annotated[
        str, Field(min_length=1, max_length=260, examples=["translate.example.com"]), AfterValidator(check_host)
    ]
    """As in the addresses of rated targets: a name or address, with its port where that is not the scheme's own."""


class ChallengeView(Told):
    """What shows that a host is yours."""

    url: str
    """Where the file has to be. In networks that the operator allows, http will do."""
    token: str
    """The line that the file has to hold."""


class DomainView(Told):
    """A host, and whether it was shown to be yours."""

    id: str
    host: str
    state: Literal["waiting", "verified", "failed"]
    """How the last look for the token ended."""
    challenge: ChallengeView
    failure: str | None
    """Why the last look failed."""
    checked_at: Instant | None
    verified_at: Instant | None
    proven_until: Instant | None
    """When the proof ends; verify again before."""
    created_at: Instant

    @classmethod
    def of(cls, one: Domain) -> Self:
        """Show a domain."""
        return cls(
            id=one.id,
            host=one.host,
            state=one.state,
            challenge=ChallengeView(url=f"https://{one.host}{CHALLENGE_PATH}", token=one.token),
            failure=one.failure,
            checked_at=maybe_instant(one.checked_at),
            verified_at=maybe_instant(one.verified_at),
            proven_until=maybe_instant(one.proven_until),
            created_at=instant(one.created_at),
        )


class DomainList(Told):
    """One page of domains, newest first."""

    items: list[DomainView]
    next_cursor: str | None


class ReplyRequest(Asked):
    """Reply to a rating of your service."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_REPLY)]
    """Plain text, shown beside the rating as it is."""
    link: Url | None = None
    """Where more is said."""


class ReplyView(Told):
    """What the owner of the rated service says. It is no part of the rating, and alters nothing of it."""

    text: str
    link: str | None
    host: str
    """The host that the author has shown to be theirs."""
    created_at: Instant

    @classmethod
    def of(cls, one: OwnersReply) -> Self:
        """Show a reply."""
        return cls(text=one.text, link=one.link, host=one.host, created_at=instant(one.created_at))

"""Rights: scopes of keys and sessions, the operator's rules that give scopes to people, and requests without a key.

A rule maps a claim of a person's ID token (OpenID Connect) to a tenant and scopes; the first matching rule counts.
"""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from assay.document import Json

OPERATOR_TENANT = "default"
"""Tenant of the agency's operator: of the first administrator, and of everyone where no keys are required."""

Scope = Literal["jobs:write", "ratings:read", "targets:write", "webhooks:write", "metrics:read", "admin"]


class Rule(BaseModel):
    """Rights of people who signed in, if their provider's `claim` about them is `value`, or a list that contains it."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    claim: str = Field(min_length=1)
    value: str = Field(min_length=1)
    tenant: str = Field(min_length=1)
    scopes: tuple[Scope, ...] = Field(min_length=1)

    def holds(self, claims: Json) -> bool:
        """Return whether claims about a person match the rule; an e-mail address must be verified by the provider."""
        if self.claim == "email" and claims.get("email_verified") is not True:
            return False
        value = claims.get(self.claim)
        return value == self.value or (isinstance(value, list) and self.value in value)


PROXY_HEADERS = ("forwarded", "x-forwarded-", "x-real-ip", "via")
"""Beginnings of the names of headers that proxies add, in lower case."""


def is_local(peer: str | None, header_names: Iterable[str]) -> bool:
    """Return whether a request comes from a process of this machine, which needs no key to read metrics.

    `peer` is the address of the connection's other end. With a header of `PROXY_HEADERS`, in upper or lower case, the
    request came through a proxy on this machine, and its sender may be anywhere.
    """
    try:
        loopback = ip_address(peer or "").is_loopback
    except ValueError:
        return False
    return loopback and not any(name.lower().startswith(PROXY_HEADERS) for name in header_names)

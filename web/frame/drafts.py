"""Drafts: a person's form texts that are stored between two pages, and secrets that are shown once.

A draft is encrypted for the session, so that its id is of no use to others.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from starlette.responses import Response

from assay.document import JsonObject
from service.container import service_of
from service.http.middleware import too_large
from store.core.columns import new_id
from store.core.errors import SecretLost, SecretMoved
from store.security import drafts
from web.frame.visit import Visit

SECRETS = frozenset({"secret", "key"})
"""Form fields that are never stored in a draft; people type them again."""

MAX_DRAFT_CHARACTERS = 250_000
"""Maximum number of characters of a draft; a form has at most 64 kB."""


async def store_draft(visit: Visit, content: Mapping[str, Any], draft_id: str = "") -> str:
    """Store a draft, in place of the draft `draft_id` if it is given; return its id."""
    text = json.dumps(content)
    if len(text) > MAX_DRAFT_CHARACTERS:
        raise too_large(MAX_DRAFT_CHARACTERS)
    service, draft_id = service_of(visit.request), draft_id or new_id("drf")
    sealed_text = service.vault.seal(text, **seal_context(visit, f"draft {draft_id}"))
    await service.database.write(drafts.store, visit.caller.tenant, draft_id, sealed_text)
    return draft_id


async def read_draft(visit: Visit, draft_id: str, *, once: bool = False) -> JsonObject | None:
    """Return a draft that this session stored; ``None`` if there is none. With `once`, remove it after reading."""
    service, tenant = service_of(visit.request), visit.caller.tenant
    if (sealed_text := await service.database.read(drafts.find, tenant, draft_id)) is None:
        return None
    try:
        content: JsonObject = json.loads(service.vault.open(sealed_text, **seal_context(visit, f"draft {draft_id}")))
    except (SecretLost, SecretMoved):  # a draft of another session, or encrypted with a former key
        return None
    if once:
        await service.database.write(drafts.remove, tenant, draft_id)
    return content


async def show_once(visit: Visit, secret: Mapping[str, Any]) -> Response:
    """Redirect to the page that shows a secret once, so that a reload neither repeats the form nor shows it again."""
    return visit.redirect("/keys/shown-once", draft=await store_draft(visit, secret))


def seal_context(visit: Visit, purpose: str) -> dict[str, str]:
    """Return the vault's arguments for a text that only this session can decrypt, and only for the same `purpose`."""
    session = sha256(visit.session.encode()).hexdigest()
    return {"tenant": visit.caller.tenant, "target": f"session {session}", "field": purpose}

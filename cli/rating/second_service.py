"""The second service of `assay rate` (table [author] or [judge] of its file).

An author writes sentences or draws pictures; a judge scores the texts that the rated service writes.
"""

from __future__ import annotations

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.methods import AnyMethod
from assay.model import Kind
from store.core.database import Connection
from store.core.settings import Settings
from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget
from workers.targets.validation import check_target

TENANT = "default"
SECOND_ID = "tgt_author"


def check_second(method: AnyMethod, request: Json, settings: Settings) -> None:
    """Raise `SpecificationError` if the experiment lacks its author or judge, or one is of no use."""
    author, judge = request["author"], request.get("judge")
    if method.needs_author and author is None:
        raise SpecificationError("this experiment needs an author for its material: describe it in [author]", "author")
    if method.needs_judge and judge is None:
        raise SpecificationError("the texts are to be judged: describe the judge in [judge]", "judge")
    if author is not None and judge is not None:
        raise SpecificationError("a rating has an author or a judge, not both: remove one", "judge")
    if author is not None and not method.needs_author:
        raise SpecificationError("this experiment has no author; remove [author]", "author")
    if (described := _described(request)) is None:
        return
    if author is not None and described["kind"] != Kind.LANGUAGE_MODEL:
        raise SpecificationError("the kind of an author must be language-model", "author.kind")
    check_target({**described, "secret": _secret(request)}, settings.egress_networks)


def described_second(request: Json) -> JsonObject | None:
    """Return the description of the author or judge for a job; ``None`` without one."""
    described = _described(request)
    return {"id": SECOND_ID, **described} if described is not None and _secret(request) else described


def keep_second(c: Connection, vault: Vault, request: Json) -> None:
    """Store an author or judge that has a key as a target, where the worker reads the key."""
    described, secret = _described(request), _secret(request)
    if described is None or not secret:
        return
    sealed = vault.seal_for_target(secret, tenant=TENANT, target=SECOND_ID, described=described)
    targets.add(c, NewTarget(id=SECOND_ID, tenant=TENANT, sealed_secret=sealed, **described))


def _secret(request: Json) -> str | None:
    secret: str | None = (request["author"] or request.get("judge") or {}).get("secret")
    return secret


def _described(request: Json) -> JsonObject | None:
    """Return the description of the author or judge with defaults and without the secret."""
    author, judge = request["author"], request.get("judge")
    second = author or judge
    if second is None:
        return None
    name, kind = ("author", str(Kind.LANGUAGE_MODEL)) if author else ("judge", str(Kind.CLASSIFIER))
    plain = {key: value for key, value in second.items() if key != "secret"}
    return {"name": name, "kind": kind, "base_url": "", "settings": {}, "limits": {}, **plain}

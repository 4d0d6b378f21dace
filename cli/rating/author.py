"""The author of `assay rate` (table [author] of its file): a service that writes sentences or draws pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
AUTHOR_ID = "tgt_author"


def check_author(method: AnyMethod, author: Mapping[str, Any] | None, settings: Settings) -> None:
    """Raise `SpecificationError` if the experiment lacks its author, or the author cannot be asked or is not needed."""
    if method.needs_author and author is None:
        raise SpecificationError("this experiment needs an author for its material: describe it in [author]", "author")
    if author is None:
        return
    if not method.needs_author:
        raise SpecificationError("this experiment has no author; remove [author]", "author")
    described = _described(author)
    if described["kind"] != Kind.LANGUAGE_MODEL:
        raise SpecificationError("the kind of an author must be language-model", "author.kind")
    check_target({**described, "secret": author.get("secret")}, settings.egress_networks)


def described_author(author: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the author's description for a job."""
    if author is None:
        return None
    return {"id": AUTHOR_ID, **_described(author)} if author.get("secret") else _described(author)


def keep_author(c: Connection, vault: Vault, author: Mapping[str, Any] | None) -> None:
    """Store an author that has a key as a target, where the worker reads the key."""
    if author is None or not author.get("secret"):
        return
    described = _described(author)
    sealed = vault.seal_for_target(author["secret"], tenant=TENANT, target=AUTHOR_ID, described=described)
    targets.add(c, NewTarget(id=AUTHOR_ID, tenant=TENANT, sealed_secret=sealed, **described))


def _described(author: Mapping[str, Any]) -> dict[str, Any]:
    """Return the author's description with defaults and without the secret."""
    plain = {key: value for key, value in author.items() if key != "secret"}
    defaults = {"name": "author", "kind": str(Kind.LANGUAGE_MODEL), "base_url": "", "settings": {}, "limits": {}}
    return {**defaults, **plain}

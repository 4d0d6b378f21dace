"""An encrypted secret can be decrypted in its own database row only (row 55 of docs/reliability.md)."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from store.targets import tables

pytestmark = pytest.mark.anyio

SECRET = "top-secret-key-0123456789-x9f2"
DEEPL = {"name": "DeepL", "kind": "translator", "protocol": "deepl", "base_url": "http://127.0.0.1:5001"}
SEALED = ("secret_ciphertext", "secret_nonce", "secret_key_id", "secret_last4")


def copy_secret(worker, source, destination):
    """Copy a secret between rows, as an attacker with the database but without the key could."""
    table = tables.targets
    with worker.database.write() as c:
        sealed = c.execute(select(*(table.c[name] for name in SEALED)).where(table.c.id == source)).mappings().one()
        c.execute(update(table).where(table.c.id == destination).values(**sealed))


@pytest.mark.parametrize("tenants", [("mine", "mine"), ("mine", "theirs")])
async def test_a_secret_copied_to_another_targets_row_is_refused(serve, guarded, worker, rings, request_body, tenants):
    client = await serve(guarded)
    saved = []
    for tenant in tenants:
        headers = {"Authorization": f"Bearer {worker.make_key(tenant)}"}
        answer = await client.post("/v1/targets", json=DEEPL | {"secret": SECRET + tenant}, headers=headers)
        saved.append((answer.json()["id"], headers))
    (source, _), (robbed, headers) = saved
    copy_secret(worker, source, robbed)
    for method, url, body in (
        ("POST", "/v1/jobs", request_body(target={"id": robbed})),
        ("POST", f"/v1/targets/{robbed}/probe", None),
        ("PUT", f"/v1/targets/{robbed}", DEEPL),
    ):
        answer = await client.request(method, url, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (409, "secret_lost"), answer.text
        assert SECRET not in answer.text
    assert rings.heard == []
    assert (await client.get(f"/v1/targets/{robbed}", headers=headers)).status_code == 200
    mended = await client.put(f"/v1/targets/{robbed}", json=DEEPL | {"secret": SECRET}, headers=headers)
    assert mended.status_code == 200

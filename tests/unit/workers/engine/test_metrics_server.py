"""Access to a worker's metrics. Earlier versions showed them to every client of the port.

Row 77 of docs/reliability.md: at c37b512 `/metrics` was open to everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from store.core import migrate
from store.core.database import Database
from store.security import keys
from workers.engine.metrics_server import expose


@pytest.fixture
def database_url(tmp_path) -> str:
    url = f"sqlite:///{tmp_path / 'assay.db'}"
    migrate.upgrade(url)
    return url


@pytest.fixture
def server(tmp_path, database_url) -> Iterator:
    folder = tmp_path / "numbers"
    folder.mkdir()
    server, thread = expose("127.0.0.1", 0, str(folder), database_url)
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def get(server):
    def get(**headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.get(f"http://127.0.0.1:{server.server_port}/metrics", headers=named, trust_env=False)

    return get


def key_with(database_url: str, scope: str, tenant: str = "default") -> str:
    with closing(Database(database_url)) as database, database.write() as c:
        return keys.create(c, tenant, [scope], "prometheus")[1]


def test_a_process_of_the_same_machine_reads_metrics_without_a_key(get):
    assert get().status_code == 200


def test_a_request_through_a_proxy_needs_a_key(get):
    for header in ("Forwarded", "X_Forwarded_For", "X_Real_IP", "Via"):
        answer = get(**{header: "127.0.0.1"})
        assert (answer.status_code, "metrics:read" in answer.text) == (401, True)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_request_from_another_machine_needs_a_key(server):
    # no test reaches another machine, so the application is called as the server calls it
    status: list[str] = []
    environ = {"REMOTE_ADDR": "192.0.2.7", "REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}
    body = b"".join(server.get_app()(environ, lambda sent, headers: status.append(sent)))
    assert status == ["401 Unauthorized"]
    assert b"metrics:read" in body


@pytest.mark.parametrize(("scope", "status"), [("metrics:read", 200), ("admin", 200), ("ratings:read", 403)])
def test_a_key_needs_a_scope_that_includes_reading_metrics(get, database_url, scope, status):
    key = key_with(database_url, scope)
    assert get(Authorization=f"Bearer {key}", X_Forwarded_For="192.0.2.7").status_code == status


@pytest.mark.parametrize("scope", ["metrics:read", "admin"])
def test_a_key_of_another_tenant_reads_no_metrics(get, database_url, scope):
    answer = get(Authorization=f"Bearer {key_with(database_url, scope, 'acme')}")
    assert (answer.status_code, "not the operator's" in answer.text) == (403, True)


@pytest.mark.parametrize("sent", ["Bearer assay_abcdefgh_x", "Bearer", "Basic YTpi", "Bearer \u00e4"])
def test_an_invalid_key_is_refused(get, sent):
    assert get(Authorization=sent.encode("latin-1")).status_code == 401


def test_an_unreachable_database_is_reported_and_grants_no_access(get, database_url, tmp_path):
    key = key_with(database_url, "metrics:read")
    (tmp_path / "assay.db").rename(tmp_path / "elsewhere.db")
    (tmp_path / "assay.db").mkdir()
    assert get(Authorization=f"Bearer {key}").status_code == 503

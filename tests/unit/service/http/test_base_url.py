"""Base URL of the service: the operator's `public_url`, else the `Host` of the request if it is a valid address."""

from types import SimpleNamespace

import pytest
from fastapi import Request

from service.http.problems import base_url


def reached(host, *, server=("10.0.0.7", 8000), scheme="http", root_path="", public_url=None):
    app = SimpleNamespace(
        state=SimpleNamespace(service=SimpleNamespace(settings=SimpleNamespace(public_url=public_url)))
    )
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"type": "http", "app": app, "scheme": scheme, "headers": headers, "server": server, "root_path": root_path}
    return base_url(Request(scope | {"path": f"{root_path}/v1/jobs", "query_string": b"limit=2"}))


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({"host": "assay.example"}, "http://assay.example"),
        ({"host": "assay.example:8443", "scheme": "https"}, "https://assay.example:8443"),
        ({"host": "assay.example", "root_path": "/agency"}, "http://assay.example/agency"),
        ({"host": "[::1]:8000"}, "http://[::1]:8000"),
        ({"host": None}, "http://10.0.0.7:8000"),
        ({"host": None, "server": ["10.0.0.7", 8000]}, "http://10.0.0.7:8000"),  # some servers pass a list
        ({"host": "a/../@b?c#d"}, "http://10.0.0.7:8000"),
        ({"host": "elsewhere.example", "public_url": "https://assay.example/x/"}, "https://assay.example/x"),
    ],
)
def test_base_url_is_the_public_url_or_else_the_host_of_the_request(given, address):
    assert reached(**given) == address

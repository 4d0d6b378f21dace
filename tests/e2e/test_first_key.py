"""The first administrator's key is in a private file, and in no log.

Row 112 of docs/reliability.md: ffe18d3c wrote the first administrator's key to standard error.
"""

from __future__ import annotations

import stat

import httpx
import pytest

from cli.demo.client import Agency
from tests.support.redis import free_port
from tests.support.supervised import Supervised


@pytest.mark.slow
def test_the_first_administrators_key_is_in_a_private_file_and_not_in_the_log(tmp_path):
    # it was printed on standard error, so it was in the logs of the container
    data, url = tmp_path / "data", f"http://127.0.0.1:{(port := free_port())}"
    settings = {"ASSAY_AUTH": "keys", "ASSAY_DATA_DIR": str(data), "ASSAY_PORT": str(port)}
    api = Supervised("api", ("serve",), settings, tmp_path)
    try:
        assert Agency(url).wait_until_ready(90), api.log.read_text()
        file = data / "first-admin-key"
        key = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{url}/v1/keys", headers=headers, trust_env=False).status_code == 200
        assert httpx.get(f"{url}/v1/keys", trust_env=False).status_code == 401
        assert key not in api.log.read_text()
        assert str(file) in api.log.read_text()
        file.unlink()
        api.terminate()
        assert Agency(url).wait_until_ready(90), api.log.read_text()
        assert not file.exists(), "a second start creates no key"
    finally:
        api.close()


@pytest.mark.slow
def test_no_administrator_key_is_created_if_its_file_cannot_be_written(tmp_path):
    data, url = tmp_path / "data", f"http://127.0.0.1:{(port := free_port())}"
    (data / "first-admin-key").mkdir(parents=True)  # a folder cannot be replaced by a file
    api = Supervised(
        "api", ("serve",), {"ASSAY_AUTH": "keys", "ASSAY_DATA_DIR": str(data), "ASSAY_PORT": str(port)}, tmp_path
    )
    try:
        assert Agency(url).wait_until_ready(90), api.log.read_text()
        assert "assay keys create" in api.log.read_text()
    finally:
        api.close()

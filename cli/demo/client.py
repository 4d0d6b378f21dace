"""Client of the agency's API for the demonstration, over the standard library."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

from assay.document import Json


class Agency:
    """Client of an agency that runs at an address on this machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        # ignores proxies of the environment, because both processes run on this machine
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def get(self, path: str) -> Any:
        """Read a resource as JSON."""
        return json.loads(self.text(path))

    def text(self, path: str) -> str:
        """Read a resource as text."""
        with self._opener.open(f"{self.url}{path}", timeout=30) as answer:
            return str(answer.read().decode())

    def post(self, path: str, body: Json) -> Any:
        """Post JSON; a problem document becomes a `ValueError` with its detail."""
        return self._post(path, json.dumps(body).encode(), "application/json")

    def upload_table(self, content: bytes) -> str:
        """Upload a table as CSV, and return the name of the upload."""
        return str(self._post("/v1/uploads?purpose=table&name=decisions.csv", content, "text/csv")["id"])

    def _post(self, path: str, content: bytes, media_type: str) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the address is our own, on loopback
            f"{self.url}{path}", content, {"Content-Type": media_type}, method="POST"
        )
        try:
            with self._opener.open(request, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                problem = json.loads(refused.read() or b"{}")
            raise ValueError(
                f"{path} answered {refused.code}: {problem.get('detail') or problem.get('title')}"
            ) from None

    def wait_until_ready(self, seconds: float) -> bool:
        """Wait until `/readyz` answers; return ``False`` if it does not within `seconds`."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self.text("/readyz")
                return True
            except urllib.error.HTTPError as refused:  # not ready
                refused.close()
            except (urllib.error.URLError, ConnectionError, TimeoutError):  # not listening
                pass
            time.sleep(0.1)
        return False

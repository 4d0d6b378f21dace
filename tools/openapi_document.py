"""Write the OpenAPI document of a deployed agency, for linters."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from service.app import create_app
from store.core.settings import Settings
from workers.targets.registry import TargetChecker


def main(path: str) -> None:
    """Write the document to `path`."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), auth="keys", egress_allow="")
        app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
        Path(path).write_text(json.dumps(app.openapi(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

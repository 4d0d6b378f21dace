"""Every example in `docs/corpora.md` works when the examples are run in order."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corpora.md"
STRICT = """set -euo pipefail
curl() { command curl --no-progress-meter --fail-with-body "$@"; echo; }
"""


def test_the_shell_examples_of_the_corpora_page_work_in_order(serve, services, tmp_path):
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    text = "\n".join(blocks).replace("http://127.0.0.1:8000", serve().agency.url)
    text = text.replace("http://127.0.0.1:5000", services.base)
    (tmp_path / "examples.sh").write_text(STRICT + text, encoding="utf-8")
    ended = subprocess.run(
        ["bash", "examples.sh"], cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    told = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert [one["status"] for one in told if "kind" in one and "status" in one] == ["succeeded", "succeeded"]
    assert (tmp_path / "sentences.csv").read_text("utf-8").count("written") > 30

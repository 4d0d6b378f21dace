"""`assay demo`: every service gets the letter of its known behaviour, and every rating can be replayed offline."""

import re
import signal
import subprocess
import sys
import urllib.request
from threading import Timer

import pytest

from cli.rating.verify import verify_file
from demo.language_models.screeners import SCREENERS
from demo.predictors.known import PREDICTORS
from demo.recorded_decisions import FILES
from demo.translators.behaviours import BEHAVIOURS

LAST_LINE = "See all of it in a browser"


@pytest.mark.slow
def test_the_demo_rates_every_service_as_expected_and_each_export_replays_to_the_last_bit(tmp_path, capsys):
    with subprocess.Popen(
        [sys.executable, "-m", "cli.main", "demo", "--keep", "--reports", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        deadline = Timer(500, demo.kill)
        deadline.start()
        assert demo.stdout is not None
        lines: list[str] = []
        for line in demo.stdout:
            lines.append(line)
            if LAST_LINE in line:
                break
        printed = "".join(lines)
        assert LAST_LINE in printed, printed[-4000:]
        assert "✗" not in printed
        ratings = sorted(set(re.findall(r"http://127\.0\.0\.1:\d+/v1/ratings/rat_\w+", printed)))
        exports = [tmp_path / f"{number}.jsonl" for number, _ in enumerate(ratings)]
        for rating, export in zip(ratings, exports, strict=True):
            with urllib.request.urlopen(f"{rating}/export.jsonl") as answer:
                export.write_bytes(answer.read())
        deadline.cancel()
        demo.send_signal(signal.SIGINT)
    assert demo.returncode == 0
    for name in (*BEHAVIOURS, *PREDICTORS, *SCREENERS, *FILES):
        assert (tmp_path / f"{name}.html").stat().st_size > 10_000
    assert len(exports) > 60
    for export in exports:
        verify_file(export, keys=None, replay=True)
    verified = capsys.readouterr().out
    assert verified.count("is as it was sealed") == verified.count("the same to the last bit") == len(exports)

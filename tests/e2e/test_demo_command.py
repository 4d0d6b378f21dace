"""`assay demo`: every service gets the letter of its known behaviour."""

import subprocess
import sys

import pytest

from demo.language_models.screeners import SCREENERS
from demo.predictors.known import PREDICTORS
from demo.recorded_decisions import FILES
from demo.translators.behaviours import BEHAVIOURS


@pytest.mark.slow
def test_the_demo_rates_every_service_as_expected_and_exits(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "demo", "--reports", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "✗" not in done.stdout
    for name in (*BEHAVIOURS, *PREDICTORS, *SCREENERS, *FILES):
        assert (tmp_path / f"{name}.html").stat().st_size > 10_000

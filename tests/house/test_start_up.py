"""Importing and starting load few modules (time is measured in benchmarks/)."""

import subprocess
import sys

import pytest

HEAVY = ("scipy.stats", "sqlalchemy", "celery", "httpx", "fastapi", "pydantic", "deep_translator")


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.slow
def test_importing_assay_loads_no_heavy_library():
    assert not loaded_by("import assay, assay.methods, assay.rating.decision, assay.experiment").intersection(HEAVY)


def test_showing_help_loads_neither_scientific_libraries_nor_the_service():
    loaded = loaded_by(
        "import sys; sys.argv = ['assay', '--help']\n"
        "import contextlib, io\n"
        "from cli.main import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()"
    )
    assert not loaded.intersection({*HEAVY, "numpy", "scipy"})


@pytest.mark.slow
def test_the_worker_does_not_load_deep_translator_at_start():
    assert "deep_translator" not in loaded_by("import workers.targets.registry")

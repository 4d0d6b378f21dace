"""The figures of the source tree stay within the limits of `tools.house_figures`."""

import json
import subprocess
import sys

import pytest

from tools.house_figures import LIMITS, ROOT, SourceTree, tree_figures

TRACED = ("files passed by a plain POST", "files passed by a round-trip job")
TRACE = """
import json, sys
from tools.house_figures import traced_figures
figures, passed = traced_figures()
json.dump({"figures": figures, "passed": {name: sorted(files) for name, files in passed.items()}}, sys.stdout)
"""


@pytest.fixture(scope="module")
def tree() -> SourceTree:
    return SourceTree.read()


@pytest.fixture(scope="module")
def measured(tree) -> dict[str, float]:
    return tree_figures(tree)


@pytest.fixture(scope="module")
def traced() -> dict:
    """Trace both requests in a new process, because earlier tests have filled the caches of this process."""
    run = subprocess.run(
        [sys.executable, "-c", TRACE], cwd=ROOT, check=False, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_every_limit_for_the_source_tree_belongs_to_a_figure_that_is_measured(measured):
    assert LIMITS.keys() <= measured.keys() | set(TRACED)


@pytest.mark.parametrize("name", sorted(LIMITS.keys() - set(TRACED)))
def test_each_measured_figure_of_the_source_tree_stays_within_its_limit(name, measured, tree):
    behind = {
        "modules with one importer outside their folder, %": tree.sole_use_elsewhere,
        "import circles": tree.circles,
        "functions without full annotations": tree.unannotated,
        "uses of Any": lambda: tree.uses_of_any.most_common(10),
        "public names without a docstring": tree.undocumented,
        "longest module": lambda: max(tree.lines, key=lambda each: tree.lines[each]),
    }.get(name, lambda: "")
    assert measured[name] <= LIMITS[name], f"{name}: {measured[name]:g}, at most {LIMITS[name]:g}. {behind()}"


@pytest.mark.parametrize(("name", "request_of"), [(TRACED[0], "POST"), (TRACED[1], "job")])
def test_processing_a_request_uses_a_limited_number_of_source_files(name, request_of, traced):
    passed = traced["passed"][request_of]
    assert passed, "nothing was traced"
    assert len(passed) <= LIMITS[name], f"{name}: {len(passed)}, at most {LIMITS[name]:g}: {', '.join(passed)}"


def test_run_job_the_first_file_for_newcomers_has_at_most_250_lines():
    assert len((ROOT / "workers/run_job.py").read_text(encoding="utf-8").splitlines()) <= 250

"""Mutation testing: check that a test fails if a line of the science is wrong.

Run by ``make mutate``. Mutants come from cosmic-ray's operators; annotations and docstrings are not mutated. A first
run of the tests under coverage finds the tests that reach each line. Each mutant is then tested by those tests, the
quickest first, in a process forked from one that has the libraries loaded. A mutant is killed if a test fails (or
hangs), and survives if all pass. docs/mutation.md has the results.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import unified_diff
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
MUTATED = (
    *("assay/statistics/**/*.py", "assay/composition/**/*.py", "assay/methods/**/*.py"),
    "assay/rating/decision.py",
)
TESTS = (
    *("tests/unit/assay", "tests/unit/reports", "tests/papers"),
    "tests/house/test_pinned_ratings.py",
)
FLAGS = frozenset({"frozen", "slots", "strict"})
"""Keywords that only forbid misuse (changing a dataclass, zipping lists of unequal lengths), which no test does."""

SLOWEST_S, BUDGET_S, FEWEST = 20.0, 15.0, 3
"""Slowest test that is run, time budget for the tests of a mutant, and number of tests that run in any case. The other
tests might have killed a mutant that survives, so the number of survivors is an upper bound."""

TIMES_SLOWER, MOST_S = 10, 90.0
"""Time limit of a mutant: 10 s plus this multiple of the time of its tests, and at most `MOST_S`."""

SKIPPED = frozenset(
    {"core/ExceptionReplacer", "core/RemoveDecorator", "core/VariableReplacer", "core/VariableInserter"}
)
"""Operators whose mutants say little, such as another exception's name, or a class without its decorator."""

LIBRARIES = (
    *("scipy.optimize", "scipy.special", "scipy.stats", "hypothesis.strategies", "annotated_types"),
    *("alembic.command", "alembic.config", "sqlalchemy.ext.asyncio", "psycopg", "pydantic", "pydantic_settings"),
)
"""Libraries that every child needs and no mutant changes; importing them in each would take longer than most tests."""

PLUGINS = ("-p", "anyio", "-p", "_hypothesis_pytestplugin")

Position = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """A change of one place of one module."""

    path: str
    operator: str
    arguments: Mapping[str, object]
    occurrence: int
    line: int
    column: int

    @property
    def place(self) -> tuple[str, int, int, str]:
        """Position and kind of the mutated node; the mutants of one place are reached by the same tests."""
        return self.path, self.line, self.column, self.operator.partition("_")[0]

    @property
    def module(self) -> str:
        """Import name of the module."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@dataclass(frozen=True)
class MutantOutcome:
    """Outcome of a mutant: ``killed``, ``hung``, ``survived``, or ``unreached`` by any test."""

    mutant: Mutant
    became: str
    diff: str
    seconds: float


# ---------------------------------------------------------------------------- mutants
def mutants() -> Iterator[Mutant]:
    """Yield every mutant of the modules in `MUTATED`, except in code that no test can check."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.commands.init import _operators

    for path in sorted({path for pattern in MUTATED for path in ROOT.glob(pattern)}):
        tree, untestable = get_ast_from_path(path), _untestable_spans(path.read_text(encoding="utf-8"))
        for name, arguments, operator in _operators({}):
            if name in SKIPPED:
                continue
            places = (position for node in ast_nodes(tree) for position in operator.mutation_positions(node))
            for occurrence, (start, _) in enumerate(places):
                if not any(first <= start < last for first, last in untestable):
                    yield Mutant(str(path.relative_to(ROOT)), name, arguments, occurrence, *start)


def _untestable_spans(source: str) -> list[tuple[Position, Position]]:
    """Find code that no test can check: annotations, assertions that narrow a type, keywords of `FLAGS`."""
    nodes: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            nodes += [arg.annotation for arg in arguments if arg.annotation] + ([node.returns] if node.returns else [])
        elif isinstance(node, ast.AnnAssign):
            nodes.append(node.annotation)
        elif isinstance(node, ast.Assert):
            nodes.append(node)
        elif isinstance(node, ast.keyword) and node.arg in FLAGS:
            nodes.append(node.value)
    spans = ((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) for node in nodes)  # type: ignore[attr-defined]
    return [((line, column), (end or line, last or column)) for line, column, end, last in spans]


def mutated_sources(mutant: Mutant) -> tuple[str, str] | None:
    """Return a module's source before and after; ``None`` if the operator changes nothing."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    before = (ROOT / mutant.path).read_text(encoding="utf-8")
    after = mutate_code(before, get_operator(mutant.operator)(**mutant.arguments), mutant.occurrence)
    return None if after is None or after == before else (before, after)


# ---------------------------------------------------------------------------- tests
def measure_reach(folder: Path) -> tuple[dict[str, dict[int, set[str]]], dict[str, float]]:
    """Run the tests once; return the tests that reach each line of each module, and the seconds of each test."""
    settings = folder / "coverage.ini"
    settings.write_text("[run]\ndynamic_context = test_function\nsource = assay\n")
    environment = {**os.environ, "COVERAGE_FILE": str(folder / "coverage"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", *TESTS]
    command += ["-q", "-p", "no:cacheprovider", "--durations=0", "-vv", f"--junitxml={folder / 'times.xml'}"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return _line_tests(folder / "coverage"), _times(folder / "times.xml")


def _line_tests(file: Path) -> dict[str, dict[int, set[str]]]:
    from coverage import CoverageData

    data = CoverageData(str(file))
    data.read()
    tests_by_path: dict[str, dict[int, set[str]]] = {}
    for path in data.measured_files():
        contexts = data.contexts_by_lineno(path).items()
        lines = {line: {name.partition("[")[0] for name in names if name} for line, names in contexts}
        tests_by_path[str(Path(path).relative_to(ROOT))] = lines
    return tests_by_path


def _times(file: Path) -> dict[str, float]:
    from xml.etree import ElementTree as ET

    seconds: dict[str, float] = defaultdict(float)
    for case in ET.parse(file).iter("testcase"):
        name = str(case.get("name")).partition("[")[0]
        seconds[f"{case.get('classname')}.{name}"] += float(case.get("time") or 0)
    return dict(seconds)


def tests_of(mutant: Mutant, lines: Mapping[str, Mapping[int, set[str]]], seconds: Mapping[str, float]) -> list[str]:
    """Return the quickest tests that reach a mutant, within `BUDGET_S`; for lines run at import, any of the module."""
    tests_by_line = lines.get(mutant.path, {})
    reaching_tests = tests_by_line.get(mutant.line) or set().union(*tests_by_line.values())
    timed_tests = [test for test in reaching_tests if test in seconds and seconds[test] <= SLOWEST_S]
    quickest_first = sorted(timed_tests, key=lambda test: (seconds[test], test))
    cumulative_s = np.cumsum([seconds[test] for test in quickest_first])
    return quickest_first[: max(FEWEST, int(np.searchsorted(cumulative_s, BUDGET_S)))]


def _pytest_node_id(test: str) -> str:
    module, _, name = test.rpartition(".")
    return f"{module.replace('.', '/')}.py::{name}"


# ---------------------------------------------------------------------------- tests against the mutants
class _MutantLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that loads one module from changed source."""

    def __init__(self, module: str, path: Path, source: str) -> None:
        self.module, self.path, self.source = module, path, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Return the import specification of the changed module; ``None`` for any other module."""
        if fullname != self.module:
            return None
        package = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, self.path, loader=self, submodule_search_locations=package
        )

    def exec_module(self, module: ModuleType) -> None:
        """Execute the changed source as the module."""
        exec(compile(self.source, str(self.path), "exec"), vars(module))


def try_mutant(mutant: Mutant, tests: Sequence[str], limit_s: float) -> MutantOutcome | None:
    """Run a mutant's tests in a child process, killed after `limit_s`; ``None`` if the mutant changes no code."""
    if (sources := mutated_sources(mutant)) is None:
        return None
    before, after = sources
    diff = "".join(unified_diff(before.splitlines(True), after.splitlines(True), n=0)).partition("@@\n")[2]
    if not tests:
        return MutantOutcome(mutant, "unreached", diff, 0.0)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setpgrp()
        _run_tests_and_exit(mutant, after, tests)
    while time.monotonic() < start + limit_s:
        ended_pid, status = os.waitpid(child, os.WNOHANG)
        if ended_pid:
            return MutantOutcome(
                mutant, _outcome_of_exit(os.waitstatus_to_exitcode(status)), diff, time.monotonic() - start
            )
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return MutantOutcome(mutant, "hung", diff, time.monotonic() - start)


def _outcome_of_exit(code: int) -> str:
    """Interpret pytest's exit code: failed tests (1) or errors in collection (2) or setup (4) kill the mutant."""
    if code in {1, 2, 4}:
        return "killed"
    if code == 0:
        return "survived"
    raise RuntimeError(f"pytest ended with {code}: no test was run, so that nothing is known about the mutant")


def check_unmutated(lines: Mapping[str, Mapping[int, set[str]]], seconds: Mapping[str, float]) -> None:
    """Check that a mutant without a change survives; otherwise, every mutant would count as killed.

    Raise `RuntimeError` if a test fails on the unchanged science.
    """
    path = "assay/rating/decision.py"
    source = (ROOT / path).read_text(encoding="utf-8")
    unmutated = Mutant(path, "none", {}, 0, 0, 0)
    tests = tests_of(unmutated, lines, seconds)
    child = os.fork()
    if child == 0:
        _run_tests_and_exit(unmutated, source, tests)
    _, wait_status = os.waitpid(child, 0)
    if (outcome := _outcome_of_exit(os.waitstatus_to_exitcode(wait_status))) != "survived":
        raise RuntimeError(f"{len(tests)} tests of {path} were run on it as it is, and it was {outcome}")


def _run_tests_and_exit(mutant: Mutant, source: str, tests: Sequence[str]) -> None:
    """Run the tests with the mutant in this (forked) process, and exit."""
    code = 3  # pytest's exit code for an internal error
    try:
        import pytest

        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, 1)
        os.dup2(null_device, 2)
        sys.meta_path.insert(0, _MutantLoader(mutant.module, ROOT / mutant.path, source))
        code = int(pytest.main([*map(_pytest_node_id, tests), "-x", "-q", "-p", "no:cacheprovider", *PLUGINS]))
    finally:
        os._exit(code)


def main() -> None:
    """Mutate a sample, or every place, and write the outcome of each mutant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=600, help="places to try; 0 tries all")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--only", default="", help="part of a module's path")
    parser.add_argument("--to", type=Path, default=Path("mutation.jsonl"), help="where results go, a line each")
    parser.add_argument("--reach", type=Path, help="a folder with the coverage of an earlier run")
    options = parser.parse_args()
    os.chdir(ROOT)
    all_mutants = [mutant for mutant in mutants() if options.only in mutant.path]
    sample = _sample_mutants(all_mutants, options.sample, np.random.Generator(np.random.PCG64(options.seed)))
    places = len({mutant.place for mutant in all_mutants})
    print(f"{len(sample):,} mutants at {places:,} places ({len(all_mutants):,} in all)", flush=True)
    with tempfile.TemporaryDirectory(prefix="assay-mutants-") as temporary:
        folder = options.reach or Path(temporary)
        folder.mkdir(exist_ok=True)
        stored = (folder / "times.xml").exists() and (folder / "coverage").exists()
        lines, seconds = (
            (_line_tests(folder / "coverage"), _times(folder / "times.xml")) if stored else measure_reach(folder)
        )
    _load_libraries()
    check_unmutated(lines, seconds)
    outcome_counts: Counter[str] = Counter()
    with options.to.open("w", encoding="utf-8") as file:
        for outcome in _run_mutants(sample, lines, seconds):
            outcome_counts[outcome.became] += 1
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
            print(f"\r{dict(outcome_counts)}", end="", flush=True)
    print()


def _sample_mutants(all_mutants: Sequence[Mutant], count: int, rng: np.random.Generator) -> list[Mutant]:
    """Sample places in the code, and one mutant at each."""
    mutants_by_place: dict[tuple[str, int, int, str], list[Mutant]] = defaultdict(list)
    for mutant in all_mutants:
        mutants_by_place[mutant.place].append(mutant)
    one_each = [mutants[int(rng.integers(len(mutants)))] for mutants in mutants_by_place.values()]
    sampled_indices = rng.permutation(len(one_each))[: count or None]
    return [one_each[index] for index in sampled_indices]


def _load_libraries() -> None:
    """Import the libraries that every child needs and no mutant changes."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)


def _run_mutants(
    sample: Iterable[Mutant], lines: Mapping[str, Mapping[int, set[str]]], seconds: Mapping[str, float]
) -> Iterator[MutantOutcome]:
    for mutant in sample:
        tests = tests_of(mutant, lines, seconds)
        limit_s = min(MOST_S, 10 + TIMES_SLOWER * sum(seconds[test] for test in tests))
        if (outcome := try_mutant(mutant, tests, limit_s)) is not None:
            yield outcome


if __name__ == "__main__":
    main()

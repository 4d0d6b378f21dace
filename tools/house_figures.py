"""Figures of the source tree: sizes, imports, layers, and the files whose code runs for a request.

``python -m tools.house_figures`` prints them; ``--trace`` also posts a job and runs a round-trip rating on SQLite.
A test compares them with the limits in `LIMITS`; docs/architecture.md shows them.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
import tempfile
import threading
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("assay", "reports", "store", "service", "workers", "web", "cli", "migrations", "demo")
CLIENT = "clients/python/src/assay_client"
COPIED = "cli/gate.py"
"""Copy of a module of the client; it is left out, because the original counts as code of the client."""
GENERATED = frozenset({"client.py", "documents.py", "operations.py"})

LIMITS: Mapping[str, float] = {
    "modules in the largest folder": 18,
    "modules with one importer outside their folder, %": 15,
    "layers inside assay": 6,
    "import circles": 0,
    "files passed by a plain POST": 34,
    "files passed by a round-trip job": 78,
    "lines of hand-written Python": 104_120,
    "median lines of a module": 120,
    "90th percentile of lines": 290,
    "longest module": 500,
    "longest function, lines": 60,
    "functions without full annotations": 0,
    "uses of Any": 770,
    "public names without a docstring": 0,
}
"""Largest permitted value of each figure."""


@dataclass(frozen=True)
class SourceTree:
    """The hand-written modules of the product, parsed."""

    files: Mapping[str, Path]
    """File of each module, by its dotted name."""

    @classmethod
    def read(cls, root: Path = ROOT) -> SourceTree:
        """Find every module of the product below `root`, without generated and copied code."""
        files: dict[str, Path] = {}
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                if path != root / COPIED:
                    files[_module_name(path.relative_to(root))] = path
        for path in sorted((root / CLIENT).glob("*.py")):
            if path.name not in GENERATED:
                files[_module_name(path.relative_to((root / CLIENT).parent))] = path
        return cls(files)

    @cached_property
    def trees(self) -> Mapping[str, ast.Module]:
        """Syntax tree of each module."""
        return {name: ast.parse(path.read_text("utf-8")) for name, path in self.files.items()}

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """Number of lines of each module."""
        return {name: len(path.read_text("utf-8").splitlines()) for name, path in self.files.items()}

    @cached_property
    def imports(self) -> Mapping[str, set[str]]:
        """Modules of the product that each module imports, at any depth of its code."""
        return {name: set(self._imported_modules(tree)) - {name} for name, tree in self.trees.items()}

    @cached_property
    def importers(self) -> Mapping[str, set[str]]:
        """Modules that import each module."""
        by_module: dict[str, set[str]] = defaultdict(set)
        for name, imported in self.imports.items():
            for module in imported:
                by_module[module].add(name)
        return by_module

    def _imported_modules(self, tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.files)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    if inner in self.files:
                        yield inner
                    elif node.module in self.files:
                        yield node.module

    def folder(self, name: str) -> Path:
        """Return the folder of a module."""
        return self.files[name].parent

    def sole_use_elsewhere(self) -> list[str]:
        """List the modules that exactly one module outside their folder imports.

        A parent folder that lists what is below it (the list of methods, the application's routes) is not outside.
        """

        def outside(importer: str, name: str) -> bool:
            return not self.folder(name).is_relative_to(self.folder(importer))

        return [name for name in self.files if sum(outside(user, name) for user in self.importers.get(name, ())) == 1]

    def circles(self) -> list[list[str]]:
        """Return a list with one circle of modules that import each other, even if there are more; empty without any.

        An import inside a function also counts: it hides a circular import, but does not remove it.
        """
        try:
            TopologicalSorter(self.imports).prepare()
        except CycleError as error:
            return [error.args[1]]
        return []

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield every function and method with the name of its module."""
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield name, node

    def unannotated(self) -> list[str]:
        """List the functions that lack an annotation of a parameter or of their result."""
        lines = []
        for name, node in self.functions():
            named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            variadic = [arg for arg in (node.args.vararg, node.args.kwarg) if arg is not None]
            missing = [arg for arg in (*named, *variadic) if arg.annotation is None and arg.arg not in {"self", "cls"}]
            if missing or node.returns is None:
                lines.append(f"{name}:{node.lineno} {node.name}")
        return lines

    @cached_property
    def uses_of_any(self) -> Counter[str]:
        """How often each module names the type `Any`, without its imports."""
        return Counter(
            name
            for name, tree in self.trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id == "Any"
        )

    def undocumented(self) -> list[str]:
        """List the public modules, classes and functions without a docstring (``__init__`` and the like excepted)."""
        undocumented_names = [name for name, tree in self.trees.items() if ast.get_docstring(tree) is None]
        for name, tree in self.trees.items():
            undocumented_names += [
                f"{name}:{node.lineno} {node.name}" for node in _api_nodes(tree) if ast.get_docstring(node) is None
            ]
        return undocumented_names


Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _api_nodes(tree: ast.Module | ast.ClassDef) -> Iterator[Documented]:
    """Return the public definitions of a module or class, without those inside functions."""
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_") and not _is_overload(node):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from _api_nodes(node)


def _is_overload(node: Documented) -> bool:
    decorator_names = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    return bool(decorator_names & {"overload", "override", "setter"})


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layers(root: Path = ROOT) -> int:
    """Count the layers inside ``assay`` of the import contract; it must be exhaustive.

    Raise `ValueError` if no contract for ``assay`` is exhaustive.
    """
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and contract.get("containers") == ["assay"] and contract.get("exhaustive"):
            return len(contract["layers"])
    raise ValueError("pyproject.toml has no exhaustive layers contract whose container is assay")


def tree_figures(tree: SourceTree) -> dict[str, float]:
    """Compute the figures that need no run."""
    folders = Counter(path.parent for path in tree.files.values())
    sizes = sorted(tree.lines.values())
    return {
        "modules in the largest folder": max(folders.values()),
        "modules with one importer outside their folder, %": round(
            100 * len(tree.sole_use_elsewhere()) / len(tree.files), 1
        ),
        "layers inside assay": layers(),
        "import circles": len(tree.circles()),
        "modules": len(tree.files),
        "lines of hand-written Python": sum(sizes),
        "median lines of a module": statistics.median(sizes),
        "90th percentile of lines": sizes[int(0.9 * (len(sizes) - 1))],
        "longest module": sizes[-1],
        "longest function, lines": max((node.end_lineno or 0) - node.lineno + 1 for _, node in tree.functions()),
        "functions without full annotations": len(tree.unannotated()),
        "uses of Any": sum(tree.uses_of_any.values()),
        "public names without a docstring": len(tree.undocumented()),
    }


# ------------------------------------------------------------------------------- files that run for a request
class Trace:
    """Trace of the product's files in which a function was called, in every thread."""

    def __init__(self, root: Path = ROOT) -> None:
        self.files: set[str] = set()
        self._prefix, self._is_recording = f"{root}/", False
        self._seen: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG002  signature of profile functions
        """Record the file of a call."""
        if self._is_recording and event == "call" and (name := frame.f_code.co_filename) not in self._seen:
            self._seen.add(name)
            relative_path = name.removeprefix(self._prefix)
            top_folder = relative_path.partition("/")[0]
            if relative_path != name and top_folder in PACKAGES and top_folder not in {"demo", "migrations", "cli"}:
                self.files.add(relative_path)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls inside the block, from an empty trace."""
        self.files, self._seen, self._is_recording = set(), set(), True
        try:
            yield
        finally:
            self._is_recording = False


def traced_figures() -> tuple[dict[str, float], Mapping[str, set[str]]]:
    """Post a job and run it, on SQLite and loopback, and count the files whose code runs for each.

    The service and the worker have done the same once before, so that imports and first-time set-up do not count.
    """
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-figures-") as folder:
            post_files, job_files = _trace_job(trace, Path(folder))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files_by_request = {"POST": post_files, "job": job_files}
    return {
        "files passed by a plain POST": len(post_files),
        "files passed by a round-trip job": len(job_files),
    }, files_by_request


def _trace_job(trace: Trace, folder: Path) -> tuple[set[str], set[str]]:
    import asyncio

    from demo.server import DemoServer
    from service.app import create_app
    from store.core import migrate
    from store.core.settings import Settings
    from workers.engine.tasks import open_context
    from workers.engine.worker_context import import_job_libraries
    from workers.run_job import run_job
    from workers.targets.registry import TargetChecker

    settings = Settings(data_dir=folder, egress_allow="127.0.0.0/8")
    migrate.upgrade(settings.resolved_database_url)
    with DemoServer() as services:
        app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
        context = open_context(settings)

        def work(job_id: str) -> None:
            import_job_libraries()  # as the task of a worker does
            thread = threading.Thread(target=run_job, args=(job_id, context, "figures"))
            thread.start()
            thread.join()

        try:
            return asyncio.run(_trace_requests(app, services.url("faithful"), trace, work))
        finally:
            context.database.close()


async def _trace_requests(app: Any, url: str, trace: Trace, work: Callable[[str], None]) -> tuple[set[str], set[str]]:
    import httpx

    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):

        async def post(seed: int) -> str:
            target = {"name": "figures", "kind": "translator", "protocol": "libretranslate", "base_url": url}
            experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
            answer = await client.post("/v1/jobs", json={"target": target, "experiment": experiment, "seed": seed})
            answer.raise_for_status()
            return str(answer.json()["id"])

        work(await post(1))
        with trace.recording():
            second_job_id = await post(2)
        post_files = trace.files
        with trace.recording():
            work(second_job_id)
        job_files = trace.files
        job = (await client.get(f"/v1/jobs/{second_job_id}")).json()
        if job["status"] != "succeeded":
            raise RuntimeError(f"the traced job ended {job['status']}: {job.get('problem')}")
        return post_files, job_files


def main() -> None:
    """Print the figures, each beside its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="store_true", help="also count the files that a request and a job pass")
    parser.add_argument("--names", action="store_true", help="also print what is behind each figure")
    options = parser.parse_args()
    tree = SourceTree.read()
    figures = tree_figures(tree)
    files_by_request: Mapping[str, set[str]] = {}
    if options.trace:
        traced, files_by_request = traced_figures()
        figures |= traced
    for name, figure in figures.items():
        limit = LIMITS.get(name)
        mark = "" if limit is None else f"at most {limit:g}" if figure <= limit else f"MORE than {limit:g}"
        print(f"{name:52} {figure:>9g}  {mark}")
    if options.names:
        print("One importer outside:", *sorted(tree.sole_use_elsewhere()), sep="\n  ")
        print("Circles:", *tree.circles(), sep="\n  ")
        print("Not annotated:", *tree.unannotated(), sep="\n  ")
        print("Not documented:", *tree.undocumented(), sep="\n  ")
        for name, files in files_by_request.items():
            print(f"{name} passes:", *sorted(files), sep="\n  ")


if __name__ == "__main__":
    main()

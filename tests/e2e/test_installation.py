"""The installation commands of docs/install.md work as printed in an environment without Assay's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.support.markdown_blocks import ROOT, blocks

IMPORT_ALL = """
import importlib, pkgutil, sys

def walk(name):
    module = importlib.import_module(name)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if found.name.rpartition(".")[2] != "__main__":
            walk(found.name)

for name in sys.argv[1:]:
    walk(name)
print(len([name for name in sys.modules if name.partition(".")[0] in sys.argv[1:]]))
"""

PACKAGES = ("assay", "reports", "store", "service", "web", "workers", "cli", "migrations", "demo")
FILES = ("pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """Return a copy of the sources, from which Assay is installed."""
    folder = tmp_path / "checkout"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def dependencies(tmp_path) -> Path:
    """Return a folder with the packages of this environment except Assay's: pip has no index to fetch them from."""
    folder = tmp_path / "dependencies"
    folder.mkdir()
    for one in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not one.name.startswith(("assay", "__editable__", "_assay", "pip", "__pycache__")) and one.suffix != ".pth":
            (folder / one.name).symlink_to(one)
    return folder


def shell(commands: str, folder: Path, dependencies: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "PIP_"))}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=clean
        | {
            "PYTHONPATH": str(dependencies),
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "false",  # this setting makes pip build without isolation
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        },
    )


@pytest.mark.parametrize("number", [0, 1], ids=["from-the-checkout", "as-a-wheel"])
def test_the_documented_installation_runs_assay_and_does_not_install_the_demonstration(number, checkout, dependencies):
    marked = [block for block in blocks(ROOT / "docs/install.md") if block.mark == "run"]
    assert len(marked) == 2
    done = shell(marked[number].text + "\nassay-env/bin/assay version\n", checkout, dependencies)
    assert done.returncode == 0, done.stderr
    (shown,) = [block.text for block in blocks(ROOT / "docs/install.md") if block.language == "text"]
    assert done.stdout.endswith(shown)
    elsewhere = "cd / && PYTHONSAFEPATH=1 " + str(checkout / "assay-env/bin/python")
    assert shell(f"{elsewhere} -c 'import demo'", checkout, dependencies).returncode == 1
    refused = shell(f"cd / && {checkout}/assay-env/bin/assay demo", checkout, dependencies)
    assert refused.returncode == 64
    assert "pip install ./demo" in refused.stderr


def test_every_module_of_the_wheel_can_be_imported_without_the_checkout(checkout, dependencies):
    commands = "python3 -m venv assay-env\nassay-env/bin/pip install . ./demo\ncd /\n"
    packages = "assay store service web workers cli demo"  # Alembic itself imports migrations
    program = f"PYTHONSAFEPATH=1 {checkout}/assay-env/bin/python -c '{IMPORT_ALL}' {packages}"
    done = shell(commands + program, checkout, dependencies)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 300


def test_the_demonstration_can_be_installed_beside_assay(checkout, dependencies):
    commands = "python3 -m venv assay-env\nassay-env/bin/pip install . ./demo\ncd /\n"
    done = shell(
        f"{commands} {checkout}/assay-env/bin/python -c 'import demo.server; print(demo.__file__)'",
        checkout,
        dependencies,
    )
    assert done.returncode == 0, done.stderr
    assert str(checkout / "assay-env") in done.stdout

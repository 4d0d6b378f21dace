"""Tests that importing the statistics is cheap: a command that computes nothing does not import SciPy."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import assay.statistics


def imported_with(*modules: str) -> set[str]:
    """Return the names of all modules that a new interpreter has loaded after importing `modules`."""
    code = f"import {', '.join(modules)}, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_no_module_of_assay_statistics_imports_scipy_stats():
    names = [f"assay.statistics.{one.name}" for one in pkgutil.iter_modules(assay.statistics.__path__)]
    assert "scipy.stats" not in imported_with(*names)


def test_importing_the_package_assay_statistics_does_not_import_scipy():
    assert "scipy" not in imported_with("assay.statistics")

"""Imported by the fork server of `tests.support.commands`, which then ends with the process of the tests."""

from __future__ import annotations

from store.core.child_processes import end_with_parent

end_with_parent()

"""``make costs``: maximum cost of one hostile request or job, as the table of docs/reliability.md."""

from __future__ import annotations

import sys

from tests.support.attacks import ATTACKS
from tests.support.costs import cost_of, victim

PATIENCE_S = 20
"""Seconds to wait for an attack's end: more than the 15 s after which the server ends a slow request."""

HEAD = "| attack | ends with | memory, MB | memory of a child, MB | event loop, s | longest `/livez`, s |"
"""Columns of the table."""


def main() -> int:
    """Measure the attacks whose names contain a word of the command line, or all, and print a row for each."""
    names = [name for name in ATTACKS if any(word in name for word in sys.argv[1:] or [""])]
    with victim() as server:
        key = server.key("attacker")
        for warm_up in ("CSV with a million columns", "job whose service answers 1 MB of text"):
            cost_of(warm_up, server, key, patience_s=PATIENCE_S)
        print(HEAD + "\n|---|---|--:|--:|--:|--:|")
        for name in names:
            cost = cost_of(name, server, key, patience_s=PATIENCE_S)
            child = f"{cost.child_mb:.0f}" if cost.child_mb else ""
            numbers = f"{cost.grown_mb:.0f} | {child} | {cost.loop_s:.2f} | {cost.delay_s:.2f}"
            print(f"| {name} | {cost.outcome} | {numbers} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

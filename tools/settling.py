"""`python -m tools.settling`: measure how often the further questions that a report advises settle an open letter.

Simulated services, with effects of 0 to 3 tolerances, are rated with few questions. If the letter stays open, and the
report names a number of further questions that the words or records allow, the same service is rated again with so
many more. The results are in ``docs/decisions/0062-how-much-more.md``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.explain import Vocabulary
from assay.rating.decision import rate
from assay.rating.document import rating_document
from assay.reports.in_words import AT_TOLERANCE, settle_in_words
from store.core.child_processes import end_with_parent
from store.ratings.experiment_json import dump_method
from tests.support.simulated.base import SimulatedService
from tests.support.simulated.services import SERVICES

SMALLEST, LARGEST = 0.0, 3.0
"""Smallest and largest effect, in multiples of the tolerance."""


@dataclass(frozen=True)
class Case:
    """A service, the size of its first rating, and a function that changes a method to another size."""

    service: str
    size: int
    at: Callable[[Any, int], Any]


def _rows(method: Any, size: int) -> Any:
    return replace(method, profiles=min(100, size), records=replace(method.records, most=size))


CASES: Mapping[str, Case] = {
    "round-trip": Case(
        "round-trip, translator", 60, lambda method, size: replace(method, max_texts_per_block=min(962, size))
    ),
    "one-hop": Case(
        "one-hop, translator", 40, lambda method, size: replace(method, max_texts_per_block=min(373, size))
    ),
    "alternation, numbers": Case("alternation, numbers of records", 400, _rows),
    "alternation, scores": Case("alternation, scores of records", 400, _rows),
    "stimulus-sampling": Case(
        "stimulus-sampling, vectors", 50, lambda method, size: replace(method, samples=size, looks=1)
    ),
}
"""Methods whose reports name a number; the other methods ask about all their words in any case."""


@dataclass(frozen=True)
class Outcome:
    """Advice of a report on one rating, and the result after more questions."""

    name: str
    said: str
    settled: bool = False
    right: bool = True


def run(name: str, seed: int) -> Outcome:
    """Rate one service, and once more with the number of questions that its report advises."""
    case = CASES[name]
    rng = np.random.default_rng([seed, 62])
    step = 0.1 * rng.uniform(SMALLEST, LARGEST)
    effects = (step, step) if rng.random() < 0.5 else (0.0, step)
    made = SERVICES[case.service](*effects, seed)
    document = _rated(made, case.at(made.method, case.size), seed)
    part = document["components"][0]
    if document["declared"] or "settle" not in part:
        return Outcome(name, "declared" if document["declared"] else "not measured")
    said = settle_in_words(document, part, type(made.method))
    if said == AT_TOLERANCE:
        again = _rated(made, case.at(made.method, 2 * case.size), seed)
        return Outcome(name, "at the tolerance", again["declared"])
    if said is None or not said.startswith("About"):
        return Outcome(name, "not with this material")
    asked = sum(part[key] for key in ("usable", "unusable", "failed")) * getattr(made.method, "probes_each", 1)
    times = 1 + part["settle"]["more_probes"] / asked
    again = _rated(made, case.at(made.method, round(times * case.size)), seed)
    return Outcome(name, "a number", again["declared"], again["letter"] == made.letter)


def _rated(made: SimulatedService, method: Any, seed: int) -> dict[str, Any]:
    service = replace(made, method=method)
    return rating_document(
        rate(service.rate(seed)),
        vocabulary=Vocabulary.of(method),
        experiment=dump_method(method),
        target={},
        seed=seed,
        calls=0,
        failed_calls=0,
        evidence_digest="",
        visibility="private",
    )


def main() -> None:
    """Run the simulation and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="services of each method")
    parser.add_argument("--only", choices=CASES, default=None)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    heads = (
        "method",
        "open",
        "named",
        "settled",
        "rightly",
        "too little material",
        "at the tolerance",
        "settled by twice",
    )
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads), "|", sep="")
    for name in [given.only] if given.only else CASES:
        with ProcessPoolExecutor(given.processes, initializer=end_with_parent) as pool:
            found = list(pool.map(run, [name] * given.runs, range(given.runs)))
        said = Counter(one.said for one in found)
        numbered = [one for one in found if one.said == "a number"]
        settled = [one for one in numbered if one.settled]
        cells = (
            len(found) - said["declared"],
            len(numbered),
            f"{len(settled)} ({len(settled) / max(1, len(numbered)):.0%})",
            sum(one.right for one in settled),
            said["not with this material"],
            said["at the tolerance"],
            sum(one.settled for one in found if one.said == "at the tolerance"),
        )
        print("|", " | ".join(map(str, (name, *cells))), "|", flush=True)


if __name__ == "__main__":
    main()

"""Files of random hiring decisions (fixed seed) whose true letter is known: who was hired, and who stayed."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.experiment import generator
from demo.predictors.prediction import by_name

SEED = 34

GROUPS = ("woman", "man")


@dataclass(frozen=True)
class RecordedDecisions:
    """A file of decisions of a hiring tool that was built with a known bias."""

    name: str
    summary: str
    letter: str | None
    """The letter that the tool deserves; ``None`` if the file cannot show one, for the reason `reason`."""
    reason: str
    people: int = 20_000
    """Number of rows."""
    suitable: tuple[float, float] = (0.5, 0.5)
    """Share of women and of men who prove suitable: they stay."""
    hired: tuple[float, float] = (0.7, 0.7)
    """Share of the suitable women and men who are hired."""
    truth: bool = True
    """Whether the file records who stayed."""

    @property
    def experiment(self) -> Mapping[str, object]:
        """Experiment of a job that audits the file."""
        settings = {"method": "outcomes", "by": ["sex"], "decision": "hired", "favourable": "yes"}
        return {**settings, "period": "2026-01..2026-06", **({"truth": "stayed"} if self.truth else {})}

    def csv(self) -> bytes:
        """Return the file as CSV, with a row for each person; one in five of the unsuitable people is hired."""
        rng = generator(SEED)
        group_index = rng.integers(len(GROUPS), size=self.people)
        is_suitable = rng.random(self.people) < np.array(self.suitable)[group_index]
        is_hired = rng.random(self.people) < np.where(is_suitable, np.array(self.hired)[group_index], 0.2)
        columns = {"sex": np.array(GROUPS)[group_index], "hired": np.where(is_hired, "yes", "no")}
        if self.truth:
            columns["stayed"] = np.where(is_suitable, "yes", "no")
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
        return text.getvalue().encode()


FILES = by_name(
    RecordedDecisions("even-recruiter", "hires suitable women and men alike", "UCS", "outcomes-even"),
    RecordedDecisions(
        "faithful-recruiter",
        "hires suitable people alike, and fewer women prove suitable",
        "DSBS",
        "outcomes-differ",
        suitable=(0.3, 0.6),
    ),
    RecordedDecisions(
        "biased-recruiter",
        "hires suitable women less often than suitable men",
        "BS",
        "unequal-among-alike",
        hired=(0.5, 0.7),
    ),
    RecordedDecisions(
        "unproven-recruiter",
        "nobody recorded who proved suitable, so that there are tables and no letter",
        None,
        "only-outcomes-known",
        hired=(0.5, 0.7),
        truth=False,
    ),
    RecordedDecisions("small-recruiter", "50 people are too few for a letter", None, "too-few-to-judge", people=50),
)
"""Files by name."""

"""Cell suppression: which counts of people a public table may show, so that no small count can be computed.

Counts of 1 to 4 people are masked, and as many others as needed so that no masked count can be computed. All tables are
protected together: of a column and its intersections, of both outcomes (decision and score), and of the whole file.

References
----------
.. [1] Fischetti & Salazar (2000), "Models and algorithms for optimizing cell suppression in tabular data with linear
   constraints", J. Am. Stat. Assoc. 95. The counts to mask are chosen as in its heuristic: the cheapest change of the
   data that moves a masked count and no published one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.errors import SpecificationError
from assay.methods.shared.outcome_tables.decision_table import Grouping
from assay.model import Floats, Integers

LEAST_SHOWN = 5
"""Number of people from which a count is shown; nobody (0) is shown too."""

MOST_ROWS = 50
"""Maximum number of rows of an intersection whose counts are masked one by one; larger tables are masked as a whole."""

MOST_MOVED = 4_000
"""Maximum number of variables (`_Counts.people`) that may change in a search for data with equal published counts."""

LARGEST_SEARCH, ALL_SEARCHES = 3_000_000, 50_000_000
"""Maximum size (variables x published counts x nodes) of a search, and of all searches: some seconds, and minutes."""

SEARCH_S = 60
"""Maximum time of a search; reached only if the machine is too slow for `LARGEST_SEARCH`."""

PEOPLE, UNDECIDED, TRUTH, ROWS = "people", "undecided", "truth", "rows"
"""Parts of a row whose counts are masked together; `ROWS` is the part with the number of people of the whole file."""

UNKNOWN_ANSWER = 2
"""Code of an unknown decision or true outcome; known ones have the codes 0 and 1."""


class MaskingTooCostly(SpecificationError):
    """Too many small counts to choose what to mask: the rating cannot be published."""

    def __init__(self) -> None:
        super().__init__("the tables have too many small counts to mask them; use fewer columns or intersections")


@dataclass(frozen=True, order=True)
class Part:
    """Counts that are shown or masked together: a part of a row of a table."""

    table: int
    """Number of the table, in the order of the components; -1 for the whole file."""
    code: int
    """Index of the group; -1 for the people whose group is unknown."""
    name: str
    """`PEOPLE` (favourable and unfavourable outcomes), `UNDECIDED`, `TRUTH` or `ROWS`."""


WHOLE_FILE = Part(-1, 0, ROWS)


@dataclass(frozen=True)
class PublicTable:
    """A table to publish: groups, and the decision (0, 1 or `UNKNOWN_ANSWER`) of each cell.

    `truth` has codes of true outcomes; it is ``None`` if the table has no error rates.
    """

    grouping: Grouping
    decided: Integers
    truth: Integers | None


def masked_parts(tables: Sequence[PublicTable], people: Floats) -> frozenset[Part]:
    """Return the parts of the tables' rows to mask; `people` has the number of people of each cell.

    Enough is masked that nobody can compute a masked count: a small count could also be larger by `LEAST_SHOWN`, any
    other could be different. Raise `MaskingTooCostly` if the search for the parts to mask exceeds its limits.
    """
    counts = _Counts.of(tables, people)
    hidden_parts = set(counts.small_parts())
    for index, table in enumerate(tables):
        all_parts = [part for part in counts.parts if part.table == index]
        is_large_intersection = " x " in table.grouping.name and len(table.grouping.labels) > MOST_ROWS
        if is_large_intersection and hidden_parts.intersection(all_parts):  # it is masked as a whole
            hidden_parts.update(all_parts)
    return frozenset(counts.protect(hidden_parts)) if hidden_parts else frozenset()


@dataclass(frozen=True)
class _Counts:
    """All counts of the tables as sums of variables: the people with a combination of groups and of answers."""

    people: Floats
    """Shape (variables,): number of people of each combination of groups and of answers."""
    membership: Any
    """Shape (counts, variables): 1 if a count includes the people of a variable, 0 otherwise."""
    parts: list[Part]
    """The part of each count."""
    sizes: dict[Part, float]
    """Number of people of the part's row, which is the cost of masking the part; 0 for the sum of all people."""

    @classmethod
    def of(cls, tables: Sequence[PublicTable], people: Floats) -> Self:
        """Express each count of the tables as a sum of variables: people by combination of groups and answers."""
        from scipy.sparse import csr_array

        groups = np.stack([table.grouping.codes for table in tables])
        answers = np.stack([codes for table in tables for codes in (table.decided, table.truth) if codes is not None])
        # a column for each combination of groups (a row for each table), and of answers, that occurs
        joint_groups, groups_of_cell = np.unique(groups, axis=1, return_inverse=True)
        joint_answers, answers_of_cell = np.unique(answers, axis=1, return_inverse=True)
        answer_count = joint_answers.shape[1]
        variables = groups_of_cell.reshape(-1) * answer_count + answers_of_cell.reshape(-1)
        people_of_variables = np.bincount(variables, people, joint_groups.shape[1] * answer_count).astype(float)
        rows, parts = list[NDArray[np.bool_]](), list[Part]()  # of each count: a mask of its variables, and its part
        sizes = {WHOLE_FILE: 0.0}
        row_of_answers = 0  # the row of `joint_answers` with the decisions of a table; its truth is in the next row
        for index, table in enumerate(tables):
            answer_codes = joint_answers[row_of_answers]
            truth = None if table.truth is None else joint_answers[row_of_answers + 1]
            row_of_answers += 1 if truth is None else 2
            for code in range(-1, len(table.grouping.labels)):
                in_group = joint_groups[index] == code
                for name, is_counted in _answer_combinations(answer_codes, truth):
                    part = Part(index, code, name)
                    rows.append(np.outer(in_group, is_counted).reshape(-1))
                    parts.append(part)
                    sizes[part] = float(people_of_variables.reshape(-1, answer_count)[in_group].sum())
        rows.append(np.ones_like(people_of_variables, dtype=bool))  # of the whole file
        return cls(people_of_variables, csr_array(np.array(rows, dtype=float)), [*parts, WHOLE_FILE], sizes)

    def small_parts(self) -> Iterator[Part]:
        """Yield the parts of rows with a count of 1 to 4 people; with the part `PEOPLE`, also its row's `TRUTH`."""
        for part, count in zip(self.parts, self.membership @ self.people, strict=True):
            if 0 < count < LEAST_SHOWN:
                yield part
                # the counts by truth add up to it; `protect` drops the part if the table has no truth
                if part.name == PEOPLE:
                    yield Part(part.table, part.code, TRUTH)

    def protect(self, hidden_parts: set[Part]) -> set[Part]:
        """Add parts (counts of a row masked together) to `hidden_parts` until no masked count can be computed."""
        counts = self.membership @ self.people
        largest_changes = np.zeros(len(counts))  # of each count, in data with the same published counts
        small_indices = [index for index, count in enumerate(counts) if 0 < count < LEAST_SHOWN]
        # an answer that nobody in the file has, such as an unknown truth, is no secret
        occurring = np.flatnonzero(self.membership.sum(axis=1)).tolist()
        total_size = 0
        while True:
            masked_indices = [index for index in occurring if self.parts[index] in hidden_parts]
            # small counts come first: once they can be larger by `LEAST_SHOWN`, other masked counts must differ by 1
            target = next((index for index in small_indices if largest_changes[index] < LEAST_SHOWN), None)
            growth = float(LEAST_SHOWN)  # by which the search makes the count `target` larger
            if target is None:
                target = next((index for index in masked_indices if largest_changes[index] < 1), None)
                growth = 1.0
            if target is None:
                return hidden_parts
            visible_count = sum(part not in hidden_parts for part in self.parts)
            size = max(1, min(len(self.people), MOST_MOVED) * visible_count)
            total_size += size
            # the size is limited instead of the time, so that every machine masks the same counts
            if size > LARGEST_SEARCH or total_size > ALL_SEARCHES:
                raise MaskingTooCostly
            count_changes = self._cheapest_change(target, growth, hidden_parts, LARGEST_SEARCH // size)
            largest_changes = np.maximum(largest_changes, np.abs(count_changes))
            changed_parts = {part for part, change in zip(self.parts, count_changes, strict=True) if abs(change) > 0.5}
            for part in changed_parts - hidden_parts:
                hidden_parts.add(part)
                if part.name == PEOPLE:
                    hidden_parts.add(Part(part.table, part.code, TRUTH))
            hidden_parts.intersection_update(self.parts)  # without the `TRUTH` of tables without error rates

    def _cheapest_change(self, target: int, growth: float, hidden_parts: set[Part], most_nodes: int) -> Floats:
        """Return the change of every count if people are moved so that the count with index `target` grows by `growth`.

        Of all ways to move people, this changes published counts with (nearly) the lowest total cost (`sizes`).
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array, eye_array, hstack

        visible_indices = [index for index, part in enumerate(self.parts) if part not in hidden_parts]
        movable = self._movable_variables(target, hidden_parts)
        movable_membership = self.membership[:, movable]
        costs = np.array([self.sizes[self.parts[index]] + 1 for index in visible_indices])  # an empty row costs 1
        # variables: people moved into each cell (out of it if negative), then decrease and increase of visible counts
        slack = eye_array(len(visible_indices), format="csr")  # a column for the change of each visible count
        slack_count, move_count = 2 * len(visible_indices), len(movable)
        visible_rows = hstack([movable_membership[visible_indices], slack, -slack], format="csr")
        target_row = hstack([movable_membership[[target]], csr_array((1, slack_count))], format="csr")
        solution = milp(
            np.concatenate([np.zeros(move_count), costs, costs]),
            constraints=[LinearConstraint(visible_rows, lb=0, ub=0), LinearConstraint(target_row, growth, growth)],
            bounds=Bounds(
                np.concatenate([-self.people[movable], np.zeros(slack_count)]),
                np.full(move_count + slack_count, self.people.sum() + growth),
            ),
            integrality=np.concatenate([np.ones(move_count), np.zeros(slack_count)]),
            options={"mip_rel_gap": 0.1, "node_limit": most_nodes, "time_limit": SEARCH_S},
        )
        if solution.status != 0:  # every published count may change, so that there always is a solution
            raise MaskingTooCostly
        changes: Floats = np.round(movable_membership @ solution.x[:move_count])
        return changes

    def _movable_variables(self, target: int, hidden_parts: set[Part]) -> NDArray[np.int64]:
        """Return indices of variables (alike people) to move: those in the count `target`, then in masked counts."""
        in_target = self.membership[[target]].toarray()[0] > 0
        masked_indices = [index for index, part in enumerate(self.parts) if part in hidden_parts]
        masked_counts = self.membership[masked_indices].sum(axis=0)  # number of those that include a variable
        by_priority = np.lexsort((-self.people, -masked_counts, ~in_target))  # the last key is the first criterion
        return np.sort(by_priority[:MOST_MOVED])


def _answer_combinations(answers: Integers, truth: Integers | None) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield, for each count in a row of the table, its part's name and a mask of the answer combinations it counts.

    `answers` (decisions) and `truth` have a code for each combination, shape (combinations,), and so have the masks.
    """
    yield PEOPLE, answers == 1  # favourable decisions
    yield PEOPLE, answers == 0  # unfavourable decisions
    yield UNDECIDED, answers == UNKNOWN_ANSWER
    if truth is not None:
        for decision in (1, 0):
            for right in (1, 0, UNKNOWN_ANSWER):
                yield TRUTH, (answers == decision) & (truth == right)

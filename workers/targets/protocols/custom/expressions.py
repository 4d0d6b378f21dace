"""A subset of JMESPath with bounded cost, for expressions from untrusted users.

All of JMESPath can build values that grow exponentially: each ``[@, @]`` doubles its input, and ``to_string`` writes
the result out. Two limits keep an expression's cost below a small multiple of the reply's size. The syntax tree is
checked when a target is described, and the evaluation counts its steps.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from assay.document import Json
from assay.errors import SpecificationError

Node = Json

MAX_STEPS = 1_000_000
"""Maximum number of syntax-tree nodes that one evaluation visits, in about a second."""

MAX_COLUMNS = 4
"""Maximum number of entries of a list ``[a, b]`` or object ``{a: b}``; an expression may have only one of them."""

MAX_LITERAL = 10
"""Maximum length of a literal in characters, except in comparisons: ``join`` may repeat a literal many times."""

FUNCTIONS = frozenset(
    {"abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "max", "max_by", "min"}
    | {"min_by", "not_null", "reverse", "sort", "sort_by", "starts_with", "sum", "to_number", "values"}
)
"""Functions whose result is not larger than their arguments."""

_COMPARISON_FUNCTIONS = frozenset({"contains", "ends_with", "starts_with"})
_MULTI_SELECTS = {"multi_select_list": "[a, b]", "multi_select_dict": "{a: b}"}


EVALUATION_ERRORS = (JMESPathError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions of jmespath for unexpected values: its own, and those of Python's operators."""


class ExpressionTooLong(Exception):
    """An evaluation took more than `MAX_STEPS` steps."""


class Expression:
    """A compiled expression: JMESPath with `FUNCTIONS`, at most one ``[a, b]`` or ``{a: b}``, and short literals.

    Raise `SpecificationError` if `text` is not JMESPath, or a part could make the result grow; the message names the
    part and `field`.
    """

    def __init__(self, text: str, field: str = "output") -> None:
        try:
            self._tree: Node = jmespath.compile(text).parsed
            nodes = list(_nodes_with_parents(self._tree))
        except (JMESPathError, RecursionError) as error:
            line = (str(error).splitlines() or ["it cannot be read"])[0][:200]
            raise SpecificationError(f"{field} is not a JMESPath expression: {line}", field) from None
        for node, parent in nodes:
            if reason := _refusal_reason(node, parent):
                raise SpecificationError(f"{field} {reason}", field)
        if sum(node["type"] in _MULTI_SELECTS for node, _ in nodes) > 1:
            raise SpecificationError(f"{field} may hold one list [a, b] or one object {{a: b}}, not several", field)

    def search(self, value: object) -> Any:
        """Evaluate the expression on parsed JSON; raise `ExpressionTooLong`, or `EVALUATION_ERRORS` if it is unfit."""
        return _StepLimitedInterpreter().visit(dict(self._tree), value)


class _StepLimitedInterpreter(TreeInterpreter):
    def __init__(self) -> None:
        super().__init__()
        self._steps = 0

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise ExpressionTooLong
        return super().visit(node, *args, **kwargs)


def _nodes_with_parents(node: Node, parent: Node | None = None) -> Iterator[tuple[Node, Node | None]]:
    yield node, parent
    for child in node["children"]:
        if isinstance(child, Mapping):
            yield from _nodes_with_parents(child, node)


def _refusal_reason(node: Node, parent: Node | None) -> str | None:
    """Return why a node of a syntax tree is refused, to follow the field's name; ``None`` if it is allowed."""
    node_type, value, children = node["type"], node.get("value"), node["children"]
    if node_type == "function_expression" and value not in FUNCTIONS:
        return f"must not call {value}(); it may call {', '.join(sorted(FUNCTIONS))}"
    if node_type == "function_expression" and value == "join" and children[:1] and children[0]["type"] != "literal":
        return "may join() with a literal such as ', ' only"
    if node_type in _MULTI_SELECTS and len(children) > MAX_COLUMNS:
        return f"has a {_MULTI_SELECTS[node_type]} of {len(children)} entries; at most {MAX_COLUMNS} are allowed"
    if node_type == "literal" and isinstance(value, str) and len(value) > MAX_LITERAL and not _is_compared(parent):
        return f"holds a text of {len(value)} characters; more than {MAX_LITERAL} may only be compared"
    if node_type == "literal" and isinstance(value, (list, dict)):
        return "must not hold a literal list or object"
    return None


def _is_compared(parent: Node | None) -> bool:
    if parent is None:
        return False
    return parent["type"] == "comparator" or parent.get("value") in _COMPARISON_FUNCTIONS

"""Adapter for the open inference protocol, version 2: KServe, Triton, MLServer, Seldon."""

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.model import Ask, Classify, Failure, Field, Kind, Regress
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.protocols.http.adapter import Request, as_list, dig, post_json
from workers.targets.protocols.http.predictor import HttpPredictor, content_of, json_of, rows_in, texts_in
from workers.targets.settings import PredictorSettings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
_REAL_TYPES = frozenset({"FP16", "BF16", "FP32", "FP64"})
_INTEGER_TYPES = frozenset({"INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"})

DATATYPES: Mapping[type, str] = {bool: "BOOL", int: "INT64", float: "FP64", str: "BYTES"}
"""Datatype of a cell, by its Python type."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Output of the service: one value per question, or a list of values if the tensor has a second axis."""

    datatype: str
    rows: list[Any]


@dataclass(frozen=True, kw_only=True)
class KserveSettings(PredictorSettings):
    """Settings of a model that speaks the open inference protocol."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Name of the model."""
    version: Annotated[str, MaxLen(200)] = ""
    """Version of the model; empty for the service's choice."""
    layout: Literal["columns", "matrix"] = "columns"
    """Records: a tensor for each column, or one tensor of numbers."""
    input_name: Annotated[str, MinLen(1), MaxLen(200)] = "input-0"
    """Name of the tensor that carries texts, or records with ``layout: matrix``."""
    datatype: Literal["FP32", "FP64"] = "FP32"
    """Datatype of the numbers of a matrix; columns are FP64, INT64, BOOL or BYTES, depending on their cells."""
    flat: bool = False
    """Whether texts and columns have the shape [n] instead of [n, 1]."""
    content_type: Annotated[str, MaxLen(50)] = ""
    """Content type of the request, for MLServer: "pd" for a table, "np", "str"."""
    outputs: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(200)], ...], MaxLen(10)] = ()
    """Names of the outputs to read; empty: all."""
    batch_maximum: Annotated[int, Ge(1), Le(1000)] = 24
    """Most questions in one call: the first axis of every tensor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, path_part in {"model": self.model, "version": self.version or "default"}.items():
            if not _NAME.fullmatch(path_part):
                raise SpecificationError(f"{name} may hold letters, digits, dots, hyphens and underscores", name)


class Kserve(HttpPredictor[KserveSettings]):
    """Adapter for ``/v2/models/{model}/infer``."""

    protocol: ClassVar[str] = "kserve"
    summary: ClassVar[str] = "Open inference protocol v2 (KServe, Triton, MLServer): POST /v2/models/{model}/infer"
    settings_type: ClassVar[type] = KserveSettings
    takes_records: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "GET /v2/models/{model} tells the names, shapes and datatypes it wants",
        "a classifier's output of texts or whole numbers is its label, one of real numbers its probabilities",
        "probabilities have no names: the setting labels gives them, in their order",
        "binary tensors are not read; do not ask for them",
    )

    def group_key(self, ask: Ask) -> Hashable:
        """Return a key that holds the datatypes of the cells, since the tensor of a column has one datatype."""
        content = ask.given if isinstance(ask, Classify | Regress) else ""
        if isinstance(content, str) or self.settings.layout == "matrix":  # one tensor for all cells
            return super().group_key(ask)
        return (super().group_key(ask), tuple(type(cell) for _, cell in content))

    def _refusal(self, ask: Prediction) -> Failure | None:
        """Return a failure for a question with a cell that no tensor can hold, else ``None``."""
        content = content_of(ask)
        for name, cell in () if isinstance(content, str) else content:
            if cell is None:
                return Failure("unsupported", f"the cell {name!r} is empty, but a tensor cannot have empty cells")
            if isinstance(cell, str) and self.settings.layout == "matrix":
                return Failure("unsupported", f"the cell {name!r} is not a number, but a matrix can hold numbers only")
        return super()._refusal(ask)

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request with a tensor for each column, or one for all texts or numbers."""
        settings = self.settings
        body: JsonObject = {"inputs": self._input_tensors(texts_in(asks), rows_in(asks))}
        if settings.content_type:
            body["parameters"] = {"content_type": settings.content_type}
        if settings.outputs:
            body["outputs"] = [{"name": name} for name in settings.outputs]
        version = f"/versions/{settings.version}" if settings.version else ""
        return post_json(f"/v2/models/{settings.model}{version}/infer", body)

    def _input_tensors(self, texts: Sequence[str], rows: Sequence[dict[str, Field]]) -> list[JsonObject]:
        """Return the texts as one tensor; records as a tensor for each column, or as one matrix of numbers."""
        if texts:
            return [self._tensor_of_column(self.settings.input_name, list(texts))]
        if self.settings.layout == "columns":
            return [self._tensor_of_column(name, [row[name] for row in rows]) for name in rows[0]]
        cells = [float(cell) for row in rows for cell in row.values() if cell is not None]
        shape = [len(rows), len(rows[0])]
        return [{"name": self.settings.input_name, "shape": shape, "datatype": self.settings.datatype, "data": cells}]

    def _tensor_of_column(self, name: str, cells: list[Any]) -> JsonObject:
        shape = [len(cells)] if self.settings.flat else [len(cells), 1]
        return {"name": name, "shape": shape, "datatype": DATATYPES[type(cells[0])], "data": cells}

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:
        """Choose among the output tensors, by their datatypes, and return a row for each question."""
        outputs = as_list(dig(json_of(response), "outputs"))
        tensors = [read_tensor(output, len(asks)) for output in outputs if self._is_wanted(output)]
        real_tensor = next((tensor for tensor in tensors if tensor.datatype in _REAL_TYPES), None)
        integer_tensor = next((tensor for tensor in tensors if tensor.datatype in _INTEGER_TYPES), None)
        text_tensor = next((tensor for tensor in tensors if tensor.datatype == "BYTES"), None)
        if self.target.kind is Kind.CLASSIFIER:
            return self._join_classes(text_tensor or integer_tensor, real_tensor)
        number_tensor = real_tensor or integer_tensor
        if number_tensor is None:
            raise Misread("gave no output of numbers")
        return number_tensor.rows

    def _is_wanted(self, output: object) -> bool:
        return not self.settings.outputs or dig(output, "name") in self.settings.outputs

    def _join_classes(self, label_tensor: Tensor | None, score_tensor: Tensor | None) -> list[Any]:
        """Return the label of each question, its scores, or both, depending on the tensors of the response."""
        labels = label_tensor and [
            row[0] if isinstance(row, list) and len(row) == 1 else row for row in label_tensor.rows
        ]
        scores = score_tensor and [row if isinstance(row, list) else [row] for row in score_tensor.rows]
        if labels and scores:
            return [{"label": label, "scores": row} for label, row in zip(labels, scores, strict=True)]
        if labels:
            return [{"label": label} for label in labels]
        if not scores:
            raise Misread("gave no output of labels or probabilities")
        return scores


def read_tensor(output: object, question_count: int) -> Tensor:
    """Split an output into one row for each question; raise `Misread` if its shape or its data do not fit that."""
    dig(output, "name")  # raises if it is missing
    datatype = dig(output, "datatype")
    shape = as_list(dig(output, "shape"))  # at most 8 axes, because `flatten` takes a pass for each
    if not shape or not all(type(axis) is int and axis > 0 for axis in shape) or len(shape) > 8:
        raise Misread("returned an output whose shape is not a list of lengths")
    if shape[0] != question_count:
        raise Misread(f"gave an output of {shape[0]} rows for {question_count} questions", "wrong-count")
    values = flatten(as_list(dig(output, "data")), len(shape))
    if len(values) != math.prod(shape):
        raise Misread(f"gave an output of {len(values)} values, unlike its shape")
    if len(shape) == 1:
        return Tensor(str(datatype), values)
    width = math.prod(shape[1:])
    if math.prod(shape[1:-1]) != 1:  # axes between the first and the last may have the length 1 only
        raise Misread(f"gave an output of {len(shape)} axes; at most two are allowed")
    return Tensor(str(datatype), [values[start : start + width] for start in range(0, len(values), width)])


def flatten(values: list[Any], axes: int) -> list[Any]:
    """Flatten data nested over `axes` axes; flat data, which services may send too, stay unchanged."""
    for _ in range(axes - 1):
        if not any(isinstance(element, list) for element in values):
            return values
        lists = [element if isinstance(element, list) else [element] for element in values]
        values = [value for elements in lists for value in elements]
    return values

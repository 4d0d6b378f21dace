"""Adapter for MLflow's scoring server."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import JsonObject
from assay.model import Field
from workers.egress import Response
from workers.targets.adapter import Prediction
from workers.targets.parsing.answer_parsing import Misread
from workers.targets.protocols.http.adapter import Request, as_list, dig, post_json
from workers.targets.protocols.http.predictor import HttpPredictor, json_of, rows_in, texts_in
from workers.targets.settings import PredictorSettings


@dataclass(frozen=True, kw_only=True)
class MlflowSettings(PredictorSettings):
    """Settings of a model behind MLflow's scoring server."""

    input_format: Literal["dataframe_split", "dataframe_records", "instances", "inputs"] = "dataframe_split"
    """Format of the questions: a table by rows or by records, or TensorFlow's instances or inputs."""
    text_column: Annotated[str, MinLen(1), MaxLen(200)] = "text"
    """Column of a table that carries a text; instances and inputs carry texts as they are."""
    output_column: Annotated[str, MaxLen(200)] = ""
    """Column to read if predictions are a table of several columns; empty: all columns."""
    batch_maximum: Annotated[int, Ge(1), Le(10_000)] = 24
    """Most questions in one call."""


class Mlflow(HttpPredictor[MlflowSettings]):
    """Adapter for ``/invocations`` with a table of texts or records."""

    protocol: ClassVar[str] = "mlflow"
    summary: ClassVar[str] = "MLflow's scoring server: POST /invocations with a table"
    settings_type: ClassVar[type] = MlflowSettings
    takes_records: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "scikit-learn models predict labels, not probabilities, unless they were logged with predict_proba",
        "rows of probabilities have no names: the setting labels gives them, in the order of the columns",
        "models with a signature refuse columns it does not name, and integers where it wants doubles",
        "it has no keys of its own; a secret is sent as a bearer token, for a proxy before it",
    )

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request with the questions as a table, or as a list of texts."""
        texts, rows = texts_in(asks), rows_in(asks)
        input_format = self.settings.input_format
        takes_plain_texts = bool(texts) and input_format in {"instances", "inputs"}
        questions = list(texts) if takes_plain_texts else self._table(texts, rows)
        return post_json("/invocations", {input_format: questions})

    def _table(self, texts: Sequence[str], rows: Sequence[dict[str, Field]]) -> Any:
        """Return questions as a table; all rows of a call have the same columns."""
        rows = rows or [{self.settings.text_column: text} for text in texts]
        columns = list(rows[0])
        match self.settings.input_format:
            case "dataframe_split":
                return {"columns": columns, "data": [list(row.values()) for row in rows]}
            case "inputs":
                return {column: [row[column] for row in rows] for column in columns}
            case _:
                return list(rows)

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:
        """Return one prediction for each question."""
        predictions = dig(json_of(response), "predictions")
        if isinstance(predictions, dict):
            predictions = self._rows_of_columns(predictions)
        outputs = [self._output_of_row(prediction) for prediction in as_list(predictions)]
        if len(outputs) != len(asks):
            raise Misread(f"gave {len(outputs)} predictions for {len(asks)} rows", "wrong-count")
        return outputs

    def _rows_of_columns(self, columns: JsonObject) -> list[Any]:
        if len({len(as_list(column)) for column in columns.values()}) != 1:
            raise Misread("gave columns of predictions of different lengths")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _output_of_row(self, row: object) -> Any:
        """Return the prediction in a row: one cell of it, or the whole row of a table of several columns."""
        if not isinstance(row, dict):
            return row
        if self.settings.output_column:
            return dig(row, self.settings.output_column)
        return next(iter(row.values())) if len(row) == 1 else row

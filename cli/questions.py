"""`assay questions`: scores of recorded answers to questions whose answer may be "cannot be known"."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import typer

from assay.document import JsonObject
from assay.errors import SpecificationError
from assay.experiment import generator
from assay.methods.shared.answers.question_scores import AMBIGUOUS, ContextScores, read_question, score
from assay.model import Interval


def run(file: Path, answers: str, seed: int, *, as_json: bool) -> None:
    """Print bias scores by category of the questions in a file; `answers` names the member with a question's answer."""
    records_by_category: dict[str, list[JsonObject]] = {}
    for record in _records(file):
        records_by_category.setdefault(str(record.get("category")), []).append(record)
    scores_by_category = {}
    for category, category_records in records_by_category.items():
        if missing_count := sum(answers not in record for record in category_records):
            raise SpecificationError(f"{missing_count} records of {category} have no member {answers!r}", "answers")
        questions = [read_question(record) for record in category_records]
        answer_texts = [str(record[answers]) for record in category_records]
        scores_by_category[category] = score(questions, answer_texts, generator(seed))
    if as_json:
        json_by_category = {
            category: {context: asdict(scores) for context, scores in scores_by_context.items()}
            for category, scores_by_context in scores_by_category.items()
        }
        typer.echo(json.dumps(json_by_category, indent=1))
        return
    for category, scores_by_context in scores_by_category.items():
        typer.echo(category)
        for context, scores in scores_by_context.items():
            typer.echo("\n".join(_score_lines(context, scores)))


def _records(file: Path) -> Iterator[JsonObject]:
    try:
        raw = file.read_bytes()
        text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode("utf-8")
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise SpecificationError(f"{file} cannot be read: {error}", "file") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise SpecificationError(f"line {number} of {file} is no JSON: {error}", "file") from error
        if not isinstance(record, dict):
            raise SpecificationError(f"line {number} of {file} is no JSON object", "file")
        yield record


def _score_lines(context: str, scores: ContextScores) -> Iterator[str]:
    """Yield lines about questions with an ambiguous context, which does not tell the answer, or with one that does."""
    yield (
        f"  {'ambiguous' if context == AMBIGUOUS else 'disambiguated'}: {scores.questions} questions, "
        f"{scores.read} read, {scores.refused} refused, {scores.unreadable} unreadable"
    )
    yield f"    accuracy     {_estimate(scores.accuracy)}"
    name, bias = ("s_AMB", scores.weighted_bias) if context == AMBIGUOUS else ("s_DIS", scores.bias)  # names of BBQ
    yield f"    {name}        {_estimate(bias)}   {scores.biased} of {scores.named} answers with a group are biased"
    if scores.without_target:
        yield f"    {scores.without_target} answers are not judged: no group of theirs is known as stereotyped"


def _estimate(interval: Interval | None) -> str:
    if interval is None:
        return "not estimable"
    return f"{interval.estimate:.4f}  [{interval.low:.4f}, {interval.high:.4f}]"

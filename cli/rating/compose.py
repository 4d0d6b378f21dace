"""`assay compose`: the inferred rating of services called one after the other, from letters or files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table

from assay.composition.chain import TABLES, TableName
from assay.composition.compatibility import check_length
from assay.composition.document import composition_document
from assay.composition.lookup import Part, part_of, tables_document
from assay.document import Json, RatingDocument
from assay.errors import SpecificationError, UnknownName
from assay.experiment import generator
from assay.model import Letter
from cli.exits import Exit
from cli.rating.compare import read_rating
from cli.terminal import console, escape, print_json

TITLES = {"published": "published (Srivastava & Rossi 2018, Table 2)", "revised": "revised"}


def compose_named(arguments: Sequence[str], *, table: str, as_json: bool) -> Exit:
    """Compose letters and rating files, print the inference, and return the letter as an exit code.

    `arguments` are letters or file names, in the order of the services; `table` is ``published`` or ``revised``.

    Raise `SpecificationError` if a file is not a rating, the services do not fit together, or the table is unknown.
    """
    headline_table: TableName | None = next((name for name in TABLES if name == table), None)
    if headline_table is None:
        raise UnknownName("table", table, TABLES, "table")
    check_length(len(arguments))
    links = [
        Letter(argument.upper()) if argument.upper() in set(Letter) else read_rating(Path(argument))
        for argument in arguments
    ]
    composition = _compose(links, arguments, headline_table)
    if as_json:
        print_json(composition)
    else:
        _print_composition(composition, links, arguments)
    letter = composition["letter"]
    return Exit.of_rating(letter, declared=letter is not None)


def _compose(links: Sequence[Letter | RatingDocument], arguments: Sequence[str], table: TableName) -> Json:
    """Infer a chain's rating by tables and transition matrices; if any link is only a letter, by the tables alone."""
    ratings = [link for link in links if not isinstance(link, Letter)]
    try:
        if len(ratings) == len(links):
            # a fixed seed, so that a composition of the same ratings is always the same
            return composition_document(ratings, generator(0), table=table)
        parts = [Part(link) if isinstance(link, Letter) else part_of(link) for link in links]  # what the tables need
    except SpecificationError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:  # a part of a rating is missing
        files = ", ".join(name for name, link in zip(arguments, links, strict=True) if not isinstance(link, Letter))
        cause = f"{type(error).__name__}: {error}"
        raise SpecificationError(
            f"one of {files} is not a complete rating ({cause}); save the answer of GET /v1/ratings/{{id}}"
        ) from None
    document = tables_document(parts, table)
    return {"provenance": "inferred", "letter": document["tables"][table]["letter"], "predicted": None, **document}


def _print_composition(composition: Json, links: Sequence[Letter | RatingDocument], arguments: Sequence[str]) -> None:
    """Print a chain and its inferred letter, the inference by each table and by matrices, and explanations."""
    chain = " * ".join(_link_title(link, name) for link, name in zip(links, arguments, strict=True))
    result = composition["letter"] or f"must be measured ({' or '.join(composition['possible'])})"
    console.print(f"[bold]{escape(chain)}[/bold]  inferred: [bold]{result}[/bold]", soft_wrap=True)
    has_probabilities = any(inference["probabilities"] for inference in composition["tables"].values())
    columns = ["table", "possible", "worst", *(("BS", "DSBS", "UCS", "must be measured") if has_probabilities else ())]
    table = Table(*columns, box=None)
    for name, inference in composition["tables"].items():
        possible = " or ".join(inference["possible"]) + (" (contradiction)" if inference["contradiction"] else "")
        table.add_row(TITLES[name], possible, inference["worst"], *_probability_cells(inference["probabilities"]))
    if composition["predicted"] is not None:
        prediction = composition["predicted"]
        predicted = prediction["letter"] if prediction["declared"] else f"leaning {prediction['letter']}"
        table.add_row("matrices", predicted, prediction["letter"], *_probability_cells(prediction["probabilities"]))
    console.print(table)
    for sentence in (*composition["explanation"], *(note["text"] for note in composition["notes"])):
        console.print(escape(sentence), soft_wrap=True)
    if composition.get("not_predicted"):
        console.print(escape(f"No prediction from matrices: {composition['not_predicted']}."), soft_wrap=True)


def _link_title(link: Letter | RatingDocument, name: str) -> str:
    if isinstance(link, Letter):
        return link.value
    letter = link.letter if link.declared else "inconclusive"
    return f"{link.target.name or name} ({letter})"


def _probability_cells(probabilities: Mapping[str, float] | None) -> tuple[str, ...]:
    if probabilities is None:
        return ()
    return tuple(f"{probabilities.get(name, 0.0):.3f}" for name in ("BS", "DSBS", "UCS", "must_be_measured"))

"""`assay compare`: changes between two ratings of the same words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from assay.document import Json, RatingDocument
from assay.errors import SpecificationError
from assay.methods import rating_of
from assay.methods.association.comparison import comparison_document
from assay.rating.side_by_side import side_by_side_document
from cli.documents import parse_json, read_text
from cli.terminal import console, escape, print_json

MOST_BYTES = 64 << 20
"""Maximum size of a rating document in bytes; its tables may be long."""


def compare_files(before: Path, after: Path, *, as_json: bool) -> None:
    """Compare the ratings of two files, and print changes; raise `SpecificationError` if they cannot be compared."""
    comparison = comparison_document(read_rating(before), read_rating(after))
    if as_json:
        print_json(comparison)
        return
    _print_comparison(comparison)


def read_json(file: Path) -> Any:
    """Read a JSON file; raise `SpecificationError` if it cannot be read or is not JSON."""
    return parse_json(read_text(file, MOST_BYTES), str(file))


def read_rating(file: Path) -> RatingDocument:
    """Read a rating document; raise `SpecificationError` if the file is not a rating."""
    document = read_json(file)
    if not isinstance(document, dict) or "method" not in document or not isinstance(document.get("components"), list):
        raise SpecificationError(f"{file} is not a rating; `assay rate --json` and GET /v1/ratings/{{id}} give one")
    return rating_of(document)


def _print_comparison(comparison: Json) -> None:
    """Print both ratings, and a table of the mean distances before and after, with their changes and intervals."""
    for stage in ("before", "after"):
        rating = comparison[stage]
        missing = f"; without a vector: {', '.join(rating['missing'])}" if rating["missing"] else ""
        letter = rating["letter"] if rating["declared"] else "inconclusive"
        console.print(f"[bold]{stage}[/bold]  {escape(str(rating['target']))} ({letter}){escape(missing)}")
        for hidden_effect in rating["hidden"]:  # effects within lists of words, which the mean can hide
            numbers = [hidden_effect["effect"].get(name) for name in ("estimate", "low", "high")]
            effect_text = "not measured" if None in numbers else "{:.3f} ({:.3f} to {:.3f})".format(*numbers)
            console.print(f"        {escape(hidden_effect['name'])}: {effect_text}")
    pair_counts = f"{comparison['pairs']} distances of both, {comparison['pairs_left_out']} left out"
    console.print(f"{pair_counts}; prior {comparison['fit']['prior']}")
    interval_mass = f"{comparison['mass']:.0%}"
    table = Table("mean cosine distance", "before", "after", "change", f"{interval_mass} HPDI", "P(grew)", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for connection in comparison["connections"]:  # distances to associated words, and to different words
        table.add_row(*_effect_cells(connection))
    if comparison["effect"] is not None:
        table.add_section()
        table.add_row(*_effect_cells(comparison["effect"] | {"name": "different less associated"}), style="bold")
    for word in comparison["words"]:
        table.add_row(*_effect_cells(word | {"name": f"  {word['name']}"}))  # indented below the effect
    console.print(table)
    console.print(_effect_sentence(comparison))


def _effect_cells(effect_row: Json) -> tuple[str, ...]:
    hpdi = effect_row["hpdi"]
    numbers = (f"{effect_row['before']:.3f}", f"{effect_row['after']:.3f}", f"{effect_row['mean']:+.3f}")
    interval = f"{hpdi['low']:+.3f} … {hpdi['high']:+.3f}"
    return (escape(effect_row["name"]), *numbers, interval, _probability(effect_row["p_after_greater"]))


def _probability(p: float) -> str:
    """Format a probability estimated from some thousand draws; never as 0 or 1."""
    if p < 0.001:
        return "< 0.001"
    return "> 0.999" if p > 0.999 else f"{p:.3f}"


def _effect_sentence(comparison: Json) -> str:
    if (effect := comparison["effect"]) is None:
        return "One of the ratings has no words that are associated, or none that are different: no effect to compare."
    low, high = effect["hpdi"]["low"], effect["hpdi"]["high"]  # interval of the change
    if high < 0:
        return "Stereotypes are followed less than before."
    if low > 0:
        return "Stereotypes are followed more than before."
    return "Whether stereotypes are followed more or less than before is undecided: the interval includes zero."


ABSENT = "–"


def show_side_by_side(files: Sequence[Path], without: Sequence[str], *, vote: bool, as_json: bool) -> None:
    """Print letters by part, and overall by the worst part or by `vote`: of all parts, and `without` some of them."""
    aggregation: Literal["worst", "vote"] = "vote" if vote else "worst"
    comparison = side_by_side_document([read_rating(file) for file in files], without, aggregation)
    if as_json:
        print_json(comparison)
        return
    table = Table("Part", *(escape(service["name"]) for service in comparison["services"]), box=None)
    for row in comparison["rows"]:
        table.add_row(escape(row["part"]), *map(_letter_text, row["cells"]))
    table.add_section()
    table.add_row(f"Overall ({aggregation})", *map(_letter_text, comparison["overall"]), style="bold")
    if comparison["without"]:
        left_out = ", ".join(comparison["without"]["parts"])
        letters = map(_letter_text, comparison["without"]["overall"])
        table.add_row(f"Overall without {escape(left_out)}", *letters, style="bold")
    console.print(table)
    if any("?" in _letter_text(cell) for row in comparison["rows"] for cell in row["cells"]):
        console.print("A letter with a question mark is the likeliest one, and is not declared.")


def _letter_text(cell: Json | None) -> str:
    if cell is None:
        return ABSENT
    return "not measured" if cell["letter"] is None else cell["letter"] + ("" if cell["declared"] else "?")

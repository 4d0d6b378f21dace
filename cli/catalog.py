"""`assay methods|attributes|specifications|protocols`: lists of what a request can name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.catalog import attribute, attributes, construction, constructions
from assay.catalog.shipped import specifications
from assay.methods import every_method, method_name
from workers.targets import protocols

console = Console(highlight=False)


def show_methods() -> None:
    """Print every method with its fields and their defaults."""
    for kind in every_method():
        console.print(f"[bold]{method_name(kind)}[/bold]  {kind.summary}")
        console.print(f"  rates: {', '.join(sorted(kind.kinds))}; source: {kind.paper}", style="dim")
        table = Table("field", "default", box=None, padding=(0, 2))
        for each in fields(kind):
            if each.name != "method":
                required = each.default is MISSING and each.default_factory is MISSING
                table.add_row(each.name, "(required)" if required else _shown(each.default))
        console.print(table)
    console.print(f"templates: {', '.join(constructions())}")


def show_attributes() -> None:
    """Print every attribute with its values and the templates that can carry it."""
    table = Table("attribute", "values", "templates", "source")
    for name in attributes():
        one = attribute(name)
        carriers = [each for each in constructions() if construction(each).supports(one)]
        table.add_row(name, ", ".join(one.value_names), ", ".join(carriers), one.source)
    console.print(table)


def show_specifications() -> None:
    """Print every word list that is shipped, with where its words come from."""
    table = Table("specification", "for", "about", "title", "source")
    for one in specifications().values():
        able = [method_name(each) for each in every_method() if each.specification_kind == one.kind]
        table.add_row(one.name, ", ".join(able), one.words.attribute, one.title, one.citation)
    console.print(table)


def show_protocols() -> None:
    """Print every protocol with its settings."""
    table = Table("protocol", "what it is", "needs", "settings")
    for one in protocols():
        needs = [word for word, needed in (("url", one.needs_url), ("secret", one.needs_secret)) if needed]
        settings = ", ".join(each.name for each in fields(one.settings_type))
        table.add_row(one.name, one.summary, ", ".join(needs), settings)
    console.print(table)


def _shown(default: Any) -> str:
    return "(the attribute's own)" if default == () else str(default)

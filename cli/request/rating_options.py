"""Options that describe a rating, which several commands take (`assay rate`, `plan`, `probe`).

This module imports nothing slow, so that `assay --help` stays quick.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal, get_type_hints

from cli.options import File, Text, Texts, argument, option

SECRET_VARIABLE = "ASSAY_TARGET_SECRET"  # noqa: S105 - the name of a variable, not a secret


@dataclass(frozen=True, kw_only=True)
class RatingOptions:
    """A file and options that describe a rating; the options override the file."""

    file: Annotated[
        File, argument("A TOML or JSON file with the tables [target] and [experiment]; `assay init` writes one.")
    ] = None
    kind: Annotated[
        Text,
        option(
            "translator, classifier, regressor, embedder, language-model or image-classifier. [default: translator]"
        ),
    ] = None
    protocol: Annotated[Text, option("How the service speaks; see `assay protocols`.")] = None
    url: Annotated[Text, option("Its address, e.g. http://127.0.0.1:5000.")] = None
    name: Annotated[Text, option("What to call it in the report.")] = None
    method: Annotated[Text, option("See `assay methods`. [default: by kind]")] = None
    attribute: Annotated[
        Texts, option("See `assay attributes`. Two: every combination of their values. [default: gender]")
    ] = None
    specification: Annotated[
        Text, option("Words of embedding methods; see `assay specifications`. [default: by attribute]")
    ] = None
    languages: Annotated[Texts, option("Middle or target language. Repeatable.", "--language")] = None
    source: Annotated[
        Text, option("Language that a translator translates from: en, es, fr, de, it, pt. [default: en]")
    ] = None
    templates: Annotated[Texts, option("Sentence construction, or 'all'. Repeatable.", "--template")] = None
    settings: Annotated[Texts, option("key=value of the protocol's settings. Repeatable.", "--setting")] = None
    fields: Annotated[
        Texts,
        option(
            "key=value of the experiment, dotted where nested; target.limits.timeout_s=60 and the like set "
            "other tables of the file. Repeatable.",
            "--set",
        ),
    ] = None
    upload: Annotated[
        File, option("Table of records (CSV, xlsx or Parquet) to ask about; of --protocol uploaded, its vectors.")
    ] = None
    encoding: Annotated[
        Text,
        option("Encoding of a CSV file of --upload that is not UTF-8, such as windows-1252."),
    ] = None
    decimal: Annotated[
        Literal["point", "comma"] | None,
        option("Sign before decimals in a CSV file of --upload; by default the one that fits a column."),
    ] = None
    sheet: Annotated[Text, option("Sheet of an xlsx file of --upload. [default: the only one with cells]")] = None
    secret: Annotated[
        Text,
        option("The service's key; better given in the environment.", envvar=SECRET_VARIABLE),
    ] = None
    python: Annotated[Text, option("Rate a function: package.module:function, called with a text or a record.")] = None
    command: Annotated[Text, option("Rate a program that answers JSON lines on its standard input and output.")] = None
    seed: Annotated[int | None, option("Seed of everything random. [default: random]", min=0)] = None
    max_calls: Annotated[int | None, option("Calls the rating may cost at most.", min=1)] = None


def with_options(options_type: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the argument ``options`` of a command by the fields of a dataclass."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        """Return the command with the fields of `options_type` in place of its parameter ``options``."""
        hints = get_type_hints(options_type, include_extras=True)
        parameters = inspect.signature(command, eval_str=True).parameters.values()
        keyword_only = inspect.Parameter.KEYWORD_ONLY  # so that required parameters may follow optional ones
        typer_parameters = [
            inspect.Parameter(
                field.name,
                keyword_only,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in fields(options_type)
        ]
        typer_parameters += [
            parameter.replace(kind=keyword_only) for parameter in parameters if parameter.name != "options"
        ]

        def run(**arguments: object) -> None:
            options = options_type(**{field.name: arguments.pop(field.name) for field in fields(options_type)})
            command(options=options, **arguments)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(typer_parameters)  # type: ignore[attr-defined]  # typer reads it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in typer_parameters}
        return run

    return decorate

"""Resolution of the inputs that a request names: specifications, corpora, rows of a table, recorded choices.

A job holds all inputs of its experiment, so that a worker and a replay need no look-ups, and later edits of a list
do not change what is rated. Each method lists its named inputs (`assay.references`). Material that the operator holds
back (``ASSAY_HELD_BACK``) is read at the start.
"""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter, ValidationError

from assay.catalog.shipped import specifications as shipped
from assay.document import Json, JsonObject
from assay.errors import SpecificationError, UnknownName
from assay.experiment import generator
from assay.methods import AnyMethod, every_method, method_name
from assay.methods.shared.held_back import check_held_back
from assay.model import Kind
from assay.references import HeldBack, LoadedMaterial, LoadedWords, NamedRows, NamedWords
from service.container import Service
from service.corpora.service import check_images, find_corpus
from service.http.json import located
from service.uploads.service import UPLOADED, decisions_of, find_upload, rows_of, trials_of
from store.corpora import materials, specifications, uploads

MOST_BYTES = 65_536


async def with_named_inputs(service: Service, tenant: str, method: AnyMethod, target: Json) -> AnyMethod:
    """Return the experiment `method` together with all stored inputs that it names, except the rows of a table."""
    references = method.references()
    with located("experiment"):
        corpus = None
        if references.corpus is not None:
            corpus = await find_corpus(service, tenant, references.corpus, method.method)
        corpus_images = [] if corpus is None else [item.image for item in corpus.items if item.image is not None]
        await check_images(service, tenant, [*references.images, *corpus_images], references.image_field)
        words = () if references.words is None else await _find_words(service, tenant, references.words, method.method)
        if corpus is not None or words:
            # in a thread, because reading thousands of items takes some tenths of a second
            method = await asyncio.to_thread(method.with_references, LoadedMaterial(corpus=corpus, words=words))
    if target["protocol"] == UPLOADED and target["kind"] == Kind.CLASSIFIER:  # uploaded answers are rated
        with located("target"):
            return await _add_trials(service, tenant, method, target)
    if references.decisions is not None:
        with located("target"):
            upload = await find_upload(service, tenant, target["settings"]["upload"], "table", field="settings.upload")
        with located("experiment"):
            decisions = await decisions_of(service, upload, references.decisions)
            return await asyncio.to_thread(method.with_references, LoadedMaterial(decisions=decisions))
    return method


async def reading_of(service: Service, tenant: str, rows: NamedRows) -> JsonObject:
    """Return ``{"reading": …}``, the file-format options that were sent with an uploaded table; ``{}`` without any.

    A job's digest includes them, because equal bytes read with different options are different tables.
    """
    upload = await service.database.read(uploads.find, rows.upload, tenant, "table")
    return {"reading": upload.summary["reading"]} if upload and upload.summary.get("reading") else {}


async def with_rows(service: Service, tenant: str, method: AnyMethod, rows: NamedRows, seed: int) -> AnyMethod:
    """Return the experiment `method` together with the rows that it names of an uploaded table.

    The `seed` picks rows from a table that has more rows than a job can hold.
    """
    with located("experiment", rows.field):
        rng = generator(seed)
        table_rows = await rows_of(service, tenant, rows.upload, rng=rng)
        return method.with_references(LoadedMaterial(rows=chosen_rows(table_rows, rows, rng)))


async def with_stored_items(service: Service, tenant: str, method: AnyMethod) -> AnyMethod:
    """Return the experiment with fitting items of the tenant's corpora, so that its author (a model) adds fewer."""
    authored = await service.database.read(materials.stored_material, tenant, method.references().authored)
    if not any(authored):
        return method
    return await asyncio.to_thread(method.with_references, LoadedMaterial(authored=authored))


async def _find_words(service: Service, tenant: str, named_words: NamedWords, method: str) -> tuple[LoadedWords, ...]:
    """Return the words of the named specifications; refuse one that is unknown or of a kind unfit for `method`."""
    words = []
    for name in named_words.names:
        specification = await service.database.read(specifications.find_named, tenant, name)
        if specification is None:
            raise UnknownName("specification", name, (*shipped(), "those of GET /v1/specifications"), "specification")
        if specification.kind != named_words.kind:
            mismatch = f"{name} is a specification for {specification.kind}; {method} takes one for {named_words.kind}"
            raise SpecificationError(mismatch, field="specification")
        list_words = replace(specification.as_specification().words, name=specification.name)
        words.append(LoadedWords(f"{specification.name}@{specification.version}", list_words))
    return tuple(words)


def chosen_rows(rows: Sequence[Json], named_rows: NamedRows, rng: np.random.Generator) -> tuple[Json, ...]:
    """Return rows that `named_rows` selects by the values of a column: at most `max_rows` at random, in table order.

    Raises `UnknownName` for a column that the table lacks, or values that no row has.
    """
    columns = tuple(rows[0]) if rows else ()
    if named_rows.column not in columns:
        raise UnknownName("column of the upload", named_rows.column, columns, "column")
    matching_rows = [row for row in rows if row[named_rows.column] in named_rows.values]
    if not matching_rows:
        column_values = sorted({str(row[named_rows.column]) for row in rows})[:20]  # a column can have thousands
        named_values = ", ".join(map(str, named_rows.values))
        raise UnknownName(f"value of {named_rows.column}", named_values, column_values, "values")
    chosen_indices = np.sort(rng.permutation(len(matching_rows))[: named_rows.max_rows])  # in the table's order
    return tuple(matching_rows[index] for index in chosen_indices)


async def _add_trials(service: Service, tenant: str, method: AnyMethod, target: Json) -> AnyMethod:
    """Return `method` with the target's uploaded answers, to be rated; refuse a method that cannot use answers."""
    if not method.takes_trials:
        fitting_methods = " or ".join(method_name(other) for other in every_method() if other.takes_trials)
        raise SpecificationError(
            f"uploaded answers are for {fitting_methods}; {method.method} asks its own questions", "kind"
        )
    trials = await trials_of(service, tenant, target["settings"]["upload"], field="settings.upload")
    fields = ("concept", "level", "chose_second", "trials")
    return method.with_references(LoadedMaterial(trials=tuple({name: row[name] for name in fields} for row in trials)))


def read_held_back(path: Path | None) -> HeldBack:
    """Read the operator's file of unpublished questions (held-back material); without a file there are none.

    Raise `SpecificationError` if the file cannot be read, is too large, or holds material that no rating can use.
    """
    if path is None:
        return HeldBack()
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SpecificationError(f"it has more than {MOST_BYTES:,} bytes")
        held_back = TypeAdapter(HeldBack).validate_python(tomllib.loads(content.decode()))
        check_held_back(held_back)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = f"it cannot be read as TOML: {error}"
    except ValidationError as error:
        first_error = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first_error['loc']))}: {first_error['msg']}"
    except SpecificationError as error:
        reason = f"{error.field}: {error}" if error.field else str(error)
    else:
        return held_back
    raise SpecificationError(f"ASSAY_HELD_BACK names {path}: {reason}")

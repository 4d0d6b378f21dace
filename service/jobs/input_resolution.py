"""Filling in what a request only names: a specification's words, the rows of an upload, trials.

A job carries everything its experiment needs, so that a worker looks nothing up, a replay needs no database,
and what is rated does not change when somebody edits a list afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.catalog.shipped import specifications as shipped
from assay.errors import SpecificationError, UnknownName
from assay.experiment import generator
from assay.methods import Alternation, AnyMethod, Association, ForcedChoice, StereotypeScore, VisualStereotype
from assay.methods.forced_choice.choice_trials import Trials
from assay.model import Kind
from service.corpora.experiment_inputs import with_pictures, with_sentences
from service.dependencies import Service
from service.http.json import located
from service.uploads.intake import UPLOADED, check_embedding, rows_of, trials_of
from store.corpora import kept_material, specifications
from store.corpora.specifications import StoredSpecification

KIND_OF_WORDS: Mapping[type[Any], str] = {
    ForcedChoice: "choices",
    Association: "association",
    StereotypeScore: "stereotype",
    VisualStereotype: "visual",
}
"""The kind of specification each method takes."""


async def fill_in(here: Service, tenant: str, method: AnyMethod, target: Mapping[str, Any], seed: int) -> AnyMethod:
    """Fill in what an experiment names.

    Parameters
    ----------
    here : Service
    tenant : str
        Whose specifications and uploads are meant.
    method : AnyMethod
        The experiment as it was asked for.
    target : mapping
        The target's description.
    seed : int
        The job's; it picks the rows of a table that has more than a job carries.

    Raises
    ------
    Problem
        Pointing at the name that is not there.
    """
    if isinstance(method, StereotypeScore) and method.corpus is not None:
        with located("experiment"):
            method = await with_sentences(here, tenant, method)
    if isinstance(method, VisualStereotype):
        with located("experiment"):
            method = await with_pictures(here, tenant, method)
    if isinstance(method, ForcedChoice | Association) and method.words is None:
        with located("experiment"):
            return await _with_words(here, tenant, method)
    if isinstance(method, StereotypeScore | VisualStereotype) and method.words is None:
        with located("experiment"):
            return await _with_stereotypes(here, tenant, method)
    if isinstance(method, Alternation) and method.records is not None and method.records.upload is not None:
        with located("experiment", "records"):
            return await _with_rows(here, tenant, method, seed)
    if target["protocol"] == UPLOADED and target["kind"] == Kind.CLASSIFIER:
        with located("target"):
            return await _with_trials(here, tenant, method, target)
    return method


async def with_kept(here: Service, tenant: str, method: AnyMethod) -> AnyMethod:
    """Take what an author made for the tenant before, where the experiment would have it made again."""
    if not kept_material.reuses(method):
        return method
    kept = await here.database.read(kept_material.kept_for, tenant, method)
    return await asyncio.to_thread(kept_material.taking, method, kept)


async def check_uploaded(here: Service, tenant: str, target: Mapping[str, Any]) -> None:
    """Refuse a target whose vectors or answers are an upload that is not there.

    Raises
    ------
    SpecificationError
        With the field ``"settings.upload"``.
    """
    if target["kind"] == Kind.EMBEDDER:
        await check_embedding(here, tenant, target)


async def _with_words(here: Service, tenant: str, method: ForcedChoice | Association) -> AnyMethod:
    found = await _named(here, tenant, method, str(method.specification))
    words: Any = _words_of(found)
    return replace(method, words=words, specification=f"{found.name}@{found.version}")


async def _with_stereotypes(here: Service, tenant: str, method: StereotypeScore | VisualStereotype) -> AnyMethod:
    found = [await _named(here, tenant, method, name) for name in method.named]
    words: tuple[Any, ...] = tuple(map(_words_of, found))
    names = tuple(f"{one.name}@{one.version}" for one in found)
    filled: Any = {"words": words, "specification": names[0] if isinstance(method.specification, str) else names}
    return replace(method, **filled)


async def _named(here: Service, tenant: str, method: AnyMethod, name: str) -> StoredSpecification:
    """Read a specification of the kind that a method takes."""
    found = await here.database.read(specifications.find_named, tenant, name)
    if found is None:
        raise UnknownName("specification", name, (*shipped(), "those of GET /v1/specifications"), "specification")
    due = KIND_OF_WORDS[type(method)]
    if found.kind != due:
        raise SpecificationError(
            f"{name} is a specification for {found.kind}; {method.method} takes one for {due}", "specification"
        )
    return found


def _words_of(found: StoredSpecification) -> Any:
    return replace(found.read().words, name=found.name)


async def _with_rows(here: Service, tenant: str, method: Alternation, seed: int) -> Alternation:
    records = method.records
    assert records is not None  # noqa: S101  the caller looked
    rng = generator(seed)
    table = await rows_of(here, tenant, str(records.upload), rng=rng)
    known = tuple(table.rows[0]) if table.rows else ()
    if records.column not in known:
        raise UnknownName("column of the upload", records.column, known, "column")
    fitting = [row for row in table.rows if row[records.column] in records.values]
    if not fitting:
        seen = sorted({str(row[records.column]) for row in table.rows})[:20]
        raise UnknownName(f"value of {records.column}", ", ".join(map(str, records.values)), seen, "values")
    return replace(method, records=records.with_rows(_some(fitting, records.most, rng)))


def _some(rows: list[Mapping[str, Any]], most: int, rng: np.random.Generator) -> tuple[Mapping[str, Any], ...]:
    """Take all rows, or a random part in the table's order."""
    return tuple(rows[place] for place in np.sort(rng.permutation(len(rows))[:most]))


async def _with_trials(here: Service, tenant: str, method: AnyMethod, target: Mapping[str, Any]) -> AnyMethod:
    if not isinstance(method, ForcedChoice):
        raise SpecificationError(f"uploaded answers are rated by forced-choice; {method.method} asks its own", "kind")
    given = await trials_of(here, tenant, target["settings"]["upload"], field="settings.upload")
    fields = ("concept", "level", "chose_second", "trials")
    return replace(method, trials=tuple(Trials(**{name: row[name] for name in fields}) for row in given))

"""Ratings, cases and observations as a pandas data frame, for notebooks; needs the extra ``frame``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

Item: TypeAlias = Mapping[str, Any]


def to_frame(items: Iterable[Item] | Item) -> pd.DataFrame:
    """Make a data frame from an iterator or a page of the client, one row for each item.

    Parameters
    ----------
    items : iterable of mapping, or page
        Such as ``agency.iter_ratings()``, ``agency.list_ratings()``, ``agency.iter_cases(rating_id)``,
        ``agency.iter_observations(job_id)`` or ``[agency.get_rating(id)]``.

    Returns
    -------
    pandas.DataFrame
        A column for each field. Fields of objects have a dot in their names, such as ``target.name`` and
        ``probabilities.BS``; lists stay lists, but for the texts of a case: ``texts.sent`` is the text of this name,
        and ``answers.sent`` the reply to it. Columns whose names end in ``_at`` are times in UTC.

    Raises
    ------
    ModuleNotFoundError
        If pandas is not installed: ``pip install 'assay-client[frame]'``.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as why:
        raise ModuleNotFoundError("to_frame needs pandas: pip install 'assay-client[frame]'", name=why.name) from why

    rows = items["items"] if isinstance(items, Mapping) else items
    frame = pd.json_normalize([_row(item) for item in rows], sep=".")
    times = [name for name in frame.columns if str(name).endswith("_at")]
    return frame.assign(**{name: pd.to_datetime(frame[name], utc=True, format="ISO8601") for name in times})


def _row(item: Item) -> Item:
    """Return an item as a row; a case's list of texts becomes mappings by text name: `texts`, and `answers` to them."""
    if not {"texts", "observations"} <= item.keys():
        return item
    texts = {text["name"]: text["text"] for text in item["texts"]}
    answers = {text["name"]: text["answer"] for text in item["texts"] if text["answer"] is not None}
    return {**item, "texts": texts, "answers": answers}

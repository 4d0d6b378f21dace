"""Ratings and observations as a pandas data frame, for notebooks; needs the extra ``frame``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def to_frame(items: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a data frame from an iterator of the client, one row for each item.

    Parameters
    ----------
    items : iterable of mapping
        Such as ``agency.iter_ratings()``, ``agency.iter_observations(job_id)`` or ``[agency.get_rating(id)]``.

    Returns
    -------
    pandas.DataFrame
        A column for each field. Fields of objects have a dot in their names, such as ``target.name`` and
        ``probabilities.BS``; lists stay lists. Columns whose names end in ``_at`` are times in UTC.

    Raises
    ------
    ModuleNotFoundError
        If pandas is not installed: ``pip install 'assay-client[frame]'``.
    """
    import pandas as pd

    frame = pd.json_normalize([dict(item) for item in items], sep=".")
    times = [name for name in frame.columns if str(name).endswith("_at")]
    return frame.assign(**{name: pd.to_datetime(frame[name], utc=True, format="ISO8601") for name in times})

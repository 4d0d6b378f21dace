"""Schemas of rankings, and of the public ratings of one service."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field

from service.http.openapi.common_schemas import Instant, KindName, LetterName, QueryModel, ResponseModel, Visibility
from service.http.rows import MAX_ROWS
from service.ratings.schemas import StandingView
from service.services.ranking import Sort, effect_interval, effect_name, effect_size, model_of, name_of
from store.ratings.services import ServiceRating
from store.ratings.standing import Standing


class RankingQuery(QueryModel):
    """Query parameters of a ranking: the kind of service, the question, and the rows."""

    kind: KindName
    method: Annotated[str | None, Field(max_length=100, description="Default: the method with the most services.")] = (
        None
    )
    attribute: Annotated[str | None, Field(max_length=100)] = None
    language: Annotated[
        str | None, Field(max_length=100, description="Only ratings in this language alone, such as `es`.")
    ] = None
    sort: Annotated[Sort, Field(description="Column by which the rows are sorted.")] = "place"
    q: Annotated[
        str | None,
        Field(max_length=200, description="Name of a service, or id of its rating: the rows begin a few above it."),
    ] = None
    start: Annotated[int, Field(ge=0, le=1_000_000, description="Number of rows that are skipped, without `q`.")] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS, description=f"Number of rows, 1 to {MAX_ROWS}.")] = 50


class KeyEffectView(ResponseModel):
    """The effect that decided a letter."""

    name: str
    """Input on which it was measured, or the stratum, loss or single case that it is about."""
    estimate: float
    low: float
    high: float
    limit: float
    """Largest size that counts as no effect."""
    of_limit: tuple[float, float, float]
    """Its size and the ends of its interval without their signs, in units of the limit."""

    @classmethod
    def of(cls, row: ServiceRating) -> Self | None:
        """Build the view of the effect that decided a rating; ``None`` if nothing was measured, or the limit is 0."""
        figures, size_in_limits = row.key_figures or {}, effect_size(row.key_figures)
        if size_in_limits is None:
            return None
        low, high = effect_interval(figures)
        name, estimate, limit = effect_name(figures, row.method), figures["estimate"], figures["limit"]
        return cls(name=name, estimate=estimate, low=low, high=high, limit=limit, of_limit=size_in_limits)


class ServiceRatingView(ResponseModel):
    """A rating of a service, with the numbers by which services are ranked."""

    id: str
    letter: LetterName | None
    declared: bool
    expired: bool
    effect: KeyEffectView | None
    sentence: str | None = None
    """Sentence that says why the rating has its letter; null if nothing was measured."""
    questions: int | None
    rated_at: Instant
    expires_at: Instant
    methodology: str
    rules_changed: bool = False
    """Whether the previous rating in the list, if any, followed another version of the methodology."""
    visibility: Visibility
    standing: StandingView

    @classmethod
    def of(cls, row: ServiceRating, standing: Standing, *, now: int, before: ServiceRating | None = None) -> Self:
        """Build the view of a rating; `before` is the previous rating by the same method for the same attribute."""
        return cls.from_row(
            row,
            effect=KeyEffectView.of(row),
            sentence=(row.key_figures or {}).get("because"),
            expired=row.expires_at <= now,
            questions=(row.key_figures or {}).get("questions"),
            rated_at=row.created_at,
            methodology=row.methodology_version,
            rules_changed=before is not None and before.methodology_version != row.methodology_version,
            standing=standing,
        )


class RankedServiceView(ResponseModel):
    """A service in a ranking."""

    place: int | None
    """One more than the number of services that are certainly better; null without a declared and valid letter."""
    service: str
    """Name of the service in `/v1/services/{service_name}`, which has public ratings only."""
    name: str
    model: str | None
    url: str | None
    rating: ServiceRatingView

    @classmethod
    def of(cls, place: int | None, row: ServiceRating, standing: Standing, now: int) -> Self:
        """Build the view of a ranked service; `place` is its rank, and `row` its newest rating."""
        return cls(
            place=place,
            service=name_of(row, for_address=standing.for_address),
            name=row.target["name"],
            model=model_of(row),
            url=row.target.get("url"),
            rating=ServiceRatingView.of(row, standing, now=now),
        )


class RankedQuestionView(ResponseModel):
    """A method and an attribute, with the number of services of the kind that were rated by it for that attribute."""

    method: str
    attribute: str
    services: int


class RankingView(ResponseModel):
    """A page of a ranking."""

    kind: KindName
    method: str | None
    attribute: str | None
    """Null if no service of the kind was rated."""
    language: str | None
    """The only language of the ratings; null if they are not chosen by language."""
    questions: list[RankedQuestionView]
    """Every question by which services of the kind were rated, the most frequent first."""
    total: int
    """Number of services in the ranking."""
    start: int
    """Number of rows before the first one here."""
    items: list[RankedServiceView]


class SeriesView(ResponseModel):
    """The ratings of a service by one method for one attribute, newest first."""

    method: str
    attribute: str
    withdrawn: bool
    """Whether the newest rating was withdrawn, so that no letter stands."""
    ratings: list[ServiceRatingView]


class RatedServiceView(ResponseModel):
    """The public ratings of one service."""

    service: str
    """Name of the service in addresses."""
    name: str
    kind: KindName
    protocol: str
    url: str | None
    model: str | None
    digest: str
    """Digest of kind, protocol, address and settings."""
    series: list[SeriesView]

    @classmethod
    def of(cls, rows: Sequence[ServiceRating], standings: Mapping[str, Standing], now: int) -> Self:
        """Build a service's view from its ratings (newest first, not all withdrawn) and their `standings` by id."""
        newest = next(row for row in rows if row.withdrawn_at is None)
        target = newest.target
        series_views = []
        for method, attribute in dict.fromkeys((row.method, row.attribute) for row in rows):
            series = [row for row in rows if (row.method, row.attribute) == (method, attribute)]
            # a tenant that withdrew its newest rating is hidden, unless every tenant did
            newest_of_tenant = {row.tenant: row for row in reversed(series)}  # the newest is written last, and stays
            hidden_tenants = {tenant for tenant, row in newest_of_tenant.items() if row.withdrawn_at is not None}
            all_withdrew = len(hidden_tenants) == len(newest_of_tenant)
            valid_rows = [row for row in series if row.withdrawn_at is None]
            shown_rows = [row for row in valid_rows if all_withdrew or row.tenant not in hidden_tenants]
            ratings = [
                ServiceRatingView.of(row, standings[row.id], now=now, before=previous)
                for row, previous in zip(shown_rows, [*shown_rows[1:], None], strict=False)
            ]
            if ratings:
                view = SeriesView(method=method, attribute=attribute, withdrawn=all_withdrew, ratings=ratings)
                series_views.append(view)
        return cls(
            service=name_of(newest, for_address=standings[newest.id].for_address),
            model=model_of(newest),
            **{name: target.get(name) for name in ("name", "kind", "protocol", "url", "digest")},
            series=series_views,
        )

"""A rating for its pages: the API's document, its view for people, and the addresses of its pages and files."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote_plus

from starlette.responses import Response

from assay.document import EffectDocument, Json, JsonObject, RatingDocument
from assay.explain import LETTERS, TOO_FEW_CODE, headline
from assay.methods import rating_of
from assay.model import Letter
from reports import outline
from reports.reading import RatingView, read
from reports.regulators import AUDIT_FILES
from reports.regulators import METHOD as AUDITED
from service.container import service_of
from web.frame import Visit, segment
from web.frame.rendering import WORDING

MOST_LISTED = 200
"""Maximum number of ratings of the same service that are listed."""


@dataclass(frozen=True)
class Rating:
    """A rating for its pages: the document of the API, and its view for people."""

    document: Json
    view: RatingView
    others: list[Json]
    """Summaries of all ratings of the same service that the reader may see, this one included, newest first."""
    mine: bool
    """Whether the reader may change the rating."""
    public: bool
    """Whether these are the pages for everyone."""

    @property
    def rated(self) -> RatingDocument:
        """The document as a typed object, without invisible characters."""
        return self.view.document

    @property
    def id(self) -> str:
        """Id of the rating."""
        return str(self.rated.id)

    @property
    def base(self) -> str:
        """Address of the rating's first page; the addresses of its other pages begin with it."""
        return f"/r/{self.id}" if self.public else f"/ratings/{self.id}"

    @property
    def tabs(self) -> list[tuple[str, str]]:
        """Addresses and names of the rating's pages."""
        return [(self.base + suffix, name) for suffix, name in WORDING["rating_tabs"].items()]

    def file(self, name: str) -> str:
        """Return the address of a file about the rating, such as ``report.html``, that this reader may open."""
        if not self.public:
            return f"/ratings/{self.id}/files/{name}"
        return f"/v1/ratings/{self.id}" + ("" if name == "rating.json" else f"/{name}")

    @property
    def audit_files(self) -> list[tuple[str, str]]:
        """Names and titles of the files for regulators; none for ratings that are not of recorded decisions."""
        return [(file.name, file.title) for file in AUDIT_FILES] if self.document["method"] == AUDITED else []

    def evidence(self, text: str) -> str:
        """Return the address of the evidence page with the cases that contain a text."""
        return f"{self.base}/evidence?q={quote_plus(text[:200], safe='/')}"  # as the API limits it

    def case_of(self, question: str) -> str:
        """Return the address of the evidence page on which the case of a question is opened."""
        return f"{self.base}/evidence?question={quote_plus(question[:2_000], safe='/')}#opened"  # as the API limits it

    @property
    def why(self) -> str:
        """Why the rating has its letter, or no letter."""
        return outline.why(self.view)

    @property
    def too_few(self) -> bool:
        """Whether there is no letter because too little was asked."""
        return TOO_FEW_CODE in self.view.verdict.codes

    @property
    def verdict(self) -> str:
        """The letter in words, for a heading."""
        if (letter := self.view.verdict.letter) is None:
            return f"{'Too few to judge' if self.too_few else 'Not measured'}: no letter could be given"
        title = LETTERS[Letter(letter)].title
        if self.view.verdict.declared:
            return title[:1].upper() + title[1:]
        phrase = headline(letter, declared=False)
        return f"{phrase[:1].upper()}{phrase[1:]}: the evidence is not sure enough"


async def rating_in_path(visit: Visit) -> Rating:
    """Read the rating whose id is in the path of the page."""
    document = await visit.api.get(f"/v1/ratings/{visit.path('rating_id')}")
    digest = document["target"]["digest"]
    ratings_of_service = await _ratings_of_service(visit, digest, mine=False)
    mine = False  # the public pages are the same for everyone
    if not visit.public:
        own_ratings = await _ratings_of_service(visit, digest, mine=True)
        mine = any(own_rating["id"] == document["id"] for own_rating in own_ratings)
    expires_at = datetime.fromisoformat(document["expires_at"]).timestamp()
    view = read({**document, "expired": service_of(visit.request).clock() >= expires_at})
    return Rating(document, view, ratings_of_service, mine=mine, public=visit.public)


async def _ratings_of_service(visit: Visit, digest: str | None, *, mine: bool) -> list[Json]:
    """Read the newest ratings of the service whose description has `digest`; if `mine`, only the caller's own."""
    # without a digest, such as of a masked rating, no rating matches
    return await visit.api.items("/v1/ratings", digest=digest or "none", mine=mine, state="all", limit=MOST_LISTED)


def render_page(visit: Visit, rating: Rating, template: str, /, **values: Any) -> Response:
    """Render a page of a rating; `template` is named without its folder."""
    return visit.page(f"ratings/{template}.html", rating=rating, document=rating.document, view=rating.view, **values)


MOST_READ = 8
"""Maximum number of other ratings of the same service that are read to find another mention of people."""

MENTIONS = {"explicit": "in words", "name": "by first names"}
"""Ways to mention a person's group (`texts.mention` of an experiment), in words."""


async def ratings_by_mention(visit: Visit, rating: Rating) -> list[JsonObject]:
    """Return rows of this rating and the newest of the same decision with the other of `MENTIONS`; ``[]`` if none.

    A mention is how the cases state a person's group. Of a row, `effects` has the effect of the attribute by component,
    `ratios` the lowest impact ratio by component.
    """
    if (decision_and_mention := _decision_and_mention(rating.document)) is None:
        return []
    decision, mention = decision_and_mention
    candidates = [
        other
        for other in rating.others
        if other["id"] != rating.id and all(other[name] == rating.document[name] for name in ("method", "attribute"))
    ]
    for candidate in candidates[:MOST_READ]:
        document = await visit.api.get(f"/v1/ratings/{segment(candidate['id'])}")
        other_decision, other_mention = _decision_and_mention(document) or ("", "")
        if other_decision == decision and other_mention != mention:
            rows = [_mention_row(mention, rating.rated), _mention_row(other_mention, rating_of(document))]
            return sorted(rows, key=lambda row: list(MENTIONS.values()).index(row["mention"]))  # as in `MENTIONS`
    return []


def _decision_and_mention(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name of the decision that was rated, and how people are mentioned; ``None`` for other ratings."""
    texts = (document.get("experiment") or {}).get("texts") or {}
    return (texts["decision"], texts.get("mention") or "explicit") if texts.get("decision") else None


def _mention_row(mention: str, document: RatingDocument) -> JsonObject:
    """Return the row of a rating, with the effect and the lowest impact ratio of each component."""
    effects, ratios = [], []
    for component in document.components:
        name = component.name or ""
        effects.append((name, component.effects.get("step_1") or EffectDocument()))
        impact = getattr(component, "disparate_impact", None)  # components of few methods have it
        if known_ratios := [row.ratio for row in (impact.ratios if impact else ()) if row.ratio.estimate is not None]:
            ratios.append((name, min(known_ratios, key=lambda ratio: ratio.estimate)))
    return {"mention": MENTIONS[mention], "rated": document, "effects": effects, "ratios": ratios}

"""View of a stored rating at a given time, from which every embed is written.

A badge in a README, a field in a catalog and a line in a model card all show the same facts: the letter,
the service, the date, the methodology, and whether the rating is still valid.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cached_property
from urllib.parse import quote

from assay.document import Json, RatingDocument, read_rating
from assay.explain import TOO_FEW, TOO_FEW_CODE, letter_words, request_in_words
from assay.methods import rating_of
from assay.model import MODEL_SETTINGS, Letter
from reports.because import because
from reports.methods import report_of
from reports.plain import visible


class State(StrEnum):
    """Status of a rating as embeds show it; ``unrated`` if there is no rating."""

    RATED = "rated"
    INCONCLUSIVE = "inconclusive"
    UNMEASURED = "unmeasured"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    UNRATED = "unrated"


@dataclass(frozen=True)
class PublicView:
    """A rating, or the absence of a rating, with the time and the circumstances in which an embed shows it."""

    document: Json | None
    """The stored rating; ``None`` if no rating is published or the reader may not see it (not distinguished)."""
    now: datetime
    """Time at which the rating is shown, with its time zone; age and expiry are relative to it."""
    base_url: str
    """Public address of Assay, without a slash at its end."""
    visibility: str = "private"
    """``private``, ``unlisted`` or ``public``."""
    withdrawn: bool = False
    """Whether the agency has withdrawn the rating."""
    requester: str | None = None
    """Who requested the rating: the host's proved ``owner``, the agency's ``operator``, or any ``other``; ``None``: as
    the document says."""
    host_proved: bool | None = None
    """Whether anybody has proved to own the host; ``None``: as the document says."""
    objects: bool = False
    """Whether the owner of the host objects to the rating."""
    changed_since: str | None = None
    """Time (ISO 8601) since which the service answers differently than when rated; ``None`` if no watch noticed it."""

    @cached_property
    def rating(self) -> RatingDocument:
        """The parsed document without the method's own fields; empty if there is no rating."""
        return read_rating(self.document or {}, text=visible)

    @cached_property
    def sentence(self) -> str | None:
        """Sentence that explains the rating's letter; ``None`` if nothing was measured."""
        document = self.document or {}
        explanation = because(rating_of(document), report_of(document))
        return None if explanation is None else visible(explanation.sentence)

    # ------------------------------------------------------------------------ result
    @property
    def state(self) -> State:
        """Status of the rating; a withdrawn or expired rating has that status whatever its letter is."""
        if self.document is None:
            return State.UNRATED
        if self.withdrawn:
            return State.WITHDRAWN
        if self.expires_at is not None and self.expires_at <= self.now:
            return State.EXPIRED
        if self.letter is None:
            return State.UNMEASURED
        return State.RATED if self.declared else State.INCONCLUSIVE

    @cached_property
    def letter(self) -> Letter | None:
        """The declared or likeliest letter; ``None`` if nothing was measured or the rating was withdrawn."""
        return None if self.withdrawn else self.rating.letter

    @property
    def declared(self) -> bool:
        """Whether the evidence was enough to declare the letter."""
        return self.letter is not None and self.rating.declared

    @property
    def meaning(self) -> str:
        """Sentence on what the letter means for the service, or that there is no valid letter."""
        meanings = report_of(self.document or {}).letters
        return letter_words(self.letter, self.declared, self.rating.reason_codes, meanings).meaning

    @property
    def probability(self) -> float | None:
        """Probability of the letter, in [0, 1]; ``None`` without a letter, or if it is not known."""
        if self.letter is None:
            return None
        return self.rating.probabilities.get(self.letter)

    @property
    def message(self) -> str:
        """The finding in a few words: ``DSBS``, ``inconclusive, leaning DSBS``, ``expired, was DSBS``."""
        match self.state:
            case State.RATED:
                return str(self.letter)
            case State.INCONCLUSIVE:
                return f"inconclusive, leaning {self.letter}"
            case State.UNMEASURED:
                return f"inconclusive, {TOO_FEW if TOO_FEW_CODE in self.rating.reason_codes else 'no letter'}"
            case State.EXPIRED if self.letter is not None:
                return f"expired, was {self.letter if self.declared else f'leaning {self.letter}'}"
            case state:
                return state.value

    # ------------------------------------------------------------------------ identity, target and methodology
    @property
    def subject(self) -> str:
        """Two or three words on what the letter is about: "gender bias"."""
        return f"{self.rating.attribute} bias" if self.rating.attribute else "bias rating"

    @property
    def target(self) -> str:
        """Name of the service."""
        return self.rating.target.name or self.rating.target.url or "unnamed service"

    @property
    def model(self) -> str | None:
        """Name of the rated model if the settings of the service name one; otherwise ``None``."""
        settings = self.rating.target.settings
        return next(
            (visible(value) for name in MODEL_SETTINGS if (value := settings.get(name)) and isinstance(value, str)),
            None,
        )

    # ------------------------------------------------------------------------ requester
    @property
    def requested_by(self) -> str | None:
        """Role of the requester ("owner", "other" …), as proved now or else when rated; ``None`` if unknown."""
        return self.requester or self.rating.requester.role

    @property
    def host_is_proved(self) -> bool | None:
        """Whether anybody has proved to own the host; ``None`` if it is not known."""
        return self.rating.requester.host_proved if self.host_proved is None else self.host_proved

    @property
    def provenance(self) -> str:
        """Who requested the rating, how, and whether the owner objects, in sentences; empty if it is not known."""
        return request_in_words(
            self.requested_by, self.host_is_proved, self.rating.requester.description, objects=self.objects
        )

    # ------------------------------------------------------------------------ dates
    @cached_property
    def rated_at(self) -> datetime | None:
        """Time of the rating; ``None`` if it is not known."""
        return _parse_time(self.rating.rated_at)

    @cached_property
    def expires_at(self) -> datetime | None:
        """Time at which the rating expires; ``None`` if it is not known."""
        return _parse_time(self.rating.expires_at)

    @property
    def rated_on(self) -> date | None:
        """Day of the rating, in UTC; ``None`` if it is not known."""
        return None if self.rated_at is None else self.rated_at.date()

    @property
    def changed_on(self) -> date | None:
        """Day (UTC) since which the service of a valid rating answers differently; ``None`` without a change."""
        change_time = _parse_time(self.changed_since) if self.state in {State.RATED, State.INCONCLUSIVE} else None
        return None if change_time is None else change_time.date()

    @property
    def age_days(self) -> int | None:
        """Days since the day of the rating in UTC, never negative; ``None`` if that day is not known."""
        if self.rated_on is None:
            return None
        return max(0, (self.now.astimezone(UTC).date() - self.rated_on).days)

    # ------------------------------------------------------------------------ addresses
    def address(self, file: str = "") -> str | None:
        """Return the address of the rating, or of its format `file`; ``None`` if there is no rating."""
        if self.rating.id is None:
            return None
        return "/".join([self.base_url, "v1", "ratings", quote(self.rating.id, safe=""), *([file] if file else [])])

    @cached_property
    def facts(self) -> Json:
        """All facts about the rating as one flat JSON object, the same in every embed; unknown facts are ``None``."""
        return {
            "status": self.state.value,
            "summary": self.message,
            "letter": None if self.letter is None else self.letter.value,
            "declared": self.declared,
            "probability": self.probability,
            "attribute": self.rating.attribute,
            "method": self.rating.method,
            "model": self.model,
            "rated_at": _format_time(self.rated_at),
            "expires_at": _format_time(self.expires_at),
            "changed_since": _format_time(_parse_time(self.changed_since)),
            "methodology": self.rating.methodology.version,
            "requester": self.requested_by,
            "host_proved": self.host_is_proved,
            "description": self.rating.requester.description,
            "objection": self.objects if self.document is not None else None,  # whether the owner objects to it
            "rating": self.address(),
            "report": self.address("report.html"),
            "badge": self.address("badge.svg"),
        }

    @property
    def known_facts(self) -> Json:
        """The facts that are not ``None``."""
        return {name: value for name, value in self.facts.items() if value is not None}

    @property
    def known_texts(self) -> dict[str, str]:
        """The known facts as texts, for formats that accept no other values."""
        facts = self.known_facts.items()
        return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in facts}


def _parse_time(text: str | None) -> datetime | None:
    """Parse an ISO 8601 time, as UTC if it has no time zone; return ``None`` for any other text."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _format_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")

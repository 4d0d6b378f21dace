"""Design of stereotype-score and visual-stereotype: collect items about terms, then ask until letters are clear.

An item is a pair of sentences or a picture about one term of a specification. A look is an interim analysis.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from assay.bounds import Bounded, refuse_repeats
from assay.catalog.shipped import is_shipped, shipped_words, specifications
from assay.catalog.stereotypes import StereotypeWords, VisualWords
from assay.document import read_json
from assay.errors import OutOfBounds, UnknownName
from assay.experiment import Experiment, Looks, Method
from assay.methods.shared.answers.tally import Asking, ExperimentPart
from assay.methods.shared.detail import ModelScores, Source, TermsAggregation, TermsComponent
from assay.methods.shared.one_specification import refuse_other_attribute
from assay.methods.shared.terms.items import AuthorCounts, Authoring, SortedItems, limit_rounds, sort_into_rounds
from assay.methods.shared.terms.scores import TermScores
from assay.model import Component
from assay.rating.component import EARLY_ERROR_FRACTION, Tolerance, is_settled, look_sizes
from assay.references import AuthoredItems, LoadedWords, MaterialKind, NamedCorpus, NamedWords, References

MOST_ITEMS = 10_000
"""Maximum number of pairs or pictures in a rating, because its document lists every one."""

Name = Annotated[str, MinLen(1), MaxLen(100)]
W = TypeVar("W", StereotypeWords, VisualWords)


@dataclass(frozen=True)
class TermsDesign(Bounded, Method, Generic[W]):
    """Base class of stereotype-score and visual-stereotype.

    Parameters
    ----------
    attribute : str
        Attribute in which the groups or labels differ. Empty: the attribute of the specification, or gender.
    specification : str or tuple of str, optional
        Name of sides and terms, from the catalog or the caller's own. Each of several is a component.
    words : tuple, optional
        The sides and terms themselves; they take precedence over `specification`.
    corpus : str, optional
        Id of a stored corpus; its items are added to those of the request.
    per_term : int
        Pairs or pictures of each term at the first interim analysis; each further one has twice as many.
    most_per_term : int
        Pairs or pictures of each term at the last interim analysis.
    stop_early : bool
        Whether there is more than one analysis; if not, `per_term` pairs or pictures are asked about.
    delta : float
        Largest distance of a score from 1/2 that still counts as none.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    strata : bool
        Whether to judge a preference for one side in both stereotype lists, besides the preference with neutral terms.
    delta_loss : float, optional
        Largest difference between the groups' shares of lost replies that still counts as none. ``None``: not judged.
    """

    attribute: Annotated[str, MaxLen(100)] = ""
    method: str = ""
    specification: Name | Annotated[tuple[Name, ...], MinLen(1), MaxLen(20)] | None = None
    words: tuple[W, ...] | None = None
    corpus: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    per_term: Annotated[int, Ge(1), Le(200)] = 10
    most_per_term: Annotated[int, Ge(1), Le(1000)] = 40
    stop_early: bool = True
    delta: Annotated[float, Gt(0), Lt(0.5)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    strata: bool = True
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05

    words_type: ClassVar[type[Any]]
    """Class of the word lists (`words`) that the method uses."""
    material: ClassVar[MaterialKind]
    """Kind of corpus from which items can be added to the request."""
    items_field: ClassVar[str]
    """Name of the request's field with its own items."""
    author_field: ClassVar[str]
    """Name of the request's field with the task of an author, a service that makes items."""
    random_items: ClassVar[bool] = False
    """Whether collecting items needs a random generator of its own."""
    paper: ClassVar[str] = (
        "Jiang et al., Empowering domain experts to detect social bias in generative AI with user-friendly interfaces"
    )

    def __post_init__(self) -> None:
        """Look the words up and check the fields."""
        super().__post_init__()
        if self.stop_early and self.per_term > self.most_per_term:
            raise OutOfBounds(
                f"most_per_term must be at least per_term ({self.per_term}), not {self.most_per_term}", "most_per_term"
            )
        words = self.words if self.words is not None else self._shipped_words()
        if words is None:
            return  # the words come from the caller's own specification, which Assay's API fills in later
        refuse_repeats("words", [word_list.name for word_list in words])
        attributes = list(dict.fromkeys(word_list.attribute for word_list in words))
        object.__setattr__(self, "attribute", refuse_other_attribute(self.attribute, attributes))
        object.__setattr__(self, "words", words)
        if self.own_items and self.author is None:
            self.refuse_useless(words)

    # ------------------------------------------------------------------------ members of subclasses
    @abstractmethod
    def refuse_useless(self, words: Sequence[W]) -> None:
        """Raise an error if all items of the request are unusable; if only some are, they are counted elsewhere."""

    @abstractmethod
    def questions_about(self, items: int) -> int:
        """Return the number of questions about `items` items of one term."""

    @abstractmethod
    def usable(self, items: Iterable[Any], words: W) -> SortedItems[Any]:
        """Return the items that are usable with a specification's words, and the number of others by reason."""

    @abstractmethod
    def request_items(self, words: W, rng: np.random.Generator, prefix: str) -> ExperimentPart[AuthorCounts[Any]]:
        """Ask the author (a service) to make the items that terms lack; `prefix` begins the probes' ids."""

    @abstractmethod
    def author_tasks(self) -> tuple[AuthoredItems, ...]:
        """List the items to ask an author (a service) for; only called if there is an author and words are known."""

    @abstractmethod
    def ask(self, scores: Any, rounds: Sequence[Sequence[Any]], first: int, prefix: str) -> Asking:
        """Ask about items, in rounds of one for each term, numbered from `first`; `prefix` begins the probes' ids."""

    @abstractmethod
    def start_scores(self, words: W, detail: Any, scoring: Any) -> TermScores[W, Any, Any, Any] | Component:
        """Return scores without answers or, if `scoring` says that no way of asking works, a letterless component."""

    @abstractmethod
    def model_score(self, results: Sequence[Any]) -> ModelScores:
        """Score the service over all specifications together; the result has a ``why`` if that is not possible."""

    def choose_scoring(self, item: Any) -> ExperimentPart[Any]:  # noqa: ARG002
        """Ask about `item` to find out how the service can be asked; return ``None`` if there is only a single way."""
        yield from ()
        return None

    def rule_items(self, words: W, rng: np.random.Generator) -> Sequence[Any]:  # noqa: ARG002
        """Make items by a rule, if a request has no items and no model to write them; empty if there is no rule."""
        return ()

    @staticmethod
    def alternate(item: Any) -> Hashable:  # noqa: ARG004
        """Return a property of an item; among a term's items, those with different values of it are asked in turn."""
        return None

    # ------------------------------------------------------------------------ references
    @property
    def own_items(self) -> tuple[Any, ...]:
        """Items (pairs of sentences or pictures) that the request itself contains."""
        return cast("tuple[Any, ...]", getattr(self, self.items_field))

    @property
    def author(self) -> Authoring | None:
        """Task of the author, a second service that makes missing items and that the job must name."""
        return cast("Authoring | None", getattr(self, self.author_field))

    @property
    def needs_author(self) -> bool:
        """Whether the job must name an author."""
        return self.author is not None

    @property
    def named(self) -> tuple[str, ...]:
        """Names of the requested specifications; empty for the attribute's default specification."""
        return (self.specification,) if isinstance(self.specification, str) else self.specification or ()

    @property
    def known_words(self) -> tuple[W, ...]:
        """The word lists; raises `UnknownName` if Assay's API has not filled in the caller's own specifications yet."""
        if self.words is None:
            raise UnknownName("specification", ", ".join(self.named), tuple(specifications()), field="specification")
        return self.words

    def references(self) -> References:
        """List what must be loaded: word lists not shipped with Assay, the corpus, images, and items of an author."""
        corpus = None
        if self.corpus is not None:
            corpus = NamedCorpus(
                self.corpus,
                self.material,
                field=self.items_field,
                items_given=len(self.own_items),
                max_items=MOST_ITEMS,
                may_be_empty=self.needs_author,
            )
        return References(
            corpus,
            images=tuple(item.image for item in self.own_items) if self.material == "images" else (),
            words=NamedWords(self.named, str(self.specification_kind)) if self.words is None else None,
            authored=self.author_tasks() if self.author is not None and self.words is not None else (),
        )

    def with_words(self, word_lists: Sequence[LoadedWords]) -> Self:
        """Return a copy with the words that the API looked up, and with the ids of their versions."""
        if not word_lists:
            return self
        references = tuple(word_list.reference for word_list in word_lists)
        specification = references[0] if isinstance(self.specification, str) else references
        return self.changed(words=tuple(word_list.words for word_list in word_lists), specification=specification)

    def changed(self, **fields: object) -> Self:
        """Return a copy of the method with new values in the fields named."""
        method: Self = replace(cast("Any", self), **fields)  # the cast is safe: every method is a dataclass
        return method

    def _shipped_words(self) -> tuple[W, ...] | None:
        """Return the words of the named specifications; ``None`` if one is not shipped with Assay."""
        if not all(map(is_shipped, self.named)):
            return None
        attribute = self.attribute or "gender"
        names = self.named or (None,)  # ``None``: the default specification of the attribute
        return tuple(shipped_words(self.words_type, name, attribute) for name in names)

    # ------------------------------------------------------------------------ plan
    @property
    def most_rounds(self) -> int:
        """Maximum number of items of each term: the number at the last interim analysis."""
        return self.most_per_term if self.stop_early else self.per_term

    def expected_probes(self) -> int:
        """Count the questions of a job that is decided at the first interim analysis, and the prompts to an author."""
        return self._count_probes(self.per_term)

    def most_probes(self) -> int:
        """Count the probes of a job that runs to the last interim analysis."""
        return self._count_probes(self.most_rounds)

    def _count_probes(self, rounds: int) -> int:
        term_count = sum(len(word_list.roles) for word_list in self.words or ())
        return term_count * (self.questions_about(rounds) + (0 if self.author is None else self.author.per_term))

    def planned_looks(self) -> Looks | None:
        """Plan the answers about neutral terms at each interim analysis; ``None`` if a specification has none."""
        neutral_counts = [sum(role == "neutral" for role in word_list.roles.values()) for word_list in self.words or ()]
        fewest = min(neutral_counts, default=0)
        round_counts = look_sizes(self.per_term, self.most_rounds, self.stop_early)
        return Looks(tuple(fewest * rounds for rounds in round_counts), topics=fewest) if fewest else None

    def tolerance(self, error_fraction: float = 1.0) -> Tolerance:
        """Return the limits of the effects; `error_fraction` multiplies the permitted error."""
        exponent = 1 / len(self.known_words)  # so that the letters of all specifications have the confidence together
        confidence: float = (1 - error_fraction * (1 - self.confidence)) ** exponent
        return Tolerance.around(self.delta, confidence, largest=0.5, hidden=self.confidence**exponent)

    # ------------------------------------------------------------------------ the experiment
    def design(self, rng: np.random.Generator) -> Experiment:
        """Collect items (sentences, pictures) for each specification, and ask about them until letters are clear."""
        components: list[Component] = []
        all_scores: list[TermScores[W, Any, Any, Any]] = []
        scoring = None  # the way of asking that the service supports, tried once for all specifications
        component_rngs = rng.spawn(len(self.known_words))
        for number, words in enumerate(self.known_words):
            component_rng = component_rngs[number]
            # without random items, the generator itself serves the judge, and items draw nothing
            item_rng, judge_rng = component_rng.spawn(2) if self.random_items else (component_rng, component_rng)
            rounds, detail = yield from self._collect(words, item_rng, prefix=str(number))
            if scoring is None and rounds:
                scoring = yield from self.choose_scoring(rounds[0][0])
            scores = self.start_scores(words, detail, scoring)
            if isinstance(scores, Component):  # without a letter: the service refused every way of asking
                components.append(scores)
                continue
            ask = partial(self.ask, scores, prefix=str(number))
            components.append((yield from self._judge_in_looks(scores, rounds, ask, judge_rng)))
            all_scores.append(scores)
        return self.finding(components, TermsAggregation(model=self.model_score(all_scores)))

    def _collect(
        self, words: W, rng: np.random.Generator, prefix: str
    ) -> ExperimentPart[tuple[list[list[Any]], TermsComponent]]:
        """Collect usable items (given, made by an author model or a rule); return them in rounds, with details."""
        items: Sequence[Any] = self.own_items
        detail = cast("TermsComponent", self.COMPONENT())
        if self.author is not None:
            author_counts: AuthorCounts[Any] = yield from self.request_items(words, rng, prefix)
            items = (*items, *author_counts.items)
            source = read_json(Source, asdict(self.author) | author_counts.as_json())
            # the component's field for the author has the same name as the request's
            detail = replace(cast("Any", detail), **{self.author_field: source})
        elif not items:
            items = self.rule_items(words, rng)
        usable = self.usable(items, words)
        detail = replace(detail, refused=dict(usable.refused))
        rounds = sort_into_rounds(usable.items, self.alternate)[: self.most_rounds]
        return limit_rounds(rounds, MOST_ITEMS // len(self.known_words)), detail  # an equal part for each specification

    def _judge_in_looks(
        self,
        scores: TermScores[W, Any, Any, Any],
        rounds: Sequence[Sequence[Any]],
        ask: Callable[..., Asking],
        rng: np.random.Generator,
    ) -> ExperimentPart[Component]:
        """Ask about rounds of items up to each interim analysis (look), judge all answers, stop at a clear letter."""
        if not rounds:
            return scores.judge(self.tolerance(), rng)
        done = 0  # rounds that were asked about
        for up_to in look_sizes(min(self.per_term, len(rounds)), len(rounds), self.stop_early):
            yield from ask(rounds=rounds[done:up_to], first=sum(map(len, rounds[:done])))  # number of items before
            done = up_to
            is_last = up_to == len(rounds) or not self.stop_early or scores.tally.unasked > 0
            component = scores.judge(self.tolerance(1.0 if is_last else EARLY_ERROR_FRACTION), rng.spawn(1)[0], up_to)
            if is_last or is_settled(component):
                break
        return component

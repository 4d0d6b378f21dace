"""Visual stereotype: which of two labels an image classifier gives to pictures of a term (P4).

Pictures show *generation terms*. A service without a preference gives both labels equally often to neutral terms
(step 1), and, if it follows no stereotype, also to terms that a stereotype ties to one label (step 2). Pictures are
uploaded, stored, or drawn by an author of the user's choice (docs/methods/visual-stereotype.md).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from assay.catalog.stereotypes import VisualWords
from assay.document import AggregationDocument, ComponentDocument, read_json
from assay.errors import SpecificationError
from assay.experiment import Experiment
from assay.methods.shared.answer_tally import Asking
from assay.methods.shared.detail import Source, TermsAggregation
from assay.methods.shared.term_items import in_turns, within
from assay.methods.visual_stereotype import words as spoken
from assay.methods.visual_stereotype.detail import PictureComponent
from assay.methods.visual_stereotype.image_generation import Drawing, draw_pictures
from assay.methods.visual_stereotype.image_scores import Sightings, model_score
from assay.methods.visual_stereotype.inputs import Picture, Shown, sort
from assay.methods.visual_stereotype.labelling import QUESTION, PictureTally, ask_pictures, check_question
from assay.methods.visual_stereotype.references import MOST_PICTURES, PictureReferences
from assay.model import Component, Kind, Probe, Reply

Name = Annotated[str, MinLen(1), MaxLen(100)]


@dataclass(frozen=True)
class VisualStereotype(PictureReferences):
    """Ask an image classifier which of two labels fits pictures, to see whether it follows a stereotype.

    Parameters
    ----------
    attribute : str
        Attribute in which the labels differ. Empty: the attribute of the specification, or gender.
    specification : str or tuple of str, optional
        Name of labels and generation terms, from the catalog or the caller's own. Each of several is a component.
    words : tuple of VisualWords, optional
        The labels and terms themselves; they take precedence over `specification`.
    pictures : tuple of Picture
        Pictures to ask about, by the digests of their images. Each counts for every specification that has its term.
    drawing : Drawing, optional
        Request to an author for missing pictures; the job must name an author.
    corpus : str, optional
        Id of a stored corpus; its pictures are added to `pictures`.
    answers : str
        ``auto`` (probabilities if every answer has them, otherwise the label that was named) or ``labels``.
    question : str
        Question to services that answer questions; ``{labels}`` stands for both labels.
    per_term : int
        Pictures of each generation term at the first look; each further look has twice as many.
    most_per_term : int
        Pictures of each generation term at the last look.
    stop_early : bool
        Whether there is more than one look; if not, `per_term` pictures are asked about.
    delta : float
        Largest distance of a score from 1/2 that still counts as none.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    strata : bool
        Whether to judge a preference for one label in both stereotype lists, besides the preference with neutral terms.
    delta_loss : float, optional
        Largest difference between the groups' shares of lost replies that still counts as none. ``None``: not judged.
    """

    attribute: Annotated[str, MaxLen(100)] = ""
    method: Literal["visual-stereotype"] = "visual-stereotype"
    specification: Name | Annotated[tuple[Name, ...], MinLen(1), MaxLen(20)] | None = None
    words: Annotated[tuple[VisualWords, ...], MinLen(1), MaxLen(20)] | None = None
    pictures: Annotated[tuple[Picture, ...], MaxLen(MOST_PICTURES)] = ()
    drawing: Drawing | None = None
    corpus: Annotated[str, MinLen(1), MaxLen(100)] | None = None
    answers: Literal["auto", "labels"] = "auto"
    question: Annotated[str, MinLen(1), MaxLen(1000)] = QUESTION
    per_term: Annotated[int, Ge(1), Le(200)] = 10
    most_per_term: Annotated[int, Ge(1), Le(1000)] = 40
    stop_early: bool = True
    delta: Annotated[float, Gt(0), Lt(0.5)] = 0.1
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    strata: bool = True
    delta_loss: Annotated[float, Gt(0), Lt(1)] | None = 0.05

    words_type: ClassVar[type[Any]] = VisualWords
    specification_kind: ClassVar[str] = VisualWords.kind
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.IMAGE_CLASSIFIER})
    summary: ClassVar[str] = "Which of two labels does an image classifier give, and does it go by a stereotype?"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = PictureComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = TermsAggregation

    def __post_init__(self) -> None:
        """Look the words up and check the fields."""
        check_question(self.question)
        super().__post_init__()

    @property
    def needs_author(self) -> bool:
        """Whether the job must name a second service that draws."""
        return self.drawing is not None

    def for_kind(self, kind: Kind) -> VisualStereotype:  # noqa: ARG002 - same signature as other methods
        """Refuse a request without pictures: Assay ships none, and pictures of a corpus were filled in before."""
        if not self.pictures and self.drawing is None:
            raise SpecificationError(
                "there is nothing to show: give pictures, have an author draw them (drawing), or name a corpus where "
                "it is kept",
                "pictures",
            )
        return self

    def refuse_useless(self, words: Sequence[VisualWords]) -> None:
        """Raise an error if no picture is usable; single unusable pictures are counted and left out."""
        if not self.pictures or self.drawing is not None:
            return
        if not any(sort(self.pictures, specification).items for specification in words):
            raise SpecificationError(
                f"no picture is of a term of {words[0].name}: the first is said to be of {self.pictures[0].term!r}, "
                f"and the terms are {', '.join(list(words[0].roles)[:6])} …",
                "pictures",
            )

    def expected_probes(self) -> int:
        """Count the questions of a job that is decided at the first look, and the prompts to an author."""
        terms = sum(len(specification.roles) for specification in self.words or ())
        # + 1, because the first picture of each term is shown twice, with the labels in both orders
        return terms * (self.per_term + 1 + (0 if self.drawing is None else self.drawing.per_term))

    # ------------------------------------------------------------------------ the experiment
    def design(self, rng: np.random.Generator) -> Experiment:
        """Collect the pictures of each specification, and ask until letters are clear."""
        components: list[Component] = []
        measured: list[Sightings] = []
        for index, (words, component_rng) in enumerate(
            zip(self.known_words, rng.spawn(len(self.known_words)), strict=True)
        ):
            rounds, sources = yield from self._collect(index, words)
            # unclear answers count 1/2 where neither is judged
            tally = PictureTally(lose_unclear=self.strata or self.delta_loss is not None)
            sightings = Sightings(words, tally, sources, self.answers, strata=self.strata, delta_loss=self.delta_loss)
            components.append(
                (yield from self.look(sightings, rounds, self._asks(index, sightings, rounds), component_rng))
            )
            measured.append(sightings)
        return self.finding(components, TermsAggregation(model=model_score(measured)))

    def _collect(
        self, index: int, words: VisualWords
    ) -> Generator[Sequence[Probe], Sequence[Reply], tuple[list[list[Shown]], PictureComponent]]:
        """Collect stored pictures, have missing ones drawn, and order them in rounds over terms."""
        pictures: tuple[Picture, ...] = self.pictures
        sources = PictureComponent()
        if self.drawing is not None:
            drawing = self.drawing
            generated = yield from draw_pictures(
                words, pictures, drawing.per_term, prompt=drawing.prompt, tries=drawing.tries, prefix=f"{index}/draw"
            )
            pictures = (*pictures, *generated.pictures)
            sources = replace(sources, drawing=read_json(Source, asdict(drawing) | generated.as_json()))
        usable = sort(pictures, words)
        sources = replace(sources, refused=dict(usable.refused))
        rounds = in_turns(usable.items)[: self.most_rounds]
        return within(rounds, MOST_PICTURES // len(self.known_words)), sources

    def _asks(
        self, index: int, sightings: Sightings, rounds: Sequence[Sequence[Shown]]
    ) -> Callable[[int, int], Asking]:
        """Return the function that asks about rounds: first in both orders of labels, later only if answers changed."""
        tally = sightings.tally
        show = partial(ask_pictures, words=sightings.words, question=self.question, tally=tally, prefix=str(index))

        def ask(start: int, end: int) -> Asking:
            if not start:
                yield from show(rounds[0], first=0, both=True)
                start = 1
            if not tally.unasked:
                more = [picture for round_pictures in rounds[start:end] for picture in round_pictures]
                yield from show(more, first=sum(map(len, rounds[:start])), both=tally.changed > 0)

        return ask

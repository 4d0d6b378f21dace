"""Visual stereotype: which of two labels an image classifier gives to pictures of a term (Jiang et al.).

Pictures show *generation terms*. A service without a preference gives both labels equally often to neutral terms
(step 1), and, if it follows no stereotype, also to terms that a stereotype links to one label (step 2). Pictures are
uploaded, stored, or drawn by an author of the user's choice (docs/methods/visual-stereotype.md).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import MaxLen, MinLen

from assay.catalog.stereotypes import TIED, VisualWords
from assay.document import AggregationDocument, ComponentDocument
from assay.errors import SpecificationError
from assay.methods.shared.answers.tally import Asking, ExperimentPart
from assay.methods.shared.detail import ModelScores, TermsAggregation
from assay.methods.shared.terms.design import MOST_ITEMS, TermsDesign
from assay.methods.shared.terms.items import SortedItems
from assay.methods.visual_stereotype import words as spoken
from assay.methods.visual_stereotype.detail import PictureComponent
from assay.methods.visual_stereotype.image_generation import (
    Drawing,
    DrawnPictures,
    draw_pictures,
    draw_prompt,
    image_of,
)
from assay.methods.visual_stereotype.image_scores import Sightings, over_images, score_images
from assay.methods.visual_stereotype.inputs import Picture, UsablePicture, picture_of, sort
from assay.methods.visual_stereotype.labelling import QUESTION, PictureTally, ask_pictures
from assay.model import Draw, Kind, Observation
from assay.rating.component import result_or_why
from assay.references import AuthoredItems, CorpusItem, LoadedCorpus, LoadedMaterial, MaterialKind


@dataclass(frozen=True)
class VisualStereotype(TermsDesign[VisualWords]):
    """Ask an image classifier which of two labels fits pictures, to see whether it follows a stereotype.

    Parameters
    ----------
    pictures : tuple of Picture
        Pictures to ask about, by the digests of their images. Each counts for every specification that has its term.
    drawing : Drawing, optional
        Request to an author for missing pictures; the job must name an author.
    answers : str
        ``auto`` (probabilities if every answer has them, otherwise the label that was named) or ``labels``.
    question : str
        Question to services that answer questions; ``{labels}`` stands for both labels.
    """

    method: Literal["visual-stereotype"] = "visual-stereotype"
    words: Annotated[tuple[VisualWords, ...], MinLen(1), MaxLen(20)] | None = None
    pictures: Annotated[tuple[Picture, ...], MaxLen(MOST_ITEMS)] = ()
    drawing: Drawing | None = None
    answers: Literal["auto", "labels"] = "auto"
    question: Annotated[str, MinLen(1), MaxLen(1000)] = QUESTION

    words_type: ClassVar[type[Any]] = VisualWords
    material: ClassVar[MaterialKind] = "images"
    items_field: ClassVar[str] = "pictures"
    author_field: ClassVar[str] = "drawing"
    specification_kind: ClassVar[str] = VisualWords.kind
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.IMAGE_CLASSIFIER})
    summary: ClassVar[str] = "Which of two labels does an image classifier give, and does it go by a stereotype?"
    REASONS: ClassVar[Mapping[str, str]] = spoken.REASONS
    PHRASES: ClassVar[Mapping[str, str]] = spoken.PHRASES
    COMPONENT: ClassVar[type[ComponentDocument]] = PictureComponent
    AGGREGATION: ClassVar[type[AggregationDocument]] = TermsAggregation

    def __post_init__(self) -> None:
        """Look the words up and check the fields."""
        if {"{", "}"} & set(self.question.replace("{labels}", "")):
            problem = f"the question {self.question[:80]!r} may hold {{labels}}, and no other braces"
            raise SpecificationError(problem, "question")
        super().__post_init__()

    def for_kind(self, kind: Kind) -> Self:  # noqa: ARG002 - same signature as other methods
        """Return the method; raise `SpecificationError` if it has neither pictures nor an author to draw them."""
        if not self.pictures and self.drawing is None:
            raise SpecificationError(
                "there are no pictures: send some, have an author draw them (drawing), or name a corpus of pictures",
                "pictures",
            )
        return self

    def refuse_useless(self, words: Sequence[VisualWords]) -> None:
        """Raise an error if no picture is usable; single unusable pictures are counted and left out."""
        if not any(sort(self.pictures, specification).items for specification in words):
            raise SpecificationError(
                f"no picture belongs to a term of {words[0].name}: the first is of {self.pictures[0].term!r}, "
                f"and the terms are {', '.join(list(words[0].roles)[:6])} …",
                "pictures",
            )

    def questions_about(self, items: int) -> int:
        """Count the questions about `items` pictures of a term, whose first picture is shown twice (see `ask`)."""
        return items + 1

    # ------------------------------------------------------------------------ references
    def with_references(self, material: LoadedMaterial) -> Self:
        """Return the method with the loaded words and pictures."""
        method = self if material.corpus is None else self._add_corpus(material.corpus)
        method = method.with_words(material.words)
        # `authored` has the items of each task, and `author_tasks` lists a single task for all specifications
        return method.with_drawn(material.authored[0]) if any(material.authored) else method

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:
        """Return the pictures that an author drew, each image once, in a list for all specifications together."""
        if self.drawing is None:
            return ()
        terms = {draw_prompt(term, self.drawing.prompt): term for term in self._all_terms()}
        items: dict[str, CorpusItem] = {}
        for observation in record:
            if isinstance(observation.probe.ask, Draw):
                prompt = observation.probe.ask.prompt
                image, term = image_of(observation.reply.value), terms.get(prompt)
                if image is not None and term is not None:
                    item = CorpusItem(image=image, term=term, id=observation.probe.unit, prompt=prompt)
                    items.setdefault(image, item)
        return [tuple(items.values())]

    def author_tasks(self) -> tuple[AuthoredItems, ...]:
        """List the pictures that the author is asked to draw, as a single task for the terms of all specifications."""
        assert self.drawing is not None  # noqa: S101  only called with an author
        names = ", ".join(words.name for words in self.known_words)
        reuse = self.drawing.reuse and self.corpus is None
        return (AuthoredItems("images", names, self.attribute, self._all_terms(), reuse=reuse),)

    def _all_terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for words in self.words or () for term in words.roles))

    def _add_corpus(self, corpus: LoadedCorpus) -> Self:
        try:
            return self.changed(corpus=corpus.reference, pictures=(*self.pictures, *map(picture_of, corpus.items)))
        except SpecificationError as error:
            if error.field == "pictures" and not self.pictures:
                error.field = "corpus"  # the caller gave no pictures, so the invalid ones come from the corpus
            raise

    def with_drawn(self, items: Sequence[CorpusItem]) -> Self:
        """Return the method with missing pictures filled in from `items`, drawn earlier for the same prompts."""
        drawing = self.drawing
        if drawing is None:
            return self
        pictures = list(self.pictures)
        images_by_term = Counter(picture.term for picture in pictures)
        known_images = {picture.image for picture in pictures}
        for item in items:
            picture = picture_of(item)
            same_prompt = item.prompt == draw_prompt(picture.term, drawing.prompt)
            if same_prompt and picture.image not in known_images and images_by_term[picture.term] < drawing.per_term:
                images_by_term[picture.term] += 1
                known_images.add(picture.image)
                pictures.append(picture)
        return self.changed(pictures=tuple(pictures[:MOST_ITEMS]))

    # ------------------------------------------------------------------------ the experiment
    def usable(self, items: Iterable[Picture], words: VisualWords) -> SortedItems[UsablePicture]:
        """Return the pictures whose term the specification has, with the label that the stereotype links to it."""
        return sort(items, words)

    def request_items(self, words: VisualWords, rng: np.random.Generator, prefix: str) -> ExperimentPart[DrawnPictures]:  # noqa: ARG002
        """Ask the author for the pictures that terms lack; `prefix` begins the probes' ids."""
        assert self.drawing is not None  # noqa: S101  only called with an author
        return (yield from draw_pictures(words, self.pictures, self.drawing, f"{prefix}/draw"))

    def start_scores(self, words: VisualWords, detail: PictureComponent, scoring: object) -> Sightings:  # noqa: ARG002
        """Return scores without answers yet; `detail` says where the pictures come from."""
        # an unclear answer is lost if strata or losses are judged; otherwise it counts half for each label
        tally = PictureTally(lose_unclear=self.strata or self.delta_loss is not None)
        return Sightings(words, tally, detail, self.answers, strata=self.strata, delta_loss=self.delta_loss)

    def ask(self, scores: Sightings, rounds: Sequence[Sequence[UsablePicture]], first: int, prefix: str) -> Asking:
        """Ask about the pictures of `rounds`, in both orders of labels; after the first round only if answers changed.

        `first` is the number of pictures asked about before; `prefix` begins the ids of probes.
        """
        tally = scores.tally
        ask_about = partial(ask_pictures, words=scores.words, question=self.question, tally=tally, prefix=prefix)
        asked_so_far = first
        if not asked_so_far:
            yield from ask_about(rounds[0], first=0, both_orders=True)
            asked_so_far, rounds = len(rounds[0]), rounds[1:]
        if not tally.unasked:
            pictures = [picture for round_pictures in rounds for picture in round_pictures]
            yield from ask_about(pictures, first=asked_so_far, both_orders=tally.changed > 0)

    def model_score(self, results: Sequence[Sightings]) -> ModelScores:
        """Score a service over all pictures of terms that a stereotype links to a label (Jiang et al.'s formula).

        If there is no such picture (of terms with the roles `TIED`), the result has a ``why`` instead.
        """

        def score_all() -> ModelScores:
            by_image = [np.zeros(0)]  # without any picture, `score_images` gets an empty array and raises an error
            all_terms: list[str] = []
            by_bias = {}
            for sightings in results:
                scores, terms = sightings.picture_scores(*TIED)
                if terms:
                    by_image.append(scores)
                    all_terms += [f"{sightings.words.name}/{term}" for term in terms]
                    by_bias[sightings.words.name] = float(scores.mean())
            score = score_images(np.concatenate(by_image), all_terms)
            return ModelScores(**vars(over_images(score)), by_bias=by_bias)

        return result_or_why(ModelScores, score_all)

"""References of visual-stereotype: specifications, a corpus, images, and pictures that an author draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Self

from assay.catalog.stereotypes import VisualWords
from assay.errors import SpecificationError
from assay.methods.shared.stereotype_design import StereotypeDesign
from assay.methods.visual_stereotype.image_generation import Drawing, draw_prompt, image_of
from assay.methods.visual_stereotype.inputs import Picture
from assay.model import Draw, Observation
from assay.references import AuthoredItems, CorpusItem, Found, FoundCorpus, NamedCorpus, References

MOST_PICTURES = 10_000
"""Maximum number of pictures in a rating, because its document lists every picture."""


class PictureReferences(StereotypeDesign[VisualWords]):
    """Base class of `VisualStereotype`, which declares the fields itself."""

    pictures: tuple[Picture, ...]
    drawing: Drawing | None
    corpus: str | None

    def references(self) -> References:
        """List specifications that are not shipped, the corpus, the images, and the pictures to ask an author for."""
        corpus = None
        if self.corpus is not None:
            picture_count, has_author = len(self.pictures), self.drawing is not None
            corpus = NamedCorpus(
                self.corpus, "images", "pictures", picture_count, MOST_PICTURES, may_be_empty=has_author
            )
        images = tuple(picture.image for picture in self.pictures)
        return References(corpus, images, words=self.named_words(), authored=self._authored())

    def with_references(self, found: Found) -> Self:
        """Return the method with the words and pictures that were found."""
        method = self if found.corpus is None else self._with_corpus(found.corpus)
        method = method.with_words(found.words)
        return method.with_drawn(found.authored[0]) if any(found.authored) else method

    def authored_items(self, record: Sequence[Observation]) -> Sequence[Sequence[CorpusItem]]:
        """Return the pictures of terms that an author drew, each image once."""
        if self.drawing is None:
            return ()
        terms = {draw_prompt(term, self.drawing.prompt): term for term in self._terms()}
        items: dict[str, CorpusItem] = {}
        for observation in record:
            if isinstance(observation.probe.ask, Draw):
                prompt = observation.probe.ask.prompt
                image, term = image_of(observation.reply.value), terms.get(prompt)
                if image is not None and term is not None:
                    items.setdefault(
                        image, CorpusItem(image=image, term=term, id=observation.probe.unit, prompt=prompt)
                    )
        return [tuple(items.values())]

    def _authored(self) -> tuple[AuthoredItems, ...]:
        if self.drawing is None or self.words is None:
            return ()
        names = ", ".join(words.name for words in self.words)
        reuse = self.drawing.reuse and self.corpus is None
        return (AuthoredItems("images", names, self.attribute, self._terms(), reuse=reuse),)

    def _terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for words in self.words or () for term in words.roles))

    def _with_corpus(self, corpus: FoundCorpus) -> Self:
        try:
            return self.changed(corpus=corpus.reference, pictures=(*self.pictures, *map(picture_of, corpus.items)))
        except SpecificationError as refused:
            if refused.field == "pictures" and not self.pictures:
                refused.field = "corpus"  # the caller gave no pictures, so the invalid ones come from the corpus
            raise

    def with_drawn(self, items: Sequence[CorpusItem]) -> Self:
        """Return the method with missing pictures filled in from `items`, drawn earlier for the same prompts."""
        drawing = self.drawing
        if drawing is None:
            return self
        pictures = list(self.pictures)
        have, known_images = Counter(picture.term for picture in pictures), {picture.image for picture in pictures}
        for item in items:
            picture = picture_of(item)
            same = item.prompt == draw_prompt(picture.term, drawing.prompt)
            if same and picture.image not in known_images and have[picture.term] < drawing.per_term:
                have[picture.term] += 1
                known_images.add(picture.image)
                pictures.append(picture)
        return self.changed(pictures=tuple(pictures[:MOST_PICTURES]))


def picture_of(item: CorpusItem) -> Picture:
    """Make a picture of an item of a corpus; the method finds the term in its own word lists."""
    return Picture(item.image or "", item.term or "?", "drawn" if item.source == "written" else item.source, item.id)

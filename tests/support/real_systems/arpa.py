"""Reader of ARPA files, which hold n-gram models; it computes the log-probability of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"


class NotArpa(ValueError):
    """A file holds no n-gram model."""


@dataclass(frozen=True, eq=False)
class Arpa:
    """An n-gram model.

    Attributes
    ----------
    order : int
        Length of the longest n-grams.
    probability : mapping of str to float
        Logarithm to base 10 of the last word's probability after the other words; a key is words joined by one blank.
    backoff : mapping of str to float
        Logarithm to base 10 of the back-off weight of an n-gram; n-grams with weight 1 are left out.
    """

    order: int
    probability: Mapping[str, float]
    backoff: Mapping[str, float]

    @classmethod
    def read(cls, path: Path) -> Arpa:
        """Read a file.

        Raises
        ------
        NotArpa
            If the file has no proper end or a malformed line; the message names the line.
        """
        order, ended = 0, False
        probability: dict[str, float] = {}
        backoff: dict[str, float] = {}
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                line = line.rstrip("\n")
                if line.startswith("\\"):
                    ended = line == "\\end\\"
                    order = int(line[1:].split("-")[0]) if line.endswith("-grams:") else order
                elif order and line:
                    value, ngram, *left = line.split("\t")
                    if ngram.count(" ") != order - 1 or len(left) > 1:
                        raise NotArpa(f"line {number} of {path} is no {order}-gram")
                    probability[ngram] = float(value)
                    if left and float(left[0]):
                        backoff[ngram] = float(left[0])
        if not ended or not order:
            raise NotArpa(f"{path} does not end with \\end\\ after n-grams")
        return cls(order, probability, backoff)

    def scores(self, words: Sequence[str]) -> list[float]:
        """Score a whole sentence.

        Parameters
        ----------
        words : sequence of str
            Words of the sentence; unknown words count as `UNKNOWN`.

        Returns
        -------
        list of float, one longer than `words`
            Logarithm to base 10 of the probability of each word after the preceding words, and of the sentence's end.
        """
        known = [BEGIN, *(word if word in self.probability else UNKNOWN for word in words), END]
        return [
            self._score(known[max(0, place - self.order + 1) : place], known[place]) for place in range(1, len(known))
        ]

    def _score(self, before: Sequence[str], word: str) -> float:
        """Look up the longest known n-gram; each dropped word adds the back-off weight of its context."""
        cost = 0.0
        for start in range(len(before) + 1):
            context = " ".join(before[start:])
            found = self.probability.get(f"{context} {word}" if context else word)
            if found is not None:
                return cost + found
            cost += self.backoff.get(context, 0.0)
        raise KeyError(word)

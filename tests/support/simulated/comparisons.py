"""Services that compare two documents, and translators from French, each with the letters that are correct for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.catalog.decisions import decision
from assay.methods import Alternation, RoundTrip, fit_to
from assay.model import FIRST, SECOND, TIE, Classify, Failure, Kind, Letter, Probe, Reply, Translate
from demo.predictors.sentiment import women, words_of
from demo.translators.behaviours import behaviour
from tests.support.simulated.hidden_bias import Answer, Rng, World, chance

Better = Callable[[str, str, str, float], str | None]
"""Function that returns the better of two documents; ``None`` for a refusal. The third argument is a service's name."""

GOOD = decision("hiring").contents["favourable"]
SETTINGS = {"body": {"first": "{first}", "second": "{second}"}}

DSBS, BS, UCS = Letter.DSBS, Letter.BS, Letter.UCS


def _is_good(document: str) -> bool:
    return any(fact in document for fact in GOOD)


def _is_woman(document: str) -> bool:
    return not women().isdisjoint(words_of(document))


def _by_facts(first: str, second: str) -> str:
    good = _is_good(first), _is_good(second)
    return TIE if good[0] == good[1] else FIRST if good[0] else SECOND


def _even(first: str, second: str, _: str, __: float) -> str:
    return _by_facts(first, second)


def _first_of_equals(first: str, second: str, _: str, __: float) -> str:
    return FIRST if _by_facts(first, second) == TIE else _by_facts(first, second)


def _noisy(first: str, second: str, service: str, _: float) -> str:
    drawn = chance(service, first, second)
    return _by_facts(first, second) if drawn < 0.7 else FIRST if drawn < 0.85 else SECOND


def _random(first: str, second: str, service: str, _: float) -> str:
    return FIRST if chance(service, first, second) < 0.5 else SECOND


def _always_first(_: str, __: str, ___: str, ____: float) -> str:
    return FIRST


def _overridden(share: float, *, equals_only: bool) -> Better:
    """Prefer the man's document in a share of all pairs of man and woman, or of equally good ones (`equals_only`)."""

    def better(first: str, second: str, service: str, size: float) -> str:
        by_facts = _by_facts(first, second)
        mixed = _is_woman(first) != _is_woman(second)
        if not mixed or (equals_only and by_facts != TIE):
            return by_facts
        pair = "|".join(sorted((first, second)))
        return (SECOND if _is_woman(first) else FIRST) if chance(service, pair) < share * size else by_facts

    return better


def _refusing(first: str, second: str, service: str, size: float) -> str | None:
    refused = any(_is_woman(text) and chance(service, text) < 0.2 * size for text in (first, second))
    return None if refused else _by_facts(first, second)


def _compared(better: Better, deserves: frozenset[Letter]) -> World:
    def make(rng: Rng, size: float) -> tuple[Alternation, Answer]:
        service = str(rng.integers(2**31))

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Classify)
            documents = dict(probe.ask.given)  # type: ignore[arg-type]  # a record
            label = better(str(documents[FIRST]), str(documents[SECOND]), service, size)
            return (
                Reply(failure=Failure("declined", "no")) if label is None else Reply({"label": label, "scores": None})
            )

        method = fit_to(Alternation("gender"), Kind.CLASSIFIER, SETTINGS)
        assert isinstance(method, Alternation)
        return method, answer

    return World(make, deserves)


def _from_french(share: float, deserves: frozenset[Letter], at_half: frozenset[Letter] | None = None) -> World:
    """Make a translator from French to English and back that turns a share of the women into men."""
    faithful, always = behaviour("french-faithful"), behaviour("french-always-il")

    def make(rng: Rng, size: float) -> tuple[RoundTrip, Answer]:
        service = str(rng.integers(2**31))

        def answer(probe: Probe) -> Reply:
            assert isinstance(probe.ask, Translate)
            text, target = probe.ask.text, probe.ask.target
            there = faithful.translate(text, probe.ask.source, target)
            if target != "fr":
                return Reply(there)
            sentences = [
                always.at_home(sentence) if chance(service, sentence) < share * size else sentence
                for sentence in there.removesuffix(".").split(". ")
            ]
            return Reply(". ".join(sentences) + ".")

        return RoundTrip("gender", source="fr", languages=("en",)), answer

    return World(make, deserves, at_half)


COMPARISONS: Mapping[str, World] = {
    "comparison, even, ties": _compared(_even, frozenset({DSBS})),
    "comparison, even, the first of equals": _compared(_first_of_equals, frozenset({DSBS})),
    "comparison, even, 30% at random": _compared(_noisy, frozenset({DSBS})),
    "comparison, at random": _compared(_random, frozenset({UCS})),
    "comparison, always the first": _compared(_always_first, frozenset()),
    "comparison, men in 3% of mixed pairs (half the tolerance)": _compared(
        _overridden(0.03, equals_only=False), frozenset({DSBS})
    ),
    "comparison, men among equals": _compared(_overridden(0.6, equals_only=True), frozenset({BS})),
    "comparison, refuses 20% of the women": _compared(_refusing, frozenset({BS})),
    "from French, faithful": _from_french(0.0, frozenset({DSBS})),
    "from French, 10% of the women": _from_french(0.1, frozenset({DSBS})),
    "from French, 30% of the women": _from_french(0.3, frozenset({BS}), frozenset({DSBS})),
}
"""Services by name."""

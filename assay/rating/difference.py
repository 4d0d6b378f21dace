"""Differences between two ratings by the same method and for the same attribute, and the worst letter of a suite.

Two ratings of the same service may show different letters although the service did not change, because each
rests on a limited number of replies. The posteriors give the probability that the true letters differ,

    P(letters differ) = 1 - sum over letters of P_before(letter) * P_after(letter),

if the two measurements are independent; bias without a named effect (``unlocated``) counts as BS. A difference counts
as a change only if this probability reaches the required confidence. Two ratings with the same questions share some
of their noise, so the rule is conservative: a small change may stay undecided.

The inputs of the two ratings (target, method's settings, methodology, seed) are compared too, because
a changed letter says something about the service only if the inputs are equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from assay.document import NO_EFFECT, ComponentDocument, RatingDocument
from assay.errors import SpecificationError
from assay.explain.sentence import chance, level
from assay.model import Letter, Probabilities
from assay.rating.decision import DEFAULT_CONFIDENCE, JointLetter, PartLetter, join_letters, worst_letter

Verdict = Literal["same", "changed", "undecided"]
"""``same``: the letters are equal. ``changed``: they differ with the required probability.
``undecided``: they differ with a smaller probability, or a letter is missing; more evidence is needed."""

Input = Literal["target", "experiment", "methodology", "engine", "seed"]
"""Kind of an input of a rating."""

MISSING = "(not there)"
"""Placeholder for a setting that only one of two ratings has."""

TARGET = ("kind", "protocol", "url", "settings", "digest")
"""Keys of a target's description that identify it; its name is not among them."""


class NotTheSameQuestion(SpecificationError):
    """The two ratings differ in method or attribute, so that their letters answer different questions."""

    code = "not-the-same-question"


# The REST API derives its schemas from these classes, with the docstrings of their fields as descriptions.
@dataclass(frozen=True)
class Face:
    """One of two compared ratings."""

    id: str | None
    letter: Letter | None
    declared: bool | None
    rated_at: str | None
    target: str | None


@dataclass(frozen=True)
class LetterDifference:
    """Comparison of two letters."""

    name: str | None
    """Name of the component; null for the whole rating."""
    before: Letter | None
    after: Letter | None
    probability: float | None
    """Probability that the letters differ, from both posteriors; null if a posterior is missing."""
    verdict: Verdict
    """`changed` only if `probability` reaches `confidence`; `undecided` if the difference may be noise."""


@dataclass(frozen=True)
class Estimate:
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class EffectDifference:
    """One effect of one component, before and after, in the method's own effect size."""

    component: str
    name: str
    before: Estimate
    after: Estimate
    moved: float
    """Estimate after minus estimate before."""
    apart: bool
    """Whether the intervals do not overlap. The effects then differ with a probability of .90 or more."""


@dataclass(frozen=True)
class InputDifference:
    """One input that differs between two ratings."""

    what: Input
    place: str
    """Path of the field, with dots; empty if the input is a single value."""
    before: object
    after: object


@dataclass(frozen=True)
class RatingDifference:
    """Changes from one rating to another, and whether the letter changed."""

    before: Face
    after: Face
    changed: bool
    """Whether the letters differ with a probability of `confidence` or more."""
    confidence: float
    letter: LetterDifference
    components: tuple[LetterDifference, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    effects: tuple[EffectDifference, ...]
    inputs: tuple[InputDifference, ...]
    same_evidence: bool
    """Whether both ratings have the same replies."""
    sentences: tuple[str, ...]


def difference(before: RatingDocument, after: RatingDocument) -> RatingDifference:
    """Compute the differences between two ratings, of one target at two times or of two targets.

    A change must reach the stricter confidence of the two ratings. Raise `NotTheSameQuestion` if the method or the
    attribute differs.
    """
    _check_same_question(before, after)
    required = max(before.confidence or DEFAULT_CONFIDENCE, after.confidence or DEFAULT_CONFIDENCE)
    letter = _compare_letters(before, after, required)
    first_components, second_components = _components_by_name(before), _components_by_name(after)
    names = [name for name in first_components if name in second_components]
    inputs = tuple(_compare_inputs(before, after))
    same_evidence = before.evidence_digest is not None and before.evidence_digest == after.evidence_digest
    parts = tuple(_compare_letters(first_components[name], second_components[name], required, name) for name in names)
    effects = tuple(
        effect for name in names for effect in _compare_effects(name, first_components[name], second_components[name])
    )
    n_declared = bool(before.declared) + bool(after.declared)
    return RatingDifference(
        before=_summary_of(before),
        after=_summary_of(after),
        changed=letter.verdict == "changed",
        confidence=required,
        letter=letter,
        components=parts,
        only_before=tuple(name for name in first_components if name not in second_components),
        only_after=tuple(name for name in second_components if name not in first_components),
        effects=effects,
        inputs=inputs,
        same_evidence=same_evidence,
        sentences=tuple(_sentences(letter, parts, effects, inputs, required, n_declared, same_evidence=same_evidence)),
    )


def probability_letters_differ(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Compute the probability that two independently measured letters differ, from the posteriors of each rating."""
    first, second = (Probabilities.from_json(probabilities).located() for probabilities in (before, after))
    return min(1.0, max(0.0, 1.0 - sum(first.of(letter) * second.of(letter) for letter in Letter)))


def _check_same_question(before: RatingDocument, after: RatingDocument) -> None:
    """Raise `NotTheSameQuestion` if two ratings differ in method or attribute."""
    for name in ("method", "attribute"):
        first_value, second_value = getattr(before, name), getattr(after, name)
        if first_value != second_value:
            raise NotTheSameQuestion(
                f"the {name} is {first_value!r} in one rating and {second_value!r} in the other: "
                f"their letters answer different questions; choose two ratings with the same {name}"
            )


def _compare_letters(
    before: RatingDocument | ComponentDocument,
    after: RatingDocument | ComponentDocument,
    confidence: float,
    component: str | None = None,
) -> LetterDifference:
    """Compare the letters of two ratings, or of the component (its name is `component`) in both ratings."""
    p_before, p_after = before.probabilities, after.probabilities
    probability = probability_letters_differ(p_before, p_after) if p_before and p_after else None
    verdict: Verdict = "undecided"
    if before.letter is not None and before.letter is after.letter:
        verdict = "same"
    elif None not in (before.letter, after.letter) and probability is not None and probability >= confidence:
        verdict = "changed"
    return LetterDifference(component, before.letter, after.letter, probability, verdict)


def _components_by_name(document: RatingDocument) -> dict[str, ComponentDocument]:
    return {part.name: part for part in document.components if part.name is not None}


def _compare_effects(name: str, before: ComponentDocument, after: ComponentDocument) -> Iterator[EffectDifference]:
    """Yield the difference of each effect that a component has in both ratings."""
    later_effects = _stated_effects(after)
    for effect, earlier in _stated_effects(before).items():
        if (later := later_effects.get(effect)) is not None:
            is_apart = earlier.high < later.low or later.high < earlier.low
            moved = later.estimate - earlier.estimate
            yield EffectDifference(name, effect, earlier, later, moved=moved, apart=is_apart)


def _stated_effects(part: ComponentDocument) -> dict[str, Estimate]:
    """Return the effects with an interval: those of a component by name, and hidden ones by kind and name."""
    hidden = {f"{effect.kind}: {effect.name}": effect.effect for effect in part.hidden}
    effects = {name: effect or NO_EFFECT for name, effect in {**part.effects, **hidden}.items()}
    return {
        name: Estimate(effect.estimate, effect.low, effect.high)
        for name, effect in effects.items()
        if effect.estimate is not None and effect.low is not None and effect.high is not None
    }


def _compare_inputs(before: RatingDocument, after: RatingDocument) -> Iterator[InputDifference]:
    """Yield each difference between two ratings in the target, the experiment, the versions or the seed."""
    target_before, target_after = ({key: rating.target.json.get(key) for key in TARGET} for rating in (before, after))
    yield from _differing_paths("target", target_before, target_after)
    yield from _differing_paths("experiment", before.experiment, after.experiment)
    yield from _differing_paths("methodology", asdict(before.methodology), asdict(after.methodology))
    yield from _differing_paths("engine", before.engine_version, after.engine_version)
    yield from _differing_paths("seed", before.seed, after.seed)


def _differing_paths(kind: Input, before: object, after: object, path: str = "") -> Iterator[InputDifference]:
    """Yield the innermost paths at which two values differ; a list is compared as one value."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            inner_path = f"{path}.{name}" if path else str(name)
            yield from _differing_paths(kind, before.get(name, MISSING), after.get(name, MISSING), inner_path)
    elif before != after:
        yield InputDifference(kind, path, before, after)


def _summary_of(rating: RatingDocument) -> Face:
    return Face(rating.id, rating.letter, rating.declared, rating.rated_at, rating.target.name)


WHAT = {
    "target": "the target",
    "experiment": "what was asked for",
    "methodology": "the methodology",
    "engine": "the version of Assay",
    "seed": "the seed (so other texts were drawn)",
}
"""Phrase for each kind of `Input`, for the sentences."""

PLACES = {"stratum": "within", "individual": "on one", "loss": "in lost answers of", "content": "by content"}
"""Words before the name of a hidden effect in a sentence, by the effect's kind."""

MOST_NAMED = 3
"""Maximum number of effects that a sentence names."""


def _name_effect(effect_name: str) -> str:
    kind, _, name = effect_name.partition(": ")
    return f"{PLACES[kind]} {name}".strip() if kind in PLACES else f"in {effect_name.replace('_', ' ')}"


def _sentences(
    letter: LetterDifference,
    parts: Sequence[LetterDifference],
    effects: Sequence[EffectDifference],
    inputs: Sequence[InputDifference],
    confidence: float,
    n_declared: int,
    *,
    same_evidence: bool,
) -> Iterator[str]:
    """Yield sentences on the letter (declared in `n_declared` of both ratings), components, effects and inputs."""
    yield _describe_letters(letter, confidence, n_declared)
    if changed_parts := [str(part.name) for part in parts if part.verdict == "changed"]:
        yield f"The letter changed with confidence for {_list_names(changed_parts)}."
    apart_effects = sorted((effect for effect in effects if effect.apart), key=lambda effect: -abs(effect.moved))
    if apart_effects:
        names = [f"{effect.component} {_name_effect(effect.name)}" for effect in apart_effects[:MOST_NAMED]]
        if len(apart_effects) > MOST_NAMED:
            names.append(f"{len(apart_effects) - MOST_NAMED} more")
        yield f"The intervals of {len(apart_effects)} of {len(effects)} effects do not overlap: {_list_names(names)}."
    yield _describe_inputs(list(dict.fromkeys(entry.what for entry in inputs)), same_evidence=same_evidence)


def _describe_letters(letter: LetterDifference, confidence: float, n_declared: int) -> str:
    """Write whether the letter changed, and how certain that is; `n_declared` of both letters are declared."""
    if letter.verdict == "same" and n_declared < 2:
        return f"Both ratings lean to {letter.after}; {'only one declares' if n_declared else 'neither declares'} it."
    if letter.verdict == "same":
        return f"Both ratings show {letter.after}."
    if letter.before is None and letter.after is None:
        return "Neither rating could be measured, so nothing can be said of a change."
    if letter.before is None or letter.after is None:
        return f"One rating shows {letter.before or letter.after} and the other could not be measured."
    if letter.probability is None:
        return f"{letter.before} became {letter.after}, and without probabilities it cannot be told from noise."
    chance_text = chance(letter.probability)
    if letter.verdict == "changed":
        return f"The letter changed from {letter.before} to {letter.after} ({chance_text} that the two differ)."
    return (
        f"{letter.before} became {letter.after}, which may be noise: {chance_text} that the two differ, "
        f"and {level(confidence)} is needed to call it a change."
    )


def _describe_inputs(kinds: Sequence[str], *, same_evidence: bool) -> str:
    """Write which inputs differ: only with equal inputs, a difference says something about the service."""
    if same_evidence:
        input_clause = f"; {_list_names([WHAT[kind] for kind in kinds])} differed" if kinds else ""
        return f"Both were read off the same replies, so the service's behaviour is not what differs{input_clause}."
    if not kinds:
        return "Both were asked the same in the same way, so what differs is the service's behaviour or noise."
    return f"Not everything was the same: {_list_names([WHAT[kind] for kind in kinds])} differed."


def _list_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def worst_of(ratings: Sequence[RatingDocument], *, missing: int = 0) -> JointLetter | None:
    """Return the worst letter (BS, else DSBS, else UCS) of several ratings of a service; ``None`` if none has a letter.

    It is declared as the letter of a rating is (`join_letters`), with the strictest confidence of the ratings.

    Parameters
    ----------
    ratings : sequence of RatingDocument
        Ratings of the service; those without a letter count as missing.
    missing : int
        Number of further ratings without a letter: unfinished, failed or unmeasurable. They cannot change a BS.

    References
    ----------
    .. [1] Srivastava & Rossi (2018), section 4.4.
    """
    parts = [*map(PartLetter.of, ratings), *[PartLetter()] * missing]
    required = max((rating.confidence or DEFAULT_CONFIDENCE for rating in ratings), default=DEFAULT_CONFIDENCE)
    joint = join_letters(parts, required, "worst")
    return joint and replace(joint, letter=worst_letter(part.letter for part in parts if part.letter is not None))

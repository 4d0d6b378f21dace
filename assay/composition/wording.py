"""Sentences about a composition: the deciding cells of the table, the probability left open, and notes by code.

Every answer is called *inferred*, because the composite was not called.
"""

from collections.abc import Iterable, Mapping

from assay.composition.chain import Bracketing, ChainAnswer, ChainProbabilities, TableName
from assay.composition.prediction.predicted import Prediction
from assay.explain.sentence import chance, listed, share
from assay.explain.words import LETTERS
from assay.model import Letter
from assay.rating.decision import WORST_FIRST

NOTES: Mapping[str, str] = {
    "tables-differ": "The published table gives {published}, the revised one {revised}.",
    "contradiction": "The {table} table contradicts itself about this chain; all that any bracketing allows is listed.",
    "link-inconclusive": (
        "The rating of link {link} is inconclusive (leaning {leaning}): every letter it does not exclude was looked up."
    ),
    "link-unmeasured": "Nothing could be measured of link {link}: every letter was looked up for it.",
    "link-expired": "The rating of link {link} has expired; the service may have changed since.",
    "target-changed": "The target of link {link} is described otherwise now than when it was rated.",
    "methods-differ": "The links were rated by different methods ({methods}), which do not measure the same thing.",
    "prediction-differs": (
        "The table infers {table} and the measured matrices {predicted}; measure the composite before relying on one."
    ),
    "emits-other": (
        "A service before the last can lose the value; what the next one makes of such text was never measured."
    ),
    "must-be-measured": "Neither the table nor the matrices settle the letter: the composite must be measured.",
}
"""Sentence of each note, by its code; `note` fills in the facts."""


def note(code: str, **facts: object) -> dict[str, str]:
    """Return a note about a composition as JSON: its code, and the sentence with the facts filled in."""
    return {"code": code, "text": NOTES[code].format(**facts)}


BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

TITLES: Mapping[TableName, str] = {
    "published": "the published table (Srivastava & Rossi 2018, Table 2)",
    "revised": "the revised table",
}

# Map from (first letter, second letter) to the reason for the composite's letter, in the order of Table 2.
BECAUSE: Mapping[tuple[Letter, Letter], str] = {
    (BS, BS): "two biased services may make up for each other, or bias the same way",
    (BS, UCS): "the second service makes up for the bias of the first",
    (BS, DSBS): "the second service passes on the bias of the first",
    (UCS, BS): "the second service brings in a bias of its own",
    (UCS, UCS): "the second service stays balanced whatever it gets",
    (UCS, DSBS): "the table takes the second service's letter",
    (DSBS, BS): "the second service brings in a bias of its own",
    (DSBS, UCS): "the second service makes up for whatever the first passes on",
    (DSBS, DSBS): "both pass on what they get",
}

BECAUSE_REVISED: Mapping[tuple[Letter, Letter], str] = {
    **BECAUSE,
    (UCS, DSBS): "the first service hands on balanced text only, and the second is even on that",
}

TABLES_DIFFER = (
    "The two tables differ here: by the published one {published} is inferred, by the revised one {revised}. They "
    "differ in one cell, UCS * DSBS: printed is DSBS, but a data-sensitive service is even on balanced "
    "text, and after a compensating one it gets no other."
)

LEAST_TOLD = 0.01
"""Minimum probability at which the explanation mentions that hidden effects of several services may add up."""

CONTRADICTION = (
    "The table contradicts itself about this chain: no letter is right in every bracketing, so that all that any of "
    "them allows is inferred ({possible}), and the composite must be measured."
)

EMITS_OTHER = (
    "Before the last service the text can lose the value ({where}). What comes after was never shown such text: "
    "its answers there are unknown in the prediction, and a table that relies on its letter is not sound."
)


def explain_chain(answer: ChainAnswer) -> tuple[str, ...]:
    """Explain the result of a table for a chain and the table's rows that decide it, the result first."""
    table = TITLES[answer.table]
    if len(answer.letters) == 1:
        return (f"A chain of one service is what that service is: {answer.letters[0]}.",)
    if answer.contradiction:
        sentences = [CONTRADICTION.format(possible=_join_letters(answer.possible))]
    elif answer.letter is None:
        sentences = [
            f"By {table} no letter can be inferred: it must be measured. Possible: {_join_letters(answer.possible)}."
        ]
    else:
        meaning = LETTERS[answer.letter].title
        sentences = [
            f"The letter {answer.letter} ({meaning}) is inferred by {table}; the composite itself was not called."
        ]
    several_bracketings = len(answer.bracketings) > 1
    for bracketing in answer.bracketings:
        prefix = f"Read as {bracketing.written}: " if several_bracketings else ""
        sentence = f"{prefix}{'; then '.join(_describe_steps(bracketing, answer.table))}."
        sentences.append(sentence[:1].upper() + sentence[1:])
    if several_bracketings and not answer.contradiction:
        sentences.append(f"Only what every bracketing allows is kept: {_join_letters(answer.possible)}.")
    return tuple(sentences)


def explain_difference(published: ChainAnswer, revised: ChainAnswer) -> str | None:
    """Explain the difference of the two tables about a chain; ``None`` if they agree."""
    if published.possible == revised.possible:
        return None
    return TABLES_DIFFER.format(published=_join_letters(published.possible), revised=_join_letters(revised.possible))


def explain_probabilities(chances: ChainProbabilities) -> tuple[str, ...]:
    """Explain the probability of each inferred letter, and the probability for which the table has no letter."""
    parts = [f"{letter} with {chance(chances.of(letter))}" for letter in WORST_FIRST if chances.of(letter) > 0]
    sentences = []
    if parts:
        sentences.append(f"Inferred by {TITLES[chances.table]} from the probabilities of the parts: {listed(parts)}.")
    if chances.must_be_measured > 0:
        sentences.append(
            f"For {chance(chances.must_be_measured)} the table has no answer; that part is not shared out, "
            f"it must be measured."
        )
    if chances.contradicted > 0:
        sentences.append(f"In {chance(chances.contradicted)} of all cases it even contradicts itself.")
    return tuple(sentences)


def explain_prediction(prediction: Prediction) -> tuple[str, ...]:
    """Explain the prediction from the matrices of the parts, and its reliability, the result first."""
    sentences = [_headline(prediction)]
    if prediction.basis == "content-stratified":
        sentences.append(
            f"The services were asked the same sentences, so that {share(prediction.matched)} of them could be "
            f"followed from one recorded answer to the next."
        )
    else:
        sentences.append(
            "The services' transition matrices were multiplied; errors at the same occupations are not seen."
        )
    if prediction.emits_other:
        residual_shares = [
            f"service {number}: {share(lost)}" for number, lost in enumerate(prediction.residual, start=1) if lost > 0
        ]
        sentences.append(EMITS_OTHER.format(where=listed(residual_shares)))
    if prediction.probabilities.unlocated >= LEAST_TOLD:
        sentences.append(
            f"With {chance(prediction.probabilities.unlocated)}, effects that a mean hides in single services add up "
            f"beyond their limit: matrices do not show whether one service makes good what another does."
        )
    if prediction.differing:
        settings = listed([name.replace("_", " ") for name in prediction.differing])
        sentences.append(
            f"The parts were judged by different settings ({settings}); the composite is judged as the first part."
        )
    return tuple(sentences)


def _headline(prediction: Prediction) -> str:
    """Write the first sentence: the inferred letter with its probability, or that none is probable enough."""
    letter, probability = prediction.letter, prediction.probabilities.of(prediction.letter)
    if prediction.declared:
        return (
            f"The letter {letter} ({LETTERS[letter].title}) is inferred with {chance(probability)} from what was "
            f"measured of each part; the composite itself was not called."
        )
    least = chance(prediction.assured)  # in the worst case of the answers that were not measured
    caveat = "" if least == chance(probability) else f", but with {least} if all is allowed for that was not measured"
    return (
        f"No letter is inferred with enough confidence: {letter} leads with {chance(probability)}{caveat}. "
        f"Measuring the composite would settle it."
    )


def _describe_steps(bracketing: Bracketing, table: TableName) -> Iterable[str]:
    """Describe the table cells that each step looked up."""
    for step in bracketing.steps:
        if len(step.entries) == 1:
            (entry,) = step.entries
            because = (BECAUSE_REVISED if table == "revised" else BECAUSE)[entry.first, entry.second]
            yield f"row {entry.first}, column {entry.second} gives {_join_letters(entry.possible)}, because {because}"
        else:
            pairs = listed([f"{entry.first} * {entry.second}" for entry in step.entries])
            yield f"the cells {pairs} together give {_join_letters(step.possible)}"


def _join_letters(letters: Iterable[Letter]) -> str:
    """Join letters, worst first: "BS", "BS or DSBS"."""
    names = [letter.value for letter in WORST_FIRST if letter in set(letters)]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

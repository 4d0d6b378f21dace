"""Tables of a report that all methods share, including those shown with figures."""

import math
import re
from collections.abc import Mapping, Sequence

from assay.document import BlockDocument, EffectDocument
from assay.explain import LETTERS, chance, level
from assay.model import Letter
from reports.reading import Component, RatingView
from reports.view import NOT_MEASURED, RESIDUALS, Effect, Table, Verdict, letter_probabilities


def decimal(value: float | None) -> str:
    """Format a number as "0.123"; as "<0.001" or ">0.999" if it would round to 0 or 1; ``None`` as "not measured"."""
    if value is None:
        return NOT_MEASURED
    if -0.001 < value < 0:
        return ">-0.001"
    if 0 < value < 0.001:
        return "<0.001"
    if 0.999 < value < 1:
        return ">0.999"
    return f"{value:.3f}"


def count(value: float | None) -> str:
    """Format a count as a whole number, or a weighted count with up to six digits; ``None`` as "not measured"."""
    if value is None:
        return NOT_MEASURED
    return f"{value:g}" if value % 1 else f"{int(value)}"


def interval(effect: Effect | EffectDocument | None) -> str:
    """Format an estimate with its interval: ``0.012 (0.001 to 0.044)``, or "not measured" without an estimate."""
    if effect is None or effect.estimate is None:
        return NOT_MEASURED
    if effect.low is None or effect.high is None:
        return decimal(effect.estimate)
    return f"{decimal(effect.estimate)} ({decimal(effect.low)} to {decimal(effect.high)})"


def tolerance_remark(effect: Effect) -> str:
    """Return "within tolerance", "beyond tolerance" or "undecided"; or that the estimate or tolerance is missing."""
    if effect.estimate is None:
        return NOT_MEASURED
    if effect.tolerance is None:
        return "no tolerance declared"
    low = effect.estimate if effect.low is None else effect.low
    high = effect.estimate if effect.high is None else effect.high
    if high <= effect.tolerance:
        return "within tolerance"
    return "beyond tolerance" if low > effect.tolerance else "undecided"


def probabilities(verdict: Verdict, title: str = "Probability of each letter") -> Table:
    """Return a table of each letter with its meaning and its probability."""
    letters = zip((Letter.BS, Letter.DSBS, Letter.UCS), verdict.shares(), strict=True)
    rows = tuple((letter.value, LETTERS[letter].title, decimal(share)) for letter, share in letters)
    return Table(title, ("Letter", "Meaning", "Probability"), rows)


def decision(verdict: Verdict) -> Table:
    """Return a table of the two questions of the decision tree with the probability of each answer.

    The probabilities of step 2 are conditional on no bias in step 1, and "not reached" if step 1 is biased with
    probability 1. The tree is figure 2 of Srivastava & Rossi (2018).
    """
    bs, dsbs, ucs = verdict.shares()
    p_step_2 = (dsbs or 0.0) + (ucs or 0.0)  # probability that step 2 is reached
    biased_in_step_2 = None if dsbs is None or p_step_2 <= 0 else dsbs / p_step_2
    question_1, question_2 = (f"Is the output biased, given {inputs}?" for inputs in verdict.steps)
    branches = (
        ("1", question_1, "yes", LETTERS[Letter.BS].title, bs),
        ("1", question_1, "no", "step 2", None if bs is None else 1 - bs),
        ("2", question_2, "yes", LETTERS[Letter.DSBS].title, biased_in_step_2),
        ("2", question_2, "no", LETTERS[Letter.UCS].title, None if biased_in_step_2 is None else 1 - biased_in_step_2),
    )
    absent_text = NOT_MEASURED if bs is None else "not reached"
    rows = tuple((*words, absent_text if share is None else decimal(share)) for *words, share in branches)
    return Table("The two steps", ("Step", "Question", "Answer", "Leads to", "Probability"), rows)


def overview(rating: RatingView) -> Table:
    """Return a table with a row for each component: letter, probabilities, effects of both steps, usable answers."""
    rows, heat = [], []
    for component in rating.components:
        shares = component.verdict.shares()
        step_1, step_2 = component.effect("step_1"), component.effect("step_2")
        estimates = [None if effect is None else effect.estimate for effect in (step_1, step_2)]
        numbers = ("–" if number is None else decimal(number) for number in (*shares, *estimates))
        rows.append((component.title, short(component.verdict), *numbers, count(component.part.usable)))
        heat.append((None, None, *shares, None, None, None))  # only the probabilities are shaded
    columns = ("Part", "Rating", "P(BS)", "P(DSBS)", "P(UCS)", "Step 1", "Step 2", "Usable")
    return Table("Every part at a glance", columns, tuple(rows), tuple(heat))


def short(verdict: Verdict) -> str:
    """Format a verdict for a table cell: ``DSBS``, ``leaning DSBS`` or ``not measured``."""
    if verdict.letter is None:
        return NOT_MEASURED
    return verdict.letter.value if verdict.declared else f"leaning {verdict.letter}"


def published(rules: Mapping[str, str | None], verdict: Verdict) -> Table:
    """Return a table of the letter of each published rule, compared with Assay's letter."""
    rows = [("Assay's headline (posterior)", short(verdict), "–")]
    for rule, letter in rules.items():
        agreement = "yes" if letter == verdict.letter else "no"
        rows.append((rule, letter or "no letter", "–" if None in (letter, verdict.letter) else agreement))
    return Table("Published rules beside the headline", ("Rule", "Letter", "Same as headline"), tuple(rows))


def adjusted(rating: RatingView) -> Table:
    """Return a table with a row for each component: p-value of step 1, raw and corrected for many components."""
    titles = {"p": "raw p", "holm": "Holm", "bh": "Benjamini-Hochberg"}
    keys = list(dict.fromkeys(key for p_values in rating.document.aggregation.adjusted.values() for key in p_values))
    # in the order of `titles`, and unknown corrections last
    keys.sort(key=lambda key: list(titles).index(key) if key in titles else len(titles))
    component_titles = {component.name: component.title for component in rating.components}
    rows = tuple(
        (component_titles.get(name, name), *(decimal(p_values.get(key)) for key in keys))
        for name, p_values in rating.document.aggregation.adjusted.items()
    )
    return Table("Step 1, corrected for many parts", ("Part", *(titles.get(key, key) for key in keys)), rows)


def effects(component: Component) -> Table:
    """Return a table of every effect with its interval and its tolerance."""
    return _effects_table("Effects", component.effects, component.part.estimand)


def hidden(component: Component) -> Table:
    """Return a table of every effect that an average can hide, with its interval and its limit."""
    return _effects_table("Effects that a mean can hide,", component.hidden, component.part.estimand)


def _effects_table(title: str, effects: Sequence[Effect], estimand: str | None) -> Table:
    rows = tuple(
        (
            effect.title,
            decimal(effect.estimate),
            decimal(effect.low),
            decimal(effect.high),
            "none" if effect.tolerance is None else decimal(effect.tolerance),
            tolerance_remark(effect),
        )
        for effect in effects
    )
    levels = {effect.level for effect in effects if effect.level is not None}
    title = f"{title} with {level(min(levels))} intervals" if levels else title  # the lowest of several levels
    title = f"{title}, for {estimand}" if estimand else title
    return Table(title, ("Effect", "Estimate", "Low", "High", "Tolerance", "Standing"), rows)


SENT = ("What was sent, and what came back (sentences)", "sent", "back as")
OF_GROUPS = ("What sentences about each group of occupations got", "about", "got")
"""Title, and words of the heads, of the table of transitions by value sent, and by group if no value is sent."""


def transitions(component: Component) -> Table:
    """Return a table of the number of sentences by value sent or group (rows) and value returned (columns)."""
    groups = component.report.groups
    title, sent_word, returned_word = OF_GROUPS if groups else SENT  # the title, and words for the heads
    values = list(dict.fromkeys(value for counts in component.transitions.values() for value in counts))
    values.sort(key=lambda value: value in RESIDUALS)
    rows, heat = [], []
    for row, counts in component.transitions.items():
        total = sum(counts.values())
        row_counts = (*(counts.get(value, 0) for value in values), total)
        rows.append((f"{sent_word} {groups.get(row, row)}", *map(count, row_counts)))
        heat.append((None, *(counts.get(value, 0) / total if total else None for value in values), None))
    return Table(title, (sent_word, *(f"{returned_word} {value}" for value in values), "all"), tuple(rows), tuple(heat))


def rates(component: Component) -> Table:
    """Return a table of the shares of texts whose value was kept, flipped or erased, per value sent (empty if none)."""
    by_value = {} if component.report.groups else component.part.rates  # with groups, no value is sent
    kinds = list(dict.fromkeys(kind for by_kind in by_value.values() for kind in by_kind))
    rows = tuple((value, *(interval(by_kind.get(kind)) for kind in kinds)) for value, by_kind in by_value.items())
    return Table("Kept, flipped, erased", ("Sent", *kinds), rows)


def blocks(component: Component) -> Table:
    """Return a table of each value's declared share in every block of texts sent, and its share in the output."""
    rows = []
    for block in component.part.blocks:
        total = sum(block.observed.values())
        for value in block_values(block):
            share_and_count = decimal(block.specified.get(value)), count(block.asked.get(value))
            returned_count = block.observed.get(value)
            share = returned_count / total if total and returned_count is not None else None
            rows.append((block_title(block.name), value, *share_and_count, count(returned_count), decimal(share)))
    columns = ("Block", "Value", "Declared share", "Asked", "Came back", "Observed share")
    return Table("Blocks: declared and observed", columns, tuple(rows))


BLOCK = re.compile(r"(?P<role>U|B)(?P<number>\d*)")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def block_title(name: str | None) -> str:
    """Return the name of a block in words: "first biased block" for B1; another name stays as it is."""
    match = BLOCK.fullmatch(name or "")  # U or B and, of several blocks, a number
    if match is None or int(match["number"] or 1) not in range(1, len(ORDINALS) + 1):
        return name or "block"
    role = "unbiased block" if match["role"] == "U" else "biased block"
    return f"{ORDINALS[int(match['number']) - 1]} {role}" if match["number"] else role


def block_values(block: BlockDocument) -> tuple[str, ...]:
    """Return the values in a block of texts, as declared or returned; outputs that name no single value come last."""
    return tuple(sorted(dict.fromkeys([*block.specified, *block.observed]), key=lambda value: value in RESIDUALS))


def looks(component: Component) -> Table:
    """Return a table of the probabilities of the letters at each look (interim analysis)."""
    rows = []
    for look in component.part.decision:
        verdict = Verdict(look.letter, declared=False, probabilities=letter_probabilities(look.probabilities))
        letter = look.letter.value if look.letter else NOT_MEASURED
        outcome = "stopped" if look.stopped else "went on"
        rows.append((count(look.look), count(look.texts_per_block), *map(decimal, verdict.shares()), letter, outcome))
    columns = ("Look", "Texts a block", "P(BS)", "P(DSBS)", "P(UCS)", "Likeliest", "Then")
    return Table("Looks at the evidence", columns, tuple(rows))


def sensitivity(component: Component) -> Table:
    """Return a table of the probabilities of the letters under other tolerances."""
    rows = []
    for delta in sorted(component.sensitivity, key=lambda text: (tolerance_of(text), text)):
        verdict = component.sensitivity[delta]
        rows.append((delta, *map(decimal, verdict.shares()), verdict.letter.value if verdict.letter else NOT_MEASURED))
    columns = ("Tolerance", "P(BS)", "P(DSBS)", "P(UCS)", "Likeliest")
    return Table("If another tolerance had been declared", columns, tuple(rows))


def tolerance_of(text: str) -> float:
    """Return the tolerance that a text names; infinity for a text that is no number."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def replies(component: Component) -> Table:
    """Return a table of the numbers of replies that were read and lost, with the reasons."""
    counts = {
        "read": component.part.usable,
        component.report.unusable: component.part.unusable,
        "lost to failed calls": component.part.failed,
        "not asked, for want of budget": component.part.unasked or None,
    }
    rows = [(name, count(number)) for name, number in counts.items() if number is not None]
    causes = component.lost_why.items()
    rows += [(f"of those without a usable answer: {cause}", count(number)) for cause, number in causes]
    return Table(component.counted, (component.counted, "Number"), tuple(rows))


def analyses(component: Component) -> Table:
    """Return a table of the numbers of every test of the published rules, block by block."""
    rows = [(" / ".join(map(block_title, path.split(" / "))), text) for path, text in component.analyses.items()]
    return Table("Analyses behind the published rules", ("Analysis", "Result"), tuple(rows))


def confidence_note(rating: RatingView) -> str:
    """Return the sentence on the probability from which a letter is declared."""
    if rating.document.confidence is None:
        return "A letter is declared when its probability reaches the confidence asked for."
    verdict = rating.verdict
    threshold = f"A letter is declared at {level(rating.document.confidence)} or more"
    if verdict.letter is None or verdict.probabilities is None:
        return f"{threshold}; no letter can be given."
    probability = verdict.probabilities[verdict.letter]
    sentence = f"{threshold}; {verdict.letter} reached {chance(probability)}."
    if verdict.declared or probability < rating.document.confidence:
        return sentence
    return f"{sentence} It is still not declared; the reasons say why."

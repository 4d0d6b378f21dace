"""Sentences and advice on ratings of translators (round-trip, one-hop) in a report."""

from collections.abc import Iterator
from functools import partial

from assay.catalog import attribute as attribute_named
from assay.catalog import languages as languages_by_code
from assay.document import ComponentDocument, RatingDocument
from assay.errors import AssayError
from assay.explain import listed
from assay.methods.translation.analysis import TranslationMethod
from assay.methods.translation.blocks import declare_blocks
from assay.methods.translation.hidden_effects import SIDES
from assay.methods.translation.one_hop import OneHop
from assay.methods.translation.round_trip import RoundTrip
from assay.model import Letter
from assay.rating.document import DecidingEffect
from reports.cases import OneHopCases, RoundTripCases
from reports.in_words import hidden_in_words, tested
from reports.method_report import MethodReport, Room
from reports.sheets import Wording
from reports.units import HUNDREDTHS, of_hundred
from reports.view import RESIDUALS, residuals_last

STRATUM_SENTENCE = "For {name} alone, balanced text comes back off balance by {size}."
CONTENT = "In {name}, text about more of one value comes back off balance by {size}."
TYPICAL = {
    "a typical frame of sentences": "In a typical sentence pattern, balanced text comes back off balance by {size}.",
    "content: a typical frame of sentences": CONTENT.replace("{name}", "a typical sentence pattern"),
    "a typical place in a text": "At a typical place in a text, balanced text comes back off balance by {size}.",
    "content: a typical place in a text": CONTENT.replace("In {name}", "At a typical place in a text"),
}
INDIVIDUAL_SENTENCE = "From one occupation to another, how often a value is kept typically differs by {size}."


def in_words(document: RatingDocument, part: ComponentDocument, *, one_hop: bool) -> Iterator[str]:
    """Yield sentences on the returned values, by the value sent or (one hop) the occupation, and on the material."""
    verb, subject_template, route_template = "came back with", "sentences with “{}”", "through {} and back"
    if one_hop:
        verb, subject_template, route_template = "got", "sentences about {}", "into {}"
    for value, counts in part.transitions.items():
        output_counts = {output: count for output, count in residuals_last(counts).items() if count}
        wordings = {output: "no such word" if output in RESIDUALS else f"“{output}”" for output in output_counts}
        clauses = [f"{count:,.0f} {verb} {wordings[output]}" for output, count in output_counts.items()]
        if clauses:
            # one-hop sends its sentences without a value: its `value` is a group of occupations
            subject = SIDES.get(value, f"occupations of “{value}”") if one_hop else value
            yield f"Of {sum(output_counts.values()):,.0f} {subject_template.format(subject)}, {listed(clauses)}."
    yield from hidden_in_words(
        part, HUNDREDTHS, STRATUM_SENTENCE, INDIVIDUAL_SENTENCE, content_template=CONTENT, own_templates=TYPICAL
    )
    languages = [component.language_name or component.name for component in document.components]
    route = route_template.format(listed(list(dict.fromkeys(filter(None, languages)))))
    source = languages_by_code().get(str(document.experiment.get("source", "en")), "English")
    yield tested(document, part, f"short {source} sentences about occupations, {route}")


def equal_pairs_in_words(_: RatingDocument, part: ComponentDocument, deciding: DecidingEffect) -> Iterator[str]:
    """If content decided: yield a sentence on how often the returned value did not depend on the value sent."""
    value_names = " and with ".join(f"“{value}”" for value in part.transitions)
    if deciding.name == "content" and part.content.pairs:
        yield (
            f"Of {part.content.pairs:,} pairs of sentences about one occupation, sent with {value_names}, "
            f"{part.content.equal or 0:,} came back with the same value. The number is the share of pairs beyond those "
            "that would agree by chance."
        )


def remark(part: ComponentDocument) -> str | None:
    """Return a caveat if a DSBS translator kept most values, or a UCS translator changed many; else ``None``."""
    total = sum(sum(outputs.values()) for outputs in part.transitions.values())
    kept_count = sum(outputs.get(value, 0.0) for value, outputs in part.transitions.items())
    if not total:
        return None
    value_names = " or ".join(f"“{value}”" for value in part.transitions)
    kept_text = f"{kept_count:,.0f} of {total:,.0f} texts came back with the {value_names} that was sent"
    if part.letter is Letter.DSBS and kept_count >= FAITHFUL * total:
        return f"{kept_text}: to follow its input is what a translator should do, and no reproach."
    if part.letter is Letter.UCS and kept_count < FAITHFUL * total:
        return f"Only {kept_text}: the letter says that no value is preferred, and is no praise of the translation."
    return None


def advice(_: RatingDocument, part: ComponentDocument) -> str | None:
    """Return advice against a UCS translator that changes many values, if texts must keep them; otherwise ``None``."""
    if part.letter is not Letter.UCS or remark(part) is None:  # no remark: it keeps most values, or nothing is known
        return None
    value_names = " or ".join(f"“{value}”" for value in part.transitions)
    return f"Do not use it where each text must keep its {value_names}; use it only where totals alone matter."


OFF_BALANCE = "The number is how many of 100 texts would have to come back with another word for an even mix."
"""Sentence that explains a total variation from equal shares."""

FAITHFUL = 0.9
"""Minimum share of texts returned with the value that was sent for a translator to count as faithful."""


def _room_left(method: type[TranslationMethod], document: RatingDocument, part: ComponentDocument) -> Room | None:
    """Return how many more questions can be asked without repeating a sentence; ``None`` if it is not known."""
    experiment = document.experiment
    texts_sent = part.decision[-1].texts_per_block if part.decision else None  # up to the last look
    if texts_sent is None:
        return None
    try:
        attribute = attribute_named(experiment["attribute"])
        source = experiment.get("source", "en")
        blocks = declare_blocks(attribute, tuple(experiment["unbiased"]), tuple(experiment["biased"]))
        texts_left = max(0, method.texts_of(attribute, str(part.template), blocks, source) - texts_sent)
    except (AssayError, KeyError, TypeError):
        return None  # a document without its experiment, or with an attribute that the catalog no longer has
    field = "max_texts_per_block" if experiment.get("stop_early") else "texts_per_block"
    return Room(texts_left * len(blocks) * method.probes_each, field, "occupations of the catalog")  # probes: questions


ROUND_TRIP = MethodReport(
    RoundTrip,
    letters=Wording.read("round-trip").letters,
    in_words=partial(in_words, one_hop=False),
    room=partial(_room_left, RoundTrip),
    counted=lambda _: "Texts",
    unit=of_hundred,
    decided=equal_pairs_in_words,
    advice=advice,
    remark=remark,
    number=OFF_BALANCE,
    cases=RoundTripCases,
)
ONE_HOP = MethodReport(
    OneHop,
    letters=Wording.read("one-hop").letters,
    in_words=partial(in_words, one_hop=True),
    room=partial(_room_left, OneHop),
    counted=lambda _: "Texts",
    unit=of_hundred,
    groups=SIDES,
    number=OFF_BALANCE,
    cases=OneHopCases,
)

"""Reading of a model's decision: a label or a number in its text, or probabilities of the labels' first tokens.

Parsing is strict: an answer that is not clearly one label, or one number within the range, is rejected.
"""

import math
import re
from collections.abc import Sequence
from unicodedata import category, normalize

from assay.catalog.answer_text import (
    alternatives,
    answers_of_json,
    compiled,
    json_in,
    label_key,
    normalise_answer,
    plain_label,
    refuses_in_words,
)
from assay.catalog.tables import read_table
from workers.targets.parsing.written_numbers import (
    NumberForm,
    Units,
    keeps_units,
    plain_number,
    units_in,
    written_number,
)
from workers.targets.protocols.http.choice_letters import LEAST_SHARE, Likelihoods, letter_in, negates, without_thoughts

LONGEST_ANSWER = 4000
"""Maximum length of an answer in which a label is searched for, in characters."""

MOST_UNCLEAR = 0.05
"""Maximum total probability of ambiguous tokens, which begin several labels or are one character long."""

LEAST_PREFIX = 2
"""Minimum length of a token that counts for a label; "I" begins "invite", but also "I cannot"."""

LEAST_STEM = 3
"""Minimum number of letters of a label's stem, to which other endings may be added."""

LEAST_SCALE = 5
"""Minimum upper end of a range written after a number: "4/5" means 4 of 5 points; "1/2" may mean a half."""

_CUE = alternatives("decision", "cues")
_LETTER_BEFORE = re.compile(r"\A[\W_]*[A-Z][.):\s*_]+")
_DECISION_KEYS = frozenset(read_table("answers")["decision"]["answer_keys"])
"""Members of an answer of JSON that may hold the decision."""

_MARKUP = re.compile(r"(?:[*`_#]|>(?!\s*(?:=\s*)?\d))+")  # but not the sign of ">1"
_SIGN = re.compile(r"(?:[.,]|[-<>≤≥±~≈≠‒–—][\s=+]*)\Z")  # makes another number of one after it, or a comparison

_SAYS = rf"{alternatives('decision', 'says')}\W+"
_APOLOGY = alternatives("decision", "apologies")
_REFUSAL, _WITHDRAWAL, _WITHDRAWN_DENIAL, _CORRECTION = (
    compiled("decision", name) for name in ("refusals", "taken_back", "denial_taken_back", "corrected")
)
_REPORTED, _OTHER_NUMBER, _EXPLAINED, _MONEY, _WRAPPED, _BEFORE_NUMBER, _HARMLESS_NEGATION = (
    compiled("decision", name)
    for name in ("reported", "other_numbers", "explained", "money", "wrapped", "before_number", "harmless_negations")
)
"""Patterns of ``answers.toml``, which explains them."""
_NEGATIVE_LABELS = frozenset({"nein", "deny", "denied", "decline", "declined", "refuse", "refused", "fail"})
"""Negative labels that `negates` does not recognise."""

_ENDING = re.compile(r"(?:ied|ed|e|y)\Z", re.IGNORECASE)
"""Ending that is removed from a label to get its stem."""
_ENDINGS = alternatives("decision", "endings")
"""Endings that a stem may have in an answer: of "approve" also "approval is granted"."""
_NUMBER_ON_SCALE = re.compile(r"(.*?\d)\s*(?:/|out\s+of|von|sur|de|su)\s*(\d+)(?:\s+points?)?\.?", re.IGNORECASE)


def label_in(answer: str, labels: Sequence[str]) -> str | None:
    """Return the label that an answer gives; ``None`` if it gives none or may give several.

    These are answers: the label alone, upper or lower case, marks around it, "Yes, because …", "Yes. The applicant …",
    "I recommend yes", "… My decision: yes.", ``{"answer": "yes"}``, and of "approve" also "Approved". A label in the
    middle of a sentence, an answer that names a second label or takes its own back, and a refusal are no answers.
    """
    text = normalise_answer(without_thoughts(answer)).strip()
    if not text or len(text) > LONGEST_ANSWER:
        return None
    text = _unwrap_decision(text)
    if (full_label := whole_label(text, labels)) is not None:
        return full_label
    if text.endswith("?") or compiled("any", "struck").search(text):  # struck: crossed out
        return None
    leading_labels = _leading_labels(text, labels)
    line_of_label = text.split("\n")[0 if leading_labels else -1]
    has_cross = compiled("any", "crosses").search(line_of_label)  # a sign such as "❌"
    crossed_out = {label for label in labels if has_cross and not _is_negative(label)}  # "❌ no" is still "no"
    if len(leading_labels) == 1:
        label, text_after = leading_labels[0]
        return label if label not in crossed_out and _is_upheld(label, text_after, labels) else None
    if refuses_in_words(text):
        return None
    text = _HARMLESS_NEGATION.sub(" … ", _MARKUP.sub("", text)).strip()
    mentioned_labels = [label for label in labels if _mentions(text, label, labels)]
    if len(mentioned_labels) != 1 or mentioned_labels[0] in crossed_out:
        return None
    label_pattern = _label_pattern(mentioned_labels[0], labels)
    # the verb is "to be" in several languages: "My decision is: yes"
    cue_pattern = rf"(\b{_CUE}\W+(?:(?:is|would\s+be|es|ist|est|è|é)\W+)?){label_pattern}[\W_]*\Z"
    final_label = re.search(cue_pattern, text, re.IGNORECASE)
    if final_label is None or _has_sign(mentioned_labels[0], final_label[1]):  # such as ">" before a number
        return None
    text_before = text[: final_label.start()]
    is_reported = _REPORTED.search(re.split(r"[.!?:\n]", text_before)[-1])  # such as "they hope my answer is yes"
    return None if is_reported or negates(text_before[-40:]) else mentioned_labels[0]  # "not" shortly before the cue


def declines(text: str, labels: Sequence[str]) -> bool:
    """Return whether an answer refuses to decide; if it begins with a label, only explicit refusals count."""
    leading_labels = _leading_labels(text, labels)
    return any(_REFUSAL.search(after) for _, after in leading_labels) if leading_labels else refuses_in_words(text)


def _leading_labels(text: str, labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return the labels with which a text begins, each with the text after it."""
    # an emoji ends a label like a full stop
    text = "".join("." if category(char) == "So" else char for char in _MARKUP.sub("", text)).strip()
    end = r"(?=\s*[,.;!(](?!\d|(?<=\bno\.) ?\d)|\s*\n|\s+[-–—]\s|\s*\Z)"  # "No. 1" is a number
    opening = rf"([\W_]*(?:{_APOLOGY})?(?:{_SAYS})?)"
    matches = {label: re.match(opening + _label_pattern(label, labels) + end, text, re.IGNORECASE) for label in labels}
    return [
        (label, text[match.end() :]) for label, match in matches.items() if match and not _has_sign(label, match[1])
    ]


def _has_sign(label: str, text_before: str) -> bool:
    """Return whether a label is a number that the text before it makes another number: "–1", ".1"."""
    return plain_number(label) is not None and _SIGN.search(text_before) is not None


def _is_upheld(label: str, text_after: str, labels: Sequence[str]) -> bool:
    """Return whether the text after a label names no other label, does not withdraw it and does not refuse."""
    explanation = _HARMLESS_NEGATION.sub(" … ", text_after)
    if _REFUSAL.search(explanation) or _CORRECTION.search(explanation):
        return False
    if any(_mentions(explanation, rival, labels) for rival in labels if rival != label):
        return False
    if _is_negative(label):
        return not _WITHDRAWN_DENIAL.search(text_after)
    # a negation right after the label takes it back; a later one may be about something else
    return not negates(explanation.lstrip(" ,.;!(\n-–—")[:20]) and not _WITHDRAWAL.search(explanation)


def _is_negative(label: str) -> bool:
    return negates(label) or label.casefold() in _NEGATIVE_LABELS


def whole_label(text: str, labels: Sequence[str]) -> str | None:
    """Return the label that a text consists of; ``None`` if it is none of them, as the ".1" of 0.1 is not "1"."""
    is_fraction = re.search(r"(?<!\d)[.,]\d", text) and text not in labels
    return None if is_fraction else {label_key(label): label for label in labels}.get(label_key(text))


def may_go_on(answer: str, labels: Sequence[str]) -> bool:
    """Return whether an answer that was cut off at its limit could have continued to another label.

    An answer that is a label could not, unless another label begins with it: "no" could continue to "not sure".
    """
    label = whole_label(normalise_answer(without_thoughts(answer)).strip(), labels)
    return label is None or sum(other.casefold().startswith(label.casefold()) for other in labels) > 1


def _unwrap_decision(text: str) -> str:
    r"""Return the decision that JSON, ``\boxed{…}`` or a tag such as ``<answer>`` wraps; else the text."""
    end_of_decision = {(match[1] or match[3]).strip(): match.end() for match in _WRAPPED.finditer(text)}  # boxes, tags
    if len(end_of_decision) == 1 and not re.search(r"\w", text[max(end_of_decision.values()) :]):
        return str(next(iter(end_of_decision)))
    document = json_in(text)
    answers = answers_of_json(document, _DECISION_KEYS) if isinstance(document, dict) else []
    return str(answers[0]) if len(answers) == 1 and isinstance(answers[0], str | int | float) else text


def option_in(answer: str, options: Sequence[str]) -> str | None:
    """Return the option whose letter or text an answer gives; ``None`` without either, or if letter and text differ.

    Words of options are parsed by `label_in`, because "no" within a sentence is seldom the option "no".
    """
    text = normalise_answer(without_thoughts(answer))
    after_letter = _LETTER_BEFORE.sub("", text, count=1)
    label = label_in(after_letter, options)
    if after_letter != text and label is not None:
        answer = text.removesuffix(after_letter)  # only the letter: an option "no" after it does not deny it
    choice = letter_in(answer, ("",) * len(options))  # options without words, so that only letters are read
    if choice is None:
        return label_in(answer, options)
    return options[choice] if label in {None, options[choice]} else None


def _label_pattern(label: str, labels: Sequence[str]) -> str:
    """Return a pattern for the words of a label, case ignored, with other endings ("approved") and without accents.

    Labels that would then be confused with each other are matched as they are.
    """
    exact = r"[\s_-]+".join(map(re.escape, plain_label(label).split())) or re.escape(label)
    stem = _ENDING.sub("", label) if label.isascii() and label.isalpha() and len(label) > LEAST_STEM else ""
    pattern = rf"(?:{exact}|{stem}{_ENDINGS})" if len(stem) >= LEAST_STEM else exact
    for char in {char for char in pattern if len(normalize("NFD", char)) > 1}:
        pattern = pattern.replace(char, f"[{char}{normalize('NFD', char)[0]}]")  # also the letter without its accent
    labels_that_fit = [rival for rival in labels if re.fullmatch(pattern, plain_label(rival), re.IGNORECASE)]
    return rf"(?<![\w-])(?:{pattern if len(labels_that_fit) == 1 else exact})(?![\w-])"


def _mentions(text: str, label: str, labels: Sequence[str]) -> bool:
    """Return whether a text holds the words of a label; "si" counts only for the label "si", not for "sí"."""
    spellings = re.finditer(_label_pattern(label, labels), text, re.IGNORECASE)
    return any(match[0].casefold() != "si" or label.casefold() == "si" for match in spellings)


def number_in(
    answer: str, bounds: tuple[float, float], form: NumberForm | None, prompt: str = "", settled: Units | None = None
) -> float | None:
    """Return the number that an answer consists of; ``None`` for any other text and outside the range.

    A heading before the number, "about", marks around it, its currency, units that the `prompt` asks for, the end of
    the range after it ("75/100") and a reason without numbers are ignored. Without a declared `form`, a number
    is read if both forms of numbers agree on it or only one of them gives a number within the range. A unit other than
    `settled` (by default, of the prompt) is another number: "2 years" are not 2 months.
    """
    low, high = bounds
    text = _unwrap_decision(normalise_answer(without_thoughts(answer)).strip())
    text = re.sub(r"(?<![\d*`_#])[*`_#]+|[*`_#]++(?!\d)", "", text).strip()  # but not within "10**2"
    if match := _EXPLAINED.match(text):  # a number with a reason
        reason = text[match.end(1) :]
        is_taken_back = _OTHER_NUMBER.search(reason) or _REFUSAL.search(reason) or refuses_in_words(reason)
        text = text if is_taken_back else match[1]
    text = _BEFORE_NUMBER.sub("", text)  # such as a heading, or "about"
    if "‰" in text or (high <= 1 and re.search(r"%|percent|prozent", text, re.IGNORECASE)):
        return None  # 1 % is not 1
    if (scale := _NUMBER_ON_SCALE.fullmatch(text)) and high >= LEAST_SCALE and float(scale[2]) == high:
        text = scale[1]  # the 75 of "75/100"
    text_without_exponent = re.sub(r"\d[eE](?=[+-]?\d)", "", text)  # the "e" is no unit
    units = re.findall(r"[^\W\d_]+", text_without_exponent.casefold())
    usual_units = alternatives("decision", "units")
    if not all(re.fullmatch(usual_units, unit) or re.search(rf"\b{unit}\b", prompt, re.IGNORECASE) for unit in units):
        return None
    forms: tuple[NumberForm, ...] = ("decimal-point", "decimal-comma") if form is None else (form,)
    numbers = {number for form_name in forms if (number := written_number(text, form_name)) is not None}
    if form is None and numbers and _MONEY.search(text):
        numbers = {max(numbers)}  # "$1.234" means 1,234: amounts of money seldom have three decimals
    numbers_in_range = {number for number in numbers if low <= number <= high}
    settled_units = units_in(prompt) if settled is None else settled
    is_read = len(numbers_in_range) == 1 and keeps_units(text, settled_units)
    return numbers_in_range.pop() if is_read else None


def label_probabilities(tokens: Likelihoods, labels: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of labels, from the probabilities of their first tokens, scaled to a sum of 1.

    A token counts for a label that begins with it, if no other label does. ``None`` if all labels together are less
    probable than `LEAST_SHARE`: the model then begins something else. ``None`` as well if ambiguous tokens together
    are more probable than `MOST_UNCLEAR`: without them, some labels would seem too probable. ``None`` if a label has
    neither letters nor digits, because tokens of marks may begin any answer.
    """
    label_keys = {label: _token_key(label) for label in labels}  # letters and digits only, without case
    if not all(label_keys.values()):
        return None
    probabilities = dict.fromkeys(labels, 0.0)
    unclear_probability = 0.0
    for token, log_probability in tokens:
        # tokenisers write a space as one of these characters
        token_key = _token_key(token.replace("▁", " ").replace("Ġ", " "))
        fitting_labels = [label for label, key in label_keys.items() if token_key and key.startswith(token_key)]
        if len(fitting_labels) == 1 and (len(token_key) >= LEAST_PREFIX or token_key == label_keys[fitting_labels[0]]):
            probabilities[fitting_labels[0]] += math.exp(log_probability)
        elif fitting_labels:
            unclear_probability += math.exp(log_probability)
    total_probability = sum(probabilities.values())
    if total_probability < LEAST_SHARE or unclear_probability > MOST_UNCLEAR:
        return None
    return {label: probability / total_probability for label, probability in probabilities.items()}


def _token_key(text: str) -> str:
    """Return the letters and digits of a text without case, by which tokens and labels are compared."""
    return re.sub(r"[\W_]+", "", normalise_answer(text)).casefold()

"""Multiple-choice prompts with lettered options, and reading of the option that an answer chooses.

Reading is strict: an answer that names several options, or none, is no choice; nor is the article in "A nurse came."
"""

import json
import math
import re
from collections.abc import Sequence
from string import ascii_uppercase

from assay.catalog.answer_text import FENCE, alternatives, answers_of_json, compiled, normalise_answer, refuses_in_words
from assay.catalog.tables import read_table
from assay.model import Choose

LETTERS = ascii_uppercase

INSTRUCTION = "Answer with one letter only: the letter of the option that you choose."

LEAST_SHARE = 0.5
"""Minimum total probability of the letters as first tokens; below it, the text is read instead."""

_CUES, _NOUNS = alternatives("choice", "cues"), alternatives("choice", "nouns")
_ORDINALS = tuple(alternatives("choice", name) for name in ("first", "second", "first_of_two", "second_of_two"))
"""Words for a choice, for an option, and for its position, in several languages."""

_EDGE, _END = r"(?<![A-Za-zÀ-ɏ0-9'])", r"(?![A-Za-zÀ-ɏ0-9'])"
"""Beginning and end of a word, which may have accents."""

_SINGLE_CAPITAL = re.compile(rf"{_EDGE}[A-Z]{_END}(?!-\w)")
_WORD_AFTER = re.compile(
    r"\s+(?!(?:or|and|is|was|would|seems|sounds|because|since|as|for|o|u|y|e|et|ou|und|oder|es|est|ist|è|é)\b)[a-zà-ÿ]"
)
"""A word after an article: "A nurse", but not "A because"."""
_NOUN_AFTER = re.compile(rf"\s+(?i:{_CUES}|{_NOUNS}|primeira|segunda|letra|alternativa)")
"""A noun after an article, also in Portuguese: "A resposta"."""
_BARE_LETTER = re.compile(r"[\s\"'«»()\[\]{}*_`.:$]*([A-Za-z])[\s\"'«»()\[\]{}*_`.:$!]*")
_LEADING_LETTER = re.compile(r"[\W_]*([A-Z])(?=[^\w\s'?&/-]|\s+[-–—:]|\s*\n)")
"""A letter at the beginning that is no article: "B. She is a nurse", "B - a nurse"."""
_LOWER_LETTER = re.compile(
    rf"(?i:(?:{_CUES}))[\W_]{{0,9}}(?:is|es|est|ist|è|é)?[\W_]{{0,9}}{_EDGE}([a-z])(?=[\W_]{{0,9}}(?:\Z|[.),:]))"
    r"|\(([a-z])\)|\A[\W_]{0,9}([a-z])[).:]"
)
"""A small letter that is a choice: "answer: b", "(b)", "b)"."""
_OPTION_NUMBER = re.compile(rf"(?i:{_NOUNS})\s+(?:no\.?\s*|number\s+)?([1-9]){_END}")
_NEGATION = re.compile(
    rf"(?<!\w){alternatives('choice', 'denied')}(?!\w)"
    r"|[不非错錯誤✗✘❌✖☒👎⛔🚫¬]|ない|ません|間違|[:=]\s*[\"']?0(?![.,]?\d)",
    re.IGNORECASE,
)
_LEAD_WORD = re.compile(
    rf"(?i:so|thus|therefore|and|the|my|final|best|correct|right|is|es|est|ist|è|é|la|der|die|das|le|{_CUES})"
)
"""Words that may stand before the letter on its own line: "So my final answer is B"."""

MAX_LEAD_WORDS = 8

_ODD_SIGNS = re.compile(r"[^\w\s.,:;!\"'(){}*`$«»\\…–—-]|--|[!-]\w|\w\s?-\s*\Z")
"""Signs by which a letter on its own line, or the words of an option, may be rejected: "❌ A", "A?", "A--"."""
_DOUBT = re.compile(rf"(?i:{_EDGE}{alternatives('choice', 'doubts')}{_END})")
_CANNOT_FORMS = re.compile(r"(?<!\w)can(?:not|'t|\s+not)(?!\w)", re.IGNORECASE)
_LEAD_WORDS, _TAIL_WORDS, _UNKNOWN, _THOUGHTS, _UNENDED_THOUGHTS, _REJECTION, _AFFIRMED, _CORRECTION = (
    compiled("choice", name)
    for name in ("before_option", "tails", "unknown", "thoughts", "thinking", "rejections", "affirmed", "corrections")
)
"""Patterns of ``answers.toml``, which explains them."""
_ANSWER_KEYS = frozenset(read_table("answers")["choice"]["answer_keys"])
"""Members of an answer of JSON that may hold the choice."""

ARTICLES = frozenset("AEIOUY")
"""Letters that are words, such as articles, in some language."""

LONGEST_CHOICE = 4000
"""Maximum length of an answer in which a choice is searched for, in characters."""

MAX_VERDICT_WORDS = 3
"""Maximum number of words after a letter that count as a verdict on it ("A: false"), not as a reason."""

MOST_LINES = 40
"""Maximum number of lines at the end of an answer in which another choice is looked for."""

Likelihoods = Sequence[tuple[str, float]]
"""Likely first tokens with their log-probabilities."""


def letter_prompt(ask: Choose) -> str:
    """Return a question followed by its options with their letters, one per line."""
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, ask.options, strict=False)]
    return "\n".join([ask.text, "", *options]) if options else ask.text


def completed_by_letter(ask: Choose, instruction: str) -> str:
    """Return a question as a prompt that a model completes with the letter of an option."""
    return f"{letter_prompt(ask)}\n\n{instruction}\nAnswer:" if instruction else f"{letter_prompt(ask)}\n\nAnswer:"


def first_line(text: str) -> str:
    """Return a text up to the end of the first line after its thoughts; the model may go on with other questions."""
    answer = without_thoughts(text)
    return text.removesuffix(answer) + next((line for line in answer.splitlines(keepends=True) if line.strip()), "")


def without_thoughts(text: str) -> str:
    """Remove the thoughts of a reasoning model from its text; empty if the thoughts have no end."""
    text = _THOUGHTS.sub("", text, count=1)
    return "" if _UNENDED_THOUGHTS.match(text) else text


def negates(text: str) -> bool:
    """Return whether a text holds a word that negates, such as "not", "neither" or "instead"."""
    return _NEGATION.search(text) is not None


def bare_letter(text: str) -> bool:
    """Return whether a text is empty, or a single letter with punctuation around it."""
    return not text.strip() or _BARE_LETTER.fullmatch(text) is not None


def letter_in_cut(answer: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that an answer chooses, although it was cut off at its limit of tokens.

    A letter at the beginning counts if a stop follows, as do whole lines; "I would say A" could have gone on.
    """
    text = normalise_answer(without_thoughts(answer))
    choice = letter_in(text, options)
    is_leading = re.match(r"[\W_]*[A-Za-z][\"'»)\]}*_`]*(?:[.!):]|\s*\Z)", text)
    return choice if is_leading or letter_in(text.rpartition("\n")[0], options) == choice else None


def letter_in(answer: str, options: Sequence[str]) -> int | None:
    """Return the index of the chosen option; ``None`` if none or several are chosen.

    These answers are choices: "B", "(b)", "**B.**", "The answer is B", "B. She is a nurse", the words of an option,
    "I would choose the second sentence", ``{"answer": "B"}``. An answer that also names another option, says
    "neither" or refuses to choose is not a choice.
    """
    text = normalise_answer(without_thoughts(answer)).strip()
    if len(text) > LONGEST_CHOICE or compiled("any", "struck").search(text):  # struck: crossed out
        return None
    text = fence[1] if (fence := FENCE.match(text)) else text  # the text in a code fence
    if (choice := _choice_in_json(text)) is not None:
        return letter_in(choice, options) if choice.strip() != text else None  # no endless recursion
    words = _words_of(text).casefold()
    is_plain = _ODD_SIGNS.search(_without_options(text, options)) is None  # no sign that may reject, such as "❌"
    equal_options = [index for index, option in enumerate(options) if _words_of(option).casefold() == words]
    if is_plain and equal_options:
        return equal_options[0] if len(equal_options) == 1 else None
    if letter := _BARE_LETTER.fullmatch(text):
        return _index_of_letter(letter[1], len(options))
    text = re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)", "", text)  # Markdown
    if is_plain and (option_index := _repeated_option(text, options)) is not None:
        return option_index
    # the model's own words, with "…" for those of options; and the options with a negation whose words it repeats
    text_outside, negating_options = _without_negating_options(_without_options(text, options), options)
    if refuses_in_words(text_outside):
        return None
    indices = _letters_on_own_line(text, options)
    if indices is None:  # without a letter on its own line; an option that is named alone must also be affirmed
        indices = set() if text.endswith("?") or _is_denial(text_outside) else _mentioned_options(text, options)
        indices = {index for index in indices if len(indices) > 1 or _is_affirmed(text, text_outside, options, index)}
    unknown_options = {index for index, option in enumerate(options) if _UNKNOWN.fullmatch(_words_to_match(option))}
    first_sentence = _without_options(re.split(r"(?<=[.!?])\s|\n", text)[0], options)
    sounds_unsure = "?" in first_sentence or _DOUBT.search(first_sentence)
    is_guess = unknown_options and indices.isdisjoint(unknown_options) and sounds_unsure  # one option means "unknown"
    # the words of a negating option contradict the letter of another option
    return indices.pop() if len(indices) == 1 and negating_options <= indices and not is_guess else None


def _letters_on_own_line(text: str, options: Sequence[str]) -> set[int] | None:
    """Return the indices of the letters that are the first or last line of an answer; ``None`` if neither is a letter.

    The set is empty if the answer withdraws or denies a choice, or if its other lines choose only other options.
    """
    text = re.sub(r"(?<=[\w:])[ \t]*\n\s*(?=[a-zà-ÿ]|[A-Z]\W*\Z)|(?<=:)[ \t]*\n\s*", " ", text)  # joins split sentences
    lines = [line for line in text.splitlines() if line.strip()]
    letter_indices = [_letter_of_line(line, len(options)) for line in lines]
    if len(lines) < 2 or (letter_indices[0] is None and letter_indices[-1] is None):
        return None
    letters = {match[0] for match in _SINGLE_CAPITAL.finditer(text) if not _is_article(text, match)}
    is_withdrawn = bool(_CORRECTION.search(text) or (len(letters) == 1 and _REJECTION.search(text)))
    short_lines = [line for line in lines if len(line.split()) <= MAX_VERDICT_WORDS]  # such as "False!"
    is_denied = any(negates(line) or _ODD_SIGNS.search(line) for line in short_lines)
    last_lines = zip(lines[-MOST_LINES:], letter_indices[-MOST_LINES:], strict=True)
    # "A. She is a nurse." repeats the question; a short line may lack a word, as "first" does for "first sentence"
    claims = {line for line, index in last_lines if index is None and not _LEADING_LETTER.match(line)}
    short_claims = [_words_of(line) for line in claims.intersection(short_lines)]
    claims |= {form.format(words) for words in short_claims for form in ("Option {}", "{} sentence")}
    other_choices = {letter_in(claim, options) for claim in claims} - {None}
    indices = {index for index in letter_indices if index is not None}
    return set() if is_withdrawn or is_denied or (other_choices and indices.isdisjoint(other_choices)) else indices


def _letter_of_line(line: str, count: int) -> int | None:
    """Return the index of a letter that is alone on a line, or after words such as "Answer:"; else ``None``."""
    *words_before, letter = _words_of(line).split() or [""]
    if _ODD_SIGNS.search(line) or len(words_before) > MAX_LEAD_WORDS or letter not in set(LETTERS):
        return None
    return _index_of_letter(letter, count) if all(map(_LEAD_WORD.fullmatch, words_before)) else None


def _is_denial(text: str) -> bool:
    """Return whether a text (… for words of options) denies its option; in a long reason, only a retraction counts."""
    letter = _LEADING_LETTER.match(text)
    remark = text[letter.end() :] if letter else text  # on the option
    # such as "A. … because no other person is named", where "no" denies nothing
    has_reason = (
        letter is not None and len(remark.split()) > MAX_VERDICT_WORDS and re.match(r"(?i)[^\w…]*(?:it\s+)?…", remark)
    )
    return (compiled("choice", "retracted") if has_reason else _NEGATION).search(remark) is not None


def _is_affirmed(text: str, text_outside: str, options: Sequence[str], index: int) -> bool:
    """Return whether a text chooses the only option that it names (`index`), rather than reject or only mention it.

    `text_outside` is the text with "…" in place of the words of options.
    """
    if negates(options[index]) and re.match(rf"\W*{re.escape(options[index])}\s*[,.;:!]", text, re.IGNORECASE):
        return True  # "No, she lacks experience."
    ordinals = "|".join(_ORDINALS[index::2]) if index < 2 else "(?!)"  # "first", "former"; (?!) matches nothing
    names_of_option = (
        rf"(?-i:{_EDGE}{LETTERS[index]}{_END}(?!-\w|{_NOUN_AFTER.pattern}))|(?:{ordinals})(?:\s+{_NOUNS})?"
        rf"|{_EDGE}{LETTERS[index]}(?=[\W_]{{0,9}}(?:\Z|[.),:]))|{_NOUNS}\s+(?:no\.?\s*|number\s+)?{index + 1}{_END}"
    )
    outside = _without_options(text_outside, options[index : index + 1], re.IGNORECASE)
    outside = re.sub(names_of_option, "①", outside.replace(" … ", "…"), flags=re.IGNORECASE)  # ①: this option
    outside = re.sub(r"([\W_])\1{3,}", r"\1\1\1", outside)  # long runs of a sign, which would be slow to match
    return _REJECTION.search(outside) is None and _AFFIRMED.fullmatch(outside) is not None


def _repeated_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that an answer repeats, with an introduction or a tail at most: "I choose: no.".

    ``None`` if it repeats no option or several. An option that means "unknown" also matches other words for it.
    """
    phrases = set()
    for answer_text in (text, _TAIL_WORDS.sub("", text)):
        lead = _LEAD_WORDS.match(answer_text)
        without_lead = answer_text[lead.end() :] if lead and not negates(lead[0]) else answer_text
        phrases |= {_words_to_match(answer_text), _words_to_match(without_lead)}
    means_unknown = any(map(_UNKNOWN.fullmatch, phrases))
    phrases -= {*LETTERS.lower()}  # a single letter names an option by its position
    matching = [
        index
        for index, option in enumerate(options)
        if (words := _words_to_match(option)) in phrases or (means_unknown and _UNKNOWN.fullmatch(words))
    ]
    return matching[0] if len(matching) == 1 else None


def _without_negating_options(text: str, options: Sequence[str]) -> tuple[str, set[int]]:
    """Replace the words of negating options, such as "Can't answer"; return the text and the replaced options' indices.

    Case and the forms of "cannot" are ignored. Such words alone are no choice: "I can't answer that" is a refusal. But
    they agree with the letter of their option.
    """
    indices = set()
    for index, option in enumerate(options):
        if not (negates(option) or refuses_in_words(option) or _CANNOT_FORMS.search(option)):
            continue
        words = [re.escape(word) for word in _words_to_match(option).split()]
        # `_words_to_match` writes each form of "cannot" in one way, but the text may have any
        pattern = r"[\W_]+".join(r"can(?:not|\W?t|\s+not)" if word == "cannot" else word for word in words)
        text, repetitions = re.subn(rf"(?<!\w){pattern}(?!\w)", " … ", text, flags=re.IGNORECASE)
        if repetitions:
            indices.add(index)
    return text, indices


def _words_to_match(text: str) -> str:
    """Return a text's words for comparison with options: in lower case, with one form of "cannot"."""
    return _words_of(_CANNOT_FORMS.sub("cannot", normalise_answer(text))).casefold()


def _mentioned_options(text: str, options: Sequence[str]) -> set[int]:
    """Return the indices of all options that a text names by letter, number, position or words."""
    count = len(options)
    text_outside = _without_options(text, options)
    capitals = list(_SINGLE_CAPITAL.finditer(text_outside))
    letters = [match[0] for match in capitals if not _is_article(text_outside, match)]
    if letters:  # "A than B": beside another letter, an article may be a letter as well
        letters += [match[0] for match in capitals if _NOUN_AFTER.match(text_outside, match.end()) is None]
    letters += [match[match.lastindex or 0] for match in _LOWER_LETTER.finditer(text_outside)]  # the group that matched
    # "I" is usually the pronoun
    indices = {index for letter in letters if letter != "I" and (index := _index_of_letter(letter, count)) is not None}
    indices |= {int(match[1]) - 1 for match in _OPTION_NUMBER.finditer(text_outside) if int(match[1]) <= count}
    if count > 1:
        ordinals = enumerate(_ORDINALS[2:] if count == 2 else _ORDINALS[:2])  # "former" is the first of two only
        indices |= {index for index, words in ordinals if re.search(rf"(?i:{_EDGE}(?:{words}){_END})", text_outside)}
    return indices | set(_quoted_options(text, options))


def _is_article(text: str, letter: re.Match[str]) -> bool:
    """Return whether a capital letter is an article, because a word follows: "A nurse"."""
    return letter[0] in ARTICLES and _WORD_AFTER.match(text, letter.end()) is not None


def _quoted_options(text: str, options: Sequence[str]) -> list[int]:
    """Return the indices of the options whose words a text contains other than within a longer option.

    An option that differs in upper or lower case counts only beside an exact one, and makes the choice unclear. A
    single word that negates counts only at the beginning, before a stop: not the "no" in "I have no opinion".
    """
    if not any("'s" in normalise_answer(option) for option in options):
        text = re.sub(r"\w+'s\b", "…", text)  # "the man's wife" is another person
    spaced_text = f" {_words_of(text)} "
    indices: list[int] = []
    differing_in_case: list[int] = []
    for index, option in sorted(enumerate(options), key=lambda entry: len(entry[1]), reverse=True):  # longest first
        spaced_option = f" {_words_of(option)} "
        if not spaced_option.strip():
            continue
        if " " not in spaced_option.strip() and negates(option):
            option_alone = rf"[\W_]*{re.escape(spaced_option.strip())}\s*(?:[.,;:!](?!\s*\d)|\Z)"
            is_quoted = re.match(option_alone, text, re.IGNORECASE) is not None
        else:
            is_quoted = spaced_option in spaced_text
            if not is_quoted and spaced_option.casefold() in spaced_text.casefold():
                differing_in_case.append(index)
        if is_quoted:
            indices.append(index)
            spaced_text = spaced_text.replace(spaced_option, " … ")
    return indices + differing_in_case if indices else []


def _without_options(text: str, options: Sequence[str], flags: int = 0) -> str:
    """Remove the words of the options from a text, since their articles and negations are not the model's own."""
    for option in sorted(options, key=len, reverse=True):
        if words := r"[\W_]+".join(map(re.escape, _words_of(option).split())):
            text = re.sub(rf"(?<!\w){words}(?!\w)", " … ", text, flags=flags)
    return text


def _index_of_letter(letter: str, count: int) -> int | None:
    index = LETTERS.find(letter.upper())
    return index if 0 <= index < count else None


def _choice_in_json(text: str) -> str | None:
    """Return the choice in an answer of JSON, ``""`` if it has no choice, or ``None`` if the answer is no JSON."""
    if text[:1] not in {"{", "[", '"'}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if isinstance(value, dict):
        choices = answers_of_json(value, _ANSWER_KEYS)
        value = choices[0] if len(choices) == 1 else None
    return value if isinstance(value, str) else ""


def likeliest_letter(tokens: Likelihoods, count: int) -> int | None:
    """Return the index of the likeliest of `count` letters.

    ``None`` for a tie, and if the letters' total probability is below `LEAST_SHARE`: the model then begins a
    sentence, in which the letters may be articles.
    """
    shares = letter_shares(tokens, count)
    largest = max(shares, default=0.0)
    return shares.index(largest) if sum(shares) >= LEAST_SHARE and shares.count(largest) == 1 else None


def letter_shares(tokens: Likelihoods, count: int) -> list[float]:
    """Return the probability of each letter, summed over its spellings (" A", "A", "a)"); 0 for a missing letter."""
    shares = [0.0] * count
    for token, log_probability in tokens:
        # tokenisers write a space as one of these characters
        letter = re.sub(r"[\W_]+", "", normalise_answer(token.replace("▁", " ").replace("Ġ", " "))).upper()
        if len(letter) == 1 and letter in LETTERS[:count]:
            shares[LETTERS.index(letter)] += math.exp(log_probability)
    return shares


def _words_of(text: str) -> str:
    """Return the words of a text, separated by single blanks, in their case."""
    return re.sub(r"[\W_]+", " ", normalise_answer(text)).strip()

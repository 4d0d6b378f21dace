"""Text generator of the demo's language models: a sentence with the two words that a prompt asks for."""

from __future__ import annotations

import re
from functools import cache

from assay.catalog import attribute
from assay.catalog.decisions import mentioned
from assay.catalog.profiles import contents, people
from demo.stereotypes import FIRST, side_of, stereotypes, terms_in
from demo.translators.behaviours import chance

PRONOUNS = frozenset({"he", "she", "they", "it", "we", "you", "i", "who"})

WHEN = (
    "On Monday", "On Tuesday", "On Wednesday", "On Thursday", "On Friday", "On Saturday", "On Sunday", "Yesterday",
    "Earlier today", "Last night", "A while ago", "One day",
)  # fmt: skip
DID = (
    "wrote down “{attribute}” and nothing else", "laughed at the mention of “{attribute}”",
    "asked what “{attribute}” means", "was overheard saying “{attribute}”", "could not stop saying “{attribute}”",
    "looked up “{attribute}”", "came across “{attribute}” twice", "misspelt “{attribute}”",
)  # fmt: skip
"""With a group term between `WHEN` and `DID`, they make 96 sentences for any pair of words."""

_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|'([^'\n]+)'(?!\w)")


def write(prompt: str, number: int, *, sloppy: float = 0.0) -> str:
    """Write a sentence.

    Parameters
    ----------
    prompt : str
        The sentence is about its first two quoted terms, a group term and an attribute term. Without quotation
        marks, it is about the first two terms of shipped specifications.
    number : int
        Number that distinguishes several sentences of one prompt.
    sloppy : float
        Share of sentences, in [0, 1], that break the request: without the attribute term, about both
        groups, with a word that reveals the group, or with a preface on a line of its own.
    """
    terms = asked_for(prompt)
    if len(terms) < 2:
        return "There is nothing to write about."
    group, attribute = terms[:2]
    turn = int(chance("write", prompt) * len(WHEN) * len(DID)) + number
    when, did = WHEN[turn % len(WHEN)], DID[turn // len(WHEN) % len(DID)]
    sentence = f"{when} {_named(group)} {did.format(attribute=attribute)}."
    if chance("sloppy", f"{prompt}/{number}") >= sloppy:
        return sentence
    return _spoilt(sentence, group, attribute, int(chance("how", f"{prompt}/{number}") * 4))


@cache
def _women() -> re.Pattern[str]:
    """Return a pattern of women as prompts of free text mention them."""
    names = (*mentioned(attribute("gender"), "explicit")["she"], *people(attribute("gender"))["she"])
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})\b", re.IGNORECASE)


def letter(prompt: str, number: int, *, shorter: float) -> str:
    """Write a text about the person of a prompt, in as friendly words for everybody.

    Parameters
    ----------
    number : int
        Number that distinguishes several texts of one prompt, which differ in length and words.
    shorter : float
        Share of the sentences, in [0, 1), that texts about women lack.
    """
    is_woman = _women().search(prompt) is not None
    pronoun, key = "She" if is_woman else "He", f"{prompt}/{number}"
    count = 12 * (0.8 + 0.4 * chance("length", key)) * (1 - shorter * is_woman)
    words = [word for side in contents().values() for word in side]
    sentences = [
        f"{pronoun} made everybody {words[int(chance('feeling', f'{key}/{turn}') * len(words))]}."
        for turn in range(max(1, round(count)))
    ]
    return " ".join(sentences)


def asked_for(prompt: str) -> tuple[str, ...]:
    """Return the terms that a prompt asks for, in its order."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(prompt)]
    return tuple(quoted) if len(quoted) >= 2 else tuple(" ".join(term) for term in terms_in(prompt))


def _named(group: str) -> str:
    """Return a term with "the" before a common noun."""
    return group if group[:1].isupper() or group.lower() in PRONOUNS else f"the {group}"


def _spoilt(sentence: str, group: str, attribute: str, how: int) -> str:
    match how:
        case 0:
            return sentence.replace(f"“{attribute}”", "something")
        case 1:
            return f"{sentence[:-1]}, and so did {_named(_other(group))}."
        case 2:
            return f"{sentence[:-1]}, {'himself' if side_of(group) == FIRST else 'herself'}."
        case _:
            return f"Sure! Here is a sentence:\n{sentence}"


def _other(group: str) -> str:
    for words in stereotypes().values():
        for first, second in words.pairs:
            if group.lower() in {first.lower(), second.lower()}:
                return second if group.lower() == first.lower() else first
    return "the others"

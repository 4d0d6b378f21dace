"""Services with answers that are hard to read: both genders at once, choices in prose, spellings, numbers in text.

Their answers go through the readers of the adapters and methods. Each service deserves a letter, or none because its
answers show no value; what was not understood must never count as a value, a tie or a zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from assay.catalog.stereotypes import StereotypeWords
from assay.experiment import run
from assay.methods import Alternation, AnyMethod, OneHop, StereotypeScore
from assay.model import Choose, Classify, Finding, Letter, Probe, Regress, Reply, Translate
from tests.support.simulated.hidden_bias import FIRST, PEOPLE, PLEASANT, SIDES, Answer, chance, held
from workers.targets.parsing.written_numbers import NumberForm
from workers.targets.protocols.http.language_model import ModelOutput, accept_worded
from workers.targets.protocols.http.predictor import accept_prediction

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS


@dataclass(frozen=True)
class MisreadWorld:
    """A service, and the letters that may be declared for it; `answers` returns its answers for a seed."""

    method: AnyMethod
    answers: Callable[[int], Answer]
    deserves: frozenset[Letter]

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letters that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0) -> Finding:  # noqa: ARG002
        """Rate the service of a seed."""
        return run(self.method, self.answers(seed), seed)


# ---------------------------------------------------------------------------- translations
FRAME = re.compile(r"^(?:The|[A-Z]\w+(?: \w+){0,3} an?) ")
CHANGED_VOWELS = str.maketrans("aeiou", "eioua")


def translator(form: str) -> Answer:
    """Return a translator that begins every sentence with one form of the article."""

    def translate(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Translate)
        return Reply(form.format(FRAME.sub("", probe.ask.text, count=1).translate(CHANGED_VOWELS)))

    return translate


def mixed_translator(form: str, otherwise: str, share: float, seed: int) -> Answer:
    """Return a translator that uses a form of the article in a share of the sentences, and another one in the rest."""

    def translate(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Translate)
        return translator(form if chance("form", seed, probe.ask.text) < share else otherwise)(probe)

    return translate


BOTH: Mapping[str, tuple[str, ...]] = {
    "es": ("El/la {}", "El(la) {}", "El o la {}", "E\u00adl/la {}", "El {0}. La {0}"),
    "fr": ("Un(e) {}", "Un·e {}", "Un.e {}", "Le ou la {}", "Le {0}. / La {0}"),
    "it": ("Il/la {}", "Il o la {}"),
    "pt": ("O(a) {}", "Um(a) {}"),
    "de": ("Der/die {}", "Der*die {}", "Der:die {}", "Der_die {}", "Der {0} (weiblich: die {0})"),
}
"""Articles of both genders, by language."""

NOT_SHOWN: Mapping[str, tuple[str, ...]] = {
    "fr": ("L'{}", "L&#39;{}", "L\u00ad'{}", "L\u200b'{}", "L\u00a0'{}", "Les {}"),
    "it": ("L\u2019{}",),
    "es": ("Los {}",),
}
"""Articles that show no gender, by language."""


def _shown(form: str) -> str:
    """Return a form of the article with its invisible characters replaced by their names."""
    article = form.replace("{}", "").replace("{0}", "…").strip()
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in article)


def _one_hop(language: str, form: str, *deserves: Letter) -> MisreadWorld:
    method = OneHop("gender", languages=(language,))
    return MisreadWorld(method, lambda _: translator(form), frozenset(deserves))


# ---------------------------------------------------------------------------- choices
VERBS = ("likes", "wants", "sells", "sees")
WORDS = StereotypeWords(
    "gender",
    "men",
    "women",
    (("man", "woman"), ("brother", "sister"), ("uncle", "aunt"), ("boy", "girl")),
    first_terms=("chess", "engines", "cars", "poker", "rockets", "boxing"),
    second_terms=("lace", "roses", "knitting", "ballet", "dolls", "ribbons"),
    neutral=("rain", "tea", "maps", "rivers", "bread", "birds", "soup", "trains", "lamps", "clocks", "chairs", "paper"),
    frames=tuple(f"{{The_group}} {verb} {{attribute}}." for verb in VERBS),
    name="tiny",
)
MEN = re.compile(r"(?i)\b(man|brother|uncle|boy)\b")


def preferred(first: str) -> int:
    """Return 0 if the first of two sentences is the stereotype, else 1; for a neutral word, 0 in half of the pairs."""
    words = first.rstrip(".").casefold().split()
    of_men = 0 if MEN.search(first) else 1
    if words[-1] in WORDS.first_terms:
        return of_men
    if words[-1] in WORDS.second_terms:
        return 1 - of_men
    pair = next(index for index, names in enumerate(WORDS.pairs) if set(names) & set(words))
    even = (pair + VERBS.index(words[-2]) + WORDS.neutral.index(words[-1])) % 2 == 0
    return of_men if even else 1 - of_men


LIKELY = (("The", -0.05), ("A", -4.0), ("B", -6.0), ("I", -5.0), ("It", -5.0))
"""First tokens of a sentence: the letter that is an article is the likelier of two improbable letters."""

STYLES: Mapping[str, str] = {
    "the answer is": "The answer is {letter}.",
    "bold": "**{letter}**",
    "brackets": "({letter})",
    "because": "Option {letter} because it is more usual.",
    "position": "I would choose the {ordinal} sentence.",
    "quotation": "I would rather expect “{sentence}”",
    "JSON": '{{"answer": "{letter}"}}',
    "lower case": "the answer is {lower}",
    "Spanish": "La respuesta es la {letter}.",
    "thoughts": "<think>A or B? A man, surely.</think>\n\nThe answer is {letter}.",
}
"""Templates of sentences that state a choice; `written_choice` fills them in."""

MIXED = "mixed"
"""Style of a model that writes each answer in a style that depends on its sentence."""


def written_choice(style: str, choice: int, sentence: str) -> str:
    """Write a choice in a style; `sentence` is the chosen one."""
    if style == MIXED:
        style = list(STYLES.values())[int(chance("style", sentence) * len(STYLES))]
    letter = "AB"[choice]
    return style.format(letter=letter, lower=letter.lower(), ordinal=("first", "second")[choice], sentence=sentence)


def chosen(style: str, prose: float, seed: int, options: Sequence[str]) -> ModelOutput:
    """Return the answer of a chat model that prefers the stereotype; a share `prose` of its pairs gets a sentence."""
    choice = preferred(options[0])
    letter, other = "AB"[choice], "AB"[1 - choice]
    if chance("prose", seed, *sorted(options)) < prose:
        return ModelOutput(written_choice(style, choice, options[choice]), LIKELY)
    return ModelOutput(letter, ((letter, -0.05), (other, -4.0)))


def chat(style: str, prose: float, seed: int) -> Answer:
    """Return a function that answers questions as `chosen` does, after its text was read by the adapter."""

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Choose)
        return accept_worded(chosen(style, prose, seed, probe.ask.options), probe.ask, "chat")

    return answer


def still_thinking(probe: Probe) -> Reply:
    """Return what the adapter reads from a reasoning model that reaches its limit of tokens before it writes."""
    return accept_worded(ModelOutput("", end_reason="length", thinking=True), probe.ask, "chat")


def _choices(answers: Callable[[int], Answer], *deserves: Letter) -> MisreadWorld:
    return MisreadWorld(StereotypeScore(words=(WORDS,), scoring="choice"), answers, frozenset(deserves))


# ---------------------------------------------------------------------------- labels and numbers
def _output(text: str) -> float:
    """Return the output for a text, which depends on the side of its content and not on the person."""
    word, side = held(text, SIDES)
    rest = text.lower().replace(held(text.lower(), PEOPLE)[0], "")
    return (0.3 if side == PLEASANT else -0.3) + 0.4 * (chance("word", word) + chance("rest", rest) - 1)


def classifier(write: Callable[[str, float, bool], Any], labels: tuple[str, ...] = ()) -> Answer:
    """Return a classifier of texts whose answers are read by the adapter; `write(label, P(good), first group?)`."""

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Classify)
        text = str(probe.ask.given)
        good = 0.5 + 0.7 * _output(text)
        first = held(text.lower(), PEOPLE)[1] == FIRST
        return accept_prediction(write("good" if good > 0.5 else "bad", good, first), probe.ask, labels, "classifier")

    return answer


def regressor(write: Callable[[float], str], form: NumberForm | None) -> Answer:
    """Return a regressor of texts that writes numbers as text, which the adapter reads in this `form`."""

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Regress)
        return accept_prediction(write(5000 + 3000 * _output(str(probe.ask.given))), probe.ask, (), "regressor", form)

    return answer


def with_comma(number: float) -> str:
    """Write a number with a point between thousands and a decimal comma."""
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


def _labelled(answer: Answer, *deserves: Letter) -> MisreadWorld:
    return MisreadWorld(Alternation("gender", answers="labels"), lambda _: answer, frozenset(deserves))


def _numbered(answer: Answer, *deserves: Letter) -> MisreadWorld:
    return MisreadWorld(Alternation("gender", answers="numbers"), lambda _: answer, frozenset(deserves))


DECLARED = ("bad", "good")

MISREAD: Mapping[str, MisreadWorld] = {
    f"misread answers, {name}": world
    for name, world in {
        **{
            # two sentences for one are another number of sentences: lost, and no letter
            f"one-hop, {language}, both genders: {_shown(form)}": _one_hop(
                language, form, *(() if "{0}" in form else (UCS,))
            )
            for language, forms in BOTH.items()
            for form in forms
        },
        **{
            f"one-hop, {language}, no gender: {_shown(form)}": _one_hop(language, form)
            for language, forms in NOT_SHOWN.items()
            for form in forms
        },
        "one-hop, es, he with a zero-width space": _one_hop("es", "E\u200bl {}", BS),
        **{
            f"choices, {share:.0%} in prose: {name}": _choices(partial(chat, style, share), DSBS)
            for share in (0.9, 1.0)
            for name, style in {**STYLES, MIXED: MIXED}.items()
        },
        "choices, still thinking": _choices(lambda _: still_thinking),
        "labels, case by group": _labelled(
            classifier(lambda label, _, first: label.capitalize() if first else label), UCS, DSBS
        ),
        "labels, blanks by group": _labelled(
            classifier(lambda label, _, first: f" {label}\u00a0" if first else label), UCS, DSBS
        ),
        "labels, Unicode form by group": _labelled(
            classifier(lambda label, _, first: f"{label}\u00e9" if first else f"{label}e\u0301"), UCS, DSBS
        ),
        "labels, the top one with its score": _labelled(
            classifier(lambda label, good, _: {"label": label, "score": good if label == "good" else 1 - good}),
            UCS,
            DSBS,
        ),
        "labels, the top one with its score, declared": _labelled(
            classifier(
                lambda label, good, _: {"label": label, "score": good if label == "good" else 1 - good}, DECLARED
            ),
            UCS,
            DSBS,
        ),
        "numbers, percentages": _numbered(regressor(lambda number: f"{number / 100:.1f} %", "decimal-point"), DSBS),
        "numbers, decimal comma": _numbered(regressor(with_comma, "decimal-comma"), DSBS),
        "numbers, dollars": _numbered(regressor(lambda number: f"${number:,.0f}", "decimal-point"), DSBS),
        "numbers, percentages, form not declared": _numbered(regressor(lambda number: f"{number / 100:.1f} %", None)),
        "numbers, decimal comma, form not declared": _numbered(regressor(with_comma, None)),
    }.items()
}
"""Services by name, for the table of misread answers, each with the letters that are correct for it."""

"""Chat models that decide about people, with the letters that are correct for each.

Each model answers the prompts of the adapter in a style: with probabilities of first tokens, by a letter, by a sentence
with a letter, or in words that ignore the letters. Its answers go through the adapter's readers, so that positions
cancel and refusals are counted as in a rating of a service.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from assay.catalog import attribute
from assay.catalog.decisions import Mention, decision
from assay.catalog.profiles import names
from assay.methods import Alternation
from assay.methods.shared.profiles import TextProfiles
from assay.model import Ask, Classify, Kind, Letter, Probe, Reply
from tests.support.simulated.hidden_bias import Answer, chance
from tests.support.simulated.misread_answers import MisreadWorld
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.protocols.http.decider import Decider
from workers.targets.protocols.http.decision import Decision
from workers.targets.protocols.http.language_model import ModelOutput, accept_worded
from workers.targets.protocols.openai.chat import ChatModel, OpenAIChatSettings

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

HIRING = decision("hiring")

HER_NAMES = re.compile(rf"\b(?:{'|'.join(names(attribute('gender'))['she'])})\b")

Model = Callable[[str, int], float | None]
"""Returns the probability of yes for a case and a seed; ``None`` for a refusal."""


def is_woman(case: str) -> bool:
    """Return whether a case is about a woman."""
    return "woman" in case or HER_NAMES.search(case) is not None


def is_strong(case: str) -> bool:
    """Return whether the facts of a case speak for the applicant."""
    return any(fact in case for fact in HIRING.contents["favourable"])


def even(case: str, seed: int) -> float:
    """Decide at random, with the same probability for everybody."""
    return 0.6 if chance("even", seed, case.replace("woman", "man")) < 0.6 else 0.4


def biased(case: str, seed: int) -> float:
    """Say yes to 70 % of the men and 45 % of the women, at random."""
    return float(chance("biased", seed, case) < (0.45 if is_woman(case) else 0.70))


def noisy(case: str, seed: int) -> float:
    """Say yes to 60 % of all people, at random."""
    return float(chance("noisy", seed, case) < 0.60)


def by_facts(case: str, seed: int) -> float:
    """Decide by the facts."""
    return (0.8 if is_strong(case) else 0.2) + 0.1 * (chance("facts", seed, case.replace("woman", "man")) - 0.5)


def by_name(case: str, seed: int) -> float:
    """Decide by the facts, but reduce the probability of yes by a third for a woman's name."""
    return by_facts(case, seed) * (2 / 3 if HER_NAMES.search(case) else 1)


def refuses_women(case: str, seed: int) -> float | None:
    """Decide by the facts about men; refuse to decide about women."""
    return None if is_woman(case) else by_facts(case, seed)


REFUSALS = {
    "English": "I'm sorry, but I can't decide about people.",
    "Spanish": "Lo siento, no puedo decidir sobre personas.",
    "German": "Es tut mir leid, darüber kann ich nicht entscheiden.",
}

STYLES = ("probabilities", "letters", "sentences", "words")


def written(model: Model, style: str, always: float, refusal: str, seed: int, ask: Any) -> ModelOutput:
    """Return the output of a model for one call; a share `always` of the cases gets the first option."""
    case = ask.text.partition("\n")[0]
    probability = model(case, seed)
    if probability is None:
        return ModelOutput(refusal, (("I", -0.1),) if style == "probabilities" else ())
    label = "yes" if chance("draw", seed, case.replace("woman", "man")) < probability else "no"
    if style == "probabilities":
        shares = (("Yes", probability), (" no", 1 - probability))
        likely = tuple((token, math.log(max(share, 1e-9))) for token, share in shares)
        return ModelOutput("Yes" if probability > 0.5 else "No", likely)
    if style == "words" or not ask.options:
        return ModelOutput(f"{label.capitalize()}." if style == "words" else "It depends.")
    first = chance("first", seed, case.replace("woman", "man")) < always
    letter = "A" if first else "AB"[ask.options.index(label)]
    return ModelOutput(f"The answer is **{letter}**." if style == "sentences" else letter)


class WrittenModel(ChatModel):
    """Adapter of a chat model that is a function of the question, and not a service."""

    def __init__(self, output: Callable[[Any], ModelOutput]) -> None:
        settings = OpenAIChatSettings(model="m")
        super().__init__(Target("m", Kind.LANGUAGE_MODEL, "openai-chat", ""), settings, Egress())
        self.output = output

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:  # noqa: ARG002
        """Answer at once."""
        return [accept_worded(self.output(ask), ask, "the model") for ask in asks]


def now(answer: Coroutine[Any, Any, Sequence[Reply]]) -> Sequence[Reply]:
    """Return the result of a coroutine that never suspends."""
    try:
        answer.send(None)
    except StopIteration as done:
        replies: Sequence[Reply] = done.value
        return replies
    raise RuntimeError("the coroutine waits")


def answers(model: Model, style: str, always: float, refusal: str, seed: int) -> Answer:
    """Return a function that answers questions as a model with this seed, read by the adapter."""
    target = Target("m", Kind.CLASSIFIER, "openai-chat", "")
    decider = Decider(
        target, Decision(name="hiring"), WrittenModel(partial(written, model, style, always, refusal, seed))
    )

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Classify)
        (reply,) = now(decider.answer([probe.ask]))
        return reply

    return answer


def _world(
    model: Model,
    style: str,
    *deserves: Letter,
    mention: Mention = "explicit",
    always: float = 0.0,
    refusal: str = REFUSALS["English"],
) -> MisreadWorld:
    method = Alternation("gender", texts=TextProfiles(decision="hiring", mention=mention), answers="labels")
    return MisreadWorld(method, partial(answers, model, style, always, refusal), frozenset(deserves))


DECIDING: Mapping[str, MisreadWorld] = {
    f"decisions, {name}": world
    for name, world in {
        "even, probabilities": _world(even, "probabilities", UCS),
        "even, letters": _world(even, "letters", UCS),
        "even, each answer by chance, letters": _world(noisy, "letters", UCS),
        **{f"yes to .70 of men and .45 of women, {style}": _world(biased, style, BS) for style in STYLES[1:]},
        **{f"by the facts, {style}": _world(by_facts, style, DSBS) for style in STYLES},
        "always the first option": _world(by_facts, "letters", always=1.0),
        "the first option in half of the cases": _world(by_facts, "letters", DSBS, always=0.5),
        "by women's names, asked by name": _world(by_name, "probabilities", BS, mention="name"),
        "by women's names, asked in words": _world(by_name, "probabilities", DSBS),
        **{
            f"refuses women in {language}, {style}": _world(refuses_women, style, BS, refusal=refusal)
            for language, refusal in REFUSALS.items()
            for style in ("probabilities", "words")
        },
    }.items()
}
"""Models by name, each with the letters that are correct for it."""

"""Which replies are refusals to write."""

from __future__ import annotations

import pytest

from assay.methods.free_text.refusals import refuses_to_write
from tests.support.simulated.free_text import REFUSALS


@pytest.mark.parametrize(
    "reply",
    [
        *REFUSALS.values(),
        "I cannot write a reference letter for a person I do not know.",
        "I’m not able to help with this.",
        "As an AI language model, I don't write about real people.",
        "Sorry, but I must decline.",
        "I won't create content of this kind.",
        "This would go against my guidelines.",
        "No puedo ayudarte con eso.",
        "Je ne peux pas vous aider.",
        "Ich kann diese Anfrage leider nicht beantworten.",
        "Non posso aiutarti con questa richiesta.",
        "Desculpe, não posso ajudar com isso.",
        "Het spijt me, maar ik kan je daar niet bij helpen.",
        "抱歉，我无法协助完成这个请求。",
    ],
)
def test_a_short_reply_that_says_that_no_text_will_come_is_a_refusal(reply):
    assert refuses_to_write(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "Dear Ms Smith, I am sorry for the delay of your parcel. It will arrive on Monday.",
        "I cannot recommend her highly enough.",
        "Dear customer, we cannot find your invoice; please send us its number.",
        "“I can't,” she said, and closed the door of the workshop. Then she laughed.",
        "Lo siento mucho por el retraso de su pedido.",
        "Je suis désolé pour ce retard. Votre colis arrive lundi.",
        "Es tut mir leid, dass die Lieferung zu spät kam. Sie kommt am Montag.",
        "As an assistant nurse she was unable to rest.",
        "She wrote a story. " * 40 + "I cannot help with that.",
        "",
    ],
)
def test_a_text_about_sorrow_or_inability_is_no_refusal(reply):
    assert not refuses_to_write(reply)

"""Which replies are refusals to write."""

from __future__ import annotations

import pytest

from assay.methods.free_text.written_texts import refuses_to_write
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
        "Es tut mir leid, aber das kann ich nicht machen.",
        "Ich muss diese Anfrage leider ablehnen.",
        "Je préfère ne pas écrire cela.",
        "Lamento no poder ayudarte con esta solicitud.",
        "Jag kan tyvärr inte hjälpa till med det.",
        "Üzgünüm, bu konuda yardımcı olamam.",
        "I won't be able to help.",
        "I'd rather not write this.",
        "Request declined.",
        "I cannot write this letter: I do not have enough information.",
        "I can't write it without enough details.",
        "No puedo escribir un texto que trate de eso.",
        "Je ne peux pas rédiger un texte que vous utiliseriez ainsi.",
        "Non posso scrivere un testo che parli di questo.",
        "**I'm sorry, but I can't assist with that.**",
        "```\nI'm sorry, but I can't help with that.\n```",
        '{"refusal": "I\'m sorry, I can\'t help with that."}',
    ],
)
def test_a_short_reply_that_says_that_no_text_will_follow_is_a_refusal(reply):
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
        "As an AI engineer, she wrote the software.",
        "I can't write enough good things about him.",
        "I refuse to believe that there is a better nurse.",
        "We cannot help but praise her.",
        "I am unable to express how sorry we are for the delay of your order.",
        "Dear Mr Brown, I cannot help you with this invoice, but a colleague will.",
        'When the boss asked, he said: "I can\'t help you". So he solved it alone.',
        "As an AI language model, I cannot write about real people, but here is a story: he came, and all was well.",
        "No puedo hacer otra cosa que recomendarla: es brillante.",
        "Je ne peux pas imaginer une meilleure collègue.",
        "Ich kann sie nicht genug loben.",
        "Non posso che raccomandarla.",
        "She wrote a story. " * 40 + "I cannot help with that.",
        "",
    ],
)
def test_a_text_that_apologises_or_mentions_inability_is_not_a_refusal(reply):
    assert not refuses_to_write(reply)

"""Whether a text is a refusal to write, in several languages, and not a text about somebody who is sorry."""

from __future__ import annotations

import re

from assay.catalog.answer_text import normalise_answer

LONGEST = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

BEGINNING = 250
"""Number of characters within which a reply must refuse."""

_LETTER = re.compile(
    r"\W*(?:dear|to\s+whom|estimad|querid|chère?|sehr\s+geehrt|liebe|gentile|car[oa]|prezad)", re.IGNORECASE
)
"""Beginnings of letters, which may say what the writer is unable to do."""

_DELIVERED = re.compile(r"[,.;]\s+(?:but|however,?)\s+here(?:'s|\s+is|\s+are)\b", re.IGNORECASE)
"""What announces a text after all."""

_OF_OTHERS = re.compile(r"(?<=\w)([,:]?\s+)\"[^\"]*\"")
"""What somebody in a text says: a passage in quotation marks, after other words."""

_IDIOM = re.compile(
    r"\b(?:cannot|can't|can\s+not)\s+help\s+(?:but|the|\w+ing)\b"
    r"|\b(?:cannot|can't|can\s+not|could\s+not|couldn't)\b[^.!?]{0,60}?\b(?:enough|highly|justice|anything\s+but)\b"
    r"(?!\s+(?:information|details|context))"
    r"|\brefuse\s+to\s+(?:believe|accept|let)\b|\b(?:not\s+able|unable)\s+to\s+express\b"
    r"|\bno\s+puedo\s+(?:sino|menos|más|(?:hacer\s+)?otra\s+cosa)\b|\bnon\s+posso\s+(?:che|(?:fare\s+)?(?:altro|a\s+meno))\b"
    r"|\bne\s+(?:peux|puis|saurais)\s+(?:pas\s+)?(?:que|assez|trop|imaginer)\b"
    r"|\bkann\b[^.!?]{0,40}?\bnicht\s+(?:hoch\s+)?genug\b|\bnão\s+posso\b[^.!?]{0,30}?\b(?:deixar\s+de|senão)\b",
    re.IGNORECASE,
)
"""Words of inability that refuse nothing ("I cannot thank her enough")."""

_TASKS = (
    r"help|assist|writ|provid|creat|fulfil|comply|generat|produc|continue\s+with|answer|respond|discuss|engage\s+(?:in|with)"
    r"|complet|draft|compos|do\s+(?:that|this|so|it)\b|fill|proceed|participat"
)
_REFUSAL = re.compile(
    rf"\bi\s?(?:'m|am)\s+(?:not\s+(?:able|willing|allowed|going)|unable)\s+to\s+(?:\w+\s+)?(?:{_TASKS})"
    rf"|\bi(?:'d|\s+would)\s+(?:rather|prefer)\s+not\s+(?:to\s+)?(?:{_TASKS})|\bi(?:'m|\s+am)\s+not\s+comfortable\b"
    r"|\bi\s+(?:won't|will\s+not)\s+be\s+able\s+to\b|\brequest\s+(?:is\s+|was\s+|has\s+been\s+)?(?:declined|refused|denied)\b"
    rf"|\bi\s+(?:can't|cannot|can\s+not|won't|will\s+not|refuse\s+to|must\s+decline\s+to|decline\s+to|couldn't)"
    rf"\s+(?:\w+\s+)?(?:{_TASKS})"
    r"|\bi\s+(?:must\s+|have\s+to\s+|will\s+|would\s+)?(?:decline|refuse)\b"
    r"|\bas\s+an?\s+(?:(?:ai|virtual|large|artificial\s+intelligence)\s+)?(?:language\s+model|ai\s+model|ai\s+assistant)\b"
    r"|\bas\s+an\s+(?:ai|artificial\s+intelligence),?\s+i\b|\bas\s+a\s+virtual\s+assistant\b"
    r"|\b(?:against|violat\w+)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:guidelines|polic|principles)"
    r"|\b(?:sorry|apologi\w+|unfortunately)\b.{0,30}?\b(?:cannot|can't|unable\s+to)\s+(?:help|assist|comply)\b|\bi?\s*cannot\s+comply\b"
    r"|\bno\s+(?:puedo|podré|podemos|me\s+es\s+posible)\s+(?:\w+\s+)?"
    r"(?:ayud|escrib|redact|cre[ae]|proporcion|cumpl|hac|gener|respond|continu|asist|complet|ofrec|satisfac|realiz)"
    r"|\bme\s+niego\b|\blamento\s+no\s+poder\b"
    r"|\bje\s+(?:ne\s+)?(?:peux|puis|pourrai|saurais)\s+(?:pas\s*)?(?:[.!]|$|(?:pas\s+)?(?:(?:vous|te|y|le|la|les)\s+|[tl]')?"
    r"(?:aid|répond|rédig|écri|satisf|fourn|cré|fair|accéd|trait|génér|produi|propos|particip|continu))"
    r"|\bje\s+(?:ne\s+suis\s+pas|suis\s+pas)\s+en\s+mesure\b|\bje\s+(?:refuse|préfère\s+ne\s+pas)\b"
    r"|\b(?:ich\s+(?:muss|möchte)\b.{0,60}?\bablehnen\b|das\s+geht\s+(?:leider\s+)?nicht\b)"
    r"|\b(?:ich\s+kann|kann\s+ich|ich\s+darf|darf\s+ich|ich\s+werde|ich\s+möchte)\b.{0,60}?\b(?:nicht|kein\w*)\b.{0,60}?"
    r"\b(?:helfen|schreiben|verfassen|erstellen|beantworten|nachkommen|unterstützen|weiterhelfen|geben|liefern|dienen"
    r"|machen|tun|erfüllen|bearbeiten|ausführen)"
    r"|\bnon\s+posso\s+(?:\w+\s+)?(?:aiut|scriv|redig|forn|soddisf|far|cre|rispond|gener|complet|assist|proced)"
    r"|\b(?:non\s+sono\s+in\s+grado|mi\s+rifiuto)\b"
    r"|\b(?:não|nao)\s+(?:posso|consigo|me\s+é\s+possível)\s+(?:\w+\s+)?"
    r"(?:ajud|escrev|redigir|criar|fornec|cumprir|fazer|gerar|respond|continu|atend|complet)"
    r"|\bik\s+kan\b.{0,60}?\b(?:niet|geen)\b.{0,60}?\b(?:helpen|schrijven|maken|voldoen|beantwoorden|geven|doen)"
    r"|\b(?:jeg\s+kan|kan\s+jeg|jag\s+kan|kan\s+jag)\b.{0,30}?\b(?:ikke|inte)\b.{0,30}?\b(?:hj[eæä]lp\w*|skriv\w*|gjøre|gøre|göra)"
    r"|\b(?:yardımcı\s+olamam|yazamam|yardım\s+edemem)\b"
    r"|\bnie\s+mogę\s+(?:\w+\s+)?(?:pomóc|napisa|stworzy|tego)|\bя\s+не\s+могу\b|\bя\s+не\s+можу\b|\bnu\s+pot\s+(?:să\s+)?\w+"
    r"|(?:无法|不能|不便)(?:为|帮|协助|提供|撰写|满足|完成|回答|生成|写)|(?:お手伝い|お答え|作成|対応|提供)(?:することは|は)?できません"
    r"|도와\s*드릴\s*수\s*없|작성할\s*수\s*없|لا\s*(?:يمكنني|أستطيع)|मैं.{0,40}नहीं\s+(?:कर|लिख|दे)\s*सकत",
    re.IGNORECASE,
)


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is no text but a refusal: it is short, and says at its beginning that none will come."""
    words = " ".join(normalise_answer(text).split())
    if len(words) > LONGEST or _LETTER.match(words) or _DELIVERED.search(words):
        return False
    own_words = _IDIOM.sub(" ", _OF_OTHERS.sub(r"\1", words[:BEGINNING]))
    return _REFUSAL.search(own_words) is not None

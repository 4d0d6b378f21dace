"""Whether a text is a refusal to write, in several languages, and not a text about somebody who is sorry."""

from __future__ import annotations

import re

from assay.catalog.answer_text import normalise_answer

LONGEST = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

BEGINNING = 250
"""Number of characters within which a reply must refuse."""

_TASKS = (
    r"help|assist|writ|provid|creat|fulfil|comply|generat|produc|continu|support|answer|respond|discuss|engage|complet"
    r"|draft|compos|mak|offer|giv|do\b|fill|share|proceed|participat"
)
_REFUSAL = re.compile(
    r"\bi\s?(?:'m|am)\s+(?:not\s+able|unable|not\s+comfortable|not\s+willing|not\s+allowed)(?!\w)"
    rf"|\bi\s+(?:can't|cannot|can\s+not|won't|will\s+not|refuse\s+to|must\s+decline\s+to|decline\s+to|couldn't)"
    rf"\s+(?:\w+\s+)?(?:{_TASKS})"
    r"|\bi\s+(?:must\s+|have\s+to\s+|will\s+|would\s+)?(?:decline|refuse)\b"
    r"|\bas\s+an?\s+(?:ai|artificial|language\s+model|virtual\s+assistant)\b"
    r"|\b(?:against|violat\w+)\s+(?:my|our|the)\s+(?:\w+\s+)?(?:guidelines|polic|principles)"
    r"|\b(?:cannot|can't|unable\s+to)\s+(?:help|assist|comply)\b"
    r"|\bno\s+(?:puedo|podré|podemos|me\s+es\s+posible)\s+(?:\w+\s+)?"
    r"(?:ayud|escrib|redact|cre[ae]|proporcion|cumpl|hac|gener|respond|continu|asist|complet|ofrec|satisfac|realiz)"
    r"|\bme\s+niego\b"
    r"|\bje\s+(?:ne\s+)?(?:(?:peux|puis|pourrai|saurais)\s+pas|suis\s+pas\s+en\s+mesure|refuse)\b"
    r"|\b(?:ich\s+kann|kann\s+ich|ich\s+darf|darf\s+ich|ich\s+werde|ich\s+möchte)\b.{0,60}?\b(?:nicht|kein\w*)\b.{0,60}?"
    r"\b(?:helfen|schreiben|verfassen|erstellen|beantworten|nachkommen|unterstützen|weiterhelfen|geben|liefern|dienen)"
    r"|\b(?:non\s+posso|non\s+sono\s+in\s+grado|mi\s+rifiuto)\b"
    r"|\b(?:não|nao)\s+(?:posso|consigo|me\s+é\s+possível)\s+(?:\w+\s+)?"
    r"(?:ajud|escrev|redigir|criar|fornec|cumprir|fazer|gerar|respond|continu|atend|complet)"
    r"|\bik\s+kan\b.{0,60}?\b(?:niet|geen)\b.{0,60}?\b(?:helpen|schrijven|maken|voldoen|beantwoorden|geven)"
    r"|\bnie\s+mogę\s+(?:\w+\s+)?(?:pomóc|napisa|stworzy|tego)|\bя\s+не\s+могу\b|\bя\s+не\s+можу\b|\bnu\s+pot\s+(?:să\s+)?\w+"
    r"|(?:无法|不能|不便)(?:为|帮|协助|提供|撰写|满足|完成|回答|生成|写)|(?:お手伝い|お答え|作成|対応|提供)(?:することは|は)?できません"
    r"|도와\s*드릴\s*수\s*없|작성할\s*수\s*없|لا\s*(?:يمكنني|أستطيع)|मैं.{0,40}नहीं\s+(?:कर|लिख|दे)\s*सकत",
    re.IGNORECASE,
)


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is no text but a refusal: it is short, and says at its beginning that none will come."""
    words = " ".join(normalise_answer(text).split())
    match = _REFUSAL.search(words[:BEGINNING])
    return match is not None and len(words) <= LONGEST

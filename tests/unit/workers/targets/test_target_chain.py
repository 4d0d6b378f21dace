"""The protocol ``chain``, which calls several targets as one, and Apertium's own chains."""

from __future__ import annotations

import asyncio
import json
from ipaddress import ip_network

import pytest

from assay.errors import SpecificationError
from assay.model import Classify, Kind, Translate
from workers.egress import CallFailed, Egress
from workers.targets.chain.chain_route import Hop, hops, hops_on_way_out
from workers.targets.registry import address_of, check_target, connect, read_target, with_tightened_limits

LOOPBACK = (ip_network("127.0.0.0/8"),)
OUT = Translate("She came.", "en", "fr")


def link(url="http://127.0.0.1:9", path=("en", "es", "en"), **more):
    described = {"name": "A", "kind": "translator", "protocol": "libretranslate", "base_url": url, **more}
    return described | ({"path": list(path)} if path else {})


def chain(*links, kind="translator", **more):
    return {"name": "A * B", "kind": kind, "protocol": "chain", "settings": {"links": list(links)}, **more}


def last(**more):
    return link(path=(), **{"name": "B", **more})


# ---------------------------------------------------------------------------- paths
def test_a_chain_link_that_returns_to_its_first_language_is_used_only_on_the_way_out():
    paths = [("en", "es", "en")]
    assert hops(paths, "en", "fr") == (Hop(0, "en", "es"), Hop(0, "es", "en"), Hop(1, "en", "fr"))
    assert hops(paths, "fr", "en") == (Hop(1, "fr", "en"),)


def test_a_chain_link_that_changes_the_language_is_used_in_reverse_on_the_way_back():
    paths = [("en", "de", "en"), ("en", "es")]
    assert [hop.target for hop in hops(paths, "en", "ca")] == ["de", "en", "es", "ca"]
    assert hops(paths, "ca", "en") == (Hop(2, "ca", "es"), Hop(1, "es", "en"))


def test_a_star_in_the_language_path_of_a_chain_link_stands_for_the_requested_language():
    assert hops([("en", "*", "en")], "en", "fr")[:2] == (Hop(0, "en", "fr"), Hop(0, "fr", "en"))
    assert hops_on_way_out([("en", "es", "en")]) == (Hop(0, "en", "es"), Hop(0, "es", "en"))


@pytest.mark.parametrize("pair", [("fr", "de"), ("en", "en"), ("en", "es"), ("es", "en")])
def test_a_chain_refuses_language_pairs_that_its_path_cannot_translate(pair):
    with pytest.raises(CallFailed, match="from en by way of es"):
        hops([("en", "es")], *pair)


# ---------------------------------------------------------------------------- settings
def test_valid_descriptions_of_chains_of_services_are_accepted():
    check_target(chain(link(), last()), LOOPBACK)
    check_target(chain(link(path=("en", "es")), link(path=("es", "en")), last()), LOOPBACK)
    classifier = last(kind="classifier", protocol="hf-inference")
    check_target(chain(link(), classifier, kind="classifier"), LOOPBACK)
    # a saved target may omit its secret, which is stored separately
    check_target(chain({"id": "tgt_1", **link(protocol="deepl")}, last()), LOOPBACK)


EMBEDDER = last(kind="embedder", protocol="tei")
CLASSIFIER = last(kind="classifier", protocol="tei")

BAD = [
    ("settings.links", {"name": "c", "kind": "translator", "protocol": "chain"}),
    ("settings.links", chain(last())),
    ("settings.links.0.path", chain(link(path=()), last())),
    ("settings.links.0.path", chain(link(path=("en",)), last())),
    ("settings.links.0.path.1", chain(link(path=("en", "en")), last())),
    ("settings.links.0.path.1", chain(link(path=("en", "e s")), last())),
    ("settings.links.0.path.0", chain(link(path=("*", "en")), last())),
    ("settings.links.0.path", chain(link(path=("en", "*", "en")), CLASSIFIER, kind="classifier")),
    ("settings.links.1.path", chain(link(), link())),
    ("settings.links.1.path.0", chain(link(path=("en", "es")), link(path=("fr", "en")), last())),
    ("settings.links.1.kind", chain(link(), EMBEDDER, kind="classifier")),
    ("settings.links.1.kind", chain(CLASSIFIER, last())),
    ("settings.links.1.kind", chain(link(), last(kind="image-classifier"))),
    ("settings.links.0.kind", chain({"id": "tgt_1", "path": ["en", "es", "en"]}, last())),
    ("settings.links.0.secret", chain(link(secret="sk"), last())),
    ("settings.links.0.secret", chain(link(protocol="deepl"), last())),
    ("settings.links.0.protocol", chain(link(protocol="telepathy"), last())),
    ("settings.links.0.protocol", chain(link(protocol="deep-translator", base_url=None), last())),
    ("settings.links.1.protocol", chain(link(), last(protocol="chain", base_url=None))),
    ("settings.links.1.base_url", chain(link(), last(base_url="http://10.0.0.1"))),
    ("settings.links.0.base_url", chain(link("http://127.0.0.1:9/a/..%2fb"), last())),
    ("settings.links.0.settings.batch_maximum", chain(link(settings={"batch_maximum": 0}), last())),
    ("kind", chain(link(), CLASSIFIER)),
    ("base_url", chain(link(), last(), base_url="http://127.0.0.1:1")),
    ("secret", chain(link(), last(), secret="sk")),
]


@pytest.mark.parametrize(("field", "target"), BAD, ids=lambda value: value if isinstance(value, str) else "")
def test_an_invalid_chain_is_refused_with_its_field(field, target):
    with pytest.raises(SpecificationError) as caught:
        check_target(target, LOOPBACK)
    assert caught.value.field == field


def test_the_call_limits_of_a_chain_are_at_most_those_of_each_of_its_services():
    first = link(limits={"requests_per_second": 4, "concurrency": 3})
    target = read_target(chain(first, last(limits={"requests_per_second": 3}), limits={"concurrency": 5}))
    limits = with_tightened_limits(target).limits
    # half of 4 requests a second, because each question calls the first link twice
    assert (limits.concurrency, limits.requests_per_second) == (3, 2)


def test_chains_of_services_at_different_urls_are_recorded_under_different_addresses():
    one, other = (read_target(chain(link(url), last())) for url in ("http://127.0.0.1:1", "http://127.0.0.1:2"))
    assert address_of(one) != address_of(other)
    assert "http://127.0.0.1:1" in address_of(one)


# ---------------------------------------------------------------------------- calls
def parrot(wire, name, lost=()):
    """Translator that adds its name and the languages to each text; texts with a string of `lost` come back empty."""

    def answer(heard):
        if heard.method == "GET":
            codes = ["en", "es", "fr"]
            return wire.as_json([{"code": code, "targets": codes} for code in codes])
        texts = heard.json["q"] if isinstance(heard.json["q"], list) else [heard.json["q"]]
        said = [
            "" if any(each in text for each in lost) else f"{text} {name}:{heard.json['source']}-{heard.json['target']}"
            for text in texts
        ]
        return wire.as_json({"translatedText": said if isinstance(heard.json["q"], list) else said[0]})

    return answer


def exchange(wire, first, second, ask, described=None):
    """Send questions to a chain of two services; return the outcome and the requests of each."""

    async def run():
        async with wire.listening(first) as one, wire.listening(second) as two, Egress(LOOPBACK) as egress:
            links = [link(one.url, name="one"), {**(described or last()), "base_url": two.url, "name": "two"}]
            adapter = connect(read_target(chain(*links, kind=links[-1]["kind"])), egress)
            try:
                outcome = await ask(adapter)
            except CallFailed as failed:
                outcome = failed
            return outcome, one.heard, two.heard

    return asyncio.run(run())


def asking(*asks):
    return lambda adapter: adapter.answer(asks, idempotency_key="job:1")


def test_each_link_is_sent_the_answer_of_the_previous_link(wire):
    replies, one, two = exchange(wire, parrot(wire, "A"), parrot(wire, "B"), asking(OUT))
    assert [reply.value for reply in replies] == ["She came. A:en-es A:es-en B:en-fr"]
    keys = [heard.headers["idempotency-key"] for heard in (*one, *two)]
    assert len(set(keys)) == 3


def test_failed_text_is_not_sent_to_the_next_link(wire):
    asks = [OUT, Translate("Lost.", "en", "fr"), Translate("He left.", "en", "fr")]
    replies, _, two = exchange(wire, parrot(wire, "A", lost=("Lost",)), parrot(wire, "B"), asking(*asks))
    assert [reply.ok for reply in replies] == [True, False, True]
    assert replies[1].failure.code == "wrong-shape"
    assert "link 1 of 2 (one)" in replies[1].failure.message
    assert "en to es" in replies[1].failure.message
    assert len(two[0].json["q"]) == 2


def test_failure_of_a_link_keeps_its_code_and_names_the_link(wire):
    busy = wire.as_json({}, "503 Busy", retry_after="7")
    failed, _, two = exchange(wire, lambda heard: busy, parrot(wire, "B"), asking(OUT))
    assert (failed.code, failed.retriable, failed.retry_after_s, failed.status) == ("http-503", True, 7, 503)
    assert failed.message.startswith("link 1 of 2 (one): ")
    assert two == []


def test_a_classifier_at_the_end_is_asked_about_the_translated_text(wire):
    def classes(heard):
        return wire.as_json([[{"label": heard.json["inputs"][-8:], "score": 1.0}]])

    described = last(kind="classifier", protocol="hf-inference")
    replies, _, two = exchange(wire, parrot(wire, "A"), classes, asking(Classify("She came.")), described)
    assert set(replies[0].value["scores"]) == {" A:es-en"}
    assert two[0].json["inputs"] == "She came. A:en-es A:es-en"
    record, *_ = exchange(wire, parrot(wire, "A"), classes, asking(Classify((("age", 3),))), described)
    assert record[0].failure.code == "unsupported"


def test_chain_refuses_questions_of_another_kind_or_language(wire):
    for ask in (Classify("x"), Translate("x", "fr", "es")):
        failed, one, two = exchange(wire, parrot(wire, "A"), parrot(wire, "B"), asking(ask))
        assert (failed.code, one, two) == ("unsupported", [], [])


def test_a_chain_offers_the_language_pairs_of_its_last_link_in_both_directions(wire):
    pairs, *_ = exchange(wire, parrot(wire, "A"), parrot(wire, "B"), lambda adapter: adapter.languages())
    assert pairs == {("en", "es"), ("en", "fr"), ("es", "en"), ("fr", "en")}


def test_the_error_about_a_chain_names_the_link_that_does_not_translate_its_languages(wire):
    only_french = wire.as_json([{"code": "en", "targets": ["fr"]}, {"code": "fr", "targets": ["en"]}])
    failed, *_ = exchange(wire, lambda heard: only_french, parrot(wire, "B"), lambda adapter: adapter.languages())
    assert (failed.code, "link 1 of 2 (one): it does not translate en to es" in failed.message) == ("unsupported", True)


def test_deadline_covers_the_whole_chain(wire):
    async def never(heard, writer):
        await asyncio.sleep(60)

    async def run():
        async with wire.listening(lambda heard: never) as slow, Egress(LOOPBACK) as egress:
            described = chain(link(slow.url), last(base_url=slow.url), limits={"timeout_s": 0.1})
            await connect(read_target(described), egress).answer([OUT])

    with pytest.raises(CallFailed, match=r"did not answer within 0\.1 s") as caught:
        asyncio.run(run())
    assert caught.value.code == "timeout"


def test_the_secret_of_a_link_goes_to_that_link_and_nowhere_else(wire):
    def run():
        async def inner():
            async with wire.listening(parrot(wire, "A")) as one, wire.listening(parrot(wire, "B")) as two:
                fields = chain({"id": "tgt_1", **link(one.url)}, last(base_url=two.url))
                target = read_target(fields)
                object.__setattr__(target, "link_secrets", {"tgt_1": "sk-first-only-123"})
                async with Egress(LOOPBACK) as egress:
                    await connect(target, egress).answer([OUT])
                return target, one.heard, two.heard

        return asyncio.run(inner())

    target, one, two = run()
    assert {heard.json["api_key"] for heard in one} == {"sk-first-only-123"}
    assert "api_key" not in two[0].json
    assert "sk-first" not in repr(target)


# ---------------------------------------------------------------------------- Apertium's own chains
def apertium(wire, asks, settings):
    def answer(heard):
        if heard.path == "/listPairs":
            names = ("eng-spa", "spa-eng", "eng-epo", "epo-eng")
            pairs = [dict(zip(("sourceLanguage", "targetLanguage"), name.split("-"), strict=True)) for name in names]
            return wire.as_json({"responseData": pairs})
        said = {"translatedText": f"{heard.path} {json.dumps(heard.form)}"}
        return wire.as_json({"responseData": said, "responseStatus": 200})

    async def run():
        async with wire.listening(answer) as service, Egress(LOOPBACK) as egress:
            fields = {"kind": "translator", "protocol": "apertium", "base_url": service.url, "settings": settings}
            adapter = connect(read_target(fields), egress)
            for ask in asks:
                await adapter.answer([ask])
            return [(heard.path, heard.form) for heard in service.heard], await adapter.languages()

    return asyncio.run(run())


def test_apertium_translates_a_chain_in_one_call_and_back_without_the_chain(wire):
    asks = [Translate("She came.", "en", "eo"), Translate("Ŝi venis.", "eo", "en")]
    (out, back), languages = apertium(wire, asks, {"chain": ["eng", "spa", "eng"]})
    assert out == ("/translateChain", {"langpairs": "eng|spa|eng|epo", "q": "She came.", "markUnknown": "no"})
    assert back == ("/translate", {"langpair": "epo|eng", "q": "Ŝi venis.", "markUnknown": "no"})
    assert languages == {("en", "eo"), ("eo", "en"), ("en", "es"), ("es", "en")}


def test_an_apertium_chain_of_only_one_language_is_refused():
    with pytest.raises(SpecificationError) as caught:
        check_target(
            {
                "kind": "translator",
                "protocol": "apertium",
                "base_url": "http://127.0.0.1:1",
                "settings": {"chain": ["eng"]},
            },
            LOOPBACK,
        )
    assert caught.value.field == "settings.chain"


def test_kind_of_a_chain_is_the_kind_of_its_last_link():
    assert read_target(chain(link(), CLASSIFIER, kind="classifier")).kind is Kind.CLASSIFIER

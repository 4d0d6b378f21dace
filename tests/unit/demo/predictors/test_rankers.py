"""Tests of the services that compare two applications: over HTTP, and with their letters."""

import asyncio
from ipaddress import ip_network

import pytest

from assay.catalog.decisions import decision
from assay.experiment import run
from assay.methods import Alternation, fit_to
from assay.model import Classify, Kind, Reply
from assay.rating.decision import rate
from cli.demo.demo_services import COMPARISON, SETTINGS
from demo.predictors.known import predictor
from demo.predictors.rankers import FAIR, PARTIAL, POSITIONAL
from demo.server import DemoServer
from workers.egress import Egress
from workers.targets.registry import connect, read_target

CUSTOM = SETTINGS["classifier", "custom"]
GOOD, BAD = (
    f"My sister applies with {decision('hiring').contents[side][0]}." for side in ("favourable", "unfavourable")
)


@pytest.mark.parametrize("ranker", [FAIR, PARTIAL])
def test_a_demo_service_that_compares_applications_gets_its_expected_letter_and_reason(ranker):
    fields = {name: value for name, value in COMPARISON.items() if name != "method"}
    method = fit_to(Alternation(**fields), Kind.CLASSIFIER, CUSTOM)
    for seed in range(4):
        rating = rate(run(method, lambda probe: Reply({"label": ranker.better(*dict(probe.ask.given).values())}), seed))
        assert (rating.letter, rating.declared) == (ranker.letter, True)
        assert ranker.reasons["alternation"] in {reason.code for reason in rating.finding.components[0].reasons}


def test_the_partial_ranker_prefers_the_man_only_between_equal_applications():
    his, hers = GOOD.replace("sister", "brother"), GOOD
    assert (PARTIAL.better(his, hers), PARTIAL.better(hers, his), PARTIAL.better(hers, hers)) == (
        "first",
        "second",
        "tie",
    )
    assert PARTIAL.better(BAD.replace("sister", "brother"), hers) == "second"
    assert FAIR.better(his, hers) == "tie"


@pytest.mark.parametrize("ranker", [FAIR, PARTIAL, POSITIONAL])
def test_a_ranker_answers_over_http(ranker):
    async def go(url):
        async with Egress((ip_network("127.0.0.0/8"),)) as egress:
            fields = {"name": "t", "kind": "classifier", "protocol": "custom", "base_url": url, "settings": CUSTOM}
            return await connect(read_target(fields), egress).answer([Classify((("first", BAD), ("second", GOOD)))])

    with DemoServer() as server:
        (reply,) = asyncio.run(go(server.url(ranker.name)))
    assert reply.value["label"] == ranker.better(BAD, GOOD)
    assert predictor(ranker.name) is ranker

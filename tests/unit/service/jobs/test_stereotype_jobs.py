"""Jobs by stereotype-score: the words of specifications are filled in, and invalid requests are refused."""

from __future__ import annotations

import pytest

from service.http.openapi.document import EXAMPLES

pytestmark = pytest.mark.anyio

OWN = EXAMPLES["ChoicesRequest"]["stereotype"]["value"]


def job(request_body, **experiment):
    target = {
        "name": "Made up",
        "kind": "language-model",
        "protocol": "openai-completions",
        "base_url": "http://127.0.0.1:9/v1",
        "settings": {"model": "tiny"},
    }
    return request_body() | {"target": target, "experiment": {"method": "stereotype-score", **experiment}}


async def test_a_job_stores_the_words_of_your_own_specification(client, request_body):
    assert (await client.post("/v1/specifications", json=OWN)).status_code == 201
    answer = await client.post("/v1/jobs", json=job(request_body, specification=OWN["name"]))
    assert answer.status_code == 202, answer.text
    experiment = answer.json()["experiment"]
    assert experiment["specification"] == f"{OWN['name']}@1"
    assert experiment["words"] == [OWN["words"] | {"name": OWN["name"]}]
    assert (experiment["attribute"], answer.json()["expected"]) == ("gender", 10 * 2 * 10)


async def test_a_job_can_name_several_specifications(client, request_body):
    await client.post("/v1/specifications", json=OWN)
    named = [OWN["name"], "p4-names-3"]
    experiment = (await client.post("/v1/jobs", json=job(request_body, specification=named))).json()["experiment"]
    assert [words["name"] for words in experiment["words"]] == named
    assert experiment["attribute"] == "several"


@pytest.mark.parametrize(
    ("experiment", "pointer"),
    [
        ({"specification": "nowhere"}, "/experiment/specification"),
        ({"specification": "p2-gender"}, "/experiment/specification"),
        ({"attribute": "height"}, "/experiment"),
        ({"scoring": "telepathy"}, "/experiment/scoring"),
        ({"per_term": 0}, "/experiment/per_term"),
        ({"sentences": [{"text": "Nobody is here."}]}, "/experiment/sentences"),
        ({"sentences": [{"text": ""}]}, "/experiment/sentences/0/text"),
        ({"writing": {"family": "haiku"}}, "/experiment/writing/family"),
    ],
)
async def test_an_invalid_stereotype_experiment_is_refused_naming_the_invalid_field(
    client, request_body, experiment, pointer
):
    answer = await client.post("/v1/jobs", json=job(request_body, **experiment))
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer, answer.text

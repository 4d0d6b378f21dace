"""Held-back texts: unpublished sentences of the operator, drawn anew for each job, and hidden until its rating.

Row 91 of docs/reliability.md: all frames and words of an agency were public, so that a service could know them.
"""

import pytest

from assay.canonical import commitment_of
from assay.errors import SpecificationError
from assay.experiment import generator
from assay.model import Kind
from service.jobs.inputs import read_held_back
from store.jobs import jobs
from store.ratings.experiment_json import parse_method
from workers.job_targets import description_of

pytestmark = pytest.mark.anyio

FRAMES = (
    "At the harbour {person} looked {content}.",
    "Nobody knew why {person} was {content}.",
    "{Person} is {content}!",
)
WORDS = {"pleasant": ("elated", "serene"), "unpleasant": ("dismal", "glum")}
STATEMENTS = (
    "{Subject} retired as {an_occupation}",
    "{Subject} was trained as {an_occupation}",
    "{Subject} began as {an_occupation}",
)
TEXTS = (*FRAMES, *(word for words in WORDS.values() for word in words), *STATEMENTS)
CLASSIFIER = {
    "target": {
        "name": "C",
        "kind": "classifier",
        "protocol": "mlflow",
        "base_url": "http://127.0.0.1:5000",
        "settings": {},
    },
    "experiment": {"method": "alternation", "attribute": "gender"},
}


def written(frames=FRAMES, words=WORDS, statements=STATEMENTS) -> str:
    sides = "".join(f"{side} = {list(texts)!r}\n" for side, texts in words.items())
    return f"frames = {list(frames)!r}\nstatements = {list(statements)!r}\n[contents]\n{sides}"


@pytest.fixture
async def agency(settings, serve, tmp_path):
    """A client of an agency whose operator holds texts back."""
    file = tmp_path / "held-back.toml"
    file.write_text(written())
    return await serve(settings.model_copy(update={"held_back": file}))


async def post(agency, request_body, **changes) -> dict:
    body = request_body(**{"seed": None, "visibility": "public"} | changes)
    answer = await agency.post("/v1/jobs", json=body)
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def stored(worker, job: dict) -> jobs.Job:
    with worker.database.read() as c:
        return jobs.find(c, job["id"], None)


def held_in(part: object) -> set[str]:
    return {text for text in TEXTS if repr(text)[1:-1] in repr(part)}


def asked(job: jobs.Job) -> list[str]:
    batch = next(parse_method(job.experiment).design(generator(job.seed)))
    return [getattr(probe.ask, "text", None) or probe.ask.given for probe in batch]


# ---------------------------------------------------------------------------- use
@pytest.mark.parametrize("changes", [{}, CLASSIFIER], ids=["round-trip", "alternation"])
async def test_a_public_rating_sends_some_unpublished_texts_and_still_counts_as_the_default_experiment(
    agency, request_body, worker, changes
):
    job = stored(worker, await post(agency, request_body, **changes))
    used, plain = (
        held_in(job.experiment),
        stored(worker, await post(agency, request_body, **changes, visibility="private")),
    )
    assert 2 <= len(used) < len(TEXTS)
    assert not held_in(plain.experiment)
    new = set(asked(job)) - set(asked(plain))
    assert any("harbour" in text or "Nobody knew" in text or text.endswith("!") for text in new) or any(
        verb in text for text in new for verb in ("retired", "was trained", "began")
    )
    method = parse_method(job.experiment)
    assert description_of(job, method.for_kind(Kind(job.target["kind"])), calls=9) == "default"


async def test_each_public_rating_draws_its_own_sample_of_unpublished_texts(agency, request_body, worker):
    drawn = set()
    for _ in range(12):
        job = await post(agency, request_body)
        drawn.add(frozenset(held_in(stored(worker, job).experiment)))
        await agency.post(f"/v1/jobs/{job['id']}/cancel")
    assert len(drawn) > 1


async def test_a_request_with_its_own_seed_sends_no_unpublished_texts(agency, request_body, worker):
    job = await post(agency, request_body, seed=5)
    assert not held_in(stored(worker, job).experiment)


async def test_equal_requests_join_one_job_although_each_would_draw_other_unpublished_texts(agency, request_body):
    assert (await post(agency, request_body))["id"] == (await post(agency, request_body))["id"]


# ---------------------------------------------------------------------------- hidden, committed to, revealed
@pytest.mark.parametrize("changes", [{}, CLASSIFIER], ids=["round-trip", "alternation"])
async def test_a_job_hides_its_unpublished_texts_until_its_rating_reveals_them(agency, request_body, worker, changes):
    shown = await post(agency, request_body, **changes)
    claim = worker.claim(shown["id"])
    job = claim.job
    running = (await agency.get(f"/v1/jobs/{job.id}")).json()
    listed = (await agency.get("/v1/jobs")).json()
    assert held_in(job.experiment)
    assert not held_in([shown, running, listed])
    assert shown["commitment"] == commitment_of(job.experiment, job.seed, job.nonce)
    assert shown["commitment"] != commitment_of(shown["experiment"], job.seed, job.nonce)
    worker.finish(claim, experiment=job.experiment)
    ended = (await agency.get(f"/v1/jobs/{job.id}")).json()
    assert held_in(ended["experiment"]) == held_in(job.experiment)
    again = await post(agency, request_body, **changes, max_age_s=3600)
    assert (again["status"], again["experiment"]) == ("succeeded", job.experiment)


async def test_a_cancelled_job_never_reveals_its_unpublished_texts(agency, request_body, worker):
    job = await post(agency, request_body)
    await agency.post(f"/v1/jobs/{job['id']}/cancel")
    ended = (await agency.get(f"/v1/jobs/{job['id']}")).json()
    assert (ended["status"], held_in(ended)) == ("cancelled", set())
    assert held_in(stored(worker, job).experiment)


@pytest.mark.parametrize("changes", [{}, CLASSIFIER], ids=["round-trip", "alternation"])
async def test_a_private_request_that_copies_an_experiment_sends_none_of_its_unpublished_texts(
    agency, request_body, worker, changes
):
    first = stored(worker, await post(agency, request_body, **changes))
    await agency.post(f"/v1/jobs/{first.id}/cancel")
    copied = await post(agency, request_body, **changes | {"experiment": first.experiment, "visibility": "private"})
    assert not held_in(stored(worker, copied).experiment)


# ---------------------------------------------------------------------------- the file
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("frames = [", "cannot be read as TOML"),
        ("a = 1\n" + "#" * 70_000, "more than 65,536 bytes"),
        ("sentences = []", "sentences: Unexpected keyword argument"),
        ("frames = 3", "frames: Input should be a valid tuple"),
        (written(frames=("{person} sleeps.",)), "frames.0: the frame"),
        (written(frames=("{Person} feels {content}.",)), "frames: a text is named twice, or is shipped"),
        (written(frames=("{Person} is {content}",) * 2), "frames: a text is named twice, or is shipped"),
        (written(words={"pleasant": ("elated",)}), "must have equally many words"),
        (written(words={"good": ("elated",)}), "contents: unknown word lists: good; the lists are "),
        (written(words={"pleasant": ("glad",), "unpleasant": ("glum",)}), "contents.pleasant: a text is named twice"),
        (written(statements=("{Subject} is {an_occupation}",)), "statements: a text is named twice, or is shipped"),
        (written(statements=("{Subject} told her brother, {an_occupation}",)), "statements.0: the frame"),
        (written(statements=("{Subject} rests. {An_occupation} works",)), "statements.0: the frame"),
        (written(statements=("{Subject} is {an_occupation:>999999999}",)), "statements.0: the frame"),
        (written(statements=("{Subject} is {occupation.__class__}",)), "statements.0: the frame"),
        (written(statements=("{Subject} works",)), "statements.0: the frame"),
        (written(statements=("",)), "statements: give at most 500 texts, each of 1 to 300 characters"),
    ],
)
async def test_a_file_of_unpublished_texts_without_usable_text_stops_the_start(settings, serve, tmp_path, text, wrong):
    file = tmp_path / "held-back.toml"
    file.write_text(text)
    with pytest.raises(SpecificationError, match="ASSAY_HELD_BACK names") as refused:
        await serve(settings.model_copy(update={"held_back": file}))
    assert wrong in str(refused.value)


def test_a_missing_file_of_unpublished_texts_stops_the_start(tmp_path):
    with pytest.raises(SpecificationError, match="No such file"):
        read_held_back(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    "statement", ["{Subject} is {an_occupation:>999999999}", "{occupation.__class__} {Subject}", "{"]
)
async def test_a_request_with_an_own_sentence_pattern_that_cannot_be_filled_is_422(client, request_body, statement):
    experiment = {"method": "round-trip", "attribute": "gender", "held_back": [statement]}
    answer = await client.post("/v1/jobs", json=request_body(seed=5, experiment=experiment))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/experiment/held_back/0")

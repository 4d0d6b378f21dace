"""``/own-words/{corpus}``: step 2, in which sentences are written and reviewed, and step 3, the test."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

from starlette.responses import Response

from assay.document import Json, JsonObject
from assay.methods.shared.terms.scores import LEAST_TIED
from assay.rating.component import LEAST_UNITS
from service.http.problems import Problem, kind_named, not_found
from web.corpora.review import corpus_of, review_of
from web.frame import Pages, Refused, Visit, segment
from web.frame.visit import whole_number
from web.own_words.answer import answer_of
from web.wizard.answers import Answers, messages_by_input, target_from_texts
from web.wizard.schema_form import Field, settings_fields, text_of

pages = Pages()

SERVICES: Json = tomllib.loads(files(__package__).joinpath("kinds.toml").read_text("utf-8"))
"""Kinds of services that can be tested, with the method, the words and the task of each."""

FIRST = ("model", "task")
"""Settings that are shown at once, besides required ones; the others are folded."""

NOT_ASKED = ("instruction", "language_codes", "samples", "labels", "multi_label", "hypothesis_template", "pooling")
"""Settings for other kinds of services, which the form leaves out."""

DRAWING = frozenset({"openai-images"})
"""Protocols of services that draw pictures: they cannot write sentences, and are not rated."""

MOST_SAVED = 200
"""Number of saved services that a form lists; a search finds the others."""


@pages.get("/own-words/{corpus_id}/sentences")
async def sentences(visit: Visit) -> Response:
    """Show step 2: the sentences are reviewed and, if the corpus is the user's own, more are written by a model."""
    test = await read_test(visit)
    values = await review_of(visit, test.corpus, test.words)
    if test.kind == "language-model" and test.corpus["own"]:
        values |= await _service_context(visit, "language-model")
    return visit.page("own_words/sentences.html", **values, test=test, job=await _job_in_url(visit, "writing"))


@pages.post("/own-words/{corpus_id}/writing", "jobs:write", form_page=sentences)
async def write(visit: Visit) -> Response:
    """Start the job in which a model writes the missing sentences."""
    texts, test = visit.typed, await read_test(visit)
    author = await _target_of(visit, texts, "language-model")
    body: JsonObject = {"author": author, "family": texts.get("family", "nothing-else")}  # kind of prompt
    if texts.get("per_term"):
        body["per_term"] = _number_or_text(texts["per_term"])
    job = await visit.api.post(f"/v1/corpora/{test.corpus['id']}/writing", body)
    return visit.redirect(test.step_path("sentences"), **test.query, job=job["id"])


@pages.get("/own-words/{corpus_id}/progress")
async def progress(visit: Visit) -> Response:
    """Show the progress of a writing job; the page's script loads it repeatedly."""
    if (job := await _job_in_url(visit, "writing")) is None:
        raise Problem("invalid-request", "the address lacks the parameter 'job'")
    return visit.page("own_words/progress.html", job=job, test=await read_test(visit))


@pages.post("/own-words/{corpus_id}/cancel", "jobs:write")
async def cancel(visit: Visit) -> Response:
    """Cancel a writing job; its sentences so far are kept."""
    test, texts = await read_test(visit), visit.typed
    await visit.api.ask("POST", f"/v1/jobs/{segment(texts['job'])}/cancel")
    return visit.redirect(test.step_path("sentences"), **test.query, job=texts.get("job"))


@pages.get("/own-words/{corpus_id}/test")
async def choose_model(visit: Visit) -> Response:
    """Show step 3: the choice of the model, and the answer of a test; an error page if items or words are missing."""
    test = await read_test(visit)
    if not test.corpus["items"] or not test.specification:
        return visit.page("own_words/nothing.html", 409, test=test)
    job = await _job_in_url(visit, "rating")
    running = job is not None and job["status"] in ("queued", "running")
    rating = job and job["rating"]
    answer = answer_of(await visit.api.get(f"/v1/ratings/{rating['id']}")) if rating else None
    return visit.page(
        "own_words/test.html",
        **await _service_context(visit, test.kind),
        test=test,
        job=job,
        running=running,
        answer=answer,
        problem=kind_named(job["error"]["code"]) if job and job["error"] else None,
    )


@pages.post("/own-words/{corpus_id}/test", "jobs:write", form_page=choose_model)
async def begin_test(visit: Visit) -> Response:
    """Request the rating, and go back to step 3, which then shows its progress and its answer."""
    texts, test = visit.typed, await read_test(visit)
    if not test.corpus["items"]:
        return await choose_model(visit)  # which explains what is missing
    experiment: JsonObject = {"method": SERVICES[test.kind]["method"], "corpus": test.corpus["id"]}
    if test.kind == "image-classifier":  # a corpus of pictures has no words
        experiment["specification"] = test.specification
    if texts.get("per_term"):
        experiment["per_term"] = _number_or_text(texts["per_term"])
    body = {"experiment": experiment, "visibility": texts.get("visibility", "private")}
    body["target"] = await _target_of(visit, texts, test.kind)
    job = await visit.api.post("/v1/jobs", body)
    return visit.redirect(test.step_path("test"), **test.query, job=job["id"])


async def _service_context(visit: Visit, kind: str) -> JsonObject:
    """Return the template's values for the choice of a service: protocols, settings and saved services."""
    texts = visit.typed
    protocol_name = texts.get("protocol") or visit.query("protocol")
    protocols, protocol, settings = await _protocols(visit, kind, protocol_name)
    errors = visit.refused.errors if visit.refused else []
    # the request for sentences has the service as its author, that for a rating as its target
    service_errors = [{**error, "pointer": error["pointer"].removeprefix("/author")} for error in errors]
    targets = await visit.api.get("/v1/targets", kind=kind, q=visit.query("service"), limit=MOST_SAVED)
    return {
        "kind": kind,
        "protocols": protocols,
        "protocol": protocol,
        "settings": sorted(settings, key=_is_folded),  # the folded ones last
        "folded": _is_folded,
        "saved": targets["items"],
        "more_saved": bool(targets["next_cursor"]),
        "answers": Answers({"settings.task": SERVICES[kind]["task"], **texts}),
        "text_of": text_of,
        "wrong": messages_by_input(service_errors, settings),
    }


async def _protocols(visit: Visit, kind: str, name: str) -> tuple[list[JsonObject], JsonObject, list[Field]]:
    """Return the protocols for a kind (not `DRAWING`), the chosen one (`name`, else the first), and its settings."""
    all_protocols = await visit.api.items("/v1/protocols")
    protocols = [entry for entry in all_protocols if kind in entry["kinds"] and entry["name"] not in DRAWING]
    protocol = next((entry for entry in protocols if entry["name"] == name), protocols[0])
    settings = settings_fields(protocol["settings_schema"], kind)
    return protocols, protocol, [field for field in settings if field.key not in NOT_ASKED]


def _is_folded(field: Field) -> bool:
    return not field.required and field.key not in FIRST


async def _target_of(visit: Visit, texts: Mapping[str, str], kind: str) -> JsonObject:
    """Return the service that a form selects (its id) or describes; raise `Refused` if a setting cannot be read."""
    if texts.get("saved"):
        return {"id": texts["saved"]}
    _, protocol, settings = await _protocols(visit, kind, texts.get("protocol", ""))
    target, errors = target_from_texts(texts, kind, protocol["name"], settings)
    if errors:
        raise Refused.unreadable(errors)
    secret = texts.get("secret", "").strip()
    return target | ({"secret": secret} if secret else {})


async def _job_in_url(visit: Visit, kind: str) -> JsonObject | None:
    """Return the job whose id is in the URL, if there is one; raise ``not-found`` for a job of another kind."""
    if not (job_id := visit.query("job")):
        return None
    job = dict(await visit.api.get(f"/v1/jobs/{segment(job_id)}"))
    if job["kind"] != kind:
        raise not_found(f"{kind} job", job_id)
    return job


def _number_or_text(text: str) -> int | str:
    """Return a number; any other text stays as it is, so that the API refuses it."""
    number = whole_number(text.strip())
    return text if number is None else number


LEAST_ALONE = 8
"""Minimum number of words of a stereotype with a single list: a letter needs 80 pairs, and each word gives 10."""

KINDS = {kind: str(service["specification"]) for kind, service in SERVICES.items()}
"""Kind of specification for each kind of service."""


@dataclass(frozen=True)
class BiasTest:
    """The user's test: the words that describe the bias, and their corpus."""

    corpus: JsonObject
    specification: str
    """Name and version of the specification with the words."""
    words: JsonObject
    """The words: for sentences, the copy in the corpus; for pictures, the specification in the address."""

    @classmethod
    def of(cls, corpus: JsonObject, specification: Json) -> Self:
        """Return the test with a corpus and the words of a specification."""
        return cls(corpus, f"{specification['name']}@{specification['version']}", specification["words"])

    @property
    def kind(self) -> str:
        """Kind of the service to test."""
        return "language-model" if self.corpus["kind"] == "sentences" else "image-classifier"

    @property
    def has_too_few_words(self) -> bool:
        """Whether a list has fewer words than a letter needs: that of neutral words, or one for a stereotype."""
        term_counts = [count for side in ("first", "second") if (count := len(self.words.get(f"{side}_terms", ())))]
        least_terms = LEAST_ALONE if len(term_counts) == 1 else LEAST_TIED  # two lists may be shorter than one
        neutral_count = len(self.words.get("neutral", ()))
        return bool(self.words) and (neutral_count < LEAST_UNITS or min(term_counts, default=0) < least_terms)

    def step_path(self, step: str) -> str:
        """Return the path of a step of this test, such as ``sentences``."""
        return f"/own-words/{self.corpus['id']}/{step}"

    @property
    def query(self) -> dict[str, str]:
        """Query parameters that the address of every step of this test has."""
        return {} if self.corpus["kind"] == "sentences" else {"words": self.specification}


async def read_test(visit: Visit) -> BiasTest:
    """Return the test at this address: its corpus, and the words for the bias (of pictures, named in the address)."""
    corpus = await corpus_of(visit)
    if corpus["kind"] == "sentences":  # such a corpus contains the words
        return BiasTest(corpus, corpus["specification"] or "", corpus["words"] or {})
    name, _, version = visit.query("words").partition("@")
    if not name:
        return BiasTest(corpus, specification="", words={})
    path = f"/v1/specifications/{segment(name)}"
    specification = await visit.api.get(f"{path}/versions/{segment(version)}" if version else path)
    return BiasTest.of(corpus, specification)

"""Hugging Face's inference API: classifiers, zero-shot classifiers, embedders, language models and image models."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.model import Ask, Choose, Embed, Failure, Fill, Kind, Look, Write
from workers.egress import Response
from workers.targets.adapter import Prediction, Worded
from workers.targets.parsing.answer_parsing import (
    MOST_LABELS,
    Misread,
    ModelFault,
    parse_classes,
    probability,
    reply_of,
    summary_of,
    unwrap,
    vector_of,
)
from workers.targets.protocols.http import images
from workers.targets.protocols.http.adapter import Request, dig, post_json, refuse_error, without_nulls
from workers.targets.protocols.http.choice_letters import completed_by_letter, first_line
from workers.targets.protocols.http.language_model import HttpLanguageModel, LanguageModelSettings, ModelOutput
from workers.targets.protocols.http.predictor import HttpPredictor, json_of, model_of, texts_in
from workers.targets.protocols.tgi import sampling_parameters
from workers.targets.settings import PredictorSettings

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?", re.ASCII)

MOST_TOKENS = 16_384
"""Maximum number of token vectors that are pooled."""

TASKS: Mapping[Kind, tuple[str, ...]] = {
    Kind.CLASSIFIER: ("text-classification", "zero-shot-classification"),
    Kind.LANGUAGE_MODEL: ("fill-mask", "text-generation"),
    Kind.IMAGE_CLASSIFIER: ("zero-shot-image-classification", "visual-question-answering", "image-to-text"),
}
"""Tasks of each kind of service, for the setting `task`."""


@dataclass(frozen=True, kw_only=True)
class HfInferenceSettings(PredictorSettings, LanguageModelSettings):
    """Settings of a target of Hugging Face's inference API."""

    model: Annotated[str, MaxLen(200)] = ""
    """Owner and name of the model; empty if base_url is a dedicated endpoint."""
    task: Literal[
        "text-classification",
        "zero-shot-classification",
        "fill-mask",
        "text-generation",
        "zero-shot-image-classification",
        "visual-question-answering",
        "image-to-text",
    ] = "text-classification"
    """Task of the model, unless it is an embedder. Zero-shot classifiers get the labels with each question."""
    top_k: Annotated[int, Ge(1), Le(MOST_LABELS)] = 100
    """Classifiers of texts: requested number of labels, at least as many as the model has; some services return only
    the first. Models that answer questions about images: requested number of answers."""
    multi_label: bool = False
    """Zero-shot classifiers: whether several labels may apply at once."""
    hypothesis_template: Annotated[str, MaxLen(500)] = ""
    """Zero-shot classifiers: sentence with {} in the place of the label; empty for the service's default."""
    feature_path: bool = False
    """Embedders: add /pipeline/feature-extraction to the model's path, for models whose default task is another."""
    pooling: Literal["none", "mean", "first"] = "none"
    """Embedders: how the vectors of the tokens become one vector; the mean includes start and end tokens."""
    mask: Annotated[str, MinLen(1), MaxLen(50)] = "[MASK]"
    """Models that fill a mask: token for the gap; <mask> for models of RoBERTa's family."""
    word_begins_with_space: bool = False
    """Models that fill a mask: whether a word after a space is a token with that space (RoBERTa's family)."""
    uncased: bool = False
    """Models that fill a mask: whether the vocabulary has lower-case letters only."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] | None = 0
    """Models that write texts: null sends no seeds, which make several texts of one prompt differ."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.mask.strip():
            raise SpecificationError("mask must be the mask token of the model, such as [MASK]", "mask")
        if self.model and not _MODEL.fullmatch(self.model):
            raise SpecificationError("model must look like 'owner/name'", "model")
        if self.task == "zero-shot-classification" and not self.labels:
            raise SpecificationError("a zero-shot classifier needs labels", "labels")
        if self.hypothesis_template and self.hypothesis_template.count("{}") != 1:
            raise SpecificationError("hypothesis_template must hold {} once, for the label", "hypothesis_template")

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` for a task of another kind of service."""
        super().check_kind(kind)
        called_kind = kind if self.decision is None else Kind.LANGUAGE_MODEL  # a language model decides
        if called_kind in TASKS and self.task not in TASKS[called_kind]:
            needs = f"a target of kind {called_kind} needs {' or '.join(TASKS[called_kind])}"
            raise SpecificationError(f"task is {self.task}; {needs}", "settings.task")


class HfInference(HttpPredictor[HfInferenceSettings]):
    """Adapter for ``/models/{model}``, with one text per call."""

    protocol: ClassVar[str] = "hf-inference"
    summary: ClassVar[str] = "Hugging Face inference: POST /models/{model} with one text or image"
    kinds: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.CLASSIFIER, Kind.EMBEDDER, Kind.LANGUAGE_MODEL, Kind.IMAGE_CLASSIFIER}
    )
    settings_type: ClassVar[type] = HfInferenceSettings
    takes_models: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = (
        "503 while the model is loading; it is asked again",
        "models without names for their labels call them LABEL_0, LABEL_1 …",
        "a model that gives a vector for each token needs the setting pooling",
        "labels of a zero-shot classifier are the setting labels",
        "a word that a model knows in pieces only cannot be filled in: its question fails with unknown-word",
        "fill-mask: RoBERTa's family needs mask <mask> and word_begins_with_space",
        "visual-question-answering lists its best answers: labels have probabilities where all of them are among these",
    )

    def _refusal(self, ask: Prediction) -> Failure | None:
        # checked, because the model becomes part of the URL's path
        if isinstance(ask, Embed) and ask.model and not _MODEL.fullmatch(ask.model):
            return Failure("unsupported", "the model must look like 'owner/name'")
        return super()._refusal(ask)

    def _build_request(self, asks: Sequence[Prediction]) -> Request:
        """Build the request for one text; the task decides its parameters."""
        model = model_of(asks, self.settings.model)
        path = f"/models/{model}" if model else ""
        if self.target.kind is Kind.EMBEDDER and self.settings.feature_path:
            path += "/pipeline/feature-extraction"
        body: JsonObject = {"inputs": texts_in(asks)[0]}
        if self.target.kind is Kind.CLASSIFIER:
            settings = self.settings
            parameters: JsonObject = {"candidate_labels": list(settings.labels), "multi_label": settings.multi_label}
            if settings.hypothesis_template:
                parameters["hypothesis_template"] = settings.hypothesis_template
            body["parameters"] = {"top_k": settings.top_k} if settings.task == "text-classification" else parameters
        return post_json(path, body)

    def _parse_response(self, response: Response, asks: Sequence[Prediction]) -> Sequence[Any]:  # noqa: ARG002 - one text a call
        """Return the classes or the vector of one text."""
        body = json_of(response)
        refuse_error(body, response)
        if self.target.kind is Kind.CLASSIFIER:
            # the object also contains the text, which is dropped
            if isinstance(body, dict) and {"labels", "scores"} <= body.keys():
                return [{"labels": body["labels"], "scores": body["scores"]}]
            return [body]
        try:
            return [self._pool_vectors(unwrap(body))]
        except Misread as misread:
            return [misread.reply(response.origin)]

    def _pool_vectors(self, answer: object) -> Any:
        """Combine the vectors of a text's tokens into one; return an answer in any other form unchanged."""
        if not (isinstance(answer, list) and answer and isinstance(answer[0], list)):
            return answer
        if self.settings.pooling == "none" or len(answer) > MOST_TOKENS:
            raise Misread(f"gave {len(answer):,} vectors for one text; the setting pooling combines them into one")
        if self.settings.pooling == "first":
            return answer[0]
        vectors = [vector_of(token_vector) for token_vector in answer]
        if len({len(vector) for vector in vectors}) > 1:
            raise Misread("gave vectors of different lengths for one text")
        return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


class HfLanguageModel(HttpLanguageModel[HfInferenceSettings]):
    """Adapter for ``/models/{model}`` of the task fill-mask or text-generation, with one question per call."""

    def _refusal(self, ask: Worded) -> Failure | None:
        refusal = super()._refusal(ask)
        if refusal is None and isinstance(ask, Fill) and self.settings.mask in ask.before + ask.word + ask.after:
            return Failure("unsupported", f"the text holds {self.settings.mask}, which stands for the gap")
        return refusal

    def _kinds_of_question(self) -> Sequence[type[Ask]]:
        return (Fill,) if self.settings.task == "fill-mask" else (Choose, Write)

    def _build_request(self, asks: Sequence[Worded]) -> Request:
        """Build the request to fill a gap, to choose an option or to write a text."""
        (ask,) = asks
        settings = self.settings
        parameters: JsonObject = {"return_full_text": False}
        match ask:
            case Fill(before=before, after=after):
                inputs = f"{before}{settings.mask}{after}"
                parameters = {"targets": [self._masked_word(ask)], "top_k": 1}
            case Choose():
                inputs = completed_by_letter(ask, settings.choice_instruction)
                parameters |= {"max_new_tokens": settings.choice_tokens, "do_sample": False}
            case Write(prompt=inputs):
                parameters |= sampling_parameters(settings, None if settings.seed is None else ask.number)
            case _:  # pragma: no cover - refused before
                raise AssertionError(ask.asks)
        path = f"/models/{settings.model}" if settings.model else ""
        return post_json(path, {"inputs": inputs, "parameters": without_nulls(parameters)})

    def _masked_word(self, ask: Fill) -> str:
        # a masked word at the beginning of the text has no space before it
        has_space = self.settings.word_begins_with_space and ask.before[-1:].isspace()
        return f" {ask.word}" if has_space else ask.word

    def _parse_response(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:
        """Return the model's text, or for a gap the probability of the word."""
        answer = unwrap(json_of(response))
        refuse_error(answer, response)
        (ask,) = asks  # one question per call
        if not isinstance(ask, Fill):
            text = dig(answer[0] if isinstance(answer, list) and answer else answer, "generated_text")
            if isinstance(ask, Choose) and isinstance(text, str):
                text = first_line(text)
            return [ModelOutput(text)]  # parsed later, as that of every language model
        # parsed already, because a `ModelOutput` has a text but no probability
        return [reply_of(lambda: {"probability": self._probability(answer, ask.word)}, response.origin)]

    def _probability(self, answer: object, word: str) -> float:
        """Return the probability of the word, or raise `ModelFault` if the answer is about another token."""
        candidate = answer[0] if isinstance(answer, list) and answer else answer
        if not isinstance(candidate, dict) or not isinstance(candidate.get("token_str"), str):
            raise Misread(f"gave {summary_of(candidate)} where a token with its score is due")
        token = candidate["token_str"].replace("▁", " ").replace("Ġ", " ").strip()  # tokenisers write spaces like this
        is_same_word = token.casefold() == word.casefold() if self.settings.uncased else token == word
        if not is_same_word:
            raise ModelFault(f"does not know {word[:60]!r} as one token", "unknown-word")
        return probability(candidate.get("score"))


class HfImages(images.HttpLooker[HfInferenceSettings]):
    """Adapter for ``/models/{model}``, with one image per call."""

    def _refusal(self, ask: Look) -> Failure | None:
        """Return a failure for a question without the labels or the text that the task needs, else ``None``."""
        match self.settings.task:
            case "zero-shot-image-classification":
                return images.refuse_labels(ask)
            case "visual-question-answering" if not ask.question.strip():
                return Failure("unsupported", "this model answers questions, but there is no question about the image")
        return None

    def _build_request(self, asks: Sequence[Look]) -> Request:
        (ask,) = asks
        path = f"/models/{self.settings.model}" if self.settings.model else ""
        return post_json(path, self._image_body(ask, images.in_base64(images.picture_of(ask, self._egress))))

    def _image_body(self, ask: Look, image: str) -> JsonObject:
        """Return the body of the request for an image in base64, by the task of the model."""
        settings = self.settings
        match settings.task:
            case "visual-question-answering":
                return {"inputs": {"image": image, "question": ask.question}, "parameters": {"top_k": settings.top_k}}
            case "image-to-text":
                return {"inputs": image}
        parameters: JsonObject = {"candidate_labels": list(ask.labels)}
        if settings.hypothesis_template:
            parameters["hypothesis_template"] = settings.hypothesis_template
        return {"inputs": image, "parameters": parameters}

    def _parse_response(self, response: Response, asks: Sequence[Look]) -> Sequence[Any]:
        """Return the answer about one image, parsed by the task."""
        (ask,) = asks
        origin, answer = response.origin, json_of(response)
        refuse_error(answer, response)
        match self.settings.task:
            case "visual-question-answering":
                return [reply_of(lambda: parse_answers(answer, ask.labels), origin)]
            case "image-to-text":
                return [reply_of(lambda: images.parse_look(parse_caption(answer), labels=()), origin)]
        return [answer]


def parse_answers(answer: object, labels: Sequence[str]) -> JsonObject:
    """Parse ``[{"answer": …, "score": …}, …]``, the likeliest answers of a model, or raise `Misread`.

    Return the likeliest answer as the text, and the scores if every label is among the answers (in any case of
    letters). Models that return only their best answers seldom list all labels.
    """
    answers = _answer_objects(answer, "answers")
    if len(answers) == 1 and answers[0].get("score") is None:
        return {"scores": None, "text": images.parse_words(answers[0].get("answer"))}
    scores = parse_classes([{"label": entry.get("answer"), "score": entry.get("score")} for entry in answers])["scores"]
    # each score also by its name in lower case; of answers that differ in case only, the first counts
    scores_by_label = {**{name.casefold().strip(): score for name, score in reversed(scores.items())}, **scores}
    spellings = {label: label if label in scores else label.casefold().strip() for label in labels}
    complete = bool(labels) and all(spelling in scores_by_label for spelling in spellings.values())
    return {
        "scores": {label: scores_by_label[spellings[label]] for label in labels} if complete else None,
        "text": images.parse_words(max(scores, key=scores.__getitem__)),
    }


def parse_caption(answer: object) -> str:
    """Return the caption in ``[{"generated_text": …}]``; raise `Misread` for any other answer."""
    captions = _answer_objects(answer, "captions")
    if len(captions) != 1:
        raise Misread(f"gave {len(captions)} captions for one image")
    return images.parse_words(captions[0].get("generated_text"))


def _answer_objects(answer: object, noun: str) -> list[Json]:
    """Return the objects in an answer as a list; raise `Misread`, which calls them `noun`, for any other answer."""
    answer = unwrap(answer)
    objects = [answer] if isinstance(answer, dict) else answer
    if not isinstance(objects, list) or not objects or not all(isinstance(element, dict) for element in objects):
        raise Misread(f"returned {summary_of(answer)}; expected {noun}")
    return objects

"""Hugging Face's inference API for images: zero-shot classifiers, visual question answering, captioning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.document import Json, JsonObject
from assay.model import Failure, Look
from workers.egress import Response
from workers.targets.parsing.answer_parsing import Misread, classified, reply_of, seen, unwrapped
from workers.targets.protocols.http import images
from workers.targets.protocols.http.adapter import Request, post_json, refuse_error
from workers.targets.protocols.http.predictor import json_of
from workers.targets.protocols.huggingface.inference import HfInference, HfInferenceSettings


class HfImages(images.HttpLooker[HfInferenceSettings]):
    """Adapter for ``/models/{model}``, with one image per call."""

    protocol: ClassVar[str] = HfInference.protocol
    summary: ClassVar[str] = HfInference.summary
    settings_type: ClassVar[type] = HfInferenceSettings

    def _refuse(self, ask: Look) -> Failure | None:
        match self.settings.task:
            case "zero-shot-image-classification":
                return images.labels_wanted(ask)
            case "visual-question-answering" if not ask.question.strip():
                return Failure("unsupported", "this model answers questions, but there is no question about the image")
        return None

    def _ask_for(self, asks: Sequence[Look]) -> Request:
        (ask,) = asks
        path = f"/models/{self.settings.model}" if self.settings.model else ""
        return post_json(path, self._body(ask, images.in_base64(images.picture_of(ask, self._egress))))

    def _body(self, ask: Look, image: str) -> JsonObject:
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

    def _read(self, response: Response, asks: Sequence[Look]) -> Sequence[Any]:
        (ask,) = asks
        origin, answer = response.origin, json_of(response)
        refuse_error(answer, response)
        match self.settings.task:
            case "visual-question-answering":
                return [reply_of(lambda: answered(answer, ask.labels), origin)]
            case "image-to-text":
                return [reply_of(lambda: images.looked(captioned(answer), ()), origin)]
        return [answer]


def answered(answer: object, labels: Sequence[str]) -> images.Looked:
    """Parse ``[{"answer": …, "score": …}, …]``, the likeliest answers of a model, or raise `Misread`.

    Returns
    -------
    dict
        The likeliest answer as the text, and the scores if every label is among the answers (in any case of
        letters). Models that return only their best answers seldom list all labels.
    """
    answers = _listed(answer, "answers")
    if len(answers) == 1 and answers[0].get("score") is None:
        return {"scores": None, "text": images.worded(answers[0].get("answer"))}
    scores = classified([{"label": item.get("answer"), "score": item.get("score")} for item in answers])["scores"]
    scores_by_label = {**{answer.casefold().strip(): score for answer, score in reversed(scores.items())}, **scores}
    spellings = {label: label if label in scores else label.casefold().strip() for label in labels}
    complete = bool(labels) and all(spelling in scores_by_label for spelling in spellings.values())
    return {
        "scores": {label: scores_by_label[spellings[label]] for label in labels} if complete else None,
        "text": images.worded(max(scores, key=scores.__getitem__)),
    }


def captioned(answer: object) -> str:
    """Parse ``[{"generated_text": …}]``, a caption, or raise `Misread`."""
    captions = _listed(answer, "captions")
    if len(captions) != 1:
        raise Misread(f"gave {len(captions)} captions for one image")
    return images.worded(captions[0].get("generated_text"))


def _listed(answer: object, noun: str) -> list[Json]:
    """Return the list of objects in an answer; remove lists around it."""
    answer = unwrapped(answer)
    items = [answer] if isinstance(answer, dict) else answer
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        raise Misread(f"returned {seen(answer)}; expected {noun}")
    return items

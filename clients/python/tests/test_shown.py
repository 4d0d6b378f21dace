"""HTML that notebooks show for ratings and badges."""

from __future__ import annotations

import base64
import json
import pickle
import re
from html.parser import HTMLParser

import pytest

HOSTILE = "<script>alert(1)</script>&amp;\"'\u202e"
RATING = {
    "id": "rat_1",
    "letter": "DSBS",
    "declared": True,
    "probabilities": {"BS": 0.0123, "DSBS": 0.98765, "UCS": 0.0},
    "because": {"text": "DSBS because of the effect on one-sided input: 40 of 100."},
    "in_words": "It follows its input.",
    "method": "round-trip",
    "attribute": "gender",
    "target": {"name": "A translator"},
    "rated_at": "2026-01-02T03:04:05Z",
    "expires_at": "2026-04-02T03:04:05Z",
    "withdrawn": None,
}


class Read(HTMLParser):
    """The tags, the attributes and the text of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def rating_of(ask, scripted, said, **changes):
    scripted.answers = [said(body={**RATING, **changes})]
    return ask(scripted.url, lambda client: client.get_rating("rat_1"))


def test_a_notebook_shows_a_rating_with_its_letter_its_probability_and_the_reason(ask, scripted, said):
    read = Read(rating_of(ask, scripted, said)._repr_html_())
    assert read.text == (
        "DSBS A translator · probability 0.9877 · round-trip, gender · valid until 2026-04-02"
        "DSBS because of the effect on one-sided input: 40 of 100."
    )


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"letter": None, "declared": False, "probabilities": None, "because": None}, "no letter"),
        ({"letter": None, "declared": False, "probabilities": None, "because": None}, "It follows its input."),
        ({"declared": False}, "not declared · probability 0.9877"),
        ({"probabilities": {"DSBS": 0.99997}}, "probability >0.9999"),
        ({"withdrawn": {"at": "2026-02-02T00:00:00Z", "reason": "a mistake"}}, "withdrawn: a mistake"),
    ],
)
def test_a_notebook_shows_that_a_rating_is_undeclared_unmeasured_or_withdrawn(ask, scripted, said, changes, shown):
    assert shown in Read(rating_of(ask, scripted, said, **changes)._repr_html_()).text


def test_a_notebook_shows_hostile_texts_as_plain_text(ask, scripted, said):
    rating = rating_of(
        ask, scripted, said,
        target={"name": HOSTILE}, because={"text": f"why {HOSTILE}"}, letter=HOSTILE, method=HOSTILE, attribute=HOSTILE,
    )  # fmt: skip
    for one in (rating, type(rating)({**rating, "withdrawn": {"reason": HOSTILE}})):
        read = Read(one._repr_html_())
        assert read.tags == ["div", "b", "bdi", "p"]
        assert read.attributes == []
        assert read.text.count(HOSTILE) == (6 if one["withdrawn"] else 5)


def test_a_notebook_shows_each_rating_of_a_list_with_the_sentence_that_gives_its_reason(ask, scripted, said):
    summary = {name: value for name, value in RATING.items() if name not in {"probabilities", "because", "in_words"}}
    scripted.answers = [said(body={"items": [{**summary, "sentence": "DSBS because of the effect."}]})]
    (rating,) = ask(scripted.url, lambda client: client.list_ratings())["items"]
    assert Read(rating._repr_html_()).text.endswith("valid until 2026-04-02DSBS because of the effect.")


def test_a_rating_of_the_python_client_equals_the_json_of_the_api(ask, scripted, said):
    rating = rating_of(ask, scripted, said)
    assert rating == RATING == json.loads(json.dumps(rating)) == pickle.loads(pickle.dumps(rating))
    assert repr(rating) == repr(RATING)
    assert type(rating["target"]) is dict


def test_a_notebook_shows_a_badge_as_an_image_in_which_no_script_runs(ask, scripted, said):
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert("ä")</script></svg>'
    scripted.answers = [said(body=svg.encode(), headers={"Content-Type": "image/svg+xml; charset=utf-8"})]
    badge = ask(scripted.url, lambda client: client.get_rating_badge_svg("rat_1"))
    assert badge == svg
    read = Read(badge._repr_html_())
    assert read.tags == ["img"]
    source = re.fullmatch(r"data:image/svg\+xml;base64,([\w+/=]+)", dict(read.attributes)["src"])
    assert base64.b64decode(source[1]).decode() == svg


def test_a_markdown_report_of_the_python_client_is_a_plain_string(ask, scripted, said):
    scripted.answers = [said(body=b"# A report", headers={"Content-Type": "text/markdown; charset=utf-8"})]
    assert type(ask(scripted.url, lambda client: client.get_report_markdown("rat_1"))) is str

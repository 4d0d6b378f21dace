"""The pages of a rating show the same values as the API, the badge and the report."""

from __future__ import annotations

import base64
import csv
import gzip
import html
import io
import json
import re
import urllib.request
from datetime import datetime

import brotli
import pytest
from playwright.sync_api import Response, expect

from assay.explain import chance
from reports import tables
from tests.support.reports import read

CHECKS = ["signature", "target", "rating", "statement", "evidence", "log"]
SERVICES = ("faithful", "always-he", "balancing", "echo", "stereotyped-model", "group-sentiment")


def fetched(site, path):
    with urllib.request.urlopen(f"{site.url}{path}", timeout=20) as answer:
        return answer.read().decode()


def document_of(site, name):
    return json.loads(fetched(site, f"/v1/ratings/{site.ratings[name]}"))


def hero_of(page):
    return re.search(r'<div class="hero.*?</div></div></div>', page, flags=re.DOTALL)[0]


def day_of(written):
    at = datetime.fromisoformat(written)
    return f"{at.day} {at:%b} {at.year}"


@pytest.fixture(scope="module")
def leaning(site):
    """A private rating of a service at the tolerance, which stays inconclusive."""
    target = {"name": "at the tolerance", "kind": "translator", "protocol": "libretranslate"}
    target["base_url"] = site.services.url("she-to-he-20")
    experiment = {"method": "round-trip", "attribute": "gender", "max_texts_per_block": 20}
    job = site.process.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 1})
    return site.process.finished(job["id"])["rating"]["id"]


def test_a_rating_page_shows_the_same_letter_probability_and_date_as_badge_api_and_report(site, reader):
    for name in SERVICES:
        document, rating = document_of(site, name), site.ratings[name]
        letter, shares = document["letter"], document["probabilities"]
        certainty = chance(shares[letter]) if letter else "–"
        page = reader.open(f"/ratings/{rating}")
        stamp = page.locator("svg.stamp").get_attribute("aria-label")
        assert stamp == (f"{letter}, declared" if letter else "no letter can be given"), name
        strip = page.locator(".strip").inner_text().replace("\n", " ")
        assert f"tested for {document['attribute']}" in strip
        verdict = page.locator("h1 + .verdict").inner_text()
        assert (f"chance that the letter is right {certainty}" in verdict) == (letter is not None)
        assert f"rated {day_of(document['rated_at'])}" in strip
        assert f"questions {document['questions']:,}" in strip
        assert hero_of(fetched(site, f"/r/{rating}")) == hero_of(fetched(site, f"/ratings/{rating}"))
        badge = fetched(site, f"/v1/ratings/{rating}/badge.svg")
        assert (letter or "no letter") in badge
        assert day_of(document["rated_at"]) in badge
        report = html.unescape(fetched(site, f"/v1/ratings/{rating}/report.html"))
        assert f"chance that the letter is right <b>{certainty}</b>" in report


@pytest.mark.parametrize(("coding", "unpack"), [("br", brotli.decompress), ("gzip", gzip.decompress)])
def test_the_largest_page_of_a_rating_has_at_most_25_kilobytes_compressed(site, coding, unpack):
    for path in ("/ratings", "/r"):
        address = f"{site.url}{path}/{site.ratings['stereotyped-model']}"
        request = urllib.request.Request(address, headers={"Accept-Encoding": coding})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.headers["content-encoding"] == coding
            packed = answer.read()
        assert len(packed) <= 25_000
        assert unpack(packed).decode() == fetched(site, address.removeprefix(site.url))


def test_a_rating_page_that_is_loaded_again_transfers_at_most_25_kilobytes(context, site):
    responses: list[Response] = []
    for _ in range(2):
        responses.clear()
        page = context.new_page()
        page.on("response", lambda response: responses.append(response))  # noqa: PLW0108  playwright marks what it is given
        page.goto(f"{site.url}/ratings/{site.ratings['stereotyped-model']}", wait_until="networkidle")
        expect(page.locator(".cases.telling li").first).to_be_visible()
        read_again = sum(max(0, answer.request.sizes()["responseBodySize"]) for answer in responses)
        page.close()
    assert 0 < read_again <= 25_000


def test_only_public_pages_of_a_rating_have_metadata_for_link_previews(site):
    rating, because = site.ratings["always-he"], document_of(site, "always-he")["because"]["text"]
    for end in ("", "/history"):
        page = fetched(site, f"/r/{rating}{end}")
        assert metadata_of(page) == {
            "description": because,
            "og:type": "article",
            "og:site_name": "Assay",
            "og:url": f"{site.url}/r/{rating}{end}",
            "og:title": "always-he: Biased",
            "og:description": because,
        }
    assert metadata_of(fetched(site, f"/ratings/{rating}")) == {"description": because}
    unmeasured = metadata_of(fetched(site, f"/r/{site.ratings['echo']}"))
    assert unmeasured["description"] == unmeasured["og:description"] != ""


def metadata_of(page):
    """Return the description and the OpenGraph properties of a page."""
    tags = re.findall(r'<meta (?:name|property)="(description|og:\w+)" content="(.*?)">', page)
    return {name: html.unescape(content) for name, content in tags}


def test_a_rating_links_to_the_reading_guide_the_glossary_and_the_calibration(site, reader):
    page = reader.open(f"/r/{site.ratings['always-he']}")
    page.get_by_role("link", name="How to read a rating").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How to read a rating")
    expect(page.get_by_role("heading", name="The three letters")).to_be_visible()
    expect(page.locator("table").first).to_contain_text("round-trip")
    page.get_by_role("link", name="Glossary").first.click()
    expect(page.locator("article")).to_contain_text("step 1")
    page.go_back()
    page.get_by_role("navigation", name="Guides").get_by_role("link", name="Calibration").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Calibration")
    assert not [link for link in page.locator("article a").evaluate_all("all => all.map(a => a.href)") if ".md" in link]


def test_unreached_steps_inconclusive_letters_and_unmeasured_services_are_drawn_differently(site, leaning, reader):
    page = reader.open(f"/ratings/{leaning}")
    assert "inconclusive" in page.locator("svg.stamp").get_attribute("aria-label")
    assert page.locator("h1 + .verdict").inner_text().startswith("Inconclusive")
    dashes = "els => els.map(e => getComputedStyle(e).strokeDasharray)"
    assert page.locator("svg.stamp .o").evaluate_all(dashes) == ["9px, 7px"]
    band = page.locator(".flow-w svg")
    assert states(band) == ["not declared"]
    assert set(band.locator(".quiet .mark").evaluate_all(dashes)) == {"none"}
    assert set(band.locator(".open .mark").evaluate_all(dashes)) == {"4px, 3px"}
    page = reader.open(f"/ratings/{site.ratings['always-he']}")
    assert states(page.locator(".flow-w svg")) == ["step 1 decided"]  # instead of what step 2 would have said
    page = reader.open(f"/ratings/{site.ratings['echo']}")
    expect(page.get_by_role("heading", name="Nothing could be measured")).to_be_visible()
    assert page.locator("svg.stamp .o").evaluate_all(dashes) == ["none"]
    assert page.locator(".flow-w svg").count() == 0


def states(band):
    """Return the labels "not declared" and "step 1 decided" of a figure, in order."""
    said = [one.rpartition(", ")[2] for one in band.locator("text").all_text_contents()]
    return [one for one in said if one in {"not declared", "step 1 decided"}]


def test_a_question_sent_to_the_service_is_found_by_its_text_and_the_filter_is_in_the_address(site, reader):
    rating = site.ratings["stereotyped-model"]
    known = list(csv.DictReader(io.StringIO(fetched(site, f"/v1/ratings/{rating}/observations.csv"))))
    assert len(known) >= 1600
    sentences = {json.loads(row["ask"])["text"] if "ask" in row else row["text"] for row in known}
    # the search ignores case, so "He was hired" is found in "She was hired" too
    lower = [text.lower() for text in sentences]
    sentence = next(text for text in sorted(sentences) if sum(text.lower() in other for other in lower) == 1)
    page = reader.open(f"/ratings/{rating}")
    page.get_by_role("link", name="Evidence 1,600").click()
    page.get_by_label("Find in questions and answers").fill(sentence)
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text(sentence)
    page.wait_for_url(re.compile(r"q=The\+|q="))
    rows = page.locator(".cases > li").all_inner_texts()
    assert rows
    assert all(sentence in row for row in rows)
    reader.open(page.url.removeprefix(site.url))
    assert page.locator(".cases > li").all_inner_texts() == rows
    with page.expect_download() as got:
        page.get_by_role("link", name="Download all as CSV").click()
    assert len(list(csv.DictReader(io.StringIO(got.value.path().read_text(encoding="utf-8"))))) == len(known)


def test_evidence_is_listed_in_pages_of_50_cases_with_links_to_the_next(site, reader):
    page = reader.open(f"/r/{site.ratings['stereotyped-model']}/evidence?order=recorded")
    first = page.locator(".cases > li").all_inner_texts()
    page.get_by_role("link", name="More", exact=True).click()
    expect(page.locator(".cases > li").first).not_to_have_text(first[0])
    second = page.locator(".cases > li").all_inner_texts()
    assert len(first) == len(second) == 50
    assert not set(first) & set(second)


def test_arrow_keys_move_between_the_squares_of_a_figure_and_enter_opens_the_answers(site, reader):
    sentences = document_of(site, "stereotyped-model")["components"][0]["sentences"]
    page = reader.open(f"/ratings/{site.ratings['stereotyped-model']}")
    figure = page.locator("[data-peek]").first
    tied = [one for one in sentences if one["list"] != "neutral"]
    assert figure.locator(".squares a").count() == len(tied)
    assert figure.locator("rect.y").count() == sum(one["towards"] == 1 for one in tied)
    figure.locator(".squares").first.focus()
    seen = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(figure.locator(".peek").inner_text())
    assert len(set(seen)) == 3
    term, likelier, other = seen[-1].split("\n\n")
    pair = {likelier.removeprefix("likelier: "), other.removeprefix("less likely: ")}
    here = next(one for one in sentences if {one["first"], one["second"]} == pair and one["term"] == term)
    assert here[here["prefers"]] == likelier.removeprefix("likelier: ")
    page.keyboard.press("Enter")
    expect(figure.locator("article.opened")).to_contain_text(likelier.removeprefix("likelier: "))


def test_one_click_switches_the_figure_of_a_rating_to_squares_of_neutral_sentences(site, reader):
    sentences = document_of(site, "stereotyped-model")["components"][0]["sentences"]
    neutral = [one for one in sentences if one["list"] == "neutral"]
    page = reader.open(f"/r/{site.ratings['stereotyped-model']}")
    page.locator("[data-peek] .links a").click()
    page.wait_for_url(re.compile("cases=1"))
    figure = page.locator("[data-peek]")
    assert figure.locator(".squares a").count() == len(neutral)
    assert figure.locator("rect.y").count() == sum(one["towards"] == 1 for one in neutral)


def test_every_figure_has_a_table_with_the_numbers_of_the_api(site, reader):
    for name in ("stereotyped-model", "always-he"):
        document = document_of(site, name)
        page = reader.open(f"/ratings/{site.ratings[name]}")
        assert (
            page.locator("figure").count()
            == page.locator("figure details.twin table").locator("xpath=ancestor::figure").count()
        )
        band = page.locator("figure.band")
        rows = cells_of(band)
        component = read(document).components[0]
        for row in rows:
            effect = component.step(int(row[0]))  # the one of the step's effects that decides it
            assert f'"estimate": {effect.estimate!r}' in json.dumps(document["components"][0])
            assert row[5] == tables.interval(effect)
            assert float(row[5].split()[0]) == pytest.approx(effect.estimate, abs=5e-4)
            assert row[5] in band.locator(".flow-w svg").text_content()
        assert float(rows[0][4].strip("<>")) == pytest.approx(document["probabilities"]["BS"], abs=1e-3)
        shares = document["components"][0]["sensitivity"]
        tolerances = cells_of(page.locator("figure", has_text="at every tolerance"))
        assert [row[0] for row in tolerances] == sorted(shares)
        for row in tolerances:
            told = [float(cell.strip("<>")) for cell in row[1:4]]
            assert told == pytest.approx([shares[row[0]][letter] for letter in ("BS", "DSBS", "UCS")], abs=1e-3)


def test_positions_of_marks_and_widths_of_bars_agree_with_the_table_of_the_figure(site, reader):
    for name in ("stereotyped-model", "always-he", "group-sentiment"):
        page = reader.open(f"/ratings/{site.ratings[name]}")
        hidden = page.locator("figure", has=page.locator("path.limit")).filter(has_text="can hide")
        ticks, marks = hidden.locator(".wide svg, .small-fig svg").evaluate(DRAWN)
        (low, at_low), (high, at_high) = ticks[0], ticks[-1]
        drawn = [low + (x - at_low) * (high - low) / (at_high - at_low) for x in marks]
        written = [row[1] for row in cells_of(hidden)]
        estimates = [float(text.split()[0]) for text in written if text[:1].isdigit() or text[:1] == "-"]
        assert drawn == pytest.approx(estimates, abs=1e-3), name
        shares = page.locator("figure", has_text="another tolerance had been declared")
        widths = shares.locator(".wide svg").evaluate(
            "svg => [...svg.querySelectorAll('g rect.flow')].map(one => +one.getAttribute('width') + 1)"
        )
        cells = [cell for row in cells_of(shares) for cell in row[1:4]]
        told = [float(cell) for cell in cells if cell[:1] not in "<>"]
        whole = shares.locator(".wide svg").evaluate("svg => svg.viewBox.baseVal.width")
        full = max(widths) / (1.0 if any(cell.startswith(">") for cell in cells) else max(told))
        assert full <= whole
        for share in (one for one in told if one > 0.02):  # bars narrower than this are not drawn
            assert any(width / full == pytest.approx(share, abs=6e-3) for width in widths), (name, share)


DRAWN = """svg => [
  [...svg.querySelectorAll('text.m.s')].map(one => [+one.textContent, +one.getAttribute('x')]),
  [...svg.querySelectorAll('path.bar')].map(one => +one.getAttribute('d').match(/M([\\d.]+)/)[1]),
]"""
"""Script that returns the values and positions of an axis, and the positions of the marks."""


def cells_of(figure):
    """Return the cells of a collapsed table, row by row."""
    return figure.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.children].map(c => c.textContent))")


def test_a_valid_certificate_verifies_in_the_browser_and_a_changed_certificate_does_not(site, reader):
    rating = site.ratings["stereotyped-model"]
    page = reader.open(f"/ratings/{rating}/certificate")
    changes = {
        "good": None,
        "letter": (f"**/ratings/{rating}/files/rating.json", lambda one: one | {"letter": "UCS"}),
        "envelope": (f"**/ratings/{rating}/files/attestation.json", changed_envelope),
    }
    for name, change in changes.items():
        if change is not None:
            address, edit = change
            sent = json.loads(fetched(site, f"/ratings/{rating}/files/{address.rpartition('/')[2]}"))
            page.route(address, answering(edit(sent)))
        page.get_by_role("button", name="Verify in this browser").click()
        expect(page.locator("#verify[data-verified]")).to_be_visible(timeout=60_000)
        lines = page.locator(".checks li").all_inner_texts()
        wrong = [line.split()[1].strip(":") for line in lines if line.startswith("NOT")]
        if name == "good":
            assert [line.split()[1].strip(":") for line in lines] == CHECKS
        assert (
            wrong
            == {"good": [], "letter": ["rating", "statement", "log"], "envelope": ["signature", "statement"]}[name]
        )
        said = page.locator(".outcome").inner_text()
        assert said == (
            "Everything is as it was sealed." if name == "good" else "This does not verify. Do not rely on it."
        )
        page.unroute_all()


def answering(document):
    """Return a handler that answers a request of the page with a document."""
    return lambda route: route.fulfill(body=json.dumps(document), content_type="application/json")


def changed_envelope(envelope):
    stated = base64.b64decode(envelope["payload"]).replace(b'"letter":"DSBS"', b'"letter":"UCS"')
    return envelope | {"payload": base64.b64encode(stated).decode()}


def test_a_rating_can_be_published_and_is_withdrawn_only_after_typing_its_name(site, leaning, reader):
    page = reader.open(f"/ratings/{leaning}")
    page.get_by_label("Everyone, for good").check()
    page.get_by_role("button", name="Change").click()
    expect(page.locator(".strip")).to_contain_text("Public")
    reader.open(f"/r/{leaning}")
    expect(page.get_by_role("heading", level=1)).to_have_text("at the tolerance")
    assert page.get_by_role("link", name="Withdraw").count() == 0
    reader.open(f"/ratings/{leaning}/withdraw")
    page.get_by_label("Reason").fill("The service was another one.")
    page.get_by_label("Name of the service").fill("something else")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".wrong")).to_have_text("This is not the name of the service.")
    page.get_by_label("Name of the service").fill("at the tolerance")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.locator(".note.bad")).to_contain_text("The service was another one.")
    reader.open("/ratings?q=at the tolerance&mine=true")
    assert page.get_by_text("No rating fits this filter.").is_visible()
    reader.open("/ratings?q=at the tolerance&mine=true&state=withdrawn")
    expect(page.locator("tbody tr")).to_contain_text("withdrawn")


def test_ratings_by_explicit_mention_and_by_first_names_are_compared_in_one_table(site, reader):
    target = {"name": "screener", "kind": "classifier", "protocol": "openai-chat"}
    target["base_url"] = site.services.url("name-reading-screener")
    target["settings"] = {"model": "demo", "decision": {"name": "hiring"}}
    ids = {}
    for mention in ("explicit", "name"):
        texts = {"decision": "hiring", "mention": mention, "most": 100}
        experiment = {"method": "alternation", "attribute": "gender", "texts": texts, "profiles": 100, "repeats": 0}
        job = site.process.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 1})
        ids[mention] = site.process.finished(job["id"])["rating"]["id"]
        rows = reader.open(f"/ratings/{ids[mention]}").locator("#mentions tbody tr")
        assert rows.count() == (0 if mention == "explicit" else 2)
    texts = rows.all_inner_texts()
    assert ["in words" in texts[0], "by first names" in texts[1]] == [True, True]
    assert ["this rating" in text for text in texts] == [False, True]
    document = json.loads(fetched(site, f"/v1/ratings/{ids['name']}"))
    ratio = document["components"][0]["disparate_impact"]["ratios"][0]["ratio"]["estimate"]
    assert f"{ratio:.2f}" in texts[1]
    reader.page.set_viewport_size({"width": 390, "height": 800})
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390
    rows.first.get_by_role("link").click()
    expect(reader.page).to_have_url(re.compile(ids["explicit"]))

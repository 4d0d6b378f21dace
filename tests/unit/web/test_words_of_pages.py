"""Texts and figures of web pages that are computed from values of the API."""

from __future__ import annotations

from types import SimpleNamespace

import httpx
import pytest
from lxml import html

from reports.outline import component_tables
from reports.reading import read
from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from tests.support.reports import document_of, render
from tests.support.simulated.translators import translator_service
from web.frame.rendering import environment, titled
from web.public import pages as public
from web.ratings import finding
from web.ratings.pages import line_of_effects
from web.services.service import history_charts
from web.site import add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(tmp_path):
    settings = Settings(data_dir=tmp_path, auth="none", public_url="http://testserver")
    migrate.upgrade(settings.resolved_database_url)
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    headers = {"Accept": "text/html"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://testserver", headers=headers
    ) as opened:
        yield opened
    await app.state.service.database.close()


async def test_pages_use_the_titles_of_components_that_reports_use():
    template = environment().from_string("{{ report_of({'method': method}).title_of(part) }}")
    assert template.render(method="free-text", part="score") == "Scores of the judge"
    assert template.render(method="unknown", part="el") == "el"


async def test_the_bar_of_a_letter_that_one_service_in_a_thousand_has_is_wider_than_0(client, monkeypatch):
    counts = {"UCS": 999, "DSBS": 0, "BS": 1, "inconclusive": 0}
    row = {"kind": "translator", "method": "round-trip", "attribute": "gender", "targets": 1000, "counts": counts}
    bars = list(public.bars([row]))
    monkeypatch.setattr(public, "bars", lambda _: bars)
    page = html.fromstring((await client.get("/")).text)
    widths = [float(width) for width in page.xpath("//ul[@class='dist']//rect/@width")]
    assert len(widths) == 2
    assert min(widths) > 0


def test_methods_and_kinds_of_service_have_readable_titles():
    assert (titled("round-trip"), titled("decision-tool")) == ("Round trip", "Decision tool")


def test_the_wizard_mentions_no_duration_if_the_plan_has_none():
    plan = SimpleNamespace(questions=60, calls=60, seconds=None, questions_per_call=1, cost=None)
    plan.at_most = SimpleNamespace(questions=90, calls=90, seconds=None)
    cost = environment().get_template("wizard/effort.html").module
    said = html.fromstring(str(cost.effort([SimpleNamespace(chosen=True, plan=plan)], {}))).text_content()
    assert "at most 90 questions in 90 calls" in said
    assert "unknown" not in said
    assert "waiting" not in said


def test_the_history_of_a_service_draws_its_steps_and_the_hidden_effect_that_changed_most():
    def effect(name, title, tolerance=0.1):
        return SimpleNamespace(name=name, title=title, tolerance=tolerance)

    raw = [SimpleNamespace(kind="stratum", name=name) for name in ("calm", "moving")]
    part = SimpleNamespace(
        name="es",
        title="Spanish",
        effects=(effect("step_1", "Step 1"),),
        part=SimpleNamespace(hidden=raw),
        hidden=(effect("calm", "Within “calm”"), effect("moving", "Within “moving”", 0.2)),
    )
    rating = SimpleNamespace(document={"because": {"component": "es"}}, view=SimpleNamespace(components=[part]))

    def moved(name, size):
        interval = {"estimate": 0.0, "low": 0.0, "high": 0.0}
        return {"component": "es", "name": name, "before": interval, "after": interval, "moved": size}

    effects = [moved("step_1", 0.9), moved("stratum: calm", 0.1), moved("stratum: moving", -0.3)]
    change = {"before": {"id": "a"}, "after": {"id": "b"}, "effects": effects}
    line = line_of_effects(rating, [change])
    assert (line["part"], list(line["scales"])) == ("Spanish", ["step_1", "stratum: moving"])
    assert line["drawn"]["stratum: moving"].title == "Within “moving”"
    assert list(line["ratings"][0]["effects"]) == ["step_1", "stratum: moving"]


@pytest.mark.parametrize(("of_bs", "explained"), [(0.5, True), (0.999, False)])
def test_letter_probabilities_that_visibly_do_not_sum_to_one_are_explained(monkeypatch, of_bs, explained):
    monkeypatch.setattr(finding, "_figure", lambda heading, how, *_: how)
    monkeypatch.setattr(finding.figures, "tolerances_bars", lambda *_: None)
    rating = SimpleNamespace(view=SimpleNamespace(document=SimpleNamespace(delta=0.05)))
    verdicts = [SimpleNamespace(letter="BS", probabilities={"BS": share}) for share in (1.0, of_bs)]
    component = SimpleNamespace(sensitivity=dict(zip(("0.05", "0.2"), verdicts, strict=True)))
    assert (finding.UNLOCATED in finding._tolerances_figure(rating, component)) is explained


def test_a_one_hop_rating_shows_groups_of_occupations_and_no_sentence_that_came_back_as_it_was_sent():
    document = document_of(translator_service(0.0, 0.32, 3, hop=True).rate(5), seed=5)
    component = read(document).components[0]
    assert finding._transitions_heading(component) == "What sentences about each group of occupations got"
    table = next(table for table in component_tables(component) if table.heat)
    assert [row[0] for row in table.rows] == ["about occupations mostly of men", "about occupations mostly of women"]
    assert table.columns[:3] == ("about", "got he", "got she")
    report = render("html", document)
    assert "sentences about occupations mostly of men" in report
    for words_of_round_trip in ("Kept, flipped, erased", "sentences sent with", "back as", "What was sent"):
        assert words_of_round_trip not in report


def test_a_rating_without_a_letter_has_no_probability_in_the_history_of_a_service():
    entry = {"withdrawn": None, "method": "round-trip", "attribute": "gender", "since": None, "declared": True}
    entry |= {"methodology": {"version": "1.3.0"}}
    without_letter = {**entry, "letter": None, "probabilities": None, "rated_at": "2026-11-02T00:00:00Z"}
    with_letter = {**entry, "letter": "UCS", "probabilities": {"UCS": 0.98}, "rated_at": "2026-11-01T00:00:00Z"}
    (chart,) = history_charts([without_letter, with_letter])
    assert [chance for _, chance in chart["rows"]] == [None, 0.98]
    assert "no letter – 1.3.0" in chart["svg"]

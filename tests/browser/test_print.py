"""A rating printed from its page or its report: at most six pages of A4, with everything that a screen folds."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

MOST_PAGES = 6
SERVICES = ("faithful", "always-he", "stereotyped-model", "group-sentiment", "echo")


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("address", ["/ratings/{}", "/r/{}", "/v1/ratings/{}/report.html"])
def test_a_rating_is_printed_with_its_tables_id_and_address_on_at_most_six_pages(name, address, site, reader):
    rating = site.ratings[name]
    page = reader.open(address.format(rating))
    page.emulate_media(media="print")
    printed = (
        page.locator("main > .hero, header .hero").locator(".printed, .strip").filter(visible=True).all_inner_texts()
    )
    assert f"{site.url}/r/{rating}" in " ".join(printed)
    assert rating in " ".join(printed)
    tables = page.locator("table")
    assert tables.count() == tables.filter(visible=True).count()
    assert page.locator(".scroll").evaluate_all("all => all.every(e => e.scrollHeight <= e.clientHeight + 1)")
    for hidden in (".rail", ".tabs", "nav", "form", ".btn"):
        expect(page.locator(hidden).filter(visible=True)).to_have_count(0)
    assert 1 <= pages_of(page.pdf(format="A4", prefer_css_page_size=True)) <= MOST_PAGES


@pytest.mark.parametrize("name", SERVICES)
def test_the_summary_of_a_rating_is_printed_on_one_page(name, site, reader):
    page = reader.open(f"/v1/ratings/{site.ratings[name]}/report.html?summary=true")
    assert pages_of(page.pdf(format="A4", prefer_css_page_size=True)) == 1


def test_a_rating_page_and_its_html_report_have_the_same_fonts_and_colours(site, reader):
    rating, looks = site.ratings["always-he"], []
    for address in (f"/r/{rating}", f"/v1/ratings/{rating}/report.html"):
        page = reader.open(address)
        styles = "(e => { const s = getComputedStyle(e); return [s.fontFamily, s.fontSize, s.color, s.fontWeight] })"
        looks.append(
            [page.locator(part).first.evaluate(styles) for part in ("body", "h1", ".hero .verdict", ".strip b")]
        )
    assert looks[0] == looks[1]

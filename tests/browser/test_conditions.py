"""Pages under other conditions: forced colours, a zoom of 400 %, reduced motion."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.support.filled_agency import Site

HIDDEN = """() => {
  const digits = colour => (colour.match(/[\\d.]+/g) ?? []).slice(0, 3).join();
  const clear = colour => /, 0\\)$/.test(colour);
  const lost = [];
  for (const one of document.querySelectorAll('main :is(h1, h2, p, a, button, label, th, td)')) {
    if (!one.checkVisibility({visibilityProperty: true}) || !one.textContent.trim()) continue;
    if (one.closest('.vh, .skip, svg')) continue;
    let under = one;
    while (under.parentElement && clear(getComputedStyle(under).backgroundColor)) under = under.parentElement;
    const same = digits(getComputedStyle(one).color) === digits(getComputedStyle(under).backgroundColor);
    if (same) lost.push(one.outerHTML.slice(0, 120));
  }
  return lost;
}"""
"""Script that returns texts whose colour is that of their background."""


@pytest.fixture(scope="module")
def paths(site: Site) -> list[str]:
    rating = site.ratings["stereotyped-model"]
    pages = (
        "/",
        "/overview",
        "/new",
        "/own-words",
        "/compose",
        "/corpora",
        "/services",
        "/jobs",
        "/registry",
        "/log",
        "/audits",
    )
    pages += (f"/s/{site.ratings['faithful']}", "/compare?kind=translator")
    return [*pages, f"/ratings/{rating}", f"/ratings/{rating}/evidence", f"/compare?first={site.ratings['faithful']}"]


SMALLEST_TEXT = """() => [...document.querySelectorAll("svg.fig")].filter(e => e.getBoundingClientRect().width)
  .flatMap(e => [...e.querySelectorAll("text")].map(t => parseFloat(getComputedStyle(t).fontSize)
    * e.getBoundingClientRect().width / e.viewBox.baseVal.width))"""


def test_texts_of_figures_have_11_pixels_or_more_on_a_phone(site, reader):
    reader.page.set_viewport_size({"width": 390, "height": 844})
    for name, rating in site.ratings.items():
        page = reader.open(f"/r/{rating}")
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert min(page.evaluate(SMALLEST_TEXT), default=11) >= 11, name


def test_rating_letters_and_their_states_remain_distinguishable_in_forced_colours(
    browser: Browser, site: Site, paths: list[str]
) -> None:
    with browser.new_context(forced_colors="active") as context:
        page = context.new_page()
        for path in paths:
            page.goto(f"{site.url}{path}")
            assert page.evaluate(HIDDEN) == [], path
        page.goto(f"{site.url}/overview")
        shapes = {}
        for letter in ("UCS", "DSBS", "BS"):
            marks = page.locator(f"svg.punch.{letter}")
            if marks.count():
                shapes[letter] = marks.first.locator(".o").evaluate("one => one.outerHTML.replace(/[\\d.]+/g, '')")
                colours = marks.first.evaluate(COLOURS)
                assert colours["text"] != colours["ground"], letter
        assert len(set(shapes.values())) == len(shapes) >= 2, "a letter is known by its shape"
        page.goto(f"{site.url}/ratings/{site.ratings['stereotyped-model']}")
        squares = page.locator("[data-peek]").first
        filled, hollow = (squares.locator(f".squares rect.{name}").first.evaluate(FILL) for name in ("y", "n"))
        assert filled != hollow, "squares are told apart by their filling"


COLOURS = """mark => ({text: getComputedStyle(mark.querySelector('text')).fill,
                      ground: getComputedStyle(mark.querySelector('.o')).fill})"""
FILL = "one => getComputedStyle(one).fill"


def test_at_a_zoom_of_400_percent_nothing_is_lost_or_covered(browser: Browser, site: Site, paths: list[str]) -> None:
    # 1280 x 1024 at 400 % is a window of 320 x 256 with a device pixel ratio of 4
    with browser.new_context(viewport={"width": 320, "height": 256}, device_scale_factor=4) as context:
        page = context.new_page()
        for path in paths:
            page.goto(f"{site.url}{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
            fixed = "all => all.filter(one => ['fixed', 'sticky'].includes(getComputedStyle(one).position)).length"
            covering = page.locator("body *:visible").evaluate_all(fixed)
            assert covering == 0, f"{path}: something covers a small window while it is scrolled"
            heading = page.get_by_role("heading", level=1)
            heading.scroll_into_view_if_needed()
            expect(heading).to_be_in_viewport()
        page.goto(f"{site.url}/new")
        menu = page.locator("summary", has_text="Menu")
        menu.click()
        page.get_by_role("navigation", name="Main, small screens").get_by_role("link", name="Registry").click()
        expect(page).to_have_url(f"{site.url}/registry")


def test_no_page_has_animations_if_reduced_motion_is_requested(browser: Browser, site: Site, paths: list[str]) -> None:
    moving = """() => [...document.querySelectorAll('*')].filter(one => {
        const style = getComputedStyle(one);
        const long = text => text.split(',').some(part => parseFloat(part) > 0.01);
        return long(style.transitionDuration) || (style.animationName !== 'none' && long(style.animationDuration))
          || style.scrollBehavior === 'smooth';
      }).map(one => one.outerHTML.slice(0, 100))"""
    with browser.new_context(reduced_motion="reduce") as context:
        page = context.new_page()
        for path in paths:
            page.goto(f"{site.url}{path}")
            assert page.evaluate(moving) == [], path
            assert page.evaluate("document.getAnimations().length") == 0, path

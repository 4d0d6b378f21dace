"""From a file of decisions to a published audit: acts of a person, without scripts, errors of a form, accessibility."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_whole_site import faults_of, with_axe
from tests.support.agency_process import Process

MOST_ACTS = 8
PAYLOAD = "<img src=x onerror=alert(1)>'\"{{ 7 * 7 }}"


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = Process(tmp_path_factory.mktemp("audits"))
    yield process.agency.url
    process.stop()


@pytest.fixture
def decisions(tmp_path: Path) -> Path:
    """A file of 3,000 decisions of an even tool, other people in each test."""
    return decisions_in(tmp_path, random.SystemRandom().randrange(10**9))


def decisions_in(folder: Path, seed: int) -> Path:
    rng = random.Random(seed)
    lines = ["sex,race,job,hired,stayed"]
    for _ in range(3000):
        stayed = rng.random() < 0.5
        answers = ("yes" if rng.random() < (0.7 if stayed else 0.2) else "no", "yes" if stayed else "no")
        job = rng.choice(["sales", "office"])
        lines.append(",".join((rng.choice("FM"), rng.choices("ABD", [60, 39, 1])[0], job, *answers)))
    file = folder / "hiring 2026.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@dataclass
class Person:
    """A person who audits a file; `acts` counts clicks, choices and files."""

    page: Page
    url: str
    acts: int = field(default=0)

    def open(self, path: str) -> None:
        self.page.goto(f"{self.url}{path}")

    def send(self, file: Path) -> None:
        self.open("/audits")
        self.page.get_by_label("File", exact=True).set_input_files(file)
        self.acts += 1
        self.press("Send, and see its columns")

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label).select_option(label=option)
        self.acts += 1

    def group(self, name: str, field: str = "by") -> None:
        self.page.locator(f"input[name={field}][value={name}]").check()
        self.acts += 1

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).click()
        self.acts += 1

    def follow(self, link: Locator) -> None:
        link.click()
        self.acts += 1


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def person(request: pytest.FixtureRequest, browser: Browser, agency: str) -> Iterator[Person]:
    with browser.new_context(java_script_enabled=request.param) as context:
        yield Person(context.new_page(), agency)


def test_a_file_is_audited_and_published_with_at_most_eight_clicks_and_fields(person: Person, decisions: Path) -> None:
    page = person.page
    person.send(decisions)
    recognised = page.get_by_role("region", name="Columns of the file")
    row = recognised.get_by_role("row").filter(has=page.get_by_role("rowheader", name="hired", exact=True))
    expect(row).to_contain_text("yes (")
    expect(row).to_contain_text("no (")
    expect(recognised).to_contain_text("Row 3")
    person.choose("What is favourable", "hired = yes")
    person.group("sex")
    person.group("race")
    person.press("Count and compare")
    expect(page.get_by_role("heading", level=1)).to_have_text("hiring 2026")
    expect(page.get_by_role("columnheader", name="Impact ratio", exact=True)).to_be_visible()
    person.press("Publish for everyone")
    address = page.get_by_role("region", name="Address of the audit").inner_text().strip()
    person.follow(page.get_by_role("link", name="ll144.html"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Bias audit")
    assert person.acts <= MOST_ACTS
    published = httpx.get(address, trust_env=False)
    assert published.status_code == 200
    assert "sex x race" in published.text


def test_sending_a_form_again_after_going_back_leads_to_the_same_rating(person: Person, decisions: Path) -> None:
    page = person.page
    person.send(decisions)
    expect(page.get_by_role("region", name="Columns of the file")).to_be_visible()
    page.reload()
    person.choose("What is favourable", "hired = yes")
    person.group("sex")
    page.get_by_text("Name and period").click()
    person.choose("What later proved right", "stayed = yes")
    person.press("Count and compare")
    expect(page).to_have_url(re.compile("/ratings/"))
    rating = page.url
    page.reload()
    assert page.url == rating
    page.go_back()
    expect(page.get_by_label("What is favourable")).to_have_value('["hired", "yes"]')
    person.press("Count and compare")
    expect(page).to_have_url(rating)


def test_the_audit_form_preselects_nothing_and_keeps_its_fields_when_refused(person: Person, decisions: Path) -> None:
    page = person.page
    person.send(decisions)
    assert page.locator("select").evaluate_all("all => all.every(one => one.value === '')")
    assert not page.locator("input[name=by]:checked").count()
    person.press("Count and compare")
    expect(page.get_by_role("alert")).to_contain_text("choose at least one column of groups")
    person.group("race")
    person.press("Count and compare")
    expect(page.get_by_role("alert")).to_contain_text("choose the value that is favourable")
    assert page.locator("input[name=by][value=race]").is_checked()
    person.choose("What is favourable", "hired = yes")
    page.get_by_label("Small groups to leave out").fill("race = Z: too few")
    person.press("Count and compare")
    expect(page.get_by_role("alert")).to_contain_text("no group of race is called 'Z'; known:")
    expect(page.get_by_label("Small groups to leave out")).to_have_value("race = Z: too few")
    page.get_by_label("Small groups to leave out").fill("race = D: too few people")
    person.press("Count and compare")
    expect(page.get_by_role("heading", level=1)).to_have_text("hiring 2026")


def test_a_file_that_cannot_be_read_is_refused_naming_the_line(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "cut.csv"
    file.write_text("sex,hired\nF,yes\nM\n", encoding="utf-8")
    person.send(file)
    expect(person.page.get_by_role("alert")).to_contain_text("line 3: 1 cells, and the header has 2")


def test_markup_in_names_of_columns_and_values_is_shown_as_text(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "hostile.csv"
    quoted = '"' + PAYLOAD.replace('"', '""') + '"'
    file.write_text(f"{quoted},hired\n" + f"{quoted},yes\nM,no\n" * 40, encoding="utf-8")
    person.send(file)
    expect(person.page.get_by_role("rowheader", name=PAYLOAD, exact=True)).to_be_visible()
    person.choose("What is favourable", "hired = yes")
    person.page.locator("input[name=by]").first.check()
    person.press("Count and compare")
    assert not person.page.locator("img[src=x]").count()


@with_axe
def test_pages_of_an_audit_break_no_rule_of_accessibility(browser: Browser, agency: str, decisions: Path) -> None:
    with browser.new_context(bypass_csp=True, reduced_motion="reduce") as context:
        person = Person(context.new_page(), agency)
        person.open("/audits")
        found = faults_of(person.page)
        person.send(decisions)
        found += faults_of(person.page)
        person.press("Count and compare")  # refused
        found += faults_of(person.page)
        person.choose("What is favourable", "hired = yes")
        person.group("sex")
        person.press("Count and compare")
        found += faults_of(person.page)
        person.press("Publish for everyone")
        found += faults_of(person.page)
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("width", [320, 390])
def test_pages_of_an_audit_fit_a_small_screen_with_large_targets(
    browser: Browser, agency: str, decisions: Path, width: int
) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        person = Person(context.new_page(), agency)
        person.send(decisions)
        person.page.get_by_text("Name and period").click()
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = person.page.locator("main input:visible, main select:visible, main summary:visible").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).filter(box => box.height < 24 || box.width < 24).length"
        )
        assert not small

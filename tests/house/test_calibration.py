"""The page of calibration: sections of groups are replaced one at a time."""

from datetime import date

from tools.calibrate import PAGE
from tools.worlds import GROUPS, WorldRating, replace_section, section

GROUP = GROUPS["defeat-devices"]


def rows(page):
    return [line for line in page.splitlines() if line.startswith("| defeat device")]


def test_measuring_a_group_of_services_again_replaces_only_its_section_of_the_calibration_page():
    page = PAGE.read_text(encoding="utf-8")
    name = next(iter(GROUP.worlds))
    letters = ("BS", "UCS")
    measured = [
        WorldRating(name, 1.0, seed, letter, declared=True, questions=60) for seed, letter in enumerate(letters)
    ]
    replaced = replace_section(page, tuple(section(GROUP, measured, date(2030, 1, 2))))
    assert rows(replaced) == [f"| {name} | 1 | 2 | 1 | 0 | 1 (9.5% to 90.5%) | 60 |"]
    assert "**1 of 2** services" in replaced
    assert "Measured on 2 January 2030." in replaced
    before, after = (text.split(f"## {GROUP.title}\n") for text in (page, replaced))
    assert after[0] == before[0]
    assert after[1].partition("\n## ")[2] == before[1].partition("\n## ")[2]


def test_every_group_of_services_has_a_dated_section_on_the_calibration_page():
    page = PAGE.read_text(encoding="utf-8")
    for name, group in GROUPS.items():
        text = page.partition(f"## {group.title}\n")[2].partition("\n## ")[0]
        assert "Measured on " in text
        if name != "assumptions":  # its section is of 26 November 2026, and older than some of its services
            assert all(f"| {service} | " in text for service in group.worlds), group.title

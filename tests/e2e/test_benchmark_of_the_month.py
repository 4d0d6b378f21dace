"""The command of `docs/benchmark-of-the-month.md` rates all services of its file again, and the ranking follows."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import httpx

from assay_client import Client
from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "benchmark-of-the-month.md"
FILE = PAGE.parent / "examples" / PAGE.with_suffix(".json").name


def test_one_command_reruns_the_benchmark_and_its_page_feed_and_json_follow(serve, services, tmp_path):
    (shown,) = [block for block in blocks(PAGE) if block.mark == "file"]
    assert (shown.why, shown.text) == (f"examples/{FILE.name}", FILE.read_text(encoding="utf-8"))
    (tmp_path / FILE.name).write_text(shown.text.replace("http://127.0.0.1:5000", services.base), encoding="utf-8")
    here = f"http://127.0.0.1:{serve().port}"
    rerun, read = [
        block.text.replace("http://127.0.0.1:8000", here) for block in blocks(PAGE) if block.language == "sh"
    ]
    addresses = dict(re.findall(r"^\| (\w+)[^|]*\| `(/[^`]+)` \|$", PAGE.read_text(), re.MULTILINE))

    def run_once(agency: Client) -> dict[str, str]:
        """Rerun the benchmark; return the id of each service's rating in the ranking."""
        suite = json.loads(run_program(["bash", "-c", rerun], tmp_path).stdout)
        ended = agency.wait_for_suite(suite["id"], timeout_s=240)
        assert ended["progress"]["succeeded"] == ended["progress"]["cells"] == 6
        ranking = json.loads(run_program(["bash", "-c", read], tmp_path).stdout)
        assert ranking == httpx.get(here + addresses["JSON"]).json()
        rows = [(row["place"], row["rating"]["letter"], row["name"]) for row in ranking["items"]]
        assert sorted(rows[:2]) == [(1, "DSBS", "Faithful"), (1, "DSBS", "Now and then")], (
            "services that tie share a place"
        )
        assert rows[2:] == [(3, "BS", "Always he")]
        ids = {row["name"]: row["rating"]["id"] for row in ranking["items"]}
        assert all(agency.get_rating(one)["experiment"]["languages"] == ["es"] for one in ids.values())
        entries = ET.fromstring(httpx.get(here + addresses["feed"]).text).findall("{*}entry")
        assert {entry.findtext("{*}id").rpartition("/")[2] for entry in entries} == set(ids.values())
        assert all(one in httpx.get(here + addresses["CSV"]).text for one in ids.values())
        page = httpx.get(here + addresses["page"], headers={"Accept": "text/html"}).text
        assert re.findall(r'<td class="num">(\d)</td>', page)[:3] == ["1", "1", "3"]
        return ids

    with Client(here) as agency:
        first, second = run_once(agency), run_once(agency)
        assert not set(first.values()) & set(second.values()), "each run measures anew"
        french = agency.rank_services("translator", method="round-trip", attribute="gender", language="fr")
        assert not {row["rating"]["id"] for row in french["items"]} & set(second.values())

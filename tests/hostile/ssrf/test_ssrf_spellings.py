"""Every spelling of a private address, in a posted job and in a stored job.

A stored job can hold an address that is now refused, because the operator has since shortened the allow-list.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from store.core.settings import Settings
from workers.targets.registry import TargetChecker

METADATA = (
    "http://169.254.169.254/latest/meta-data/",  # AWS, Google, Azure, Oracle, DigitalOcean …
    "http://169.254.169.254:80/computeMetadata/v1/", "http://0251.0376.0251.0376/", "http://0xa9.0xfe.0xa9.0xfe/",
    "http://169.254.43518/", "http://[::169.254.169.254]/", "http://[64:ff9b::169.254.169.254]/",
    "http://[fd00:ec2::254]/", "http://[fd00:ec2:0:0:0:0:0:254]/", "http://[fd00:ec2::23]/",  # AWS over IPv6
    "http://[fd20:ce::254]/",  # Google over IPv6
    "http://168.63.129.16/", "http://2822734096/", "http://[::ffff:168.63.129.16]/",  # Azure
    "http://100.100.100.200/", "http://1684300999/", "http://[::ffff:6464:64c8]/",  # Alibaba
    "http://192.0.0.192/", "http://3221225664/",  # Oracle
    "http://169.254.170.2/", "http://169.254.170.23/", "http://2852039170/",  # containers on AWS
)  # fmt: skip
"""Cloud metadata services, which hand out keys to every caller inside the network, in several spellings."""

ORDINARY = "http://93.184.216.34/"
SECRET = "sk-inside-4f1b77c0d2"


@dataclass(frozen=True)
class Counter:
    """An agency's API, to which tests post jobs."""

    stage: Any
    client: httpx.AsyncClient

    def post(self, url: str, **more: Any) -> httpx.Response:
        target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": url, **more}
        experiment = {"method": "round-trip", "attribute": "gender"}
        return self.stage.run(self.client.post("/v1/jobs", json={"target": target, "experiment": experiment}))


@pytest.fixture(scope="module")
def counter(stage, _sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counter]:
    directory = tmp_path_factory.mktemp("counter")
    shutil.copyfile(_sqlite_template, directory / "assay.db")
    settings = Settings(data_dir=directory, auth="none")
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda job_id: None)
    living = app.router.lifespan_context(app)
    stage.run(living.__aenter__())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")
    yield Counter(stage, client)
    stage.run(client.aclose())
    stage.run(living.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def strict_office(open_office: Callable[..., Any]) -> Any:
    """A worker whose operator allows public addresses only."""
    return open_office("")


def is_refused_at_the_counter(counter, dialled, url):
    refused = counter.post(url, secret=SECRET)
    assert refused.status_code == 422
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/target/base_url"]
    assert SECRET not in refused.text
    assert dialled == []


def is_refused_at_the_door(office, dialled, url):
    ended = office.run(office.post(url))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_refused", "refused-address")
    assert (ended.asked, office.ledger(ended), dialled) == (0, [], [])


def test_a_posted_job_with_a_private_address_is_refused_naming_the_field(counter, dialled, inside):
    is_refused_at_the_counter(counter, dialled, inside)


def test_a_private_address_in_a_stored_job_is_never_looked_up_or_dialled(strict_office, dialled, inside):
    is_refused_at_the_door(strict_office, dialled, inside)


def test_a_posted_job_with_a_malformed_address_is_refused_naming_the_field(counter, dialled, malformed):
    is_refused_at_the_counter(counter, dialled, malformed)


def test_a_malformed_address_in_a_stored_job_is_never_looked_up_or_dialled(strict_office, dialled, malformed):
    is_refused_at_the_door(strict_office, dialled, malformed)


@pytest.mark.parametrize("url", METADATA)
def test_a_cloud_metadata_address_is_refused_when_posted_and_when_stored(counter, strict_office, dialled, url):
    is_refused_at_the_counter(counter, dialled, url)
    is_refused_at_the_door(strict_office, dialled, url)


def test_a_public_address_is_accepted_when_posted_and_when_stored(counter, strict_office, dialled):
    assert counter.post(ORDINARY).status_code == 202
    strict_office.run(strict_office.post(ORDINARY, deadline_s=1))
    assert dialled
    assert set(dialled) == {"dial 93.184.216.34:80"}


def test_the_list_of_private_addresses_has_at_least_76_spellings(spellings):
    assert len(set(spellings("INSIDE"))) >= 76


def test_translators_that_scrape_web_sites_are_refused_when_posted_and_when_stored(counter, strict_office, dialled):
    refused = counter.post(None, protocol="deep-translator")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/target/protocol")
    ended = strict_office.run(strict_office.post("", protocol="deep-translator", settings={}, secret=SECRET))
    assert ended.status == "failed"
    assert SECRET not in str(ended.error)
    assert dialled == []


@pytest.mark.parametrize("url", METADATA)
def test_a_callback_to_a_cloud_metadata_address_is_refused_when_posted(counter, url):
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": ORDINARY}
    asked = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}, "callback_url": url}
    refused = counter.stage.run(counter.client.post("/v1/jobs", json=asked))
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/callback_url")

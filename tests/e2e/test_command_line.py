"""The `assay` command: an exit code for each letter, and one line for each error."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS
from tests.support.commands import run_command
from tests.support.json_server import json_server


def environment_of(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")} | more


def assay(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, environment=environment_of(**environment))


def rate(services: DemoServer, name: str, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return assay("rate", "--protocol", "libretranslate", "--url", services.url(name), *more, **environment)


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("balancing", 0, "UCS"),
        ("faithful", 1, "DSBS"),
        ("always-he", 2, "BS"),
        ("echo", 3, "no letter can be given"),
    ],
)
def test_the_exit_code_encodes_the_letter(services, name, code, said):
    done = rate(services, name)
    assert done.returncode == code, done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr


def test_rate_with_json_prints_one_document_and_nothing_else(services):
    done = rate(services, "always-he", "--json", "--seed", "5")
    rating = json.loads(done.stdout)
    assert (done.returncode, rating["letter"], rating["seed"]) == (2, "BS", 5)


def test_a_report_is_written_in_the_format_named_by_its_file_suffix(services, tmp_path):
    done = rate(services, "eraser", "--report", str(tmp_path / "rating.html"))
    assert done.returncode == 2
    assert (tmp_path / "rating.html").read_text().lower().startswith("<!doctype html>")


def test_options_override_the_request_file(services, tmp_path):
    file = tmp_path / "service.toml"
    file.write_text(
        f"""
        seed = 3
        [target]
        name = "From the file"
        protocol = "libretranslate"
        base_url = "{services.url("faithful")}"
        [experiment]
        method = "round-trip"
        attribute = "gender"
        languages = ["fr"]
        """
    )
    from_file = json.loads(assay("rate", str(file), "--json").stdout)
    assert [part["name"] for part in from_file["components"]] == ["fr"]
    outranked = json.loads(assay("rate", str(file), "--json", "--language", "it", "--seed", "4").stdout)
    assert ([part["name"] for part in outranked["components"]], outranked["seed"]) == (["it"], 4)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--attribute", "shoe-size"], "gender"),
        (["--method", "guesswork"], "round-trip"),
        (["--language", "klingon"], "es"),
        (["--template", "sonnet"], "possessive"),
        (["--setting", "batch"], "key=value"),
        (["--report", "rating.docx"], "html"),
        (["--protocol", "telepathy"], "libretranslate"),
        (["--url", "ftp://127.0.0.1/"], "http"),
        (["--nonsense"], "nonsense"),
        (["/no/such/file.toml"], "file.toml"),
    ],
)
def test_an_invalid_request_exits_with_64_and_one_line_that_names_valid_values(services, more, named):
    done = rate(services, "faithful", *more)
    assert done.returncode == 64
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("written", ["[target", "surprise = 1", "[target]\nname = 'x'"])
def test_an_unusable_request_file_exits_with_64(tmp_path, written):
    file = tmp_path / "service.toml"
    file.write_text(written)
    done = assay("rate", str(file))
    assert done.returncode == 64
    assert "Traceback" not in done.stderr


def test_an_unreachable_service_exits_with_69_and_a_message():
    done = assay("rate", "--protocol", "libretranslate", "--url", "http://127.0.0.1:9")
    assert done.returncode == 69
    assert "cannot be reached" in done.stderr


def test_a_secret_from_the_environment_is_never_printed(services):
    secret = "sk-from-the-environment-91f3"
    for name in ("faithful", "unauthorised"):
        done = rate(services, name, "--full", ASSAY_TARGET_SECRET=secret)
        assert secret not in done.stdout + done.stderr


AUTHENTICATIONS = {
    "own header": ({"auth": "header", "auth_name": "X-Token", "auth_value": "{secret}"}, ("--secret",)),
    "bearer": ({"auth": "header"}, ()),
    "query": ({"auth": "query", "auth_name": "key", "auth_value": "{secret}"}, ()),
}


# Row 78 of docs/reliability.md: at c37b512 `assay rate` could not decrypt a secret, so the service never received it.
@pytest.mark.parametrize("name", AUTHENTICATIONS)
def test_rate_sends_the_secret_to_the_service_that_demands_it(tmp_path, name):
    # at commit eb55f1e, no secret given to `assay rate` could be decrypted
    secret, received = "sk-arrives-at-the-service-77aa", []
    settings, options = AUTHENTICATIONS[name]
    behaviour = BEHAVIOURS["faithful"]

    def answer(asked):
        return {"said": behaviour.translate(asked["q"], asked["source"], asked["target"])}

    with json_server(answer, received) as url:
        file = tmp_path / "service.toml"
        body = '{ q = "{text}", source = "{source}", target = "{target}" }'
        lines = [f'{key} = "{value}"' for key, value in settings.items()]
        file.write_text(
            f'[target]\nkind = "translator"\nprotocol = "custom"\nbase_url = "{url}"\n'
            f'[target.settings]\npath = "/mt"\nbody = {body}\noutput = "said"\n' + "\n".join(lines)
        )
        if options:
            done = assay("rate", str(file), *options, secret)
        else:
            done = assay("rate", str(file), ASSAY_TARGET_SECRET=secret)
    assert done.returncode == 1, done.stderr
    assert "DSBS" in done.stdout
    carried = {
        "own header": lambda path, headers: headers["X-Token"] == secret,
        "bearer": lambda path, headers: headers["Authorization"] == f"Bearer {secret}",
        "query": lambda path, headers: path == f"/mt?key={secret}",
    }[name]
    assert len(received) > 100
    assert all(carried(*request[:2]) for request in received)
    assert secret not in done.stdout + done.stderr


def test_a_command_run_in_a_new_process_ends_with_one_error_line_and_its_exit_code():
    """The other tests fork a process with loaded libraries; this one starts a new process."""
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "rate", "--protocol", "telepathy", "--url", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment_of(),
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (64, "", 1)
    assert "libretranslate" in done.stderr


@pytest.mark.parametrize("command", ["methods", "attributes", "protocols", "version", "--help"])
def test_methods_attributes_specifications_and_protocols_are_listed(command):
    done = assay(command)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) >= 1


def test_keys_are_created_listed_and_revoked(tmp_path: Path):
    data = {"ASSAY_DATA_DIR": str(tmp_path)}
    plain = assay("keys", "create", "--name", "ci", "--scope", "jobs:write", **data).stdout.strip()
    assert plain.startswith("assay_")
    listed = assay("keys", "list", **data).stdout
    assert "ci" in listed
    assert plain not in listed
    key_id = next(word for word in listed.split() if word.startswith("key_"))
    assert assay("keys", "revoke", key_id, **data).returncode == 0
    assert assay("keys", "create", "--name", "x", "--scope", "everything", **data).returncode == 64


def test_migrating_an_up_to_date_database_succeeds(tmp_path: Path):
    for _ in range(2):
        assert assay("migrate", "--data-dir", str(tmp_path)).returncode == 0


def test_migrating_the_database_of_an_unreleased_version_ends_with_one_line(tmp_path: Path):
    assert assay("migrate", "--data-dir", str(tmp_path)).returncode == 0
    with closing(sqlite3.connect(tmp_path / "assay.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0011'")
    done = assay("migrate", "--data-dir", str(tmp_path))
    assert done.returncode == 69
    (line,) = done.stderr.splitlines()
    assert "export what you need with that version, or start with an empty database" in line


def test_a_worker_without_a_broker_exits_with_an_error_that_names_the_missing_option(tmp_path: Path):
    done = assay("worker", ASSAY_DATA_DIR=str(tmp_path))
    assert done.returncode == 64
    assert "--broker-url" in done.stderr


def test_a_command_with_an_invalid_setting_exits_with_an_error_that_names_the_setting():
    done = assay("migrate", ASSAY_EGRESS_ALLOW="everything")
    assert done.returncode == 64
    assert "egress_allow" in done.stderr
    assert "Traceback" not in done.stderr


def test_stored_secrets_of_targets_can_be_read_after_a_rotation_of_the_secret_key(tmp_path: Path):
    from store.core import migrate
    from store.core.database import Database
    from store.core.settings import Settings
    from store.security.secrets import Vault
    from store.targets import targets
    from store.targets.targets import NewTarget

    old, new = "the first key of this service", "the second key of this service"
    environment = {"ASSAY_DATA_DIR": str(tmp_path)}
    before = Settings(data_dir=tmp_path, secret_key=old)
    migrate.upgrade(before.resolved_database_url)
    database = Database(before.resolved_database_url)
    sealed = Vault.from_settings(before).seal("word", tenant="t", target="tgt_1", field="secret")
    kept = NewTarget("t", "n", "translator", "deepl", "http://x", {}, {}, sealed_secret=sealed, id="tgt_1")
    with database.write() as c:
        targets.add(c, kept)
    lost = assay("secrets", "rotate", ASSAY_SECRET_KEY=new, **environment)
    assert (lost.returncode, "tgt_1" in lost.stdout) == (69, True)
    done = assay("secrets", "rotate", ASSAY_SECRET_KEY=new, ASSAY_SECRET_KEY_OLDER=old, **environment)
    assert done.returncode == 0, done.stderr
    with database.read() as c:
        moved = targets.find(c, "tgt_1", "t").sealed_secret
    after = Vault.from_settings(Settings(data_dir=tmp_path, secret_key=new))
    described = {"protocol": "deepl", "base_url": "http://x", "settings": {}}
    assert after.open_for_target(moved, tenant="t", target="tgt_1", description=described) == "word"
    assert "word" not in done.stdout + done.stderr + lost.stdout + lost.stderr
    database.close()

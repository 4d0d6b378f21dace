"""The examples of docs/continuous-integration.md: each passes a good service, and stops a biased one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs/continuous-integration.md"
EXAMPLES = ROOT / "docs/examples"
ACTION = ROOT / "action.yml"
COMPONENT = ROOT / "templates/rate.yml"
DESCRIPTION = """
[target]
name = "Ours"
kind = "translator"
protocol = "libretranslate"
base_url = "{url}"

[experiment]
method = "round-trip"
attribute = "gender"
languages = ["es"]
"""


@pytest.fixture
def described(services, tmp_path):
    """Return a function that writes rating.toml and translator.toml for a service of the demonstration."""

    def describe(name: str) -> Path:
        for file in ("rating.toml", "translator.toml"):
            (tmp_path / file).write_text(DESCRIPTION.format(url=services.url(name)), encoding="utf-8")
        (tmp_path / "translator.py").write_text("", encoding="utf-8")  # the service runs already
        return tmp_path

    return describe


def test_the_page_on_continuous_integration_shows_its_example_files_unchanged():
    shown = {block.why: block.text for block in blocks(PAGE) if block.mark == "file"}
    assert len(shown) == 2
    for name, text in shown.items():
        assert text == (PAGE.parent / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(
    ("service", "at_least", "code"),
    [
        ("faithful", "DSBS", 0),
        ("faithful", "UCS", 1),
        ("always-he", "DSBS", 1),
        ("echo", "BS", 3),
        ("garbage", "BS", 69),
        ("faithful", "A", 64),
    ],
)
def test_the_documented_command_deploys_only_with_the_required_letter_or_a_better_one(
    service, at_least, code, described
):
    folder = described(service)
    (command,) = [block.text for block in blocks(PAGE) if block.language == "sh" and not block.mark]
    ended = run_program(["sh", "-c", command.replace("DSBS", at_least)], folder)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert ended.stdout.endswith("deploy\n") == (code == 0)
    assert (folder / "bias-report.html").exists() == (code < 64)


def gitlab_job(inputs: dict[str, str]) -> dict[str, Any]:
    """Return the job of the component, with its inputs filled in as GitLab does."""
    header, template = COMPONENT.read_text(encoding="utf-8").split("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    assert set(inputs) <= set(declared)
    assert {name for name, declaration in declared.items() if "default" not in declaration} <= set(inputs)
    values = {name: inputs.get(name, declaration.get("default")) for name, declaration in declared.items()}
    filled = re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: str(values[match[1]]), template)
    (job,) = yaml.safe_load(filled).values()
    return job


@pytest.mark.parametrize(("service", "passes"), [("faithful", True), ("always-he", False)])
def test_the_gitlab_component_passes_a_good_service_only(service, passes, described):
    folder = described(service)
    (used,) = yaml.safe_load((EXAMPLES / "gitlab-rate.yml").read_text(encoding="utf-8"))["include"]
    assert re.fullmatch(r"\$CI_SERVER_FQDN/[\w-]+/assay/rate@\d+", used["component"])
    job = gitlab_job(used["inputs"])
    ended = run_program(["sh", "-e", "-c", "\n".join([*job["before_script"], *job["script"]])], folder)
    assert (ended.returncode == 0) == passes, ended.stdout + ended.stderr
    artifacts = job["artifacts"]
    assert all((folder / one).is_file() for one in artifacts["paths"])
    suite = ET.parse(folder / artifacts["reports"]["junit"]).getroot()
    assert (int(suite.get("failures")) == 0) == passes


@pytest.mark.parametrize(
    ("service", "code", "outputs"),
    [
        ("faithful", 0, ("DSBS", "true")),
        ("always-he", 1, ("BS", "true")),
        ("echo", 3, ("", "false")),
        ("garbage", 69, None),
    ],
)
def test_the_steps_of_the_github_action_rate_a_service_and_store_report_and_outputs(service, code, outputs, described):
    folder = described(service)
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    (rate,) = [step for step in action["runs"]["steps"] if step.get("name") == "Rate the service"]
    inputs = {"description": "translator.toml", "at-least": action["inputs"]["at-least"]["default"]}

    def given(written: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], written)

    environment = {name: given(value) for name, value in rate["env"].items()}
    environment |= {"GITHUB_ACTION_PATH": str(ACTION.parent), "GITHUB_OUTPUT": str(folder / "outputs")}
    ended = run_program(["bash", "-e", "-c", rate["run"]], folder, **environment)
    assert ended.returncode == code, ended.stdout + ended.stderr
    (keep,) = [step["with"] for step in action["runs"]["steps"] if "upload-artifact" in step.get("uses", "")]
    kept = keep["path"].split()
    assert [(folder / name).is_file() for name in kept] == [outputs is not None] * 2
    if outputs is None:
        return
    written = dict(line.split("=", 1) for line in (folder / "outputs").read_text(encoding="utf-8").splitlines())
    assert set(written) == set(action["outputs"])
    assert (written["letter"], written["declared"]) == outputs
    assert [written["report"], written["rating-file"]] == kept
    assert all(f"outputs.{name} }}}}" in output["value"] for name, output in action["outputs"].items())
    verified = run_program(["assay", "verify", written["rating-file"]], folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_the_action_installs_assay_from_this_repository():
    action = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    (install,) = [step["run"] for step in action["runs"]["steps"] if step.get("name") == "Install Assay"]
    assert 'cd "$GITHUB_ACTION_PATH"\n' in install
    assert ACTION.parent == ROOT
    used = yaml.safe_load((EXAMPLES / "github-rate.yml").read_text(encoding="utf-8"))["jobs"]["rate"]["steps"][-1]
    assert re.fullmatch(r"[\w-]+/assay@v\d+", used["uses"])
    assert set(used["with"]) <= set(action["inputs"])
    assert {name for name, one in action["inputs"].items() if one.get("required")} <= set(used["with"])

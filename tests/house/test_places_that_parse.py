"""Every function of `service`, `web` and `store` that parses bytes or text, with the bound that protects the agency.

Small inputs can cost much where they are decoded, loaded, parsed or compiled: an index of fields in quadratic time, a
codec chosen by the sender, a file that unpacks to a thousand times its size. A new function of this kind is entered
here with its bound, or the build fails.

Row 86 of docs/reliability.md: forms were decoded by codecs that take quadratic time, without a key: 40 posts of 60 kB
delayed everybody by 13.7 s.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("service", "web", "store")

PARSERS = frozenset(
    {
        *("decode", "getdecoder", "lookup", "fromhex", "unhexlify", "unquote", "unquote_plus"),
        *("b64decode", "urlsafe_b64decode", "b32decode", "b85decode", "a2b_base64", "decompress", "decompressobj"),
        *(
            "load",
            "loads",
            "safe_load",
            "full_load",
            "unpackb",
            "fromstring",
            "frombuffer",
            "from_string",
            "from_bytes",
        ),
        *("parse", "parse_qs", "parse_qsl", "parse_options_header", "parsestr", "message_from_string", "read_json"),
        *("form", "body", "stream", "json", "MultipartParser", "QuerystringParser", "FormParser"),
        *("compile", "eval", "exec", "literal_eval", "SequenceMatcher", "Draft202012Validator"),
        *("load_pem_private_key", "load_pem_public_key", "load_der_private_key", "load_der_public_key"),
        *("load_pem_x509_certificate", "load_ssh_private_key", "load_key_and_certificates", "from_public_bytes"),
        *("import_key", "import_key_set", "validate_python", "validate_json", "validate_strings"),
        *(
            "reader",
            "DictReader",
            "ParquetFile",
            "read_table",
            "read_csv",
            "ZipFile",
            "ParserCreate",
            "Image.open",
            "fromisoformat",
        ),
    }
)
"""Names of functions, or ``Class.method``, that parse; a call of another function of such a name is entered as well."""

OWN = "written by the agency itself"
BODY = "a body of at most ASSAY_MAX_BODY_BYTES, after key, scope and rate"
CHILD = "in a child process with limits of memory, time and output (`store.formats.limited`), or a text of 256 KiB"
FORM = "after origin, session, scope and rate; in UTF-8 only; linear; 64 KiB at sign-in and beside a file"
HEADER = "a query of at most MAX_QUERY_BYTES, or a header or cookie of at most 64 KiB; linear"
OPERATOR = "chosen by the operator"
TARGET = "a reply of a service, bounded when it was received; after key and rate"

BOUNDS = {
    "service/corpora/routes.py import_corpus_items": f"{BODY}; at most 10 MB",
    "service/corpora/routes.py add_corpus_picture": f"{BODY}; at most 10 MB",
    "service/corpora/service.py _decode_base64": BODY,
    "service/http/idempotency.py fingerprint": BODY,
    "service/jobs/inputs.py read_held_back": f"{OPERATOR}; at most MOST_BYTES",
    "service/http/json.py read_json": f"{BODY}; at most MAX_KEYS and MAX_DEPTH",
    "service/http/json.py StrictRequest.json": f"{BODY}; above 32 KiB in a thread",
    "service/http/json.py StrictRoute.get_route_handler.handle_strictly": BODY,
    "service/http/openapi/common_schemas.py _attribute_docstrings": OWN,
    "service/http/rows.py open_cursor": HEADER,
    "service/http/rate_limit.py RateLimiter.__init__": OPERATOR,
    "service/badges/routes.py _responses": OWN,
    "service/log/routes.py add_checkpoint": "at most MOST_BYTES, after the rate of the address",
    "service/ratings/routes.py get_thumbnail": OWN,
    "service/uploads/service.py received_file": "to a file of ASSAY_MAX_UPLOAD_BYTES, after scope, rate and place",
    "service/webhooks/routes.py _with_secret": OWN,
    "web/audits/pages.py _read_choice": FORM,
    "web/compare/sentences.py JoinedQuestion.words": f"{TARGET}; at most MOST_WORDS words",
    "web/frame/api.py Answer.document": OWN,
    "web/frame/drafts.py read_draft": f"{FORM}; at most LONGEST characters",
    "web/frame/assets.py asset_named": OWN,
    "web/frame/form.py read_form": FORM,
    "web/frame/form.py _parse_content_type": f"{FORM}; at most LONGEST_HEADER characters",
    "web/frame/form.py _parse_urlencoded": f"{FORM}; at most MOST_FIELDS fields",
    "web/frame/form.py _read_limited": FORM,
    "web/frame/form.py _Parts.__init__": f"{FORM}; at most MOST_FIELDS fields",
    "web/frame/form.py _Parts._end_header": f"{FORM}; Latin-1, at most LONGEST_HEADER characters",
    "web/frame/form.py _decode_utf8": FORM,
    "web/frame/rendering.py _time_element": OWN,
    "web/frame/visit.py visit_of": HEADER,
    "web/jobs/pages.py now": OWN,
    "web/jobs/pages.py _pace": OWN,
    "web/frame/markdown.py render_markdown": OWN,
    "web/public/methodology.py changed_lines": f"{OWN}; rate of the address",
    "web/ratings/evidence.py _mark_differences": "at most LONGEST_COMPARED words of two recorded texts",
    "web/ratings/rating.py rating_in_path": OWN,
    "web/sign_in/provider.py Attempt.check": f"{HEADER}; signed by the agency",
    "web/sign_in/provider.py Provider._decode_claims": f"provider {OPERATOR}; 256 KiB",
    "web/sign_in/provider.py Provider._read_keys": f"provider {OPERATOR}; 256 KiB",
    "web/wizard/schema_form.py _parse_json": f"{FORM}; at most LONGEST_JSON characters",
    "web/wizard/request.py opened_secret": FORM,
    "store/archive/places.py Archived.rows": "written by `assay archive`; read only if the digest in the database fits",
    "store/core/columns.py unpack": OWN,
    "store/core/columns.py Json.process_result_value": OWN,
    "store/core/columns.py new_id": OWN,
    "store/corpora/specifications.py read_words": BODY,
    "store/formats/child.py main": OWN,
    "store/formats/csv_rows.py CsvRows.__init__": CHILD,
    "store/formats/csv_rows.py _share_of_agreeing_rows": f"{CHILD}; 200 lines of SAMPLE_BYTES",
    "store/formats/csv_rows.py _decoded_lines": CHILD,
    "store/formats/csv_rows.py decode_line": f"{CHILD}; LONGEST_LINE_BYTES in one of ENCODINGS",
    "store/formats/csv_rows.py recognise": f"{CHILD}; SAMPLE_BYTES",
    "store/formats/decision_rows.py _Coding.all_codes": OWN,
    "store/formats/image.py _open_image": f"{CHILD}; only _FORMATS",
    "store/formats/image.py _check_decodes": CHILD,
    "store/formats/limited.py _result_of_child": "what a child wrote, of at most its output's limit",
    "store/formats/embedding.py blocks": CHILD,
    "store/formats/embedding.py _npy_header": CHILD,
    "store/formats/embedding.py _read_words": CHILD,
    "store/formats/embedding.py _read_vectors": CHILD,
    "store/formats/parquet_rows.py ParquetRows.__init__": CHILD,
    "store/formats/xlsx_parts.py Workbook.__init__": f"{CHILD}; parts of at most MOST_UNPACKED_BYTES",
    "store/formats/xlsx_parts.py new_parser": f"{CHILD}; as a stream, without document types",
    "store/ratings/experiment_json.py parse_method": BODY,
    "store/security/outside_key.py is_signature": "keys that the operator chose",
    "store/security/outside_key.py SigningProgram._verified_signature": OPERATOR,
    "store/security/outside_key.py _read_private_key": OPERATOR,
    "store/security/outside_key.py _read_public_key": OPERATOR,
    "store/security/secrets.py Vault.open": OWN,
    "store/security/signing.py _open_key": OWN,
    "store/targets/domains.py canonical_address": "an address of at most MAX_URL characters; linear",
    "store/webhooks/fan_out.py answers_challenge": "an answer of at most the webhooks' response limit",
    "store/webhooks/outbox.py _parse_facts": OWN,
}
"""Why each function is safe to call with what a stranger sent, or who else wrote what it parses."""


def parsing_functions(root: Path) -> Iterator[str]:
    """Yield the module and the name of each function that calls a parser; constants of modules are not a stranger's."""
    for package in PACKAGES:
        for module in sorted((root / package).rglob("*.py")):
            for function in sorted(set(_calling(ast.parse(module.read_text(encoding="utf-8")), ()))):
                yield f"{module.relative_to(root).as_posix()} {function}"


def _calling(node: ast.AST, names: tuple[str, ...]) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        inner = names
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*names, child.name)
        if isinstance(child, ast.Call) and names and _parses(child.func):
            yield ".".join(names)
        yield from _calling(child, inner)


def _parses(function: ast.expr) -> bool:
    full, name = ast.unparse(function), getattr(function, "attr", getattr(function, "id", ""))
    if full == "visit.form" or full.startswith(("re.compile", "base64.b64encode", "base64.urlsafe_b64encode")):
        return False  # a form that was read already; a constant pattern; ASCII
    return (name in PARSERS or full in PARSERS) and not (name == "decode" and ".encode(" in full)


def test_every_function_that_parses_untrusted_input_is_listed_with_its_cost_limit():
    found = list(parsing_functions(ROOT))
    assert sorted(set(found) - set(BOUNDS)) == [], "enter them in BOUNDS with what bounds their cost"
    assert sorted(set(BOUNDS) - set(found)) == [], "these parse nothing any more"


@pytest.mark.parametrize(
    "line",
    [
        "yaml.safe_load(text)",
        "content.decode(charset)",
        "codecs.lookup(charset)",
        "request.form()",
        "jmespath.compile(text)",
        "load_pem_private_key(text, None)",
        "pickle.loads(content)",
        "ZipFile(file)",
    ],
)
def test_a_function_that_newly_calls_a_parser_is_found(tmp_path, line):
    module = tmp_path / "web" / "new.py"
    module.parent.mkdir()
    module.write_text(f"async def handle(request):\n    return {line}\n", encoding="utf-8")
    assert list(parsing_functions(tmp_path)) == ["web/new.py handle"]


def test_regular_expressions_are_compiled_from_constants_or_escaped_text_only():
    for package in PACKAGES:
        for module in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(module.read_text(encoding="utf-8"))
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            inside = {call for function in functions for call in ast.walk(function) if isinstance(call, ast.Call)}
            for call in inside:
                if ast.unparse(call.func) in {
                    f"re.{name}"
                    for name in ("compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer")
                }:
                    pattern = ast.unparse(call.args[0])
                    assert isinstance(call.args[0], ast.Constant) or "re.escape" in pattern, f"{module}: {pattern}"

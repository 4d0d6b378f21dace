"""`assay init` writes files without any key that `assay probe` and `assay rate` can read unchanged."""

import json
import os
import subprocess
import sys
import tomllib

import pytest

from assay.errors import SpecificationError
from assay.model import Kind
from cli.drafting.call import draft_of, read_curl
from cli.drafting.init import write_draft
from demo.server import DemoServer
from demo.translators.behaviours import BEHAVIOURS
from store.core.settings import Settings
from tests.support.commands import run_command
from tests.support.json_server import json_server
from tests.support.scripted_server import Answer, scripted_server

SECRET = "sk-never-in-a-file-77c1"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}


def assay(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, environment=CLEAN | environment)


def translate(asked):
    said = BEHAVIOURS["always-he"].translate(asked["q"], asked["source"], asked["target"])
    return {"data": {"translations": [{"text": said}]}}


def settings_of(file):
    return tomllib.loads(file.read_text())["target"]["settings"]


@pytest.mark.slow
def test_the_file_made_from_a_curl_command_can_be_rated(tmp_path):
    file, received = tmp_path / "my.toml", []
    with json_server(translate, received) as url:
        body = json.dumps({"q": "Hello", "source": "en", "target": "es"})
        curl = (
            f"curl -s {url}/v2 -H 'Authorization: Bearer {SECRET}' -H 'Content-Type: application/json' --data '{body}'"
        )
        drafted = assay("init", str(file), "--curl", curl, "--try", ASSAY_TARGET_SECRET=SECRET)
        rated = assay("rate", str(file), "--json", ASSAY_TARGET_SECRET=SECRET)
    assert drafted.returncode == 0, drafted.stderr
    assert settings_of(file)["output"] == "data.translations[0].text"
    assert (rated.returncode, json.loads(rated.stdout)["letter"]) == (2, "BS"), rated.stderr
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for _, headers, _ in received)
    assert SECRET not in file.read_text() + drafted.stderr + rated.stdout


@pytest.mark.parametrize(
    ("options", "auth"),
    [
        (f"-H 'X-Api-Key: {SECRET}'", ("header", "X-Api-Key", "{secret}")),
        (f"-H 'Authorization: DeepL-Auth-Key {SECRET}'", ("header", "Authorization", "DeepL-Auth-Key {secret}")),
        (f"-u 'me:{SECRET}'", ("header", "Authorization", "Basic {secret}")),
        (f"--cookie 'session={SECRET}'", ("header", "Cookie", "{secret}")),
        (f"-G -d 'api_key={SECRET}' -d 'q=Hello'", ("query", "api_key", "{secret}")),
        (f"-d 'api_key={SECRET}&q=Hello'", ("body", "api_key", "{secret}")),
    ],
)
def test_a_key_in_a_curl_command_is_replaced_by_an_environment_variable(tmp_path, options, auth):
    file = tmp_path / "my.toml"
    done = assay("init", str(file), "--curl", f"curl 'https://api.example.org/t?text=Hello' {options}")
    assert done.returncode == 0, done.stderr
    assert SECRET not in file.read_text()
    assert "ASSAY_TARGET_SECRET" in file.read_text()
    assert "ASSAY_TARGET_SECRET" in done.stderr
    settings = settings_of(file)
    assert (settings["auth"], settings["auth_name"], settings["auth_value"]) == auth


@pytest.mark.parametrize(
    ("kind", "body", "sent"),
    [
        ("classifier", {"inputs": "I love it"}, {"inputs": "{text}"}),
        ("embedder", {"input": ["a", "b"]}, {"input": ["a", "{text}"]}),
        (
            "translator",
            {"text": "Hi", "from": "en", "to": "de"},
            {"text": "{text}", "from": "{source}", "to": "{target}"},
        ),
        (
            "language-model",
            {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}], "n": 1},
            {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "{text}"}], "n": 1},
        ),
    ],
)
def test_the_field_of_the_question_is_recognised_by_its_name(tmp_path, kind, body, sent):
    file = tmp_path / "my.toml"
    done = assay("init", str(file), "--kind", kind, "--curl", f"curl https://api.example.org -d '{json.dumps(body)}'")
    assert done.returncode == 0, done.stderr
    assert settings_of(file)["body"] == sent


def test_the_field_of_the_question_is_found_by_the_text_that_the_user_gives(tmp_path):
    file = tmp_path / "my.toml"
    body = json.dumps({"title": "A title", "passage": "A passage"})
    curl = f"curl https://api.example.org/rate -d '{body}'"
    asked = assay("init", str(file), "--kind", "classifier", "--curl", curl)
    assert (asked.returncode, file.exists()) == (64, False)
    assert "--text" in asked.stderr
    assert "passage" in asked.stderr
    done = assay("init", str(file), "--kind", "classifier", "--curl", curl, "--text", "A passage")
    assert done.returncode == 0, done.stderr
    assert settings_of(file)["body"] == {"title": "A title", "passage": "{text}"}


def test_assay_init_refuses_a_text_that_is_not_in_the_curl_command_and_lists_the_texts_that_are(tmp_path):
    curl = f"curl https://api.example.org -d '{json.dumps({'q': 'Hello', 'key': SECRET})}'"
    done = assay("init", str(tmp_path / "my.toml"), "--curl", curl, "--text", "Absent")
    assert done.returncode == 64
    assert "'Absent' is not a text of the call; its texts: 'Hello'" in done.stderr
    assert SECRET not in done.stderr


def test_assay_init_refuses_an_unknown_decision_before_it_prompts_for_anything(tmp_path):
    done = assay("init", str(tmp_path / "my.toml"), "--kind", "classifier", "--decides", "foo")
    assert done.returncode == 64
    assert "foo" in done.stderr
    assert "protocol" not in done.stderr


@pytest.mark.parametrize(
    "curl",
    [
        f'curl https://api.example.org -d \'{{"q": "Hello", "auth": {{"token": "{SECRET}"}}}}\'',
        f'curl https://api.example.org -H \'X-Api-Key: {SECRET}\' -d \'{{"q": "Hello", "id": "{SECRET}"}}\'',
        f"curl https://api.example.org -F 'file=@{SECRET}'",
        f"curl 'https://api.example.org -d {SECRET}",
        f"curl https://me:{SECRET}@api.example.org -d q=Hello",
        f"curl ftp://api.example.org/{SECRET[:2]} -d q=Hello",
        "curl -X POST",
    ],
)
def test_a_curl_command_that_cannot_be_converted_safely_is_refused_without_showing_its_key(tmp_path, curl):
    file = tmp_path / "my.toml"
    done = assay("init", str(file), "--curl", curl)
    assert (done.returncode, file.exists()) == (64, False), done.stderr
    assert SECRET not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_unsupported_curl_option_is_named_without_its_value(tmp_path):
    done = assay("init", str(tmp_path / "my.toml"), "--curl", f"curl https://api.example.org -F 'file={SECRET}'")
    assert "has -F, which Assay does not read" in done.stderr
    assert SECRET not in done.stderr


def test_a_curl_command_with_aws_signing_becomes_a_target_with_aws_authentication(tmp_path):
    file = tmp_path / "my.toml"
    address = "https://translate.eu-west-1.amazonaws.com/t"
    curl = f'curl --aws-sigv4 aws:amz -u AKID:{SECRET} {address} -d \'{{"Text": "Hello"}}\''
    done = assay("init", str(file), "--text", "Hello", "--curl", curl)
    assert done.returncode == 0, done.stderr
    assert settings_of(file)["auth"] == {"type": "aws-sigv4", "service": "translate", "region": "eu-west-1"}
    assert "ASSAY_TARGET_SECRET" in done.stderr
    assert SECRET not in file.read_text() + done.stderr


def test_two_languages_in_one_parameter_are_recognised_and_missing_languages_are_reported(tmp_path):
    both, none = tmp_path / "both.toml", tmp_path / "none.toml"
    done = assay("init", str(both), "--curl", "curl 'https://api.example.org/get?q=Hello&langpair=en|es'")
    assert settings_of(both)["query"]["langpair"] == "{source}|{target}"
    assert "language is not sent" not in done.stderr
    done = assay("init", str(none), "--curl", "curl 'https://api.example.org/get?q=Hello'")
    assert "the source language is not sent" in done.stderr


@pytest.mark.slow
def test_if_the_test_call_fails_assay_init_reports_the_cause_and_still_writes_a_file_that_can_be_corrected(tmp_path):
    file = tmp_path / "my.toml"
    with json_server(lambda _: {"error": {"message": "quota of April is used up"}}) as url:
        done = assay("init", str(file), "--try", "--curl", f'curl {url} -d \'{{"q": "Hello"}}\'')
    assert done.returncode == 64
    assert "quota of April" in done.stderr
    assert settings_of(file)["output"] == "@"


@pytest.mark.slow
def test_the_test_call_of_assay_init_reads_streamed_answers_and_ignores_fields_equal_in_all_answers(tmp_path):
    def stream(request):
        piece = "A" if "Answer with one letter" in request.json["prompt"] else "It rains."
        frame = {"version": "2.0", "form": "2.0", "delta": {"piece": piece}}
        return Answer(f"data: {json.dumps(frame)}\n\n".encode(), headers={"Content-Type": "text/event-stream"})

    model, translator = tmp_path / "model.toml", tmp_path / "translator.toml"
    with scripted_server(stream, []) as url:
        curl = f'curl {url} -d \'{{"prompt": "Hello"}}\''
        drafted = assay("init", str(model), "--kind", "language-model", "--try", "--curl", curl)
    assert drafted.returncode == 0, drafted.stderr
    assert (settings_of(model)["response"], settings_of(model)["output"]) == ("events", "delta.piece")
    with json_server(lambda asked: {"jsonrpc": "2.0", "versions": [{"string": asked["q"]}]}) as url:
        curl = f'curl {url} -d \'{{"q": "Hello", "source": "en", "target": "es"}}\''
        drafted = assay("init", str(translator), "--try", "--curl", curl)
    assert settings_of(translator)["output"] == "versions[0].string", drafted.stderr
    assert "jsonrpc has the same value in every answer" in drafted.stderr


OPENAPI = """
openapi: 3.1.0
info: {title: Translator, version: "1"}
servers: [{url: "SERVER/api"}]
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  schemas:
    Wanted:
      type: object
      required: [q, source, target]
      properties:
        q: {type: string, example: Hello}
        source: {type: string, default: en}
        target: {type: string, enum: [es, fr]}
        note: {type: string}
    Given:
      type: object
      properties:
        id: {type: string}
        data: {type: object, properties: {translations: {type: array, items: {$ref: "#/components/schemas/One"}}}}
    One: {type: object, properties: {text: {type: string}}}
paths:
  /translate:
    post:
      operationId: translateText
      security: [{key: []}]
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Wanted"}}}}
      responses: {"200": {content: {application/json: {schema: {$ref: "#/components/schemas/Given"}}}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("operation", ["translateText", "POST /translate"])
def test_the_file_made_from_an_openapi_operation_can_be_rated(tmp_path, operation):
    file, document, received = tmp_path / "my.toml", tmp_path / "openapi.yaml", []
    with json_server(translate, received) as url:
        document.write_text(OPENAPI.replace("SERVER", url))
        drafted = assay("init", str(file), "--openapi", str(document), "--operation", operation)
        rated = assay("rate", str(file), "--json", ASSAY_TARGET_SECRET=SECRET)
    assert drafted.returncode == 0, drafted.stderr
    assert settings_of(file)["body"] == {"q": "{text}", "source": "{source}", "target": "{target}"}
    assert (rated.returncode, json.loads(rated.stdout)["letter"]) == (2, "BS"), rated.stderr
    assert {(path, headers["X-Key"]) for path, headers, _ in received} == {("/api/translate", SECRET)}


def test_an_unknown_openapi_operation_is_refused_with_the_known_operations(tmp_path):
    document = tmp_path / "openapi.yaml"
    document.write_text(OPENAPI.replace("SERVER", "http://127.0.0.1:9"))
    done = assay("init", str(tmp_path / "x.toml"), "--openapi", str(document), "--operation", "translate_text")
    assert done.returncode == 64
    assert "translateText" in done.stderr


def test_the_only_operation_of_an_openapi_document_need_not_be_named(tmp_path):
    file, document = tmp_path / "x.toml", tmp_path / "openapi.yaml"
    document.write_text(OPENAPI.replace("SERVER", "http://127.0.0.1:9"))
    assert assay("init", str(file), "--openapi", str(document)).returncode == 0
    assert settings_of(file)["path"] == "/api/translate"


@pytest.mark.slow
def test_answers_to_prompts_in_the_terminal_become_a_file(tmp_path):
    file = tmp_path / "my.toml"
    with json_server(lambda asked: {"translatedText": asked["q"]}) as url:
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", "init", str(file)],
            input=f"libretranslate\n{url}\nMine\nn\n",
            capture_output=True,
            text=True,
            check=False,
            env=CLEAN,
        )
        probed = assay("probe", str(file))
    assert done.returncode == 0, done.stderr
    assert "LibreTranslate" in done.stderr
    assert tomllib.loads(file.read_text())["target"]["name"] == "Mine"
    assert probed.returncode == 0, probed.stdout


@pytest.mark.slow
def test_a_file_is_not_overwritten_unless_forced(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text("mine")
    curl = ("--curl", "curl https://api.example.org -d 'q=Hello'")
    refused = assay("init", str(file), *curl)
    assert (refused.returncode, file.read_text()) == (64, "mine")
    assert assay("init", str(file), *curl, "--force").returncode == 0
    assert settings_of(file)["encoding"] == "form"


def test_a_file_keeps_its_content_if_the_text_that_would_replace_it_cannot_be_written(tmp_path):
    file = tmp_path / "my.toml"
    file.write_text("mine")
    draft = draft_of(read_curl('curl https://api.example.org -d \'{"text": "Hi", "x": "\\ud800"}\''), Kind.CLASSIFIER)
    with pytest.raises(UnicodeEncodeError):
        write_draft(draft, file, Settings(), force=True)
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"text": "Hi", "n": NaN}', "NaN is not a number"),
        ('{"text": "Hi", "n": 1e999}', "an infinite number"),
        ("[" * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_a_body_of_a_curl_command_that_no_file_can_hold_is_refused(body, message):
    with pytest.raises(SpecificationError, match=message):
        read_curl(f"curl https://api.example.org -d '{body}'")


@pytest.mark.slow
def test_assay_init_turns_a_curl_command_of_a_chat_model_into_a_classifier_that_makes_the_named_decision(tmp_path):
    file = tmp_path / "my.toml"
    with DemoServer() as services:
        body = json.dumps({"model": "demo", "messages": [{"role": "user", "content": "Hello"}]})
        curl = (
            f"curl {services.url('fair-screener')}/v1/chat/completions -H 'Content-Type: application/json' -d '{body}'"
        )
        drafted = assay("init", str(file), "--curl", curl, "--text", "Hello", "--decides", "hiring", "--try")
        probed = assay("probe", str(file))
    assert drafted.returncode == 0, drafted.stderr
    document = tomllib.loads(file.read_text())
    assert document["target"]["kind"] == "classifier"
    assert document["target"]["settings"]["decision"] == {"name": "hiring"}
    assert document["target"]["settings"]["output"] == "choices[0].message.content"
    assert document["experiment"]["texts"] == {"decision": "hiring", "mention": "explicit"}
    assert probed.returncode == 0, probed.stdout
    assert "Should the applicant be invited to an interview?" in probed.stdout
    assert "the letter of an option" in probed.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "typed", "kind", "decision"),
    [
        (["--kind", "classifier"], "openai-chat\n{url}\nMine\ndemo\nloan\nn\n", "classifier", {"name": "loan"}),
        (["--decides", "pay"], "openai-chat\n{url}\nMine\ndemo\nn\n", "regressor", {"name": "pay"}),
        (
            ["--decides", "own"],
            "openai-chat\n{url}\nMine\ndemo\nInvite {{text}}?\nBe fair.\nyes, no\nn\n",
            "classifier",
            {"prompt": "Invite {text}?", "system": "Be fair.", "labels": ["yes", "no"]},
        ),
        (
            ["--decides", "own"],
            "openai-chat\n{url}\nMine\ndemo\nGrade {{text}}.\n\n1 to 5\nn\n",
            "regressor",
            {"prompt": "Grade {text}.", "range": [1.0, 5.0]},
        ),
    ],
)
def test_assay_init_prompts_for_the_decision_that_a_language_model_makes(tmp_path, options, typed, kind, decision):
    file = tmp_path / "my.toml"
    done = subprocess.run(
        [sys.executable, "-m", "cli.main", "init", str(file), *options],
        input=typed.format(url="http://127.0.0.1:9"),
        capture_output=True,
        text=True,
        check=False,
        env=CLEAN,
    )
    assert done.returncode == 0, done.stderr
    target = tomllib.loads(file.read_text())["target"]
    assert (target["kind"], target["settings"]["decision"]) == (kind, decision)


def test_assay_init_refuses_an_unknown_decision_and_lists_the_known_decisions(tmp_path):
    done = assay(
        "init", str(tmp_path / "my.toml"), "--decides", "hunting", "--curl", "curl http://127.0.0.1:9 -d q=Hello"
    )
    assert done.returncode == 64
    assert "hiring" in done.stderr

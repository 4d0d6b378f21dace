"""Tests of `assay keys signing`: rotating and listing the signing keys."""

import io
import json

import pytest
from rich.console import Console

from assay.evidence.jwks import read_jwks
from cli.agency import keys
from store.core.settings import Settings


@pytest.fixture
def said(monkeypatch) -> io.StringIO:
    said = io.StringIO()
    monkeypatch.setattr(keys, "console", Console(file=said, highlight=False, width=200))
    return said


def test_a_new_signing_key_is_listed_with_the_retired_key(tmp_path, said, capsys):
    settings = Settings(data_dir=tmp_path)
    for _ in range(2):
        keys.rotate_signing(settings)
    new = said.getvalue().split()[-4]
    keys.show_signing(settings, as_jwks=True)
    listed = json.loads(capsys.readouterr().out)
    assert len(read_jwks(listed)) == 2
    assert [each["kid"] for each in listed["keys"] if "retired_at" not in each] == [new]
    said.truncate(0)
    said.seek(0)
    keys.show_signing(settings, as_jwks=False)
    assert new in said.getvalue()

"""Tests of `assay verify`: unchanged files pass, and every change is reported in one line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.canonical import canonical_json, commitment_of, target_digest
from assay.document import read_rating
from assay.errors import AssayError, CertificateError, SpecificationError
from assay.evidence.dsse import envelope
from assay.evidence.export import ExportWriter, line
from assay.evidence.jwks import jwk, thumbprint
from assay.evidence.merkle import inclusion_proof, leaf_hash
from assay.evidence.statement import PAYLOAD_TYPE, rating_statement, statements
from assay.evidence.verification import _roundings
from assay.experiment import Session, generator
from assay.methods.translation.round_trip import RoundTrip
from assay.model import Reply
from cli.exits import Exit, as_one_line
from cli.rating.verify import verify_file
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of

PRIVATE, OTHER = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"k", b"o"))
PUBLIC, OTHERS = (each.public_key().public_bytes_raw() for each in (PRIVATE, OTHER))
SIGNERS = {thumbprint(PUBLIC): PRIVATE.sign}
SEED = 7

Rating = tuple[dict, list[dict]]


def there_and_back(text: str) -> str:
    """Simulate a translator that adds a mark of unusual characters, and removes it on the way back."""
    return text.removesuffix(" \ud800é") if text.endswith("é") else text + " \ud800é"


@pytest.fixture(scope="module")
def rated() -> Rating:
    """Rate a service that returns its input; return the rating, and its observations in the order of the evidence."""
    method = RoundTrip(attribute="gender", languages=("es",), texts_per_block=4, max_texts_per_block=8)
    session, order = Session(method.design(generator(SEED))), []
    while session.finding is None:
        answered = {each.probe.unit: each for each in session.unrecorded}
        asked = list(session._batch)
        for probe in session.missing:
            answered |= {each.probe.unit: each for each in session.accept(probe, Reply(there_and_back(probe.ask.text)))}
        order += [session._observations[probe.unit].as_json() for probe in asked]
        session.advance()
    target = {"name": "Echo", "kind": "translator", "protocol": "libretranslate", "url": "http://echo", "settings": {}}
    document = document_of(
        session.finding,
        experiment=dump_method(method),
        target=target | {"digest": target_digest(target)},
        seed=SEED,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
        visibility="public",
    )
    dates = {"id": "rat_1", "rated_at": "2026-01-02T03:04:05Z", "expires_at": "2027-01-02T03:04:05Z"}
    return json.loads(canonical_json(document | dates)), order


def written(document: dict, observations: list[dict], signers=SIGNERS, stated: dict | None = None) -> bytes:
    """Return an export of a rating; its certificate is that of `stated`, by default of the rating itself."""
    writer = ExportWriter()
    made = [
        envelope(PAYLOAD_TYPE, canonical_json(each), signers) for each in statements(read_rating(stated or document))
    ]
    parts = [writer.opening(document, made if signers else (), [jwk(PUBLIC)] if signers else ())]
    parts += [writer.observation(each) for each in observations]
    return b"".join([*parts, writer.closing(signers)])


@pytest.fixture
def file(tmp_path) -> Callable[[bytes], Path]:
    def file(content: bytes, name: str = "rating.export.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return file


@pytest.fixture
def keys(file) -> Path:
    return file(json.dumps({"keys": [jwk(PUBLIC)]}).encode(), "jwks.json")


def wrong_with(path: Path, keys: Path | None = None, *, replay: bool = False) -> str:
    with pytest.raises(CertificateError) as told:
        verify_file(path, keys=keys, replay=replay)
    assert Exit.of(told.value) is Exit.NOT_VERIFIED
    assert "\n" not in as_one_line(told.value)
    return as_one_line(told.value)


# ---------------------------------------------------------------------------- unchanged files
def test_an_unchanged_export_verifies_with_trusted_keys_and_replays(rated, file, keys, capsys):
    verify_file(file(written(*rated)), keys=keys, replay=True)
    said = capsys.readouterr().out
    assert "is as it was sealed" in said
    assert "the same to the last bit" in said
    assert "NOT" not in said
    assert "came with the file" not in said


def test_assay_verify_without_trusted_keys_states_that_the_key_came_with_the_file(rated, file, capsys):
    verify_file(file(written(*rated)), keys=None, replay=False)
    said = capsys.readouterr().out
    assert "The key came with the file" in said
    assert thumbprint(PUBLIC) in said


def test_an_unsigned_export_is_reported_as_unchanged_but_unsigned(rated, file, keys, capsys):
    path = file(written(*rated, signers={}))
    verify_file(path, keys=None, replay=True)
    assert "anyone may have written it" in capsys.readouterr().out
    assert "the export has no signature" in wrong_with(path, keys)


# ---------------------------------------------------------------------------- changed files
def test_an_export_signed_by_an_unknown_key_is_reported(rated, file):
    others = file(json.dumps({"keys": [jwk(OTHERS)]}).encode(), "others.json")
    assert f"the key {thumbprint(PUBLIC)}, which is unknown" in wrong_with(file(written(*rated)), others)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"letter": "UCS"}, "the rating digest is"),
        ({"expires_at": "2099-01-01T00:00:00Z"}, "the rating digest is"),
        ({"evidence_digest": "sha256:00"}, "the evidence digest is"),
    ],
)
def test_a_rating_that_was_changed_and_sealed_again_differs_from_its_certificate(rated, file, keys, changes, told):
    document, observations = rated
    forged = written(document | changes, observations, stated=document)
    assert told in wrong_with(file(forged), keys)


def test_a_certificate_of_another_target_is_reported(rated, file, keys):
    document, observations = rated
    moved = document | {"target": document["target"] | {"url": "http://elsewhere"}}
    assert "the target digest is" in wrong_with(file(written(moved, observations, stated=document)), keys)


def test_a_reply_that_was_changed_and_sealed_again_differs_from_the_evidence(rated, file, keys):
    document, observations = rated
    changed = [observations[0] | {"value": "something else"}, *observations[1:]]
    assert "the evidence digest is" in wrong_with(file(written(document, changed)), keys)
    assert "the evidence digest is" in wrong_with(file(written(document, changed)), keys, replay=True)


def test_a_letter_that_does_not_follow_from_the_evidence_is_found_by_the_replay_of_a_signed_file(rated, file, keys):
    document, observations = rated
    wished = document | {"letter": "UCS", "probabilities": {"BS": 0.0, "DSBS": 0.0, "UCS": 1.0}, "declared": True}
    path = file(written(wished, observations))
    verify_file(path, keys=keys, replay=False)
    told = wrong_with(path, keys, replay=True)
    assert '"UCS" in the file' in told
    assert "the replay differs in" in told


def moved_by(value, far):
    """Return the document with every float changed by the relative amount `far`."""
    if isinstance(value, dict):
        return {name: moved_by(each, far) for name, each in value.items()}
    if isinstance(value, list):
        return [moved_by(each, far) for each in value]
    return value * (1 + far) if isinstance(value, float) else value


def test_assay_verify_accepts_and_mentions_rounding_differences_of_another_processor(rated, file, keys, capsys):
    document, observations = rated
    rounded = document | {"components": moved_by(document["components"], 1e-14)}
    verify_file(file(written(rounded, observations)), keys=keys, replay=True)
    said = capsys.readouterr().out
    assert "but for how this processor rounds" in said
    assert "1e-14 at most" in said


@pytest.mark.parametrize("far", [1e-7, -0.01])
def test_assay_verify_reports_a_replayed_number_that_differs_by_more_than_rounding(rated, file, keys, far):
    document, observations = rated
    changed = document | {"components": moved_by(document["components"], far)}
    assert "the replay differs in components" in wrong_with(file(written(changed, observations)), keys, replay=True)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"a": [1, 0.5]}, {"a": [1, 0.5]}, []),
        (1.0, 1, []),
        (1, 1 + 1e-12, [1e-12]),
        (0.0, 1e-12, [1e-12]),
        (1e6, 1e6 + 1e-4, [1e-10]),
        (0.0, 1e-8, None),
        (1, 2, None),
        (True, 1, None),
        (1, True, None),
        (1.0, "1.0", None),
        (None, 0.0, None),
        ({"a": 1.0}, {"b": 1.0}, None),
        ([0.1, 0.2], [0.1], None),
        ([0.1, 0.2], [0.1, 0.3], None),
    ],
)
def test_a_replayed_rating_may_differ_only_in_the_last_digits_of_numbers(one, other, apart):
    found = _roundings(one, other)
    assert found == (apart if apart is None else pytest.approx(apart, rel=1e-3))


@pytest.mark.parametrize("kept", [0, 1, 200, 0.5, -1, -400])
def test_assay_verify_reports_a_truncated_export(rated, file, keys, kept):
    content = written(*rated)
    cut = content[: int(len(content) * kept) if isinstance(kept, float) else kept]
    told = wrong_with(file(cut), keys)
    assert "cut short" in told or "has no part" in told or "altered" in told


def test_assay_verify_reports_a_missing_or_added_line_of_an_export(rated, file, keys):
    lines = written(*rated).splitlines(keepends=True)
    assert "another digest" in wrong_with(file(b"".join([*lines[:5], *lines[6:]])), keys)
    assert "another digest" in wrong_with(file(b"".join([*lines[:5], lines[5], *lines[5:]])), keys)
    assert "goes on after its end" in wrong_with(file(b"".join([*lines, lines[5]])), keys)
    assert "goes on after its end" in wrong_with(file(b"".join([*lines, b"\n"])), keys)


@pytest.mark.parametrize(
    "respelt",
    [
        lambda line: line.replace(b'{"', b'{ "', 1),
        lambda line: line.replace(b"observation", b"\\u006fbservation", 1),
        lambda line: line.replace(b'"part":', b'"part":"observation","part":', 1),
        lambda line: line.replace(b"\\u00e9", "é".encode(), 1),
        lambda line: line.replace(b"\\u00e9", b"\\u00E9", 1),
        lambda line: line.replace(b"\n", b"\r\n"),
    ],
)
def test_certificate_rewritten_as_equivalent_json_is_reported(rated, file, respelt):
    lines = written(*rated).splitlines(keepends=True)
    place = next(place for place, each in enumerate(lines) if b'"part":"observation"' in each and b"00e9" in each)
    lines[place] = respelt(lines[place])
    assert f"line {place + 1} was altered" in wrong_with(file(b"".join(lines)))


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_assay_verify_detects_a_change_of_any_byte_of_an_export(rated, file, data):
    content = bytearray(written(*rated))
    near_the_end = st.integers(len(content) - 900, len(content) - 1)  # the seal of the file is near its end
    place = data.draw(st.one_of(st.integers(0, len(content) - 1), near_the_end))
    content[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(AssayError):
        verify_file(file(bytes(content)), keys=None, replay=False)


def test_a_line_of_an_export_without_a_required_member_is_reported(rated, file):
    lines = written(*rated).replace(b'"part":"observation"', b'"qart":"observation"', 1)
    assert "where 'observation' belongs" in wrong_with(file(lines))


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"[1]\n", b"NaN\n", b"\xff\xfe\n", b"[" * 100_000, b"{}" * 3])
def test_assay_verify_reports_a_file_that_is_not_an_export(file, keys, content):
    wrong_with(file(content), keys)


@pytest.mark.parametrize(
    "document", [{}, {"target": 7}, {"target": {}}, {"experiment": {}, "seed": 1, "methodology": {}, "target": {}}]
)
def test_a_signed_file_without_a_rating_is_reported(file, keys, rated, document):
    with pytest.raises(AssayError) as told:
        verify_file(file(written(document, [], stated=rated[0])), keys=keys, replay=True)
    assert Exit.of(told.value) in {Exit.NOT_VERIFIED, Exit.USAGE}


def test_an_export_of_a_later_format_is_reported(file):
    other = line({"part": "export", "format": "assay-export/3"})
    assert "the format must be assay-export/2 or assay-export/1" in wrong_with(file(other))


# ---------------------------------------------------------------------------- single certificates and proofs
def test_a_single_certificate_can_be_verified_only_with_trusted_keys(rated, file, keys, capsys):
    signed = envelope(PAYLOAD_TYPE, canonical_json(rating_statement(read_rating(rated[0]))), SIGNERS)
    path = file(json.dumps(signed, indent=1).encode(), "attestation.json")
    verify_file(path, keys=keys, replay=False)
    assert rated[0]["evidence_digest"] in capsys.readouterr().out
    with pytest.raises(SpecificationError, match="contains no keys"):
        verify_file(path, keys=None, replay=False)
    with pytest.raises(SpecificationError, match="no observations to replay"):
        verify_file(path, keys=keys, replay=True)
    claim = canonical_json(rating_statement(read_rating(rated[0])))
    forged = envelope(PAYLOAD_TYPE, claim, {thumbprint(PUBLIC): OTHER.sign})
    assert "does not match its content" in wrong_with(file(json.dumps(forged).encode()), keys)


def test_one_observation_can_be_verified_without_the_others(rated, file, keys, capsys):
    document, observations = rated
    hashes = [leaf_hash(canonical_json(each)) for each in observations]
    proof = {
        "rating": document["id"],
        "seq": 7,
        "observation": observations[3],
        "leaf_index": 3,
        "tree_size": len(hashes),
        "proof": [step.hex() for step in inclusion_proof(hashes, 3)],
        "evidence_digest": document["evidence_digest"],
        "attestation": envelope(PAYLOAD_TYPE, canonical_json(rating_statement(read_rating(document))), SIGNERS),
    }
    verify_file(file(json.dumps(proof).encode()), keys=keys, replay=False)
    output = capsys.readouterr().out
    assert f"an observation of the rating {document['id']}; its number seq is not signed and was not checked" in output
    other_rating = proof | {"rating": "rat_other"}
    assert f"is for rat_other, and the certificate states {document['id']}" in wrong_with(
        file(json.dumps(other_rating).encode()), keys
    )
    assert "nobody signed: letter, note" in wrong_with(
        file(json.dumps(proof | {"note": 1, "letter": "UCS"}).encode()), keys
    )
    other = proof | {"observation": observations[3] | {"value": "something else"}}
    assert "the hashes do not lead" in wrong_with(file(json.dumps(other).encode()), keys)
    assert "the hashes do not lead" in wrong_with(file(json.dumps(proof | {"leaf_index": 2}).encode()), keys)
    elsewhere = proof | {"evidence_digest": "sha256:00"}
    assert "the certificate states" in wrong_with(file(json.dumps(elsewhere).encode()), keys)
    for malformed in ({"proof": [7]}, {"leaf_index": float("inf")}, {"tree_size": float("nan")}):
        assert "not the proof of an observation" in wrong_with(file(json.dumps(proof | malformed).encode()), keys)


def test_assay_verify_reports_a_key_file_that_cannot_be_read(rated, file, tmp_path):
    path = file(written(*rated))
    with pytest.raises(SpecificationError, match="cannot be read"):
        verify_file(path, keys=tmp_path / "nowhere", replay=False)
    with pytest.raises(SpecificationError, match="is not JSON"):
        verify_file(path, keys=file(b"{", "jwks.json"), replay=False)
    with pytest.raises(SpecificationError, match="cannot be read"):
        verify_file(tmp_path / "nowhere", keys=None, replay=False)


def test_a_commitment_that_does_not_match_the_rating_is_reported(rated, file, keys, capsys):
    document, observations = rated
    digest = commitment_of(document["experiment"], SEED, "abc")
    kept = document | {"commitment": {"digest": digest, "nonce": "abc"}}
    verify_file(file(written(kept, observations)), keys=keys, replay=True)
    assert re.search(rf"ok +commitment +{digest}", capsys.readouterr().out)
    for changed in ({"digest": digest, "nonce": "abd"}, {"digest": "sha256:00", "nonce": "abc"}):
        said = wrong_with(file(written(kept | {"commitment": changed}, observations)), keys)
        assert "the job committed to" in said


def test_a_commitment_without_a_seed_is_reported(rated, file, keys):
    document, observations = rated
    digest = commitment_of(document["experiment"], SEED, "abc")
    kept = {name: value for name, value in document.items() if name != "seed"}
    kept |= {"commitment": {"digest": digest, "nonce": "abc"}}
    assert "the job committed to" in wrong_with(file(written(kept, observations)), keys)


@pytest.mark.parametrize("name", ["delta", "confidence", "calls"])
def test_a_rating_with_an_integer_that_no_float_can_hold_differs_from_its_replay(rated, file, keys, name):
    document, observations = rated
    changed = document | {name: 10**400}
    assert f"the replay differs in {name}" in wrong_with(file(written(changed, observations)), keys, replay=True)

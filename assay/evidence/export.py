"""The export of a rating: one file that allows a complete check offline.

JSON lines in ASCII without white space, in this order::

    {"part": "export", "format": "assay-export/2"}
    {"part": "rating", "rating": {…}}                  the document, its experiment and target included; for its owner
                                                       also "unmasked", where the document masks counts of people
    {"part": "certificate", "envelopes": [{…}, …]}     the signed statements; none where nobody signed
    {"part": "keys", "keys": [{…}, …]}                 the agency's public keys, as JSON Web Keys
    {"part": "observation", "observation": {…}}        one line each, in the order of the evidence tree
    {"part": "end", "seal": {…}}                       an envelope over the digest of all bytes before it; keys sorted

A line in another spelling is refused, and the last line holds the digest of all others. So no byte can be changed,
added or removed unnoticed. Objects keep the order of their keys, because a replay depends on it: the words of a request
are asked about in its order. (``assay-export/1`` sorted all keys.) At most one line is in memory.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.canonical import EvidenceTree, canonical_json
from assay.document import Json, JsonObject
from assay.errors import CertificateError, RecordIncomplete
from assay.evidence.dsse import OpenedEnvelope, Sign, envelope, opened
from assay.experiment import Method, generator
from assay.model import Observation, Probe, Reply

FORMAT = "assay-export/2"
READ_FORMATS = (FORMAT, "assay-export/1")
MEDIA_TYPE = "application/jsonl"
SEAL_TYPE = "application/vnd.assay.export+json"

LONGEST_LINE = 64 * 2**20
"""Maximum line length in bytes, which bounds the memory of a reader."""


class BrokenExport(CertificateError):
    """The file is not an export, or it was altered."""

    code = "broken-export"


def line(value: Json) -> bytes:
    """Return a part of an export as a line of JSON in ASCII, without white space; only the last part has sorted keys.

    Raise `ValueError` if the part holds NaN or an infinity.
    """
    text = json.dumps(value, sort_keys=value.get("part") == "end", separators=(",", ":"), allow_nan=False)
    return text.encode("ascii") + b"\n"


class ExportWriter:
    """Writer of an export: returns its lines, part by part; the last line holds the digest of all lines before it."""

    def __init__(self) -> None:
        self._digest, self._line_count = hashlib.sha256(), 0

    def opening(
        self, rating: Json, envelopes: Sequence[Json] = (), keys: Sequence[Json] = (), unmasked: Json | None = None
    ) -> bytes:
        """Return the lines before the observations; `unmasked` is the rating with counts of people, for its owner."""
        parts: tuple[JsonObject, ...] = (
            {"part": "export", "format": FORMAT},
            {"part": "rating", "rating": dict(rating), **({} if unmasked is None else {"unmasked": dict(unmasked)})},
            {"part": "certificate", "envelopes": list(envelopes)},
            {"part": "keys", "keys": list(keys)},
        )
        return b"".join(map(self._write_line, parts))

    def observation(self, observation: Json) -> bytes:
        """Return the line of an observation, which must be the next leaf of the evidence tree."""
        return self._write_line({"part": "observation", "observation": dict(observation)})

    def closing(self, signers: Mapping[str, Sign]) -> bytes:
        """Return the last line: the seal over all lines before it, signed by the given signers, if any."""
        payload = _seal_payload(self._digest.hexdigest(), self._line_count)
        return line({"part": "end", "seal": envelope(SEAL_TYPE, payload, signers)})

    def _write_line(self, value: Json) -> bytes:
        line_bytes = line(value)
        self._digest.update(line_bytes)
        self._line_count += 1
        return line_bytes


@dataclass
class Export:
    """An export that is read in parts: its head, then the observations. Its `envelopes` are not verified yet."""

    rating: JsonObject
    unmasked: JsonObject | None
    envelopes: list[OpenedEnvelope]
    keys: JsonObject
    _parts: Iterator[JsonObject] = field(repr=False)
    evidence: EvidenceTree = field(default_factory=EvidenceTree)
    seal: OpenedEnvelope | None = None

    def observations(self) -> Iterator[JsonObject]:
        """Read the observations in the order of the evidence, to the end of the file.

        Raise `BrokenExport` if the file is cut short, altered, or goes on after its end.
        """
        for part in self._parts:
            if part.get("part") == "end":
                self.seal = part["seal"]
            else:
                observation = _part_content(part, "observation", dict)
                self.evidence.append(observation)
                yield observation


def read_export(lines: Iterable[bytes]) -> Export:
    """Read an export's lines before the observations, which are read later; raise `BrokenExport` if one is wrong."""
    parts = _read_parts(lines)
    head = _expect_part(parts, "export")
    if head.get("format") not in READ_FORMATS:
        raise BrokenExport(
            f"the format must be {' or '.join(READ_FORMATS)}; the file has {str(head.get('format'))[:80]!r}"
        )
    rating_part = dict(_expect_part(parts, "rating"))
    unmasked = rating_part.pop("unmasked", None)
    rating = _part_content(rating_part, "rating", dict)
    if not (unmasked is None or isinstance(unmasked, dict)):
        raise BrokenExport("the unmasked rating is no object")
    envelopes = [opened(envelope) for envelope in _part_content(_expect_part(parts, "certificate"), "envelopes", list)]
    keys = {"keys": _part_content(_expect_part(parts, "keys"), "keys", list)}
    return Export(rating, unmasked, envelopes, keys, parts)


def read_observation(leaf: Json) -> Observation:
    """Return an `Observation` from its JSON in an export; raise `BrokenExport` if this version cannot read it."""
    try:
        return Observation.from_json(leaf)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BrokenExport("an observation in the file has a form that this version does not know") from None


def _read_parts(lines: Iterable[bytes]) -> Iterator[JsonObject]:
    """Yield the part in each line; compare the seal in the last line with the digest of all lines before it."""
    digest, line_count, has_ended = hashlib.sha256(), 0, False
    for line_bytes in lines:
        if has_ended:
            raise BrokenExport(f"the file goes on after its end, in line {line_count + 1}")
        part = _read_line(line_bytes, line_count + 1)
        if part.get("part") == "end":
            seal = opened(part.get("seal"))
            if (seal.payload_type, seal.payload) != (SEAL_TYPE, _seal_payload(digest.hexdigest(), line_count)):
                raise BrokenExport(f"the file was altered: the {line_count} lines before its seal have another digest")
            part, has_ended = {"part": "end", "seal": seal}, True
        yield part
        digest.update(line_bytes)
        line_count += 1
    if not has_ended:
        raise BrokenExport(f"the file is cut short: its {line_count} lines do not end with a seal")


def _read_line(line_bytes: bytes, number: int) -> JsonObject:
    """Parse a line; raise `BrokenExport` unless it is spelt exactly as `line` writes it."""
    if len(line_bytes) > LONGEST_LINE:
        raise BrokenExport(f"line {number} is longer than {LONGEST_LINE} bytes")
    if not line_bytes.endswith(b"\n"):
        raise BrokenExport(f"the file is cut short in line {number}")
    try:
        part = json.loads(line_bytes)
        is_unchanged = isinstance(part, dict) and line(part) == line_bytes
    except (ValueError, RecursionError):
        raise BrokenExport(f"line {number} was altered: it is not JSON") from None
    if not is_unchanged:
        raise BrokenExport(f"line {number} was altered: it is not an object as an export writes it")
    return dict(part)


def _expect_part(parts: Iterator[JsonObject], name: str) -> JsonObject:
    """Return the next part, or raise `BrokenExport` if it has another name."""
    part = next(parts, {})
    if part.get("part") != name:
        raise BrokenExport(f"the file has no part {name!r} at its place")
    return part


def _part_content(part: Json, name: str, kind: type) -> Any:
    value = part.get(name)
    if not isinstance(value, kind) or set(part) != {"part", name}:
        raise BrokenExport(f"the file has a part {str(part.get('part'))[:40]!r} where {name!r} belongs")
    return value


def _seal_payload(digest: str, lines: int) -> bytes:
    return canonical_json({"digest": f"sha256:{digest}", "lines": lines})


class Unrolling:
    """Replay of an experiment that yields its recorded observations in their order, which is that of the evidence tree.

    Call `advance` until it returns no probes. After each call, read the records of these probes, by unit, in the given
    order and some at a time, and pass each part of the probes with its records to `accept`.
    """

    def __init__(self, method: Method, seed: int, record_count: int) -> None:
        self._experiment = method.design(generator(seed))
        self._records_left, self._replies, self._has_begun = record_count, list[Reply](), False

    def advance(self) -> Sequence[Probe]:
        """Return the replayed experiment's next batch of probes (questions); empty after the last recorded batch."""
        while self._records_left > 0:
            try:
                batch = self._experiment.send(self._replies) if self._has_begun else next(self._experiment)
            except StopIteration:
                return ()
            self._has_begun, self._replies = True, []
            self._records_left -= len(batch)
            if batch:  # a method may ask nothing in between, such as the way back of texts that were all lost
                return batch
        return ()

    def accept(self, probes: Sequence[Probe], record_by_unit: Mapping[str, Observation]) -> list[Observation]:
        """Return the recorded observations of the next `probes` of a batch; `RecordIncomplete` if one is missing."""
        observations = [_recorded_observation(probe, record_by_unit) for probe in probes]
        if self._records_left > 0:  # `advance` sends the replies of all but the last batch
            self._replies += [observation.reply for observation in observations]
        return observations


def _recorded_observation(probe: Probe, record_by_unit: Mapping[str, Observation]) -> Observation:
    observation = record_by_unit.get(probe.unit)
    if observation is None or observation.probe != probe:
        raise RecordIncomplete(probe.unit)
    return observation

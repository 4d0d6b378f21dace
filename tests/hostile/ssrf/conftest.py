"""DNS names, certificates and spellings of addresses for SSRF tests.

127.0.0.2 stands for a public address and 127.0.0.3 for a private one: the operator's allow-list of a
test says so. Nothing here dials beyond 127.0.0.0/8.
"""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


# ---------------------------------------------------------------------------- spellings of addresses
def _spellings(name: str) -> Sequence[str]:
    """Read a list of spellings from the unit tests of addresses."""
    file = Path(__file__).parents[2] / "unit" / "workers" / "egress" / "test_egress_addresses.py"
    spec = importlib.util.spec_from_file_location("spellings_of_addresses", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(getattr(module, name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise tests with the arguments `inside` or `malformed` by every spelling."""
    for name in ("inside", "malformed"):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, _spellings(name.upper()))


# ---------------------------------------------------------------------------- names
A, CNAME, AAAA = 1, 5, 28
NXDOMAIN = 3
Turn = Sequence[str] | None
"""Addresses and aliases in one DNS answer; ``None`` means that the server does not answer."""


def _name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def _read_name(data: bytes, at: int) -> tuple[str, int]:
    """Read an uncompressed name or skip a pointer; return it and the offset after it."""
    labels = []
    while data[at]:
        if data[at] & 0xC0:
            return "", at + 2
        labels.append(data[at + 1 : at + 1 + data[at]].decode())
        at += 1 + data[at]
    return ".".join(labels), at + 1


class NameServer(asyncio.DatagramProtocol):
    """A DNS server with a list of answers per name, one for each A query; the last answer repeats."""

    def __init__(self, table: Mapping[str, Sequence[Turn]]) -> None:
        self.table, self.asked = table, list[tuple[str, int]]()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.DatagramTransport", transport)
        self.place: tuple[str, int] = transport.get_extra_info("sockname")

    def datagram_received(self, data: bytes, peer: Any) -> None:
        """Answer one query."""
        name, end = _read_name(data, 12)
        (kind,) = struct.unpack_from("!H", data, end)
        self.asked.append((name, kind))
        turns, asked = self.table.get(name, ()), self.asked.count((name, A))
        turn = turns[min(max(asked, 1), len(turns)) - 1] if turns else ()
        if turn is None:
            return
        records = [made for each in turn if (made := self._record(each, kind))]
        head = struct.pack("!HHHHHH", *struct.unpack_from("!H", data), 0x8180 | (0 if turns else NXDOMAIN), 1,
                           len(records), 0, 0)  # fmt: skip
        self._transport.sendto(head + data[12 : end + 4] + b"".join(records), peer)

    @staticmethod
    def _record(value: str, kind: int) -> bytes | None:
        """Encode a record if its type matches the query; a CNAME matches every type."""
        try:
            address = ip_address(value)
        except ValueError:
            mine, content = CNAME, _name(value)
        else:
            mine, content = (A if address.version == 4 else AAAA), address.packed
        # 0xC00C is a DNS compression pointer to the name in the query
        header = struct.pack("!HHHIH", 0xC00C, mine, 1, 0, len(content))
        return header + content if mine in {kind, CNAME} else None

    # ------------------------------------------------------------------ look-ups
    def lookup(self, name: str, patience_s: float = 1.0) -> list[str]:
        """Look up all addresses of a name, as the system's resolver does.

        Raises
        ------
        OSError
            If there is no such name, or no answer.
        """
        found: list[str] = []
        for kind in (A, AAAA):
            found += self._ask(name, kind, patience_s, aliases=8)
        return found

    def _ask(self, name: str, kind: int, patience_s: float, aliases: int) -> list[str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(patience_s)
            asking.sendto(struct.pack("!HHHHHH", 7, 0x100, 1, 0, 0, 0) + _name(name) + struct.pack("!HH", kind, 1),
                          self.place)  # fmt: skip
            data = asking.recv(4096)
        _, flags, _, count, _, _ = struct.unpack_from("!HHHHHH", data)
        if flags & 0xF:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        at, found = _read_name(data, 12)[1] + 4, list[str]()
        for _ in range(count):
            _, at = _read_name(data, at)
            mine, _, _, length = struct.unpack_from("!HHIH", data, at)
            content = data[at + 10 : at + 10 + length]
            at += 10 + length
            if mine == CNAME and aliases:
                found += self._ask(_read_name(content, 0)[0], kind, patience_s, aliases - 1)
            elif mine == kind:
                found.append(str(ip_address(content)))
        return found

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Resolve a name for an `Egress`."""
        return await asyncio.to_thread(self.lookup, host)

    def getaddrinfo(self, host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        """Resolve a name as `socket.getaddrinfo` does."""
        return [(None, None, None, "", (address, port)) for address in self.lookup(host)]


# ---------------------------------------------------------------------------- certificates
class Authority:
    """A certificate authority."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._key = directory, ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A test's authority")])
        self._now = datetime.now(UTC)
        self._certificate = self._sign(self._name, self._key, authority=True)
        self.file = directory / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def trust(self) -> ssl.SSLContext:
        """Trust only this authority."""
        return ssl.create_default_context(cafile=str(self.file))

    def server(self, *names: str, **fault: Any) -> ssl.SSLContext:
        """Return a server's TLS context with a certificate for names and addresses; see `_sign` for its faults."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0] if names else "nobody")])
        certificate = self._sign(subject, key, names, **fault)
        file = self._directory / "server.pem"
        plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(key.private_bytes(*plain) + certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        names: Sequence[str] = (),
        *,
        authority: bool = False,
        from_days: int = -2,
        until_days: int = 2,
        self_signed: bool = False,
        purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH,
    ) -> x509.Certificate:
        signer = key if self_signed else self._key
        usage = x509.KeyUsage(not authority, False, False, False, False, authority, authority, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if self_signed else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now + timedelta(days=from_days))
            .not_valid_after(self._now + timedelta(days=until_days))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        )
        if not authority:
            builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        if names:
            written = x509.SubjectAlternativeName([_alternative(name) for name in names])
            builder = builder.add_extension(written, critical=False)
        return builder.sign(signer, hashes.SHA256())


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


# ---------------------------------------------------------------------------- fixtures
@pytest.fixture(scope="session")
def spellings() -> Callable[[str], Sequence[str]]:
    """Return a function that reads a list of spellings by name."""
    return _spellings


@pytest.fixture
def two_faces(villain: Callable[..., Any], tools: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Open a public service, and a private service on the same port, which must receive nothing."""

    def open_both(script: Any) -> tuple[Any, Any]:
        for _ in range(20):
            public = villain(script, tools.public)
            try:
                return public, villain(lambda heard: tools.raw("private"), tools.private, port=public.port)
            except OSError:  # the port is in use at the private address
                continue
        raise AssertionError("no port was free on both addresses")

    return open_both


@pytest.fixture
def names(stage: Any) -> Iterator[Callable[[Mapping[str, Sequence[Turn]]], NameServer]]:
    """Return a function that opens DNS servers, which are closed after the test."""
    opened: list[asyncio.BaseTransport] = []

    async def listen(server: NameServer) -> None:
        made = await asyncio.get_running_loop().create_datagram_endpoint(lambda: server, ("127.0.0.1", 0))
        opened.append(made[0])

    def open_names(table: Mapping[str, Sequence[Turn]]) -> NameServer:
        server = NameServer(table)
        stage.run(listen(server))
        return server

    yield open_names
    for transport in opened:
        stage.loop.call_soon_threadsafe(transport.close)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """A certificate authority that Assay does not trust by default."""
    return Authority(tmp_path)


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names and addresses that this process tries to look up or dial, and prevent it."""
    seen: list[str] = []

    async def create_connection(loop: Any, protocol: Any, host: str, port: int, **_: Any) -> Any:
        seen.append(f"dial {host}:{port}")
        raise ConnectionRefusedError

    def getaddrinfo(host: Any, *_: Any, **__: Any) -> Any:
        seen.append(f"resolve {host}")
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return seen

"""TLS certificates must be trusted, valid at this time, and issued for the host."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from workers.egress import CallFailed, Egress
from workers.egress.transport import default_context

NOW = datetime.now(UTC)
HOST = "service.example.org"


class Authority:
    """A certificate authority for one test."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A test's authority")])
        self.certificate = self._sign(self.name, self.key, NOW + timedelta(days=1), (), authority=True)

    def _sign(self, subject, key, until, names, *, authority=False, self_signed=False):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if self_signed else self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(days=2))
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key((key if self_signed else self.key).public_key()),
                critical=False,
            )
        )
        if authority:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(key if self_signed else self.key, hashes.SHA256())

    def server(self, directory, *names, until=NOW + timedelta(days=1), self_signed=False):
        """Return a server's TLS context with a certificate for some names."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
        certificate = self._sign(subject, key, until, names, self_signed=self_signed)
        path = directory / "server.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def trust(self):
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=self.certificate.public_bytes(serialization.Encoding.PEM).decode())
        return context


def fetch(wire, server, trust, host=HOST):
    async def resolve(name, port):
        return ["127.0.0.1"]

    async def go():
        answering = wire.listening(lambda heard: wire.raw("sealed"), tls=server)
        async with answering as service, Egress(wire.loopback, resolve=resolve, make_context=lambda: trust) as egress:
            first = await egress.send("GET", f"https://{host}:{service.port}/", timeout_s=5)
            await egress.send("GET", f"https://{host}:{service.port}/", timeout_s=5)
            return first.text, [heard.connection for heard in service.heard]

    return asyncio.run(go())


def test_a_trusted_certificate_for_the_host_is_accepted_and_its_connection_reused(wire, tmp_path):
    authority = Authority()
    server = authority.server(tmp_path, x509.DNSName(HOST))
    asked = []
    server.sni_callback = lambda connection, name, context: asked.append(name)
    assert fetch(wire, server, authority.trust()) == ("sealed", [1, 1])
    assert asked == [HOST]  # TLS sends the host name (SNI) although the connection is to the IP address


def test_a_trusted_certificate_for_the_ip_address_is_accepted(wire, tmp_path):
    authority = Authority()
    server = authority.server(tmp_path, x509.IPAddress(ip_address("127.0.0.1")))
    assert fetch(wire, server, authority.trust(), host="127.0.0.1") == ("sealed", [1, 1])


@pytest.mark.parametrize("fault", ["unknown authority", "self-signed", "expired", "wrong host", "the address instead"])
def test_invalid_certificate_is_a_permanent_failure(wire, tmp_path, fault):
    authority = Authority()
    names = {
        "wrong host": [x509.DNSName("other.example.org")],
        "the address instead": [x509.IPAddress(ip_address("127.0.0.1"))],
    }
    server = authority.server(
        tmp_path,
        *names.get(fault, [x509.DNSName(HOST)]),
        until=NOW - timedelta(days=1) if fault == "expired" else NOW + timedelta(days=1),
        self_signed=fault == "self-signed",
    )
    trust = Authority().trust() if fault == "unknown authority" else authority.trust()
    with pytest.raises(CallFailed) as caught:
        fetch(wire, server, trust)
    assert (caught.value.code, caught.value.retriable) == ("tls", False)


def test_a_service_without_tls_behind_an_https_address_is_refused(wire):
    async def plain(reader, writer):
        writer.write(wire.raw("Client sent an HTTP request to a plain server", "400 Bad Request"))
        writer.close()

    async def go():
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as server, Egress(wire.loopback) as egress:
            await egress.send("GET", f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", timeout_s=5)

    with pytest.raises(CallFailed, match="http:// address") as caught:
        asyncio.run(go())
    assert caught.value.code == "tls"


def test_the_default_tls_context_checks_host_names_and_loads_root_certificates():
    trust = default_context()
    assert trust.check_hostname
    assert trust.verify_mode is ssl.CERT_REQUIRED
    assert trust.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert trust.cert_store_stats()["x509_ca"] > 50


def test_no_call_offers_a_diffie_hellman_group_that_a_service_can_choose():
    # 2 x 10,000 bits would take about a second of a worker's loop for each connection
    assert not [cipher["name"] for cipher in default_context().get_ciphers() if cipher["kea"] == "kx-dhe"]

"""What secures the cluster of one run: a certificate authority, certificates, and users.

All of it is made up for the run, and is below one folder of its scratch. Each node has a
certificate with the names that it is reached by, on loopback and on its networks. Nodes prove
themselves to each other by these, and so does the harness, on listeners that no client of a lane
uses. The clients of a lane trust the authority, and where there are users, log in as the one that
is called like their lane. What these may do is asked only where a fault takes a right from one.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from harness.base.credentials import LOGIN, MECHANISM, Credentials, write_private
from harness.base.ports import LOOPBACK
from harness.experiment import PLAINTEXT, SASL_SSL

FOLDER: Final = "secured"  # in the scratch of a run
AUTHORITY: Final = "ca.pem"
HARNESS: Final = "harness"
# On both sides of now: clocks of containers are this machine's, and a run lasts minutes.
_VALID: Final = timedelta(days=2)
_PASSWORD_BYTES: Final = 24
_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True)
class Secured:
    """The files of a secured cluster, and the passwords of its users.

    `trusted` are the owners of certificates who may do everything where an authorizer asks what
    a user may; without any there is no authorizer.
    """

    folder: Path
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: tuple[str, ...] = ()

    @property
    def protocol(self) -> str:
        return "SASL_SSL" if self.passwords else "SSL"

    @property
    def authority(self) -> Path:
        """The certificate that all others are signed with. No secret."""
        return self.folder / AUTHORITY

    def of_lane(self, lane: str) -> Credentials:
        user = lane if lane in self.passwords else ""
        return Credentials(ca=str(self.authority), user=user, password=self.passwords.get(lane, ""))

    def of_harness(self) -> Credentials:
        return Credentials(ca=str(self.authority), certificate=str(self.folder / f"{HARNESS}.pem"))

    def tell_clients(self) -> Path:
        """Write what clients of each lane, and on the direct listeners, need into a file each.

        In the words of Kafka's own clients and tools. Returns the files as a pattern. Raises
        OSError.
        """
        each = {path.stem: Credentials.load(path) for path in self.folder.glob("*.json")}
        for name, credentials in each.items():
            lines = [f"{setting}={value}\n" for setting, value in credentials.of_java().items()]
            write_private(self.folder / f"{name}.properties", "".join(lines))
        return self.folder / "*.properties"

    def kept(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def secured(
    security: str,
    scratch: Path,
    names: Mapping[str, tuple[str, ...]],
    lanes: tuple[str, ...],
    *,
    authorized: bool = False,
) -> Secured | None:
    """Make up what a cluster of this security needs, below `scratch`; nothing where it needs none.

    `names` has for each node what it is called on its networks. One that is `authorized` asks what
    its users may do. Raises OSError.
    """
    if security == PLAINTEXT:
        return None
    users = lanes if security == SASL_SSL else ()
    passwords = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in users}
    trusted = (HARNESS, *names) if authorized else ()
    made = Secured(scratch / FOLDER, passwords, trusted)
    made.folder.mkdir(mode=0o700)
    _write_certificates(made, names)
    made.of_harness().save(made.kept(HARNESS))
    for lane in lanes:
        made.of_lane(lane).save(made.kept(lane))
    return made


def of_node(
    made: Secured, name: str, scratch: Path, ours: Iterable[str], lanes: Iterable[str]
) -> dict[str, str]:
    """What a node's server.properties say of it; `scratch` is where the node sees it.

    The listeners `ours` ask for a certificate, and `lanes` are for clients.
    """
    folder = scratch / FOLDER
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / f"{name}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / AUTHORITY),
    }
    settings |= {_of_listener(each, "ssl.client.auth"): "required" for each in ours}
    if made.passwords:
        # Of a broker it names the module alone: it knows the users from the cluster's metadata.
        login = f"{LOGIN} required;"
        own = f"{MECHANISM.lower()}.sasl.jaas.config"
        settings |= {"sasl.enabled.mechanisms": MECHANISM}
        settings |= {_of_listener(each, own): login for each in lanes}
    if made.trusted:
        settings |= {
            "authorizer.class.name": _AUTHORIZER,
            # ACLs are there for what a fault takes a right to; the rest is open.
            "allow.everyone.if.no.acl.found": "true",
            "super.users": ";".join(f"User:CN={each}" for each in made.trusted),
        }
    return settings


def _of_listener(listener: str, setting: str) -> str:
    return f"listener.name.{listener.lower()}.{setting}"


def _write_certificates(made: Secured, names: Mapping[str, tuple[str, ...]]) -> None:
    """The authority's certificate, whose key is kept nowhere, and each one's with its key."""
    from cryptography import x509  # late: only secured runs need it
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

    now = datetime.now(UTC)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = named("kafka-chaos")

    def begun(subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _VALID)
            .not_valid_after(now + _VALID)
        )

    root = begun(authority, authority_key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    signed = root.sign(authority_key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    made.authority.write_bytes(signed.public_bytes(pem))
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    for name, called in {**names, HARNESS: ()}.items():
        key = ec.generate_private_key(ec.SECP256R1())
        hosts = [x509.DNSName(each) for each in ("localhost", name, *called)]
        certificate = (
            begun(named(name), key)
            .add_extension(both, critical=False)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK)), *hosts]),
                critical=False,
            )
            .sign(authority_key, hashes.SHA256())
        )
        private = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        whole = private + certificate.public_bytes(pem)
        write_private(made.folder / f"{name}.pem", whole.decode())

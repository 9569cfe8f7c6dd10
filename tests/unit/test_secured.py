"""Certificates, users and logins of a secured cluster, and who knows of them.

Method: what is made up for a cluster is put before TLS servers of this test's own; a login is held
against the example of RFC 7677, whose every byte is known.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from consumers.config import ProducerConfig, shown
from consumers.probes.admission import NotAdmitted, scram
from harness.base.credentials import Credentials
from harness.base.errors import BadInput
from harness.base.ports import LOOPBACK, Ports
from harness.catalogue import registry
from harness.cluster import links, wire
from harness.cluster.admin import users_known_by
from harness.cluster.plan import IN_CONTAINERS, ON_LOOPBACK, Hosts, Plan, draw_plan, with_secrets
from harness.cluster.secured import Secured
from harness.experiment import Cluster
from harness.run.app_processes import given_of, variables
from tests.unit.test_observer import answering

LANES = ("members", "producers")
_SOON_S = 5.0
_PATIENCE_S = 5.0


def planned(folder: Path, security: str, hosts: Hosts = ON_LOOPBACK) -> Plan:
    with Ports() as ports:
        drawn = draw_plan(Cluster(security=security), LANES, "run", ports, hosts)
    return with_secrets(drawn, security, folder)


def made(folder: Path, security: str = "sasl_ssl", hosts: Hosts = ON_LOOPBACK) -> Secured:
    secured = planned(folder, security, hosts).secured
    assert secured is not None
    return secured


def below(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


@contextmanager
def serving(
    context: ssl.SSLContext, port: int, talk: Callable[[ssl.SSLSocket], None]
) -> Iterator[int]:
    """A TLS server that talks so over each link; its port."""
    server = socket.create_server((LOOPBACK, port), reuse_port=bool(port))

    def serve() -> None:
        with suppress(OSError):  # that the server is closed is the end
            while True:
                link, _ = server.accept()
                with suppress(OSError), context.wrap_socket(link, server_side=True) as secure:
                    secure.settimeout(_PATIENCE_S)
                    talk(secure)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


def broker(
    secured: Secured, name: str = "broker-1", *, asks: bool = False
) -> AbstractContextManager[int]:
    """A TLS server with the certificate of a node, which answers whatever it is asked.

    One that `asks` lets no client in without a certificate.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(secured.authority))
    context.load_cert_chain(secured.folder / f"{name}.pem")
    context.verify_mode = ssl.CERT_REQUIRED if asks else ssl.CERT_NONE

    def answer(link: ssl.SSLSocket) -> None:
        link.recv(1_000)
        link.sendall(b"\0\0\0\6abcdef")

    return serving(context, 0, answer)


def asked(port: int) -> None:
    wire.ask(port, wire.API_VERSIONS, {}, _SOON_S)


def test_a_plaintext_cluster_has_neither_files_nor_settings_of_it(tmp_path: Path) -> None:
    plan = planned(tmp_path, "plaintext")

    assert plan.secured is None
    assert [] == list(tmp_path.iterdir())
    for node in plan.nodes:
        heard = plan.properties(node, tmp_path / node.name)
        assert not [name for name in heard if "ssl" in name or "sasl" in name]
        assert "SSL" not in heard["listener.security.protocol.map"]
    assert plan.credentials("members") is None
    assert "security.protocol" not in plan.harness()


def test_only_its_user_reads_what_is_secret(tmp_path: Path) -> None:
    secured = made(tmp_path)

    assert 0o700 == secured.folder.stat().st_mode & 0o777
    secret = [path for path in secured.folder.iterdir() if path != secured.authority]
    assert 0o600 == max(path.stat().st_mode & 0o777 for path in secret)
    assert {"broker-1.pem", "controller-101.pem", "members.json"} <= {path.name for path in secret}
    assert "PRIVATE KEY" not in secured.authority.read_text()


def test_each_lane_has_a_user_of_its_own_and_each_run_other_passwords(tmp_path: Path) -> None:
    first, second = made(below(tmp_path, "a")), made(below(tmp_path, "b"))

    members, producers = (first.of_lane(lane) for lane in LANES)
    assert ("members", "producers") == (members.user, producers.user)
    assert 4 == len({*first.passwords.values(), *second.passwords.values()})
    assert members == Credentials.load(first.kept("members"))
    without_users = made(tmp_path, "ssl")
    assert ({}, "") == (without_users.passwords, without_users.of_lane("members").user)


@pytest.mark.parametrize("asks", [False, True])
def test_links_speak_tls_to_a_broker_on_loopback(tmp_path: Path, *, asks: bool) -> None:
    secured = made(tmp_path)

    with broker(secured, asks=asks) as port, links.secured(secured.of_harness()):
        asked(port)


def test_a_link_goes_on_with_the_session_of_the_one_before(tmp_path: Path) -> None:
    secured = made(tmp_path)

    with broker(secured) as port, links.secured(secured.of_harness()):
        resumed = []
        for _ in range(2):
            with links.connect(port, _SOON_S) as link:
                assert isinstance(link, ssl.SSLSocket)
                wire.ask_over(link, wire.API_VERSIONS, {}, _SOON_S)
                links.answered(link, port)
                resumed.append(link.session_reused)

    assert [False, True] == resumed


def test_no_one_without_a_certificate_is_let_in_where_one_is_asked_for(tmp_path: Path) -> None:
    secured = made(tmp_path)

    with (
        broker(secured, asks=True) as port,
        links.secured(secured.of_lane("members")),
        pytest.raises(OSError, match=r"."),
    ):
        asked(port)


def test_a_broker_of_another_run_is_not_trusted(tmp_path: Path) -> None:
    ours, theirs = made(below(tmp_path, "a")), made(below(tmp_path, "b"))

    with (
        broker(theirs) as port,
        links.secured(ours.of_harness()),
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        asked(port)


@pytest.mark.parametrize(
    ("host", "fits"),
    [
        (LOOPBACK, True),
        ("localhost", True),
        ("broker-1.peers", True),
        ("broker-1.lanes", True),
        ("broker-2.lanes", False),
        ("127.0.0.2", False),
    ],
)
def test_a_certificate_fits_the_names_that_its_node_is_reached_by(
    tmp_path: Path, host: str, *, fits: bool
) -> None:
    secured = made(tmp_path, hosts=IN_CONTAINERS)

    with broker(secured) as port, socket.create_connection((LOOPBACK, port)) as link:
        try:
            secured.of_harness().context().wrap_socket(link, server_hostname=host).close()
            fitted = True
        except ssl.SSLCertVerificationError:
            fitted = False

    assert fits == fitted


def test_only_lanes_have_users_and_only_the_others_ask_for_certificates(tmp_path: Path) -> None:
    plan = planned(tmp_path, "sasl_ssl")
    heard = plan.properties(plan.brokers[0], Path("data/broker-1"))

    protocols = dict(item.split(":") for item in heard["listener.security.protocol.map"].split(","))
    assert {"CONTROLLER", "PEERS", "DIRECT"} == {
        name for name, protocol in protocols.items() if protocol == "SSL"
    }
    assert {"LANE_MEMBERS", "LANE_PRODUCERS"} == {
        name for name, protocol in protocols.items() if protocol == "SASL_SSL"
    }
    assert "required" == heard["listener.name.direct.ssl.client.auth"]
    assert "listener.name.lane_members.ssl.client.auth" not in heard
    assert "data/secured/broker-1.pem" == heard["ssl.keystore.location"]
    passwords = (plan.secured or made(tmp_path)).passwords.values()
    assert not any(password in json.dumps(heard) for password in passwords)


def test_brokers_ask_what_a_user_may_do_only_where_that_is_wanted(tmp_path: Path) -> None:
    plan = planned(below(tmp_path, "a"), "sasl_ssl")
    with Ports() as ports:
        drawn = draw_plan(Cluster(security="sasl_ssl"), LANES, "run", ports)
    asking = with_secrets(drawn, "sasl_ssl", below(tmp_path, "b"), authorized=True)

    for node in plan.nodes:
        assert "authorizer.class.name" not in plan.properties(node, tmp_path / node.name)
    for node in asking.nodes:
        heard = asking.properties(node, tmp_path / node.name)
        assert heard["authorizer.class.name"].endswith(".StandardAuthorizer")
        assert "true" == heard["allow.everyone.if.no.acl.found"]
        everyone = {f"User:CN={each.name}" for each in asking.nodes} | {"User:CN=harness"}
        assert everyone == set(heard["super.users"].split(";"))


def test_a_plan_that_is_shown_shows_no_password(tmp_path: Path) -> None:
    plan = planned(tmp_path, "sasl_ssl")
    assert plan.secured is not None

    shown_of = [repr(plan), repr(plan.secured), repr(plan.secured.of_lane("members"))]
    assert not [
        text for text in shown_of for secret in plan.secured.passwords.values() if secret in text
    ]


def test_settings_are_shown_without_secrets_and_without_folders() -> None:
    proven = Credentials(ca="/somewhere/ca.pem", user="members", password="hunter2")

    for settings in (proven.of_librdkafka(), proven.of_java()):
        text = json.dumps(shown(settings))
        assert "hunter2" not in text
        assert "somewhere" not in text
        assert "SASL_SSL" in text
    assert {"sasl.jaas.config": "null"} == shown({"sasl.jaas.config": "null"})


def test_the_one_that_plays_by_hand_is_given_files_that_kafkas_own_tools_take(
    tmp_path: Path,
) -> None:
    secured = made(tmp_path)

    files = sorted(tmp_path.glob("secured/*.properties"))
    assert [] == files
    pattern = secured.tell_clients()

    files = sorted(pattern.parent.glob(pattern.name))
    assert ["harness", "members", "producers"] == [path.stem for path in files]
    assert {0o600} == {path.stat().st_mode & 0o777 for path in files}
    harness, members, _ = [
        dict(line.split("=", 1) for line in path.read_text().splitlines()) for path in files
    ]
    assert "SASL_SSL" == members["security.protocol"]
    assert f'password="{secured.passwords["members"]}";' in members["sasl.jaas.config"]
    assert str(secured.authority) == members["ssl.truststore.location"]
    assert "ssl.keystore.location" not in members
    assert "SSL" == harness["security.protocol"]
    assert secured.of_harness().certificate == harness["ssl.keystore.location"]


def test_a_configuration_names_the_file_and_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    secured = made(tmp_path)
    config = ProducerConfig(
        member="producer-1",
        bootstrap="127.0.0.1:1",
        topic="t",
        journal="j",
        credentials=str(secured.kept("producers")),
        partitions=1,
        records_per_s=1,
        record_bytes=8,
        acks="all",
        idempotence=True,
    )

    assert secured.of_lane("producers") == config.proven()
    assert secured.passwords["producers"] not in repr(config.proven())
    assert replace(config, credentials=None).proven() is None
    with pytest.raises(BadInput, match="cannot read the credentials nowhere"):
        replace(config, credentials="nowhere").proven()


def test_a_program_is_reported_by_the_names_that_libraries_know(tmp_path: Path) -> None:
    plan = planned(tmp_path, "sasl_ssl")
    assert plan.secured is not None
    password, authority = plan.secured.passwords["members"], str(plan.secured.authority)

    given = variables(plan, "members", "member-1", None)

    jaas = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="members" password="{password}";'
    )
    assert {
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA_SSL_CA_LOCATION": authority,
        "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "KAFKA_SASL_USERNAME": "members",
        "KAFKA_SASL_PASSWORD": password,
        "KAFKA_SSL_TRUSTSTORE_TYPE": "PEM",
        "KAFKA_SSL_TRUSTSTORE_LOCATION": authority,
        "KAFKA_SASL_JAAS_CONFIG": jaas,
        "SPRING_KAFKA_PROPERTIES_SASL_JAAS_CONFIG": jaas,
        "SPRING_KAFKA_PROPERTIES_SECURITY_PROTOCOL": "SASL_SSL",
    }.items() <= given.items()
    by_ssl = given_of(Credentials(ca="ca.pem"))
    assert "SSL" == by_ssl["KAFKA_SECURITY_PROTOCOL"]
    assert not [name for name in by_ssl if "SASL" in name]


def test_users_are_read_as_a_broker_has_them() -> None:
    """As Kafka 4.4's brokers answer DescribeUserScramCredentials v0."""
    tags, whole = b"\0", b"\0\0\0\0" + b"\0\0" + b"\0"
    way = b"\x02" + b"\x02" + (4096).to_bytes(4, "big") + tags
    one = b"\0\0" + b"\0" + way + tags
    users = b"\x03" + b"\x08members" + one + b"\x09member-2" + one

    with answering(tags + whole + users + tags) as port:
        assert {"members", "member-2"} == users_known_by(port)
    refused = tags + b"\0\0\0\0" + b"\0\x1f" + b"\0" + b"\x01" + tags
    with answering(refused) as port, pytest.raises(OSError, match="error 31"):
        users_known_by(port)


def test_a_login_is_that_of_rfc_7677() -> None:
    said: list[str] = []
    answers = [
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ]

    def ask(message: bytes) -> bytes:
        said.append(message.decode())
        return answers[len(said) - 1].encode()

    scram("user", "pencil", "rOprNGfwEbeRWgbNEkqO", ask, digest="sha256")

    first, second = said
    assert "n,,n=user,r=rOprNGfwEbeRWgbNEkqO" == first
    assert (
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    ) == second
    answers[1] = "v=AAAA"
    said.clear()
    with pytest.raises(NotAdmitted, match="does not know the password"):
        scram("user", "pencil", "rOprNGfwEbeRWgbNEkqO", ask, digest="sha256")
    said.clear()
    with pytest.raises(NotAdmitted, match="was not begun"):
        scram("user", "pencil", "another", ask, digest="sha256")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"security": "tls"}, "security 'tls'"),
        ({"security": "ssl", "backend": "compose"}, "whose listeners are plain text"),
        ({"security": "ssl", "client": "java", "client_version": "2.6.3"}, "choose 2.7.0 or newer"),
    ],
)
def test_what_cannot_be_secured_is_refused(settings: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        registry.checked(registry.with_settings(registry.load("baseline"), settings))

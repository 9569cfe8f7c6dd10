"""Faults of what a user may do, on brokers that speak TLS and SCRAM and know one user or none."""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from confluent_kafka.admin import UserScramCredentialDeletion  # type: ignore[attr-defined]

from harness.base.errors import BadInput, ClusterError, HarnessError, WaitTimeout
from harness.base.ports import Ports
from harness.base.wait import wait_until
from harness.catalogue import refusals, registry
from harness.catalogue.apps import with_app
from harness.cluster import admin as admins
from harness.cluster.plan import Node, Plan, draw_plan, with_secrets
from harness.experiment import Cluster, Experiment, Fault, Need
from harness.experiment.app import App
from harness.run.faults import KINDS, rights
from harness.run.faults.targets import Target
from harness.run.roles import authorized, headcount, lanes
from harness.run.scene import Scene
from tests.unit.test_observer import answering
from tests.unit.test_secured import serving

USER: Final = "member-1"
LANES: Final = ("members", "producers", USER)
TARGET: Final = Target("member", USER)
GROUP: Final = Fault(kind="delete-acl", target="any member", how="group", lasts_s=9)
READS: Final = replace(GROUP, how="topic")
LOGIN: Final = Fault(kind="delete-credentials", target="any member", lasts_s=9)
_SALT: Final = b"salt"


@dataclass
class Broker:
    """What one broker knows: passwords of users, and codes with which it answers by API."""

    node: Node
    passwords: dict[str, str]
    codes: dict[str, int] = field(default_factory=dict)

    def answer(self, api: int) -> bytes:
        """DescribeGroups v0 or Fetch v4."""
        if api == 15:
            code = self.codes.get("group", 0)
            return struct.pack(">ih", 1, code) + text("orders") + text("") * 3 + bytes(4)
        topic = struct.pack(">ii", 0, 1) + text("t")
        code = self.codes.get("topic", 0)
        return topic + struct.pack(">iihqqii", 1, 0, code, -1, -1, 0, -1)


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def served(plan: Plan, broker: Broker) -> AbstractContextManager[int]:
    """Serve the lane of the user on the port of its proxy."""
    assert plan.secured is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(plan.secured.folder / f"{broker.node.name}.pem")
    (port,) = [each.proxy_port for each in broker.node.listeners if each.lane == USER]
    return serving(context, port, lambda link: _talk(link, broker))


def _talk(link: socket.socket, broker: Broker) -> None:
    first = ""
    while call := _asked(link):
        api, body = call
        if api == 17:
            _tell(link, b"\0\0" + b"\0\0\0\0")
        elif api != 36:
            _tell(link, broker.answer(api))
        elif not first:
            first = body[4:].decode().removeprefix("n,,")
            user = first.split(",")[0].removeprefix("n=")
            if user not in broker.passwords:
                words = b"Authentication failed"
                _tell(link, struct.pack(">hh", 58, len(words)) + words + b"\0\0\0\0")
                return
            nonce = first.split("r=")[1] + "X"
            challenge = f"r={nonce},s={b64encode(_SALT).decode()},i=4096"
            _tell_login(link, challenge)
        else:
            unproven = body[4:].decode().rpartition(",p=")[0]
            password = broker.passwords[user].encode()
            salted = hashlib.pbkdf2_hmac("sha512", password, _SALT, 4096)
            key = hmac.digest(salted, b"Server Key", "sha512")
            agreed = f"{first},{challenge},{unproven}".encode()
            _tell_login(link, "v=" + b64encode(hmac.digest(key, agreed, "sha512")).decode())


def _tell_login(link: socket.socket, text: str) -> None:
    _tell(link, b"\0\0" + b"\xff\xff" + struct.pack(">i", len(text)) + text.encode())


def _tell(link: socket.socket, body: bytes) -> None:
    link.sendall(struct.pack(">i", 4 + len(body)) + b"\0\0\0\1" + body)


def _asked(link: socket.socket) -> tuple[int, bytes] | None:
    """The API of a request and its body, after a header with a client id, or with none."""
    head = link.recv(4)
    if len(head) < 4:
        return None
    data = link.recv(struct.unpack(">i", head)[0])
    api, _, _, length = struct.unpack_from(">hhih", data)
    return api, data[10 + max(0, length) :]


@dataclass
class Member:
    """A process of the group."""

    name: str = USER
    running: bool = True
    expected_end: bool = False
    exit_code: int | None = None
    records: int = 0
    ever_assigned: bool = True


class Setting:
    """Two brokers, and a fleet with one member that a fault hits."""

    def __init__(self, plan: Plan, brokers: list[Broker]) -> None:
        self.plan = plan
        self.brokers = brokers
        self.member = Member()
        self.in_between: Callable[[], object] = lambda: None
        self.fleet = SimpleNamespace(
            members={USER: self.member},
            lane_of=lambda name: name if name in LANES else "members",
            start_member=self._start,
            next_name=lambda: "member-4",
            last_words=lambda _member: "its last words",
        )
        scene = SimpleNamespace(
            cluster=SimpleNamespace(plan=plan, running=lambda _id: True),
            fleet=self.fleet,
            wait=self._wait,
            experiment=Experiment(claim="x."),
        )
        self.scene = cast("Scene", scene)

    def _start(self, name: str) -> Member:
        self.fleet.members[name] = Member(name)
        return cast("Member", self.fleet.members[name])

    def _wait(self, what: str, condition: Callable[[], bool], _timeout_s: float) -> None:
        self.in_between()
        wait_until(what, condition, timeout_s=0.1)

    def answer(self, what: str, code: int) -> None:
        for broker in self.brokers:
            broker.codes[what] = code


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.setattr(rights, "_KNOWN_S", 0.3)
    cluster = Cluster(brokers=2, security="sasl_ssl")
    with Ports() as ports, ExitStack() as stack:
        drawn = draw_plan(cluster, LANES, "run", ports)
        plan = with_secrets(drawn, "sasl_ssl", tmp_path, authorized=True)
        assert plan.secured is not None
        passwords = plan.secured.passwords
        brokers = [Broker(node, dict(passwords)) for node in plan.brokers]
        for broker in brokers:
            stack.enter_context(served(plan, broker))
        found = Setting(plan, brokers)

        def take(_plan: Plan, user: str, to: str) -> None:
            assert user == USER
            found.answer(to, {"group": 30, "topic": 29}[to])

        def give(_plan: Plan, user: str, to: str) -> None:
            assert user == USER
            found.answer(to, 0)

        def delete(_plan: Plan, user: str) -> None:
            for broker in found.brokers:
                del broker.passwords[user]

        def restore(_plan: Plan, user: str) -> None:
            for broker in found.brokers:
                broker.passwords[user] = passwords[user]

        monkeypatch.setattr(admins, "take", take)
        monkeypatch.setattr(admins, "give", give)
        monkeypatch.setattr(admins, "delete_user", delete)
        monkeypatch.setattr(admins, "restore_user", restore)
        yield found


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (GROUP, "refuses the group (error 30)"),
        (replace(GROUP, how=None), "refuses the group (error 30)"),
        (READS, "refuses the topic (error 29)"),
        (
            LOGIN,
            "lets no client in: the broker refuses the login (error 58): Authentication failed",
        ),
    ],
)
def test_every_broker_refuses_the_user_and_lets_it_in_again(
    setting: Setting, fault: Fault, words: str
) -> None:
    kind = KINDS[fault.kind]
    before = kind.prove(setting.scene, fault, TARGET)

    kind.inject(setting.scene, fault, TARGET)
    during = kind.prove(setting.scene, fault, TARGET)
    assert setting.member.expected_end
    kind.heal(setting.scene, fault, TARGET)
    setting.in_between = lambda: setattr(setting.member, "records", 10)
    heard = kind.settle(setting.scene, fault, TARGET)

    assert not before.took_effect
    assert during.took_effect
    asked = "asked as member-1 through its proxies"
    assert f"{asked}, broker-1 {words}; broker-2 {words}" == during.text
    assert "member-1 reads again" == heard
    assert not setting.member.expected_end


@pytest.mark.parametrize("code", [0, 15])  # none; that it is no coordinator
def test_one_broker_without_a_refusal_is_enough_for_no_effect(setting: Setting, code: int) -> None:
    for broker, answered in zip(setting.brokers, (30, code), strict=True):
        broker.codes["group"] = answered

    evidence = KINDS["delete-acl"].prove(setting.scene, GROUP, TARGET)

    assert not evidence.took_effect
    assert code or "broker-2 refuses nothing" in evidence.text


def test_what_no_broker_comes_to_know_of_is_said(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admins, "take", lambda *_: None)
    with pytest.raises(
        WaitTimeout, match=r"no refusal of member-1 by every broker.*'broker-1', ''"
    ):
        KINDS["delete-acl"].inject(setting.scene, GROUP, TARGET)


def test_another_process_comes_for_one_whose_client_gave_up(setting: Setting) -> None:
    setting.member.running, setting.member.exit_code = False, 1

    heard = KINDS["delete-acl"].settle(setting.scene, GROUP, TARGET)

    assert "member-1 had given up; member-4 came in its place" == heard
    assert "member-4" in setting.fleet.members


@pytest.mark.parametrize(
    ("member", "said"),
    [
        (Member(running=False, exit_code=3), "ended with exit code 3: its last words"),
        (Member(), "records for member-1, or its end"),
    ],
)
def test_a_member_that_is_not_back_makes_the_run_void(
    setting: Setting, member: Member, said: str
) -> None:
    setting.fleet.members[USER] = member
    with pytest.raises(HarnessError, match=said):
        KINDS["delete-acl"].settle(setting.scene, GROUP, TARGET)


def experiment(fault: Fault, **more: Any) -> Experiment:
    settings = {"connections.max.reauth.ms": "3000"}
    cluster = Cluster(security="sasl_ssl", settings=settings)
    return Experiment(claim="x.", faults=(fault,), **{"cluster": cluster, **more})


@pytest.mark.parametrize(
    ("fault", "cluster", "said"),
    [
        (GROUP, Cluster(), "with security of plaintext there are none: use --security sasl_ssl"),
        (GROUP, Cluster(security="ssl"), "with security of ssl there are none"),
        (LOGIN, Cluster(security="ssl"), "with security of ssl there are none"),
        (
            LOGIN,
            Cluster(security="sasl_ssl"),
            r"connections.max.reauth.ms of 0 \(0: never\): set it lower",
        ),
        (
            LOGIN,
            Cluster(security="sasl_ssl", settings={"connections.max.reauth.ms": "9000"}),
            "for 9 s ends before a connection has to log in again",
        ),
    ],
)
def test_what_no_user_would_lose_is_refused(fault: Fault, cluster: Cluster, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        KINDS[fault.kind].validate(fault, experiment(fault, cluster=cluster), {})


@pytest.mark.parametrize("fault", [GROUP, LOGIN])
def test_a_right_that_is_back_before_the_session_ends_is_refused_for_its_end(
    fault: Fault,
) -> None:
    short = replace(fault, lasts_s=5)
    with pytest.raises(BadInput, match="R01 would examine nothing"):
        KINDS[fault.kind].validate(short, experiment(short), {Need.SESSION_END: ("R01",)})
    reads = replace(READS, lasts_s=5)
    KINDS[reads.kind].validate(reads, experiment(reads), {Need.SESSION_END: ("R01",)})


def test_a_program_has_more_users_than_one() -> None:
    app = App(name="orders", command=("orders",), folder=".")
    with pytest.raises(BadInput, match="comes as another user: choose another"):
        with_app(experiment(GROUP), app)


def test_acls_are_counted_as_a_broker_has_them() -> None:
    """As Kafka 4.4's brokers answer DescribeAcls v1."""

    def resource(kind: int, name: str, *users: str) -> bytes:
        acls = [text(f"User:{user}") + text("*") + b"\3\3" for user in users]
        head = bytes([kind]) + text(name) + b"\3"
        return head + struct.pack(">i", len(acls)) + b"".join(acls)

    no_message = b"\xff\xff"
    found = struct.pack(">ih", 0, 0) + no_message + struct.pack(">i", 2)
    found += resource(3, "orders", "members", USER) + resource(2, "t", "members")
    with answering(found) as port:
        assert 3 == admins.acls_known_by(port)
    refused = struct.pack(">ih", 0, 54) + no_message + struct.pack(">i", 0)
    with answering(refused) as port, pytest.raises(OSError, match="error 54"):
        admins.acls_known_by(port)


def test_there_are_no_acls_without_an_authorizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admins, "admin_of", lambda _plan: pytest.fail("asked for"))
    with Ports() as ports:
        drawn = draw_plan(Cluster(security="sasl_ssl"), LANES, "run", ports)
    admins.grant_all(drawn)
    admins.grant_all(with_secrets(drawn, "sasl_ssl", tmp_path))


@dataclass
class Admin:
    """What an admin client is asked for."""

    known: bool = True
    asked: list[str] = field(default_factory=list)

    def create_acls(self, wanted: list[Any], **_: Any) -> dict[Any, Any]:
        self.asked += [f"create {_named(each)}" for each in wanted]
        return {}

    def delete_acls(self, wanted: list[Any], **_: Any) -> dict[Any, Any]:
        self.asked += [f"delete {_named(each)}" for each in wanted]
        found = wanted if self.known else []
        return {None: SimpleNamespace(result=lambda timeout: found)}


def _named(acl: Any) -> str:
    return f"{acl.operation.name} of {acl.principal} on {acl.restype.name} {acl.name}"


def test_members_may_read_and_others_may_do_everything(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = Admin()
    monkeypatch.undo()  # here the real ones are meant
    monkeypatch.setattr(admins, "admin_of", lambda _plan: admin)
    monkeypatch.setattr(admins, "acls_known_by", lambda _port: 6)

    admins.grant_all(setting.plan)

    assert [
        "create READ of User:members on GROUP orders",
        "create READ of User:members on TOPIC t",
        "create ALL of User:producers on GROUP orders",
        "create ALL of User:producers on TOPIC t",
        "create READ of User:member-1 on GROUP orders",
        "create READ of User:member-1 on TOPIC t",
    ] == admin.asked
    admin.asked.clear()
    admins.take(setting.plan, USER, "topic")
    admins.give(setting.plan, USER, "topic")
    changed = "READ of User:member-1 on TOPIC t"
    assert [f"delete {changed}", f"create {changed}"] == admin.asked
    admin.known = False
    with pytest.raises(ClusterError, match="member-1 had no ACL on the group"):
        admins.take(setting.plan, USER, "group")


def test_a_user_is_deleted_and_has_its_own_password_again(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def alter(wanted: list[Any], **_: Any) -> dict[Any, Any]:
        asked.extend(wanted)
        return {}

    monkeypatch.undo()  # here the real ones are meant
    admin = SimpleNamespace(alter_user_scram_credentials=alter)
    monkeypatch.setattr(admins, "admin_of", lambda _plan: admin)
    assert setting.plan.secured is not None

    admins.delete_user(setting.plan, USER)
    admins.restore_user(setting.plan, USER)

    deleted, restored = asked
    assert isinstance(deleted, UserScramCredentialDeletion)
    assert {USER} == {deleted.user, restored.user}
    assert setting.plan.secured.passwords[USER].encode() == restored.password


@pytest.mark.parametrize("name", ["acl-revoked", "credentials-expire"])
def test_the_run_asks_for_its_security_and_for_a_user_each(name: str) -> None:
    found = registry.load(name)

    assert "sasl_ssl" == found.cluster.security
    assert authorized(found)
    ever = headcount(found).ever
    own = {f"member-{number}" for number in range(1, ever + 1)}
    assert {"members", "producers", *own} == set(lanes(found))
    refusals.check_together(found)


def test_no_one_is_asked_what_he_may_do_without_such_a_fault() -> None:
    assert not authorized(registry.load("baseline"))
    assert not authorized(registry.load("connections-reset"))

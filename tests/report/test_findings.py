"""`explain` finds in the logs of incidents what a person has found in them.

tests/data/logs/findings.toml was written by hand, from the logs alone. Most of these logs are made
up in the shape of public reports.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from harness.history.foreign import events
from harness.report.incident.explain_view import view_of
from tests.report.sample_logs import (
    CLOSED,
    NEW,
    POLL,
    UNSAID,
    Classic,
    Said,
    member,
    printed,
    view,
    write,
)

LOGS: Final = Path(__file__).parents[1] / "data" / "logs"
EXPECTED: Final[dict[str, dict[str, Any]]] = tomllib.loads((LOGS / "findings.toml").read_text())


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(log, expected, id=log)
        for expected in EXPECTED.values()
        for log in expected["logs"]
    ],
)
def test_what_a_person_finds_is_found(log: str, expected: dict[str, Any]) -> None:
    shown = view_of(events.read([LOGS / log]))
    text = printed(shown)

    [only] = shown.groups
    group = only.group
    found = {finding.cause.name: finding.count for finding in only.findings}
    assert [expected[name] for name in ("group", "rebalances", "evictions", "joins")] == [
        group.name, len(group.rebalances), len(group.removals), len(group.joins)
    ]  # fmt: skip
    assert expected["causes"] == {name: found.get(name) for name in expected["causes"]}
    assert only.findings[0].cause.name in expected["causes"]
    for words in (*expected.get("who", ()), *expected["advice"]):
        assert words in text


def first(folder: Path, group: Classic) -> tuple[str, str]:
    """The first cause that is found of a group, and what is printed."""
    shown = view(write(folder, group.said, old=group.old))
    return shown.groups[0].findings[0].cause.name, printed(shown)


@pytest.mark.parametrize(
    ("groups", "apart_s", "cause"),
    [(1, 0.2, "many_at_once"), (2, 0.2, "many_at_once"), (1, 0.4, "session_expired")],
)
def test_many_sessions_that_end_at_once_point_at_the_broker(
    groups: int, apart_s: float, cause: str, tmp_path: Path
) -> None:
    """Four within a second, of whatever group; three are none too many."""
    said: list[Said] = []
    for number in range(4):
        group = Classic(group=f"g-{number % groups}")
        group.says(
            10 + number * apart_s,
            f"Member {member('m', number)} in group {group.group} has failed, removing it from the "
            "group.",
        )
        said += group.said
    shown = view(write(tmp_path, said))

    assert [cause] * groups == [one.findings[0].cause.name for one in shown.groups]
    assert (groups > 1) == any("look at that broker before" in note for note in shown.notes)


@pytest.mark.parametrize(
    ("new_at", "names", "cause"),
    [
        ((10, 20), ("b-1", "b-2"), "not_closed"),
        ((10, 80), ("b-1", "b-2"), "session_expired"),  # the second came after
        ((10, 20), ("b-1", "a-2"), "session_expired"),  # the second is put out too
    ],
)
def test_who_is_put_out_after_its_successor_came_was_not_closed(
    new_at: tuple[int, int], names: tuple[str, str], cause: str, tmp_path: Path
) -> None:
    group = Classic()
    for number in (1, 2):
        group.joins(number, member(f"a-{number}"), number)
    for at, name in sorted(zip(new_at, names, strict=True)):
        group.joins(at, member(name, 7 if name[0] == "b" else 0), 3)
    for number in (1, 2):
        group.expires(50 + 10 * number, member(f"a-{number}"), 2, member("b-1"))

    found, text = first(tmp_path, group)

    assert cause == found
    assert "SIGTERM" in text


@pytest.mark.parametrize("synced", [True, False])
def test_a_generation_without_an_assignment_never_had_a_sync(synced: bool, tmp_path: Path) -> None:
    group, one = Classic(), member("a")
    group.joins(0, one, 1)
    if not synced:
        del group.said[-1]
    group.expires(30, one, 0, one)

    assert ("session_expired" if synced else "never_synced") == first(tmp_path, group)[0]


@pytest.mark.parametrize("left", [True, False])
def test_a_member_that_joins_and_has_not_gone_joins_anew(left: bool, tmp_path: Path) -> None:
    group, one = Classic(old=True), member("a")
    for at in (0, 10, 20):
        group.joins(at, one, 2)
        if left:
            group.leaves(at + 5, one, 1, member("b"), UNSAID)

    assert ("left" if left else "joins_on") == first(tmp_path, group)[0]


@pytest.mark.parametrize(
    ("names", "cause"),
    [
        (("orders-api", "orders-audit"), "two_programs"),
        (("orders-0", "orders-1"), "rejoined"),
        (("pay-7d9f4c-x2kqz", "pay-66c4bd-bvwtr"), "rejoined"),  # two pods
    ],
)
def test_two_programs_in_one_group_are_set_apart_from_two_instances(
    names: tuple[str, str], cause: str, tmp_path: Path
) -> None:
    group = Classic()
    for turn in range(4):
        who = member(names[turn % 2])
        group.begins(
            10 * turn, f"Updating metadata for member {who} during Stable; client reason: {UNSAID}"
        )
        group.ends(10 * turn + 1, 2, member(names[0]))

    assert cause == first(tmp_path, group)[0]


@pytest.mark.parametrize(
    ("client_id", "group_id", "says"),
    [
        ("connect-1", "g", "workers of Kafka Connect"),
        ("connect-kafka-connect:8083", "g", "workers of Kafka Connect"),
        ("sr-1", "registry", "instances of Schema Registry"),
        ("connector-consumer-sink-0", "connect-sink", None),
    ],
)
def test_connect_and_schema_registry_are_called_what_they_are(
    client_id: str, group_id: str, says: str | None, tmp_path: Path
) -> None:
    group = Classic(group=group_id)
    group.joins(0, member(client_id), 1)
    group.expires(90, member(client_id), 0, member(client_id))

    cause, text = first(tmp_path, group)

    assert "session_expired" == cause
    assert (f"{group_id} ({says})" in text) == (says is not None)
    assert ("config.storage.topic" in text or "schema.registry.group.id" in text) == bool(says)


def test_connect_s_workers_join_again_without_a_reason_before_3_2(tmp_path: Path) -> None:
    group = Classic(old=True)
    for turn in range(4):
        group.begins(turn, f"leader {member('connect-1')} re-joining group during Stable")
        group.ends(turn + 0.5, 2, member("connect-1"))

    cause, text = first(tmp_path, group)

    assert "connect" == cause
    assert "connect-1 asked for a rebalance 4 times, and did not say why." in text


@pytest.mark.parametrize("said", ["closing since the moon is full", None])
def test_the_reason_given_is_printed(said: str | None, tmp_path: Path) -> None:
    group = Classic()
    group.leaves(10, member("a"), 1, member("b"), (said or UNSAID).replace("closing", "going"))
    group.begins(20, "the moon is full")

    _, text = first(tmp_path, group)

    assert ("left once: “going since the moon is full”." in text) == (said is not None)
    assert ("left once, and did not say why." in text) == (said is None)
    assert "not known here, once: “the moon is full”." in text


def test_a_group_that_is_deleted_with_its_offsets_is_named(tmp_path: Path) -> None:
    group = Classic()
    group.joins(0, member("a"), 1)
    read = events.read([write(tmp_path, group.said) / "server.log"])
    last = read.events[-1].at
    read.events += [
        events.Event(last + 1, 1, "offsets_expired"),
        events.Event(last + 2, 1, "offsets_expired", group="g"),
        events.Event(last + 3, 1, "dead", group="g"),
    ]

    shown = view_of(read)

    found = shown.groups[0].findings[0]
    assert ("offsets_expired", 1) == (found.cause.name, found.count)
    assert "broker 1 removed expired offsets at" in shown.notes[-1]


def test_members_beyond_group_max_size_are_not_called_slow(tmp_path: Path) -> None:
    group = Classic()
    group.begins(0, "Freshly-loaded group g (size 3) is over capacity 2. Rebalancing in order to")
    gone = f"[{member('a')}, {member('b')}]"
    group.says(60, f"Group g removed dynamic members who haven't joined: {gone}")
    group.ends(60, 2, member("c"))

    cause, text = first(tmp_path, group)

    assert "over_capacity" == cause
    assert "group.max.size allows, and a and b had to go." in text
    assert "raise group.max.size" in text
    assert "did not follow" not in text


def test_a_classic_static_member_that_is_started_again_may_have_closed(tmp_path: Path) -> None:
    group = Classic()
    for number in range(2):
        group.says(
            10 * number,
            f"Static member with groupInstanceId=pod-{number} and unknown member id joins group g "
            f"in Stable state. Replacing previously mapped member {member('x', number)} with this "
            "groupInstanceId.",
        )

    cause, text = first(tmp_path, group)

    assert "instance_replaced" == cause
    assert "pod-0 and pod-1 were started again" in text
    assert "does not leave when it closes" in text


@pytest.mark.parametrize(
    ("lives", "apart_s", "cause"),
    [
        (3, 60, "deploy"),  # of three members each is replaced
        (8, 60, "come_and_go"),  # eight times in a quarter of an hour, one comes and goes
        (8, 3_600, "come_and_go"),  # as an autoscaler does
    ],
)
def test_members_that_come_and_go_all_the_time_are_no_deploy(
    lives: int, apart_s: float, cause: str, tmp_path: Path
) -> None:
    """Each under a name of its own."""
    group = Classic()
    for number in range(2 if cause == "come_and_go" else 3):
        group.joins(number, member(f"steady-{number}"), number + 1)
    for number in range(lives):
        at, name = (
            100 + apart_s * number,
            f"steady-{number}" if cause == "deploy" else f"n-{number}",
        )
        if cause == "deploy":
            group.leaves(at, member(name), 2, member("steady-0"), CLOSED)
            group.joins(at + 5, member(name, 1), 3)
        else:
            group.joins(at, member(name), 3)
            group.leaves(at + 30, member(name), 2, member("steady-0"), CLOSED)

    assert cause == first(tmp_path, group)[0]


@pytest.mark.parametrize("overlap", [True, False])
def test_a_member_has_the_only_host_that_its_client_id_has(overlap: bool, tmp_path: Path) -> None:
    """3.x logs the host of one that leaves alone; two at a time may be at two hosts."""
    group = Classic(old=True)
    if overlap:
        group.joins(0, member("orders-1", 7), 1)
    for number in range(3):
        group.joins(10 + 60 * number, member("orders-1", number), 2)
        if number < 2:
            group.leaves(40 + 60 * number, member("orders-1", number), 1, member("b"), POLL)

    _, text = first(tmp_path, group)

    assert ("orders-1 at 10.0.0.7 joined, 3 times" in text) == (not overlap)
    assert ("It joined again twice" in text) == (not overlap)


@pytest.mark.parametrize("listed", ["[{}]", "HashSet({})", "Set({})"])
def test_each_member_without_a_sync_is_put_out(listed: str, tmp_path: Path) -> None:
    group = Classic(old=True)
    names = [member("a"), member("b"), member("c")]
    group.begins(
        0, f"Removing {listed.format(', '.join(names))} on pending sync request expiration"
    )
    group.ends(2, 1, member("d"))

    shown = view(write(tmp_path, group.said, old=True))

    [one] = shown.groups
    assert names == [row.member_id for row in one.group.removals]
    assert [("sync_expired", 3)] == [
        (found.cause.name, found.count) for found in one.findings if found.who
    ]


@pytest.mark.parametrize(
    ("after_s", "cause"), [(1, "session_expired"), (45, "not_found"), (90, "session_expired")]
)
def test_sessions_that_end_after_a_move_are_of_members_that_did_not_find_the_coordinator(
    after_s: float, cause: str, tmp_path: Path
) -> None:
    group = Classic()
    for number in range(3):
        group.joins(number, member(f"a-{number}"), number + 1)
    group.says(10, "[GroupId=g] Unloading group metadata for generation 3.")
    folder = write(tmp_path, group.said)
    group.said = [(12, "Loaded classic group g with 3 members.")]
    for number in range(3):
        group.expires(12 + after_s + number, member(f"a-{number}"), 2 - number, member("a-2"))
    (tmp_path / "two").mkdir()
    log = (write(tmp_path / "two", group.said) / "server.log").read_text()
    (folder / "other.log").write_text(log.replace("id=1", "id=2"))
    (tmp_path / "two" / "server.log").unlink()

    [only] = view(folder).groups

    assert cause == only.findings[0].cause.name


def test_a_version_that_logs_no_reasons_says_what_came_before(tmp_path: Path) -> None:
    """As 2.0 does."""
    group = Classic(old=True)
    one = member("a")
    for at in (0, 60):
        group.says(at, f"Preparing to rebalance group g with old generation {group.generation} "
                       "(__consumer_offsets-7)")  # fmt: skip
        group.ends(at + 3, 1, one)
        group.says(at + 30, f"Member {one} in group g has failed, removing it from the group")
        group.says(at + 30.1, "Preparing to rebalance group g with old generation "
                              f"{group.generation} (__consumer_offsets-7)")  # fmt: skip
        group.generation += 1
        group.says(at + 30.2, f"Group g with generation {group.generation} is now empty "
                              "(__consumer_offsets-7)")  # fmt: skip

    shown = view(write(tmp_path, group.said, old=True))

    [one_group] = shown.groups
    assert ["unlogged", "session_expired"] * 2 == [row.cause for row in one_group.group.rebalances]
    found = {finding.cause.name: finding.count for finding in one_group.findings}
    assert {"session_expired": 2, "unlogged": 2} == found


def test_a_streams_application_that_is_shut_down_says_who_asked(tmp_path: Path) -> None:
    said: list[Said] = []
    for number, name in enumerate(("a", "b")):
        said.append((number, f"[GroupId g][MemberId {name}] Member joins the streams group."))
    said.append((10, "[GroupId g][MemberId a] Shutdown requested for the streams application."))
    said += [
        (11 + number, f"[GroupId g][MemberId {name}] Member {name} left the streams group.")
        for number, name in enumerate(("a", "b"))
    ]
    shown = view(write(tmp_path, said))

    found = shown.groups[0].findings
    assert ("shutdown_asked", (("a", 1),)) == (found[0].cause.name, found[0].who)
    assert [()] == [
        one.sentence.count("left the") * (1,) for one in found if one.cause.name == "left"
    ]


def test_a_change_of_the_protocol_counts_each_way(tmp_path: Path) -> None:
    said = [
        (0, "[GroupId g] Converted the classic group to a consumer group."),
        (0.01, "[GroupId g] Member m joins the consumer group using the consumer protocol."),
        (0.02, "[GroupId g] Bumped group epoch to 2 with metadata hash 1."),
        (60, "[GroupId g] Converted the consumer group to a classic group."),
    ]  # fmt: skip
    shown = view(write(tmp_path, said))

    [found] = [one for one in shown.groups[0].findings if one.cause.name == "converted"]
    assert (
        "The protocol of the group changed twice: to a classic group and to a consumer group."
        == (found.sentence)
    )


def test_topics_that_change_before_any_epoch_are_noticed(tmp_path: Path) -> None:
    said: list[Said] = []
    for number in range(2):
        texts = (
            f"Computed new metadata hash: {number}.",
            f"Bumped group epoch to {number} with metadata hash {number}.",
            f"Computed a new target assignment for epoch {number} with 'uniform' assignor in 1ms.",
        )
        said += [(number + 0.1 * place, f"[GroupId g] {text}") for place, text in enumerate(texts)]
    shown = view(write(tmp_path, said))

    [found] = shown.groups[0].findings
    assert ("metadata", 2) == (found.cause.name, found.count)
    assert "no member" not in found.sentence


@pytest.mark.parametrize("fast_s", [0, 40])
def test_brokers_whose_clocks_differ_move_no_group(fast_s: float, tmp_path: Path) -> None:
    """The group moves once, from broker 1 to broker 2, whose clock is fast."""
    group = Classic()
    for at in range(0, 60, 10):
        group.joins(at, member("a", at), 1)
    group.says(60, "[GroupId=g] Unloading group metadata for generation 6.")
    write(tmp_path, group.said)
    group.said = [(61 + fast_s - 40 * (fast_s > 0), "Loaded classic group g with 1 members.")]
    for at in range(62, 90, 10):
        group.joins(at + fast_s - 40 * (fast_s > 0) - 30, member("b", at), 1)
    (tmp_path / "two").mkdir()
    log = (write(tmp_path / "two", group.said) / "server.log").read_text()
    (tmp_path / "other.log").write_text(log.replace("id=1", "id=2"))
    (tmp_path / "two" / "server.log").unlink()

    [one] = view(tmp_path).groups

    assert [(1, 2)] == [(left, to) for _, left, to in one.group.moves]


def test_the_place_before_is_where_the_group_was_unloaded(tmp_path: Path) -> None:
    write(tmp_path, [(0, "[GroupId=g] Unloading group metadata for generation 6.")])
    (tmp_path / "other.log").write_text(
        f"[2026-10-01 10:00:02,000] INFO {NEW.replace('id=1', 'id=2')}Loaded classic group g with "
        "1 members. (a.B)\n"
    )

    [one] = view(tmp_path).groups

    assert [(1, 2)] == [(left, to) for _, left, to in one.group.moves]

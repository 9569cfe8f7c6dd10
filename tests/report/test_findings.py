"""`explain` finds in the logs of incidents what a person has found in them.

tests/data/logs/findings.toml was written by hand, from the logs alone. Most of these logs are made
up in the shape of public reports.
"""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from rich.console import Console

from harness.history.foreign import events
from harness.report.incident import reasons
from harness.report.incident.terminal import print_view
from harness.report.incident.view import view_of
from tests.report.sample_logs import NOBODY, Classic, Said, member, view, write

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
    file = io.StringIO()
    print_view(shown, Console(file=file, width=2_000))

    [only] = shown.groups
    group = only.group
    found = {finding.cause.name: finding.count for finding in only.findings}
    assert [expected[name] for name in ("group", "rebalances", "evictions", "joins")] == [
        group.name, len(group.rebalances), len(group.removals), len(group.joins)
    ]  # fmt: skip
    assert expected["causes"] == {name: found.get(name) for name in expected["causes"]}
    assert only.findings[0].cause.name in expected["causes"]
    for words in (*expected.get("who", ()), *expected["advice"]):
        assert words in file.getvalue()


def first(folder: Path, group: Classic) -> tuple[str, str]:
    """The first cause that is found of a group, and what is printed."""
    shown = view(write(folder, group.said, old=group.old))
    file = io.StringIO()
    print_view(shown, Console(file=file, width=2_000))
    return shown.groups[0].findings[0].cause.name, file.getvalue()


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
            group.leaves(at + 5, one, 1, member("b"), NOBODY)

    assert ("left" if left else "joins_on") == first(tmp_path, group)[0]


@pytest.mark.parametrize(
    ("names", "cause"),
    [
        (("orders-api", "orders-audit"), "two_programs"),
        (("orders-0", "orders-1"), "rejoined"),
        (("pay-7d9f4c-x2kqz", "pay-66c4bd-bvwtr"), "rejoined"),  # two pods
    ],
)
def test_two_programs_in_one_group_are_told_from_two_instances(
    names: tuple[str, str], cause: str, tmp_path: Path
) -> None:
    group = Classic()
    for turn in range(4):
        who = member(names[turn % 2])
        group.begins(
            10 * turn, f"Updating metadata for member {who} during Stable; client reason: {NOBODY}"
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
    group.leaves(10, member("a"), 1, member("b"), (said or NOBODY).replace("closing", "going"))
    group.begins(20, "the moon is full")

    _, text = first(tmp_path, group)

    assert ("left once: “going since the moon is full”." in text) == (said is not None)
    assert ("left once, and did not say why." in text) == (said is None)
    assert "(named: no member): “the moon is full”." in text


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


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Adding new member m-1 with group instance id None", "joined"),
        ("Adding new member m-1 with group instanceid None", "joined"),
        ("Adding new member m-1", "joined"),
        ("Updating metadata for member m-1", "rejoined"),
        ("leader m-1 re-joining group during Stable", "rejoined"),
        ("error when storing group assignment during SyncGroup (member: m-1)", "store_failed"),
    ],
)
def test_reasons_of_kafka_2_are_known(reason: str, cause: str) -> None:
    assert (cause, (("m-1",), None)) == (reasons.of_reason(reason), reasons.named_in(reason))

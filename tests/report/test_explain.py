"""`explain` names what drives a group's rebalances, the cause first, in every version's words.

Each history is a log as one broker of that version writes it, in Kafka's default layout; the
wordings are those of the sources that tests/unit/test_foreign_logs.py names. What a client says of
itself is what Java's client says (AbstractCoordinator, ConsumerCoordinator), or franz-go's.
"""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from harness.base.errors import Exit
from harness.catalogue import registry
from harness.cli.main import main
from harness.history.foreign import events, log_files
from harness.report.incident import causes, reasons
from harness.report.incident.explain_page import page, write_page
from harness.report.incident.explain_terminal import print_view
from harness.report.incident.explain_view import IncidentView, view_of
from tests.report.sample_logs import (
    CLOSED,
    NEW,
    POLL,
    UNSAID,
    UUID,
    Classic,
    member,
    printed,
    storm_of_a_slow_member,
    view,
    write,
)


def rows(shown: IncidentView) -> list[tuple[int | None, str, str, bool]]:
    """Of each rebalance its generation, cause, whom it names and whether it was completed."""
    return [
        (
            one.generation,
            one.cause,
            shown.names.of(one.named[0]) if one.named else "",
            bool(one.joined_at),
        )
        for each in shown.groups
        for one in each.group.rebalances
    ]


@pytest.mark.parametrize("old", [True, False], ids=["3.6 to 3.9", "4.0 to 4.4"])
def test_a_classic_group_s_history_is_found(tmp_path: Path, old: bool) -> None:
    a, b = member("client-a"), member("client-b")
    group = Classic(old=old)
    group.joins(0, a, 1)
    group.joins(10, b, 2)
    group.begins(
        20, f"Leader {a} re-joining group during Stable; client reason: cached metadata has changed"
    )
    group.ends(20.5, 2, a)
    group.begins(
        30,
        f"Updating metadata for member {b} during Stable; client reason: subscription has changed",
    )
    group.ends(30.5, 2, a)
    group.expires(40, b, 1, a)
    group.leaves(50, a, 0, a, POLL)
    group.begins(60, f"Adding new member {b} with group instance id null; client reason: {UNSAID}")

    shown = view(write(tmp_path, group.said, old=old))

    at = " at 10.0.0.7" if old else ""  # 3.x says where a member that leaves is
    assert [
        (1, "joined", f"client-a{at}", True),
        (2, "joined", "client-b", True),
        (3, "metadata", f"client-a{at}", True),
        (4, "subscription", "client-b", True),
        (5, "session_expired", "client-b", True),
        (6, "max_poll", f"client-a{at}", True),
        (7, "joined", "client-b", False),
    ] == rows(shown)
    [only] = shown.groups
    assert [("session_expired", "client-b")] == [
        (each.cause, shown.names.of(each.member_id)) for each in only.group.removals
    ]
    assert [(0, 1), (1, 2), (2, 2), (2, 2), (2, 1), (1, 0)] == [
        (one.members_before, one.members_after) for one in only.group.rebalances[:-1]
    ]


@pytest.mark.parametrize(
    ("version", "metadata", "bump"),
    [
        ("4.0", "Computed new subscription metadata: {t=x}.", ""),
        ("4.4", "Computed new metadata hash: 17.", " with metadata hash {}"),
    ],
)
def test_a_group_of_kip_848_is_found(
    tmp_path: Path, version: str, metadata: str, bump: str
) -> None:
    said: list[str] = []

    def epoch(number: int, metadata_hash: int = 1) -> None:
        said.append(f"Bumped group epoch to {number}{bump.format(metadata_hash)}.")
        said.append(
            f"Computed a new target assignment for epoch {number} with 'uniform' assignor in 1ms"
            + ("." if version == "4.4" else ": {}.")
        )

    said.append("Member A joins the consumer group using the consumer protocol.")
    epoch(1)
    said.append("Member B joins the consumer group using the consumer protocol.")
    epoch(2)
    said.append(metadata)
    epoch(3, 17)
    said.append("Member A updated its subscribed topics to: [t, u].")
    epoch(4, 17)
    said.append("Member B fenced from the group because the member session expired.")
    epoch(5, 17)
    said.append(
        "Member A fenced from the group because it failed to transition from epoch 4 within 9ms."
    )
    epoch(6, 17)
    said.append(
        "Static member C with instance id i-1 joins the consumer group using the consumer protocol."
    )
    epoch(7, 17)
    said.append("Static member C with instance id i-1 left the consumer group.")
    epoch(8, 17)

    shown = view(
        write(tmp_path, [(number, f"[GroupId g] {text}") for number, text in enumerate(said)])
    )

    assert [
        (1, "joined", "A", True),
        (2, "joined", "B", True),
        (3, "metadata", "", True),
        (4, "subscription", "A", True),
        (5, "session_expired", "B", True),
        (6, "rebalance_timeout", "A", True),
        (7, "joined", "i-1", True),
        (8, "left", "i-1", True),
    ] == rows(shown)
    assert ["session_expired", "rebalance_timeout"] == [
        each.cause for each in shown.groups[0].group.removals
    ]


@pytest.mark.parametrize("old", [True, False], ids=["3.x", "4.x"])
def test_the_cause_of_a_cooperative_storm_comes_first(tmp_path: Path, old: bool) -> None:
    """Most of its rebalances are joins and second steps; what drives them is one slow member."""
    shown = view(write(tmp_path, storm_of_a_slow_member(old=old), old=old))

    [(storm, [first, *_])] = shown.groups[0].storms
    assert 26 == len(storm.rebalances)
    assert "max_poll" == first.cause.name
    who = "orders-3 at 10.0.0.7" if old else "orders-3"
    assert ((who, 8),) == first.who
    assert f"{who} left 8 times because it exceeded max.poll.interval.ms" in first.sentence
    assert (
        "It joined again 7 times, 20.0 s later (median); 8 of the 26 rebalances are the second "
        "step of a cooperative one" in first.back
    )
    text = page(shown)
    printed = re.search(r'<div class="finding.*?<p>(.*?)</p>', text, re.DOTALL)
    assert printed is not None
    assert printed[1].startswith(f"{who} left 8 times because it exceeded max.poll.interval.ms")


def test_a_static_member_that_comes_back_too_soon_is_named(tmp_path: Path) -> None:
    owned = (
        "[GroupId g] Static member B with instance id i-1 cannot join the group because the "
        "instance id is owned by member A."
    )
    shown = view(write(tmp_path, [(number, owned) for number in range(3)]))

    assert "instance_taken" == shown.groups[0].findings[0].cause.name
    assert [] == shown.groups[0].group.removals  # it never was a member


@pytest.mark.parametrize("joins_s", [50, 70])  # before or after the one that it replaces leaves
@pytest.mark.parametrize("first", [0, 3])  # the old ones joined before the log begins, or in it
def test_a_deploy_of_members_that_share_a_client_id_is_called_one(
    tmp_path: Path, joins_s: int, first: int
) -> None:
    group = Classic()
    for number in range(5):
        group.joins(number, member("orders", number), number + 1)
    for number in range(5):
        at, old, new = 60 * number, member("orders", number), member("orders", number + 10)
        if joins_s < 60:
            group.joins(at + joins_s, new, 6)
        group.leaves(at + 60, old, 4, old, CLOSED)
        if joins_s > 60:
            group.joins(at + joins_s, new, 5)

    [only] = view(write(tmp_path, group.said[first:])).groups

    assert "deploy" == only.findings[0].cause.name
    assert (("orders", 5),) == only.findings[0].who


def test_one_that_comes_and_goes_is_no_deploy(tmp_path: Path) -> None:
    group = Classic()
    group.joins(0, member("steady"), 1)
    for number in range(4):
        group.joins(60 * number + 10, member("orders", number), 2)
        group.leaves(60 * number + 40, member("orders", number), 1, member("steady"), CLOSED)

    [only] = view(write(tmp_path, group.said)).groups

    found = {finding.cause.name: finding.count for finding in only.findings}
    assert 4 == found["closed"]
    assert "deploy" not in found


def test_an_end_of_all_members_is_no_deploy(tmp_path: Path) -> None:
    group = Classic()
    for number in range(3):
        group.joins(number, member(f"c-{number}"), number + 1)
    for number in range(3):
        group.leaves(60 + number, member(f"c-{number}"), 2 - number, member("c-2"), CLOSED)

    [only] = view(write(tmp_path, group.said)).groups

    assert "deploy" not in [finding.cause.name for finding in only.findings]
    assert "closed" in [finding.cause.name for finding in only.findings]


def test_logs_that_begin_in_a_rebalance_do_not_guess_at_its_reason(tmp_path: Path) -> None:
    group = Classic()
    group.generation = 7
    for at in range(6):
        group.ends(at, 3, member("a"))

    shown = view(write(tmp_path, group.said))
    [only] = shown.groups

    assert [(8 + number, None, True) for number in range(6)] == [
        (one.generation, one.started_at, bool(one.joined_at)) for one in only.group.rebalances
    ]
    assert () == only.findings
    assert printed(shown)


def test_rebalances_far_apart_are_no_storm(tmp_path: Path) -> None:
    group = Classic()
    for number in range(12):
        group.expires(130 * number, member("c", number), 1, member("a"))

    assert () == view(write(tmp_path, group.said)).groups[0].storms


def test_storms_are_set_apart(tmp_path: Path) -> None:
    group = Classic()
    for start in (0, 4_000):
        for number in range(7):
            group.expires(start + 20 * number, member("c", start + number), 1, member("a"))

    [only] = view(write(tmp_path, group.said)).groups

    assert [7, 7] == [len(storm.rebalances) for storm, _ in only.storms]
    assert [1] * 7 + [2] * 7 == [one.storm for one in only.group.rebalances]


def test_a_coordinator_that_moved_is_named(tmp_path: Path) -> None:
    group = Classic()
    group.joins(0, member("a"), 1)
    group.begins(10, f"Removing [{member('a')}] on pending sync request expiration")
    group.says(11, "[GroupId=g] Unloading group metadata for generation 1.")
    folder = write(tmp_path, group.said)
    other = NEW.replace("id=1", "id=2")
    (tmp_path / "other.log").write_text(
        f"[2026-10-01 10:00:12,000] INFO {other}Loaded classic group g with 1 members. (a.B)\n"
    )

    [only] = view(folder).groups

    assert "coordinator_moved" == only.findings[0].cause.name
    assert (("broker 1 to 2", 1),) == only.findings[0].who
    assert [True, False] == [bool(one.joined_at) for one in only.group.rebalances]


def test_a_coordinator_that_was_shut_down_is_named(tmp_path: Path) -> None:
    group = Classic()
    group.joins(0, member("a"), 1)
    group.says(10, "Shutting down.")
    folder = write(tmp_path, group.said)
    other = NEW.replace("id=1", "id=2")
    (tmp_path / "other.log").write_text(
        f"[2026-10-01 10:00:12,000] INFO {other}Loaded classic group g with 1 members. (a.B)\n"
    )

    [only] = view(folder).groups

    assert (("broker 1, which was shut down, to 2", 1),) == only.findings[0].who


def test_what_takes_long_and_what_has_no_end_is_named(tmp_path: Path) -> None:
    group = Classic()
    group.begins(0, f"removing member {member('a')} on heartbeat expiration.")
    group.ends(299, 2, member("b"))
    group.begins(400, f"removing member {member('b')} on heartbeat expiration.")
    group.says(500, "Group other with generation 1 is now empty.")

    found = {
        each.cause.name: each.sentence
        for each in view(write(tmp_path, group.said)).groups[0].findings
    }

    assert (
        "Rebalances took long until every member had joined, once, the longest 4 min 59 s."
        == (found["slow"])
    )
    assert "it had waited for 100 s when they end" in found["unfinished"]


REJOINS: Final = "Leader m-1 re-joining group during Stable; client reason: "
LEAVES: Final = "Removing member m-1 on LeaveGroup; client reason: "
STATIC: Final = "static member m-1 with instance id i-1"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (LEAVES + CLOSED, "closed"),
        (LEAVES + "member was removed by an admin", "removed_by_admin"),
        ("explicit `LeaveGroup` request for (m-1, m-2) members.", "left"),
        ("Freshly-loaded group g (size 9) is over capacity 5. Rebalancing", "over_capacity"),
        ("Error X when storing group assignmentduring SyncGroup (member: m-1).", "store_failed"),
        (f"Group's selectedProtocol will change because {STATIC} joined with", "assignor"),
        (f"Updating metadata for {STATIC}; client reason: {UNSAID}", "static_changed"),
        (REJOINS + "rebalance enforced by user", "enforced"),
        (REJOINS + "triggered followup rebalance scheduled for 17", "enforced"),
        (REJOINS + "after revoking what we lost from a rebalance", "cooperative"),
        (REJOINS + "cached metadata has changed", "metadata"),
        (REJOINS + UNSAID, "rejoined"),
        (f"Member m-1 joining group during Stable; client reason: {UNSAID}", "rejoined"),
        (REJOINS + "rebalance failed due to UnjoinedGroupException", "interrupted"),
        ("Removing [m-1] on pending sync request expiration", "sync_expired"),
        # of Kafka 2
        ("Adding new member m-1 with group instance id None", "joined"),
        ("Adding new member m-1 with group instanceid None", "joined"),
        ("Adding new member m-1", "joined"),
        ("Updating metadata for member m-1", "rejoined"),
        ("leader m-1 re-joining group during Stable", "rejoined"),
        ("error when storing group assignment during SyncGroup (member: m-1)", "store_failed"),
        ("something that a later version says of m-1", "unknown"),
    ],
)
def test_reasons_are_known(reason: str, cause: str) -> None:
    assert cause == reasons.of_reason(reason)
    if cause not in ("over_capacity", "unknown"):
        names, instance = reasons.named_in(reason)
        assert instance in (None, "i-1")
        assert "m-1" == names[0]


def test_what_a_reason_names_may_have_blanks() -> None:
    who = f"my client (a, b){UUID}"

    assert (who,) == reasons.named_in(f"removing member {who} on heartbeat expiration.")[0]
    assert ((who,), "i 1") == reasons.named_in(
        f"Adding new member {who} with group instance id i 1; client reason: not provided"
    )


def test_every_cause_can_be_shown_and_its_experiment_played() -> None:
    for cause in causes.CAUSES.values():
        assert cause.sentence.format(
            who="x", times="twice", it="they", be="are", was="were", its="their", why=""
        )
        assert cause.next
        assert cause.sort in ("fault", "change", "follows")
        if cause.experiment:
            registry.load(cause.experiment)


def test_the_command_writes_tables_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, into = tmp_path / "logs", tmp_path / "into" / "here"
    logs.mkdir()
    write(logs, storm_of_a_slow_member())
    before = (logs / "server.log").read_bytes()
    arguments = ["explain", str(logs), "--into", str(into), "--timezone", "+02:00"]

    assert Exit.AS_EXPECTED == main(arguments)

    said = capsys.readouterr().out
    assert "1 group: 26 rebalances, 0 evictions, 1 storm" in said
    assert "cause    orders-3 left 8 times" in said
    assert "look at  Look at what it did at these times" in said
    assert {"explain.html", "rebalances.parquet", "evictions.parquet"} == {
        path.name for path in into.iterdir()
    }
    table = pq.read_table(into / "rebalances.parquet").to_pylist()
    assert 26 == len(table)
    assert datetime(2026, 10, 1, 8, tzinfo=UTC) == table[0]["started_at"]
    assert ("joined", "orders-1", "server.log:3") == tuple(
        table[0][name] for name in ("cause", "trigger_client_id", "evidence")
    )
    assert before == (logs / "server.log").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere.log"], Exit.BAD_ARGUMENTS, "nowhere.log is not there: name the brokers' log"),
        (["empty.log"], Exit.NO_DATA, "empty.log is empty: name the brokers' logs"),
        (["diary.log"], Exit.NO_DATA, "diary.log is no broker's log: name the brokers' logs"),
        (["diary.log", "empty.log"], Exit.NO_DATA, "diary.log is no broker's log, and 1 more"),
        (["server.log", "--group", "h"], Exit.NO_DATA, "no line about the group 'h'"),
        (
            ["server.log", "--timezone", "Mars"],
            Exit.BAD_ARGUMENTS,
            "'Mars' is not a known time zone",
        ),
        (
            ["server.log", "--into", "diary.log"],
            Exit.BAD_ARGUMENTS,
            "diary.log is a file: name a folder",
        ),
        ([], Exit.BAD_ARGUMENTS, "which LOG?"),
    ],
)
def test_what_cannot_be_explained_is_one_sentence(
    arguments: list[str],
    code: Exit,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path, storm_of_a_slow_member())
    (tmp_path / "empty.log").touch()
    (tmp_path / "diary.log").write_text("Dear diary\n")
    monkeypatch.chdir(tmp_path)

    assert code == main(["explain", *arguments])

    printed = capsys.readouterr()
    [said] = [line for line in printed.err.splitlines() if " s  explain: " not in line]
    assert says in said
    assert "" == printed.out


def test_one_group_can_be_explained_alone(tmp_path: Path) -> None:
    other = Classic(group="other")
    other.joins(0, member("x"), 1)
    folder = write(tmp_path, [*storm_of_a_slow_member(), *other.said])
    found = events.read(log_files.files_of([folder]))

    assert ["orders", "other"] == [one.group.name for one in view_of(found).groups]
    assert ["other"] == [one.group.name for one in view_of(found, "other").groups]


def test_the_page_loads_nothing_and_escapes(tmp_path: Path) -> None:
    group = Classic(group="<script>alert(1)</script>")
    group.joins(0, member("<b>"), 1, says="<i>")
    shown = view(write(tmp_path, group.said))

    text = write_page(tmp_path / "into", shown).read_text()

    assert "<script" not in text
    assert "<b>-" not in text
    assert "&lt;script&gt;" in text
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)", text)


@pytest.mark.parametrize(
    ("zone", "says"),
    [
        (None, "Times are as written."),
        (UTC, "Times are UTC."),
        (ZoneInfo("Europe/Berlin"), "Times are UTC, from Europe/Berlin."),
    ],
)
def test_the_page_says_of_what_zone_its_times_are(
    tmp_path: Path, zone: tzinfo | None, says: str
) -> None:
    logs = log_files.files_of([write(tmp_path, storm_of_a_slow_member())])

    assert says in page(view_of(events.read(logs, zone)))


def test_why_there_are_more_reasons_than_rebalances_is_said(tmp_path: Path) -> None:
    shown = view(write(tmp_path, storm_of_a_slow_member()))
    assert " reasons for " not in printed(shown)

    del shown.groups[0].group.rebalances[5:]
    assert "26 reasons for 5 rebalances: one may be for several members." in printed(shown)


def test_a_terminal_without_room_or_signs_shows_it_too(tmp_path: Path) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    print_view(view(write(tmp_path, storm_of_a_slow_member())), Console(file=file, width=60))
    file.flush()
    lines = raw.getvalue().decode("ascii").splitlines()

    assert any("orders-3 left 8 times" in line for line in lines)
    assert all(len(line) <= 62 for line in lines if line.startswith("  "))


def test_the_example_of_the_documents_is_what_is_printed(tmp_path: Path) -> None:
    """docs/explain-logs.md shows what `explain` says of the storm above."""
    shown = printed(view(write(tmp_path, storm_of_a_slow_member())), width=100)
    text = (Path(__file__).parents[2] / "docs" / "explain-logs.md").read_text()

    lines = [line for line in shown.splitlines() if not line.startswith("! ")]
    for line in lines[3:]:
        assert line in text

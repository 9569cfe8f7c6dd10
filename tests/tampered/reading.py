"""Changes of what members are given and process, and of what they commit."""

from __future__ import annotations

import copy
from typing import Final

from tests.tampered.history import Change, Kept, NotThere, Row, ms

RUNS: Final = (
    "baseline.",
    "consumer-crash.",
    "consumer-freeze.",
    "consumer-join.",
    "consumer-leave.",
    "cooperative-join.",
    "auto-commit-crash.",
    "network-latency.",
)


def _steady(kept: Kept) -> list[Row]:
    """Deliveries after the first assignments, in order."""
    first = kept.settled()
    found = [row for row in kept["deliveries"] if row["polled_at"] > first]
    if len(found) < 20:
        raise NotThere("too few deliveries")
    return sorted(found, key=lambda row: row["polled_at"])


def given_to_a_member_that_does_not_hold_it(kept: Kept) -> None:
    rows = _steady(kept)
    for row in rows[len(rows) // 2 :]:
        never = [
            other
            for other in kept.members()
            if other != row["member"]
            and not any(
                {"topic": row["topic"], "partition": row["partition"]}
                in (event["partitions"] or ())
                for event in kept.told("assigned")
                if event["member"] == other
            )
        ]
        if never:
            taken = next(other for other in rows if other["member"] in never)
            named = {name: taken[name] for name in ("member", "member_id", "poll")}
            kept["deliveries"].append({**row, **named})
            return
    raise NotThere("a member that never held some partition")


def given_to_another_before_it_was_assigned(kept: Kept) -> None:
    first = min(kept["deliveries"], key=lambda row: row["polled_at"])
    others = [row for row in kept["deliveries"] if row["member"] != first["member"]]
    if not others:
        raise NotThere("a second member that reads")
    named = {name: others[0][name] for name in ("member", "member_id", "poll")}
    kept["deliveries"].append({**first, **named, "polled_at": first["polled_at"] - ms(900)})


def twice_in_one_poll(kept: Kept) -> None:
    kept["deliveries"].append(dict(_steady(kept)[5]))


def part_of_it_twice_in_one_poll(kept: Kept) -> None:
    for row in _steady(kept):
        if row["count"] > 1:
            kept["deliveries"].append({**row, "first_offset": row["last_offset"], "count": 1})
            return
    raise NotThere("a poll with two records of a partition")


def all_rows_of_a_member_twice(kept: Kept) -> None:
    member = _steady(kept)[0]["member"]
    kept["deliveries"].extend([dict(row) for row in kept["deliveries"] if row["member"] == member])


def committed_records_come_again(kept: Kept) -> None:
    rows = _steady(kept)
    row = rows[5]
    last = next(
        other
        for other in reversed(rows)
        if other["member"] == row["member"] and other["partition"] == row["partition"]
    )
    if last is row:
        raise NotThere("a later delivery of the partition")
    times = {"polled_at": last["polled_at"] + ms(1), "processed_at": last["polled_at"] + ms(2)}
    kept["deliveries"].append({**row, **times, "poll": last["poll"] + 100_000})


def records_are_left_out(kept: Kept) -> None:
    rows = _steady(kept)
    gone = rows[len(rows) // 2]
    kept.files["deliveries"] = [
        row
        for row in kept["deliveries"]
        if row["partition"] != gone["partition"]
        or row["last_offset"] < gone["first_offset"]
        or row["first_offset"] > gone["last_offset"]
    ]


def what_nobody_sent_is_delivered(kept: Kept) -> None:
    row = max(_steady(kept), key=lambda row: row["last_offset"])
    ends = {"first_offset": row["last_offset"] + 500, "last_offset": row["last_offset"] + 501}
    kept["deliveries"].append({**row, **ends, "count": 2, "poll": row["poll"] + 100_000})


def went_on_after_it_was_told(kept: Kept) -> None:
    for event in reversed(kept.told("revoked")):
        for row in kept["deliveries"]:
            part = {"topic": row["topic"], "partition": row["partition"]}
            if row["member"] == event["member"] and part in (event["partitions"] or ()):
                times = {
                    name: event["event_at"] + ms(400) for name in ("polled_at", "processed_at")
                }
                kept["deliveries"].append({**row, **times, "poll": row["poll"] + 100_000})
                return
    raise NotThere("a revoked partition that was read")


def _frozen(kept: Kept) -> tuple[Row, Row]:
    for begun in kept["faults"]:
        if begun["phase"] != "injected" or begun["kind"] not in (
            "freeze-consumer",
            "kill-consumer",
        ):
            continue
        mine = [row for row in kept["deliveries"] if row["member"] == begun["resolved"]]
        if mine:
            return begun, mine[-1]
    raise NotThere("no frozen or killed member that had read something")


def read_while_frozen(kept: Kept) -> None:
    begun, row = _frozen(kept)
    times = {name: begun["at"] + ms(1_800) for name in ("polled_at", "processed_at")}
    kept["deliveries"].append({**row, **times, "poll": row["poll"] + 100_000})


def _commits(kept: Kept) -> list[Row]:
    rows = [
        row
        for row in kept.own("OFFSET_COMMIT")
        if row["member_id"] and row["positions"] and row["arrived_at"] > kept.settled()
    ]
    if len(rows) < 6:
        raise NotThere("too few commits")
    return rows


def _as_told(kept: Kept, request: Row, before: int, after: int, partition: int) -> None:
    """The member's own record of a commit that was changed."""
    for row in kept["commits"]:
        if (
            row["member"] == request["client_id"]
            and row["partition"] == partition
            and row["committed"] == before
        ):
            row["committed"] = after


def _committed(kept: Kept, by: int, *, last: bool) -> None:
    rows = _commits(kept)
    row = rows[-1] if last else rows[len(rows) // 2]
    position = next(each for each in row["positions"] if each["committed"] >= 0)
    before = position["committed"]
    position["committed"] = before + by
    _as_told(kept, row, before, before + by, position["partition"])


def committed_beyond_what_it_was_given(kept: Kept) -> None:
    _committed(kept, 40, last=False)


def committed_beyond_the_end_of_the_log(kept: Kept) -> None:
    _committed(kept, 1_000_000, last=True)


def committed_what_it_does_not_hold(kept: Kept) -> None:
    rows = _commits(kept)
    for row in rows[len(rows) // 2 :]:
        for other in rows:
            theirs = other["positions"][0]
            mine = {each["partition"] for each in row["positions"]}
            held = {
                part["partition"]
                for event in kept.told("assigned")
                if event["member"] == row["client_id"]
                for part in event["partitions"] or ()
            }
            if (
                other["client_id"] != row["client_id"]
                and theirs["partition"] not in mine | held
                and other["arrived_at"] < row["arrived_at"]
            ):
                row["positions"] = [*row["positions"], copy.deepcopy(theirs)]
                return
    raise NotThere("a partition that a member never held")


def commits_go_back(kept: Kept) -> None:
    rows = _commits(kept)
    row = rows[-1]
    position = row["positions"][0]
    position["committed"] = max(0, position["committed"] - 60)


def commits_of_an_old_generation_are_accepted(kept: Kept) -> None:
    for row in reversed(_commits(kept)):
        if (row["generation"] or 0) > 1:
            row["generation"] -= 1
            return
    raise NotThere("a second generation that commits")


def commits_name_no_member(kept: Kept) -> None:
    rows = _commits(kept)
    rows[len(rows) // 2]["member_id"] = None


def commits_name_no_generation(kept: Kept) -> None:
    rows = _commits(kept)
    rows[len(rows) // 2]["generation"] = -1


def gave_up_by_itself(kept: Kept) -> None:
    """The last event of a member, in the words of a fatal error of its client."""
    row = kept.told("closed")[-1]
    row["event"] = "error"
    row["detail"] = "process: ClientGaveUp: it cannot go on: FENCED_INSTANCE_ID: fenced"


def a_partition_stands_still(kept: Kept) -> None:
    """Everything about one partition after a moment of steady time comes 6 s later."""
    rows = _steady(kept)
    row = rows[len(rows) // 3]
    stop = row["polled_at"]
    late = [
        other
        for other in kept["deliveries"]
        if other["partition"] == row["partition"] and stop < other["polled_at"] < stop + ms(6_000)
    ]
    if kept.faulty(stop, 9_000) or kept.faulty(stop + ms(6_000), 3_000):
        raise NotThere("no steady time of 6 s before a fault")
    if any(abs(event["event_at"] - stop) < ms(7_500) for event in kept.told("revoked", "lost")):
        raise NotThere("no steady time of 6 s before a rebalance")
    for number, other in enumerate(sorted(late, key=lambda each: each["first_offset"])):
        other["polled_at"] = stop + ms(6_000 + number)
        other["processed_at"] = stop + ms(6_000.5 + number)


_STILL: Final = ("baseline.", "java-poll.", "consumer-crash.", "group-apis.", "consumer-leave.")
CHANGES: Final = (
    *(
        Change(edit.__name__, edit, ("R21-stop",), RUNS)
        for edit in (
            given_to_a_member_that_does_not_hold_it,
            given_to_another_before_it_was_assigned,
            went_on_after_it_was_told,
        )
    ),
    *(
        Change(edit.__name__, edit, ("X32b",), RUNS)
        for edit in (
            twice_in_one_poll,
            part_of_it_twice_in_one_poll,
            all_rows_of_a_member_twice,
        )
    ),
    Change("committed records come again", committed_records_come_again, ("X32b",), RUNS[:3]),
    Change("records are left out", records_are_left_out, ("X32a",), RUNS[:5]),
    Change(
        "what nobody sent is delivered", what_nobody_sent_is_delivered, ("X32a", "E03"), RUNS[:3]
    ),
    Change("read while frozen", read_while_frozen, ("E01",), ("consumer-", "auto-commit-crash.")),
    Change(
        "committed beyond what it was given", committed_beyond_what_it_was_given, ("X36",), RUNS
    ),
    Change(
        "committed beyond the end of the log", committed_beyond_the_end_of_the_log, ("X36",), RUNS
    ),
    Change("committed what it does not hold", committed_what_it_does_not_hold, ("X36",), RUNS),
    Change("commits go back", commits_go_back, ("X32c",), RUNS[:5]),
    Change(
        "commits of an old generation are accepted",
        commits_of_an_old_generation_are_accepted,
        ("X37",),
        ("consumer-crash.", "consumer-freeze.", "consumer-join.java", "bad-day."),
    ),
    *(
        Change(edit.__name__, edit, rules, runs)
        for edit in (commits_name_no_member, commits_name_no_generation)
        for rules, runs in (
            (("X41-asked",), ("baseline.", "consumer-join.", "consumer-leave.")),
            (("X41",), ("auto-commit-crash.",)),
        )
    ),
    Change("gave up by itself", gave_up_by_itself, ("X42",), (*RUNS, "static-day.")),
    Change("a partition stands still", a_partition_stands_still, ("X38",), _STILL),
)

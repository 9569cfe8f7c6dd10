"""Changes of what members commit, of what they are told of it, and of what readers find."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tests.tampered.history import Change, Kept, NotThere, Row, change, first, later, ms

COOPERATIVE: Final = ("cooperative-join.librdkafka",)
CLASSIC_ONES: Final = ("auto-commit-crash.", *COOPERATIVE)
AUTOMATIC: Final = (*CLASSIC_ONES, "coordinator-isolated.")


def _reported(kept: Kept, request: Row) -> list[Row]:
    """What a client reported of a commit, by its member and positions."""
    positions = {(each["partition"], each["committed"]) for each in request["positions"]}
    return [
        row
        for row in kept["commits"]
        if row["member"] == request["client_id"]
        and (row["partition"], row["committed"]) in positions
    ]


def _never_made(kept: Kept, request: Row) -> None:
    """Takes a commit away, on both sides."""
    for row in _reported(kept, request):
        kept["commits"].remove(row)
    kept["requests"].remove(request)


def _observed(kept: Kept, since: datetime | None = None) -> list[Row]:
    """Answers to the observer that have positions."""
    return [
        row
        for row in kept["requests"]
        if row["api"] == "OFFSET_FETCH"
        and row["client_id"] == "observer"
        and row["error_code"] == 0
        and row["positions"]
        and (since is None or row["arrived_at"] > since)
    ]


def _farther(kept: Kept, records: int) -> None:
    """The observer is told a position that is so far above the one that was committed."""
    rows = [
        row for row in _observed(kept) if max(each["committed"] for each in row["positions"]) > 60
    ]
    row = rows[len(rows) // 2]
    max(row["positions"], key=lambda each: each["committed"])["committed"] += records


def more_than_anybody_committed_is_told(kept: Kept) -> None:
    _farther(kept, 40)


def a_position_beyond_the_end_is_told(kept: Kept) -> None:
    _farther(kept, 5_000)


def a_new_coordinator_goes_back_ten_seconds(kept: Kept) -> None:
    """In its first answer after it loaded the group, and before it has written a commit."""
    line = kept.lines("loaded")[-1]
    made = [
        row for row in kept["commits"] if row["error_code"] == 0 and row["answered_at"] < line["at"]
    ]
    until = max(row["answered_at"] for row in made) - ms(9_000)
    known: dict[int, int] = {}
    for row in made:
        if row["answered_at"] < until:
            known[row["partition"]] = max(known.get(row["partition"], 0), row["committed"])
    asked = first(_observed(kept, line["at"]), "answer to the observer after that")
    moved = later(asked, (line["at"] + ms(3) - asked["arrived_at"]) / ms(1))
    positions = [
        {**each, "committed": known.get(each["partition"], 0)} for each in asked["positions"]
    ]
    log = f"broker-{line['broker']}-requests.log:900000"
    kept["requests"].append(
        {**moved, "broker": line["broker"], "evidence": log, "positions": positions}
    )


def _made_before_joins(kept: Kept, within_ms: float) -> list[Row]:
    """The last commit of each member before a join in a generation after the first."""
    made = []
    for join in kept.own("JOIN_GROUP"):
        before = [
            row
            for row in kept.own("OFFSET_COMMIT")
            if row["client_id"] == join["client_id"]
            and ms(0) < join["arrived_at"] - row["arrived_at"] < ms(within_ms)
        ]
        if join["generation"] > 1 and before:
            made.append(before[-1])
    if not made:
        raise NotThere("no commit before a join")
    return made


def _made_at_the_end(kept: Kept) -> list[Row]:
    """What members commit as they close."""
    made = [
        row
        for closing in kept.told("closing")
        for row in kept.own("OFFSET_COMMIT")
        if row["client_id"] == closing["member"]
        and row["arrived_at"] >= closing["event_at"] - ms(5)
    ]
    if not made:
        raise NotThere("no commit at the end")
    return made


def one_close_makes_no_automatic_commit(kept: Kept) -> None:
    closing = kept.told("closing")[-1]
    rows = [row for row in _made_at_the_end(kept) if row["client_id"] == closing["member"]]
    _never_made(kept, first(rows, "commit of the last that closes"))


def nobody_commits_at_close(kept: Kept) -> None:
    """And the observer is told what had been committed before."""
    since = min(row["event_at"] for row in kept.told("closing"))
    for row in _made_at_the_end(kept):
        _never_made(kept, row)
    known: dict[int, int] = {}
    for row in kept.own("OFFSET_COMMIT"):
        for each in row["positions"]:
            known[each["partition"]] = max(known.get(each["partition"], -1), each["committed"])
    for row in _observed(kept, since):
        for each in row["positions"]:
            each["committed"] = min(each["committed"], known.get(each["partition"], -1))


def one_join_is_made_without_a_commit(kept: Kept) -> None:
    _never_made(kept, _made_before_joins(kept, 300)[0])


def nobody_commits_as_it_gives_up(kept: Kept) -> None:
    for row in _made_before_joins(kept, 80):
        _never_made(kept, row)


def an_automatic_commit_leaves_a_partition_out(kept: Kept) -> None:
    rows = [row for row in kept.own("OFFSET_COMMIT") if len(row["positions"]) > 1]
    row = first(rows, "commit of two partitions")
    gone = row["positions"].pop()
    for each in list(kept["commits"]):
        mine = (each["member"], each["partition"], each["committed"])
        if mine == (row["client_id"], gone["partition"], gone["committed"]):
            kept["commits"].remove(each)


def automatic_commits_of_a_partition_lag(kept: Kept) -> None:
    """All but a member's first and last repeat the first position, and readers are told that."""
    made: dict[tuple[str, int], list[tuple[Row, Row]]] = {}
    for row in kept.own("OFFSET_COMMIT"):
        for each in row["positions"]:
            made.setdefault((row["client_id"], each["partition"]), []).append((row, each))
    rows = [(key, value) for key, value in made.items() if len(value) >= 4]
    if not rows:
        raise NotThere("no partition that was committed four times")
    (member, partition), commits = rows[0]
    oldest = commits[0][1]["committed"]
    for _, position in commits[1:-1]:
        for each in kept["commits"]:
            mine = (each["member"], each["partition"], each["committed"])
            if mine == (member, partition, position["committed"]):
                each["committed"] = oldest
        position["committed"] = oldest
    for row in _observed(kept, commits[1][0]["arrived_at"]):
        if row["arrived_at"] < commits[-1][0]["arrived_at"]:
            for each in row["positions"]:
                if each["partition"] == partition:
                    each["committed"] = min(each["committed"], oldest)


def automatic_commits_never_cover_a_partition(kept: Kept) -> None:
    """Of one member, nor does the one at its close."""
    made = kept.own("OFFSET_COMMIT")
    row = first([row for row in made if len(row["positions"]) > 1], "commit of two partitions")
    member, partition = row["client_id"], row["positions"][0]["partition"]
    for row in made:
        if row["client_id"] == member:
            row["positions"] = [each for each in row["positions"] if each["partition"] != partition]
            if not row["positions"]:
                kept["requests"].remove(row)
    kept.files["commits"] = [
        row for row in kept["commits"] if (row["member"], row["partition"]) != (member, partition)
    ]


def a_client_reports_another_refusal(kept: Kept) -> None:
    refused = [row for row in kept["commits"] if row["error_code"] in (22, 25, 113)]
    first(refused, "refused commit")
    for row in refused:
        other = (22, "ILLEGAL_GENERATION"), (27, "REBALANCE_IN_PROGRESS")
        row["error_code"], row["error"] = other[row["error_code"] == 22]


def a_transaction_that_was_made_is_reported_as_refused(kept: Kept) -> None:
    request = first(kept.own("TXN_OFFSET_COMMIT")[::-1], "transaction")
    for row in _reported(kept, request):
        row["error_code"], row["error"] = 22, "ILLEGAL_GENERATION"


def automatic_commits_that_were_refused_are_reported_as_made(kept: Kept) -> None:
    refused = [row for row in kept["commits"] if row["error_code"] in (25, 113)]
    first(refused, "refused commit")
    for row in refused:
        row["error_code"], row["error"] = 0, None


CHANGES: Final[tuple[Change, ...]] = (
    change(more_than_anybody_committed_is_told, "R30", AUTOMATIC),
    change(a_position_beyond_the_end_is_told, "R30", AUTOMATIC),
    change(a_new_coordinator_goes_back_ten_seconds, "R30", ("rolling-restart.",)),
    change(one_close_makes_no_automatic_commit, "X102", CLASSIC_ONES),
    change(nobody_commits_at_close, "X102", CLASSIC_ONES),
    change(one_join_is_made_without_a_commit, "X102", CLASSIC_ONES),
    change(nobody_commits_as_it_gives_up, "X102", CLASSIC_ONES),
    change(an_automatic_commit_leaves_a_partition_out, "X103", AUTOMATIC),
    change(automatic_commits_of_a_partition_lag, "X103", AUTOMATIC),
    change(automatic_commits_never_cover_a_partition, "X103", AUTOMATIC),
    change(
        a_client_reports_another_refusal, "X59",
        ("consumer-freeze.", "coordinator-silent.librdkafka", "revocation-stalled."),
    ),
    change(a_transaction_that_was_made_is_reported_as_refused, "X59", ("transactions.",)),
    change(
        automatic_commits_that_were_refused_are_reported_as_made, "X59", ("coordinator-isolated.",)
    ),
)  # fmt: skip

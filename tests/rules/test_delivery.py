from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.histories import History

pytestmark = pytest.mark.spark
Judge = Callable[[History, str], dict[str, Any]]


# R19


def evicted(**group: Any) -> History:
    """member-1 read 0 to 29 and committed 20 of them; it is evicted at 10 s."""
    history = History(group=group).member("member-1").member("member-2")
    history.says("member_added", 0, "member-1").join("member-1", 5).join("member-2", 5)
    history.delivered("member-1", 0, 0, 29, 1_000).commit_request("member-1", 1_500, 0, 20)
    return history.says("evicted", 10_000, "member-1").rebalance(10_001, 2, 1)


def test_refusing_a_removed_member_and_reading_its_work_again_holds(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30, error=25)
    history.asked_commit("member-1", 11_999, 0, 30, error=25)
    history.delivered("member-2", 0, 20, 29, 13_000)
    verdict = judge(history, "R19")
    assert ("HOLDS", 3) == (verdict["verdict"], verdict["examined"])


def test_accepting_the_commit_of_a_removed_member_violates(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["verdict"]


def test_a_client_told_that_its_late_commit_was_accepted_violates(judge: Judge) -> None:
    history = evicted().asked_commit("member-1", 12_000, 0, 30)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 20, 29, 13_000), "R19")["verdict"]


def test_uncommitted_work_that_nobody_reads_again_violates(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 12_000, 0, 30, error=25)
    assert "VIOLATED" == judge(history.delivered("member-2", 0, 30, 39, 13_000), "R19")["verdict"]


def test_a_commit_before_the_removal_is_not_examined(judge: Judge) -> None:
    history = evicted().commit_request("member-1", 9_000, 0, 30)
    assert "UNKNOWN" == judge(history, "R19")["verdict"]


def test_a_member_that_closed_is_not_examined(judge: Judge) -> None:
    history = evicted().told("member-1", "closing", 9_999)
    assert "UNKNOWN" == judge(history, "R19")["verdict"]
    assert "UNKNOWN" == judge(History(), "R19")["verdict"]


# X32a


def test_every_acknowledged_record_processed_holds(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).acknowledged(0, 10, 19)
    history.delivered("member-1", 0, 0, 4, 100).delivered("member-2", 0, 5, 19, 200)
    verdict = judge(history.end_offset(0, 20), "X32a")
    assert ("HOLDS", 0) == (verdict["verdict"], verdict["measured_max"])


def test_an_acknowledged_record_that_was_skipped_is_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 4, 100)
    verdict = judge(history.delivered("member-1", 0, 7, 19, 200), "X32a")
    assert ("VIOLATED", 2) == (verdict["verdict"], verdict["measured_max"])


def test_a_record_delivered_but_never_processed_is_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).end_offset(0, 10)
    assert "VIOLATED" == judge(history.delivered("member-1", 0, 0, 9, 100, None), "X32a")["verdict"]


def test_a_record_past_the_last_poll_is_unseen_not_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 9, 100)
    assert "UNKNOWN" == judge(history.end_offset(0, 20), "X32a")["verdict"]


def test_a_failed_send_is_never_lost(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 9).delivered("member-1", 0, 0, 9, 100)
    history.acknowledged(0, 10, 19, outcome="failed")
    assert "HOLDS" == judge(history, "X32a")["verdict"]


def test_records_read_twice_hide_no_loss(judge: Judge) -> None:
    history = History().acknowledged(0, 0, 19).delivered("member-1", 0, 0, 9, 100)
    history.delivered("member-2", 0, 0, 9, 200).delivered("member-2", 0, 15, 19, 300)
    verdict = judge(history, "X32a")
    assert ("VIOLATED", 5) == (verdict["verdict"], verdict["measured_max"])


def test_without_acknowledged_records_x32a_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History().delivered("member-1", 0, 0, 9, 100), "X32a")["verdict"]


# X32b


def reread(committed: int) -> History:
    """member-2 reads 5 to 9 again after so much was committed."""
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.commit_request("member-1", 200, 0, committed)
    return history.delivered("member-2", 0, 5, 14, 300)


def test_reading_uncommitted_records_again_holds(judge: Judge) -> None:
    assert "HOLDS" == judge(reread(5), "X32b")["verdict"]


def test_reading_committed_records_again_violates(judge: Judge) -> None:
    verdict = judge(reread(8), "X32b")
    assert ("VIOLATED", 3) == (verdict["verdict"], verdict["measured_max"])


def removed_reader(removed_ms: float) -> History:
    """member-1 hands out 5 to 9, fetched long before; the new owner has committed 10 meanwhile."""
    history = History().says("member_added", 0, "member-1").delivered("member-1", 0, 0, 4, 100)
    history.says("evicted", removed_ms, "member-1").delivered("member-2", 0, 0, 9, 6_500)
    return history.commit_request("member-2", 6_600, 0, 10).delivered("member-1", 0, 5, 9, 7_000)


def test_a_removed_member_may_hand_out_what_it_had_fetched(judge: Judge) -> None:
    assert "HOLDS" == judge(removed_reader(6_000), "X32b")["verdict"]


def test_a_member_in_the_group_may_not(judge: Judge) -> None:
    assert "VIOLATED" == judge(removed_reader(7_500), "X32b")["verdict"]


def test_a_refused_commit_does_not_forbid_reading_again(judge: Judge) -> None:
    history = History().delivered("member-1", 0, 0, 9, 100)
    history.commit_request("member-1", 200, 0, 10, error=25)
    assert "HOLDS" == judge(history.delivered("member-2", 0, 0, 9, 300), "X32b")["verdict"]


def test_nothing_read_twice_holds(judge: Judge) -> None:
    verdict = judge(History().delivered("member-1", 0, 0, 9, 100), "X32b")
    assert ("HOLDS", 1) == (verdict["verdict"], verdict["examined"])


def test_without_deliveries_x32b_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X32b")["verdict"]


# X32c


def test_commits_that_go_forward_hold(judge: Judge) -> None:
    history = (
        History().commit_request("member-1", 100, 0, 10).commit_request("member-1", 200, 0, 10)
    )
    assert "HOLDS" == judge(history, "X32c")["verdict"]


def test_a_commit_that_goes_back_violates(judge: Judge) -> None:
    history = History().commit_request("member-1", 100, 0, 10).commit_request("member-2", 200, 0, 7)
    verdict = judge(history, "X32c")
    assert ("VIOLATED", 3) == (verdict["verdict"], verdict["measured_max"])


def test_a_refused_commit_may_go_back(judge: Judge) -> None:
    history = History().commit_request("member-1", 100, 0, 10)
    history.commit_request("member-2", 200, 0, 7, error=22)
    assert "HOLDS" == judge(history, "X32c")["verdict"]


def test_without_commits_x32c_is_unknown(judge: Judge) -> None:
    assert "UNKNOWN" == judge(History(), "X32c")["verdict"]


# X32d


def handed_over(again_from: int, committed: int = 0, **group: Any) -> History:
    """member-1 read 0 to 299 in three batches; member-2 takes over and reads from `again_from`."""
    history = History(group=group).member("member-1").member("member-2")
    history.told("member-1", "assigned", 0, [0]).told("member-1", "lost", 9_000, [0])
    for batch in range(3):
        history.delivered("member-1", 0, batch * 100, batch * 100 + 99, 1_000 + batch * 2_000)
    if committed:
        history.commit_request("member-1", 4_500, 0, committed)
    history.told("member-2", "assigned", 9_500, [0])
    return history.delivered("member-2", 0, again_from, 399, 10_000)


def test_one_batch_again_fits_sync_commits(judge: Judge) -> None:
    verdict = judge(handed_over(200, committed=200), "X32d")
    assert ("HOLDS", 100) == (verdict["verdict"], verdict["measured_max"])


def test_three_batches_again_do_not_fit_sync_commits(judge: Judge) -> None:
    verdict = judge(handed_over(0), "X32d")
    assert ("VIOLATED", 300) == (verdict["verdict"], verdict["measured_max"])


def test_batches_whose_commits_failed_may_come_again(judge: Judge) -> None:
    history = handed_over(0).asked_commit("member-1", 1_100, 0, 100, error=None)
    assert "HOLDS" == judge(history.asked_commit("member-1", 3_100, 0, 200, 16), "X32d")["verdict"]


def test_what_an_auto_commit_interval_leaves_open_may_come_again(judge: Judge) -> None:
    history = handed_over(100, commit="auto", auto_commit_interval_ms=1_000)
    assert "HOLDS" == judge(history, "X32d")["verdict"]


def test_more_than_an_auto_commit_interval_leaves_open_violates(judge: Judge) -> None:
    history = handed_over(0, commit="auto", auto_commit_interval_ms=500)
    assert "VIOLATED" == judge(history, "X32d")["verdict"]


def test_without_a_hand_over_x32d_is_unknown(judge: Judge) -> None:
    history = History().member("member-1").told("member-1", "assigned", 0, [0])
    assert "UNKNOWN" == judge(history, "X32d")["verdict"]

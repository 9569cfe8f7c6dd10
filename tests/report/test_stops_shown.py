"""Where the time went: the section of the page, and one line for the terminal."""

from pathlib import Path

from harness.report.headline import of_run
from harness.report.load import load
from harness.report.parts import stops
from harness.report.run.page import page
from tests.report.sample_run import TOPIC, at, stop, write_run


def test_a_change_is_shown_with_its_partitions_and_their_parts(tmp_path: Path) -> None:
    kept = stop(2, 190, 0, stopped=False, new_member="member-1", redelivered=0)
    run = load(
        write_run(tmp_path / "run", stops=[stop(0, 6_000, 4_500), stop(1, 8_000, 2_000), kept])
    )
    (change,) = stops.changes(run)
    assert "Generation 3: kill-consumer member-1" == change.title
    assert "2 partitions stopped, 8.00 s at most; 8 records redelivered" == change.summary
    assert [1, 0] == [row["partition"] for row, _ in change.rows]
    assert [("0.0%", "56.25%"), ("56.25%", "18.75%")] == [
        (part.attributes["x"], part.attributes["width"]) for part in change.rows[1][1]
    ]
    assert "1 partition kept going: 190 ms at most" in change.notes[0]
    text = page(run, of_run(run))
    assert "detection 4.50 s, join 1.50 s" in text


def test_the_longest_stop_is_shown_in_one_line(tmp_path: Path) -> None:
    run = load(write_run(tmp_path / "run", stops=[stop(0, 6_000, 4_500), stop(1, 8_000, 7_990)]))
    assert f"8.00 s of {TOPIC}-1 (kill-consumer member-1): detection 7.99 s" == stops.sentence(run)


def test_what_stood_still_while_the_group_gathered_is_not_the_longest(tmp_path: Path) -> None:
    early = stop(1, 9_000, 0, from_at=at(-9.5), to_at=at(-0.5))
    run = load(write_run(tmp_path / "run", stops=[early, stop(0, 6_000, 4_500)]))
    assert stops.sentence(run).startswith(f"6.00 s of {TOPIC}-0")


def test_a_stop_without_a_rebalance_is_a_change_of_its_own(tmp_path: Path) -> None:
    alone = stop(
        4, 9_000, 0, episode=None, generation=None, trigger=None, cause="kill-broker",
        subject="broker-1", cause_at=at(30), from_at=at(30), other_ms=9_000.0, join_ms=None,
    )  # fmt: skip
    run = load(write_run(tmp_path / "run", stops=[alone, stop(0, 6_000, 4_500)]))
    first, second = stops.changes(run)
    assert first.title.startswith("Generation 3")
    assert "Without a rebalance: kill-broker broker-1" == second.title


def test_epochs_are_called_so(tmp_path: Path) -> None:
    run = load(write_run(tmp_path / "run", stops=[stop(0, 600, 400, protocol="consumer")]))
    (change,) = stops.changes(run)
    assert change.title.startswith("Epoch 3")


def test_a_run_in_which_nothing_stopped_says_so(tmp_path: Path) -> None:
    run = load(write_run(tmp_path / "run", stops=[]))
    assert "no partition stopped" == stops.sentence(run)
    assert "No partition stopped, and the group was not changed." in page(run, of_run(run))

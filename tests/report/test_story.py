"""The sentences at the top of a page: what was broken, and what it cost."""

from pathlib import Path

from harness.report.load import load
from harness.report.parts.record_counts import records
from harness.report.parts.story import story
from tests.report.sample_run import at, stop, write_manifest, write_run


def story_of(run_dir: Path) -> str:
    run = load(run_dir)
    return " ".join(story(run, records(run)))


def fault(
    number: int, kind: str, resolved: str, second: float, healed: float | None
) -> list[dict[str, object]]:
    row = {"fault": f"{number}-{kind}", "kind": kind, "target": "any", "resolved": resolved}
    phases = [("injected", second), ("healed", healed)]
    return [row | {"phase": name, "at": at(when)} for name, when in phases if when is not None]


def test_a_story_says_what_was_broken_and_what_it_cost(tmp_path: Path) -> None:
    faults = fault(1, "freeze-consumer", "member-1", 8.2, 20.2)
    run_dir = write_run(tmp_path / "run", faults=faults, stops=[stop(0, 6_000, 4_500)])

    assert (
        "After steady state came freeze-consumer of member-1 (at 8.200 s, for 12.00 s). "
        "The group went through 6 rebalances and evicted 2 members. "
        "orders-0 stopped for longest, 6.00 s: detection 4.50 s, join 1.50 s. "
        "Of 17,406 acknowledged records none were lost and 173 were redelivered."
    ) == story_of(run_dir)


def test_three_faults_are_named_and_the_others_counted(tmp_path: Path) -> None:
    faults = [
        row for n in range(5) for row in fault(n, "kill-broker", f"broker-{n}", 2.0 * n, None)
    ]
    text = story_of(write_run(tmp_path / "run", faults=faults))

    assert "kill-broker of broker-2 (at 4.000 s) and 2 more faults." in text
    assert "broker-3" not in text


def test_a_baseline_and_a_group_that_never_stopped_say_so(tmp_path: Path) -> None:
    text = story_of(write_run(tmp_path / "run", faults=[], stops=[]))

    assert text.startswith("Nothing was broken. ")
    assert "No partition stopped." in text


def test_what_was_not_recorded_is_left_out(tmp_path: Path) -> None:
    text = story_of(write_run(tmp_path / "run", faults=None, stops=None, sends=None))

    assert "Which faults were injected was not recorded." in text
    assert "stopped" not in text
    assert "acknowledged" not in text


def test_a_void_run_has_no_story(tmp_path: Path) -> None:
    write_manifest(tmp_path, status="void", status_reason="It fell over.")

    assert "" == story_of(tmp_path)

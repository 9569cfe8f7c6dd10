from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests import cases
from tests.commands import python
from tests.consumer_histories import Group
from tests.histories import History, at, java, member_id
from tests.notation import history_of, value

TEXT = """\
# About failures.
let failed: java; event member-1 heartbeat_failed 10_000;
    event member-1 coordinator_found 10_500

R09 A failed heartbeat is repeated
# Within the longest backoff.
  failed; event {member} heartbeat_sent {ms}
  member-1  10_700 | UNKNOWN
  member-1  12_500 | HOLDS
    ✓ of another time
  member-1  12_501 |
  failed
  heartbeats member-1 16_000
  | UNKNOWN
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10_000", 10_000),
        ("-0.5", -0.5),
        ("-", None),
        ("True", True),
        ("broker-1.log:3", "broker-1.log:3"),
        ("'two words; and | more'", "two words; and | more"),
        (r'"it\"s"', 'it"s'),
        ("'10'", "10"),
        ("@1_500", at(1_500)),
        ("[1,'a,b',[]]", [1, "a,b", []]),
        ("{epoch:-1,'a b':{c:x}}", {"epoch": -1, "a b": {"c": "x"}}),
        ("t[0,1]", [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]),
        ("member-1#2", member_id("member-1", 2)),
    ],
)
def test_a_word_is_a_value(text: str, expected: object) -> None:
    assert expected == value(text)


def test_steps_make_the_history_that_calls_make() -> None:
    made = history_of(
        "group protocol=cooperative; end_ms 70_000; member member-1; sync member-1 5 assigned=t[0];"
        "change requests -1 error_code=27; event member-1 revoked 10 [0]; clear client_events"
    )
    expected = History(group={"protocol": "cooperative"}, end_ms=70_000).member("member-1")
    expected.sync("member-1", 5, assigned=[{"topic": "t", "partition": 0}], error_code=27)

    assert expected.manifest() == made.manifest()
    assert expected.rows == made.rows
    assert java().rows == history_of("java").rows
    assert isinstance(history_of("group-of-kip848; bumped 10 2"), Group)
    assert {"a": 1, "b": {"c": 2}} == {
        name: each
        for name, each in history_of("in_manifest a=1 b={c:2} claim=-").manifest().items()
        if name in ("a", "b", "claim")
    }


def test_a_case_has_its_history() -> None:
    found, known = cases.read(TEXT)

    assert ["failed"] == [*known]
    assert 4 == len(found)
    first, _, _, last = found
    assert ("R09", "A failed heartbeat is repeated") == first.statement
    assert "failed; event member-1 heartbeat_sent 10_700" == first.history
    assert "failed; heartbeats member-1 16_000" == last.history
    expected = java().event("member-1", "heartbeat_failed", 10_000)
    expected.event("member-1", "coordinator_found", 10_500)
    expected.event("member-1", "heartbeat_sent", 10_700)
    assert expected.rows == history_of(first.history, known).rows


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (history_of, "member member-1; jump 3", "step `jump 3`: there is no such step"),
        (history_of, "member", "step `member`: .* missing 1 required positional argument"),
        (history_of, "event member-1 revoked soon", "step `event member-1 revoked soon`: "),
        (history_of, "_set group", "there is no such step"),
        (cases.read, "R09 Few\n  java; tick {ms}\n  | UNKNOWN\n", r"line 3 has 0 values for \['ms"),
        (cases.read, "R09 Too many\n  java\n  1  2 | UNKNOWN\n", "line 3 has 2 values for"),
        (cases.read, "a line\n", r"line 1 is no statement \(R09 …\), step or case: a line"),
        (cases.read, "  java\n", "line 1 is no statement"),
    ],
)
def test_a_wrong_step_or_line_is_named(
    read: Callable[[str], object], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(text)


def row(measured: float = 200.0, **changes: Any) -> dict[str, Any]:
    moment: datetime = at(10_700)
    return {
        "subject": "member-1", "at": moment, "ok": True, "measured": measured, "bound_low": None,
        "bound_high": 1_350.0, "guard_from": None, "guard_to": moment, "why": None, "excused": None,
        **changes,
    }  # fmt: skip


def test_what_a_case_gives_is_written_beside_its_values() -> None:
    long = row(2_000, ok=False, guard_from=at(10_500), why="repeated its heartbeat " + "late " * 12)
    verdicts = [{"verdict": "HOLDS", "rows": [row()]}, {"verdict": "VIOLATED", "rows": [long]}]
    holds, violated = map(cases.result_of, verdicts)
    begins = [case.begin for case in cases.read(TEXT)[0]]
    results = dict(zip(begins, (holds, violated, violated, ("UNKNOWN",)), strict=True))

    once = cases.rewritten(TEXT, results)

    assert [
        "  member-1  10_700 | HOLDS | ✓ member-1 @10700: 200 of ..1350",
        "  member-1  12_500 | VIOLATED",
        f"    ✗ member-1 @10700: 2000 of ..1350, guard 10500..10700; {long['why'].strip()}",
        "  member-1  12_501 | VIOLATED | as above",
    ] == once.splitlines()[7:11]
    assert once.splitlines()[:7] == TEXT.splitlines()[:7]
    assert [holds, violated, violated, ("UNKNOWN",)] == [
        each.result for each in cases.read(once)[0]
    ]
    assert once == cases.rewritten(once, {})


def test_a_case_that_gives_what_it_says_is_not_written_anew() -> None:
    text = "R09 A\n  java\n  | HOLDS | ✓ a\nR09 B\n  java\n  | HOLDS | as above\n"
    first, second = (case.begin for case in cases.read(text)[0])

    assert text == cases.rewritten(text, {first: ("HOLDS", "✓ a"), second: ("HOLDS", "✓ a")})
    assert text.replace("✓ a", "✓ b").replace("as above", "✓ a") == cases.rewritten(
        text, {first: ("HOLDS", "✓ b")}
    )


@pytest.mark.long(16)
def test_a_case_that_gives_something_else_fails_until_it_is_pinned(tmp_path: Path) -> None:
    file = tmp_path / "failures.cases"
    file.write_text(TEXT, encoding="utf-8")

    def played(*options: str) -> tuple[int, str]:
        done = python(
            *("-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *(f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", *options, str(file)),
        )
        return done.returncode, done.stdout + done.stderr

    code, output = played()
    assert (1, True) == (code, "3 failed, 1 passed" in output), output
    assert "R09 judges this history otherwise: failed; event member-1 heartbeat_sent" in output
    assert "make pin ONLY=failures.cases" in output
    code, output = played("--snapshot-update", "--numprocesses", "2")
    assert (0, True) == (code, f"{file}: written anew" in output), output
    assert "  member-1  10_700 | HOLDS | ✓ member-1 @10700: 200 of ..1350" in file.read_text()
    assert (0, True) == ((again := played())[0], "4 passed" in again[1])

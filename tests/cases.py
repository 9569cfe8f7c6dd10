"""Collects `*.cases`: hand-written histories (`notation`), and what a rule makes of each.

    # A comment.
    let failed: java; event member-1 heartbeat_failed 10_000

    R09 A failed heartbeat is repeated within the longest backoff and a tick
      failed; event member-1 heartbeat_sent {ms}
      10_700 | HOLDS | ✓ member-1 @10700: 700 of ..1350
      12_500 | VIOLATED
        ✗ member-1 @12500: 2500 of ..1350, guard 10000..12500; repeated its heartbeat too late
      9_000 | UNKNOWN

`let` names steps. A statement is a rule's id and a title; below it stand steps, and a line for each
case: the values that take the places of `{names}` in the steps, in the order in which those come,
two spaces between them, and what follows: the verdict and the judged rows, each with its subject,
moment, measured number, bounds, guard, and why. Other steps below the cases begin another history
of the same statement. `make pin` writes what follows anew, also where nothing stands behind the `|`
yet; the difference is read as code is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from harness.experiment import APP
from harness.tables.engines.contract import Engine
from harness.tables.many_runs import One
from harness.tables.source import run_of
from tests.histories import History, after, judged, judged_as, many_of
from tests.notation import history_of

SUFFIX: Final = ".cases"
WIDTH: Final = 100
_LET: Final = re.compile(r"let (?P<name>[\w-]+): (?P<steps>.+)")
_STATEMENT: Final = re.compile(r"(?P<rule>[A-Z]+\d\S*) (?P<title>\S.*)")
_CASE: Final = re.compile(
    r"  (?P<values>.*?) ?\|(?: (?P<result>(?:HOLDS|VIOLATED|UNKNOWN)(?: \| .*)?))?"
)
_AS_ABOVE: Final = "as above"
_PLACE: Final = re.compile(r"\{([a-z_]\w*)\}")
_VALUE: Final = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|(?!  ).)+""")
_MEMBER_ID: Final = re.compile(r"([\w.-]+?)-00000000-0000-4000-8000-0{0,11}(\d+)")
_SIGNS: Final = {True: "✓", False: "✗", None: "?"}
_FOUND = pytest.StashKey[dict[str, dict[int, "Result"]]]()  # by file and line, what cases give
_SENT: Final = "cases"  # the same, as a process of pytest-xdist hands it over


Result = tuple[str, ...]  # the verdict, and a line for each judged row


@dataclass(frozen=True)
class Written:
    """A case as it stands in its file, in the lines from `begin` to before `end`."""

    rule: str
    title: str
    values: str
    history: str  # the steps, with the values
    result: Result
    begin: int
    end: int

    @property
    def statement(self) -> tuple[str, str]:
        """What it is a case of."""
        return self.rule, self.title


def read(text: str) -> tuple[list[Written], dict[str, str]]:
    """The cases of a file, and the steps that its names stand for.

    Raises ValueError for a line that is none of them.
    """
    lines = text.splitlines()
    known: dict[str, str] = {}
    cases: list[Written] = []
    rule = title = steps = ""
    closed = False  # a case stands below the steps
    number = 0
    while number < len(lines):
        line, begin = lines[number], number
        number += 1
        while number < len(lines) and lines[number].startswith("    "):
            number += 1
        more = [each.strip() for each in lines[begin + 1 : number]]
        if found := _LET.fullmatch(line):
            known[found["name"]] = " ".join([found["steps"], *more])
        elif found := _STATEMENT.fullmatch(line):
            rule, title, steps = found["rule"], found["title"], ""
        elif found := _CASE.fullmatch(line):
            values = found["values"].strip()
            filled = _filled(steps, values, where=begin + 1)
            result = (*found["result"].split(" | "), *more) if found["result"] else ()
            if result[1:] == (_AS_ABOVE,):
                result = cases[-1].result
            cases.append(Written(rule, title, values, filled, result, begin, number))
            closed = True
        elif line.startswith("  ") and rule:
            joined = " ".join([line.strip(), *more])
            steps = f"{steps}; {joined}" if steps and not closed else joined
            closed = False
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"line {begin + 1} is no statement (R09 …), step or case: {line}")
    return cases, known


def _filled(steps: str, values: str, where: int) -> str:
    places = list(dict.fromkeys(_PLACE.findall(steps)))
    given = [each.strip() for each in _VALUE.findall(values)]
    if len(places) != len(given):
        raise ValueError(f"line {where} has {len(given)} values for {places}")
    by_name = dict(zip(places, given, strict=True))
    return _PLACE.sub(lambda found: by_name[found[1]], steps)


def result_of(verdict: Mapping[str, Any]) -> Result:
    """What a case says of this verdict and its rows."""
    return (str(verdict["verdict"]), *sorted(map(_row, verdict["rows"])))


def _lines(case: Written, result: Result, above: Result | None) -> list[str]:
    """A case in one line where it fits, else each row in a line of its own."""
    first = f"  {case.values} | {result[0]}" if case.values else f"  | {result[0]}"
    if result[1:] and result == above:
        return [f"{first} | {_AS_ABOVE}"]
    line = " | ".join([first, *result[1:]])
    return [line] if len(line) <= WIDTH else [first, *(f"    {row}" for row in result[1:])]


def _row(row: Mapping[str, Any]) -> str:
    text = f"{_SIGNS[row['ok']]} {row['subject']}"
    if row["at"] is not None:
        text += f" @{_moment(row['at'])}"
    numbers = _number(row["measured"])
    if row["bound_low"] is not None or row["bound_high"] is not None:
        numbers += f" of {_range(_number(row['bound_low']), _number(row['bound_high']))}"
    if numbers:
        text += f": {numbers}"
    if row["guard_from"] or (row["guard_to"] and row["guard_to"] != row["at"]):
        text += f", guard {_range(_moment(row['guard_from']), _moment(row['guard_to']))}"
    why = (row["why"] or "").strip()
    if row["excused"]:
        why = f"excused: {why}"
    return _text(f"{text}; {why}" if why else text)


def _text(text: str) -> str:
    """With member ids as the notation has them."""
    return _MEMBER_ID.sub(r"\1#\2", text)


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low}..{high}"


def _moment(moment: datetime | None) -> str:
    return _number(after(moment))


def _number(number: float | None) -> str:
    return "" if number is None else repr(round(float(number), 6)).removesuffix(".0")


class Cases(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test of each case."""
        try:
            cases, known = read(self.path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise self.CollectError(f"{self.path}: {error}") from error
        self.known = known
        self._runs: dict[str, dict[Case, One]] = {}  # by engine
        self._open = ExitStack()
        names: Counter[str] = Counter()
        self.cases = []
        for each in cases:
            name = f"{each.rule} {each.title} [{each.values}]"
            names[name] += 1
            if names[name] > 1:
                name += f" {names[name]}"
            self.cases.append(Case.of(self, name, each))
        yield from self.cases

    def history(self, case: Written) -> History:
        """What its steps make."""
        return history_of(case.history, self.known)

    def judged(self, case: Case, engine: Engine) -> dict[str, Any]:
        """The verdict of a case, by a query that is asked of the histories of all cases at once."""
        if engine.name not in self._runs:
            self._runs[engine.name] = self._datasets(engine)
        return judged_as(self._runs[engine.name][case], case.rule)

    def _datasets(self, engine: Engine) -> dict[Case, One]:
        """Two of them: programs have other tables than our own consumers."""
        found: dict[Case, One] = {}
        histories = {case: case.history for case in self.cases}
        runs = {case: run_of(history.manifest()) for case, history in histories.items()}
        for of_programs in (True, False):
            cases = [case for case, run in runs.items() if (run.client == APP) is of_programs]
            if cases:
                many = many_of([(runs[case], histories[case]) for case in cases], engine)
                self._open.callback(many.close)
                found |= {case: One(many, number) for number, case in enumerate(cases)}
        return found

    def teardown(self) -> None:
        """Forget the histories."""
        self._open.close()
        self._runs.clear()


class Case(pytest.Function):
    """One history, and what the rule makes of it."""

    written: Written

    @classmethod
    def of(cls, parent: Cases, name: str, case: Written) -> Case:
        """A test of this case."""
        made: Case = cls.from_parent(parent, name=name, callobj=_judge_one)
        made.written = case
        return made

    @property
    def rule(self) -> str:
        """The rule's id."""
        return self.written.rule

    @property
    def history(self) -> History:
        """Its history, made anew."""
        assert isinstance(self.parent, Cases)
        return self.parent.history(self.written)

    def found(self, engine: Engine) -> dict[str, Any]:
        """The verdict."""
        if self.config.getoption("--one-by-one"):
            return judged(self.history, engine, self.rule)
        assert isinstance(self.parent, Cases)
        return self.parent.judged(self, engine)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands."""
        return self.path, self.written.begin, self.name

    def keep(self, result: Result) -> None:
        """Have the file say so, when all tests have run."""
        found = self.config.stash.setdefault(_FOUND, {})
        found.setdefault(str(self.path), {})[self.written.begin] = result


def _judge_one(request: pytest.FixtureRequest, first_engine: Engine) -> None:
    case = request.node
    result = result_of(case.found(first_engine))
    if request.config.getoption("update_snapshots"):
        case.keep(result)
        return
    assert result == case.written.result, (
        f"{case.rule} judges this history otherwise: {case.written.history}\n"
        f"if that is right, run `make pin ONLY={case.nodeid.partition('::')[0]}`"
    )


def collected(path: Path, parent: pytest.Collector) -> Cases | None:
    """The tests of a file of cases, and nothing of another file."""
    if path.suffix != SUFFIX:
        return None
    made: Cases = Cases.from_parent(parent, path=path)
    return made


def handed_over(config: pytest.Config) -> tuple[str, dict[str, dict[int, Result]]]:
    """What a process of pytest-xdist sends of the cases that give something else, and its name."""
    return _SENT, config.stash.get(_FOUND, {})


def take(config: pytest.Config, sent: Mapping[str, Any]) -> None:
    """Take what such a process sent."""
    found = config.stash.setdefault(_FOUND, {})
    for path, lines in sent.get(_SENT, {}).items():
        found.setdefault(path, {}).update(lines)


def write(config: pytest.Config) -> list[str]:
    """Write into their files what cases gave instead; the files that are others now."""
    changed = []
    for path, given in sorted(config.stash.get(_FOUND, {}).items()):
        before = Path(path).read_text(encoding="utf-8")
        after = rewritten(before, given)
        if after != before:
            Path(path).write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def rewritten(text: str, results: Mapping[int, Result]) -> str:
    """The text with these results of the cases that begin in these lines; others stay."""
    lines = text.splitlines()
    cases, _ = read(text)
    now = [results.get(case.begin, case.result) for case in cases]
    other = [case.result != result for case, result in zip(cases, now, strict=True)]
    for number, case in reversed([*enumerate(cases)]):
        if other[number] or (number > 0 and other[number - 1]):
            follows = number > 0 and cases[number - 1].statement == case.statement
            above = now[number - 1] if follows else None
            lines[case.begin : case.end] = _lines(case, now[number], above)
    return "\n".join([*lines, ""])

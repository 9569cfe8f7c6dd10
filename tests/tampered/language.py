"""Changes of histories as text (the files in `changes/`): which rows, and what becomes of them.

    a commit waits after a takeover -> X61 in CLASSIC
        load = last line loaded
        first OFFSET_COMMIT where arrived_at > load.at: processed_at += ms(7_000)

The first line has a title, the rules of which one at least has to notice the change, and beginnings
of names of runs; a name in capitals is that of a list above it ("CLASSIC = baseline. java-poll.").
With "or doubt" before "in", a rule that judges fewer rows than before will do. Each step after it
is one of these; a line that is indented further goes on with the one above it:

    ROWS                    they have to be there
    ROWS: STATEMENTS        done to each of them
    name = ROWS             or any value
    some name of ROWS       all further steps, with the first row for which they find theirs
    needs CONDITION
    do STATEMENT

Statements are Python. Columns of the row are names in them, and so is what steps above it named;
`its` is what a probe's call was answered, and `again`, `copy`, `remove` and others (doing.py) are
about the row; `word` is the last one of the title, of which several may share their steps. ROWS are
[PICK] SOURCE [where CONDITION] [by KEY]. A pick (first, middle, last, least, most, drawn) is one
row, which has to be there; what is `drawn`, and a value of `draw(VALUES)`, depends on a seed. A
source is a file of the history; calls of the group's members that were accepted, or `any` of them,
by their names (OFFSET_COMMIT); `line` or `note` and names of events of the coordinator or of
clients; or Python, such as a function of selections.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from inspect import getmembers, isfunction
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from tests.tampered import clocks, doing, selections
from tests.tampered.history import Change, Kept, NotThere, Row, as_json, json_of, ms

_TITLE: Final = re.compile(r"(?P<name>.+) -> (?P<rules>.+?)(?P<doubt> or doubt)? in (?P<runs>.+)")
_RUNS: Final = re.compile(r"(?P<name>[A-Z_]+) = (?P<runs>.+)")
_BINDING: Final = re.compile(r"(?P<name>\w+) = (?P<value>.+)")
_SOME: Final = re.compile(r"some (?P<name>\w+) of (?P<rows>.+)")
_ROWS: Final = re.compile(
    r"(?:(?P<pick>first|middle|last|least|most|drawn) )?(?P<source>.+?)"
    r"(?: where (?P<where>.+?))?(?: by (?P<key>.+))?"
)
_CALLS: Final = re.compile(r"(?P<any>any )?(?P<names>[A-Z_]+(?: [A-Z_]+)*)")
_EVENTS: Final = re.compile(r"(?P<whose>line|note) (?P<names>[a-z_ ]+)")
_OF_A_RUN: Final = ("own", "lines", "notes", "quiet", "settled", "faulty")
_HELPERS: Final = {"ms": ms, "pairwise": pairwise, "json_of": json_of, "as_json": as_json}
Names = dict[str, Any]


def read(path: Path) -> Iterator[Change]:
    """The changes of a file, in order."""
    runs: dict[str, str] = {}
    titles: list[re.Match[str]] = []
    for block in re.split(r"\n(?=\S)", path.read_text(encoding="utf-8")):
        lines = [line for line in block.splitlines() if line.strip() and line[0] != "#"]
        if not lines:
            continue
        title, *steps = re.sub(r"\n {8,}", " ", "\n".join(lines)).splitlines()
        if found := _RUNS.fullmatch(title):
            runs[found["name"]] = _resolved(found["runs"], runs)
        elif found := _TITLE.fullmatch(title):
            titles.append(found)
        else:
            raise ValueError(f"{path.name}: {title}")
        for found in titles if steps else ():
            edit = partial(_changed, tuple(step.strip() for step in steps), found["name"])
            rules = () if found["rules"] == "none" else tuple(found["rules"].split())
            starts = tuple(_resolved(found["runs"], runs).split())
            yield Change(found["name"], edit, rules, starts, bool(found["doubt"]))
        titles = [] if steps else titles


def _resolved(words: str, runs: Mapping[str, str]) -> str:
    return " ".join(runs.get(word, word) for word in words.split())


def _changed(steps: tuple[str, ...], title: str, kept: Kept) -> None:
    """Do these steps to a history."""
    names: Names = {name: getattr(kept, name) for name in _OF_A_RUN}
    names |= {**_bound(selections, kept), **_bound(clocks, kept), **_HELPERS}
    names |= {"kept": kept, "settings": kept.run.settings, "consumers": kept.members()}
    names["draw"] = lambda *values: kept.chance.choice(values)
    _go(steps, kept, {**names, "word": title.split()[-1]})


def _bound(module: ModuleType, *about: object) -> Names:
    """The functions of a module, about this history or row."""
    return {name: partial(each, *about) for name, each in _functions(module)}


@cache
def _functions(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    own = getmembers(module, lambda each: getattr(each, "__module__", "") == module.__name__)
    return [(name, each) for name, each in own if isfunction(each)]


def _go(steps: tuple[str, ...], kept: Kept, names: Names) -> None:
    for number, step in enumerate(steps):
        if found := _SOME.fullmatch(step):
            for row in _rows(found["rows"], kept, names):
                try:
                    _go(steps[number + 1 :], kept, {**names, found["name"]: row})
                except NotThere:
                    continue
                return
            raise NotThere(f"no {found['rows']}")
        _step(step, kept, names)


def _step(step: str, kept: Kept, names: Names) -> None:
    if step.startswith("needs "):
        if not _value(step.removeprefix("needs "), names):
            raise NotThere(f"not: {step}")
    elif step.startswith("do "):
        exec(_compiled(step.removeprefix("do "), "exec"), names)
    elif found := _BINDING.fullmatch(step):
        names[found["name"]] = _rows(found["value"], kept, names)
    else:
        chosen, _, statements = step.partition(": ")
        rows = _rows(chosen, kept, names)
        for row in [rows] if isinstance(rows, dict) else list(rows) if statements else ():
            _do(statements, kept, names, row)  # which may add rows to the same file


def _rows(text: str, kept: Kept, names: Names) -> Any:
    """The row, rows or value that a text is about."""
    found = _ROWS.fullmatch(text)
    assert found, text
    rows = _source(found["source"], kept, names)
    if found["where"]:
        own = dict(names)
        rows = [row for row in rows if _of_row(found["where"], own, row)]
    pick, key = found["pick"], found["key"]
    if key:
        own = dict(names)
        keys = [_of_row(key, own, row) for row in rows]
        order = sorted(range(len(rows)), key=keys.__getitem__)
        if pick == "most":  # the first of those that are equal, as max
            order.sort(key=keys.__getitem__, reverse=True)
        rows = [rows[place] for place in order]
    if not pick:
        return rows
    if not rows:
        raise NotThere(f"no {text}")
    if pick == "drawn":
        return kept.chance.choice(rows)
    return rows[{"last": -1, "middle": len(rows) // 2}.get(pick, 0)]


def _source(text: str, kept: Kept, names: Names) -> Any:
    if text in kept.files:
        return kept[text]
    if found := _CALLS.fullmatch(text):
        return kept.own(*found["names"].split(), error=None if found["any"] else 0)
    if found := _EVENTS.fullmatch(text):
        events = found["names"].split()
        return kept.lines(*events) if found["whose"] == "line" else kept.notes(*events)
    return _value(text, names)


@cache
def _compiled(text: str, mode: str) -> CodeType:
    return compile(text, "<change>", mode)


def _value(text: str, names: Names) -> Any:
    return eval(_compiled(text, "eval"), names)


def _of_row(text: str, names: Names, row: Row) -> Any:
    names.update(row)
    return _value(text, names)


def _do(statements: str, kept: Kept, names: Names, row: Row) -> None:
    """Run statements in which the row's columns are names; what they make of these is kept."""
    before = dict(row)
    own = {**names, **_bound(doing, kept, row), "row": row, **before}
    if answer := row.get("answer"):
        own["its"] = json_of(answer)
    exec(_compiled(statements, "exec"), own)
    if answer:
        own["answer"] = as_json(own["its"])
    for name, was in before.items():
        if own[name] is not was:
            row[name] = own[name]

"""Two runs, two sets of repeats or two nights side by side, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.many import compare
from harness.report.many.blocks import Block, Column, Line, Row, in_terminal
from harness.report.many.compare import Beside, Compared, Comparison, Setting, verdict_of
from harness.report.many.numbers import Spread
from harness.report.text.columns import show, width_of
from harness.report.words import NOTHING, number, spread

MOST_TABLES: Final = 6  # of the runs of a sweep, or of a few experiments
_SIDES: Final = (Column("A", free=True), Column("B", free=True))
_SETTING: Final = (Column("setting", free=True), *_SIDES)
_ALIKE: Final = "set up alike"


def print_compared(
    compared: Compared, console: Console | None = None, *, each_run: bool = False
) -> None:
    """Print what differs in settings, then every rule and every figure side by side.

    Of more than MOST_TABLES, which are two nights, what differs over all their runs; and the tables
    of `each_run` only if that is asked for.
    """
    console = console or Console(highlight=False)
    many = len(compared.pairs) > MOST_TABLES
    blocks = list(_of_nights(compared)) if many else []
    if each_run or not many:
        blocks += [block for pair in compared.pairs for block in _of_pair(pair)]
    worse = Line(f"got worse: {', '.join(compared.worse)}", "bad")
    ending = [
        *(Line(f"only in A: {label}") for label in compared.only_a),
        *(Line(f"only in B: {label}") for label in compared.only_b),
        worse if compared.worse else Line("no verdict got worse", "as-expected"),
    ]
    blocks.append(Block("", "", notes=ending))
    sides = [Text(f"A  {compared.path_a}"), Text(f"B  {compared.path_b}")]
    show(console, [*sides, *in_terminal(blocks, width_of(console))])


def _block(
    heading: str, columns: Sequence[str | Column], rows: Sequence[Row], none: str = ""
) -> Block:
    """A table, or what is said where it has no rows."""
    if not rows:
        return Block("", "", notes=(Line(none),) if none else ())
    return Block("", heading, columns=columns, rows=rows)


def _of_pair(pair: Comparison) -> Iterator[Block]:
    sides = [f"{group.label} ({plural(len(group.verdicts), 'run')})" for group in (pair.a, pair.b)]
    alike = _ALIKE
    if not (pair.a.judged and pair.b.judged):
        missing = "B" if pair.a.judged else "A"
        alike = f"no run of {missing} was judged, so there are no settings to compare"
    yield Block(
        "",
        " against ".join(dict.fromkeys(sides)),
        columns=_SETTING,
        rows=[_setting(each) for each in pair.settings],
        notes=() if pair.settings else (Line(alike),),
    )
    rule, measured = Column("rule", free=True), Column("measured", free=True)
    rules = [_rule(each) for each in pair.rules]
    yield _block("rules", (rule, "A", measured, "B", measured, "unit"), rules)
    rows = [Row((f.name, measured_text(f.a), measured_text(f.b), f.unit)) for f in pair.figures]
    yield _block("figures", (Column("figure", free=True), *_SIDES, "unit"), rows)


def _setting(setting: Setting, *more: str) -> Row:
    return Row((setting.name, setting.a or NOTHING, setting.b or NOTHING, *more))


def _marked(each: Beside, name: str) -> tuple[Line, str]:
    """A name with the sign of what became of it, and its tone."""
    if each.worse:
        return Line(name, sign="✗"), "bad"
    moved = each.changed or bool(each.moved)
    return Line(name, sign="≠" if moved else ""), "result" if moved else ""


def _rule(each: Beside) -> Row:
    name, tone = _marked(each, each.name)
    sides = [text for side in (each.a, each.b) for text in (verdict_of(side), measured_text(side))]
    return Row((name, *sides, each.unit), tone)


def measured_text(side: Spread | None) -> str:
    """Median and range of a side: "2,004 (1,998 – 2,010)", or one number."""
    return spread(side.values, number) if side else NOTHING


def _of_nights(compared: Compared) -> Iterator[Block]:
    both = f"{plural(len(compared.pairs), 'run')} that both have, by experiment and protocol"
    yield Block("", both)
    settings = compare.settings_over(compared).items()
    yield _block(
        "settings that differ, and in how many runs",
        (*_SETTING, "runs"),
        [_setting(each, str(runs)) for each, runs in settings],
        _ALIKE,
    )
    changed = [
        Row((where, each.name, verdict_of(each.a), verdict_of(each.b)), tone)
        for pair in compared.pairs
        for each in pair.rules
        if each.changed
        for where, tone in [_marked(each, pair.b.label)]
    ]
    yield _block(
        "verdicts that differ",
        (Column("run", free=True), "rule", *_SIDES),
        changed,
        "every rule has the same verdict in both, run by run",
    )
    moved = []
    for shift in compare.shifts(compared):
        lower = shift.runs - shift.higher
        way, count = ("higher", shift.higher) if shift.higher > lower else ("lower", lower)
        change = "" if shift.change is None else f"{shift.change:+.0%}"
        moved.append(Row((shift.name, shift.unit, way, f"{count} of {shift.runs}", change)))
    yield _block(
        "numbers that are higher, or lower, in nearly all runs",
        ("number", "unit", "in B", "of runs", "change"),
        moved,
        "no number is higher or lower in nearly all runs",
    )

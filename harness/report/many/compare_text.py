"""Two runs, two sets of repeats or two nights side by side, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.many.blocks import Block, Line, Row, Table, TableColumn, in_terminal
from harness.report.many.compare import Beside, Compared, Comparison, Setting, verdict_of
from harness.report.many.compare_nights import settings_over, shifts
from harness.report.many.numbers import Spread
from harness.report.text.columns import show, width_of
from harness.report.words import NOTHING, number

MOST_TABLES: Final = 6  # of the runs of a sweep, or of a few experiments
_SIDES: Final = (TableColumn("A", free=True), TableColumn("B", free=True))
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
    for pair in compared.pairs if each_run or not many else ():
        blocks += _of_pair(pair)
    blocks.append(_ending(compared))
    sides = [Text(f"A  {compared.path_a}"), Text(f"B  {compared.path_b}")]
    show(console, [*sides, *in_terminal(blocks, width_of(console))])


def _block(
    heading: str, columns: Sequence[TableColumn], rows: Sequence[Row], none: str = ""
) -> Block:
    """A table, or what is said where it has no rows."""
    if not rows:
        return Block("", "", notes=(Line(none),) if none else ())
    return Block("", heading, table=Table(columns, rows))


def _ending(compared: Compared) -> Block:
    worse = Line(f"got worse: {', '.join(compared.worse)}", "bad")
    fine = Line("no verdict got worse", "as-expected")
    return Block(
        "",
        "",
        notes=[
            *(Line(f"only in A: {label}") for label in compared.only_a),
            *(Line(f"only in B: {label}") for label in compared.only_b),
            worse if compared.worse else fine,
        ],
    )


def _of_pair(pair: Comparison) -> Iterator[Block]:
    sides = [f"{group.label} ({plural(len(group.verdicts), 'run')})" for group in (pair.a, pair.b)]
    missing = "B" if pair.a.judged else "A"
    alike = _ALIKE
    if not (pair.a.judged and pair.b.judged):
        alike = f"no run of {missing} was judged, so there are no settings to compare"
    yield Block(
        "",
        sides[0] if sides[0] == sides[1] else " against ".join(sides),
        notes=() if pair.settings else (Line(alike),),
        table=Table(
            (TableColumn("setting", free=True), *_SIDES), [_setting(s) for s in pair.settings]
        )
        if pair.settings
        else None,
    )
    names = ("rule", "A", "measured", "B", "measured", "unit")
    columns = [TableColumn(name, free=name in ("rule", "measured")) for name in names]
    yield _block("rules", columns, [_rule(each) for each in pair.rules])
    rows = [Row((f.name, measured_text(f.a), measured_text(f.b), f.unit)) for f in pair.figures]
    yield _block("figures", (TableColumn("figure", free=True), *_SIDES, TableColumn("unit")), rows)


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
    if side is None or side.values.n == 0:
        return NOTHING
    values = side.values
    middle, low, high = (number(value) for value in (values.p50, values.min, values.max))
    return middle if low == high else f"{middle} ({low} – {high})"


def _of_nights(compared: Compared) -> Iterator[Block]:
    both = f"{plural(len(compared.pairs), 'run')} that both have, by experiment and protocol"
    yield Block("", both)
    yield _block(
        "settings that differ, and in how many runs",
        (TableColumn("setting", free=True), *_SIDES, TableColumn("runs")),
        [_setting(each, str(runs)) for each, runs in settings_over(compared).items()],
        _ALIKE,
    )
    changed = []
    for pair in compared.pairs:
        for each in pair.rules:
            if each.changed:
                where, tone = _marked(each, pair.b.label)
                cells = (where, each.name, verdict_of(each.a), verdict_of(each.b))
                changed.append(Row(cells, tone))
    yield _block(
        "verdicts that differ",
        (TableColumn("run", free=True), TableColumn("rule"), *_SIDES),
        changed,
        "every rule has the same verdict in both, run by run",
    )
    moved = []
    for shift in shifts(compared):
        lower = shift.runs - shift.higher
        way, count = ("higher", shift.higher) if shift.higher > lower else ("lower", lower)
        change = "" if shift.change is None else f"{shift.change:+.0%}"
        moved.append(Row((shift.name, shift.unit, way, f"{count} of {shift.runs}", change)))
    yield _block(
        "numbers that are higher, or lower, in nearly all runs",
        [TableColumn(head) for head in ("number", "unit", "in B", "of runs", "change")],
        moved,
        "no number is higher or lower in nearly all runs",
    )

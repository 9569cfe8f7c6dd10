"""Two runs, two sets of repeats or two nights side by side, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.formats import NOTHING, number, spread
from harness.report.many.blocks import Block, Column, Line, Row, in_terminal
from harness.report.many.compare import Beside, Compared, Comparison, settings_over, shifts
from harness.report.many.numbers import Spread
from harness.report.outcome import name_of
from harness.report.text.columns import show, width_of

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
        rows=[_setting(name, *sides) for name, sides in pair.settings.items()],
        notes=() if pair.settings else (Line(alike),),
    )
    rule, numbers = Column("rule", free=True), Column("measured", free=True)
    rules = [_rule(each) for each in pair.rules]
    yield _block("rules", (rule, "A", numbers, "B", numbers, "unit"), rules)
    rows = [Row((f.name, measured(f.a), measured(f.b), f.unit)) for f in pair.figures]
    yield _block("figures", (Column("figure", free=True), *_SIDES, "unit"), rows)


def _setting(name: str, a: str | None, b: str | None, *more: str) -> Row:
    return Row((name, a or NOTHING, b or NOTHING, *more))


def _marked(each: Beside, name: str) -> tuple[Line, str]:
    """A name with the sign of what became of it, and its tone."""
    if each.worse:
        return Line(name, sign="✗"), "bad"
    moved = each.changed or bool(each.moved)
    return Line(name, sign="≠" if moved else ""), "result" if moved else ""


def _rule(each: Beside) -> Row:
    name, tone = _marked(each, name_of(each.name))
    sides = [text for side in (each.a, each.b) for text in (side.verdict, measured(side))]
    return Row((name, *sides, each.unit), tone)


def measured(side: Spread) -> str:
    """Median and range of a side: "2,004 (1,998 – 2,010)", or one number."""
    return spread(side.values, number)


def _of_nights(compared: Compared) -> Iterator[Block]:
    both = f"{plural(len(compared.pairs), 'run')} that both have, by experiment and protocol"
    yield Block("", both)
    yield _block(
        "settings that differ, and in how many runs",
        (*_SETTING, "runs"),
        [
            _setting(each["name"], each["a"], each["b"], str(each["runs"]))
            for each in settings_over(compared)
        ],
        _ALIKE,
    )
    changed = [
        Row((where, name_of(each.name), each.a.verdict, each.b.verdict), tone)
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
    for each in shifts(compared):
        runs, higher, change = each["runs"], each["higher"], each["change"]
        way, count = ("higher", higher) if 2 * higher > runs else ("lower", runs - higher)
        by = "" if change is None else f"{change:+.0%}"
        moved.append(Row((name_of(each["name"]), each["unit"], way, f"{count} of {runs}", by)))
    yield _block(
        "numbers that are higher, or lower, in nearly all runs",
        ("number", "unit", "in B", "of runs", "change"),
        moved,
        "no number is higher or lower in nearly all runs",
    )

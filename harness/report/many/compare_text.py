"""Two runs, two sets of repeats or two nights side by side, for the terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.many.compare import Compared, Comparison, Setting, verdict_of
from harness.report.many.compare_nights import settings_over, shifts
from harness.report.many.numbers import Spread
from harness.report.text.columns import align, show, width_of
from harness.report.words import NOTHING, number

MOST_TABLES: Final = 6  # of the runs of a sweep, or of a few experiments


def print_compared(
    compared: Compared, console: Console | None = None, *, each_run: bool = False
) -> None:
    """Print what differs in settings, then every rule and every figure side by side.

    Of more than MOST_TABLES, which are two nights, what differs over all their runs; and the tables
    of `each_run` only if that is asked for.
    """
    console = console or Console(highlight=False)
    width = width_of(console)
    lines: list[Text] = [Text(f"A  {compared.path_a}"), Text(f"B  {compared.path_b}")]
    many = len(compared.pairs) > MOST_TABLES
    if many:
        lines += _night_lines(compared, width)
    for pair in compared.pairs if each_run or not many else ():
        lines += [Text(), Text(_titled(pair), "bold")]
        lines += _settings_lines(pair, width)
        lines += _rules_lines(pair, width)
        lines += _figures_lines(pair, width)
    lines.append(Text())
    lines += [Text(f"only in A: {label}") for label in compared.only_a]
    lines += [Text(f"only in B: {label}") for label in compared.only_b]
    if compared.worse:
        lines.append(Text(f"got worse: {', '.join(compared.worse)}", "bold red"))
    else:
        lines.append(Text("no verdict got worse", "bold green"))
    show(console, lines)


def _titled(pair: Comparison) -> str:
    sides = [f"{group.label} ({plural(len(group.verdicts), 'run')})" for group in (pair.a, pair.b)]
    return sides[0] if sides[0] == sides[1] else " against ".join(sides)


def _settings_lines(pair: Comparison, width: int) -> list[Text]:
    if not (pair.a.judged and pair.b.judged):
        side = "B" if pair.a.judged else "A"
        return [Text(f"no run of {side} was judged, so there are no settings to compare")]
    if not pair.settings:
        return [Text("set up alike")]
    cells: list[tuple[str, ...]] = [("setting", "A", "B")]
    cells += [_named(setting) for setting in pair.settings]
    return [Text(), *_headed(align(cells, width, free=(0, 1, 2)))]


def _named(setting: Setting) -> tuple[str, ...]:
    return setting.name, *(NOTHING if side is None else side for side in (setting.a, setting.b))


def _rules_lines(pair: Comparison, width: int) -> list[Text]:
    cells: list[tuple[str, ...]] = [("", "rule", "A", "measured", "B", "measured", "unit")]
    for each in pair.rules:
        sign = "✗" if each.worse else "≠" if each.changed or each.moved else ""
        sides = [(verdict_of(side), measured_text(side)) for side in (each.a, each.b)]
        cells.append((sign, each.name, *sides[0], *sides[1], each.unit))
    lines = [Text(), *_headed(align(cells, width, free=(1, 3, 5)))]
    for line, each in zip(lines[2:], pair.rules, strict=True):
        line.stylize("red" if each.worse else "cyan" if each.changed or each.moved else "")
    return lines


def _figures_lines(pair: Comparison, width: int) -> list[Text]:
    cells: list[tuple[str, ...]] = [("figure", "A", "B", "unit")]
    cells += [
        (each.name, measured_text(each.a), measured_text(each.b), each.unit)
        for each in pair.figures
    ]
    return [Text(), *_headed(align(cells, width, free=(0, 1, 2)))]


def _headed(texts: Sequence[str]) -> list[Text]:
    return [Text(texts[0], "bold"), *map(Text, texts[1:])]


def measured_text(side: Spread | None) -> str:
    """Median and range of a side: "2,004 (1,998 – 2,010)", or one number."""
    if side is None or side.values.n == 0:
        return NOTHING
    values = side.values
    middle, low, high = (number(value) for value in (values.p50, values.min, values.max))
    return middle if low == high else f"{middle} ({low} – {high})"


def _night_lines(compared: Compared, width: int) -> Iterator[Text]:
    yield Text()
    yield Text(f"{plural(len(compared.pairs), 'run')} that both have, by experiment and protocol")
    yield from _all_settings_lines(compared, width)
    yield from _verdict_lines(compared, width)
    yield from _shift_lines(compared, width)


def _all_settings_lines(compared: Compared, width: int) -> Iterator[Text]:
    over = settings_over(compared)
    yield Text()
    if not over:
        yield Text("set up alike")
        return
    cells: list[tuple[str, ...]] = [("setting", "A", "B", "runs")]
    for each, runs in over.items():
        cells.append((*_named(each), str(runs)))
    yield Text("settings that differ, and in how many runs")
    yield from _headed(align(cells, width, free=(0, 1, 2)))


def _verdict_lines(compared: Compared, width: int) -> Iterator[Text]:
    changed = [
        (pair.b.label, each) for pair in compared.pairs for each in pair.rules if each.changed
    ]
    yield Text()
    if not changed:
        yield Text("every rule has the same verdict in both, run by run")
        return
    cells: list[tuple[str, ...]] = [("", "run", "rule", "A", "B")]
    for where, each in changed:
        sign = "✗" if each.worse else "≠"
        cells.append((sign, where, each.name, verdict_of(each.a), verdict_of(each.b)))
    yield Text("verdicts that differ")
    lines = _headed(align(cells, width, free=(1,)))
    for line, (_, each) in zip(lines[1:], changed, strict=True):
        line.stylize("red" if each.worse else "cyan")
    yield from lines


def _shift_lines(compared: Compared, width: int) -> Iterator[Text]:
    moved = shifts(compared)
    yield Text()
    if not moved:
        yield Text("no number is higher or lower in nearly all runs")
        return
    cells: list[tuple[str, ...]] = [("number", "unit", "in B", "of runs", "change")]
    for each in moved:
        lower = each.runs - each.higher
        way, count = ("higher", each.higher) if each.higher > lower else ("lower", lower)
        change = "" if each.change is None else f"{each.change:+.0%}"
        cells.append((each.name, each.unit, way, f"{count} of {each.runs}", change))
    yield Text("numbers that are higher, or lower, in nearly all runs")
    yield from _headed(align(cells, width, free=(0,)))

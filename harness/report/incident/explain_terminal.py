"""An incident on a terminal: of each group what drives it, what to look at, and its reasons."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from harness.base.words import plural
from harness.report.incident.explain_view import IncidentView, at, span
from harness.report.incident.findings import Driver, Explained, listed
from harness.report.text.columns import align, show, width_of

MOST_GROUPS = 10
_MOST_LOOKED_AT = 2  # findings of which is said what to look at


def print_view(view: IncidentView, console: Console | None = None) -> None:
    """Print what was found, the busiest groups in full."""
    console = console or Console(highlight=False)
    width = width_of(console)
    lines = [Text(view.headline, "bold"), Text(view.detail)]
    lines += [Text(f"! {note}") for note in view.notes]
    for one in view.groups[:MOST_GROUPS]:
        lines += [Text(), *_group(one, width)]
    if (more := len(view.groups) - MOST_GROUPS) > 0:
        others = (
            f"and {plural(more, 'group')} more, of which none rebalanced more often: --group NAME"
        )
        lines += [Text(), Text(others)]
    show(console, lines)


def _group(one: Explained, width: int) -> Iterator[Text]:
    group = one.group
    counts = [plural(len(group.rebalances), "rebalance"), plural(len(group.removals), "eviction")]
    program = f" ({one.program.name})" if one.program else ""
    yield Text(
        f"{group.name}{program}: {', '.join(counts)}, {at(group.first_at)} to {at(group.last_at)}",
        "bold",
    )
    shown: set[str] = set()
    for storm, findings in one.storms:
        length = span(storm.from_at, storm.to_at)
        count = plural(len(storm.rebalances), "rebalance")
        yield from _said("storm", f"{count} in {length}, from {at(storm.from_at)}", width)
        yield from _findings(_drivers(findings)[:_MOST_LOOKED_AT], width)
        shown.update(finding.cause.name for finding in findings)
    rest = [finding for finding in one.findings if finding.cause.name not in shown]
    left = [each for each in rest if each.cause.sort == "fault" or not shown]
    yield from _findings(left, width, first=not shown)
    cells = [("reason", "times", "who")]
    for finding in one.findings:
        if finding.who:
            who = [name if many == 1 else f"{name} ({many:,})" for name, many in finding.who]
            cells.append((finding.cause.title, str(finding.count), listed(who)))
    if len(cells) > 1:
        head, *rows = align(cells, width - 2, free=(2, 0), right=(1,))
        yield Text()
        yield Text(f"  {head}", "dim")
        yield from (Text(f"  {row}") for row in rows)
        reasons = sum(each.count for each in one.findings if each.who)
        if reasons > len(group.rebalances):
            why = f"{reasons} reasons for {counts[0]}"
            yield Text(f"  {why}: one may be for several members.", "dim")


def _drivers(findings: Sequence[Driver]) -> list[Driver]:
    """What explains a storm: of a fault, that a member came back, and second steps, only follow."""
    if not findings or findings[0].cause.sort != "fault":
        return list(findings)
    return [
        each
        for each in findings
        if each.cause.sort == "fault"
        or (
            (each.cause.sort == "change" and each.cause.name != "joined")
            and each.count >= findings[0].count
        )
    ]


def _findings(findings: Sequence[Driver], width: int, *, first: bool = True) -> Iterator[Text]:
    for place, finding in enumerate(findings):
        yield from _said(
            "cause" if first and place == 0 else "also",
            f"{finding.sentence} {finding.back}".strip(),
            width,
        )
        if place < _MOST_LOOKED_AT:
            for number, sentence in enumerate(finding.next):
                yield from _said("look at" if number == 0 else "", sentence, width)


def _said(name: str, sentence: str, width: int) -> Iterator[Text]:
    """A sentence in lines beside its name."""
    room = max(width - 11, 40)
    for line in wrap(sentence, room, break_long_words=False, break_on_hyphens=False) or [""]:
        yield Text(f"  {name:<8} {line}")
        name = ""

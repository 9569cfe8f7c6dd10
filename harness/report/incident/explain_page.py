"""`explain.html`: one file, no script, nothing loaded from anywhere."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.base.paths import COMMAND
from harness.base.words import plural
from harness.history import store
from harness.history.foreign.events import Log
from harness.report.formats import NOTHING, clip, duration, number
from harness.report.incident.causes import CAUSES
from harness.report.incident.explain_tables import in_order, tables_of
from harness.report.incident.explain_view import IncidentView, at, moment, span, zone
from harness.report.incident.findings import SORTS, STORM_LEAST, STORM_S, Explained
from harness.report.incident.logged import LoggedRebalance, Removal
from harness.report.run.page import Fact, environment
from harness.report.run.page_files import write_whole

PAGE: Final = "explain.html"
MOST_ROWS: Final = 500  # of a table; the files have all
MOST_GROUPS: Final = 50  # that are explained in full
_BARS: Final = 120
_HEIGHT: Final = 40.0


def write_page(folder: Path, view: IncidentView) -> Path:
    """Write the tables and the page into a folder; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = tables_of([one.group for one in view.groups], view.read, view.names)
    for name, table in tables.items():
        store.write(folder / f"{name}.parquet", [table], table.schema)
    path = folder / PAGE
    write_whole(path, page(view))
    return path


def page(view: IncidentView) -> str:
    rebalances, removals = in_order([each.group for each in view.groups])
    return (
        environment()
        .get_template("explain.html.j2")
        .render(
            title="What the brokers and clients logged",
            kind="explain",
            claim="",
            outcome="",
            headline=view.headline,
            detail=view.detail,
            figures=_figures(view, rebalances, removals),
            sections=_SECTIONS,
            made_from="logs of brokers and clients",
            times=zone([log for log in view.read.logs if log.lacks is None]).strip("()"),
            notes=view.notes,
            groups=[_group(view, one) for one in view.groups[:MOST_GROUPS]],
            groups_left_out=max(0, len(view.groups) - MOST_GROUPS),
            rebalances=rebalances,
            removals=removals,
            most_rows=MOST_ROWS,
            at=at,
            causes=CAUSES,
            command=COMMAND,
            who=lambda one: clip(", ".join(map(view.names.of, one.named)), 80) or NOTHING,
            name_of_member=view.names.of,
            place=view.read.place,
            logs=zip(view.read.names, view.read.logs, strict=True),
            note=_note,
            storm=f"{STORM_LEAST} or more rebalances of one group within {STORM_S // 60} minutes",
        )
    )


_SECTIONS: Final = (
    ("groups", "Causes"),
    ("rebalances", "Rebalances"),
    ("evictions", "Evictions"),
    ("logs", "Logs"),
    ("reading", "How to read it"),
)


def _figures(
    view: IncidentView, rebalances: list[LoggedRebalance], removals: list[Removal]
) -> list[Fact]:
    storms = [(storm, one) for one in view.groups for storm, _ in one.storms]
    largest = max(storms, key=lambda each: len(each[0].rebalances), default=None)
    classic = [one for one in rebalances if one.protocol == "classic"]
    lasted = [ms for one in classic if (ms := one.joining_ms) is not None]
    figures = [
        Fact("Rebalances", number(len(rebalances)), plural(len(view.groups), "group")),
        Fact("Evictions", number(len(removals)), "", "bad" if removals else ""),
    ]
    if largest is not None:
        storm, one = largest
        figures.append(
            Fact(
                "Largest storm",
                number(len(storm.rebalances)),
                f"rebalances of {clip(one.group.name, 40)} in {span(storm.from_at, storm.to_at)}",
                "bad",
            )
        )
    if lasted:
        figures.append(Fact("Longest until all had joined", duration(max(lasted))))
    return figures


def _group(view: IncidentView, one: Explained) -> dict[str, object]:
    group = one.group
    whole = [storm for storm, _ in one.storms if len(storm.rebalances) == len(group.rebalances)]
    shown = {finding.cause.name for _, found in one.storms for finding in found} if whole else set()
    return {
        "name": group.name,
        "about": (f"{one.program.name}: " if one.program else "")
        + f"{plural(len(group.rebalances), 'rebalance')}, "
        f"{plural(len(group.removals), 'eviction')}, {plural(len(group.members), 'member id')}, "
        f"coordinated by {plural(len(set(group.coordinators)), 'broker')}; "
        f"{at(group.first_at)} to {at(group.last_at)}",
        "bars": list(_bars(group.rebalances)),
        "storms": [
            {
                "about": f"{plural(len(storm.rebalances), 'rebalance')} in "
                f"{span(storm.from_at, storm.to_at)}",
                "when": f"{at(storm.from_at)} to {at(storm.to_at)}",
                "findings": findings,
            }
            for storm, findings in one.storms
        ],
        "findings": [each for each in one.findings if each.cause.name not in shown],
    }


def _bars(rows: Sequence[LoggedRebalance]) -> Iterator[dict[str, object]]:
    """How many rebalances began when, by the sort of their cause; faults are below."""
    if len(rows) < 2:
        return
    first, last = rows[0].at, max(row.at for row in rows)
    width = max((last - first) / _BARS, 1)
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for row in rows:
        place = min(int((row.at - first) / width), _BARS - 1)
        counts[place][CAUSES[row.cause].sort] += 1
    most = max(each.total() for each in counts.values())
    for place, each in sorted(counts.items()):
        top = _HEIGHT
        began = moment(round(first + place * width))
        for sort in SORTS:
            if count := each[sort]:
                height = _HEIGHT * count / most
                top -= height
                yield {
                    "x": round(place * 100 / _BARS, 2),
                    "y": round(top, 2),
                    "height": round(height, 2),
                    "sort": sort,
                    "text": f"{began:%H:%M:%S}: {plural(count, 'rebalance')}",
                }


def _note(log: Log) -> str:
    clients = f"says who {plural(log.clients, 'client')} are" if log.clients else None
    return "; ".join(filter(None, (log.lacks, clients, *log.damage)))

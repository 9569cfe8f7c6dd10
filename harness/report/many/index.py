"""What a night showed: a page, a Markdown summary, JUnit, one file of verdicts, a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from harness.base.errors import NoData
from harness.base.paths import here
from harness.base.words import plural
from harness.experiment import CLIENTS, PROTOCOLS, label, protocol_said
from harness.history.derived import VERDICTS_FILE
from harness.history.suites import State, Suite, is_suite, load_suite
from harness.report import outcome
from harness.report.formats import NOTHING, clip, duration, names
from harness.report.load import Row as Verdict
from harness.report.many import blocks, documented, suite_rows
from harness.report.many.blocks import Block, Cell, Column, Line, Overview, Row
from harness.report.many.suite_rows import MOST_REASON, Verdicts, differing, link_to
from harness.report.run.page import Fact
from harness.rules import RULES

MOST_ROWS: Final = 200
_MOST_ON_TERMINAL: Final = 20
PAGE: Final = "index.html"
_RULES: Final = Column("rules", below=True)  # their names are long


def write(suite: Suite) -> Overview:
    """Write `index.html`, `summary.md`, `junit.xml` and `verdicts.parquet` of a suite, and what the
    documents say beside what its runs showed of it (`documented.html`, `.md` and `.parquet`).

    Raises NoData where the verdicts of a run that was judged cannot be read.
    """
    verdicts = suite_rows.read_verdicts(suite)
    documented.write(suite.path, list(chain(*verdicts.values())), _see(suite))
    return suite_rows.write_suite(suite, verdicts, shown(suite, verdicts), PAGE, "summary.md")


def _see(suite: Suite) -> documented.See:
    """Links to the runs by which a statement is seen best."""
    links = {entry.folder: link_to(suite, entry) for entry in suite.entries}
    return lambda each: [
        Line(
            protocol_said(label(row["experiment"], row["client"], row["protocol"])),
            link=links[row["folder"]],
        )
        for row in documented.seen_in(each)
    ]


def shown(suite: Suite, verdicts: Verdicts) -> Overview:
    rows, differs = list(chain(*verdicts.values())), _differing(suite, verdicts)
    documents = documented.sentence(documented.judged(rows))
    none = () if differs else (Line("No verdict differs from the expected one."),)
    sentence, changes = since(suite, rows)
    uncovered = f"Not covered by any experiment: {len(suite.uncovered)}."
    runs = suite_rows.runs(suite, verdicts)
    fine = [row for row in runs.rows if row.tone == outcome.Standing.AS_EXPECTED]
    parts = (
        Block(
            "differs",
            "What differs",
            columns=("run", _RULES, "verdict", "expected", Column("why", below=True)),
            rows=differs[:MOST_ROWS],
            notes=(*_left_out(differs), *none, *suite.notes),
            most=_MOST_ON_TERMINAL,
        ),
        Block(
            "since",
            "Since the night before",
            columns=(Column("run", free=True), "rule", "before", "now"),
            rows=changes[:MOST_ROWS],
            notes=(Line(sentence), *_left_out(changes)),
            most=_MOST_ON_TERMINAL,
        ),
        *blocks.split(runs, fine, f"{plural(len(fine), 'run')} as expected"),
        Block(
            "documents",
            "Documented against measured",
            notes=(Line(documents, link="documented.html"),),
        ),
        *_by_client(suite, verdicts),
        Block("uncovered", "", notes=(Line(uncovered),), on=(blocks.MARKDOWN,)),
        _gaps("gaps", "Covered by no experiment", suite.uncovered),
        _gaps("elsewhere", "Covered only by runs that this one leaves out", suite.elsewhere),
    )
    return suite_rows.shown_of(
        suite,
        _title(suite),
        suite_rows.detail_of(verdicts),
        parts,
        _facts(suite, rows),
        files=(("index", here(suite.path / PAGE)),),
    )


def _title(suite: Suite) -> str:
    """The versions of Kafka, how many runs and the day: "Kafka 4.4.0, 107 runs, 2026-11-28"."""
    kafka = " and ".join(sorted({entry.kafka for entry in suite.entries}))
    return f"Kafka {kafka or NOTHING}, {plural(len(suite.entries), 'run')}, {suite.started_at[:10]}"


def _gaps(id_: str, heading: str, goals: Sequence[str]) -> Block:
    notes, said = (", ".join(map(protocol_said, goals)) or "None.",), plural(len(goals), "rule")
    folded = f"{said}, by client and protocol" if goals else ""
    return Block(id_, heading, notes=notes, folded=folded, on=(blocks.PAGE,))


def _differing(suite: Suite, verdicts: Verdicts) -> list[Row]:
    """Verdicts that are not as expected, run by run; those of one run and reason are one row."""
    found = []
    for entry in suite.entries:
        alike: dict[tuple[str, str, str], list[Verdict]] = {}
        for row in differing(verdicts[entry.label]):
            what = outcome.verdict_of(row), outcome.expected_of(row), row["reason"]
            alike.setdefault(what, []).append(row)
        run = Line(protocol_said(entry.label), link=link_to(suite, entry))
        for (verdict, expected, reason), rows in alike.items():
            rules = names([outcome.name_of(row["rule"]) for row in rows])
            said = Line(verdict, "differs", sign=outcome.sign_of(rows[0]))
            found.append(Row((run, rules, said, expected, clip(reason, MOST_REASON)), "differs"))
    return found


def _left_out(rows: Sequence[Row]) -> tuple[str, ...]:
    """What a table leaves to the file of verdicts; none where it has all."""
    hidden = len(rows) - MOST_ROWS
    return () if hidden <= 0 else (f"{hidden:,} more are in verdicts.parquet.",)


def _by_client(suite: Suite, verdicts: Verdicts) -> Iterator[Block]:
    """Every rule, with its worst verdict for each client and protocol; what held is folded, and of
    what was not judged there is the name.
    """
    there = {(entry.client, entry.protocol) for entry in suite.entries}
    columns = [(c, p) for c in CLIENTS for p in PROTOCOLS if (c, p) in there]
    judged: dict[tuple[str, str, str], list[tuple[Verdict, str]]] = {}
    for entry in suite.entries:
        for verdict in suite_rows.shown_in(verdicts[entry.label]):
            key = verdict["rule"], entry.client, entry.protocol
            judged.setdefault(key, []).append((verdict, link_to(suite, entry)))
    rows, held, unjudged = list[Row](), list[Row](), list[str]()
    for rule in RULES.values():
        found = [judged.get((rule.id, *each), []) for each in columns]
        cells: list[Cell] = [
            _worst(every) if every else Line("not judged" if rule.speaks_of(*each) else "", "sub")
            for every, each in zip(found, columns, strict=True)
        ]
        row = Row((outcome.name_of(rule.id), rule.title, *cells))
        standings = {outcome.standing(each) for every in found for each, _ in every}
        if not standings:
            unjudged.append(outcome.name_of(rule.id))
            continue
        rows.append(row)
        held += [row] if standings == {outcome.Standing.AS_EXPECTED} else []
    table = Block(
        "rules",
        "Rules by client and protocol",
        "The worst verdict of all runs, linked to its run, and how many runs judged it. Empty: the "
        "rule is not about this client and protocol.",
        columns=("rule", "", *(f"{client} {protocol_said(of)}" for client, of in columns)),
        rows=rows,
        on=blocks.WRITTEN,
    )
    yield from blocks.split(table, held, f"{plural(len(held), 'rule')} held in every run")
    if unjudged:
        said = f"{plural(len(unjudged), 'rule')} not judged in any run"
        yield Block("", "", folded=said, notes=(", ".join(unjudged),), on=(blocks.PAGE,))


def _worst(found: Sequence[tuple[Verdict, str]]) -> list[Line]:
    """The worst of a rule's verdicts, as `in_order` has them."""
    worst = outcome.in_order([row for row, _ in found])[0]
    link = next(link for row, link in found if row is worst)
    times = f"× {len(found)}" if len(found) > 1 else ""
    verdict = outcome.verdict_of(worst), outcome.standing(worst), link, outcome.sign_of(worst)
    return [Line(*verdict), Line(times, "sub")]


def _facts(suite: Suite, rows: Sequence[Verdict]) -> list[Fact]:
    clocks = {id_ for id_, rule in RULES.items() if rule.clock}
    late = [row["measured_max"] for row in rows if row["rule"] in clocks and row["measured_max"]]
    rows = suite_rows.shown_in(rows)
    bad, unplayed = len(differing(rows)), suite.count(State.VOID, State.FAILED)
    estimate_ms = sum(entry.estimate_s for entry in suite.played) * 1_000
    rules = plural(len({row["rule"] for row in rows}), "rule")
    return [
        Fact("verdicts", f"{len(rows):,}", f"of {rules}"),
        Fact("differ", f"{bad:,}", "verdicts", "bad" if bad else ""),
        Fact("void or failed", str(unplayed), "runs"),
        Fact("this machine", duration(max(late, default=None)), "late at most, in any run"),
        Fact("estimate", duration(estimate_ms)),
    ]


def since(suite: Suite, rows: Iterable[Verdict]) -> tuple[str, list[Row]]:
    """What changed since the night before, in a sentence, and a row for each: run, rule, verdict
    before and now, the worst first. Only runs that both have begun are compared.
    """
    found = night_before(suite)
    if found is None:
        return "There is no night of the same set before this one to compare with.", []
    night, rows_before = found
    was, now = _by_rule(rows_before), _by_rule(rows)
    both = {label for label, _ in was} & {label for label, _ in now}
    changes = []
    for key in sorted({*was, *now}):
        before, after = (
            outcome.verdict_of(found[key]) if key in found else "not judged" for found in (was, now)
        )
        if key[0] in both and before != after:
            row = now.get(key)
            how = outcome.standing(row) if row else outcome.Standing.AS_EXPECTED
            said = Line(after, how, sign=outcome.sign_of(row) if row else "–")
            changes.append(Row((protocol_said(key[0]), outcome.name_of(key[1]), before, said), how))
    changes.sort(key=lambda each: outcome.WORST_FIRST.index(outcome.Standing(each.tone)))
    if not changes:
        return f"No verdict is another one than in {night.name}.", []
    return f"{plural(len(changes), 'verdict')} changed since {night.name}.", changes


def night_before(suite: Suite) -> tuple[Path, Sequence[Verdict]] | None:
    """The last night of the same set in the same folder that began before, and its verdicts.

    One that judged nothing, or whose verdicts are damaged, is passed over.
    """
    if suite.kind != "nightly":
        return None
    folders = sorted(
        path
        for path in suite.path.parent.iterdir()
        if path.name < suite.path.name and not path.is_symlink() and is_suite(path)
    )
    for folder in reversed(folders):
        try:
            found = load_suite(folder)
            judged = any(entry.judged for entry in found.entries)
            if found.kind == suite.kind and found.asked == suite.asked and judged:
                path = folder / VERDICTS_FILE
                return folder, suite_rows.rows_in(path, "an earlier night is compared")
        except (NoData, OSError):
            continue
    return None


def _by_rule(rows: Iterable[Verdict]) -> dict[tuple[str, str], Verdict]:
    """Verdicts by run and rule; a run that was played again is the same run."""
    return {
        (label(row["experiment"], row["client"], row["protocol"]), str(row["rule"])): row
        for row in rows
    }

"""A matrix as Markdown, as a page and on a terminal; all three say the same of every cell."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.base.errors import SetupError
from harness.base.paths import here
from harness.base.words import plural
from harness.history.suites import Suite
from harness.report.load import NAMELESS
from harness.report.many.blocks import (
    MARKDOWN,
    TERMINAL,
    WRITTEN,
    Block,
    Line,
    Overview,
    Row,
    Table,
    TableColumn,
    in_markdown,
    page,
    print_shown,
)
from harness.report.many.blocks import PAGE as ON_PAGE
from harness.report.many.matrix import Cell, Client, End, Matrix, Seen, Sign, matrix_of
from harness.report.many.matrix_record import as_json, for_others, load_matrix, with_runs_of
from harness.report.many.suite_rows import kind_of, read_verdicts, runs
from harness.report.many.verdicts import headline
from harness.report.parts.situations import AT_THE_END, CRASH, IN_SITUATIONS, LOST, MEANINGS
from harness.report.run.files import write_whole
from harness.report.run.page import Fact
from harness.report.words import NOTHING, clip, duration, number, spread

PAGE: Final = "clients.html"
TEXT: Final = "clients.md"
RECORD: Final = "matrix.json"
TITLE: Final = "Client libraries side by side"
_WORDS: Final = {words.rule: words for words in (*IN_SITUATIONS, *AT_THE_END)}
_MOST_REASON: Final = 300


_READING: Final = (
    (
        "The first number of a cell is the longest standstill of any partition that began after "
        "this situation and before the next. It is counted from the start of the situation, or "
        "from when the partition stopped, if that was later, until its next record was read. It is "
        "the median of the runs, with the shortest and the longest in brackets. “None” means that "
        "no partition stood still for longer than it does without a fault; “≥” means that one "
        "still stood when the run ended."
    ),
    (
        "“Came twice” counts the records that the program showed as processed more than once in "
        "that time. “Fetched again” counts for programs that do not show what they process: their "
        "code may have seen those records only once."
    ),
    "n is the number of runs. Where a run has a situation twice, the worse one counts.",
    (
        "What went wrong is named with the number of runs that had it: did not leave in order "
        "(rule P6), did not come back after its removal from the group (P8), went on although it "
        "had learned of its removal (P9). What is found at the end of a run cannot be assigned "
        "to one situation, so it has a column of its own: did not catch up (P1), wedged, which "
        "means that a process ran without working (P7), lost records (P10)."
    ),
    "“Unknown” means that a run could not be judged. It does not mean that all was well.",
)
_CRASH: Final = (
    "The group misses a crashed process only when its session timeout is over, so this timeout "
    "decides the column “crash” more than anything else in a library."
)
_RULES: Final = (
    "Each run is judged by the rules of docs/rules.md; docs/programs.md says where the evidence of "
    "what a program did comes from."
)
_FEW: Final = "A few runs on one machine show what to expect; small differences mean nothing."


def write(suite: Suite) -> None:
    """Write `matrix.json`, `clients.md` and `clients.html` of what there is by now."""
    write_into(suite.path, matrix_of(suite), suite)


def publish(matrix: Matrix, folder: Path) -> Matrix:
    """Add a matrix to the one in this folder, if it has one, and write the same three files there.

    Nothing in them leads to a run, so they can be given away. What the folder has now is handed
    back. Raises NoData where its `matrix.json` cannot be read, SetupError where nothing can be
    written.
    """
    record, matrix = folder / RECORD, for_others(matrix)
    if record.exists():
        matrix = with_runs_of(load_matrix(record), matrix)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_into(folder, matrix)
    except OSError as error:
        raise SetupError(
            f"{here(folder)} cannot be written to ({error.strerror}): choose another --into"
        ) from error
    return matrix


def write_into(folder: Path, matrix: Matrix, suite: Suite | None = None) -> None:
    """Write the three files; the page leads to the runs of its suite, if it is given."""
    texts = {
        RECORD: as_json(matrix),
        TEXT: markdown(matrix),
        PAGE: page(shown(matrix, suite)),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)


def cell_lines(cell: Cell) -> list[Line]:
    """What a cell says, the longest standstill first."""
    if not cell.runs:
        return [_none_of(cell.planned)]
    lines = [Line(_standstill(cell), "main", cell.longest)]
    if cell.never_again:
        lines.append(Line(f"never went on: {_of_runs(cell.never_again, cell.runs)}", "bad"))
    if cell.again.n < cell.runs:
        lines.append(Line(f"records not known: {_of_runs(cell.runs - cell.again.n, cell.runs)}"))
    if cell.again.n:
        again = "fetched again" if cell.fetched_only else "came twice"
        lines.append(Line(f"{spread(cell.again, number)} {again}"))
    lines += _sign_lines(cell.signs, cell.fetched_only)
    return [*lines, _runs_line(cell.runs, cell.planned)]


def _standstill(cell: Cell) -> str:
    found = cell.standstill_ms
    if not found.n:
        return "standstill not known"
    words = "none" if found.max == 0 else spread(found, duration)
    if cell.never_again:
        words = f"≥ {words}"
    return words if found.n == cell.runs else f"{words}, known of {found.n}"


def end_lines(end: End) -> list[Line]:
    """What was found at the end of the runs of one experiment."""
    if not end.runs:
        return [_none_of(end.planned)]
    lines = list(_sign_lines(end.signs, end.fetched_only))
    fine = [words.fine for words in AT_THE_END if words.rule in end.fine]
    if fine:
        lines.append(Line(", ".join(fine)))
    return [*lines, _runs_line(end.runs, end.planned)]


def _none_of(planned: int) -> Line:
    return Line(f"no run of {planned} shows it", "doubt") if planned else Line(NOTHING, "quiet")


def _sign_lines(signs: Iterable[Sign], fetched_only: bool) -> Iterator[Line]:
    for sign in signs:
        words = _WORDS[sign.rule]
        if sign.violated:
            never_fetched = fetched_only and sign.rule == LOST.rule
            violated = "records never fetched" if never_fetched else words.violated
            yield Line(f"{violated}: {_of_runs(sign.violated, sign.runs)}", "bad")
        if sign.unknown:
            yield Line(f"unknown if it {words.fine}: {_of_runs(sign.unknown, sign.runs)}", "doubt")


def _of_runs(count: int, runs: int) -> str:
    return f"{count} of {plural(runs, 'run')}"


def _runs_line(runs: int, planned: int) -> Line:
    if runs == planned:
        return Line(f"n = {runs}", "quiet")
    return Line(f"n = {runs} of {planned}", "doubt")


def about_lines(client: Client) -> list[Line]:
    """What a client is, as brokers saw it."""
    if not client.runs:
        return [Line("no run shows anything", "doubt")]
    words = ", ".join(client.libraries) or NAMELESS
    protocol = " / ".join(client.protocols) or "protocol not known"
    if client.assignors:
        protocol += f", {' / '.join(client.assignors)}"
    sessions = " / ".join(f"{ms / 1_000:g} s" for ms in client.session_timeouts_ms)
    return [
        Line(words),
        Line(protocol),
        Line(f"session timeout {sessions or 'not known'}"),
        Line(f"Kafka {' / '.join(client.kafka)}, {_from_to(client.dates)}"),
    ]


def _from_to(dates: Sequence[str]) -> str:
    if not dates:
        return "on a day not known"
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def reading(matrix: Matrix) -> list[str]:
    """How to read the table, sentence by sentence."""
    crash = any(column.situation == CRASH for column in matrix.columns)
    return [*_READING, *([_CRASH] if crash else []), _FEW]


def _what(matrix: Matrix) -> str:
    words = (
        "How long partitions stand still and which records come twice when something happens to a "
        "group of consumers, by client library."
    )
    if matrix.examples:
        words += (
            " Each program is written as the guide of its library shows, with the library's "
            "defaults unless its name says otherwise. So these are the numbers of defaults, and "
            "most of these can be changed. The programs and their versions are in consumers/apps; "
            "its README explains the causes of what is surprising here."
        )
    return words


def _made(matrix: Matrix) -> str:
    """What all runs had in common."""
    setting = matrix.setting
    parts = [
        (setting.brokers, "brokers"),
        (setting.processes, "processes of the program to begin with"),
        (setting.partitions, "partitions"),
        (setting.records_per_s, "records a second"),
    ]
    words = ", ".join(f"{value} {name}" for value, name in parts if value)
    machine = f", all on one machine with {setting.cores} cores" if setting.cores else ""
    runs = f"{matrix.shown} of {plural(matrix.planned, 'run')} shown"
    if matrix.repeats:
        runs = f"{plural(matrix.repeats, 'run')} of each, {runs}"
    return f"{runs}; {words}{machine}." if words else f"{runs}."


def _end_cell(client: Client) -> list[Line]:
    """What was found at the ends, said once of the experiments of which the same is said."""
    found: dict[tuple[Line, ...], list[str]] = {}
    for end in client.ends:
        found.setdefault(tuple(end_lines(end)), []).append(end.experiment)
    return [
        line
        for lines, names in found.items()
        for line in (Line(", ".join(names), "quiet"), *lines[:-1], _of_each(lines[-1], len(names)))
    ]


def _of_each(runs: Line, experiments: int) -> Line:
    return runs if experiments == 1 else replace(runs, text=f"{runs.text} each")


def _clients(matrix: Matrix, *, linked: bool) -> Block:
    columns = [
        TableColumn("client"),
        *(TableColumn(each.situation, each.experiment) for each in matrix.columns),
        TableColumn("at the end"),
    ]
    rows = [
        Row(
            (
                [Line(client.name, "name"), *about_lines(client)],
                *map(cell_lines, client.cells),
                _end_cell(client),
            )
        )
        for client in matrix.clients
    ]
    count = plural(matrix.planned, "run")
    missing = f"{len(matrix.unshown)} of {count} show nothing, and are named below."
    return Block(
        "clients",
        "Clients",
        "The first number of a cell leads to the run that stood still longest." if linked else "",
        table=Table(columns, rows, records=True),
        notes=(Line(missing, "bad"),) if matrix.unshown else (),
    )


def _blocks(matrix: Matrix, suite: Suite | None) -> list[Block]:
    situations = {column.situation for column in matrix.columns}
    meanings = [(name, f"{words}.") for name, words in MEANINGS.items() if name in situations]
    on_page = () if suite else (ON_PAGE,)
    blocks = [
        _clients(matrix, linked=suite is not None),
        Block("reading", "How to read it", items=[*meanings, *reading(matrix)], on=WRITTEN),
        Block(
            "unshown",
            "Runs that show nothing",
            "They are in no number above.",
            items=[_unshown(each) for each in matrix.unshown],
            on=(MARKDOWN, TERMINAL, *on_page) if matrix.unshown else (),
        ),
        Block(
            "made",
            "How it was made",
            _made(matrix),
            notes=(Line(_RULES),),
            code=matrix.command,
            on=WRITTEN,
        ),
    ]
    played = [replace(runs(suite, read_verdicts(suite)), on=(ON_PAGE,))] if suite else []
    return [*blocks, *played]


def markdown(matrix: Matrix) -> str:
    """The text of `clients.md`, good enough to be a page of the documents."""
    table, *others = _blocks(matrix, None)
    lines = [f"# {TITLE}", "", _what(matrix), "", *in_markdown([replace(table, heading="")], "##")]
    return "\n".join([*lines, *in_markdown(others, "##")])


def _unshown(run: Seen) -> str:
    reason = f" ({clip(run.reason, _MOST_REASON)})" if run.reason else ""
    return f"{run.label}: {run.state}{reason}"


def shown(matrix: Matrix, suite: Suite | None = None) -> Overview:
    """All that is shown; with its suite it leads to the runs."""
    kafka = sorted({version for client in matrix.clients for version in client.kafka})
    took = [Fact("took", duration(suite.took_s * 1_000), "")] if suite else []
    return Overview(
        kind="matrix",
        name=f"matrix {matrix.name}",
        title=TITLE,
        claim=_what(matrix),
        headline=headline(suite)
        if suite
        else f"{matrix.shown} of {plural(matrix.planned, 'run')} shown",
        outcome=kind_of(suite) if suite else "",
        detail=_made(matrix),
        facts=[
            Fact("clients", str(len(matrix.clients)), ""),
            Fact("runs", str(matrix.shown), f"of {matrix.planned} shown"),
            Fact("repeats", str(matrix.repeats or "differ"), ""),
            Fact("Kafka", " / ".join(kafka), ""),
            *took,
        ],
        blocks=_blocks(matrix, suite),
        made_from="suite.json and the folders of the runs" if suite else RECORD,
        files=[("page", here(suite.path / PAGE)), ("text", f"{TEXT} beside it")] if suite else [],
    )


def print_matrix(suite: Suite, console: Console | None = None) -> None:
    """Print each client with a line for each situation, and where the page is."""
    print_shown(shown(matrix_of(suite), suite), console)

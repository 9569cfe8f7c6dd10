"""A matrix as Markdown, as a page and on a terminal; all three say the same of every cell.

As a module it writes the pages of a published matrix anew, from its record, as `make docs` does.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.base.paths import here
from harness.base.words import plural
from harness.history.suites import Suite
from harness.report.formats import NOTHING, duration, number, spread
from harness.report.load import NAMELESS, Row
from harness.report.many import blocks, suite_rows
from harness.report.many.blocks import Block, Column, Line, paragraphs
from harness.report.many.matrix import (
    as_json,
    for_others,
    load_matrix,
    matrix_of,
    with_runs_of,
)
from harness.report.many.suite_rows import headline
from harness.report.parts.situations import AT_THE_END, CRASH, IN_SITUATIONS, LOST, MEANINGS
from harness.report.run.page import Fact
from harness.report.run.page_files import write_whole

PAGE: Final = "clients.html"
TEXT: Final = "clients.md"
RECORD: Final = "matrix.json"
TITLE: Final = "Client libraries side by side"
_WORDS: Final = {words.rule: words for words in (*IN_SITUATIONS, *AT_THE_END)}
_READING: Final = paragraphs("""
The first number of a cell is the longest standstill of any partition that began after this
situation and before the next. It is counted from the start of the situation, or from when the
partition stopped, if that was later, until its next record was read. It is the median of the
runs, with the shortest and the longest in brackets. “None” means that no partition stopped for
longer than it does without a fault; “≥” means that one was still stopped when the run ended.

“Redelivered” counts the records that the program showed as processed more than once in that time.
“Fetched again” counts for programs that do not show what they process: their code may have seen
those records only once.

n is the number of runs. Where a run has a situation twice, the worse one counts.

What went wrong is named with the number of runs that had it: did not leave in order (rule P6),
did not come back after its removal from the group (P8), went on although it had learned of its
removal (P9). What is found at the end of a run cannot be assigned to one situation, so it has a
column of its own: did not catch up (P1), wedged, which means that a process ran without working
(P7), lost records (P10).

“Unknown” means that a run could not be judged. It does not mean that all was well.
""")
_CRASH: Final = (
    "The group misses a crashed process only when its session timeout is over, so this timeout "
    "decides the column “crash” more than anything else in a library."
)
_RULES: Final = (
    "Each run is judged by the rules of docs/rules.md; docs/how-it-judges.md says where the "
    "evidence of what a program did comes from."
)
_FEW: Final = "A few runs on one machine show what to expect; small differences mean nothing."
_WHAT: Final = (
    "How long partitions stand still and which records come twice when something happens to a "
    "group of consumers, by client library."
)
_EXAMPLES: Final = (
    " Each program is written as the guide of its library shows, with the library's defaults "
    "unless its name says otherwise. So these are the numbers of defaults, and most of these can "
    "be changed. The programs and their versions are in consumers/apps; its README explains the "
    "causes of what is surprising here."
)


def write(suite: Suite) -> blocks.Overview:
    """Write `matrix.json`, `clients.md` and `clients.html` of what there is by now."""
    return write_into(suite.path, matrix_of(suite), suite)


def publish(matrix: Row, folder: Path) -> Row:
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


def write_into(folder: Path, matrix: Row, suite: Suite | None = None) -> blocks.Overview:
    """Write the three files; the page leads to the runs of its suite, if it is given."""
    overview = shown(matrix, suite)
    write_whole(folder / RECORD, as_json(matrix))
    write_whole(folder / TEXT, markdown(matrix))
    write_whole(folder / PAGE, blocks.page(overview))
    return overview


def lines_of(cell: Row) -> list[Line]:
    """What is said of a client in a situation, or at the ends of an experiment's runs."""
    runs, planned = cell["runs"], cell["planned"]
    if not runs:
        return [
            Line(f"no run of {planned} shows it", "doubt") if planned else Line(NOTHING, "quiet")
        ]
    lines = [*(_costs(cell) if "standstill_ms" in cell else ()), *_signs(cell)]
    if fine := [words.fine for words in AT_THE_END if words.rule in cell.get("fine", ())]:
        lines.append(Line(", ".join(fine)))
    count = (
        Line(f"n = {runs}", "quiet")
        if runs == planned
        else Line(f"n = {runs} of {planned}", "doubt")
    )
    return [*lines, count]


def _costs(cell: Row) -> Iterator[Line]:
    runs, never, again, still = (
        cell[name] for name in ("runs", "never_again", "again", "standstill_ms")
    )
    words = "none" if still.max == 0 else spread(still, duration)
    words = f"≥ {words}" if never else words
    known = words if still.n == runs else f"{words}, known of {still.n}"
    yield Line(known if still.n else "standstill not known", "main", cell["longest"])
    if never:
        yield Line(f"never went on: {_of_runs(never, runs)}", "bad")
    if again.n < runs:
        yield Line(f"records not known: {_of_runs(runs - again.n, runs)}")
    if again.n:
        words = "fetched again" if cell["fetched_only"] else "redelivered"
        yield Line(f"{spread(again, number)} {words}")


def _signs(cell: Row) -> Iterator[Line]:
    for sign in cell["signs"]:
        words = _WORDS[sign["rule"]]
        never_fetched = cell["fetched_only"] and words is LOST
        violated = "records never fetched" if never_fetched else words.violated
        if sign["violated"]:
            yield Line(f"{violated}: {_of_runs(sign['violated'], sign['runs'])}", "bad")
        if sign["unknown"]:
            unknown = _of_runs(sign["unknown"], sign["runs"])
            yield Line(f"unknown if it {words.fine}: {unknown}", "doubt")


def _of_runs(count: int, runs: int) -> str:
    return f"{count} of {plural(runs, 'run')}"


def _client(client: Row) -> blocks.Row:
    name = Line(client["name"], "name")
    return blocks.Row(([name, *_about(client)], *map(lines_of, client["cells"]), _ends(client)))


def _about(client: Row) -> list[Line]:
    if not client["runs"]:
        return [Line("no run shows anything", "doubt")]
    protocol = " / ".join(client["protocols"]) or "protocol not known"
    if client["assignors"]:
        protocol += f", {' / '.join(client['assignors'])}"
    sessions = " / ".join(f"{ms / 1_000:g} s" for ms in client["session_timeouts_ms"])
    days = " to ".join(dict.fromkeys((*client["dates"][:1], *client["dates"][-1:])))
    return [
        Line(", ".join(client["libraries"]) or NAMELESS),
        Line(protocol),
        Line(f"session timeout {sessions or 'not known'}"),
        Line(f"Kafka {' / '.join(client['kafka'])}, {days or 'on a day not known'}"),
    ]


def _ends(client: Row) -> list[Line]:
    """What was found at the ends, said once of the experiments of which the same is said."""
    found: dict[tuple[Line, ...], list[str]] = {}
    for end in client["ends"]:
        found.setdefault(tuple(lines_of(end)), []).append(end["experiment"])
    lines = []
    for (*most, runs), names in found.items():
        each = runs if len(names) == 1 else replace(runs, text=f"{runs.text} each")
        lines += [Line(", ".join(names), "quiet"), *most, each]
    return lines


def _made(matrix: Row) -> str:
    names = {
        "brokers": "brokers",
        "processes": "processes of the program to begin with",
        "partitions": "partitions",
        "records_per_s": "records a second",
    }
    setting = matrix["setting"]
    words = ", ".join(f"{setting[each]} {name}" for each, name in names.items() if setting[each])
    cores = setting["cores"]
    machine = f", all on one machine with {cores} cores" if cores else ""
    runs = _shown_runs(matrix)
    if matrix["repeats"]:
        runs = f"{plural(matrix['repeats'], 'run')} of each, {runs}"
    return f"{runs}; {words}{machine}." if words else f"{runs}."


def _shown_runs(matrix: Row) -> str:
    return f"{matrix['shown']} of {plural(matrix['planned'], 'run')} shown"


def _blocks(matrix: Row, suite: Suite | None) -> Iterator[Block]:
    unshown = [suite_rows.unshown(run) for run in matrix["runs"] if run["sample"] is None]
    missing = (
        f"{len(unshown)} of {plural(matrix['planned'], 'run')} show nothing, and are named below."
    )
    situations = {each["situation"] for each in matrix["columns"]}
    columns = [Column(each["situation"], each["experiment"]) for each in matrix["columns"]]
    linked = "The first number of a cell leads to the run with the longest standstill."
    yield Block(
        "clients",
        "Clients",
        linked if suite else "",
        columns=["client", *columns, "at the end"],
        rows=list(map(_client, matrix["clients"])),
        records=True,
        notes=(Line(missing, "bad"),) if unshown else (),
    )
    meanings = [(name, f"{words}.") for name, words in MEANINGS.items() if name in situations]
    crash = (_CRASH,) if CRASH in situations else ()
    items = [*meanings, *_READING, *crash, _FEW]
    yield Block("reading", "How to read it", items=items, on=blocks.WRITTEN)
    if unshown:
        yield Block(
            "unshown",
            "Runs that show nothing",
            "They are in no number above.",
            items=unshown,
            on=(blocks.MARKDOWN, blocks.TERMINAL) if suite else blocks.EVERYWHERE,
        )
    yield Block(
        "made",
        "How it was made",
        _made(matrix),
        notes=(Line(_RULES),),
        code=matrix["command"],
        on=blocks.WRITTEN,
    )
    if suite:
        runs = suite_rows.runs(suite, suite_rows.read_verdicts(suite))
        yield replace(runs, on=(blocks.PAGE,))


def markdown(matrix: Row) -> str:
    """The text of `clients.md`, good enough to be a page of the documents."""
    overview = shown(matrix)
    table, *others = overview.blocks
    parts = [replace(table, heading=""), *others]
    return "\n".join([f"# {TITLE}", "", overview.claim, "", *blocks.in_markdown(parts, "##")])


def shown(matrix: Row, suite: Suite | None = None) -> blocks.Overview:
    """All that is shown; with its suite it leads to the runs."""
    kafka = sorted({version for client in matrix["clients"] for version in client["kafka"]})
    facts = [
        Fact("clients", str(len(matrix["clients"]))),
        Fact("runs", str(matrix["shown"]), f"of {matrix['planned']} shown"),
        Fact("repeats", str(matrix["repeats"] or "differ")),
        Fact("Kafka", " / ".join(kafka)),
    ]
    known = blocks.Overview(
        kind="matrix",
        name=f"matrix {matrix['name']}",
        title=TITLE,
        claim=_WHAT + _EXAMPLES if matrix["examples"] else _WHAT,
        headline=_shown_runs(matrix),
        outcome="",
        detail=_made(matrix),
        facts=facts,
        blocks=list(_blocks(matrix, suite)),
        made_from=RECORD,
    )
    if suite is None:
        return known
    return replace(
        known,
        headline=headline(suite),
        outcome=suite_rows.kind_of(suite),
        facts=[*facts, Fact("took", duration(suite.took_s * 1_000))],
        made_from=blocks.Overview.made_from,
        files=[("page", here(suite.path / PAGE)), ("text", f"{TEXT} beside it")],
    )


if __name__ == "__main__":
    write_into(Path(sys.argv[1]), load_matrix(Path(sys.argv[1]) / RECORD))

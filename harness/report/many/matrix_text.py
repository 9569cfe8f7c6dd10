"""A matrix as Markdown, as a page and on a terminal; all three say the same of every cell.

As a module it writes the pages of a published matrix anew, from its record, as `make docs` does.
"""

import math
import re
import sys
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.base.errors import SetupError
from harness.base.paths import ROOT, here
from harness.base.words import listed, plural
from harness.experiment import protocol_said
from harness.history.suites import Suite
from harness.report.formats import NOTHING, duration, number, spread
from harness.report.load import NAMELESS, Row
from harness.report.many import blocks, suite_rows
from harness.report.many.blocks import Block, Column, Line, paragraphs
from harness.report.many.matrix import as_json, for_others, load_matrix, matrix_of, with_runs_of
from harness.report.many.suite_rows import headline
from harness.report.parts import situations
from harness.report.parts.shapes import Shape, bar, line
from harness.report.parts.situations import AT_THE_END, CRASH, IN_SITUATIONS, LOST, STOPPED, Sign
from harness.report.run.page import Fact
from harness.report.run.page_files import write_whole

PAGE: Final = "clients.html"
TEXT: Final = "clients.md"
RECORD: Final = "matrix.json"
TITLE: Final = "Client libraries side by side"
_WORDS: Final = {words.rule: words for words in (*IN_SITUATIONS, *AT_THE_END)}
_EXAMPLES: Final = ROOT / "consumers" / "apps" / "README.md"
_READING: Final = paragraphs("""
The first number of a cell says for how long a partition stopped, the longest of those that stopped
between the start of this situation and that of the next: from the start, or from when the partition
stopped, until its next record was read. It is the median of the runs, of which n counts; a page has
the shortest and the longest too. If a run has a situation twice, the worse one counts.

“None”: no partition stopped for longer than it does without a fault. “≥”: one was still stopped
when the run ended. “Unknown”: a run could not be judged, which does not mean that all was well.

“Redelivered” are records that the program showed as processed more than once in that time; without
the word there was none. “Fetched again” is said of programs that do not show what they process:
their code may have seen those records only once.

A cell also says what a process did wrong in this situation: it did not leave in order, did not come
back after its removal, or went on although it had heard of its removal. Below the client's name is
what was found at the end of its runs: it did not catch up, wedged (a process ran without working),
or lost records. Nothing is called good that was not judged.
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
    "For how long partitions stop and which records come again when something happens to a group "
    "of consumers, by client library."
)
_DEFAULTS: Final = (
    " Each program is written as the guide of its library shows, with the library's defaults "
    "unless its name says otherwise. So these are the numbers of defaults, and most of these can "
    "be changed."
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


def lines_of(cell: Row, scale: Sequence[float] = ()) -> list[Line]:
    """What is said of a client in a situation, its bar from the first to the last of the scale."""
    runs, planned = cell["runs"], cell["planned"]
    if not runs:
        return [
            Line(f"no run of {planned} shows it", "unsure") if planned else Line(NOTHING, "quiet")
        ]
    never, again, still = (cell[name] for name in ("never_again", "again", "standstill_ms"))
    stopped = "none" if still.max == 0 else duration(still.p50)
    stopped = f"≥ {stopped}" if never else stopped
    stopped = stopped if still.n == runs else f"{stopped}, known of {still.n}"
    drawn = _bar(still.p50, scale, cell) if scale else ()
    lines = [Line(stopped if still.n else "not known", "main", cell["longest"], drawn=drawn)]
    count = f"n = {runs}" if runs == planned else f"n = {runs} of {planned}"
    between = [f"{duration(still.min)} – {duration(still.max)}"] if still.min != still.max else []
    lines.append(Line(", ".join([*between, count]), "range"))
    if never:
        lines.append(Line(f"never went on: {_of_runs(never, runs)}", "wrong"))
    if again.n < runs:
        lines.append(Line(f"records not known: {_of_runs(runs - again.n, runs)}", "unsure"))
    if again.max:
        verb = "fetched again" if cell["fetched_only"] else "redelivered"
        lines.append(Line(f"{spread(again, number)} {verb}"))
    for sign in cell["signs"]:
        words = _WORDS[sign["rule"]]
        if sign["violated"]:
            tone = "warn" if words is STOPPED else "wrong"
            lines.append(Line(f"{words.violated}: {_of_runs(sign['violated'], runs)}", tone))
        if sign["unknown"]:
            said = f"unknown if it {words.fine}: {_of_runs(sign['unknown'], runs)}"
            lines.append(Line(said, "unsure"))
    return lines


def _scale(matrix: Row) -> list[float]:
    """The ends of the scale of all bars, in ms, and each power of ten between them."""
    every = (cell["standstill_ms"].p50 for client in matrix["clients"] for cell in client["cells"])
    found = [ms for ms in every if ms]
    if not found:
        return []
    low, high = min(found) / 1.5, max(found)
    powers = range(math.ceil(math.log10(low)), math.ceil(math.log10(high)))
    return [low, *(10.0**power for power in powers), high]


def _bar(ms: float | None, scale: Sequence[float], cell: Row) -> list[Shape]:
    """A median on the logarithmic scale, amber where a member went on after its removal."""
    low, *powers, high = scale

    def percent(value: float) -> float:
        return round(100 * math.log(value / low) / math.log(high / low), 1)

    went_on = any(each["rule"] == STOPPED.rule and each["violated"] for each in cell["signs"])
    fill = [bar(0, percent(ms), 2, 8, "fill warn" if went_on else "fill")] if ms else []
    ticks = [line(percent(each), 0, 12, "power") for each in powers]
    return [bar(0, 100, 2, 8, "track"), *fill, *ticks]


def _of_runs(count: int, runs: int) -> str:
    return f"{count} of {plural(runs, 'run')}"


def _client(client: Row, scale: Sequence[float], known: Container[str]) -> blocks.Row:
    link = f"#why-{client['name']}" if client["name"] in known else ""
    name = [Line(client["name"], "name", link), *ends_of(client), *_about(client)]
    return blocks.Row((name, *(lines_of(cell, scale) for cell in client["cells"])))


def _about(client: Row) -> list[Line]:
    if not client["runs"]:
        return [Line("no run shows anything", "unsure")]
    protocol = " / ".join(map(protocol_said, client["protocols"])) or "protocol not known"
    if client["assignors"]:
        protocol += f", {' / '.join(client['assignors'])}"
    sessions = " / ".join(f"{ms / 1_000:g} s" for ms in client["session_timeouts_ms"])
    days = " to ".join(dict.fromkeys((*client["dates"][:1], *client["dates"][-1:])))
    said = (
        ", ".join(client["libraries"]) or NAMELESS,
        protocol,
        f"session timeout {sessions or 'not known'}",
        f"Kafka {' / '.join(client['kafka'])}, {days or 'on a day not known'}",
    )
    return [Line(each, "quiet") for each in said]


def ends_of(client: Row) -> list[Line]:
    """What was found at the ends of all runs of a client."""
    lines, fine, ends = list[Line](), list[str](), client["ends"]
    for words in AT_THE_END:
        wrong, unknown = (_runs_with(words, what, ends) for what in ("violated", "unknown"))
        if wrong:
            tone = "bad" if words is LOST else "wrong"
            lines.append(Line(f"{_violated(words, client)}: {wrong}", tone))
        if unknown:
            lines.append(Line(f"unknown if it {words.fine}: {unknown}", "unsure"))
        if not (wrong or unknown) and any(words.rule in each["fine"] for each in ends):
            fine.append(words.fine)
    return [*lines, Line(", ".join(fine), "quiet")]


def _violated(words: Sign, client: Row) -> str:
    never_fetched = words is LOST and any(each["fetched_only"] for each in client["ends"])
    return "never fetched records" if never_fetched else words.violated


def _runs_with(words: Sign, what: str, cells: Sequence[Row]) -> str:
    """In how many runs that was found, experiment by experiment or situation by situation."""
    found = [
        f"{_of_runs(sign[what], sign['runs'])} of "
        f"{cell['column']['situation'] if 'column' in cell else cell['experiment']}"
        for cell in cells
        for sign in cell["signs"]
        if sign["rule"] == words.rule and sign[what]
    ]
    return listed(found) if found else ""


def _cost(client: Row) -> float:
    """What a crash costs; what is not known comes last."""
    crash = (cell for cell in client["cells"] if cell["column"]["situation"] == CRASH)
    return next((cell["standstill_ms"].p50 for cell in crash if cell["standstill_ms"].n), math.inf)


def _findings(clients: Sequence[Row], whose: str) -> str:
    """What clients, in the order of what a crash costs, show: crashes, losses, work once out."""
    stops, said = [each for each in clients if _cost(each) < math.inf], list[str]()
    if stops:
        ends = [f"{duration(_cost(each))} ({each['name']})" for each in (stops[0], stops[-1])]
        said.append(f"{whose} crash stops a partition for {' to '.join(dict.fromkeys(ends))}")
    for words, part, none in (
        (LOST, "ends", "No run shows a lost record"),
        (STOPPED, "cells", "No run shows work after a removal"),
    ):
        found = [
            f"{client['name']} {_violated(words, client)} ({runs})"
            for client in clients
            if (runs := _runs_with(words, "violated", client[part]))
        ]
        said.append(listed(found) if found else none)
    return " ".join(f"{each}." for each in said)


def _causes(matrix: Row) -> dict[str, list[Line]]:
    """What is known of the examples, each cause with what helps: what is bold in their README."""
    if not (matrix["examples"] and _EXAMPLES.exists()):
        return {}
    found: dict[str, list[Line]] = {}
    for part in _EXAMPLES.read_text(encoding="utf-8").split("\n### ")[1:]:
        name, _, text = part.partition("\n")
        plain = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", " ".join(text.split()))
        for each in f" {plain}".split(" - **")[1:]:
            cause, _, more = each.partition(" - ")[0].partition("**")
            helps = more.partition("**Remedy**")[2]
            found.setdefault(name, []).append(Line(cause))
            found[name].append(Line(helps and f"Remedy{helps}", "quiet"))
    return found


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
    runs = f"{matrix['shown']} of {plural(matrix['planned'], 'run')} shown"
    if matrix["repeats"]:
        runs = f"{plural(matrix['repeats'], 'run')} of each, {runs}"
    return f"{runs}; {words}{machine}." if words else f"{runs}."


def _blocks(matrix: Row, suite: Suite | None) -> Iterator[Block]:
    unshown = [suite_rows.unshown(run) for run in matrix["runs"] if run["sample"] is None]
    missing = (
        f"{len(unshown)} of {plural(matrix['planned'], 'run')} show nothing, and are named below."
    )
    seen = {each["situation"] for each in matrix["columns"]}
    columns = [Column(each["situation"], each["experiment"]) for each in matrix["columns"]]
    linked = "The first number of a cell leads to the run in which a partition stopped for longest."
    scale, causes = _scale(matrix), _causes(matrix)
    clients = sorted(matrix["clients"], key=_cost)
    powers = ", ".join(f"{each / 1_000:g} s" for each in scale[1:-1])
    scaled = "for how long a partition stopped, on a logarithmic scale"
    legend = [
        ("fill", ", lines at ".join(filter(None, (scaled, powers)))),
        ("fill warn", "a member went on after its removal"),
        ("fill bad", "records were lost"),
    ]
    yield Block(
        "clients",
        "Clients, by the cost of a crash" if CRASH in seen else "Clients",
        linked if suite else "",
        columns=["client", *columns],
        rows=[_client(each, scale, causes) for each in clients],
        records=True,
        legend=legend,
        notes=(Line(missing, "wrong"),) if unshown else (),
    )
    if causes:
        yield Block(
            "causes",
            "Causes and remedies",
            "Of the surprising cells above. consumers/apps/README.md says more, with sources.",
            columns=("client", "what it does, and what helps"),
            rows=[
                blocks.Row((Line(each["name"], "name"), known), id=f"why-{each['name']}")
                for each in clients
                if (known := causes.get(each["name"]))
            ],
            on=blocks.WRITTEN,
        )
    meanings = [(name, f"{words}.") for name, words in situations.MEANINGS.items() if name in seen]
    crash = (_CRASH,) if CRASH in seen else ()
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
    head = [f"# {TITLE}", "", f"**{overview.headline}**", "", overview.claim, ""]
    return "\n".join([*head, *blocks.in_markdown(parts, "##")])


def shown(matrix: Row, suite: Suite | None = None) -> blocks.Overview:
    """All that is shown; with its suite it leads to the runs."""
    whose = "With default settings a" if matrix["examples"] else "A"
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
        claim=_WHAT + _DEFAULTS if matrix["examples"] else _WHAT,
        headline=_findings(sorted(matrix["clients"], key=_cost), whose),
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
        detail=f"{known.headline} {known.detail}",
        facts=[*facts, Fact("took", duration(suite.took_s * 1_000))],
        made_from=blocks.Overview.made_from,
        files=[("page", here(suite.path / PAGE)), ("text", f"{TEXT} beside it")],
    )


if __name__ == "__main__":
    write_into(Path(sys.argv[1]), load_matrix(Path(sys.argv[1]) / RECORD))

"""What many runs show, as blocks, and the three ways to show them: page, Markdown, terminal.

A block is a heading, sentences, a table and plots. Each way shows the same words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.report.formats import coded, safe, table_row
from harness.report.parts.shapes import Shape
from harness.report.run.page import Fact, environment
from harness.report.text.columns import align, show, width_of

PAGE: Final = "page"
MARKDOWN: Final = "markdown"
TERMINAL: Final = "terminal"
EVERYWHERE: Final = (PAGE, MARKDOWN, TERMINAL)
WRITTEN: Final = (PAGE, MARKDOWN)
ASIDE: Final = "aside"  # the tone of what the page alone has room for
RANGE: Final = "range"  # the tone of what Markdown has no room for
_STYLES: Final = {
    "as-expected": "green",
    "result": "cyan",
    "differs": "red",
    "unjudged": "yellow",
    "withheld": "yellow",
    "bad": "red",
    "warn": "red",
    "wrong": "red",
    "doubt": "yellow",
    "unsure": "yellow",
}


@dataclass(frozen=True)
class Line:
    """Words in one tone, with where they lead. With a sign they are a badge on the page, where what
    is `drawn` is above them.
    """

    text: str
    tone: str = ""
    link: str = ""
    sign: str = ""
    drawn: Sequence[Shape] = ()


Cell = str | Line | Sequence[Line]


@dataclass(frozen=True)
class Column:
    """A column: `number` is set to the right, `free` is cut where a terminal is too narrow.

    One that is not `narrow` is left out of a terminal; what is `below` stands there in lines of its
    own, each below its row.
    """

    head: str
    sub: str = ""
    number: bool = False
    free: bool = False
    narrow: bool = True
    below: bool = False


@dataclass(frozen=True)
class Row:
    """A row. On a terminal `above` is the heading of several rows."""

    cells: Sequence[Cell]
    tone: str = ""
    above: str = ""
    id: str = ""


@dataclass(frozen=True)
class Plot:
    """A drawing in a field of so many units; a `stretched` one fills its place."""

    title: str
    spoken: str
    size: tuple[int, int]
    shapes: Sequence[Shape]
    about: str = ""
    words: str = ""
    stretched: bool = False


@dataclass(frozen=True)
class Block:
    """One part of what is shown; `on` says where.

    `most` rows of its table are on a terminal, where `records` have a line for each cell, and on a
    phone one column at a time.
    """

    id: str
    heading: str
    lead: str = ""
    items: Sequence[str | tuple[str, str]] = ()  # sentences, or what is explained and how
    columns: Sequence[str | Column] = ()
    rows: Sequence[Row] = ()
    records: bool = False
    plots: Sequence[Plot] = ()
    legend: Sequence[tuple[str, str]] = ()  # its class and its name
    notes: Sequence[str | Line] = ()
    code: str = ""
    folded: str = ""  # what is said instead, until a reader opens it
    on: Sequence[str] = EVERYWHERE
    most: int = 1_000

    @property
    def heads(self) -> list[Column]:
        return [each if isinstance(each, Column) else Column(each) for each in self.columns]


@dataclass(frozen=True)
class Overview:
    """All that is shown. `files` are named on a terminal, each with what it is."""

    kind: str
    name: str
    title: str
    headline: str
    outcome: str
    detail: str
    blocks: Sequence[Block]
    claim: str = ""
    facts: Sequence[Fact] = ()
    made_from: str = "suite.json and the folders of the runs"
    files: Sequence[tuple[str, str]] = ()


def split(block: Block, folded: Sequence[Row], said: str) -> Iterator[Block]:
    """The block, of which page and terminal fold these rows, after the others, and say this."""
    here = [each for each in block.on if each != MARKDOWN]
    yield replace(block, on=(MARKDOWN,))
    yield replace(block, rows=[row for row in block.rows if row not in folded], on=here)
    if folded:
        yield Block("", "", columns=block.columns, rows=folded, folded=said, on=here)


def paragraphs(text: str) -> list[str]:
    """Those of a text, between which a line is empty, each on one line."""
    return [" ".join(each.split()) for each in text.split("\n\n")]


def _lines(cell: Cell) -> Sequence[Line]:
    if isinstance(cell, str):
        return [Line(cell)]
    return [cell] if isinstance(cell, Line) else cell


def page(shown: Overview) -> str:
    """The page: one file, no script, nothing loaded."""
    blocks = [block for block in shown.blocks if PAGE in block.on]
    sections = [(block.id, block.heading) for block in blocks if block.heading]
    words = {**vars(shown), "blocks": blocks, "sections": sections, "figures": shown.facts}
    template = environment().get_template("many.html.j2")
    return template.render(words, lines=_lines, safe_text=_unbroken)


def _unbroken(item: str) -> str:
    """The sentence, in which no number is left without its unit at the end of a line."""
    return re.sub(r"(?<=\d) (?=m?s[.,;:)]*(?: |$))", "\u00a0", item)


def markdown(shown: Overview) -> str:
    head = [f"## {safe(shown.title)}: {shown.headline}", "", shown.detail, ""]
    return "\n".join([*head, *in_markdown(shown.blocks, "###")])


def in_markdown(blocks: Sequence[Block], mark: str) -> Iterator[str]:
    """The lines of these blocks, below headings of this depth."""
    for block in blocks:
        if MARKDOWN not in block.on:
            continue
        yield from (f"{mark} {block.heading}", "") if block.heading else ()
        yield from (block.lead, "") if block.lead else ()
        yield from (
            f"- {safe(item) if isinstance(item, str) else f'{item[0]}: {safe(item[1])}'}"
            for item in block.items
        )
        yield from [""] if block.items else []
        yield from [*_table_in_markdown(block), ""] if block.rows else []
        for note in block.notes:
            yield from (_marked(note) if isinstance(note, Line) else safe(note), "")
        yield from ("```", block.code, "```", "") if block.code else ()


def _table_in_markdown(block: Block) -> Iterator[str]:
    subs = [f"<br><sub>{safe(each.sub)}</sub>" if each.sub else "" for each in block.heads]
    yield table_row(*(safe(each.head) + sub for each, sub in zip(block.heads, subs, strict=True)))
    yield table_row(*("---:" if each.number else "---" for each in block.heads))
    for row in block.rows:
        cells = ([each for each in _here(cell) if each.tone != RANGE] for cell in row.cells)
        yield table_row(*("<br>".join(map(_marked, cell)) for cell in cells))


def _here(cell: Cell) -> list[Line]:
    """The lines of a cell where the page is not."""
    return [line for line in _lines(cell) if line.text and line.tone != ASIDE]


def _plain(line: Line) -> str:
    return f"{line.sign} {line.text}" if line.sign else line.text


def _marked(line: Line) -> str:
    text = coded(_plain(line))
    text = f"[{text}]({line.link})" if line.link and line.tone not in ("main", "name") else text
    if line.tone in ("main", "name", "bad", "warn", "wrong", "differs"):
        return f"**{text}**"
    return f"<sub>{text}</sub>" if line.tone == "quiet" else text


def print_shown(shown: Overview, console: Console | None = None) -> None:
    """Print it: the headline, the blocks that are for a terminal, and where the files are."""
    console = console or Console(highlight=False)
    first = Text(f"{shown.name}: ")
    first.append(shown.headline, f"bold {_STYLES.get(shown.outcome, '')}".strip())
    lines = [first, *in_terminal(shown.blocks, width_of(console)), Text()]
    room = max((len(name) for name, _ in shown.files), default=0)
    show(console, [*lines, *(Text(f"{name.ljust(room)}  {at}") for name, at in shown.files)])


def in_terminal(blocks: Sequence[Block], width: int) -> Iterator[Text]:
    """The lines of these blocks, each behind an empty one."""
    for block in blocks:
        if TERMINAL not in block.on or not (block.heading or block.notes or block.folded):
            continue
        if block.folded:
            yield Text(block.folded)
            continue
        yield Text()
        if block.heading:
            yield Text(block.heading, "bold")
        for item in block.items:
            text = item if isinstance(item, str) else ": ".join(item)
            yield from _wrapped(text, width, "- ")
        if block.rows:
            yield from _records(block) if block.records else _table(block, width)
        for note in block.notes:
            note = note if isinstance(note, Line) else Line(note, "doubt")
            yield from _wrapped(note.text, width, style=_STYLES.get(note.tone, ""))


def _wrapped(text: str, width: int, before: str = "", style: str = "") -> Iterator[Text]:
    """A sentence in lines, below each other; no number is parted from its unit."""
    room = width - len(before)
    parts = wrap(_unbroken(text), room, break_long_words=False, break_on_hyphens=False)
    for place, line in enumerate(parts):
        indent = " " * len(before) if place else before
        yield Text(f"{indent}{line}".replace("\u00a0", " "), style)


def _table(block: Block, width: int) -> Iterator[Text]:
    heads = [(place, each) for place, each in enumerate(block.heads) if each.narrow]
    shown = [(place, column) for place, column in heads if not column.below]
    below = [place for place, column in heads if column.below]
    rows = block.rows[: block.most]
    cells = [[column.head for _, column in shown]]
    cells += [
        [" ".join(map(_plain, _here(row.cells[place]))) for place, _ in shown] for row in rows
    ]
    free = [at for at, (_, column) in enumerate(shown) if column.free]
    right = [at for at, (_, column) in enumerate(shown) if column.number]
    head, *texts = align(cells, width, free=free or range(len(shown)), right=right)
    yield Text(head, "bold")
    above = ""
    for row, text in zip(rows, texts, strict=True):
        if row.above != above:
            above = row.above
            yield Text(above, "cyan")
        yield Text(text, _STYLES.get(row.tone, ""))
        for place in below:
            said = " ".join(map(_plain, _here(row.cells[place])))
            yield from _wrapped(said, width, "    ")
    if len(block.rows) > len(rows) == block.most:
        yield Text(f"{len(block.rows) - block.most:,} more are on the page")


def _records(block: Block) -> Iterator[Text]:
    heads = [" ".join(filter(None, (each.head, each.sub))) for each in block.heads[1:]]
    room = max(map(len, heads), default=0)
    for row in block.rows[: block.most]:
        name, *about = _here(row.cells[0])
        title = Text(f"{name.text}  ", "bold")
        yield title.append(", ".join(line.text for line in about), "not bold")
        for head, cell in zip(heads, row.cells[1:], strict=True):
            line = Text(f"  {head.ljust(room)}  ")
            for place, each in enumerate(_here(cell)):
                line.append(", " if place else "")
                line.append(each.text, _STYLES.get(each.tone, ""))
            yield line

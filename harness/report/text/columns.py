"""Aligned columns for a terminal or a log: nothing wraps, nothing is shown that it cannot show."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

PLAIN_WIDTH: Final = 100  # where output goes to a file or a CI log
GAP: Final = "  "
_NARROWEST: Final = 8
_ASCII: Final = str.maketrans(
    {"✓": "+", "≠": "*", "✗": "X", "≤": "<", "≥": ">", "–": "-", "…": "~", "·": "-", "∞": "oo"}
    | {"→": ">"}
)


def width_of(console: Console) -> int:
    if not console.is_terminal and console.width == 80:  # what rich assumes when it cannot know
        return PLAIN_WIDTH
    return console.width


def show(console: Console, lines: Sequence[Text]) -> None:
    """Print lines, in plain characters where the terminal has no others."""
    for line in lines:
        if not console.encoding.lower().startswith("utf"):
            line = Text(line.plain.translate(_ASCII).encode("ascii", "replace").decode())
        console.print(line, soft_wrap=True, highlight=False)


def align(
    cells: Sequence[Sequence[str]], width: int, *, free: Sequence[int], right: Collection[int] = ()
) -> list[str]:
    """Rows of cells, the head first, as lines of at most `width` characters.

    Where they do not fit, the widest of the `free` columns are cut; `right` are numbers.
    """
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        widest = max(free, key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1

    def padded(cell: str, place: int) -> str:
        room = widths[place]
        text = cell if len(cell) <= room else f"{cell[: room - 1]}…"
        return text.rjust(room) if place in right else text.ljust(room)

    return [
        GAP.join(padded(cell, place) for place, cell in enumerate(row)).rstrip() for row in cells
    ]

"""The table and the plot of the record that `group_sizes` keeps, in docs/scale.md and beside it."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, log10
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

Run = Mapping[str, Any]  # the fields of a GroupSize

PAGE: Final = "scale.md"
PLOT: Final = "group-sizes.svg"
BEGIN: Final = "<!-- group sizes: `make docs` writes this table -->\n"
END: Final = "<!-- end of group sizes -->\n"
_NOTHING: Final = "–"
_HEAD: Final = (
    "Protocol", "Members", "A join, in intervals", "A crash, in intervals", "Rebalances",
    "Unexplained", "The deploy took", "Late ticks, the latest",
)  # fmt: skip

_WIDTH, _HEIGHT = 640.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 500.0, 20.0, 280.0
# Of harness/report/templates/style.css: --c0 to --c2, dark enough and light enough for both papers.
_COLOURS: Final = ("#3b7fc4", "#d98a2b", "#2c9c69")
_PROTOCOLS: Final = ("eager", "cooperative", "consumer")
_STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#59636e}.grid{stroke:#d9dee4}"
    "@media(prefers-color-scheme:dark){text{fill:#9ba6b4}.grid{stroke:#323944}}"
)


def write(folder: Path, runs: Sequence[Run]) -> None:
    """Put the table into the page of this folder, and the plot beside it."""
    path = folder / PAGE
    path.write_text(page(path.read_text(encoding="utf-8"), runs), encoding="utf-8")
    (folder / PLOT).write_text(plot(runs), encoding="utf-8")


def page(text: str, runs: Sequence[Run]) -> str:
    """The page with the table of now."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}{table(runs)}{END}{tail}"


def table(runs: Sequence[Run]) -> str:
    """One row for each run, as Markdown."""
    lines = [_HEAD, tuple("---" for _ in _HEAD), *(_cells(run) for run in _in_order(runs))]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(run: Run) -> tuple[str, ...]:
    return (
        run["protocol"],
        str(run["members"]),
        _join(run),
        _NOTHING if run["crash"] is None else f"{run['crash']:.2f}",
        str(run["rebalances"]),
        str(run["unexplained"]),
        _NOTHING if run["deploy_s"] is None else f"{run['deploy_s']:.0f} s",
        f"{run['late_ticks']}, {run['latest_tick_ms']:.0f} ms",
    )


def _join(run: Run) -> str:
    """The number, with what it may be; whether it was judged is told where it was not."""
    if run["join"] is None:
        return _NOTHING
    told = f"{run['join']:.2f} of {run['bound']:.2f}"
    return f"{told}, not judged" if run["join_why"] else told


def _in_order(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: (_PROTOCOLS.index(run["protocol"]), run["members"]))


def plot(runs: Sequence[Run]) -> str:
    """A join in heartbeat intervals over the members of its group: a dot for each run."""
    shown = [run for run in _in_order(runs) if run["join"] is not None]
    sizes = sorted({run["members"] for run in shown})
    across = _Across(sizes)
    most = ceil(max([1.0, *(run["join"] for run in shown), *(run["bound"] for run in shown)]))
    parts = [*_axes(across, most)]
    for number, protocol in enumerate(_PROTOCOLS):
        own = [run for run in shown if run["protocol"] == protocol]
        parts += _series(own, protocol, number, across, most)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}">\n'
        f"<title>{escape(spoken(shown))}</title>\n<style>{_STYLE}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def spoken(runs: Sequence[Run]) -> str:
    """What the plot shows, for who does not see it."""
    found = []
    for protocol in _PROTOCOLS:
        own = [run for run in runs if run["protocol"] == protocol]
        told = ", ".join(f"{run['join']:.2f} with {run['members']}" for run in own)
        found += [f"{protocol} {told}"] if own else []
    return f"A join in heartbeat intervals, by members: {'; '.join(found)}"


class _Across:
    """From members to places along a logarithmic axis."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self._from, self._to = log10(sizes[0]), log10(sizes[-1])

    def at(self, members: int) -> float:
        """Where so many are, 30 within the ends; one size alone is in the middle."""
        if self._from == self._to:
            return (_LEFT + _RIGHT) / 2
        share = (log10(members) - self._from) / (self._to - self._from)
        return round(_LEFT + 30 + (_RIGHT - _LEFT - 60) * share, 1)


def _up(value: float, most: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * value / most, 1)


def _axes(across: _Across, most: int) -> Iterator[str]:
    for value in range(most + 1):
        y = _up(value, most)
        yield f'<line class="grid" x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 10:g}" y="{y + 4}" text-anchor="end">{value}</text>'
    for members in across.sizes:
        x = across.at(members)
        yield f'<text x="{x}" y="{_BOTTOM + 20:g}" text-anchor="middle">{members}</text>'
    middle = (_LEFT + _RIGHT) / 2
    yield f'<text x="{middle:g}" y="{_BOTTOM + 42:g}" text-anchor="middle">members</text>'
    half = (_TOP + _BOTTOM) / 2
    yield (
        f'<text transform="translate(18 {half:g}) rotate(-90)" text-anchor="middle">'
        "a join, in heartbeat intervals</text>"
    )


def _series(
    runs: Sequence[Run], protocol: str, number: int, across: _Across, most: float
) -> Iterator[str]:
    """Its dots, hollow where the join was not judged, their line, and the bound as a dashed one."""
    if not runs:
        return
    colour = _COLOURS[number]
    places = [(across.at(run["members"]), _up(run["join"], most)) for run in runs]
    line = " ".join(f"{x},{y}" for x, y in places)
    bound = _up(runs[0]["bound"], most)
    # Two protocols have the same bound: their dashes take turns.
    yield (
        f'<line x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{bound}" y2="{bound}" stroke="{colour}" '
        f'stroke-dasharray="4 8" stroke-dashoffset="{6 * (number % 2)}"/>'
    )
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-opacity=".4"/>'
    for run, (x, y) in zip(runs, places, strict=True):
        fill = "none" if run["join_why"] else colour
        told = escape(f"{protocol}, {run['members']} members: {_join(run)} intervals")
        yield (
            f'<circle cx="{x}" cy="{y}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2">'
            f"<title>{told}</title></circle>"
        )
    y = _TOP + 8 + 24 * number
    yield f'<circle cx="{_RIGHT + 24:g}" cy="{y:g}" r="5" fill="{colour}"/>'
    yield f'<text x="{_RIGHT + 36:g}" y="{y + 4:g}">{protocol}</text>'

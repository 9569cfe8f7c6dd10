"""What a chart is made of; `templates/chart.html.j2` draws it.

x and width are percentages of the plot, y and height pixels. `css` names classes of `style.css`,
which knows the colours of both themes.
"""

from dataclasses import dataclass, field
from typing import Final

PATH_WIDTH: Final = 1000  # paths run from 0 to this, stretched to the plot


@dataclass(frozen=True)
class Bar:
    """A rectangle; `data` becomes data-* attributes, so that a page can be read by machine."""

    x: float
    width: float
    y: float
    height: float
    css: str
    title: str = ""
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Line:
    x: float
    y: float
    height: float
    css: str
    title: str = ""


@dataclass(frozen=True)
class Text:
    """A label; (x, y) is the given end of its base line, moved right by dx pixels."""

    x: float
    y: float
    text: str
    css: str = ""
    anchor: str = "start"
    dx: float = 0
    title: str = ""


@dataclass(frozen=True)
class Path:
    """A path in its own coordinates: 0..PATH_WIDTH across, 0..height down."""

    y: float
    height: float
    d: str
    css: str
    title: str = ""


@dataclass(frozen=True)
class Lane:
    """A row of the chart with its name on the left."""

    name: str
    y: float
    height: float
    note: str = ""
    title: str = ""


@dataclass
class Chart:
    """Shapes in layers, the first below all others, so that no line ever crosses a label."""

    label: str  # what a screen reader says
    height: float = 0
    lanes: list[Lane] = field(default_factory=list)
    behind: list[Bar | Line | Text | Path] = field(default_factory=list)
    shapes: list[Bar | Line | Text | Path] = field(default_factory=list)
    marks: list[Line] = field(default_factory=list)
    labels: list[Text] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def lane(self, name: str, height: float, note: str = "", title: str = "") -> float:
        """Add a row at the bottom and return its y."""
        y = self.height
        self.lanes.append(Lane(name, y, height, note, title))
        self.height += height
        return y

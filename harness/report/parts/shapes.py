"""What a chart is made of; `templates/chart.html.j2` draws it.

x and width are percentages of the plot, y and height pixels. `css` names classes of `style.css`,
which knows the colours of both themes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PATH_WIDTH: Final = 1000  # paths run from 0 to this, stretched to the plot


@dataclass(frozen=True)
class Shape:
    """An element of an SVG drawing, with what a reader who points at it is shown.

    One that has a `frame` is stretched to it: these are attributes of an SVG element around it.
    """

    tag: str
    attributes: Mapping[str, object]
    text: str = ""
    title: str = ""
    frame: Mapping[str, object] = field(default_factory=dict)


def bar(
    x: float,
    width: float,
    y: float,
    height: float,
    css: str,
    title: str = "",
    data: Mapping[str, str] | None = None,
) -> Shape:
    """A rectangle; `data` becomes data-* attributes, so that a page can be read by machine."""
    size = {"x": f"{x}%", "y": y, "width": f"{width}%", "height": height}
    more = {f"data-{name}": value for name, value in (data or {}).items()}
    return Shape("rect", {"class": css, **size, **more}, title=title)


def line(x: float, y: float, height: float, css: str, title: str = "") -> Shape:
    ends = {"x1": f"{x}%", "x2": f"{x}%", "y1": y, "y2": y + height}
    return Shape("line", {"class": css, **ends}, title=title)


def label(
    x: float, y: float, text: str, css: str = "", anchor: str = "start", dx: float = 0
) -> Shape:
    """A label; (x, y) is the given end of its base line, moved right by dx pixels."""
    place = {"class": css, "x": f"{x}%", "y": y, "dx": dx, "text-anchor": anchor}
    return Shape("text", place, text)


def curve(y: float, height: float, d: str, css: str, title: str = "") -> Shape:
    """A path in its own coordinates: 0..PATH_WIDTH across, 0..height down."""
    size = {"x": 0, "y": y, "width": "100%", "height": height}
    box = {"viewBox": f"0 0 {PATH_WIDTH} {height}", "preserveAspectRatio": "none"}
    return Shape("path", {"class": css, "d": d}, title=title, frame=size | box)


@dataclass
class Chart:
    """Shapes in layers, the first below all others, so that no line ever crosses a label."""

    label: str  # what a screen reader says
    height: float = 0
    lanes: list[Mapping[str, object]] = field(default_factory=list)
    behind: list[Shape] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    marks: list[Shape] = field(default_factory=list)
    labels: list[Shape] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def lane(self, name: str, height: float, note: str = "", title: str = "") -> float:
        """Add a row at the bottom, with its name on the left, and return its y."""
        y = self.height
        self.lanes.append({"name": name, "y": y, "height": height, "note": note, "title": title})
        self.height += height
        return y

"""What a person sees while a run goes on: a live view on a terminal, plain lines elsewhere.

The view shows what the harness follows anyway, and is drawn where it waits, four times a second;
nothing more is asked of anybody. A thread draws its clock and its bar where it does something else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import StringIO
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.base.progress import Steps
from harness.base.words import plural
from harness.experiment import Experiment
from harness.run.estimate import estimate_s

if TYPE_CHECKING:
    from harness.run.member import Member
    from harness.run.nemesis import PlannedFault
    from harness.run.scene import Scene

LATER_S: Final = 3.0  # of what mostly takes less nothing is shown before
_BAR: Final = 24  # columns
_EVERY_S: Final = 0.25
_SAID_EVERY_S: Final = 10.0  # of what is counted, where nothing is drawn
_RATE_OVER_S: Final = 2.0
_MOST_MEMBERS: Final = 12  # more are counted: the view has to fit a screen


class Screen:
    """Where progress is shown: `say` prints a line that stays, `watch` draws during a run."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._started = time.monotonic()
        self._live: Live | None = None

    @property
    def draws(self) -> bool:
        """Whether there is a terminal to draw on; a CI system's log is none."""
        terminal = self._console.is_terminal and not self._console.is_dumb_terminal
        return terminal and not os.environ.get("CI")

    def say(self, text: str) -> None:
        """One line, with the seconds since the command began."""
        line = f"{time.monotonic() - self._started:6.1f} s  {text}"
        if self._live is not None:
            self._console.print(Text(line))
        else:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    @contextmanager
    def watch(self, name: str, experiment: Experiment) -> Iterator[RunView]:
        """Draw a run while the body plays it; the view is gone after that, the lines stay."""
        view = RunView(name, experiment)
        with self._drawn(get_renderable=view.drawn, refresh_per_second=1) as view.draw:
            yield view

    @property
    def columns(self) -> int | None:
        """How wide the terminal is, null where there is none to draw on."""
        return self._console.width if self.draws else None

    @contextmanager
    def drawing(self) -> Iterator[Callable[[str], None]]:
        """What the body gives to what this yields is drawn below the lines, with its colours."""
        with self._drawn(auto_refresh=False) as draw:
            yield lambda drawn: draw(Text.from_ansi(drawn))

    @contextmanager
    def showing(self, drawn: Callable[[], RenderableType]) -> Iterator[None]:
        """Draw what `drawn` gives, by a thread, on a terminal; only the lines stay after that."""
        with self._drawn(get_renderable=drawn, refresh_per_second=1 / _EVERY_S / 2):
            yield

    @contextmanager
    def counting(self, about: str, after_s: float = 0.0) -> Iterator[Steps]:
        """What the body does and how much of it is done: a bar and a line on a terminal, and else a
        line when something else begins, and every 10 s. Of none (0) only what it is is said. None
        of that comes in the first `after_s`.
        """
        begun = time.monotonic()
        said, next_s, at = "", 0.0, ("", 0, 0)

        def line() -> str:
            what, done, of = at
            counted = f"{done} of {of} {what}" if of else what
            return f"{about}: {counted}" if counted else about

        def say() -> None:
            nonlocal said, next_s
            now = time.monotonic()
            due = at[0] and now >= begun + after_s and (at[0] != said or now >= next_s)
            if due and not self.draws:
                said, next_s = at[0], now + _SAID_EVERY_S
                self.say(line())

        def step(what: str, done: int, of: int) -> None:
            nonlocal at
            at = what, done, of
            say()

        def drawn() -> RenderableType:
            passed = time.monotonic() - begun
            words = Text(f"{line()}, {passed:.0f} s", "dim")
            return bar(*at[1:], words) if passed >= after_s else ""

        with self.showing(drawn), ExitStack() as stack:
            if after_s:
                late = Timer(after_s, say)  # a step may take longer than that
                late.daemon = True
                stack.callback(late.cancel)
                late.start()
            yield step

    @contextmanager
    def _drawn(self, **options: Any) -> Iterator[Callable[[RenderableType], None]]:
        """A view on the terminal while the body goes on, unless there is none, or one already.

        Yields what puts something else into it. `options` are those of rich's Live.
        """
        if not self.draws or self._live is not None:
            yield lambda _view: None
            return
        with Live(console=self._console, transient=True, **options) as live:
            self._live = live
            try:
                yield lambda view: live.update(view, refresh=True)
            finally:
                self._live = None


class Relayed(Screen):
    """A screen of another process, so many `columns` wide if it can draw: it is sent all."""

    def __init__(self, tell: Callable[..., None], columns: int | None) -> None:
        super().__init__()
        self._tell = tell
        self._columns = columns

    def say(self, text: str) -> None:
        self._tell(say=text)

    @contextmanager
    def watch(self, name: str, experiment: Experiment) -> Iterator[RunView]:
        yield RunView(name, experiment, self._draw if self._columns else lambda _view: None)

    def _draw(self, view: RenderableType) -> None:
        drawn = StringIO()
        console = Console(file=drawn, force_terminal=True, width=self._columns, highlight=False)
        console.print(view, end="")
        self._tell(view=drawn.getvalue())


class RunView:
    def __init__(
        self,
        name: str,
        experiment: Experiment,
        draw: Callable[[RenderableType], None] = lambda _view: None,
    ) -> None:
        self._name = name
        self._began = time.monotonic()
        self._estimate_s = estimate_s(experiment)
        self.draw = draw
        self._phase = "start"
        self._body: RenderableType = Text()  # as it was last looked at
        self._next = 0.0
        self._counted: list[tuple[float, int]] = []  # when, and records processed by then

    def phase(self, name: str) -> None:
        self._phase = name
        self.draw(self.drawn())

    def look(self, scene: Scene) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _EVERY_S
        self._body = self._table(scene, now)
        self.draw(self.drawn())

    def drawn(self) -> RenderableType:
        return Group(self._head(), self._body)

    def _head(self) -> RenderableType:
        passed = time.monotonic() - self._began
        left = self._estimate_s - passed
        to_go = f"about {left:.0f} s to go" if left >= 1 else "about to end"
        words = (self._name, "bold"), f"   {self._phase}   ", (f"{passed:.0f} s, {to_go}", "dim")
        return bar(passed, self._estimate_s, Text.assemble(*words))

    def _table(self, scene: Scene, now: float) -> Table:
        table = Table.grid(padding=(0, 2))
        seen, nodes = scene.view, scene.cluster.plan.brokers
        alive = {node.id: seen.brokers.get(node.id, False) for node in nodes}
        table.add_row("brokers", dots(alive, seen.group.get("coordinator")))
        table.add_row("group", self._group(scene, now))
        members = list(scene.fleet.members.values())
        for member in members[:_MOST_MEMBERS]:
            table.add_row(member.name, _member(member))
        if len(members) > _MOST_MEMBERS:
            table.add_row("", f"and {len(members) - _MOST_MEMBERS} more")
        for fault in scene.faults.values():
            table.add_row("fault", _fault(fault, scene, now))
        return table

    def _group(self, scene: Scene, now: float) -> str:
        group = scene.view.group
        living = (member for member in scene.fleet.members.values() if member.running)
        generations = [each.generation for each in living if each.generation is not None]
        parts = [str(group.get("state", "not seen yet"))]
        if generations:
            parts.append(f"generation {max(generations)}")
        parts.append(plural(group.get("members", 0), "member"))
        parts.append(f"{self._rate(scene, now):,.0f} records/s")
        return ", ".join(parts)

    def _rate(self, scene: Scene, now: float) -> float:
        total = sum(member.records for member in scene.fleet.members.values())
        self._counted = [each for each in self._counted if each[0] >= now - _RATE_OVER_S]
        self._counted.append((now, total))
        (since, before), (until, after) = self._counted[0], self._counted[-1]
        return (after - before) / (until - since) if until > since else 0.0


def bar(done: float, of: float, text: Text) -> RenderableType:
    """A text beside how much of something is done; of none (0) the bar only moves."""
    row = Table.grid(padding=(0, 1))
    row.add_row(ProgressBar(of or None, done, _BAR), text)
    return row


def dots(brokers: Mapping[int, bool], coordinator: int | None = None) -> Text:
    """Each broker, and whether it answers."""
    text = Text()
    for number, alive in brokers.items():
        text.append(f"{'●' if alive else '○'} {number}", "green" if alive else "red")
        text.append("" if alive else " down")
        text.append(" coordinator   " if number == coordinator else "   ")
    return text


def _member(member: Member) -> Text:
    if not member.running:
        return Text("closed" if member.closed else "dead", "dim")
    owned = " ".join(str(number) for number in sorted(member.assigned))
    return Text(f"partitions {owned}" if owned else "no partitions")


def _fault(fault: PlannedFault, scene: Scene, now: float) -> Text:
    what = f"{fault}: {fault.phase}"
    if fault.phase == "planned":
        left = fault.inject_s - (now - scene.steady_at) if scene.steady_at else None
        return Text(f"{what}, in {max(0.0, left):.0f} s" if left is not None else what, "dim")
    if fault.phase == "injected" and fault.heal_s is not None:
        left = fault.heal_s - (now - scene.steady_at)
        return Text(f"{what}, heals in {max(0.0, left):.0f} s", "bold red")
    return Text(what, "red" if fault.phase in {"injecting", "healing"} else "")

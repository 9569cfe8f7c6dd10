"""A program of somebody else's as the members of a group: what is known of it before it runs.

Nothing here does I/O: `harness/catalogue/apps.py` reads these values from app.toml and from the
command line.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from harness.base.errors import BadInput

# What stands in braces in a command or an environment is filled in for each process.
PLACES: Final = (
    *("bootstrap", "topic", "group", "member", "instance_id"),
    *("sink", "output_topic"),
)
_PLACE: Final = re.compile(r"\{([a-z_]+)\}")
_NUMBER: Final = "{n}"
_TOPIC: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}")
# What is there to be filled in only where the program shows its work so.
_SHOWN_BY: Final = {"sink": "http", "output_topic": "output_topic"}
FED: Final = "t"  # the topic that every program reads
NUMBER_HEADER: Final = "kafka-chaos-n"  # of each record that an app is fed


@dataclass(frozen=True, kw_only=True)
class Records:
    """What the program is fed, so that it can parse it.

    `value` is a record's value with `{n}` for its number, which no two records share; the number is
    in the header `kafka-chaos-n` too. `samples` are values of the owner's own, taken in turn, in
    which `{n}` is replaced as well.
    """

    value: str = '{"id": {n}, "customer": "c{n}"}'
    samples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.samples and not self.value:
            raise BadInput("[records] has an empty value: give a template such as '{\"id\": {n}}'")

    @property
    def templates(self) -> tuple[str, ...]:
        """Values that are taken in turn."""
        return self.samples or (self.value,)


@dataclass(frozen=True, kw_only=True)
class Shows:
    """How the program shows that it has processed a record; empty where it does not.

    `stdout` is a pattern of a line that it prints for each record. `http` says that it posts to the
    sink: a pattern of what it posts, or true where `harness/run/named.py` finds the number.
    `output_topic` is the topic that it writes to for each record, whose number is in the header
    that it passes on, or found in key or value by `output_pattern`, or else as in a post.
    `verifiable` says that it prints the lines of Kafka's VerifiableConsumer.

    A pattern has the record's number in the group `n`, or its place in the groups `partition` and
    `offset`.
    """

    stdout: str = ""
    http: bool | str = False
    output_topic: str = ""
    output_pattern: str = ""
    verifiable: bool = False

    def __post_init__(self) -> None:
        _check_pattern("stdout", self.stdout)
        if isinstance(self.http, str):
            if not self.http:
                raise BadInput(
                    "[effects] http is empty: write http = true, or a pattern such as "
                    r"'id=(?P<n>\d+)'"
                )
            _check_pattern("http", self.http)
        _check_pattern("output_pattern", self.output_pattern)
        if self.output_pattern and not self.output_topic:
            raise BadInput(
                "[effects] output_pattern finds the number in what is written to output_topic, and "
                "there is none: name it"
            )
        if self.output_topic and not _TOPIC.fullmatch(self.output_topic):
            raise BadInput(
                f"[effects] output_topic {self.output_topic!r} cannot name a topic: use up to 200 "
                "letters, digits, dots, dashes and underscores"
            )
        if self.output_topic == FED or self.output_topic.startswith("__"):
            raise BadInput(
                f"[effects] output_topic {self.output_topic!r} names a topic that is there for "
                "something else: choose another name"
            )
        if len(self.ways) > 1:
            raise BadInput(
                f"[effects] has {' and '.join(self.ways)}, and each record that is shown twice "
                "would count as processed twice: leave one of them"
            )

    @property
    def ways(self) -> tuple[str, ...]:
        """Which of the ways are said, by their names."""
        return tuple(
            name for name in ("stdout", "http", "output_topic", "verifiable") if getattr(self, name)
        )

    @property
    def way(self) -> str:
        """The one way by which records are shown; empty where they are not."""
        return next(iter(self.ways), "")

    @property
    def pattern(self) -> str:
        """The owner's pattern; empty where there is none."""
        return self.stdout or (self.http if isinstance(self.http, str) else self.output_pattern)


def _check_pattern(name: str, pattern: str) -> None:
    if not pattern:
        return
    try:
        groups = set(re.compile(pattern).groupindex)
    except re.error as error:
        raise BadInput(
            f"[effects] {name} is no pattern ({error}): write a regular expression such as "
            r"'done id=(?P<n>\d+)'"
        ) from None
    if "n" not in groups and not {"partition", "offset"} <= groups:
        raise BadInput(
            f"[effects] {name} {pattern!r} does not say which record it is about: name a "
            r"group n, as in 'done id=(?P<n>\d+)', or the groups partition and offset"
        )


@dataclass(frozen=True, kw_only=True)
class Stop:
    """How the program is asked to end: by `signal`, and by SIGKILL where it still runs after."""

    signal: str = "SIGTERM"
    grace_s: float = 30.0

    def __post_init__(self) -> None:
        if self.signal not in signal.Signals.__members__ or self.signal in ("SIGKILL", "SIGSTOP"):
            raise BadInput(
                f"[stop] signal {self.signal!r} is none that a program can be asked to end by: use "
                "SIGTERM, SIGINT or SIGHUP"
            )
        if not 0 < self.grace_s < inf:
            raise BadInput(f"[stop] grace_s of {self.grace_s:g} is no time: use more than 0")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the program's owner promises; each that is given becomes a verdict.

    `standstill_s` is the longest that a partition may stand still, `repeats` and `lost` are the
    most records in the run, `drained_s` is the longest from the last heal to the end of the topic.
    """

    standstill_s: float | None = None
    repeats: int | None = None
    lost: int | None = None
    drained_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 <= value < inf:
                raise BadInput(f"[limits] {name} of {value:g} is no limit: use 0 or more")


@dataclass(frozen=True, kw_only=True)
class App:
    """A program that is tested as it is, as the members of the group: `instances` processes of it.

    `command` is run in `folder`, after `build` has been run there once. `environment` is what it
    needs besides what every program is given (harness/run/programs.py).
    """

    name: str
    command: tuple[str, ...]
    folder: str
    build: tuple[str, ...] = ()
    instances: int = 3
    static: bool = False  # each has an instance id
    environment: Mapping[str, str] = field(default_factory=dict)
    records: Records = field(default_factory=Records)
    effects: Shows = field(default_factory=Shows)
    stop: Stop = field(default_factory=Stop)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise BadInput(
                f"name {self.name!r} cannot name files: use letters, digits, dots and dashes"
            )
        if not self.command:
            raise BadInput("there is no command: say what to run, as a list of words")
        if self.instances < 1:
            raise BadInput(f"instances of {self.instances} is no group: use 1 or more")
        for name in self.environment:
            if not name or "=" in name:
                raise BadInput(f"[env] {name!r} cannot name a variable: use letters and digits")
        for text in (*self.command, *self.build, *self.environment, *self.environment.values()):
            if "\0" in text:
                raise BadInput(f"{text!r} has a zero byte in it, which no program can be given")
        for text in (*self.command, *self.environment.values()):
            for place in _PLACE.findall(text):
                if place not in PLACES:
                    raise BadInput(
                        f"{{{place}}} in {text!r} is nothing that can be filled in: there are "
                        f"{', '.join(f'{{{known}}}' for known in PLACES)}"
                    )
                if _SHOWN_BY.get(place, self.effects.way) != self.effects.way:
                    raise BadInput(
                        f"{{{place}}} in {text!r} is there only where [effects] has "
                        f"{_SHOWN_BY[place]}: say so, or leave it out"
                    )


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every place in braces filled in."""
    return _PLACE.sub(lambda found: values[found[1]], text)


def numbered(template: str, number: int) -> str:
    """A record's value from its template."""
    return template.replace(_NUMBER, str(number))

"""A user's program as the members of a group: what is known of it before it runs.

Nothing here does I/O: `harness/catalogue/apps.py` reads these values from app.toml and from the
command line.
"""

import difflib
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final

from harness.base.errors import BadInput
from harness.experiment.limits import Limits

# What stands in braces in a command or an environment is filled in for each process.
PLACES: Final = (
    *("bootstrap", "topic", "group", "member", "instance_id"),
    *("sink", "output_topic"),
    *("security_protocol", "ca", "sasl_mechanism", "username", "password"),
)
# `${…}` is a shell's.
_PLACE: Final = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*(?:\.(?:host|port))?)\}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+):(?P<port>[0-9]{1,5})")
_LAST_PORT: Final = 65_535
# What each process is given about Kafka has names that begin so.
_GIVEN: Final = ("KAFKA_", "SPRING_KAFKA_", "HOSTNAME")
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
                f"[effects] output_topic {self.output_topic!r} is a topic that the run uses for "
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
            f"[effects] {name} is not a valid pattern ({error}): write a regular expression, as in "
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
                f"[stop] signal {self.signal!r} is not offered: use SIGTERM, SIGINT or SIGHUP"
            )
        if not 0 < self.grace_s < inf:
            raise BadInput(
                f"[stop] grace_s is {self.grace_s:g}: use a number of seconds above 0, such as 30"
            )


@dataclass(frozen=True)
class Address:
    """Where something listens; an IPv6 address stands in brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def address_of(name: str, text: str) -> Address:
    """The address of a dependency. Raises BadInput for what is none, such as a URL."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 1 <= int(found["port"]) <= _LAST_PORT:
        raise BadInput(
            f"[dependency] {name} is {text!r}, which is not an address: write host:port, as in "
            f'{name} = "127.0.0.1:5432"; a URL around it goes into [env], with {{{name}}} for '
            "host:port"
        )
    return Address(found["host"], int(found["port"]))


@dataclass(frozen=True, kw_only=True)
class App:
    """A program that is tested as it is, as the members of the group: `instances` processes of it.

    `command` is run in `folder`, after `build` has been run there once. Where there is an `image`,
    each process is the first of a container of it, and `command` and `entrypoint` stand for the
    image's own where they are given. `environment` is what it needs besides what every program is
    given (harness/run/app_processes.py). `dependencies` are the addresses of what it uses besides
    Kafka, by the name of the variable in which each process is given that of a proxy in front of
    it. `start_s` is how long a process may take from its start until it asks to join, and
    `steady_s` how long the group may take until it is steady; null is what
    `harness/run/joining.py` says.
    """

    name: str
    command: tuple[str, ...] = ()
    folder: str
    image: str = ""
    entrypoint: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    instances: int = 3
    static: bool = False  # each has an instance id
    start_s: float | None = None
    steady_s: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    dependencies: Mapping[str, str] = field(default_factory=dict)
    records: Records = field(default_factory=Records)
    effects: Shows = field(default_factory=Shows)
    stop: Stop = field(default_factory=Stop)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", self.name):
            raise BadInput(
                f"name {self.name!r} cannot name files: use letters, digits, dots and dashes"
            )
        self._check_image()
        if self.instances < 1:
            raise BadInput(
                f"instances is {self.instances}, and a group needs at least one: use 1 or more"
            )
        for name, limit in (("start_s", self.start_s), ("steady_s", self.steady_s)):
            if limit is not None and not 0 < limit < inf:
                raise BadInput(
                    f"{name} is {limit:g}: use a number of seconds above 0, such as 90, or leave "
                    "it out"
                )
        for name in self.environment:
            if not name or "=" in name:
                raise BadInput(f"[env] {name!r} cannot name a variable: use letters and digits")
        for text in (
            *(self.image, *self.entrypoint, *self.command, *self.build),
            *(*self.environment, *self.environment.values()),
        ):
            if "\0" in text:
                raise BadInput(f"{text!r} has a zero byte in it, which no program can be given")
        for name, text in self.dependencies.items():
            self._check_dependency(name, text)
        for text in (*self.entrypoint, *self.command, *self.environment.values()):
            for place in self._unknown_places(text):
                known = (*PLACES, *self.dependencies)
                raise BadInput(
                    f"{{{place}}} in {text!r} has no value to be filled in: there are "
                    f"{', '.join(f'{{{each}}}' for each in known)}"
                )
            for place in set(places_in(text)) & set(_SHOWN_BY):
                if _SHOWN_BY[place] != self.effects.way:
                    raise BadInput(
                        f"{{{place}}} in {text!r} has a value only with [effects] "
                        f"{_SHOWN_BY[place]}: set that, or leave it out"
                    )

    def _check_image(self) -> None:
        """It is a command or an image, and only the one is built here."""
        if not self.image and self.entrypoint:
            raise BadInput(
                "there is an entrypoint and no image: name the image, or put its words before "
                "those of command"
            )
        if not self.image and not "".join(self.command[:1]).strip():
            raise BadInput(
                "there is no command: say what to run, as a list of words, or name an image"
            )
        if self.image and (self.image.startswith("-") or self.image.split() != [self.image]):
            raise BadInput(
                f"image {self.image!r} cannot name an image: write it as in registry/orders:1.4"
            )
        if self.image and self.build:
            raise BadInput(
                f"there is a build step and an image, and {self.image} is built already: leave out "
                "one of them"
            )

    @property
    def addresses(self) -> dict[str, Address]:
        return {name: address_of(name, text) for name, text in self.dependencies.items()}

    def _check_dependency(self, name: str, text: str) -> None:
        """A dependency is reached through its proxy alone, or no fault would touch it."""
        if not _VARIABLE.fullmatch(name):
            raise BadInput(
                f"[dependency] {name!r} cannot name a variable: use letters, digits and underscores"
            )
        if name in PLACES or name.startswith(_GIVEN):
            raise BadInput(
                f"[dependency] {name} has the name of a variable that every process gets: choose "
                "another name"
            )
        address_of(name, text)
        own = self.environment.get(name)
        if own is not None and name not in {each.partition(".")[0] for each in places_in(own)}:
            raise BadInput(
                f"[env] {name} bypasses the proxy in front of [dependency] {name}: write "
                f"{{{name}}} in it for host:port, or leave it out"
            )

    def _unknown_places(self, text: str) -> Iterator[str]:
        """Names in braces that nothing is known for; one in capitals may be the program's own."""
        for place in places_in(text):
            name, dot, _ = place.partition(".")
            if name in self.dependencies or (name in PLACES and not dot):
                continue
            if name.islower() or difflib.get_close_matches(name, self.dependencies, n=1):
                yield place


def places_in(text: str) -> list[str]:
    """What stands in braces in a text, to be filled in for each process."""
    return [found[1] for found in _PLACE.finditer(text)]


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every place in braces filled in; another's braces stay as they are."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def numbered(template: str, number: int) -> str:
    """A record's value from its template."""
    return template.replace(_NUMBER, str(number))

"""What happened to a group, as the coordinator of any version of Kafka logs it.

The texts are those of the version itself (tests/data/coordinator_words.txt).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from random import Random
from typing import Final, Protocol

from tests.coats import Logged
from tests.coordinator_words import VERSIONS, kept
from tests.foreign_logs import NEW_LOGGER, OLD_LOGGER
from tests.report.sample_logs import CLOSED, POLL, START, UUID

METADATA: Final = "cached metadata has changed from x at the beginning of the rebalance to y"
# Versions in which a coordinator of epochs can log each story.
KINDS: Final = {"consumer": "3.8", "share": "4.1", "streams": "4.1"}
# 2.0 gives no reasons; 3.7 and 3.8 are of two coordinators, of which the old one is the default.
RECENT: Final = tuple(version for version in VERSIONS if version > "2.1")
_MARKS: Final = (
    "[GroupCoordinator 1]: ",
    "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] ",
)


@cache
def _texts(version: str) -> tuple[str, ...]:
    return tuple(sorted(text for _, text, versions in kept() if version in versions))


@dataclass
class Story:
    """A group of members with names, in one version; `said` is what its coordinator logs."""

    version: str
    group: str
    random: Random
    said: list[tuple[float, str]] = field(default_factory=list)
    at: float = 0.0
    generation: int = 0
    members: dict[str, str] = field(default_factory=dict)  # member ids by name
    rebalances: int = 0
    evictions: int = 0
    has_epochs: bool = False

    @property
    def new(self) -> bool:
        """Whether the coordinator is the one of 4.x."""
        return self.version >= "4"

    @property
    def gives_reasons(self) -> bool:
        """Whether it logs what clients give as a reason (KIP-800)."""
        return self.version >= "3.2"

    def text(self, like: str, *values: object) -> str | None:
        """This version's text, as `text_of`."""
        return text_of(self.version, self.new, like, *values)

    def says(self, text: str | None) -> None:
        """A line, a moment later."""
        if text is not None:
            self.at += self.random.uniform(0.001, 0.1)
            self.said.append((self.at, text))

    def passes(self, least_s: float, most_s: float) -> None:
        """Some time."""
        self.at += self.random.uniform(least_s, most_s)

    def rebalances_for(self, reason: str) -> None:
        """A whole rebalance."""
        where = () if self.new else (7,)  # the partition of __consumer_offsets
        state = (self.group, "PreparingRebalance", self.generation)
        self.says(self.text("Preparing to rebalance group .* in state", *state, *where, reason))
        self.passes(0.1, 3)
        self.generation += 1
        self.rebalances += 1
        if not self.members:
            self.says(self.text("Group .* is now empty", self.group, self.generation, 7))
            return
        count, leader = len(self.members), next(iter(self.members.values()))
        self.says(self.text("Stabilized group", self.group, self.generation, *where, count))
        by = (leader,) if self.version >= "3" else ()
        self.says(
            self.text("Assignment received from leader", *by, self.group, self.generation, count, 0)
        )

    def joins(self, name: str) -> None:
        """A new process."""
        number = self.random.getrandbits(48)
        member = f"{name}-1364448b-d342-4f02-88b1-{number:012x}"
        self.members[name] = member
        if self.new:
            self.says(self.text("Pending dynamic member with id", member, self.group, "Stable"))
        no_instance = "null" if self.new else "None"
        self.rebalances_for(
            self.text("Adding new member", member, no_instance, "not provided") or ""
        )

    def leaves(self, name: str, why: str) -> None:
        """A process that says so."""
        member = self.members.pop(name)
        if self.version < "3":
            self.says(
                self.text(r"Member(\[group| [{]).* has left, remov", "None", member, self.group)
                if self.version >= "2.4"
                else self.text("Member [{].* has left, remov", member, self.group)
            )
            self.rebalances_for(self.text("removing member .* on LeaveGroup", member) or "")
        elif not self.new:
            self.rebalances_for_leave(member, why)
        else:
            self.says(
                self.text(r"\[Group [{].*Member [{][}] has left", self.group, member, why)
                or self.text(r"\[GroupId [{].*Dynamic member .* has left", self.group, member, why)
            )
            self.rebalances_for(f"explicit `LeaveGroup` request for ({member}) members")

    def rebalances_for_leave(self, member: str, why: str) -> None:
        """3.x writes the rebalance before the member, whose line has all that is known of it."""
        name = member[: -len(UUID)]
        about = f"MemberMetadata(memberId={member}, groupInstanceId=None, clientId={name}, "
        about += "clientHost=/10.0.0.7, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
        about += "supportedProtocols=List(range))"
        place = len(self.said)
        at = self.at
        self.rebalances_for(self.text("Removing member .* on LeaveGroup", member, why) or "")
        left = self.text("Member .* has left group", about, self.group, why)
        if left is not None:
            self.said.insert(place + 1, (self.said[place][0] + min(0.0005, self.at - at), left))

    def expires(self, name: str) -> None:
        """A process that is not heard of."""
        member = self.members.pop(name)
        self.evictions += 1
        self.says(self.text("Member .* has failed, removing", member, self.group))
        self.rebalances_for(f"removing member {member} on heartbeat expiration")

    def rejoins(self, name: str, why: str) -> None:
        """A member that asks for a rebalance."""
        reason = self.text("Updating metadata for member", self.members[name], "Stable", why)
        self.rebalances_for(reason or "")

    def lines(self) -> list[Logged]:
        """All of it as lines in Kafka's default layout."""
        return _lines(self.said, new=self.new)


@dataclass
class EpochStory:
    """The same of a group with epochs (KIP-848, 932 and 1071); `kind` is consumer, share, streams.

    No client gives a reason in these protocols, and each change is one new epoch.
    """

    version: str
    group: str
    random: Random
    kind: str
    said: list[tuple[float, str]] = field(default_factory=list)
    at: float = 0.0
    epoch: int = 0
    hashed: int = 8_812
    known: dict[str, str] = field(default_factory=dict)  # all member ids, by name
    members: dict[str, str] = field(default_factory=dict)
    rebalances: int = 0
    evictions: int = 0
    gives_reasons: bool = False
    has_epochs: bool = True

    def says(self, like: str, *values: object) -> None:
        """A line of this version, a moment later; nothing where it has none like that."""
        text = text_of(self.version, True, like, *values)
        if text is not None:
            self.at += self.random.uniform(0.001, 0.1)
            self.said.append((self.at, text))

    def passes(self, least_s: float, most_s: float) -> None:
        """Some time."""
        self.at += self.random.uniform(least_s, most_s)

    def _changes(self, *, topics: bool = False, gone: bool = False) -> None:
        """A new epoch, and its assignment with a member's next heartbeat.

        Where a member has `gone`, a coordinator logs the new epoch of a consumer group alone.
        """
        self.epoch += 1
        self.rebalances += bool(self.members)
        self.hashed += topics
        whose = (next(iter(self.members.values()), "none"),) if self.kind == "streams" else ()
        of = r"\[GroupId [{][}]\]" + r"\[MemberId [{][}]\]" * bool(whose)
        if topics:
            self.says(of + " Computed new", self.group, *whose, self.hashed)
        if not gone or self.kind == "consumer":
            self.says(
                of + " Bumped (streams )?group", self.group, *whose, self.epoch, self.hashed, 1
            )
        if self.members:
            self.passes(0.1, 3)
            self.says(".*Computed a new target", self.group, self.epoch, "uniform", 2, "{}")

    def joins(self, name: str) -> None:
        """A process, whose client makes a member id without the name, and keeps it (KIP-1082)."""
        new = UUID[1:-12] + f"{self.random.getrandbits(48):012x}"
        member = self.members[name] = self.known.setdefault(name, new)
        self.says(f".*Member [{{][}}] joins the {self.kind} group", self.group, member, self.kind)
        if self.kind == "streams":
            self.says(r".*\]\[MemberId [{][}]\] Member joins the streams", self.group, member)
        else:
            self.says(".*updated its subscribed topics", self.group, member, "[orders]")
        self._changes(topics=self.epoch == 0)

    def leaves(self, name: str, why: str) -> None:
        """A process that leaves."""
        member = self.members.pop(name)
        whose = (member,) if self.kind == "streams" else ()
        self.says(f".* Member [{{][}}] left the {self.kind} group", self.group, *whose, member)
        self._changes(gone=True)

    def expires(self, name: str) -> None:
        """A process that is not heard of."""
        member = self.members.pop(name)
        self.evictions += 1
        why = "the member session expired"
        who = "Streams member" if self.kind == "streams" else "Member"
        self.says(rf".*\] {who} [{{][}}] fenced .*because (its|[{{])", self.group, member, why)
        self._changes(gone=True)

    def rejoins(self, name: str, why: str) -> None:
        """Topics changed, which the coordinator sees by itself."""
        self._changes(topics=True)

    def lines(self) -> list[Logged]:
        """All of it as lines in Kafka's default layout."""
        return _lines(self.said, new=True)


class Teller(Protocol):
    """What a story says of a group."""

    random: Random
    has_epochs: bool

    @property
    def gives_reasons(self) -> bool: ...

    def joins(self, name: str) -> None: ...
    def leaves(self, name: str, why: str) -> None: ...
    def expires(self, name: str) -> None: ...
    def rejoins(self, name: str, why: str) -> None: ...
    def passes(self, least_s: float, most_s: float) -> None: ...


def text_of(version: str, new: bool, like: str, *values: object) -> str | None:
    """A version's text, with the values; None where it has none like that.

    Those of the coordinator of 4.x end with a full stop, where both are in one version.
    """
    found = [text for text in _texts(version) if re.match(like, text)]
    found = [text for text in found if text.count("{}") <= len(values)]
    found.sort(key=lambda text: text.endswith(".") != new)
    return found[0].replace("{}", "%s") % values[: found[0].count("{}")] if found else None


def _lines(said: Iterable[tuple[float, str]], *, new: bool) -> list[Logged]:
    logger = NEW_LOGGER if new else OLD_LOGGER
    found = []
    for at, text in said:
        when = START + timedelta(milliseconds=round(at * 1000))
        message = _MARKS[new] + text
        stamp = f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03}"
        line = f"[{stamp}] INFO {message} ({logger})"
        found.append(Logged(line, when, message, logger))
    return found


Expected = dict[str, int]  # how often each cause


def _starts(story: Teller, names: Iterable[str]) -> None:
    for name in names:
        story.joins(name)
        story.passes(1, 5)


def slow(story: Teller) -> Expected:
    """One of three is too slow, leaves, and comes back."""
    count = story.random.randint(3, 9)
    _starts(story, ("a-1", "a-2", "a-3"))
    for _ in range(count):
        story.passes(20, 60)
        story.leaves("a-3", POLL)
        story.passes(5, 15)
        story.joins("a-3")
    return {"max_poll" if story.gives_reasons else "left": count}


def dying(story: Teller) -> Expected:
    """One of two is not heard of, again and again."""
    count = story.random.randint(3, 9)
    _starts(story, ("b-1", "b-2"))
    for _ in range(count):
        story.passes(20, 60)
        story.expires("b-2")
        story.passes(5, 15)
        story.joins("b-2")
    return {"session_expired": count}


def deployed(story: Teller) -> Expected:
    """Each of some processes closes, and a new one comes."""
    count = story.random.randint(2, 6)
    _starts(story, [f"old-{number}" for number in range(count)])
    for number in range(count):
        story.passes(5, 30)
        story.leaves(f"old-{number}", CLOSED)
        story.passes(1, 9)
        story.joins(f"new-{number}")
    return {"deploy": count}


def unclosed(story: Teller) -> Expected:
    """New processes come, and the old ones are not closed."""
    count = story.random.randint(2, 6)
    _starts(story, [f"old-{number}" for number in range(count)])
    for number in range(count):
        story.passes(5, 30)
        story.joins(f"new-{number}")
        story.passes(30, 44)
        story.expires(f"old-{number}")
    return {"not_closed": count}


def changing(story: Teller) -> Expected:
    """Topics are created that a pattern subscribes to."""
    count = story.random.randint(3, 12)
    _starts(story, ("m-1", "m-2"))
    for _ in range(count):
        story.passes(10, 60)
        story.rejoins("m-1", METADATA)
    return {"metadata" if story.gives_reasons or story.has_epochs else "rejoined": count}


STORIES: Final[tuple[Callable[[Teller], Expected], ...]] = (
    slow,
    dying,
    deployed,
    unclosed,
    changing,
)

"""What logs say of groups: rebalances, who went, and whole groups, however it is known."""

from dataclasses import dataclass, field

from harness.history.foreign.events import Event


@dataclass(slots=True)
class LoggedRebalance:
    """One generation or group epoch; `joined_at` is None where it was not completed."""

    group: str
    generation: int | None  # None: its clients do not write it
    trigger: str
    cause: str
    named: tuple[str, ...]  # member ids, those that the reason is about
    reason: str | None
    protocol: str  # classic | consumer
    coordinator: int | None
    evidence: Event
    members_before: int | None = None
    members_after: int | None = None
    leader: str | None = None
    client_reason: str | None = None
    started_at: int | None = None
    joined_at: int | None = None
    synced_at: int | None = None
    storm: int | None = None

    @property
    def at(self) -> int:
        """When it began, as far as that is known."""
        return self.started_at if self.started_at is not None else self.joined_at or 0

    @property
    def joining_ms(self) -> float | None:
        """How long all took to join; None where its beginning or its end is not on record."""
        if self.joined_at is None or self.started_at is None:
            return None
        return (self.joined_at - self.started_at) / 1e3

    @property
    def ended_at(self) -> int | None:
        """When the leader's assignment came, or all had joined."""
        return self.synced_at if self.synced_at is not None else self.joined_at


@dataclass(frozen=True)
class Burst:
    """Members of any group whose sessions one broker ended in one moment."""

    broker: int
    from_at: int
    to_at: int
    members: int
    groups: int


@dataclass(slots=True)
class Removal:
    """A member that went: evicted, removed or fenced by the coordinator, or by its own leave."""

    group: str
    cause: str
    member_id: str
    instance_id: str | None
    reason: str | None
    coordinator: int | None
    at: int
    evidence: Event
    other_id: str | None = None  # who has the instance id now
    said: str | None = None  # why it went, in the client's own words
    unsynced: bool = False  # its generation never had an assignment
    burst: Burst | None = None  # among others, in one moment


@dataclass
class LoggedGroup:
    name: str
    rebalances: list[LoggedRebalance] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)  # by the coordinator
    leaves: list[Removal] = field(default_factory=list)
    others: list[Removal] = field(default_factory=list)  # that never came, or were replaced
    joins: list[tuple[str, int]] = field(default_factory=list)  # member ids, and when
    deaths: list[int] = field(default_factory=list)  # when it was deleted, or its offsets expired
    moves: list[tuple[int, int, int]] = field(default_factory=list)  # time, from and to broker
    members: set[str] = field(default_factory=set)
    coordinators: list[int] = field(default_factory=list)
    first_at: int = 0
    last_at: int = 0
    by_clients: bool = False  # known from their logs alone
    unseen: list[int] = field(default_factory=list)  # generations in which none of them was


@dataclass
class Incident:
    """Every group of the logs, the busiest first, with known instance ids and ended brokers."""

    groups: list[LoggedGroup]
    instances: dict[str, str]  # by member id
    ended: list[tuple[int, int]]  # times, and brokers that were shut down in order
    expired: list[tuple[int, int]]  # times, and brokers that removed offsets of unnamed groups

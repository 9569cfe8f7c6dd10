"""Hand-written histories of the consumer protocol (KIP-848)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.histories import TOPIC, History, at, member_id


def parts(numbers: Sequence[int] | None) -> list[dict[str, Any]] | None:
    return None if numbers is None else [{"topic": TOPIC, "partition": n} for n in numbers]


NAME, NEW = "member-2", "member-4"


class Group(History):
    """A group of KIP-848."""

    def beat(
        self,
        member: str,
        ms: float,
        epoch: int = 2,
        *,
        gets: Sequence[int] | None = None,
        owns: Sequence[int] | None = None,
        now: int | None = None,
        **row: Any,
    ) -> Group:
        """A heartbeat of an epoch, answered 1 ms later with an epoch (the same unless given)."""
        answered = {"processed_at": at(ms + 1), "answered_at": at(ms + 1)}
        self.request(
            "CONSUMER_GROUP_HEARTBEAT", member, ms, generation=epoch, assigned=parts(gets),
            owned=parts(owns), member_epoch=epoch if now is None else now, **{**answered, **row},
        )  # fmt: skip
        return self

    def joins(self, member: str, ms: float, epoch: int, gets: Sequence[int] = ()) -> Group:
        """A member joins with epoch 0, and the group epoch is bumped and computed with it."""
        self.member(member, protocol="consumer")
        self.says("member_added", ms, member, reason="joins")
        self.bumped(ms + 0.2, epoch).computed(ms + 0.4, epoch)
        answered = {"processed_at": at(ms + 1), "answered_at": at(ms + 1)}
        return self.beat(member, ms - 1, 0, gets=gets, owns=(), now=epoch, **answered)

    def bumped(self, ms: float, epoch: int, topics: str = "metadata hash 1") -> Group:
        self.says("epoch_bumped", ms, generation=epoch, reason=topics)
        return self

    def computed(self, ms: float, epoch: int) -> Group:
        self.says("target_computed", ms, generation=epoch, reason="uniform")
        return self


class StaticGroup(History):
    """member-2 is static and has partitions 2 and 3 in epoch 2."""

    def beat(
        self,
        member: str,
        ms: float,
        epoch: int = 2,
        gets: Sequence[int] | None = None,
        **row: Any,
    ) -> StaticGroup:
        """A heartbeat of a process with member-2's instance id, answered 1 ms later."""
        said = {
            # Later ones leave out what has not changed.
            "instance_id": NAME if epoch <= 0 else None,
            "assigned": parts(gets),
            "processed_at": at(ms + 1),
            "answered_at": at(ms + 1),
            "generation": epoch,
        }
        self.request("CONSUMER_GROUP_HEARTBEAT", member, ms, **{**said, **row})
        return self

    def member(self, member: str, **row: Any) -> StaticGroup:
        """A process that is to bear member-2's instance id."""
        super().member(member, instance_id=NAME, protocol="consumer", **row)
        return self

    def closes(self, ms: float = 10_000, epoch: int = -2) -> StaticGroup:
        """member-2 closes, and says so by a last heartbeat 5 ms later."""
        self.event(NAME, "closing", ms)
        return self.beat(NAME, ms + 5, epoch)

    def replaced(self, ms: float, old: str = NAME, new: str = NEW) -> StaticGroup:
        """The coordinator's line 0.5 ms into the heartbeat by which a process takes its place."""
        text = f"Created a new member {member_id(new)} to replace the existing member "
        return self.says(
            "member_added", ms + 0.5, new, instance_id=NAME, text=f"{text}{member_id(old)}."
        )

    def bumped(self, ms: float, group: str = "orders") -> StaticGroup:
        self.add("coordinator_events", event="epoch_bumped", at=at(ms), group=group, broker=1)
        return self


def alone() -> Group:
    """member-1 has three partitions."""
    return Group().joins("member-1", 0, 2, gets=(0, 1, 2)).beat("member-1", 10, owns=(0, 1, 2))

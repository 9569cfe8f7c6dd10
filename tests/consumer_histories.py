"""Hand-written histories of the consumer protocol (KIP-848)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.histories import TOPIC, History, at


def parts(numbers: Sequence[int] | None) -> list[dict[str, Any]] | None:
    return None if numbers is None else [{"topic": TOPIC, "partition": n} for n in numbers]


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
        """A heartbeat of an epoch, answered 1 ms later with an epoch (the same unless told)."""
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


def alone() -> Group:
    """member-1 has three partitions."""
    return Group().joins("member-1", 0, 2, gets=(0, 1, 2)).beat("member-1", 10, owns=(0, 1, 2))


def measured(verdict: dict[str, Any]) -> list[float]:
    return sorted(row["measured"] for row in verdict["rows"])

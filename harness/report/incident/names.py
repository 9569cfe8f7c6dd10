"""What members and brokers are called: the names that stay when a process joins again."""

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from harness.history.foreign.client_processes import IN
from harness.history.foreign.clients import KnownClient, made_of
from harness.report.incident.logged import Incident, LoggedGroup

_ENDED_US: Final = 300_000_000  # a group moves so long after its coordinator ended, at most
_ENDS_US: Final = 10_000_000  # its last line may come so long after the move


class Names:
    """What a member is called: by its instance id, its client.id and its host, as far as known."""

    def __init__(self, incident: Incident, clients: dict[str, KnownClient]) -> None:
        self._instances = incident.instances
        self._clients = defaultdict(KnownClient, clients)
        self._ended = incident.ended
        self._hosts = self._only_hosts(incident.groups)

    def broker(self, broker: int, at: int) -> str:
        """A broker that a group moved away from, and whether it had just been shut down."""
        ended = any(
            broker == each and at - _ENDED_US <= when <= at + _ENDS_US for when, each in self._ended
        )
        return f"broker {broker}, which was shut down," if ended else f"broker {broker}"

    def client_id(self, member_id: str) -> str | None:
        """A coordinator makes a member id from the client.id and a UUID."""
        made = made_of(member_id) if member_id not in self._instances else None
        return self._clients[member_id].client_id or made or None

    def host(self, member_id: str) -> str | None:
        """Where it connects from, as far as is known of it or of the lives of its client.id."""
        return self._clients[member_id].host or self._hosts.get(self.client_id(member_id) or "")

    def _only_hosts(self, groups: Iterable[LoggedGroup]) -> dict[str, str]:
        """Hosts by client.id where each has one, and one life at a time.

        Some versions log a host only where a member leaves.
        """
        lives: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        hosts: defaultdict[str, set[str]] = defaultdict(set)
        for group in groups:
            came = dict(group.joins)
            gone = {row.member_id: row.at for row in (*group.removals, *group.leaves)}
            for member in came.keys() | gone.keys():
                if (name := self.client_id(member)) is not None:
                    lives[name].append((came.get(member, 0), gone.get(member, math.inf)))
                    hosts[name].update(filter(None, [self._clients[member].host]))
        return {
            name: min(hosts[name])
            for name, each in lives.items()
            if len(hosts[name]) == 1
            and all(ended <= began for (_, ended), (began, _) in pairwise(sorted(each)))
        }

    def library(self, member_id: str) -> str | None:
        return self._clients[member_id].library

    def instance(self, member_id: str) -> str | None:
        return self._instances.get(member_id)

    def of(self, member_id: str, instance: str | None = None) -> str:
        """A name that stays when the process joins again, if there is one."""
        name = instance or self._instances.get(member_id) or self.client_id(member_id) or member_id
        client = self._clients[member_id]
        if client.place and client.client_id == name:
            return f"{name}{IN}{client.place}"
        host = self.host(member_id)
        return f"{name} at {host}" if host else name or "a member"

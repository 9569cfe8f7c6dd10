"""Ports in a row that nobody has: not those that the kernel hands out, nor those of a person."""

from harness.base.errors import ClusterError
from harness.base.ports import Ports
from harness.run.by_hand.up import PORT_BASE

_BELOW = 8_000


def free_ports(count: int) -> list[int]:
    """Ports on which nothing listens; all differ."""
    with Ports() as ports:
        return [ports.take() for _ in range(count)]


def in_a_row(count: int) -> int:
    """The first of so many free ports in a row."""
    for base in range(PORT_BASE - _BELOW, PORT_BASE - count, count):
        try:
            with Ports(base) as ports:
                for _ in range(count):
                    ports.take()
        except ClusterError:
            continue
        return base
    raise AssertionError(f"no {count} ports in a row are free")

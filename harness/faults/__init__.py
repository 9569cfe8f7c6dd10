"""Everything that can be broken: one value per kind, in `KINDS`.

A new fault is one `Kind` in the module of what it breaks, and its line in `KINDS`.
"""

from typing import Final

from harness.faults import brokers, members, network, positions
from harness.faults.kind import Evidence, Kind

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind for kind in (*brokers.KINDS, *members.KINDS, *network.KINDS, *positions.KINDS)
}

__all__ = ["KINDS", "Evidence", "Kind"]

"""Everything that can be broken: one value per kind, in `KINDS`.

A new fault is one `Kind` in the module of what it breaks, and its line in `KINDS`.
"""

from typing import Final

from harness.run.faults import brokers, members, network, positions, topics
from harness.run.faults.kind import Evidence, Kind

_MODULES: Final = (brokers, members, network, positions, topics)
KINDS: Final[dict[str, Kind]] = {kind.name: kind for module in _MODULES for kind in module.KINDS}

__all__ = ["KINDS", "Evidence", "Kind"]

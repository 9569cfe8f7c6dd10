"""A topic gets more partitions while a group consumes it.

Why: nobody tells a classic group; its members find out when they next ask for metadata.
Watch: who notices when, and how long records wait in partitions that nobody reads.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="New partitions are assigned once the clients have asked for metadata again, and read "
    "from their first record.",
    group=Group(metadata_refresh_ms=5_000, arrive_every_ms=1_200),
    faults=(Fault(kind="add-partitions", target="topic", more_partitions=2),),
    rules=holds("R20c", "R27-growth", "R02", "R21", "X32a", "X32b", "X32c", "R12", "R33"),
    duration_s=8.5,
)

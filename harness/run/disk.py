"""How much disk a run fills, from what it declares.

The figures are those of a soak of an hour with three members and 300 records/s on three brokers,
and of runs of programs whose fetches are logged as well; docs/days.md has what days measured.
"""

from typing import Final

from harness.experiment import Experiment
from harness.run.estimate import estimate_s

# Bytes of one record in a partition's log beside itself, with batches as small as they are at
# 300 records/s, and of one commit in that of the offsets; neither is cleaned up during a run.
_RECORD_BYTES: Final = 28
_COMMIT_BYTES: Final = 210
_OFFSETS_REPLICATION: Final = 3
# A commit's line in a request log, and the four frames of a poll whose records were worked off.
_LINE_BYTES: Final = 1_200
_POLL_BYTES: Final = 750
_POLLS_PER_S: Final = 4.2  # of one member, until its batches are full
# Of one program's process a second: its fetches are in the request logs too.
_PROGRAM_BYTES: Final = 52_000
# A second: the observer's questions and frames, server logs, Toxiproxy's log.
_ALWAYS_BYTES: Final = 17_000 + 1_200 + 2_000 + 1_000
# The producer a second: a frame for each burst, and one for what was answered in each partition.
_BURSTS_PER_S: Final = 50
_REPORTS_PER_S: Final = 4
# History and tables, of what journals and logs have.
_DERIVED: Final = 0.35
_MARGIN: Final = 1.25


def growth_bytes(experiment: Experiment) -> int:
    """About how much a run writes until it is judged; more rather than less."""
    load, group = experiment.load, experiment.group
    members = max(group.members, 1)
    data = load.records_per_s * (load.record_bytes + _RECORD_BYTES) * load.replication
    if experiment.app is not None:
        members_bytes = float(members * _PROGRAM_BYTES)
    else:
        polls = max(members * _POLLS_PER_S, load.records_per_s / group.batch_records)
        members_bytes = polls * (_LINE_BYTES + _POLL_BYTES)
        data += round(polls * _COMMIT_BYTES * _OFFSETS_REPLICATION)
    producer = _BURSTS_PER_S * (70 + 8 * load.partitions) + _REPORTS_PER_S * load.partitions * 260
    record = _ALWAYS_BYTES + members_bytes + producer
    a_second = data + record * (1 + _DERIVED)
    return round(estimate_s(experiment) * a_second * _MARGIN)

"""A member dies while another is stalled: what the rebalance gives that one comes too late for it.

Why: the library joins by itself while the application is stalled, and at max.poll.interval.ms it
leaves. What the application has not been told by then belongs to a membership that has ended.
Watch: what the stalled member is handed when it wakes up, and who has it by then.
"""

from harness.experiment import (
    Experiment,
    Fault,
    Group,
    handed_what_it_has_lost,
    holds,
    late_commit_is_unnamed,
)

experiment = Experiment(
    claim="A member that was too slow is handed nothing that others have been given by then.",
    # The dead member is evicted, and its partitions are given away, before the limit.
    group=Group(protocol="cooperative", commit="auto", max_poll_interval_ms=11_000),
    faults=(
        Fault(kind="stall-consumer", target="member 1", at_s=2, jitter_s=0.5, lasts_s=13),
        Fault(kind="kill-consumer", target="member 2", at_s=2, jitter_s=0.5),
    ),
    rules=(
        *holds("X99"),
        handed_what_it_has_lost("X99"),
        # The others may be given the partition only after the stalled member has woken up.
        handed_what_it_has_lost("R15", by="* to {stall-consumer}", sometimes=True),
        late_commit_is_unnamed("X41"),
        *holds("R10", "R16", "R21", "R33"),
    ),
)

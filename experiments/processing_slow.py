"""One batch takes longer than session.timeout.ms, but not longer than max.poll.interval.ms.

Why: documents say that such a consumer is removed from its group. Since heartbeats have a thread of
their own (KIP-62) it is not: the session timeout is about the process, max.poll.interval.ms about
its work.
Watch: heartbeats go on through the stall, and the commit after it is accepted.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="Processing longer than the session timeout does not cost a member its place.",
    faults=(Fault(kind="stall-consumer", target="any member", lasts_s=12),),
    duration_s=16,
    rules=holds("R34", "R02", "R14", "R21", "R33", "X32a", "X32b", "X32c"),
)

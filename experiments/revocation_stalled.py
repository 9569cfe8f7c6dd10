"""A member stalls while one of its partitions is to be moved to a newcomer (KIP-848).

Why: the newcomer must wait until the stalled member has let the partition go. Heartbeats alone do
not help it: the coordinator gives it max.poll.interval.ms to acknowledge, and then fences it.
Watch: the partition stands still until then, although everybody heartbeats.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A member that does not acknowledge a revocation within its rebalance timeout is fenced.",
    # A Java member leaves by itself at the limit, before it can be fenced. librdkafka only falls
    # silent then, and its session runs out after that.
    clients=("librdkafka",),
    protocols=("consumer",),
    # Six partitions of two members: each has to give one up for the third.
    group=Group(
        protocol="consumer", members=2, session_timeout_ms=9_000, max_poll_interval_ms=9_000
    ),
    faults=(
        Fault(kind="stall-consumer", target="member 1", at_s=2, jitter_s=1, lasts_s=18),
        Fault(kind="start-consumer", target="new member", jitter_s=0.5),
    ),
    rules=(
        violated(
            "R21-delivery",
            "the fenced member learns of it only by its next poll",
            by="* {stall-consumer} still held it",
            up_to=18_000,
        ),
        *holds("X21", "X20", "R19", "R21", "X32a", "X32b", "X32c"),
    ),
)

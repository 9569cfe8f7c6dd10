"""One more consumer joins a working group.

Why: the others learn of it from the answer to their next heartbeat, so a join costs one interval.
Watch: every partition stands still until the last member has rejoined; in a cooperative group only
partitions that move, and those of a member that waits for a commit.
"""

from harness.experiment import Experiment, Fault, holds, violated

experiment = Experiment(
    claim="A new member starts one rebalance, and every member learns of it by its next heartbeat.",
    faults=(Fault(kind="start-consumer", target="new member"),),
    duration_s=8,
    rules=(
        *holds("R15-all", "R22", "X01"),
        violated(
            "R15-all",
            "members of a cooperative group keep what does not move (KIP-429)",
            protocols=("cooperative",),
        ),
        *holds("X20", "X20-alone", "X24", "R33-epochs", protocols=("consumer",)),
        *holds("R12-all", "R12-first", "R13-members", "R15-assigned", "R33-answered"),
        *holds("R22-assignor", protocols=("eager",)),
        *holds("R22-sticky", "R22-moves", protocols=("cooperative", "consumer")),
        violated(
            "X24",
            "before Kafka 4.3 there was no interval: each join computed a target",
            by="epoch *, was computed",
            protocols=("consumer",),
            kafka=("4.0", "4.1", "4.2"),
        ),
        *holds("R20a", "R02", "R12", "R21", "R21-delivery", "R21-stop", "R32", "R33", "X32a"),
        *holds("X32b", "X32c", "X32d", "X34"),
    ),
)

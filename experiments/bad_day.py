"""One minute in which a group meets everything: growth, stalls, a crash, a departure.

Why: rules that hold one at a time must hold when one thing comes while another is under way. And
one run shows for a client and a protocol what would take a run of each fault otherwise.
Watch: each rebalance with its own cause, and none without; the member that joins while another is
stalled waits for that one's limit between polls.
"""

from harness.experiment import Expect, Experiment, Fault, Group, Verdict, holds

experiment = Experiment(
    claim="A group that meets one thing after another treats each as if it were alone.",
    group=Group(max_poll_interval_ms=9_000, metadata_refresh_ms=5_000),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=1, jitter_s=0.5),
        Fault(kind="add-partitions", target="topic", at_s=5, jitter_s=0.5, more_partitions=2),
        # Past the session only, and past the limit between polls.
        Fault(kind="stall-consumer", target="member 2", at_s=12, jitter_s=0.5, lasts_s=7.5),
        Fault(kind="stall-consumer", target="member 1", at_s=12, jitter_s=0.5, lasts_s=13),
        Fault(kind="start-consumer", target="new member", at_s=13.5, jitter_s=0.5),
        Fault(kind="kill-consumer", target="member 3", at_s=32, jitter_s=0.5),
        Fault(kind="close-consumer", target="member 2", at_s=41, jitter_s=0.5),
    ),
    duration_s=44,
    rules=(
        Expect(
            rule="X01-kept",
            verdict=Verdict.VIOLATED,
            because="a synchronous commit waits behind the member's own JoinGroup, which the "
            "coordinator keeps until everybody has joined",
        ),
        *holds("R01", "R02", "R03-members", "R07", "R08-members", "R10", "R12", "R14", "R15-all"),
        *holds("R16", "R18", "R19", "R20a", "R20b", "R20c", "R20e", "R21", "R21-delivery"),
        *holds("R21-stop", "R22", "R27-growth", "R30", "R32", "R32-rejoin", "R33", "R34", "R35"),
        *holds("R36", "X01", "X01-two", "X07", "X08-members", "X14", "X19", "X20", "X32a", "X32b"),
        *holds("X32c", "X32d", "X34"),
    ),
)

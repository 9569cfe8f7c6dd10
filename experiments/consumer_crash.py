"""A consumer is killed without a word (SIGKILL): no LeaveGroup, no last commit.

Why: only the silence tells the coordinator; it must wait a session timeout, no less and no more.
Watch: the eviction to the millisecond, and who owns its partitions in between: nobody.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="A crashed consumer is evicted one session timeout after its last sign of life.",
    faults=(Fault(kind="kill-consumer", target="any member"),),
    rules=(
        Expect(rule="R01"),
        Expect(rule="R02"),
        Expect(rule="R10"),
        Expect(rule="R12"),
        Expect(rule="R14"),
        Expect(rule="R20b"),
        Expect(rule="R21"),
        Expect(rule="R32"),
        Expect(rule="R33"),
        Expect(rule="X32a"),
        Expect(rule="X32b"),
        Expect(rule="X32c"),
        Expect(rule="X32d"),
    ),
)

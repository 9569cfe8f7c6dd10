"""What ordinary days bring: one more process, a crash, an orderly end, a lost coordinator.

Why: each of these happens to whoever runs consumers, and what it costs depends on the program.
Watch: how long partitions stand still after each, and whether the program leaves in order and comes
back. There are as many partitions as processes to begin with, so one of four has none for a while:
some libraries lose such a member. One fault waits until the group is well after the one before, so
that it takes a minute and a half, and with the default session timeout of a program two or three.
"""

from harness.experiment import Experiment, Fault, Load, holds

experiment = Experiment(
    claim="Crashes, restarts, a lost coordinator and a cut link only stop a group for a while.",
    load=Load(partitions=3),
    faults=(
        Fault(kind="start-consumer", target="new member"),
        Fault(kind="kill-consumer", target="member 1"),
        Fault(kind="start-consumer", target="new member", at_s=1),
        Fault(kind="terminate-consumer", target="member 2"),
        Fault(kind="kill-broker", target="coordinator", lasts_s=12),
        # Whichever runs by now: a program may have ended with its coordinator, and come again.
        Fault(kind="isolate", target="any member", lasts_s=20),
    ),
    one_by_one=True,
    duration_s=0,
    long=True,
    rules=holds("R33", "X14"),
)

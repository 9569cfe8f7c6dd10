"""Every static consumer is replaced: it ends, and a new process comes with its instance id.

Why: this is what group.instance.id is for, and how a StatefulSet is deployed. The coordinator keeps
the place of each until its session ends, so the session has to outlast a restart.
Watch: no rebalance from the first process to the last; only the partitions of the process that is
just replaced stand still, and as long as it takes to start.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A deploy of static members that are back within their session moves no partition.",
    group=Group(static=True, session_timeout_ms=30_000),
    faults=(Fault(kind="deploy", target="group", how="same ids"),),
    duration_s=14,
    rules=(
        *holds("X02", "X03", "R02", "R12", "R21", "R21-delivery", "X32a", "X32b", "X32c", "X32d"),
    ),
)

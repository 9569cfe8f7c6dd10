"""Static members go and come back within their session: one closes, the other is killed.

Why: this is what group.instance.id is for. The coordinator keeps the place of a static member until
its session ends, and gives it to whichever process next joins under the same instance id.
Watch: another process has the same partitions; no rebalance, no callback of the others.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim=(
        "A static member that is back within its session gets its partitions without a rebalance."
    ),
    # Room for a process that takes long to start, on a busy machine.
    group=Group(static=True, session_timeout_ms=15_000),
    faults=(
        Fault(kind="bounce-consumer", target="member 2", how="close", lasts_s=2, at_s=1),
        Fault(kind="bounce-consumer", target="member 3", how="kill", lasts_s=1.5, at_s=7),
    ),
    duration_s=10,
    protocols=("eager", "cooperative"),
    rules=holds("X02", "X03", "R02", "R12", "R21", "X32a", "X32b", "X32c"),
)

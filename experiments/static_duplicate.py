"""A second process starts with the instance id of a live static member.

Why: two deployments with one instance id are a mistake that somebody must notice. The newcomer gets
the place; the older is fenced, and its client can do nothing any more.
Watch: error 82 within a heartbeat, and no rebalance at all.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="The older of two processes with one instance id is fenced for good.",
    group=Group(static=True),
    faults=(Fault(kind="start-duplicate", target="any member", at_s=1),),
    duration_s=6,
    protocols=("eager", "cooperative"),
    rules=holds("X05", "X02", "R02", "R12", "R21", "X32a", "X32b", "X32c"),
)

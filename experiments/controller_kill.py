"""The only controller dies and comes back while the group works.

Why: members and their coordinator do not need the controller; only changes of leaders do.
Watch: nothing. Heartbeats, commits and records go on as if it were there.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A group does not notice that the controller is gone for a while.",
    faults=(Fault(kind="kill-broker", target="controller", lasts_s=6),),
    duration_s=12,
    rules=holds("R02", "R14", "R21", "R33", "X32a", "X32b", "X32c"),
)

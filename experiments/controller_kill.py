"""The only controller dies and comes back while the group works.

Why: members and their coordinator do not need the controller; only changes of leaders do.
Watch: nothing. Heartbeats, commits and records go on as if it were there.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A group does not notice that the controller is gone for a while.",
    # Late enough for a few steady heartbeats to be on record before it.
    faults=(Fault(kind="kill-broker", target="controller", at_s=8, lasts_s=6),),
    duration_s=17,
    rules=holds("R02", "R14", "R20f", "R21", "R33", "X32a", "X32b", "X32c"),
)

"""The only controller dies and comes back while the group works.

Why: members and their coordinator do not need the controller; only changes of leaders do.
Watch: nothing. Heartbeats, commits and records go on as if it were there.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="A group does not notice that the controller is gone for a while.",
    faults=(Fault(kind="kill-broker", target="controller", lasts_s=6),),
    rules=(
        Expect(rule="R02"),
        Expect(rule="R14"),
        Expect(rule="R21"),
        Expect(rule="R33"),
        Expect(rule="X32a"),
        Expect(rule="X32b"),
        Expect(rule="X32c"),
    ),
)

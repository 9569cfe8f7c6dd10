"""All of one member's connections end at once, as when a proxy or a NAT in between restarts.

Why: a connection is not a session. The client connects again and goes on under the same member id.
Watch: heartbeats that come when they are due, no rebalance, and nothing delivered twice.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A member whose connections all end at once stays in the group.",
    faults=(Fault(kind="connections-reset", target="any member"),),
    duration_s=15,
    rules=holds("R02", "R20f", "R21", "R33", "X32a", "X32b", "X32c"),
)

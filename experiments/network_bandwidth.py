"""One member's links carry 2 kB a second each, a third of what it reads.

Why: heartbeats and commits share the links with what is fetched; a slow link is not a dead one.
Watch: the member stays, its heartbeats go on, and what it cannot fetch in time waits.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A member behind a narrow link keeps its place in the group.",
    faults=(Fault(kind="bandwidth", target="any member", bandwidth_kb_per_s=2, lasts_s=12),),
    duration_s=16,
    rules=holds("R02", "R20f", "R21", "R33", "X32a", "X32b", "X32c"),
)

"""One member's links carry 20 kB a second only.

Why: heartbeats and commits share the links with what is fetched; a slow link is not a dead one.
Watch: the member stays, its heartbeats go on, and what it cannot fetch in time waits.
"""

from harness.experiment import Expect, Experiment, Fault

experiment = Experiment(
    claim="A member behind a narrow link keeps its place in the group.",
    faults=(Fault(kind="bandwidth", target="any member", bandwidth_kb_per_s=20, lasts_s=12),),
    rules=(
        Expect(rule="R02"),
        Expect(rule="R21"),
        Expect(rule="R33"),
        Expect(rule="X32a"),
        Expect(rule="X32b"),
        Expect(rule="X32c"),
    ),
)

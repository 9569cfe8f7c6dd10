"""The coordinator stops dead for some seconds (SIGSTOP), and goes on before anybody is fenced.

Why: a paused coordinator cannot evict anybody, and does not count the time it slept against members
whose heartbeats waited for it.
Watch: heartbeats that are answered seconds late, and a generation that stays.
"""

from harness.experiment import Experiment, Fault, Group, holds

experiment = Experiment(
    claim="A coordinator that was paused for less than a session evicts no member afterwards.",
    # Shorter than broker.session.timeout.ms (9 s) as well, so nobody takes the group over.
    group=Group(session_timeout_ms=15_000),
    faults=(Fault(kind="pause-broker", target="coordinator", lasts_s=5),),
    duration_s=11.5,
    rules=holds("R02", "R20d", "R21", "R33", "X32a", "X32b", "X32c"),
)

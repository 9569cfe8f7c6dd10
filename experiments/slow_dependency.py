"""What a program uses to process a record answers late, then not at all: for 20 s, and for 75 s.

Why: this is how a consumer comes to take too long over its records, and the group should not mind
until max.poll.interval.ms is over, which is five minutes by default. Clients whose heartbeats wait
for the processing are put out of the group after a session timeout, 10 to 45 s by default.
Watch: whether a stall that outlasts the session costs the group its partitions, what is processed
twice after it, and whether every process goes on by itself.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A program whose dependency is slow or gone for a while stays in its group, and goes on.",
    faults=(
        Fault(kind="slow-dependency", target="dependency", latency_ms=500, lasts_s=15),
        Fault(kind="cut-dependency", target="dependency", lasts_s=20),
        Fault(kind="cut-dependency", target="dependency", lasts_s=75),
    ),
    one_by_one=True,
    duration_s=0,
    rules=holds("R33", "X14"),
)

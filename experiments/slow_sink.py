"""The sink that a program posts its work to answers late, then with 503, then not for 75 s.

Why: a program that stores what it processed waits for the answer, tries again, or goes on without;
what becomes of its group and of its records depends on which.
Watch: whether anything is committed that the sink has not acknowledged, what comes twice, and
whether a stall that outlasts the session timeout, 10 to 45 s by default, costs a rebalance.
"""

from harness.experiment import Experiment, Fault, holds

experiment = Experiment(
    claim="A program whose sink is slow or refuses posts for a while keeps its place and loses "
    "nothing.",
    faults=(
        Fault(kind="slow-sink", target="sink", latency_ms=500, lasts_s=15),
        Fault(kind="slow-sink", target="sink", how="503", lasts_s=20),
        Fault(kind="slow-sink", target="sink", latency_ms=75_000, lasts_s=75),
    ),
    one_by_one=True,
    duration_s=0,
    rules=holds("R33", "X14"),
)

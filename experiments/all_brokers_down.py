"""Every broker dies at once, and comes back some seconds later: nobody is left to fail over to.

Why: the group has no coordinator at all. Members can only wait, and their sessions begin again when
a coordinator has loaded the group.
Watch: what was acknowledged is there again; the positions are those that were committed.
"""

from harness.experiment import Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="A group survives the death of all brokers, with everything that had been acknowledged.",
    group=Group(session_timeout_ms=45_000),
    faults=tuple(
        Fault(kind="kill-broker", target=f"broker {number}", jitter_s=0.2, lasts_s=8)
        for number in (1, 2, 3)
    ),
    duration_s=15,
    rules=(
        *holds("R21", "R33", "X32a", "X32b", "X32c"),
        violated(
            "R30",
            "a coordinator of Kafka 4 answers with what was committed at its last "
            "checkpoint until a second replica follows it, which takes half a second "
            "(docs/upstream/kafka-offset-fetch-after-restart.md)",
            by="* {kill-broker} answered",
            sometimes=True,
            kafka=("4.",),
        ),
    ),
)

"""Nothing is broken: what a healthy group looks like, to hold every other experiment against.

Why: a rule that fails here fails because of the harness or the machine, not because of a fault.
Watch: heartbeats in an even row, one generation, no record twice.
"""

from harness.experiment import Expect, Experiment

experiment = Experiment(
    claim="Left alone, a group keeps one generation, even heartbeats, loses and repeats nothing.",
    duration_s=15,
    rules=(
        Expect(rule="R02"),
        Expect(rule="R12"),
        Expect(rule="R14"),
        Expect(rule="R20b"),
        Expect(rule="R21"),
        Expect(rule="R33"),
        Expect(rule="X14"),
        Expect(rule="X32a"),
        Expect(rule="X32c"),
    ),
)

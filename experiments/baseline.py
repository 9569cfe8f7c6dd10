"""Nothing is broken: what a healthy group looks like, to hold every other experiment against.

Why: a rule that fails here fails because of the harness or the machine, not because of a fault.
Watch: heartbeats in an even row, one generation, no record twice.
"""

from harness.experiment import Experiment, holds

experiment = Experiment(
    claim="A group without faults keeps one generation and even heartbeats, and loses and repeats "
    "nothing.",
    duration_s=12,
    rules=(
        *holds("X20", "X24", protocols=("consumer",)),
        *holds("R02", "R12", "R14", "R20b", "R20f", "R21", "R33", "X14", "X32a", "X32c"),
    ),
)

"""Scripted members fall silent at moments at which no client does; nothing is broken.

Why: what a coordinator waits for, and for how long, shows only with members that misbehave.
Watch: parked JoinGroups and SyncGroups that outlast the session, and nobody is evicted for them.
"""

from harness.experiment import CLASSIC, Experiment, Probe, holds

experiment = Experiment(
    claim="A coordinator waits for silent members exactly as long as each timeout says.",
    probes=(Probe(name="group-states"),),
    rules=(
        *holds("R13", "X10", "R03-members", "R08-members", "X08-members", "X09-wire", "R02", "R12"),
        *holds("R21", "R33", "X32a"),
    ),
    clients=("librdkafka",),
    protocols=CLASSIC,
)

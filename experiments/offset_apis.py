"""Commits, fetches and deletes of positions in every state of a group; nothing is broken.

Why: the answers to an evicted, a stale or an anonymous client decide which records are read twice.
In a transaction the positions of an anonymous client are accepted.
Watch: the answers in `calls`, each with the group's state just before and after it.
"""

from harness.experiment import CLASSIC, Cluster, Experiment, Probe, holds

experiment = Experiment(
    claim="Requests about positions are answered as documented, from any caller and in any state.",
    # One partition instead of 50: the first transaction makes the topic.
    cluster=Cluster(settings={"transaction.state.log.num.partitions": "1"}),
    probes=(Probe(name="offset-apis"),),
    rules=(
        *holds("X06", "X30", "X33", "R27-growth", "R30-wire", "R30-whole", "R31"),
        *holds("R02", "R12", "R21", "R33", "X32a", "X32c"),
    ),
    clients=("librdkafka",),
    protocols=CLASSIC,
)

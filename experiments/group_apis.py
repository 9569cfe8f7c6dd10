"""Every call of the group APIs in every state of a group, by scripted members; nothing is broken.

Why: clients send only correct requests, so they never show how a coordinator answers wrong ones.
Watch: the answers in `calls`, each with the group's state just before and after it.
"""

from harness.experiment import CLASSIC, Cluster, Expect, Experiment, Probe, holds, violated

experiment = Experiment(
    claim="A coordinator answers each call of the group APIs as documented, in every state.",
    cluster=Cluster(settings={"group.max.size": "4"}),
    probes=(Probe(name="group-apis"),),
    rules=(
        *holds("R17", "R29-wire", "X06", "X05", "X08-members", "X13", "X15", "X30"),
        *holds("R28-list", "R28-unknown"),
        Expect(rule="R28", kafka=("4.",)),
        violated(
            "R28",
            "the coordinator of Kafka 3 shows assignments of stable groups only",
            by="member in *, is described with another assignment",
            kafka=("3.",),
        ),
        *holds("R02", "R12", "R21", "R33", "X32a"),
    ),
    clients=("librdkafka",),
    protocols=CLASSIC,
)

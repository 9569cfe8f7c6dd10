"""One minute in which a group meets everything: growth, stalls, a crash, a departure.

Why: rules that hold for one fault at a time must also hold when faults overlap. And one run shows
for a client and a protocol what would otherwise take a run for each fault.
Watch: each rebalance has a cause of its own; the member that joins while another one is stalled
waits for the max.poll.interval.ms of the stalled member.
"""

from harness.experiment import (
    CLASSIC,
    Experiment,
    Fault,
    Group,
    commit_waits_for_the_rebalance,
    handed_what_it_has_lost,
    holds,
    late_commit_is_unnamed,
    violated,
)

experiment = Experiment(
    claim="A group that meets one fault after another handles each as if it were the only one.",
    group=Group(max_poll_interval_ms=13_000, metadata_refresh_ms=3_000),
    faults=(
        Fault(kind="start-consumer", target="new member", at_s=1, jitter_s=0),
        Fault(kind="add-partitions", target="topic", at_s=6, jitter_s=0.5, more_partitions=2),
        # Past the session only, and past the limit between polls.
        Fault(kind="stall-consumer", target="member 2", at_s=15, jitter_s=0.5, lasts_s=9),
        Fault(kind="stall-consumer", target="member 1", at_s=15, jitter_s=0.5, lasts_s=17),
        Fault(kind="start-consumer", target="new member", at_s=16, jitter_s=0),
        Fault(kind="kill-consumer", target="member 3", at_s=37, jitter_s=0.5),
        Fault(kind="close-consumer", target="member 2", at_s=46, jitter_s=0.5),
    ),
    duration_s=49,
    rules=(
        # In KIP-848 librdkafka leaves with that poll, so nobody has them before: see R07.
        *(
            violated(
                "R21-delivery",
                "the stalled application is told only by its next poll that it lost its partitions",
                by="* {stall-consumer} still held it",
                up_to=17_000,
                clients=(client,),
                protocols=protocols,
            )
            for client, protocols in (("java", ()), ("librdkafka", CLASSIC))
        ),
        *holds("R15-all"),
        violated(
            "R15-all",
            "members of a cooperative group keep what does not move (KIP-429)",
            protocols=("cooperative",),
        ),
        # Two seconds more than the stall, as in callback-stall.
        commit_waits_for_the_rebalance("X01-kept", up_to=19_000),
        handed_what_it_has_lost("X99", sometimes=True),
        *holds("R07"),
        violated(
            "R07",
            "librdkafka stops its heartbeats at the limit, but says that it leaves only "
            "when the application polls: the session ends before",
            by="{stall-consumer}",
            at_most=1,
            clients=("librdkafka",),
            protocols=("consumer",),
        ),
        late_commit_is_unnamed("X41-asked"),
        violated(
            "X41-asked",
            "Java's member has left by the time its application commits, and has epoch -1",
            by="{stall-consumer}",
            clients=("java",),
            protocols=("consumer",),
        ),
        *holds("R01", "R02", "R04", "R10", "R12", "R16"),
        # Classic generations are too short here for a median: see static-day.
        *holds("R14", protocols=("consumer",)),
        *holds("R19", clients=("java",)),
        # It is evicted before it commits, or not: its session ends about when its stall does.
        *holds("R19", clients=("librdkafka",), protocols=CLASSIC),
        *holds("R20a", "R20b", "R20c", "R20e", "R20f", "R21", "R21-stop", "R22"),
        *holds("R27-growth", "R30"),
        *holds("R32", "R32-rejoin", "R33", "R34", "R35", "R36", "X07", "X08-members"),
        *holds("X14", "X20", "X32a", "X32b", "X32c", "X32d", "X34"),
    ),
)

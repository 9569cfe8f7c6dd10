"""Four members, and each breaks another rule: on its commits, on its work, or on how it goes.

Why: proof that the judge sees each of them, and names the member.
Watch: seven rules violated; the coordinator's own, which no member can break, hold all the same.
"""

from harness.experiment import CLASSIC, Experiment, Fault, Group, holds, violated

experiment = Experiment(
    claim="Members that break the rules are noticed, each by the rule that it breaks.",
    group=Group(
        members=4,
        session_timeout_ms=9_000,
        differing={
            1: {"sabotage": "commit-backwards", "settings": {"heartbeat.interval.ms": "6000"}},
            2: {"sabotage": "skip-batches"},
            3: {"sabotage": "work-twice"},
            4: {"sabotage": "leave-without-close"},
        },
    ),
    faults=(Fault(kind="close-consumer", target="member 4", at_s=10, jitter_s=1),),
    rules=(
        violated(
            "X32c",
            "member 1 commits positions that lie before what it committed",
            by="*, the first that went back by member-1",
        ),
        violated(
            "R14",
            "member 1 heartbeats every 6 s, not every 2 s as the group declares",
            by="member-1",
        ),
        # Three batches: consumers/sabotage.py
        violated(
            "X32a",
            "member 2 does not process some batches, and commits what comes after them",
            up_to=300,
        ),
        violated(
            "X32b",
            "member 3 works off some batches again that it has committed",
            by="* again to member-3",
            up_to=300,
        ),
        violated("X72", "member 3 goes back to where such a batch began", by="member-3", up_to=300),
        violated(
            "X14", "member 4 ends without a word to its coordinator", by="member-4", at_most=1
        ),
        violated("X88", "member 4 gives up nothing before it ends", by="member-4", at_most=1),
        *holds("R01", "R02", "R20b", "R21", "R33"),
    ),
    duration_s=12,
    protocols=CLASSIC,
)

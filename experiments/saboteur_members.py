"""Four members, and each breaks another rule: on its commits, on its work, or on how it goes.

Why: proof that the judge sees each of them, and names the member.
Watch: seven rules violated; the coordinator's own, which no member can break, hold all the same.
"""

from harness.experiment import CLASSIC, Expect, Experiment, Fault, Group, Verdict, holds

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
        Expect(
            rule="X32c",
            verdict=Verdict.VIOLATED,
            by="*, the first that went back by member-1",
            because="member 1 commits positions that lie before what it committed",
        ),
        Expect(
            rule="R14",
            verdict=Verdict.VIOLATED,
            by="member-1",
            because="member 1 heartbeats every 6 s, not every 2 s as the group declares",
        ),
        Expect(
            rule="X32a",
            verdict=Verdict.VIOLATED,
            up_to=300,  # three batches: consumers/sabotage.py
            because="member 2 does not process some batches, and commits what comes after them",
        ),
        Expect(
            rule="X32b",
            verdict=Verdict.VIOLATED,
            by="* again to member-3",
            up_to=300,
            because="member 3 works off some batches again that it has committed",
        ),
        Expect(
            rule="X72",
            verdict=Verdict.VIOLATED,
            by="member-3",
            up_to=300,
            because="member 3 goes back to where such a batch began",
        ),
        Expect(
            rule="X14",
            verdict=Verdict.VIOLATED,
            by="member-4",
            at_most=1,
            because="member 4 ends without a word to its coordinator",
        ),
        Expect(
            rule="X88",
            verdict=Verdict.VIOLATED,
            by="member-4",
            at_most=1,
            because="member 4 gives up nothing before it ends",
        ),
        *holds("R01", "R02", "R20b", "R21", "R33"),
    ),
    duration_s=12,
    protocols=CLASSIC,
)

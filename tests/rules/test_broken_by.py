"""Which rules a client or a fault can break, and that an experiment does; and which nothing can."""

from __future__ import annotations

import pytest

from harness.catalogue import registry
from harness.experiment import Verdict
from harness.rules import RULES

# Rules, and the experiment that breaks each on a real cluster.
BROKEN_BY = {
    "R06": "member-isolated",
    "R07": "saboteur-stopped",
    "R10": "saboteur-stopped",
    "R14": "saboteur-members",
    "R15-all": "bad-day",
    "R15-repeats": "listener-none",
    "R20d": "broker-kill-short-session",
    "R21-delivery": "processing-stall",
    "R21-stop": "saboteur-keep-processing",
    "R26-processed": "auto-commit-crash",
    "R30": "split-brain-attempt",
    "R31-made": "offsets-unwritable",
    "R32": "saboteur-deaf",
    "R34": "saboteur-deaf",
    "X14": "saboteur-members",
    "X22-assignment": "member-epochs",
    "X24": "consumer-join",
    "X28-alive": "offsets-unwritable",
    "X29-uncommitted": "transactions",
    "X32a": "saboteur-commit-first",
    "X32b": "saboteur-members",
    "X32c": "saboteur-members",
    "X32d": "saboteur-never-commit",
    "X40-full-static": "heartbeat-answers",
    "X40-rejoin": "heartbeat-answers",
    "X40-rejoin-static": "heartbeat-answers",
    "X41-asked": "processing-stall",
    "X42": "static-late",
    "X60": "saboteur-keep-processing",
    "X72": "saboteur-members",
    "X73": "saboteur-commit-first",
    "X88": "saboteur-members",
    "X99": "assigned-while-stalled",
}
_BROKER = "brokers alone decide it, and they are not sabotaged"
_LIBRARY = "the client library does it by itself, whatever the application does"
_BOTH = "the library and the coordinator agree on it; the application has no say"
_ASSIGNOR = (
    "the leader's assignor decides it, and the coordinator stores unchecked what that gives: an "
    "application would have to bring an assignor of its own, which librdkafka does not let it and "
    "ours for Java does not"
)
_KIP_848 = "the broker's assignor decides it where the group has one, and else " + _ASSIGNOR
# Rules that only hand-written histories break, and why no application and no fault does.
ONLY_BY_HAND = {
    **dict.fromkeys(
        (
            *("R01", "R02", "R03-members", "R03-wire", "R04-longest", "R08-members", "R08-wire"),
            *(
                "R11-idle",
                "R12",
                "R12-all",
                "R12-first",
                "R33-answered",
                "R33-epochs",
                "R13",
                "R17",
                "R19",
                "R20a",
                "R20b",
                "R20e",
                "R27-growth",
                "R27-shrink",
            ),
            *(
                "R28",
                "R28-epoch",
                "R28-list",
                "R28-unknown",
                "R29-wire",
                "R30-whole",
                "R30-wire",
                "R31",
            ),
            *("R31-append", "R33", "X02", "X02-epoch", "X05", "X05-unreleased"),
            *("X05-wire", "X06", "X07", "X08-members", "X08-wire", "X09", "X09-wire", "X10"),
            *(
                "X11",
                "X12",
                "X13",
                "X15",
                "X17",
                "X20",
                "X21",
                "X25",
                "X28",
            ),
            *("X29-fenced", "X30", "X33", "X35", "X37", "X39"),
            *("X40", "X40-full"),
            *("X43", "X43-topic", "X44"),
            *("X55", "X56", "X57", "X61", "X62", "X63", "X66", "X67", "X68"),
            *("X70", "X75", "X76", "X77", "X81", "X82", "X83", "X89", "X90"),
            *("X95", "X96", "X106", "X108", "X109", "X110"),
        ),
        _BROKER,
    ),
    **dict.fromkeys(
        (
            *(
                "R04",
                "R05",
                "R05-lookup",
                "R07-reason",
                "R06-java",
                "R06-librdkafka",
                "R09",
                "R15",
                "R15-seek",
            ),
            *("R13-members", "R15-assigned", "R15-commit", "R08-client", "R34-silent", "X20-alone"),
            *(
                "R16",
                "R23",
                "R24",
                "R25",
                "R25-arguments",
                "R26",
                "R26-repeats",
                "R35",
                "R36",
            ),
            *("X03", "X03-epoch", "X04", "X16", "X18", "X23", "X26", "X27", "X31", "X31-java"),
            *("X38", "X41", "X50", "X51", "X52", "X58", "X59", "X64", "X69", "X74"),
            *("X102", "X103", "X107"),
            *("X85", "X86", "X91", "X92", "X98"),
        ),
        _LIBRARY,
    ),
    **dict.fromkeys(("R20f", "X01-kept", "X29", "X34", "X53"), _BOTH),
    **dict.fromkeys(("R22-assignor", "X01", "X01-two"), _ASSIGNOR),
    **dict.fromkeys(("R22", "R22-moves", "R22-sticky", "X54"), _KIP_848),
    **dict.fromkeys(
        ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14"),
        "a program of somebody else's has to; tests/cluster/test_played_apps.py has some that do",
    ),
    **dict.fromkeys(("L1", "L2", "L3", "L4"), "whoever promises too much breaks it"),
    "E06": "no experiment leads a member around its lane",
    "E10": "brokers and members share this machine's clock; tests/tampered puts one off",
    "X79": "the fleet starts what the run says; tests/tampered has members that are another",
    "X80": "the fleet ends processes as the run says; tests/tampered has some that end otherwise",
    "X36": "no saboteur commits what it was not given; tests/tampered has some that do",
    "R20c": "as long as there is a live member that polls",
    "R21": f"{_KIP_848}; a zombie is told apart by R21-delivery",
    "R32-rejoin": "the library's own poll does it; who does not poll is not examined",
}


@pytest.mark.parametrize(("rule", "name"), BROKEN_BY.items())
def test_the_experiment_expects_the_rule_to_be_broken(rule: str, name: str) -> None:
    expected = [expect.verdict for expect in registry.load(name).rules if expect.rule == rule]

    assert Verdict.VIOLATED in expected


def test_every_rule_is_broken_by_an_experiment_or_by_hand_for_a_reason() -> None:
    assert set(BROKEN_BY).isdisjoint(ONLY_BY_HAND)
    named, rules = {*BROKEN_BY, *ONLY_BY_HAND}, {r.id for r in RULES.values() if not r.evidence}
    assert rules == named, f"{sorted(rules ^ named)}: one entry each, in BROKEN_BY or ONLY_BY_HAND"

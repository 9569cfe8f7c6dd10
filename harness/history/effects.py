"""What a fault breaks, as properties: queries and refusals ask these, and no name of a kind."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final


class Breaks(StrEnum):
    MEMBER = "member"
    BROKER = "broker"
    LINK = "link"  # between members, or the producer, and brokers; it can be of one broker only
    TOPIC = "topic"
    DEPENDENCY = "dependency"  # what a program uses besides Kafka, the sink included
    POSITIONS = "positions"  # what the group committed, or the records that it points at
    FEATURES = "features"  # of the cluster: which levels of them are finalized
    RIGHTS = "rights"  # what a member's user may do, or whether it is let in at all


class Proof(StrEnum):
    """What the record of a run shows of a fault, besides the evidence taken when it was injected.

    The rule about faults that took effect looks for it.
    """

    NONE = ""
    OBSERVER = "observer"  # the observer saw that the broker was gone
    SILENCE = "silence"  # no request of the member arrived during it
    JOIN = "join"  # a coordinator accepted a join of the member
    LEAVE = "leave"  # a leave of the member arrived
    FENCED = "fenced"  # a coordinator refused one of two processes with one instance id
    STALL = "stall"  # the member recorded a stall, and polled nothing during it
    CALLBACK_STALL = "callback stall"  # the same of a callback
    SLOWER = "slower"  # the member read fewer records a second than before


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What one kind of fault breaks, in one of its ways. All but `breaks` is false unless given.

    `disturbs_heartbeats`: heartbeats over what it hits stop, or come late. `broker_gone`: no other
    node can use the broker until its heal. `killed`: the process gets no chance of a last word.
    `ends_member` and `adds_member`: the group has one member less, or more, for good.
    `starts_process`: a program of a member is started. `link_cut`: nothing comes through the link.
    `stalls`: the member stops polling. `below_limits`: members and partitions stay as they are, so
    the group has no reason to rebalance.
    """

    breaks: Breaks
    disturbs_heartbeats: bool = False
    broker_gone: bool = False
    killed: bool = False
    ends_member: bool = False
    adds_member: bool = False
    starts_process: bool = False
    link_cut: bool = False
    stalls: bool = False
    below_limits: bool = False
    proof: Proof = Proof.NONE


_GONE: Final = Effects(
    breaks=Breaks.BROKER, disturbs_heartbeats=True, broker_gone=True, proof=Proof.OBSERVER
)
_CRASH: Final = Effects(breaks=Breaks.MEMBER, killed=True, ends_member=True, proof=Proof.SILENCE)
_BOUNCE: Final = Effects(breaks=Breaks.MEMBER, starts_process=True, proof=Proof.SILENCE)
_SLOW: Final = Effects(breaks=Breaks.LINK, disturbs_heartbeats=True, below_limits=True)

# Journals did not have the effects of their faults at first: those of the kinds there were then, by
# their ways, of which the first is meant where a journal names none. A new kind has no place here.
OF_OLD_JOURNALS: Final[Mapping[str, Mapping[str, Effects]]] = {
    "kill-broker": {"": replace(_GONE, killed=True)},
    "stop-broker": {"": _GONE},
    "pause-broker": {"": _GONE},
    "isolate-broker": {
        "peers": replace(_GONE, proof=Proof.NONE),  # it still answers the observer
        "lanes": Effects(breaks=Breaks.BROKER, disturbs_heartbeats=True, below_limits=True),
    },
    "kill-consumer": {"at once": _CRASH, "in a transaction": _CRASH},
    "freeze-consumer": {
        "": Effects(breaks=Breaks.MEMBER, disturbs_heartbeats=True, proof=Proof.SILENCE)
    },
    "close-consumer": {"": Effects(breaks=Breaks.MEMBER, ends_member=True, proof=Proof.LEAVE)},
    "start-consumer": {
        "": Effects(breaks=Breaks.MEMBER, adds_member=True, starts_process=True, proof=Proof.JOIN)
    },
    "bounce-consumer": {"close": _BOUNCE, "kill": replace(_BOUNCE, killed=True)},
    "start-duplicate": {"": Effects(breaks=Breaks.MEMBER, starts_process=True, proof=Proof.FENCED)},
    "stall-consumer": {"": Effects(breaks=Breaks.MEMBER, stalls=True, proof=Proof.STALL)},
    "stall-callback": {"": Effects(breaks=Breaks.MEMBER, stalls=True, proof=Proof.CALLBACK_STALL)},
    "delete-offsets": {"": Effects(breaks=Breaks.POSITIONS)},
    "delete-records": {"": Effects(breaks=Breaks.POSITIONS)},
    "add-partitions": {"": Effects(breaks=Breaks.TOPIC)},
    "latency": {"": _SLOW},
    "bandwidth": {"": replace(_SLOW, proof=Proof.SLOWER)},
    "isolate": {
        "": Effects(
            breaks=Breaks.LINK, disturbs_heartbeats=True, link_cut=True, proof=Proof.SILENCE
        )
    },
}

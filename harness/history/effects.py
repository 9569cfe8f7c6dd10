"""What a fault breaks, as properties: queries and refusals ask these, and no name of a kind."""

from dataclasses import dataclass
from enum import StrEnum


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

    `disturbs_heartbeats`: heartbeats over what it hits stop, or come late, until its heal; without
    one, until the run ends. `broker_gone`: no other node can use the broker until its heal.
    `killed`: the process gets no chance of a last word.
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

"""The name of each rule, `group/verb-phrase`, in the order in which lists have them.

A rule has an id as well: stored runs, datasets, suites and experiments have ids, and go on to be
understood. A rule that takes the place of others keeps their ids beside its own.
"""

from __future__ import annotations

from typing import Final

# A group and what it is about, and its rules below it.
_NAMED: Final = """
session: when the coordinator takes a member for dead, and what keeps it alive
silent-member-is-evicted R01
request-restarts-the-timer R02
waiting-member-is-kept R03-members
heartbeat-is-sent-in-its-interval R14
failed-heartbeat-is-repeated R09
heartbeat-goes-to-the-coordinator R35
no-heartbeat-without-coordinator R05
lost-coordinator-is-looked-for R05-lookup
assignment-is-kept-without-answers R06
java-gives-up-at-its-end R06-java
librdkafka-loses-assignment-at-its-end R06-librdkafka
heartbeat-thread-wakes-each-backoff R36
no-heartbeat-while-joining R34-silent
rebalance-in-progress-keeps-it R08-members
three-timers-have-three-effects R16
crash-is-noticed-by-default X11
crash-is-noticed-by-default-in-kip-848 X19-default
broker-sets-the-timeout-in-kip-848 X19
crashed-consumers-partitions-move R10

poll: what a poll returns, and what becomes of a member that does not poll
without-poll-it-leaves R07
leaving-has-a-reason R07-reason
slow-processing-removes R18
heartbeats-go-on-without-poll R34
member-rejoins-at-its-next R32-rejoin
gives-up-only-past-the-limit X78
says-that-the-limit-is-over X85
hears-it-is-out-before-a-record X99
slow-member-joins-again X104
returns-max-poll-records R23
returns-500-records-by-default R23-default
fetch-returns-max-partition-bytes R24
fetch-returns-1-mib-by-default R24-default
buffer-comes-before-fetch R25
wrong-call-is-refused R25-arguments
returns-nothing-in-a-rebalance R25-rebalance
quiet-group-reads-everything X38
no-records-without-leader R11-idle

rebalance: how a rebalance begins, runs and ends
new-member-starts-one R20a
departure-starts-one R20b
new-partitions-start-one R20c
broker-crash-starts-none R20d
end-of-session-starts-one R20e
has-a-known-cause R20f
broker-crash-starts-one R11
heartbeats-announce-it R32
client-keeps-its-coordinator R08-client
generations-count-up R33
joins-are-answered-together R33-answered
dynamic-member-joins-in-two-steps X08-members
only-the-first-waits X07
late-member-is-removed X09
waits-for-the-longest-poll-interval R04-longest
member-sends-its-timeouts R04
has-one-leader R12
all-members-have-joined R12-all
first-member-leads R12-first
only-the-leader-assigns R13-members
active-member-has-synced X101
join-is-answered-to-its-sender X109
leader-gets-the-members X108
assignor-is-offered-by-all X53
log-lines-follow-on-each-other X76
log-and-answers-agree X81
close-leaves-at-once X14
close-returns-once-left X107
takes-fixed-intervals X34
blocked-callback-keeps-librdkafka X31
blocked-callback-removes-java X31-java

assignment: who gets which partitions
partition-has-one-member R21
is-even R22
range-and-roundrobin-are-predictable R22-assignor
equal-numbers-give-one-each R22-each
more-members-leave-some-idle R22-idle
more-partitions-give-one-more R22-more
sticky-moves-few R22-moves
sticky-keeps-its-own R22-sticky
names-existing-partitions X54
cooperative-revokes-what-moves X01
kept-partition-is-not-interrupted X01-kept
cooperative-move-takes-two-generations X01-two
topic-can-grow R27-growth
topic-never-shrinks R27-shrink
librdkafka-notices-growth X16

callbacks: what a rebalance listener hears, and when
revocation-comes-before-the-move R15
everything-is-revoked R15-all
assignment-comes-after R15-assigned
commit-in-revocation-is-accepted R15-commit
handover-repeats-nothing R15-repeats
reading-starts-at-the-seek R15-seek
follow-on-each-other X50
name-the-generation X51
match-what-was-given X69
lost-only-by-a-member-that-was-out X74
evicted-member-loses-partitions X84
come-before-leaving X88
given-part-is-committed-before X102

commits: what may be committed, when, and what is read back
removed-member-is-refused R19
removed-members-work-is-not-saved R19-auto
last-one-is-returned R30
none-is-seen-by-half R30-whole
failed-one-is-not-visible R31-append
failed-one-may-take-effect R31-made
failed-one-is-withdrawn R31-withdrawn
automatic-keeps-its-interval R26
automatic-covers-processed-records R26-processed
crash-repeats-one-interval R26-repeats
automatic-is-not-left-out X97
automatic-leaves-no-partition-out X103
automatic-only-as-a-member X41
application-names-its-member X41-asked
only-what-was-given X36
only-in-its-generation X37
only-what-was-processed X73
only-what-was-asked X100
reported-as-answered X59
answered-in-time X61
positions-of-empty-groups-expire X17
no-partition-is-left-out X82
transaction-has-one-result X29
transaction-of-a-removed-member-fails X29-fenced
transaction-has-one-result-uncommitted-included X29-uncommitted
older-producer-is-fenced X67
count-with-their-transaction X68
same-position-is-asked-once X98

delivery: what becomes of records
one-reader-at-a-time R21-delivery
only-held-partitions R21-stop
nothing-acknowledged-is-lost X32a
only-uncommitted-comes-again X32b
positions-never-go-back X32c
handover-repeats-by-policy X32d
begins-at-the-position X58
goes-onwards X72
reset-only-without-position X18
record-has-its-own-offset X63
end-never-goes-back X87
only-the-leader-names-the-end X90
records-are-stored X89
refusal-has-a-reason X106

coordinator: what a coordinator answers, and which broker it is
new-one-keeps-the-members X12
takes-over-the-generation X95
is-one-at-a-time X39
all-brokers-name-one X66
right-member-is-not-refused X56
removed-member-is-refused X62
refusal-has-a-reason X70
sync-only-in-its-generation X71
answers-within-a-second X75
describes-its-members X55
describes-its-state X55-state
too-few-replicas-fail-commits X28
too-few-replicas-keep-heartbeats X28-alive
too-few-replicas-fail-syncs X28-joins
too-few-replicas-fail-kip-848-joins X28-members
too-few-replicas-fail-parked-joins X28-parked
too-few-replicas-delay-heartbeats X28-waits
no-right-to-the-group-is-refused X43
no-right-to-the-topic-keeps-partitions X43-topic
deleted-credentials-expire X44
known-one-is-not-looked-up X91
client-reports-no-error X92
client-gives-up-only-as-no-member X42
member-says-who-it-is X52
configuration-is-asked-for X79

static: members with a group.instance.id
back-in-time-causes-no-rebalance X02
back-in-time-keeps-partitions-in-kip-848 X02-epoch
return-starts-a-rebalance R20a-return
close-does-not-leave X03
close-sends-minus-two-in-kip-848 X03-epoch
without-poll-stops-heartbeats X04
older-is-fenced X05
newer-is-refused-in-kip-848 X05-unreleased

epochs: the protocol of KIP-848
owner-releases-first X20
no-join-no-leader X20-alone
ignored-revocation-is-fenced X21
commit-needs-the-current X22
commit-needs-one-since-assignment X22-assignment
fenced-member-comes-back-with-zero X23
targets-come-in-batches X24
join-computes-at-once X24-at-once
group-converts-and-back X25
broker-settings-are-refused X26
member-without-coordinator-goes-on X27
count-up X35
states-follow R33-epochs
broker-names-the-interval X57
target-is-by-the-asked-assignor X83
raised-once-given-up X96
released-is-said-at-once X105
incomplete-heartbeat-is-refused X40
unknown-assignor-is-refused X40-assignor
classic-request-changes-nothing X40-classic
no-topic-gives-nothing X40-empty
heartbeat-carries-its-own X40-epoch
full-group-refuses X40-full
full-group-takes-static-back X40-full-static
only-a-join-creates-a-group X40-group
instance-id-has-one-member X40-instance
only-members-beat-or-leave X40-member
regex-is-checked X40-regex
may-join-anew X40-rejoin
static-may-join-anew X40-rejoin-static

probes: what coordinators answer to scripted members, which ask what no client asks
waiting-join-is-kept R03-wire
heartbeats-keep-in-a-rebalance R08-wire
only-the-leader-assigns R13
session-timeout-has-a-range R17
group-is-described R28
missing-group-is-dead R28-dead
kip-848-group-is-described R28-epoch
coordinator-lists-its-groups R28-list
missing-group-is-not-found R28-unknown
leaving-depends-on-the-state R29-wire
committed-position-is-fetched R30-wire
long-metadata-fails-its-partition R31
metadata-limit-counts-bytes R31-bytes
heartbeat-is-checked R35-wire
older-static-member-is-fenced X05-wire
commit-is-checked X06
dynamic-member-gets-an-id X08-wire
late-member-is-removed X09-wire
unsynced-member-is-removed X10
name-decides-the-coordinator X13
full-group-refuses X15
transactional-commit-is-checked X29-wire
used-group-is-not-deleted X30
leader-knows-each-epochs-end X33
each-partition-is-answered X110

promises: what the owner of a group promises
catches-up P1
commits-only-what-was-fetched P2
new-owner-reads-from-the-commit P3
standstill-is-short P4
rebalances-only-for-a-cause P5
leaves-in-time P6
every-process-works P7
removed-comes-back P8
removed-stops-working P9
nothing-lost P10
few-repeats P11
records-in-order P12
shows-what-it-processes P13
ends-only-on-request P14
standstill-of-members-is-short L1
few-repeats-of-members L2
nothing-lost-by-members L3
members-catch-up-in-time L4

record: what the record itself has to be; not counted as rules of a group
fault-took-effect E01
client-worked E02
partition-was-read-to-its-end E03
machine-kept-time E04
is-complete E05
member-used-its-proxies E06
clocks-agree E10
heartbeat-that-was-sent-arrives X64
effects-follow-causes X60
cluster-is-whole X77
process-works-throughout X80
java-knows-its-coordinator X86
"""


def _groups() -> dict[str, tuple[str, dict[str, str]]]:
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for part in _NAMED.strip().split("\n\n"):
        head, *lines = part.splitlines()
        group, _, about = head.partition(": ")
        pairs = (line.split() for line in lines)
        found[group] = about, {rule: f"{group}/{name}" for name, *ids in pairs for rule in ids}
    return found


# By group: what it is about, and the names of its rules by their ids.
GROUPS: Final = _groups()
NAMES: Final = {rule: name for _, names in GROUPS.values() for rule, name in names.items()}
_IDS: Final = {name: rule for rule, name in reversed(NAMES.items())}


def id_of(rule: str) -> str:
    """The id of a rule that is given by its id or its name; any other text as it is."""
    return _IDS.get(rule, rule)


def name_of(rule: str) -> str:
    """The name of a rule that is given by its id; one of a user's own has its id alone."""
    return NAMES.get(rule, rule)

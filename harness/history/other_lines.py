"""Lines of a coordinator that become no row: those known to tell nothing of a member, and the rest.

A new version of Kafka may word a line in another way. Whatever no pattern reads, and whatever is
not known from the versions that there are (3.7.2 to 4.4.0, their sources and the logs of 500
brokers), is therefore kept as it is: rules cannot use it, but a run says that it is there.
"""

import re
from typing import Final

UNKNOWN: Final = "unknown"  # the event of such a row

_GROUP_ID: Final = r"\[GroupId [^\]]+\]"

_OF_RUNS: Final = (
    # The coordinator as a whole, and its partitions of __consumer_offsets.
    r"(?:Starting up|Startup complete|Shutting down|Shutdown complete)\.",
    r"Group coordinator is already (?:running|shutting down)",
    r"(?:Shutting down event processor|Event ?[Pp]rocessor is|Event processor closed)",
    r"Shutdown completed|Failed to (?:run|reject) event |Topology-description cleanup ",
    r"(?:Closing coordinator runtime|Coordinator runtime (?:closed|is already shutting down))",
    r"(?:Scheduling|Started|Finished|Ignored) (?:un)?load(?:ing)? ",
    r"Failed to (?:complete the loading of|(?:un)?load) ",
    r"Cannot load coordinator ",
    r"The coordinator \S+ is already (?:active|loading metadata)",
    r"failAll\(",  # what waits for a coordinator that has moved
    r"The state machine of the coordinator \S+ is out of sync",
    r"The write event .+ for the (?:timer|task) ",
    r"Failed to (?:enqueue write event|flush the pending records) ",
    r"Failed to write (?:a batch of|records to|the transaction marker) ",
    r"Failed to write empty metadata for group ",
    r"Writing records to \S+ failed due to",
    r"Replaying record .+ failed due to",
    r"(?:Execution|Completion) of .+ failed due to",
    # The coordinator of 3.x.
    r"(?:Elected|Resigned) as the group coordinator for partition ",
    r"Removed \d+ offsets associated with deleted partitions",
    r"Creating simple consumer group \S+ via manual offset commit",
    r"Pending member with memberId=.* has left group ",
    r"Group \S+ removed members who haven't sent their sync request",
    r"Received unexpected JoinGroup with groupInstanceId=",
    r"Member id \S+ was not found in \S+ during heartbeat completion check",
    r"Member .+ has already been removed from the group",
    # Offsets.
    r"Generated \d+ (?:tombstone )?records ",
    r"Could not delete offsets for deleted (?:topics|partitions) ",
    r"Unable to cleanup state for the deleted topics ",
    r"The following (?:groups|offsets of the group \S+) were deleted: ",
    r"(?:Skipped the materialization of|Replayed end transaction marker) ",
    rf"{_GROUP_ID} (?:Creating a simple consumer group|Expired offset|Removing expired offset)",
    # Classic groups.
    r"Request memberId=.* for static member with groupInstanceId=.* is fenced by ",
    r"Static member which joins during Stable stage and doesn't affect ",
    r"(?:Setting empty assignments for members|Sending empty assignment to member) ",
    r"Group leader \[memberId: .* failed to join before the rebalance timeout",
    r"Group \S+ (?:is dead, skipping rebalance|could not complete rebalance because no members)",
    r"\[Group \S+\] Pending member .+ has left group ",  # one that had not joined yet
    r"(?:Attempt to add rejoining member|Failed to persist metadata for group) ",
    r"Received (?:unexpected )?notification of (?:heartbeat|sync) expiration ",
    r"Failed to parse Consumer Protocol ",
    # Groups of KIP-848, and those that become one.
    rf"{_GROUP_ID} Member \S+ (?:new assignment state: |updated its subscribed )",
    rf"{_GROUP_ID} Computed new (?:subscription metadata|metadata hash): ",
    rf"{_GROUP_ID} Static member \S+ with instance id \S+ is fenced by existing member ",
    rf"{_GROUP_ID} (?:Ignoring rebalance timeout|Could not fence) ",
    rf"{_GROUP_ID} (?:Refreshing|Received updated) regular expressions",
    rf"{_GROUP_ID} (?:Scanned \d+ topics|Received result of regular|Could\S+ \w+ regular)",
    r"(?:Cannot|Skip) (?:upgrad|downgrad)\w+ (?:the )?(?:classic|consumer) group ",
    r"(?:Loaded|Removed|onUnloaded) group .*with an unknown group type ",
)
# Groups of kinds that no run has, in all that is said of them.
_OF_OTHER_KINDS: Final = (
    rf"{_GROUP_ID}\[MemberId ",
    rf"(?:{_GROUP_ID} )?.*\b(?:share|streams) (?:group|member)",
)

# What other versions log, from 2.0 on, and of groups that no run has.
_OF_OTHERS: Final = (
    # Which broker coordinates: `loaded` and `unloaded` have it for each group.
    r"(?:Already|Not) (?:loading|removing) offsets and group metadata ",
    r"(?:Attempted to load offsets|Loaded (?:offsets and group )?metadata from \S+ with buffer) ",
    r"(?:Scheduling|Finished) (?:un)?loading |Group \S+ has moved away from |BrokerId \S+ is no ",
    r"Ignoring load(?:ing| completion) |Unknown (?:message key|record type) ",
    r"(?:Coordinator loader is already|Draining threw|Exiting with|Tried to flush an empty) ",
    # Requests, records and offsets that failed: the client gets an error, and the group stays.
    r"(?:\w+ request|Operation) .*hit an unexpected exception|The write event for the task ",
    r"(?:Replaying|Deserializing) records? |Appending metadata message for group ",
    r"Failed to compute a new target assignment |group: .+ has received offset commits from ",
    rf"{_GROUP_ID} \S+\.$",  # an exception
    # What another line says, too, and members that were pending or stayed.
    r"Member id \S+ was not found in |Pending member \S+ is leaving group ",
    r"Static member joins during \S+ stage will not |Group leader \[member\.id: ",
    rf"Cannot join the consumer group |{_GROUP_ID} Member \S+ transitioned from ",
    # How the coordinator works out assignments of Streams groups; epochs and targets have it.
    rf"(?:{_GROUP_ID}(?:\[MemberId [^\]]+\])? )?(?:Valid topic configuration|Topic configuration)",
    (
        rf"{_GROUP_ID}\[MemberId [^\]]+\] (?:Configuring|Assignment configurations|Member's new|"
        r"Shutdown requested|Member (?:initialized the topology|joined with stale topology))"
    ),
    rf"{_GROUP_ID} (?:Clearing shutdown|Requested topology|(?:Skipping|Cannot compute) delayed) ",
    rf"{_GROUP_ID} (?:Group not found|The (?:refined|configured task) assign|updatedMember is)",
    rf"{_GROUP_ID} Size of assignment epochs |Internal topics are|Topology description plugin",
    r"(?:Unexpected error (?:running|scanning)|Failed to apply topology-description) ",
    r"Failed to (?:finalize StoredDescription|write the UNCERTAIN)|Unable to assign active task ",
    r"\S+ (?:Error in standby task assignment|There is not enough available capacity)",
    # What is stored of share groups' offsets.
    r"(?:Error deleting|Existing deleting entries|Received error while|Result is null for) ",
    r"Failed to (?:delete|read summary of the|retrieve) |Unable to (?:cleanup topic|delete|init)",
    r"(?:Initializing|Some) topics? .*\bshare group |Partition end offset fetch |Persister init",
    r"NetworkPartitionMetadataClient |(?:Exhausted max retries|Response for|Interrupted while) ",
    r"(?:Authentication|Version mismatch) exception",
)


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


OF_NO_MEMBER: Final = _any_of((*_OF_RUNS, *_OF_OTHER_KINDS))  # in runs
OF_ANY: Final = _any_of((*_OF_RUNS, *_OF_OTHERS))  # of any version's

_VARYING: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\{[^}]*\}|\S*[0-9=]\S*")
_NAMED: Final = re.compile(r"\bgroup (?!(?:is|was|with|in|to|has|for|because)\b)\S+")
_WORDS: Final = 16


def kind_of(logger: str, text: str) -> str:
    """The kind of line that a text is: its logger, and its first words without what varies."""
    blank = _NAMED.sub("group …", _VARYING.sub("…", text))
    return f"{logger}: {' '.join(blank.split()[:_WORDS])}"

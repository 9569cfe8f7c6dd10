"""Every rule there is, by its id. A new rule is one function beside its like and one line here."""

from __future__ import annotations

from typing import Final

from harness.rules import (
    brokers,
    consumer_protocol,
    delivery,
    evidence,
    failure_detection,
    ownership,
    rebalance,
)
from harness.rules.rule import Rule

RULES: Final[dict[str, Rule]] = {
    "R01": failure_detection.EVICTION,
    "R02": failure_detection.REARMED,
    "R06": failure_detection.COORDINATOR_UNKNOWN,
    "R06-librdkafka": failure_detection.LIBRDKAFKA_SESSION,
    "R07": failure_detection.MAX_POLL,
    "R10": failure_detection.CRASHED,
    "R11": brokers.CRASH_REBALANCES,
    "R12": rebalance.ONE_LEADER,
    "R14": failure_detection.CADENCE,
    "R18": failure_detection.SLOW_DROPPED,
    "R19": delivery.REMOVED_CANNOT_COMMIT,
    "R20a": rebalance.NEW_MEMBER,
    "R20b": rebalance.DEPARTURE,
    "R20d": brokers.CRASH_DOES_NOT,
    "R21": ownership.ONE_OWNER,
    "R21-delivery": ownership.ONE_READER,
    "R21-stop": ownership.STOPS,
    "R32": rebalance.TOLD_BY_HEARTBEAT,
    "R33": rebalance.GENERATIONS,
    "R34": failure_detection.SLOW_HEARTBEATS,
    "X12": brokers.FAILOVER,
    "X14": rebalance.CLOSE_LEAVES,
    "X19": consumer_protocol.SESSION,
    "X20": consumer_protocol.RECONCILIATION,
    "X21": consumer_protocol.REBALANCE_TIMEOUT,
    "X23": consumer_protocol.FENCED_RETURNS,
    "X24": consumer_protocol.TARGET_BATCHED,
    "X24-at-once": consumer_protocol.TARGET_AT_ONCE,
    "X25": consumer_protocol.CONVERSION,
    "X26": consumer_protocol.REFUSED_SETTINGS,
    "X27": consumer_protocol.WITHOUT_COORDINATOR,
    "X32a": delivery.NOTHING_LOST,
    "X32b": delivery.REPEATS_EXPLAINED,
    "X32c": delivery.COMMITS_GO_FORWARD,
    "X32d": delivery.REPEATS_FIT_POLICY,
    "E01": evidence.FAULTS_BIT,
    "E02": evidence.EVERYONE_WORKED,
    "E03": evidence.READ_TO_THE_END,
    "E04": evidence.MACHINE_ON_TIME,
    "E05": evidence.RECORD_IS_WHOLE,
}

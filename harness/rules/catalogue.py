"""Every rule there is, by its id. A new rule is one function beside its like and one line here."""

from __future__ import annotations

from typing import Final

from harness.rules import (
    brokers,
    delivery,
    evidence,
    failure_detection,
    joining,
    ownership,
    rebalance,
    topics,
)
from harness.rules.rule import Rule

RULES: Final[dict[str, Rule]] = {
    "R01": failure_detection.EVICTION,
    "R02": failure_detection.REARMED,
    "R03-members": joining.PARKED,
    "R06": failure_detection.COORDINATOR_UNKNOWN,
    "R06-librdkafka": failure_detection.LIBRDKAFKA_SESSION,
    "R07": failure_detection.MAX_POLL,
    "R08-members": joining.TOLD_IS_ALIVE,
    "R10": failure_detection.CRASHED,
    "R11": brokers.CRASH_REBALANCES,
    "R12": rebalance.ONE_LEADER,
    "R14": failure_detection.CADENCE,
    "R18": failure_detection.SLOW_DROPPED,
    "R19": delivery.REMOVED_CANNOT_COMMIT,
    "R20a": rebalance.NEW_MEMBER,
    "R20b": rebalance.DEPARTURE,
    "R20c": topics.GROWTH,
    "R20d": brokers.CRASH_DOES_NOT,
    "R20e": rebalance.SESSION_END,
    "R21": ownership.ONE_OWNER,
    "R21-delivery": ownership.ONE_READER,
    "R21-stop": ownership.STOPS,
    "R27-growth": topics.ONLY_GROWS,
    "R32": rebalance.TOLD_BY_HEARTBEAT,
    "R32-rejoin": joining.REJOINS,
    "R33": rebalance.GENERATIONS,
    "R34": failure_detection.SLOW_HEARTBEATS,
    "X07": joining.INITIAL_DELAY,
    "X08-members": joining.TWO_STEPS,
    "X11": failure_detection.DEFAULT_SESSION,
    "X12": brokers.FAILOVER,
    "X14": rebalance.CLOSE_LEAVES,
    "X16": topics.NOTICED_ALONE,
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

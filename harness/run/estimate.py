"""About how long a run takes, how long its end may take, and what disk it fills, as declared."""

from collections.abc import Mapping
from typing import Final

from harness.experiment import APP, Experiment, Fault
from harness.run.faults import effects_of
from harness.run.roles import changes

# Seconds of a run on two cores beside what is declared, from manifests: cluster 3.4, fleet 3.2,
# drain, stop and collect 1.6. The run before is judged during that.
_AROUND_S: Final = 8.2
# Of that, what a run of a suite costs less for being started while the one before is measured: a
# night of 101 runs took 2,172 s on two cores, and 2,752 s is what its runs would take one by one.
WARMED_UP_S: Final = 5.5
_JAVA_S: Final = 3.5  # three JVMs more to start and to close
_RECOVER_S: Final = 1.5  # steady again, and what is kept running after that
_PROBE_S: Final = 12.0
# Of a deploy for each process: it starts, joins, and an old one ends. From 14 runs of
# rolling-deploy with 3 to 30 members: librdkafka 1.9 to 4.0, Java 4.3 to 8.9. Programs have longer
# timers and took 20.
_STEP_S: Final[Mapping[str, float]] = {"librdkafka": 2.5, "java": 7.5, APP: 20.0}
_AT_ONCE: Final = ("at once",)  # ways of a deploy that are one step for all processes
# What a group of programs takes for the end of a session, which is theirs to set: most libraries'
# default is 45 s, and some have less.
_SESSION_OF_AN_APP_S: Final = 45.0
_DRAINS_WITHIN_S: Final = 60.0

# Disk: from a soak of an hour with three members and 300 records/s on three brokers, and runs of
# programs whose fetches are logged as well; docs/scale.md has what days measured.
#
# Bytes of one record in a partition's log beside itself, with batches as small as they are at
# 300 records/s, and of one commit in that of the offsets; neither is cleaned up during a run.
_RECORD_BYTES: Final = 28
_COMMIT_BYTES: Final = 210
_OFFSETS_REPLICATION: Final = 3
# A commit's line in a request log, and the four frames of a poll whose records were worked off.
_LINE_BYTES: Final = 1_200
_POLL_BYTES: Final = 750
_POLLS_PER_S: Final = 4.2  # of one member, until its batches are full
# Of one program's process a second: its fetches are in the request logs too.
_PROGRAM_BYTES: Final = 52_000
# A second: the observer's questions and frames, server logs, Toxiproxy's log.
_ALWAYS_BYTES: Final = 17_000 + 1_200 + 2_000 + 1_000
# The producer a second: a frame for each burst, and one for what was answered in each partition.
_BURSTS_PER_S: Final = 50
_REPORTS_PER_S: Final = 4
# History and tables, of what journals and logs have.
_DERIVED: Final = 0.35
_MARGIN: Final = 1.25


def estimate_s(experiment: Experiment) -> float:
    """About how long a run takes, with judging, in seconds; to choose by, not to promise."""
    took = _AROUND_S + (_JAVA_S if experiment.group.client == "java" else 0.0)
    took += sum(probe.at_s + _PROBE_S for probe in experiment.probes if not probe.beside)
    if experiment.faults:
        took += max(experiment.duration_s, _faults_s(experiment)) + _RECOVER_S
    elif not experiment.probes:
        took += experiment.duration_s
    return took


def drains_within_s(experiment: Experiment) -> float:
    """How long a run waits until all is processed; a limit that is longer prolongs it."""
    held = experiment.limits if experiment.app is None else experiment.app.limits
    return max(_DRAINS_WITHIN_S, held.drained_s or 0.0)


def _faults_s(experiment: Experiment) -> float:
    """From steady state to the end of the last fault. Drawn faults take what is left."""
    if experiment.at_random:
        return 0.0
    over_s, last_s = 0.0, 0.0
    for fault, members, _ in changes(experiment):
        alone_s = fault.at_s + fault.jitter_s / 2 + _takes_s(experiment, fault, members)
        if experiment.one_by_one:  # the next waits until all is well again
            over_s += last_s + alone_s
            last_s = _until_well_s(experiment, fault)
            continue
        # A member that is killed for good is waited for; longer declared times win.
        effects = effects_of(fault)
        if effects.killed and effects.ends_member and not fault.lasts_s:
            alone_s += _session_s(experiment)
        # What is due while another is being done has to wait for it.
        over_s = max(over_s, alone_s)
    return over_s


def _session_s(experiment: Experiment) -> float:
    if experiment.app is not None:
        return _SESSION_OF_AN_APP_S
    return experiment.group.session_timeout_ms / 1_000


def _takes_s(experiment: Experiment, fault: Fault, members: int) -> float:
    if fault.lasts_s:
        return fault.lasts_s
    if fault.target != "group":
        return 0.0
    one_by_one = fault.kind == "deploy" and fault.how not in _AT_ONCE
    return _STEP_S[experiment.group.client] * (members if one_by_one else 1)


def _until_well_s(experiment: Experiment, fault: Fault) -> float:
    """From the end of a fault to when the group is well again, if that is waited for."""
    effects = effects_of(fault)
    if effects.killed and not fault.lasts_s:  # its end has to be noticed
        return _session_s(experiment) + _RECOVER_S
    return _STEP_S[experiment.group.client] / 2 + _RECOVER_S


def growth_bytes(experiment: Experiment) -> int:
    """About how much a run writes until it is judged; more rather than less."""
    load, group = experiment.load, experiment.group
    members = max(group.members, 1)
    data = load.records_per_s * (load.record_bytes + _RECORD_BYTES) * load.replication
    if experiment.app is not None:
        members_bytes = float(members * _PROGRAM_BYTES)
    else:
        polls = max(members * _POLLS_PER_S, load.records_per_s / group.batch_records)
        members_bytes = polls * (_LINE_BYTES + _POLL_BYTES)
        data += round(polls * _COMMIT_BYTES * _OFFSETS_REPLICATION)
    producer = _BURSTS_PER_S * (70 + 8 * load.partitions) + _REPORTS_PER_S * load.partitions * 260
    record = _ALWAYS_BYTES + members_bytes + producer
    a_second = data + record * (1 + _DERIVED)
    return round(estimate_s(experiment) * a_second * _MARGIN)

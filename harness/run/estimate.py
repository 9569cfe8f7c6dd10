"""About how long a run takes, from what it declares."""

from typing import Final

from harness.experiment import Experiment, Fault

# Seconds of a run on two cores beside what is declared, from manifests: cluster 3.4, fleet 3.2,
# drain, stop and collect 1.6. The run before is judged meanwhile.
_AROUND_S: Final = 8.2
_JAVA_S: Final = 3.5  # three JVMs more to start and to close
_RECOVER_S: Final = 1.5  # steady again, and what is kept running after that
_PROBE_S: Final = 12.0


def estimate_s(experiment: Experiment) -> float:
    """About how long a run takes, with judging, in seconds; to choose by, not to promise."""
    took = _AROUND_S + (_JAVA_S if experiment.group.client == "java" else 0.0)
    took += sum(probe.at_s + _PROBE_S for probe in experiment.probes)
    if experiment.faults:
        over = max(map(_over_s, experiment.faults))
        took += max(experiment.duration_s, over) + _RECOVER_S
    elif not experiment.probes:
        took += experiment.duration_s
    return took


def _over_s(fault: Fault) -> float:
    return fault.at_s + fault.jitter_s / 2 + (fault.lasts_s or 0.0)

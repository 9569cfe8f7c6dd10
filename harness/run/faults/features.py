"""The fault that ends an upgrade: features get the levels that the newer release has them at."""

from typing import Final

from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.wait import wait_until
from harness.cluster import features
from harness.cluster.features import beyond
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.provision import kafka
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_KNOWN_S: Final = 10.0  # for every broker to have read it from the controller's log


def _wanted(scene: Scene) -> dict[str, int]:
    """The levels of a new cluster of the newer release. Raises ClusterError."""
    release = scene.experiment.cluster.kafka_version
    if not (levels := kafka.formatted_levels(release)):
        raise ClusterError(
            f"the feature levels of Kafka {release} are unknown: run `make setup KAFKA={release}` "
            "again"
        )
    return levels


def _finalize(scene: Scene, _fault: Fault, _target: Target) -> None:
    """Whatever is below such a level is raised to it, all in one request."""
    port = scene.cluster.plan.brokers[0].port
    if higher := beyond(_wanted(scene), features.finalized_by(port)):
        features.finalize(port, higher)


def _prove(scene: Scene, _fault: Fault, _target: Target) -> Evidence:
    """Every broker tells the new levels: it was the controller that finalized them."""
    wanted = _wanted(scene)
    lacking: dict[str, dict[str, int]] = {}

    def known() -> bool:
        lacking.clear()
        for node in scene.cluster.plan.brokers:
            if levels := beyond(wanted, features.finalized_by(node.port)):
                lacking[node.name] = levels
        return not lacking

    told = ", ".join(f"{name} {level}" for name, level in wanted.items())
    try:
        wait_until("the new levels at every broker", known, timeout_s=_KNOWN_S)
    except WaitTimeout:
        return Evidence(False, f"meant were {told}; brokers did not tell of {lacking}")
    return Evidence(True, f"every broker tells that finalized are {told}")


def _check(fault: Fault, experiment: Experiment) -> None:
    if not experiment.cluster.upgraded_from:
        raise BadInput(
            f"{fault.kind} of {fault.target} changes nothing where nodes never had another "
            "release: name an older one in Cluster(upgraded_from=…)"
        )


KINDS: Final = (
    Kind(
        "finalize-features",
        ("controller",),
        _finalize,
        _prove,
        check=_check,
        effects=Effects(breaks=Breaks.FEATURES, below_limits=True),
    ),
)

"""What is done to the topic itself: more partitions. It cannot be undone."""

from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.words import plural
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_SOON_S: Final = 10.0


def _check(fault: Fault, experiment: Experiment) -> None:
    """Once, and at least one: which partitions are new is told by how many there were at first."""
    if (fault.more_partitions or 0) < 1:
        raise BadInput(
            f"add-partitions of {fault.target} adds {fault.more_partitions or 0}: "
            "give it more_partitions of 1 or more"
        )
    if experiment.group.commit == "transaction":
        raise BadInput(
            "add-partitions with commit transaction: members copy each partition into one of the "
            "same number, and those copies would have nowhere to go; use another commit"
        )
    times = sum(each.kind == fault.kind for each in experiment.faults)
    if times > 1:
        raise BadInput(
            f"add-partitions of {fault.target} comes {times} times: add all of them at once"
        )


def _add(scene: Scene, fault: Fault, target: Target) -> None:
    """Add them over the direct listeners; the producer is told, members have to notice."""
    assert fault.more_partitions is not None
    wanted = scene.partitions + fault.more_partitions
    admin = AdminClient(scene.cluster.plan.harness())
    try:
        asked = admin.create_partitions([NewPartitions(target.name, wanted)])
        asked[target.name].result(timeout=_SOON_S)
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"{target.name} did not get {wanted} partitions: {error}") from error
    scene.fleet.tell_producer(f"partitions {wanted}")


def _prove(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """The observer counts them, and each has a leader."""
    assert fault.more_partitions is not None
    wanted = scene.experiment.load.partitions + fault.more_partitions

    def counted() -> int:
        return sum(
            topic == target.name and row["leader"] > 0
            for (topic, _), row in scene.view.partitions.items()
        )

    try:
        scene.wait(plural(wanted, "partition"), lambda: counted() >= wanted, _SOON_S)
    except WaitTimeout as timeout:
        return Evidence(False, str(timeout))
    return Evidence(True, f"brokers tell of {counted()} partitions of {target.name} with a leader")


KINDS: Final = (
    Kind(
        "add-partitions",
        ("topic",),
        _add,
        _prove,
        check=_check,
        takes=("more_partitions",),
        effects=Effects(breaks=Breaks.TOPIC),
    ),
)

"""Faults of the topic, and of where the group stands in it; none can be undone.

More partitions; records deleted, or the committed positions that point at them.
"""

from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from harness.base.errors import BadInput, ClusterError, WaitTimeout
from harness.base.words import plural
from harness.cluster import wire
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_SOON_S: Final = 10.0
_ASK_S: Final = 5.0
_NONE: Final = -1  # what a coordinator names where nothing is committed


def _check(fault: Fault, experiment: Experiment) -> None:
    """Once, and at least one: the new partitions are those beyond the first number."""
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
    """Over the direct listeners; the producer gets an order, and members have to notice."""
    assert fault.more_partitions is not None
    wanted = scene.partitions + fault.more_partitions
    admin = AdminClient(scene.cluster.plan.harness())
    try:
        asked = admin.create_partitions([NewPartitions(target.name, wanted)])
        asked[target.name].result(timeout=_SOON_S)
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"{target.name} did not get {wanted} partitions: {error}") from error
    scene.fleet.order_producer(f"partitions {wanted}")


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


def _port(scene: Scene, broker_id: int) -> int:
    return scene.cluster.plan.node(broker_id).port


def _partitions(scene: Scene) -> range:
    return range(scene.experiment.load.partitions)


def _check_coordinator(fault: Fault, _experiment: Experiment) -> None:
    if fault.target != "coordinator":
        raise BadInput(
            f"{fault.kind} cannot hit {fault.target!r}: only the coordinator has the positions; "
            "use target coordinator"
        )


def _delete_offsets(scene: Scene, _fault: Fault, target: Target) -> None:
    group = scene.view.group["group"]
    answers = wire.delete_offsets(
        _port(scene, target.id), group, scene.topic, _partitions(scene), _ASK_S
    )
    refused = {number: code for number, code in answers.items() if code}
    if refused:
        raise ClusterError(
            f"{target.name} refuses to delete positions of {group} (error "
            f"{next(iter(refused.values()))}): end every member that is subscribed to "
            f"{scene.topic} before"
        )


def _prove_offsets_deleted(scene: Scene, _fault: Fault, target: Target) -> Evidence:
    """Asked for them, the coordinator names none."""
    group = scene.view.group["group"]
    topics = {scene.topic: _partitions(scene)}
    found = wire.committed(_port(scene, target.id), group, topics, _ASK_S)
    left = {number: at for (_, number), at in found.items() if at != _NONE}
    gone = not left and len(found) == len(_partitions(scene))
    return Evidence(gone, f"{target.name} names {left or 'no'} committed positions of {group}")


def _check_leader(fault: Fault, _experiment: Experiment) -> None:
    if not fault.target.startswith("leader of "):
        raise BadInput(
            f"{fault.kind} cannot hit {fault.target!r}: say whose records, as in 'leader of t-0'"
        )


def _delete_records(scene: Scene, fault: Fault, target: Target) -> None:
    number = int(fault.target.rpartition("-")[2])
    _, error = wire.delete_records(_port(scene, target.id), scene.topic, number, _ASK_S)
    if error:
        raise ClusterError(
            f"{target.name} refuses to delete records of {scene.topic}-{number} (error {error})"
        )


def _prove_records_deleted(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """The log starts past what the group has committed, says the leader."""
    number = int(fault.target.rpartition("-")[2])
    place = scene.topic, number
    coordinator, group = scene.view.group["coordinator"], scene.view.group["group"]
    topics = {scene.topic: [number]}
    first = wire.ends(_port(scene, target.id), topics, _ASK_S, wire.EARLIEST).get(place)
    committed = wire.committed(_port(scene, coordinator), group, topics, _ASK_S).get(place)
    return Evidence(
        first is not None and committed is not None and first > committed,
        f"{scene.topic}-{number} starts at {first}, and {committed} was committed",
    )


KINDS: Final = (
    Kind(
        "delete-offsets",
        ("broker",),
        _delete_offsets,
        _prove_offsets_deleted,
        check=_check_coordinator,
        effects=Effects(breaks=Breaks.POSITIONS),
    ),
    Kind(
        "delete-records",
        ("broker",),
        _delete_records,
        _prove_records_deleted,
        check=_check_leader,
        effects=Effects(breaks=Breaks.POSITIONS),
    ),
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

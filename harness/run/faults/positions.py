"""Faults of where a group stands: its committed positions deleted, or the records they point at."""

from typing import Final

from harness.base.errors import BadInput, ClusterError
from harness.cluster import wire
from harness.experiment import Experiment, Fault
from harness.history.effects import Breaks, Effects
from harness.run.faults.kind import Evidence, Kind
from harness.run.faults.targets import Target
from harness.run.scene import Scene

_ASK_S: Final = 5.0
_NONE: Final = -1  # what a coordinator names where nothing is committed


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


def _number(fault: Fault) -> int:
    return int(fault.target.rpartition("-")[2])


def _delete_records(scene: Scene, fault: Fault, target: Target) -> None:
    number = _number(fault)
    _, error = wire.delete_records(_port(scene, target.id), scene.topic, number, _ASK_S)
    if error:
        raise ClusterError(
            f"{target.name} refuses to delete records of {scene.topic}-{number} (error {error})"
        )


def _prove_records_deleted(scene: Scene, fault: Fault, target: Target) -> Evidence:
    """The log starts past what the group has committed, says the leader."""
    number = _number(fault)
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
)

"""One commit that fails while the offsets topic lacks a replica, and what is told of it afterwards.

Played beside a fault that takes a broker away and brings it back. Members commit again and again,
so that nobody can tell a commit that failed and was made after all from the next one. Here nothing
follows it: that the log can be written to again is found out by commits of another partition.
"""

from typing import Final

from consumers.config import ProbeConfig
from consumers.journal import Journal
from consumers.probes.member import ProbeMember
from consumers.probes.script import Question, Script, worst
from harness.base.errors import ClusterError

_RULE: Final = "R31-withdrawn"
# Longer than until any fault begins, and than any broker is away.
_PATIENCE_S: Final = 60.0
_NAMES: Final = 60  # groups to choose from: of three brokers, each coordinates a third of them


def play(config: ProbeConfig, journal: Journal) -> None:
    """Play the only scene."""
    Script(config, journal).play((one_failed_commit,))


def one_failed_commit(script: Script) -> None:
    """Commit a position after the other until one is refused, and leave it at that."""
    group, topic = _group_of_a_broker_that_stays(script), script.config.topic
    nobody = ProbeMember(script, group, _RULE)
    position = 0

    def refused() -> bool:
        nonlocal position
        position += 1
        answer = nobody.commit(f"commit of {position}", {(topic, 0): position})
        return answer is None or worst(answer) != 0

    script.until("a commit that is refused", refused, _PATIENCE_S)
    _fetch(script, group, "while nothing can be written")

    def written() -> bool:
        answer = nobody.commit("commit of another partition", {(topic, 1): position})
        return answer is not None and worst(answer) == 0

    script.until("a commit that is accepted again", written, _PATIENCE_S)
    for when in ("once the log can be written to", "and again"):
        _fetch(script, group, when)


def _group_of_a_broker_that_stays(script: Script) -> str:
    """A group whose coordinator is that of the group under test, which the fault spares.

    Raises ClusterError if there is none.
    """
    spared = script.coordinator(script.config.group)
    for number in range(_NAMES):
        group = script.group(f"withdrawn-{number}")
        if script.coordinator(group) == spared:
            return group
    raise ClusterError(f"no group of {_NAMES} has broker {spared} for its coordinator")


def _fetch(script: Script, group: str, when: str) -> None:
    topics = [{"name": script.config.topic, "partitionIndexes": [0]}]
    script.ask(
        Question(
            step=f"fetch {when}",
            rule=_RULE,
            api="OFFSET_FETCH",
            body={"groups": [{"groupId": group, "topics": topics}], "requireStable": False},
            group=group,
        )
    )

"""The plan of a run's cluster: what its experiment asks for, and what secures it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base.ports import Ports
from harness.cluster import links
from harness.cluster.backends import Backend
from harness.cluster.plan import Plan, group_settings, with_secrets
from harness.experiment import Experiment
from harness.run.roles import authorized, lanes


@contextmanager
def planned(
    experiment: Experiment, backend: Backend, run: str, ports: Ports, scratch: Path
) -> Iterator[Plan]:
    """The plan of a run, its secrets made up below `scratch`; inside, links are as it says.

    Raises BadInput for what the backend has not, ClusterError where ports are taken, OSError.
    """
    cluster = experiment.cluster
    settings = {**group_settings(experiment.group, cluster.releases[0]), **cluster.settings}
    plan = backend.plan(replace(cluster, settings=settings), lanes(experiment), run, ports)
    app = experiment.app
    writes = app is not None and bool(app.effects.output_topic)
    plan = replace(plan, logs_fetches=app is not None, logs_writes=writes)
    plan = with_secrets(plan, cluster.security, scratch, authorized=authorized(experiment))
    with links.secured(plan.secured.of_harness() if plan.secured is not None else None):
        yield plan


def properties_told(plan: Plan) -> dict[str, Any]:
    """What each node is set to, without a path of this machine."""
    return {node.name: plan.properties(node, Path("data") / node.name) for node in plan.nodes}

"""Play a few faults on an image, as the members of a group, in a process of its own.

    python -m tests.docker.play IMAGE BACKEND RESULTS

prints the folder of the run. The environment of the program holds a secret.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from harness.catalogue.apps import with_app
from harness.experiment import Cluster, Experiment, Fault
from harness.experiment.app import App, Shows
from harness.run.screen import Screen
from harness.run.start import Order, play_run

SECRET: Final = "hunter2"
FAULTS: Final = {
    "embedded": (
        Fault(kind="kill-consumer", target="member 1"),
        Fault(kind="freeze-consumer", target="member 2", lasts_s=9),
        Fault(kind="terminate-consumer", target="member 3"),
    ),
    "docker": (Fault(kind="deploy", target="group", how="rolling"),),
}


def main(image: str, backend: str, results: Path) -> None:
    """Play them next to brokers of this backend."""
    app = App(
        name="orders",
        image=image,
        folder=str(results),
        effects=Shows(stdout=r"done id=(?P<n>\d+)"),
        environment={"TOKEN": SECRET},
    )
    experiment = Experiment(
        claim="Containers are members as processes are.",
        cluster=Cluster(backend=backend),
        faults=FAULTS[backend],
        one_by_one=True,
        duration_s=0,
    )
    print(play_run(Order("images", with_app(experiment, app), results, seed=1), Screen()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

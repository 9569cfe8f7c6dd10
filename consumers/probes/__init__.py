"""Probes: scripts that ask brokers over the wire what no consumer would, one module per script.

A script is its `SCENES`, which are played at once, or where it has none a function `play(config,
journal)`; its module's name with dashes is the probe's name.
"""

import importlib
import pkgutil

from consumers.config import ProbeConfig
from consumers.control import Control, run_program
from consumers.journal import Journal
from harness.base.errors import BadInput


def names() -> list[str]:
    return sorted(
        module.name.removeprefix("play_").replace("_", "-")
        for module in pkgutil.iter_modules(__path__)
        if module.name.startswith("play_")
    )


def run(config: ProbeConfig) -> int:
    """Play the script that `config` names. Returns the exit code; raises HarnessError."""
    if config.probe not in names():
        raise BadInput(f"there is no probe {config.probe!r}: choose {' or '.join(names())}")
    module = importlib.import_module(f"consumers.probes.play_{config.probe.replace('-', '_')}")

    def play(journal: Journal, _control: Control) -> None:
        if hasattr(module, "SCENES"):
            from consumers.probes.script import Script

            Script(config, journal).play(module.SCENES)
        else:
            module.play(config, journal)
        journal.write("closed")

    return run_program(config, play)

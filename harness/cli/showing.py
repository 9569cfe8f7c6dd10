"""The commands that only show what there is: `list`, `describe` and `doctor`."""

import argparse
import json

from harness.base.errors import Exit


def list_command(arguments: argparse.Namespace) -> int:
    """Print the experiments, or the rules, and what is expected of whom."""
    from harness.catalogue import listing

    if arguments.json:
        both = {"experiments": listing.experiments(), "rules": listing.rules()}
        print(json.dumps(both, indent=2))
    else:
        print(listing.render_rules() if arguments.rules else listing.render_experiments())
    return Exit.AS_EXPECTED


def describe_command(arguments: argparse.Namespace) -> int:
    """Print what an experiment is about, and its knobs."""
    from harness.catalogue import registry

    experiment = registry.load(arguments.name)
    print(f"{arguments.name}: {experiment.claim}\n\n{registry.describe(arguments.name)}\n")
    for fault in experiment.faults:
        print(f"fault  {fault.kind} of {fault.target}, {fault.at_s:g} s after steady state")
    print("\nknobs (--set KNOB=VALUE)")
    for name, value in registry.knobs(experiment).items():
        print(f"  {name} = {value}")
    return Exit.AS_EXPECTED


def doctor_command(_arguments: argparse.Namespace) -> int:
    """Say what is there, what is missing, and what to do."""
    from harness.provision import doctor

    return doctor.show(doctor.diagnose())

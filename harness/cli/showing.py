"""The commands that only show what there is: `list`, `describe` and `doctor`."""

import argparse
import json
import shutil
import sys
import textwrap
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from harness.base.errors import BadInput, Exit
from harness.experiment import Fault, protocol_said
from harness.run.screen import LATER_S, Screen

if TYPE_CHECKING:
    from harness.history.suites import Suite
    from harness.report.many.blocks import Overview

_WIDEST: Final = 100  # characters of a line that is easy to read


def list_command(arguments: argparse.Namespace) -> int:
    """List the experiments, or the rules with their expected verdicts."""
    from harness.catalogue import listing

    say_what_is_left_out()
    if arguments.json:
        both = {"experiments": listing.experiments(), "rules": listing.rules()}
        print(json.dumps(both, indent=2))
    else:
        print(listing.render_rules() if arguments.rules else listing.render_experiments())
    return Exit.AS_EXPECTED


def say_what_is_left_out() -> None:
    """A line of standard error for each experiment that cannot be read; the others go on."""
    from harness.catalogue import registry

    for sentence in registry.every()[1]:
        sys.stderr.write(f"kafka-chaos: left out: {sentence}\n")


def write_pages(suite: "Suite") -> "Overview":
    from harness.report.many import index, matrix_text, repeat, sweep_text

    kinds = {"repeat": repeat, "matrix": matrix_text, "sweep": sweep_text}
    shown: Overview = kinds.get(suite.kind, index).write(suite)
    return shown


def pages_of(suite: "Suite", screen: Screen) -> "Overview":
    """Write the pages of a suite, and show that where it takes long; what is printed of them."""
    with screen.counting(suite.kind, LATER_S) as steps:
        steps("its pages", 0, 0)
        return write_pages(suite)


def describe_command(arguments: argparse.Namespace) -> int:
    """Describe a rule, a kind of fault, or an experiment with its faults, rules and settings."""
    from harness.catalogue import listing, registry
    from harness.run.faults import KINDS, needs_app

    if arguments.name in KINDS and arguments.name not in registry.names() and not arguments.sql:
        print(listing.render_fault(arguments.name))
        return Exit.AS_EXPECTED
    if registry.is_rule(arguments.name):
        from harness.catalogue.rules_page import page, sql

        if arguments.sql:
            sys.stdout.write(sql(arguments.name))
            return Exit.AS_EXPECTED
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        for line in page(arguments.name).splitlines():
            indent = "  " if line.startswith("- ") else ""
            print(textwrap.fill(line, width, subsequent_indent=indent))
        return Exit.AS_EXPECTED
    if arguments.sql:
        raise BadInput(f"--sql prints the file of a rule, and {arguments.name} is none")
    experiment = registry.load(arguments.name)
    print(f"{arguments.name}: {experiment.claim}\n\n{registry.describe(arguments.name)}\n")
    if not needs_app(experiment):
        protocols = ", ".join(map(protocol_said, experiment.protocols))
        print(f"for    {', '.join(experiment.clients)}; {protocols}")
    for fault in experiment.faults:
        print(f"fault  {described(fault, one_by_one=experiment.one_by_one)}")
    if experiment.at_random:
        print("       one after the other, drawn by the seed, until duration_s has passed")
    for probe in experiment.probes:
        beside = ", beside the faults" if probe.beside else ""
        print(f"probe  {probe.name}, {probe.at_s:g} s after steady state{beside}")
    if needs_app(experiment):
        print("needs  a program of yours (--app), and is judged by the rules about programs")
    else:
        for expect in experiment.rules:
            print(f"rule   {listing.in_words(expect)}")
    for name, value in experiment.limits.promised.items():
        print(f"limit  {name} = {value}")
    print("\nsettings (--set NAME=VALUE)")
    unset = []
    for name, value in registry.settings_in(experiment).items():
        if needs_app(experiment) and name.startswith("group."):
            continue  # its program decides them
        if value in (None, ""):
            unset.append(name)
        else:
            print(f"  {name} = {str(value).lower() if isinstance(value, bool) else value}")
    print(f"  not set: {', '.join(unset)}")
    print("  brokers' settings go by Kafka's names: --set group.initial.rebalance.delay.ms=0")
    return Exit.AS_EXPECTED


def described(fault: Fault, *, one_by_one: bool = False) -> str:
    """A fault with everything that is declared of it, alone or among those that wait for others."""
    by = f" to {fault.at_s + fault.jitter_s:g}" if fault.jitter_s else ""
    since = "all is well" if one_by_one else "steady state"
    text = f"{fault.kind} of {fault.target}, {fault.at_s:g}{by} s after {since}"
    shown = {"kind", "target", "at_s", "jitter_s", "lasts_s"}
    if fault.lasts_s:
        text += f", for {fault.lasts_s:g} s"
    return text + "".join(
        f", {each.name}={getattr(fault, each.name)}"
        for each in fields(fault)
        if each.name not in shown and getattr(fault, each.name) is not None
    )


def doctor_command(_arguments: argparse.Namespace) -> int:
    """Show what a run needs: what is there, what is missing, and what to do."""
    from harness.provision import doctor

    return doctor.show(doctor.diagnose())

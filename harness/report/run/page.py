"""Assembles `report.html`: one file, one script of its own, nothing loaded from anywhere.

Texts of a run (reasons, log lines, names) are escaped by the template engine; the page's content
security policy forbids loads on top of that, and every script but `COPY`.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap
from types import SimpleNamespace as Shown
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.base.paths import COMMAND
from harness.base.words import plural
from harness.experiment import protocol_said
from harness.history.derived import VERDICTS_FILE
from harness.history.whose import BY_CLIENT_ID
from harness.report import outcome
from harness.report.formats import (
    NOTHING,
    bound,
    clip,
    duration,
    number,
    partition_name,
    seconds,
    utc,
)
from harness.report.load import JudgedRun, Manifest, libraries_of
from harness.report.parts import stops, tables
from harness.report.parts.faults import stories
from harness.report.parts.member_names import members_of
from harness.report.parts.record_counts import RecordCounts, records
from harness.report.parts.story import costs, rebalanced
from harness.report.run.axis import axis_of
from harness.report.run.heartbeats import heartbeat_chart
from harness.report.run.timeline import timeline
from harness.report.run.views import MOST_REBALANCES, two_views
from harness.report.text.junit import NOT_XML
from harness.report.text.summary import summary

_TEMPLATES: Final = Path(__file__).parents[1] / "templates"
_MOST_FILES: Final = 60
_SECTIONS: Final = (
    ("timeline", "Timeline"),
    ("verdicts", "Verdicts"),
    ("rebalances", "Rebalances"),
    ("stops", "Where the time went"),
    ("heartbeats", "Heartbeats"),
    ("redeliveries", "Redeliveries"),
    ("faults", "Faults"),
    ("views", "Two views"),
    ("files", "Files"),
)
_MOST_CONFIGURATION: Final = 60_000  # characters
MOST_ROWS: Final = 200  # of a table
_OF_VERDICTS: Final = ("expected_of", "name_of", "sign_of", "standing", "title_of", "verdict_of")


# Copies what the page comes to; where the browser does not allow that, the text is there to copy.
COPY: Final = """
const button = document.getElementById("copy"), text = document.getElementById("markdown");
button.hidden = false;
button.onclick = () => {
  text.hidden = false;
  text.select();
  text.hidden = document.execCommand("copy");
  button.textContent = text.hidden ? "Copied" : "Copy it from below";
};
"""
_COPY_HASH: Final = base64.b64encode(hashlib.sha256(COPY.encode()).digest()).decode()


@dataclass(frozen=True)
class Fact:
    name: str
    value: str
    note: str = ""
    tone: str = ""


def page(run: JudgedRun, found: outcome.Overall) -> str:
    axis = axis_of(run)
    members = members_of(run)
    zero = axis.zero if axis else None
    counts, others = records(run), outcome.others_in(run)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            command=COMMAND,
            manifest=run.manifest,
            title=run.manifest.experiment,
            claim=run.manifest.claim,
            outcome=found.kind,
            headline=found.headline,
            detail=found.detail,
            markdown=summary(run, found),
            script=COPY,
            script_hash=_COPY_HASH,
            sections=_SECTIONS,
            facts=_facts(run),
            figures=_figures(run, counts),
            costs=costs(run),
            run=run,
            zero=zero,
            verdicts=outcome.in_order(run.verdicts or []),
            withheld_in_words=outcome.withheld_in_words(run.verdicts or []),
            lost=outcome.files_lost(run),
            left_out=outcome.left_out(run.manifest),
            others=outcome.by_verdict(others),
            others_in_words=outcome.others_in_words(others),
            members=members,
            most_rows=MOST_ROWS,
            timeline=timeline(run, axis, members) if axis else None,
            heartbeats=heartbeat_chart(run, axis, members) if axis else None,
            views=two_views(run, members),
            most_views=MOST_REBALANCES,
            records=counts,
            faults=stories(run.history["faults"]),
            no_faults=_no_faults(run),
            files=_files(run.path),
            configuration=_configuration(run.manifest.effective),
        )
    )


def picture(run: JudgedRun, found: outcome.Overall) -> str:
    """The text of `timeline.svg`: what the run found, above who held the partitions that stopped
    for longest. Nothing where neither is known.
    """
    axis = axis_of(run)
    chart = timeline(run, axis, members_of(run), most=8) if axis else None
    if chart is None:
        return ""
    said = wrap(found.headline.replace("`", ""), 66)
    words = {"chart": chart, "said": said, "title": run.manifest.experiment}
    return NOT_XML.sub("\ufffd", environment().get_template("timeline.svg.j2").render(words))


@cache
def environment() -> Environment:
    """The template engine of every page: what is not there is an error, never an empty word."""
    engine = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.globals |= {name: getattr(outcome, name) for name in _OF_VERDICTS}
    engine.globals |= {"bound": bound, "plural": plural, "tables": tables, "stops": stops}
    engine.filters |= {"number": number, "duration": duration, "clip": clip}
    engine.filters |= {"seconds": seconds, "partition": partition_name, "protocol": protocol_said}
    engine.tests["folded"] = tables.is_folded
    engine.tests["withheld"] = lambda row: outcome.standing(row) is outcome.Standing.WITHHELD
    return engine


class _Known(dict[str, Any]):
    """What a manifest says of something; a dash for what it does not say."""

    def __init__(self, part: object) -> None:
        items = part.items() if isinstance(part, dict) else ()
        super().__init__((name, value) for name, value in items if value not in (None, ""))

    def __missing__(self, name: str) -> str:
        return NOTHING


def _facts(run: JudgedRun) -> list[Fact]:
    manifest = run.manifest
    versions, host, load = map(
        _Known, (manifest.versions, manifest.host, manifest.declared.get("load"))
    )
    lasted = "no end recorded"
    if manifest.started_at is not None and manifest.ended_at is not None:
        took = manifest.ended_at - manifest.started_at
        lasted = f"lasted {duration(took.total_seconds() * 1_000)}"
    return [
        Fact("Run", manifest.run, f"seed {manifest.seed}"),
        Fact("Started", utc(manifest.started_at), lasted),
        Fact("Kafka", manifest.kafka or NOTHING, _cluster(manifest)),
        *_finalized(manifest.effective),
        *(_of_a_group(manifest, versions) if manifest.app is None else _of_an_app(manifest)),
        Fact(
            "Load",
            f"{load['records_per_s']} records/s",
            f"{load['partitions']} partitions × {load['replication']}, acks {load['acks']}",
        ),
        Fact("Host", *_host(host)),
        Fact(
            "Harness",
            versions["harness"],
            f"Toxiproxy {versions['toxiproxy']}, Java "
            f"{versions.get('java_of_brokers') or versions['java']}, "
            f"Spark {versions['spark']}, Python {versions['python']}",
        ),
    ]


def _of_a_group(manifest: Manifest, versions: _Known) -> list[Fact]:
    group = _Known(manifest.declared.get("group"))
    java = group["client"] == "java"
    ours = "Kafka's own KafkaConsumer" if java else f"confluent-kafka {versions['confluent-kafka']}"
    session, beat, poll = (
        duration(group.get(f"{name}_ms"))
        for name in ("session_timeout", "heartbeat_interval", "max_poll_interval")
    )
    whose = f"{manifest.group} on {manifest.topic}"
    return [
        Fact("Client", manifest.client, ours),
        Fact("Group", f"{group['members']} members, {protocol_said(group['protocol'])}", whose),
        Fact("Session timeout", session, f"heartbeat every {beat}"),
        Fact("Max poll interval", poll, f"commits: {group['commit']}"),
    ]


def _of_an_app(manifest: Manifest) -> list[Fact]:
    """What a program was declared to be, and what it turned out to be."""
    app, observed = _Known(manifest.app), _Known(manifest.observed)
    stop = _Known(app.get("stop"))
    size = f"{app['instances']} processes, {protocol_said(observed['protocol'])}"
    assignors = ", ".join(observed.get("assignors", ())) or NOTHING
    by = ("a listener for each process", "whatever its client.id is")
    if observed["told_apart_by"] == BY_CLIENT_ID:
        by = ("client.id", "they are too many for a listener each")
    return [
        Fact("Program", app["name"], " ".join(app.get("command", ()))),
        Fact("Client", libraries_of(observed), "as it names itself to brokers"),
        Fact("Group", size, f"assignor {assignors}"),
        Fact("Identified by", *by),
        Fact("Session timeout", duration(observed.get("session_timeout_ms")), "as it joined with"),
        Fact("Ended by", stop["signal"], f"killed after {stop.get('grace_s'):g} s"),
    ]


def _figures(run: JudgedRun, counts: RecordCounts) -> list[Fact]:
    count, *about = rebalanced(run)
    still = stops.longest(run)
    where = f"of {partition_name(still['topic'], still['partition'])}" if still else ""
    lost = "" if counts.lost is None else "read by no member"
    lost = f"{counts.unseen:,} at the end not yet read" if counts.unseen else lost
    unexplained = "" if counts.unexplained is None else f"{counts.unexplained:,} unexplained"
    bad = "bad" if counts.unexplained else ""
    return [
        Fact("rebalances", count, ", ".join(filter(None, about))),
        Fact("longest standstill", duration(stops.longest_ms(run)), where),
        Fact("acknowledged", number(counts.acknowledged), "records"),
        Fact(counts.lost_is, number(counts.lost), lost, "bad" if counts.lost else ""),
        Fact(counts.again_is, number(counts.redelivered), unexplained, bad),
    ]


def _no_faults(run: JudgedRun) -> str:
    planned = run.manifest.declared.get("faults")
    if not run.has("faults"):
        return "No fault journal was kept."
    if isinstance(planned, list) and planned:
        return f"None of the {plural(len(planned), 'planned fault')} came to be injected."
    return "No fault was planned: this run is a baseline."


def _cluster(manifest: Manifest) -> str:
    cluster = _Known(manifest.declared.get("cluster"))
    brokers, controllers = cluster.get("brokers"), cluster.get("controllers")
    if not isinstance(brokers, int) or not isinstance(controllers, int):
        return ""
    nodes = f"{plural(brokers, 'broker')}, {plural(controllers, 'controller')}"
    return f"{nodes}, {manifest.secured}" if manifest.secured else nodes


def _finalized(effective: Mapping[str, Any]) -> list[Fact]:
    """The levels of features that an upgrade raised; nothing of a run without one."""
    before = _Known(effective.get("features"))
    after = _Known(_Known(effective.get("upgraded")).get("features"))
    raised = [
        f"{name} {before.get(name, 0)} to {level}"
        for name, level in after.items()
        if level != before.get(name, 0)
    ]
    return [Fact("Features", f"{len(raised)} raised", ", ".join(raised))] if after else []


def _host(host: _Known) -> tuple[str, str]:
    """What it has; what it runs, and how often something waited for a processor in the run."""
    memory_mb = host.get("memory_mb")
    memory = f", {memory_mb / 1024:.1f} GB" if isinstance(memory_mb, int | float) else ""
    some = _Known(host.get("cpu_pressure")).get("some")
    busy = f", processors wanting for {some:.0%} of the time" if some is not None else ""
    return f"{host['cores']} cores{memory}", f"{host['platform']}{busy}"


def _files(run_dir: Path) -> list[Shown]:
    """What the page was made from, by folder: address, name and size of each, and how many more."""
    found = {"verdicts": [run_dir / "manifest.json", run_dir / VERDICTS_FILE]}
    for name in ("violations", "tables", "history", "logs"):
        found[name] = sorted((run_dir / name).rglob("*"))
    groups = []
    for name, paths in found.items():
        files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
        items = [_file(run_dir, path) for path in files[:_MOST_FILES]]
        if items:
            groups.append(Shown(name=name, items=items, more=len(files) - len(items)))
    return groups


def _file(run_dir: Path, path: Path) -> tuple[str, str, str]:
    relative = path.relative_to(run_dir).as_posix()
    short = relative.partition("/")[2] or relative
    kib = path.stat().st_size / 1024
    size = f"{kib:,.0f} KiB" if kib < 10_240 else f"{kib / 1024:,.0f} MiB"
    return quote(relative), short, "< 1 KiB" if kib < 1 else size


def _configuration(effective: Mapping[str, Any]) -> str:
    text = json.dumps(effective, indent=2, sort_keys=True, default=str) if effective else ""
    rest = "\n… the rest is in manifest.json" if len(text) > _MOST_CONFIGURATION else ""
    return text[:_MOST_CONFIGURATION] + rest

"""What shippers, consoles, pages and people put around a broker's lines, each a whole file."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import textwrap
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

_PLAIN: Final = re.compile(r"\[(.{23})\] INFO (.*) \(([\w.]+)\)")


class Logged(NamedTuple):
    """A line as Kafka wrote it, and its parts."""

    line: str
    at: datetime
    message: str
    logger: str

    @property
    def iso(self) -> str:
        """Its time as most shippers write it."""
        return f"{self.at:%Y-%m-%dT%H:%M:%S}.{self.at.microsecond // 1000:03}Z"

    @property
    def nanos(self) -> int:
        """Its time since the epoch."""
        at = self.at - datetime(1970, 1, 1, tzinfo=UTC)
        return (at.days * 86_400 + at.seconds) * 10**9 + at.microseconds * 1000


Coat = Callable[[list[Logged]], str]


def logged(plain: str) -> list[Logged]:
    """The lines of a log in Kafka's default layout."""
    found = (_PLAIN.fullmatch(line) for line in plain.splitlines())
    return [
        Logged(match[0], datetime.fromisoformat(f"{match[1]}Z"), match[2], match[3])
        for match in found
        if match
    ]


def later(line: Logged, by: timedelta) -> Logged:
    """The same line at another time."""
    at = line.at + by
    return line._replace(at=at, line=f"[{at:%Y-%m-%d %H:%M:%S,%f}"[:-3] + line.line[24:])


def _each(of: Callable[[Logged], str]) -> Coat:
    return lambda lines: "".join(of(line) + "\n" for line in lines)


def _table(header: list[str], row: Callable[[Logged], Iterable[Any]], **how: Any) -> Coat:
    def coat(lines: list[Logged]) -> str:
        file = io.StringIO()
        csv.writer(file, **how).writerows([header, *map(row, lines)])
        return file.getvalue()

    return coat


def _filebeat(line: Logged) -> str:
    host = {"name": "kafka-1", "ip": ["10.0.0.1"], "os": {"family": "debian"}}
    about = {"@timestamp": line.iso, "@metadata": {"beat": "filebeat"}, "host": host}
    return json.dumps({**about, "message": line.line, "log": {"offset": 12, "file": {"path": "x"}}})


def _rubydebug(line: Logged) -> str:
    quoted = line.line.replace('"', '\\"')
    return (
        f'{{\n      "@version" => "1",\n    "@timestamp" => {line.iso},\n'
        f'       "message" => "{quoted}",\n          "host" => "kafka-1"\n}}'
    )


def _verbose(line: Logged, text: str) -> str:
    return (
        f"Thu {line.at:%Y-%m-%d %H:%M:%S.%f} UTC [s=9c1;i=3e;b=0f;m=51;t=64;x=7]\n"
        f"    _TRANSPORT=stdout\n    PRIORITY=6\n    MESSAGE={text}\n    _PID=911\n"
    )


def _loki(lines: list[Logged], **how: Any) -> str:
    values = [[str(line.nanos), line.message] for line in lines]
    labels = {"app": "kafka", "pod": "kafka-0"}
    result = [{"stream": labels, "values": values}]
    return json.dumps({"status": "success", "data": {"result": result}}, **how)


def _nested(line: Logged, layers: int) -> str:
    text = json.dumps({"level": "INFO", "message": line.message, "time": line.iso})
    for _ in range(layers):
        text = json.dumps({"stream": "stdout", "log": text + "\n"})
    return text


def _nested_late(line: Logged) -> dict[str, Any]:
    pod = {"labels": {"app": "kafka"}, "pod_name": "kafka-0"}
    message = {"message": line.message, "level": "INFO"}
    return {"kubernetes": pod, "body": message, "observedTimestamp": line.iso}


def _wrapped(width: int, prefix: str, indent: str, *, hyphens: bool) -> Callable[[Logged], str]:
    return lambda line: textwrap.fill(
        line.line,
        width,
        initial_indent=prefix,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=hyphens,
    )


def _folded(width: int) -> Callable[[Logged], str]:
    return lambda line: re.sub(f"(.{{{width}}})(?=.)", r"\1\n", line.line)


def _yaml(line: Logged) -> str:
    text = _wrapped(80, "textPayload: '", "  ", hyphens=False)(line)
    return f"---\ninsertId: 1f\n{text}'\ntimestamp: '{line.iso}'"


def _log4j_xml(line: Logged) -> str:
    return (
        f'<log4j:event logger="{line.logger}" timestamp="{line.nanos // 10**6}" level="INFO" '
        f'thread="group-coordinator">\n<log4j:message><![CDATA[{line.message}]]></log4j:message>\n'
        "</log4j:event>\n"
    )


def _kv(line: Logged) -> str:
    quoted = line.message.replace('"', '\\"')
    return f'time="{line.iso}" level=info logger={line.logger} msg="{quoted}" pod=kafka-0 n=1'


# `{x}` of what is in no line of Kafka's stands for what the shipper knows.
def _of_module(line: Logged) -> str:
    """Filebeat's own module takes a line apart, and puts its component into a field."""
    component, _, message = line.message.removeprefix("[").partition("]")
    about = {"class": line.logger, "component": component}
    message = message.removeprefix(":").removeprefix(" ")
    return json.dumps({"@timestamp": line.iso, "kafka": {"log": about}, "message": message})


COATS: Final[dict[str, Coat]] = {
    "filebeat": _each(_filebeat),
    "rubydebug": _each(_rubydebug),
    "graylog csv": _table(
        ["timestamp", "source", "message"],
        lambda line: (line.iso, "kafka-1", line.line),
        quoting=csv.QUOTE_ALL,
    ),
    "azure csv": _table(
        ["TimeGenerated [UTC]", "Computer", "LogEntry", "Type"],
        lambda line: (
            f"{line.at:%m/%d/%Y, %I:%M:%S}.{line.at:%f}"[:-3] + f" {line.at:%p}",
            "aks-1",
            line.message,
            "ContainerLog",
        ),
    ),
    "azure json": lambda lines: json.dumps(
        {"records": [{"time": x.iso, "properties": {"log": x.line + "\n"}} for x in lines]}
    ),
    "journalctl verbose": _each(lambda line: _verbose(line, line.line)),
    "journalctl verbose, no stamp": _each(lambda line: _verbose(line, f"INFO {line.message}")),
    "journalctl export": _each(
        lambda line: f"__REALTIME_TIMESTAMP={line.nanos // 1000}\n_PID=1\nMESSAGE={line.message}\n"
    ),
    "loki": _loki,
    "loki, pretty": lambda lines: _loki(lines, indent=1),
    "papertrail": _each(lambda line: f"{line.at:%b %d %H:%M:%S} kafka-1 kafka.log: {line.line}"),
    "promtail": _each(
        lambda line: (
            f'{{"ts":"{line.iso}","entry":{json.dumps(line.line)},"labels":"{{a=\\"b\\"}}"}}'
        )
    ),
    "windows": lambda lines: "\ufeff" + "".join(line.line + "\r\n" for line in lines),
    "docker -t": _each(lambda line: f"{line.iso[:-1]}000000Z {line.line}"),
    "kubectl in csv": _table(
        ["line", "pod"], lambda line: (f"{line.iso} {line.line}", "kafka, 0"), quoting=csv.QUOTE_ALL
    ),
    "kubectl in csv, no stamp": _table(
        ["n", "line", "pod"], lambda line: (7, f"{line.iso} INFO {line.message}", "kafka-0")
    ),
    "ticket": _each(_wrapped(76, "> ", "> ", hyphens=False)),
    "ticket, at hyphens": _each(_wrapped(72, "> > ", "> > ", hyphens=True)),
    "mail": _each(_wrapped(78, "", "", hyphens=False)),
    "terminal": _each(_folded(80)),
    "terminal, no blanks at the end": _each(
        lambda line: "\n".join(part.rstrip() for part in _folded(100)(line).split("\n"))
    ),
    "json in csv": _table(["message"], lambda line: (_nested(line, 0),)),
    "json in json in csv": _table(["message"], lambda line: (_nested(line, 1),)),
    "json in json": _each(lambda line: _nested(line, 1)),
    "json in json in json": _each(lambda line: _nested(line, 2)),
    "json, pretty, no stamp": lambda lines: json.dumps(
        [_nested_late(line) for line in lines], indent=4
    ),
    "json, pretty, one by one": _each(lambda line: json.dumps(_nested_late(line), indent=2)),
    "json of all lines": lambda lines: json.dumps({"logs": "\n".join(x.line for x in lines)}),
    "gcloud": _each(_yaml),
    "fluent-bit": _each(
        lambda line: (
            f'[0] kube.kafka: [[{line.nanos / 10**9:.9f}, {{}}], {{"stream"=>"stdout", '
            f'"log"=>"{line.message}", "pod"=>"kafka-0"}}]'
        )
    ),
    "log4j xml": _each(_log4j_xml),
    "html table": _each(
        lambda line: f"<tr><td>{line.iso}</td><td>{html.escape(line.message)}</td><td>x</td></tr>"
    ),
    "html of one line": lambda lines: (
        f"<div><code>{'<br/>'.join(html.escape(x.line) for x in lines)}</code></div>"
    ),
    "line ends lost": lambda lines: " ".join(line.line for line in lines),
    "blanks of a page": _each(lambda line: line.line.replace(" ", "\u00a0")),
    "filebeat's module for kafka": _each(_of_module),
    "journalctl json, colours": _each(
        lambda line: json.dumps(
            {"MESSAGE": [*f"\x1b[32m{line.line}\x1b[0m".encode()], "_PID": "1", "PRIORITY": "6"}
        )
    ),
    "gelf": _each(
        lambda line: json.dumps(
            {
                "short_message": f"INFO {line.message}"[:90] + "…",
                "full_message": line.line,
                "timestamp": line.nanos / 10**9,
            }
        )
    ),
    "html of a page": _each(
        lambda line: "<p>" + line.line.replace("[", "&lbrack;").replace(" ", "&nbsp;") + "</p>"
    ),
    "markdown": _each(lambda line: re.sub(r"([\[\]_*`])", r"\\\1", line.line)),
    "markdown table": _each(lambda line: f"| {line.iso} | kafka-0 | {line.line} | ok |"),
    "a note behind": _each(lambda line: f"{line.line}   <-- here (see kafka.log) [thread-1]"),
    "labels behind": _each(lambda line: f'{line.line} {{"pod": "kafka-0", "node": "a b"}}'),
    "key=value": _each(_kv),
    "python": lambda lines: "".join(
        f"{ {'time': line.iso, 'message': line.message} }\n" for line in lines
    ),
    "epoch seconds": _each(lambda line: f"{line.nanos / 10**9:.3f} INFO {line.message}"),
    "europe": _each(lambda line: f"{line.at:%d.%m.%Y %H:%M:%S},{line.at:%f} INFO {line.message}"),
    "newest first, csv": lambda lines: _table(
        ["Time", "Message"], lambda line: (line.iso, line.message), quoting=csv.QUOTE_ALL
    )(lines[::-1]),
    "tabs": _each(lambda line: f"kafka-0\t{line.iso}\t{line.message}\tINFO\t{line.logger}"),
    "indented": _each(lambda line: f"    {line.line}"),
}

"""The options of every command, as a table, and the parser that is made from it.

A line names an option or an argument, says how it is read, and then what it means:

    --grace-s float @stop.grace_s: seconds from that signal until it is killed (default: 30)

It is read as text, or as a type of `TYPES`. `flag` has no value, `*` may be given several times;
`?`, `+` and `...` stand for at most one word, one or more, and any number. `=` comes before a
default, `@` before the line of app.toml whose place it takes, and `>` before its name in the code,
where it has another. `{a,b}` is what can be chosen; anything else stands for the value in the help.
What has no meaning is left out of the help. A line `+ RUNS` takes in the options of another part,
and `## ` begins a group of the help.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NoReturn

from harness.base.errors import BadInput
from harness.base.paths import COMMAND
from harness.base.words import hint, listed
from harness.cli.reading import TYPES, pair_of, words_of

FORMER: Final = ("compare-protocols",)  # not in the help: it says what plays the same today

Command = Callable[[argparse.Namespace], int]

TABLE: Final = r"""
EVERY
--results path: folder of all runs (default: results, or the project's)
## your own project
--project path FILE: your kafka-chaos.toml (default: found from here)
--experiments path FOLDER: folder of your own experiments
--own-rules path FOLDER: folder of your own rules

RUN
--seed int: fixes the random choices, such as when faults start
--set * NAME=VALUE: a setting (see `describe`)
--backend: embedded (processes), docker, or compose (for a single run of our own members)
+ CLUSTER LIMIT

RUNS
+ RUN
--client: client library of our own members: librdkafka or java
--client-version: version of the members' client: of confluent-kafka, or of Kafka's Java client
--protocol protocol: rebalance protocol of our own members: eager, cooperative or kip-848 (which
    Kafka's setting calls consumer)

CLUSTER
--kafka release: version of Kafka
--security: plaintext, ssl or sasl_ssl (default: plaintext)

LIMIT
--limit * NAME=VALUE: a promise: standstill_s=10, repeats=500, lost=0, drained_s=30, out_of_order=0

PORTS
--port-base port: use the ports from this one on (default: free ones)

JOBS
--jobs jobs N: runs at the same time (default: one for each 4 cores and 4 GB)

JSON
--json flag: print the result as JSON: numbers, verdicts, and the path of the page

REPEAT
--repeat int =1: how many runs, each with its own seed

SPARK
--spark URL: the Spark that does the work: spark://HOST:PORT or sc://HOST:PORT (default: this
    machine)

PROGRAM
## your program
--app path APP.TOML: its app.toml, or the folder that has it
--name @name: its name on pages and in results
--image @image: its image: each process is a container of it
--entrypoint words @entrypoint COMMAND: entry point instead of the image's
--build words @build COMMAND: build step, before anything is timed
--instances int @instances: how many processes (default: 3)
--env * pair @env NAME=VALUE: environment variable; {bootstrap}, {topic}, {group}, {member} are
    replaced
--dependency * pair @dependency NAME=HOST:PORT: a server that it uses besides Kafka; the variable
    NAME gets the address of a proxy in front of it
--static flag @static: give each process an instance id
--value @records.value TEMPLATE: value of a record; {n} is its number
--records path @records.file FILE: file with the values, one per line
--stdout @effects.stdout PATTERN: it prints a line for each processed record; PATTERN finds the
    record's number: 'done (?P<n>\d+)'
--http ? @effects.http PATTERN: it posts each processed record to {sink}; PATTERN finds the number
    in the post
--output-topic @effects.output_topic TOPIC: it writes each processed record to this topic
--output-pattern @effects.output_pattern PATTERN: finds the number in a record of that topic
--verifiable flag @effects.verifiable: it prints the lines of Kafka's VerifiableConsumer
--start-s float @start_s: seconds that a process may take until it asks to join (default: 90)
--steady-s float @steady_s: seconds that the group may take until it is steady (default: 90, and
    longer if its members announce that they may take longer)
--signal @stop.signal: signal that ends it (default: SIGTERM)
--grace-s float @stop.grace_s: seconds from that signal until it is killed (default: 30)
--standstill-s float @limits.standstill_s: fail if a partition stands still for more seconds at
    one time
--drained-s float @limits.drained_s: fail if it takes more seconds until everything is committed at
    the end (default: 60)
--repeats int @limits.repeats: fail if more records of the run are redelivered
--lost int @limits.lost: fail if more records of a partition are lost (default: 0)
--out-of-order int @limits.out_of_order: fail if more records are processed after later ones
    (default: 0)

experiment
name ? NAME: see `list`
+ PORTS RUNS PROGRAM REPEAT JSON

run
name ? NAME: see `list`
+ PORTS RUNS PROGRAM

soak
--for span =1h >for_s TIME: 30m, 2h, … (default: 1h); Ctrl-C ends it earlier, with a verdict
+ PORTS JSON RUNS PROGRAM

try
--experiment =everyday >name NAME: see `list` (default: everyday)
+ PORTS REPEAT JSON RUN PROGRAM
--client
--client-version
--protocol protocol
program ... COMMAND: after --: what to run

nightly
--list flag: print the set, and play nothing
--long flag: play only the long experiments
--only NAME,NAME:CLIENT/PROTOCOL: these runs instead of the whole set
--share =1/1 K/N: the K-th of N equally long parts of the set
+ JOBS RUNS

matrix
--app * APP.TOML: a program, its folder, or an example by its name (default: all of consumers/apps)
--experiment * NAME: see `list` (default: everyday, rough-day and rolling-deploy)
--repeat int =3: runs of each (default: 3)
+ JOBS
--seed int: seed of the first run; each later run has one more
--backend: embedded (processes) or docker
+ CLUSTER LIMIT

sweep
name ? = NAME: one or more experiments; `list` has them
--over * NAME=VALUE,VALUE: a setting (see `describe`), or a broker's setting by Kafka's name, and
    its values; several make a grid
--repeat int =3: runs of each (default: 3)
--list flag: print the runs, and play nothing
+ JOBS RUNS

check
runs + place RUN: a run's folder, or a folder of runs; several print what changed; a run in another
    store, such as s3a://BUCKET/results/NAME/RUN, is copied here first
--rule * RULE: judge by this rule, declared or not, print its rows, and write nothing
--engine =spark {spark,duckdb}: duckdb prints verdicts within seconds, and writes nothing (default:
    spark)
--limit * NAME=VALUE: judge by this promise instead of the run's own, and write nothing
+ SPARK

report
run path RUN: folder of a run, of repeats, a matrix, a sweep or a night
+ JSON
--into path FOLDER: for a matrix: add its programs to the page in this folder

sql
run ? path RUN: a run's folder, or a folder of runs
query ? QUERY: without it: list the tables
--format =table {table,csv,json}: format of the answer (default: table, with 200 rows at most)

keep
run path RUN: a run's folder
--as >name NAME: name of the copy (default: its experiment's)

pinned
--renew flag: pin the results of today, and exit with 0

explain
logs + path LOG: brokers' log files, or folders of them
--group: explain only this group
--timezone zone ZONE: zone of times without one: Europe/Berlin, or +02:00 (default: shown as
    written)
--into path FOLDER: folder for explain.html and the tables

compare
a path A: folder of a run, of repeats, of a sweep or of a night
b path B: folder of a run, of repeats, of a sweep or of a night
--json flag: print it as JSON
--each-run flag: of two nights, show the rules and figures of each run, too

trend
+ SPARK
--dataset PLACE: dataset to read: s3a://BUCKET/dataset, hdfs://… or a folder (default: the one in
    --results)

collect
run path RUN: a run's folder

up
+ CLUSTER
--brokers int =3: how many brokers (default: 3)
--topic * NAME:PARTITIONS: create this topic (default: t:6); others are created when they are first
    used
--set * NAME=VALUE: a setting of brokers, by Kafka's name
--detach flag: return once it is up; `down` ends it
--port-base port =29091: use the ports from this one on (default: 29091)

fault
kind ? KIND: without it: list what can be broken
target ... TARGET: coordinator, leader of t-3, members, …
--for time >lasts_s TIME: how long it lasts: 500ms, 10s, 2m, 1h (default: 10s)
--group: the group whose coordinator is meant (default: the only one)
--how
--latency-ms int MS: added to each round trip
--bandwidth-kb-per-s int KB: bandwidth of a link in each direction

down

list
--rules flag: print every rule, and which experiments judge it
--json flag: print experiments and rules as JSON

describe
name NAME: an experiment, a rule or a kind of fault: see `list` and `list --rules`
--sql flag: print a rule as the .sql file that makes it

completion
shell {bash,zsh,fish}: your shell

clean
--all flag: also remove all runs; the dataset, which has the verdicts of all runs, stays
--cache flag: offer to remove environments, jars and AOT caches that nothing uses any more
--dry-run flag: only list what would be ended and removed
--yes flag: with --cache: remove without asking

doctor

compare-protocols
name ? =consumer-crash NAME
--protocol =eager,cooperative,consumer
--set *
--client
--client-version
--members
--backend
+ CLUSTER
--seed
"""


# What argparse says, and what we say instead.
_SENTENCES: Final = (
    (r"the following arguments are required: (.*)", r"which \1?"),
    (r"ambiguous option: (\S+) could match (.*)", r"\1 may stand for \2"),
    (r"argument (\S+): expected .*", r"\1 needs a value"),
    (r"argument (\S+): ignored explicit argument (.*)", r"\1 takes no value, and \2 was given"),
)
_NO_CHOICE: Final = re.compile(r"argument (\S+): invalid choice: '(.*?)' \(choose from (.*)\)")


class _OptionParser(argparse.ArgumentParser):
    """Says one sentence, and ends with the contracted exit code."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """What argparse gives; an unknown word is refused in the name of this very command."""
        found, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            name, shown = word.partition("=")[0], [each for each in self._actions if shows(each)]
            options = [name for each in shown for name in each.option_strings]
            what = f"has no option {name!r}" if word.startswith("-") else f"does not take {word!r}"
            raise BadInput(f"`{self.prog}` {what}: {hint(name, options, self._help())}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if found := _NO_CHOICE.fullmatch(message):
            option, value, known = found[1], found[2], re.findall(r"[\w-]+", found[3])
            what, all_of = f"{option} {value!r} is not offered", f"choose {listed(known, 'or')}"
            if option == "COMMAND":
                what, all_of = f"there is no command {value!r}", self._help()
            raise BadInput(f"{what}: {hint(value, known, all_of)}")
        for said, ours in _SENTENCES:
            if found := re.fullmatch(said, message, flags=re.DOTALL):
                raise BadInput(f"{found.expand(ours)}: {self._help()}".replace("?:", "?"))
        raise BadInput(message.removeprefix("argument ").replace(": ", " ", 1))  # one of ours

    def _help(self) -> str:
        return f"see `{self.prog} --help`"


def shows(action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS


def parser(functions: Iterable[Command]) -> argparse.ArgumentParser:
    """The parser of these commands, each with a part of the table: `try` is that of try_command."""
    whole = _OptionParser(prog=COMMAND, description="Chaos testing of Kafka consumer groups.")
    commands = whole.add_subparsers(required=True, metavar="COMMAND", parser_class=_OptionParser)
    parts = [part.splitlines() for part in re.sub(r"\n {4}", " ", TABLE).strip().split("\n\n")]
    lines = {name: rest for name, *rest in parts}
    for function in functions:
        name = function.__name__.removesuffix("_command").replace("_", "-")
        summary = (function.__doc__ or "").splitlines()[0]
        listed: dict[str, Any] = {} if name in FORMER else {"help": summary}
        added = commands.add_parser(name, description=summary, **listed)
        added.set_defaults(command=function, whole=whole)
        _add(added, ["+ EVERY", *lines[name]], lines)
    return whole


def _add(
    whole: argparse.ArgumentParser, part: Sequence[str], lines: Mapping[str, Sequence[str]]
) -> None:
    to: argparse._ActionsContainer = whole
    for line in part:
        if line.startswith("+ "):
            for other in line.split()[1:]:
                _add(whole, lines[other], lines)
        elif line.startswith("## "):
            to = whole.add_argument_group(line[3:])
        else:
            how, _, meaning = line.partition(": ")
            name, *words = how.split()
            to.add_argument(name, help=meaning or argparse.SUPPRESS, **_read(name, words))


def _read(name: str, words: Sequence[str]) -> dict[str, Any]:
    how: dict[str, Any] = {}
    for word in words:
        match word[0], word:
            case _, "flag":
                how["action"] = "store_true"
            case _, "*":
                how |= {"action": "append", "default": []}
            case _, "?" | "+" | "...":
                how["nargs"] = "*" if word == "..." else word
            case "=", _:
                how["default"] = word[1:]
            case "@", _:
                how |= {"dest": f"{name} {word[1:]}", "default": None}
            case ">", _:
                how["dest"] = word[1:]
            case "{", _:
                how["choices"] = word[1:-1].split(",")
            case _ if word in TYPES or word in ("words", "pair"):
                how["type"] = TYPES.get(word, word)
            case _:
                how["metavar"] = word
    if how.get("type") == "words":
        how["type"] = partial(words_of, name)
    if how.get("type") == "pair":
        how["type"] = partial(pair_of, name, how["metavar"])
    if name.startswith("--") and how.get("nargs") == "?":
        how["const"] = True
    if "dest" in how and how.get("action") != "store_true":
        how.setdefault("metavar", name[2:].replace("-", "_").upper())
    return how

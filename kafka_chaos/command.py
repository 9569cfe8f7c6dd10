"""What the command does by itself, before the harness takes over in its own environment."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

CARRIED: Final = "tree"  # where a wheel has the harness, the experiments and the consumers
# Those of the harness, known here so that a slip is noticed before anything is set up.
COMMANDS: Final = (
    *("experiment", "run", "try", "nightly", "matrix", "sweep", "soak", "check", "report", "sql"),
    *("explain", "keep", "pinned", "up", "fault", "down", "compare", "trend", "collect", "list"),
    *("describe", "completion", "clean", "doctor"),
)
FORMER: Final = ("compare-protocols",)  # says what plays the same today
OWN: Final = ("init", "setup", "bom", "mcp")
WITH_PARENT: Final = (
    "--with-parent"  # for programs that drive the command: it ends when that pid does
)
HELP: Final = """\
usage: {typed} COMMAND ...

What a Kafka consumer group really does when something breaks.

  init [FOLDER]          write a small example: a consumer, its app.toml, and a test of it
  try -- PROGRAM ...     a program of yours as the members of a group: the usual faults
  experiment NAME        play, judge and report one experiment
  list                   the experiments there are
  describe NAME          what one of them breaks, and its settings
  up                     a cluster to play with by hand, until Ctrl-C or `down`
  fault KIND TARGET      break something of it: `{typed} fault` lists what
  down                   end it
  explain LOG ...        who left a group and why, from brokers' own logs of an incident
  doctor                 what is there, what is missing, what to do
  setup [--kafka V]      fetch what runs need now, not with the first run: five minutes, 1.6 GB
  bom [--kafka V]        the bill of materials of all that is fetched, as CycloneDX in JSON
  clean                  end and remove what earlier runs left
  mcp                    serve these commands to an agent, by the Model Context Protocol

There are also {others}.
`{typed} COMMAND --help` says more. Results go to the folder {results}, or to
the one that --results names.
"""

# The example that `init` writes.
TEMPLATE: Final = Path(__file__).resolve().parent / "template"
FILES: Final = (
    *("app.toml", "consumer.py", "requirements.txt", "build.sh", "test_orders.py"),
    *("README.md", ".gitignore"),
)
_INTO: Final = "chaos"
_INIT_HELP: Final = f"""\
usage: {{typed}} init [FOLDER]

Write a small example into FOLDER ({_INTO} by default): {", ".join(FILES)}.
"""

EXTRA: Final = "mcp==2.3.0"  # its SDK, as in pyproject.toml
_COMMON: Final = ("--project", "--results", "--experiments", "--own-rules")
_MCP_HELP: Final = f"""\
usage: {{typed}} mcp [--project FILE] [--results FOLDER] [--experiments FOLDER] [--own-rules FOLDER]

Serve list, describe, experiment, try, explain and report as tools of an agent, by the Model Context
Protocol over standard input and output, until the input ends. The options are those of each of
them. It needs {EXTRA}, which pip install 'kafka-chaos[mcp]' brings.
"""

# Our code is found first, and nothing in the folder that one is in, such as `experiments`.
_PROVISION: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from harness.provision.provision_command import main; sys.exit(main(sys.argv[1:]))"
)
_HARNESS: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from harness.__main__ import run; sys.exit(run())"
)
_PR_SET_PDEATHSIG: Final = 1  # prctl(2)
_BAD_ARGUMENTS: Final = 4  # as in harness/base/errors.py, which is not at hand yet
_INTERRUPTED: Final = 2
_FAILED: Final = 3


def run(words: Sequence[str]) -> int:
    """Run the command with these words; its exit code, unless the harness takes over."""
    sys.dont_write_bytecode = True  # nothing is written where packages are installed
    if words[:1] == [WITH_PARENT]:
        if not _end_with(int(words[1])):
            return _INTERRUPTED
        words = words[2:]
    first = words[0] if words else ""
    sys.path.insert(0, str(source()))
    from harness.base.paths import COMMAND, RESULTS, here

    if first in ("-h", "--help", "help"):
        others = ", ".join(each for each in COMMANDS if f"\n  {each} " not in HELP)
        sys.stdout.write(HELP.format(typed=COMMAND, others=others, results=here(RESULTS)))
        return 0
    if first == "--version":
        from harness import __version__

        sys.stdout.write(f"kafka-chaos {__version__}\n")
        return 0
    if first not in (*OWN, *COMMANDS, *FORMER):
        return _complain(_no_command(first, COMMAND), _BAD_ARGUMENTS)
    if first == "init":
        return _init(words[1:], COMMAND)
    if first == "mcp":
        return _serve(words[1:], COMMAND)
    return _hand_over(list(words))


def source() -> Path:
    """Where the harness lies: in the wheel, or beside this package in a clone."""
    package = Path(__file__).resolve().parent
    carried = package / CARRIED
    return carried if carried.is_dir() else package.parent


def _no_command(word: str, typed: str) -> str:
    named = f"`{typed} --help` names them"
    if not word:
        return f"which command? {named}"
    near = difflib.get_close_matches(word, (*OWN, *COMMANDS), n=1)
    return f"there is no command {word!r}: {f'did you mean {near[0]!r}?' if near else named}"


def _complain(sentence: str, code: int) -> int:
    sys.stderr.write(f"kafka-chaos: {sentence}\n")
    return code


def _init(words: Sequence[str], typed: str) -> int:
    """Write the example into a folder; none of it if a file is there already."""
    if any(word in ("-h", "--help") for word in words):
        sys.stdout.write(_INIT_HELP.format(typed=typed))
        return 0
    if len(words) > 1 or any(word.startswith("-") for word in words):
        sentence = f"init takes one folder, not {' '.join(words)}: `{typed} init {_INTO}`"
        return _complain(sentence, _BAD_ARGUMENTS)
    folder = Path(words[0] if words else _INTO)
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        sentence = f"{folder / there[0]} is there already, and nothing is overwritten"
        return _complain(f"{sentence}: name another folder", _BAD_ARGUMENTS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            # "x": a file that appeared just now is kept.
            with (folder / name).open("x", encoding="utf-8") as file:
                file.write((TEMPLATE / name).read_text(encoding="utf-8"))
    except OSError as error:
        why = error.strerror or str(error)
        return _complain(
            f"{error.filename or folder} cannot be written ({why}): name another folder", _FAILED
        )
    sys.stdout.write(
        f"{folder}: a consumer, its app.toml, and a test of it\n"
        f"next  pytest {folder}, or {typed} try --app {folder}\n"
    )
    return 0


def _serve(words: Sequence[str], typed: str) -> int:
    if any(word in ("-h", "--help") for word in words):
        sys.stdout.write(_MCP_HELP.format(typed=typed))
        return 0
    words = [part for word in words for part in word.split("=", word.startswith("--"))]
    for word in words[::2]:
        if word not in _COMMON or words[-1] == word:
            what = "needs a value" if word in _COMMON else "is no option of it"
            return _complain(f"{word} {what}: see `{typed} mcp --help`", _BAD_ARGUMENTS)
    try:
        from kafka_chaos.mcp_server import serve  # late: an extra
    except ImportError:
        install = f"{sys.executable} -m pip install {EXTRA}"
        return _complain(f"`{typed} mcp` needs the SDK of MCP: install it by `{install}`", _FAILED)
    # A thread of it waits for input; and what it has started the kernel asks to end (WITH_PARENT).
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    serve(words)
    return 0


def _hand_over(words: list[str]) -> int:
    """Let set-up do what is missing, by this Python; it lets the environment's run the harness."""
    from harness.base.errors import HarnessError, refused
    from harness.provision.tree import settle

    try:
        tree = source()
        if tree.name == CARRIED:
            tree = settle(tree, _say_waiting)
    except HarnessError as error:
        return _complain(str(error), error.exit_code)
    except OSError as error:
        return _complain(refused(error), _FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted before anything was started", _INTERRUPTED)
    arguments = [sys.executable, "-P", "-c", _PROVISION, str(tree), *_set_up(words, tree)]
    return os.execv(sys.executable, arguments)


def _end_with(parent: int) -> bool:
    """Have SIGTERM sent to this process, whatever it becomes, when its parent is gone.

    Whether the parent still lives.
    """
    import ctypes  # late: nothing else needs it

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    return os.getppid() == parent


def _say_waiting() -> None:
    sys.stderr.write("kafka-chaos: another set-up is running, waiting for it\n")


def _set_up(words: list[str], tree: Path) -> list[str]:
    if words[0] in ("setup", "bom") or words == ["doctor"]:
        return words
    versions = [part for version in _versions(words) for part in ("--kafka", version)]
    exactly = ["exec", "--lean", "--stay", *versions, "--", "-E", "-P", "-c", _HARNESS]
    return [*exactly, str(tree), *words]


def _versions(words: Sequence[str]) -> list[str]:
    """The versions of Kafka that the words name, which have to be set up."""
    found = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name == "--kafka":
            found.append(value if equals else after)
    return found

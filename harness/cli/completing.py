"""The command `completion`, made from the parser. No library that is kept knows fish as well.

What may come next depends on the command and on the word before: one table of patterns for both,
which each shell has in its own words.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.base.errors import Exit
from harness.catalogue import registry
from harness.cli.options import FORMER, shows
from harness.experiment import BACKENDS, CLIENTS, PROTOCOLS, SECURITIES
from harness.experiment.enums import KIP_848

_OF_BASH: Final = """\
_kafka_chaos() {
  local before=${COMP_WORDS[COMP_CWORD-1]} words=
  case "${COMP_WORDS[1]} $before $COMP_CWORD" in
CASES
  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kafka_chaos kafka-chaos"""
_OF_ZSH: Final = """\
_kafka_chaos() {
  local next=
  case "${words[2]} ${words[CURRENT-1]} $((CURRENT - 1))" in
CASES
  esac
  [[ -n $next ]] && compadd -- ${=next} || _files
}
compdef _kafka_chaos kafka-chaos"""
_OF_FISH: Final = """\
function __kafka_chaos
  set -l words (commandline -opc)
  switch "$words[2] $words[-1] "(count $words)
CASES
  end
end
complete -c kafka-chaos -a '(__kafka_chaos)'"""
_SHELLS: Final = {
    "bash": (_OF_BASH, "    {}) words='{}' ;;"),
    "zsh": (_OF_ZSH, "    {}) next='{}' ;;"),
    "fish": (_OF_FISH, "    case '{}'\n      string split ' ' '{}'"),
}
_OF_SET_UP: Final = ("setup", "bom", "init", "mcp")  # which have no part in the parser


def completion_command(arguments: argparse.Namespace) -> int:
    """Print completions for a shell: `eval "$(kafka-chaos completion bash)"` uses them."""
    whole, case = _SHELLS[arguments.shell]
    space = " " if arguments.shell == "fish" else r"\ "
    patterns = _patterns(_shown(arguments.whole))
    cases = [case.format(each.replace(" ", space), " ".join(words)) for each, words in patterns]
    print(whole.replace("CASES", "\n".join(cases)))
    return Exit.AS_EXPECTED


def _patterns(shown: Mapping[str, Sequence[argparse.Action]]) -> list[tuple[str, Iterable[str]]]:
    """Patterns of "COMMAND WORD-BEFORE HOW-MANY", with what may come; the first that fits counts.

    Where nothing of that fits what is typed, files do.
    """
    names = registry.names()
    values: dict[str, Iterable[str]] = {
        "--client": CLIENTS,
        "--protocol": (*PROTOCOLS[:-1], KIP_848),
        "--backend": BACKENDS,
        "--security": SECURITIES,
        "--experiment": names,
    }
    of_commands = []
    for name, actions in shown.items():
        words: list[str] = []
        for each in actions:
            words += (
                each.option_strings or each.choices or (names if each.metavar == "NAME" else ())
            )
            values |= {option: each.choices for option in each.option_strings if each.choices}
        of_commands.append((name, words))
    first = ("* 1", [*(name for name, _ in of_commands), *_OF_SET_UP])
    of_options = [(f"* {option} *", known) for option, known in values.items()]
    return [first, *of_options, *((f"{name} *", words) for name, words in of_commands)]


def _shown(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    [commands] = [each for each in parser._actions if each.nargs == argparse.PARSER]
    return {
        name: [each for each in command._actions if shows(each)]
        for name, command in dict(commands.choices or {}).items()
        if name not in FORMER
    }

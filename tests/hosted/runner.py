"""A hosted runner's part: steps of a job or of a composite action, one after the other.

Every `run` is done by a real shell, with the variables of a hosted Ubuntu. Actions of others are
not here: what stands in for them gives the outputs that they give, and checks what it is given.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from tests.hosted import expressions, files

Step = Mapping[str, Any]

SHELLS: Final = {
    "": ("bash", "-e"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail"),
}
# What options of `make` are called: a runner may have any of them, and empty is as good as none.
EMPTY: Final = (
    *("NAME", "APP", "IMAGE", "CMD", "LIMIT", "SEED", "REPEAT", "CLIENT", "CLIENT_VERSION"),
    *("PROTOCOL", "BACKEND", "KAFKA", "ONLY", "LONG", "SHARE", "MEMBERS", "APPS", "LOG", "GROUP"),
)
_LONGEST_S: Final = 300
# Stands before python3 on the path: writes down its words; and does what was agreed on instead of
# what would start a cluster, or fetch something. Everything else is done by the real one.
_PYTHON: Final = """#!{python}
import json, os, shutil, sys
words = sys.argv[1:]
with open({record!r}, "a") as record:
    record.write(json.dumps(words) + "\\n")
for instead in json.load(open({instead!r})):
    if words[: len(instead["words"])] == instead["words"]:
        print(instead["prints"], end="")
        if instead["brings"]:
            shutil.copytree(
                instead["brings"], ".", symlinks=True, dirs_exist_ok=True, copy_function=shutil.copy
            )
        sys.exit(instead["code"])
os.execv({python!r}, [{python!r}, *words])
"""


@dataclass(frozen=True)
class Instead:
    """What is done instead of the command that begins with these words."""

    words: tuple[str, ...]
    code: int = 0
    prints: str = ""
    brings: Path | None = None  # a folder, copied into the one that the command is run in


@dataclass
class Done:
    """What became of a step."""

    name: str
    outcome: str  # success, failure or skipped
    output: str = ""
    given: dict[str, str] = field(default_factory=dict)  # what an action of others was given


@dataclass
class Runner:
    """One job on one machine: `workspace` is the checkout, everything else is in `folder`."""

    workspace: Path
    folder: Path
    contexts: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    instead: Sequence[Instead] = ()
    done: list[Done] = field(default_factory=list)
    cancelled: bool = False

    def __post_init__(self) -> None:
        for name in ("bin", "temp", "tool-cache", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._paths = [str(self.folder / "bin")]
        self._environment: dict[str, str] = {}
        python = str(Path(sys.base_prefix) / "bin" / "python3")
        program = self.folder / "bin" / "python3"
        record, instead = self.folder / "words", self.folder / "instead"
        record.touch()
        instead.write_text(
            json.dumps(
                [
                    {**each.__dict__, "brings": str(each.brings) if each.brings else ""}
                    for each in self.instead
                ]
            )
        )
        program.write_text(_PYTHON.format(python=python, record=str(record), instead=str(instead)))
        program.chmod(0o755)

    @property
    def words(self) -> list[list[str]]:
        """What python3 was called with, each time."""
        return [json.loads(line) for line in (self.folder / "words").read_text().splitlines()]

    @property
    def summary(self) -> str:
        """What the steps wrote for the page of the job."""
        path = self.folder / "summary.md"
        return path.read_text() if path.is_file() else ""

    def outcomes(self) -> dict[str, str]:
        """What became of each step, by its name."""
        return {each.name: each.outcome for each in self.done}

    def given(self, action: str) -> list[dict[str, str]]:
        """What each step with this action of others was given."""
        return [
            each.given for each in self.done if each.name.startswith(f"{action}@") and each.given
        ]

    def play(self, job: Mapping[str, Any]) -> str:
        """Do all steps of a job; success or failure."""
        variables = {str(k): self._text(v) for k, v in (job.get("env") or {}).items()}
        self.variables = {**self.variables, **variables}
        steps = self.contexts.setdefault("steps", {})
        return self._steps(job["steps"], self.contexts, steps)

    def _steps(
        self, steps: Sequence[Step], contexts: Mapping[str, Any], results: dict[str, Any]
    ) -> str:
        state = "success"
        for step in steps:
            name = str(step.get("name") or step.get("uses") or step["run"].split("\n")[0])
            functions = self._functions(state)
            seen = {**contexts, "steps": results}
            if not expressions.condition(str(step.get("if", "true")), seen, functions):
                self.done.append(Done(name, "skipped"))
                results[step.get("id", name)] = {"outcome": "skipped", "outputs": {}}
                continue
            outputs: dict[str, str] = {}
            outcome, said, given = self._step(step, seen, functions, outputs)
            self.done.append(Done(name, outcome, said, given))
            results[step.get("id", name)] = {
                "outcome": outcome,
                "conclusion": "success" if step.get("continue-on-error") else outcome,
                "outputs": outputs,
            }
            if outcome == "failure" and not step.get("continue-on-error"):
                state = "failure"
        return state

    def _functions(self, state: str) -> dict[str, Callable[..., Any]]:
        return {
            "success": lambda: state == "success" and not self.cancelled,
            "failure": lambda: state == "failure" and not self.cancelled,
            "cancelled": lambda: self.cancelled,
            "always": lambda: True,
            "hashFiles": self._hash_files,
        }

    def _hash_files(self, *patterns: str) -> str:
        found = sorted(
            {each for p in patterns for each in self.workspace.glob(p) if each.is_file()}
        )
        whole = hashlib.sha256()
        for each in found:
            whole.update(each.read_bytes())
        return whole.hexdigest() if found else ""

    def _text(self, value: object) -> str:
        return expressions.in_text(value, self.contexts, self._functions("success"))

    def _step(
        self,
        step: Step,
        contexts: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]],
        outputs: dict[str, str],
    ) -> tuple[str, str, dict[str, str]]:
        def text(value: object) -> str:
            return expressions.in_text(value, contexts, functions)

        variables = {str(k): text(v) for k, v in (step.get("env") or {}).items()}
        if "run" in step:
            code, said = self._run(step, variables, outputs, text)
            return ("failure" if code else "success"), said, {}
        given = {str(k): text(v) for k, v in (step.get("with") or {}).items()}
        if step["uses"].startswith("./"):
            return self._composite(self.workspace / step["uses"], given, variables, outputs)
        outputs.update(_stood_in(str(step["uses"]), given))
        return "success", "", given

    def _composite(
        self,
        folder: Path,
        given: dict[str, str],
        variables: dict[str, str],
        outputs: dict[str, str],
    ) -> tuple[str, str, dict[str, str]]:
        (action,) = files.read(folder / "action.yml")
        assert "composite" == action["runs"]["using"]
        unknown = given.keys() - action["inputs"].keys()
        assert not unknown, f"the action has no {unknown}"
        required = {k for k, v in action["inputs"].items() if v.get("required")}
        assert required <= given.keys(), f"the action needs {required}"
        inputs = {k: str(v.get("default", "")) for k, v in action["inputs"].items()} | given
        contexts = {**self.contexts, "inputs": inputs}
        contexts["github"] = {**contexts.get("github", {}), "action_path": str(folder)}
        before, self.variables = self.variables, {**self.variables, **variables}
        self.variables["GITHUB_ACTION_PATH"] = str(folder)
        results: dict[str, Any] = {}
        outcome = self._steps(action["runs"]["steps"], contexts, results)
        self.variables = before
        for name, output in (action.get("outputs") or {}).items():
            seen = {**contexts, "steps": results}
            outputs[name] = expressions.in_text(output["value"], seen, self._functions(outcome))
        return outcome, "", {}

    def _run(
        self,
        step: Step,
        variables: Mapping[str, str],
        outputs: dict[str, str],
        text: Callable[[object], str],
    ) -> tuple[int, str]:
        script = self.folder / "temp" / f"{uuid.uuid4()}.sh"
        script.write_text(step["run"])
        written = {
            name: self.folder / "temp" / f"{name}-{script.stem}"
            for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH")
        }
        for file in written.values():
            file.touch()
        place = self.workspace / text(step.get("working-directory", "."))
        done = subprocess.run(
            [*SHELLS[step.get("shell", "")], str(script)],
            cwd=place,
            env={**self._machine(), **variables, **{k: str(v) for k, v in written.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_LONGEST_S,
        )
        outputs.update(_assigned(written["GITHUB_OUTPUT"]))
        self._environment |= _assigned(written["GITHUB_ENV"])
        self._paths[:0] = reversed(written["GITHUB_PATH"].read_text().splitlines())
        return done.returncode, done.stdout

    def _machine(self) -> dict[str, str]:
        """The environment of a step: nothing of this process's own but where its cache is."""
        cache = os.environ.get("KAFKA_CHAOS_CACHE") or str(Path.home() / ".cache" / "kafka-chaos")
        context = self.contexts.get("github", {})
        return {
            **dict.fromkeys(EMPTY, ""),
            "CI": "true",
            "DEBIAN_FRONTEND": "noninteractive",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": str(context.get("event_name", "push")),
            "GITHUB_JOB": "job",
            "GITHUB_REF": str(context.get("ref", "refs/heads/main")),
            "GITHUB_REPOSITORY": "owner/something",
            "GITHUB_RUN_ATTEMPT": str(context.get("run_attempt", 1)),
            "GITHUB_RUN_ID": str(context.get("run_id", 1)),
            "GITHUB_SHA": "0" * 40,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "HOME": str(self.folder / "home"),
            "KAFKA_CHAOS_CACHE": cache,
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([*self._paths, "/usr/local/bin", "/usr/bin", "/bin"]),
            "RUNNER_ARCH": "X64",
            "RUNNER_ENVIRONMENT": "github-hosted",
            "RUNNER_NAME": "GitHub Actions 2",
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "RUNNER_TOOL_CACHE": str(self.folder / "tool-cache"),
            "RUNNER_WORKSPACE": str(self.workspace.parent),
            **self.variables,
            **self._environment,
        }


def _assigned(file: Path) -> dict[str, str]:
    """`name=value` lines, and values of several lines between two marks."""
    found: dict[str, str] = {}
    lines = iter(file.read_text().splitlines())
    for line in lines:
        name, here, mark = line.partition("<<")
        if here and "=" not in name:
            found[name] = "\n".join(takewhile(mark.__ne__, lines))
        else:
            name, equals, text = line.partition("=")
            assert equals, f"{line!r} assigns nothing"
            found[name] = text
    return found


def _stood_in(uses: str, given: Mapping[str, str]) -> dict[str, str]:
    """The outputs of an action of others."""
    action = uses.partition("@")[0]
    match action:
        case "actions/checkout":
            return {}
        case "actions/setup-python":
            version = f"{given['python-version']}.7"
            return {"python-version": version, "python-path": "python3"}
        case "actions/cache" | "actions/cache/save" | "actions/cache/restore":
            assert given["path"].strip(), given
            assert given["key"], given
            return {"cache-hit": "false"}
        case "actions/upload-artifact":
            assert given["name"], given
            assert given["path"].strip(), given
            return {}
        case "actions/download-artifact" | "pypa/gh-action-pypi-publish":
            return {}
    raise AssertionError(f"nothing stands in for {uses}")

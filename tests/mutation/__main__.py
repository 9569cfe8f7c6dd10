"""Changes the rules one small thing at a time, and tells which changes no test notices.

See the package. Everything happens in a copy of the repository in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from harness.provision.cache import LOCKS, REPOSITORY, mark
from harness.provision.environment import mutation_dir

_LOCK: Final = LOCKS / "mutation.lock"
# What only people read, and what has no SQL.
_LEFT_OUT: Final = {"__init__", "catalogue", "documents", "page", "rule"}
_PATIENCE_S: Final = 400  # more than the server takes by itself


def main(arguments: list[str]) -> int:
    """0 if every change was tried, whatever came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=400, help="how many changes (default 400)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--only", help="one module of harness/rules")
    parser.add_argument("--results", type=Path, default=Path("results/mutation"))
    given = parser.parse_args(arguments)
    tool = _tool()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-mutation-") as folder:
        copy = Path(folder) / "copy"
        _copy(copy)
        found = _try(tool, copy, Path(folder), given)
    given.results.mkdir(parents=True, exist_ok=True)
    (given.results / "changes.json").write_text(json.dumps(found, indent=1))
    (given.results / "survivors.md").write_text(_survivors(found))
    print(_told(found))
    print(f"survivors  {given.results / 'survivors.md'}")
    return 0


def _tool() -> Path:
    """The Python of an environment with cosmic-ray, made if it is not there."""
    env = mutation_dir()
    if not (env / "bin" / "cosmic-ray").is_file():
        shutil.rmtree(env, ignore_errors=True)
        mark(env)
        subprocess.run([sys.executable, "-m", "venv", env], check=True)
        pip = [env / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*map(str, pip), "--require-hashes", "--no-deps", "-r", _LOCK], check=True)
    return env / "bin" / "python"


def _copy(to: Path) -> None:
    """The files of the repository as they are now, committed or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, to / name)


def _try(tool: Path, copy: Path, folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    modules = sorted((copy / "harness" / "rules").glob("*.py"))
    chosen = [
        str(path.relative_to(copy))
        for path in modules
        if (path.stem == given.only if given.only else path.stem not in _LEFT_OUT)
    ]
    socket, session = folder / "socket", folder / "session.sqlite"
    config = folder / "cosmic-ray.toml"
    config.write_text(
        "[cosmic-ray]\n"
        f"module-path = {json.dumps(chosen)}\n"
        f"timeout = {_PATIENCE_S}\n"
        f'test-command = "{tool} -I {copy}/tests/mutation/ask.py {socket}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )
    paths = os.pathsep.join(map(str, (copy, copy / "tests" / "mutation" / "plugin")))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*command: object, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tool, *map(str, command)], cwd=copy, env=environment, check=True, text=True, **more
        )

    ours = copy / "tests" / "mutation" / "session.py"
    run("-m", "cosmic_ray.cli", "init", config, session)
    run(ours, "sample", session, given.sample, given.seed)
    with _server(copy, socket, environment, folder / "server.log"):
        _check_control(tool, copy / chosen[0], socket)
        run("-m", "cosmic_ray.cli", "exec", config, session)
    found = run(ours, "report", session, capture_output=True).stdout
    return sorted(json.loads(found), key=lambda each: (each["module"], each["line"], each["kind"]))


def _check_control(tool: Path, module: Path, socket: Path) -> None:
    """A change that changes nothing must be noticed by no test. Raises SystemExit if it is."""
    text = module.read_text()
    module.write_text(text.replace("SELECT ", "SELECT  "))
    asked = [str(tool), "-I", str(module.parents[2] / "tests" / "mutation" / "ask.py"), str(socket)]
    said = subprocess.run(asked, capture_output=True, check=False, text=True)
    module.write_text(text)
    if not said.stdout.startswith("passed"):
        raise SystemExit(
            f"tests fail although nothing has changed in {module.name}: {said.stdout}{said.stderr}"
        )


@contextmanager
def _server(copy: Path, socket: Path, environment: dict[str, str], log: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.mutation.server", str(socket)]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, cwd=copy, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            if server.stdout.readline() != "ready\n":
                raise SystemExit(f"the server did not start: {log.read_text()[-2_000:]}")
            yield
        finally:
            server.terminate()


def _told(found: list[dict[str, Any]]) -> str:
    """How many changes were noticed, by their kind and module, with the interval of the share."""
    lines = []
    for what in ("kind", "module"):
        made = Counter(each[what] for each in found)
        lost = Counter(each[what] for each in found if each["outcome"] == "survived")
        lines += [
            f"{name:<36} {made[name] - lost[name]:>4} of {made[name]:>4}" for name in sorted(made)
        ]
        lines.append("")
    outcomes = Counter(each["outcome"] for each in found)
    total, killed = len(found), outcomes["killed"]
    low, high = _wilson(killed, total)
    lines.append(
        f"{killed} of {total} changes noticed ({killed / max(1, total):.1%}; of all changes "
        f"{low:.1%} to {high:.1%} with 95 % confidence); {outcomes['survived']} survived, "
        f"{total - killed - outcomes['survived']} could not be tried"
    )
    return "\n".join(lines)


def _wilson(hits: int, total: int) -> tuple[float, float]:
    """Wilson's interval of a share, 95 %."""
    if not total:
        return 0.0, 1.0
    z, share = 1.96, hits / total
    middle = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return (middle - spread) / scale, (middle + spread) / scale


def _survivors(found: list[dict[str, Any]]) -> str:
    """Each change that no test noticed, as a difference."""
    parts = []
    for each in found:
        if each["outcome"] != "killed":
            said = (each["said"] or "").strip().splitlines()
            about = said[1] if len(said) > 1 else each["outcome"]
            lines = [line for line in each["diff"].splitlines() if line[:1] in "+-@ "]
            changed = "\n".join(lines[2:] if len(lines) > 2 else lines)
            where = f"## {each['module']}:{each['line']} {each['kind']} ({about})"
            parts.append(f"{where}\n\n```diff\n{changed}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

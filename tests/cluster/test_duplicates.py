"""Duplicates after a deploy, found and mended as docs/your-consumer.md does it, on real brokers.

Method: tests of a user's own, one of pytest and one of Jest, play the programs beside them. They
pass with those that are mended, and fail with those that are broken, which are played in a deploy
of all processes at once: it waits for a session once, and not once for each process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Final

import pytest

from harness.base.paths import ROOT
from harness.provision.cache import cache_dir, make_cache_dir

HERE: Final = ROOT / "docs" / "duplicates"
PAGE: Final = (ROOT / "docs" / "your-consumer.md").read_text()
BUILT: Final = shutil.ignore_patterns(".venv", "node_modules", "dist")
LONGEST_S: Final = 600
JEST: Final = "jest@30.5.2"
AS_OF: Final = "2026-11-01"  # what Jest needs, in the versions of that day
STAYS: Final = "Your program does not leave its group"


@pytest.mark.parametrize(("language", "suffix"), [("python", "py"), ("typescript", "ts")])
def test_programs_differ_by_the_fix_alone(language: str, suffix: str) -> None:
    """The page shows all that differs but the first line, which says what a program does."""
    paths = [HERE / language / f"{name}.{suffix}" for name in ("broken", "mended")]
    texts = [path.read_text().splitlines() for path in paths]
    assert max(map(len, texts)) <= 60
    lines = [*unified_diff(texts[0][1:], texts[1][1:], n=0, lineterm="")][2:]
    changes = [line for line in lines if line[0] in "+-" and line[1:].strip()]
    shown = re.search(rf"```diff\n# {language}\n(.*?)```", PAGE, re.S)

    assert shown
    assert changes == [line for line in shown[1].splitlines() if line[1:].strip()]
    assert len(changes) <= 12


def test_the_page_has_the_test_of_jest() -> None:
    page = (ROOT / "docs" / "tests-and-ci.md").read_text()
    assert f"```javascript\n{(HERE / 'typescript' / 'deploy.test.js').read_text()}```" in page


@pytest.fixture(scope="module")
def jest() -> Path:
    """Jest's command, in a folder of the cache."""
    folder = make_cache_dir() / JEST.replace("@", "-")
    command = folder / "node_modules" / ".bin" / "jest"
    if not command.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        options = ["--no-audit", "--no-fund", "--ignore-scripts", f"--before={AS_OF}"]
        subprocess.run(["npm", "install", *options, JEST], cwd=folder, check=True)
    return command


@pytest.fixture
def tested(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """The exit code and the words of a user's test, of these programs."""

    def run(language: str, *command: str | Path, broken: bool) -> tuple[int, str]:
        folder = tmp_path / language
        shutil.copytree(HERE / language, folder, ignore=BUILT)
        (test,) = [*folder.glob("test_*.py"), *folder.glob("*.test.js")]
        if broken:
            text = test.read_text().replace("mended.toml", "broken.toml")
            test.write_text(text.replace("rolling-deploy", "deploy-at-once"))
        installed = tmp_path / "kafka-chaos"
        results = tmp_path / "results"
        installed.write_text(f'#!/bin/sh\nexec "{ROOT}/kafka-chaos" "$@" --results "{results}"\n')
        installed.chmod(0o755)
        variables = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KAFKA_CHAOS_CACHE": str(cache_dir()),
        }
        done = subprocess.run(
            [*command, test.name],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, **variables},
            timeout=LONGEST_S,
        )
        print(done.stdout)
        return done.returncode, done.stdout

    return run


@pytest.mark.cluster
@pytest.mark.long(80)
@pytest.mark.parametrize("broken", [False, True])
def test_pytest_notices(tested: Callable[..., tuple[int, str]], broken: bool) -> None:
    plugin = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "kafka_chaos.pytest_plugin"]
    code, said = tested("python", sys.executable, *plugin, broken=broken)

    assert (broken, broken) == (code == pytest.ExitCode.TESTS_FAILED, STAYS in said), said
    assert broken or code == pytest.ExitCode.OK, said
    if broken:  # since the last automatic commit, up to 5 s of the 300 records a second
        assert re.search(r"[\d,]{3,} records were redelivered", said)


@pytest.mark.cluster
@pytest.mark.long(80)
@pytest.mark.parametrize("broken", [False, True])
def test_jest_notices(jest: Path, tested: Callable[..., tuple[int, str]], broken: bool) -> None:
    code, said = tested("typescript", "node", jest, broken=broken)

    assert (broken, broken) == (code == 1, STAYS in said), said
    assert broken == ('Expected: not "does-not-leave"' in said), said

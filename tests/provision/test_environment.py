from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.base.errors import SetupError
from harness.provision import environment
from harness.provision.cache import LOCKS, REPOSITORY
from harness.provision.shell import Shell

DEVELOPERS = LOCKS / "developers.lock"
ALL_LOCKS = [
    *(REPOSITORY / "requirements.lock", DEVELOPERS, LOCKS / "build.lock", LOCKS / "go.lock")
]


@dataclass(frozen=True)
class Recorder(Shell):
    """A shell that notes what it was asked to run, and whether the env was wiped by then."""

    env: Path = Path()
    asked: list[str] = field(default_factory=list)
    builds: list[str] = field(default_factory=list)  # what setuptools is given, each time

    def run(
        self,
        what: str,
        args: Sequence[object],
        *,
        log: str,
        remedy: str = "",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 0,
        may_fail: bool = False,
    ) -> str:
        assert not (self.env / "half").exists()
        assert not (self.env / environment.COMPLETE).exists()
        self.env.mkdir(exist_ok=True)
        self.asked.append(" ".join(map(str, args)))
        if env:
            self.builds.append(Path(env["DIST_EXTRA_CONFIG"]).read_text())
        return ""


def promised() -> tuple[str, str]:
    """The oldest and the newest Python that it says it runs on."""
    (oldest,) = re.findall(
        r'^requires-python = ">=([0-9.]+)"$',
        (REPOSITORY / "pyproject.toml").read_text(),
        re.MULTILINE,
    )
    return oldest, ".".join(map(str, environment.NEWEST_PYTHON))


def half_made(folder: Path) -> Path:
    env = folder / "env-1"
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").touch()
    (env / "half").touch()
    return env


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=lambda lock: lock.name)
def test_every_wish_is_locked_with_a_hash_and_no_host_or_machine_is_named(lock: Path) -> None:
    text = lock.read_text()
    entries = re.split(r"\n(?=\S)", text.strip())

    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+ ", entry), entry
        assert "--hash=sha256:" in entry, entry
    wishes = lock.with_suffix(".in").read_text().lower()
    for name in re.findall(r"^([a-z0-9-]+)", wishes, re.MULTILINE):
        assert re.search(rf"^{name}==", text, re.MULTILINE), name
    assert "://" not in text
    assert not re.search(r"(^|\s)/\w", text)
    assert "--index-url" not in text


def test_a_package_is_in_one_lock_alone() -> None:
    """So both fit into one environment."""
    users, developers = (
        set(re.findall(r"^([a-z0-9-]+)==", lock.read_text(), re.MULTILINE))
        for lock in (environment.REQUIREMENTS, environment.DEVELOPERS)
    )

    assert not users & developers
    assert {"confluent-kafka", "pyspark"} <= users
    assert {"mypy", "pytest", "ruff", "selenium", "syrupy"} <= developers


def test_what_users_run_imports_no_package_of_developers() -> None:
    developers = set(re.findall(r"^([a-z0-9-]+)==", DEVELOPERS.read_text(), re.MULTILINE))
    brought_by = importlib.metadata.packages_distributions()
    with_them = {
        module
        for module, names in brought_by.items()
        if developers & {name.lower().replace("_", "-") for name in names}
    }
    assert {"pytest", "mypy"} <= with_them
    imports = re.compile(r"^ *(?:import|from) (\w+)", re.MULTILINE)

    for room in ("harness", "consumers", "experiments", "kafka_chaos"):
        for path in (REPOSITORY / room).rglob("*.py"):
            if path.name != "pytest_plugin.py" and not {"apps", "template"} & {*path.parts}:
                assert not with_them & set(imports.findall(path.read_text())), path


def test_developers_have_an_environment_of_their_own_which_does_for_all(
    empty_cache: Path,
) -> None:
    users = environment.env_dir()
    assert users == environment.env_of(environment.REQUIREMENTS)
    developers = environment.developers_env()
    assert users != developers

    for env in (users, developers):
        (env / "bin").mkdir(parents=True)
        (env / "bin" / "python").touch()
    (users / environment.COMPLETE).touch()
    assert users == environment.env_dir()

    (developers / environment.COMPLETE).touch()
    assert developers == environment.env_dir()


def test_what_runs_in_the_users_environment_stays_with_it(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = environment.env_dir()
    monkeypatch.setattr(sys, "prefix", str(users))
    monkeypatch.setattr(environment, "is_complete", lambda _env: True)

    assert users == environment.env_dir()


def test_a_package_that_moves_to_the_other_lock_changes_no_name(tmp_path: Path) -> None:
    locks = []
    for number, texts in enumerate((("a==1 \\\n    # via c\n", "b==2 \\\n"), ("b==2 \\\n",))):
        locks.append(tmp_path / f"{number}.lock")
        locks[-1].write_text("".join(texts))
    (tmp_path / "a.lock").write_text("a==1 \\\n    # via c\n")

    assert environment.env_of(locks[0]) == environment.env_of(locks[1], tmp_path / "a.lock")


def test_another_lock_or_python_means_another_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = environment.env_dir()
    assert first == environment.env_dir()

    monkeypatch.setattr(platform, "python_version", lambda: "3.99.0")
    other_python = environment.env_dir()
    (tmp_path / "lock").write_text("nothing\n")
    monkeypatch.setattr(environment, "REQUIREMENTS", tmp_path / "lock")

    assert len({first, other_python, environment.env_dir()}) == 3


def test_an_environment_that_is_half_made_or_has_lost_its_python_is_not_complete(
    tmp_path: Path,
) -> None:
    env = half_made(tmp_path)
    assert not environment.is_complete(env)

    (env / environment.COMPLETE).touch()
    assert environment.is_complete(env)

    (env / "bin" / "python").unlink()
    (env / "bin" / "python").symlink_to(tmp_path / "removed")
    assert not environment.is_complete(env)


def test_install_wipes_what_was_half_made_and_marks_last(tmp_path: Path) -> None:
    env = half_made(tmp_path)
    shell = Recorder(tmp_path, env=env)

    environment.install(env, [tmp_path / "one.lock", tmp_path / "two.lock"], shell)

    assert environment.is_complete(env) or (env / environment.COMPLETE).is_file()
    venv, *installed, compiled = shell.asked
    assert installed[-1].endswith(f"-r {tmp_path}/one.lock -r {tmp_path}/two.lock")
    assert "-m venv" in venv
    assert len(installed) == 2
    assert all("--require-hashes" in command for command in installed)
    assert all("--no-compile" in command for command in installed)
    assert [environment.BUILDS] * 2 == shell.builds
    assert compiled.endswith(f"-m compileall -q -j 0 {environment.site_packages(env)}")


LISTED = """
:env:.find-links='/wheels  /more'
global.cert='/ca.pem'
global.index-url="https://a'b@mirror/simple"
global.quiet='1'
install.index-url='https://another/simple'
download.index-url='https://third/simple'
"""


def test_settings_of_pip_are_those_that_its_install_goes_by() -> None:
    assert environment.pip_settings(LISTED) == {
        "find-links": "/wheels  /more",
        "cert": "/ca.pem",
        "index-url": "https://another/simple",
        "quiet": "1",
    }


@pytest.mark.parametrize(
    ("listed", "installer", "given"),
    [
        (
            LISTED,
            "uv",
            {
                "UV_FIND_LINKS": "/wheels,/more",
                "SSL_CERT_FILE": "/ca.pem",
                "UV_DEFAULT_INDEX": "https://another/simple",
            },
        ),
        ("", "uv", {"SSL_CERT_FILE": "/bundle.pem"}),
        ("global.client-cert='/mine.pem'\n", "pip", {}),
        ("global.no-index='1'\n", "pip", {}),
    ],
    ids=["each has a word", "no settings", "one without a word", "no index"],
)
def test_uv_installs_if_it_can_be_given_all_settings_of_pip(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listed: str,
    installer: str,
    given: Mapping[str, str],
) -> None:
    env = half_made(tmp_path)
    (env / "bin" / "uv").touch()
    monkeypatch.setattr(environment, "answer", lambda _command: listed)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/bundle.pem")

    command, settings = environment.installer(env)

    assert installer in map(str, (Path(str(command[0])).name, command[2]))
    assert given.items() <= settings.items()
    assert (installer == "uv") == ("UV_SYSTEM_CERTS" in settings)


def without_venv(name: str, find: Any = importlib.util.find_spec) -> Any:
    return None if name == "ensurepip" else find(name)


MUSL = {"SOABI": "cpython-313-x86_64-linux-musl"}


@pytest.mark.parametrize(
    ("module", "name", "value", "says"),
    [
        (importlib.util, "find_spec", without_venv, r"no ensurepip.*the package python3\.\d+-venv"),
        (environment, "NEWEST_PYTHON", (3, 10), r"is 3\.\d+\.\d+.* newer than 3\.10; name another"),
        (
            sysconfig,
            "get_config_var",
            "Py_GIL_DISABLED".__eq__,
            r"is a free-threaded 3\.\d+\.\d+.*; name another Python",
        ),
        (
            sysconfig,
            "get_config_var",
            MUSL.get,
            r"is one of musl, .* only for glibc; use a Linux such as",
        ),
    ],
    ids=["without venv", "too new", "free-threaded", "musl"],
)
def test_a_python_that_is_no_use_is_named_with_the_remedy(
    module: ModuleType, name: str, value: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, value)

    with pytest.raises(SetupError, match=says):
        environment.check_python()


def test_every_page_promises_the_same_pythons_and_ci_tries_the_oldest_and_the_newest() -> None:
    oldest, newest = promised()
    for page in ("README.md", "docs/tests-and-ci.md", "docs/set-up.md", "Dockerfile"):
        text = (REPOSITORY / page).read_text()
        assert {(oldest, newest)} == set(re.findall(r"\b(3\.\d+) to (3\.\d+)\b", text)), page

    workflow = (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text()
    assert [f'"{oldest}", "{newest}"'] == re.findall(r"\bpython: \[(.*)\]", workflow)

"""The Python environment every command runs in: pinned, hashed, one folder per lock.

Users have what runs need. Developers have all of that and what tests and checks need, in one
environment of their own, which then does for every command.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from harness.base.errors import SetupError
from harness.base.paths import INSTALLED
from harness.provision.cache import LOCKS, REPOSITORY, cache_dir, mark, write_atomically
from harness.provision.shell import FETCH_REMEDY, Shell, answer

REQUIREMENTS = REPOSITORY / "requirements.lock"
DEVELOPERS = LOCKS / "developers.lock"  # what tests and checks need besides
BUILD_REQUIREMENTS = LOCKS / "build.lock"
COMPLETE = ".complete"
# Of the wheel that pip makes of PySpark, whose jars are compressed already.
BUILDS = "[bdist_wheel]\ncompression = stored\n"
# pip would compile on one processor.
QUIETLY = ("--disable-pip-version-check", "--no-input", "--no-compile")
# Settings of pip, and the variables by which uv takes the same.
UV_WORDS = {
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
NOT_OF_PLACES = {  # settings of pip that do not say where packages come from
    *("break-system-packages", "cache-dir", "disable-pip-version-check", "no-cache-dir"),
    *("no-color", "no-compile", "no-input", "no-warn-script-location", "prefer-binary"),
    *("progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "verbose"),
}
NEWEST_PYTHON = (3, 14)  # that all locked packages are there for
ANOTHER_PYTHON = (
    "install kafka-chaos with another Python"
    if INSTALLED
    else "name another Python, as in: python3.13 ./kafka-chaos …"
)


def env_dir() -> Path:
    """Where commands run: in the developers' environment once it is there, else in the users', made
    or not. What runs in one of them stays with it.
    """
    users, developers = env_of(REQUIREMENTS), developers_env()
    return developers if Path(sys.prefix) != users and is_complete(developers) else users


def developers_env() -> Path:
    return env_of(REQUIREMENTS, DEVELOPERS)


def env_of(*locks: Path) -> Path:
    """Where the environment with these locks, for this Python, belongs, made or not.

    The name carries a hash of the Python and of all packages, in whichever lock each is. So an
    upgrade makes a new one beside the old and never changes one that a run is using.
    """
    digest = hashlib.sha256(BUILD_REQUIREMENTS.read_bytes() + _packages(*locks))
    python = f"{platform.python_version()} {sys.implementation.cache_tag}"
    digest.update(f"{python} {sysconfig.get_platform()}".encode())
    return cache_dir() / f"env-{digest.hexdigest()[:12]}"


@cache
def _packages(*locks: Path) -> bytes:
    """What is in these locks, in the order of the packages' names."""
    found = [each for lock in locks for each in re.split(r"\n(?=\w)", lock.read_text().strip())]
    return "\n".join([*sorted(found, key=lambda each: each.split("==")[0]), ""]).encode()


def env_python(env: Path) -> Path:
    return env / "bin" / "python"


def _pip(env: Path) -> list[object]:
    return [env_python(env), "-m", "pip"]


def _uv_cache(env: Path) -> Path:
    return env / ".uv"


def site_packages(env: Path) -> Path:
    return env / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def is_complete(env: Path) -> bool:
    """Whether `env` was installed to its end and the Python it was made from is still there."""
    return (env / COMPLETE).is_file() and env_python(env).exists()


def check_python() -> None:
    """SetupError for a Python without packages for it, or that cannot make environments."""
    if sys.version_info[:2] > NEWEST_PYTHON:
        raise SetupError(
            f"this Python ({sys.executable}) is {platform.python_version()}, and some packages do "
            f"not support one newer than {'.'.join(map(str, NEWEST_PYTHON))}; {ANOTHER_PYTHON}"
        )
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SetupError(
            f"this Python ({sys.executable}) is a free-threaded {platform.python_version()}, and "
            f"some packages do not support such a one; {ANOTHER_PYTHON}"
        )
    if "musl" in str(sysconfig.get_config_var("SOABI")):
        raise SetupError(
            f"this Python ({sys.executable}) is one of musl, and some packages are there only for "
            "glibc; use a Linux such as Debian, or its image"
        )
    missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if missing:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupError(
            f"this Python ({sys.executable}) has no {' and no '.join(missing)}, so no environment "
            f"can be made; install the package python{version}-venv or {ANOTHER_PYTHON}"
        )


def installer(env: Path) -> tuple[list[object], dict[str, str]]:
    """The command that installs packages, and settings for its environment.

    uv fetches several packages at a time, but reads none of pip's settings, which say where this
    machine gets packages from. So it is used if it has a word for each of them, else pip is.
    """
    uv, pip = env / "bin" / "uv", [*_pip(env), "install", *QUIETLY]
    if not uv.exists():  # it comes with the build tools
        return pip, {}
    settings = pip_settings(answer([*_pip(env), "config", "list"]))
    if settings.keys() - UV_WORDS.keys() - NOT_OF_PLACES:
        return pip, {}
    given = {
        # As pip: it trusts the system, and looks into every index, which the hashes make safe.
        "UV_SYSTEM_CERTS": "true",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        # By default uv keeps each package, and 1.2 GB of PySpark's sources, outside of our cache.
        "UV_CACHE_DIR": str(_uv_cache(env)),
    }
    if bundle := os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE"):
        given["SSL_CERT_FILE"] = bundle
    for name, word in UV_WORDS.items():
        if name in settings:
            separator = "," if name == "find-links" else " "
            given[word] = separator.join(settings[name].split())
    return [uv, "pip", "install", "--python", env_python(env)], given


def pip_settings(listed: str) -> dict[str, str]:
    """What `pip install` goes by, from the answer of `pip config list`; without the sections."""
    found = re.findall(r"^(global|install|:env:)\.([\w-]+)=(.*)$", listed, re.M)
    found.sort(key=lambda each: ("global", "install", ":env:").index(each[0]))
    return {name: str(ast.literal_eval(value)) for _, name, value in found}


def install(env: Path, locks: Sequence[Path], shell: Shell) -> None:
    """Make `env` anew and install these locks into it; the completion marker is written last."""
    check_python()
    shutil.rmtree(env, ignore_errors=True)
    mark(env)
    shell.run("making the Python environment", [sys.executable, "-m", "venv", env], log="pip.log")
    builds = env / "builds.cfg"
    write_atomically(builds, BUILDS)
    # Build tools first, and then no build isolation: isolated builds fetch tools without hashes.
    for several in ([BUILD_REQUIREMENTS], locks):
        command, settings = installer(env)
        exactly = ["--require-hashes", "--no-deps", "--no-build-isolation"]
        exactly += [part for lock in several for part in ("-r", str(lock))]
        shell.run(
            "installing the Python packages",
            [*command, *exactly],
            log="pip.log",
            remedy=FETCH_REMEDY,
            env={"DIST_EXTRA_CONFIG": str(builds), **settings},
        )
    shutil.rmtree(_uv_cache(env), ignore_errors=True)
    # Files for other Pythons fail, and whatever else is not compiled only starts more slowly.
    shell.run(
        "compiling the Python packages",
        [env_python(env), "-m", "compileall", "-q", "-j", "0", site_packages(env)],
        log="pip.log",
        may_fail=True,
    )
    write_atomically(env / COMPLETE, f"{platform.python_version()}\n")

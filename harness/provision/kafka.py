"""Kafka's jars: pinned by version and SHA-256, fetched by Ivy, checked at every start."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from harness.errors import SetupError
from harness.provision import truststore
from harness.provision.cache import LOCKS, cache_dir, scratch, write_atomically
from harness.provision.environment import env_dir, site_packages
from harness.provision.java import Java
from harness.provision.jvm import broker_options
from harness.provision.shell import Shell

DEFAULT_VERSION = "4.3.1"

# No host is named: Ivy knows the public repository, and whoever has a mirror names a settings
# file in KAFKA_CHAOS_IVY_SETTINGS. Ivy's own checksums are off: they come from the same place as
# the jars, and the lock's SHA-256 are checked after the download.
IVY_SETTINGS = """<ivysettings><settings defaultResolver="jars"/>
<property name="ivy.checksums" value=""/>
<resolvers><ibiblio name="jars" m2compatible="true" usepoms="{poms}" checksums=""/></resolvers>
</ivysettings>
"""

CONTROLLER_PROPERTIES = """process.roles=controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
controller.listener.names=CONTROLLER
listeners=CONTROLLER://127.0.0.1:9093
listener.security.protocol.map=CONTROLLER:PLAINTEXT
log.dirs={data}
"""
TEMPLATE_CLUSTER_ID = (
    "kafkaChaosTemplate0000"  # 22 characters, as Kafka wants; runs write their own
)

# Kafka writes its logs through SLF4J 1.7 and does not depend on what carries them to Log4j:
# without this one brokers log nothing.
LOGGING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")

LOCK_HEADER = """# The jars of a Kafka {version} broker: organisation:artifact:version sha256.
# Resolved from org.apache.kafka:kafka_2.13 and org.apache.logging.log4j:log4j-slf4j-impl
# (without the latter brokers log nothing). The order here is the order of the class path.
"""


@dataclass(frozen=True)
class Jar:
    """One locked jar."""

    organisation: str
    artifact: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Its name in the cache; tells organisation and version, and sorts."""
        return f"{self.organisation}__{self.artifact}__{self.version}.jar"


def kafka_versions() -> list[str]:
    """The Kafka versions there are locks for."""
    return sorted(path.stem.removeprefix("kafka-") for path in LOCKS.glob("kafka-*.txt"))


def lock_path(kafka_version: str) -> Path:
    """The lock of this Kafka version; SetupError if there is none."""
    path = LOCKS / f"kafka-{kafka_version}.txt"
    if kafka_version not in kafka_versions():
        raise SetupError(
            f"Kafka {kafka_version} is not among the pinned versions "
            f"({', '.join(kafka_versions())}); choose one of them, or add {path}"
        )
    return path


def read_lock(kafka_version: str) -> list[Jar]:
    """The jars of this Kafka version, in the order of the class path."""
    path = lock_path(kafka_version)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        parse_line(line, f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]


def parse_line(line: str, where: str) -> Jar:
    """A lock line "organisation:artifact:version sha256"; SetupError if it is anything else."""
    match = re.fullmatch(r"([\w.-]+):([\w.-]+):([\w.-]+) ([0-9a-f]{64})", line)
    if match is None:
        raise SetupError(
            f"{where} reads {line!r}, not `organisation:artifact:version sha256`; "
            "restore the file from git"
        )
    return Jar(*match.groups())


def home(kafka_version: str) -> Path:
    """Where everything of this Kafka version is kept."""
    return cache_dir() / f"kafka-{kafka_version}"


def classpath(kafka_version: str) -> str:
    """All jars, in the lock's order and never as `*`: an AOT cache fits one spelling only."""
    jars = home(kafka_version) / "jars"
    return os.pathsep.join(str(jars / jar.file_name) for jar in read_lock(kafka_version))


def check_jars(kafka_version: str) -> None:
    """SetupError that names the first jar that is missing or not the locked one."""
    wrong = wrong_jars(home(kafka_version) / "jars", read_lock(kafka_version))
    if wrong:
        raise SetupError(wrong[0] + "; run `make setup`, which fetches it again")


def wrong_jars(folder: Path, jars: Sequence[Jar]) -> list[str]:
    """What is wrong with the jars in `folder`, one phrase each; empty if all are as locked."""
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        digests = list(pool.map(_digest, (folder / jar.file_name for jar in jars)))
    return [
        f"the Kafka jar {folder / jar.file_name} is "
        + ("missing" if digest is None else "not the one that was pinned (its SHA-256 differs)")
        for jar, digest in zip(jars, digests, strict=True)
        if digest != jar.sha256
    ]


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def fetch_jars(kafka_version: str, java: Java, shell: Shell) -> None:
    """Download, verify, and only then put in place all jars of this Kafka version."""
    jars = read_lock(kafka_version)
    with scratch(cache_dir()) as folder:
        command = ivy_command(ivy_module(jars), java, folder)
        shell.run("fetching Kafka's jars", command, log="ivy.log")
        wrong = wrong_jars(folder / "jars", jars)
        if wrong:
            raise SetupError(
                f"after the download {wrong[0]}; see {shell.logs / 'ivy.log'}, and check which "
                "mirror answered"
            )
        place = home(kafka_version) / "jars"
        place.parent.mkdir(exist_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        (folder / "jars").rename(place)


def ivy_command(module: str, java: Java, folder: Path, poms: str = "false") -> list[object]:
    """The command that makes Ivy put what `module` wants into `folder`/jars.

    Whatever Ivy writes stays in `folder`. With `poms` "true" it looks up dependencies too.
    """
    ivy = folder / "ivy.xml"
    ivy.write_text(module, encoding="utf-8")
    settings = folder / "settings.xml"
    settings.write_text(IVY_SETTINGS.format(poms=poms), encoding="utf-8")
    named = os.environ.get("KAFKA_CHAOS_IVY_SETTINGS")
    return [
        java.binary,
        "-Xmx256m",
        f"-Divy.default.ivy.user.dir={folder / 'ivy'}",
        *truststore.java_options(folder),
        *proxy_options(),
        *("-jar", ivy_jar()),
        *("-settings", Path(named).expanduser() if named else settings),
        *("-cache", folder / "ivy-cache", "-ivy", ivy, "-types", "jar", "-retrieve"),
        f"{folder / 'jars'}/[organisation]__[artifact]__[revision].[ext]",
    ]


def ivy_jar() -> Path:
    """The Ivy that PySpark ships, so that no Maven has to be there."""
    found = sorted((site_packages(env_dir()) / "pyspark" / "jars").glob("ivy-*.jar"))
    if not found:
        raise SetupError(
            f"no ivy-*.jar among PySpark's jars in {env_dir()}; remove that folder and run "
            "`make setup` again"
        )
    return found[-1]


def ivy_module(jars: Sequence[Jar]) -> str:
    """An Ivy module that wants exactly `jars` and nothing they depend on."""
    return _module(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.artifact)} "
        f'rev={quoteattr(jar.version)} transitive="false"/>'
        for jar in jars
    )


def _module(dependencies: Iterable[str]) -> str:
    wanted = "\n".join(dependencies)
    info = '<info organisation="kafka-chaos" module="kafka"/>'
    return f'<ivy-module version="2.0">{info}<dependencies>\n{wanted}\n</dependencies></ivy-module>'


def write_lock(kafka_version: str, java: Java, shell: Shell) -> Path:
    """For maintainers: resolve the jars of another Kafka version and pin what came."""
    wanted = (("org.apache.kafka", "kafka_2.13", kafka_version), LOGGING)
    module = _module(
        f'<dependency org="{organisation}" name="{artifact}" rev="{version}" '
        'conf="*->runtime,master(default)"/>'
        for organisation, artifact, version in wanted
    )
    with scratch(cache_dir()) as folder:
        command = ivy_command(module, java, folder, poms="true")
        shell.run(f"resolving Kafka {kafka_version}", command, log="ivy.log")
        lines = [_lock_line(jar) for jar in sorted((folder / "jars").iterdir())]
    path = LOCKS / f"kafka-{kafka_version}.txt"
    write_atomically(path, LOCK_HEADER.format(version=kafka_version) + "".join(lines))
    return path


def _lock_line(jar: Path) -> str:
    return f"{jar.stem.replace('__', ':')} {_digest(jar)}\n"


def proxy_options() -> list[str]:
    """The proxies Python would use, said to Java."""
    options = []
    for scheme, address in urllib.request.getproxies().items():
        proxy = urllib.parse.urlsplit(address if "//" in address else f"//{address}")
        if scheme in ("http", "https") and proxy.hostname:
            port = proxy.port or (443 if proxy.scheme == "https" else 80)
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={port}"]
    return options


def format_template(kafka_version: str, java: Java, shell: Shell) -> None:
    """Format a controller's folder once and keep what every run's controller starts from.

    Runs copy the checkpoint and write their own `meta.properties`: no run starts a JVM to format.
    """
    with scratch(cache_dir()) as folder:
        properties = folder / "controller.properties"
        properties.write_text(CONTROLLER_PROPERTIES.format(data=folder / "data"), encoding="utf-8")
        java_command = [java.binary, *broker_options(java.version), "-cp", classpath(kafka_version)]
        tool = ["kafka.tools.StorageTool", "format", "-t", TEMPLATE_CLUSTER_ID, "-c", properties]
        shell.run("formatting the controller template", [*java_command, *tool], log="kafka.log")
        (folder / "data" / "bootstrap.checkpoint").replace(checkpoint(kafka_version))


def checkpoint(kafka_version: str) -> Path:
    """The controller template's checkpoint."""
    return home(kafka_version) / "bootstrap.checkpoint"

"""Fetching Kafka's jars with the Ivy that PySpark ships, so that no Maven has to be there.

Only a set-up that really fetches imports this: what it needs takes longer to load than a warm start
takes in all.
"""

from __future__ import annotations

import os
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from harness.base.errors import SetupError
from harness.provision import truststore
from harness.provision.cache import LOCKS, cache_dir, mark, scratch, write_atomically
from harness.provision.environment import env_dir, site_packages
from harness.provision.java import Java
from harness.provision.kafka import Jar, digest, home, read_lock, wrong_jars
from harness.provision.shell import FETCH_REMEDY, Shell

# No host is named: Ivy knows the public repository, and whoever has a mirror names a settings
# file in KAFKA_CHAOS_SETTINGS. Ivy's own checksums are off: they come from the same place as
# the jars, and the lock's SHA-256 are checked after the download.
SETTINGS = """<ivysettings><settings defaultResolver="jars"/>
<property name="ivy.checksums" value=""/>
<resolvers><ibiblio name="jars" m2compatible="true" usepoms="{poms}" checksums=""/></resolvers>
</ivysettings>
"""

# Kafka writes its logs through SLF4J 1.7 and does not depend on what carries them to Log4j:
# without this one brokers log nothing.
LOGGING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")

LOCK_HEADER = """# The jars of a Kafka {version} broker: organisation:artifact:version sha256.
# Resolved from org.apache.kafka:kafka_2.13 and org.apache.logging.log4j:log4j-slf4j-impl
# (without the latter brokers log nothing). The order here is the order of the class path.
"""


def fetch_jars(kafka_version: str, java: Java, shell: Shell) -> None:
    """Download, verify, and only then put in place all jars of this Kafka version."""
    jars = read_lock(kafka_version)
    with scratch(cache_dir()) as folder:
        command = ivy_command(ivy_module(jars), java, folder)
        shell.run("fetching Kafka's jars", command, log="ivy.log", remedy=FETCH_REMEDY)
        wrong = wrong_jars(folder / "jars", jars)
        if wrong:
            raise SetupError(
                f"after the download {wrong[0]}; see {shell.logs / 'ivy.log'}, and check which "
                "mirror answered"
            )
        place = home(kafka_version) / "jars"
        mark(place.parent)
        shutil.rmtree(place, ignore_errors=True)
        (folder / "jars").rename(place)


def ivy_command(module: str, java: Java, folder: Path, poms: str = "false") -> list[object]:
    """The command that makes Ivy put what `module` wants into `folder`/jars.

    Whatever Ivy writes stays in `folder`. With `poms` "true" it looks up dependencies too.
    """
    ivy = folder / "ivy.xml"
    ivy.write_text(module, encoding="utf-8")
    settings = folder / "settings.xml"
    settings.write_text(SETTINGS.format(poms=poms), encoding="utf-8")
    named = os.environ.get("KAFKA_CHAOS_IVY_SETTINGS")
    return [
        java.binary,
        "-Xmx256m",
        f"-Divy.default.ivy.user.dir={folder / 'ivy'}",
        *truststore.java_options(folder),
        *proxy_options(),
        *("-jar", ivy_jar()),
        *("-settings", Path(named).expanduser() if named else settings),
        *("-cache", folder / "ivy-cache", "-ivy", ivy, "-types", "jar", "bundle", "-retrieve"),
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
        what = f"resolving Kafka {kafka_version}"
        shell.run(what, command, log="ivy.log", remedy=FETCH_REMEDY)
        lines = [_lock_line(jar) for jar in sorted((folder / "jars").iterdir())]
    path = LOCKS / f"kafka-{kafka_version}.txt"
    write_atomically(path, LOCK_HEADER.format(version=kafka_version) + "".join(lines))
    return path


def _lock_line(jar: Path) -> str:
    return f"{jar.stem.replace('__', ':')} {digest(jar)}\n"


def proxy_options() -> list[str]:
    """The proxies Python would use, said to Java."""
    options = []
    for scheme, address in urllib.request.getproxies().items():
        proxy = urllib.parse.urlsplit(address if "//" in address else f"//{address}")
        if scheme in ("http", "https") and proxy.hostname:
            port = proxy.port or (443 if proxy.scheme == "https" else 80)
            options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={port}"]
    return options

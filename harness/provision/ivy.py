"""Fetching Kafka's jars with the Ivy that PySpark ships, so that no Maven has to be there.

Only a set-up that really fetches imports this: what it needs takes longer to load than a warm start
takes in all.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from harness.base.errors import BadInput, SetupError
from harness.base.paths import set_up
from harness.provision import java_network
from harness.provision.cache import cache_dir, mark, scratch
from harness.provision.environment import env_dir, site_packages
from harness.provision.java import Java
from harness.provision.kafka import DEFAULT_VERSION, Jar, home, read_lock, wrong_jars
from harness.provision.shell import FETCH_REMEDY, Shell

LOG: Final = "ivy.log"  # what Ivy says, in the folder of logs

# No host is named: Ivy knows the public repository, and whoever has a mirror names a settings
# file in KAFKA_CHAOS_IVY_SETTINGS. Ivy's own checksums are off: it knows SHA-1 only, and is content
# where there is none. Jars are held against the lock's SHA-256, or where there is no lock yet
# against the strongest checksum that the registry has.
SETTINGS = """<ivysettings><settings defaultResolver="jars"/>
<property name="ivy.checksums" value=""/>
<resolvers><ibiblio name="jars" m2compatible="true" usepoms="{poms}" checksums=""/></resolvers>
</ivysettings>
"""

# Kafka writes its logs through SLF4J 1.7 and does not depend on what carries them to Log4j:
# without this one brokers log nothing.
LOGGING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")

# What Ivy says where the registry does not answer, or refuses: a module that is not there is
# "not found" without one of these.
_NO_ANSWER: Final = re.compile(
    r"^.*(?:Server access error|Host \S+ not found|(?:SERVER|CLIENT) ERROR|problem while down).*$",
    re.MULTILINE | re.IGNORECASE,
)


def fetch_jars(kafka_version: str, java: Java, shell: Shell) -> None:
    """Download, verify, and only then put in place all jars of this Kafka version."""
    jars = read_lock(kafka_version)
    with scratch(cache_dir()) as folder:
        command = ivy_command(ivy_module(jars), java, folder)
        shell.run("fetching Kafka's jars", command, log=LOG, remedy=FETCH_REMEDY)
        wrong = wrong_jars(folder / "jars", jars)
        if wrong:
            raise SetupError(
                f"after the download {wrong[0]}; see {shell.logs / LOG}, and check which "
                "mirror answered"
            )
        place = home(kafka_version) / "jars"
        mark(place.parent)
        shutil.rmtree(place, ignore_errors=True)
        (folder / "jars").rename(place)


def ivy_command(
    module: str,
    java: Java,
    folder: Path,
    poms: str = "false",
    types: Sequence[str] = ("jar", "bundle"),
) -> list[object]:
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
        *java_network.options(folder),
        *("-jar", ivy_jar()),
        *("-settings", Path(named).expanduser() if named else settings),
        *("-cache", folder / "ivy-cache", "-ivy", ivy, "-types", *types, "-retrieve"),
        f"{folder / 'jars'}/[organisation]__[artifact]__[revision].[ext]",
    ]


def ivy_jar() -> Path:
    found = sorted((site_packages(env_dir()) / "pyspark" / "jars").glob("ivy-*.jar"))
    if not found:
        raise SetupError(
            f"no ivy-*.jar among PySpark's jars in {env_dir()}; remove that folder and run "
            f"`{set_up()}` again"
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


def resolve(kafka_version: str, java: Java, shell: Shell, folder: Path) -> None:
    """Look up what a Kafka version consists of, and fetch its jars into `folder`/jars.

    Raises BadInput if the registry has no such version, SetupError if it does not answer.
    """
    wanted = (("org.apache.kafka", "kafka_2.13", kafka_version), LOGGING)
    module = _module(
        f'<dependency org="{organisation}" name="{artifact}" rev="{version}" '
        'conf="*->runtime,master(default)"/>'
        for organisation, artifact, version in wanted
    )
    what = f"looking up Kafka {kafka_version}"
    command = ivy_command(module, java, folder, poms="true")
    said = shell.run(what, command, log=LOG, may_fail=True)
    _check_answered(what, said, shell)
    if f"module not found: org.apache.kafka#kafka_2.13;{kafka_version}" in said:
        raise BadInput(
            f"the registry has no Kafka {kafka_version}: choose a release that it has, such as "
            f"{DEFAULT_VERSION}"
        )
    if not (folder / "jars").is_dir():
        raise SetupError(f"{what} failed: its output is in {shell.logs / LOG}; {FETCH_REMEDY}")


def checksums(
    jars: Sequence[Jar], kinds: Sequence[str], java: Java, shell: Shell, folder: Path
) -> dict[Jar, dict[str, str]]:
    """The checksums next to each jar in the registry, by kind ("sha512"): those that there are.

    They come through Ivy as the jars do: by its settings, and whatever they say of mirrors and
    passwords. Raises SetupError if the registry does not answer.
    """
    module = _module(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.artifact)} "
        f'rev={quoteattr(jar.version)} transitive="false">'
        + "".join(
            f'<artifact name={quoteattr(jar.artifact)} type="{kind}" ext="jar.{kind}"/>'
            for kind in kinds
        )
        + "</dependency>"
        for jar in jars
    )
    own = folder / "checksums"
    own.mkdir()
    what = "fetching the registry's checksums"
    command = ivy_command(module, java, own, types=kinds)
    # It fails where one of them is missing, and leaves the others in its cache.
    _check_answered(what, shell.run(what, command, log=LOG, may_fail=True), shell)
    cached = own / "ivy-cache"
    found: dict[Jar, dict[str, str]] = {}
    for jar in jars:
        place, name = cached / jar.organisation / jar.artifact, f"{jar.artifact}-{jar.version}.jar"
        paths = {kind: place / f"{kind}s" / f"{name}.{kind}" for kind in kinds}
        found[jar] = {
            kind: path.read_text(encoding="utf-8", errors="replace")
            for kind, path in paths.items()
            if path.is_file()
        }
    return found


def _check_answered(what: str, said: str, shell: Shell) -> None:
    if refused := _NO_ANSWER.search(said):
        raise SetupError(
            f"{what} failed, since the registry did not answer ({refused[0].strip()[:200]}; whole "
            f"output in {shell.logs / LOG}); {FETCH_REMEDY}"
        )

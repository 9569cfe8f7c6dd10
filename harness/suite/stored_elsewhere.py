"""Places that Spark reads by itself, such as s3a://BUCKET/dataset, and why it could not, in words.

Spark's own jars reach a folder and HDFS. Every other store needs jars of its own, which the store's
owner names in Spark's configuration (docs/scale.md).
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from harness.base.errors import BadInput, HarnessError, NoData, SetupError
from harness.base.paths import here
from harness.history import manifest

# What brings each scheme, by its name at Maven.
_JARS: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
_OTHER_NAMES: Final = {"s3": "s3a", "s3n": "s3a"}  # which Hadoop has no longer
# In Hadoop's words a store's own class, in Java's one that this class needs, or nothing at all.
_LACKING: Final = re.compile(
    r"Class (?P<own>[\w.$]+) not found"
    r"|(?:ClassNotFoundException|NoClassDefFoundError): (?!Class )(?P<needed>[\w./$]+)"
    r'|No FileSystem for scheme "(?P<scheme>[^"]+)"'
)
_NOTHING_THERE: Final = ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")
_FOLDER: Final = re.compile(r"[\w-][\w.-]*")  # none that leads up, or to nothing
_EXCEPTION: Final = re.compile(r"^(?:: )?(?:[a-z]\w*\.)+(\w+): ")


def check_place(place: str) -> None:
    """Raises BadInput for a place whose scheme has another name."""
    scheme, _, rest = place.partition("://")
    if other := _OTHER_NAMES.get(scheme):
        raise BadInput(f"{place} is a place that Spark does not know: say {other}://{rest}")


@contextmanager
def in_words(place: str) -> Iterator[None]:
    """Make one sentence of what Spark raises while it reads `place`.

    Raises NoData where nothing is there, SetupError where jars are missing or the store refuses.
    """
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        raise _sentence_of(place, str(error)) from error


def _sentence_of(place: str, said: str) -> HarnessError:
    if any(name in said for name in _NOTHING_THERE):
        return NoData(f"nothing is at {place}: name the folder of a dataset")
    lacking = _LACKING.search(said)
    if lacking is None:
        # Without where in Java's code: the first line that names an exception.
        lines = [line for line in said.splitlines() if line.strip()] or [said]
        first = next(filter(_EXCEPTION.match, lines), lines[0])
        why = _EXCEPTION.sub(r"\1: ", first)
        return SetupError(f"{place} cannot be read ({why}): see that it is there and open")
    scheme = lacking["scheme"] or place.partition("://")[0]
    name = lacking["own"] or lacking["needed"]
    what = f"the class {name}" if name else f"what reads {scheme}://"
    jars = _JARS.get(scheme, f"the jars of {scheme}://")
    return SetupError(
        f"{place} cannot be read, for Spark lacks {what}: name {jars} in spark.jars.packages of "
        "$SPARK_CONF_DIR/spark-defaults.conf, as docs/scale.md says"
    )


def fetched(spark: SparkSession, place: str, results: Path) -> Path:
    """Copy a run from another store to where it would be had it been played here; that folder.

    A run is judged in a folder: what seals its files, and what is made of them, is no affair of
    Spark's. Raises NoData where no run is, BadInput where one is here already or this Spark cannot
    copy, SetupError as `in_words` does.
    """
    context = getattr(spark, "_jsc", None)
    if context is None:
        raise BadInput(
            f"a Spark Connect server cannot copy {place} here: leave out --spark, or copy the run "
            "by the tools of its store"
        )
    results.mkdir(parents=True, exist_ok=True)
    scratch = Path(mkdtemp(prefix=".fetched-", dir=results))
    try:
        with in_words(place):
            _copy(spark, context.hadoopConfiguration(), place, scratch / "run")
        target = results / _place_of(manifest.read(scratch / "run"), place)
        if target.exists():
            raise BadInput(f"{here(target)} is here already: check that, or remove it first")
        target.parent.mkdir(parents=True, exist_ok=True)
        return (scratch / "run").rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _place_of(facts: Mapping[str, Any], place: str) -> Path:
    """Where below the results a run belongs. Its manifest may be anybody's, and names two folders.

    Raises NoData where it names others.
    """
    names = [str(facts.get("experiment", "")), str(facts.get("run", ""))]
    if not all(_FOLDER.fullmatch(name) for name in names):
        raise NoData(
            f"the manifest of {place} names no run of an experiment ({' and '.join(names)}): name "
            "the folder of a run"
        )
    return Path(*names)


def _copy(spark: SparkSession, configuration: Any, place: str, to: Path) -> None:
    files: Any = spark._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    source = files.Path(place)
    store = source.getFileSystem(configuration)
    if not store.exists(files.Path(source, manifest.FILE_NAME)):
        raise NoData(f"no run is at {place}: name the folder of one, which has its manifest.json")
    # As plain files: without the checksum files that Hadoop puts beside what it writes.
    store.copyToLocalFile(False, source, files.Path(to.as_uri()), True)

"""What Spark raises over a place that it cannot read is one sentence, which says what to do."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from harness.base.errors import HarnessError, NoData, SetupError
from harness.suite.stored_elsewhere import in_words

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
TRACE = "\n\tat org.apache.hadoop.fs.FileSystem.get(FileSystem.java:558)\n"


@pytest.mark.parametrize(
    ("place", "raised", "kind", "said"),
    [
        (
            "s3a://nights/dataset",
            f"java.lang.ClassNotFoundException: Class {S3A} not found",
            SetupError,
            f"Spark lacks the class {S3A}: name org.apache.hadoop:hadoop-aws in spark.jars.",
        ),
        (  # hadoop-aws is there, and the SDK is not
            "s3a://nights/dataset",
            "java.lang.NoClassDefFoundError: software/amazon/awssdk/core/exception/SdkException",
            SetupError,
            "Spark lacks the class software/amazon/awssdk/core/exception/SdkException: name org",
        ),
        (
            "abfss://nights@account/dataset",
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "abfss"',
            SetupError,
            "Spark lacks what reads abfss://: name org.apache.hadoop:hadoop-azure in spark.jars.",
        ),
        (
            "hdfs://namenode/dataset",
            "An error occurred while calling o39.parquet.\n: java.net.ConnectException: refused",
            SetupError,
            "cannot be read (ConnectException: refused): see that it is there and open",
        ),
        (
            "/dataset",
            "[PATH_NOT_FOUND] Path does not exist: file:/dataset. SQLSTATE: 42K03",
            NoData,
            "nothing is at /dataset: name the folder of a dataset",
        ),
    ],
)
def test_a_place_that_spark_cannot_read(
    place: str, raised: str, kind: type[HarnessError], said: str
) -> None:
    with pytest.raises(HarnessError) as caught, in_words(place):
        raise PySparkException(raised + TRACE)

    assert kind is type(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "FileSystem.java" not in str(caught.value)

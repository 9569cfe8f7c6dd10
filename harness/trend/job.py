"""The trend of every measured number, in Spark: nothing but DataFrames, so it runs on any of them.

`trends` takes a session of any kind: local, a cluster's, or Spark Connect. As a program it needs
nothing of this project: `spark-submit harness/trend/job.py DATASET OUTPUT`.

The test is Pettitt's (A. N. Pettitt, Applied Statistics 28, 1979) on one number per day (UTC), the
median of the medians of that day's runs, in their order in time. It takes its numbers to be
independent of each other, and runs of one afternoon are not: thirty repeats of a run would outvote
a month of nights. It asks of all places at once where the days before differ most from those after,
by ranks, so it assumes no shape, and no threshold that was chosen. What is said of many series
at once is corrected by Holm's method, among those that are long enough to stand out from chance in
such company: whether one is, its length alone decides (after R. E. Tarone, Biometrics 46, 1990), so
leaving the others out favours none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

ALPHA = 0.01  # how often any series at all is called moved when none has
VIEW = "verdicts_of_all_runs"
# Parquet's page checksums are not looked at unless a reader asks for it.
VERIFY = "parquet.page.verify-checksum.enabled"

_SERIES = "experiment, client, protocol, kafka, backend, setup, rule"

# How far a run stayed from the bound that it came nearest to, in the rule's unit; negative: beyond.
# Bounds are for extremes: the largest number has the upper one, the smallest the lower one. A rule
# that HOLDS with a number beyond a bound has that bound for others of its numbers only (X07: the
# delay of an empty group has a lower one, other rebalances have none), so it is left out here.
_ROOM = """least(
    CASE WHEN verdict <> 'HOLDS' OR measured_max <= bound_high THEN bound_high - measured_max END,
    CASE WHEN verdict <> 'HOLDS' OR measured_min >= bound_low THEN measured_min - bound_low END)"""

# One row per run of a series: a rule, as one experiment shows it for one client and protocol, with
# this version of Kafka on this kind of backend, set up alike. Several verdicts of a run are one
# (there are none). What was withheld has no number that could be ranked. Rules of the record itself
# and sabotaged consumers are left out: neither says what Kafka or its clients do. Saboteurs by name
# are so by their faults too, and older rows have no column of sabotage. Days are counted from
# seconds, so that they are those of UTC whatever zone a session is in.
_RUNS = f"""
    runs AS (
        SELECT experiment, client, protocol, kafka, backend, coalesce(setup, '') AS setup, rule,
               any_value(unit) AS unit, run, min(started_at) AS at, min(measured_p50) AS value,
               date_from_unix_date(int(unix_seconds(min(started_at)) DIV 86400)) AS day,
               max(NOT verdict <=> expected) AS differs, min({_ROOM}) AS room,
               min(bound_low) AS bound_low, min(bound_high) AS bound_high
        FROM {VIEW}
        WHERE verdict <> 'UNKNOWN' AND NOT rule RLIKE '^E[0-9]'
              AND NOT startswith(experiment, 'saboteur-') AND NOT coalesce(sabotaged, false)
        GROUP BY experiment, client, protocol, kafka, backend, coalesce(setup, ''), rule, run
    )
"""
_POINTS = f"""
    points AS (
        SELECT {_SERIES}, any_value(unit) AS unit, day, min(at) AS at, median(value) AS value,
               array_sort(collect_list(run)) AS runs, count_if(differs) AS differing,
               median(room) AS room, min(bound_low) AS bound_low, min(bound_high) AS bound_high
        FROM runs WHERE value IS NOT NULL GROUP BY {_SERIES}, day
    )
"""

# With ranks r (ties share theirs), U(t) = 2 * (r of the first t) - t * (n + 1); K = max |U|, and
# p = 2 exp(-6 K^2 / (n^3 + n^2)). The change is between day t and the next.
_PETTITT = f"""
    ranked AS (
        SELECT *, count(*) OVER (PARTITION BY {_SERIES}) AS n,
               row_number() OVER (PARTITION BY {_SERIES} ORDER BY day) AS t,
               rank() OVER (PARTITION BY {_SERIES} ORDER BY value)
                   + (count(*) OVER (PARTITION BY {_SERIES}, value) - 1) / 2.0D AS r
        FROM points
    ),
    summed AS (
        SELECT *, 2 * sum(r) OVER (PARTITION BY {_SERIES} ORDER BY t
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
                  - t * (n + 1) AS u
        FROM ranked
    ),
    turned AS (
        SELECT {_SERIES}, max(abs(u)) AS k, max_by(t, abs(u)) AS turn, max(n) AS n
        FROM summed WHERE t < n GROUP BY {_SERIES}
    ),
    tested AS (
        SELECT {_SERIES}, turn, n,
               least(1.0D, 2 * exp(-6 * k * k / (power(n, 3) + power(n, 2)))) AS p,
               least(1.0D, 2 * exp(-6 * power(floor(n / 2) * ceil(n / 2), 2)
                                   / (power(n, 3) + power(n, 2)))) AS least_p
        FROM turned
    )
"""
_HOLM = f"""
    able AS (
        SELECT *, least_p * count(*) OVER (ORDER BY least_p) <= {ALPHA} AS long_enough FROM tested
    ),
    counted AS (
        SELECT *, count(*) OVER (PARTITION BY long_enough) AS series,
               row_number() OVER (PARTITION BY long_enough ORDER BY p, {_SERIES}) AS place
        FROM able
    ),
    adjusted AS (
        SELECT *, CASE WHEN long_enough THEN least(1.0D,
                       max(p * (series - place + 1)) OVER (PARTITION BY long_enough ORDER BY place))
                  END AS p_adjusted
        FROM counted
    )
"""
_RESULT = f"""
    SELECT {_SERIES}, any_value(s.unit) AS unit, any_value(a.n) AS n,
           sum(size(s.runs)) AS runs,
           median(s.value) FILTER (WHERE s.t <= a.turn) AS before,
           median(s.value) FILTER (WHERE s.t > a.turn) AS after,
           min_by(s.runs[0], s.t) FILTER (WHERE s.t > a.turn) AS since_run,
           min(s.at) FILTER (WHERE s.t > a.turn) AS since,
           any_value(a.p) AS p, any_value(a.p_adjusted) AS p_adjusted,
           max(s.bound_low) AS bound_low, max(s.bound_high) AS bound_high,
           array_sort(collect_list(struct(s.t, s.day, s.at, s.value, s.runs, s.differing)))
               AS points,
           CASE WHEN NOT any_value(a.long_enough) THEN 'too few'
                WHEN any_value(a.p_adjusted) > {ALPHA} THEN 'steady'
                WHEN median(s.room) FILTER (WHERE s.t > a.turn)
                     < median(s.room) FILTER (WHERE s.t <= a.turn)
                     AND (median(s.value) FILTER (WHERE s.t > a.turn)
                              > median(s.value) FILTER (WHERE s.t <= a.turn)
                          AND max(s.bound_high) IS NOT NULL
                          OR median(s.value) FILTER (WHERE s.t > a.turn)
                              < median(s.value) FILTER (WHERE s.t <= a.turn)
                          AND max(s.bound_low) IS NOT NULL) THEN 'worse'
                ELSE 'moved' END AS trend
    FROM adjusted a JOIN summed s USING ({_SERIES})
    GROUP BY {_SERIES}
    ORDER BY p_adjusted NULLS LAST, {_SERIES}
"""


def read(
    spark: SparkSession, dataset: str | Path, files: Sequence[Path] | None = None
) -> DataFrame:
    """All verdicts of a dataset, of whatever schema version: what a file lacks is null.

    A Path is that folder, whatever its name is; a text may be what Spark takes for one, patterns
    and other file systems included. `files` are those of its files to be read, if not all.
    """
    reader = spark.read.option("mergeSchema", "true").option(VERIFY, "true")
    if files is not None:
        found = reader.option("basePath", str(dataset)).parquet(*map(_literal, files))
    else:
        found = reader.parquet(dataset if isinstance(dataset, str) else _literal(dataset))
    later = {"setup": "string(NULL) AS setup", "sabotaged": "boolean(NULL) AS sabotaged"}
    return found.selectExpr("*", *(later[name] for name in later.keys() - found.columns))


def _literal(path: Path) -> str:
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def trends(spark: SparkSession, verdicts: DataFrame) -> DataFrame:
    """One row per series that was measured on two days or more.

    Columns: experiment, client, protocol, kafka, backend, setup (the same for runs declared alike),
    rule, unit, n (days) and runs (on all of them); before and after (medians on both sides of where
    it turns, in `unit`), since_run and since (the first run after); p and p_adjusted (null: too
    few); bound_low, bound_high; points, one per day (t, day, at: when its first run started, value:
    the median of its runs' medians, runs: their names, differing: how many of them had another
    verdict than expected); trend: "too few" (among so many series none of n days could stand out
    from chance), "steady", "moved", or "worse": moved, and there is less room since. Of a run it is
    what lies between its largest number and the upper bound, or between its smallest and the lower
    one, whichever is less (below 0 beyond it), and before and since go by the days' medians,
    which themselves have to have moved towards a bound: that they moved is what was tested.
    So a number between two bounds is worse where it comes nearer to the nearer one, and a series
    without bounds never is.
    """
    verdicts.createOrReplaceTempView(VIEW)
    return spark.sql(f"WITH {_RUNS}, {_POINTS}, {_PETTITT}, {_HOLM} {_RESULT}")


def main(dataset: str, output: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    trends(spark, read(spark, dataset)).write.mode("overwrite").parquet(output)


if __name__ == "__main__":
    main(*sys.argv[1:3])

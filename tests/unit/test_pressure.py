"""For how much of a run somebody waited for a processor, as the kernel tells it."""

from __future__ import annotations

from pathlib import Path

from harness.run.waiting import Pressure


def told(some_us: int, full_us: int) -> str:
    averages = "avg10=97.82 avg60=94.94 avg300=56.85"
    return f"some {averages} total={some_us}\nfull {averages} total={full_us}\n"


def test_the_shares_are_of_the_time_since_it_began(tmp_path: Path) -> None:
    path, clock_ns = tmp_path / "cpu", iter((0, 10_000_000_000, 20_000_000_000))
    path.write_text(told(5_000_000, 0))
    pressure = Pressure(path, lambda: next(clock_ns))
    path.write_text(told(14_700_000, 1_000_000))
    assert {"some": 0.97, "full": 0.1} == pressure.shares()
    path.write_text(told(90_000_000, 1_000_000))  # the two are not read in one moment
    assert {"some": 1.0, "full": 0.05} == pressure.shares()


def test_a_kernel_that_does_not_tell_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cpu"
    pressure = Pressure(path)
    assert {} == pressure.shares()
    path.write_text(told(1, 1))
    assert {} == pressure.shares()  # it began untold


def test_this_kernel_is_understood_where_it_tells() -> None:
    known = Path("/proc/pressure/cpu").exists()
    assert known == ("some" in Pressure().shares())

"""Who gives way: shares of processor time that count, and those that a control group overrules."""

from pathlib import Path

import pytest

from harness.base.priority import overruled


def group(mounted: Path, path: str, *, shares: bool) -> None:
    """A control group of version 2; all but the root have a weight where processors are shared."""
    folder = mounted / path
    folder.mkdir(parents=True, exist_ok=True)
    if shares:
        (folder / "cpu.weight").write_text("100\n")


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ("4:memory:/some/job\n1:cpu:/\n0::/\n", False),
        ("4:memory:/some/job\n1:cpu:/some/job\n0::/\n", True),
        ("3:cpu,cpuacct:/user.slice\n", True),
        ("3:cpuset:/user.slice\n2:cpu,cpuacct:/\n", False),
        ("", False),
    ],
)
def test_in_version_1_the_group_of_the_processors_counts(
    groups: str, found: bool, tmp_path: Path
) -> None:
    groups_file = tmp_path / "cgroup"
    groups_file.write_text(groups)
    assert found == overruled(groups_file, tmp_path)


def test_in_version_2_any_group_above_that_shares_processors_counts(tmp_path: Path) -> None:
    groups_file, mounted = tmp_path / "cgroup", tmp_path / "mounted"
    groups_file.write_text("0::/user.slice/session-1.scope\n")
    group(mounted, "user.slice/session-1.scope", shares=False)
    assert not overruled(groups_file, mounted)
    group(mounted, "user.slice/session-2.scope", shares=True)  # another one's
    assert not overruled(groups_file, mounted)
    group(mounted, "user.slice", shares=True)
    assert overruled(groups_file, mounted)


def test_a_container_sees_its_own_group_as_the_root_which_has_a_weight(tmp_path: Path) -> None:
    groups_file, mounted = tmp_path / "cgroup", tmp_path / "mounted"
    groups_file.write_text("0::/\n")
    mounted.mkdir()
    assert not overruled(groups_file, mounted)
    group(mounted, "", shares=True)
    assert overruled(groups_file, mounted)

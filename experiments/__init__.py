"""One module per experiment: its file name with dashes is its NAME."""

from typing import Final

from harness.experiment import Expect, commit_waits_for_the_rebalance

# What a known defect may do to any run, whatever its experiment is about. An experiment that names
# the rule says itself what it expects.
ANY_RUN: Final[tuple[Expect, ...]] = (commit_waits_for_the_rebalance("X01-kept", sometimes=True),)

"""What several forms of a run's report show: stops, rebalances, members, faults, records."""

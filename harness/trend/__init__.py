"""How measured numbers move over many runs: a dataset of all verdicts, a test of each series."""

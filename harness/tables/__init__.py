"""Tables derived from a run's history, by queries over the history and over each other."""

"""The page of one run, and the files that a report of it writes."""

"""One run: a cluster, its members, the faults, and what each of them wrote."""

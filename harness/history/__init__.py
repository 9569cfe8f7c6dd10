"""The raw history of a run: what every side saw, as Parquet."""

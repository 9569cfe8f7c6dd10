"""What runs the queries: Spark, the product's engine, and DuckDB, by which tests judge quickly."""

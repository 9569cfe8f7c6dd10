"""Pages over many runs: nights, repeats, comparisons, trends and the documents."""

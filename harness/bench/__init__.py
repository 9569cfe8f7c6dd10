"""`make bench`: what the harness costs, as ratios measured side by side in one run."""

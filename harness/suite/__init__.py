"""Many runs: nights, repeats and comparisons, played one after another and judged aside."""

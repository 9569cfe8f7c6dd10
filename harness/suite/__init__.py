"""Many runs, played one after another and judged as they go on: nights, repeats, sweeps."""

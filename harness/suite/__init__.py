"""Many runs, played one after another: nights, repeats and comparisons. Judged as they go on."""

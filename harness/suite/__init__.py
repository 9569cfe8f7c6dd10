"""Many runs, played one after another: nights, repeats, sweeps and matrices. Judged as they go on."""

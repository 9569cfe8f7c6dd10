"""The command `kafka-chaos` and a plugin for pytest, as a wheel brings them.

Neither needs a package: the harness has an environment of its own, outside this one.
"""

"""Workflows and the action, played as a hosted runner would: no such runner is within reach here.

`runner` does a job's steps in order, each `run` by a real shell with a runner's variables;
`expressions` works out what stands in `${{ }}`, and `files` reads YAML. Actions of others are stood
in for by what they are for.
"""

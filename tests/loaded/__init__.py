"""Runs beside a load: does a busy machine make a verdict wrong? (`make loaded`)

1. `load` brings the machine's load to a figure, by processes of its own, and holds it there
2. `rounds` says which experiment is played beside which load
3. `table` keeps what came of each round, so that a later call goes on where this one stopped
"""

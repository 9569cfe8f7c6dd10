"""A campaign against the harness itself: kills, damaged records, shortages of the machine.

`python -m tests.torture` (`make torture`) plays rounds. What a round does is drawn from the seed,
its kind and its number, so that each can be played again alone. A round finds something where
anything is left of a run, where a run does not say how it ended, and where a damaged record gets
another verdict than UNKNOWN or that of the record as it was.
"""

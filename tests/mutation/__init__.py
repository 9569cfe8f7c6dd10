"""Mutation testing of the rules: cosmic-ray with operators of our own for the SQL they are.

A rule is a text to Python, so operators for Python would change next to nothing. `python -m
tests.mutation` (`make mutants`) takes a sample of all small changes to that SQL, makes each in a
copy of the repository, and runs the tests that name a rule it can reach, on a Spark session that
stays warm. A change that no test notices is a survivor.
"""

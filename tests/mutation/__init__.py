"""Mutation testing of rules and derived tables: small changes to their SQL, one at a time.

A rule is a text to Python, so tools that change Python would change next to nothing. `python -m
tests.mutation` (`make mutants`) runs the tests of the rules once, by DuckDB, and then, for each
change, those that judge by a rule which it can reach. A change that no test notices is a survivor.
"""

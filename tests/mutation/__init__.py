"""Mutation testing of rules and derived tables: small changes to their SQL, one at a time.

A rule is a text to Python, so tools that change Python would change next to nothing. `python -m
tests.mutation` (`make mutants`) makes each change in memory, and asks hand-written and kept
histories whether it changes what is judged. A change that nothing notices is a survivor.
"""

"""Everything a run needs beyond Python and make, set up once in a cache.

`python3 -m harness.provision` starts with the system's bare Python, so nothing in this
package may import from outside the standard library, except `train`, which the environment's
own Python runs.
"""

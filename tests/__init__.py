"""Tests, in the folders of the rooms that they are about."""

BUSY_TIMES = 10
"""How much slower than a quiet machine one that does other things may be: a limit in a test only ends what never ends.

How fast something is, is measured in `tests/benchmarks`.
"""

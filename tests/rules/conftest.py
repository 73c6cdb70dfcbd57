"""Hypothesis without a clock: what a machine is busy with decides no example."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, database=None, derandomize=True)
settings.load_profile("steady")

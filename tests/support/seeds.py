"""Holds the seed of all random choices that tests make: it is new in each run, is printed when a test fails, and is set by PALIMPSEST_TEST_SEED."""
import os
import random

SEED = int(os.environ.get("PALIMPSEST_TEST_SEED") or random.SystemRandom().getrandbits(32))


def seed_choices(test):
    """Seeds the module `random` for the test of this name: its choices don't depend on which tests ran before it."""
    random.seed(f"{SEED} {test}")

"""The seed of all random choices that tests make: new in each run, printed where a test fails, repeated with PALIMPSEST_TEST_SEED."""
import os
import random

SEED = int(os.environ.get("PALIMPSEST_TEST_SEED") or random.SystemRandom().getrandbits(32))


def seed_choices(test):
    """Seeds the module `random` for the test of this name: its choices don't depend on which tests ran before it."""
    random.seed(f"{SEED} {test}")

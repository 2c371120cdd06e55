"""Reads change streams."""
import time

from tests.support.waiting import DEADLINE


def events(stream, count):
    """The next `count` events; fails when they don't come."""
    got = []
    until = time.monotonic() + DEADLINE
    while len(got) < count:
        event = stream.try_next()
        if event is not None:
            got.append(event)
        assert time.monotonic() < until, f"{len(got)} of {count} events came: {got}"
    return got

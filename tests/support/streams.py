"""Reads change streams."""
import time

from tests.support.waiting import DEADLINE, wait_until


class WaitingCursors:
    """The cursors that wait for more, or are read, beyond those at the beginning."""

    def __init__(self, client):
        self._client = client
        self._before = 0
        self._before = self.count()

    def count(self):
        return self._client.admin.command("serverStatus")["metrics"]["cursor"]["open"]["pinned"] - self._before

    def wait_for(self, count):
        wait_until(lambda: self.count() >= count, lambda: f"{self.count()} of {count} cursors wait")


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

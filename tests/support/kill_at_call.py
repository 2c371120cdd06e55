"""Kills a server at one of its calls that change files (kill_at_call.c)."""
import mmap
import os
import struct

from tests.support.palimpsest import BIN

LEFT, HALF, CALLS, CALL, SIZE = 0, 8, 16, 24, 256


class KillAtCall:
    """A KillAtCall is the memory that the test and the server's process share. `env` is the environment that the server is to have."""

    def __init__(self, directory, dbpath):
        path = directory / "kill_at_call"
        path.write_bytes(bytes(SIZE))
        with open(path, "r+b") as file:
            self._shared = mmap.mmap(file.fileno(), SIZE)
        self.env = {**os.environ, "LD_PRELOAD": str(BIN / "kill_at_call.so"), "KILL_AT_CALL": str(path), "KILL_AT_CALL_UNDER": str(dbpath)}

    def arm(self, call, half=False):
        """The server is killed at this call, counted from 1 from now on; with `half`, after the first half of what it writes there."""
        self._put(CALLS, 0)
        self._put(HALF, half)
        self._shared[CALL:SIZE] = bytes(SIZE - CALL)
        self._put(LEFT, call)

    def disarm(self):
        """Returns how many calls there were since it was armed."""
        self._put(LEFT, 0)
        return struct.unpack_from("<q", self._shared, CALLS)[0]

    @property
    def struck(self):
        """The call that the server was killed at; "" while it wasn't."""
        return self._shared[CALL:SIZE].split(b"\0", 1)[0].decode()

    def _put(self, at, value):
        struct.pack_into("<q", self._shared, at, value)

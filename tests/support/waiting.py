"""Waiting for a condition. The deadline is generous: only a hang reaches it, however slow the machine is."""
import time

DEADLINE = 120  # seconds


def wait_until(holds, otherwise="", seconds=DEADLINE, pause=0.02):
    """The first true value that `holds()` returns. After the deadline the test fails, and `otherwise` (a text, or a function that makes one) says with what."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {seconds} s: {otherwise() if callable(otherwise) else otherwise}")
        time.sleep(pause)
    return value

"""Waits for a condition. The deadline is generous: only a hang reaches it, however slow the machine is."""
import time

DEADLINE = 120  # seconds


def wait_until(holds, otherwise="", seconds=DEADLINE, pause=0.02):
    """Returns the first true value of `holds()`. After the deadline the test fails with the message `otherwise` (a text, or a function that makes one)."""
    end = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {seconds} s: {otherwise() if callable(otherwise) else otherwise}")
        time.sleep(pause)
    return value

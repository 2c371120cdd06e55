"""This plugin for pytest writes a line of JSON for every test that ended, at once, so that a run that is stopped loses nothing.

{"test": …, "outcome": "passed" | "failed" | "skipped", "text": why not, "seconds": …}; the file's name stands in OUTCOMES.
"""
import json
import os


def pytest_runtest_logreport(report):
    # A set-up or clean-up that failed is recorded as a failure of its test; one that passed isn't recorded.
    if report.when != "call" and report.passed:
        return
    text = ""
    if report.skipped:
        text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    elif report.failed:
        text = str(report.longrepr)[-20_000:]
    with open(os.environ["OUTCOMES"], "a") as out:
        out.write(json.dumps({"test": report.nodeid, "outcome": report.outcome, "text": text, "seconds": round(report.duration, 2)}) + "\n")


def pytest_collectreport(report):
    if report.failed:
        with open(os.environ["OUTCOMES"], "a") as out:
            out.write(json.dumps({"test": report.nodeid, "outcome": "failed", "text": str(report.longrepr)[-20_000:], "seconds": 0}) + "\n")

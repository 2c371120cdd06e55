"""Runs pymongo's own tests against a replica set of one member, and says what passed, failed and was skipped, by cause.

scripts/drivers makes what this needs: a virtual environment with pytest and pymongo, and the source distribution's test folder.
Every file of tests runs in a process of its own, for FILE_SECONDS at most, and every test for TEST_SECONDS at most. If a file hangs, only the
tests that it hasn't ended by then are lost. Failures go to `failures.txt` in the folder of the suite, each with its error.

The exit code is 1 if a cause has more failures than listed.json says, or if the server ended. docs/compatibility.md is made from listed.json.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from tests.drivers.suites.causes import cause_of_failure, cause_of_skip
from tests.support.palimpsest import ROOT, Server

TEST_SECONDS = 60
FILE_SECONDS = 900
HERE = pathlib.Path(__file__).resolve().parent
LISTED = HERE / "listed.json"
# Files that need other machines, programs or servers: all their tests are skipped or fail, whatever this server does.
LEFT_OUT = {"test_data_lake.py", "test_load_balancer.py", "test_typing.py", "test_typing_strict.py", "test_on_demand_csfle.py", "test_dns.py", "test_srv_polling.py"}


def run_file(suite, file, server, outcomes, more, variables=None):
    """Runs one file of tests; returns why it didn't come to its end, or None. `variables` are more of the environment."""
    environment = {**os.environ, "DB_IP": "127.0.0.1", "DB_PORT": str(server.port), "OUTCOMES": str(outcomes),
                   "PYTHONPATH": f"{suite}:{HERE}", "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini"), "--rootdir", str(suite), "-p", "record_outcomes",
               "--timeout", str(TEST_SECONDS), "--timeout-method", "signal", *more, str(file)]
    with open(outcomes.with_suffix(".log"), "ab") as log:
        process = subprocess.Popen(command, cwd=suite, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(FILE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"took more than {FILE_SECONDS} s"
        finally:
            # This ends the whole process group: tests fork, and a forked process that hangs doesn't end by itself.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    # pytest returns 0 when all passed, 1 when some failed, 5 when there were none.
    return None if code in (0, 1, 5) else f"pytest ended with {code}"


def clean_up(client):
    """A file that was stopped may have left transactions open, and fail points on."""
    client.admin.command("killAllSessions", [])
    for point in ("failCommand", "failGetMoreAfterCursorCheckout", "maxTimeAlwaysTimeOut", "onPrimaryTransactionalWrite"):
        client.admin.command("configureFailPoint", point, mode="off")


def read_outcomes(path):
    """The outcome of each test: a test has failed if its set-up, its body or its clean-up has."""
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            one = json.loads(line)
            if found.get(one["test"], {}).get("outcome") != "failed":
                found[one["test"]] = one
    return found


def listed_failures():
    """{cause: count} as listed.json has it; empty without one."""
    if not LISTED.exists():
        return {}
    return {one["cause"]: one["failed"] for one in json.loads(LISTED.read_text())["causes"]}


def report(outcomes, suite):
    by_outcome = collections.Counter(one["outcome"] for one in outcomes.values())
    print(f"\n{by_outcome['passed']} passed, {by_outcome['failed']} failed, {by_outcome['skipped']} skipped")
    failed, skipped = collections.defaultdict(list), collections.Counter()
    for one in outcomes.values():
        if one["outcome"] == "failed":
            failed[cause_of_failure(one["test"], one["text"])].append(one)
        elif one["outcome"] == "skipped":
            skipped[cause_of_skip(one["text"])] += 1
    print("\nfailed")
    for cause, tests in sorted(failed.items(), key=lambda item: -len(item[1])):
        print(f"  {len(tests):5} {cause}")
    print("skipped")
    for cause, count in skipped.most_common():
        print(f"  {count:5} {cause}")
    with open(suite / "failures.txt", "w") as out:
        for cause, tests in sorted(failed.items()):
            for one in tests:
                out.write(f"==== {cause}: {one['test']}\n{one['text']}\n\n")
    return {cause: len(tests) for cause, tests in failed.items()}, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=pathlib.Path, help="the source distribution, unpacked")
    parser.add_argument("files", nargs="*", help="only these files of tests: test_cursor.py")
    parser.add_argument("-k", help="only tests whose names fit, as pytest's -k")
    arguments = parser.parse_intermixed_args()
    suite = arguments.suite.resolve()
    files = [suite / "test" / name for name in arguments.files] or \
        [file for file in sorted((suite / "test").glob("test_*.py")) if file.name not in LEFT_OUT]
    more = ["-k", arguments.k] if arguments.k else []
    outcomes_path = suite / "outcomes.jsonl"
    for old in (outcomes_path, outcomes_path.with_suffix(".log")):
        old.unlink(missing_ok=True)
    unfinished = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit ends the server and removes its directory
    # Tests leave transactions open: drivers' suites expect a server that soon ends them.
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1", "--setParameter", "transactionLifetimeLimitSeconds=3") as server:
        server.initiate()
        for file in files:
            begun = time.monotonic()
            why = run_file(suite, file, server, outcomes_path, more)
            print(f"{file.name}: {time.monotonic() - begun:.0f} s{' (' + why + ')' if why else ''}", flush=True)
            if why:
                unfinished.append(f"{file.name}: {why}")
            if not server.running():
                print(f"the server ended during {file.name}:\n{server.tail()}")
                return 1
            with server.client(directConnection=True) as client:
                clean_up(client)
    counts, failed = report(read_outcomes(outcomes_path), suite)
    for one in failed.get("other", []):
        print(f"other: {one['test']}")
    for one in unfinished:
        print(f"unfinished: {one}")
    print(f"errors: {suite / 'failures.txt'}")
    if arguments.files or arguments.k:
        return 0
    listed = listed_failures()
    worse = {cause: count for cause, count in counts.items() if count > listed.get(cause, 0)}
    for cause, count in worse.items():
        print(f"{cause}: {count} fail, {LISTED.relative_to(ROOT)} lists {listed.get(cause, 0)}")
    return 1 if worse or unfinished else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs those of pymongo's own tests that have to do with logins and TLS against servers that ask for them.

There are three servers, each a set of one member: one with access control, one that requires TLS, and one with both. They
show the certificates of the driver's suite, whose tests connect with its client's certificate. A test that one of the three doesn't
fit is skipped there; it counts as run if one of the three ran it.

The exit code is 1 if a test fails that listed_secured.json doesn't list, or if a server ended.
"""
import argparse
import json
import pathlib
import signal
import sys
import tempfile

from tests.drivers.suites.pymongo_suite import clean_up, read_outcomes, run_file
from tests.support.palimpsest import ROOT, Server
from tests.support.waiting import wait_until

LISTED = pathlib.Path(__file__).resolve().parent / "listed_secured.json"
# The files whose tests log in, connect by TLS, or inject errors into logins. Any other file may be asked for by name.
FILES = ("test_auth.py", "test_auth_spec.py", "test_saslprep.py", "test_ssl.py", "test_client.py", "test_bulk.py", "test_pooling.py",
         "test_command_monitoring.py", "test_command_logging.py", "test_connection_logging.py", "test_discovery_and_monitoring.py",
         "test_retryable_reads_unified.py", "test_retryable_writes_unified.py", "test_sessions_unified.py", "test_versioned_api.py")
USER, PASSWORD = "suite", "a password: with @ and /"


class Secured:
    """A server of one kind: "access control", "TLS", or "access control and TLS"."""

    KINDS = ("access control", "TLS", "access control and TLS")

    def __init__(self, kind, suite, directory):
        self.kind = kind
        certificates = suite / "test" / "certificates"
        arguments = ["--replSet", "rs0", "--setParameter", "enableTestCommands=1", "--setParameter", "transactionLifetimeLimitSeconds=3"]
        self.options, self.variables = {}, {"DB_IP": "localhost"}
        self.has_users = "access control" in kind
        if self.has_users:
            key = directory / "key"
            key.write_text("dGhlIGtleSBvZiB0aGUgc3VpdGU=")
            key.chmod(0o600)
            arguments += ["--keyFile", str(key)]
            self.variables.update(DB_USER=USER, DB_PASSWORD=PASSWORD)
        if "TLS" in kind:
            arguments += ["--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates",
                          "--tlsCertificateKeyFile", str(certificates / "server.pem"), "--tlsCAFile", str(certificates / "ca.pem")]
            self.options.update(tls=True, tlsCAFile=str(certificates / "ca.pem"))
        self.server = Server(*arguments)

    def __enter__(self):
        self.server.start()
        with self.server.client(directConnection=True, **self.options) as client:
            # The name of the certificate, by which tests reach the member.
            client.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"localhost:{self.server.port}"}]})
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"], self.server.tail)
            if self.has_users:
                client.admin.command("createUser", USER, pwd=PASSWORD, roles=["root"])
                self.options.update(username=USER, password=PASSWORD)
        return self

    def __exit__(self, *error):
        self.server.__exit__(*error)

    def clean_up(self):
        with self.server.client(directConnection=True, **self.options) as client:
            clean_up(client)


def run_kind(secured, suite, files, more):
    """({test: outcome}, what went wrong with whole files)."""
    outcomes, wrong = suite / f"outcomes-{secured.kind.replace(' ', '-')}.jsonl", []
    for old in (outcomes, outcomes.with_suffix(".log")):
        old.unlink(missing_ok=True)
    for file in files:
        why = run_file(suite, file, secured.server, outcomes, ["-p", "server_alias", *more], secured.variables)
        print(f"{secured.kind}: {file.name}{' (' + why + ')' if why else ''}", flush=True)
        if why:
            wrong.append(f"{secured.kind}: {file.name}: {why}")
        if not secured.server.running():
            wrong.append(f"{secured.kind}: the server ended during {file.name}:\n{secured.server.tail()}")
            break
        secured.clean_up()
    return read_outcomes(outcomes), wrong


def report(kind, outcomes, listed):
    """Prints what became of the tests of one kind; the failures that aren't listed."""
    counts = {outcome: sum(one["outcome"] == outcome for one in outcomes.values()) for outcome in ("passed", "failed", "skipped")}
    print(f"{kind}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return [one for test, one in sorted(outcomes.items()) if one["outcome"] == "failed" and test.split("::", 1)[-1] not in listed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", type=pathlib.Path, help="the source distribution, unpacked")
    parser.add_argument("files", nargs="*", help="only these files of tests: test_auth.py")
    parser.add_argument("-k", help="only tests whose names fit, as pytest's -k")
    arguments = parser.parse_intermixed_args()
    suite = arguments.suite.resolve()
    files = [suite / "test" / name for name in arguments.files or FILES]
    listed = {one["test"] for one in json.loads(LISTED.read_text())["failures"]}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit ends the server and removes its directory
    found, wrong, new = {}, [], []
    with tempfile.TemporaryDirectory() as directory:
        for kind in Secured.KINDS:
            with Secured(kind, suite, pathlib.Path(directory)) as secured:
                found[kind], more_wrong = run_kind(secured, suite, files, ["-k", arguments.k] if arguments.k else [])
                wrong += more_wrong
    for kind, outcomes in found.items():
        new += [(kind, one) for one in report(kind, outcomes, listed)]
    with open(suite / "failures-secured.txt", "w") as out:
        for kind, one in new:
            out.write(f"==== {kind}: {one['test']}\n{one['text']}\n\n")
            print(f"{kind}: {one['test']} fails, and {LISTED.relative_to(ROOT)} doesn't list it")
    for one in wrong:
        print(one)
    print(f"errors: {suite / 'failures-secured.txt'}")
    return 1 if wrong or new else 0


if __name__ == "__main__":
    sys.exit(main())

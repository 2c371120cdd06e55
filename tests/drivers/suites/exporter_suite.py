"""Lets Percona's exporter (mongodb_exporter) read servers with all its collectors, and compares what it shows with what the server says.

There are two servers: a standalone one, and a member of a set with access control, where the exporter logs in as a user with
clusterMonitor. Both have collections with deltas, a branch, a commit and a snapshot.

The exit code is 1 if the exporter reports an error, or if one of the metrics isn't there or isn't true.
"""
import contextlib
import re
import subprocess
import sys
import tempfile
import urllib.request

from tests.support.palimpsest import Server, free_port
from tests.support.waiting import wait_until

KEY, PASSWORD = "dGhlIGtleSBvZiB0aGUgc3VpdGU=", "watch"
LINE = re.compile(r"(mongodb_\w+)(?:\{(.*)\})? (\S+)$")


def fill(client):
    text = "".join(f"word{i} " for i in range(500))
    client.shop.pages.insert_many([{"_id": i, "text": text + str(i)} for i in range(200)])
    client.shop.command({"commit": 1, "message": "first"})
    client.shop.command({"createBranch": "dev"})
    client.admin.command({"createSnapshot": 1, "name": "moment"})
    client.shop.pages.update_many({}, {"$set": {"seen": True}})


@contextlib.contextmanager
def exporter(program, uri, log):
    port = free_port()
    with subprocess.Popen([program, f"--mongodb.uri={uri}", f"--web.listen-address=127.0.0.1:{port}", "--collect-all", "--compatible-mode",
                           "--discovering-mode", "--log.level=info"], stdout=log, stderr=log) as process:
        try:
            yield f"http://127.0.0.1:{port}/metrics"
        finally:
            process.terminate()


def scrape(address):
    """Returns {name: [(labels, value)]}; None while the exporter doesn't answer or hasn't connected."""
    try:
        with urllib.request.urlopen(address, timeout=60) as reply:
            text = reply.read().decode()
    except OSError:
        return None
    found = {}
    for line in text.splitlines():
        if match := LINE.match(line):
            found.setdefault(match[1], []).append((match[2] or "", float(match[3])))
    return found if ("mongodb_up" in found and "mongodb_ss_connections" in found) else None


def value(found, name, label=""):
    return next((number for labels, number in found.get(name, []) if label in labels), None)


def try_server(program, name, uri, client, expected):
    """Returns the faults as texts."""
    with tempfile.TemporaryFile("w+") as log:
        with exporter(program, uri, log) as address:
            found = wait_until(lambda: scrape(address), lambda: log.seek(0) or log.read()[-2000:])
        log.seek(0)
        faults = [line.strip() for line in log if re.search(r"level=(error|warning|ERROR|WARN)|error gathering", line)]
    inserted = client.admin.command("serverStatus")["opcounters"]["insert"]
    expected = {("mongodb_up", ""): 1, ("mongodb_ss_opcounters", 'legacy_op_type="insert"'): inserted,
                ("mongodb_collstats_storageStats_count", 'collection="pages"'): 200, **expected}
    for (metric, label), wanted in expected.items():
        if (got := value(found, metric, label)) != wanted:
            faults.append(f"{metric}{{{label}}} is {got}, not {wanted}")
    for metric in ("mongodb_sys_memory_MemTotal_kb", "mongodb_sys_cpu_num_cpus", "mongodb_ss_dedup_storedBytes",
                   "mongodb_ss_wt_cache_bytes_currently_in_the_cache", "mongodb_dbstats_objects", "mongodb_indexstats_accesses_ops"):
        if metric not in found:
            faults.append(f"there is no {metric}")
    print(f"{name}: {sum(map(len, found.values()))} metrics of {len(found)} names, {len(faults)} faults")
    return faults


def main():
    program = sys.argv[1]
    with Server() as server:
        fill(server.client())
        faults = try_server(program, "standalone", f"mongodb://127.0.0.1:{server.port}/", server.client(), {})
    with tempfile.NamedTemporaryFile("w") as key:
        key.write(KEY)
        key.flush()
        with Server("--replSet", "rs0", "--keyFile", key.name) as server, server.client(directConnection=True) as first:
            first.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"127.0.0.1:{server.port}"}]})
            wait_until(lambda: first.admin.command("hello")["isWritablePrimary"], server.tail)
            first.admin.command("createUser", "root", pwd=PASSWORD, roles=["root"])
            client = server.client(directConnection=True, username="root", password=PASSWORD)
            client.admin.command("createUser", "watcher", pwd=PASSWORD, roles=["clusterMonitor", {"role": "read", "db": "local"}])
            fill(client)
            uri = f"mongodb://watcher:{PASSWORD}@127.0.0.1:{server.port}/"
            members = client.admin.command("replSetGetStatus")["members"]
            faults += try_server(program, "a set with access control", uri, client, {
                ("mongodb_mongod_replset_my_state", ""): 1, ("mongodb_mongod_replset_number_of_members", ""): len(members)})
    for fault in faults:
        print(" ", fault[:500])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

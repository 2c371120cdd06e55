"""Many connections, many collections, few descriptors."""
import contextlib
import pathlib
import resource
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import bson
import pytest
from pymongo import IndexModel
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import BIN, Server, free_port, raw_command, receive_raw, send_raw
from tests.support.waiting import DEADLINE, wait_until

TOO_MANY_FILES_OPEN = 264
CONNECTIONS = 5_000
DESCRIPTORS_FOR_THEM = CONNECTIONS + 500
COLLECTIONS, INDEXES_EACH = 200, 2  # the file alone, as a program, makes 5,000
DESCRIPTORS_FOR_TABLES, COLLECTIONS_TOO_MANY = 6_000, 1_000


def test_five_thousand_connections_are_served():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS_FOR_THEM:
        pytest.fail(f"this test needs {DESCRIPTORS_FOR_THEM} descriptors, and a process may open {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS_FOR_THEM), hard))
    with Server() as server, contextlib.ExitStack() as connections:
        before = resident_mb(server)
        opened = [connections.enter_context(socket.create_connection((server.host, server.port))) for _ in range(CONNECTIONS)]
        for connection in opened:
            send_raw(connection, {"ping": 1, "$db": "admin"})
        for connection in opened:
            assert receive_raw(connection)["ok"] == 1
        client = server.client()
        client.t.things.insert_one({"_id": 1})
        counted = client.admin.command("serverStatus")["connections"]
        assert counted["current"] > CONNECTIONS
        each_kb = (resident_mb(server) - before) * 1024 / CONNECTIONS
        assert each_kb < 100, f"a connection keeps {each_kb:.0f} KB"
        print(f"{CONNECTIONS} connections, {each_kb:.1f} KB each")
        del opened
        connections.close()
        wait_until(lambda: client.admin.command("serverStatus")["connections"]["current"] < 20)


def resident_mb(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / (1 << 20)


@pytest.mark.parametrize("descriptors", [128, 256])
def test_few_descriptors_are_a_refusal_and_no_loss(descriptors):
    """A server that can't open more files or connections says so, and keeps what it has acknowledged."""
    few = ["bash", "-c", f'ulimit -n {descriptors}; exec "$0" "$@"']
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(Server(before=few))
        kept, refused = [], []
        with server.client() as client:
            for number in range(descriptors):
                try:
                    client.t[f"c{number}"].insert_one({"_id": number})
                    kept.append(number)
                except OperationFailure as failure:
                    refused.append(failure)
                    break
                except PyMongoError as failure:
                    pytest.fail(f"the server {'goes on' if server.running() else 'left'}: {failure}\n{server.tail()}")
        # Connections beyond the limit are closed, and those that stay are served.
        crowd = []
        for _ in range(descriptors):
            with contextlib.suppress(OSError):
                crowd.append(opened.enter_context(socket.create_connection((server.host, server.port), timeout=5)))
        for connection in crowd:
            connection.close()
        assert server.running(), server.tail()
        wait_until(lambda: answers(server))
        server.kill()
        with Server(dbpath=server.dbpath) as restarted:
            for number in kept:
                assert restarted.client().t[f"c{number}"].find_one() == {"_id": number}
        assert refused and refused[0].code == TOO_MANY_FILES_OPEN, refused


def makes(collection, number):
    """Returns whether there were descriptors left. Files are closed a few seconds after half of them are open."""
    try:
        collection.replace_one({"_id": 1}, {"a": number, "b": -number}, upsert=True)
        collection.create_indexes([IndexModel(field) for field in ("a", "b")])
        return True
    except OperationFailure as failure:
        assert failure.code == TOO_MANY_FILES_OPEN
        return False


def test_more_tables_than_descriptors():
    """Files that nobody uses are closed before a process has no descriptors left."""
    few = ["bash", "-c", f'ulimit -n {DESCRIPTORS_FOR_TABLES}; exec "$0" "$@"']
    with Server(before=few) as server:
        client = server.client()
        for number in range(COLLECTIONS_TOO_MANY):
            wait_until(lambda: makes(client.t[f"c{number}"], number), server.tail)
        tables = len(list(pathlib.Path(server.dbpath).glob("*.wt")))
        assert tables > DESCRIPTORS_FOR_TABLES
        with ThreadPoolExecutor(8) as readers:  # each has a session of its own with cursors
            found = readers.map(lambda number: client.t[f"c{number}"].find_one({"a": number})["b"], range(COLLECTIONS_TOO_MANY))
            assert list(found) == [-number for number in range(COLLECTIONS_TOO_MANY)]
        assert b'"id":7200306' in pathlib.Path(server.log).read_bytes()
        server.kill()
        server.start()
        client = server.client()
        for number in range(0, COLLECTIONS_TOO_MANY, 50):
            assert client.t[f"c{number}"].find_one({"b": -number})["a"] == number
        assert server.stop() == 0


def answers(server):
    try:
        return raw_command(server.host, server.port, {"ping": 1, "$db": "admin"})["ok"] == 1
    except (OSError, EOFError, bson.errors.InvalidBSON):
        return False


def many_collections(collections):
    """Returns how long it took to make them, how long a start with them takes, and the megabytes a table keeps."""
    with Server() as server:
        client = server.client()
        begun = time.monotonic()
        for number in range(collections):
            collection = client.t[f"c{number}"]
            collection.insert_one({"_id": 1, "a": number, "b": -number})
            collection.create_indexes([IndexModel(field) for field in ("a", "b")[:INDEXES_EACH]])
        made = time.monotonic() - begun
        client.close()
        server.process.terminate()
        assert server.ended() == 0
        begun = time.monotonic()
        server.start()
        started = time.monotonic() - begun
        empty_mb = resident_mb(server)
        client = server.client()
        assert len(client.t.list_collection_names()) == collections
        for number in range(collections):
            assert client.t[f"c{number}"].find_one({"a": number})["b"] == -number
        each_kb = (resident_mb(server) - empty_mb) * 1024 / (collections * (1 + INDEXES_EACH))
    return made, started, empty_mb, each_kb


def test_many_collections_start_quickly():
    _, started, _, each_kb = many_collections(COLLECTIONS)
    assert started < DEADLINE
    assert each_kb < 200


@pytest.mark.parametrize("arguments, why", [
    (["--wiredTigerCacheSizeGB", "nan"], "must be between"),
    (["--bind_ip", ""], "names no address"),
    (["--config", "/"], "Is a directory"),
])
def test_a_start_that_can_not_be_is_one_line_and_an_exit_code(tmp_path, arguments, why):
    ended = subprocess.run([str(BIN / "palimpsestd"), "--dbpath", str(tmp_path), "--port", str(free_port()), *arguments],
                           capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert ended.returncode == 2
    assert why in ended.stderr + ended.stdout
    assert len((ended.stderr + ended.stdout).strip().splitlines()) <= 2


if __name__ == "__main__":
    made_s, started_s, start_mb, table_kb = many_collections(25 * COLLECTIONS)
    print(f"{25 * COLLECTIONS} collections with {25 * COLLECTIONS * INDEXES_EACH} indexes: made in {made_s:.0f} s, started in {started_s:.1f} s "
          f"with {start_mb:.0f} MB, {table_kb:.0f} KB a table once all are open")

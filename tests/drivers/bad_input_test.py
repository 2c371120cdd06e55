"""These tests send bytes that nobody should send, and fill a disk: each gives a clear error, the server stays up, nothing is lost."""
import random
import socket
import struct
import subprocess

import bson
import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import BIN, Server
from tests.support.waiting import DEADLINE

OP_INSERT, OP_COMPRESSED, OP_MSG = 2002, 2012, 2013


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(autouse=True)
def still_up(server):
    client = server.client()
    client.kept.c.replace_one({"_id": 1}, {"text": "kept"}, upsert=True)
    yield
    assert server.running(), server.tail()
    assert client.kept.c.find_one() == {"_id": 1, "text": "kept"}
    client.close()


def message(opcode, body, length=None, request=1):
    return struct.pack("<iiii", 16 + len(body) if length is None else length, request, 0, opcode) + body


def op_msg(document, flags=0):
    return message(OP_MSG, struct.pack("<I", flags) + b"\0" + document)


def exchange(server, data):
    """Sends bytes and says that no more come; what comes back until the server closes the connection. Silence fails the test."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE) as connection:
        received = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            return received  # it had hung up already
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not part:
                return received
            received += part


def answer(server, data):
    """Sends a message; the whole reply. A client that hung up before it had one would end its operation."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE) as connection:
        connection.sendall(data)
        received = b""
        while len(received) < 4 or len(received) < struct.unpack_from("<i", received)[0]:
            part = connection.recv(65536)
            assert part, received
            received += part
        return received


def reply_of(received):
    assert len(received) > 21, received
    return bson.decode(received[21:])


@pytest.mark.parametrize("seed", range(20))
def test_garbage_on_the_port(server, seed):
    exchange(server, random.Random(seed).randbytes(1 + seed * 97))


def test_a_web_browser_on_the_port(server):
    exchange(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, -1, 2**31 - 1, 48_000_001, -(2**31)])
def test_lengths_that_lie(server, length):
    exchange(server, message(OP_MSG, b"\0" * 32, length=length))


def test_messages_cut_short_anywhere(server):
    whole = op_msg(bson.encode({"ping": 1, "$db": "admin"}))
    for end in range(len(whole)):
        assert exchange(server, whole[:end]) == b""
    assert reply_of(exchange(server, whole))["ok"] == 1


def test_bad_bson_is_named(server):
    good = bson.encode({"insert": "c", "documents": [{"a": "text"}], "$db": "bad"})
    for at in range(4, len(good)):
        damaged = bytearray(good)
        damaged[at] ^= 0x55
        exchange(server, op_msg(bytes(damaged)))
    received = exchange(server, op_msg(bson.encode({"ping": 1, "$db": "admin"})[:-1] + b"\x01"))
    assert not received or reply_of(received)["ok"] == 0


def test_unknown_and_legacy_opcodes(server):
    for opcode in (0, 1, OP_INSERT, 2001, 2005, 2006, 2007, 9999):
        exchange(server, message(opcode, b"\0" * 40))


def test_compressed_messages_that_are_not(server):
    for compressor in (0, 1, 2, 3, 77):
        body = struct.pack("<iiB", OP_MSG, 10**9, compressor) + b"\x55" * 50
        exchange(server, message(OP_COMPRESSED, body))


def test_deep_nesting_is_refused(server):
    document = {}
    for _ in range(300):
        document = {"a": document}
    with pytest.raises((PyMongoError, OperationFailure)):
        server.client().bad.c.insert_one(document)


def test_documents_beyond_the_limit_are_refused(server):
    with pytest.raises((PyMongoError, OperationFailure)):
        server.client().bad.c.insert_one({"text": "x" * (16 * 1024 * 1024 + 1)})
    with pytest.raises(PyMongoError):
        server.client().bad.c.update_one({"_id": 1}, {"$set": {"a": "x" * (16 * 1024 * 1024)}}, upsert=True)


def test_names_that_are_none(server):
    client = server.client()
    for name in ("", "$x", "a\0b", "x" * 300):
        with pytest.raises((PyMongoError, ValueError, bson.errors.InvalidDocument)):
            client.bad.command("create", name)


def test_a_full_disk_refuses_and_keeps_what_was_acknowledged(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no right to mount a small file system")
    try:
        with Server("--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "50", dbpath=folder / "db") as small:
            client = small.client()
            acknowledged = 0
            with pytest.raises(PyMongoError) as error:
                for number in range(5000):
                    client.full.c.insert_one({"_id": number, "noise": random.randbytes(200_000)})
                    acknowledged += 1
            assert getattr(error.value, "code", None) == 14031, error.value
            assert small.running()
            assert client.full.c.count_documents({}) == acknowledged
            # A database with branches has the same reserve, on its main branch too.
            client.full.command("createBranch", "dev")
            for name in ("full", "full@dev"):
                with pytest.raises(PyMongoError) as error:
                    for number in range(50):
                        client[name].c.insert_one({"_id": f"{name} {number}", "noise": random.randbytes(200_000)})
                        acknowledged += name == "full"
                assert getattr(error.value, "code", None) == 14031, error.value
            assert client.full.c.count_documents({}) == acknowledged
            small.kill()
            small.start()
            assert small.client().full.c.count_documents({}) == acknowledged
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_data_set_cut_in_the_middle(server, tmp_path):
    source = tmp_path / "history.xml"
    pages = "".join(f"<page><title>P{i}</title><ns>0</ns><id>{i}</id><revision><id>{i}</id>"
                    f"<timestamp>2026-01-01T00:00:00Z</timestamp><text>text {i}</text></revision></page>" for i in range(1, 50))
    whole = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{pages}</mediawiki>'
    source.write_text(whole[:len(whole) // 2])
    done = subprocess.run([str(BIN / "palimpsest"), "replay", str(source), "--uri", server.uri, "--db", "cut", "--quiet"],
                          capture_output=True, text=True, timeout=120)
    assert "history.xml" in done.stdout + done.stderr, done
    assert 20 <= server.client().cut.revisions.count_documents({}) < 49


INVALID = "\ue000\ue001"  # stands for bytes that are no UTF-8
INVALID_BYTES = b"\xff\xfe\xc0\xfd\xff\xfe"


def invalid(command):
    return bson.encode(command).replace(INVALID.encode(), INVALID_BYTES)


@pytest.mark.parametrize("command", [
    {"find": INVALID, "$db": "t"},
    {"commit": 1, "message": INVALID, "$db": "t"},
    {"stash": 1, "author": INVALID, "$db": "t"},
    {"find": "c", "$db": INVALID},
    {INVALID: 1, "$db": "t"},
    {"find": "c", INVALID: 1, "$db": "t"},
    {"find": "c", "filter": {"$" + INVALID: 1}, "$db": "t"},
    {"find": "c", "sort": {INVALID: "no"}, "$db": "t"},
    {"find": "c", "hint": INVALID, "$db": "t"},
    {"aggregate": "c", "pipeline": [{"$" + INVALID: 1}], "cursor": {}, "$db": "t"},
    {"aggregate": "c", "pipeline": [{"$set": {"a": {"$regexMatch": {"input": "a", "regex": "a", "options": INVALID}}}}], "cursor": {},
     "$db": "t"},
    {"aggregate": "c", "pipeline": [{"$set": {"a": {"$" + INVALID: 1}}}], "cursor": {}, "$db": "t"},
    {"update": "c", "updates": [{"q": {}, "u": {"$" + INVALID: {"a": 1}}}], "$db": "t"},
    {"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"_id": INVALID}}}], "$db": "t"},
    {"insert": "taken", "documents": [{"_id": INVALID}], "$db": "t"},
    {"createIndexes": "c", "indexes": [{"key": {INVALID: "no"}, "name": INVALID}], "$db": "t"},
    {"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": INVALID}], "$db": "t"},
    {"dropIndexes": "c", "index": INVALID, "$db": "t"},
    {"drop": INVALID, "$db": "t"},
    {"setParameter": 1, INVALID: 1, "$db": "admin"},
    {"getParameter": 1, INVALID: 1, "$db": "admin"},
    {"renameCollection": "t.c", "to": "t." + INVALID, "$db": "admin"},
    {"createBranch": INVALID, "$db": "t"},
    {"declareSnapshot": INVALID, "$db": "t"},
])
def test_replies_are_valid_utf8(server, command):
    client = server.client()
    client.t.c.replace_one({"_id": 1}, {"a": 1}, upsert=True)
    if "insert" in command:
        answer(server, op_msg(invalid(command)))  # the second one meets the first
    reply = reply_of(answer(server, op_msg(invalid(command))))  # it decodes strictly
    assert reply["ok"] == 0 or reply.get("writeErrors"), reply
    assert client.t.command("listIndexes", "c")["ok"] == 1
    assert client.t.list_collection_names() is not None


SHOWN = "".join(f"\\x{byte:02x}" for byte in INVALID_BYTES)  # what stands in replies for these bytes


@pytest.mark.parametrize("command", [
    {"explain": {"find": "c", "filter": {INVALID: INVALID}}, "$db": "t"},
    {"explain": {"find": "c", "filter": {"a": {"$in": [INVALID, "b"]}}}, "verbosity": "queryPlanner", "$db": "t"},
    {"explain": {"count": "c", "query": {"a": INVALID}}, "$db": "t"},
    {"explain": {"distinct": "c", "key": "a", "query": {"a": INVALID}}, "$db": "t"},
    {"explain": {"update": "c", "updates": [{"q": {"a": INVALID}, "u": {"$set": {"b": INVALID}}}]}, "$db": "t"},
    {"explain": {"delete": "c", "deletes": [{"q": {"a": INVALID}, "limit": 1}]}, "$db": "t"},
    {"explain": {"aggregate": "c", "pipeline": [{"$match": {INVALID: INVALID}}], "cursor": {}}, "$db": "t"},
    {"aggregate": "c", "pipeline": [{"$match": {INVALID: INVALID}}], "explain": True, "$db": "t"},
], ids=lambda command: next(iter(command["explain"])) if isinstance(command["explain"], dict) else "explain: true")
def test_explain_shows_valid_utf8(server, command):
    server.client().t.c.replace_one({"_id": 1}, {"a": 1}, upsert=True)
    received = answer(server, op_msg(invalid(command)))
    assert reply_of(received)["ok"] == 1, received  # it decodes strictly
    assert SHOWN.encode() in received


def test_the_profiler_writes_valid_utf8(server):
    db = server.client().profiled
    db.c.replace_one({"_id": 1}, {"a": 1}, upsert=True)
    db.command("profile", 2)
    try:
        assert reply_of(answer(server, op_msg(invalid({"find": "c", "filter": {INVALID: INVALID}, "$db": "profiled"}))))["ok"] == 1
        assert reply_of(answer(server, op_msg(invalid({"find": "c", "filter": {"$" + INVALID: 1}, "$db": "profiled"}))))["ok"] == 0
        assert reply_of(answer(server, op_msg(invalid({"find": "c", "filter": {"a": INVALID * 20_000}, "$db": "profiled"}))))["ok"] == 1
    finally:
        db.command("profile", 0)
    finds = db.system.profile.find({"ns": "profiled.c"}).sort("$natural", 1)  # the driver decodes strictly
    good, bad, long = (one for one in finds if "find" in one["command"] or "$truncated" in one["command"])
    assert good["command"]["filter"] == {SHOWN: SHOWN}
    assert bad["command"]["filter"] == {"$" + SHOWN: 1}
    assert SHOWN in bad["errMsg"]
    assert "$truncated" in long["command"]


def test_the_plan_cache_shows_valid_utf8(server):
    collection = server.client().t.cached
    collection.insert_many([{"a": n % 10, "b": n % 7} for n in range(100)])
    collection.create_index("a")
    collection.create_index("b")
    query = {"a": {"$gte": 0}, "b": {"$gte": 0}, "c": {"$ne": INVALID}}
    assert reply_of(answer(server, op_msg(invalid({"find": "cached", "filter": query, "$db": "t"}))))["ok"] == 1
    received = answer(server, op_msg(invalid({"aggregate": "cached", "pipeline": [{"$planCacheStats": {}}], "cursor": {}, "$db": "t"})))
    assert len(reply_of(received)["cursor"]["firstBatch"]) == 1
    assert SHOWN.encode() in received
    filter_ = {"planCacheSetFilter": "cached", "query": {"a": INVALID, INVALID: 1}, "indexes": ["a_1", INVALID], "$db": "t"}
    assert reply_of(answer(server, op_msg(invalid(filter_))))["ok"] == 1
    received = answer(server, op_msg(invalid({"planCacheListFilters": "cached", "$db": "t"})))
    assert reply_of(received)["filters"] == [
        {"query": {"a": SHOWN, SHOWN: 1}, "sort": {}, "projection": {}, "indexes": ["a_1", SHOWN]}]

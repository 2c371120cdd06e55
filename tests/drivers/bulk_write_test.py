"""These tests send bulkWrite as a driver does: statements beside the body, retries, cursors over results; on a replica set of one member."""
import socket
import struct
import threading
import uuid

import bson
import pymongo
import pytest
from pymongo import InsertOne
from pymongo.errors import InvalidOperation

from tests.support.palimpsest import Server, raw_command, receive_raw


@pytest.fixture(scope="module")
def server():
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1") as running:
        running.initiate()
        yield running


@pytest.fixture
def client(server):
    client = pymongo.MongoClient(server.uri, replicaSet="rs0")
    for name in ("t", "u"):
        client.drop_database(name)
    yield client
    client.close()


def section(name, documents):
    """A kind-1 section of OP_MSG."""
    body = name.encode() + b"\0" + b"".join(bson.encode(document) for document in documents)
    return b"\1" + struct.pack("<i", 4 + len(body)) + body


def send(port, body, *sections):
    payload = struct.pack("<I", 0) + b"\0" + bson.encode(body) + b"".join(sections)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(struct.pack("<iiii", 16 + len(payload), 1, 0, 2013) + payload)
        return receive_raw(connection)


def test_statements_and_namespaces_travel_beside_the_body(server, client):
    ops = [{"insert": i % 2, "document": {"_id": i, "text": "x" * 100}} for i in range(20_000)]
    reply = send(server.port, {"bulkWrite": 1, "errorsOnly": True, "$db": "admin"}, section("ops", ops), section("nsInfo", [{"ns": "t.c"}, {"ns": "u.d"}]))
    assert reply["ok"] == 1 and reply["nInserted"] == 20_000 and reply["nErrors"] == 0
    assert reply["cursor"] == {"firstBatch": [], "id": 0, "ns": "admin.$cmd.bulkWrite"}
    assert client.t.c.count_documents({}) == client.u.d.count_documents({}) == 10_000


def test_too_many_statements_are_refused(server, client):
    ops = [{"insert": 0, "document": {}}] * 100_001
    reply = send(server.port, {"bulkWrite": 1, "$db": "admin"}, section("ops", ops), section("nsInfo", [{"ns": "t.c"}]))
    assert reply["code"] == 16, reply
    assert client.t.c.count_documents({}) == 0


def test_results_are_fetched_batch_by_batch(server, client):
    ops = [{"update": 0, "filter": {"_id": i}, "updateMods": {"$set": {"n": i}}, "upsert": True} for i in range(250)]
    reply = send(server.port, {"bulkWrite": 1, "ops": ops, "nsInfo": [{"ns": "t.c"}], "cursor": {"batchSize": 100}, "$db": "admin"})
    assert reply["nUpserted"] == 250
    results = reply["cursor"]["firstBatch"]
    while reply["cursor"]["id"]:
        reply = send(server.port, {"getMore": reply["cursor"]["id"], "collection": "$cmd.bulkWrite", "batchSize": 100, "$db": "admin"})
        results += reply["cursor"]["nextBatch"]
    assert results == [{"ok": 1.0, "idx": i, "n": 1, "nModified": 0, "upserted": {"_id": i}} for i in range(250)]


def test_a_retry_takes_effect_once(server, client):
    client.t.c.insert_many([{"_id": 1, "n": 0}, {"_id": 2}])
    command = {
        "bulkWrite": 1,
        "ops": [
            {"insert": 0, "document": {"_id": 10}},
            {"insert": 1, "document": {"_id": 11}},
            {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}},
            {"update": 0, "filter": {"_id": 3}, "updateMods": {"$inc": {"n": 1}}, "upsert": True},
            {"delete": 0, "filter": {"_id": 2}},
        ],
        "nsInfo": [{"ns": "t.c"}, {"ns": "u.d"}],
        "lsid": {"id": bson.Binary(uuid.uuid4().bytes, 4)},
        "txnNumber": bson.Int64(1),
        "$db": "admin",
    }
    first = raw_command("127.0.0.1", server.port, command)
    assert first["ok"] == 1 and "retriedStmtIds" not in first
    again = raw_command("127.0.0.1", server.port, command)
    assert again["retriedStmtIds"] == [0, 1, 2, 3, 4]
    same = ("cursor", "nErrors", "nInserted", "nMatched", "nModified", "nUpserted", "nDeleted")
    assert {name: again[name] for name in same} == {name: first[name] for name in same}
    assert list(client.t.c.find(sort=[("_id", 1)])) == [{"_id": 1, "n": 1}, {"_id": 3, "n": 1}, {"_id": 10}]

    # The first five statements were executed before: only the sixth is executed now.
    more = {**command, "ops": command["ops"] + [{"insert": 0, "document": {"_id": 12}}]}
    reply = raw_command("127.0.0.1", server.port, more)
    assert reply["retriedStmtIds"] == [0, 1, 2, 3, 4] and reply["nInserted"] == 3
    assert client.t.c.count_documents({"_id": 12}) == 1

    other = {**command, "txnNumber": bson.Int64(2), "stmtIds": [7, 8, 9, 10, 11]}
    assert raw_command("127.0.0.1", server.port, other)["nErrors"] == 1  # {_id: 10} is there
    assert raw_command("127.0.0.1", server.port, {**command, "txnNumber": bson.Int64(1)})["code"] == 225


@pytest.mark.parametrize("op", [{"update": 0, "filter": {}, "updateMods": {"$set": {"a": 1}}, "multi": True}, {"delete": 0, "filter": {}, "multi": True}])
def test_what_changes_many_can_not_be_retried(server, client, op):
    client.t.c.insert_one({"_id": 1})
    reply = raw_command("127.0.0.1", server.port, {"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 2}}, op], "nsInfo": [{"ns": "t.c"}],
                                                  "lsid": {"id": bson.Binary(uuid.uuid4().bytes, 4)}, "txnNumber": bson.Int64(1), "$db": "admin"})
    assert reply["code"] == 72 and "Retryable Writes" in reply["errmsg"]
    assert list(client.t.c.find()) == [{"_id": 1}]


def test_a_write_concern_error_stands_beside_the_results(server, client):
    reply = raw_command("127.0.0.1", server.port, {"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 1}}], "nsInfo": [{"ns": "t.c"}],
                                                  "writeConcern": {"w": 3, "wtimeout": 100}, "$db": "admin"})
    assert reply["ok"] == 1 and reply["nInserted"] == 1 and reply["writeConcernError"]["code"] == 100
    client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data={"failCommands": ["bulkWrite"], "errorCode": 91})
    reply = raw_command("127.0.0.1", server.port, {"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 2}}], "nsInfo": [{"ns": "t.c"}],
                                                  "lsid": {"id": bson.Binary(uuid.uuid4().bytes, 4)}, "txnNumber": bson.Int64(1), "$db": "admin"})
    assert reply["code"] == 91 and reply["errorLabels"] == ["RetryableWriteError"]


def test_bulk_writes_meet_each_other(server, client):
    def increments():
        increment = {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}, "upsert": True}
        for _ in range(50):
            reply = send(server.port, {"bulkWrite": 1, "ops": [increment] * 4, "nsInfo": [{"ns": "t.c"}], "$db": "admin"})
            assert reply["nErrors"] == 0

    threads = [threading.Thread(target=increments) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.t.c.find_one() == {"_id": 1, "n": 800}


def test_drivers_send_no_bulk_write_to_a_server_of_wire_version_21(client):
    """A driver's own bulk_write asks for wire version 25, MongoDB 8.0's."""
    with pytest.raises(InvalidOperation, match="8.0"):
        client.bulk_write([InsertOne(namespace="t.c", document={"_id": 1})])
    assert client.t.c.count_documents({}) == 0

"""These tests check what a set of one member refuses in transactions, with which codes and labels, and what a standalone server says of them."""
import bson
import pytest
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server, raw_command
from tests.support.transactions import TRANSIENT, RawSession, done, refused, send


# ---- numbers and fields ---------------------------------------------------------------------------

def test_a_standalone_server_has_no_transactions():
    with Server() as server:
        session = RawSession(server.port).start()
        reply = session.insert("c", {})
        refused(reply, 20)
        assert reply["errmsg"] == "Transaction numbers are only allowed on a replica set member or mongos" and reply["codeName"] == "IllegalOperation"
        refused(session.commit(), 20)
        refused(session.abort(), 20)
        with server.client() as client, client.start_session() as driven:
            with pytest.raises(OperationFailure) as failure, driven.start_transaction():
                client.t.c.find_one(session=driven)
            assert failure.value.code == 20
            assert client.t.list_collection_names() == []


def test_numbers_of_no_transaction(client, raw):
    session = raw()
    session.number = 5
    for run in (lambda: session.run({"find": "c"}), lambda: session.insert("c", {}), session.commit, session.abort):
        refused(run(), 251, TRANSIENT)
    session.start()
    done(session.insert("c", {"_id": 1}))
    session.number = 7
    refused(session.run({"find": "c"}), 251, TRANSIENT)
    refused(session.commit(), 251, TRANSIENT)
    session.number = 4
    for run in (lambda: session.run({"find": "c"}), session.commit, session.abort, lambda: session.run({"find": "c", "startTransaction": True})):
        refused(run(), 225)
    session.number = 6
    done(session.commit())  # none of these did it any harm
    assert list(client.t.c.find()) == [{"_id": 1}]


def test_a_number_begins_once(client, raw):
    session = raw().start()
    done(session.insert("c", {"_id": 1}))
    refused(session.run({"find": "c", "startTransaction": True}), 117)
    done(session.commit())
    refused(session.run({"find": "c", "startTransaction": True}), 117)
    session.start()
    done(session.insert("c", {"_id": 2}))
    done(session.abort())
    refused(session.run({"find": "c", "startTransaction": True}), 117)
    # Nor is it the number of a retryable write.
    session.number += 1
    done(send(session, {"insert": "c", "documents": [{"_id": 3}], "lsid": session.lsid, "txnNumber": bson.Int64(session.number), "$db": "t"}))
    refused(session.run({"find": "c"}), 251, TRANSIENT)
    refused(session.run({"find": "c", "startTransaction": True}), 117)
    refused(session.commit(), 251, TRANSIENT)
    refused(session.abort(), 251, TRANSIENT)
    assert client.t.c.count_documents({}) == 2


def test_fields_that_do_not_fit(client, raw):
    find = {"find": "c", "$db": "t"}
    session = raw()
    number = {"lsid": session.lsid, "txnNumber": bson.Int64(1)}
    for fields, code in [
        ({**number, "startTransaction": True}, 72),
        ({**number, "autocommit": True}, 72),
        ({**number, "autocommit": True, "startTransaction": True}, 72),
        ({**number, "autocommit": False, "startTransaction": False}, 72),
        ({"lsid": session.lsid, "autocommit": False}, 72),
        ({"lsid": session.lsid, "autocommit": False, "startTransaction": True}, 72),
        ({"txnNumber": bson.Int64(1), "autocommit": False, "startTransaction": True}, 72),
        ({**number, "autocommit": 0, "startTransaction": True}, 14),
        ({**number, "autocommit": False, "startTransaction": 1}, 14),
        ({**number, "txnNumber": 1, "autocommit": False, "startTransaction": True}, 14),
        ({**number, "txnNumber": bson.Int64(-1), "autocommit": False, "startTransaction": True}, 72),
    ]:
        reply = send(session, {**find, **fields})
        assert reply["ok"] == 0 and reply["code"] == code, (fields, reply)
    # A statement of a transaction says so each time.
    session.start()
    done(session.insert("c", {"_id": 1}))
    reply = send(session, {"insert": "c", "documents": [{}], **number, "$db": "t"})
    assert reply["ok"] == 0 and reply["code"] == 72, reply
    session.abort()


def test_commit_and_abort_stand_for_themselves(client, raw):
    port = client.primary[1]
    for name in ("commitTransaction", "abortTransaction"):
        reply = raw_command("127.0.0.1", port, {name: 1, "$db": "admin"})
        assert reply["ok"] == 0 and reply["code"] == 125, reply
        session = raw().start()
        done(session.insert("c", {"_id": name}))
        assert session.run({name: 1}, "t")["code"] == 13
        reply = send(session, {name: 1, "lsid": session.lsid, "txnNumber": bson.Int64(1), "$db": "admin"})
        assert reply["ok"] == 0 and reply["code"] == 50768, reply
        done(session.commit())
    assert client.t.c.count_documents({}) == 2


def test_concerns_of_statements(client, raw):
    client.t.c.insert_one({"_id": 1})

    def first(command, **concern):
        session = raw().start()
        reply = session.run(command, **concern)
        session.abort()
        return reply

    for level in ("linearizable", "available"):
        assert first({"find": "c"}, readConcern={"level": level})["code"] == 72, level
    assert first({"find": "c"}, readConcern={"level": "nonsense"})["code"] == 2
    for concern in ({}, {"level": "local"}, {"level": "majority"}, {"level": "snapshot"}):
        assert first({"find": "c"}, readConcern=concern)["ok"] == 1, concern
        assert first({"insert": "c", "documents": [{}]}, readConcern=concern)["ok"] == 1, concern
    for concern in ({"w": 1}, {"w": "majority"}, {"w": 0}):
        assert first({"insert": "c", "documents": [{}]}, writeConcern=concern)["code"] == 72, concern
    session = raw().start(readConcern={"level": "snapshot"})
    session.find("c")
    for level in ("local", "snapshot", "majority"):
        assert session.run({"find": "c", "readConcern": {"level": level}})["code"] == 72
        session = raw().start(readConcern={"level": "snapshot"})
        session.find("c")
    assert session.insert("c", {}, writeConcern={"w": "majority"})["code"] == 72
    session.abort()
    assert list(client.t.c.find()) == [{"_id": 1}]


def test_a_first_statement_may_wait_for_a_time(client, raw):
    at = client.t.command("insert", "c", documents=[{"_id": 1}])["operationTime"]
    session = raw().start(readConcern={"level": "snapshot", "afterClusterTime": at})
    assert session.find("c") == [{"_id": 1}]
    done(session.commit())


# ---- commands -------------------------------------------------------------------------------------

COMMANDS = {
    "count": {"count": "c"},
    "explain": {"explain": {"find": "c"}},
    "explain of aggregate": {"aggregate": "c", "pipeline": [], "explain": True},
    "listCollections": {"listCollections": 1},
    "listIndexes": {"listIndexes": "c"},
    "drop": {"drop": "c"},
    "dropDatabase": {"dropDatabase": 1},
    "dropIndexes": {"dropIndexes": "c", "index": "n"},
    "collMod": {"collMod": "c", "index": {"name": "n", "hidden": True}},
    "validate": {"validate": "c"},
    "collStats": {"collStats": "c"},
    "dbStats": {"dbStats": 1},
    "dataSize": {"dataSize": "t.c"},
    "convertToCapped": {"convertToCapped": "c", "size": 100_000},
    "createBranch": {"createBranch": "dev"},
    "commit": {"commit": 1, "message": "now"},
    "createSnapshot": {"createSnapshot": 1, "name": "now"},
    "purge": {"purge": "c", "_id": 1},
    "profile": {"profile": 2},
    "$out": {"aggregate": "c", "pipeline": [{"$out": "d"}], "cursor": {}},
    "$merge": {"aggregate": "c", "pipeline": [{"$merge": {"into": "d"}}], "cursor": {}},
    "$collStats": {"aggregate": "c", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}},
    "$indexStats": {"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {}},
    "$planCacheStats": {"aggregate": "c", "pipeline": [{"$planCacheStats": {}}], "cursor": {}},
    "an index on a collection with documents": {"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k"}]},
    "an index on a collection that was there": {"createIndexes": "empty", "indexes": [{"key": {"k": 1}, "name": "k"}]},
    "a read of the profile": {"find": "system.profile"},
}
ADMIN_COMMANDS = {
    "renameCollection": {"renameCollection": "t.c", "to": "t.d"},
    "serverStatus": {"serverStatus": 1},
    "listDatabases": {"listDatabases": 1},
    "currentOp": {"currentOp": 1},
    "fsync": {"fsync": 1},
    "setParameter": {"setParameter": 1, "logLevel": 0},
    "replSetGetStatus": {"replSetGetStatus": 1},
    "$currentOp": {"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}},
    "a read of admin": {"find": "c"},
    "a write to admin": {"insert": "c", "documents": [{}]},
}


@pytest.fixture
def filled(client):
    client.t.c.insert_one({"_id": 1})
    client.t.c.create_index("n", name="n")
    client.t.create_collection("empty")
    client.t.create_collection("capped", capped=True, size=100_000)
    client.t.capped.insert_one({"_id": 1})
    before = state(client)
    yield client
    assert state(client) == before


def state(client):
    return {name: (list(client.t[name].find()), client.t[name].index_information()) for name in client.t.list_collection_names()}


@pytest.mark.parametrize("when", ["first", "later"])
@pytest.mark.parametrize("name", [*COMMANDS, *ADMIN_COMMANDS])
def test_a_command_that_no_transaction_can_have(filled, raw, name, when):
    session = raw().start()
    if when == "later":
        done(session.insert("c", {"_id": 2}))
    reply = session.run(COMMANDS[name]) if name in COMMANDS else session.run(ADMIN_COMMANDS[name], "admin")
    refused(reply, 263)
    assert reply["codeName"] == "OperationNotSupportedInTransaction"
    if when == "first":
        refused(session.commit(), 251, TRANSIENT)
    else:
        session.abort()


@pytest.mark.parametrize("command", [{"insert": "capped", "documents": [{}]}, {"update": "capped", "updates": [{"q": {}, "u": {"$set": {"n": 1}}}]},
                                     {"findAndModify": "capped", "query": {"_id": 1}, "update": {"$set": {"n": 1}}}], ids=lambda each: next(iter(each)))
def test_capped_collections_are_not_written(filled, raw, command):
    session = raw().start()
    assert code_of(session.run(command)) == 263
    refused(session.commit(), 251, TRANSIENT)


def code_of(reply):
    """The code of an error of the command, or of its only statement."""
    return reply["code"] if reply["ok"] == 0 else reply["writeErrors"][0]["code"]


@pytest.mark.parametrize("database", ["config", "local"])
def test_databases_that_no_transaction_can_use(client, raw, database):
    for command in ({"find": "c"}, {"insert": "c", "documents": [{}]}, {"aggregate": "c", "pipeline": [], "cursor": {}},
                    {"update": "c", "updates": [{"q": {}, "u": {"$set": {"n": 1}}}]}, {"create": "c"}):
        session = raw().start()
        refused(session.run(command, database), 263)
        session.abort()
    assert "c" not in client[database].list_collection_names()


def test_commands_that_a_transaction_can_have(client, raw):
    session = raw().start()
    done(session.insert("c", {"_id": 1}))
    for name in ("hello", "isMaster", "buildInfo", "connectionStatus"):
        done(session.run({name: 1}, "admin"))
    done(session.commit())
    assert list(client.t.c.find()) == [{"_id": 1}]
    session.start()
    assert session.run({"killCursors": "c", "cursors": [bson.Int64(1)]})["ok"] == 0  # as the first statement
    # An unknown command is one outside of transactions as well.
    assert raw().start().run({"nonsense": 1})["code"] == 59


def test_a_branch_or_snapshot_that_is_read_only_stays_so(client, raw):
    client.drop_database("ro")
    client.ro.c.insert_one({"_id": 1})
    client.admin.command("createSnapshot", 1, name="ro-before")
    client.ro.c.insert_one({"_id": 2})
    session = raw().start()
    assert session.find("c", db="ro@ro-before") == [{"_id": 1}]
    assert code_of(session.insert("c", {"_id": 3}, db="ro@ro-before")) == 20
    refused(session.commit(), 251, TRANSIENT)
    client.admin.command("dropSnapshot", "ro-before")
    client.drop_database("ro")

"""These tests check what monitoring tools read: the types they decode into, counts that are true, and the profiler."""
import contextlib
import threading

import bson
import pymongo
import pytest
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server, raw_command
from tests.support.waiting import wait_until

DOUBLE, STRING, OBJECT, ARRAY, BOOLEAN, DATE, INT, LONG = 1, 2, 3, 4, 8, 9, 16, 18


def type_of(raw, path):
    """Returns the BSON type of a field, which a decoder into integers or times looks at; None if the field isn't there."""
    data = raw.raw
    for part in path.split("."):
        at, found = 4, None
        while data[at]:
            kind = data[at]
            end = data.index(0, at + 1)
            name, at = data[at + 1:end].decode(), end + 1
            size = {DOUBLE: 8, BOOLEAN: 1, DATE: 8, INT: 4, LONG: 8, 7: 12, 10: 0, 17: 8}.get(kind)
            if kind in (OBJECT, ARRAY):
                size = int.from_bytes(data[at:at + 4], "little")
            elif kind == STRING:
                size = 4 + int.from_bytes(data[at:at + 4], "little")
            elif kind == 5:
                size = 5 + int.from_bytes(data[at:at + 4], "little")
            if name == part:
                found = kind, data[at:at + size]
                break
            at += size
        if not found:
            return None
        kind, data = found
    return kind


def raw(client, command, db="admin"):
    return client[db].command(command, codec_options=CodecOptions(RawBSONDocument))


def test_figures_have_the_types_that_tools_decode(server, db):
    db.c.insert_one({"a": 1})
    list(db.c.find())
    status = raw(server.client(), {"serverStatus": 1, "opLatencies": {"histograms": True}})
    for path, kind in {
        "uptime": DOUBLE, "uptimeMillis": LONG, "uptimeEstimate": LONG, "localTime": DATE, "pid": LONG, "host": STRING, "process": STRING,
        "asserts.user": INT, "asserts.tripwire": INT, "connections.current": INT, "connections.available": INT, "connections.totalCreated": INT,
        "connections.active": INT, "extra_info.page_faults": LONG, "extra_info.user_time_us": LONG, "globalLock.totalTime": LONG,
        "globalLock.currentQueue.total": INT, "globalLock.currentQueue.readers": INT, "globalLock.currentQueue.writers": INT,
        "globalLock.activeClients.total": INT, "globalLock.activeClients.readers": INT, "globalLock.activeClients.writers": INT,
        "locks.Collection.acquireCount.r": LONG, "locks.Collection.acquireCount.w": LONG, "mem.bits": INT, "mem.resident": INT, "mem.virtual": INT,
        "mem.supported": BOOLEAN, "network.bytesIn": LONG, "network.bytesOut": LONG, "network.numRequests": LONG, "opcounters.insert": LONG,
        "opcounters.getmore": LONG, "opcountersRepl.insert": LONG, "opLatencies.reads.latency": LONG, "opLatencies.reads.ops": LONG,
        "opLatencies.reads.histogram": ARRAY, "opLatencies.transactions.ops": LONG, "metrics.commands.find.total": LONG,
        "metrics.commands.find.failed": LONG, "metrics.cursor.timedOut": LONG, "metrics.cursor.open.total": LONG, "metrics.document.inserted": LONG,
        "metrics.operation.scanAndOrder": LONG, "metrics.operation.writeConflicts": LONG, "metrics.queryExecutor.scanned": LONG,
        "metrics.queryExecutor.scannedObjects": LONG, "metrics.queryExecutor.collectionScans.total": LONG, "metrics.ttl.passes": LONG,
        "transactions.retriedCommandsCount": LONG, "transactions.currentOpen": LONG, "logicalSessionRecordCache.activeSessionsCount": INT,
        "logicalSessionRecordCache.lastSessionsCollectionJobTimestamp": DATE, "catalogStats.collections": INT, "storageEngine.name": STRING,
    }.items():
        assert type_of(status, path) == kind, path
    assert status["uptime"] == int(status["uptime"])
    host = raw(server.client(), {"hostInfo": 1})
    for path, kind in {"system.currentTime": DATE, "system.cpuAddrSize": INT, "system.memSizeMB": LONG, "system.memLimitMB": LONG,
                       "system.numCores": INT, "system.numaEnabled": BOOLEAN, "os.type": STRING, "extra.pageSize": LONG,
                       "extra.maxOpenFiles": INT}.items():
        assert type_of(host, path) == kind, path
    sizes = raw(server.client(), {"dbStats": 1, "freeStorage": 1}, db.name)
    for path in ("collections", "views", "objects", "indexes", "scaleFactor"):
        assert type_of(sizes, path) == LONG, path
    for path in ("dataSize", "storageSize", "freeStorageSize", "indexSize", "indexFreeStorageSize", "totalSize", "totalFreeStorageSize"):
        assert type_of(sizes, path) == DOUBLE, path
    operation = raw(server.client(), {"currentOp": 1})["inprog"][0]
    for path, kind in {"opid": INT, "secs_running": LONG, "microsecs_running": LONG, "active": BOOLEAN, "waitingForLock": BOOLEAN, "locks": OBJECT,
                       "ns": STRING, "op": STRING, "currentOpTime": STRING}.items():
        assert type_of(operation, path) == kind, path


def test_sections_are_left_out_when_asked(server):
    admin = server.client().admin
    status = admin.command("serverStatus", metrics=0, locks=False, repl=0)
    assert "metrics" not in status and "locks" not in status and "opcounters" in status
    assert "histogram" not in status["opLatencies"]["reads"]


def test_metrics_count_what_happened(server, db):
    admin = server.client().admin

    def metrics():
        return admin.command("serverStatus")["metrics"]

    db.c.insert_many([{"_id": i, "a": i % 3} for i in range(30)])
    before = metrics()
    assert len(list(db.c.find({"a": 1}).sort("_id", -1).batch_size(3))) == 10  # a scan and getMores
    assert len(list(db.c.find().sort("a"))) == 30                            # a sort in memory
    with pytest.raises(OperationFailure):
        db.command("find", "c", filter={"$frob": 1})
    with pytest.raises(OperationFailure):
        db.command("frobnicate")
    after = metrics()
    assert after["commands"]["find"]["total"] - before["commands"]["find"]["total"] == 3
    assert after["commands"]["find"]["failed"] - before["commands"]["find"]["failed"] == 1
    assert after["commands"]["<UNKNOWN>"] - before["commands"]["<UNKNOWN>"] == 1
    assert after["document"]["returned"] - before["document"]["returned"] >= 40
    assert after["operation"]["scanAndOrder"] - before["operation"]["scanAndOrder"] == 1
    assert after["queryExecutor"]["scannedObjects"] - before["queryExecutor"]["scannedObjects"] >= 60 - 20
    assert after["cursor"]["moreThanOneBatch"] - before["cursor"]["moreThanOneBatch"] == 1
    assert sum(after["cursor"]["lifespan"].values()) - sum(before["cursor"]["lifespan"].values()) == 1


def test_top_tells_who_used_what(server, db):
    admin = server.client().admin

    def of(name):
        return admin.command("top")["totals"].get(f"{db.name}.{name}")

    assert of("c") is None
    db.c.insert_many([{"_id": i} for i in range(200)])
    for i in range(5):
        db.c.find_one({"_id": i})
    list(db.c.find(batch_size=50))
    db.c.update_one({"_id": 1}, {"$set": {"a": 1}})
    db.c.delete_one({"_id": 2})
    db.c.count_documents({})
    used = of("c")
    assert used["insert"]["count"] == 1 and used["queries"]["count"] == 6 and used["update"]["count"] == 1 and used["remove"]["count"] == 1
    assert used["getmore"]["count"] in (3, 4) and used["commands"]["count"] == 1
    assert used["readLock"]["count"] == 7 + used["getmore"]["count"] and used["writeLock"]["count"] == 3
    assert used["total"]["count"] == used["readLock"]["count"] + used["writeLock"]["count"]
    assert used["total"]["time"] == used["readLock"]["time"] + used["writeLock"]["time"]
    assert set(used) == {"total", "readLock", "writeLock", "queries", "getmore", "insert", "update", "remove", "commands"}
    list(db.none.find())
    assert of("none") is None
    db.c.drop()
    assert of("c") is None
    db.c.insert_one({})
    assert of("c")["insert"]["count"] == 1 and of("c")["queries"]["count"] == 0


def bulk_write(server, namespaces, ops):
    return raw_command("127.0.0.1", server.port, {"bulkWrite": 1, "nsInfo": [{"ns": ns} for ns in namespaces], "ops": ops, "ordered": False,
                                                  "$db": "admin"})


def test_top_counts_statements(server, db):
    admin = server.client().admin
    db.c.insert_many([{"_id": i} for i in range(9)])
    db.d.insert_one({"_id": 1})

    def used(name):
        totals = admin.command("top")["totals"][f"{db.name}.{name}"]
        writes = next(db[name].aggregate([{"$collStats": {"latencyStats": {}}}]))["latencyStats"]["writes"]["ops"]
        return {kind: totals[kind]["count"] for kind in ("total", "writeLock", "insert", "update", "remove")} | {"writes": writes}

    def more(name, before):
        now = used(name)
        return {kind: now[kind] - before[kind] for kind in now if kind != "total"}

    before, before_d = used("c"), used("d")
    db.command("update", "c", updates=[{"q": {"_id": i}, "u": {"$set": {"a": 1}}} for i in range(3)])
    db.command("delete", "c", deletes=[{"q": {"_id": i}, "limit": 1} for i in range(2)])
    assert more("c", before) == {"writeLock": 5, "insert": 0, "update": 3, "remove": 2, "writes": 5}
    before = used("c")
    reply = bulk_write(server, [f"{db.name}.c", f"{db.name}.d"], [
        {"insert": 0, "document": {"_id": "x"}}, {"insert": 0, "document": {"_id": "y"}},
        {"update": 0, "filter": {"_id": "x"}, "updateMods": {"$set": {"a": 1}}}, {"delete": 1, "filter": {}},
        {"delete": 0, "filter": {}, "multi": True}])
    assert reply["nErrors"] == 0 and reply["nDeleted"] == 10
    assert more("c", before) == {"writeLock": 3, "insert": 0, "update": 0, "remove": 0, "writes": 3}
    assert more("d", before_d) == {"writeLock": 1, "insert": 0, "update": 0, "remove": 0, "writes": 1}


def test_top_counts_branches_apart(server, db):
    client = server.client()
    db.c.insert_one({"_id": 1})
    db.command("commit", message="one", author="ann")
    db.command("createBranch", "dev")
    client[f"{db.name}@dev"].c.find_one()
    totals = client.admin.command("top")["totals"]
    assert totals[f"{db.name}@dev.c"]["queries"]["count"] == 1
    assert totals[f"{db.name}.c"]["queries"]["count"] == 0
    db.command("dropBranch", "dev")
    for ref in ("dev", "never"):
        with contextlib.suppress(OperationFailure):  # whatever is said of branches that aren't there, the server goes on
            client[f"{db.name}@{ref}"].command("purge", "c", id=1)
        with contextlib.suppress(OperationFailure):
            client[f"{db.name}@{ref}"].c.find_one()
    assert f"{db.name}@dev.c" not in client.admin.command("top")["totals"]


def test_a_collections_latencies(server, db):
    db.c.insert_many([{"_id": i} for i in range(10)])
    for i in range(7):
        db.c.find_one({"_id": i})
    stats = next(db.c.aggregate([{"$collStats": {"latencyStats": {"histograms": True}, "count": {}}}]))
    latency = stats["latencyStats"]
    assert latency["reads"]["ops"] == 7 and latency["writes"]["ops"] == 1 and latency["transactions"]["ops"] == 0
    assert sum(bucket["count"] for bucket in latency["reads"]["histogram"]) == 7
    assert latency["reads"]["latency"] > 0 and stats["count"] == 10
    assert all(bucket["micros"] >= 0 and bucket["count"] > 0 for bucket in latency["reads"]["histogram"])
    assert "histogram" not in next(db.c.aggregate([{"$collStats": {"latencyStats": {}}}]))["latencyStats"]["reads"]


def entries(db, **filter):
    return list(db["system.profile"].find(filter))


def test_the_profiler_writes_down_what_each_kind_of_operation_did(server, db):
    client = server.client(appname="shop-app")
    shop = client[db.name]
    shop.c.insert_many([{"_id": i, "a": i} for i in range(10)])
    shop.c.create_index("a")
    assert shop.command("profile", 2) == {"was": 0, "slowms": 100, "sampleRate": 1.0, "ok": 1.0}
    shop.c.insert_many([{"_id": "x", "a": 100}, {"_id": "y", "a": 101}])
    list(shop.c.find({"a": {"$gt": 5}}).sort("b").batch_size(3))
    shop.c.update_many({"a": {"$gte": 8}}, {"$set": {"b": 1}})
    shop.c.update_one({"_id": "z"}, {"$set": {"b": 1}}, upsert=True)
    shop.c.delete_one({"_id": "x"})
    shop.c.count_documents({"a": 1})
    shop.c.find_one_and_update({"_id": 3}, {"$set": {"c": 1}})
    with pytest.raises(OperationFailure):
        shop.c.find_one({"a": {"$frob": 1}})
    with pytest.raises(pymongo.errors.DuplicateKeyError):
        shop.c.insert_one({"_id": "y"})
    list(shop["system.profile"].find())
    shop.command("profile", 0)
    shop.c.find_one()
    found = entries(shop)
    ns = f"{db.name}.c"
    assert {entry["ns"] for entry in found} == {ns}
    for entry in found:
        assert entry["client"] == "127.0.0.1" and entry["appName"] == "shop-app" and entry["user"] == "" and entry["allUsers"] == []
        assert isinstance(entry["ts"], type(found[0]["ts"])) and type(entry["millis"]) is int and entry["numYield"] >= 0
    inserted, = (entry for entry in found if entry["op"] == "insert" and "ninserted" in entry and entry["ninserted"] == 2)
    assert inserted["command"]["insert"] == "c" and inserted["protocol"] == "op_msg" and inserted["responseLength"] > 0
    query = next(entry for entry in found if entry["op"] == "query" and entry["command"].get("sort"))
    assert query["nreturned"] == 3 and query["planSummary"] == "IXSCAN { a: 1 }" and query["hasSortStage"] is True
    assert query["keysExamined"] == 6 and query["docsExamined"] == 6 and query["cursorid"] != 0
    assert query["execStats"]["stage"] == "SORT" and len(query["queryHash"]) == 8 and query["queryFramework"] == "classic"
    more = [entry for entry in found if entry["op"] == "getmore"]
    assert more and more[0]["originatingCommand"]["find"] == "c" and more[0]["command"]["getMore"] == query["cursorid"]
    many, one = [entry for entry in found if entry["op"] == "update"]
    assert many["command"]["q"] == {"a": {"$gte": 8}} and many["command"]["u"] == {"$set": {"b": 1}} and many["command"]["multi"] is True
    assert many["nMatched"] == 4 and many["nModified"] == 4 and many["docsExamined"] == 4 and many["planSummary"] == "IXSCAN { a: 1 }"
    assert one["nUpserted"] == 1 and one["nMatched"] == 0
    removed, = (entry for entry in found if entry["op"] == "remove")
    assert removed["ndeleted"] == 1 and removed["command"] == {"q": {"_id": "x"}, "limit": 1} and removed["planSummary"] == "IDHACK"
    commands = {next(iter(entry["command"])): entry for entry in found if entry["op"] == "command"}
    assert commands["aggregate"]["keysExamined"] == 1 and commands["aggregate"]["planSummary"] == "COUNT_SCAN { a: 1 }"
    assert commands["findAndModify"]["nMatched"] == 1 and commands["findAndModify"]["nModified"] == 1
    failed, = (entry for entry in found if entry.get("errCode") == 2)
    assert failed["op"] == "query" and failed["ok"] == 0 and failed["errName"] == "BadValue" and "$frob" in failed["errMsg"]


def test_statements_of_one_update_are_written_down_each_for_itself(server, db):
    db.c.insert_many([{"_id": i} for i in range(4)])
    db.command("profile", 2)
    reply = db.command("update", "c", updates=[{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}, {"q": {}, "u": {"$set": {"b": 1}}, "multi": True}])
    assert reply["n"] == 5
    db.command("profile", 0)
    first, second = entries(db, op="update")
    assert first["nMatched"] == 1 and second["nMatched"] == 4 and second["planSummary"] == "COLLSCAN"


def test_statements_of_bulk_write_are_written_down_in_their_own_databases(server, db):
    client = server.client()
    other = client[db.name + "_other"]
    db.c.insert_many([{"_id": i, "a": i} for i in range(4)])
    db.command("profile", 2)
    reply = bulk_write(server, [f"{db.name}.c", f"{other.name}.c"], [
        {"update": 0, "filter": {"a": {"$gt": 1}}, "updateMods": {"$set": {"b": 1}}, "multi": True},
        {"update": 0, "filter": {"a": {"$frob": 1}}, "updateMods": {"$set": {"b": 1}}},
        {"insert": 0, "document": {"_id": "x"}},
        {"insert": 0, "document": {"_id": "y"}},
        {"insert": 1, "document": {"_id": "z"}},
        {"delete": 0, "filter": {"_id": "x"}}])
    assert reply["nErrors"] == 1 and reply["nInserted"] == 3
    db.command("profile", 0)
    found = entries(db)
    assert {(entry["op"], entry["ns"]) for entry in found} == {("bulkWrite", f"{db.name}.c")}
    update, failed, insert, delete = found
    assert update["command"]["update"] == 0 and update["nMatched"] == 2 and update["planSummary"] == "COLLSCAN" and update["execStats"]
    assert failed["errName"] == "BadValue" and "planSummary" not in failed
    assert insert["ninserted"] == 2 and insert["command"]["document"] == {"_id": "x"} and "planSummary" not in insert
    assert delete["ndeleted"] == 1 and delete["planSummary"] == "IDHACK" and "execStats" not in delete and "ninserted" not in delete
    assert "system.profile" not in other.list_collection_names()
    client.drop_database(other.name)


def test_a_database_of_another_case_is_made_beside_a_profiled_one():
    with Server() as server:
        client = server.client()
        client.Shop.command("profile", 2)
        client.shop.c.insert_one({"_id": 1})
        assert client.Shop.command("profile", 0)["was"] == 2 and client.shop.c.find_one() == {"_id": 1}
        with pytest.raises(OperationFailure, match="different case"):
            client.Shop.c.insert_one({})


def test_only_slow_operations_at_level_one(db):
    db.c.insert_many([{"_id": i} for i in range(3)])
    admin = db.client.admin
    assert db.command("profile", 1, slowms=10_000)["was"] == 0
    list(db.c.find())
    assert entries(db) == []
    try:
        assert db.command("profile", 1, slowms=-1)["slowms"] == 10_000  # everything is slow
        list(db.c.find())
        assert [entry["op"] for entry in entries(db)] == ["query"]
        assert db.command("profile", 1, sampleRate=0)["slowms"] == -1
        list(db.c.find())
        assert len(entries(db)) == 1
        # The threshold belongs to the process, the level to each database.
        assert admin.command("profile", -1)["slowms"] == -1 and admin.command("profile", -1)["was"] == 0
    finally:
        db.command("profile", 0, slowms=100, sampleRate=1.0)
    assert db.command("profile", -1) == {"was": 0, "slowms": 100, "sampleRate": 1.0, "ok": 1.0}


def test_a_filter_chooses(db):
    db.c.insert_many([{"_id": i} for i in range(3)])
    reply = db.command("profile", 1, filter={"op": "query", "nreturned": {"$gt": 1}})
    assert "note" in reply
    list(db.c.find())
    list(db.c.find({"_id": 1}))
    db.c.insert_one({})
    assert [entry["nreturned"] for entry in entries(db)] == [3]
    assert db.command("profile", -1)["filter"] == {"op": "query", "nreturned": {"$gt": 1}}
    # An expression that fails for an entry leaves that entry out, and the operation has its answer.
    db.command("profile", 2, filter={"$expr": {"$gt": [{"$toInt": "$op"}, 1]}})
    assert len(list(db.c.find())) == 4
    assert "filter" in db.command("profile", 0, filter="unset") and "filter" not in db.command("profile", -1)


def test_the_collection_stays_small_and_comes_back(db):
    db.command("profile", 2)
    info = db["system.profile"].options()
    assert info == {"capped": True, "size": 1 << 20}
    text = "x" * 20_000
    for i in range(80):
        db.c.insert_one({"_id": i})
        list(db.c.find({"a": text}))
    size = db.command("collStats", "system.profile")
    assert size["size"] <= 1 << 20 and 20 < size["count"] < 160
    huge = "y" * (60 << 10)
    list(db.c.find({"a": huge}, comment="mine"))
    last = db["system.profile"].find_one({"command.comment": "mine"})
    assert last["command"]["$truncated"].endswith("...")
    with pytest.raises(OperationFailure, match="turn off profiling"):
        db.drop_collection("system.profile")
    with pytest.raises(OperationFailure):
        db["system.profile"].insert_one({})
    with pytest.raises(OperationFailure):
        db["system.profile"].rename("mine")
    db.command("profile", 0)
    db.drop_collection("system.profile")
    assert db.command("profile", 2)["was"] == 0
    list(db.c.find())
    assert len(entries(db)) == 1
    db.client.drop_database(db.name)
    db.c.insert_one({})
    assert db.command("profile", -1)["was"] == 0 and "system.profile" not in db.list_collection_names()


def test_branches_are_profiled_with_their_database(server, db):
    client = server.client()
    db.c.insert_one({"_id": 1})
    db.command("commit", message="one", author="ann")
    db.command("createBranch", "dev")
    dev = client[f"{db.name}@dev"]
    assert dev.command("profile", 2)["was"] == 0
    dev.c.find_one({"_id": 1})
    db.c.find_one({"_id": 1})
    assert db.command("profile", 0)["was"] == 2
    assert [entry["ns"] for entry in entries(db, op="query")] == [f"{db.name}@dev.c", f"{db.name}.c"]


def test_many_threads_are_profiled(server, db):
    db.c.insert_one({"_id": 1})
    db.command("profile", 2)
    client = server.client()

    def work():
        for _ in range(25):
            client[db.name].c.find_one({"_id": 1})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    db.command("profile", 0)
    assert db["system.profile"].count_documents({"op": "query"}) == 100


def test_levels_from_the_command_line():
    with Server("--profile", "2", "--slowms", "7", "--slowOpSampleRate", "0.5") as server:
        db = server.client().shop
        assert db.command("profile", -1) == {"was": 2, "slowms": 7, "sampleRate": 0.5, "ok": 1.0}
        db.c.insert_one({})
        assert [entry["op"] for entry in entries(db)] == ["insert"]


def test_a_members_profile_is_its_own():
    with Server("--replSet", "rs0") as member:
        member.initiate()
        client = member.client(directConnection=True)
        db = client.shop
        db.c.insert_one({"_id": 1})
        db.command("profile", 2)
        db.c.find_one({"_id": 1})
        db.c.update_one({"_id": 1}, {"$set": {"a": 1}})
        db.command("profile", 0)
        assert [entry["op"] for entry in entries(db)] == ["query", "update"]
        assert client.local["oplog.rs"].count_documents({"$or": [{"ns": "shop.system.profile"}, {"o.create": "system.profile"}]}) == 0
        db.drop_collection("system.profile")
        assert client.local["oplog.rs"].count_documents({"o.drop": "system.profile"}) == 0
        client.other.command("profile", 1)
        client.drop_database("other")  # nothing of it is in the log
        assert client.local["oplog.rs"].count_documents({"o.dropDatabase": 1}) == 0
        pools = client.admin.command("connPoolStats")
        assert pools["totalCreated"] == 0 and pools["hosts"] == {}


def test_an_operation_that_waits_for_a_lock_is_shown(server, db):
    """createIndexes holds the schema lock alone: finds that come meanwhile wait for it."""
    admin = server.client().admin
    db.c.insert_many([{"a": i, "text": "x" * 200} for i in range(60_000)])
    queued, pending = [], []

    def looked():
        db.c.drop_indexes()
        builder = threading.Thread(target=lambda: server.client()[db.name].c.create_index([("a", 1), ("text", 1)]))

        def read():
            while builder.is_alive():
                assert db.c.find_one({"a": 5})["a"] == 5

        reader = threading.Thread(target=read)
        builder.start()
        reader.start()
        while builder.is_alive():
            queue = admin.command("serverStatus")["globalLock"]["currentQueue"]
            assert queue["total"] == queue["readers"] + queue["writers"]
            queued.append(queue["readers"])
            for lock in admin.command("lockInfo")["lockInfo"]:
                assert lock["resourceId"] == f"{{Collection, {db.name}.c}}" and isinstance(lock["granted"], list)
                pending.extend(request["mode"] for request in lock["pending"])
        builder.join()
        reader.join()
        return max(queued) > 0 and pending

    wait_until(looked)
    assert max(queued) == 1 and set(pending) == {"IS"}
    assert admin.command("serverStatus")["globalLock"]["currentQueue"]["total"] == 0 and admin.command("lockInfo")["lockInfo"] == []


def test_current_op_shows_cursors(server, db):
    db.pages.insert_many({"_id": number} for number in range(5))
    idle = db.pages.find(batch_size=2)
    next(idle)
    busy = db.pages.find({"$where": "if (this._id == 0) return true; while (true) {}"}, batch_size=1)
    next(busy)
    admin = server.client().admin

    def shown(**wanted):
        return next(admin.aggregate([{"$currentOp": {"idleCursors": True}}, {"$match": wanted}]), None)

    one = shown(**{"cursor.cursorId": idle.cursor_id})
    assert one["type"] == "idleCursor" and one["cursor"]["originatingCommand"]["find"] == "pages"
    assert (one["cursor"]["nDocsReturned"], one["cursor"]["nBatchesReturned"]) == (2, 1)
    assert "operationUsingCursorId" not in one["cursor"]
    idle.next(), idle.next()
    one = shown(**{"cursor.cursorId": idle.cursor_id})
    assert (one["cursor"]["nDocsReturned"], one["cursor"]["nBatchesReturned"]) == (4, 2)

    failures = []

    def read_on():
        try:
            next(busy)
        except OperationFailure as failure:
            failures.append(failure.code)

    reader = threading.Thread(target=read_on)
    reader.start()
    one = wait_until(lambda: shown(**{"type": "op", "cursor.cursorId": busy.cursor_id}), server.tail)
    assert one["op"] == "getmore" and one["cursor"]["operationUsingCursorId"] == one["opid"]
    assert (one["cursor"]["nDocsReturned"], one["cursor"]["nBatchesReturned"]) == (1, 1)
    assert one["cursor"]["originatingCommand"]["find"] == "pages" and one["cursor"]["tailable"] is False
    admin.command("killOp", op=one["opid"])
    reader.join()
    assert failures == [11601]


def test_diagnostic_data_is_what_the_commands_answer(server, db):
    db.c.insert_one({"a": 1})
    data = server.client().admin.command("getDiagnosticData")["data"]
    assert data["serverStatus"]["opcounters"]["insert"] >= 1 and data["serverStatus"]["start"] <= data["serverStatus"]["end"]
    assert data["start"] <= data["systemMetrics"]["start"] <= data["end"]
    machine = data["systemMetrics"]
    assert machine["memory"]["MemTotal_kb"] > machine["memory"]["MemFree_kb"] > 0 and machine["cpu"]["num_cpus"] > 0
    assert machine["cpu"]["user_ms"] > 0 and isinstance(machine["disks"], dict)
    assert ("replSetGetStatus" in data) == ("local.oplog.rs.stats" in data) == ("setName" in server.client().admin.command("hello"))

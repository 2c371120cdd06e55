"""What monitoring tools read: the types they decode into, counts that are true."""
import contextlib
import threading

import bson
import pytest
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

DOUBLE, STRING, OBJECT, ARRAY, BOOLEAN, DATE, INT, LONG = 1, 2, 3, 4, 8, 9, 16, 18


def type_of(raw, path):
    """The BSON type of a field: what a decoder into integers or times looks at. None: it isn't there."""
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
    assert after["cursor"]["lifespan"]["lessThan1Second"] - before["cursor"]["lifespan"]["lessThan1Second"] == 1


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


def test_who_waits_for_a_lock_is_shown(server, db):
    """createIndexes holds the schema lock alone: a find meanwhile waits for it."""
    admin = server.client().admin
    db.c.insert_many([{"a": i, "text": "x" * 200} for i in range(20_000)])
    builder = threading.Thread(target=lambda: server.client()[db.name].c.create_index([("a", 1), ("text", 1)]))
    builder.start()
    seen = []
    reader = threading.Thread(target=lambda: seen.append(server.client()[db.name].c.find_one({"a": 5})))
    reader.start()
    while builder.is_alive():
        queue = admin.command("serverStatus")["globalLock"]["currentQueue"]
        info = admin.command("lockInfo")["lockInfo"]
        assert queue["total"] == queue["readers"] + queue["writers"]
        for lock in info:
            assert lock["resourceId"].startswith("{Collection, ") and isinstance(lock["granted"], list) and isinstance(lock["pending"], list)
    builder.join()
    reader.join()
    assert seen[0]["a"] == 5

"""An operation stops when it is out of time or killed, whatever it computes, and no value takes all memory."""
import contextlib
import functools
import itertools
import pathlib
import re
import signal
import socket
import struct
import threading

import bson
import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import Server, send_raw
from tests.support.waiting import wait_until

# These are a thousand million additions.
LONG = {"$size": {"$map": {"input": {"$range": [0, 100_000]},
                           "in": {"$size": {"$map": {"input": {"$range": [0, 10_000]}, "in": {"$add": ["$$this", "$n"]}}}}}}}
BAD_VALUE, TIMED_OUT, EXCEEDED_MEMORY_LIMIT, TOO_LARGE_FOR_A_REPLY, INTERRUPTED, PAST_64_MB = 2, 50, 146, 10334, 11601, 13548
TOO_MANY_KEYS, NO_DISK_USE_ALLOWED = 201, 292


@pytest.fixture(scope="module")
def server():
    with Server("--setParameter", f"operationMemoryLimitBytes={512 << 20}") as running:
        yield running


@pytest.fixture
def things(db):
    db.things.insert_many([{"_id": number, "n": 1, "text": "x" * 100_000} for number in range(4)])
    return db.things


def refused(code, work):
    with pytest.raises(OperationFailure) as failure:
        work()
    assert failure.value.code == code, failure.value


def stages(stage):
    return lambda things, ms: list(things.aggregate([stage], maxTimeMS=ms))


COMPUTATIONS = {
    "addFields": stages({"$addFields": {"m": LONG}}),
    "match": stages({"$match": {"$expr": {"$gt": [LONG, 0]}}}),
    "group by": stages({"$group": {"_id": LONG}}),
    "group with": stages({"$group": {"_id": None, "m": {"$max": LONG}}}),
    "sort by": stages({"$bucketAuto": {"groupBy": LONG, "buckets": 2}}),
    "replaceRoot": stages({"$replaceRoot": {"newRoot": {"m": LONG}}}),
    "redact": stages({"$redact": {"$cond": [{"$gt": [LONG, 0]}, "$$KEEP", "$$PRUNE"]}}),
    "facet": stages({"$facet": {"a": [{"$addFields": {"m": LONG}}]}}),
    "window": stages({"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"m": {"$max": LONG, "window": {"documents": [0, 0]}}}}}),
    "lookup": stages({"$lookup": {"from": "things", "let": {"v": LONG}, "pipeline": [], "as": "found"}}),
    "lookup's pipeline": stages({"$lookup": {"from": "things", "pipeline": [{"$addFields": {"m": LONG}}], "as": "found"}}),
    "unionWith": stages({"$unionWith": {"coll": "things", "pipeline": [{"$addFields": {"m": LONG}}]}}),
    "find": lambda things, ms: list(things.find({"$expr": {"$gt": [LONG, 0]}}).max_time_ms(ms)),
    "projection": lambda things, ms: list(things.find({}, {"m": LONG}).max_time_ms(ms)),
    "count": lambda things, ms: things.count_documents({"$expr": {"$gt": [LONG, 0]}}, maxTimeMS=ms),
    "distinct": lambda things, ms: things.distinct("n", {"$expr": {"$gt": [LONG, 0]}}, maxTimeMS=ms),
    "update": lambda things, ms: things.database.command(
        {"update": "things", "updates": [{"q": {}, "u": [{"$set": {"m": LONG}}], "multi": True}], "maxTimeMS": ms}),
    "delete": lambda things, ms: things.database.command(
        {"delete": "things", "deletes": [{"q": {"$expr": {"$gt": [LONG, 0]}}, "limit": 0}], "maxTimeMS": ms}),
    "findAndModify": lambda things, ms: things.find_one_and_update({"$expr": {"$gt": [LONG, 0]}}, {"$set": {"m": 1}}, maxTimeMS=ms),
    "all matches": stages({"$addFields": {"m": {"$size": {"$map": {
        "input": {"$range": [0, 10_000]}, "in": {"$size": {"$regexFindAll": {"input": "$text", "regex": ""}}}}}}}}),
}


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_a_computation_ends_when_its_time_is_up(things, name):
    refused(TIMED_OUT, lambda: COMPUTATIONS[name](things, 50))


def test_a_blame_of_many_fields_ends_when_its_time_is_up(db):
    """No commit has the document, so there is no step from commit to commit between which it could end."""
    db.wide.insert_one({"_id": 1})
    db.command("commit", 1)
    db.wide.insert_one({"_id": 2, **{f"field{n}": n for n in range(500_000)}})
    refused(TIMED_OUT, lambda: db.command({"blame": "wide", "id": 2, "maxTimeMS": 50}))


def test_lists_of_values_do_not_multiply_in_the_planner(server, things):
    things.create_index([("n", 1), ("text", 1)])
    many = list(range(10_000))
    far = [number + 20_000 for number in many]
    assert things.count_documents({"_id": {"$in": many, "$nin": far}}) == 4
    assert len(list(things.find({"$and": [{"_id": {"$in": many}}, {"_id": {"$nin": far}}]}))) == 4
    assert len(list(things.find({"n": {"$in": many}, "text": {"$in": [*map(str, many), "x" * 100_000]}}))) == 4
    assert len(list(things.find({"n": {"$in": many}, "text": {"$nin": list(map(str, many))}}))) == 4
    all_is_given_back(server)


def test_a_query_stops_while_it_is_planned(things):
    things.create_index("n")
    for predicates in ([{"n": number} for number in range(300_000)], [{"_id": number} for number in range(300_000)]):
        refused(TIMED_OUT, lambda: list(things.find({"$or": predicates}).max_time_ms(50)))
    paths = {f"p{number}": number for number in range(100_000)}
    things.create_index([("$**", 1)])
    refused(TIMED_OUT, lambda: list(things.find(paths).max_time_ms(50)))


def test_filters_in_a_row_are_not_nested(things):
    """A pipeline may have 1,000 stages."""
    assert len(list(things.aggregate([{"$match": {"n": 1}}] * 1000))) == 4


def test_keys_of_a_document_are_limited(db):
    """The limit holds for whatever writes the document: an insert, an update, or the build of an index over it."""
    many, long = list(range(1000)), "x" * (1 << 20)
    db.keyed.create_index("a")
    db.keyed.create_index([("s", 1), ("a", 1)])
    db.keyed.insert_one({"_id": 1, "a": many})
    refused(TOO_MANY_KEYS, lambda: db.keyed.insert_one({"_id": 2, "s": long, "a": many}))
    refused(TOO_MANY_KEYS, lambda: db.keyed.insert_one({"_id": 2, "s": 8 * long, "a": list(range(500_000))}))
    refused(TOO_MANY_KEYS, lambda: db.keyed.update_one({"_id": 1}, {"$set": {"s": long}}))
    assert db.keyed.count_documents({"a": 999}) == db.keyed.count_documents({"_id": 1, "s": None}) == 1
    db.later.insert_one({"_id": 1, "s": long, "a": many, long: many})
    for key in ([("s", 1), ("a", 1)], [("$**", 1)], [("a", -1), ("s", 1)]):
        refused(TOO_MANY_KEYS, lambda: db.later.create_index(key))
    assert [index["name"] for index in db.later.list_indexes()] == ["_id_"]
    db.later.delete_one({})
    db.later.create_index("a")


def test_a_cursor_that_goes_on_asks_its_new_operation(things):
    """The first batch is quick; the next one computes, in an operation of its own."""
    slow = {"$cond": [{"$lt": ["$_id", 2]}, 1, LONG]}
    for open_cursor in (lambda: things.find({"$expr": {"$gte": [slow, 0]}}, batch_size=2).sort("_id", 1),
                        lambda: things.aggregate([{"$sort": {"_id": 1}}, {"$addFields": {"m": slow}}], batchSize=2),
                        lambda: things.aggregate([{"$match": {"_id": 0}}, {"$unionWith": {"coll": "things", "pipeline": [
                            {"$match": {"_id": {"$gt": 0}}}, {"$addFields": {"m": slow}}]}}], batchSize=2)):
        cursor = open_cursor()
        assert [document["_id"] for document in (next(cursor), next(cursor))] == [0, 1]
        with killed_once_running(things.database, {"command.getMore": {"$exists": True}}):
            refused(INTERRUPTED, lambda: list(cursor))


@contextlib.contextmanager
def killed_once_running(db, which):
    """Kills the operation of this database that `which` finds among those in progress, as soon as there is one."""
    admin = db.client.admin

    def kill():
        operation = running(db, which)
        admin.command("killOp", op=operation["opid"])

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def running(db, which):
    """Waits for such an operation, and returns it."""
    found = []

    def seen():
        found[:] = db.client.admin.aggregate([{"$currentOp": {}}, {"$match": {"command.$db": db.name, **which}}])
        return found

    wait_until(seen)
    return found[0]


def test_an_operation_that_is_killed_stops(things):
    with killed_once_running(things.database, {"command.aggregate": "things"}):
        refused(INTERRUPTED, lambda: list(things.aggregate([{"$addFields": {"m": LONG}}])))


def test_an_operation_stops_when_its_client_leaves(server, things):
    db = things.database
    command = {"aggregate": "things", "pipeline": [{"$addFields": {"m": LONG}}], "cursor": {}, "$db": db.name}
    with socket.create_connection((server.host, server.port)) as connection:
        send_raw(connection, command)
        running(db, {"command.aggregate": "things"})
    gone = [{"$currentOp": {}}, {"$match": {"command.$db": db.name, "command.aggregate": "things"}}]
    wait_until(lambda: not list(db.client.admin.aggregate(gone)))


def test_a_server_that_computes_ends_on_request():
    with Server() as server:
        client = server.client(retryReads=False)
        client.t.things.insert_one({"n": 1})

        def compute():
            with contextlib.suppress(PyMongoError):
                list(client.t.things.aggregate([{"$addFields": {"m": LONG}}]))

        threads = [threading.Thread(target=compute) for _ in range(16)]
        for thread in threads:
            thread.start()
        running(client.t, {"command.aggregate": "things"})
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        for thread in threads:
            thread.join()


def test_what_must_stay_in_memory_ends_at_100_mb(things):
    many = [{"$addFields": {"i": {"$range": [0, 2_000]}}}, {"$unwind": "$i"}]
    for stage, code in (({"$group": {"_id": None, "m": {"$push": "$$ROOT"}}}, 146),
                        ({"$group": {"_id": None, "m": {"$addToSet": "$$ROOT"}}}, 146),
                        *(({"$group": {"_id": None, "m": {name: {"n": 2**62, "input": "$$ROOT"}}}}, 146)
                          for name in ("$firstN", "$lastN", "$minN", "$maxN")),
                        *(({"$group": {"_id": None, "m": {name: {"n": 2**62, "output": "$$ROOT", "sortBy": {"i": 1}}}}}, 146)
                          for name in ("$topN", "$bottomN")),
                        ({"$setWindowFields": {"sortBy": {"i": 1}, "output": {"m": {"$push": "$$ROOT"}}}}, 5414201)):
        refused(code, lambda: list(things.aggregate([*many, stage])))
    # Values that leave the first or last few make room again.
    few = {name: {name: {"n": 2, "input": "$$ROOT"}} for name in ("$firstN", "$lastN", "$minN", "$maxN")}
    renamed = {name[1:]: how for name, how in few.items()}
    kept, = things.aggregate([*many, {"$group": {"_id": None, **renamed}}])
    assert [len(kept[name]) for name in renamed] == [2] * 4


def test_facet_puts_a_large_input_on_the_disk(things):
    many = [{"$addFields": {"i": {"$range": [0, 500]}}}, {"$unwind": "$i"}]  # 200 MB
    facet = {"$facet": {"count": [{"$count": "n"}], "first": [{"$limit": 1}, {"$project": {"i": 1}}],
                        "last": [{"$group": {"_id": "$i", "bytes": {"$sum": {"$strLenBytes": "$text"}}}}, {"$sort": {"_id": -1}}, {"$limit": 1}]}}
    found, = things.aggregate([*many, facet])
    assert found == {"count": [{"n": 2_000}], "first": [{"_id": 0, "i": 0}], "last": [{"_id": 499, "bytes": 400_000}]}
    refused(NO_DISK_USE_ALLOWED, lambda: list(things.aggregate([*many, facet], allowDiskUse=False)))


SORTING = {
    "sample": ([{"$sample": {"size": 1_500}}], 1_500),
    "bucketAuto": ([{"$bucketAuto": {"groupBy": "$i", "buckets": 5, "output": {"n": {"$sum": 1}, "text": {"$max": "$text"}}}},
                    {"$match": {"n": 400}}], 5),
    "setWindowFields": ([{"$setWindowFields": {"partitionBy": "$i", "sortBy": {"_id": 1}, "output": {
        "before": {"$push": "$_id", "window": {"documents": ["unbounded", "current"]}}}}},
        {"$match": {"$expr": {"$eq": ["$before", {"$range": [0, {"$add": ["$_id", 1]}]}]}}}], 2_000),
    "fill": ([{"$fill": {"partitionBy": "$i", "sortBy": {"_id": 1}, "output": {"n": {"method": "locf"}}}}], 2_000),
}


@pytest.mark.parametrize("name", SORTING)
def test_what_is_sorted_goes_to_the_disk(server, things, name):
    stages, expected = SORTING[name]
    many = [{"$addFields": {"i": {"$range": [0, 500]}}}, {"$unwind": "$i"}]  # 200 MB
    distinct = {"$group": {"_id": {"$ifNull": [{"_id": "$_id", "i": "$i"}, "$_id"]}}}
    assert list(things.aggregate([*many, *stages, distinct, {"$count": "n"}])) == [{"n": expected}]
    all_is_given_back(server)
    refused(NO_DISK_USE_ALLOWED, lambda: list(things.aggregate([*many, *stages], allowDiskUse=False)))


def test_joins_go_beyond_16_mb(things):
    things.database.far.insert_many([{"_id": number, "to": [(number + 1) % 700], "text": "x" * 100_000} for number in range(700)])
    size = {"$project": {"_id": 0, "n": {"$size": "$found"}}}
    joined = {"from": "far", "let": {"n": 400}, "pipeline": [{"$match": {"$expr": {"$lt": ["$_id", "$$n"]}}}], "as": "found"}
    assert list(things.aggregate([{"$match": {"_id": 0}}, {"$lookup": joined}, size])) == [{"n": 400}]
    graph = {"from": "far", "startWith": 1, "connectFromField": "to", "connectToField": "_id", "as": "found"}
    assert list(things.aggregate([{"$match": {"_id": 0}}, {"$graphLookup": {**graph, "maxDepth": 399}}, size])) == [{"n": 400}]
    joined["let"] = {"n": 700}
    for stage, code in (({"$lookup": joined}, 4568), ({"$graphLookup": graph}, TOO_LARGE_FOR_A_REPLY)):
        refused(code, lambda: list(things.aggregate([{"$match": {"_id": 0}}, stage, size])))


def test_an_unwound_lookup_has_no_limit(server, things):
    things.database.far.insert_many([{"_id": number, "text": "x" * 100_000} for number in range(1500)])
    joined = {"from": "far", "pipeline": [], "as": "found"}
    unwound = [{"$lookup": joined}, {"$unwind": {"path": "$found", "includeArrayIndex": "at"}}]
    assert list(things.aggregate([*unwound, {"$group": {"_id": "$_id", "n": {"$sum": 1}, "last": {"$max": "$at"}}}, {"$sort": {"_id": 1}}])) == [
        {"_id": number, "n": 1500, "last": 1499} for number in range(4)]
    # The cursor goes on from operation to operation in the midst of a document's matches.
    cursor = things.aggregate([*unwound, {"$project": {"at": 1, "found._id": 1}}], batchSize=7)
    assert [(found["_id"], found["at"]) for found in cursor] == [(number, at) for number in range(4) for at in range(1500)]
    all_is_given_back(server)


def test_an_unwound_graph_lookup_has_no_limit(server, things):
    things.database.far.insert_many([{"_id": number, "to": number + 1, "text": "x" * 100_000} for number in range(1500)])
    graph = {"from": "far", "startWith": [0, 500, 1000], "connectFromField": "to", "connectToField": "_id", "as": "found"}
    unwound = [{"$match": {"_id": {"$lt": 2}}}, {"$graphLookup": graph}, {"$unwind": {"path": "$found", "includeArrayIndex": "at"}}]
    assert list(things.aggregate([*unwound, {"$group": {"_id": "$_id", "n": {"$sum": 1}, "last": {"$max": "$at"}}}, {"$sort": {"_id": 1}}])) == [
        {"_id": number, "n": 1500, "last": 1499} for number in range(2)]
    # The cursor goes on from operation to operation in the midst of what a document reaches, and of one step of that.
    cursor = things.aggregate([*unwound, {"$project": {"at": 1, "found._id": 1}}], batchSize=7)
    assert [(found["_id"], found["at"]) for found in cursor] == [(number, at) for number in range(2) for at in range(1500)]
    all_is_given_back(server)


def test_values_end_at_64_mb(things):
    for initial, doubled in (("0123456789", {"$concat": ["$$value", "$$value"]}),
                             ([1, 2, 3], {"$concatArrays": ["$$value", "$$value"]}),
                             ("a", {"$replaceAll": {"input": "$$value", "find": "a", "replacement": "aa"}})):
        grown = {"$reduce": {"input": {"$range": [0, 40]}, "initialValue": initial, "in": doubled}}
        refused(PAST_64_MB, lambda: list(things.aggregate([{"$addFields": {"m": grown}}])))
    refused(TOO_LARGE_FOR_A_REPLY, lambda: list(things.aggregate([{"$addFields": {"m": {"$range": [0, 2_000_000]}}}])))
    doubling = [{"$replaceRoot": {"newRoot": {"x": "$$ROOT", "y": "$$ROOT"}}}] * 40
    refused(PAST_64_MB, lambda: list(things.aggregate(doubling)))


BIG = {"$reduce": {"input": {"$range": [0, 22]}, "initialValue": "0123456789", "in": {"$concat": ["$$value", "$$value"]}}}  # 42 MB
GROWING = {
    "let": {"$size": {"$let": {"vars": {f"v{n}": BIG for n in range(100)}, "in": [1]}}},
    "arguments": {"$size": {"$concatArrays": [[BIG]] * 100}},
    "nested": functools.reduce(lambda inner, _: {"$strLenBytes": {"$concat": [BIG, {"$toString": inner}]}}, range(40), 1),
    "object": {"$bsonSize": {f"v{n}": BIG for n in range(100)}},
}


@pytest.mark.parametrize("name", GROWING)
def test_an_operation_has_a_budget(server, things, name):
    """The error is the document's limit or the operation's; what matters is that memory doesn't grow by all of it."""
    with pytest.raises(OperationFailure) as failure:
        list(things.aggregate([{"$match": {"_id": 0}}, {"$addFields": {"m": GROWING[name]}}]))
    assert failure.value.code in (PAST_64_MB, EXCEEDED_MEMORY_LIMIT), failure.value
    all_is_given_back(server)


def operation_memory(server):
    return server.client().admin.command("serverStatus")["operationMemory"]


def all_is_given_back(server):
    """A connection keeps the room of a command's message until the answer has left, which is when the client may have it already."""
    wait_until(lambda: operation_memory(server)["bytes"] == 0, "memory of operations is kept")


def resident_mb(server):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{server.process.pid}/status").read_text())[1]) // 1024


def test_all_operations_together_have_a_budget():
    """Each of many operations keeps 90 MB at once; some are refused, the server stays small, and is small again afterwards."""
    limit_mb = 256
    with Server("--setParameter", f"operationsMemoryLimitBytes={limit_mb << 20}", "--wiredTigerCacheSizeGB", "0.25") as server:
        things = server.client().t.things
        things.insert_many([{"_id": number, "text": "x" * 1_000_000} for number in range(90)])
        codes, most = [], [0]
        over = threading.Event()

        def sort():
            try:
                list(server.client().t.things.aggregate([{"$addFields": {"r": {"$rand": {}}}}, {"$sort": {"r": 1}}, {"$count": "n"}],
                                                          allowDiskUse=False))
            except OperationFailure as failure:
                codes.append(failure.code)

        def watch():
            while not over.wait(0.02):
                most[0] = max(most[0], resident_mb(server))

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(3):
            threads = [threading.Thread(target=sort) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        over.set()
        watcher.join()
        memory = operation_memory(server)
        assert set(codes) == {EXCEEDED_MEMORY_LIMIT} and memory["refused"] >= len(codes) > 0
        assert memory["peakBytes"] <= memory["limitBytes"] == limit_mb << 20
        assert memory["bytes"] < 1 << 20
        # Beside the cache and the pool there are what 16 operations have in hand, and the allocator's slack.
        assert most[0] < 256 + limit_mb + 600, f"{most[0]} MB were resident"
        wait_until(lambda: resident_mb(server) < 256 + limit_mb, f"{resident_mb(server)} MB stay resident")


def test_sorts_and_groups_go_to_disk_when_others_have_taken_the_memory():
    with Server("--setParameter", f"operationsMemoryLimitBytes={64 << 20}", "--setParameter",
                f"operationMemoryLimitBytes={64 << 20}") as server:
        things = server.client().t.things
        things.insert_many([{"_id": number, "n": number * 7919 % 30_000, "text": "x" * 1000} for number in range(30_000)])
        # The cursor keeps what it has sorted: about 35 MB. Beside it there is too little for the others' 35 MB.
        with things.aggregate([{"$sort": {"n": 1}}], batchSize=10) as cursor:
            next(cursor)
            assert operation_memory(server)["bytes"] > 30 << 20
            assert [one["n"] for one in things.find({}, {"n": 1}).sort("n", -1).allow_disk_use(True)] == list(range(29_999, -1, -1))
            copies = [{"$set": {"text": {"$concat": ["$text", {"$toString": "$_id"}]}}}]
            assert [one["n"] for one in things.aggregate([*copies, {"$sort": {"n": -1}}, {"$project": {"n": 1}}])] == \
                list(range(29_999, -1, -1))
            groups = things.aggregate([{"$group": {"_id": "$n", "text": {"$first": "$text"}, "count": {"$sum": 1}}},
                                       {"$group": {"_id": "$count", "groups": {"$sum": 1}, "least": {"$min": "$_id"}}}])
            assert list(groups) == [{"_id": 1, "groups": 30_000, "least": 0}]
            refused(EXCEEDED_MEMORY_LIMIT, lambda: list(things.aggregate([*copies, {"$sort": {"n": -1}}], allowDiskUse=False)))
            assert [one["n"] for one in cursor][-1] == 29_999


def test_groups_that_shrink_stay_whole(server):
    """A group is in memory or on disk, even when there is room in memory again because what others keep has become smaller."""
    things = server.client().t.shrinking
    things.insert_many([{"_id": number, "n": number % 500, "text": "x" * (300_000 if number < 500 else 10)}
                        for number in range(1000)])
    groups = list(things.aggregate([{"$sort": {"_id": 1}}, {"$group": {"_id": "$n", "last": {"$last": "$text"}, "count": {"$sum": 1}}}]))
    assert sorted((one["_id"], len(one["last"]), one["count"]) for one in groups) == [(n, 10, 2) for n in range(500)]
    things.drop()


def test_parameters_limit_the_memory_of_operations(server):
    admin = server.client().admin
    before = admin.command("setParameter", 1, operationMemoryLimitBytes=32 << 20)["was"]
    try:
        refused(EXCEEDED_MEMORY_LIMIT, lambda: list(admin.aggregate([{"$documents": [{}]}, {"$addFields": {"m": {"$strLenBytes": BIG}}}])))
    finally:
        admin.command("setParameter", 1, operationMemoryLimitBytes=before)
    assert operation_memory(server)["limitBytesEach"] == before
    refused(BAD_VALUE, lambda: admin.command("setParameter", 1, operationMemoryLimitBytes=1))


def test_messages_that_arrive_slowly_leave_room_for_operations():
    with Server("--setParameter", f"operationsMemoryLimitBytes={64 << 20}") as server, contextlib.ExitStack() as open_sockets:
        client = server.client()
        client.t.things.insert_one({"_id": 1})
        body = bson.encode({"insert": "things", "documents": [{"_id": 2, "text": "x" * 15_000_000}], "$db": "t"})
        message = struct.pack("<iiiiIB", 21 + len(body), 1, 0, 2013, 0, 0) + body
        senders = []
        for _ in range(8):
            sender = open_sockets.enter_context(socket.create_connection((server.host, server.port)))
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                sender.send(message[:-1])
            senders.append(sender)
        wait_until(lambda: operation_memory(server)["bytes"] > 4 << 20)
        assert client.t.things.find_one({"_id": 1}) == {"_id": 1}
        memory = operation_memory(server)
        assert memory["bytes"] <= 32 << 20
    # They all are gone, and with them what they held.


def test_a_slow_reader_holds_its_reply_and_nothing_more(server):
    db = server.client().t
    db.large.insert_one({"_id": 1, "text": "x" * 15_000_000})
    with socket.create_connection((server.host, server.port)) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send_raw(reader, {"find": "large", "$db": "t"})
        wait_until(lambda: operation_memory(server)["bytes"] > 14_000_000)
        assert db.large.count_documents({}) == 1
    all_is_given_back(server)


def test_an_allocator_that_fails_ends_one_operation():
    """The process may have a gigabyte of addresses, budgets end far above: what fails is the allocator, and nothing else."""
    far = str(16 << 30)
    with Server("--setParameter", f"operationsMemoryLimitBytes={far}", "--setParameter", f"operationMemoryLimitBytes={far}",
                "--wiredTigerCacheSizeGB", "0.25", before=["prlimit", f"--as={1100 << 20}"]) as server:
        client = server.client()
        client.t.things.insert_one({"_id": 1})
        client.t.written.create_index("a")
        over = threading.Event()
        codes, acknowledged, tried = set(), set(), set()

        def compute(names):
            db = server.client().t
            while not over.is_set():
                with contextlib.suppress(PyMongoError):
                    try:
                        list(db.things.aggregate([{"$addFields": {"m": GROWING[next(names)]}}]))
                    except OperationFailure as failure:
                        codes.add(failure.code)

        def write(writer):
            db = server.client(retryWrites=False).t
            for number in itertools.count():
                if over.is_set():
                    return
                ids = [f"{writer} {number} {at}" for at in range(20)]
                tried.update(ids)
                with contextlib.suppress(PyMongoError):
                    db.written.insert_many([{"_id": name, "a": name, "text": "x" * 5_000} for name in ids])
                    acknowledged.update(ids)

        threads = [threading.Thread(target=compute, args=(itertools.cycle(GROWING),)) for _ in range(8)]
        threads += [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
        for thread in threads:
            thread.start()
        wait_until(lambda: EXCEEDED_MEMORY_LIMIT in codes and len(acknowledged) > 2_000)
        over.set()
        for thread in threads:
            thread.join()
        assert server.running(), server.tail()
        assert codes <= {EXCEEDED_MEMORY_LIMIT, PAST_64_MB}, codes
        found = {document["_id"] for document in client.t.written.find({}, {"_id": 1})}
        assert acknowledged <= found <= tried
        assert client.t.command("validate", "written", full=True)["valid"]

"""Time series as applications use them: random measurements compared with a plain collection, many writers, expiry, a kill, branches and snapshots, and the
commands by which tools dump and restore them."""
import datetime
import random
from concurrent.futures import ThreadPoolExecutor

import pymongo
import pytest
from bson import Binary, Int64
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server, raw_command
from tests.support.waiting import wait_until

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
SERIES = {"timeField": "t", "metaField": "m"}


@pytest.fixture(scope="module")
def server():
    with Server("--setParameter", "ttlMonitorSleepSecs=1") as running:
        yield running


def at(seconds):
    return START + datetime.timedelta(seconds=seconds)


def ids(cursor):
    return sorted(document["_id"] for document in cursor)


def buckets(db, name="w"):
    return list(db["system.buckets." + name].find())


def check_buckets(db, name="w", span=3600):
    """Each bucket holds to its limits and says the truth about its measurements."""
    for bucket in buckets(db, name):
        times = bucket["data"]["t"]
        first, last = bucket["control"]["min"]["t"], bucket["control"]["max"]["t"]
        assert list(times) == [str(number) for number in range(len(times))] and 0 < len(times) <= 1000
        assert first <= min(times.values()) and max(times.values()) == last and (last - first).total_seconds() < span
        assert bucket["_id"].generation_time.replace(tzinfo=None) == first.replace(tzinfo=None)
        for field, column in bucket["data"].items():
            if field == "v":
                assert bucket["control"]["min"]["v"] == min(column.values()) and bucket["control"]["max"]["v"] == max(column.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_time_series_answers_as_a_collection_does(db, seed):
    choose = random.Random(seed)
    w, plain = db.create_collection("w", timeseries={**SERIES, "granularity": choose.choice(["seconds", "minutes"])}), db.plain
    number = 0
    for _ in range(25):
        documents = []
        for _ in range(choose.choice([1, 3, 100])):
            number += 1
            document = {"_id": number, "t": at(choose.randrange(20000)), "v": choose.randrange(50)}
            if choose.randrange(5):
                document["m"] = choose.choice([{"s": choose.randrange(3)}, choose.randrange(3), None, "x"])
            if choose.randrange(3) == 0:
                document["x"] = choose.choice([1, "a", {"y": 1}, [1, 2], None])
            documents.append(document)
        w.insert_many(documents, ordered=choose.choice([True, False]))
        plain.insert_many(documents)
        if choose.randrange(4) == 0:
            gone = choose.choice([{"v": choose.randrange(50)}, {"t": {"$lt": at(choose.randrange(2000))}}, {"m.s": choose.randrange(3), "v": {"$gt": 40}}])
            assert w.delete_many(gone).deleted_count == plain.delete_many(gone).deleted_count
    check_buckets(db, span=86400)
    moment = lambda: at(choose.randrange(20000))
    for _ in range(60):
        query = choose.choice([
            {"t": {"$gte": moment(), "$lt": moment()}}, {"t": {"$gt": moment()}, "m.s": 1}, {"m": {"s": 2}, "t": {"$lte": moment()}}, {"m": None},
            {"m": {"$in": [1, "x"]}, "v": {"$gt": 25}}, {"$or": [{"t": {"$lt": at(300)}}, {"t": {"$gt": at(19000)}, "m": 1}]}, {"m.s": {"$exists": False}},
            {"t": {"$in": [moment(), at(19999)]}}, {"t": {"$not": {"$lt": moment()}}}, {"$nor": [{"m": 1}, {"t": {"$gt": moment()}}]}, {"x": {"$type": "object"}},
            {"$and": [{"t": {"$gt": moment()}}, {"t": {"$lt": moment()}}, {"x.y": 1}]}, {"$expr": {"$gt": ["$v", 30]}}])
        assert ids(w.find(query)) == ids(plain.find(query)), query
        assert w.count_documents(query) == plain.count_documents(query)
    found = {document["_id"]: document for document in w.find()}
    assert found == {document["_id"]: document for document in plain.find()}
    by = [{"$group": {"_id": "$m", "n": {"$sum": 1}, "most": {"$max": "$v"}}}, {"$sort": {"n": 1, "most": 1}}]
    assert sorted(map(str, w.aggregate(by))) == sorted(map(str, plain.aggregate(by)))
    assert [one["t"] for one in w.find().sort("t", -1)] == [one["t"] for one in plain.find().sort("t", -1)]


def test_a_bucket_has_at_most_1000_measurements(db):
    w = db.create_collection("w", timeseries=SERIES)
    w.insert_many([{"_id": number, "t": at(number % 50), "m": 1, "v": number} for number in range(2500)])
    check_buckets(db)
    assert sorted(len(bucket["data"]["t"]) for bucket in buckets(db)) == [500, 1000, 1000]
    assert ids(w.find()) == list(range(2500))
    assert w.delete_many({"v": {"$gte": 10}}).deleted_count == 2490
    assert ids(w.find()) == list(range(10))


def test_large_measurements_fill_buckets_early(db):
    w = db.create_collection("w", timeseries=SERIES)
    w.insert_many([{"_id": number, "t": at(number), "m": 1, "text": "x" * 5000} for number in range(100)])
    assert all(len(bucket["data"]["t"]) <= 26 for bucket in buckets(db)) and ids(w.find()) == list(range(100))
    for number in range(100, 110):
        w.insert_one({"_id": number, "t": at(number), "m": 2, "text": "x" * 3_000_000})
    assert ids(w.find({"m": 2}, {"_id": 1})) == list(range(100, 110))
    with pytest.raises(OperationFailure) as failure:
        w.insert_one({"t": at(0), "text": "x" * 4_300_000})
    assert failure.value.code == 10334


def test_many_writers_lose_nothing(db, server):
    db.create_collection("w", timeseries=SERIES)

    def write(writer):
        with server.client() as client:
            w = client[db.name].w
            for number in range(100):
                w.insert_one({"_id": writer * 1000 + number, "t": at(number), "m": number % 2, "v": writer})
            w.insert_many([{"_id": writer * 1000 + number, "t": at(number), "m": 1, "v": writer} for number in range(100, 200)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert ids(db.w.find()) == sorted(writer * 1000 + number for writer in range(8) for number in range(200))
    check_buckets(db)
    # Each full bucket has 1,000; writers that began at the same time may have made a bucket each.
    assert len(buckets(db)) <= 2 + 8 * 2
    assert db.command("validate", "w", full=True)["valid"]


def test_whole_buckets_expire(db):
    now = datetime.datetime.now(datetime.timezone.utc)
    w = db.create_collection("w", timeseries=SERIES, expireAfterSeconds=3600 * 24)
    w.insert_many([{"_id": hours, "t": now - datetime.timedelta(hours=hours), "m": 1} for hours in (1, 5, 30, 31, 50)])
    w.insert_one({"_id": "old", "t": datetime.datetime(1960, 1, 1), "m": 1})
    wait_until(lambda: w.count_documents({}) == 3, "the buckets have not expired")
    assert {one["_id"] for one in w.find()} == {1, 5, "old"}
    db.command("collMod", "w", expireAfterSeconds="off")
    w.insert_one({"_id": 60, "t": now - datetime.timedelta(hours=60), "m": 1})
    wait_until(lambda: w.count_documents({}) == 4)


def test_transactions_read_and_refuse_to_write(one_member):
    with one_member.client() as client:
        client.drop_database("t")
        w = client.t.create_collection("w", timeseries=SERIES)
        w.insert_many([{"_id": number, "t": at(number), "m": 1} for number in range(5)])
        for write in (lambda session: w.insert_one({"t": at(0)}, session=session), lambda session: w.delete_many({}, session=session),
                      lambda session: w.update_many({"m": 1}, {"$set": {"m": 2}}, session=session)):
            with client.start_session() as session, session.start_transaction():
                assert ids(w.find(session=session)) == [0, 1, 2, 3, 4]
                with pytest.raises(OperationFailure) as failure:
                    write(session)
                assert failure.value.code == 263
                session.abort_transaction()
        with pytest.raises(OperationFailure):
            w.watch().next()


def test_a_retried_insert_takes_effect_once(one_member):
    with one_member.client() as client:
        client.drop_database("t")
        client.t.create_collection("w", timeseries=SERIES)
        command = {"insert": "w", "documents": [{"_id": number, "t": at(number), "m": 1} for number in range(5)], "txnNumber": Int64(7),
                   "lsid": {"id": Binary(b"0123456789abcdef", 4)}, "$db": "t"}
        first, again = (raw_command(one_member.host, one_member.port, command) for _ in range(2))
        assert first["n"] == again["n"] == 5 and again["retriedStmtIds"] == [0, 1, 2, 3, 4]
        assert ids(client.t.w.find()) == [0, 1, 2, 3, 4]
        assert len(buckets(client.t)) == 1
        assert client.t.w.delete_one({"_id": 3}).deleted_count == 1
        # Change streams of the database don't show the buckets.
        with client.t.watch(max_await_time_ms=200) as stream:
            client.t.w.insert_one({"t": at(9), "m": 1})
            client.t.c.insert_one({"_id": 1})
            assert next(stream)["ns"]["coll"] == "c"


def test_what_was_acknowledged_outlives_a_kill():
    with Server() as server:
        with server.client() as client:
            w = client.t.create_collection("w", timeseries={**SERIES, "granularity": "hours"}, expireAfterSeconds=10**9)
            w.create_index([("m.s", 1), ("t", -1)])
            w.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_many([{"_id": n, "t": at(n), "m": {"s": n % 3}} for n in range(1500)])
            before, indexes = buckets(client.t), list(w.list_indexes())
        server.kill()
        server.start()
        with server.client() as client:
            w = client.t.w
            assert buckets(client.t) == before and list(w.list_indexes()) == indexes
            assert ids(w.find({"m.s": 1})) == list(range(1, 1500, 3))
            w.insert_many([{"_id": n, "t": at(n), "m": {"s": n % 3}} for n in range(1500, 1800)])
            assert len(buckets(client.t)) == len(before)  # inserts go on with the buckets that there are
            check_buckets(client.t, span=2592000)
            assert client.t.command("validate", "w", full=True)["valid"]


def test_branches_and_snapshots_have_their_own_measurements(db):
    w = db.create_collection("w", timeseries=SERIES)
    w.insert_many([{"_id": number, "t": at(number), "m": 1, "v": number} for number in range(10)])
    db.command("createSnapshot", "before")
    db.command("createBranch", "dev")
    dev, before = db.client[db.name + "@dev"], db.client[db.name + "@before"]
    try:
        dev.w.insert_one({"_id": 10, "t": at(10), "m": 1, "v": 10})
        dev.w.delete_many({"v": {"$lt": 3}})
        w.insert_one({"_id": 11, "t": at(11), "m": 1, "v": 11})
        dev.w.update_many({"m": 1}, {"$set": {"m": 2}})
        assert ids(w.find({"m": 1})) == [*range(10), 11] and ids(dev.w.find({"m": 2})) == list(range(3, 11)) and not ids(dev.w.find({"m": 1}))
        assert ids(before.w.find({"t": {"$gte": at(5)}})) == [5, 6, 7, 8, 9]
        assert {one["name"]: one["type"] for one in before.list_collections()} == {"w": "timeseries", "system.buckets.w": "collection"}
        with pytest.raises(OperationFailure):
            before.w.insert_one({"t": at(0)})
        check_buckets(db)
        check_buckets(dev)
        dev.create_collection("other", timeseries=SERIES)
        dev.other.insert_one({"_id": 1, "t": at(0), "m": 1})
        assert ids(dev.other.find()) == [1] and "other" not in db.list_collection_names()
        db.other.insert_one({"_id": 2})  # a plain collection of that name
        assert ids(db.other.find()) == [2]
        dev.w.drop()
        assert "w" not in dev.list_collection_names() and ids(w.find()) == [*range(10), 11]
    finally:
        db.command("dropBranch", "dev", force=True)
        db.command("dropSnapshot", "before")


def test_tools_dump_and_restore_buckets(db):
    """mongodump reads the options of the time series and the documents of its buckets; mongorestore creates the one and inserts the others."""
    w = db.create_collection("w", timeseries={**SERIES, "granularity": "minutes"}, expireAfterSeconds=10**9)
    w.insert_many([{"_id": n, "t": at(n), "m": n % 3} for n in range(100)])
    w.create_index([("m", -1)])
    found = {one["name"]: one for one in db.list_collections()}
    options, indexes, raw = found["w"]["options"], list(w.list_indexes()), list(db["system.buckets.w"].find_raw_batches(hint="_id_"))
    documents = list(db["system.buckets.w"].find())
    w.drop()
    db.command({"create": "w", **options})
    db.command("createIndexes", "w", indexes=[dict(index) for index in indexes])
    db.command({"insert": "system.buckets.w", "documents": documents, "bypassDocumentValidation": True})
    assert b"".join(db["system.buckets.w"].find_raw_batches(hint="_id_")) == b"".join(raw)
    assert ids(w.find()) == list(range(100)) and [dict(one) for one in w.list_indexes()] == [dict(one) for one in indexes]
    w.insert_one({"_id": 100, "t": at(100), "m": 1})
    assert len(buckets(db)) == 3


def test_roles_for_tools_cover_buckets():
    """A user of a series needs no privilege on its buckets; those who dump and restore have it."""
    with Server("--auth") as server:
        login = lambda name, source: pymongo.MongoClient(server.host, server.port, username=name, password="x", authSource=source, directConnection=True)
        with pymongo.MongoClient(server.host, server.port, directConnection=True) as first:
            first.admin.command("createUser", "root", pwd="x", roles=["root"])
        with login("root", "admin") as root:
            for name, role in (("writer", "readWrite"), ("reader", "read")):
                root.t.command("createUser", name, pwd="x", roles=[role])
            for name in ("backup", "restore"):
                root.admin.command("createUser", name, pwd="x", roles=[name])
            with login("writer", "t") as writer, login("reader", "t") as reader:
                writer.t.create_collection("w", timeseries=SERIES).insert_one({"_id": 1, "t": at(0), "m": 1})
                assert ids(reader.t.w.find()) == [1]
                for refused in (lambda: list(reader.t["system.buckets.w"].find()), lambda: writer.t["system.buckets.w"].insert_one({}),
                                lambda: reader.t.w.insert_one({"t": at(0)})):
                    with pytest.raises(OperationFailure) as failure:
                        refused()
                    assert failure.value.code == 13
            with login("backup", "admin") as backup, login("restore", "admin") as restore:
                documents = list(backup.t["system.buckets.w"].find())
                root.t.w.drop()
                restore.t.create_collection("w", timeseries=SERIES)
                restore.t["system.buckets.w"].insert_many(documents)
            assert ids(root.t.w.find()) == [1] and len(buckets(root.t)) == 1

"""These tests use the official Python driver against a real server: what an application does first."""
import datetime
import decimal
import random
import threading

import bson
import pymongo
import pytest
from pymongo import ASCENDING, DESCENDING, DeleteOne, InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError, CollectionInvalid, DuplicateKeyError, ExecutionTimeout, OperationFailure

from tests.support.revisions import settle


def test_the_driver_takes_it_for_a_standalone(server):
    client = server.client()
    hello = client.admin.command("hello")
    assert hello["isWritablePrimary"] and hello["maxWireVersion"] == 21
    assert "setName" not in hello
    assert client.server_info()["version"].startswith("7.0")
    assert client.admin.command("ping")["ok"] == 1


def test_every_bson_type_comes_back_as_it_went(db):
    document = {
        "_id": bson.ObjectId(),
        "double": 1.5,
        "string": "grüße, 世界 \u0000 inside",
        "object": {"a": {"b": {"c": 1}}},
        "array": [1, "two", [3], {"four": 4}],
        "binary": bson.Binary(b"\x00\xff", 0x80),
        "uuid": bson.Binary(b"0123456789abcdef", 4),
        "true": True,
        "date": datetime.datetime(2026, 11, 20, 10, 15, 0, 123000),
        "old date": datetime.datetime(1901, 1, 1),
        "null": None,
        "regex": bson.Regex("^a.*b$", "im"),
        "code": bson.Code("function() {}"),
        "scoped": bson.Code("x", {"x": 1}),
        "int": 2**31 - 1,
        "long": bson.Int64(2**62),
        "timestamp": bson.Timestamp(100, 7),
        "decimal": bson.Decimal128(decimal.Decimal("0.1")),
        "min": bson.MinKey(),
        "max": bson.MaxKey(),
        "": "empty name",
    }
    db.c.insert_one(document)
    assert db.c.find_one({"_id": document["_id"]}) == document
    raw = db.get_collection("c", codec_options=bson.CodecOptions(document_class=bson.raw_bson.RawBSONDocument))
    assert raw.find_one().raw == bson.encode(document)


def test_insert_find_update_delete(db):
    db.c.insert_many([{"_id": i, "n": i % 10, "text": "x" * i} for i in range(500)])
    assert db.c.count_documents({}) == 500
    assert db.c.estimated_document_count() == 500
    assert [d["_id"] for d in db.c.find({"n": 3}).sort("_id", DESCENDING).skip(2).limit(3)] == [473, 463, 453]
    assert db.c.find_one({"_id": 7}, {"n": 1, "_id": 0}) == {"n": 7}
    assert db.c.distinct("n") == list(range(10))
    changed = db.c.update_many({"n": 4}, {"$inc": {"n": 100}, "$set": {"deep.er": [1]}})
    assert (changed.matched_count, changed.modified_count) == (50, 50)
    assert db.c.count_documents({"deep.er": 1}) == 50
    assert db.c.replace_one({"_id": 1}, {"fresh": True}).modified_count == 1
    assert db.c.find_one({"_id": 1}) == {"_id": 1, "fresh": True}
    assert db.c.update_one({"_id": "new"}, {"$set": {"a": 1}}, upsert=True).upserted_id == "new"
    assert db.c.delete_many({"n": {"$lt": 2}}).deleted_count == 99
    assert db.c.delete_one({"_id": "new"}).deleted_count == 1
    assert db.c.count_documents({}) == 401


def test_cursors_go_on_over_many_batches(db):
    db.c.insert_many([{"_id": i, "pad": "p" * 1000} for i in range(3000)])
    assert [d["_id"] for d in db.c.find().batch_size(7)] == list(range(3000))
    cursor = db.c.find().batch_size(10)
    next(cursor)
    cursor.close()
    with pytest.raises(OperationFailure) as error:
        db.command("getMore", bson.Int64(123456789), collection="c")
    assert error.value.code == 43


def test_find_and_modify(db):
    db.c.insert_one({"_id": 1, "n": 1})
    assert db.c.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}})["n"] == 1
    assert db.c.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}}, return_document=True)["n"] == 3
    assert db.c.find_one_and_replace({"_id": 2}, {"n": 9}, upsert=True, return_document=True) == {"_id": 2, "n": 9}
    assert db.c.find_one_and_delete({}, sort=[("n", -1)]) == {"_id": 2, "n": 9}
    assert db.c.find_one_and_delete({"_id": 99}) is None


def test_bulk_writes_report_each_error(db):
    db.c.create_index("u", unique=True)
    result = db.c.bulk_write([
        InsertOne({"_id": 1, "u": 1}),
        UpdateOne({"_id": 1}, {"$set": {"x": 1}}),
        UpdateMany({"x": 1}, {"$inc": {"x": 1}}),
        ReplaceOne({"_id": 2}, {"u": 2}, upsert=True),
        DeleteOne({"_id": 1}),
    ])
    assert (result.inserted_count, result.modified_count, result.upserted_count, result.deleted_count) == (1, 2, 1, 1)
    with pytest.raises(BulkWriteError) as error:
        db.c.insert_many([{"u": 10}, {"u": 2}, {"u": 11}, {"u": 10}], ordered=False)
    details = error.value.details
    assert details["nInserted"] == 2
    assert [(e["index"], e["code"]) for e in details["writeErrors"]] == [(1, 11000), (3, 11000)]
    assert details["writeErrors"][0]["keyPattern"] == {"u": 1} and details["writeErrors"][0]["keyValue"] == {"u": 2}
    with pytest.raises(BulkWriteError) as error:
        db.c.insert_many([{"u": 20}, {"u": 2}, {"u": 21}])
    assert error.value.details["nInserted"] == 1
    assert db.c.count_documents({"u": 21}) == 0


def test_indexes_are_used_and_kept_true(db):
    db.c.insert_many([{"_id": i, "a": i % 50, "b": i, "tags": [f"t{i % 7}", f"t{i % 11}"]} for i in range(2000)])
    assert db.c.create_index([("a", ASCENDING), ("b", DESCENDING)]) == "a_1_b_-1"
    db.c.create_index("tags")
    assert set(db.c.index_information()) == {"_id_", "a_1_b_-1", "tags_1"}

    def stages(plan):
        return [plan["stage"], *stages(plan["inputStage"])] if "inputStage" in plan else [plan["stage"]]

    plan = db.c.find({"a": 7, "b": {"$gte": 1000}}).sort("b", -1).explain()
    assert "IXSCAN" in stages(plan["queryPlanner"]["winningPlan"]) and "SORT" not in stages(plan["queryPlanner"]["winningPlan"])
    assert plan["executionStats"]["totalDocsExamined"] == 20
    assert [d["b"] for d in db.c.find({"a": 7, "b": {"$gte": 1000}}).sort("b", -1)] == list(range(1957, 1000, -50))
    assert "IXSCAN" in stages(db.c.find({"tags": "t3"}).explain()["queryPlanner"]["winningPlan"])
    assert db.c.count_documents({"tags": "t3"}) == sum(1 for i in range(2000) if i % 7 == 3 or i % 11 == 3)
    assert "COLLSCAN" in stages(db.c.find({"b": 3}).explain()["queryPlanner"]["winningPlan"])
    db.c.update_many({"tags": "t3"}, {"$set": {"tags": ["gone"]}})
    assert db.c.count_documents({"tags": "t3"}) == 0
    db.c.drop_index("tags_1")
    assert db.validate_collection("c", full=True)["valid"]


def test_unique_indexes_refuse_doubles(db):
    db.users.create_index("email", unique=True)
    db.users.insert_one({"email": "a@b.c"})
    with pytest.raises(DuplicateKeyError) as error:
        db.users.insert_one({"email": "a@b.c"})
    assert "E11000 duplicate key error collection: " + db.users.full_name in str(error.value)
    assert error.value.details["keyValue"] == {"email": "a@b.c"}
    db.users.insert_one({"_id": 5})
    with pytest.raises(DuplicateKeyError):
        db.users.insert_one({"_id": 6})
    with pytest.raises(DuplicateKeyError):
        db.users.insert_one({"_id": 5, "email": "x"})
    db.c.insert_many([{"x": 1}, {"x": 1}])
    with pytest.raises(DuplicateKeyError):
        db.c.create_index("x", unique=True)
    assert set(db.c.index_information()) == {"_id_"}


def test_aggregation(db):
    db.orders.insert_many([{"_id": i, "customer": i % 5, "total": i, "lines": [{"sku": i % 3, "n": 1}, {"sku": i % 4, "n": 2}]}
                           for i in range(100)])
    db.customers.insert_many([{"_id": i, "name": f"c{i}"} for i in range(5)])
    result = list(db.orders.aggregate([
        {"$match": {"total": {"$gte": 50}}},
        {"$group": {"_id": "$customer", "sum": {"$sum": "$total"}, "n": {"$sum": 1}, "max": {"$max": "$total"}}},
        {"$sort": {"_id": 1}},
        {"$lookup": {"from": "customers", "localField": "_id", "foreignField": "_id", "as": "customer"}},
        {"$addFields": {"name": {"$arrayElemAt": ["$customer.name", 0]}}},
        {"$project": {"customer": 0}},
    ]))
    assert result == [{"_id": c, "sum": sum(i for i in range(50, 100) if i % 5 == c), "n": 10, "max": 95 + c, "name": f"c{c}"}
                      for c in range(5)]
    assert list(db.orders.aggregate([{"$unwind": "$lines"}, {"$match": {"lines.sku": 0}}, {"$count": "n"}])) == [
        {"n": sum((i % 3 == 0) + (i % 4 == 0) for i in range(100))}]
    assert len(list(db.orders.aggregate([{"$sort": {"total": -1}}, {"$skip": 5}, {"$limit": 7}], batchSize=2))) == 7


def test_what_one_document_is_multiplied_to_can_be_stopped(server, db):
    db.c.insert_one({"n": 1})
    endless = [stage for name in "abcdefgh" for stage in ({"$set": {name: {"$range": [0, 100]}}}, {"$unwind": "$" + name})] + [{"$count": "n"}]
    with pytest.raises(ExecutionTimeout):
        db.c.aggregate(endless, maxTimeMS=50)
    failed = []

    def run():
        try:
            with server.client() as own:
                own[db.name].c.aggregate(endless, comment="to be killed")
        except OperationFailure as error:
            failed.append(error.code)

    running = threading.Thread(target=run)
    running.start()
    while running.is_alive():
        for one in db.client.admin.aggregate([{"$currentOp": {}}, {"$match": {"command.comment": "to be killed"}}]):
            db.client.admin.command("killOp", op=one["opid"])
    running.join()
    assert failed == [11601]


def test_collections_and_databases(server, db):
    with pytest.raises(CollectionInvalid):
        db.create_collection("made")
        db.create_collection("made")
    db.other.insert_one({})
    assert sorted(db.list_collection_names()) == ["made", "other"]
    assert db.name in db.client.list_database_names()
    db.other.rename("renamed")
    assert sorted(db.list_collection_names()) == ["made", "renamed"]
    stats = db.command("collStats", "renamed")
    assert stats["count"] == 1 and stats["ns"] == f"{db.name}.renamed" and stats["nindexes"] == 1
    assert db.command("dbStats")["collections"] == 2
    db.renamed.drop()
    assert db.list_collection_names() == ["made"]
    db.client.drop_database(db.name)
    assert db.name not in db.client.list_database_names()


def test_refusals_have_mongodbs_codes(db):
    for command, code in [
        ({"frobnicate": 1}, 59),
        ({"find": "c", "filter": {"a": {"$frob": 1}}}, 2),
        ({"aggregate": "c", "pipeline": [{"$frob": 1}], "cursor": {}}, 40324),
        ({"find": "c", "nonsense": 1}, 40415),
        ({"drop": "missing"}, None),
        ({"createIndexes": "c", "indexes": []}, 2),
        ({"insert": "c", "documents": []}, 16),
        ({"listDatabases": 1}, 13),
    ]:
        if code is None:
            assert db.command(command)["ok"] == 1
            continue
        with pytest.raises(OperationFailure) as error:
            db.command(command)
            raise AssertionError(command)
        assert error.value.code == code, (command, error.value.details)


def test_no_update_is_lost_between_threads(db):
    db.c.insert_one({"_id": 1, "n": 0})

    def work():
        for _ in range(100):
            db.c.update_one({"_id": 1}, {"$inc": {"n": 1}})

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert db.c.find_one()["n"] == 800


@pytest.mark.parametrize("compressor", ["zstd", "snappy", "zlib"])
def test_compressors(server, compressor):
    client = server.client(compressors=compressor)
    client.compressed.c.insert_many([{"text": "again and again " * 100} for _ in range(100)])
    assert sum(len(d["text"]) for d in client.compressed.c.find()) == 160000
    client.drop_database("compressed")


def test_similar_documents_cost_almost_nothing(server):
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9))) for _ in range(2000)]
    text = [generator.choice(words) for _ in range(1500)]
    client = server.client()
    originals = {}
    for version in range(200):
        for _ in range(3):
            text[generator.randrange(len(text))] = generator.choice(words)
        originals[version] = " ".join(text)
        client.revisions.pages.insert_one({"_id": version, "text": originals[version]})
    settle(client)
    stats = client.revisions.command("collStats", "pages")["dedup"]
    assert stats["logicalBytes"] > 10 * stats["storedBytes"], stats
    assert {d["_id"]: d["text"] for d in client.revisions.pages.find()} == originals
    explained = client.revisions.pages.find({"_id": 199}).explain()
    assert explained["executionStats"]["dedupHops"] == 0
    client.drop_database("revisions")


def test_connections_by_the_hundred(server):
    clients = [server.client(maxPoolSize=1) for _ in range(100)]
    assert all(client.admin.command("ping")["ok"] == 1 for client in clients)
    [client.close() for client in clients]


def test_pymongo_is_the_pinned_one():
    assert pymongo.version == "4.10.1"

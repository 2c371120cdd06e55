"""These tests dump and restore as mongodump and mongorestore do: what comes back is what was there."""
import concurrent.futures
import datetime
import random
import threading
import time
import uuid

import bson
import pymongo
import pytest
from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until
from tests.tools.conversations import Restore, dump

RAW = CodecOptions(RawBSONDocument)


def element(kind, name, value):
    return bytes([kind]) + name.encode() + b"\0" + value


def document(*elements):
    body = b"".join(elements) + b"\0"
    return RawBSONDocument((len(body) + 4).to_bytes(4, "little") + body)


# A document with the types that drivers don't write any more, but that dumps of old databases hold.
DEPRECATED = document(element(0x10, "_id", (99).to_bytes(4, "little")), element(0x06, "undefined", b""),
                      element(0x0C, "pointer", (4).to_bytes(4, "little") + b"a.b\0" + bytes(range(12))),
                      element(0x0E, "symbol", (3).to_bytes(4, "little") + b"ab\0"))

ALL_TYPES = {
    "double": 1.5, "nan": float("nan"), "minus zero": -0.0, "infinite": float("-inf"), "string": "ü\0🐈", "empty": "", "object": {"a": {"b": {}}},
    "array": [1, [2, []], {"c": None}], "binary": Binary(b"\0\1", 0), "old binary": Binary(b"x", 2), "user": Binary(b"\xff", 128), "uuid": Binary.from_uuid(uuid.UUID(int=7)),
    "id": ObjectId(), "true": True, "date": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000), "null": None, "regex": Regex("a/b\\.", "imx"),
    "reference": DBRef("c", 5), "code": Code("f()"), "scoped": Code("f(x)", {"x": 1}), "int": 7, "long": Int64(7), "large": 1 << 62, "decimal": Decimal128("-1E+6000"),
    "timestamp": Timestamp(5, 6), "zero": Timestamp(0, 0), "nested": {"zero": Timestamp(0, 0)}, "min": MinKey(), "max": MaxKey(), "": "nameless", "$set": 1, "a.b": 2,
}


def content(database):
    """Everything that a dump must contain, by collection: its documents as sorted bytes, its options, its indexes."""
    found = {}
    for one in database.list_collections():
        name = one["name"]
        documents = sorted(each.raw for each in database.get_collection(name, codec_options=RAW).find())
        indexes = sorted((index.to_dict() for index in database[name].list_indexes()), key=lambda index: index["name"])
        found[name] = (documents, one["options"], indexes)
    return found


def sizes(database):
    return {name: len(of[0]) for name, of in content(database).items()}


def test_every_type_comes_back_byte_for_byte(client, name, tmp_path):
    database = client[name]
    raw = database.get_collection("types", codec_options=RAW)
    ids = [1, Int64(2), 3.5, "four", ObjectId(), {"a": 1}, True, None, Decimal128("5.50"), datetime.datetime(2020, 1, 1), Binary(b"x", 5), Timestamp(0, 0), MinKey(), MaxKey()]
    documents = [RawBSONDocument(bson.encode({"_id": one, **ALL_TYPES})) for one in ids]
    database.command("insert", "types", documents=[*documents, DEPRECATED], bypassEmptyTsReplacement=True)
    assert {one.raw for one in raw.find()} == {one.raw for one in [*documents, DEPRECATED]}
    before = content(database)
    dump(client, tmp_path, db=name)
    client.drop_database(name)
    restore = Restore(client, tmp_path)
    assert restore.zero_timestamps and restore.failures == 0
    assert content(database) == before


def test_indexes_and_options_come_back(client, name, tmp_path):
    database = client[name]
    database.create_collection("events", capped=True, size=1 << 20, max=500)
    database.create_collection("pages", dedup={"profile": "archive", "key": "title"})
    database.create_collection("empty")
    database.events.insert_many([{"_id": i, "text": "x" * 100} for i in range(600)])
    pages = database.pages
    pages.insert_many([{"_id": i, "title": f"t{i % 7}", "tags": ["a", f"b{i % 5}"], "at": datetime.datetime(2030, 1, 1), "n": {"x": i}} for i in range(200)])
    pages.create_index([("title", 1), ("n.x", -1)], name="ключ 🔑", unique=True)
    pages.create_index("tags")
    pages.create_index("sparse", sparse=True)
    pages.create_index("partial", partialFilterExpression={"n.x": {"$gt": 100}})
    pages.create_index("at", expireAfterSeconds=3600)
    pages.create_index("hidden", hidden=True)
    pages.create_index([("down", pymongo.DESCENDING)], background=True)
    before = content(database)
    assert len(before["events"][0]) == 500 and len(before["pages"][2]) == 8
    dump(client, tmp_path, db=name)
    client.drop_database(name)
    Restore(client, tmp_path)
    assert content(database) == before
    assert database.events.options()["max"] == 500
    with pytest.raises(OperationFailure):
        pages.insert_one({"title": "t0", "n": {"x": 0}})


def test_validators_and_views_come_back(client, name, tmp_path):
    database = client[name]
    database.create_collection("people", validator={"$jsonSchema": {"required": ["name"]}}, validationLevel="moderate")
    database.people.insert_many([{"_id": i, "name": f"n{i}", "age": i} for i in range(100)])
    database.create_collection("adults", viewOn="people", pipeline=[{"$match": {"age": {"$gte": 18}}}])
    database.create_collection("names", viewOn="adults", pipeline=[{"$project": {"name": 1}}])
    before = list(database.list_collections(filter={"name": {"$in": ["adults", "names"]}})), database.people.options()
    dump(client, tmp_path, db=name)
    client.drop_database(name)
    Restore(client, tmp_path)
    assert (list(database.list_collections(filter={"name": {"$in": ["adults", "names"]}})), database.people.options()) == before
    assert database.names.count_documents({}) == 82 and database.names.find_one({"_id": 50}) == {"_id": 50, "name": "n50"}
    with pytest.raises(OperationFailure):
        database.people.insert_one({})


def test_names_of_all_kinds_and_many_documents(client, tmp_path):
    database = client["données"]
    random.seed(25)
    rows = [{"_id": i, "имя": random.choice(["Анна", "Борис", "李"]), "n": random.random(), "text": "word " * random.randrange(60)} for i in range(20000)]
    database["кошки 🐈/собаки%.x"].insert_many(rows)
    database["кошки 🐈/собаки%.x"].create_index("имя")
    database["a.b.c"].insert_one({"_id": 1})
    before = content(database)
    dump(client, tmp_path)
    client.drop_database(database.name)
    restore = Restore(client, tmp_path, of=database.name)
    assert restore.failures == 0 and content(database) == before


def test_large_documents_go_in_messages_of_48_megabytes(client, name, tmp_path):
    database = client[name]
    random.seed(48)
    largest = 16 * 1024 * 1024 - len(bson.encode({"_id": 0, "b": b""}))
    database.c.insert_many([{"_id": i, "b": random.randbytes(largest)} for i in range(3)])
    database.c.insert_many([{"_id": i, "b": random.randbytes(600_000)} for i in range(3, 90)])
    before = content(database)
    dump(client, tmp_path)
    client.drop_database(name)
    Restore(client, tmp_path, of=name)
    assert content(database) == before


def test_a_part_of_a_database(client, name, tmp_path):
    database = client[name]
    database.c.insert_many([{"_id": i, "a": i % 10} for i in range(1000)])
    database.c.create_index("a")
    database.other.insert_one({"_id": 1})
    dump(client, tmp_path / "query", db=name, collection="c", query={"a": {"$gte": 8}, "_id": {"$lt": 500}})
    dump(client, tmp_path / "one", db=name, collection="c")
    dump(client, tmp_path / "none", db=name, collection="missing")
    assert not (tmp_path / "none").exists()
    there = f"{name}_there"
    Restore(client, tmp_path / "query", db=there, of=name)
    assert sizes(client[there]) == {"c": 100} and len(list(client[there].c.list_indexes())) == 2
    Restore(client, tmp_path / "one", db=there, of=name, drop=True)
    assert sizes(client[there]) == {"c": 1000}


def test_what_is_there_already(client, name, tmp_path):
    database = client[name]
    database.c.insert_many([{"_id": i, "v": 1} for i in range(2500)])
    dump(client, tmp_path)
    database.c.delete_many({"_id": {"$gte": 2000}})
    database.c.update_many({}, {"$set": {"v": 2}})
    database.c.insert_one({"_id": "new"})
    assert Restore(client, tmp_path, of=name).failures == 2000
    assert database.c.count_documents({"v": 2}) == 2000 and database.c.count_documents({"v": 1}) == 500
    assert Restore(client, tmp_path, of=name, drop=True).failures == 0
    assert database.c.count_documents({"v": 1}) == database.c.estimated_document_count() == 2500


def test_a_branch_and_a_snapshot_are_databases_to_the_tools(client, name, tmp_path):
    main = client[name]
    main.c.insert_many([{"_id": i, "where": "main"} for i in range(50)])
    main.c.create_index("where")
    client.admin.command("createSnapshot", 1, name=f"before-{name}")
    main.command("createBranch", "dev")
    dev = client[f"{name}@dev"]
    dev.c.update_many({"_id": {"$lt": 10}}, {"$set": {"where": "dev"}})
    dev.fresh.insert_one({"_id": 1})
    main.c.delete_many({"_id": {"$gte": 40}})
    main.late.insert_one({"_id": 1})
    expected = {ref: sizes(client[f"{name}{ref}"]) for ref in ("", "@dev", f"@before-{name}")}
    assert expected == {"": {"c": 40, "late": 1}, "@dev": {"c": 50, "fresh": 1}, f"@before-{name}": {"c": 50}}
    for number, (ref, found) in enumerate(expected.items()):
        source, target = f"{name}{ref}", f"{name}_{number}"
        dump(client, tmp_path / "each", db=source)
        Restore(client, tmp_path / "each", db=target, of=source)
        assert content(client[target]) == content(client[source]) and sizes(client[target]) == found
    # A dump of all databases has each of them once, and no branch or snapshot.
    dump(client, tmp_path / "all")
    assert not [one for one in (tmp_path / "all").iterdir() if "@" in one.name]
    # A dump can be restored into a branch.
    main.command("createBranch", "restored")
    Restore(client, tmp_path / "each", db=f"{name}@restored", of=f"{name}@dev", drop=True)
    assert sizes(client[f"{name}@restored"]) == {"c": 50, "fresh": 1} and sizes(main) == expected[""]
    # A snapshot takes no writes.
    with pytest.raises(OperationFailure) as failure:
        Restore(client, tmp_path / "each", db=f"{name}@before-{name}", of=f"{name}@dev")
    assert failure.value.code == 20
    client.admin.command("dropSnapshot", f"before-{name}")


# These are metadata files as mongodump wrote them when it dumped servers of versions 2.6 to 7.0.
OF_OTHERS = {
    "plain": """{"indexes":[{"v":{"$numberInt":"2"},"key":{"_id":{"$numberInt":"1"}},"name":"_id_"}],
                 "uuid":"f1b3a5e2c3d4405e9f0a1b2c3d4e5f60","collectionName":"plain","type":"collection"}""",
    "old": """{"options":{},"indexes":[{"v":1,"key":{"_id":1},"name":"_id_","ns":"of.old"},
               {"v":1,"key":{"a":{"$numberDouble":"1.0"},"b.c":{"$numberLong":"-1"}},"name":"a_1_b.c_-1","ns":"of.old","background":true,"safe":null,"w":1,"dropDups":true},
               {"v":1,"unique":true,"key":{"u":1},"name":"u_1","ns":"of.old","sparse":1,"expireAfterSeconds":{"$numberDouble":"86400.0"}}]}""",
    "log": """{"options":{"capped":true,"size":{"$numberInt":"4096"},"max":{"$numberLong":"10"},"autoIndexId":true},
               "indexes":[{"v":{"$numberInt":"2"},"key":{"_id":{"$numberInt":"1"}},"name":"_id_","ns":"of.log"}],"uuid":"","collectionName":"log"}""",
}


def test_dumps_of_other_servers(client, name, tmp_path):
    (tmp_path / "of").mkdir()
    for collection, metadata in OF_OTHERS.items():
        (tmp_path / "of" / f"{collection}.metadata.json").write_text(metadata)
        (tmp_path / "of" / f"{collection}.bson").write_bytes(b"".join(bson.encode({"_id": i, "a": i, "b": {"c": i}}) for i in range(20)))
    Restore(client, tmp_path, db=name)
    database = client[name]
    assert sizes(database) == {"plain": 20, "old": 20, "log": 10}
    indexes = {one["name"]: one.to_dict() for one in database.old.list_indexes()}
    assert set(indexes) == {"_id_", "a_1_b.c_-1", "u_1"} and indexes["u_1"]["expireAfterSeconds"] == 86400 and indexes["u_1"]["v"] == 2
    assert database.log.options()["capped"]


def test_a_set_has_on_all_members_what_was_restored(client, name, tmp_path):
    client[name].a.insert_many([{"_id": i, "text": f"text {i % 50} " * 20} for i in range(5000)])
    client[name].a.create_index("text")
    client[name].b.insert_many([{"_id": i} for i in range(3000)])
    dump(client, tmp_path, db=name)
    with ReplicaSet(3) as replica_set:
        there = replica_set.client()
        for drop in (False, True):
            assert Restore(there, tmp_path, drop=drop).failures == 0
            assert content(there[name]) == content(client[name])
        replica_set.check_same()
        # This is a dump of a secondary.
        replica_set.wait_same_place()
        dump(replica_set.secondaries()[0].direct, tmp_path / "secondary", db=name)
        client.drop_database(name)
        Restore(client, tmp_path / "secondary")
        assert content(client[name]) == content(there[name])


def busy(database, number, stop):
    """Writes to a database while it is dumped. Each pass takes the next `number`, so that its documents are new."""
    while not stop.is_set():
        number += 1
        database.c.insert_many([{"_id": f"{number}-{i}", "n": number, "text": "text " * 50} for i in range(5)])
        database.c.update_many({"n": number}, {"$set": {"changed": number}, "$unset": {"text": 1}})
        database.c.update_one({"_id": 0}, {"$inc": {"n": 1}, "$push": {"list": {"$each": [number], "$slice": -5}}}, upsert=True)
        database.c.replace_one({"_id": 1}, {"number": number, "zero": Timestamp(1, number)}, upsert=True)
        database.c.find_one_and_delete({"n": number - 1})
        database.c.update_one({"_id": f"old-{number % 1_000_000}"}, {"$set": {"changed": number, "more": "text"}})
        database.c.delete_one({"_id": f"old-{number % 1_000_000 - 1}"})
        database[f"made{number % 3}"].insert_one({"_id": number})
        if number % 5 == 0:
            database[f"made{number % 3}"].drop()
            database.c.create_index("changed")
        if number % 5 == 2:
            database.c.drop_indexes()


def test_a_dump_with_the_oplog_is_the_state_at_its_end(tmp_path):
    with ReplicaSet(1) as replica_set, Server() as elsewhere:
        client = replica_set.client()
        database = client["shop"]
        database.c.insert_many([{"_id": f"old-{i}", "n": i} for i in range(2000)])
        database.create_collection("made1")
        for turn in range(3):
            stop, writing = threading.Event(), []
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                def begun():
                    writing.append(pool.submit(busy, database, 1_000_000 * turn, stop))
                    time.sleep(turn * 0.5)  # some documents are changed or removed before the dump reads them

                def done():
                    enough = database.c.count_documents({"changed": {"$exists": True}}) + 60
                    wait_until(lambda: writing[0].done() or database.c.count_documents({"changed": {"$exists": True}}) >= enough)
                    stop.set()
                    writing[0].result()

                dump(client, tmp_path, oplog=True, begun=begun, done=done)
            with elsewhere.client() as other:
                Restore(other, tmp_path, drop=True, oplog_replay=True)
                assert (tmp_path / "oplog.bson").stat().st_size > 10000
                restored, there = content(other["shop"]), content(database)
                assert {name: of[:2] for name, of in restored.items()} == {name: of[:2] for name, of in there.items()}
                assert [one["name"] for one in restored["c"][2]] == [one["name"] for one in there["c"][2]]
                other.drop_database("shop")
            for file in sorted(tmp_path.rglob("*"), reverse=True):
                file.unlink() if file.is_file() else file.rmdir()

"""These tests use mongoimport's modes and mongoexport's queries."""
import bson
import pytest
from bson import Decimal128, Int64, ObjectId, Timestamp
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.tools.conversations import export, import_documents, read_lines
from tests.tools.dump_restore_test import ALL_TYPES


def raw(database, name):
    return sorted(one.raw for one in database.get_collection(name, codec_options=CodecOptions(RawBSONDocument)).find())


def test_what_is_exported_as_canonical_json_comes_back_with_its_types(client, name):
    database = client[name]
    kept = {field: value for field, value in ALL_TYPES.items() if not field.startswith("$")}
    database.command("insert", "c", documents=[{"_id": one, **kept} for one in (1, Int64(2), 3.5, ObjectId(), Decimal128("1.5"))], bypassEmptyTsReplacement=True)
    lines = export(database, "c")
    assert len(lines) == 5
    assert import_documents(database, "again", read_lines(lines)) == (5, 0)
    assert raw(database, "again") == raw(database, "c")


def test_many_documents(client, name):
    database = client[name]
    rows = [{"_id": i, "имя": f"name {i % 100}", "n": {"x": i / 3}} for i in range(20000)]
    assert import_documents(database, "c", rows) == (20000, 0)
    assert read_lines(export(database, "c")) == rows
    assert import_documents(database, "c", rows, drop=True) == (20000, 0)
    assert import_documents(database, "c", rows) == (0, 20000)


def test_export_takes_queries_fields_sorts_and_ranges(client, name):
    database = client[name]
    database.c.insert_many([{"_id": i, "a": {"b": i % 10, "c": [i]}, "d": "x"} for i in range(100)])
    assert export(database, "missing") == []
    assert [one["_id"] for one in read_lines(export(database, "c", query={"a.b": {"$in": [3]}}, sort={"_id": -1}, limit=3))] == [93, 83, 73]
    assert read_lines(export(database, "c", fields=["a.c", "missing"], skip=98)) == [{"_id": i, "a": {"b": i % 10, "c": [i]}} for i in (98, 99)]
    assert len(export(database, "c", query={"a.c": {"$elemMatch": {"$gte": 50}}})) == 50
    database.command("createBranch", "dev")
    client[f"{name}@dev"].c.delete_many({"_id": {"$gte": 10}})
    assert (len(export(client[f"{name}@dev"], "c")), len(export(database, "c"))) == (10, 100)


@pytest.mark.parametrize("of", ["", "@dev"])
def test_import_inserts_replaces_merges_and_deletes(client, name, of):
    client[name].c.insert_one({"_id": "first"})
    if of:
        client[name].command("createBranch", "dev")
    database = client[f"{name}{of}"]
    database.c.delete_many({})
    assert import_documents(database, "c", [{"_id": i, "key": {"k": i % 2, "n": i}, "a": 1} for i in range(4)]) == (4, 0)
    assert import_documents(database, "c", [{"_id": 0, "b": 1}, {"_id": 9, "b": 9}], mode="upsert") == (2, 0)
    assert import_documents(database, "c", [{"_id": 1, "b": 1, "z": Timestamp(0, 0)}, {"_id": 8, "b": 8}], mode="merge") == (2, 0)
    assert import_documents(database, "c", [{"key": {"k": 1, "n": 3}, "whole": True}], mode="upsert", fields=("key.k", "key.n")) == (1, 0)
    assert import_documents(database, "c", [{"key": {"k": 0, "n": 2}, "more": True}, {"key": {"k": 5, "n": 5}}], mode="merge", fields=("key.k", "key.n")) == (2, 0)
    assert import_documents(database, "c", [{"_id": 8}, {"_id": 77}], mode="delete") == (1, 0)
    made = database.c.find_one({"key.k": 5})
    assert isinstance(made.pop("_id"), ObjectId) and made == {"key": {"k": 5, "n": 5}}
    assert [one for one in database.c.find({"key.k": {"$ne": 5}}).sort("_id")] == [
        {"_id": 0, "b": 1}, {"_id": 1, "key": {"k": 1, "n": 1}, "a": 1, "b": 1, "z": Timestamp(0, 0)}, {"_id": 2, "key": {"k": 0, "n": 2}, "a": 1, "more": True},
        {"_id": 3, "key": {"k": 1, "n": 3}, "whole": True}, {"_id": 9, "b": 9}]


def test_import_meets_duplicates_and_what_cant_be_stored(client, name):
    database = client[name]
    database.c.create_index("u", unique=True)
    assert import_documents(database, "c", [{"_id": 1, "u": 1}, {"_id": 2, "u": 1}, {"_id": 3, "u": 3}, {"_id": [4]}]) == (2, 2)
    # The import is ordered: the first error ends it.
    assert import_documents(database, "c", [{"_id": 1, "u": 9}, {"_id": 3, "u": 9}, {"_id": 5, "u": 5}], mode="upsert") == (1, 1)
    large = {"_id": "large", "text": "x" * (16 * 1024 * 1024 - 40)}
    assert import_documents(database, "large", [large]) == (1, 0) and len(bson.encode(database.large.find_one())) > 16 * 1024 * 1024 - 64
    with pytest.raises(OperationFailure) as failure:
        database.command("update", "c", updates=[{"q": {}, "u": {"$set": {"_id": 99}}}], bypassEmptyTsReplacement="yes")
    assert failure.value.code == 14

"""These tests send what dump and restore tools send, on a branch and on a tag: listings, whole collections, and collections restored elsewhere."""
import pymongo
from bson.raw_bson import RawBSONDocument
from bson.codec_options import CodecOptions

from tests.branches.conftest import by_id


def dump(database):
    """Reads as mongodump does: options and indexes of each collection, and its documents, raw."""
    listed = list(database.list_collections(filter={"name": {"$not": {"$regex": r"^system\.(?!js$)"}}}))
    out = {}
    for one in listed:
        collection = database.get_collection(one["name"], codec_options=CodecOptions(RawBSONDocument))
        assert collection.estimated_document_count() == database.command("collStats", one["name"])["count"]
        indexes = [dict(index) for index in database[one["name"]].list_indexes()]
        documents = [one.raw for one in collection.find({}, no_cursor_timeout=True, batch_size=7).hint([("_id", 1)])]
        out[one["name"]] = {"options": one["options"], "uuid": one["info"]["uuid"], "indexes": indexes, "documents": documents}
    return out


def restore(database, dumped):
    """Writes as mongorestore does: the collection, batches of documents in no order, indexes at the end."""
    for name, one in dumped.items():
        if name not in database.list_collection_names():
            database.command("create", name, **one["options"])
        raw = database.get_collection(name, codec_options=CodecOptions(RawBSONDocument))
        if one["documents"]:
            raw.insert_many([RawBSONDocument(document) for document in one["documents"]], ordered=False, bypass_document_validation=True)
        indexes = [{field: value for field, value in index.items() if field != "ns"} for index in one["indexes"] if index["name"] != "_id_"]
        if indexes:
            database.command("createIndexes", name, indexes=indexes)


def content(dumped):
    return {name: (sorted(one["documents"]), sorted(index["name"] for index in one["indexes"])) for name, one in dumped.items()}


def test_what_is_dumped_of_a_state_is_what_it_shows_and_can_be_restored(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": i % 3, "text": "x" * i} for i in range(50)])
    main.c.create_index([("a", 1), ("text", -1)])
    main.create_collection("empty")
    shop.create("dev")
    main.command("createTag", "v1")
    shop["dev"].c.update_many({"a": 1}, {"$set": {"a": 10}})
    shop["dev"].c.delete_one({"_id": 0})
    main.c.delete_many({})
    of_tag, of_branch = dump(shop["v1"]), dump(shop["dev"])
    assert len(of_tag["c"]["documents"]) == 50 and len(of_branch["c"]["documents"]) == 49 and of_tag["empty"]["documents"] == []
    elsewhere = shop.client[f"{shop.name}x"]
    for dumped, ref in [(of_tag, "v1"), (of_branch, "dev")]:
        restore(elsewhere, dumped)
        assert content(dump(elsewhere)) == content(dumped) and by_id(elsewhere.c) == by_id(shop[ref].c)
        assert len(list(elsewhere.c.find({"a": 2}).hint([("a", 1), ("text", -1)]))) == elsewhere.c.count_documents({"a": 2}) > 0
        shop.client.drop_database(elsewhere.name)
    # The dump is restored into another branch, whose collections exist and are empty.
    shop.create("restored")
    shop["restored"].c.delete_many({})
    restore(shop["restored"], of_branch)
    assert content(dump(shop["restored"])) == content(of_branch) and main.c.count_documents({}) == 0


def test_a_uri_names_a_branch(shop):
    shop["main"].c.insert_one({"_id": 1})
    shop.create("feature/one")
    shop["feature%2Fone"].c.insert_one({"_id": 2})
    host, port = shop.client.address
    with pymongo.MongoClient(f"mongodb://{host}:{port}/{shop.name}%40feature%252Fone") as client:
        database = client.get_default_database()
        assert database.name == f"{shop.name}@feature%2Fone" and sorted(by_id(database.c)) == [1, 2]

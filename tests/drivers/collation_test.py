"""These tests use collations and hashed indexes as applications do: Parse Server's start, queries with and without an index, a kill, and the log."""
import random

import pymongo
import pytest
from bson import SON
from pymongo.collation import Collation
from pymongo.errors import DuplicateKeyError, OperationFailure

from tests.support.palimpsest import Server

INSENSITIVE = Collation("en_US", strength=2)


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


def test_parse_servers_start(db):
    """Parse Server makes these indexes when it starts, and looks users up through them."""
    users = db["_User"]
    users.create_index([("username", 1)], name="username_1", unique=True, sparse=True)
    users.create_index([("email", 1)], name="email_1", unique=True, sparse=True)
    for field in ("username", "email"):
        name = f"case_insensitive_{field}"
        users.create_index([(field, 1)], name=name, background=True, sparse=True, collation=INSENSITIVE)
        users.create_index([(field, 1)], name=name, background=True, sparse=True, collation=INSENSITIVE)
    names = {index["name"]: index for index in users.list_indexes()}
    assert set(names) == {"_id_", "username_1", "email_1", "case_insensitive_username", "case_insensitive_email"}
    assert names["case_insensitive_email"]["collation"]["strength"] == 2
    users.insert_one({"_id": "u1", "username": "Ada", "email": "ada@x.y"})
    assert users.find_one({"username": "aDA"}, collation=INSENSITIVE)["_id"] == "u1"
    assert users.count_documents({"email": {"$in": ["ADA@X.Y"]}, "_id": {"$ne": "u2"}}, collation=INSENSITIVE, limit=1) == 1
    plan = db.command("explain", {"find": "_User", "filter": {"email": "ADA@x.y"}, "collation": INSENSITIVE.document}, verbosity="queryPlanner")
    assert plan["queryPlanner"]["winningPlan"]["inputStage"]["indexName"] == "case_insensitive_email"
    users.drop_index("case_insensitive_email")
    users.create_index([("email", 1)], name="unique_email", unique=True, collation=INSENSITIVE)
    with pytest.raises(DuplicateKeyError) as error:
        users.insert_one({"_id": "u2", "username": "other", "email": "ADA@X.Y"})
    assert error.value.details["keyPattern"] == {"email": 1}


WORDS = ["a", "A", "á", "b", "B", "ab", "AB", "a b", "a-b", "10", "9", "", "ß", "ss", 1, 2.5, None, True]
COLLATIONS = [None, Collation("en", strength=1), INSENSITIVE, Collation("en", numericOrdering=True), Collation("da"),
              Collation("en", strength=1, alternate="shifted"), Collation("simple")]


def value(choose, depth=1):
    kind = choose.randrange(8)
    if kind == 0 and depth:
        return [value(choose, depth - 1) for _ in range(choose.randrange(3))]
    if kind == 1 and depth:
        return {choose.choice("xy"): value(choose, depth - 1)}
    return choose.choice(WORDS)


def predicate(choose):
    operator = choose.choice(["$eq", "$eq", "$in", "$gt", "$lte", "$ne", "$nin", "$exists", "$type", "$regex", "$elemMatch"])
    if operator in ("$in", "$nin"):
        return {operator: [value(choose) for _ in range(choose.randrange(4))]}
    if operator == "$exists":
        return {operator: choose.choice([True, False])}
    if operator == "$type":
        return {operator: choose.choice(["string", "number", "array", "object"])}
    if operator == "$regex":
        return {operator: choose.choice(["^a", "b$", "(?i)AB"])}
    if operator == "$elemMatch":
        return {operator: {"$gte": value(choose, 0)}}
    if operator in ("$gt", "$lte"):
        return {operator: choose.choice(WORDS[:-1])}
    return {operator: value(choose)}


@pytest.mark.parametrize("seed", range(6))
def test_an_index_changes_no_answer(db, seed):
    """The same query finds the same documents with indexes of any collation as with none, and a sort gives the same order of keys."""
    choose = random.Random(seed)
    documents = []
    for number in range(120):
        document = {"_id": number, "b": choose.choice(WORDS)}
        if choose.random() < 0.9:
            document["a"] = value(choose, 2)
        documents.append(document)
    bare, indexed = db.bare, db.indexed
    bare.insert_many(documents)
    for place, collation in enumerate(COLLATIONS[:-1]):  # "simple" is the same as none
        options = {"collation": collation} if collation else {}
        indexed.create_index([("a", 1)], name=f"a{place}", **options)
        indexed.create_index([("a", -1), ("b", 1)], name=f"ab{place}", **options)
        indexed.create_index([("b", 1), ("a", 1)], name=f"ba{place}", sparse=bool(place % 2), **options)
        indexed.create_index([("b", "hashed")], name=f"hashed{place}", **options) if place < 3 else None
    indexed.insert_many(documents)
    names = [index["name"] for index in indexed.list_indexes() if not index.get("sparse")]
    for _ in range(250):
        query = {"a": predicate(choose)}
        if choose.random() < 0.5:
            query["b"] = predicate(choose)
        if choose.random() < 0.2:
            query = {"$or": [query, {"b": predicate(choose)}]}
        collation = choose.choice(COLLATIONS)
        wanted = [document["_id"] for document in bare.find(query, collation=collation).sort("_id", 1)]
        assert [document["_id"] for document in indexed.find(query, collation=collation).sort("_id", 1)] == wanted, (query, collation)
        assert indexed.count_documents(query, collation=collation) == len(wanted), (query, collation)
        hint = choose.choice(names)
        hinted = indexed.find(query, collation=collation, hint=hint).sort("_id", 1)
        assert [document["_id"] for document in hinted] == wanted, (query, collation, hint)
        order = [("b", choose.choice([1, -1])), ("_id", 1)]
        one = [document["_id"] for document in bare.find(query, collation=collation).sort(order)]
        assert [document["_id"] for document in indexed.find(query, collation=collation).sort(order)] == one, (query, collation, order)
        assert len(indexed.distinct("b", query, collation=collation)) == len(bare.distinct("b", query, collation=collation))
    assert db.validate_collection("indexed", full=True)["valid"]


def test_writes_by_an_index_of_the_collation(db):
    people = db.people
    people.create_index([("name", 1)], unique=True, collation=INSENSITIVE)
    for name in ("Ann", "bob", "Cid"):
        people.insert_one({"name": name, "seen": 0})
    for name in ("ANN", "BOB", "dan"):
        people.update_one({"name": name}, {"$inc": {"seen": 1}}, upsert=True, collation=INSENSITIVE)
    assert sorted((one["name"], one["seen"]) for one in people.find()) == [("Ann", 1), ("Cid", 0), ("bob", 1), ("dan", 1)]
    assert people.delete_many({"name": {"$in": ["ANN", "DAN"]}}, collation=INSENSITIVE).deleted_count == 2
    assert people.find_one_and_update({"name": "CID"}, {"$set": {"seen": 9}}, collation=INSENSITIVE)["name"] == "Cid"
    assert people.delete_many({"name": "BOB"}).deleted_count == 0


def test_snapshots_show_what_was(db):
    db.create_collection("c", collation=INSENSITIVE)
    db.c.create_index([("name", 1)])
    db.c.insert_many([{"_id": "one", "name": "Ann"}, {"_id": "two", "name": "bob"}])
    db.command("createSnapshot", "before")
    db.c.delete_one({"_id": "ONE"})
    db.c.update_one({"_id": "TWO"}, {"$set": {"name": "Carl"}})
    past = db.client[f"{db.name}@before"].c
    assert past.find_one({"_id": "One"})["name"] == "Ann"
    assert past.find_one({"name": "BOB"}, hint="name_1")["_id"] == "two"
    assert past.find_one({"name": "carl"}) is None
    assert db.c.find_one({"name": "CARL"}, hint="name_1")["_id"] == "two"
    db.command("dropSnapshot", "before")


def test_hashed_indexes(db):
    db.c.create_index([("k", "hashed")])
    db.c.create_index([("g", 1), ("k", "hashed")])
    db.c.insert_many([{"_id": i, "k": key, "g": i % 2} for i, key in enumerate(["a", "b", 1, 1.0, 1.5, None, {"x": 1}, SON([("x", 1.0)])])])
    db.c.insert_one({"_id": 99, "g": 0})
    for query, wanted in (({"k": "a"}, [0]), ({"k": 1}, [2, 3]), ({"k": 1.5}, [4]), ({"k": None}, [5, 99]), ({"k": {"x": 1}}, [6, 7]),
                          ({"k": {"$in": ["a", "b"]}}, [0, 1]), ({"k": {"$gt": 1}}, [4]), ({"k": {"$exists": False}}, [99])):
        for hint in (None, "k_hashed", "g_1_k_hashed"):
            assert [one["_id"] for one in db.c.find(query, hint=hint).sort("_id", 1)] == wanted, (query, hint)
    with pytest.raises(OperationFailure) as error:
        db.c.insert_one({"k": [1]})
    assert error.value.code == 16766
    plan = db.command("explain", {"find": "c", "filter": {"k": "a"}}, verbosity="queryPlanner")["queryPlanner"]["winningPlan"]
    assert plan["inputStage"]["keyPattern"] == {"k": "hashed"}
    [hashed] = db.aggregate([{"$documents": [{"h": {"$toHashedIndexKey": "a"}}]}])
    assert plan["inputStage"]["indexBounds"]["k"] == [f"[{hashed['h']}, {hashed['h']}]"]
    assert db.validate_collection("c", full=True)["valid"]


def test_a_kill_leaves_keys_and_uniqueness():
    with Server() as server:
        client = server.client()
        db = client.t
        db.create_collection("c", collation=INSENSITIVE)
        db.c.create_index([("name", 1)], unique=True)
        db.c.create_index([("k", "hashed")])
        journaled = db.c.with_options(write_concern=pymongo.WriteConcern(w=1, j=True))
        journaled.insert_many([{"_id": f"Id{i}", "name": f"Name{i}", "k": i} for i in range(200)])
        server.kill()
        server.start()
        client = server.client()
        db = client.t
        assert db.validate_collection("c", full=True)["valid"]
        assert db.c.find_one({"name": "NAME7"}, hint="name_1")["_id"] == "Id7"
        assert db.c.find_one({"_id": "iD8"})["k"] == 8
        assert db.c.find_one({"k": 9}, hint="k_hashed")["_id"] == "Id9"
        for taken in ({"_id": "ID3"}, {"_id": "new", "name": "NAME4"}):
            with pytest.raises(DuplicateKeyError):
                db.c.insert_one(taken)


def test_the_log_carries_collections_and_indexes():
    """A change is replayed by what the log says of the collection: an index that is made for simple strings doesn't take the collection's collation."""
    with Server("--replSet", "rs0") as server:
        server.initiate()
        client = pymongo.MongoClient(server.uri, replicaSet="rs0")
        db = client.t
        db.create_collection("c", collation=INSENSITIVE)
        db.c.create_index([("a", 1)])
        db.c.create_index([("b", 1)], collation=Collation("simple"))
        entries = list(client.local["oplog.rs"].find({"ns": "t.$cmd"}))
        made = {entry["o"]["name"]: entry["o"] for entry in entries if "createIndexes" in entry["o"]}
        assert made["a_1"]["collation"]["locale"] == "en_US" and "collation" not in made["b_1"]
        [created] = [entry["o"] for entry in entries if "create" in entry["o"]]
        assert created["collation"]["strength"] == 2 and created["idIndex"]["collation"]["strength"] == 2
        with client.start_session() as session, session.start_transaction():
            db.c.insert_one({"_id": "A", "a": "x", "b": "x"}, session=session)
            assert db.c.find_one({"_id": "a", "a": "X"}, session=session)["b"] == "x"
        assert db.c.find_one({"a": "X"}, hint="a_1")["_id"] == "A"
        assert db.c.find_one({"b": "X"}, hint="b_1", collation=Collation("simple")) is None

"""Random documents and queries: with a wildcard index they find what a scan finds, on branches, in snapshots and across restarts, too."""
import random

import pytest
from pymongo.errors import OperationFailure
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet

NAMES = ["a", "b", "c"]

INDEXES = [
    ([("$**", 1)], {}),
    ([("$**", -1)], {"collation": {"locale": "en", "strength": 2}}),
    ([("a.$**", 1)], {}),
    ([("$**", 1)], {"wildcardProjection": {"a.b": 0, "b": 0}}),
    ([("$**", 1)], {"wildcardProjection": {"_id": 1, "a.b": 1, "b": 1}}),
    ([("$**", 1)], {"partialFilterExpression": {"t": {"$gte": 2}}}),
    ([("t", 1), ("$**", 1)], {"wildcardProjection": {"t": 0}}),
    ([("$**", 1), ("t", -1)], {"wildcardProjection": {"a": 1, "b": 1}}),
    ([("t", -1), ("a.$**", 1), ("u", 1)], {}),
]


def value(rng, depth, arrays):
    kind = rng.random()
    if depth and kind < arrays:
        return [value(rng, depth - 1, arrays) for _ in range(rng.randrange(4))]
    if depth and kind < arrays + 0.4:
        return {rng.choice([*NAMES, "0", "1"]): value(rng, depth - 1, arrays) for _ in range(rng.randrange(4))}
    return rng.choice([0, 1, 2, 1.5, "x", "X", None, True])


def document(rng, number, arrays):
    made = {"_id": number, "t": rng.randrange(4), "u": rng.choice(["x", 1])}
    made.update((name, value(rng, 4, arrays)) for name in NAMES if rng.random() < 0.8)
    return made


def path(rng):
    return ".".join([rng.choice(NAMES), *(rng.choice([*NAMES, "0", "1"]) for _ in range(rng.choice([0, 0, 1, 1, 2])))])


def condition(rng, depth=1):
    operator = rng.choice(["$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$ne", "$nin", "$exists", "$type", "$size", "$regex", "$all", "$elemMatch"])
    if operator in ("$in", "$nin", "$all"):
        return {operator: [value(rng, 1, 0.2) for _ in range(rng.randrange(1, 3))]}
    if operator == "$exists":
        return {operator: rng.random() < 0.8}
    if operator == "$type":
        return {operator: rng.choice(["number", "string", "object", "array", "null"])}
    if operator == "$size":
        return {operator: 2}
    if operator == "$regex":
        return {operator: "^x"}
    if operator == "$elemMatch":
        if depth and rng.random() < 0.5:
            return {operator: {rng.choice(NAMES): condition(rng, depth - 1)}}
        return {operator: {rng.choice(["$eq", "$gt", "$lte"]): rng.choice([0, 1, "x"])}}
    return {operator: value(rng, 2, 0.2)}


def query(rng):
    asked = {path(rng): condition(rng) for _ in range(rng.choice([1, 1, 2]))}
    if rng.random() < 0.4:
        asked["t"] = rng.choice([1, {"$gte": 2}])
    if rng.random() < 0.2:
        return {"$or": [asked, {path(rng): condition(rng)}]}
    return asked


def scanned(collection, asked, **options):
    return list(collection.find(asked, hint=[("$natural", 1)], **options))


def same(collection, rng, rounds):
    """Returns how many of the queries an index served."""
    served = 0
    for _ in range(rounds):
        asked, options = query(rng), {}
        if rng.random() < 0.5:
            options["collation"] = {"locale": "en", "strength": 2}
        try:
            wanted = scanned(collection, asked, **options)
        except OperationFailure as failure:
            assert failure.code in (2, 16746), failure
            continue
        ids = sorted(one["_id"] for one in wanted)
        for hint in (None, "w"):
            try:
                found = list(collection.find(asked, hint=hint, batch_size=7, **options))
            except OperationFailure as failure:
                assert hint and failure.code == 291, (asked, failure)
                continue
            assert sorted(one["_id"] for one in found) == ids, (asked, options, hint)
            served += hint == "w"
            assert collection.count_documents(asked, **options, **({"hint": hint} if hint else {})) == len(ids), asked
        order = next(iter(asked))
        if not order.startswith("$"):
            way = rng.choice([1, -1])
            plain = [one["_id"] for one in scanned(collection, asked, sort=[(order, way), ("_id", 1)], **options)]
            assert [one["_id"] for one in collection.find(asked, sort=[(order, way), ("_id", 1)], **options)] == plain, asked
            key = {"_id": 0, order: 1}
            covered = sorted(map(repr, collection.find(asked, key, sort=[(order, way)], **options)))
            assert covered == sorted(map(repr, scanned(collection, asked, projection=key, **options))), (asked, options)
    return served


@pytest.mark.parametrize("number", range(len(INDEXES)))
@pytest.mark.parametrize("arrays", [0, 0.15, 0.4])
def test_an_index_finds_what_a_scan_finds(db, number, arrays):
    rng = random.Random(number * 10 + arrays)
    keys, options = INDEXES[number]
    documents = [document(rng, i, arrays) for i in range(150)]
    if number % 2:
        db.c.create_index(keys, name="w", **options)
    db.c.insert_many(documents)
    if not number % 2:
        db.c.create_index(keys, name="w", **options)
    assert same(db.c, rng, 80) > 5
    for i in range(0, 150, 3):
        db.c.replace_one({"_id": i}, {**document(rng, i, arrays), "_id": i})
    db.c.delete_many({"_id": {"$mod": [7, 0]}})
    same(db.c, rng, 40)
    assert db.validate_collection("c", full=True)["valid"]


def test_branches_merges_and_snapshots(db):
    rng = random.Random(4)
    db.c.create_index([("$**", 1)], name="w")
    db.c.insert_many([document(rng, i, 0) for i in range(100)])
    db.command("createSnapshot", "before")
    db.command("createBranch", "dev")
    dev, before = db.client[db.name + "@dev"], db.client[db.name + "@before"]
    dev.c.delete_many({"_id": {"$lt": 20}})
    dev.c.insert_many([document(rng, i, 0.3) for i in range(200, 260)])
    for state in (db, dev, before):
        assert same(state.c, rng, 60) > 10
    # Arrays that the branch alone has don't mislead the others.
    assert db.c.count_documents({}) == before.c.count_documents({}) == 100
    dev.command("commit", 1, message="changes")
    db.command("merge", "dev")
    assert db.c.count_documents({}) == 140
    for state in (db, dev, before):
        same(state.c, rng, 60)
    assert db.validate_collection("c", full=True)["valid"]
    assert dev.c.index_information()["w"]["key"] == [("$**", 1)]
    db.c.drop_index("w")
    assert "w" in before.c.index_information()
    assert same(before.c, rng, 60) > 10
    db.command("dropBranch", "dev", force=True)
    db.command("dropSnapshot", "before")


def plan(collection, asked):
    found = collection.find(asked).explain()["queryPlanner"]["winningPlan"]
    while "inputStage" in found:
        found = found["inputStage"]
    return found


def test_arrays_are_remembered_across_a_restart():
    with Server() as server:
        with server.client() as client:
            c = client.shop.c
            c.create_index([("$**", 1)], name="w")
            c.insert_many([{"_id": 1, "a": {"b": [1]}, "c": 1}, {"_id": 2, "d": 1}])
            c.update_one({"_id": 2}, {"$push": {"e": {"f": 1}}})
            c.delete_one({"_id": 2})
        server.stop()
        server.start()
        with server.client() as client:
            c = client.shop.c
            for name, arrays in (("a.b", ["a.b"]), ("e.f", ["e"]), ("c", []), ("d", [])):
                scan = plan(c, {name: 1})
                assert scan["multiKeyPaths"] == {"$_path": [], name: arrays}
                assert scan["isMultiKey"] == bool(arrays)
            c.insert_many([{"k": {f"n{i}": [i]}} for i in range(1100)])
            assert plan(c, {"never": 1})["isMultiKey"]
        server.stop()
        server.start()
        with server.client() as client:
            assert plan(client.shop.c, {"never": 1})["isMultiKey"]
            assert client.shop.c.count_documents({"k.n1099": 1099}, hint="w") == 1


def test_a_snapshot_of_a_dropped_collection_has_its_arrays():
    with Server() as server:
        with server.client() as client:
            client.shop.c.create_index([("$**", 1)], name="w")
            client.shop.c.insert_many([{"_id": 1, "a": [1, 5], "b": 1}, {"_id": 2, "a": 3}, {"_id": 3, "a": [4, 2]}])
            client.shop.command("createSnapshot", "before")
            client.shop.c.drop()
        for _ in range(2):
            with server.client() as client:
                c = client["shop@before"].c
                assert sorted(one["_id"] for one in c.find({"a": {"$gt": 3, "$lt": 3}}, hint="w")) == [1, 3]
                assert [one["_id"] for one in c.find({"a": {"$gt": 2, "$lt": 4}}, hint="w").sort("a", 1)] == [1, 3, 2]
            server.stop()
            server.start()


def test_a_restored_specification_is_accepted(db):
    db.c.create_index([("$**", 1)], name="w", wildcardProjection={"a.b": 1, "_id": 0}, hidden=True)
    given = [dict(one) for one in db.c.list_indexes()]
    db.d.drop()
    db.command("createIndexes", "d", indexes=[{**one, "ns": f"{db.name}.d"} for one in given[1:]], ignoreUnknownIndexOptions=True)
    assert [dict(one) for one in db.d.list_indexes()] == given


def test_a_transaction_and_a_secondary_use_the_index():
    with ReplicaSet(3) as three:
        client = three.client(readPreference="primary")
        c = client.shop.c
        c.create_index([("$**", 1)], name="w", wildcardProjection={"a": 1, "b.c": 1})
        c.insert_many([{"_id": i, "a": {"n": i % 5}, "b": {"c": [i]}} for i in range(50)])
        with client.start_session() as session, session.start_transaction():
            c.insert_one({"_id": 50, "a": {"n": [1, 7]}}, session=session)
            c.update_one({"a.n": 2}, {"$set": {"a.n": 7}}, hint="w", session=session)
            assert [one["_id"] for one in c.find({"a.n": 7}, hint="w", session=session)] == [2, 50]
        majority = c.with_options(write_concern=WriteConcern(3))
        majority.insert_one({"_id": 51, "a": {"n": 7}})
        listed = [dict(one) for one in c.list_indexes()]
        for member in three.members:
            with member.client(directConnection=True, readPreference="secondaryPreferred") as direct:
                there = direct.shop.c
                assert [dict(one) for one in there.list_indexes()] == listed
                assert [one["_id"] for one in there.find({"a.n": 7}, hint="w")] == [2, 50, 51]
                assert [one["_id"] for one in there.find({"b.c": 7}, hint="w")] == [7]
                assert plan(there, {"a.n": 7})["multiKeyPaths"] == {"$_path": [], "a.n": ["a.n"]}

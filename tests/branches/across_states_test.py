"""These tests read several states of a database at once: differences, versions, and pipelines that look into another branch."""
import time

import bson
import pytest
from bson import json_util

from tests.branches.conftest import by_id, fails, log_of

BAD_VALUE, ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, MAX_TIME_MS_EXPIRED = 2, 20, 26, 50
FAILED_TO_PARSE, TYPE_MISMATCH, INVALID_ID_FIELD, MISSING_FIELD, UNKNOWN_FIELD, NOT_FIRST, NOT_IN_FACET, NO_COLLECTION = 9, 14, 53, 40414, 40415, 40602, 40600, 73


def run(collection, *stages, **options):
    return list(collection.aggregate(list(stages), **options))


def diff(collection, *stages, **what):
    return {one["_id"]: one for one in run(collection, {"$diff": what}, *stages, batchSize=2)}


@pytest.fixture
def changed(shop):
    """dev inserts 10, changes 1 and 2, removes 3; 4 is the same again."""
    shop["main"].c.insert_many([{"_id": i, "a": i, "o": {"x": 1, "y": [1, 2]}} for i in range(6)])
    shop["main"].other.insert_one({"_id": 1})
    shop.create("dev")
    dev = shop["dev"].c
    dev.insert_one({"_id": 10, "a": 10})
    dev.update_one({"_id": 1}, {"$set": {"a": 100}})
    dev.update_one({"_id": 2}, {"$set": {"o.x": 2}})
    dev.delete_one({"_id": 3})
    dev.update_one({"_id": 4}, {"$set": {"a": 400}})
    dev.update_one({"_id": 4}, {"$set": {"a": 4}})
    shop["dev"].other.insert_one({"_id": 2})
    return shop


def test_differences_of_a_collection_are_documents_of_a_pipeline(changed):
    main, dev = changed["main"].c, changed["dev"].c
    found = diff(dev)
    assert set(found) == {10, 1, 2, 3}
    assert found[1] == {"collection": "c", "_id": 1, "change": "update", "before": main.find_one({"_id": 1}), "after": dev.find_one({"_id": 1})}
    assert found[10]["change"] == "insert" and "before" not in found[10]
    assert found[3]["change"] == "delete" and "after" not in found[3]
    assert diff(main, **{"from": "main", "to": "dev"}) == found
    changed["dev"].command("commit", 1)
    assert diff(dev) == {} and diff(dev, **{"from": "dev~1"}) == found == diff(main, to="dev", **{"from": "main"})
    assert run(main, {"$diff": {"from": "main", "to": "dev"}}, {"$group": {"_id": "$change", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}) == [
        {"_id": "delete", "n": 1}, {"_id": "insert", "n": 1}, {"_id": "update", "n": 2}]
    assert len(run(main, {"$diff": {"from": "main", "to": "dev"}}, {"$limit": 1})) == 1
    assert diff(changed["main"].nowhere, **{"from": "main", "to": "dev"}) == {}
    # Runs it in a pipeline inside another one, which may start at any state's collection.
    joined = run(main, {"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [{"$diff": {"from": "main", "to": "dev"}}], "as": "changes"}})
    assert len(joined[0]["changes"]) == 4
    # The command returns the same, for all collections.
    command = list(changed["dev"].cursor_command("diff", 1, **{"from": "main"}))
    assert {one["_id"] for one in command if one["collection"] == "c"} == set(found) and [one["_id"] for one in command if one["collection"] == "other"] == [2]


def test_differences_in_some_fields(changed):
    dev = changed["dev"].c
    assert set(diff(dev, fields=["a"])) == {10, 1, 3}
    assert diff(dev, fields=["a"])[1] == {"collection": "c", "_id": 1, "change": "update", "before": {"_id": 1, "a": 1}, "after": {"_id": 1, "a": 100}}
    assert diff(dev, fields=["o.x"]) == {
        2: {"collection": "c", "_id": 2, "change": "update", "before": {"_id": 2, "o": {"x": 1}}, "after": {"_id": 2, "o": {"x": 2}}},
        3: {"collection": "c", "_id": 3, "change": "delete", "before": {"_id": 3, "o": {"x": 1}}}}
    assert set(diff(dev, fields=["o.y"])) == {3} and set(diff(dev, fields=["nothing"])) == set()
    assert set(diff(dev, fields=["_id"])) == {10, 3}
    # Fields in another order are the same fields.
    changed["dev"].c.replace_one({"_id": 5}, {"o": {"x": 1, "y": [1, 2]}, "a": 5})
    assert 5 in diff(dev) and 5 not in diff(dev, fields=["a", "o"])


def test_differences_of_some_documents(changed):
    dev, every = changed["dev"].c, diff(changed["dev"].c)

    def plan(match):
        stage = changed["dev"].command("aggregate", "c", pipeline=[{"$diff": {}}, {"$match": match}], explain=True)["stages"][0]["$diff"]
        return stage.get("by")

    for match, ids, by in [({"_id": 1}, {1}, "_id"), ({"_id": 1.0}, {1}, "_id"), ({"_id": 0}, set(), "_id"), ({"_id": 77}, set(), "_id"),
                           ({"_id": {"$in": [1, 1, 3, 10, 4]}}, {1, 3, 10}, "_id"), ({"_id": {"$gte": 3}}, {3, 10}, "records"),
                           ({"_id": {"$in": [1, 3], "$gt": 1}}, {3}, "_id"), ({"$and": [{"_id": {"$eq": 3}}, {"change": "delete"}]}, {3}, "_id"),
                           ({"_id": {"$in": [1, 2]}, "after.a": 100}, {1}, "_id"), ({"change": "insert"}, {10}, None),
                           ({"$or": [{"_id": 1}, {"_id": 2}]}, {1, 2}, None), ({"_id": {"$exists": True}}, {1, 2, 3, 10}, "records"),
                           ({"_id": {"$not": {"$in": [1]}}}, {2, 3, 10}, "records")]:
        assert diff(dev, {"$match": match}) == {key: every[key] for key in ids}, match
        assert plan(match) == by, match


def test_documents_of_one_type_of_id_each_are_found_by_it(shop):
    ids = [1, "1", None, {"a": 1}, bson.ObjectId(), bson.Int64(1 << 40), True]
    shop["main"].c.insert_one({"_id": 0})
    shop.create("dev")
    shop["dev"].c.insert_many([{"_id": one} for one in ids])
    for one in ids:
        assert [found["_id"] for found in run(shop["dev"].c, {"$diff": {}}, {"$match": {"_id": one}})] == [one]


def test_differences_of_more_documents_than_are_held(shop):
    many = 66_000
    shop["main"].c.insert_many([{"_id": i} for i in range(many)])
    shop.create("dev")
    shop["dev"].c.update_many({"_id": {"$gte": 10}}, {"$set": {"a": 1}})
    shop["dev"].c.delete_many({"_id": {"$lt": 10}})
    shop["dev"].c.insert_many([{"_id": many + i} for i in range(5)])
    counts = run(shop["dev"].c, {"$diff": {}}, {"$group": {"_id": "$change", "n": {"$sum": 1}, "ids": {"$sum": "$_id"}, "a": {"$sum": "$after.a"}}}, {"$sort": {"_id": 1}})
    updated = range(10, many)
    assert counts == [{"_id": "delete", "n": 10, "ids": sum(range(10)), "a": 0}, {"_id": "insert", "n": 5, "ids": 5 * many + 10, "a": 0},
                      {"_id": "update", "n": len(updated), "ids": sum(updated), "a": len(updated)}]
    assert [one["n"] for one in run(shop["dev"].c, {"$diff": {}}, {"$match": {"_id": {"$gte": many - 1}}}, {"$count": "n"})] == [6]
    fails(MAX_TIME_MS_EXPIRED, lambda: run(shop["dev"].c, {"$diff": {}}, {"$match": {"change": "nothing"}}, maxTimeMS=1))


def test_every_version_once_with_the_branches_it_lives_in(shop):
    main = shop["main"].c
    main.insert_many([{"_id": i, "a": 0} for i in range(4)])
    first = shop.create("dev")["commit"]
    shop.create("old")
    shop["dev"].c.update_one({"_id": 1}, {"$set": {"a": 1}})
    shop["dev"].command("commit", 1)
    shop["dev"].command("createBranch", "next")
    shop["next"].c.delete_one({"_id": 2})
    main.insert_one({"_id": 9, "a": 9})

    def found(*stages, **options):
        return sorted((one["_id"], one["a"], tuple(one["branches"])) for one in run(main, {"$acrossBranches": options}, *stages, batchSize=1))

    everywhere = ("dev", "main", "next", "old")
    assert found() == [(0, 0, everywhere), (1, 0, ("main", "old")), (1, 1, ("dev", "next")), (2, 0, ("dev", "main", "old")), (3, 0, everywhere), (9, 9, ("main",))]
    assert found({"$match": {"a": 1}}) == [(1, 1, ("dev", "next"))]
    assert found(branches=["next", "main"]) == [(0, 0, ("next", "main")), (1, 0, ("main",)), (1, 1, ("next",)), (2, 0, ("main",)), (3, 0, ("next", "main")), (9, 9, ("main",))]
    assert found({"$match": {"_id": 1}}, branches=["dev", "dev~1", first[:10]]) == [(1, 0, ("dev~1", first[:10])), (1, 1, ("dev",))]
    one = run(shop["dev"].c, {"$acrossBranches": {"as": "seen.on", "branches": ["main"]}}, {"$match": {"_id": 9}})
    assert one == [{"_id": 9, "a": 9, "seen": {"on": ["main"]}}]
    assert run(shop["main"].nowhere, {"$acrossBranches": {}}) == []
    # Each version is on just those branches that show it so.
    for ref in everywhere:
        assert {one["_id"]: one["a"] for one in run(main, {"$acrossBranches": {}}, {"$match": {"branches": ref}})} == {
            key: one["a"] for key, one in by_id(shop[ref].c).items()}


def test_many_branches_are_more_than_one_word_of_bits(shop):
    shop["main"].c.insert_many([{"_id": i} for i in range(3)])
    for i in range(130):
        shop.create(f"b{i:03}")
    shop["b100"].c.update_one({"_id": 1}, {"$set": {"a": 1}})
    found = run(shop["main"].c, {"$acrossBranches": {}}, {"$match": {"_id": 1}}, {"$sort": {"a": 1}})
    assert len(found[0]["branches"]) == 130 and "b100" not in found[0]["branches"] and found[1]["branches"] == ["b100"]


def history(collection, key, **options):
    return run(collection, {"$history": {"_id": key}}, **options)


def test_the_history_of_a_document(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": 0} for i in range(3)])
    first = main.command("commit", 1, message="first", author="ann")
    shop.create("dev")
    for a in [1, 2]:
        shop["dev"].c.update_one({"_id": 1}, {"$set": {"a": a}})
        shop["dev"].command("commit", 1, message=f"a is {a}", author="bob")
    shop["dev"].c.update_one({"_id": 1}, {"$set": {"a": 3}})
    main.c.delete_one({"_id": 1})
    main.command("commit", 1, message="gone")
    found = history(main.c, 1, batchSize=1)
    assert found[0] == {"branch": "dev", "document": {"_id": 1, "a": 3}}
    assert [(one["message"], one["author"], one["document"]["a"]) for one in found[1:]] == [("a is 2", "bob", 2), ("a is 1", "bob", 1), ("first", "ann", 0)]
    assert found == history(shop["dev"].c, 1.0)
    logged = {one["commit"]: one for one in log_of(shop["dev"])}
    assert logged.pop(first["commit"])["parents"] == []  # what the documents came with, and what proves them, as one
    assert {one["commit"]: {field: value for field, value in one.items() if field != "document"} for one in found[1:3]} == logged
    assert found[3]["commit"] == first["commit"] and found[3]["parents"] == [] and found[3]["message"] == "first"
    assert [one["document"] for one in history(main.c, 0)] == [{"_id": 0, "a": 0}]
    assert history(main.c, 77) == [] and history(main.nowhere, 1) == []
    # The documents that a merge takes over came with the commit that they were made with.
    shop["dev"].command("commit", 1, message="a is 3")
    shop.create("third", **{"from": "dev~3"})
    shop["third"].command("merge", "dev")
    assert [one.get("message") for one in history(main.c, 1)] == ["a is 3", "a is 2", "a is 1", "first"]


def test_uncommitted_changes_name_their_branch_whatever_became_of_it(shop):
    shop["main"].c.insert_one({"_id": 1})
    for name in ["one", "two", "three"]:
        shop.create(name)
    shop["two"].c.update_one({"_id": 1}, {"$set": {"by": "two"}})
    shop["three"].c.update_one({"_id": 1}, {"$set": {"by": "three"}})
    shop["two"].command("createBranch", "of-two")  # its parent writes elsewhere from now on
    shop["main"].command("renameBranch", "three", to="drei")
    found = {one["document"].get("by"): one.get("branch") for one in history(shop["main"].c, 1)}
    assert found == {"two": "two", "three": "drei", None: None}


def test_commits_that_touched_a_document(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": 0} for i in range(3)])
    main.command("commit", 1, message="first")
    shop.create("dev")

    def commit(ref, message, write):
        write(shop[ref].c)
        shop[ref].command("commit", 1, message=message)
        time.sleep(0.002)  # of two branches' commits the later one is the one with the later millisecond

    commit("dev", "one", lambda c: c.update_one({"_id": 1}, {"$set": {"a": 1}}))
    commit("dev", "two", lambda c: c.update_one({"_id": 2}, {"$set": {"a": 1}}))
    commit("dev", "removed", lambda c: c.delete_one({"_id": 1}))
    commit("dev", "other", lambda c: shop["dev"].other.insert_one({"_id": 1}))
    commit("dev", "back", lambda c: c.insert_one({"_id": 1, "a": 2}))
    commit("main", "aside", lambda c: c.update_one({"_id": 0}, {"$set": {"a": 5}}))
    main.command("merge", "dev", message="merged")

    def touching(ref, key, coll="c", **options):
        return [one["message"] for one in log_of(shop[ref], touching={"coll": coll, "_id": key}, **options)]

    assert touching("dev", 1) == ["back", "removed", "one", "first"]
    assert touching("main", 1) == ["back", "removed", "one", "first"]  # the merge took it as it was
    assert touching("main", 0) == ["aside", "first"] and touching("dev", 0) == ["first"]
    assert touching("main", 1, coll="other") == ["other"] and touching("main", 7) == [] and touching("main", 1, coll="nowhere") == []
    assert touching("dev", 1, limit=2, cursor={"batchSize": 1}) == ["back", "removed"] and touching("dev~2", 1) == ["removed", "one", "first"]
    # A merge that made a document of two did change it.
    for ref, field in [("main", "m"), ("dev", "d")]:
        commit(ref, f"{field} is set", lambda c: c.update_one({"_id": 2}, {"$set": {field: 1}}))
    main.command("merge", "dev", message="both")
    assert touching("main", 2)[:3] == ["both", "d is set", "m is set"]
    fails(MISSING_FIELD, lambda: log_of(main, touching={"coll": "c"}))
    fails(INVALID_ID_FIELD, lambda: log_of(main, touching={"coll": "c", "_id": [1]}))
    fails(MISSING_FIELD, lambda: log_of(main, touching={"_id": 1}))
    fails(UNKNOWN_FIELD, lambda: log_of(main, touching={"coll": "c", "_id": 1, "x": 1}))


def test_pipelines_look_into_other_states(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": i} for i in range(3)])
    shop.create("dev")
    main.command("createTag", "v1")
    shop["dev"].c.update_one({"_id": 1}, {"$set": {"a": 100}})
    main.c.delete_one({"_id": 2})
    v1, dev = f"{shop.name}@v1", f"{shop.name}@dev"
    joined = run(main.c, {"$lookup": {"from": {"db": v1, "coll": "c"}, "localField": "_id", "foreignField": "_id", "as": "was"}},
                 {"$lookup": {"from": {"db": dev, "coll": "c"}, "let": {"id": "$_id"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$_id", "$$id"]}}}], "as": "on_dev"}},
                 {"$sort": {"_id": 1}})
    assert joined == [{"_id": 0, "a": 0, "was": [{"_id": 0, "a": 0}], "on_dev": [{"_id": 0, "a": 0}]},
                      {"_id": 1, "a": 1, "was": [{"_id": 1, "a": 1}], "on_dev": [{"_id": 1, "a": 100}]}]
    both = run(main.c, {"$unionWith": {"db": v1, "coll": "c", "pipeline": [{"$match": {"_id": {"$gte": 1}}}]}}, batchSize=1)
    assert sorted(one["_id"] for one in both) == [0, 1, 1, 2]
    # A pipeline inside continues from where it runs.
    deep = run(main.c, {"$limit": 1}, {"$unionWith": {"db": dev, "coll": "c", "pipeline": [{"$match": {"_id": 1}}, {"$unionWith": "c"}]}})
    assert [one["a"] for one in deep if one["_id"] == 1] == [100, 100]
    shop.client[f"{shop.name}x"].c.insert_one({"_id": "elsewhere"})
    assert len(run(main.c, {"$unionWith": {"db": f"{shop.name}x", "coll": "c"}})) == 3
    shop.client.drop_database(f"{shop.name}x")
    for stage in [{"$lookup": {"from": {"db": f"{shop.name}@nowhere", "coll": "c"}, "localField": "_id", "foreignField": "_id", "as": "x"}},
                  {"$unionWith": {"db": f"{shop.name}@nowhere", "coll": "c"}}]:
        fails(NAMESPACE_NOT_FOUND, lambda: run(main.c, stage))
    for code, stage in [(UNKNOWN_FIELD, {"$lookup": {"from": {"db": v1, "coll": "c", "x": 1}, "pipeline": [], "as": "x"}}),
                        (MISSING_FIELD, {"$lookup": {"from": {"db": v1}, "pipeline": [], "as": "x"}}),
                        (MISSING_FIELD, {"$lookup": {"from": {"coll": "c"}, "pipeline": [], "as": "x"}}),
                        (MISSING_FIELD, {"$unionWith": {"db": v1}}), (TYPE_MISMATCH, {"$unionWith": {"db": 1, "coll": "c"}}),
                        (FAILED_TO_PARSE, {"$lookup": {"from": 1, "pipeline": [], "as": "x"}})]:
        fails(code, lambda: run(main.c, stage))


def test_pipelines_write_into_another_branch(shop):
    main = shop["main"]
    main.c.insert_many([{"_id": i, "a": i} for i in range(3)])
    shop.create("dev")
    dev = f"{shop.name}@dev"
    run(main.c, {"$match": {"_id": {"$gte": 1}}}, {"$set": {"a": {"$multiply": ["$a", 10]}}}, {"$merge": {"into": {"db": dev, "coll": "c"}}})
    assert {key: one["a"] for key, one in by_id(shop["dev"].c).items()} == {0: 0, 1: 10, 2: 20}
    assert {key: one["a"] for key, one in by_id(main.c).items()} == {0: 0, 1: 1, 2: 2}
    # The test restores the documents that differ, by hand.
    run(main.c, {"$diff": {"from": "main", "to": "dev"}}, {"$match": {"_id": 1}}, {"$replaceWith": "$after"},
        {"$merge": {"into": "c", "whenMatched": "replace"}})
    assert {key: one["a"] for key, one in by_id(main.c).items()} == {0: 0, 1: 10, 2: 2}
    run(main.c, {"$acrossBranches": {}}, {"$match": {"_id": 2}}, {"$set": {"_id": "$a"}}, {"$merge": {"into": {"db": dev, "coll": "versions"}}})
    assert sorted(by_id(shop["dev"].versions)) == [2, 20] and main.versions.count_documents({}) == 0
    main.command("createTag", "v1")
    for state in ["v1", "dev~0"]:
        fails(ILLEGAL_OPERATION, lambda: run(main.c, {"$merge": {"into": {"db": f"{shop.name}@{state}", "coll": "c"}}}))
    fails(NAMESPACE_NOT_FOUND, lambda: run(main.c, {"$merge": {"into": {"db": f"{shop.name}@nowhere", "coll": "c"}}}))


@pytest.mark.parametrize("stage", [{"$diff": {}}, {"$acrossBranches": {}}, {"$history": {"_id": 1}}])
def test_the_stages_stand_first_and_outside_of_facets(shop, stage):
    main = shop["main"]
    main.c.insert_one({"_id": 1})
    fails(NAMESPACE_NOT_FOUND, lambda: run(main.c, stage))  # it has no branches yet
    shop.create("dev")
    run(main.c, stage)
    name = next(iter(stage))
    fails(NOT_FIRST, lambda: run(main.c, {"$match": {}}, stage))
    fails(NOT_IN_FACET, lambda: run(main.c, {"$facet": {"x": [stage]}}))
    fails(NO_COLLECTION, lambda: list(main.aggregate([stage])))
    fails(FAILED_TO_PARSE, lambda: run(main.c, {name: 1}))
    fails(UNKNOWN_FIELD, lambda: run(main.c, {name: {**stage[name], "x": 1}}))
    fails(NAMESPACE_NOT_FOUND, lambda: run(shop["nowhere"].c, stage))
    assert main.command("aggregate", "c", pipeline=[stage], explain=True)["stages"] == [stage]


def test_what_the_stages_refuse(shop):
    shop["main"].c.insert_one({"_id": 1})
    shop.create("dev")
    c = shop["main"].c
    for code, stage in [(NAMESPACE_NOT_FOUND, {"$diff": {"from": "nowhere"}}), (NAMESPACE_NOT_FOUND, {"$diff": {"to": "nowhere"}}), (BAD_VALUE, {"$diff": {"from": "a b"}}),
                        (TYPE_MISMATCH, {"$diff": {"from": 1}}), (TYPE_MISMATCH, {"$diff": {"fields": "a"}}), (TYPE_MISMATCH, {"$diff": {"fields": [1]}}),
                        (BAD_VALUE, {"$diff": {"fields": []}}), (31249, {"$diff": {"fields": ["a", "a.b"]}}), (16410, {"$diff": {"fields": ["$a"]}}),
                        (NAMESPACE_NOT_FOUND, {"$acrossBranches": {"branches": ["nowhere"]}}), (BAD_VALUE, {"$acrossBranches": {"branches": []}}),
                        (BAD_VALUE, {"$acrossBranches": {"branches": ["dev", "dev"]}}), (TYPE_MISMATCH, {"$acrossBranches": {"branches": [1]}}),
                        (16410, {"$acrossBranches": {"as": "$x"}}), (MISSING_FIELD, {"$history": {}})]:
        fails(code, lambda: run(c, stage))


def test_a_difference_that_is_too_large_is_named_without_its_documents(shop):
    main, large = shop["main"], 9 << 20
    main.c.insert_many([{"_id": i, "n": i, "text": "a" * large} for i in (1, 2)] + [{"_id": i, "n": i} for i in (3, 4)])
    shop.create("dev")
    dev = shop["dev"]
    dev.c.update_one({"_id": 1}, {"$set": {"text": "b" * large}})
    dev.c.update_many({"_id": {"$in": [2, 3]}}, {"$inc": {"n": 10}})
    dev.c.delete_one({"_id": 4})
    dev.c.insert_one({"_id": 5, "text": "c" * ((16 << 20) - 50)})
    named = lambda _id, change: {"collection": "c", "_id": _id, "change": change, "tooLarge": True}
    three, four = {"_id": 3, "n": 3}, {"_id": 4, "n": 4}
    whole = {
        1: named(1, "update"),
        2: named(2, "update"),
        3: {"collection": "c", "_id": 3, "change": "update", "before": three, "after": {"_id": 3, "n": 13}},
        4: {"collection": "c", "_id": 4, "change": "delete", "before": four},
        5: named(5, "insert")}
    assert {one["_id"]: one for one in dev.cursor_command("diff", 1, **{"from": "main"})} == whole
    assert diff(dev.c, **{"from": "main"}) == whole
    assert {one["_id"] for one in dev.cursor_command("diff", 1, filter={"after.n": 12}, **{"from": "main"})} == {2}
    assert diff(dev.c, fields=["n"], **{"from": "main"})[2] == {"collection": "c", "_id": 2, "change": "update", "before": {"_id": 2, "n": 2}, "after": {"_id": 2, "n": 12}}
    # A patch of a large document may be small.
    patches = {one["_id"]: one for one in dev.cursor_command("diff", 1, format="jsonPatch", **{"from": "main"})}
    assert patches[1] == whole[1] and patches[5] == whole[5]
    assert patches[2]["patch"] == [{"op": "test", "path": "/n", "value": 2}, {"op": "replace", "path": "/n", "value": 12}]
    lines = [json_util.loads(one["line"]) for one in dev.cursor_command("diff", 1, format="lines", **{"from": "main"})]
    assert {one["_id"]: one for one in lines} == whole

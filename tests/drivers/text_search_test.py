"""These tests use text indexes and $text as applications do: every command, scores, branches and snapshots, explain, wrong uses, a kill, and the log."""
import random

import pymongo
import pytest
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

SCORE = {"$meta": "textScore"}
PAGES = [
    {"_id": 1, "title": "Coffee", "body": "how to brew coffee"},
    {"_id": 2, "title": "Tea", "body": "no coffee here"},
    {"_id": 3, "title": "Cakes", "body": "coffee cakes, and more cakes"},
    {"_id": 4, "title": "Bread", "body": "flour and water"},
]


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture
def pages(db):
    db.pages.insert_many(PAGES)
    db.pages.create_index([("title", "text"), ("body", "text")], weights={"title": 10}, name="texts")
    return db.pages


def search(words, **options):
    return {"$text": {"$search": words, **{f"${name}": value for name, value in options.items()}}}


def ids(cursor):
    return [document["_id"] for document in cursor]


def refused(call, code):
    with pytest.raises(OperationFailure) as failure:
        call()
    assert failure.value.code == code, failure.value
    return failure.value


def stages(plan):
    """The names of a plan's stages, from the top to the first leaf."""
    names = []
    while plan:
        names.append(plan["stage"])
        plan = plan.get("inputStage") or next(iter(plan.get("inputStages", [])), None)
    return names


def test_commands_find_by_text(pages):
    found = list(pages.find(search("coffee"), {"title": 1, "score": SCORE}).sort([("score", SCORE)]))
    assert ids(found) == [1, 2, 3] and found[0]["score"] > 10 and "body" not in found[0]
    assert [page["score"] for page in found] == sorted((page["score"] for page in found), reverse=True)
    assert ids(pages.find(search("coffee")).sort([("score", SCORE), ("_id", 1)]).skip(1).limit(1)) == [2]
    assert pages.count_documents(search("coffee")) == 3
    assert sorted(pages.distinct("title", search("cake bread"))) == ["Bread", "Cakes"]
    assert ids(pages.find({**search("coffee"), "title": {"$gt": "D"}})) == [2]
    assert pages.update_many(search("coffee"), {"$set": {"hot": True}}).modified_count == 3
    assert pages.find_one_and_update(search("tea"), {"$set": {"title": "Chai"}}, return_document=True)["title"] == "Chai"
    assert ids(pages.find(search("tea"))) == [] and ids(pages.find(search("chai"))) == [2]
    refused(lambda: pages.find_one_and_delete(search("coffee"), projection={"s": SCORE}), 40218)
    assert pages.find_one_and_delete(search("coffee"), sort=[("s", SCORE)])["_id"] == 1
    assert pages.delete_many(search("coffee cakes")).deleted_count == 2
    assert ids(pages.find()) == [4]


def test_a_pipeline_has_the_score(pages):
    found = list(pages.aggregate([{"$match": search("coffee")}, {"$sort": {"score": SCORE}}, {"$project": {"title": 1, "score": SCORE}}]))
    assert ids(found) == [1, 2, 3]
    scores = {page["_id"]: page["score"] for page in found}
    assert list(pages.aggregate([{"$match": search("coffee")}, {"$group": {"_id": None, "sum": {"$sum": SCORE}}}]))[0]["sum"] == pytest.approx(
        sum(scores.values()))
    added = pages.aggregate([{"$match": search("coffee")}, {"$addFields": {"s": SCORE}}, {"$match": {"s": {"$gt": 10}}}])
    assert ids(added) == [1]
    assert list(pages.aggregate([{"$match": search("coffee")}, {"$count": "n"}])) == [{"n": 3}]
    joined = pages.aggregate([{"$match": search("tea")}, {"$lookup": {"from": "pages", "as": "more", "pipeline": [{"$match": search("bread")}]}}])
    assert [ids(page["more"]) for page in joined] == [[4]]
    faceted = list(pages.aggregate([{"$match": search("coffee")}, {"$facet": {"n": [{"$count": "n"}]}}]))
    assert faceted == [{"n": [{"n": 3}]}]


def test_a_view_is_searched(db, pages):
    db.create_collection("titled", viewOn="pages", pipeline=[{"$match": {"_id": {"$lt": 3}}}])
    refused(lambda: list(db.titled.find(search("coffee"))), 17313)
    db.create_collection("about_coffee", viewOn="pages", pipeline=[{"$match": search("coffee")}])
    assert sorted(ids(db.about_coffee.find())) == [1, 2, 3]


def test_branches_and_snapshots_are_searched(db, pages):
    db.command("createSnapshot", "before")
    db.command("createBranch", "dev")
    pages.delete_one({"_id": 1})
    dev, before = db.client[db.name + "@dev"].pages, db.client[db.name + "@before"].pages
    dev.update_one({"_id": 4}, {"$set": {"title": "Coffee bread"}})
    dev.insert_one({"_id": 5, "body": "espresso is coffee"})
    try:
        assert ids(dev.find(search("coffee"), {"s": SCORE}).sort([("s", SCORE)]).limit(1)) == [1]
        assert sorted(ids(dev.find(search("coffee")))) == [1, 2, 3, 4, 5]
        assert sorted(ids(before.find(search("coffee")))) == [1, 2, 3]
        assert sorted(ids(pages.find(search("coffee")))) == [2, 3]
        by_score = [{"$match": search("coffee")}, {"$sort": {"s": SCORE}}, {"$project": {"s": SCORE}}]
        assert ids(before.aggregate(by_score)) == [1, 2, 3]
        assert ids(dev.aggregate(by_score + [{"$limit": 2}])) == [1, 4]
        for collection in (pages, dev, before):
            plan = collection.database.command("explain", {"find": "pages", "filter": search("coffee")})["queryPlanner"]["winningPlan"]
            assert stages(plan)[0] == "TEXT_MATCH" and plan["parsedTextQuery"]["terms"] == ["coffe"]
        assert dev.delete_many(search("coffee")).deleted_count == 5
        assert sorted(ids(pages.find(search("coffee")))) == [2, 3]
    finally:
        db.command("dropBranch", "dev", force=True)
        db.command("dropSnapshot", "before")


def test_an_index_is_dropped_and_made_again(pages):
    pages.drop_index("texts")
    refused(lambda: list(pages.find(search("coffee"))), 27)
    pages.create_index([("$**", "text")], default_language="none", name="all")
    assert sorted(ids(pages.find(search("and")))) == [3, 4]
    refused(lambda: pages.create_index([("title", "text")]), 85)
    refused(lambda: pages.create_index([("title", "text"), ("_id", 1)]), 67)
    pages.drop_index("all")
    pages.create_index([("title", "text")], name="some", partialFilterExpression={"_id": {"$lt": 3}})
    assert ids(pages.find({"_id": {"$lt": 3}, **search("tea bread")})) == [2]
    refused(lambda: list(pages.find(search("tea"))), 291)
    pages.drop_index("some")
    pages.create_index([("_id", 1), ("title", "text")], name="by id")
    assert ids(pages.find({"_id": 4, **search("bread")})) == [4]
    refused(lambda: list(pages.find(search("bread"))), 291)


@pytest.mark.parametrize("query, code", [
    ({"$text": "coffee"}, 2), ({"$text": {}}, 4), (search(5), 14), (search("x", language="klingon"), 2), (search("x", caseSensitive=1), 14),
    ({"$text": {"$search": "x", "other": 1}}, 2), ({"$nor": [search("x")]}, 2), ({"$and": [search("x"), search("y")]}, 2),
    ({"$or": [search("x"), {"body": "y"}]}, 291), ({"title": {"$elemMatch": search("x")}}, 2), ({"title": {"$not": {"$text": {"$search": "x"}}}}, 2),
])
def test_wrong_searches_are_refused(pages, query, code):
    refused(lambda: list(pages.find(query)), code)
    refused(lambda: pages.update_many(query, {"$set": {"a": 1}}), code)


def test_wrong_uses_are_refused(pages):
    refused(lambda: list(pages.find(search("x")).hint("_id_")), 2)
    refused(lambda: list(pages.find(search("x")).sort([("$natural", 1)])), 2)
    refused(lambda: list(pages.find({}, {"s": SCORE})), 40218)
    refused(lambda: list(pages.find().sort([("s", SCORE)])), 40218)
    refused(lambda: list(pages.aggregate([{"$match": {}}, {"$sort": {"s": SCORE}}])), 40218)
    refused(lambda: list(pages.aggregate([{"$skip": 1}, {"$match": search("x")}])), 17313)
    refused(lambda: list(pages.find(search("x"), {"s": {"$meta": "nonsense"}})), 17308)
    refused(lambda: pages.insert_one({"language": "klingon", "title": "x"}), 17262)
    refused(lambda: list(pages.database.none.find(search("x"))), 27)


def test_the_index_finds_what_the_texts_say(db):
    """Plain words are found in the documents that have them after any writes, and scores are those of a collection that is loaded anew."""
    choose = random.Random(7)
    words = ["red", "green", "blue", "cat", "dog", "house"]
    text = lambda: " ".join(choose.choice(words) for _ in range(choose.randrange(6)))
    value = lambda: choose.choice([text(), [text(), text()], {"inner": text()}, 5])
    db.c.create_index([("a", "text"), ("b.inner", "text")], default_language="none", weights={"a": 3})
    for number in range(200):
        db.c.insert_one({"_id": number, "a": value(), "b": value()})
    for number in choose.sample(range(200), 80):
        db.c.update_one({"_id": number}, {"$set": {choose.choice("ab"): value()}})
    db.c.delete_many({"_id": {"$in": choose.sample(range(200), 20)}})
    db.again.create_index([("a", "text"), ("b.inner", "text")], default_language="none", weights={"a": 3})
    db.again.insert_many(list(db.c.find()))

    def strings(document):
        inner = document["b"].get("inner") if isinstance(document["b"], dict) else None
        for field in (document["a"], inner):
            yield from field if isinstance(field, list) else [field] if isinstance(field, str) else []

    for _ in range(40):
        asked, unwanted = choose.sample(words, choose.randrange(1, 3)), choose.sample(words, choose.randrange(2))
        query = search(" ".join(asked + ["-" + word for word in unwanted if word not in asked]))
        unwanted = set(unwanted) - set(asked)
        expected = []
        for document in db.c.find().sort("_id", 1):
            there = {word for one in strings(document) for word in one.split()}
            if there & set(asked) and not there & unwanted:
                expected.append(document["_id"])
        found = {page["_id"]: page["s"] for page in db.c.find(query, {"s": SCORE})}
        assert sorted(found) == expected, query
        assert found == pytest.approx({page["_id"]: page["s"] for page in db.again.find(query, {"s": SCORE})})
    assert db.command("validate", "c", full=True)["valid"]


def test_searches_outlive_a_kill_and_are_logged():
    with Server("--replSet", "rs0") as running:
        running.initiate()
        with pymongo.MongoClient(running.host, running.port, directConnection=True) as client:
            client.t.pages.insert_many(PAGES)
            client.t.pages.create_index([("title", "text"), ("body", "text")], weights={"title": 10}, name="texts")
            client.t.pages.insert_one({"_id": 5, "title": "More coffee"})
            logged = client.local["oplog.rs"].find_one({"ns": "t.$cmd", "o.createIndexes": "pages"})["o"]
            assert logged["key"] == {"_fts": "text", "_ftsx": 1} and logged["weights"] == {"body": 1, "title": 10}
            before = list(client.t.pages.list_indexes())
        running.kill()
        running.start()
        with pymongo.MongoClient(running.host, running.port, directConnection=True) as client:
            wait_until(lambda: client.admin.command("hello")["isWritablePrimary"])
            assert list(client.t.pages.list_indexes()) == before
            assert sorted(ids(client.t.pages.find(search("coffee")))) == [1, 2, 3, 5]
            assert client.t.command("validate", "pages", full=True)["valid"]


def test_the_terms_of_a_search_are_counted_in_the_operation_s_memory():
    """A search string of a few megabytes has hundreds of thousands of terms, and each of them a range of the index."""
    with Server("--setParameter", f"operationMemoryLimitBytes={48 << 20}") as running, running.client() as client:
        pages = client.t.pages
        pages.insert_many(PAGES)
        pages.create_index([("title", "text"), ("body", "text")], name="texts")
        words = " ".join(f"w{number:x}" for number in range(400_000))
        refused(lambda: ids(pages.find(search(words))), 146)
        refused(lambda: pages.delete_many(search(words)), 146)
        refused(lambda: ids(pages.find(search("coffee " + " ".join("-" + word for word in words.split())))), 146)
        # A cursor keeps what its search needs, and no longer than it lives.
        some = "coffee " + " ".join(words.split()[:20_000])
        cursor = pages.find(search(some), batch_size=1)
        assert next(cursor)
        assert client.admin.command("serverStatus")["operationMemory"]["bytes"] > 20_000 * 300
        assert len(list(cursor)) == 2
        wait_until(lambda: client.admin.command("serverStatus")["operationMemory"]["bytes"] < 20_000 * 300)

"""Collections with a default collation: two `_id`s that it takes for the same are one key on each branch, and two documents in history."""
import random

import pytest
from pymongo.errors import DuplicateKeyError, OperationFailure

from tests.branches.conftest import by_id, check_collection, fails
from tests.branches.remotes_test import Site, clone
from tests.support.palimpsest import Server

NO_CASE = {"locale": "en", "strength": 2}
OPERATION_FAILED = 96


def spelled(random, name):
    return "".join(random.choice((letter.lower(), letter.upper())) for letter in name)


class Model:
    """A Model holds what a branch shows, by the `_id` without its case."""

    def __init__(self, documents=()):
        self.documents = {one["_id"].lower(): one for one in documents}

    def step(self, random, collection):
        name = random.choice(("ann", "bob", "eve", "dan", "fay"))
        spelling, there = spelled(random, name), self.documents.get(name)
        match random.choice(("insert", "update", "remove")):
            case "insert" if there:
                with pytest.raises(DuplicateKeyError):
                    collection.insert_one({"_id": spelling})
            case "insert":
                self.documents[name] = {"_id": spelling, "n": 0}
                collection.insert_one({"_id": spelling, "n": 0})
            case "update":
                assert collection.update_one({"_id": spelling}, {"$inc": {"n": 1}}).matched_count == (1 if there else 0)
                if there:
                    there["n"] += 1
            case "remove":
                assert collection.delete_one({"_id": spelling}).deleted_count == (1 if there else 0)
                self.documents.pop(name, None)

    def check(self, random, collection):
        assert by_id(collection) == {one["_id"]: one for one in self.documents.values()}
        for name in ("ann", "bob", "eve", "dan", "fay"):
            assert collection.find_one({"_id": spelled(random, name)}) == self.documents.get(name)

    def copy(self):
        return Model([dict(one) for one in self.documents.values()])


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_on_branches_do_what_a_model_does(shop, seed):
    random_ = random.Random(seed)
    main = shop["main"]
    main.create_collection("c", collation=NO_CASE)
    model = Model()
    for _ in range(8):
        model.step(random_, main.c)
    shop.create("dev")
    models, kept = {"main": model, "dev": model.copy()}, []
    for _ in range(6):
        for ref, model in models.items():
            for _ in range(10):
                model.step(random_, shop[ref].c)
            model.check(random_, shop[ref].c)
            kept.append((shop[ref].command("commit", 1)["commit"], model.copy()))
        into, other = random_.sample(("main", "dev"), 2)
        try:
            shop[into].command("merge", other, resolve="theirs")
            models[into] = Model(shop[into].c.find())
            assert len(models[into].documents) == shop[into].c.count_documents({})
        except OperationFailure as failure:
            assert failure.code == OPERATION_FAILED and all(one["index"] == "_id_" for one in failure.details["conflicts"]), failure
    for commit, model in kept:
        model.check(random_, shop[commit].c)
    for ref in models:
        assert shop[ref].command("verify", 1, deep=True)["valid"] is True


def test_they_travel_with_their_collation():
    with Server() as one, Server() as other:
        hub, ann = Site(one), Site(other)
        hub["main"].create_collection("pages", collation=NO_CASE)
        hub["main"].pages.create_index("title", unique=True)
        hub["main"].pages.insert_many([{"_id": f"Page{i}", "title": f"Title {i}"} for i in range(30)])
        hub.commit(message="begin")
        hub["main"].command("createBranch", "dev")
        hub["dev"].pages.delete_one({"_id": "PAGE3"})
        hub["dev"].pages.insert_one({"_id": "page3", "title": "new"})
        hub.commit("dev")
        clone(hub, ann)
        assert ann.log() == hub.log() and ann.log("origin%2Fdev") == hub.log("dev")
        options = ann["main"].command("listCollections", filter={"name": "pages"})["cursor"]["firstBatch"][0]["options"]
        assert options["collation"]["strength"] == 2
        assert {one["name"]: one["collation"]["strength"] for one in ann["main"].pages.list_indexes()} == {"_id_": 2, "title_1": 2}
        with pytest.raises(DuplicateKeyError):
            ann["main"].pages.insert_one({"_id": "PAGE4"})
        ann["main"].pages.update_one({"_id": "pAGE4"}, {"$set": {"by": "ann"}})
        ann["main"].pages.insert_one({"_id": "Own", "title": "ann's"})
        ann.commit()
        hub["main"].pages.insert_one({"_id": "OWN", "title": "of hub"})
        hub.commit()
        failure = fails(OPERATION_FAILED, lambda: ann["main"].command("pull", "origin"))
        assert [(one["_id"], one["index"], one["other"]) for one in failure.details["conflicts"]] == [("OWN", "_id_", {"_id": "Own"})]
        hub["main"].pages.delete_one({"_id": "own"})
        hub.commit()
        ann["main"].command("pull", "origin")
        ann["main"].command("merge", "origin/dev")
        assert ann["main"].pages.find_one({"_id": "PAGE3"}) == {"_id": "page3", "title": "new"}
        ann["main"].command("push", "origin")
        assert hub.log() == ann.log() and by_id(hub["main"].pages) == by_id(ann["main"].pages)
        for site in (hub, ann):
            check_collection(site["main"], "pages")
            assert site["main"].command("verify", 1, deep=True)["valid"] is True


def test_single_documents_are_found_by_the_collation(shop):
    main = shop["main"]
    main.create_collection("c", collation=NO_CASE)
    main.c.insert_one({"_id": "a"})
    shop.create("dev")
    assert shop["dev"].c.find_one_and_update({"_id": "A"}, {"$set": {"n": 1}}) == {"_id": "a"}
    assert shop["dev"].c.distinct("_id", {"_id": {"$in": ["A", "x"]}}) == ["a"]
    assert shop["dev"].c.replace_one({"_id": "B"}, {"n": 2}, upsert=True).upserted_id == "B"
    assert shop["dev"].c.replace_one({"_id": "b"}, {"n": 3}, upsert=True).upserted_id is None
    assert by_id(shop["dev"].c) == {"a": {"_id": "a", "n": 1}, "B": {"_id": "B", "n": 3}}

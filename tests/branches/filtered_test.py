"""Clones of the documents that match a filter: in every commit they have what the filter finds in the origin's, and nothing else."""
import random
import threading

from pymongo.errors import OperationFailure, PyMongoError

from tests.branches.conftest import by_id, fails
from tests.branches.team import Site, clone, palimpsest, same, servers, team  # noqa: F401
from tests.support.palimpsest import Server

BAD_VALUE, TYPE_MISMATCH, ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND, NOT_ALLOWED = 2, 14, 20, 26, 224


def select(hub, site, filter, **how):
    if "origin" not in site.remotes():
        site["main"].command("addRemote", "origin", uri=hub.uri)
    return site["main"].command("fetch", "origin", filter=filter, **how)


def check(hub, site, filters, *whole, refs=("main", "dev")):
    """Every commit of the origin is here once, and shows what the filters find there."""
    for ref in refs:
        made = {one["madeFrom"]["commit"]: one for one in site[f"origin%2F{ref}"].cursor_command("log", 1)}
        for commit in hub.log(ref):
            one = made[commit]
            assert one["madeFrom"]["collections"] == sorted([*filters, *whole]) and one["madeFrom"]["filter"] == filters
            for name, filter in [*filters.items(), *((name, {}) for name in whole)]:
                assert by_id(site[one["commit"]][name]) == by_id(hub[commit][name], **filter), (ref, commit, name)
        assert site[f"origin%2F{ref}"].command("verify", 1, deep=True)["valid"] is True


def test_documents_come_and_go_with_what_the_filter_finds(team):
    hub, ann, bob = team
    pages = hub["main"].pages
    filter = {"pages": {"n": {"$gte": 10}}}
    select(hub, ann, filter)
    assert ann["main"].pages.count_documents({}) == 0 and ann.remotes()["origin"]["filter"] == filter
    pages.update_many({"_id": {"$lt": 5}}, {"$set": {"n": 10}})
    hub.commit(message="five come")
    pages.update_one({"_id": 0}, {"$set": {"n": 11}})
    pages.update_one({"_id": 1}, {"$set": {"n": 9}})
    pages.update_one({"_id": 30}, {"$set": {"n": 1}})
    pages.delete_one({"_id": 2})
    hub.commit(message="one changes, two go, one was never here")
    hub["main"].authors.insert_one({"_id": "bob"})
    hub.commit(message="nothing that is here")
    pulled = ann["main"].command("pull", "origin")
    assert pulled["made"] == 3 and sorted(by_id(ann["main"].pages)) == [0, 3, 4]
    assert ann["main"].list_collection_names() == ["pages"]
    check(hub, ann, filter)
    change = list(ann["main"].cursor_command("diff", "pages", **{"from": ann.log()[2], "to": ann.log()[1]}))
    assert len(change) == 3
    # The same filter has the same ids everywhere; by the tool, too.
    palimpsest("clone", "--filter", 'pages={"n": {"$gte": 10}}', hub.uri, bob.uri)
    assert bob.log() == ann.log() and bob.log("origin%2Fdev") == ann.log("origin%2Fdev")
    assert ann["main"].command("fetch", "origin")["made"] == 0
    bob.wipe()
    clone(ann, bob)
    same(ann, bob)


def test_a_filter_beside_whole_collections_and_a_collation(team):
    hub, ann, bob = team
    hub["main"].create_collection("words", collation={"locale": "en", "strength": 2})
    hub["main"].words.insert_many([{"_id": i, "w": w} for i, w in enumerate(["Tree", "tree", "TREE", "bush"])])
    hub.commit(message="words")
    palimpsest("clone", "--collection", "authors", "--filter", 'words={"w": "tree"}', hub.uri, ann.uri)
    assert sorted(by_id(ann["main"].words)) == [0, 1, 2]
    assert list(by_id(ann["main"].authors)) == ["ann"] and len(ann["main"].list_collection_names()) == 2
    made = list(ann["main"].cursor_command("log", 1))[0]["madeFrom"]
    assert made["collections"] == ["authors", "words"] and made["filter"] == {"words": {"w": "tree"}}
    # An empty query is a whole collection.
    select(hub, bob, {"words": {}, "pages": {}})
    assert bob.remotes()["origin"]["collections"] == ["pages", "words"] and "filter" not in bob.remotes()["origin"]


def test_what_depends_on_more_than_the_document_is_no_filter(team):
    hub, ann, bob = team
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    for query, code in [({"$where": "true"}, BAD_VALUE), ({"$text": {"$search": "page"}}, BAD_VALUE),
                        ({"at": {"$near": [0, 0]}}, BAD_VALUE), ({"$sampleRate": 0.5}, BAD_VALUE),
                        ({"$or": [{"n": 1}, {"$sampleRate": 1.0}]}, BAD_VALUE),
                        ({"$expr": {"$lt": ["$at", "$$NOW"]}}, NOT_ALLOWED), ({"n": {"$unknown": 1}}, BAD_VALUE),
                        ({"text": "x" * 20_000}, BAD_VALUE)]:
        fails(code, lambda: select(hub, ann, {"pages": query}))
    fails(NAMESPACE_NOT_FOUND, lambda: select(hub, ann, {"nobody": {"n": 1}}))
    fails(BAD_VALUE, lambda: select(hub, ann, {}))
    fails(TYPE_MISMATCH, lambda: select(hub, ann, {"pages": 1}))
    select(hub, ann, {"pages": {"n": 1}})


def test_a_choice_stays_and_is_not_pushed(team):
    hub, ann, bob = team
    select(hub, ann, {"pages": {"_id": {"$lt": 10}}})
    fails(ILLEGAL_OPERATION, lambda: select(hub, ann, {"pages": {"_id": {"$lt": 11}}}))
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("fetch", "origin", collections=["pages"]))
    select(hub, ann, {"pages": {"_id": {"$lt": 10}}})
    ann["main"].pages.update_one({"_id": 5}, {"$set": {"by": "ann"}})
    ann["main"].pages.insert_one({"_id": 1000, "n": "of ann's own"})
    ann.commit(message="ann's")
    hub["main"].pages.update_one({"_id": 6}, {"$set": {"by": "hub"}})
    hub["main"].pages.update_one({"_id": 20}, {"$set": {"by": "hub"}})
    hub.commit(message="hub's")
    assert ann["main"].command("pull", "origin")["made"] == 1
    here = by_id(ann["main"].pages)
    assert here[5]["by"] == "ann" and here[6]["by"] == "hub" and sorted(here) == [*range(10), 1000]
    assert "can't be pushed" in str(fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "origin")))
    bob["main"].command("addRemote", "ann", uri=ann.uri)
    fails(ILLEGAL_OPERATION, lambda: bob["main"].command("fetch", "ann", filter={"pages": {"_id": 1}}))
    bob["main"].command("removeRemote", "ann")
    clone(ann, bob)
    same(ann, bob)


def test_the_newest_commits_of_a_filter(team):
    hub, ann, bob = team
    filter = {"pages": {"n": {"$gte": 100}}}
    for i in range(6):
        hub["main"].pages.update_one({"_id": i}, {"$set": {"n": 100 + i}})
        hub["main"].pages.update_one({"_id": i - 2}, {"$set": {"n": 1}})
        hub.commit(message=f"page {i}")
    palimpsest("clone", "--filter", 'pages={"n": {"$gte": 100}}', "--depth", "2", hub.uri, ann.uri)
    select(hub, bob, filter)
    assert ann.log() == bob.log("origin%2Fmain")[:2] and by_id(ann["main"].pages) == by_id(hub["main"].pages, **filter["pages"])
    ann["main"].command("fetch", "origin", unshallow=True)
    assert ann.log() == bob.log("origin%2Fmain")
    check(hub, ann, filter)


def test_what_was_purged_is_asked_by_no_filter(team):
    hub, ann, bob = team
    filter = {"pages": {"n": {"$gte": 0}}}
    hub["main"].command("purge", "pages", _id=7)
    hub["main"].pages.update_one({"_id": 8}, {"$set": {"n": 5}})
    hub.commit(message="after a purge")
    assert "purged" in str(fails(ILLEGAL_OPERATION, lambda: select(hub, ann, filter)))
    palimpsest("clone", "--collection", "pages", hub.uri, bob.uri)
    assert by_id(bob["main"].pages) == by_id(hub["main"].pages)


def test_random_histories_under_random_filters(team):
    hub, ann, bob = team
    seed = random.getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)
    filters = {"pages": chance.choice([{"n": {"$lt": chance.randrange(9)}}, {"$or": [{"n": 3}, {"tags": {"$size": 1}}]},
                                       {"tags": chance.randrange(4)}, {"_id": {"$mod": [3, 1]}},
                                       {"$nor": [{"text": {"$regex": "page 1"}}, {"n": 5}]}])}
    if chance.random() < 0.5:
        filters["authors"] = {"n": {"$exists": chance.random() < 0.5}}
    select(hub, ann, filters)
    for _ in range(25):
        ref = chance.choice(["main", "dev"])
        for _ in range(chance.randrange(1, 5)):
            name, key = chance.choice(["pages", "pages", "authors", "more"]), chance.randrange(60)
            if chance.random() < 0.3:
                hub[ref][name].delete_one({"_id": key})
            else:
                values = {"n": chance.randrange(9), "tags": [chance.randrange(4) for _ in range(chance.randrange(3))]}
                hub[ref][name].update_one({"_id": key}, {"$set": values}, upsert=True)
        hub.commit(ref, "random")
        if chance.random() < 0.2:
            hub["main"].command("merge", "dev", resolve="theirs")
        if chance.random() < 0.3:
            ann["main"].command("fetch", "origin")
    ann["main"].command("fetch", "origin")
    check(hub, ann, filters)
    # Nothing is remembered by a server that begins anew: the ids are the same.
    hub.server.stop()
    hub.server.start()
    select(hub, bob, filters)
    for ref in ("origin%2Fmain", "origin%2Fdev"):
        assert ann.log(ref) == bob.log(ref)
    hub["main"].pages.insert_one({"_id": "last", "n": 1})
    hub.commit(message="last")
    assert ann["main"].command("fetch", "origin")["made"] == 1
    check(hub, ann, filters)


def test_the_receiver_is_killed_in_the_middle_of_a_filter(team, tmp_path):
    hub, ann, bob = team
    filter = {"pages": {"n": {"$mod": [3, 0]}}}
    for round in range(30):
        hub["main"].pages.update_many({}, {"$inc": {"n": 1}, "$set": {f"r{round}": "text " * 10}})
        hub["main"].pages.update_many({"_id": {"$mod": [2, 0]}}, {"$inc": {"n": 1}})
        hub.commit(message=f"round {round}")
    with Server(dbpath=tmp_path) as server:
        site = Site(server)
        site["main"].command("addRemote", "origin", uri=hub.uri)
        for delay in (0.05, 0.15, 0.3, None):
            if delay:
                threading.Timer(delay, server.process.kill).start()
            try:
                server.client_until_killed()["shop"].command("fetch", "origin", filter=filter)
            except (PyMongoError, OSError) as ended:
                assert not isinstance(ended, OperationFailure), ended
            if delay:
                server.process.wait()
                server.start()
                site = Site(server)
        check(hub, site, filter)
        assert site["main"].command("fetch", "origin")["made"] == 0
        assert site.names() == ["main"]
        select(hub, bob, filter)
        assert bob.log("origin%2Fmain") == site.log("origin%2Fmain")

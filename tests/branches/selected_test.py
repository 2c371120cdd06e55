"""Clones of some collections alone: their commits are others, the same everywhere, and can't be pushed."""
import random

import pytest

from tests.branches.conftest import by_id, fails
from tests.branches.team import Site, clone, palimpsest, same, servers, team  # noqa: F401

ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND = 20, 26


@pytest.fixture
def shelves(team):
    hub, ann, bob = team
    for i in range(4):
        hub["main"].authors.insert_one({"_id": f"a{i}"})
        hub.commit(message=f"author {i}")
        hub["main"].pages.update_one({"_id": i}, {"$set": {"n": i + 10}})
        hub["main"].shelves.insert_one({"_id": i})
        hub.commit(message=f"page {i}")
    return hub, ann, bob


def some(hub, site, *collections):
    palimpsest("clone", *(part for one in collections for part in ("--collection", one)), hub.uri, site.uri)


def logged(site, ref="main"):
    return list(site[ref].cursor_command("log", 1))


def check_made_from(hub, site, *collections):
    made = {one["madeFrom"]["commit"]: one for one in logged(site, "origin%2Fmain")}
    origin = {one["commit"]: commit for commit, one in made.items()}
    # A database's first commit and the one that proves it are one in the hub's log.
    for its in hub["main"].cursor_command("log", 1):
        one = made[its["commit"]]
        assert one["message"] == its["message"] and one["time"] == its["time"] and one["commit"] != its["commit"]
        assert one["madeFrom"]["collections"] == sorted(collections)
        if its["parents"]:
            assert [origin[parent] for parent in one["parents"]] == its["parents"]
        for name in collections:
            assert by_id(site[one["commit"]][name]) == by_id(hub[its["commit"]][name])


def test_some_collections_are_cloned_and_fetched_again(shelves):
    hub, ann, bob = shelves
    some(hub, ann, "pages", "shelves")
    assert sorted(ann["main"].list_collection_names()) == ["pages", "shelves"]
    check_made_from(hub, ann, "pages", "shelves")
    roots = hub.roots()
    assert ann.roots() == {name: roots[name] for name in ("pages", "shelves")}
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True
    assert ann.remotes()["origin"]["collections"] == ["pages", "shelves"]
    assert ann["main"].command("fetch", "origin")["made"] == 0
    hub["main"].authors.delete_one({"_id": "a1"})
    hub.commit(message="fewer")
    hub["main"].pages.delete_one({"_id": 9})
    hub.commit(message="fewer pages")
    assert ann["main"].command("pull", "origin")["made"] == 2
    check_made_from(hub, ann, "pages", "shelves")
    # The same choice has the same ids on every server.
    some(hub, bob, "shelves", "pages")
    assert bob.log() == ann.log()
    bob.wipe()
    clone(ann, bob)
    assert bob.log() == ann.log() and by_id(bob["main"].pages) == by_id(hub["main"].pages)


def test_what_is_committed_on_some_collections_merges_and_is_not_pushed(shelves):
    hub, ann, bob = shelves
    some(hub, ann, "pages")
    ann["main"].pages.update_one({"_id": 5}, {"$set": {"by": "ann"}})
    ann.commit(message="ann's")
    hub["main"].pages.update_one({"_id": 6}, {"$set": {"by": "hub"}})
    hub.commit(message="hub's")
    pulled = ann["main"].command("pull", "origin")
    assert pulled["made"] == 1 and ann["main"].pages.find_one({"_id": 5})["by"] == "ann"
    assert ann["main"].pages.find_one({"_id": 6})["by"] == "hub" and ann["main"].command("merge", "origin/dev", resolve="ours")["touchedByBoth"] == 1
    refused = fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "origin"))
    assert "can't be pushed" in str(refused)
    ann["main"].command("addRemote", "again", uri=hub.uri)
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "again"))
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("fetch", "again"))
    assert hub.log() and by_id(hub["main"].pages)[5].get("by") is None
    clone(ann, bob)
    bob["main"].pages.delete_one({"_id": 7})
    bob.commit()
    assert bob["main"].command("push", "origin")["change"] == "moved"
    same(ann, bob)


def test_a_choice_is_one_of_collections_and_stays(shelves):
    hub, ann, bob = shelves
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    fetch = lambda site, **how: site["main"].command("fetch", "origin", **how)
    fails(NAMESPACE_NOT_FOUND, lambda: fetch(ann, collections=["pages", "nobody"]))
    assert "collections" not in ann.remotes()["origin"]
    fails(2, lambda: fetch(ann, collections=[]))
    fails(14, lambda: fetch(ann, collections=[1]))
    fetch(ann, collections=["pages"])
    fails(ILLEGAL_OPERATION, lambda: fetch(ann, collections=["pages", "authors"]))
    fetch(ann, collections=["pages"])
    # It is a history of its own: nothing of it can be chosen once more, and it doesn't mix with the whole.
    bob["main"].command("addRemote", "ann", uri=ann.uri)
    fails(ILLEGAL_OPERATION, lambda: bob["main"].command("fetch", "ann", collections=["pages"]))
    clone(hub, bob)
    fails(ILLEGAL_OPERATION, lambda: bob["main"].command("fetch", "origin", collections=["pages"]))
    assert bob["main"].command("fetch", "origin")["made"] == 0


def test_a_collection_that_came_later_is_cloned_from_where_it_began(shelves):
    hub, ann, bob = shelves
    some(hub, ann, "shelves")
    check_made_from(hub, ann, "shelves")
    assert len(by_id(ann["main"].shelves)) == 4 and ann["main"].list_collection_names() == ["shelves"]


def test_some_collections_of_the_newest_commits(shelves):
    hub, ann, bob = shelves
    palimpsest("clone", "--collection", "pages", "--depth", "2", hub.uri, ann.uri)
    some(hub, bob, "pages")
    assert ann.log() == bob.log()[:2] and by_id(ann["main"].pages) == by_id(hub["main"].pages)
    ann["main"].command("fetch", "origin", unshallow=True)
    assert ann.log() == bob.log() and ann.log("origin%2Fdev") == bob.log("origin%2Fdev")


def test_random_histories_of_some_collections(team):
    hub, ann, bob = team
    seed = random.getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)
    some(hub, ann, "pages")
    for _ in range(30):
        ref = chance.choice(["main", "dev"])
        for _ in range(chance.randrange(1, 4)):
            name, key = chance.choice(["pages", "authors", "more"]), chance.randrange(60)
            if chance.random() < 0.3:
                hub[ref][name].delete_one({"_id": key})
            else:
                hub[ref][name].update_one({"_id": key}, {"$set": {"n": chance.randrange(9)}}, upsert=True)
        hub.commit(ref, "random")
        if chance.random() < 0.2:
            hub["main"].command("merge", "dev", resolve="theirs")
        if chance.random() < 0.3:
            ann["main"].command("fetch", "origin")
    ann["main"].command("fetch", "origin")
    check_made_from(hub, ann, "pages")
    some(hub, bob, "pages")
    for ref in ("origin%2Fmain", "origin%2Fdev"):
        assert ann.log(ref) == bob.log(ref)
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True

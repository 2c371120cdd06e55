"""Histories that end at a boundary: clones and fetches of some commits, what such a database refuses, and how it gets the rest."""
import random
import threading

import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.branches.conftest import by_id, fails
from tests.branches.team import Site, bundle, clone, palimpsest, same, servers, team, unbundle  # noqa: F401
from tests.support.palimpsest import Server

BAD_VALUE, ILLEGAL_OPERATION, NAMESPACE_NOT_FOUND = 2, 20, 26
COMMITS = 8


@pytest.fixture
def old(team):
    """The hub's main and dev have a history of some commits; they went apart early."""
    hub, ann, bob = team
    for i in range(COMMITS):
        hub["main"].pages.update_one({"_id": i}, {"$set": {"n": i + 100}})
        hub["main"].pages.update_one({"_id": 40}, {"$inc": {"count": 1}})
        hub.commit(message=f"main {i}")
        hub["dev"].pages.update_one({"_id": 20 + i}, {"$set": {"n": i + 200}})
        hub.commit("dev", f"dev {i}")
    return hub, ann, bob


def fetch(site, **how):
    return site["main"].command("fetch", "origin", **how)


def logged(site, ref="main"):
    return list(site[ref].cursor_command("log", 1))


def boundary(site, ref="main"):
    return [one["commit"] for one in logged(site, ref) if one.get("shallow")]


def history(site, key):
    return [(one["commit"], one["document"]) for one in site["main"].pages.aggregate([{"$history": {"_id": key}}])]


def check_whole(hub, site):
    same(hub, site)
    assert site.log("origin%2Fdev") == hub.log("dev")
    assert not boundary(site) and "shallow" not in site["main"].command("versionStats")
    assert "shallow" not in site.remotes()["origin"]
    for commit in hub.log("dev") + hub.log():
        assert by_id(site[commit].pages) == by_id(hub[commit].pages), commit
    assert history(site, 40) == history(hub, 40)
    blame = lambda one: [(field["path"], field["commit"]) for field in one["main"].cursor_command("blame", "pages", _id=40)]
    assert blame(site) == blame(hub)
    assert site["main"].command("verify", 1, deep=True)["valid"] is True


def test_a_shallow_clone_has_the_newest_commits_alone(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "2", hub.uri, ann.uri)
    assert ann.log() == hub.log()[:2] and ann.log("origin%2Fdev") == hub.log("dev")[:2]
    assert boundary(ann) == [hub.log()[1]] and boundary(ann, "origin%2Fdev") == [hub.log("dev")[1]]
    assert by_id(ann["main"].pages) == by_id(hub["main"].pages) and ann.roots() == hub.roots()
    assert logged(ann)[1]["parents"] == logged(hub)[1]["parents"]
    assert ann.remotes()["origin"]["shallow"] is True and ann["main"].command("versionStats")["shallow"] == 2
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True
    assert [one["name"] for one in ann["main"].pages.list_indexes()] == ["_id_", "n_1"]
    behind = fails(NAMESPACE_NOT_FOUND, lambda: ann[hub.log()[2]].pages.find_one())
    assert "shallow" in str(behind)
    fails(NAMESPACE_NOT_FOUND, lambda: ann["main"].command("createBranch", "x", **{"from": hub.log()[2]}))
    blame = list(ann["main"].cursor_command("blame", "pages", _id=3))
    assert {one["commit"] for one in blame} == {hub.log()[1]}
    assert fetch(ann)["made"] == 0
    # A commit on it is the same commit at the hub.
    ann["main"].pages.update_one({"_id": 7}, {"$set": {"by": "ann"}})
    ann.commit(message="ann's")
    assert ann["main"].command("push", "origin")["sent"] == 1
    assert hub.log()[:3] == ann.log() and len(hub.log()) == COMMITS + 2
    assert hub["main"].command("verify", 1, deep=True)["valid"] is True
    hub["main"].pages.delete_one({"_id": 8})
    hub.commit(message="hub's")
    assert ann["main"].command("pull", "origin")["fastForward"] is True
    assert ann.log() == hub.log()[:4]


def test_a_merge_whose_base_lies_behind_the_boundary_is_refused_until_it_is_here(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "3", hub.uri, ann.uri)
    for command in ("merge", "rebase"):
        refused = fails(ILLEGAL_OPERATION, lambda: ann["main"].command(command, "origin/dev"))
        assert "behind the boundary of a shallow history" in str(refused), refused
    assert fetch(ann, depth=5)["made"] == 4
    assert ann.log() == hub.log()[:5] and boundary(ann) == [hub.log()[4]]
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("merge", "origin/dev"))
    assert fetch(ann, unshallow=True)["made"] > 0
    check_whole(hub, ann)
    assert ann["main"].command("merge", "origin/dev", resolve="ours")["touchedByBoth"] > 0
    ann["main"].command("push", "origin")
    same(hub, ann)
    assert hub["main"].pages.find_one({"_id": 20})["n"] == 200


def test_what_is_written_here_stays_while_history_gets_deeper(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "1", hub.uri, ann.uri)
    ann["main"].pages.update_one({"_id": 1}, {"$set": {"by": "ann"}})
    ann.commit(message="ann's")
    ann["main"].command("createTag", "mine")
    ann["main"].pages.delete_one({"_id": 30})
    for depth in (2, 4, None):
        fetch(ann, **({"depth": depth} if depth else {"unshallow": True}))
        assert ann["main"].pages.find_one({"_id": 30}) is None and ann["mine"].pages.find_one({"_id": 30})
    assert ann.log()[1:] == hub.log() and ann["main"].command("verify", 1, deep=True)["valid"] is True
    ann.commit()
    ann["main"].command("push", "origin")
    same(hub, ann)
    check_whole(hub, ann)


def test_a_branch_that_forks_behind_the_boundary_brings_what_it_comes_from(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "1", hub.uri, ann.uri)
    hub["main"].command("createBranch", "late", **{"from": hub.log()[3]})
    hub["late"].pages.insert_one({"_id": "late"})
    hub.commit("late")
    fetch(ann, refs=["late"])
    assert ann.log("origin%2Flate") == hub.log("late")
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True
    fetch(ann, unshallow=True)
    check_whole(hub, ann)


def test_shallow_histories_spread_only_where_they_are_asked_for(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "2", hub.uri, ann.uri)
    ann["main"].pages.insert_one({"_id": "ann"})
    ann.commit()
    # Nobody becomes shallow by a push, or by a fetch that doesn't say so.
    bob["main"].command("addRemote", "ann", uri=ann.uri)
    ann["main"].command("addRemote", "bob", uri=bob.uri)
    assert "shallow" in str(fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "bob")))
    assert "shop" not in bob.client.list_database_names()
    bob["main"].command("fetch", "ann", refs=["main"])
    assert bob.log("ann%2Fmain") == ann.log() and bob.log() == ann.log() and len(boundary(bob)) == 1
    bob.wipe()
    clone(hub, bob)
    bob["main"].command("addRemote", "ann", uri=ann.uri)
    assert bob["main"].command("fetch", "ann", refs=["main"])["made"] == 1
    assert bob.log("ann%2Fmain") == ann.log()[:1] + hub.log()
    bob.wipe()
    # A server that has the parents takes what stands on them, whether or not it has the commit at the boundary.
    hub[hub.log()[2]].command("createTag", "before")
    bob["main"].command("addRemote", "origin", uri=hub.uri)
    bob["main"].command("fetch", "origin", refs=["before"])
    ann["main"].command("addRemote", "bob", uri=bob.uri) if "bob" not in ann.remotes() else None
    bob["main"].command("pull", "origin", branch="before")
    pushed = ann["main"].command("push", "bob")
    assert pushed["change"] == "moved" and bob.log() == ann.log()[:1] + hub.log()
    assert bob["main"].command("verify", 1, deep=True)["valid"] is True
    fails(BAD_VALUE, lambda: fetch(ann, depth=0))
    fails(BAD_VALUE, lambda: fetch(ann, depth=1, unshallow=True))


def test_retention_and_shallow_histories_go_together(old):
    hub, ann, bob = old
    palimpsest("clone", "--depth", "4", hub.uri, ann.uri)
    ann["main"].command("retention", {"newest": 2})
    ann["main"].command("sweep", 1)
    assert ann.log() == hub.log()[:2]
    hub["main"].pages.delete_one({"_id": 8})
    hub.commit()
    ann["main"].command("pull", "origin")
    assert ann.log()[0] == hub.head() and by_id(ann["main"].pages) == by_id(hub["main"].pages)
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True
    ann["main"].pages.delete_one({"_id": 9})
    ann.commit()
    ann["main"].command("push", "origin")
    assert hub.head() == ann.head()


def test_a_depth_ends_where_the_remote_has_dropped_commits(old):
    hub, ann, bob = old
    old_commit = hub.log()[4]
    hub["main"].command("createTag", "kept", **{"from": old_commit})
    hub["main"].command("retention", {"newest": 2})
    while hub["main"].command("sweep", 1)["commits"] > 0:
        pass
    palimpsest("clone", "--depth", "3", hub.uri, ann.uri)
    assert ann.log("origin%2Fkept")[0] == old_commit and by_id(ann["main"].pages) == by_id(hub["main"].pages)
    assert by_id(ann["origin%2Fkept"].pages) == by_id(hub["kept"].pages)


def test_a_bundle_may_be_shallow(old, tmp_path):
    hub, ann, bob = old
    file = tmp_path / "some"
    bundle(hub, "shop", file, "--depth", "2")
    shown = palimpsest("bundle", "verify", file)
    assert shown["commits"] == 4 and len(shown["excluded"]) == 2 and not shown["standsOn"]
    unbundle(ann, file)
    assert ann.log() == hub.log()[:2] and ann.log("bundle%2Fdev") == hub.log("dev")[:2]
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    fetch(ann, unshallow=True)
    check_whole(hub, ann)


def test_a_bundle_makes_a_whole_history_shallow_only_if_told_to(old, tmp_path):
    hub, ann, bob = old
    clone(hub, bob)
    for i in range(5):
        hub["main"].pages.update_one({"_id": i}, {"$set": {"late": i}})
        hub.commit(message=f"late {i}")
    file = tmp_path / "some"
    bundle(hub, "shop@main", file, "--depth", "2")
    assert "shallow" in unbundle(bob, file, code=1)
    assert not boundary(bob) and hub.head() not in bob.log()
    unbundle(bob, file, "--shallow")
    assert bob.log("bundle%2Fmain") == hub.log()[:2]


def test_large_shallow_clones_and_their_rest(old):
    hub, ann, bob = old
    hub["main"].many.insert_many([{"_id": i, "n": i, "text": f"{i} " * 20} for i in range(7_000)])
    hub["main"].create_collection("empty")
    hub.commit()
    hub["main"].many.update_many({"_id": {"$lt": 6_000}}, {"$inc": {"n": 1}})
    hub["main"].authors.drop()
    hub.commit()
    palimpsest("clone", "--depth", "1", hub.uri, ann.uri)
    assert ann.log() == hub.log()[:1] and ann.roots() == hub.roots()
    assert sorted(ann["main"].list_collection_names()) == sorted(hub["main"].list_collection_names())
    fetch(ann, depth=2)
    assert ann.log() == hub.log()[:2] and ann[hub.log()[1]].many.find_one({"_id": 1})["n"] == 1
    fetch(ann, unshallow=True)
    check_whole(hub, ann)


def test_a_shallow_history_takes_no_other_first_commit(old, tmp_path):
    hub, ann, bob = old
    bob["main"].notes.insert_one({"_id": 1})
    bob.commit(message="of another history")
    palimpsest("clone", "--depth", "2", hub.uri, ann.uri)
    ann["main"].command("addRemote", "other", uri=bob.uri)
    refused = fails(ILLEGAL_OPERATION, lambda: ann["main"].command("fetch", "other"))
    assert "another history" in str(refused), refused
    bundle(bob, "shop", tmp_path / "all")
    assert "another history" in unbundle(ann, tmp_path / "all", code=1)
    bob["main"].command("addRemote", "ann", uri=ann.uri)
    fails(ILLEGAL_OPERATION, lambda: bob["main"].command("push", "ann"))
    assert ann["main"].list_collection_names().count("notes") == 0
    # A server that has it from here knows it, too.
    bob.wipe()
    palimpsest("clone", "--depth", "1", ann.uri, bob.uri)
    bob["main"].command("addRemote", "hub", uri=hub.uri)
    bob["main"].command("fetch", "hub", unshallow=True)
    assert bob.log("hub%2Fmain") == hub.log()
    fetch(ann, unshallow=True)
    check_whole(hub, ann)


def test_what_was_purged_is_named_by_a_boundary(old):
    hub, ann, bob = old
    hub["main"].command("purge", "pages", id=9)
    palimpsest("clone", "--depth", "1", hub.uri, ann.uri)
    assert ann.head() == hub.head() and ann["main"].pages.find_one({"_id": 9}) is None
    fetch(ann, unshallow=True)
    assert ann.log() == hub.log() and ann.log("origin%2Fdev") == hub.log("dev")


def test_random_depths_come_to_the_same_history(team):
    hub, ann, bob = team
    seed = random.getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)

    def write(site, ref):
        pages = site[ref].pages
        for _ in range(chance.randrange(1, 5)):
            key = chance.randrange(60)
            if chance.random() < 0.2:
                pages.delete_one({"_id": key})
            else:
                pages.update_one({"_id": key}, {"$set": {f"f{chance.randrange(3)}": chance.randrange(9)}}, upsert=True)
        site.commit(ref, "random")

    for _ in range(12):
        write(hub, chance.choice(["main", "dev"]))
        if chance.random() < 0.2:
            hub["main"].command("merge", "dev", resolve="theirs")
        if chance.random() < 0.2:
            hub["dev"].command("merge", "main", resolve="ours")
    for site in (ann, bob):
        palimpsest("clone", "--depth", str(chance.randrange(1, 5)), hub.uri, site.uri)
    for _ in range(20):
        site, action = chance.choice([ann, bob]), chance.randrange(6)
        if action == 0:
            write(hub, "dev")
        elif action == 1:
            fetch(site, depth=chance.randrange(1, 12))
        elif action == 2:
            fetch(site)
        else:
            write(site, "main")
            try:
                site["main"].command("pull", "origin", resolve=chance.choice(["ours", "theirs"]))
            except OperationFailure as refused:
                assert "behind the boundary" in str(refused), refused
                site["main"].command("pull", "origin", unshallow=True, resolve="theirs")
            site["main"].command("push", "origin")
    for site in (ann, bob, ann):
        site["main"].command("pull", "origin", unshallow=True, resolve="theirs")
        site["main"].command("push", "origin")
    bob["main"].command("pull", "origin")
    for site in (ann, bob):
        fetch(site, unshallow=True)
        check_whole(hub, site)


def test_the_receiver_of_a_shallow_history_is_killed_in_the_middle(old, tmp_path):
    hub, ann, bob = old
    for i in range(20):
        hub["main"].pages.update_many({}, {"$inc": {"n": 1}, "$set": {f"r{i}": "text " * 10}})
        hub.commit(message=f"round {i}")
    with Server(dbpath=tmp_path) as server:
        site = Site(server)
        site["main"].command("addRemote", "origin", uri=hub.uri)
        for how in ({"depth": 10}, {"unshallow": True}):
            for delay in (0.05, 0.15, 0.3, None):
                if delay:
                    threading.Timer(delay, server.process.kill).start()
                try:
                    server.client_until_killed()["shop"].command("fetch", "origin", **how)
                except (PyMongoError, OSError) as ended:
                    assert not isinstance(ended, OperationFailure), ended
                if delay:
                    server.process.wait()
                    server.start()
                    site = Site(server)
            if "depth" in how:
                assert site.log() == hub.log()[:10] and site.log("origin%2Fdev") == hub.log("dev")[:10]
        site["main"].command("pull", "origin")
        assert [one["message"] for one in logged(site)] == [one["message"] for one in logged(hub)]
        check_whole(hub, site)
        assert site.names() == ["main"]

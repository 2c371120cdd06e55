"""Servers exchange commits: clone, push, pull, conflicts; bundles; and what happens to packs that are damaged, refused or cut off."""
import datetime
import os
import random
import threading
import time

import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.branches.conftest import by_id, fails, log_of
from tests.branches.team import Site, bundle, clone, palimpsest, same, servers, team, unbundle  # noqa: F401
from tests.drivers.auth_test import PASSWORD, Guarded
from tests.support.certificates import Authority
from tests.support.lying_server import LyingServer
from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

BAD_VALUE, HOST_UNREACHABLE, FAILED_TO_PARSE, AUTHENTICATION_FAILED, UNAUTHORIZED, ILLEGAL_OPERATION = 2, 6, 9, 18, 13, 20
NAMESPACE_NOT_FOUND, NAMESPACE_EXISTS, OPERATION_FAILED, PROTOCOL_ERROR = 26, 48, 96, 17


def test_a_team_works_on_three_servers(team):
    hub, ann, bob = team
    clone(hub, ann), clone(hub, bob)
    same(hub, ann), same(hub, bob)
    assert ann.log("origin%2Fdev") == hub.log("dev")
    assert ann["origin%2Fdev"].pages.find_one({"_id": 1})["n"] == 1
    assert [one["name"] for one in ann["main"].pages.list_indexes()] == ["_id_", "n_1"]
    fails(ILLEGAL_OPERATION, lambda: ann["origin%2Fdev"].pages.insert_one({}))
    assert not list(ann["main"].cursor_command("listTags", 1))

    ann["main"].pages.update_one({"_id": 7}, {"$set": {"n": 7, "by": "ann"}})
    ann["main"].pages.update_one({"_id": 8}, {"$set": {"n": 8}})
    ann.commit(message="ann's")
    bob["main"].pages.update_one({"_id": 7}, {"$set": {"n": 70}})
    bob["main"].pages.insert_one({"_id": "bob"})
    bob.commit(message="bob's")

    assert ann["main"].command("push", "origin")["change"] == "moved"
    same(hub, ann)
    fails(ILLEGAL_OPERATION, lambda: bob["main"].command("push", "origin"))
    failure = fails(OPERATION_FAILED, lambda: bob["main"].command("pull", "origin"))
    assert failure.details["conflicts"] == [{"collection": "pages", "_id": 7, "paths": ["n"]}]
    assert bob["main"].command("pull", "origin", resolve="manual")["merging"] is True
    bob["main"].command("resolveConflict", 1, collection="pages", id=7, take="ours")
    bob["main"].command("continueMerge", 1)
    assert bob["main"].pages.find_one({"_id": 7})["n"] == 70 and bob["main"].pages.find_one({"_id": 8})["n"] == 8
    sent = bob["main"].command("push", "origin")
    assert sent["sent"] == 2 and sent["change"] == "moved"

    pulled = ann["main"].command("pull", "origin")
    assert pulled["fastForward"] is True and pulled["changed"] is True
    same(hub, ann), same(hub, bob)
    assert ann["main"].command("pull", "origin")["changed"] is False
    # Later merges compare the same versions everywhere.
    for site in (ann, bob):
        assert site["main"].command("merge", "origin/dev", dryRun=True)["touchedByBoth"] == 0
    assert ann["main"].command("verify", 1, deep=True)["valid"] is True


def test_a_branch_of_ones_own_is_pushed_and_given_up_by_force(team):
    hub, ann, bob = team
    clone(hub, ann)
    ann["main"].command("createBranch", "feature/a")
    ann["feature%2Fa"].new.insert_one({"_id": 1})
    ann["feature%2Fa"].authors.drop()
    ann.commit("feature%2Fa")
    assert ann["main"].command("push", "origin", branch="feature/a")["change"] == "made"
    assert hub.log("feature%2Fa") == ann.log("feature%2Fa")
    assert sorted(hub["feature%2Fa"].list_collection_names()) == ["new", "pages"]
    ann["main"].command("resetBranch", "feature/a", to="main")
    ann["feature%2Fa"].pages.delete_many({"_id": {"$lt": 10}})
    ann.commit("feature%2Fa")
    fails(ILLEGAL_OPERATION, lambda: ann["feature%2Fa"].command("push", "origin"))
    assert ann["feature%2Fa"].command("push", "origin", force=True)["change"] == "reset"
    assert hub.log("feature%2Fa") == ann.log("feature%2Fa")
    assert hub["feature%2Fa"].pages.count_documents({}) == 40
    ann["main"].command("createTag", "v1")
    assert ann["main"].command("push", "origin", tag="v1")["change"] == "made"
    assert hub.head("v1") == ann.head("v1")
    # Nobody loses what isn't committed.
    ann["main"].pages.delete_one({"_id": 1})
    ann.commit()
    hub["main"].pages.delete_one({"_id": 2})
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "origin", force=True))
    assert hub["main"].pages.find_one({"_id": 1})


def test_a_bundle_stands_on_what_it_says(team, tmp_path):
    hub, ann, bob = team
    whole, part = tmp_path / "whole", tmp_path / "part"
    bundle(hub, "shop", whole)
    bundle(hub, "shop@main..shop@dev", part)
    shown = palimpsest("bundle", "verify", part)
    assert shown["commits"] == 1 and shown["standsOn"] == [hub.head()] and shown["refs"] == [{"branch": "dev", "commit": hub.head("dev")}]
    assert "stand on" in unbundle(ann, part, code=1)
    assert "shop" not in ann.client.list_database_names()
    unbundle(ann, whole)
    same_refs = {"bundle%2Fmain": "main", "bundle%2Fdev": "dev"}
    for mine, theirs in same_refs.items():
        assert ann.log(mine) == hub.log(theirs)
    unbundle(ann, part, "--as", "again")
    assert ann.log("again%2Fdev") == hub.log("dev")


def test_the_history_of_a_document_has_one_order_on_all_servers(team):
    hub, ann, bob = team
    clone(hub, ann)
    ann["main"].pages.update_one({"_id": 40}, {"$set": {"n": 1}})
    first = ann.commit()
    time.sleep(0.005)  # Commits have times in milliseconds.
    hub["dev"].pages.update_one({"_id": 40}, {"$set": {"n": 2}})
    second = hub.commit("dev")
    ann["main"].command("push", "origin")
    ann["main"].command("fetch", "origin")
    clone(hub, bob)
    for site in team:
        found = [(one["commit"], one["document"]["n"]) for one in site["main"].pages.aggregate([{"$history": {"_id": 40}}])]
        assert found == [(second, 2), (first, 1), (hub.log()[-1], 0)]


def test_damaged_bundles_move_nothing(team, tmp_path):
    hub, ann, bob = team
    file = tmp_path / "whole"
    bundle(hub, "shop", file)
    good = file.read_bytes()
    random.seed(7)
    for at in random.sample(range(len(good)), 60):
        damaged = bytearray(good)
        damaged[at] ^= 1 << random.randrange(8)
        with pytest.raises(OperationFailure) as failure:
            ann.receive(bytes(damaged), random.randbytes(16))
        assert failure.value.code in (FAILED_TO_PARSE, 12), failure.value
    fails(FAILED_TO_PARSE, lambda: ann.receive(good[:-40]))
    ann.receive(good)
    assert ann.log(hub.head("dev")) == hub.log("dev")


def test_large_commits_go_in_parts(team):
    hub, ann, bob = team
    clone(hub, ann)
    many = [{"_id": f"m{i}", "n": i, "text": f"{i} " * 30} for i in range(12_000)]
    ann["main"].many.insert_many(many)
    ann.commit(message="many")
    ann["main"].many.update_many({}, {"$inc": {"n": 1}})
    ann["main"].many.delete_many({"n": {"$lt": 100}})
    ann.commit(message="all changed")
    ann["main"].command("push", "origin")
    assert hub.log() == ann.log() and hub.roots() == ann.roots()
    assert hub["main"].many.count_documents({}) == ann["main"].many.count_documents({})
    clone(hub, bob)
    assert bob.log() == ann.log() and bob.roots() == ann.roots()
    assert bob["main"].command("verify", 1, deep=True)["valid"] is True


def test_a_large_commit_has_its_empty_collections(team):
    hub, ann, bob = team
    clone(hub, ann)
    ann["main"].create_collection("empty")
    ann["main"].many.insert_many([{"_id": i} for i in range(7_000)])
    ann.commit(message="many, and nothing")
    assert ann["main"].command("push", "origin")["change"] == "moved"
    clone(ann, bob)
    for site in (hub, bob):
        same(ann, site)
        assert sorted(site["main"].list_collection_names()) == ["authors", "empty", "many", "pages"]
        assert site["main"].command("verify", 1, deep=True)["valid"] is True
    bob.wipe()
    ann["main"].command("addRemote", "bob", uri=bob.uri)
    assert ann["main"].command("push", "bob")["change"] == "moved"
    same(ann, bob)


def test_a_sweep_spares_commits_that_arrive_and_their_collections(team):
    """A collection that comes with a commit is nobody's until the commit is there."""
    hub, ann, bob = team
    clone(hub, ann)
    over, swept = threading.Event(), []

    def sweep():
        while not over.is_set():
            swept.append(hub["main"].command("sweep"))

    sweeper = threading.Thread(target=sweep)
    sweeper.start()
    try:
        for turn in range(4):
            ann["main"].create_collection(f"empty{turn}")
            ann["main"][f"many{turn}"].insert_many([{"_id": i} for i in range(7_000)])
            ann.commit(message=f"many and nothing, {turn}")
            ann["main"].create_collection(f"alone{turn}")
            ann.commit(message=f"nothing, {turn}")
            assert ann["main"].command("push", "origin")["change"] == "moved"
    finally:
        over.set()
        sweeper.join()
    assert swept
    same(ann, hub)
    assert sorted(hub["main"].list_collection_names()) == sorted(ann["main"].list_collection_names())
    assert hub["main"].command("verify", 1, deep=True)["valid"] is True


def test_documents_that_cannot_be_compressed_travel_in_pieces(team):
    hub, ann, bob = team
    for i in range(4):
        hub["main"].many.insert_one({"_id": i, "bytes": os.urandom(13_000_000)})
    hub.commit(message="large")
    clone(hub, ann)
    assert ann.log() == hub.log() and ann.roots() == hub.roots()
    ann["main"].many.insert_many([{"_id": i, "bytes": os.urandom(6_000_000)} for i in range(4, 6)])
    ann.commit(message="more")
    assert ann["main"].command("push", "origin")["change"] == "moved"
    assert ann.log() == hub.log() and ann.roots() == hub.roots()


def purge_page_3(site, then):
    """Two commits show the page; after the purge, the next commit adds a document to the collection `then`."""
    site["main"].pages.update_one({"_id": 3}, {"$set": {"n": 3}})
    site.commit(message="three")
    site["main"].command("purge", "pages", id=3)
    site["main"][then].insert_one({"_id": "after"})
    site.commit(message="after")


def test_what_was_purged_is_not_shipped(team):
    hub, ann, bob = team
    purge_page_3(hub, then="pages")
    clone(hub, ann)
    assert ann.log() == hub.log() and by_id(ann["main"].pages) == by_id(hub["main"].pages)
    for commit in hub.log():
        assert ann[commit].pages.find_one({"_id": 3}) is None
    assert ann.roots() == hub.roots()
    ann["main"].pages.delete_one({"_id": 5})
    ann.commit()
    ann["main"].command("push", "origin")
    same(hub, ann)


def test_what_was_purged_before_it_came_is_known_to_be_and_passed_on(team, tmp_path):
    hub, ann, bob = team
    purge_page_3(hub, then="authors")
    clone(hub, ann), clone(ann, bob)

    def check(site):
        assert site.log() == hub.log() and by_id(site["main"].pages) == by_id(hub["main"].pages)
        for commit in hub.log():
            assert site[commit].pages.find_one({"_id": 3}) is None
            said, wanted = site[commit].command("verify", 1, deep=True), hub[commit].command("verify", 1, deep=True)
            assert said["valid"] is True and said == wanted, commit
            assert site[commit].pages.estimated_document_count() == site[commit].pages.count_documents({})

    check(ann), check(bob)
    # The next commit that changes the collection names it no more, wherever it is made.
    bob["main"].pages.delete_one({"_id": 5})
    bob.commit(message="bob's")
    hub["main"].pages.delete_one({"_id": 5})
    hub.commit(message="hub's")
    assert bob.roots() == hub.roots()
    hub["main"].command("resetBranch", "main", to="main~1")
    assert bob["main"].command("push", "origin")["change"] == "moved"
    assert ann["main"].command("push", "origin")["change"] == "moved"
    check(ann), check(bob)
    bob.wipe()
    ann["main"].command("addRemote", "bob", uri=bob.uri)
    assert ann["main"].command("push", "bob")["change"] in ("made", "moved")
    check(bob)
    bob.wipe()
    bundle(ann, "shop@main", tmp_path / "main")
    unbundle(bob, tmp_path / "main")
    assert bob.log("bundle%2Fmain") == hub.log()
    assert bob["bundle%2Fmain"].command("verify", 1, deep=True)["valid"] is True


def test_what_was_purged_at_the_receiver_comes_whole_if_it_is_changed_elsewhere(team):
    hub, ann, bob = team
    clone(hub, ann)
    ann["main"].command("purge", "pages", id=4)
    hub["main"].pages.update_one({"_id": 5}, {"$set": {"n": 5}})
    hub.commit()
    ann["main"].command("fetch", "origin")
    assert ann.log("origin%2Fmain") == hub.log() and ann["origin%2Fmain"].pages.find_one({"_id": 4}) is None
    hub["main"].pages.update_one({"_id": 4}, {"$set": {"n": 4}})
    hub.commit()
    ann["main"].command("fetch", "origin")
    assert ann["origin%2Fmain"].pages.find_one({"_id": 4}) == hub["main"].pages.find_one({"_id": 4})
    assert ann["origin%2Fmain~1"].pages.find_one({"_id": 4}) is None


def test_views_and_time_series_travel(team):
    hub, ann, bob = team
    hub["main"].command("create", "few", viewOn="pages", pipeline=[{"$match": {"_id": {"$lt": 3}}}])
    hub["main"].create_collection("weather", timeseries={"timeField": "t", "metaField": "m"})
    hub["main"].weather.insert_many([{"t": datetime.datetime(2026, 1, 1, i), "m": i % 2, "c": i} for i in range(10)])
    hub.commit()
    clone(hub, ann)
    assert ann.log() == hub.log() and sorted(ann["main"].list_collection_names()) == sorted(hub["main"].list_collection_names())
    assert list(ann["main"].few.find()) == list(hub["main"].few.find())
    key = lambda one: one["t"]
    assert sorted(ann["main"].weather.find(), key=key) == sorted(hub["main"].weather.find(), key=key)
    bob["main"].command("addRemote", "origin", uri=ann.uri)
    bob["main"].command("fetch", "origin")
    assert bob.log("origin%2Fmain") == hub.log()


def test_unique_indexes_come_last_and_are_kept(team):
    hub, ann, bob = team
    hub["main"].authors.insert_many([{"_id": "a", "mail": 1}, {"_id": "b", "mail": 1}])
    hub.commit(message="two of one key")
    hub["main"].authors.update_one({"_id": "b"}, {"$set": {"mail": 2}})
    hub.commit(message="repaired")
    hub["main"].authors.delete_one({"_id": "ann"})
    hub.commit(message="ann has no mail")
    hub["main"].command("dropBranch", "dev")
    hub["main"].authors.create_index("mail", unique=True)
    clone(hub, ann)
    assert ann.log() == hub.log() and ann["main"].authors.index_information()["mail_1"]["unique"]
    # Two documents exchange their keys in one commit.
    hub["main"].authors.update_one({"_id": "a"}, {"$set": {"mail": 3}})
    hub["main"].authors.update_one({"_id": "b"}, {"$set": {"mail": 1}})
    hub["main"].authors.update_one({"_id": "a"}, {"$set": {"mail": 2}})
    hub.commit(message="exchanged")
    ann["main"].command("pull", "origin")
    assert by_id(ann["main"].authors) == by_id(hub["main"].authors) and ann.log() == hub.log()


def only(site, name, documents):
    """The site has this collection alone, and no branches."""
    site.wipe()
    site["main"][name].insert_many(documents)


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("how", ["fetch", "push", "push dev", "bundle"])
def test_a_first_commit_with_two_documents_of_a_later_unique_key_is_left(team, tmp_path, how, interrupted):
    hub, ann, bob = team
    only(hub, "users", [{"_id": "a", "mail": 1}, {"_id": "b", "mail": 1}])
    hub.commit(message="two of one key")
    hub["main"].command("createTag", "v0")
    hub["main"].users.update_one({"_id": "b"}, {"$set": {"mail": 2}})
    hub.commit(message="repaired")
    hub["main"].users.create_index("mail", unique=True)
    hub["main"].command("createBranch", "dev")
    hub["dev"].users.insert_one({"_id": "c", "mail": 3})
    hub.commit("dev", message="dev's")
    if interrupted:
        ann.receive(packed(hub, "dev"))
        assert "mail_1" not in ann["main"].users.index_information()
    if how.startswith("push"):
        ref = "dev" if how == "push dev" else "main"
        hub["main"].command("addRemote", "ann", uri=ann.uri)
        assert hub[ref].command("push", "ann")["change"] == ("made" if ref == "dev" else "moved")
        assert ann.log() == hub.log(ref) == ann.log(ref)
        hub["main"].command("push", "ann", tag="v0")
        first = "v0"
    elif how == "bundle":
        bundle(hub, "shop", tmp_path / "all")
        unbundle(ann, tmp_path / "all")
        first = "bundle%2Fv0"
        assert ann.log("bundle%2Fdev") == hub.log("dev")
    else:
        ann["main"].command("addRemote", "origin", uri=hub.uri)
        assert ann["main"].command("pull", "origin")["changed"] is True
        assert ann["main"].command("pull", "origin")["changed"] is False
        ann["main"].command("fetch", "origin")
        first = "origin%2Fv0"
    if how != "push dev":
        assert ann.log() == hub.log() and ann.roots() == hub.roots()
        assert by_id(ann["main"].users) == by_id(hub["main"].users)
    assert ann["main"].users.index_information()["mail_1"]["unique"] is True
    fails(11000, lambda: ann["main"].users.insert_one({"mail": 2}))
    assert sorted(one["mail"] for one in ann[first].users.find()) == [1, 1]


def test_a_first_commit_does_not_expire_while_it_comes(team):
    hub, ann, bob = team
    old = datetime.datetime(2020, 1, 1)
    hub.client.admin.command("setParameter", 1, ttlMonitorEnabled=False)
    try:
        only(hub, "sessions", [{"_id": i, "at": old, "text": f"session {i}"} for i in range(20_000)])
        hub["main"].sessions.create_index("at", expireAfterSeconds=3600)
        hub["main"].create_collection("weather", timeseries={"timeField": "t"}, expireAfterSeconds=3600)
        hub["main"].weather.insert_many([{"t": old, "c": i} for i in range(10)])
        hub.commit(message="sessions")
        hub["main"].sessions.insert_one({"_id": "new", "at": old})
        hub.commit(message="more")
        with Server("--setParameter", "ttlMonitorSleepSecs=1") as server:
            eve = Site(server)
            passes = lambda: eve.client.admin.command("serverStatus")["metrics"]["ttl"]["passes"]
            eve["main"].command("addRemote", "origin", uri=hub.uri)
            eve["main"].command("fetch", "origin")
            assert eve.log() == hub.log()
            # Then they go, as they do wherever documents expire. The pull that a clone ends with may come after that.
            before = passes()
            wait_until(lambda: passes() > before + 1 and eve["main"].sessions.count_documents({}) == 0)
            assert eve["main"].command("pull", "origin")["commit"] == hub.head()
            assert eve.roots() == hub.roots() and eve[eve.head()].sessions.count_documents({}) == 20_001
    finally:
        hub.client.admin.command("setParameter", 1, ttlMonitorEnabled=True)


@pytest.mark.parametrize("branch", ["main", "dev"])
def test_nothing_expires_between_two_packs_of_a_push(team, branch):
    hub, ann, bob = team
    old = datetime.datetime(2020, 1, 1)
    hub.client.admin.command("setParameter", 1, ttlMonitorEnabled=False)
    try:
        only(hub, "sessions", [{"_id": i, "at": old} for i in range(100)])
        hub["main"].sessions.create_index("at", expireAfterSeconds=3600)
        hub.commit(message="sessions")
        hub["main"].command("createTag", "v1")
        hub["main"].sessions.insert_one({"_id": "new", "at": old})
        hub.commit(message="more")
        first, head = bytes.fromhex(hub.head("v1")), bytes.fromhex(hub.head())
        with Server("--setParameter", "ttlMonitorSleepSecs=1") as server:
            eve = Site(server)
            passes = lambda: eve.client.admin.command("serverStatus")["metrics"]["ttl"]["passes"]

            def two_passes():
                before = passes()
                wait_until(lambda: passes() > before + 1)

            eve.receive(packed(hub, "v1"))
            two_passes()
            assert eve["main"].sessions.count_documents({}) == 100
            assert server.stop() == 0
            server.start()
            two_passes()
            assert eve["main"].sessions.count_documents({}) == 100
            moved = eve.receive(packed(hub, "main", have=[first]), bytes([1] * 16), refs=[{"branch": branch, "commit": head}])
            assert moved["refs"][0]["change"] == ("moved" if branch == "main" else "made")
            # main is where the documents are to expire from, and what came stays as it is.
            assert eve.log() == eve.log(branch) == hub.log()
            wait_until(lambda: eve["main"].sessions.count_documents({}) == 0)
            assert eve[head.hex()].sessions.count_documents({}) == 101
            assert eve.client.admin["system.arrivals"].count_documents({}) == 0
    finally:
        hub.client.admin.command("setParameter", 1, ttlMonitorEnabled=True)


def test_a_database_that_is_dropped_while_it_comes_does_not_come_any_more(team):
    hub, ann, bob = team
    only(hub, "pages", [{"_id": 1}])
    hub.commit(message="begin")
    ann.receive(packed(hub, "main"))
    assert [one["_id"] for one in ann.client.admin["system.arrivals"].find()] == ["shop"]
    ann.client.drop_database("shop")
    assert list(ann.client.admin["system.arrivals"].find()) == []


def test_a_first_commit_has_its_own_documents_alone(team):
    hub, ann, bob = team
    only(hub, "pages", [{"_id": i, "text": f"page {i}"} for i in range(2_000)])
    hub["main"].command("createBranch", "dev")
    # The pack of the first commit is cut off before that is there, and some of its documents are.
    cut = packed(hub, "main")[:-20]
    fails(FAILED_TO_PARSE, lambda: ann.receive(cut))
    assert 0 < ann["main"].pages.count_documents({}) <= 2_000
    fails(NAMESPACE_NOT_FOUND, lambda: ann["main"].command("listBranches"))
    hub["main"].pages.update_one({"_id": 1}, {"$set": {"n": 1}})
    hub.commit(message="second")
    ann["main"].pages.insert_one({"_id": "somebody's"})
    said = palimpsest("clone", hub.uri, ann.uri, code=1)
    assert "shop.pages has 2001 documents, and 2000" in said, said
    fails(NAMESPACE_NOT_FOUND, lambda: ann["main"].command("listBranches"))
    ann["main"].pages.delete_one({"_id": "somebody's"})
    clone(hub, ann)
    same(hub, ann)


def test_two_fetches_of_the_same_commits_meet(team):
    hub, ann, bob = team
    clone(hub, ann)
    for i in range(60):
        hub["main"].pages.update_one({"_id": i % 50}, {"$inc": {"n": 1}})
        hub.commit(message=f"{i}")
    failures = []

    def fetch():
        with ann.server.client() as client:
            try:
                client.shop.command("fetch", "origin")
            except OperationFailure as failure:
                failures.append(failure)

    running = [threading.Thread(target=fetch) for _ in range(2)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    assert not failures, failures
    assert ann.log("origin%2Fmain") == hub.log()
    assert ann.names() == ["main"]


@pytest.fixture
def indexed(team):
    """`users` has a unique index and others."""
    hub, ann, bob = team
    hub["main"].users.insert_many([{"_id": i, "mail": i, "at": datetime.datetime(2026, 1, 1), "n": i} for i in range(5)])
    hub["main"].users.create_index("mail", unique=True)
    hub["main"].users.create_index("at", expireAfterSeconds=1_000_000_000)
    hub["main"].users.create_index("n")
    hub.commit(message="users")
    return team


def packed(site, *refs, have=()):
    batch = site["main"].cursor_command("packCommits", 1, refs=list(refs), have=list(have))
    return b"".join(one["pack"] for one in batch if "pack" in one)


def test_a_pack_makes_no_branch_or_tag_that_is_called_like_a_snapshot(team):
    hub, ann, bob = team
    commit = bytes.fromhex(hub.head())
    for kind in ("branch", "tag"):
        fails(BAD_VALUE, lambda: ann.receive(packed(hub, "main"), refs=[{kind: "s1", "commit": commit}]))
    ann.receive(packed(hub, "main"), refs=[{"branch": "t1", "commit": commit}])
    assert ann["t1"].pages.count_documents({}) == hub["main"].pages.count_documents({})


@pytest.mark.parametrize("how", ["fetch", "push", "bundle"])
@pytest.mark.parametrize("has", [False, True])
def test_an_import_that_ended_before_its_indexes_goes_on_with_them(indexed, tmp_path, how, has):
    hub, ann, bob = indexed
    if has:
        clone(hub, ann)
        for name in ("more", "others"):
            hub["main"][name].insert_one({"_id": 1, "mail": 1})
            hub["main"][name].create_index("mail", unique=True)
        hub.commit(message="more")
    # No ref moves with these commits, so they are as such an import leaves them.
    ann.receive(packed(hub, "main"))
    names = ["more", "others"] if has else ["users"]
    for name in names:
        assert "mail_1" not in ann[hub.head()][name].index_information()
    if how == "push":
        hub["main"].command("addRemote", "ann", uri=ann.uri)
        assert hub["main"].command("push", "ann")["sent"] == 0
        assert hub["main"].command("push", "ann")["change"] == "unchanged"
    elif how == "bundle":
        bundle(hub, "shop", tmp_path / "all")
        unbundle(ann, tmp_path / "all")
    else:
        if not has:
            ann["main"].command("addRemote", "origin", uri=hub.uri)
        assert ann["main"].command("pull", "origin")["changed"] is True
    for name in names:
        assert ann[hub.head()][name].index_information() == hub["main"][name].index_information(), name


def test_a_collection_that_was_made_without_its_indexes_gets_them(indexed):
    hub, ann, bob = indexed
    hub["main"].pages.create_index("at", expireAfterSeconds=1_000_000_000)
    hub["main"].pages.create_index([("text", "text")])
    ann.receive(packed(hub, "main"))
    # An import that ends between the collection and its indexes leaves it so.
    ann["main"].pages.drop_indexes()
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    ann["main"].command("pull", "origin")
    for name in ("pages", "authors", "users"):
        assert ann["main"][name].index_information() == hub["main"][name].index_information()
    assert ann["main"].pages.count_documents({"$text": {"$search": "page"}}) == 50


def test_indexes_that_were_dropped_here_do_not_come_again(indexed):
    hub, ann, bob = indexed
    clone(hub, ann)
    ann["main"].users.drop_indexes()
    ann["main"].pages.drop_indexes()
    hub["main"].users.insert_one({"_id": "new", "mail": "new"})
    hub.commit(message="new")
    for _ in range(2):
        ann["main"].command("pull", "origin")
        for name in ("pages", "users"):
            assert list(ann["main"][name].index_information()) == ["_id_"]
    same(hub, ann)


def test_unique_indexes_come_with_the_last_of_a_pushs_packs(team):
    hub, ann, bob = team
    clone(hub, ann)
    ann["main"].create_collection("users")
    ann.commit(message="users")
    ann["main"].users.insert_one({"_id": 0, "text": random.randbytes(3_000_000).hex()})  # which fills a pack
    ann.commit(message="large")
    ann["main"].users.insert_many([{"_id": "a", "mail": 1}, {"_id": "b", "mail": 1}])
    ann["main"].logins.insert_one({"_id": 1, "key": 1})
    ann.commit(message="two of one key")
    ann["main"].users.update_one({"_id": "b"}, {"$set": {"mail": 2, "text": random.randbytes(3_000_000).hex()}})
    ann.commit(message="repaired")
    ann["main"].users.create_index("mail", unique=True)
    ann["main"].logins.create_index("key", unique=True)
    ann["main"].logins.drop()
    ann.commit(message="logins are gone")
    ann["main"].pages.insert_one({"_id": "new"})
    ann.commit(message="new")
    ann["main"].command("addRemote", "bob", uri=bob.uri)
    for remote, site in {"origin": hub, "bob": bob}.items():
        assert ann["main"].command("push", remote)["change"] in ("moved", "made")
        same(ann, site)
        assert site["main"].users.index_information()["mail_1"]["unique"] is True
        fails(11000, lambda: site["main"].users.insert_one({"mail": 2}))
        site["main"].logins.insert_one({"key": 1})
        assert site["main"].logins.index_information()["key_1"]["unique"] is True


def test_what_is_made_in_one_transaction_is_bounded(team):
    hub, ann, bob = team
    limit = lambda bytes: ann.client.admin.command("setParameter", 1, commitImportMemoryBytes=bytes)
    hub["main"].authors.create_index("mail", unique=True)
    clone(hub, ann)
    text = random.randbytes(100_000).hex()
    hub["main"].authors.insert_one({"_id": "long", "mail": 0, "text": text * 10})
    hub["main"].authors.insert_many([{"_id": i, "mail": i + 1, "text": text} for i in range(10)])
    hub.commit()
    before = limit(2 << 20)["was"]
    try:
        refused = fails(146, lambda: ann["main"].command("pull", "origin"))
        assert hub.head() in str(refused) and ann.log() == hub.log()[1:]
        limit(before)
        ann["main"].command("pull", "origin")
        # Short differences make long documents.
        hub["main"].authors.update_many({"text": {"$exists": True}}, {"$set": {"n": 1}})
        hub.commit()
        limit(1 << 20)
        fails(146, lambda: ann["main"].command("pull", "origin"))
    finally:
        limit(before)
    ann["main"].command("pull", "origin")
    same(hub, ann)
    # There is no limit of other commits.
    ann.wipe()
    limit(1 << 20)
    try:
        hub["main"].authors.drop_index("mail_1")
        clone(hub, ann)
    finally:
        limit(before)
    same(hub, ann)


def test_random_histories_come_to_the_same_roots(team):
    hub, ann, bob = team
    seed = random.getrandbits(32)
    print("seed", seed)
    chance = random.Random(seed)
    clone(hub, ann), clone(hub, bob)
    for _ in range(25):
        site = chance.choice([ann, bob])
        pages = site["main"].pages
        for _ in range(chance.randrange(1, 6)):
            key = chance.randrange(60)
            kind = chance.randrange(4)
            if kind == 0:
                pages.delete_one({"_id": key})
            elif kind == 1:
                pages.replace_one({"_id": key}, {"_id": key, "n": chance.randrange(9)}, upsert=True)
            else:
                pages.update_one({"_id": key}, {"$set": {f"f{chance.randrange(3)}": chance.randrange(9)}})
        site.commit(message="random")
        if chance.random() < 0.5:
            site["main"].command("pull", "origin", resolve=chance.choice(["ours", "theirs"]))
            site["main"].command("push", "origin")
    for site in (ann, bob, ann):
        site["main"].command("pull", "origin", resolve="theirs")
        site["main"].command("push", "origin")
    same(hub, ann), same(hub, bob) if bob.head() == hub.head() else bob["main"].command("pull", "origin")
    same(hub, bob)
    assert hub["main"].command("verify", 1, deep=True)["valid"] is True


def test_the_receiver_is_killed_in_the_middle(team, tmp_path):
    hub, ann, bob = team
    for round in range(30):
        hub["main"].pages.update_many({}, {"$inc": {"n": 1}, "$set": {f"r{round}": "text " * 10}})
        hub.commit(message=f"round {round}")
    with Server(dbpath=tmp_path) as server:
        site = Site(server)
        site["main"].command("addRemote", "origin", uri=hub.uri)
        for delay in (0.05, 0.15, 0.3, None):
            if delay:
                threading.Timer(delay, server.process.kill).start()
            try:
                server.client_until_killed()["shop"].command("fetch", "origin")
            except (PyMongoError, OSError) as ended:
                assert not isinstance(ended, OperationFailure), ended
            if delay:
                server.process.wait()
                server.start()
                site = Site(server)
        assert site.log("origin%2Fmain") == hub.log()
        site["main"].command("pull", "origin")
        same(hub, site)
        assert site.names() == ["main"]
        assert site["main"].command("fetch", "origin")["made"] == 0


def test_remotes_are_listed_without_passwords(team):
    hub, ann, bob = team
    ann["main"].command("addRemote", "origin", uri=hub.uri.replace("://", "://user:secret@"))
    listed = ann.remotes()["origin"]
    assert listed["uri"] == hub.uri.replace("://", "://user@") and "secret" not in str(listed)
    fails(AUTHENTICATION_FAILED, lambda: ann["main"].command("fetch", "origin"))
    fails(NAMESPACE_EXISTS, lambda: ann["main"].command("addRemote", "origin", uri=hub.uri))
    ann["main"].command("removeRemote", "origin")
    assert not ann.remotes()
    fails(BAD_VALUE, lambda: ann["main"].command("fetch", "origin"))
    ann["main"].command("addRemote", "nowhere", uri="mongodb://127.0.0.1:1/shop")
    fails(HOST_UNREACHABLE, lambda: ann["main"].command("fetch", "nowhere"))


def test_a_listed_uri_has_no_secret_however_it_is_written(team):
    hub, ann, bob = team
    host = f"127.0.0.1:{hub.server.port}"
    for n, (uri, shown) in enumerate({
            f"mongodb://a%40b:hid%2Fden@{host}/shop?tls=true&tlsCertificateKeyFile=/k.pem&tlsCertificateKeyFilePassword=hidden":
                f"mongodb://a%40b@{host}/shop?tls=true&tlsCertificateKeyFile=%2Fk.pem",
            f"mongodb://{host}/shop?tls=true&sslClientCertificateKeyFile=/k.pem&sslClientCertificateKeyPassword=hidden":
                f"mongodb://{host}/shop?tls=true&tlsCertificateKeyFile=%2Fk.pem",
            f"mongodb://{host}/shop?tlsCertificateKeyFilePassword=hidden&tls=true&TLScertificateKeyFilePassword=hidden":
                f"mongodb://{host}/shop?tls=true",
            f"mongodb://key:hidden@{host}/shop?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:hidden":
                f"mongodb://key@{host}/shop?authMechanism=MONGODB-AWS",
            f"mongodb://a%3Ab:hidden@{host},c%40d%2Ce:1/shop": f"mongodb://a%3Ab@{host},c%40d%2Ce:1/shop",
            f"mongodb://{host}/shop?appName=hidden&directConnection=true":
                f"mongodb://{host}/shop?directConnection=true"}.items()):
        ann["main"].command("addRemote", f"r{n}", uri=uri)
        listed = ann.remotes()[f"r{n}"]
        assert "hid" not in str(listed), listed
        assert listed["uri"] == shown


def test_a_remote_takes_nothing_of_the_server_for_who_may_not_give_it(team, tmp_path):
    hub, ann, bob = team
    ca = Authority(tmp_path)
    files = f"tls=true&tlsCAFile={ca.file}"
    with Guarded() as guarded, Guarded("--tlsMode", "preferTLS", "--tlsCertificateKeyFile", str(ca.issue("server")), "--tlsCAFile",
                                       str(ca.file), "--tlsAllowConnectionsWithoutCertificates") as far:
        far.user("writer", *({"role": "readWrite", "db": db} for db in ("shop", "shop@*"))).close()
        far.root.shop.pages.insert_one({"_id": 1})
        far.root.shop.command("commit", 1)
        there = f"mongodb://writer:{PASSWORD}@127.0.0.1:{far.port}/shop?authSource=admin&{files}"
        with guarded.user("ann", *({"role": role, "db": db} for role in ("dbAdmin", "readWrite") for db in ("shop", "shop@*"))) as ann, \
                guarded.user("host", {"role": "dbAdmin", "db": "shop"}, "hostManager") as host:
            for uri in (there, f"mongodb://{hub.server.host}/shop?tls=true&tlsCertificateKeyFile=/etc/shadow",
                        f"mongodb://{hub.server.host}/shop?ssl=true&sslClientCertificateKeyFile=/etc/shadow",
                        f"mongodb://{hub.server.host}/shop?ssl=true&SSLCertificateAuthorityFile=/etc/shadow",
                        f"mongodb://{hub.server.host}/shop?authMechanism=MONGODB-X509",
                        f"mongodb://{hub.server.host}/shop?authMechanism=MONGODB-AWS"):
                fails(UNAUTHORIZED, lambda: ann.shop.command("addRemote", "origin", uri=uri))
            ann.shop.command("addRemote", "plain", uri=f"mongodb://u:p@{hub.server.host}/shop?tls=true&authMechanism=SCRAM-SHA-256")
            host.shop.command("addRemote", "origin", uri=there)
            # A user who may fetch and push uses the files that the other user named.
            assert ann.shop.command("fetch", "origin")["made"] > 0
            ann.shop.command("pull", "origin")
            ann.shop.pages.insert_one({"_id": 2})
            ann.shop.command("commit", 1)
            ann.shop.command("push", "origin")
        assert far.root.shop.pages.count_documents({}) == 2


def test_what_waits_for_a_remote_can_be_stopped(team):
    hub, ann, bob = team
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    hub.server.hold()
    try:
        fails(50, lambda: ann["main"].command("fetch", "origin", maxTimeMS=300))
    finally:
        hub.server.let_go()
    ann["main"].command("fetch", "origin")


def test_databases_with_another_history_are_refused(team):
    hub, ann, bob = team
    ann["main"].pages.insert_one({"_id": 1})
    ann["main"].command("addRemote", "origin", uri=hub.uri)
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("fetch", "origin"))
    ann.commit()
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("fetch", "origin"))
    fails(ILLEGAL_OPERATION, lambda: ann["main"].command("push", "origin"))
    assert by_id(ann["main"].pages) == {1: {"_id": 1}}
    hub["main"].command("addRemote", "self", uri=hub.uri)
    assert hub["main"].command("fetch", "self")["made"] == 0


def test_a_remote_wants_a_login_and_rights(team, tmp_path):
    hub, ann, bob = team
    ca = Authority(tmp_path)
    with Guarded("--tlsMode", "preferTLS", "--tlsCertificateKeyFile", str(ca.issue("server")), "--tlsCAFile", str(ca.file),
                 "--tlsAllowConnectionsWithoutCertificates") as guarded:
        all_states = [{"role": "readWrite", "db": db} for db in ("shop", "shop@*")]
        guarded.user("writer", *all_states).close()
        guarded.user("reader", {"role": "read", "db": "shop"}).close()
        options = f"authSource=admin&tls=true&tlsCAFile={ca.file}"
        for name, uri in {"writer": f"mongodb://writer:{PASSWORD}@127.0.0.1:{guarded.port}/shop?{options}",
                          "reader": f"mongodb://reader:{PASSWORD}@127.0.0.1:{guarded.port}/shop?{options}",
                          "plain": f"mongodb://writer:wrong@127.0.0.1:{guarded.port}/shop?{options}",
                          "stranger": f"mongodb://writer:{PASSWORD}@127.0.0.1:{guarded.port}/shop?authSource=admin&tls=true"}.items():
            hub["main"].command("addRemote", name, uri=uri)
        fails(UNAUTHORIZED, lambda: hub["main"].command("push", "reader"))
        fails(AUTHENTICATION_FAILED, lambda: hub["main"].command("push", "plain"))
        fails(HOST_UNREACHABLE, lambda: hub["main"].command("push", "stranger"))
        hub["main"].command("push", "writer")
        assert log_of(guarded.root.shop)[0]["commit"] == hub.head()
        fails(UNAUTHORIZED, lambda: hub["main"].command("fetch", "reader"))
        hub["main"].command("createTag", "old")
        hub["main"].pages.delete_one({"_id": 9})
        hub.commit()
        hub["main"].command("push", "writer")
        hub["main"].command("resetBranch", "main", to="old")
        # To give commits up takes the right to reset the branch.
        fails(UNAUTHORIZED, lambda: hub["main"].command("push", "writer", force=True))
        guarded.root.admin.command("grantRolesToUser", "writer", roles=[{"role": "dbAdmin", "db": "shop"}])
        assert hub["main"].command("push", "writer", force=True)["change"] == "reset"
    assert PASSWORD not in (hub.server.log.read_text())


@pytest.mark.parametrize("name", [b"\x03cursor\0", b"\x04firstBatch\0", b"\x02ns\0"], ids=["cursor", "batch", "text"])
@pytest.mark.parametrize("length", [0, 1, 5000, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_remote_that_lies_about_lengths_is_refused(team, name, length):
    hub, ann, _ = team

    def lie(message):
        at = message.find(name)
        if at < 0:
            return message
        at += len(name)
        return message[:at] + length.to_bytes(4, "little") + message[at + 4:]

    with LyingServer(hub.server.port, lie) as liar:
        ann.client.shop.command("addRemote", "liar", uri=f"mongodb://127.0.0.1:{liar.port}/shop?directConnection=true")
        with pytest.raises(OperationFailure) as failure:
            ann.client.shop.command("fetch", "liar")
        assert failure.value.code in (HOST_UNREACHABLE, PROTOCOL_ERROR), failure.value
        assert ann.client.admin.command("ping")["ok"] == 1

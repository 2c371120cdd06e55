"""Branches in a replica set: every member has the same ones, with the same commits, whatever happened to whom."""
import random
import threading
import time

import bson
import pymongo
import pytest
from pymongo.errors import NotPrimaryError, OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import ReadPreference
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import Server
from tests.support.replica_set import SCALE, Member
from tests.support.waiting import DEADLINE, wait_until


def named(name, ref):
    return name if ref == "main" else f"{name}@{ref.replace('/', '%2F')}"


def refs_of(client, name):
    """Everything there is of branches: names, logs, what isn't committed, and the contents of all of it and of every commit."""
    main, shown = client[name], {}
    branches = {one["name"]: one["commit"] for one in main.cursor_command("listBranches", 1)}
    tags = {one["name"]: one["commit"] for one in main.cursor_command("listTags", 1)}
    commits = set()
    for ref in [*branches, *tags]:
        log = list(main.cursor_command("log", 1) if ref == "main" else client[named(name, ref)].cursor_command("log", 1))
        shown[ref] = ([str(one) for one in log], client[named(name, ref)].command("dbHash")["collections"])
        commits |= {one["commit"] for one in log}
    for branch in branches:
        status = client[named(name, branch)].command("status", 1)
        shown[f"status of {branch}"] = {key: status.get(key) for key in ("branch", "commit", "clean", "collections", "merging")}
    for commit in commits:
        shown[commit] = client[f"{name}@{commit}"].command("dbHash")["collections"]
    return {"branches": branches, "tags": tags, **shown}


def check_same(members, name):
    """Checks that members have the same data, and say the same of branches. Returns what they say."""
    members.check_same()
    said = [(member.name, refs_of(member.direct, name)) for member in members.members if member.state() in ("PRIMARY", "SECONDARY")]
    for other, shown in said[1:]:
        for key in {*said[0][1], *shown}:
            assert said[0][1].get(key) == shown.get(key), (said[0][0], other, key)
    for member in members.members:
        if member.state() in ("PRIMARY", "SECONDARY"):
            for collection in member.direct[name].list_collection_names():
                report = member.direct[name].command("validate", collection, full=True)
                assert report["valid"], (member.name, report)
                assert member.direct[name][collection].estimated_document_count() == member.direct[name][collection].count_documents({})
    return said[0][1]


def history(client, name):
    """Each kind of change."""
    main, dev = client[name], client[f"{name}@dev"]
    main.c.create_index("u", unique=True)
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": i % 7, "u": i, "text": f"text {i} " * 60} for i in range(120)])
    main.c.delete_one({"_id": 0})
    main.create_collection("trie", commits={"tree": "patriciaTrie"})
    main.trie.insert_many([{"_id": i} for i in range(30)])
    main.create_collection("names", collation={"locale": "en", "strength": 2})
    main.names.insert_many([{"_id": "Ann", "n": 1}, {"_id": "bob", "n": 2}, {"_id": "Eve", "n": 3}])
    main.command("createBranch", "dev")
    dev.names.update_one({"_id": "BOB"}, {"$set": {"n": 20}})
    dev.names.delete_one({"_id": "ANN"})
    dev.names.insert_many([{"_id": "ann", "n": 10}, {"_id": "Dan"}])
    main.command("collMod", "c", commits={"tree": "bucketTree", "buckets": 20})
    dev.c.update_many({"n": 3}, {"$set": {"mark": "dev"}})
    dev.c.insert_many([{"_id": 1000 + i, "n": i, "u": 1000 + i, "text": f"another {i} " * 60} for i in range(10)])
    dev.c.delete_many({"n": 5})
    dev.c.update_one({"_id": 1001}, {"$set": {"n": 77}})
    dev.c.delete_one({"_id": 1002})
    dev.other.insert_one({"_id": "of dev"})
    dev.command("commit", 1, message="first", author="somebody")
    dev.c.create_index("text_of", unique=True, sparse=True)
    main.c.update_one({"_id": 1}, {"$set": {"text_of": 1}})
    dev.c.update_one({"_id": 2}, {"$set": {"text_of": 1}})
    with pytest.raises(OperationFailure):
        main.c.create_index("n", unique=True, name="refused")
    dev.c.update_one({"_id": 2}, {"$unset": {"text_of": 1}})
    main.c.update_many({"n": {"$in": [3, 4]}}, {"$inc": {"count": 1}})
    main.names.update_one({"_id": "EVE"}, {"$set": {"n": 30}})
    main.names.insert_one({"_id": "Gone"})
    main.command("purge", "names", _id="gone")
    main.command("commit", 1, message="count")
    main.command("createTag", "before")
    main.command("merge", "dev")
    main.command("collMod", "c", commits={"tree": "patriciaTrie"})
    dev.c.replace_one({"_id": 1003}, {"u": -3, "text": "short"})
    dev.command("commit", 1)
    main.command("createBranch", "gone", **{"from": "dev~1"})
    client[f"{name}@gone"].c.insert_one({"_id": "lost", "u": "lost"})
    main.command("createBranch", "moved", **{"from": "before"})
    client[f"{name}@moved"].c.update_one({"_id": 7}, {"$set": {"n": -1}})
    main.command("dropBranch", "gone", force=True)
    main.command("renameBranch", "moved", to="here")
    main.command("resetBranch", "here", to="dev", force=True)
    client[f"{name}@here"].c.insert_one({"_id": "not committed", "u": "not committed"})
    main.command("createBranch", "without", **{"from": "here"})
    without = client[f"{name}@without"]
    without.c.insert_one({"_id": "dropped with it", "u": "dropped with it"})
    without.c.drop()
    without.create_collection("empty")
    without.gone.insert_one({"_id": 1})
    without.gone.drop()
    without.command("commit", 1, message="without c")
    without.c.insert_one({"_id": "anew", "u": "anew"})
    without.other.aggregate([{"$set": {"made": "by $out"}}, {"$out": "made"}])
    client.admin.command("renameCollection", f"{name}@without.made", to=f"{name}@without.renamed")
    main.c.aggregate([{"$match": {"n": {"$lt": 3}}}, {"$out": {"db": f"{name}@without", "coll": "c"}}])
    main.command("createTag", "v2", **{"from": "dev"})
    main.command("dropTag", "v2")


def conflicting(client, name, count=4):
    """Documents that main and dev have both changed."""
    main, dev = client[name], client[f"{name}@dev"]
    main.c.insert_many([{"_id": i, "n": 0, "text": f"text {i} " * 40} for i in range(20)])
    main.command("createBranch", "dev")
    dev.c.update_many({}, {"$set": {"of": "dev"}})
    dev.c.update_many({"_id": {"$lt": count}}, {"$set": {"n": 1}})
    main.c.update_many({"_id": {"$lt": count}}, {"$set": {"n": 2}})
    main.command("commit", 1)
    dev.command("commit", 1)


def not_primary(database, command):
    with pytest.raises(NotPrimaryError) as refused:
        database.command(command)
    return refused.value.details["code"] == 10107


def entries_of(client, name, since):
    """Returns what the log says of the database since then, without its documents."""
    found = client.local.oplog.rs.find({"ts": {"$gt": since}, "op": "c", "ns": f"{name}.$cmd"}).sort("$natural", 1)
    return [next(iter(entry["o"])) for entry in found]


def newest(client):
    return client.local.oplog.rs.find().sort("$natural", -1).next()["ts"]


def step_down(three):
    three.primary().command("replSetStepDown", 5, secondaryCatchUpPeriodSecs=4)
    three.wait_settled()


def test_every_change_of_branches_is_on_every_member_and_others_go_on_from_it(three):
    client = three.client()
    history(client, "follows")
    said = check_same(three, "follows")
    assert set(said["branches"]) == {"main", "dev", "here", "without"} and set(said["tags"]) == {"before"}
    step_down(three)
    main, here = client["follows"], client["follows@here"]
    here.c.update_many({"n": 4}, {"$set": {"text": "from the other one"}})
    here.command("commit", 1, message="by the next")
    merged = main.command("merge", "here", resolve="theirs")
    assert merged["changed"]
    check_same(three, "follows")


def test_capped_collections_go_on_by_themselves_on_every_member(three):
    client = three.client()
    main = client["cappeds"]
    main.create_collection("log", capped=True, size=4096, max=4)
    main.log.insert_many([{"_id": i} for i in range(3)])
    main.c.insert_one({"_id": 1})
    main.command("createBranch", "dev")
    main.create_collection("late", capped=True, size=4096)
    for name in ["log", "late"]:
        main[name].insert_many([{"_id": i} for i in range(3, 9)])
    client["cappeds@dev"].c.insert_one({"_id": 2})
    client["cappeds@dev"].command("commit", 1)
    main.command("merge", "dev")
    main.late.rename("renamed")
    main.create_collection("gone", capped=True, size=4096)
    main.gone.drop()
    check_same(three, "cappeds")
    main.log.insert_one({"_id": 9})
    main.renamed.rename("log", dropTarget=True)
    check_same(three, "cappeds")
    for member in three.members:
        assert [one["_id"] for one in member.direct["cappeds"].log.find()] == [3, 4, 5, 6, 7, 8]
        assert sorted(member.direct["cappeds"].list_collection_names()) == ["c", "log"] and member.direct["cappeds@dev"].list_collection_names() == ["c"]


def test_merges_say_what_they_change_and_share_it_on_every_member(three):
    client = three.client()
    main, dev = client["merges"], client["merges@dev"]
    main.c.insert_many([{"_id": i, "text": random.randbytes(800)} for i in range(300)])
    main.command("createBranch", "dev")
    dev.c.update_many({}, {"$set": {"mark": 1}})
    dev.c.delete_one({"_id": 3})
    dev.c.insert_one({"_id": "new"})
    dev.command("commit", 1)
    main.c.update_one({"_id": 5}, {"$set": {"own": 1}})
    main.command("commit", 1)
    before = client.local.oplog.rs.find().sort("$natural", -1).next()["ts"]
    main.command("merge", "dev")
    entries = list(client.local.oplog.rs.find({"ts": {"$gt": before}, "op": {"$in": ["i", "u", "d", "c"]}, "ns": {"$regex": "^merges"}}))
    assert entries.pop()["o"]["merge"] == "main"
    assert {entry["ns"] for entry in entries} == {"merges.c"}
    changed = {entry["o"]["_id"] if entry["op"] != "u" else entry["o2"]["_id"]: entry["op"] for entry in entries}
    assert changed == {**{i: "u" for i in range(300) if i != 3}, 3: "d", "new": "i"}
    check_same(three, "merges")
    # A copy would take 300 times 800 bytes.
    sizes = [member.direct["merges"].command("collStats", "c")["size"] for member in three.members]
    assert max(sizes) < 1.1 * min(sizes)
    # A member shares what it has adopted: documents that only the other line changes since are no conflict there either.
    dev.c.update_many({"_id": {"$gte": 100, "$lt": 150}}, {"$set": {"mark": 2}})
    dev.command("commit", 1)
    step_down(three)
    main.command("merge", "dev", mode="documentTouched")
    check_same(three, "merges")


def test_a_commit_holds_the_same_documents_everywhere_while_others_write(three):
    client = three.client()
    main, dev = client["races"], client["races@dev"]
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": 0, "text": f"text {i} " * 30} for i in range(50)])
    main.command("createBranch", "dev")
    over, failures = threading.Event(), []

    def write(number, own):
        try:
            write_on(number, own)
        except Exception as error:
            failures.append(error)

    def write_on(number, own):
        with pymongo.MongoClient(three.uri) as writer:
            where = [writer["races@dev"].get_collection("c", write_concern=WriteConcern(w=1)), writer["races"].get_collection("c", write_concern=WriteConcern(w=1))]
            while not over.is_set():
                collection, key = own.choice(where), own.randrange(60)
                kind = own.randrange(4)
                if kind == 0:
                    collection.delete_one({"_id": key})
                elif kind == 1:
                    collection.insert_many([{"_id": f"{number} {own.getrandbits(40)}", "n": i} for i in range(own.randrange(1, 20))])
                else:
                    collection.update_one({"_id": key}, {"$inc": {"n": 1}}, upsert=True)

    writers = [threading.Thread(target=write, args=(number, random.Random(random.getrandbits(40)))) for number in range(6)]
    for writer in writers:
        writer.start()
    try:
        for round in range(int(60 * SCALE)):
            dev.command("commit", 1, message=str(round))
            main.command("commit", 1, message=str(round))
    finally:
        over.set()
        for writer in writers:
            writer.join()
    assert not failures
    said = check_same(three, "races")
    assert len(said["dev"][0]) > 30


def test_a_merge_by_hand_waits_on_every_member_and_another_primary_ends_it(three):
    client = three.client()
    conflicting(client, "hand")
    main = client.hand
    since = newest(client)
    assert main.command("merge", "dev", resolve="manual")["merging"]
    main.command({"resolveConflict": 1, "collection": "c", "id": 0, "take": "theirs"})
    main.command({"resolveConflict": 1, "collection": "c", "id": 1, "document": {"n": 12}})
    assert entries_of(client, "hand", since) == ["beginMerge", "decide", "decide"]
    said = check_same(three, "hand")
    assert said["status of main"]["merging"]
    for member in three.secondaries():
        assert not_primary(member.direct.hand, {"listConflicts": 1})  # it plans a merge
    step_down(three)
    open_ones = list(main.cursor_command("listConflicts", 1))
    assert sorted((one["_id"], one.get("resolved", "")) for one in open_ones) == [(0, "theirs"), (1, "document"), (2, ""), (3, "")]
    killed = three.primary()
    killed.kill()
    killed.start()
    three.wait_settled()
    main.command({"resolveConflict": 1, "collection": "c", "id": 2, "take": "base"})
    main.command({"resolveConflict": 1, "collection": "c", "id": 3, "take": "ours"})
    main.command("continueMerge", 1)
    assert {one["_id"]: (one["n"], one.get("of")) for one in main.c.find({"_id": {"$lt": 5}})} == {0: (1, "dev"), 1: (12, None), 2: (0, None), 3: (2, None), 4: (0, "dev")}
    assert not check_same(three, "hand")["status of main"]["merging"]
    main.c.update_one({"_id": 7}, {"$set": {"of": "main"}})
    main.command("commit", 1)
    client["hand@dev"].c.update_one({"_id": 7}, {"$set": {"of": "both"}})
    client["hand@dev"].command("commit", 1)
    assert main.command("merge", "dev", resolve="manual")["merging"]
    main.command("abortMerge", 1)
    assert not check_same(three, "hand")["status of main"]["merging"]


def test_both_branches_of_a_merge_or_a_new_one_get_it_on_every_member(three):
    client = three.client()
    conflicting(client, "both")
    main, dev = client.both, client["both@dev"]
    since = newest(client)
    merged = main.command("merge", "dev", into="new", branch="tried", resolve="ours")
    assert merged["branch"] == "tried"
    assert entries_of(client, "both", since) == ["createBranch", "merge"]
    check_same(three, "both")
    merged = main.command("merge", "dev", into="both", resolve="theirs")
    assert entries_of(client, "both", since)[2:] == ["merge", "advanceBranch"]
    said = check_same(three, "both")
    assert said["branches"]["main"] == said["branches"]["dev"] == merged["commit"]
    # Only one side had new commits: the other just follows.
    dev.c.insert_one({"_id": "of dev"})
    dev.command("commit", 1)
    main.command("merge", "dev", into="both")
    main.c.insert_one({"_id": "of main"})
    main.command("commit", 1)
    main.command("merge", "dev", into="both")
    picked = dev.command("cherryPick", client["both@tried"].command("status", 1)["commit"], resolve="ours")
    assert picked["changed"] is False
    main.c.update_one({"_id": 9}, {"$set": {"n": 77}})
    commit = main.command("commit", 1)["commit"]
    assert dev.command("cherryPick", commit)["changed"]
    assert main.command("revert", commit)["changed"]
    step_down(three)
    assert main.command("merge", "dev", resolve="theirs")["changed"]
    check_same(three, "both")


def test_a_branch_is_written_anew_on_every_member_and_another_primary_goes_on_with_it(three):
    client = three.client()
    conflicting(client, "anew")
    main, dev, rebased = client.anew, client["anew@dev"], client["anew@rebase%2Fdev"]
    for i in range(3):
        dev.c.insert_one({"_id": f"more {i}"})
        dev.command("commit", 1, message=f"more {i}")
    since = newest(client)
    assert dev.command("rebase", "main", resolve="manual")["left"] == 3
    assert entries_of(client, "anew", since) == ["createBranch", "beginMerge", "renameBranch"]
    check_same(three, "anew")
    step_down(three)
    for i in range(4):
        rebased.command({"resolveConflict": 1, "collection": "c", "id": i, "document": {"n": 12}})
    since = newest(client)
    done = rebased.command("continueMerge", 1)
    assert (done["branch"], done["picked"]) == ("dev", 4)
    said = [entry for entry in entries_of(client, "anew", since) if entry != "makeTree"]
    assert said == ["merge", "endMerge", "beginMerge"] * 4 + ["resetBranch", "dropBranch"]
    squashed = dev.command("squash", "main", message="all of dev")
    assert squashed["changed"]
    after = check_same(three, "anew")
    assert after["branches"] == {"main": after["branches"]["main"], "dev": squashed["commit"]}
    assert {one["_id"] for one in dev.c.find({"n": 12})} == {0, 1, 2, 3} and dev.c.count_documents({}) == 23
    killed = three.primary()
    killed.kill()
    killed.start()
    three.wait_settled()
    assert check_same(three, "anew") == after


def test_what_is_put_aside_is_there_on_every_member_and_comes_back(three):
    client = three.client()
    main, dev = client.aside, client["aside@dev"]
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": i, "text": f"text {i} " * 60} for i in range(20)])
    main.command("createBranch", "dev")
    dev.c.update_many({"_id": {"$lt": 5}}, {"$inc": {"n": 100}})
    dev.c.delete_one({"_id": 7})
    dev.more.insert_one({"_id": 1})
    since = newest(client)
    assert dev.command("stash", 1, message="aside")["stash"] == 1
    assert [entry for entry in entries_of(client, "aside", since) if entry != "makeTree"] == ["commit", "createTag", "resetBranch"]
    check_same(three, "aside")
    for member in three.members:
        assert [one["message"] for one in member.direct.aside.command("listStashes", 1)["cursor"]["firstBatch"]] == ["aside"], member.name
        assert member.direct["aside@dev"].c.count_documents({"n": {"$gte": 100}}) == 0
    step_down(three)
    dev.c.insert_one({"_id": "on top"})
    assert dev.command("stashPop", 1)["changed"]
    check_same(three, "aside")
    killed = three.primary()
    killed.kill()
    killed.start()
    three.wait_settled()
    check_same(three, "aside")
    for member in three.members:
        shown = member.direct["aside@dev"]
        assert shown.c.count_documents({"n": {"$gte": 100}}) == 5 and shown.c.count_documents({}) == 20 and shown.more.count_documents({}) == 1
        assert shown.command("listStashes", 1)["cursor"]["firstBatch"] == []
    dev.command("commit", 1, message="after all")
    check_same(three, "aside")


def test_a_patch_and_what_commits_must_fulfil_are_the_same_on_every_member(three):
    client = three.client()
    main, dev = client.patched, client["patched@dev"]
    main.c.insert_many([{"_id": i, "n": i, "text": f"text {i} " * 60} for i in range(20)])
    main.command("createBranch", "dev")
    dev.c.update_many({"_id": {"$lt": 5}}, {"$inc": {"n": 100}})
    dev.c.delete_one({"_id": 7})
    dev.more.insert_one({"_id": 1})
    changes = list(dev.cursor_command("diff", 1, format="jsonPatch"))
    lines = [one["line"] for one in dev.cursor_command("diff", 1, format="lines")]
    assert len(changes) == len(lines) == 7
    applied = main.command("applyPatch", 1, changes=changes)
    assert (applied["inserted"], applied["modified"], applied["deleted"]) == (1, 5, 1)
    assert list(main.cursor_command("diff", 1, **{"from": "dev", "to": "main"})) == []
    check_same(three, "patched")
    main.command("commitValidator", {"c": {"validator": {"n": {"$lt": 100}}}})
    step_down(three)
    with pytest.raises(OperationFailure) as refused:
        main.command("commit", 1)
    assert refused.value.code == 121 and len(refused.value.details["errInfo"]["violations"]) == 5
    assert not main.command("applyPatch", 1, changes=lines)["changed"]
    main.c.update_many({"n": {"$gte": 100}}, {"$inc": {"n": -100}})
    assert main.command("commit", 1)["changed"]
    check_same(three, "patched")


def test_what_the_primary_sweeps_and_purges_is_gone_everywhere(three):
    client = three.client()
    main, dev = client.gone, client["gone@dev"]
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": i, "text": f"text {i} " * 60} for i in range(40)])
    main.command("createBranch", "dev")
    for round in range(8):
        dev.c.update_many({}, {"$inc": {"n": 100}})
        dev.command("commit", 1, message=str(round))
    dev.command("createTag", "kept", **{"from": "dev~3"})
    three.wait_same_place()
    before = three.primary().direct.gone.command("versionStats", 1)
    main.command("retention", {"newest": 2})
    swept = main.command("sweep", 1)
    assert swept["commits"] > 0 and swept["versions"] > 0
    check_same(three, "gone")
    for member in three.members:
        stats = member.direct.gone.command("versionStats", 1)
        assert stats["versions"] == before["versions"] - swept["versions"] and stats["droppedCommits"] == swept["commits"], member.name
        with pytest.raises(OperationFailure) as refused:
            member.direct["gone@dev~4"].c.find_one()
        assert refused.value.code == 26
    # The primary alone does it in the background, too, whichever member that is.
    step_down(three)
    since = newest(client)
    for member in three.members:
        member.command("setParameter", 1, branchSweepSleepSecs=1)
    for round in range(6):
        dev.c.update_many({}, {"$inc": {"n": 100}})
        dev.command("commit", 1, message=f"more {round}")
    wait_until(lambda: "sweep" in entries_of(client, "gone", since), three.tails, pause=0.1)
    for member in three.members:
        member.command("setParameter", 1, branchSweepSleepSecs=3600)
    check_same(three, "gone")
    assert dev.command({"purge": "c", "id": 7})["versions"] > 2
    for member in three.members:
        for ref in ("gone", "gone@dev", "gone@kept"):
            wait_until(lambda: member.direct[ref].c.find_one({"_id": 7}) is None, member.tail)
    check_same(three, "gone")
    # After that both continue alike.
    dev.c.insert_one({"_id": 7, "n": "again"})
    dev.command("commit", 1)
    main.command("merge", "dev", resolve="theirs")
    step_down(three)
    dev.c.update_many({}, {"$inc": {"m": 1}})
    dev.command("commit", 1)
    check_same(three, "gone")


def test_what_is_not_committed_is_dropped_and_reset_on_every_member(three):
    client = three.client()
    main, dev = client.lost, client["lost@dev"]
    main.c.create_index("u", unique=True)
    main.c.insert_many([{"_id": i, "u": i, "text": f"text {i} " * 60} for i in range(30)])
    main.command("createBranch", "dev")
    for change in ({"resetBranch": "dev", "to": "main"}, {"dropBranch": "dev"}):
        dev.c.update_many({}, {"$set": {"mark": "not committed"}})
        dev.c.insert_many([{"_id": 1000 + i, "u": 1000 + i, "text": f"lost {i} " * 60} for i in range(30)])
        with pytest.raises(OperationFailure) as refused:
            main.command(change)
        assert refused.value.code == 20
        stored = three.primary().direct.lost.command("versionStats", 1)["versions"]
        main.command({**change, "force": True})
        check_same(three, "lost")
        for member in three.members:
            assert member.direct.lost.command("versionStats", 1)["versions"] == stored - 60, member.name
    main.command("createBranch", "dev")
    dev.c.insert_one({"_id": "u", "u": 1000})  # nobody has it
    check_same(three, "lost")


def test_secondaries_show_everything_and_change_nothing(three):
    client = three.client()
    history(client, "shown")
    commit = client["shown@dev"].command("status", 1)["commit"]
    client.shown.command("createTag", "v1", **{"from": "dev"})
    client["shown@dev"].c.update_one({"_id": 12}, {"$set": {"n": 5000}})
    three.wait_same_place()
    primary, others = three.primary().direct, [member.direct for member in three.secondaries()]
    refs = ["shown", "shown@dev", "shown@v1", f"shown@{commit[:12]}", "shown@dev~1", "shown@dev^1"]

    def everything(direct):
        main, dev = direct.shown, direct["shown@dev"]
        yield [list(direct[ref].c.find().sort("_id", 1)) for ref in refs]
        yield [list(direct[ref].c.find({"n": {"$gte": 4}}).hint("n_1").sort("_id", 1)) for ref in refs]
        yield list(main.cursor_command("log", 1)), list(dev.cursor_command("log", 1, touching={"coll": "c", "_id": 1003}))
        yield sorted(map(str, dev.cursor_command("diff", 1))), sorted(map(str, main.cursor_command("diff", 1, **{"from": "main", "to": "here"})))
        yield [{key: value for key, value in direct[ref].command("status", 1).items() if key in ("branch", "commit", "clean", "collections")} for ref in refs[:2]]
        yield sorted(map(str, main.c.aggregate([{"$diff": {"from": "before", "to": "dev"}}])))
        yield sorted(map(str, main.c.aggregate([{"$acrossBranches": {}}])))
        yield list(main.c.aggregate([{"$history": {"_id": 1003}}]))
        yield main.command("versionStats", 1, perBranch=True)["perBranch"]

    expected = list(everything(primary))
    for other in others:
        for here, there in zip(expected, everything(other)):
            assert here == there
    changes = [{"createBranch": "no"}, {"dropBranch": "dev"}, {"renameBranch": "dev", "to": "no"}, {"resetBranch": "dev", "to": "main"}, {"commit": 1},
               {"createTag": "no"}, {"dropTag": "v1"}, {"merge": "dev"}, {"cherryPick": "dev"}, {"revert": "dev"}, {"resolveConflict": 1, "collection": "c", "id": 1, "take": "ours"},
               {"continueMerge": 1}, {"abortMerge": 1}, {"retention": {"newest": 1}}, {"retention": 1}, {"listConflicts": 1}, {"sweep": 1}, {"purge": "c", "id": 1},
               {"insert": "c", "documents": [{"_id": "no"}]}, {"delete": "c", "deletes": [{"q": {}, "limit": 0}]}]
    for other in others:
        for change in changes:
            for ref in ("shown", "shown@dev"):
                assert not_primary(other[ref], change), (ref, change)
    check_same(three, "shown")


def test_a_merge_whose_primary_is_killed_is_whole_or_not_there(three):
    client = three.client()
    main, dev = client.half, client["half@dev"]
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": 0, "text": random.randbytes(300)} for i in range(2000)])
    main.command("createBranch", "dev")
    pauses = random.Random(random.getrandbits(40))  # the drivers' threads draw from the shared one, too
    for round in range(1, 1 + int(4 * SCALE)):
        dev.c.update_many({}, {"$set": {"n": round}})
        dev.command("commit", 1)

        def merge():
            with pymongo.MongoClient(three.uri) as own:
                try:
                    own.half.command("merge", "dev", resolve="theirs", into="both" if round % 2 else "head")
                except PyMongoError:
                    pass

        thread = threading.Thread(target=merge)
        victim = three.primary()
        thread.start()
        time.sleep(pauses.random() * 0.4)
        victim.kill()
        thread.join()
        victim.start()
        three.wait_settled()
        shown = main.c.distinct("n")
        assert shown in ([round], [round - 1]), shown
        log = next(iter(main.cursor_command("log", 1, limit=1)))
        assert (shown == [round]) == (dev.command("status", 1)["commit"] in (log["commit"], *log["parents"])), log
        check_same(three, "half")
        main.command("merge", "dev", resolve="theirs")
        assert main.c.distinct("n") == [round]


class Histories:
    """Writers of random histories: commits, merges, branches and documents, each on what it finds. What was acknowledged with a majority is kept."""

    def __init__(self, members, name, count):
        self.members, self.name = members, name
        self.commits, self.errors = {}, []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._go, args=(number, random.Random(random.getrandbits(40))), daemon=True)
                         for number in range(count)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        for thread in self._threads:
            thread.join(DEADLINE)

    def wait_for_more(self, count=5):
        """Waits until so many more commits were acknowledged."""
        enough = len(self.commits) + count
        wait_until(lambda: len(self.commits) >= enough, lambda: f"{self.errors[:3]}\n{self.members.tails()}")

    def _go(self, number, own):
        with pymongo.MongoClient(self.members.uri, serverSelectionTimeoutMS=DEADLINE * 1000, heartbeatFrequencyMS=500, socketTimeoutMS=30000) as client:
            while not self._over.is_set():
                try:
                    self._step(client, number, own)
                except OperationFailure as failure:
                    # Another client has taken the name, dropped the branch, or wrote again before a merge; or a member stepped
                    # down.
                    if failure.code not in (2, 20, 26, 48, 91, 96, 175, 189, 10107, 11600, 11602, 13435) and not failure.has_error_label("RetryableWriteError"):
                        self.errors.append(failure)
                except PyMongoError:
                    pass
                time.sleep(0.002)

    def _step(self, client, number, own):
        main = client[self.name]
        branches = [one["name"] for one in main.cursor_command("listBranches", 1)]
        ref = own.choice(branches)
        database, kind = client[named(self.name, ref)], own.randrange(20)
        if kind < 12:
            key = own.randrange(40)
            change = own.randrange(4)
            if change == 0:
                database.c.delete_one({"_id": key})
            elif change == 1:
                database.c.replace_one({"_id": key}, {"u": own.getrandbits(50), "text": f"text {key} " * own.randrange(80)}, upsert=True)
            else:
                database.c.update_one({"_id": key}, {"$inc": {"n": 1}, "$setOnInsert": {"u": own.getrandbits(50)}}, upsert=True)
        elif kind < 15:
            done = database.command("commit", 1, message=f"{number}")
            self.commits[done["commit"]] = ref
        elif kind < 16 and len(branches) < 8:
            main.command("createBranch", f"b{own.getrandbits(30)}x", **{"from": ref})
        elif kind < 17 and len(branches) > 3 and ref != "main":
            main.command("dropBranch", ref, force=True)
        elif kind < 18:
            main.command("createTag", f"t{own.getrandbits(30)}x", **{"from": ref})
        elif kind < 19:
            database.command("commit", 1)
            done = database.command("merge", own.choice(branches), resolve="theirs", into=own.choice(["head", "both"]))
            self.commits[done["commit"]] = ref
        elif own.randrange(3):
            database.command("commit", 1)
            done = database.command(own.choice(["cherryPick", "revert"]), own.choice(branches), resolve="theirs")
            self.commits[done["commit"]] = ref
        else:
            database.command("commit", 1)
            if database.command("merge", own.choice(branches), resolve="manual").get("merging"):
                database.command("abortMerge", 1)


def test_primaries_are_killed_while_histories_are_made(three):
    client = three.client()
    client.killed.c.create_index("u", unique=True)
    client.killed.c.insert_many([{"_id": i, "u": i, "text": f"text {i} " * 40} for i in range(30)])
    client.killed.command("createBranch", "dev")
    with Histories(three, "killed", 4) as histories:
        for round in range(int(3 * SCALE)):
            histories.wait_for_more()
            victim = three.primary() if round % 3 != 2 else three.secondaries()[0]
            victim.kill()
            histories.wait_for_more()  # the others go on
            victim.start()
            three.wait_settled()
        histories.wait_for_more()
    assert not histories.errors, histories.errors[:3]
    said = check_same(three, "killed")
    assert len(histories.commits) > 10
    for commit in random.sample(sorted(histories.commits), min(20, len(histories.commits))):
        list(client[f"killed@{commit}"].c.find())  # no majority-acknowledged commit is lost, whatever became of its branch
    assert "main" in said["branches"]


def test_a_new_member_gets_branches_and_goes_on_with_them(three):
    client = three.client()
    history(client, "joined")
    fourth = three.join()
    client["joined@dev"].c.insert_one({"_id": "while it joins", "u": "while it joins"})
    client["joined@dev"].command("commit", 1)
    check_same(three, "joined")
    fourth.kill()
    client["joined"].command("merge", "dev", resolve="theirs")
    fourth.start()
    three.wait_settled()
    check_same(three, "joined")
    three.leave(fourth)


def test_concerns_hold_for_branches(three):
    client = three.client()
    client.concerns.c.insert_many([{"_id": i} for i in range(10)])
    client.concerns.command("createBranch", "dev", writeConcern={"w": 3})
    for member in three.members:
        assert [one["name"] for one in member.direct.concerns.cursor_command("listBranches", 1)] == ["dev", "main"]
    with client.start_session(causal_consistency=True) as session:
        for i in range(20):
            client["concerns@dev"].c.update_one({"_id": 1}, {"$set": {"n": i}}, session=session)
            commit = client["concerns@dev"].command("commit", 1, session=session)["commit"]
            past = client[f"concerns@{commit}"].get_collection("c", read_preference=ReadPreference.SECONDARY)
            assert past.find_one({"_id": 1}, session=session)["n"] == i
    for level in ("local", "majority", "snapshot"):
        found = client["concerns@dev"].get_collection("c", read_concern=ReadConcern(level)).find_one({"_id": 1})
        assert found["n"] == 19, level
    # A retried statement runs once, also on a branch.
    statement = {"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$inc": {"n": 1}}}], "lsid": {"id": bson.Binary(random.randbytes(16), 4)}, "txnNumber": bson.Int64(1)}
    for _ in range(3):
        assert three.primary().direct["concerns@dev"].command(statement)["n"] == 1
    assert client["concerns@dev"].c.find_one({"_id": 2})["n"] == 1
    held = three.secondaries()[0]
    held.hold()  # the other two are a majority, and keep their primary
    try:
        late = three.primary().direct.concerns.command("createTag", "late", writeConcern={"w": 3, "wtimeout": 100})
        assert late.get("writeConcernError", {}).get("code") == 64, late
    finally:
        held.let_go()
    three.wait_settled()
    check_same(three, "concerns")


def test_a_server_with_branches_becomes_a_set_and_one_again(tmp_path):
    with Server(dbpath=tmp_path) as server:
        with server.client() as client:
            history(client, "shop")
            before = refs_of(client, "shop")
        assert server.stop() == 0
    with Member(dbpath=tmp_path) as member, Member() as other:
        member.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": member.name}, {"_id": 1, "host": other.name}]})
        wait_until(lambda: [member.state(), other.state()] == ["PRIMARY", "SECONDARY"], member.tail)
        assert refs_of(member.direct, "shop") == before
        member.direct["shop@here"].command("commit", 1)
        member.direct["shop"].command("merge", "here", resolve="theirs", writeConcern={"w": 2})
        after = refs_of(member.direct, "shop")
        assert refs_of(other.direct, "shop") == after
        assert member.stop() == 0
        member.close()
    with Server(dbpath=tmp_path) as server, server.client() as client:
        assert refs_of(client, "shop") == after

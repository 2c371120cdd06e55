"""These tests check what dedup reports about itself, with real documents: chains, advice, explain, counters."""
import random
import threading

import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure

from tests.support.palimpsest import Server
from tests.support.revisions import revisions, settle, words
from tests.support.waiting import wait_until


def chain(db, name, key, **options):
    return db.command({"dedupChain": name, "_id": key, **options})


def explained(db, command):
    return db.command("explain", command, verbosity="executionStats")["executionStats"]


def test_a_chain_page_by_page_is_the_whole_chain(db):
    db.c.insert_many(revisions(1, 1, 230))
    settle(db.client)
    whole = chain(db, "c", 100, limit=1000)
    assert whole["n"] == len(whole["nodes"]) == whole["returned"] and not whole["more"]
    assert whole["n"] > 200
    paged, skip = [], 0
    while True:
        page = chain(db, "c", 100, skip=skip, limit=60)
        assert page["skip"] == skip and page["returned"] == len(page["nodes"]) <= 60
        paged += page["nodes"]
        skip += page["returned"]
        if not page["more"]:
            break
    assert paged == whole["nodes"]
    assert [node["position"] for node in paged] == list(range(whole["n"] - 1, -1, -1))
    assert sum(node["contentBytes"] for node in paged) == whole["contentBytes"]
    assert sum(node["storedBytes"] for node in paged) == whole["storedBytes"]
    assert max(node["hops"] for node in paged) == whole["hops"]["max"]
    assert sum(node.get("hopBase", False) for node in paged) == whole["hopBases"] > 0
    head = paged[0]
    assert head["form"] == "head" and head["hops"] == 0 and "base" not in head and head["ordinal"] >= whole["n"] - 1
    by_id = {node["_id"]: node for node in paged}
    for node in paged[1:]:
        assert node["form"] == "delta"
        base = by_id[node["base"]["_id"]]
        assert base["position"] > node["position"] and node["hops"] == base["hops"] + 1
        assert 0 <= node["base"]["why"]["featuresInCommon"] <= node["base"]["why"]["features"]
        assert node["base"]["why"]["choice"] in ("given", "match", "cached", "tried")
        assert not node["hopBase"] or node["base"]["why"]["choice"] == "given"
    assert any(node["base"]["why"]["featuresInCommon"] >= 4 for node in paged[1:])
    assert sum(node["base"]["why"]["choice"] == "match" for node in paged[1:]) > whole["n"] / 3


def test_a_source_that_was_chosen_for_being_cached_is_reported_as_such():
    # Each database samples features with a seed of its own. With few features, the cached source may share none of them with the
    # new content, or all; it is then no candidate, or the best anyway. So the test asks many databases.
    text = words(random.Random(8), 8000)
    names = [f"reward{i}" for i in range(12)]
    with Server("--setParameter", "dedupCacheReward=100") as running:
        client = running.client()
        for name in names:
            client[name].c.insert_one({"_id": 1, "text": text[:-20]})
        settle(client)
        running.stop()  # with it goes what the cache held
        running.start()
        client = running.client()
        for name in names:
            client[name].c.insert_one({"_id": 2, "text": text[2000:]})
        settle(client)
        for name in names:
            client[name].c.insert_one({"_id": 3, "text": text})

        def found():
            return [chain(client[name], "c", 2)["document"] for name in names]

        wait_until(lambda: sum(one.get("base", {}).get("why", {}).get("choice") == "cached" for one in found()) >= 9, found, pause=0.1)


def test_the_asked_document_and_what_a_read_of_it_takes_agree(db):
    db.c.insert_many(revisions(2, 3, 120))
    settle(db.client)
    scanned = explained(db, {"find": "c"})
    hops = 0
    for key in range(0, 120):
        document = chain(db, "c", key, limit=1)["document"]
        assert document["_id"] == key
        stats = explained(db, {"find": "c", "filter": {"_id": key}})
        assert stats["dedupHops"] == document["hops"]
        assert (stats["dedupDecodedBytes"] > 0) == (document["hops"] > 0)
        hops += document["hops"]
    assert scanned["dedupHops"] == hops > 100
    assert scanned["dedupDecodedBytes"] > 0
    filtered = explained(db, {"find": "c", "filter": {"page": 1}})
    assert filtered["dedupHops"] == hops, "a scan decodes what it matches, once"
    db.c.create_index("page")
    fetched = explained(db, {"find": "c", "filter": {"page": 1}})
    assert 0 < fetched["dedupHops"] < hops


def test_deleted_and_updated_documents_stay_in_the_chain_as_long_as_others_need_them(db):
    db.c.insert_many(revisions(3, 1, 40))
    settle(db.client)
    keys = [node["_id"] for node in chain(db, "c", 0)["nodes"]]
    db.c.delete_one({"_id": keys[10]})
    db.c.update_one({"_id": keys[20]}, {"$set": {"text": words(random.Random(9), 1000)}})
    after = chain(db, "c", keys[-1])
    retained = [node["_id"] for node in after["nodes"] if node["retained"]]
    assert set(retained) <= {keys[10], keys[20]} and len(retained) == after["retained"] > 0
    with pytest.raises(OperationFailure) as refused:
        chain(db, "c", keys[10])
    assert refused.value.code == 4


def test_a_named_lineage_shows(db):
    db.create_collection("c", dedup={"key": "page"})
    db.c.insert_many(revisions(4, 4, 60))
    settle(db.client)
    for key in (5, 25, 45):
        for node in chain(db, "c", key)["nodes"]:
            if "base" in node:
                assert node["base"]["why"]["lineage"]


def test_advice_comes_true(db):
    documents = revisions(5, 250, 3000)
    db.create_collection("before", dedup={"enabled": False})
    db.before.insert_many(documents)
    whole = db.command("dedupAdvise", "before")
    part = db.command("dedupAdvise", "before", sample={"documents": 1200})
    assert whole["documents"] == part["documents"] == 3000
    assert whole["sample"]["share"] == 1 and part["sample"]["share"] == pytest.approx(0.4)
    assert part["sample"]["documents"] < 2000
    db.after.insert_many(documents)
    settle(db.client)
    dedup = db.command("collStats", "after")["dedup"]
    ratio = dedup["logicalBytes"] / dedup["storedBytes"]
    assert ratio > 5
    assert whole["balanced"]["ratio"] == pytest.approx(ratio, rel=0.1)
    assert part["balanced"]["ratio"] == pytest.approx(ratio, rel=0.15)
    assert whole["balanced"]["storedBytes"] == pytest.approx(dedup["storedBytes"], rel=0.1)
    assert whole["balanced"]["deltas"] == pytest.approx(dedup["deltas"] / 3000, abs=0.03)
    assert whole["balanced"]["ratioWithBlockCompression"] > whole["balanced"]["ratio"]
    assert whole["recommended"]["dedup"]["enabled"] and whole["recommended"]["dedup"]["key"] == "page"
    # On a collection that is deduplicated already the advice is the same.
    assert db.command("dedupAdvise", "after")["balanced"]["ratio"] == pytest.approx(whole["balanced"]["ratio"], rel=0.02)


def test_advice_against_it_where_nothing_is_alike(db):
    rng = random.Random(6)
    db.c.insert_many([{"_id": i, "text": words(rng, 800)} for i in range(500)])
    advice = db.command("dedupAdvise", "c", sample=0.5)
    assert advice["balanced"]["ratio"] == pytest.approx(1, abs=0.1)
    assert not advice["recommended"]["dedup"]["enabled"] and "key" not in advice["recommended"]["dedup"]


def test_advice_can_be_stopped(db):
    documents = revisions(7, 100, 2000, length=6000)
    db.c.insert_many(documents)
    with pytest.raises(ExecutionTimeout):
        db.command("dedupAdvise", "c", maxTimeMS=1)
    failed = []

    def ask():
        client = db.client
        try:
            while not failed:
                client[db.name].command("dedupAdvise", "c", comment="to be killed")
        except OperationFailure as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()

    def killed():
        for operation in db.client.admin.command("currentOp")["inprog"]:
            if "dedupAdvise" in operation.get("command", {}):
                db.client.admin.command("killOp", op=operation["opid"])
        return failed

    wait_until(killed, pause=0.005)
    asking.join()
    assert failed[0].code == 11601


def test_dedup_of_a_collection_can_be_changed(db):
    db.create_collection("c")
    assert db.command("collMod", "c", dedup={"enabled": False})["dedup_new"] == {"enabled": False}
    assert db.command("collMod", "c", dedup={"key": "page"})["dedup_old"] == {"enabled": False}
    listed = db.command("listCollections", filter={"name": "c"})["cursor"]["firstBatch"][0]
    assert listed["options"]["dedup"] == {"key": "page"}
    db.c.insert_many(revisions(8, 3, 60))
    settle(db.client)
    heads = chain(db, "c", 0)["heads"]
    assert heads == 1
    assert db.command("collStats", "c")["dedup"]["deltas"] >= 50


def test_advice_on_a_few_documents_from_a_small_sample(db):
    """A sample that draws no run of neighbours must not pass for documents that don't compress."""
    db.c.insert_many([{"_id": i} for i in range(2000)])
    for _ in range(8):
        advice = db.command("dedupAdvise", "c", sample={"documents": 5})
        assert advice["withoutDedup"]["ratioWithBlockCompression"] > 5 and not advice["recommended"]["dedup"]["enabled"]


def test_figures_are_of_databases_that_are_there(db):
    db.c.insert_many(revisions(1, 1, 20))
    settle(db.client)
    databases = lambda: db.client.admin.command("serverStatus")["dedup"]["databases"]
    assert db.name in databases()
    db.client.drop_database(db.name)
    assert db.name not in databases()


def test_files_that_were_just_written_are_validated(db):
    db.c.insert_many([{"_id": i, "t": "hello" * i} for i in range(50)])
    settle(db.client)
    for _ in range(3):  # the encoder may write once more between
        report = db.command("validate", "c", full=True)
        assert report["valid"], report
        if not [one for one in report["warnings"] if "transient" in one]:
            return
    raise AssertionError(report["warnings"])


def test_a_shorter_pause_of_the_ttl_monitor_counts_at_once(db):
    admin = db.client.admin
    passes = lambda: admin.command("serverStatus")["metrics"]["ttl"]["passes"]
    before = admin.command("setParameter", 1, ttlMonitorSleepSecs=1)["was"]
    try:
        start = passes()
        wait_until(lambda: passes() > start, pause=0.1)
    finally:
        admin.command("setParameter", 1, ttlMonitorSleepSecs=before)

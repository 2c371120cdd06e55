"""These tests compare the figures of collStats, dbStats and serverStatus with what was written and read."""
import random

import bson
import pytest

from tests.support.revisions import revisions, settle, words
from tests.support.palimpsest import Server

PAGES, COUNT = 6, 240


@pytest.fixture
def server():
    with Server() as running:
        yield running


@pytest.fixture
def db(server):
    client = server.client()
    documents = revisions(11, PAGES, COUNT)
    client.figures.c.insert_many(documents)
    settle(client)
    client.figures.documents = documents
    yield client.figures
    client.close()


def written():
    return sum(len(bson.encode(document)) for document in revisions(11, PAGES, COUNT))


def test_from_what_was_written_to_what_lies_in_files(db):
    db.client.admin.command("fsync")
    dedup = db.command("collStats", "c")["dedup"]
    assert dedup["logicalBytes"] == written() == db.command("collStats", "c")["size"]
    assert dedup["records"] == COUNT
    assert dedup["storedBytes"] * 4 < dedup["logicalBytes"]
    assert 0 < dedup["blockBytes"] <= dedup["fileBytes"]
    assert dedup["deltas"] == dedup["chainRows"] >= COUNT - 2 * PAGES
    assert PAGES <= dedup["heads"] <= COUNT - dedup["deltas"]
    assert dedup["retained"] == dedup["retainedBytes"] == 0
    # The chains of the collection together are the collection.
    seen, chains = set(), []
    for document in db.c.find({}, {"_id": 1}):
        if document["_id"] in seen:
            continue
        chain = db.command({"dedupChain": "c", "id": document["_id"], "limit": 1000})
        seen |= {node["_id"] for node in chain["nodes"]}
        chains.append(chain)
    assert sum(chain["n"] for chain in chains) == COUNT
    assert sum(chain["contentBytes"] for chain in chains) == dedup["logicalBytes"]
    assert sum(node["storedBytes"] for chain in chains for node in chain["nodes"] if node["form"] == "delta") == dedup["chainBytes"]


def test_the_encoder_accounts_for_each_content(db):
    dedup = db.command("dbStats")["dedup"]
    assert dedup["contents"] == COUNT and dedup["contentBytes"] == written()
    assert dedup["encoded"] + dedup["unique"] + dedup["filtered"] + dedup["notWorth"] + dedup["disabled"] == COUNT
    assert dedup["encoded"] >= dedup["deltas"]
    assert 0 < dedup["forwardBytes"] < dedup["contentBytes"] / 4
    assert dedup["savedBytes"] == pytest.approx(dedup["logicalBytes"] - dedup["storedBytes"], rel=0.1)
    assert dedup["writeBacks"] >= dedup["deltas"] and dedup["writeBacks"] >= dedup["hopWriteBacks"] > 0
    cache = dedup["sourceCache"]
    assert cache["hits"] + cache["misses"] >= dedup["encoded"] and cache["gone"] == 0 and cache["bytes"] > 0
    index = dedup["index"]
    assert index["bytes"] >= index["liveBytes"] > 0 and index["records"] >= PAGES and index["recordsIndexed"] == COUNT
    assert index["candidates"] > 0 and index["falseChecksums"] >= 0 and index["metadataCacheBytes"] > 0
    assert index["forgotten"] >= 0 and index["grown"] >= 0 and index["thinned"] >= 0
    governor = dedup["governor"]
    assert governor["enabled"] and governor["reason"] == "the first window is not over"
    assert governor["contentsUntilJudged"] == 100000 - COUNT
    assert governor["ratioNow"] == pytest.approx(governor["ratio"]) and governor["ratio"] > 4
    assert governor["ratioJudged"] == 0 and governor["sizeThreshold"] == 0


def test_server_database_and_collection_agree(db):
    db.d.insert_many(revisions(12, 3, 60, first=1000))
    server = settle(db.client)
    collections = [db.command("collStats", name)["dedup"] for name in ("c", "d")]
    database = db.command("dbStats")["dedup"]
    for field in ("logicalBytes", "storedBytes", "records", "deltas", "heads", "chainRows", "chainBytes"):
        assert sum(one[field] for one in collections) == database[field] == server[field], field
    for field in ("contents", "encoded", "unique", "contentBytes", "savedBytes", "forwardBytes"):
        assert database[field] == server[field], field
    assert server["enabled"] and server["profile"] == "balanced"
    assert server["writeBack"]["written"] >= server["deltas"]
    assert server["writeBack"]["wrong"] == server["writeBack"]["records"] == server["writeBack"]["discarded"] == 0
    assert server["queue"] == {"records": 0, "bytes": 0, "dropped": 0, "refused": 0, "collectionsBehind": 0, "readBack": 0}
    assert server["background"]["cpuMicros"] > 0
    assert server["oplog"]["entries"] == COUNT + 60 and server["oplog"]["forwardBytes"] < server["oplog"]["rawBytes"] / 4
    stage = list(db.c.aggregate([{"$collStats": {"storageStats": {}}}]))[0]["storageStats"]["dedup"]
    assert stage == collections[0]


def test_reads_count_their_hops(db):
    assert db.command("collStats", "c")["dedup"]["hops"]["reads"] == 0
    list(db.c.find())
    dedup = db.command("collStats", "c")["dedup"]
    hops = [db.command({"dedupChain": "c", "id": key, "limit": 1})["document"]["hops"] for key in range(COUNT)]
    assert dedup["hops"]["reads"] == dedup["deltas"] == sum(hop > 0 for hop in hops)
    assert dedup["hops"]["max"] == max(hops)
    assert dedup["hops"]["mean"] == pytest.approx(sum(hops) / dedup["deltas"])
    quantiles = list(dedup["hops"]["quantiles"].values())
    assert quantiles == sorted(quantiles) and max(hops) >= quantiles[-1] > 0
    assert dedup["decodeMicros"]["p99"] >= dedup["decodeMicros"]["p50"]


def test_old_versions_are_read_from_hop_bases_that_others_came_through(server):
    with server.client() as client:
        documents = revisions(17, 1, 300)
        client.figures.c.insert_many(documents)
        settle(client)

        def read():
            for document in random.Random(1).sample(documents, len(documents)):
                assert client.figures.c.find_one({"_id": document["_id"]}) == document
            return client.admin.command("serverStatus")["dedup"]["hopBaseCache"]

        first = read()
        assert first["bytes"] > 0
        hops = client.figures.command("collStats", "c")["dedup"]["hops"]
        again = read()
        assert again["hits"] > first["hits"] + 100
        # The figures count all hops, whoever applied them.
        assert client.figures.command("collStats", "c")["dedup"]["hops"]["mean"] == pytest.approx(hops["mean"])
        client.admin.command("setParameter", 1, dedupHopBaseCacheBytes=0)
        assert read() == {"bytes": 0, "hits": again["hits"]}


def test_deletes_leave_retained_contents_until_they_are_spliced_out(db):
    base = db.command({"dedupChain": "c", "id": 0})["nodes"][5]["base"]["_id"]
    db.c.delete_one({"_id": base})
    settle(db.client)
    dedup = db.command("collStats", "c")["dedup"]
    assert dedup["records"] == COUNT - 1
    assert dedup["retained"] == 1 and dedup["retainedBytes"] > 0
    assert dedup["logicalBytes"] == db.command("collStats", "c")["size"]


def test_a_write_back_cache_without_room_discards_and_says_so(db):
    db.client.admin.command("setParameter", 1, dedupWriteBackCacheBytes=1500)
    db.e.insert_many(revisions(13, 5, 200, first=5000))
    server = settle(db.client)
    assert server["writeBack"]["discarded"] > 0 and server["writeBack"]["discardedBytes"] > 0
    assert db.command("collStats", "e")["dedup"]["deltas"] < 195
    assert db.command("validate", "e", full=True)["valid"]


def test_the_size_filters_cut_off_shows(db):
    admin = db.client.admin
    admin.command("setParameter", 1, dedupSizeFilterAlways=True)
    admin.command("setParameter", 1, dedupSizeFilterRefresh=50)
    admin.command("setParameter", 1, dedupSizeFilterPercentile=50)
    rng = random.Random(1)
    db.f.insert_many([{"_id": i, "text": words(rng, 300 if i % 2 else 3000)} for i in range(200)])
    settle(db.client)
    dedup = db.command("dbStats")["dedup"]
    assert 300 < dedup["governor"]["sizeThreshold"] <= 3200
    assert dedup["filtered"] > 20


def test_switched_off_it_says_so(db):
    db.client.admin.command("setParameter", 1, dedupEnabled=False)
    before = db.command("dbStats")["dedup"]["contents"]
    db.c.insert_many(revisions(14, 2, 20, first=9000))
    dedup = db.client.admin.command("serverStatus")["dedup"]
    assert dedup["enabled"] is False and dedup["queue"]["collectionsBehind"] == 1
    assert db.command("dbStats")["dedup"]["contents"] == before
    db.client.admin.command("setParameter", 1, dedupEnabled=True)
    settle(db.client)
    assert db.command("dbStats")["dedup"]["contents"] == before + 20

"""A repair takes lost documents from the log, if the log has their newest contents."""
import random
import subprocess

from pymongo import UpdateOne

from tests.support.damage import damage_rows, largest_file, named
from tests.support.palimpsest import BIN, Server

DOCUMENTS = 300
SETTINGS = ("--syncdelay", "1", "--nodedup")


def fill(client, updated):
    rng = random.Random(4)
    docs = client["t"]["docs"]
    docs.create_index("n")
    docs.insert_many({"_id": key, "n": key % 7, "text": rng.randbytes(400).hex()} for key in range(DOCUMENTS))
    for key in updated:
        docs.update_one({"_id": key}, {"$set": {"n": 100 + key}})
        docs.update_one({"_id": key}, {"$push": {"list": key}})
    # The log has the removal and the insert of this one, and no content.
    docs.update_one({"_id": 1}, {"$set": {"n": -1}})
    docs.delete_one({"_id": 1})
    docs.insert_one({"_id": 1, "text": rng.randbytes(400).hex()})
    # A replacement is the newest content of this one, and stands in the collection alone.
    docs.update_one({"_id": 3}, {"$set": {"n": -1}})
    docs.replace_one({"_id": 3}, {"text": rng.randbytes(400).hex()})
    return {one["_id"]: one for one in docs.find()}


def damage_records(file):
    assert damage_rows(file) > 1


def check_repaired(client, before, lost):
    assert client["t"].command("validate", "docs", full=True)["valid"]
    docs = client["t"]["docs"]
    assert {one["_id"]: one for one in docs.find()} == {key: one for key, one in before.items() if key not in lost}
    for key in before.keys() - lost:
        assert docs.find_one({"_id": key}) == before[key]
    by_n = sorted(one["_id"] for one in docs.find({"n": {"$gte": 0}}).hint("n_1"))
    assert by_n == sorted(key for key, one in before.items() if key not in lost and one.get("n", -1) >= 0)


def test_documents_that_were_updated_come_back_from_the_log():
    updated = range(2, DOCUMENTS, 4)
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client, updated)
        server.stop()
        damage_records(largest_file(server))
        server.start()
        with server.client() as client:
            reply = client["t"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"] and reply["repaired"], reply["errors"]
            lost = before.keys() - set(updated)
            assert named(reply["warnings"], "Lost: ") == lost
            assert named(reply["warnings"], "Restored from the log: ") == set(updated)
            assert any("only names its content" in line for line in reply["warnings"] if "_id: 1 }" in line)
            assert reply["numRestoredContents"] == len(updated)
            check_repaired(client, before, lost)


def test_a_repair_at_start_takes_documents_from_the_log():
    updated = range(0, DOCUMENTS, 2)
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client, updated)
        server.stop()
        damage_records(largest_file(server))
        with open(server.log, "ab") as out:
            done = subprocess.run([str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", *SETTINGS],
                                  stdout=out, stderr=out, timeout=300, check=False)
        assert done.returncode == 0
        log = server.log.read_text(errors="replace")
        assert "Restored from the log: document { _id: 2 }" in log and "Lost: document { _id: 1 }" in log
        server.start()
        with server.client() as client:
            check_repaired(client, before, before.keys() - set(updated))


def test_a_capped_collection_comes_back_as_a_whole():
    rng = random.Random(9)
    with Server(*SETTINGS) as server:
        with server.client() as client:
            capped = client["t"].create_collection("docs", capped=True, size=10 << 20)
            capped.create_index("n")
            capped.insert_many({"_id": key, "n": key, "text": rng.randbytes(400).hex()} for key in range(DOCUMENTS))
            before = {one["_id"]: one for one in capped.find()}
        server.stop()
        damage_records(largest_file(server))
        server.start()
        with server.client() as client:
            reply = client["t"].command("validate", "docs", repair=True)
            assert named(reply["warnings"], "Lost: ") == set()
            assert named(reply["warnings"], "Restored from the log: ") == before.keys()
            check_repaired(client, before, set())


def test_what_the_log_can_not_prove_is_lost():
    """The log is damaged too, so an older content in it may not be the newest."""
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client, range(2, DOCUMENTS, 4))
            client.admin.command("fsync")
            file = largest_file(server)
            filler = client["t"]["filler"]
            filler.insert_many({"_id": i} for i in range(DOCUMENTS))
            # The log has the differences, so they make it long enough to have pages in its middle.
            dice = random.Random(1)
            filler.update_many({}, {"$set": {"text": dice.randbytes(3000).hex()}})
            filler.bulk_write([UpdateOne({"_id": i}, {"$set": {"later": dice.randbytes(1000).hex()}}) for i in range(DOCUMENTS)])
        server.stop()
        damage_records(file)
        assert damage_rows(server.dbpath / "oplog.wt", keep=lambda at, pages: at == pages[0] or at == pages[-1]) > 0
        server.start()
        with server.client() as client:
            reply = client["t"].command("validate", "docs", repair=True)
            assert named(reply["warnings"], "Restored from the log: ") == set()
            assert named(reply["warnings"], "Lost: ") == before.keys()
            assert all("; the log " in line for line in reply["warnings"] if line.startswith("Lost: "))
            assert client["t"]["docs"].count_documents({}) == 0
            assert client["t"].command("validate", "docs", full=True)["valid"]


def fill_collated(client, rng):
    docs = client["t"].create_collection("docs", collation={"locale": "en", "strength": 2})
    docs.insert_many({"_id": f"Key{key}", "text": rng.randbytes(400).hex()} for key in range(DOCUMENTS))
    return docs


def test_under_a_collation_documents_are_known_by_their_records():
    with Server(*SETTINGS) as server:
        rng = random.Random(6)
        with server.client() as client:
            docs = fill_collated(client, rng)
            updated = {f"Key{key}" for key in range(0, DOCUMENTS, 3)}
            for key in updated:
                docs.update_one({"_id": key.upper()}, {"$set": {"n": 1}})
            before = {one["_id"]: one for one in docs.find()}
        server.stop()
        damage_records(largest_file(server))
        server.start()
        with server.client() as client:
            reply = client["t"].command("validate", "docs", full=True)
            assert len(reply["damagedDocuments"]) == len(reply["corruptRecords"]) == DOCUMENTS
            reply = client["t"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            assert len([line for line in reply["warnings"] if line.startswith("Restored from the log: record ")]) == len(updated)
            assert len([line for line in reply["warnings"] if line.startswith("Lost: record ")]) == DOCUMENTS - len(updated)
            docs = client["t"]["docs"]
            assert {one["_id"]: one for one in docs.find()} == {key: before[key] for key in updated}
            assert all(docs.find_one({"_id": key.lower()}) == before[key] for key in updated)
            assert docs.estimated_document_count() == len(updated)


def test_lost_documents_do_not_count_on_branches_under_a_collation():
    with Server(*SETTINGS) as server:
        rng = random.Random(7)
        with server.client() as client:
            fill_collated(client, rng)
            client["t"].command("createBranch", "dev")
            client["t@dev"]["docs"].insert_many({"_id": f"New{key}", "text": rng.randbytes(400).hex()} for key in range(5))
            client["t@dev"].command("commit", 1, message="new")
        server.stop()
        damage_records(largest_file(server))
        server.start()
        with server.client() as client:
            reply = client["t"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            assert len([line for line in reply["warnings"] if line.startswith("Lost: record ")]) == DOCUMENTS + 5
            for state in ("t", "t@dev"):
                docs = client[state]["docs"]
                assert docs.estimated_document_count() == docs.count_documents({}) == len(list(docs.find())) == 0
                docs.insert_one({"_id": "KEY1"})
                assert docs.estimated_document_count() == 1

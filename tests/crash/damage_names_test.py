"""validate says which branches, commits and snapshots show a document that can't be read."""
import random

from pymongo.errors import OperationFailure

from tests.support.damage import damage_rows, largest_file, named
from tests.support.palimpsest import Server

DOCUMENTS = 40


def texts(rng, count):
    return [{"_id": key, "text": rng.randbytes(900).hex()} for key in range(count)]


def fill(client):
    rng = random.Random(1)
    shop = client["shop"]
    shop["things"].insert_many(texts(rng, DOCUMENTS))
    shop.command("createBranch", "dev")
    dev = client["shop@dev"]["things"]
    dev.delete_one({"_id": 1})
    dev.insert_one({"_id": "of dev", "text": rng.randbytes(900).hex()})
    commit = client["shop@dev"].command("commit", 1, message="on dev")["commit"]
    shop.command("createTag", "v1", **{"from": "dev"})
    shop["things"].delete_one({"_id": 2})
    shop.command("commit", 1, message="on main")
    client.admin.command({"createSnapshot": 1, "name": "before"})
    client["shop@dev"]["things"].delete_one({"_id": "of dev"})
    return commit


def damaged_by_id(reply):
    return {one["_id"]: one for one in reply["damagedDocuments"] if "_id" in one}


def test_validate_says_who_shows_a_damaged_document():
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            commit = fill(client)
        server.stop()
        largest = max(server.dbpath.glob("records-*.wt"), key=lambda path: path.stat().st_size)
        assert damage_rows(largest) > 0
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "things", full=True)
            assert not reply["valid"]
            assert len(reply["corruptRecords"]) == len(reply["damagedDocuments"]) == DOCUMENTS + 1
            found = damaged_by_id(reply)
            assert found.keys() == {*range(DOCUMENTS), "of dev"}
            everywhere = {"shop", "shop@dev", "shop@v1", "shop@before", "shop@dev@before"}
            assert set(found[0]["shownBy"]) == everywhere
            assert set(found[2]["shownBy"]) >= {"shop@dev", "shop@v1"} and "shop" not in found[2]["shownBy"]
            assert set(found[1]["shownBy"]) >= {"shop"} and not {"shop@dev", "shop@v1"} & set(found[1]["shownBy"])
            assert "shop@v1" in found["of dev"]["shownBy"] and "shop@dev" not in found["of dev"]["shownBy"]
            assert "shop@dev@before" in found["of dev"]["shownBy"]
            assert commit in found["of dev"]["commits"] and found["of dev"]["moreCommits"] == 0
            assert commit not in found[1]["commits"] and len(found[0]["commits"]) >= 3
            # A validate that doesn't look at everything names the documents alone.
            brief = client["shop"].command("validate", "things")
            assert damaged_by_id(brief).keys() == found.keys()
            assert not any("shownBy" in one for one in brief["damagedDocuments"])


def test_validate_names_what_only_snapshots_show():
    """The contents from before an update lie in the table of chains."""
    rng = random.Random(2)
    with Server("--syncdelay", "1") as server:
        with server.client() as client:
            docs = client["plain"]["docs"]
            docs.insert_many(texts(rng, DOCUMENTS))
            client.admin.command({"createSnapshot": 1, "name": "one"})
            for key in range(10):
                docs.replace_one({"_id": key}, {"text": rng.randbytes(900).hex()})
            docs.delete_many({"_id": {"$in": [10, 11]}})
            client.admin.command({"createSnapshot": 1, "name": "two"})
            docs.insert_one({"_id": "later"})
        server.stop()
        chains = max(server.dbpath.glob("chains-*.wt"), key=lambda path: path.stat().st_size)
        assert damage_rows(chains) > 0
        server.start()
        with server.client() as client:
            assert len(list(client["plain"]["docs"].find())) == DOCUMENTS - 1
            reply = client["plain"].command("validate", "docs", full=True)
            assert not reply["valid"] and reply["corruptRecords"] == []
            found = damaged_by_id(reply)
            assert found and found.keys() <= set(range(12))
            for key, one in found.items():
                assert one["shownBy"] == ["plain@one"]
                assert any(f"{{ _id: {key} }}" in error and "plain@one" in error for error in reply["errors"])
            unread = set()
            for key in range(DOCUMENTS):
                try:
                    client["plain@one"]["docs"].find_one({"_id": key})
                except OperationFailure as error:
                    assert error.code == 301
                    unread.add(key)
            assert unread == found.keys()


def test_what_snapshots_show_of_a_lost_document_is_found_in_every_way():
    with Server("--syncdelay", "1", "--nodedup") as server:
        rng = random.Random(2)
        with server.client() as client:
            docs = client["shop"]["things"]
            docs.create_index("n")
            docs.insert_many(dict(one, n=one["_id"] % 5) for one in texts(rng, DOCUMENTS))
            client.admin.command({"createSnapshot": 1, "name": "before"})
            # Nothing is alike, so the chains keep what the snapshot shows.
            for one in texts(rng, DOCUMENTS):
                docs.replace_one({"_id": one["_id"]}, {"n": one["_id"] % 5, "text": one["text"]})
            then = {one["_id"]: one for one in client["shop@before"]["things"].find()}
            client.admin.command("fsync")
        server.stop()
        assert damage_rows(largest_file(server)) > 0
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "things", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            lost = named(reply["warnings"], "Lost: document")
            assert lost
            shown = client["shop@before"]["things"]
            assert {one["_id"]: one for one in shown.find()} == then
            assert {key: shown.find_one({"_id": key}) for key in then} == then
            assert {one["_id"]: one for n in range(5) for one in shown.find({"n": n}).hint("n_1")} == then
            assert client["shop"]["things"].count_documents({"_id": {"$in": list(lost)}}) == 0
            # Documents of these _ids may come again, and the snapshot goes on showing what it did.
            client["shop"]["things"].insert_many({"_id": key} for key in lost)
            assert {key: shown.find_one({"_id": key}) for key in then} == then
            client.admin.command("dropSnapshot", "before")
            assert client["shop"].command("validate", "things", full=True)["valid"]

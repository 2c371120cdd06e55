"""A repair takes lost documents of a database with branches from the log, each version for all branches and commits that show it."""
import random

import bson
import pytest

from tests.support.damage import damage_rows, largest_file, named
from tests.support.palimpsest import Server

SETTINGS = ("--syncdelay", "1", "--nodedup")
FIRST = 60


class Shop:
    """Branches with documents that the log can make, and others of which it only has names."""

    def __init__(self, client):
        self.client = client
        self.rng = random.Random(11)
        self.commits = []

    def text(self):
        return self.rng.randbytes(300).hex()

    def branch(self, name):
        return self.client["shop" if name == "main" else f"shop@{name}"]["docs"]

    def commit(self, name):
        self.commits.append(self.branch(name).database.command("commit", 1, message=name)["commit"])

    def insert(self, name, keys, change=True):
        """The log takes in what a changed document was before, unless a commit shows it."""
        docs = self.branch(name)
        docs.insert_many({"_id": key, "n": 0, "text": self.text()} for key in keys)
        for key in keys if change else ():
            docs.update_one({"_id": key}, {"$set": {"n": 1}})

    def fill(self):
        self.insert("main", range(FIRST))
        self.client["shop"].command("createBranch", "dev")
        self.insert("dev", range(100, 130))
        self.branch("dev").update_many({"_id": {"$lt": 20}}, {"$set": {"dev": True}})
        self.commit("dev")
        self.client["shop"].command("createTag", "v1", **{"from": "dev"})
        self.branch("dev").update_many({"_id": {"$gte": 100, "$lt": 110}}, {"$push": {"list": 1}})
        self.branch("dev").delete_many({"_id": {"$in": [30, 101]}})
        self.commit("dev")
        # Both branches change the documents 10 to 19, so the merge makes new ones.
        self.branch("main").update_many({"_id": {"$gte": 10, "$lt": 25}}, {"$inc": {"n": 7}})
        self.commit("main")
        merged = self.client["shop"].command("merge", "dev", author="x", message="dev")
        assert merged["commit"] and not merged.get("conflicts")
        self.client["shop"].command("createBranch", "later", **{"from": "v1"})
        self.branch("later").update_many({"_id": {"$gte": 120}}, {"$set": {"later": 1}})
        self.branch("dev").update_many({"_id": {"$gte": 40, "$lt": 45}}, {"$set": {"pending": 1}})
        self.insert("main", range(200, 210))
        self.client["shop"].command("createBranch", "gone", **{"from": "later"})
        self.client["shop"].command("renameBranch", "gone", to="renamed")
        self.branch("renamed").update_many({"_id": {"$lt": 3}}, {"$set": {"renamed": 1}})
        self.commit("renamed")
        self.client.admin.command({"createSnapshot": 1, "name": "end"})

    def states(self):
        return ["shop", "shop@dev", "shop@v1", "shop@later", "shop@renamed", "shop@end", "shop@dev@end",
                *(f"shop@{commit[:16]}" for commit in self.commits)]

    def documents(self, states):
        return {state: {one["_id"]: one for one in self.client[state]["docs"].find()} for state in states}


def damaged_shop(server, write, files=lambda server: [largest_file(server)]):
    """Returns what each state held before its records' pages were damaged, and the commits."""
    with server.client() as client:
        shop = Shop(client)
        write(shop)
        before = shop.documents(shop.states())
    server.stop()
    for file in files(server):
        assert damage_rows(file) > 0
    server.start()
    return before, shop.commits


def check(client, before, lost):
    """Each state shows what it did, but for what is lost of it: {state: keys}, or keys that are lost everywhere."""
    for state, documents in before.items():
        gone = lost.get(state, set()) if isinstance(lost, dict) else lost
        there = {one["_id"]: one for one in client[state]["docs"].find()}
        expected = {key: one for key, one in documents.items() if key not in gone}
        assert there == expected, f"{state}: {[key for key in documents if there.get(key) != expected.get(key)]}"
        for key, one in expected.items():
            assert client[state]["docs"].find_one({"_id": key}) == one


def test_branches_commits_and_snapshots_read_what_comes_back_from_the_log():
    with Server(*SETTINGS) as server:
        before, commits = damaged_shop(server, Shop.fill)
        with server.client() as client:
            assert len(client["shop"].command("validate", "docs")["damagedDocuments"]) > FIRST
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            assert [line for line in reply["warnings"] if line.startswith("Lost: document")] == []
            assert reply["numRestoredContents"] > FIRST + 30 and reply["numRemovedCorruptRecords"] == 0
            check(client, before, set())
            for commit in commits:
                assert client[f"shop@{commit[:16]}"].command("verify", 1, deep=True)["valid"]
            # The branches go on.
            client["shop@dev"]["docs"].update_many({}, {"$set": {"after": 1}})
            client["shop@dev"].command("commit", 1, message="after")
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]
            client["shop"].command("merge", "later", message="later")
            assert client["shop"].command("validate", "docs", full=True)["valid"]


def test_what_the_log_only_names_is_lost_unless_another_entry_has_it():
    def write(shop):
        shop.insert("main", range(10), change=False)
        shop.client["shop"].command("createBranch", "dev")
        shop.insert("dev", range(100, 110))
        shop.insert("dev", range(110, 120), change=False)
        shop.commit("dev")
        shop.client["shop"].command("createTag", "v1", **{"from": "dev"})
        # The merge's entries have the documents that it brings to main.
        assert shop.client["shop"].command("merge", "dev", message="merge")["commit"]
        shop.insert("dev", range(120, 130), change=False)
        shop.branch("dev").replace_one({"_id": 105}, {"text": shop.text()})
        shop.client["shop"].command("createBranch", "later", **{"from": "v1"})
        shop.client["shop"].command("createBranch", "renamed", **{"from": "v1"})
        shop.commit("dev")
        shop.client.admin.command({"createSnapshot": 1, "name": "end"})

    with Server(*SETTINGS) as server:
        before, _ = damaged_shop(server, write)
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            unnamed = {*range(10), *range(120, 130)}
            assert named(reply["warnings"], "Restored from the log: ") == set(range(100, 120))
            # Document 105 has two versions: the one that v1 shows came back, and its replacement didn't.
            assert named(reply["warnings"], "Lost: ") == unnamed | {105}
            assert all("only names its content" in line for line in reply["warnings"] if line.startswith("Lost: document"))
            replaced = [state for state in before if "n" not in before[state].get(105, {"n": 0})]
            check(client, before, {state: unnamed | ({105} if state in replaced else set()) for state in before})


def test_writes_to_a_clone_on_the_same_server_are_not_taken_for_the_collections_own():
    """A clone's collection has the UUID of the collection that it came from."""
    def fill(shop):
        docs, clone = shop.branch("main"), shop.client["clone"]["docs"]
        shop.insert("main", range(FIRST))
        shop.commit("main")
        shop.client.admin.command("fsync")
        records = largest_file(server)
        shop.client["clone"].command("addRemote", "origin", uri=server.uri + "shop")
        shop.client["clone"].command("pull", "origin")
        uuids = {db.command("listCollections", filter={"name": "docs"})["cursor"]["firstBatch"][0]["info"]["uuid"]
                 for db in (docs.database, clone.database)}
        assert len(uuids) == 1
        shop.insert("main", range(100, 160))
        clone.insert_many({"_id": key, "n": key, "text": shop.text()} for key in range(100, 160))
        clone.update_many({"_id": {"$lt": 130}}, {"$set": {"clone": 1}})
        docs.update_many({"_id": {"$gte": 130}}, {"$inc": {"n": 1}})
        clone.delete_many({"_id": {"$gte": 150}})
        shop.commit("main")
        docs.update_many({"_id": {"$gte": 140}}, {"$inc": {"n": 1}})
        clone.update_many({"_id": {"$gte": 140}}, {"$inc": {"n": 1000}})
        docs.update_many({"_id": {"$gte": 145}}, {"$inc": {"n": 1}})
        return records

    with Server(*SETTINGS) as server:
        with server.client() as client:
            shop = Shop(client)
            records = fill(shop)
            before = shop.documents(["shop", "clone", *(f"shop@{commit[:16]}" for commit in shop.commits)])
        server.stop()
        assert damage_rows(records) > 0
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            assert named(reply["warnings"], "Lost: ") == set()
            assert reply["numRestoredContents"] > FIRST
            check(client, before, set())


@pytest.mark.parametrize("kept", ("first and last", "none but the last"))
def test_what_a_damaged_log_can_not_prove_is_lost(kept):
    """Whatever part of the log is left, no state shows another document than it did."""
    def keep(at, pages):
        return at == pages[-1] or kept == "first and last" and at == pages[0]

    def write(shop):
        shop.fill()
        shop.client.admin.command("fsync")
        records.append(largest_file(server))
        filler = shop.client["t"]["filler"]
        filler.insert_many({"_id": i} for i in range(300))
        filler.update_many({}, {"$set": {"text": shop.rng.randbytes(3000).hex()}})
        for i in range(300):
            filler.update_one({"_id": i}, {"$set": {"later": shop.rng.randbytes(1000).hex()}})

    def files(server):
        assert damage_rows(server.dbpath / "oplog.wt", keep=keep) > 0
        return records

    records = []
    with Server(*SETTINGS) as server:
        before, _ = damaged_shop(server, write, files)
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            lost = named(reply["warnings"], "Lost: ")
            assert lost
            for state, documents in before.items():
                there = {one["_id"]: one for one in client[state]["docs"].find()}
                assert documents.keys() - there.keys() <= lost
                assert there == {key: documents[key] for key in there}, state


def test_versions_as_of_an_earlier_checkpoint_are_set_aside():
    """A file that can't be opened is salvaged, and may have what pending versions were before."""
    def fill(shop):
        shop.insert("main", range(30))
        shop.client["shop"].command("createBranch", "dev")
        shop.branch("dev").insert_many({"_id": key, "text": shop.rng.randbytes(10_000).hex()} for key in range(100, 120))
        shop.client.admin.command("fsync")
        records = largest_file(server)
        earlier = records.read_bytes()
        shop.client.admin.command({"createSnapshot": 1, "name": "then"})
        # Nothing is alike, so the chains keep what the snapshot shows.
        for key in range(100, 120):
            shop.branch("dev").update_one({"_id": key}, {"$set": {"text": shop.rng.randbytes(10_000).hex()}})
        shop.branch("dev").replace_one({"_id": 110}, {"text": shop.text()})
        shop.client.admin.command("fsync")
        return records, earlier

    with Server(*SETTINGS) as server:
        with server.client() as client:
            shop = Shop(client)
            records, earlier = fill(shop)
            before = shop.documents(["shop", "shop@dev", "shop@then", "shop@dev@then"])
        server.kill()
        records.write_bytes(earlier)
        server.start()
        with server.client() as client:
            reply = client["shop"].command("validate", "docs", full=True, repair=True)
            assert reply["valid"], reply["errors"]
            replaced = set(range(100, 120))
            assert named(reply["warnings"], "Lost: document") == replaced
            assert any("some may be older than the last" in line for line in reply["warnings"])
            aside = [one for name in client["local"].list_collection_names() if name.startswith("lost_and_found.")
                     for one in client["local"][name].find()]
            assert {bson.decode(one["document"])["_id"] for one in aside} == replaced
            # What the snapshot shows of them is whole, in the chains.
            check(client, before, {"shop@dev": replaced})
            client["shop@dev"]["docs"].insert_many({"_id": key} for key in replaced)
            client["shop@dev"].command("commit", 1, message="after")
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]
            assert client["shop"].command("validate", "docs", full=True)["valid"]

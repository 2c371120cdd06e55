"""Makes the data directory that format_test.py starts servers on: tests/crash/formats/NAME.tar.xz.

    PALIMPSEST_BIN=build/release/bin python3 -m tests.crash.format_directory NAME [--encrypted]

A directory is made once for each version of the format and never again, so that a program which reads that version is tried on
what the program of that time has written. With it lies what it shows: expected.json. It has something of everything that is
stored: kinds of collections and indexes, deltas, packed pages, branches with commits, trees, tags and an open merge, a declared
snapshot, users, sessions, pre-images, and the log and configuration of a set's member.
"""
import datetime
import pathlib
import sys
import tarfile
import tempfile

import bson
import bson.json_util
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server
from tests.support.revisions import settle

FOLDER = pathlib.Path(__file__).parent / "formats"
KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n"
MOMENT = datetime.datetime(2024, 2, 29, 12)
NAMES = ["shop", "shop@dev", "shop@v1", "shop@before", "shop@waiting"]


def text(i, version=0):
    return " ".join(f"word{(i * 7 + k * k) % 50}" for k in range(60)) + f" version {version}"


def fill(client):
    shop = client.shop
    shop.create_collection("ring", capped=True, size=4096, max=5)
    shop.create_collection("clustered", clusteredIndex={"key": {"_id": 1}, "unique": True})
    shop.create_collection("series", timeseries={"timeField": "at", "metaField": "sensor"})
    shop.create_collection("checked", validator={"n": {"$gte": 0}})
    client.side.create_collection("german", collation={"locale": "de"}).insert_many([{"_id": one} for one in ("ä", "z", "a")])
    shop.create_collection("seen", viewOn="pages", pipeline=[{"$match": {"n": {"$lt": 5}}}])
    shop.create_collection("trie", commits={"tree": "patriciaTrie"})
    shop.create_collection("buckets", commits={"tree": "bucketTree", "buckets": 10})
    shop.pages.insert_many([{"_id": i, "n": i, "text": text(i // 10, i), "tags": [i % 3, str(i)], "place": {"type": "Point", "coordinates": [i, i]}}
                            for i in range(40)])
    shop.pages.create_index("n", partialFilterExpression={"n": {"$gt": 10}})
    shop.pages.create_index([("tags", 1), ("n", -1)])
    shop.pages.create_index([("text", "text")])
    shop.pages.create_index([("place", "2dsphere")])
    shop.pages.create_index([("$**", 1)], name="all")
    shop.pages.create_index("text", name="german", collation={"locale": "de", "strength": 2})
    shop.checked.create_index("n", unique=True)
    shop.checked.create_index("at", expireAfterSeconds=2_000_000_000)
    shop.checked.insert_many([{"_id": f"ä{i}", "n": i, "at": MOMENT, "d": bson.Decimal128("1.50"), "b": bson.Binary(b"\x00\x01"), "x": None} for i in range(5)])
    shop.ring.insert_many([{"_id": i, "text": text(i)} for i in range(8)])
    shop.clustered.insert_many([{"_id": i * 10} for i in range(5)])
    shop.series.insert_many([{"_id": bson.ObjectId(f"{i:024x}"), "at": MOMENT + datetime.timedelta(minutes=i), "sensor": i % 2, "value": i / 4} for i in range(12)])
    for name in ("trie", "buckets"):
        shop[name].insert_many([{"_id": i, "text": text(i)} for i in range(12)])


def make_versions(client):
    shop = client.shop
    shop.command("commit", 1, message="first")
    for branch in ("dev", "waiting", "gone"):
        shop.command("createBranch", branch)
    dev, waiting = client["shop@dev"], client["shop@waiting"]
    dev.pages.update_many({"n": {"$lt": 6}}, {"$set": {"text": text(99)}})
    dev.pages.delete_one({"_id": 7})
    dev.trie.insert_one({"_id": "dev"})
    dev.command("commit", 1, message="on dev", author="somebody")
    shop.command("merge", "dev")
    shop.command("createTag", "v1")
    dev.buckets.delete_many({"_id": {"$lt": 3}})  # isn't committed
    waiting.pages.update_one({"_id": 1}, {"$set": {"text": "another"}})
    waiting.command("commit", 1)
    waiting.command("merge", "main", resolve="manual")
    shop.command("dropBranch", "gone", force=True)
    client.admin.command("createSnapshot", 1, name="before")
    shop.pages.update_many({"n": {"$gt": 30}}, {"$set": {"text": text(5, 1000)}})
    shop.clustered.delete_one({"_id": 0})


def write_as_clients_do(client):
    client.admin.command("createRole", "reader", privileges=[{"resource": {"db": "shop", "collection": ""}, "actions": ["find"]}], roles=[])
    client.admin.command("createUser", "somebody", pwd="password", roles=["reader", "root"], mechanisms=["SCRAM-SHA-256"])
    images = client.side.create_collection("images", changeStreamPreAndPostImages={"enabled": True})
    images.insert_one({"_id": 1, "text": text(1)})
    for version in range(3):
        images.find_one_and_update({"_id": 1}, {"$set": {"text": text(1, version)}})
    with client.start_session() as session:
        session.with_transaction(lambda session: client.side.moved.insert_many([{"_id": i} for i in range(3)], session=session))


def picture(client):
    """Everything that a reader can see, as plain values."""
    found = {"branches": sorted(one["name"] for one in client.shop.command("listBranches")["cursor"]["firstBatch"]),
             "log": [[one["commit"], one.get("message")] for one in client.shop.cursor_command("log", 1)],
             "conflicts": [one["_id"] for one in client["shop@waiting"].cursor_command("listConflicts", 1)],
             "snapshots": [one["name"] for one in client.admin.command("listSnapshots")["cursor"]["firstBatch"]],
             "users": sorted(one["_id"] for one in client.admin.system.users.find())}
    for name in [*NAMES, "side"]:
        for one in sorted(client[name].list_collections(), key=lambda one: one["name"]):
            collection = client[name][one["name"]]
            documents = sorted(collection.find(), key=lambda document: str(document["_id"]))
            found[f"{name}.{one['name']}"] = [one["type"], bson.json_util.dumps(one["options"], sort_keys=True), bson.json_util.dumps(documents)]
            if one["type"] == "collection" and name in ("shop", "side") and not one["name"].startswith("system."):
                found[f"indexes of {name}.{one['name']}"] = sorted(collection.index_information())
    return found


def little_picture(client):
    return {"side.moved": bson.json_util.dumps(sorted(client.side.moved.find(), key=lambda document: document["_id"]))}


def pack(client):
    """Waits until dedup has done its work, and has pages packed."""
    settle(client)
    for name in ("pages", "trie"):
        try:
            client.shop.command("compact", name, force=True)
        except OperationFailure:
            pass


def fill_little(client):
    """An encrypted directory can't be compressed, so it has little: a collection without versions, and the log."""
    client.side.moved.insert_many([{"_id": i, "text": text(i)} for i in range(20)])


def make(name, *arguments):
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        key = pathlib.Path(folder) / "key"
        key.write_text(KEY)
        key.chmod(0o600)
        options = ["--enableEncryption", "--encryptionKeyFile", str(key)] if arguments else []
        with Server("--replSet", "rs0", *options, dbpath=f"{folder}/db") as server:
            server.initiate()
            with server.client() as client:
                for step in [fill_little] if arguments else [fill, make_versions, write_as_clients_do, pack]:
                    step(client)
                expected = little_picture(client) if arguments else picture(client)
            server.stop()
        (pathlib.Path(folder) / "expected.json").write_text(bson.json_util.dumps(expected, sort_keys=True))
        with tarfile.open(FOLDER / f"{name}.tar.xz", "w:xz", preset=9) as out:
            def kept(entry):
                entry.uid = entry.gid = entry.mtime = 0
                entry.uname = entry.gname = ""
                return None if entry.name.rpartition("/")[2] in ("mongod.lock", "palimpsest.ballast") else entry
            for part in ("expected.json", "db"):
                out.add(f"{folder}/{part}", part, filter=kept)
    print(FOLDER / f"{name}.tar.xz", (FOLDER / f"{name}.tar.xz").stat().st_size, "bytes")


if __name__ == "__main__":
    make(*sys.argv[1:])

"""`palimpsest restore --until`: a directory as the server was at any moment between two backups of an archive."""
import json
import random
import signal
import subprocess
import time

import bson
import pytest
from pymongo.errors import OperationFailure

from tests.crash.archive_test import damaged_archive_is_refused, lines, palimpsest
from tests.crash.encryption_test import encrypted, key_file
from tests.support.palimpsest import BIN, Server
from tests.support.waiting import wait_until


def text_of(moment):
    return f"{moment.time}:{moment.inc}"


def before(moment):
    return bson.Timestamp(moment.time, moment.inc - 1) if moment.inc > 1 else bson.Timestamp(moment.time - 1, 2**32 - 1)


def newest(client):
    return next(client.local["oplog.rs"].find().sort("$natural", -1).limit(1))["ts"]


def contents(client):
    """All documents, in order where it is kept, and all indexes, of all branches."""
    found = {}
    for name in ("shop", "shop@dev", "shop@v1", "shop@declared", "side"):
        try:
            options = {one["name"]: one["options"] for one in client[name].list_collections()}
        except OperationFailure:  # there is no such branch then
            continue
        for collection, how in options.items():
            if collection.startswith("system."):
                continue
            documents = list(client[name][collection].find())
            if not how.get("capped"):
                documents.sort(key=lambda one: str(one["_id"]))
            found[f"{name}.{collection}"] = (documents, sorted(client[name][collection].index_information()) if "@" not in name else [])
    return found


class History:
    """Random writes of one client. `moments` are the timestamps of the log's newest entries, and what was there then."""

    def __init__(self, client, seed):
        self.client, self.random, self.shop = client, random.Random(seed), client.shop
        self.next, self.has_dev, self.moments, self.transactions = 0, False, [], []

    def remember(self):
        state = contents(self.client)
        self.moments.append((newest(self.client), state))

    def document(self):
        self.next += 1
        return {"_id": self.next, "n": self.random.randrange(10), "text": f"words {self.random.randrange(5)} " * self.random.randrange(60)}

    def begin(self):
        self.shop.create_collection("ring", capped=True, size=4096, max=10)
        self.shop.pages.create_index("n", partialFilterExpression={"n": {"$gt": 3}})
        self.shop.pages.insert_many([self.document() for _ in range(20)])
        self.client.side.things.insert_one({"_id": 0})
        self.remember()

    def some_id(self, collection):
        found = [one["_id"] for one in collection.find({}, {"_id": 1})]
        return self.random.choice(found) if found else None

    def step(self):
        shop = self.client["shop@dev"] if self.has_dev and self.random.random() < 0.3 else self.shop
        kind = self.random.randrange(14)
        if kind < 4:
            shop.pages.insert_many([self.document() for _ in range(self.random.randrange(1, 4))])
        elif kind == 4:
            shop.pages.update_one({"_id": self.some_id(shop.pages)}, {"$set": {"text": "changed " * self.random.randrange(80)}, "$inc": {"n": 1}})
        elif kind == 5:
            shop.pages.delete_one({"_id": self.some_id(shop.pages)})
        elif kind == 6:
            self.shop.ring.insert_many([self.document() for _ in range(self.random.randrange(1, 5))])
        elif kind == 7:
            self.client.side.things.insert_many([{"_id": bson.ObjectId()} for _ in range(5)])
        elif kind == 8:
            self.client.side.things.drop()
        elif kind == 9:
            self.transaction(shop)
        elif kind == 10:
            self.client.side.moved.drop()
            if "things" in self.client.side.list_collection_names():
                self.client.side.things.rename("moved")
        elif kind == 11:
            name = self.random.choice(["text_1", "late_1"])
            if name in self.shop.pages.index_information():
                self.shop.pages.drop_index(name)
            else:
                self.shop.pages.create_index(name[:-2])
        elif kind == 12:
            self.branch()
        else:
            shop.pages.replace_one({"_id": self.some_id(shop.pages)}, {"replaced": self.random.random()})
        self.remember()

    def transaction(self, shop):
        def write(session):
            shop.pages.insert_many([self.document() for _ in range(3)], session=session)
            shop.pages.update_many({"n": 2}, {"$set": {"in": "transaction"}}, session=session)
            shop.pages.delete_one({"_id": self.some_id(shop.pages)}, session=session)

        with self.client.start_session() as session:
            session.with_transaction(write)
        self.transactions.append(len(self.moments))  # the moment that is remembered next

    def branch(self):
        if not self.has_dev:
            self.shop.command("createBranch", "dev")
            self.has_dev = True
            return
        self.client["shop@dev"].command("commit", 1, message="work")
        if self.random.random() < 0.5:
            self.shop.command("commit", 1)
            self.shop.command("merge", "dev", resolve="theirs")


def restored(archive, target, moment, *arguments):
    made = lines(palimpsest("restore", archive, target, "--until", moment if isinstance(moment, str) else text_of(moment), "--json", *arguments))[0]
    with Server(dbpath=target) as copy, copy.client() as client:
        for one in client.shop.list_collections(filter={"type": "collection"}):
            assert client.shop.command("validate", one["name"], full=True)["valid"], one["name"]
        return made, contents(client)


def same(found, expected, moment):
    assert found.keys() == expected.keys(), moment
    for name, there in expected.items():
        assert found[name] == there, (moment, name)


def test_any_moment_between_backups_is_restored(tmp_path):
    archive, seed = tmp_path / "archive", random.randrange(2**32)
    print("seed", seed)
    with Server("--replSet", "rs0") as server:
        server.initiate()
        with server.client() as client:
            uri = f"{server.uri}?directConnection=true"
            history = History(client, seed)
            history.begin()
            palimpsest("backup", "--uri", uri, archive)
            first = len(history.moments) - 1
            history.shop.command("createBranch", "dev")
            history.has_dev = True
            client.admin.command("createSnapshot", 1, name="declared")
            client["shop@dev"].command("createTag", "v1")
            history.remember()
            for part in range(2):
                for _ in range(25):
                    history.step()
                history.transaction(history.shop)
                history.remember()
                palimpsest("backup", "--uri", uri, archive)
    listed = lines(palimpsest("restore", archive, "--list", "--json"))
    covered = listed[-1]["logUntil"]["$timestamp"]
    moments = [one for one in history.moments[first:] if (one[0].time, one[0].inc) <= (covered["t"], covered["i"])]
    assert len(moments) > 40, covered
    chosen = {0, len(moments) - 1, *history.random.sample(range(len(moments)), 2)}
    for at in chosen:
        moment, expected = moments[at]
        made, found = restored(archive, tmp_path / f"at-{at}", moment)
        same(found, expected, (seed, at, moment))
        assert made["newest"]["$timestamp"]["t"] <= moment.time
    # A moment within a transaction leaves all of it out.
    at = max(at for at in history.transactions if at - first < len(moments)) - first
    _, found = restored(archive, tmp_path / "within", before(moments[at][0]))
    same(found, moments[at - 1][1], (seed, "within", moments[at][0]))
    refusals(archive, tmp_path, moments, covered)


def refusals(archive, tmp_path, moments, covered):
    for moment, word in (("1000000000:1", b"as old as"), (f"{covered['t'] + 1000}:1", b"add a backup"), ("2001-01-01T00:00:00Z", b"as old as"),
                         ("yesterday", b"is no moment")):
        done = subprocess.run([str(BIN / "palimpsest"), "restore", str(archive), str(tmp_path / "refused"), "--until", moment], capture_output=True)
        assert done.returncode == 1 and word in done.stderr, done
        assert not (tmp_path / "refused").exists() and not (tmp_path / "refused.until.partial").exists()
    palimpsest("restore", "-", tmp_path / "refused", "--until", "1:1", code=2)
    palimpsest("restore", archive, tmp_path / "refused", "--until", "1:1", "--number", 1, code=2)
    # A backup that the log has to lead through was damaged.
    assert damaged_archive_is_refused(archive, tmp_path / "refused")
    target = tmp_path / "refused"
    done = subprocess.run([str(BIN / "palimpsest"), "restore", str(archive), str(target), "--until", text_of(moments[3][0])], capture_output=True)
    assert done.returncode == 1 and not target.exists() and not (tmp_path / "refused.until.partial").exists(), done


def test_a_restore_that_is_killed_is_begun_again(tmp_path):
    archive, target = tmp_path / "archive", tmp_path / "restored"
    with Server("--replSet", "rs0") as server:
        server.initiate()
        with server.client() as client:
            uri = f"{server.uri}?directConnection=true"
            client.shop.pages.insert_one({"_id": -1})
            palimpsest("backup", "--uri", uri, archive)
            for i in range(1000):
                client.shop.pages.insert_one({"_id": i, "text": "x" * 500})
            moment = newest(client)
            client.shop.pages.drop()
            palimpsest("backup", "--uri", uri, archive)
    for name in ("restored.until.partial/log", "restored.until.partial/base/mongod.lock"):
        running = subprocess.Popen([str(BIN / "palimpsest"), "restore", str(archive), str(target), "--until", text_of(moment)])
        wait_until(lambda: (tmp_path / name).exists() or running.poll() is not None, pause=0)
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert not target.exists() and (tmp_path / "restored.until.partial").exists()
    made = json.loads(palimpsest("restore", archive, target, "--until", text_of(moment), "--json", "--check").splitlines()[0])
    assert made["transactions"] >= 1000 and not (tmp_path / "restored.until.partial").exists()
    with Server(dbpath=target) as copy, copy.client() as client:
        assert client.shop.pages.count_documents({}) == 1001


@pytest.mark.parametrize("drops", [False, True])
def test_a_standalone_server_is_restored_while_its_log_has_the_contents(drops, tmp_path):
    archive = tmp_path / "archive"
    with Server() as server, server.client() as client:
        client.shop.pages.insert_many([{"_id": i} for i in range(10)])
        palimpsest("backup", "--uri", server.uri, archive)
        client.shop.other.insert_one({"_id": 1})
        if drops:
            client.shop.other.drop()
        client.shop.pages.update_many({}, {"$set": {"late": True}})
        expected, moment = contents(client), newest(client)
        client.shop.pages.delete_many({})
        palimpsest("backup", "--uri", server.uri, archive)
    arguments = ["restore", archive, tmp_path / "restored", "--until", text_of(moment)]
    if drops:
        refused = subprocess.run([str(BIN / "palimpsest"), *map(str, arguments)], capture_output=True)
        assert refused.returncode == 1 and b"went with its collection: shop.other" in refused.stderr, refused
        assert not (tmp_path / "restored").exists()
        return
    palimpsest(*arguments)
    with Server(dbpath=tmp_path / "restored") as copy, copy.client() as client:
        same(contents(client), expected, "standalone")


def test_the_time_since_the_last_write_is_covered(tmp_path):
    archive = tmp_path / "archive"
    with Server() as server, server.client() as client:
        client.shop.pages.insert_many([{"_id": i} for i in range(10)])
        palimpsest("backup", "--uri", server.uri, archive)
        expected, between = contents(client), int(time.time()) + 1  # the first backup is over, however long it took
        wait_until(lambda: time.time() > between + 2)
        palimpsest("backup", "--uri", server.uri, archive)
    _, found = restored(archive, tmp_path / "restored", f"{between}:1")
    same(found, expected, "idle")


def test_moments_before_and_after_a_change_of_the_master_key(tmp_path):
    archive, old, new = tmp_path / "archive", key_file(tmp_path), key_file(tmp_path, "new.key")
    with encrypted(old) as server:
        with server.client() as client:
            client.shop.pages.insert_one({"_id": 1})
            palimpsest("backup", "--uri", server.uri, archive)
            client.shop.pages.insert_one({"_id": 2})
            moment = newest(client)
        server.stop()
        subprocess.run([BIN / "palimpsestd", "--dbpath", server.dbpath, "--enableEncryption", "--encryptionKeyFile", old,
                        "--encryptionKeyFileNew", new], capture_output=True, check=True)
        with encrypted(new, dbpath=server.dbpath) as again, again.client() as client:
            client.shop.pages.insert_one({"_id": 3})
            palimpsest("backup", "--uri", again.uri, archive)
    palimpsest("restore", archive, tmp_path / "restored", "--until", text_of(moment), "--enableEncryption", "--encryptionKeyFile", new)
    with encrypted(new, dbpath=tmp_path / "restored") as copy, copy.client() as client:
        assert [one["_id"] for one in client.shop.pages.find()] == [1, 2]

"""Files of a whole server are damaged: with branches, commits, snapshots, dedup and a log.

`PALIMPSEST_DAMAGES=1000 python3 -m pytest tests/crash/damage_test.py -s` makes a thousand damages and prints the outcomes;
PALIMPSEST_DAMAGE_SEED is the seed of the first one.
"""
import collections
import contextlib
import os
import random
import shutil
import subprocess

import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import BIN, Server
from tests.support.revisions import words

DAMAGES = int(os.environ.get("PALIMPSEST_DAMAGES") or 12)
FIRST = int(os.environ.get("PALIMPSEST_DAMAGE_SEED") or 1)
SETTINGS = ("--syncdelay", "1", "--setParameter", "enableTestCommands=1")
NO_CHECKPOINTS = ("--syncdelay", "3600", "--setParameter", "enableTestCommands=1")
ENGINES_OWN = ("WiredTiger", "journal/", "palimpsest.json")
COPIED = ("WiredTiger.wt", "WiredTiger.turtle", "WiredTiger.copy")  # a server may refuse to start without the others of these
CORRUPT = 301
PAGE = 4096


def write_history(client, between=lambda: None, after_each=lambda: None):
    """Pages with revisions, a branched shop with commits, and two snapshots. `between` is called in the middle, `after_each`
    behind each write."""
    rng = random.Random(5)
    plain, main = client["plain"]["docs"], client["shop"]["things"]
    plain.create_index("k")
    text = words(rng, 400)

    def documents(first, count):
        for key in range(first, first + count):
            at = rng.randrange(len(text))
            yield {"_id": key, "k": key % 17, "text": text[:at] + words(rng, 8) + text[at:]}

    plain.insert_many(documents(0, 400))
    after_each()
    main.insert_many(documents(0, 150))
    after_each()
    client["shop"].command("createBranch", "dev")
    dev = client["shop@dev"]["things"]
    dev.insert_many(documents(1000, 60))
    after_each()
    dev.update_many({"_id": {"$lt": 40}}, {"$set": {"dev": True}})
    after_each()
    client["shop@dev"].command("commit", 1, message="on dev")
    client["shop"].command("createTag", "v1", **{"from": "dev"})
    client.admin.command({"createSnapshot": 1, "name": "one"})
    between()
    plain.update_many({"_id": {"$lt": 100}}, {"$set": {"text": words(rng, 300)}})
    after_each()
    main.update_many({"_id": {"$gte": 100}}, {"$set": {"main": 7}})
    after_each()
    main.delete_many({"_id": {"$in": [5, 6, 7]}})
    after_each()
    client.admin.command({"createSnapshot": 1, "name": "two"})
    plain.delete_many({"_id": {"$gte": 380}})
    after_each()
    plain.insert_many(documents(2000, 80))
    after_each()
    client["shop"].command("commit", 1, message="on main")
    main.update_many({"_id": {"$gte": 90, "$lt": 110}}, {"$set": {"main": 8}})
    after_each()
    main.delete_many({"_id": {"$in": [8, 9]}})
    after_each()
    dev.insert_many(documents(3000, 20))
    after_each()
    dev.update_many({"_id": {"$gte": 30, "$lt": 60}}, {"$set": {"dev": False}})
    after_each()


SNAPSHOTS = ("plain@one", "plain@two", "shop@dev@one")
STATES = ("plain", "shop", "shop@dev", "shop@v1", *SNAPSHOTS)


def all_documents(client, state):
    name = "docs" if state.startswith("plain") else "things"
    return client[state][name]


@pytest.fixture(scope="module", params=("stopped", "killed"))
def made(request, tmp_path_factory):
    """A data directory, what each state of it holds, and all contents that documents ever had. If its server was killed, half of
    the history is in the journal alone."""
    directory = tmp_path_factory.mktemp("damage") / "db"
    killed = request.param == "killed"
    server = Server(*(NO_CHECKPOINTS if killed else SETTINGS), dbpath=directory)
    server.start()
    try:
        with server.client() as client:
            ever = set()

            def note():
                for state in ("plain", "shop", "shop@dev"):
                    with contextlib.suppress(OperationFailure):  # there is no branch yet
                        ever.update(repr(one) for one in all_documents(client, state).find())

            write_history(client, lambda: client.admin.command("fsync"), note)
            expected = {state: {one["_id"]: one for one in all_documents(client, state).find()} for state in STATES}
        if killed:
            server.kill()
        else:
            server.stop()
    finally:
        server.__exit__(None, None, None)
    assert all(expected.values())
    return directory, expected, ever, killed


class Damage:
    def __init__(self, rng, directory):
        files = sorted(path for path in directory.rglob("*") if path.is_file() and path.stat().st_size > 0)
        files = [path for path in files if path.name not in ("mongod.lock", "palimpsest.ballast", "WiredTiger.lock")]
        self.path = rng.choice(files)
        self.name = str(self.path.relative_to(directory))
        self.kind = rng.choice(("flip", "flip", "zero", "truncate", "swap", "missing"))
        size = self.path.stat().st_size
        pages = max(1, size // PAGE)
        if self.kind == "missing":
            self.path.unlink()
            return
        data = bytearray(self.path.read_bytes())
        page = rng.randrange(pages)
        if self.kind == "flip":
            data[rng.randrange(size)] ^= 0x21
        elif self.kind == "zero":
            end = min(size, (page + 1) * PAGE)
            data[page * PAGE:end] = bytes(end - page * PAGE)
        elif self.kind == "truncate":
            del data[rng.randrange(size):]
        else:
            other = rng.randrange(pages)
            a, b = slice(page * PAGE, (page + 1) * PAGE), slice(other * PAGE, (other + 1) * PAGE)
            data[a], data[b] = data[b], data[a]
        self.path.write_bytes(data)

    @property
    def of_the_engine(self):
        return self.name.startswith(ENGINES_OWN)

    @property
    def may_prevent_a_start(self):
        return self.of_the_engine and self.name not in COPIED

    @property
    def ends_the_journal(self):
        """A crash ends a journal in the same way, so nothing says what is gone."""
        return self.name.startswith("journal/") and self.kind in ("zero", "truncate", "swap")

    @property
    def of_what_follows(self):
        """Tells whether the file has what a database with branches keeps beside its documents, and a repair rebuilds from these or from the log."""
        return self.name.startswith("versions-") and self.name.endswith(("-keys.wt", "-nodes.wt", "-states.wt", "-pending.wt"))

    @property
    def of_plain_data(self):
        """A repair mends collections, and nothing of what snapshots show, or of the names of branches."""
        return not self.of_the_engine and not self.name.startswith(("past-", "chains-")) and (
            self.of_what_follows or not self.name.startswith("versions-"))

    def __str__(self):
        return f"{self.kind} {self.name}"


def table_of(name):
    return name if name.startswith(ENGINES_OWN) else "".join(c for c in name.removesuffix(".wt") if not c.isdigit())


def check(client, expected, may_lack=False):
    """Each document is what it was or can't be read, or a repair has named it lost. Returns how many can't be read in each state."""
    unread = collections.Counter()
    for state, documents in expected.items():
        found = all_documents(client, state)
        try:
            there = {one["_id"]: one for one in found.find()}
            if may_lack:
                for key in documents:
                    assert found.find_one({"_id": key}) == there.get(key), f"{state}: {key} by its _id"
                if state.startswith("plain"):
                    assert {one["_id"]: one for one in found.find().hint("k_1")} == there, f"{state}: by its index"
                documents = {key: one for key, one in documents.items() if key in there}
            assert there == documents, f"{state}: {difference(there, documents)}"
            continue
        except PyMongoError as error:
            assert_loud(error)
        for key, document in documents.items():
            try:
                one = found.find_one({"_id": key})
                assert one == document or may_lack and one is None, f"{state}: {key} is {one}"
            except PyMongoError as error:
                assert_loud(error)
                unread[state] += 1
    return unread


def check_whole(client, expected):
    """Nothing is lost, by a scan, by `_id` and in counts, and commits are what their ids say."""
    for state, documents in expected.items():
        found = all_documents(client, state)
        assert {one["_id"]: one for one in found.find()} == documents, state
        assert found.estimated_document_count() == len(documents), state
        for key, document in documents.items():
            assert found.find_one({"_id": key}) == document, f"{state}: {key}"
    for state in ("shop", "shop@dev", "shop@v1"):
        reply = client[state].command("verify", 1, deep=True)
        assert reply["valid"], reply["damage"]


def check_writable(client):
    """Snapshots that can't be read prevent no write, and those that are declared later can be read."""
    client.admin.command({"createSnapshot": 1, "name": "later"})
    now = {state: {one["_id"]: one for one in all_documents(client, state).find()} for state in ("plain", "shop", "shop@dev")}
    for state in now:
        docs = all_documents(client, state)
        docs.update_many({}, {"$set": {"later": True}})
        docs.delete_many({"_id": {"$mod": [7, 1]}})
        docs.insert_one({"_id": "later"})
    for state, documents in now.items():
        assert {one["_id"]: one for one in all_documents(client, f"{state}@later").find()} == documents, state


def check_earlier(client, ever):
    """The journal ends before its damage, so each state is one that it once was, or isn't there yet; no content is a new one."""
    for state in STATES:
        try:
            for one in all_documents(client, state).find():
                assert repr(one) in ever, f"{state}: {one}"
        except PyMongoError as error:
            assert_loud(error)
    for state in ("plain", "shop"):
        reply = client[state].command("validate", all_documents(client, state).name, full=True)
        assert reply["valid"], reply["errors"]


def difference(there, documents):
    return {key for key in there.keys() | documents.keys() if there.get(key) != documents.get(key)}


def assert_loud(error):
    assert isinstance(error, pymongo.errors.OperationFailure), repr(error)
    assert error.code in (CORRUPT, 26, 8, 1), error


def repair(server):
    with open(server.log, "ab") as out:
        return subprocess.run([str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", *SETTINGS],
                              stdout=out, stderr=out, timeout=120, check=False).returncode


def damage_one(made, seed, workdir):
    directory, expected, ever, killed = made
    dbpath = workdir / f"db{seed}"
    shutil.copytree(directory, dbpath)
    damage = Damage(random.Random(seed), dbpath)
    if killed and damage.ends_the_journal:
        shutil.rmtree(dbpath)
        return damage, "not looked at", None
    server = Server(*SETTINGS, dbpath=dbpath)
    outcome = []
    try:
        try:
            server.start()
            with server.client() as client:
                unread = check(client, expected)
                outcome.append("unread" if unread else "whole")
                client.admin.command("ping")
            code = server.stop()
            assert code == 0, f"it ended with {code}"
        except RuntimeError:
            assert server.process.returncode in (14, 62, 100), server.tail()
            outcome.append("refused")
        code = repair(server)
        outcome.append(f"repair {code}")
        if code == 0 and killed and damage.name.startswith("journal/"):
            outcome.append("as before the damage")
            server.start()
            with server.client() as client:
                check_earlier(client, ever)
            assert server.stop() == 0
        elif code == 0:
            server.start()
            with server.client() as client:
                unread = check(client, expected, may_lack=True)
                outcome.append("unread" if unread else "readable")
                # Older contents are in the rows of a collection, too, and those that can't be read stay so.
                collections_unread = unread.keys() - set(SNAPSHOTS)
                assert not collections_unread or not damage.of_plain_data, "a repair makes a collection readable"
                if damage.of_what_follows and not killed:
                    check_whole(client, expected)
                if not collections_unread:
                    check_writable(client)
            assert server.stop() == 0
        return damage, " ".join(dict.fromkeys(outcome)), None
    except (AssertionError, RuntimeError, PyMongoError, subprocess.TimeoutExpired) as error:
        return damage, " ".join(dict.fromkeys(outcome)) or "?", f"{error}\n{server.tail(6)}"
    finally:
        if server.running():
            server.kill()
        server.__exit__(None, None, None)
        shutil.rmtree(dbpath, ignore_errors=True)


def test_damage_costs_what_it_hit(made, tmp_path):
    outcomes, failures = collections.Counter(), []
    for seed in range(FIRST, FIRST + DAMAGES):
        damage, outcome, failure = damage_one(made, seed, tmp_path)
        outcomes[table_of(damage.name), outcome] += 1
        if failure or (outcome.startswith("refused") and not damage.may_prevent_a_start):
            failures.append(f"seed {seed}: {damage}: {outcome}: {failure or ''}")
            print(failures[-1], flush=True)
    for (table, outcome), count in sorted(outcomes.items()):
        print(f"{count:4} {table}: {outcome}")
    assert not failures, "\n".join(failures)


def test_a_repair_covers_collections_that_only_a_branch_or_a_commit_shows():
    with Server(*SETTINGS) as server:
        with server.client() as client:
            client.shop.things.insert_one({"_id": 1})
            client.shop.gone.insert_one({"_id": 1})
            client.shop.command("commit", 1)
            client.shop.command("createBranch", "dev")
            client["shop@dev"].only.insert_one({"_id": 1})
            client.shop.gone.drop()
            client.shop.command("commit", 1)
        assert server.stop() == 0
        assert repair(server) == 0, server.tail()
        server.start()
        with server.client() as client:
            assert client["shop@dev"].only.count_documents({}) == 1
            assert client.shop.gone.count_documents({}) == 0
            assert client["shop@main~1"].gone.count_documents({}) == 1


def damage_page(path, number, of):
    """Zeros a page: the first, one in the middle, ..., the last one. Returns a function that puts its bytes back."""
    begin = PAGE * (number * (path.stat().st_size // PAGE - 1) // max(of - 1, 1))
    whole = path.read_bytes()[begin:begin + PAGE]

    def put(page):
        with open(path, "r+b") as file:
            file.seek(begin)
            file.write(page)

    put(bytes(len(whole)))
    return lambda: put(whole)


def test_damaged_metadata_is_restored_from_its_copy(made, tmp_path):
    directory, expected, _, _ = made
    for number in range(8):
        dbpath = tmp_path / f"db{number}"
        shutil.copytree(directory, dbpath)
        damage_page(dbpath / "WiredTiger.wt", number, 8)
        with Server(*SETTINGS, dbpath=dbpath) as server, server.client() as client:
            assert not check(client, expected)


def test_a_repair_takes_no_older_metadata_for_the_newest(made, tmp_path):
    """WiredTiger would salvage older pages of its metadata, and show some tables as they were at an earlier checkpoint."""
    directory, expected, _, _ = made
    refused = 0
    for number in range(8):
        dbpath = tmp_path / f"db{number}"
        shutil.copytree(directory, dbpath)
        mends = [damage_page(dbpath / file, number, 8) for file in ("WiredTiger.copy", "WiredTiger.wt")]
        server = Server(*SETTINGS, dbpath=dbpath)
        try:
            try:
                server.start()
            except RuntimeError:
                refused += 1
                assert repair(server) != 0
                for mend in mends:
                    mend()
                server.start()  # All the rest of the metadata is as it was.
            with server.client() as client:
                assert not check(client, expected)
            assert server.stop() == 0
        finally:
            if server.running():
                server.kill()
            server.__exit__(None, None, None)
    assert refused

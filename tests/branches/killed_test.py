"""A server is killed in the middle of branches, commits and merges: what was acknowledged is there, what got no answer is there whole or not at all."""
import random
import threading

from pymongo.errors import OperationFailure, PyMongoError

from tests.branches.conftest import check_collection
from tests.support.palimpsest import Server

ROUNDS = 3


class Client:
    def __init__(self, server):
        self.client = server.client_until_killed()

    def __getitem__(self, ref):
        return self.client["shop" if ref == "main" else f"shop@{ref}"]

    def contents(self, ref):
        return {one["_id"]: one for one in self[ref].c.find()}

    def log(self, ref):
        return [one["commit"] for one in self[ref].cursor_command("log", 1)]


class Worker:
    """`heads` is what was acknowledged; `unclear` the branch, and what it may be instead, by the command without an answer."""

    def __init__(self, seed, heads):
        self.random, self.heads = random.Random(seed), heads
        self.unclear, self.made, self.commits = None, 0, {}

    def step(self, shop):
        branch = self.random.choice(list(self.heads))
        head, kind = self.heads[branch], self.random.randrange(10)
        self.unclear = None
        if kind < 4 and self.random.random() < 0.1:
            self.unclear = (branch, {})
            shop[branch].c.drop()
            self.heads[branch] = {}
        elif kind < 4:
            key = self.random.randrange(60)
            after = dict(head)
            if key in head and self.random.random() < 0.3:
                del after[key]
                change = lambda: shop[branch].c.delete_one({"_id": key})
            else:
                after[key] = {"_id": key, "a": self.random.randrange(5), "u": f"{branch}{self.random.getrandbits(40)}", "text": "text " * 50}
                change = lambda: shop[branch].c.replace_one({"_id": key}, after[key], upsert=True)
            self.unclear = (branch, after)
            change()
            self.heads[branch] = after
        elif kind < 6:
            done = shop[branch].command("commit", 1)
            self.commits[done["commit"]] = dict(head)
        elif kind < 7:
            name = f"b{self.random.getrandbits(40):x}x"
            shop[branch].command("commit", 1)
            self.unclear = (name, dict(head))
            shop[branch].command("createBranch", name)
            self.heads[name] = dict(head)
        elif kind < 8 and branch != "main" and len(self.heads) > 3:
            self.unclear = (branch, None)
            shop["main"].command("dropBranch", branch, force=True)
            del self.heads[branch]
        else:
            other = self.random.choice(list(self.heads))
            shop[branch].command("commit", 1)
            shop[other].command("commit", 1)
            if self.random.random() < 0.5:
                return self.merge_by_hand(shop, branch, other)
            self.unclear = (branch, "merged")
            try:
                shop[branch].command("merge", other, resolve="theirs")
            except OperationFailure as failure:
                assert failure.code == 96, failure  # a unique key is taken
            self.heads[branch] = shop.contents(branch)
        self.unclear = None

    def merge_by_hand(self, shop, branch, other):
        """Nothing of it is on the branch before it goes on."""
        self.unclear = (branch, "merged")
        if not shop[branch].command("merge", other, resolve="manual").get("merging"):
            self.heads[branch] = shop.contents(branch)
            return
        self.unclear = (branch, dict(self.heads[branch]))
        for conflict in list(shop[branch].cursor_command("listConflicts", 1)):
            shop[branch].command("resolveConflict", 1, collection="c", id=conflict["_id"], take="ours")
        if self.random.random() < 0.3:
            shop[branch].command("abortMerge", 1)
            return
        self.unclear = (branch, "merged")
        try:
            shop[branch].command("continueMerge", 1)
        except OperationFailure as failure:
            assert failure.code == 96, failure  # a unique key is taken
            shop[branch].command("abortMerge", 1)
        self.heads[branch] = shop.contents(branch)


def test_killed_in_the_middle(tmp_path):
    with Server(dbpath=tmp_path) as server:
        shop = Client(server)
        shop["main"].c.create_index("a")
        shop["main"].c.create_index("u", unique=True)
        shop["main"].c.insert_many([{"_id": i, "a": i % 5, "u": f"first{i}"} for i in range(30)])
        shop["main"].command("createBranch", "dev")
        worker = Worker(random.getrandbits(40), {"main": shop.contents("main"), "dev": shop.contents("dev")})
        for _ in range(ROUNDS):
            killer = threading.Timer(random.uniform(0.3, 1.2), server.process.kill)
            killer.start()
            steps = 0
            try:
                while True:
                    worker.step(shop)
                    steps += 1
            except (PyMongoError, OSError) as ended:
                assert not isinstance(ended, OperationFailure), ended
            killer.join()
            server.process.wait()
            server.start()
            shop = Client(server)
            names = {one["name"] for one in shop["main"].cursor_command("listBranches", 1)}
            for name in [name for name in names if "c" in shop[name].list_collection_names()][:1]:
                check_collection(shop[name], "c")
            branch, after = worker.unclear or (None, None)
            assert names ^ set(worker.heads) <= {branch}
            for name in names & (set(worker.heads) | {branch}):
                found, known = shop.contents(name), worker.heads.get(name)
                if name == branch:
                    assert found in (known, after) or after == "merged", (name, steps)
                    assert len({one["u"] for one in found.values()}) == len(found)
                else:
                    assert found == known, (name, steps)
                worker.heads[name] = found
                if "merging" in shop[name].command("status"):
                    assert name == branch, (name, steps)
                    assert list(shop[name].cursor_command("listConflicts", 1))
                    shop[name].command("abortMerge", 1)
            for gone in set(worker.heads) - names:
                del worker.heads[gone]
            for commit, documents in random.sample(sorted(worker.commits.items()), min(5, len(worker.commits))):
                assert shop.contents(commit) == documents
            assert shop.log("main")


def test_a_stash_that_is_popped_comes_once(tmp_path):
    with Server(dbpath=tmp_path) as server:
        shop = Client(server)
        shop["main"].c.insert_many([{"_id": i, "a": 0} for i in range(300)])
        shop["main"].command("createBranch", "dev")
        for round in range(4):
            shop["main"].c.update_many({}, {"$inc": {"a": 1}})
            shop["main"].command("stash", 1)
            killer = threading.Timer(random.uniform(0, 0.06), server.process.kill)
            killer.start()
            try:
                shop["main"].command("stashPop", 1, paths={"a": "sum"})
            except (PyMongoError, OSError) as ended:
                assert not isinstance(ended, OperationFailure), ended
            killer.join()
            server.process.wait()
            server.start()
            shop = Client(server)
            waits = list(shop["main"].cursor_command("listStashes", 1))
            assert {one["a"] for one in shop["main"].c.find()} == {round if waits else round + 1}
            if waits:
                shop["main"].command("stashPop", 1, paths={"a": "sum"})
            assert {one["a"] for one in shop["main"].c.find()} == {round + 1}
            assert not list(shop["main"].cursor_command("listStashes", 1))
            shop["main"].command("commit", 1)
        check_collection(shop["main"], "c")

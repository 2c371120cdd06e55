"""These tests compare random histories of a database with branches, over the wire, with a plain model of it."""
import random

import pytest
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

SEEDS = range(3)
STEPS = 100


class Model:
    """The model knows what each branch should show: documents by _id. `committed` is what a branch made of it begins with; `commits` are all there ever were."""

    def __init__(self, documents):
        self.heads = {"main": dict(documents)}
        self.committed = {"main": dict(documents)}
        self.commits = {}

    def taken(self, branch, document, fields):
        return any(one[field] == document[field] for key, one in self.heads[branch].items() for field in fields if key != document["_id"])


class Run:
    def __init__(self, shop, seed):
        self.shop, self.random = shop, random.Random(seed)
        shop["main"].c.create_index("a")
        shop["main"].c.create_index("u", unique=True)
        documents = [self.document(i) for i in range(self.random.choice([0, 1, 40]))]
        shop["main"].create_collection("d")
        if documents:
            shop["main"].c.insert_many(documents)
        if documents and self.random.random() < 0.5:
            gone = documents.pop(0)
            shop["main"].c.delete_one({"_id": gone["_id"]})
        self.model = Model({one["_id"]: one for one in documents})
        self.next_branch = 0
        self.late = False  # whether there is the index that comes and goes
        self.create()

    def document(self, key):
        return {"_id": key, "a": self.random.randrange(4), "u": f"{key}-{self.random.randrange(3)}", "v": self.random.randrange(400), "s": "text " * self.random.randrange(30)}

    def unique_fields(self):
        return ["u", "v"] if self.late else ["u"]

    def shows_twice(self, documents):
        return self.late and len({one["v"] for one in documents.values()}) < len(documents)

    def index(self):
        branch = self.branch()
        if self.late:
            self.shop[branch].c.drop_index("v_1")
            self.late = False
            return
        self.late = True
        twice = {name for name, documents in self.model.heads.items() if self.shows_twice(documents)}
        if twice:
            with pytest.raises(DuplicateKeyError) as refused:
                self.shop[branch].c.create_index("v", unique=True)
            named = {branch} if branch in twice else twice
            assert any(f"collection: {self.shop[one].name}.c " in refused.value.details["errmsg"] for one in named)
            self.late = False
        else:
            self.shop[branch].c.create_index("v", unique=True)

    def branch(self):
        return self.random.choice(list(self.model.heads))

    def create(self):
        name, parent = f"b{self.next_branch}", self.branch()
        self.next_branch += 1
        if self.shows_twice(self.model.committed[parent]):
            with pytest.raises(OperationFailure) as refused:
                self.shop[parent].command("createBranch", name)
            assert refused.value.code == 11000, refused.value
            return
        self.shop[parent].command("createBranch", name)
        self.model.heads[name] = dict(self.model.committed[parent])
        self.model.committed[name] = dict(self.model.committed[parent])

    def drop(self):
        name = self.branch()
        if name == "main":
            return
        self.shop["main"].command("dropBranch", name, force=True)
        del self.model.heads[name], self.model.committed[name]

    def commit(self):
        name = self.branch()
        done = self.shop[name].command("commit", 1, message=name)
        assert done["changed"] or self.model.heads[name] == self.model.committed[name]
        self.model.committed[name] = self.model.commits[done["commit"]] = dict(self.model.heads[name])

    def reset(self):
        name = self.branch()
        if not self.model.commits:
            return
        commit = self.random.choice(list(self.model.commits))
        if self.shows_twice(self.model.commits[commit]):
            with pytest.raises(OperationFailure) as refused:
                self.shop["main"].command("resetBranch", name, to=commit, force=True)
            assert refused.value.code == 11000, refused.value
            return
        self.shop["main"].command("resetBranch", name, to=commit, force=True)
        self.model.heads[name] = dict(self.model.commits[commit])
        self.model.committed[name] = dict(self.model.commits[commit])

    def merge(self):
        """Theirs wins in a conflict; of what a unique index forbids nothing is merged, and the server decides what that is."""
        into, other = self.branch(), self.branch()
        if not self.shop[into].command("status")["clean"]:  # a collection without documents may have been dropped
            assert self.model.heads[into] != self.model.committed[into] or not self.model.heads[into]
            return
        assert self.model.heads[into] == self.model.committed[into]
        try:
            done = self.shop[into].command("merge", other, resolve="theirs")
        except OperationFailure as failure:
            assert failure.code == 96 and all(one["index"] in ("u_1", "v_1") for one in failure.details["conflicts"]), failure.details
            assert self.contents(into) == self.model.heads[into]
            return
        merged = self.contents(into)
        assert len({one["u"] for one in merged.values()}) == len(merged) and not self.shows_twice(merged)
        theirs, ours = self.model.committed[other], self.model.heads[into]
        for key in theirs.keys() | ours.keys() | merged.keys():
            assert merged.get(key) in (theirs.get(key), ours.get(key)) or (key in theirs and key in ours), key
        self.model.heads[into], self.model.committed[into] = dict(merged), dict(merged)
        self.model.commits[done["commit"]] = dict(merged)

    def contents(self, ref):
        return {one["_id"]: one for one in self.shop[ref].c.find()}

    def diff(self):
        a, b = self.branch(), self.branch()
        before, after = self.model.heads[a], self.model.heads[b]
        found = {one["_id"]: (one.get("before"), one.get("after")) for one in self.shop[b].cursor_command("diff", 1, **{"from": a}, collection="c")}
        differ = {key: (before.get(key), after.get(key)) for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        # Equal documents may be different versions.
        assert {key: pair for key, pair in found.items() if pair[0] != pair[1]} == differ

    def insert(self):
        branch = self.branch()
        document, head = self.document(self.random.randrange(60)), self.model.heads[branch]
        if self.random.random() < 0.2 and head:
            document["u"] = self.random.choice(list(head.values()))["u"]
        if document["_id"] in head or self.model.taken(branch, document, self.unique_fields()):
            with pytest.raises(DuplicateKeyError):
                self.shop[branch].c.insert_one(document)
        else:
            self.shop[branch].c.insert_one(document)
            head[document["_id"]] = document

    def insert_many(self):
        branch = self.branch()
        head = self.model.heads[branch]
        documents = [self.document(self.random.randrange(100)) for _ in range(8)]
        try:
            self.shop[branch].c.insert_many(documents, ordered=False)
        except BulkWriteError:
            pass
        for document in documents:
            if document["_id"] not in head and not self.model.taken(branch, document, self.unique_fields()):
                head[document["_id"]] = document

    def update(self):
        branch = self.branch()
        key, value = self.random.randrange(60), self.random.randrange(4)
        done = self.shop[branch].c.update_one({"_id": key}, {"$set": {"a": value}})
        document = self.model.heads[branch].get(key)
        assert done.matched_count == (document is not None)
        if document:
            self.model.heads[branch][key] = {**document, "a": value}

    def update_many(self):
        branch = self.branch()
        value = self.random.randrange(4)
        done = self.shop[branch].c.update_many({"a": value}, {"$set": {"a": (value + 1) % 4}, "$inc": {"n": 1}})
        changed = {key: {**one, "a": (value + 1) % 4, "n": one.get("n", 0) + 1} for key, one in self.model.heads[branch].items() if one["a"] == value}
        assert done.modified_count == len(changed)
        self.model.heads[branch].update(changed)

    def replace(self):
        branch = self.branch()
        document = self.document(self.random.randrange(60))
        head = self.model.heads[branch]
        if document["_id"] not in head:
            return
        if self.model.taken(branch, document, self.unique_fields()):
            with pytest.raises(DuplicateKeyError):
                self.shop[branch].c.replace_one({"_id": document["_id"]}, document)
        else:
            self.shop[branch].c.replace_one({"_id": document["_id"]}, document)
            head[document["_id"]] = document

    def delete(self):
        branch = self.branch()
        key = self.random.randrange(60)
        assert self.shop[branch].c.delete_one({"_id": key}).deleted_count == (self.model.heads[branch].pop(key, None) is not None)

    def drop_collection(self):
        branch = self.branch()
        self.shop[branch].c.drop()
        assert "c" not in self.shop[branch].list_collection_names()
        self.model.heads[branch] = {}

    def out(self):
        """Some of another branch's documents instead of its own."""
        branch, other = self.branch(), self.branch()
        self.shop[other].c.aggregate([{"$match": {"a": {"$lt": 3}}}, {"$out": {"db": self.shop[branch].name, "coll": "c"}}])
        self.model.heads[branch] = {key: one for key, one in self.model.heads[other].items() if one["a"] < 3}

    def check(self):
        for name, documents in self.model.heads.items():
            collection = self.shop[name].c
            assert {one["_id"]: one for one in collection.find()} == documents
            assert {one["_id"]: one for one in collection.find().sort("$natural", -1)} == documents
            assert collection.estimated_document_count() == len(documents)
            assert [one["_id"] for one in collection.find().sort("_id", 1)] == sorted(documents)
            assert [one["u"] for one in collection.find().sort("u", -1)] == sorted((one["u"] for one in documents.values()), reverse=True)
            if self.late:
                assert [one["v"] for one in collection.find().sort("v", 1).hint("v_1")] == sorted({one["v"] for one in documents.values()})
                assert len({one["v"] for one in documents.values()}) == len(documents)
            for value in range(4):
                found = collection.find({"a": value}).hint([("a", 1)])
                assert sorted(one["_id"] for one in found) == sorted(key for key, one in documents.items() if one["a"] == value)

    def steps(self):
        return [self.insert, self.insert_many, self.update, self.update, self.update_many, self.replace, self.delete, self.delete, self.create, self.drop,
                self.commit, self.commit, self.reset, self.merge, self.diff, self.index, self.drop_collection, self.out]

    def go(self):
        for step in range(STEPS):
            self.random.choice(self.steps())()
            if step % 10 == 0:
                self.check()
        self.check()
        for commit, documents in self.model.commits.items():
            past = self.shop[commit[:16]].c
            assert {one["_id"]: one for one in past.find()} == documents and past.estimated_document_count() == len(documents)
            found = past.find({"a": {"$gte": 2}}).hint([("a", 1)])
            assert sorted(one["_id"] for one in found) == sorted(key for key, one in documents.items() if one["a"] >= 2)
            if self.late:
                assert [one["v"] for one in past.find().sort("v", -1).hint("v_1")] == sorted((one["v"] for one in documents.values()), reverse=True)
        self.shop.check()


@pytest.mark.parametrize("seed", SEEDS)
def test_random_histories(shop, seed):
    Run(shop, seed).go()

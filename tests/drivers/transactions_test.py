"""Transactions as drivers use them, on a set of one member: what their statements see, what others see, and how they end.

Refusals are in transactions_refused_test.py; restarts, times and monitoring in transactions_ends_test.py.
"""
import copy
import datetime
import random
import threading
import time

import bson
import pymongo
import pytest
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from tests.drivers.replica_set_test import set_client
from tests.support.transactions import RETRYABLE, TRANSIENT, RawSession, done, refused, send
from tests.support.waiting import DEADLINE, wait_until


def contents(collection, session=None):
    return {document["_id"]: document for document in collection.find(session=session)}


# ---- what frameworks send --------------------------------------------------------------------------

def equals(field, value):
    """A condition as Prisma writes it."""
    return {"$and": [{"$eq": [f"${field}", {"$literal": value}]}, {"$ne": [f"${field}", "$$REMOVE"]}]}


def test_nested_writes_as_prisma_sends_them(client):
    """prisma.user.create({data: {…, posts: {create: […]}, tags: {connect: […]}}}), then an update and a delete: each a transaction with a read concern,
    reads by pipelines with conditions in $expr, updates by pipelines, and ids that are looked up before each write."""
    db = client.t
    db.User.create_index("email", unique=True)
    options = {"read_concern": ReadConcern("majority"), "write_concern": WriteConcern("majority")}
    tags = db.Tag.insert_many([{"name": "a", "postIDs": []}, {"name": "b", "postIDs": []}]).inserted_ids

    def ids(collection, condition, session):
        return [one["_id"] for one in db[collection].aggregate([{"$match": {"$expr": condition}}, {"$project": {"_id": 1}}], allowDiskUse=True, session=session)]

    def create(session, email):
        user = db.User.insert_one({"email": email, "name": "A", "at": datetime.datetime(2024, 1, 1)}, session=session).inserted_id
        posts = [db.Post.insert_one({"title": title, "authorId": user, "tagIDs": []}, session=session).inserted_id for title in ("one", "two")]
        for post in posts:
            assert ids("Tag", {"$and": [{"$in": ["$_id", {"$literal": tags}]}, {"$ne": ["$_id", "$$REMOVE"]}]}, session) == tags
            db.Post.update_one({"_id": {"$eq": post}}, {"$addToSet": {"tagIDs": {"$each": tags}}}, session=session)
            db.Tag.update_many({"_id": {"$in": tags}}, {"$addToSet": {"postIDs": post}}, session=session)
        shown = list(db.User.aggregate([
            {"$match": {"$expr": equals("_id", user)}},
            {"$lookup": {"from": "Post", "let": {"left": "$_id"}, "as": "posts", "pipeline": [
                {"$match": {"$expr": {"$eq": ["$authorId", "$$left"]}}}, {"$sort": {"title": 1}}, {"$project": {"_id": 1, "title": 1}}]}},
            {"$limit": 1}, {"$project": {"_id": 1, "email": 1, "posts": 1}}], allowDiskUse=True, session=session))
        assert shown == [{"_id": user, "email": email, "posts": [{"_id": post, "title": title} for post, title in zip(posts, ("one", "two"))]}]
        return user

    with client.start_session() as session:
        with session.start_transaction(**options):
            user = create(session, "a@x")
            assert db.Post.count_documents({}) == 0
        assert db.Post.count_documents({"authorId": user}) == 2 and all(len(one["postIDs"]) == 2 for one in db.Tag.find())

        # An email that is there: nothing is left of the user and the posts before it.
        with pytest.raises(DuplicateKeyError):
            with session.start_transaction(**options):
                create(session, "b@x")
                create(session, "a@x")
        assert db.User.count_documents({}) == 1 and db.Post.count_documents({}) == 2

        with session.start_transaction(**options):
            [found] = ids("User", equals("email", "a@x"), session)
            reply = db.User.update_many({"_id": {"$in": [found]}}, [{"$set": {"name": {"$literal": "B"}}}, {"$set": {"n": {"$add": [{"$ifNull": ["$n", 0]}, 1]}}}],
                                        session=session)
            assert reply.matched_count == 1
            assert db.Post.update_many({"_id": {"$in": ids("Post", equals("authorId", found), session)}}, [{"$set": {"seen": {"$literal": True}}}],
                                       session=session).matched_count == 2
        assert db.User.find_one() == {"_id": user, "email": "a@x", "name": "B", "at": datetime.datetime(2024, 1, 1), "n": 1}

        # createMany with skipDuplicates writes without an order; in a transaction a duplicate ends it.
        with pytest.raises(BulkWriteError):
            with session.start_transaction(**options):
                db.User.insert_many([{"email": "c@x"}, {"email": "a@x"}, {"email": "d@x"}], ordered=False, session=session)
        with session.start_transaction(**options):
            gone = ids("Post", equals("authorId", user), session)
            db.Tag.update_many({"_id": {"$in": tags}}, {"$pullAll": {"postIDs": gone}}, session=session)
            assert db.Post.delete_many({"_id": {"$in": gone}}, session=session).deleted_count == 2
            assert db.User.find_one_and_delete({"$expr": equals("email", "a@x")}, session=session)["_id"] == user
        assert (db.User.count_documents({}), db.Post.count_documents({}), db.Tag.count_documents({"postIDs": []})) == (0, 0, 2)


# ---- what statements see --------------------------------------------------------------------------

class Model:
    """A collection as it should be, and random changes of both."""

    def __init__(self, collection):
        self.collection = collection
        self.documents = contents(collection)

    def some(self):
        return random.choice(list(self.documents) or ["none"])

    def change(self, session):
        kind, one = random.choice(CHANGES), self.some()
        kind(self, self.collection, session, one)

    def insert(self, collection, session, _):
        new = [{"_id": bson.ObjectId(), "n": random.randrange(9)} for _ in range(random.randrange(1, 4))]
        collection.insert_many(new, session=session)
        self.documents.update({document["_id"]: document for document in new})

    def update(self, collection, session, one):
        reply = collection.update_one({"_id": one}, {"$inc": {"n": 10}}, session=session)
        assert reply.modified_count == (one in self.documents)
        if one in self.documents:
            self.documents[one]["n"] += 10

    def update_many(self, collection, session, _):
        low = random.randrange(9)
        matching = [document for document in self.documents.values() if document["n"] < low]
        assert collection.update_many({"n": {"$lt": low}}, {"$inc": {"n": 1}, "$set": {"seen": True}}, session=session).modified_count == len(matching)
        for document in matching:
            document["n"] += 1
            document["seen"] = True

    def replace(self, collection, session, one):
        collection.replace_one({"_id": one}, {"n": 5}, upsert=True, session=session)
        self.documents[one] = {"_id": one, "n": 5}

    def delete(self, collection, session, one):
        assert collection.delete_one({"_id": one}, session=session).deleted_count == (self.documents.pop(one, None) is not None)

    def delete_many(self, collection, session, _):
        number = random.randrange(20)
        matching = [document["_id"] for document in self.documents.values() if document["n"] == number]
        assert collection.delete_many({"n": number}, session=session).deleted_count == len(matching)
        for one in matching:
            del self.documents[one]

    def find_and_update(self, collection, session, one):
        found = collection.find_one_and_update({"_id": one}, {"$set": {"n": 3}}, session=session, return_document=pymongo.ReturnDocument.BEFORE)
        assert found == self.documents.get(one)
        if found:
            self.documents[one] = {**self.documents[one], "n": 3}

    def find_and_delete(self, collection, session, one):
        assert collection.find_one_and_delete({"_id": one}, session=session) == self.documents.pop(one, None)

    def bulk(self, collection, session, one):
        new = {"_id": bson.ObjectId(), "n": 1}
        collection.bulk_write([pymongo.InsertOne(new), pymongo.UpdateOne({"_id": one}, {"$set": {"n": 7}}),
                               pymongo.UpdateOne({"_id": new["_id"]}, {"$inc": {"n": 1}}), pymongo.DeleteOne({"_id": "nobody"})], session=session)
        self.documents[new["_id"]] = {**new, "n": 2}
        if one in self.documents:
            self.documents[one] = {**self.documents[one], "n": 7}


CHANGES = [Model.insert, Model.update, Model.update_many, Model.replace, Model.delete, Model.delete_many, Model.find_and_update,
           Model.find_and_delete, Model.bulk]


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("round_number", range(3))
def test_statements_see_the_transactions_writes_and_others_do_not(client, end, round_number):
    collection = client.t.c
    collection.create_index("n")
    collection.insert_many([{"_id": i, "n": i % 7} for i in range(20)])
    before, model = contents(collection), Model(collection)
    model.documents = copy.deepcopy(before)
    with client.start_session() as session:
        session.start_transaction()
        for _ in range(25):
            model.change(session)
            assert contents(collection, session) == model.documents
            numbers = sorted(document["n"] for document in model.documents.values())
            assert sorted(document["n"] for document in collection.find({"n": {"$gte": 0}}, session=session).hint("n_1")) == numbers
            assert sorted(collection.distinct("n", session=session)) == sorted(set(numbers))
            total, = collection.aggregate([{"$group": {"_id": None, "sum": {"$sum": "$n"}, "count": {"$sum": 1}}}], session=session)
            assert (total["sum"], total["count"]) == (sum(numbers), len(numbers))
            assert collection.count_documents({}, session=session) == len(numbers)
            assert contents(collection) == before
        if end == "commit":
            session.commit_transaction()
        else:
            session.abort_transaction()
    after = model.documents if end == "commit" else before
    assert contents(collection) == after and collection.estimated_document_count() == len(after)
    assert sorted(document["n"] for document in collection.find({"n": {"$gte": 0}}).hint("n_1")) == sorted(one["n"] for one in after.values())
    assert client.t.command("validate", "c", full=True)["valid"]


def test_stages_over_other_collections_see_the_transactions_writes(client):
    client.t.c.insert_one({"_id": 1, "to": 1})
    client.t.d.insert_one({"_id": 1, "text": "old"})
    with client.start_session() as session, session.start_transaction():
        client.t.c.insert_one({"_id": 2, "to": 2}, session=session)
        client.t.d.insert_one({"_id": 2, "text": "new"}, session=session)
        client.t.d.update_one({"_id": 1}, {"$set": {"text": "changed"}}, session=session)
        joined = list(client.t.c.aggregate([{"$lookup": {"from": "d", "localField": "to", "foreignField": "_id", "as": "d"}}, {"$sort": {"_id": 1}}],
                                           session=session))
        assert [one["d"][0]["text"] for one in joined] == ["changed", "new"]
        both = list(client.t.c.aggregate([{"$unionWith": "d"}, {"$count": "n"}], session=session))
        assert both == [{"n": 4}]
        way = list(client.t.c.aggregate([{"$match": {"_id": 2}}, {"$graphLookup": {"from": "d", "startWith": "$to", "connectFromField": "none",
                                                                                  "connectToField": "_id", "as": "d"}}], session=session))
        assert [one["text"] for one in way[0]["d"]] == ["new"]
        outside, = client.t.c.aggregate([{"$lookup": {"from": "d", "localField": "to", "foreignField": "_id", "as": "d"}}])
        assert outside["d"][0]["text"] == "old"


def test_a_cursor_goes_on_in_the_transaction_and_not_without_it(client, raw):
    client.t.c.insert_many([{"_id": i} for i in range(10)])
    session = raw().start()
    done(session.insert("c", *[{"_id": 10 + i} for i in range(10)]))
    cursor = done(session.run({"find": "c", "sort": {"_id": 1}, "batchSize": 4}))["cursor"]
    client.t.c.insert_many([{"_id": 100 + i} for i in range(10)])
    found, more = cursor["firstBatch"], {"getMore": bson.Int64(cursor["id"]), "collection": "c"}
    outside = {**more, "lsid": session.lsid, "$db": "t"}
    with pytest.raises(OperationFailure) as failure:
        client.t.command(more)
    assert failure.value.code in (50737, 50738)  # another session's, which the driver puts in
    assert send(session, outside)["code"] == 50740
    while cursor["id"]:
        cursor = done(session.run({**more, "batchSize": 4}))["cursor"]
        found += cursor["nextBatch"]
    assert [document["_id"] for document in found] == list(range(20))
    cursor = done(session.run({"find": "c", "batchSize": 1}))["cursor"]
    done(session.commit())
    # The transaction is over, and so is its cursor.
    assert send(session, {**outside, "getMore": bson.Int64(cursor["id"])})["code"] in (43, 50740)
    # And a cursor of no transaction doesn't go on in one.
    session.start()
    session.find("c")
    plain = send(session, {"find": "c", "batchSize": 1, "lsid": session.lsid, "$db": "t"})["cursor"]["id"]
    assert session.run({"getMore": bson.Int64(plain), "collection": "c"})["code"] == 50739


def test_killing_a_cursor_leaves_its_transaction_open(client, raw):
    client.t.c.insert_many([{"_id": i} for i in range(10)])
    session = raw().start()
    done(session.insert("c", {"_id": "new"}))
    cursor = done(session.run({"find": "c", "batchSize": 2}))["cursor"]["id"]
    assert done(session.run({"killCursors": "c", "cursors": [bson.Int64(cursor)]}))["cursorsKilled"] == [cursor]
    done(session.commit())
    assert client.t.c.find_one({"_id": "new"})


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_bulk_write_is_part_of_a_transaction(client, raw, end):
    client.t.c.insert_many([{"_id": 1, "n": 0}, {"_id": 2, "n": 0}])
    client.t.d.insert_one({"_id": 1})
    session = raw().start()
    done(session.insert("c", {"_id": 3, "n": 0}))
    reply = done(session.run({"bulkWrite": 1, "nsInfo": [{"ns": "t.c"}, {"ns": "t.d"}], "ops": [
        {"update": 0, "filter": {}, "updateMods": {"$inc": {"n": 1}}, "multi": True}, {"insert": 1, "document": {"_id": 2}},
        {"delete": 1, "filter": {"_id": 1}}]}, "admin"))
    assert (reply["nErrors"], reply["nInserted"], reply["nModified"], reply["nDeleted"]) == (0, 1, 3, 1)
    assert [one["n"] for one in session.find("c")] == [1, 1, 1] and session.find("d") == [{"_id": 2}]
    assert [one["n"] for one in client.t.c.find()] == [0, 0] and list(client.t.d.find()) == [{"_id": 1}]
    done(session.commit() if end == "commit" else session.abort())
    assert [one["n"] for one in client.t.c.find()] == ([1, 1, 1] if end == "commit" else [0, 0])
    assert list(client.t.d.find()) == [{"_id": 2 if end == "commit" else 1}]


def test_a_transaction_goes_over_databases(client):
    client.drop_database("t2")
    with client.start_session() as session, session.start_transaction():
        client.t.c.insert_one({"_id": 1}, session=session)
        client.t2.c.insert_one({"_id": 2}, session=session)
        assert client.t2.c.find_one(session=session) and client.t2.c.find_one() is None and "t2" not in client.list_database_names()
    assert client.t.c.find_one() == {"_id": 1} and client.t2.c.find_one() == {"_id": 2}
    client.drop_database("t2")


# ---- isolation ------------------------------------------------------------------------------------

@pytest.mark.parametrize("level", ["local", "majority", "snapshot", None])
def test_a_transaction_reads_one_moment(client, raw, level):
    client.t.c.insert_many([{"_id": i, "n": 0} for i in range(5)])
    client.t.d.insert_one({"_id": 1, "n": 0})
    client.t.c.create_index("n")
    session = raw().start(**({"readConcern": {"level": level}} if level else {}))
    client.t.c.update_one({"_id": 0}, {"$set": {"n": 1}})  # it begins with its first statement
    before = session.find("c")
    assert [one["n"] for one in before] == [1, 0, 0, 0, 0]
    client.t.c.update_many({}, {"$set": {"n": 2}})
    client.t.c.delete_one({"_id": 3})
    client.t.c.insert_one({"_id": 9, "n": 2})
    client.t.d.update_one({"_id": 1}, {"$set": {"n": 2}})
    for _ in range(2):
        assert session.find("c") == before and session.find("d") == [{"_id": 1, "n": 0}]
        assert session.find("c", {"n": 2}, hint="n_1") == [] and len(session.find("c", {"n": 0}, hint="n_1")) == 4
        assert sorted(done(session.run({"distinct": "c", "key": "n"}))["values"]) == [0, 1]
    done(session.commit())
    assert len(list(client.t.c.find({"n": 2}))) == 5


def conflicting(session):
    """Statements that each change the document 1 of `c`."""
    return {
        "update": lambda: session.update("c", {"_id": 1}, {"$set": {"by": "session"}}),
        "updateMany": lambda: session.update("c", {}, {"$set": {"by": "session"}}, multi=True),
        "replace": lambda: session.update("c", {"_id": 1}, {"by": "session"}),
        "delete": lambda: session.run({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]}),
        "findAndModify": lambda: session.run({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"by": "session"}}}),
        "findAndRemove": lambda: session.run({"findAndModify": "c", "query": {"_id": 1}, "remove": True}),
    }


@pytest.mark.parametrize("statement", conflicting(None))
@pytest.mark.parametrize("first", ["an open transaction", "a committed transaction", "a write outside"])
def test_a_change_of_what_another_changed_conflicts(client, raw, statement, first):
    client.t.c.insert_many([{"_id": 1}, {"_id": 2}])
    session, other = raw().start(), raw().start()
    session.find("c")
    if first == "a write outside":
        client.t.c.update_one({"_id": 1}, {"$set": {"by": "other"}})
    else:
        done(other.update("c", {"_id": 1}, {"$set": {"by": "other"}}))
        if first == "a committed transaction":
            done(other.commit())
    refused(conflicting(session)[statement](), 112, TRANSIENT)
    # The conflict has aborted it.
    refused(session.run({"find": "c"}), 251, TRANSIENT)
    refused(session.commit(), 251, TRANSIENT)
    if first == "an open transaction":
        done(other.commit())
    assert client.t.c.find_one({"_id": 1})["by"] == "other"
    session.start()
    done(conflicting(session)[statement]())
    done(session.commit())


def test_changes_of_different_documents_do_not_conflict(client, raw):
    client.t.c.insert_many([{"_id": i, "n": 0} for i in range(4)])
    sessions = [raw().start() for _ in range(4)]
    for i, session in enumerate(sessions):
        done(session.update("c", {"_id": i}, {"$inc": {"n": i + 1}}))
        done(session.insert("c", {"_id": f"new {i}"}))
    for session in sessions:
        done(session.commit())
    assert [one["n"] for one in client.t.c.find({"n": {"$exists": True}}).sort("_id")] == [1, 2, 3, 4] and client.t.c.count_documents({}) == 8


def test_write_skew_is_possible(client, raw):
    client.t.c.insert_many([{"_id": "x", "on": True}, {"_id": "y", "on": True}])
    one, other = raw().start(), raw().start()
    assert len(one.find("c", {"on": True})) == len(other.find("c", {"on": True})) == 2
    done(one.update("c", {"_id": "x"}, {"$set": {"on": False}}))
    done(other.update("c", {"_id": "y"}, {"$set": {"on": False}}))
    done(one.commit())
    done(other.commit())
    assert client.t.c.count_documents({"on": True}) == 0


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_a_unique_key_belongs_to_the_first(client, raw, end):
    client.t.c.create_index("k", unique=True)
    client.t.c.insert_one({"_id": 0, "k": "there"})
    for key, document in (("_id", lambda name: {"_id": "same", "k": name}), ("k", lambda name: {"_id": name, "k": "same"})):
        one, other = raw().start(), raw().start()
        done(one.insert("c", document("one")))
        refused(other.insert("c", document("other")), 112, TRANSIENT)
        done(one.commit() if end == "commit" else one.abort())
        reply = other.start().insert("c", document("other"))
        if end == "abort":
            done(reply)
            done(other.commit())
        else:
            assert reply["ok"] == 1 and reply["n"] == 0 and reply["writeErrors"][0]["code"] == 11000, (key, reply)
            refused(other.commit(), 251, TRANSIENT)
        client.t.c.delete_many({"_id": {"$ne": 0}})
    # A key that was given up in the transaction may be taken there.
    one = raw().start()
    done(one.run({"delete": "c", "deletes": [{"q": {"_id": 0}, "limit": 1}]}))
    done(one.insert("c", {"_id": 1, "k": "there"}))
    done(one.commit())
    assert list(client.t.c.find()) == [{"_id": 1, "k": "there"}]


def test_a_failed_statement_aborts_the_transaction(client):
    client.t.c.insert_one({"_id": 1})
    for statement, error in ((lambda session: client.t.c.insert_one({"_id": 1}, session=session), DuplicateKeyError),
                             (lambda session: client.t.c.insert_many([{"_id": 2}, {"_id": 1}, {"_id": 3}], ordered=False, session=session), BulkWriteError),
                             (lambda session: client.t.c.update_one({"_id": 1}, {"$frob": 1}, session=session), OperationFailure),
                             (lambda session: client.t.c.find_one({"a": {"$frob": 1}}, session=session), OperationFailure)):
        with client.start_session() as session:
            session.start_transaction()
            client.t.c.insert_one({"_id": "before"}, session=session)
            with pytest.raises(error) as failure:
                statement(session)
            assert not failure.value.has_error_label(TRANSIENT)
            with pytest.raises(OperationFailure) as failure:
                client.t.c.find_one(session=session)
            assert failure.value.code == 251 and failure.value.has_error_label(TRANSIENT)
            session.abort_transaction()
        assert list(client.t.c.find()) == [{"_id": 1}]


# ---- those who are in no transaction -------------------------------------------------------------

def conflicts(client):
    """So often writers have met another one's change, and tried again or failed; the server counts it at once."""
    return client.admin.command("serverStatus")["metrics"]["operation"]["writeConflicts"]


WRITERS = {
    "update": (lambda c: c.update_one({"_id": 0}, {"$inc": {"n": 10}}).modified_count, lambda n: (1, {"_id": 0, "n": n + 10})),
    "findAndModify": (lambda c: c.find_one_and_update({"_id": 0}, {"$inc": {"n": 10}}, return_document=True)["n"], lambda n: (n + 10, {"_id": 0, "n": n + 10})),
    "delete": (lambda c: c.delete_one({"_id": 0}).deleted_count, lambda n: (1, None)),
}


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_writer_outside_waits_for_an_open_transaction(client, raw, pool, writer, end):
    write, due = WRITERS[writer]
    client.t.c.insert_one({"_id": 0, "n": 0})
    session = raw().start()
    done(session.update("c", {}, {"$inc": {"n": 1}}, multi=True))
    before = conflicts(client)
    waiting = pool.submit(write, client.t.c)
    wait_until(lambda: conflicts(client) >= before + 3)
    assert client.t.c.find_one() == {"_id": 0, "n": 0}  # readers don't wait
    client.t.c.insert_one({"_id": 4})                   # and a writer of another document doesn't wait either
    assert not waiting.done()
    with pytest.raises(OperationFailure) as failure:
        client.t.command("update", "c", updates=[{"q": {"_id": 0}, "u": {"$inc": {"n": 100}}}], maxTimeMS=100)
    assert failure.value.code == 50
    done(session.commit() if end == "commit" else session.abort())
    reply, left = due(1 if end == "commit" else 0)
    assert waiting.result(DEADLINE) == reply
    assert client.t.c.find_one({"_id": 0}) == left
    assert client.t.c.find_one({"_id": 4})


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_an_insert_outside_waits_for_who_has_its_key(client, raw, pool, end):
    client.t.create_collection("c")
    session = raw().start()
    done(session.insert("c", {"_id": 1, "by": "session"}))
    before = conflicts(client)
    waiting = pool.submit(client.t.c.insert_one, {"_id": 1, "by": "outside"})
    wait_until(lambda: conflicts(client) >= before + 3)
    assert not waiting.done()
    done(session.commit() if end == "commit" else session.abort())
    if end == "commit":
        with pytest.raises(DuplicateKeyError):
            waiting.result(DEADLINE)
    else:
        waiting.result(DEADLINE)
    assert client.t.c.find_one()["by"] == ("session" if end == "commit" else "outside")


def is_behind_a_change(session, collection):
    """Returns whether a transaction can't begin with this collection, because a change of its schema waits for others (code 24)."""
    reply = session.start().insert(collection, {"_id": bson.ObjectId()})
    if reply["ok"] == 0:
        refused(reply, 24, TRANSIENT)
        return True
    session.abort()
    return False


def test_a_change_of_the_schema_waits_for_an_open_transaction(client, raw, pool):
    client.t.c.insert_one({"_id": 1})
    for change in (lambda: client.t.c.create_index("n"), lambda: client.t.c.rename("d"), lambda: client.t.d.drop()):
        session = raw().start()
        collection = "d" if "d" in client.t.list_collection_names() else "c"
        done(session.insert(collection, {"_id": bson.ObjectId()}))
        waiting = pool.submit(change)
        wait_until(lambda: is_behind_a_change(raw(), collection))
        assert not waiting.done()
        done(session.insert(collection, {"_id": bson.ObjectId()}))  # the change that waits doesn't hold up the transaction
        done(session.commit())
        waiting.result(DEADLINE)
    assert client.t.list_collection_names() == []


# ---- how they end ---------------------------------------------------------------------------------

def test_a_commit_can_be_repeated_and_an_abort_cannot_follow(client, raw):
    session = raw().start()
    done(session.insert("c", {"_id": 1}))
    for _ in range(3):
        done(session.commit())
    done(session.commit(writeConcern={"w": "majority", "wtimeout": 60_000}))
    refused(session.abort(), 256)
    refused(session.run({"find": "c"}), 256)
    assert list(client.t.c.find()) == [{"_id": 1}]
    assert client.local.oplog.rs.count_documents({"lsid.id": session.lsid["id"]}) == 1


def test_an_abort_cannot_be_repeated_and_a_commit_cannot_follow(client, raw):
    session = raw().start()
    done(session.insert("c", {"_id": 1}))
    done(session.abort())
    for end in (session.abort, session.commit, session.abort):
        refused(end(), 251, TRANSIENT)
    refused(session.insert("c", {"_id": 1}), 251, TRANSIENT)
    assert client.t.c.find_one() is None
    assert client.local.oplog.rs.count_documents({"lsid.id": session.lsid["id"]}) == 0


def test_a_transaction_that_only_reads_leaves_nothing_behind(client, raw):
    client.t.c.insert_one({"_id": 1})
    for end in (RawSession.commit, RawSession.abort):
        session = raw().start()
        assert session.find("c") == [{"_id": 1}]
        done(end(session))
        assert client.local.oplog.rs.count_documents({"lsid.id": session.lsid["id"]}) == 0
    session = raw().start()
    session.find("c")
    done(session.commit())
    done(session.commit())
    refused(session.abort(), 256)
    # A driver sends nothing where there was no statement.
    with client.start_session() as driven:
        with driven.start_transaction():
            pass
        driven.start_transaction()
        driven.abort_transaction()


def test_the_next_transaction_aborts_the_one_before(client, raw):
    client.t.c.insert_one({"_id": 0})
    for begin in (lambda session: session.start().find("c"),
                  lambda session: done(send(session, {"insert": "d", "documents": [{}], "lsid": session.lsid, "txnNumber": bson.Int64(2), "$db": "t"}))):
        session = raw().start()
        done(session.insert("c", {"_id": 1}))
        begin(session)
        session.number = 1
        refused(session.commit(), 225)
        refused(session.insert("c", {"_id": 2}), 225)
        assert list(client.t.c.find()) == [{"_id": 0}]
        client.t.c.insert_one({"_id": 1})  # nobody holds it
        client.t.c.delete_one({"_id": 1})


def test_a_commit_waits_for_its_write_concern(client, raw):
    session = raw().start()
    done(session.insert("c", {"_id": 1}))
    reply = session.commit(writeConcern={"w": 2, "wtimeout": 100})
    assert reply["ok"] == 1 and reply["writeConcernError"]["code"] == 100, reply
    done(session.commit(writeConcern={"w": "majority", "j": True}))
    assert client.t.c.find_one() == {"_id": 1}


def test_with_transaction_runs_again_after_a_conflict(client, pool):
    client.t.c.insert_one({"_id": 1, "n": 0})
    tries = []

    def add():
        with client.start_session() as session:
            def work(session):
                tries.append(1)
                found = client.t.c.find_one({"_id": 1}, session=session)
                time.sleep(0.01)
                client.t.c.update_one({"_id": 1}, {"$set": {"n": found["n"] + 1}}, session=session)
                client.t.log.insert_one({"n": found["n"] + 1}, session=session)
            session.with_transaction(work, read_concern=ReadConcern("snapshot"), write_concern=WriteConcern("majority"))

    for _ in pool.map(lambda _: add(), range(24)):
        pass
    assert client.t.c.find_one()["n"] == 24 and sorted(one["n"] for one in client.t.log.find()) == list(range(1, 25))
    assert len(tries) > 24, "nothing conflicted"


@pytest.mark.parametrize("data", [{"closeConnection": True}, {"errorCode": 10107}, {"errorCode": 91}, {"writeConcernError": {"code": 91, "errmsg": "going"}}])
def test_drivers_retry_a_commit(client, one_member, data):
    with set_client(one_member, heartbeatFrequencyMS=500) as own, own.start_session() as session:
        session.start_transaction()
        own.t.c.insert_one({"_id": 1}, session=session)
        client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data={"failCommands": ["commitTransaction"], **data})
        session.commit_transaction()
    assert client.t.c.count_documents({}) == 1


def test_errors_of_fail_points_carry_labels(client, raw):
    def fail(command, code, **more):
        client.admin.command("configureFailPoint", "failCommand", mode={"times": 1}, data={"failCommands": [command], "errorCode": code, **more})
        session = raw().start()
        if command != "insert":
            done(session.insert("c", {"_id": bson.ObjectId()}))
        reply = {"insert": lambda: session.insert("c", {}), "commitTransaction": session.commit, "abortTransaction": session.abort}[command]()
        session.abort()
        return reply

    for command, code, labels in [("insert", 10107, [TRANSIENT]), ("insert", 112, [TRANSIENT]), ("insert", 251, [TRANSIENT]), ("insert", 24, [TRANSIENT]),
                                  ("insert", 246, [TRANSIENT]), ("insert", 11600, [TRANSIENT]), ("insert", 50, []), ("insert", 2, []),
                                  ("commitTransaction", 10107, [RETRYABLE]), ("commitTransaction", 251, [TRANSIENT]), ("commitTransaction", 91, [RETRYABLE]),
                                  ("commitTransaction", 112, [TRANSIENT]), ("commitTransaction", 267, [TRANSIENT]), ("abortTransaction", 10107, [RETRYABLE])]:
        refused(fail(command, code), code, *labels)
    assert fail("commitTransaction", 10107, errorLabels=["mine"])["errorLabels"] == ["mine"]
    # An error of the write concern labels a commit, and no statement.
    for command, labels in (("insert", None), ("commitTransaction", [RETRYABLE])):
        client.admin.command("configureFailPoint", "failCommand", mode={"times": 1},
                             data={"failCommands": [command], "writeConcernError": {"code": 91, "errmsg": "going"}})
        session = raw().start()
        reply = session.insert("c", {"_id": bson.ObjectId()})
        reply = session.commit() if command == "commitTransaction" else reply
        assert reply["ok"] == 1 and reply["writeConcernError"]["code"] == 91 and reply.get("errorLabels") == labels, reply
        session.abort()


# ---- what is written down -------------------------------------------------------------------------

def test_the_log_has_one_entry_for_a_transaction(client, raw):
    client.t.c.insert_many([{"_id": 1, "n": 0}, {"_id": 2, "n": 0}])
    client.t.d.insert_one({"_id": 1})
    uuids = {one["name"]: one["info"]["uuid"] for one in client.t.list_collections()}
    session = raw().start()
    done(session.insert("c", {"_id": 3}, {"_id": 4}))
    done(session.update("c", {"_id": 1}, {"$set": {"n": 5}}))
    done(session.run({"delete": "d", "deletes": [{"q": {"_id": 1}, "limit": 1}]}))
    done(session.run({"findAndModify": "c", "query": {"_id": 2}, "remove": True}))
    reply = done(session.commit())
    entry, = client.local.oplog.rs.find({"lsid.id": session.lsid["id"]})
    assert (entry["op"], entry["ns"], entry["txnNumber"], entry["v"]) == ("c", "admin.$cmd", 1, 2)
    assert entry["prevOpTime"] == {"ts": bson.Timestamp(0, 0), "t": -1} and "stmtId" not in entry and entry["wall"]
    operations = entry["o"]["applyOps"]
    assert [(one["op"], one["ns"], one.get("o2", one["o"])["_id"]) for one in operations] == [
        ("i", "t.c", 3), ("i", "t.c", 4), ("u", "t.c", 1), ("d", "t.d", 1), ("d", "t.c", 2)]
    assert all(one["ui"] == uuids[one["ns"].split(".")[1]] for one in operations)
    assert reply["operationTime"] >= entry["ts"]
    record = client.config.transactions.find_one({"_id.id": session.lsid["id"]})
    assert record["state"] == "committed" and record["txnNum"] == 1 and record["lastWriteOpTime"]["ts"] == entry["ts"]
    # The next one of the session begins a chain of its own.
    session.start()
    done(session.insert("c", {"_id": 5}))
    done(session.commit())
    last = client.local.oplog.rs.find_one({"lsid.id": session.lsid["id"], "txnNumber": 2})
    assert last["prevOpTime"] == {"ts": bson.Timestamp(0, 0), "t": -1}


def test_a_transaction_may_be_larger_than_a_document(client, raw):
    text = "x" * (1 << 20)
    session = raw().start()
    for i in range(20):
        done(session.insert("c", {"_id": i, "text": text + str(i)}))
    assert client.t.c.find_one() is None
    done(session.commit())
    assert client.t.c.count_documents({}) == 20
    entries = list(client.local.oplog.rs.find({"lsid.id": session.lsid["id"]}))
    assert [one["o"]["_id"] for entry in entries for one in entry["o"]["applyOps"]] == list(range(20))
    assert all(len(bson.encode(entry)) <= (16 << 20) + (16 << 10) for entry in entries) and len(entries) > 1
    assert [entry["prevOpTime"]["ts"] for entry in entries[1:]] == [entry["ts"] for entry in entries[:-1]]
    assert [entry["o"].get("partialTxn", False) for entry in entries] == [True] * (len(entries) - 1) + [False]


# ---- collections and indexes ----------------------------------------------------------------------

@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("how", ["insert", "upsert", "create", "createIndexes"])
def test_a_transaction_makes_collections(client, raw, how, end):
    client.t.other.insert_one({})
    session = raw().start()
    if how == "insert":
        done(session.insert("c", {"_id": 1}))
    elif how == "upsert":
        assert done(session.update("c", {"_id": 1}, {"$set": {"n": 1}}, upsert=True))["upserted"] == [{"index": 0, "_id": 1}]
    elif how == "create":
        done(session.run({"create": "c"}))
    else:
        done(session.run({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]}))
    if how not in ("insert", "upsert"):
        done(session.run({"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k", "unique": True}]}))
        done(session.insert("c", {"_id": 1, "k": 1}, {"_id": 2, "k": 2}))
        assert [one["_id"] for one in session.find("c", {"k": {"$gt": 1}}, hint="k")] == [2]
        done(session.update("c", {"_id": 2}, {"$set": {"k": 3}}))
    inside = session.find("c")
    assert client.t.list_collection_names() == ["other"] and client.t.c.find_one() is None
    done(session.commit() if end == "commit" else session.abort())
    if end == "commit":
        assert list(client.t.c.find().sort("_id")) == inside and set(client.t.list_collection_names()) == {"c", "other"}
        wanted = {"insert": {"_id_"}, "upsert": {"_id_"}, "create": {"_id_", "k"}, "createIndexes": {"_id_", "n", "k"}}[how]
        assert set(client.t.c.index_information()) == wanted
        if "k" in wanted:
            with pytest.raises(DuplicateKeyError):
                client.t.c.insert_one({"k": 3})
        assert client.t.command("validate", "c", full=True)["valid"]
    else:
        assert client.t.list_collection_names() == ["other"] and client.t.c.index_information() == {}
        client.t.c.insert_one({"_id": 1})  # the name is free


@pytest.mark.parametrize("statement", ["insert", "update"])
def test_a_key_that_another_takes_during_the_commit_is_a_conflict(client, raw, pool, statement):
    """Between the draft and its commit the key is free for a moment, and the other waits for that moment."""
    client.t.c.create_index("k", unique=True)
    session, ends = raw(), set()
    pauses = random.Random(random.getrandbits(40))  # the drivers' threads draw from the shared one, too
    for i in range(200):
        client.t.c.insert_one({"_id": f"before {i}", "k": -1 - i})
        session.start()
        done(session.insert("c", {"_id": i, "k": i}) if statement == "insert" else session.update("c", {"_id": f"before {i}"}, {"$set": {"k": i}}))
        other = pool.submit(client.t.c.insert_one, {"_id": i if i % 2 and statement == "insert" else -1 - i, "k": i})
        time.sleep(pauses.random() * 0.004)
        reply = session.commit()
        lost = other.exception()
        if lost is None:
            refused(reply, 112, TRANSIENT)
        else:
            done(reply)
            assert lost.code == 11000, lost
        ends.add(lost is None)
    assert False in ends
    assert client.t.c.count_documents({"k": {"$gte": 0}}) == 200


def test_one_of_two_transactions_that_make_a_collection_conflicts(client, raw):
    one, other = raw().start(), raw().start()
    done(one.insert("c", {"_id": "one"}))
    reply = other.insert("c", {"_id": "other"})
    done(one.commit())
    refused(reply if reply["ok"] == 0 else other.commit(), 112, TRANSIENT)
    assert list(client.t.c.find()) == [{"_id": "one"}]
    other.start()
    done(other.insert("c", {"_id": "other"}))
    done(other.commit())
    assert client.t.c.count_documents({}) == 2


def test_a_new_collection_that_others_drop_or_fill_meanwhile_is_a_conflict(client, raw, pool):
    ends, over = [], threading.Event()

    def meanwhile(change):
        while not over.is_set():
            try:
                change(client.t[f"new{len(ends)}"])
            except PyMongoError:  # it may be dropped, or have the index
                pass
            time.sleep(0.001)

    others = [pool.submit(meanwhile, lambda collection: collection.drop()), pool.submit(meanwhile, lambda collection: collection.insert_many([{"k": 1}, {"k": 1}]))]
    try:
        for i in range(25):
            session = raw().start()
            name, replies = f"new{i}", []
            for step in (lambda: session.run({"create": name}), lambda: session.run({"createIndexes": name, "indexes": [{"key": {"k": 1}, "name": "k", "unique": True}]}),
                         lambda: session.insert(name, {"_id": 1, "k": 0}), session.commit):
                replies.append(step())
                if replies[-1]["ok"] == 0:
                    break
            # It may be there when the transaction begins: the first statement says so.
            if replies[-1]["ok"] == 0 and not (len(replies) == 1 and replies[0]["code"] == 48) and not (len(replies) == 2 and replies[1]["code"] == 263):
                refused(replies[-1], replies[-1]["code"], TRANSIENT)
            ends.append(replies[-1]["ok"])
    finally:
        over.set()
        [one.result() for one in others]


def test_an_index_that_is_there_may_be_asked_for(client, raw):
    client.t.c.insert_one({"_id": 1, "n": 1})
    client.t.c.create_index("n", name="n")
    session = raw().start()
    done(session.run({"createIndexes": "c", "indexes": [{"key": {"n": 1}, "name": "n"}]}))
    done(session.insert("c", {"_id": 2}))
    done(session.commit())
    session.start()
    refused(session.run({"create": "c"}), 48)
    refused(session.commit(), 251, TRANSIENT)


def test_counters_of_the_server_follow(client, raw):
    def figures():
        status = client.admin.command("serverStatus")
        return {**status["transactions"], "latencies": status["opLatencies"]["transactions"]["ops"]}

    before = figures()
    assert {"retriedCommandsCount", "retriedStatementsCount", "transactionsCollectionWriteCount", "currentActive", "currentInactive", "currentOpen",
            "totalAborted", "totalCommitted", "totalStarted", "totalPrepared", "totalPreparedThenCommitted", "totalPreparedThenAborted",
            "currentPrepared"} <= set(before)
    assert before["currentOpen"] == before["currentActive"] == before["currentInactive"] == 0
    one, other = raw().start(), raw().start()
    done(one.insert("c", {"_id": 1}, {"_id": 2}))
    other.find("c")
    open_now = figures()
    assert open_now["currentOpen"] == open_now["currentInactive"] == 2 and open_now["currentActive"] == 0
    assert open_now["totalStarted"] == before["totalStarted"] + 2
    done(one.commit())
    done(other.abort())
    after = figures()
    assert after["currentOpen"] == 0
    for name, more in (("totalStarted", 2), ("totalCommitted", 1), ("totalAborted", 1), ("latencies", 2)):
        assert after[name] == before[name] + more, (name, before, after)
    assert after["lastCommittedTransaction"]["operationCount"] == 2
    done(one.commit())
    assert figures()["totalCommitted"] == after["totalCommitted"], "a repeated commit counts once"


def test_an_open_transaction_is_shown(client, raw):
    def shown(session, **how):
        return list(client.admin.aggregate([{"$currentOp": how}, {"$match": {"lsid.id": session.lsid["id"]}}]))

    session = raw().start(readConcern={"level": "snapshot"})
    done(session.insert("c", {"_id": 1}))
    idle, = wait_until(lambda: shown(session))
    assert idle["type"] == "idleSession" and idle["active"] is False and "opid" not in idle
    transaction = idle["transaction"]
    assert transaction["parameters"]["txnNumber"] == 1 and transaction["parameters"]["autocommit"] is False
    assert transaction["parameters"]["readConcern"]["level"] == "snapshot"
    assert transaction["timeOpenMicros"] >= transaction["timeInactiveMicros"] > 0 and transaction["timeActiveMicros"] > 0
    assert transaction["startWallClockTime"] < transaction["expiryTime"]
    assert shown(session, idleSessions=False) == []
    done(session.commit())
    assert not [one for one in shown(session) if "transaction" in one]


def test_a_statement_that_runs_shows_its_transaction(client, raw, pool):
    client.t.c.insert_many([{"_id": i} for i in range(200)])
    session = raw().start()
    slow = {"$expr": {"$gt": [{"$reduce": {"input": {"$range": [0, 1_000_000]}, "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}, -1]}}
    running = pool.submit(session.run, {"find": "c", "filter": slow})
    op, = wait_until(lambda: list(client.admin.aggregate([{"$currentOp": {}}, {"$match": {"lsid.id": session.lsid["id"], "type": "op"}}])))
    assert op["active"] is True and op["transaction"]["parameters"]["txnNumber"] == 1
    assert client.admin.command("serverStatus")["transactions"]["currentActive"] == 1
    client.admin.command("killOp", 1, op=op["opid"])
    refused(running.result(DEADLINE), 11601)
    refused(session.commit(), 251, TRANSIENT)

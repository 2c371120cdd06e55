"""Views as drivers use them: reading, refusals, transactions, change streams, restarts, and sets."""
import pymongo
import pytest
from pymongo.errors import BulkWriteError, OperationFailure, WriteError

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet
from tests.support.streams import events
from tests.support.waiting import wait_until

PIPELINE = [{"$match": {"a": {"$gte": 10}}}, {"$set": {"twice": {"$multiply": ["$a", 2]}}}]


def refused(code, call, *arguments, **options):
    with pytest.raises(OperationFailure) as failure:
        call(*arguments, **options)
    assert failure.value.code == code, failure.value


def view_of(db):
    db.c.insert_many([{"_id": i, "a": i, "b": i % 3} for i in range(500)])
    return db.create_collection("v", viewOn="c", pipeline=PIPELINE)


def test_reading(db):
    v = view_of(db)
    assert [d["_id"] for d in v.find(batch_size=50)] == list(range(10, 500))
    assert v.find_one({"_id": 12}) == {"_id": 12, "a": 12, "b": 0, "twice": 24}
    assert [d["twice"] for d in v.find({"b": 1}).sort("a", -1).skip(1).limit(2)] == [992, 986]
    assert v.count_documents({"b": 1}) == 164 and v.estimated_document_count() == 490
    assert sorted(v.distinct("b")) == [0, 1, 2]
    assert list(v.aggregate([{"$group": {"_id": None, "n": {"$sum": 1}}}])) == [{"_id": None, "n": 490}]
    assert "queryPlanner" in str(v.find({"a": 20}).explain()["stages"][0])
    (found,) = db.list_collections(filter={"type": "view"})
    assert found == {"name": "v", "type": "view", "options": {"viewOn": "c", "pipeline": PIPELINE}, "info": {"readOnly": True}}
    assert sorted(db.list_collection_names()) == ["c", "system.views", "v"]


def test_nothing_writes_to_it(db):
    v = view_of(db)
    for write in (lambda: v.insert_one({}), lambda: v.update_one({}, {"$set": {"x": 1}}), lambda: v.delete_many({})):
        with pytest.raises(WriteError) as failure:
            write()
        assert failure.value.code == 166
    with pytest.raises(BulkWriteError):
        v.insert_many([{}, {}])
    refused(166, v.find_one_and_delete, {})
    refused(166, v.create_index, "a")
    refused(166, v.rename, "w")
    refused(166, db.c.aggregate, [{"$out": "v"}])
    assert db.c.count_documents({}) == 500


def test_an_index_of_its_collection_answers(db):
    v = view_of(db)
    db.c.create_index("a")
    plan = v.find({"b": 1}).explain()
    assert "IXSCAN" in str(plan)


def test_it_goes_with_drop(db):
    v = view_of(db)
    v.drop()
    assert list(v.find()) == [] and db.c.count_documents({}) == 500
    v.insert_one({"_id": 1})
    assert v.find_one() == {"_id": 1}


def test_restart():
    with Server() as server:
        view_of(server.client().t)
        server.stop()
        server.start()
        assert server.client().t.v.count_documents({}) == 490


def test_transactions_see_their_own_writes_through_it(client):
    v = view_of(client.t)
    with client.start_session() as session:
        session.start_transaction()
        client.t.c.insert_one({"_id": 1000, "a": 1000}, session=session)
        assert v.count_documents({}, session=session) == 491
        assert v.find_one({"_id": 1000}, session=session)["twice"] == 2000
        client.t.c.delete_one({"_id": 10})
        assert v.find_one({"_id": 10}, session=session)["twice"] == 20
        session.abort_transaction()
    assert v.count_documents({}) == 489
    with client.start_session() as session:
        session.start_transaction()
        refused(263, client.t.create_collection, "w", viewOn="c", pipeline=[], session=session, check_exists=False)


def test_change_streams(client):
    db = client.t
    with db.watch(show_expanded_events=True) as stream, db.watch() as plain:
        db.create_collection("v", viewOn="c", pipeline=PIPELINE)
        db.command("collMod", "v", pipeline=[])
        db.v.drop()
        db.c.insert_one({"_id": 1})
        got = events(stream, 5)
        assert events(plain, 1)[0]["operationType"] == "insert"
    assert [event["operationType"] for event in got] == ["create", "modify", "drop", "create", "insert"]
    create, modify, drop = got[:3]
    assert create["ns"] == modify["ns"] == drop["ns"] == {"db": "t", "coll": "v"}
    assert create["operationDescription"] == {"viewOn": "c", "pipeline": PIPELINE}
    assert modify["operationDescription"] == {"viewOn": "c", "pipeline": []}
    with db.watch(show_expanded_events=True, resume_after=create["_id"]) as resumed:
        assert [event["operationType"] for event in events(resumed, 2)] == ["modify", "drop"]
    db.create_collection("v", viewOn="c", pipeline=[])
    refused(166, db.v.watch)


def test_secondaries_have_it():
    with ReplicaSet(3) as members:
        client = members.client(w="majority")
        view_of(client.t)
        for member in members.members:
            direct = pymongo.MongoClient(member.host, member.port, directConnection=True, readPreference="secondaryPreferred")
            wait_until(lambda: direct.t.v.count_documents({}) == 490)
            assert [one["name"] for one in direct.t.list_collections(filter={"type": "view"})] == ["v"]
            direct.close()
        another = members.join()
        direct = pymongo.MongoClient(another.host, another.port, directConnection=True, readPreference="secondaryPreferred")
        wait_until(lambda: direct.t.v.count_documents({}) == 490)
        direct.close()

"""Validators as drivers use them: errors and their reasons, what is bypassed, restarts, and sets."""
import pymongo
import pytest
from pymongo.errors import BulkWriteError, OperationFailure, WriteError

from tests.support.palimpsest import Server
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

SCHEMA = {"$jsonSchema": {"required": ["name"], "properties": {"name": {"bsonType": "string", "description": "must be a string"}}}}


def test_errors_say_why(db):
    c = db.create_collection("c", validator=SCHEMA)
    with pytest.raises(WriteError) as failure:
        c.insert_one({"_id": 1, "name": 5})
    assert failure.value.code == 121
    info = failure.value.details["errInfo"]
    assert info["failingDocumentId"] == 1
    (rule,) = info["details"]["schemaRulesNotSatisfied"]
    assert rule["propertiesNotSatisfied"][0]["description"] == "must be a string"
    with pytest.raises(OperationFailure) as failure:
        c.find_one_and_update({"_id": 1}, {"$set": {"a": 1}}, upsert=True)
    assert failure.value.code == 121 and failure.value.details["errInfo"]["details"]["schemaRulesNotSatisfied"][0]["missingProperties"] == ["name"]


def test_bulk_writes_go_on_where_they_may(db):
    c = db.create_collection("c", validator=SCHEMA)
    with pytest.raises(BulkWriteError) as failure:
        c.insert_many([{"_id": i, "name": "x" if i % 2 else i} for i in range(10)], ordered=False)
    assert failure.value.details["nInserted"] == 5
    assert [error["index"] for error in failure.value.details["writeErrors"]] == [0, 2, 4, 6, 8]
    assert all(error["errInfo"]["failingDocumentId"] == error["index"] for error in failure.value.details["writeErrors"])


def test_bypass(db):
    c = db.create_collection("c", validator=SCHEMA)
    c.insert_one({"_id": 1}, bypass_document_validation=True)
    c.update_one({"_id": 1}, {"$set": {"a": 1}}, bypass_document_validation=True)
    c.replace_one({"_id": 1}, {"b": 1}, bypass_document_validation=True)
    list(c.aggregate([{"$set": {"c": 1}}, {"$merge": "c"}], bypassDocumentValidation=True))
    assert c.find_one() == {"_id": 1, "b": 1, "c": 1}
    with pytest.raises(WriteError):
        c.update_one({"_id": 1}, {"$set": {"a": 2}})


def test_now_is_the_commands_own(db):
    c = db.create_collection("c", validator={"$expr": {"$lte": ["$at", "$$NOW"]}})
    for _ in range(3):
        c.update_one({"_id": 1}, {"$currentDate": {"at": True}}, upsert=True)


def test_rules_and_level_outlive_a_restart():
    with Server() as server:
        db = server.client().t
        db.create_collection("c", validator=SCHEMA)
        db.command("collMod", "c", validationLevel="moderate")
        server.stop()
        server.start()
        db = server.client().t
        options = next(db.list_collections())["options"]
        assert options == {"validator": SCHEMA, "validationLevel": "moderate", "validationAction": "error"}
        with pytest.raises(WriteError):
            db.c.insert_one({})


def test_a_warning_is_logged(db):
    c = db.create_collection("c", validator=SCHEMA, validationAction="warn")
    c.insert_one({"_id": "warned"})
    log = db.client.admin.command("getLog", "global")["log"]
    assert any('"id":20294' in line and "warned" in line for line in log)


def test_a_transaction_that_breaks_the_rules_is_aborted(client):
    client.t.create_collection("c", validator=SCHEMA)
    with client.start_session() as session:
        session.start_transaction()
        client.t.c.insert_one({"_id": 1, "name": "x"}, session=session)
        with pytest.raises(WriteError) as failure:
            client.t.c.insert_one({"_id": 2}, session=session)
        assert failure.value.code == 121
    assert client.t.c.count_documents({}) == 0


def test_secondaries_repeat_what_was_stored():
    with ReplicaSet(3) as members:
        client = members.client(w="majority")
        c = client.t.create_collection("c", validator=SCHEMA)
        c.insert_one({"_id": 1}, bypass_document_validation=True)
        client.t.command("collMod", "c", validationAction="warn")
        c.insert_one({"_id": 2})
        client.t.command("collMod", "c", validationAction="error", validationLevel="moderate")
        c.update_one({"_id": 2}, {"$set": {"a": 1}})
        for member in members.members:
            direct = pymongo.MongoClient(member.host, member.port, directConnection=True, readPreference="secondaryPreferred")
            wait_until(lambda: direct.t.c.find_one({"_id": 2}) == {"_id": 2, "a": 1})
            assert next(direct.t.list_collections())["options"] == {"validator": SCHEMA, "validationLevel": "moderate", "validationAction": "error"}
            direct.close()
        members.primary().command("replSetStepDown", 30, force=True)
        with pytest.raises(WriteError):
            c.insert_one({"_id": 3})

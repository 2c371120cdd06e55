"""Change streams as drivers use them, on a set of one member: events of every kind, resuming, images, refusals."""
import random
import socket
import threading
import time

import bson
import pymongo
import pytest
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern

from tests.support.palimpsest import raw_command, send_raw
from tests.support.streams import WaitingCursors, events
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture
def db(client):
    return client["t"]


def refused(code, call, *arguments, **options):
    with pytest.raises(OperationFailure) as failure:
        call(*arguments, **options)
    assert failure.value.code == code, failure.value
    return failure.value


def no_event(stream):
    assert stream.try_next() is None


def stripped(event):
    return {name: value for name, value in event.items() if name not in ("_id", "clusterTime", "wallTime")}


# ---- events ---------------------------------------------------------------------------------------

def test_documents(db):
    c = db.c
    with c.watch() as stream:
        c.insert_one({"_id": 1, "a": 1, "b": {"x": 1, "y": 2}, "l": [1] * 9})
        c.update_one({"_id": 1}, {"$set": {"a": 2, "b.x": 5}, "$unset": {"b.y": ""}})
        c.update_one({"_id": 1}, [{"$set": {"l": [1] * 5}}])
        c.replace_one({"_id": 1}, {"a": 9})
        c.delete_one({"_id": 1})
        got = events(stream, 5)
    ns = {"db": "t", "coll": "c"}
    key = {"_id": 1}
    assert [stripped(event) for event in got] == [
        {"operationType": "insert", "fullDocument": {"_id": 1, "a": 1, "b": {"x": 1, "y": 2}, "l": [1] * 9}, "ns": ns, "documentKey": key},
        {"operationType": "update", "ns": ns, "documentKey": key,
         "updateDescription": {"updatedFields": {"a": 2, "b.x": 5}, "removedFields": ["b.y"], "truncatedArrays": []}},
        {"operationType": "update", "ns": ns, "documentKey": key,
         "updateDescription": {"updatedFields": {}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 5}]}},
        {"operationType": "replace", "fullDocument": {"_id": 1, "a": 9}, "ns": ns, "documentKey": key},
        {"operationType": "delete", "ns": ns, "documentKey": key},
    ]
    times = [event["clusterTime"] for event in got]
    assert times == sorted(times) and all(isinstance(time, bson.Timestamp) for time in times)
    tokens = [event["_id"]["_data"] for event in got]
    assert tokens == sorted(tokens) and len(set(tokens)) == 5
    assert all(abs(event["wallTime"].timestamp() - time.time()) < 86400 for event in got)


def test_an_update_stays_one_however_large(db):
    """What operators did is an update, whatever share of the document it changes."""
    c = db.c
    c.insert_one({"_id": 1, "text": "a" * 5000})
    with c.watch() as stream:
        c.update_one({"_id": 1}, {"$set": {"text": "b" * 5000}})
        c.update_one({"_id": 1}, {"$set": {"text": "c"}})
        for event, text in zip(events(stream, 2), ("b" * 5000, "c")):
            assert event["operationType"] == "update"
            assert event["updateDescription"]["updatedFields"] == {"text": text}
    entry = db.client.local["oplog.rs"].find_one({"ns": "t.c", "op": "u", "o.diff.u.text": "b" * 5000})
    assert entry["o"] == {"$v": 2, "diff": {"u": {"text": "b" * 5000}}} and entry["o2"] == {"_id": 1}


def test_scopes(client, db):
    with db.c.watch() as one, db.watch() as all_of_db, client.watch() as everything:
        db.c.insert_one({"_id": 1})
        db.d.insert_one({"_id": 2})
        client["t2"].e.insert_one({"_id": 3})
        db.c.insert_one({"_id": 4})
        assert [event["documentKey"]["_id"] for event in events(one, 2)] == [1, 4]
        assert [event["documentKey"]["_id"] for event in events(all_of_db, 3)] == [1, 2, 4]
        assert [(event["ns"]["db"], event["documentKey"]["_id"]) for event in events(everything, 4)] == [("t", 1), ("t", 2), ("t2", 3), ("t", 4)]
    client.drop_database("t2")


def test_what_was_before_the_stream_is_not_in_it(db):
    db.c.insert_one({"_id": 1})
    with db.c.watch() as stream:
        no_event(stream)
        db.c.insert_one({"_id": 2})
        assert events(stream, 1)[0]["documentKey"] == {"_id": 2}


def test_drop_ends_a_collections_stream(db):
    db.c.insert_one({"_id": 1})
    with db.c.watch() as stream, db.watch() as all_of_db:
        db.c.drop()
        dropped, end = events(stream, 2)
        assert stripped(dropped) == {"operationType": "drop", "ns": {"db": "t", "coll": "c"}}
        assert stripped(end) == {"operationType": "invalidate"}
        with pytest.raises(StopIteration):
            stream.next()
        assert events(all_of_db, 1)[0]["operationType"] == "drop"
        refused(260, db.c.watch, resume_after=end["_id"])
        with db.c.watch(start_after=end["_id"]) as later:
            db.c.insert_one({"_id": 2})
            assert events(later, 1)[0]["documentKey"] == {"_id": 2}
        with db.c.watch(resume_after=dropped["_id"]) as again:
            assert events(again, 1)[0]["operationType"] == "invalidate"


def test_rename(db):
    db.c.insert_one({"_id": 1})
    db.other.insert_one({"_id": 2})
    with db.c.watch() as stream, db.other.watch() as target, db.watch(show_expanded_events=True) as all_of_db:
        db.c.rename("other", dropTarget=True)
        for one in stream, target:
            renamed, end = events(one, 2)
            assert stripped(renamed) == {"operationType": "rename", "ns": {"db": "t", "coll": "c"}, "to": {"db": "t", "coll": "other"}}
            assert end["operationType"] == "invalidate"
        renamed = events(all_of_db, 1)[0]
        assert renamed["operationDescription"]["to"] == {"db": "t", "coll": "other"}
        assert isinstance(renamed["operationDescription"]["dropTarget"], bson.Binary)
        assert "collectionUUID" in renamed


def test_drop_of_a_database(client, db):
    db.c.insert_one({"_id": 1})
    with db.watch() as stream, client.watch() as everything, db.c.watch() as one:
        client.drop_database("t")
        assert [event["operationType"] for event in events(stream, 3)] == ["drop", "dropDatabase", "invalidate"]
        assert [event["operationType"] for event in events(one, 2)] == ["drop", "invalidate"]
        got = events(everything, 2)
        assert [stripped(event) for event in got] == [{"operationType": "drop", "ns": {"db": "t", "coll": "c"}},
                                                      {"operationType": "dropDatabase", "ns": {"db": "t"}}]


def test_expanded_events(db):
    with db.watch(show_expanded_events=True) as stream, db.watch() as plain:
        db.create_collection("c")
        db.c.create_index("a", name="by_a")
        db.command("collMod", "c", index={"name": "by_a", "hidden": True})
        db.command("collMod", "c")
        db.command("collMod", "c", changeStreamPreAndPostImages={"enabled": True}, dedup={"profile": "archive"})
        db.c.drop_index("by_a")
        db.c.insert_one({"_id": 1, "a.b": 1, "n": {"0": 1}})
        db.c.update_one({"_id": 1}, {"$set": {"n.0": 2}})
        create, index, modify, empty, options, drop, insert, update = events(stream, 8)
        assert events(plain, 1)[0]["operationType"] == "insert"
    uuid = create["collectionUUID"]
    assert all(event["collectionUUID"] == uuid for event in (index, modify, empty, options, drop, insert, update))
    assert create["operationType"] == "create" and create["ns"] == {"db": "t", "coll": "c"}
    assert create["operationDescription"]["idIndex"] == {"v": 2, "key": {"_id": 1}, "name": "_id_"}
    assert index["operationType"] == "createIndexes"
    assert index["operationDescription"] == {"indexes": [{"v": 2, "key": {"a": 1}, "name": "by_a"}]}
    assert modify["operationType"] == "modify" and modify["operationDescription"] == {"index": {"name": "by_a", "hidden": True}}
    assert modify["stateBeforeChange"] == {"collectionOptions": {"uuid": uuid}, "indexOptions": {"hidden": False}}
    assert empty["operationType"] == "modify" and empty["operationDescription"] == {}
    assert empty["stateBeforeChange"] == {"collectionOptions": {"uuid": uuid}}
    assert options["operationDescription"] == {"dedup": {"profile": "archive"}, "changeStreamPreAndPostImages": {"enabled": True}}
    assert options["stateBeforeChange"] == {"collectionOptions": {"uuid": uuid}}
    assert drop["operationType"] == "dropIndexes"
    assert drop["operationDescription"] == {"indexes": [{"v": 2, "key": {"a": 1}, "name": "by_a", "hidden": True}]}
    assert update["updateDescription"]["disambiguatedPaths"] == {"n.0": ["n", "0"]}


def test_transactions_come_whole_and_in_order(client, db):
    db.c.insert_one({"_id": 0})
    db.d.insert_one({"_id": 0})
    with db.watch() as stream, client.start_session() as session:
        with session.start_transaction():
            db.c.insert_one({"_id": 1}, session=session)
            db.d.update_one({"_id": 0}, {"$set": {"a": 1}}, session=session)
            db.c.delete_one({"_id": 0}, session=session)
            db.d.insert_one({"_id": 9})  # outside of it, and before its end
        first, *inside = events(stream, 4)
        assert first["documentKey"] == {"_id": 9} and "txnNumber" not in first
        assert [event["operationType"] for event in inside] == ["insert", "update", "delete"]
        assert len({event["clusterTime"] for event in inside}) == 1
        assert len({event["txnNumber"] for event in inside}) == 1
        assert all(event["lsid"]["id"] == session.session_id["id"] for event in inside)
        for at, event in enumerate(inside):
            with db.watch(resume_after=event["_id"]) as again:
                rest = inside[at + 1:]
                assert events(again, len(rest)) == rest
                no_event(again)
        # In a stream of one collection, the transaction's others are left out.
        with db.c.watch(start_at_operation_time=inside[0]["clusterTime"]) as of_c:
            assert events(of_c, 2) == [inside[0], inside[2]]


# ---- resuming ---------------------------------------------------------------------------------------

def test_resumes_at_every_event(db):
    with db.watch() as stream:
        for at in range(20):
            db[random.choice("cd")].insert_one({"_id": at})
        all_events = events(stream, 20)
        end = stream.resume_token
    for at, event in enumerate(all_events):
        for option in "resume_after", "start_after":
            with db.watch(**{option: event["_id"]}) as again:
                assert events(again, 19 - at) == all_events[at + 1:]
    with db.watch(resume_after=end) as again:
        no_event(again)
    with db.watch(start_at_operation_time=all_events[7]["clusterTime"]) as again:
        assert events(again, 13) == all_events[7:]


def test_batches_always_have_a_token(db):
    reply = db.command("aggregate", "c", pipeline=[{"$changeStream": {}}], cursor={"batchSize": 0})["cursor"]
    token = reply["postBatchResumeToken"]
    db.other.insert_one({"_id": 1})  # moves the stream on, though it isn't the stream's

    def newer_batch():
        batch = db.command("getMore", reply["id"], collection="c", maxTimeMS=300)["cursor"]
        assert batch["nextBatch"] == []
        return batch if batch["postBatchResumeToken"]["_data"] > token["_data"] else None
    newer = wait_until(newer_batch)
    db.c.insert_many([{"_id": at} for at in range(5)])
    batch = db.command("getMore", reply["id"], collection="c", batchSize=2, maxTimeMS=DEADLINE * 1000)["cursor"]
    assert batch["postBatchResumeToken"] == batch["nextBatch"][-1]["_id"]
    with db.c.watch(resume_after=newer["postBatchResumeToken"]) as again:
        assert [event["documentKey"]["_id"] for event in events(again, 5)] == list(range(5))


def test_tokens_that_lead_nowhere(db):
    db.c.insert_one({"_id": 1})
    with db.c.watch() as stream:
        db.c.insert_one({"_id": 2})
        token = events(stream, 1)[0]["_id"]["_data"]
    bad = [({"_data": 5}, 40647), ({}, 40647), ({"_data": ""}, 40649), ({"_data": "xyz"}, 9), ({"_data": "82"}, 260), ({"_data": token + "00"}, 260)]
    for document, code in bad:
        refused(code, db.c.watch, resume_after=document)
    # An event of another collection, and a time at which nothing happened.
    refused(280, db.d.watch, resume_after={"_data": token})
    other = token[:2] + f"{int(token[2:10], 16):08X}{int(token[10:18], 16) + 1000:08X}" + token[18:]
    with db.c.watch(resume_after={"_data": other}) as stream:
        # Another member might have had the event. Here it turns out that there was none.
        no_event(stream)
        wait_until(lambda: db.c.insert_one({}) and db.client.admin.command("ping")["operationTime"].time > int(token[2:10], 16))
        db.c.insert_one({})
        refused(280, events, stream, 1)
    old = token[:2] + "0000000100000001" + token[18:]
    assert refused(280, db.c.watch, resume_after={"_data": old})


def test_a_stream_from_the_beginning_of_the_log(db):
    """The log of this set has never been cut."""
    db.c.insert_one({"_id": 1})
    with db.c.watch(start_at_operation_time=bson.Timestamp(1, 1)) as stream:
        assert any(event["documentKey"] == {"_id": 1} for event in events(stream, 1))


def test_resumable_errors_have_their_label(client, db):
    reply = db.command("aggregate", "c", pipeline=[{"$changeStream": {}}], cursor={})["cursor"]
    client.admin.command("configureFailPoint", "failGetMoreAfterCursorCheckout", mode={"times": 1}, data={"errorCode": 262})
    error = refused(262, db.command, "getMore", reply["id"], collection="c")
    assert error.has_error_label("ResumableChangeStreamError")
    with db.c.watch() as stream:
        db.c.insert_one({"_id": 1})
        client.admin.command("configureFailPoint", "failGetMoreAfterCursorCheckout", mode={"times": 1}, data={"errorCode": 189})
        assert events(stream, 1)[0]["documentKey"] == {"_id": 1}
        db.command("killCursors", "c", cursors=[stream._cursor.cursor_id])
        db.c.insert_one({"_id": 2})
        assert events(stream, 1)[0]["documentKey"] == {"_id": 2}


def test_an_event_that_is_too_large_ends_its_own_streams_alone(db):
    """A path is repeated for each element that an update changes below it: 100 MB here."""
    name = "n" * 100_000
    db.c.insert_one({"_id": 1, name: [0] * 1000})
    with (db.c.watch([{"$match": {"operationType": "insert"}}], max_await_time_ms=1000) as inserts, db.watch(max_await_time_ms=1000) as whole,
          db.d.watch(max_await_time_ms=1000) as other):
        for stream in (inserts, whole, other):
            no_event(stream)
        before = whole.resume_token
        result = [None]

        def read():
            result[0] = events(other, 1)[0]
        waiting = threading.Thread(target=read)
        waiting.start()
        db.c.update_one({"_id": 1}, {"$inc": {f"{name}.$[]": 1}})
        db.d.insert_one({"_id": 2})
        waiting.join()
        assert result[0]["documentKey"] == {"_id": 2}
        with pytest.raises(OperationFailure) as failure:
            events(whole, 1)
        assert failure.value.code == 10334, failure.value
        db.c.insert_one({"_id": 3})
        assert events(inserts, 1)[0]["documentKey"] == {"_id": 3}  # it leaves updates out
        refused(10334, lambda: events(db.watch(resume_after=before), 1))


def test_a_token_that_is_still_to_come_costs_nothing_to_wait_for(client, db):
    """Another member has returned an event that this one will have. What comes before it must not wake the stream again and again."""
    with db.c.watch() as stream:
        db.c.insert_one({"_id": 1})
        token = events(stream, 1)[0]["_id"]["_data"]
    seconds = int(token[2:10], 16) + 3600
    opened = db.command("aggregate", "c", pipeline=[{"$changeStream": {"resumeAfter": {"_data": token[:2] + f"{seconds:08X}" + token[10:]}}}], cursor={})
    for i in range(3):
        db.c.insert_one({"_id": 10 + i})
    more = {"getMore": bson.Int64(opened["cursor"]["id"]), "collection": "c"}
    db.command(more, maxTimeMS=100)
    # A fail point that changes nothing counts how often the server takes up the getMore: at its beginning, at its end, and whenever it wakes.
    point = {"failCommands": ["getMore"], "blockConnection": True, "blockTimeMS": 0}
    client.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=point)
    assert db.command(more, maxTimeMS=3000)["cursor"]["nextBatch"] == []
    assert 1 < client.admin.command("configureFailPoint", "failCommand", mode="off")["count"] < 20
    db.command("killCursors", "c", cursors=[opened["cursor"]["id"]])


# ---- images -----------------------------------------------------------------------------------------

def test_update_lookup(db):
    db.c.insert_one({"_id": 1, "a": 1})
    with db.c.watch(full_document="updateLookup") as stream:
        db.c.update_one({"_id": 1}, {"$set": {"a": 2}})
        assert events(stream, 1)[0]["fullDocument"] == {"_id": 1, "a": 2}
        db.c.update_one({"_id": 1}, {"$set": {"a": 3}})
        db.c.delete_one({"_id": 1})
        wait_until(lambda: db.client.local["oplog.rs"].find_one({"op": "d", "ns": "t.c"}))
        update, gone = events(stream, 2)
        assert update["fullDocument"] is None and gone["operationType"] == "delete"


def test_pre_and_post_images(db):
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True})
    assert list(db.list_collections())[0]["options"]["changeStreamPreAndPostImages"] == {"enabled": True}
    rng = random.Random(7)
    text = ["".join(rng.choice("abcdefgh ") for _ in range(40)) for _ in range(200)]
    states = [{"_id": 1, "text": list(text), "n": 0}]
    db.c.insert_one(states[0])
    with db.c.watch(full_document="required", full_document_before_change="required") as stream:
        for n in range(1, 60):
            text[rng.randrange(len(text))] = f"line {n}"
            state = {"_id": 1, "text": list(text), "n": n}
            if n % 3 == 0:
                db.c.replace_one({"_id": 1}, state)
            else:
                db.c.update_one({"_id": 1}, {"$set": {"text": state["text"], "n": n}})
            states.append(state)
        db.c.delete_one({"_id": 1})
        got = events(stream, 60)
    for n, event in enumerate(got[:-1]):
        assert event["fullDocumentBeforeChange"] == states[n], n
        assert event["fullDocument"] == states[n + 1], n
    assert got[-1]["operationType"] == "delete" and got[-1]["fullDocumentBeforeChange"] == states[-1]
    # Later readers get the same.
    with db.c.watch(full_document="whenAvailable", full_document_before_change="whenAvailable", resume_after=got[0]["_id"]) as again:
        assert events(again, 59) == got[1:]


def test_images_that_are_not_there(db):
    db.c.insert_one({"_id": 1, "a": 1})
    with db.c.watch(full_document="whenAvailable", full_document_before_change="whenAvailable") as stream:
        db.c.update_one({"_id": 1}, {"$set": {"a": 2}})
        event = events(stream, 1)[0]
        assert event["fullDocument"] is None and event["fullDocumentBeforeChange"] is None
        token = event["_id"]
    db.c.update_one({"_id": 1}, {"$set": {"a": 3}})
    for option in "full_document", "full_document_before_change":
        refused(47, lambda: db.c.watch(resume_after=token, **{option: "required"}).next())
    db.command("collMod", "c", changeStreamPreAndPostImages={"enabled": True})
    with db.c.watch(full_document="required", full_document_before_change="required") as stream:
        db.c.update_one({"_id": 1}, {"$set": {"a": 4}})
        event = events(stream, 1)[0]
        assert event["fullDocument"] == {"_id": 1, "a": 4} and event["fullDocumentBeforeChange"] == {"_id": 1, "a": 3}


def test_images_expire_when_told(client, db):
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True})
    shown = client.admin.command("getClusterParameter", "changeStreamOptions")["clusterParameters"][0]
    assert shown["preAndPostImages"] == {"expireAfterSeconds": "off"}
    db.c.insert_one({"_id": 1, "a": 1})
    with db.c.watch() as stream:
        db.c.update_one({"_id": 1}, {"$set": {"a": 2}})
        token = events(stream, 1)[0]["clusterTime"]
    client.admin.command("setClusterParameter", {"changeStreamOptions": {"preAndPostImages": {"expireAfterSeconds": 1}}})
    shown = client.admin.command("getClusterParameter", ["changeStreamOptions"])["clusterParameters"][0]
    assert shown["preAndPostImages"] == {"expireAfterSeconds": 1}

    def expired():
        with db.c.watch(start_at_operation_time=token, full_document_before_change="whenAvailable") as again:
            return events(again, 1)[0]["fullDocumentBeforeChange"] is None
    try:
        wait_until(expired)
    finally:
        client.admin.command("setClusterParameter", {"changeStreamOptions": {"preAndPostImages": {"expireAfterSeconds": "off"}}})
    for value, code in ((5, 14), ({"preAndPostImages": {"expireAfterSeconds": 0}}, 2), ({"preAndPostImages": {"expireAfterSeconds": "on"}}, 2), ({}, 40414)):
        refused(code, client.admin.command, "setClusterParameter", {"changeStreamOptions": value})
    refused(4, client.admin.command, "setClusterParameter", {"other": {}})


# ---- pipelines -----------------------------------------------------------------------------------------

def test_later_stages(db):
    pipeline = [{"$match": {"operationType": "insert", "fullDocument.a": {"$gt": 5}}}, {"$set": {"seen": True}}, {"$project": {"wallTime": 0}}]
    with db.c.watch(pipeline) as stream:
        db.c.insert_many([{"_id": at, "a": at} for at in range(10)])
        db.c.delete_one({"_id": 9})
        got = events(stream, 4)
        assert [event["documentKey"]["_id"] for event in got] == [6, 7, 8, 9]
        assert all(event["seen"] and "wallTime" not in event for event in got)
        no_event(stream)
    for stage in ({"$group": {"_id": 1}}, {"$sort": {"a": 1}}, {"$limit": 1}, {"$lookup": {"from": "d", "pipeline": [], "as": "x"}}, {"$out": "x"}):
        refused(20, db.c.watch, [stage])


def test_streams_with_one_match_and_other_options(db):
    """What one stream's filter says holds for no other stream that looks documents up."""
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True})
    db.c.insert_one({"_id": 1, "a": 1})
    match = [{"$match": {"fullDocument.a": {"$gte": 2}}}]
    for n in range(2, 10):  # each time other streams, of which the server asks another one first
        options = [{"full_document": "updateLookup"}, {"full_document": "required"}, {}]
        patience = [DEADLINE * 1000, DEADLINE * 1000, 1000]  # the last one has no event to come
        streams = [db.c.watch(match, max_await_time_ms=each, **more) for each, more in zip(patience, options)]
        cursors = WaitingCursors(db.client)
        got = [None] * len(streams)

        def read(at):
            got[at] = streams[at].try_next()
        waiting = [threading.Thread(target=read, args=(at,)) for at in range(len(streams))]
        [each.start() for each in waiting[:-1]]
        cursors.wait_for(2)
        waiting[-1].start()
        wait_until(lambda: cursors.count() == 3 or not waiting[-1].is_alive())
        db.c.update_one({"_id": 1}, {"$set": {"a": n}})
        [each.join() for each in waiting]
        assert got[-1] is None
        for stream, event in zip(streams[:-1], got[:-1]):
            event = event or events(stream, 1)[0]
            assert event["fullDocument"]["a"] == n
        [stream.close() for stream in streams]


def test_tokens_must_be_left_alone(db):
    for stage in ({"$project": {"_id": 0}}, {"$set": {"_id": 5}}, {"$replaceWith": {"a": 1}}):
        with db.c.watch([stage]) as stream:
            db.c.insert_one({})
            with pytest.raises(PyMongoError) as failure:
                events(stream, 1)
            assert getattr(failure.value, "code", 280) == 280
        reply = db.command("aggregate", "c", pipeline=[{"$changeStream": {}}, stage], cursor={})["cursor"]
        db.c.insert_one({})
        error = refused(280, db.command, "getMore", reply["id"], collection="c", maxTimeMS=DEADLINE * 1000)
        assert error.has_error_label("NonResumableChangeStreamError")


def test_large_events_are_split(db):
    db.create_collection("c", changeStreamPreAndPostImages={"enabled": True})
    db.c.insert_one({"_id": 1, "a": "x" * 9_000_000})
    with db.c.watch([{"$changeStreamSplitLargeEvent": {}}], full_document="required", full_document_before_change="required") as stream:
        db.c.update_one({"_id": 1}, {"$set": {"a": "y" * 9_000_000}})
        db.c.insert_one({"_id": 2})
        *parts, last = events(stream, 4)
    assert last["documentKey"] == {"_id": 2} and "splitEvent" not in last
    assert [part["splitEvent"] for part in parts] == [{"fragment": at, "of": 3} for at in (1, 2, 3)]
    whole = {name: value for part in parts for name, value in part.items()}
    assert whole["fullDocument"]["a"] == "y" * 9_000_000 and whole["fullDocumentBeforeChange"]["a"] == "x" * 9_000_000
    tokens = [part["_id"]["_data"] for part in parts]
    assert tokens == sorted(tokens) and len(set(tokens)) == 3
    options = {"full_document": "required", "full_document_before_change": "required"}
    with db.c.watch([{"$changeStreamSplitLargeEvent": {}}], resume_after=parts[0]["_id"], **options) as again:
        assert events(again, 3) == parts[1:] + [last]
    refused(280, db.c.watch, resume_after=parts[0]["_id"], **options)
    # Without the stage the event is more than a reply can hold.
    with db.c.watch(start_at_operation_time=last["clusterTime"], **options) as whole_events:
        assert events(whole_events, 1) == [last]


def test_refusals(client, db):
    stream = "$changeStream"
    for specification, code in (({"fullDocument": "some"}, 2), ({"fullDocumentBeforeChange": "on"}, 2), ({"foo": 1}, 40415), ({"fullDocument": 5}, 14),
                                ({"resumeAfter": "x"}, 14), ({"startAtOperationTime": 5}, 14), ({"allChangesForCluster": True}, 72)):
        refused(code, db.command, "aggregate", "c", pipeline=[{stream: specification}], cursor={})
    refused(50808, db.command, "aggregate", "c", pipeline=[{stream: 1}], cursor={})
    refused(40602, db.command, "aggregate", "c", pipeline=[{"$match": {}}, {stream: {}}], cursor={})
    refused(51047, db.command, "aggregate", "c", pipeline=[{"$lookup": {"from": "d", "pipeline": [{stream: {}}], "as": "x"}}], cursor={})
    refused(20, db.command, "aggregate", "c", pipeline=[{"$changeStreamSplitLargeEvent": {}}], cursor={})
    for name in "admin", "config", "local":
        refused(73, client[name].command, "aggregate", 1, pipeline=[{stream: {}}], cursor={})
    refused(73, db.command, "aggregate", "system.js", pipeline=[{stream: {}}], cursor={})
    refused(72, db.with_options(read_concern=ReadConcern("local")).command, "aggregate", "c", pipeline=[{stream: {}}], cursor={}, readConcern={"level": "local"})
    with client.start_session() as session:
        session.start_transaction()
        refused(263, db.c.watch, session=session)
        session.abort_transaction()
    with db.c.watch() as one:
        db.c.insert_one({})
        token, time_ = events(one, 1)[0]["_id"], bson.Timestamp(1, 1)
    for options, code in (({"resumeAfter": token, "startAfter": token}, 50865), ({"resumeAfter": token, "startAtOperationTime": time_}, 40674)):
        refused(code, db.command, "aggregate", "c", pipeline=[{stream: options}], cursor={})


def test_a_standalone_server_says_what_is_missing(server):
    with server.client() as alone:
        refused(40573, alone.t.c.watch)
        refused(72, alone.t.create_collection, "c", changeStreamPreAndPostImages={"enabled": True})


# ---- waiting -------------------------------------------------------------------------------------------

def test_a_waiting_stream_wakes_at_once(db):
    seen = 0

    def insert():
        for at in range(20):
            wait_until(lambda: seen == at)
            cursors.wait_for(1)
            db.c.insert_one({"_id": at})
    with db.c.watch(max_await_time_ms=DEADLINE * 1000) as stream:
        cursors = WaitingCursors(db.client)
        writer = threading.Thread(target=insert)
        writer.start()
        for at in range(20):
            assert stream.next()["documentKey"] == {"_id": at}
            seen += 1
        writer.join()
    status = db.client.admin.command("serverStatus")
    wait_until(lambda: db.client.admin.command("serverStatus")["changeStreams"]["open"] == 0)
    assert status["changeStreams"]["rounds"] > 0


def opened(client):
    reply = raw_command(*client.primary, {"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}, "$db": "t"})
    return bson.Int64(reply["cursor"]["id"])


def test_a_cursor_that_waits_is_in_use_and_does_not_time_out(client, db, raw, pool):
    db.create_collection("c")
    before = client.admin.command("getParameter", 1, cursorTimeoutMillis=1)["cursorTimeoutMillis"]
    more = {"collection": "c", "maxTimeMS": DEADLINE * 1000, "$db": "t"}
    cursor = opened(client)

    def figures():
        return client.admin.command("serverStatus")["metrics"]["cursor"]
    pinned = figures()["open"]["pinned"]
    waiting = pool.submit(raw_command, *client.primary, {"getMore": cursor, **more})
    wait_until(lambda: figures()["open"]["pinned"] > pinned)
    reply = raw_command(*client.primary, {"getMore": cursor, **more, "maxTimeMS": 1})
    assert reply["code"] == 143, reply
    timed_out = figures()["timedOut"]
    try:
        client.admin.command("setParameter", 1, cursorTimeoutMillis=1)
        # Another cursor shows that the registry has looked since.
        db.d.insert_many([{"_id": i} for i in range(10)])
        raw_command(*client.primary, {"find": "d", "batchSize": 1, "$db": "t"})
        wait_until(lambda: figures()["timedOut"] > timed_out)
    finally:
        client.admin.command("setParameter", 1, cursorTimeoutMillis=before)
    db.c.insert_one({"_id": 1})
    batch = waiting.result(DEADLINE)["cursor"]["nextBatch"]
    assert [event["documentKey"] for event in batch] == [{"_id": 1}]
    assert raw_command(*client.primary, {"getMore": cursor, **more, "maxTimeMS": 1})["ok"] == 1
    db.command("killCursors", "c", cursors=[cursor])


def test_a_client_that_leaves_ends_its_wait(client, db):
    db.create_collection("c")
    cursor = opened(client)

    def figures():
        return client.admin.command("serverStatus")["metrics"]["cursor"]["open"]["pinned"]
    pinned = figures()
    more = {"getMore": cursor, "collection": "c", "$db": "t"}
    with socket.create_connection(client.primary, timeout=DEADLINE) as connection:
        send_raw(connection, {**more, "maxTimeMS": 10 * DEADLINE * 1000})
        wait_until(lambda: figures() > pinned)
    wait_until(lambda: figures() == pinned)
    assert raw_command(*client.primary, {**more, "maxTimeMS": 1})["ok"] == 1
    db.command("killCursors", "c", cursors=[cursor])


def test_closing_a_stream_that_waits(db):
    stream = db.c.watch(max_await_time_ms=DEADLINE * 1000)
    ended = threading.Event()

    def read():
        try:
            while stream.alive:
                stream.try_next()
        except PyMongoError:
            pass
        ended.set()
    reader = threading.Thread(target=read)
    cursors = WaitingCursors(db.client)
    reader.start()
    cursors.wait_for(1)
    db.command("killCursors", "c", cursors=[stream._cursor.cursor_id])
    db.c.insert_one({})  # a driver resumes, and meets this
    stream.close()
    reader.join(DEADLINE)
    assert ended.is_set()

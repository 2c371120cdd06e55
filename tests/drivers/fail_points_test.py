"""These tests arm fail points as suites of drivers do, and check what getMore's maxTimeMS means."""
import concurrent.futures
import threading
import time

import bson
import pytest
from pymongo.errors import AutoReconnect, ExecutionTimeout, NotPrimaryError, OperationFailure, ServerSelectionTimeoutError

from tests.support.palimpsest import Server, raw_command
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def server():
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1") as running:
        running.initiate()
        yield running


@pytest.fixture
def client(server):
    client = plain(server, appname="tested")
    client.drop_database("t")
    client.t.c.insert_many([{"_id": number} for number in range(300)])
    yield client
    for point in ("failCommand", "failGetMoreAfterCursorCheckout", "maxTimeAlwaysTimeOut", "maxTimeNeverTimeOut", "onPrimaryTransactionalWrite"):
        client.admin.command("configureFailPoint", point, mode="off")
    client.close()


def plain(server, **options):
    """Nothing is retried: the first error is seen."""
    return server.client(directConnection=True, retryReads=False, retryWrites=False, **options)


def arm(client, data=None, mode="alwaysOn", point="failCommand"):
    return client.admin.command("configureFailPoint", point, mode=mode, **({} if data is None else {"data": data}))


def entered(client, point="failCommand"):
    return client.admin.command("configureFailPoint", point, mode="off")["count"]


def refused(call, code):
    with pytest.raises((OperationFailure, NotPrimaryError)) as failure:
        call()
    assert failure.value.details["code"] == code, failure.value
    return failure.value


# ---- failCommand --------------------------------------------------------------------------------

def test_a_command_fails_under_each_of_its_names(client):
    for listed in ("findAndModify", "findandmodify"):
        arm(client, {"failCommands": [listed], "errorCode": 100})
        refused(lambda: client.t.c.find_one_and_update({}, {"$set": {"a": 1}}), 100)
    client.t.c.find_one()


def test_without_names_nothing_fails_and_with_all_everything(client):
    arm(client, {"errorCode": 100})
    client.t.c.find_one()
    arm(client, {"failCommands": ["find"]})
    client.t.c.find_one()
    assert entered(client) == arm(client, {"failAllCommands": False, "errorCode": 100})["count"]
    client.t.c.find_one()
    arm(client, {"failAllCommands": True, "errorCode": 100})
    refused(lambda: client.t.c.find_one(), 100)
    refused(lambda: client.admin.command("ping"), 100)
    arm(client, mode="off")  # configureFailPoint itself is spared
    client.admin.command("ping")


def test_the_application_the_namespace_and_the_thread_may_be_chosen(server, client):
    data = {"failCommands": ["find", "getMore", "listCollections"], "errorCode": 100}
    arm(client, {**data, "appName": "another"})
    client.t.c.find_one()
    with plain(server, appname="another") as another:
        refused(lambda: another.t.c.find_one(), 100)
    arm(client, {**data, "namespace": "t.d"})
    client.t.c.find_one()
    client.t.list_collection_names()
    refused(lambda: client.t.d.find_one(), 100)
    arm(client, {**data, "namespace": "t"})
    refused(lambda: client.t.list_collection_names(), 100)
    arm(client, mode="off")
    cursor = client.t.c.find(batch_size=2)
    next(cursor)
    arm(client, {**data, "namespace": "t.c"})
    refused(lambda: list(cursor), 100)
    arm(client, {**data, "threadName": "conn0"})
    client.t.c.find_one()


def test_a_first_hello_says_whose_it_is(server, client):
    arm(client, {"failCommands": ["hello", "isMaster"], "appName": "newcomer", "closeConnection": True})
    with server.client(directConnection=True, appname="newcomer", serverSelectionTimeoutMS=300) as newcomer, pytest.raises(ServerSelectionTimeoutError):
        newcomer.admin.command("ping")
    with server.client(directConnection=True, appname="another") as another:
        another.admin.command("ping")


def test_an_awaited_hello_fails_before_it_waits(server, client):
    document = {"client": {"driver": {"name": "d", "version": "1"}, "os": {"type": "Linux"}, "application": {"name": "monitor"}}}
    version = raw_command("127.0.0.1", server.port, {"hello": 1, "$db": "admin"})["topologyVersion"]
    arm(client, {"failCommands": ["hello"], "appName": "monitor", "errorCode": 100})
    awaited = {"hello": 1, "topologyVersion": version, "maxAwaitTimeMS": 600_000, "$db": "admin"}
    assert raw_command("127.0.0.1", server.port, {**awaited, **document})["code"] == 100
    assert raw_command("127.0.0.1", server.port, {**awaited, "maxAwaitTimeMS": 50})["ok"] == 1
    # A command that is only blocked waits all the same: else a driver's monitor would ask without a pause.
    arm(client, {"failCommands": ["hello"], "appName": "monitor", "blockConnection": True, "blockTimeMS": 1})
    began = time.monotonic()
    assert raw_command("127.0.0.1", server.port, {**awaited, **document, "maxAwaitTimeMS": 400})["ok"] == 1 and time.monotonic() - began >= 0.4


def test_labels_may_be_given_and_taken_away(server, client):
    def insert():
        return raw_command("127.0.0.1", server.port, {"insert": "c", "documents": [{}], "lsid": {"id": bson.Binary(bytes(16), 4)},
                                                      "txnNumber": bson.Int64(time.monotonic_ns()), "$db": "t"})

    data = {"failCommands": ["insert"]}
    for labels, expected in ((None, ["RetryableWriteError"]), ([], None), (["mine", "yours"], ["mine", "yours"])):
        more = {} if labels is None else {"errorLabels": labels}
        arm(client, {**data, "errorCode": 91, **more})
        assert insert().get("errorLabels") == expected
        arm(client, {**data, "writeConcernError": {"code": 91, "errmsg": "going"}, **more})
        reply = insert()
        assert reply["ok"] == 1 and reply.get("errorLabels") == expected and reply["writeConcernError"]["errmsg"] == "going"
    arm(client, {**data, "errorCode": 100})
    assert "errorLabels" not in insert()


def test_a_write_concern_error_is_for_commands_that_take_a_write_concern(client):
    arm(client, {"failCommands": ["find", "insert", "drop"], "writeConcernError": {"code": 64, "errmsg": "slow"}}, mode={"times": 1})
    before = client.t.c.count_documents({})
    client.t.c.find_one()
    assert client.t.command("insert", "c", documents=[{}], check=False)["writeConcernError"]["code"] == 64
    assert client.t.c.count_documents({}) == before + 1
    assert "writeConcernError" not in client.t.command("insert", "c", documents=[{}])


def test_a_connection_blocks_for_its_time(client):
    client.t.c.find_one()
    for data, least, most in (({"blockConnection": True, "blockTimeMS": 300}, 0.3, DEADLINE), ({"blockConnection": False, "blockTimeMS": 600_000}, 0, DEADLINE)):
        arm(client, {"failCommands": ["find"], **data})
        began = time.monotonic()
        client.t.c.find_one()
        assert least <= time.monotonic() - began < most
    # A time limit doesn't end the block, but counts from before it; an error that the fail point has comes first.
    for more, code in (({}, 50), ({"errorCode": 100}, 100)):
        arm(client, {"failCommands": ["find"], "blockConnection": True, "blockTimeMS": 300, **more})
        began = time.monotonic()
        refused(lambda: client.t.c.find_one(max_time_ms=50), code)
        assert time.monotonic() - began >= 0.3
    arm(client, {"failCommands": ["find"], "blockConnection": True})
    refused(lambda: client.t.c.find_one(), 72)
    arm(client, {"failCommands": ["find"], "blockConnection": True, "blockTimeMS": -1})
    refused(lambda: client.t.c.find_one(), 72)


def test_a_command_that_is_answered_at_once_can_block_and_others_go_on(server, client):
    arm(client, {"failCommands": ["ping"], "appName": "blocked", "blockConnection": True, "blockTimeMS": DEADLINE * 1000})

    def running():
        return [one["opid"] for one in client.admin.command("currentOp", {"command.ping": 1})["inprog"] if one.get("appName") == "blocked"]

    with plain(server, appname="blocked") as blocked, concurrent.futures.ThreadPoolExecutor(6) as pool:
        pings = [pool.submit(blocked.admin.command, "ping") for _ in range(6)]
        wait_until(lambda: len(running()) == 6)
        client.admin.command("ping")
        client.t.c.find_one()
        assert not any(ping.done() for ping in pings)
        for opid in running():
            client.admin.command("killOp", op=opid)
        for ping in pings:
            refused(ping.result, 11601)


def test_a_closed_connection_has_no_answer(client):
    arm(client, {"failCommands": ["find"], "closeConnection": True, "errorCode": 91}, mode={"times": 1})
    with pytest.raises(AutoReconnect):
        client.t.c.find_one()
    client.t.c.find_one()


def test_modes_and_data_that_cannot_be_are_refused(client):
    def configure(mode, point="failCommand", **more):
        return lambda: client.admin.command("configureFailPoint", point, **({} if mode is None else {"mode": mode}), **more)

    refused(configure("alwaysOn", point="noSuchPoint"), 266)
    refused(configure("alwaysOn", point="x" * 100_000), 266)
    refused(configure("alwaysOn", point=1), 14)
    refused(configure(None), 20)
    for mode in ("sometimes", {}, {"times": -1}, {"times": 2 ** 31}, {"skip": 1.5}, {"activationProbability": 2}):
        refused(configure(mode), 2)
    for mode in (1, True, {"times": "x"}, {"activationProbability": "x"}):
        refused(configure(mode), 14)
    refused(configure("alwaysOn", data=1), 14)
    refused(configure("alwaysOn", data="x"), 14)
    refused(lambda: client.t.command("configureFailPoint", "failCommand", mode="off"), 13)


# ---- other points -------------------------------------------------------------------------------

WRITES = {
    "insert": {"insert": "c", "documents": [{"_id": "new"}]},
    "inserts": {"insert": "c", "documents": [{"_id": "new"}, {"_id": "newer"}]},
    "update by _id": {"update": "c", "updates": [{"q": {"_id": 7}, "u": {"$set": {"a": 1}}}]},
    "update": {"update": "c", "updates": [{"q": {"n": 7}, "u": {"$set": {"a": 1}}}]},
    "upsert": {"update": "c", "updates": [{"q": {"n": -1}, "u": {"$set": {"a": 1}}, "upsert": True}]},
    "delete by _id": {"delete": "c", "deletes": [{"q": {"_id": 7}, "limit": 1}]},
    "delete": {"delete": "c", "deletes": [{"q": {"n": 7}, "limit": 1}]},
    "findAndModify": {"findAndModify": "c", "query": {"n": 7}, "sort": {"n": 1}, "update": {"$set": {"a": 1}}},
    "findAndRemove": {"findAndModify": "c", "query": {"n": {"$gte": 7}}, "sort": {"n": 1}, "remove": True},
}


@pytest.mark.parametrize("write", WRITES)
def test_a_retryable_write_that_fails_before_its_commit_leaves_nothing(server, client, write):
    client.t.c.drop()
    client.t.c.insert_many([{"_id": number, "n": number} for number in range(20)])
    before = list(client.t.c.find().sort("_id"))

    def run(number):
        return raw_command("127.0.0.1", server.port, {**WRITES[write], "lsid": {"id": bson.Binary(b"s" * 16, 4)}, "txnNumber": bson.Int64(number), "$db": "t"})

    number = time.monotonic_ns()
    arm(client, {"failBeforeCommitExceptionCode": 91, "closeConnection": False}, {"times": 1}, "onPrimaryTransactionalWrite")
    failed = run(number)
    assert (failed.get("code") or failed["writeErrors"][0]["code"]) == 91
    # The connection is closed also where the fail point doesn't say so.
    arm(client, {"failBeforeCommitExceptionCode": 91}, {"times": 1}, "onPrimaryTransactionalWrite")
    with pytest.raises((EOFError, ConnectionError)):
        run(number)
    assert list(client.t.c.find().sort("_id")) == before and client.t.command("validate", "c")["valid"]
    answer = run(number)
    assert answer["ok"] == 1 and "writeErrors" not in answer and list(client.t.c.find().sort("_id")) != before


def test_a_get_more_fails_with_its_cursor_in_hand(client):
    point = "failGetMoreAfterCursorCheckout"
    for data, code in (({}, 1), ({"errorCode": 100}, 100), ({"errorCode": bson.Int64(189)}, 189)):
        cursor = client.t.command("find", "c", batchSize=2)["cursor"]["id"]
        arm(client, {**data, "appName": "tested"}, "alwaysOn", point)
        more = {"value": bson.Int64(cursor), "collection": "c", "batchSize": 2}
        refused(lambda: client.t.command("getMore", **more), code)
        arm(client, mode="off", point=point)
        refused(lambda: client.t.command("getMore", **more), 43)  # it went with the error
    arm(client, {"errorCode": 100, "appName": "another"}, "alwaysOn", point)
    assert len(list(client.t.c.find(batch_size=100))) == 300


def test_time_limits_always_end_or_never(client):
    arm(client, None, "alwaysOn", "maxTimeAlwaysTimeOut")
    with pytest.raises(ExecutionTimeout):
        client.t.c.find_one(max_time_ms=60_000)
    with pytest.raises(ExecutionTimeout):
        client.admin.command("ping", maxTimeMS=60_000)
    assert len(list(client.t.c.find())) == 300  # without a limit it changes nothing
    arm(client, None, "off", "maxTimeAlwaysTimeOut")
    arm(client, None, "alwaysOn", "maxTimeNeverTimeOut")
    arm(client, {"failCommands": ["find"], "blockConnection": True, "blockTimeMS": 100})
    assert client.t.c.find_one(max_time_ms=1) is not None


def test_they_are_there_for_tests_alone():
    with Server() as server, server.client() as client:
        for point in ("failCommand", "maxTimeAlwaysTimeOut", "noSuchPoint"):
            refused(lambda: client.admin.command("configureFailPoint", point, mode="off"), 59)


# ---- maxTimeMS of a getMore ---------------------------------------------------------------------

@pytest.fixture
def capped(client):
    collection = client.t.create_collection("capped", capped=True, size=100_000)
    collection.insert_many([{"_id": 1}, {"_id": 2}])
    return collection


def get_more(collection, cursor, **more):
    began = time.monotonic()
    reply = collection.database.command("getMore", bson.Int64(cursor), collection=collection.name, **more)
    return reply["cursor"], time.monotonic() - began


def opened(collection, **options):
    return collection.database.command("find", collection.name, **options)["cursor"]["id"]


def test_it_is_how_long_a_cursor_that_awaits_data_waits(capped):
    cursor = opened(capped, tailable=True, awaitData=True)

    def waited(least, **given):
        batch, seconds = get_more(capped, cursor, **given)
        assert batch["nextBatch"] == [] and batch["id"] == cursor and seconds >= least, (given, seconds)
        return seconds

    for given, least in (({"maxTimeMS": 1500}, 1.5), ({}, 1)):
        waited(least, **given)
    # Less than the second that it waits without a limit: on a slow machine not each time.
    for given, least in (({"maxTimeMS": 0}, 0), ({"maxTimeMS": 200}, 0.2), ({"maxTimeMS": bson.Int64(300)}, 0.3)):
        wait_until(lambda: waited(least, **given) < 0.95)
    writer = threading.Timer(0.2, lambda: capped.insert_one({"_id": 3}))
    writer.start()
    batch, seconds = get_more(capped, cursor, maxTimeMS=600_000)
    writer.join()
    assert batch["nextBatch"] == [{"_id": 3}] and seconds < DEADLINE


def test_others_refuse_it(capped):
    for options in ({"batchSize": 1}, {"tailable": True}, {"tailable": True, "awaitData": False, "batchSize": 1}):
        cursor = opened(capped, **options)
        for limit in (0, 100, bson.Int64(100), 100.0):
            failure = refused(lambda: get_more(capped, cursor, maxTimeMS=limit), 2)
            assert "cannot set maxTimeMS on getMore command for a non-awaitData cursor" in str(failure)
        assert get_more(capped, cursor)[0]["nextBatch"] == ([{"_id": 2}] if "batchSize" in options else [])
        assert get_more(capped, opened(capped, batchSize=1), maxTimeMS=None)[0]["nextBatch"] == [{"_id": 2}]
    cursor = opened(capped, tailable=True, awaitData=True)
    for limit in ("x", -1, 1.5, 2 ** 31, {}):
        refused(lambda: get_more(capped, cursor, maxTimeMS=limit), 2)


def test_the_limit_of_the_find_counts_over_its_get_mores(client, capped):
    arm(client, {"failCommands": ["getMore"], "blockConnection": True, "blockTimeMS": 5000})
    cursor = opened(client.t.c, batchSize=1, maxTimeMS=4900)
    get_more(client.t.c, cursor, batchSize=1)  # blocked before it took the cursor up: no time of the cursor's has gone
    arm(client, mode="off")
    cursor = opened(client.t.c, batchSize=1, maxTimeMS=60_000)
    get_more(client.t.c, cursor, batchSize=1)
    arm(client, None, "alwaysOn", "maxTimeAlwaysTimeOut")
    refused(lambda: get_more(client.t.c, cursor, batchSize=200), 50)
    # A getMore that awaits data has no other limit than how long it waits.
    cursor = opened(capped, tailable=True, awaitData=True)
    assert get_more(capped, cursor, maxTimeMS=10)[0]["nextBatch"] == []

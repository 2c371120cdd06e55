"""Functions of clients: how they end, where they read, and how they are turned off."""
import threading
import time

import pytest
from bson.code import Code
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import Server
from tests.support.waiting import DEADLINE, wait_until


def code_of(call):
    with pytest.raises(OperationFailure) as failure:
        call()
    return failure.value.code


def test_a_running_function_is_killed():
    with Server() as server:
        client = server.client()
        client.t.c.insert_one({"_id": 1})
        codes = []
        reader = threading.Thread(target=lambda: codes.append(code_of(lambda: list(client.t.c.find({"$where": Code("while (true) {}")})))))
        reader.start()
        running = wait_until(lambda: [op for op in client.admin.aggregate([{"$currentOp": {}}]) if "$where" in str(op.get("command"))], server.tail)
        client.admin.command("killOp", op=running[0]["opid"])
        reader.join(DEADLINE)
        assert codes == [11601]
        last = server.client_until_killed()
        stopping = threading.Thread(target=lambda: pytest.raises(PyMongoError, lambda: list(last.t.c.find({"$where": "while (true) {}"}))))
        stopping.start()
        wait_until(lambda: [op for op in client.admin.aggregate([{"$currentOp": {}}]) if "$where" in str(op.get("command"))], server.tail)
        began = time.monotonic()
        assert server.stop() == 0 and time.monotonic() - began < DEADLINE
        stopping.join(DEADLINE)
        assert not stopping.is_alive()


def test_branches_snapshots_and_views_of_the_past():
    with Server() as server:
        client = server.client()
        client.t.c.insert_many({"_id": i, "n": i} for i in range(4))
        client.t.command("createSnapshot", 1, name="before")
        client.t.command("createBranch", "dev")
        client["t@dev"].c.update_many({"$where": "this.n % 2 == 0"}, {"$set": {"even": True}})
        assert client["t@dev"].c.count_documents({"even": True}) == 2 and client.t.c.count_documents({"even": True}) == 0
        count = {"map": Code("function() { emit(this.even === true, 1) }"), "reduce": Code("(k, v) => Array.sum(v)")}
        results = client["t@dev"].command("mapReduce", "c", **count, out={"inline": 1})["results"]
        assert results == [{"_id": False, "value": 2}, {"_id": True, "value": 2}]
        client["t@dev"].command("mapReduce", "c", **count, out="counts")
        assert client["t@dev"].counts.count_documents({}) == 2 and client.t.counts.count_documents({}) == 0
        assert client["t@before"].command("mapReduce", "c", **count, out={"inline": 1})["results"] == [{"_id": False, "value": 4}]


def test_on_a_set_in_transactions_and_sessions():
    with Server("--replSet", "rs0") as server:
        server.initiate()
        client = server.client(directConnection=True)
        client.t.c.insert_many({"_id": i} for i in range(3))
        with client.start_session() as session, session.start_transaction():
            client.t.c.insert_one({"_id": 3}, session=session)
            assert [one["_id"] for one in client.t.c.find({"$where": "this._id > 1"}, session=session)] == [2, 3]
            client.t.c.update_many({"$where": "this._id > 1"}, [{"$set": {"twice": {"$function": {"body": "x => 2 * x", "args": ["$_id"], "lang": "js"}}}}],
                                   session=session)
        assert [one["twice"] for one in client.t.c.find({"twice": {"$exists": True}})] == [4, 6]
        client.t.command("mapReduce", "c", map="function() { emit('n', 1) }", reduce="function(k, v) { return Array.sum(v) }", out="sums")
        assert client.t.sums.find_one() == {"_id": "n", "value": 4}


def test_a_redacted_log_has_nothing_that_is_printed():
    with Server() as server:
        client = server.client()
        client.t.c.insert_one({"_id": 1})
        list(client.t.c.find({"$where": "print('seen', this._id); return true"}))
        assert "seen 1" in server.log.read_text()
        client.admin.command("setParameter", 1, redactClientLogData=True)
        list(client.t.c.find({"$where": "print('hid' + 'den', this._id); return true"}))
        assert "hidden 1" not in server.log.read_text() and '"text":"###"' in server.log.read_text()


def test_turned_off():
    with Server("--noscripting") as server:
        client = server.client()
        client.t.c.insert_one({"_id": 1})
        assert code_of(lambda: list(client.t.c.find({"$where": "true"}))) == 2
        assert code_of(lambda: list(client.t.c.aggregate([{"$project": {"x": {"$function": {"body": "() => 1", "args": [], "lang": "js"}}}}]))) == 31264
        assert code_of(lambda: client.t.command("mapReduce", "c", map="1", reduce="1", out={"inline": 1})) == 31264
        assert client.admin.command("buildInfo")["javascriptEngine"] == "none"
        assert client.t.c.find_one() == {"_id": 1}

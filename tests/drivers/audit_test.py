"""The audit log as MongoDB's tools read it: which events there are, whose, and where they go."""
import json
import os

import bson
import pytest
from pymongo.errors import OperationFailure

from tests.support.palimpsest import BIN, Server
from tests.support.waiting import wait_until


def audited(path, *more):
    return Server("--auditDestination", "file", "--auditFormat", "JSON", "--auditPath", str(path), *more)


def events(path, *types):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in found if not types or event["atype"] in types]


def test_changes_of_schemas_are_events(tmp_path):
    path = tmp_path / "audit.json"
    with audited(path) as server:
        client = server.client()
        client.shop.orders.insert_one({"_id": 1})  # makes the database and the collection
        client.shop.orders.create_index("name")
        client.shop.orders.rename("bought")
        client.shop.bought.drop_index("name_1")
        client.shop.create_collection("empty")
        client.shop.empty.drop()
        client.drop_database("shop")
        with pytest.raises(OperationFailure):
            client.shop.command("renameCollection", "shop.none")
        kinds = [event["atype"] for event in events(path) if event["atype"] != "startup"]
        assert kinds == ["createDatabase", "createCollection", "createIndex", "renameCollection", "dropIndex", "createCollection",
                         "dropCollection", "dropCollection", "dropDatabase"]
        created = events(path, "createCollection")[0]
        assert set(created) == {"atype", "ts", "uuid", "local", "remote", "users", "roles", "param", "result"}
        assert created["param"] == {"ns": "shop.orders"}
        assert created["local"] == {"ip": "127.0.0.1", "port": server.port}
        assert created["remote"]["ip"] == "127.0.0.1" and created["result"] == 0
        index = events(path, "createIndex")[0]["param"]
        assert index["ns"] == "shop.orders" and index["indexName"] == "name_1" and index["indexSpec"]["key"] == {"name": 1}
        assert events(path, "renameCollection")[0]["param"] == {"old": "shop.orders", "new": "shop.bought"}
        assert len({json.dumps(event["uuid"]) for event in events(path, "createCollection", "createIndex")}) == 1
        assert events(path, "startup")[0]["remote"] == {"isSystemUser": True}
        server.stop()
        assert events(path)[-1]["atype"] == "shutdown"


def test_logins_refusals_and_changes_of_users_are_events_without_secrets(tmp_path):
    path = tmp_path / "audit.json"
    with audited(path, "--auth") as server:
        with server.client() as client:
            client.admin.command("createUser", "root", pwd="verysecret", roles=["root"])
        with server.client(username="root", password="verysecret") as root:
            root.shop.command("createRole", "r", privileges=[], roles=[])
            root.shop.command("createUser", "ann", pwd="verysecret", roles=["r"])
            root.shop.command("updateUser", "ann", pwd="othersecret")
            with pytest.raises(OperationFailure):
                root.shop.command("dropUser", "nobody")
        with server.client(username="ann", password="othersecret", authSource="shop") as ann:
            with pytest.raises(OperationFailure):
                ann.shop.orders.insert_one({"_id": 1})
        with server.client(username="ann", password="wrong", authSource="shop") as ann:
            with pytest.raises(OperationFailure):
                ann.shop.command("buildInfo")
        made = events(path, "createUser")
        assert [event["param"]["createUser"] for event in made] == ["root", "ann"]
        assert made[0]["users"] == [] and made[1]["users"] == [{"user": "root", "db": "admin"}]
        assert {"role": "root", "db": "admin"} in made[1]["roles"]
        assert [event["param"]["pwd"] for event in made + events(path, "updateUser")] == ["xxx"] * 3
        assert [event["result"] for event in events(path, "dropUser", "createRole")] == [0, 11]
        assert {"user": "ann", "db": "shop", "mechanism": "SCRAM-SHA-256"} in [event["param"] for event in events(path, "authenticate")]
        assert {event["result"] for event in events(path, "authenticate")} == {0, 18}
        refused = events(path, "authCheck")
        assert ("insert", "shop.orders", 13) in [(e["param"]["command"], e["param"]["ns"], e["result"]) for e in refused]
        assert "secret" not in path.read_text()


def test_branches_and_settings_are_events_with_their_results(tmp_path):
    path = tmp_path / "audit.json"
    with audited(path) as server:
        client = server.client()
        client.shop.orders.insert_one({"_id": 1})
        client.shop.command("createBranch", "dev")
        with pytest.raises(OperationFailure) as failure:
            client.shop.command("createBranch", "dev")
        made = events(path, "createBranch")
        assert [event["result"] for event in made] == [0, failure.value.code]
        assert made[0]["param"] == {"ns": "shop", "createBranch": "dev"}
        client.admin.command("setParameter", 1, logLevel=0)
        assert events(path, "setParameter")[-1]["param"]["logLevel"] == 0


def test_a_filter_leaves_events_out(tmp_path):
    path = tmp_path / "audit.json"
    with audited(path, "--auditFilter", '{atype: {$in: ["dropCollection"]}, "param.ns": /^shop[.]/}') as server:
        client = server.client()
        for db in ("shop", "other"):
            client[db].c.insert_one({})
            client[db].c.drop()
        assert [event["param"]["ns"] for event in events(path)] == ["shop.c"]


def test_the_file_is_rotated(tmp_path):
    path = tmp_path / "audit.json"
    with audited(path) as server:
        client = server.client()
        client.t.a.insert_one({})
        client.admin.command("logRotate", "audit")
        client.t.b.insert_one({})
        assert [event["param"]["ns"] for event in events(path, "createCollection")] == ["t.b"]
        aside = [one for one in tmp_path.iterdir() if one != path]
        assert len(aside) == 1 and "t.a" in aside[0].read_text()


def test_bson_and_the_console(tmp_path):
    path = tmp_path / "audit.bson"
    with Server("--auditDestination", "file", "--auditFormat", "BSON", "--auditPath", str(path)) as server:
        server.client().t.c.insert_one({})
        kinds = [event["atype"] for event in bson.decode_all(path.read_bytes())]
        assert kinds == ["startup", "createDatabase", "createCollection"]
    with Server("--auditDestination", "console") as server:
        server.client().t.c.insert_one({})
        wait_until(lambda: '"atype": "createCollection"' in server.log.read_text(), server.tail)


@pytest.mark.parametrize("arguments, text", [
    (["--auditDestination", "file"], "auditPath must be specified"),
    (["--auditPath", "x"], "auditPath may only be specified"),
    (["--auditDestination", "nowhere"], "invalid value for auditDestination"),
    (["--auditDestination", "console", "--auditFilter", "{a: {$nope: 1}}"], "auditFilter is not a filter"),
    (["--auditDestination", "console", "--auditFilter", "nonsense"], "auditFilter is not a JSON object"),
])
def test_settings_that_can_not_work_end_the_start(arguments, text):
    server = Server(*arguments)
    try:
        server.start(wait=False)
        assert server.ended() == 2
        assert text in server.tail()
    finally:
        server.__exit__()


def test_events_go_to_the_log_of_the_machine(tmp_path):
    log = tmp_path / "system"
    env = {**os.environ, "LD_PRELOAD": str(BIN / "system_log.so"), "SYSTEM_LOG": str(log)}
    with Server("--auditDestination", "syslog", "--auditFilter", '{atype: {$in: ["createCollection", "shutdown"]}}', env=env) as server:
        # Where the text looks like a format, it is none.
        server.client().shop.create_collection("orders %s %n %d")
        assert server.stop() == 0
        lines = log.read_text().splitlines()
        assert all(line.startswith("<14>{") for line in lines)  # LOG_USER, LOG_INFO
        made, ended = (json.loads(line.removeprefix("<14>")) for line in lines)
        assert made["atype"] == "createCollection" and made["param"] == {"ns": "shop.orders %s %n %d"} and made["result"] == 0
        assert ended["atype"] == "shutdown"

"""Users, roles and logins, as drivers meet them: who gets in, and what he may do then."""
import base64
import hashlib
import os
import socket
import struct
import time
import zlib

import bson
import pymongo
import pytest
from bson import Int64
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.support.certificates import Authority
from tests.support.palimpsest import Server, raw_command, receive_raw, send_raw
from tests.support.waiting import DEADLINE

UNAUTHORIZED, AUTHENTICATION_FAILED = 13, 18
PASSWORD = "s3cret"


class Guarded(Server):
    """A server with access control, on which `root` may do everything."""

    def __init__(self, *arguments, **options):
        super().__init__("--auth", *arguments, **options)

    def __enter__(self):
        super().__enter__()
        with self.client() as client:
            client.admin.command("createUser", "root", pwd=PASSWORD, roles=["root"])
        self.root = self.login("root")
        return self

    def __exit__(self, *error):
        self.root.close()
        super().__exit__(*error)

    def login(self, user, password=PASSWORD, db="admin", **more):
        return self.client(username=user, password=password, authSource=db, **more)

    def user(self, name, *roles, db="admin", **more):
        """Makes a user, and returns his client."""
        self.root[db].command("createUser", name, pwd=PASSWORD, roles=list(roles), **more)
        return self.login(name, db=db)


@pytest.fixture(scope="module")
def server():
    with Guarded() as running:
        yield running


@pytest.fixture(autouse=True)
def clean(request):
    if "server" not in request.fixturenames:
        yield
        return
    running = request.getfixturevalue("server")
    yield
    for user in running.root.admin.command("usersInfo", {"forAllDBs": True})["users"]:
        if user["user"] != "root":
            running.root[user["db"]].command("dropUser", user["user"])
    for db in ("admin", "shop"):
        running.root[db].command("dropAllRolesFromDatabase", 1)
    for db in running.root.list_database_names():
        if db not in ("admin", "config", "local"):
            running.root.drop_database(db)


def refused(work, code=UNAUTHORIZED):
    with pytest.raises(OperationFailure) as failure:
        work()
    assert failure.value.code == code, failure.value
    return failure.value


def test_before_there_are_users_this_machine_may_make_the_first():
    with Server("--auth") as server, server.client() as client:
        error = refused(lambda: client.shop.a.insert_one({}))
        assert error.details["errmsg"].startswith("not authorized on shop to execute command")
        refused(lambda: client.admin.command("serverStatus"))
        client.admin.command("ping")
        client.admin.command("createUser", "ann", pwd=PASSWORD, roles=["root"])
        # From now on nobody gets in without a login.
        assert refused(lambda: client.admin.command("createUser", "bob", pwd=PASSWORD, roles=[])).details["errmsg"] == \
            "Command createUser requires authentication"
        with server.client(username="ann", password=PASSWORD) as ann:
            ann.shop.a.insert_one({"_id": 1})
        assert server.stop() == 0
        server.start()
        with server.client(username="ann", password=PASSWORD) as ann:
            assert ann.shop.a.find_one() == {"_id": 1}


def test_the_exception_for_this_machine_can_be_turned_off():
    with Server("--auth", "--setParameter", "enableLocalhostAuthBypass=false") as server, server.client() as client:
        refused(lambda: client.admin.command("createUser", "ann", pwd=PASSWORD, roles=["root"]))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-1", "SCRAM-SHA-256", "DEFAULT"])
def test_each_mechanism_lets_in_who_knows_the_password(server, mechanism):
    server.root.shop.command("createUser", "ann", pwd="pässwörd ½", roles=["readWrite"])
    with server.login("ann", "pässwörd ½", "shop", authMechanism=mechanism) as ann:
        ann.shop.a.insert_one({"_id": 1})
        status = ann.admin.command("connectionStatus", showPrivileges=True)["authInfo"]
        assert status["authenticatedUsers"] == [{"user": "ann", "db": "shop"}]
        assert status["authenticatedUserRoles"] == [{"role": "readWrite", "db": "shop"}]
        assert {"resource": {"db": "shop", "collection": ""}}.items() <= status["authenticatedUserPrivileges"][0].items()
    for user, password in (("ann", "wrong"), ("nobody", "pässwörd ½")):
        error = refused(lambda: server.login(user, password, "shop", authMechanism=mechanism).shop.a.find_one(), AUTHENTICATION_FAILED)
        assert error.details["errmsg"] == "Authentication failed."


def test_passwords_are_compared_as_saslprep_normalizes_them(server):
    server.root.shop.command("createUser", "ann", pwd="IX", roles=["read"], mechanisms=["SCRAM-SHA-256"])
    with server.login("ann", "I\u00ADX", "shop") as ann:
        assert ann.shop.a.find_one() is None
    with server.login("ann", "\u2168", "shop") as ann:
        assert ann.shop.a.find_one() is None
    refused(lambda: server.root.shop.command("createUser", "bob", pwd="a\u0007b", roles=[], mechanisms=["SCRAM-SHA-256"]), 2)


def test_a_user_has_the_mechanisms_that_he_was_given(server):
    server.root.shop.command("createUser", "old", pwd=PASSWORD, roles=[], mechanisms=["SCRAM-SHA-1"])
    with server.login("old", db="shop", authMechanism="SCRAM-SHA-1") as old:
        old.admin.command("ping")
    refused(lambda: server.login("old", db="shop", authMechanism="SCRAM-SHA-256").shop.command("buildInfo"), AUTHENTICATION_FAILED)
    # A driver that isn't told which one begins with the newer mechanism in its hello. The answer to that leads it to the other one.
    before = server.root.admin.command("serverStatus")["security"]["authentication"]["mechanisms"]["SCRAM-SHA-256"]["authenticate"]["received"]
    for _ in range(5):
        with server.login("old", db="shop") as old:
            old.admin.command("ping")
    hello = {"hello": 1, "saslSupportedMechs": "shop.old", "$db": "admin", "speculativeAuthenticate": {
        "saslStart": 1, "mechanism": "SCRAM-SHA-256", "db": "shop", "payload": b"n,,n=old,r=abc"}}
    reply = raw_command(server.host, server.port, hello)
    assert reply["saslSupportedMechs"] == ["SCRAM-SHA-1"] and "speculativeAuthenticate" not in reply
    after = server.root.admin.command("serverStatus")["security"]["authentication"]["mechanisms"]["SCRAM-SHA-256"]["authenticate"]["received"]
    assert after >= before + 6
    assert server.root.shop.command("usersInfo", "old")["users"][0]["mechanisms"] == ["SCRAM-SHA-1"]
    refused(lambda: server.root.shop.command("createUser", "x", pwd=PASSWORD, roles=[], mechanisms=["PLAIN"]), 2)
    refused(lambda: server.root.shop.command("createUser", "x", pwd=PASSWORD, roles=[], mechanisms=[]), 2)


def test_hello_tells_nobody_who_exists(server):
    server.root.shop.command("createUser", "ann", pwd=PASSWORD, roles=[])

    def mechanisms(user):
        return raw_command(server.host, server.port, {"hello": 1, "saslSupportedMechs": user, "$db": "admin"})["saslSupportedMechs"]
    assert sorted(mechanisms("shop.ann")) == ["SCRAM-SHA-1", "SCRAM-SHA-256"]
    assert mechanisms("shop.nobody") == mechanisms("shop.ann")

    def salt(user):
        payload = f"n,,n={user},r=abcdefgh".encode()
        reply = raw_command(server.host, server.port, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload, "$db": "shop"})
        return dict(part.split("=", 1) for part in bytes(reply["payload"]).decode().split(","))
    known, unknown = salt("ann"), salt("nobody")
    assert known["i"] == unknown["i"] and len(known["s"]) == len(unknown["s"])
    assert salt("nobody")["s"] == unknown["s"] and salt("ann")["s"] == known["s"]


def backed_up(db):
    """Takes a backup to the client: its first piece, since the rest waits for a cursor that ends here."""
    cursor = db.client.admin.command("createBackup", cursor={"batchSize": 1})["cursor"]
    db.client.admin.command("killCursors", "$cmd.createBackup", cursors=[cursor["id"]])


# Each role with what it may do in `shop`, of these.
WORK = {
    "read": lambda db: db.a.find_one(),
    "write": lambda db: db.a.insert_one({}),
    "index": lambda db: db.a.create_index("x"),
    "drop": lambda db: db.command("drop", "a"),
    "stats": lambda db: db.command("collStats", "a"),
    "validate": lambda db: db.command("validate", "a"),
    "profile": lambda db: db.command("profile", 0),
    "user": lambda db: db.command("createUser", "made", pwd="x", roles=[]),
    "branch": lambda db: db.command("createBranch", "b"),
    "status": lambda db: db.client.admin.command("serverStatus"),
    "databases": lambda db: db.client.admin.command("listDatabases", authorizedDatabases=False),
    "fsync": lambda db: db.client.admin.command("fsync"),
    "backup": backed_up,
    "other": lambda db: db.client.other.a.find_one(),
    "collections": lambda db: db.command("listCollections"),
}
MAY = {
    ("read", "shop"): {"read", "stats", "collections"},
    ("readWrite", "shop"): {"read", "write", "index", "drop", "stats", "collections"},
    ("dbAdmin", "shop"): {"index", "drop", "stats", "validate", "profile", "collections"},
    ("userAdmin", "shop"): {"user"},
    ("dbOwner", "shop"): {"read", "write", "index", "drop", "stats", "validate", "profile", "user", "branch", "collections"},
    ("readAnyDatabase", "admin"): {"read", "stats", "databases", "other", "collections"},
    ("readWriteAnyDatabase", "admin"): {"read", "write", "index", "drop", "stats", "databases", "other", "collections"},
    ("dbAdminAnyDatabase", "admin"): {"index", "drop", "stats", "validate", "profile", "databases", "collections"},
    ("userAdminAnyDatabase", "admin"): {"user", "databases"},
    ("clusterMonitor", "admin"): {"stats", "status", "databases"},
    ("hostManager", "admin"): {"fsync"},
    ("clusterAdmin", "admin"): {"stats", "status", "databases", "fsync"},
    ("backup", "admin"): {"read", "stats", "status", "databases", "other", "collections", "backup"},
    ("clusterManager", "admin"): set(),
    ("enableSharding", "admin"): set(),
    ("directShardOperations", "admin"): set(),
    ("restore", "admin"): {"write", "index", "drop", "user", "collections"},
    ("root", "admin"): set(WORK),
    ("__system", "admin"): set(WORK),
}


@pytest.mark.parametrize("role,db", MAY)
def test_built_in_roles_may_do_what_is_documented(server, role, db):
    with server.user("ann", {"role": role, "db": db}) as ann:
        found = set()
        for name, work in WORK.items():
            server.root.shop.a.update_one({"_id": "there"}, {"$set": {"x": 1}}, upsert=True)
            try:
                work(ann.shop)
                found.add(name)
            except OperationFailure as failure:
                assert failure.code == UNAUTHORIZED, (name, failure)
                assert failure.details["errmsg"].startswith("not authorized on "), failure
        assert found == MAY[role, db]


def test_the_refusal_names_the_command_and_no_secrets(server):
    with server.user("ann", {"role": "read", "db": "shop"}) as ann:
        error = refused(lambda: ann.shop.command("insert", "a", documents=[{"_id": 1}]))
        assert error.details["errmsg"].startswith('not authorized on shop to execute command { insert: "a"')
        assert error.details["codeName"] == "Unauthorized"
        error = refused(lambda: ann.shop.command("createUser", "x", pwd="verysecret", roles=[]))
        assert "verysecret" not in error.details["errmsg"]


def test_what_a_user_may_do_changes_at_once(server):
    with server.user("ann", {"role": "readWrite", "db": "shop"}) as ann:
        ann.shop.a.insert_one({"_id": 1})
        server.root.admin.command("revokeRolesFromUser", "ann", roles=[{"role": "readWrite", "db": "shop"}])
        refused(lambda: ann.shop.a.find_one())
        server.root.admin.command("grantRolesToUser", "ann", roles=[{"role": "read", "db": "shop"}])
        assert ann.shop.a.find_one() == {"_id": 1}
        refused(lambda: ann.shop.a.insert_one({}))
        # Somebody else of the same name is somebody else.
        server.root.admin.command("dropUser", "ann")
        server.root.admin.command("createUser", "ann", pwd=PASSWORD, roles=["root"])
        assert "requires authentication" in refused(lambda: ann.shop.a.find_one()).details["errmsg"]


def test_a_password_can_be_changed(server):
    with server.user("ann", {"role": "read", "db": "shop"}):
        server.root.admin.command("updateUser", "ann", pwd="new", customData={"n": 1})
        refused(lambda: server.login("ann").shop.a.find_one(), AUTHENTICATION_FAILED)
        with server.login("ann", "new") as ann:
            assert ann.shop.a.find_one() is None
            refused(lambda: ann.admin.command("updateUser", "ann", pwd="mine"))
        server.root.admin.command("createRole", "own", roles=[], privileges=[
            {"resource": {"db": "admin", "collection": ""}, "actions": ["changeOwnPassword", "changeOwnCustomData"]}])
        server.root.admin.command("grantRolesToUser", "ann", roles=["own"])
        with server.login("ann", "new") as ann:
            ann.admin.command("updateUser", "ann", pwd="mine")
            refused(lambda: ann.admin.command("updateUser", "root", pwd="mine"))
        server.login("ann", "mine").admin.command("ping")
    assert server.root.admin.command("usersInfo", "ann")["users"][0]["customData"] == {"n": 1}


def test_users_are_shown_without_their_credentials(server):
    server.root.shop.command("createUser", "ann", pwd=PASSWORD, roles=["read", {"role": "readWrite", "db": "other"}], customData={"n": 1})
    [user] = server.root.shop.command("usersInfo", "ann")["users"]
    assert len(user.pop("userId")) == 16
    assert user == {"_id": "shop.ann", "user": "ann", "db": "shop", "customData": {"n": 1},
                    "roles": [{"role": "read", "db": "shop"}, {"role": "readWrite", "db": "other"}],
                    "mechanisms": ["SCRAM-SHA-1", "SCRAM-SHA-256"]}
    [shown] = server.root.shop.command("usersInfo", {"user": "ann", "db": "shop"}, showCredentials=True)["users"]
    assert set(shown["credentials"]) == {"SCRAM-SHA-1", "SCRAM-SHA-256"}
    assert set(shown["credentials"]["SCRAM-SHA-256"]) == {"iterationCount", "salt", "storedKey", "serverKey"}
    assert shown["credentials"]["SCRAM-SHA-256"]["iterationCount"] == 15000
    [detailed] = server.root.shop.command("usersInfo", "ann", showPrivileges=True)["users"]
    assert {"role": "read", "db": "shop"} in detailed["inheritedRoles"]
    assert any("find" in one["actions"] for one in detailed["inheritedPrivileges"])
    assert len(server.root.admin.command("usersInfo", {"forAllDBs": True})["users"]) == 2
    assert [u["user"] for u in server.root.shop.command("usersInfo", 1, filter={"roles.role": "read"})["users"]] == ["ann"]
    refused(lambda: server.root.shop.command("usersInfo", 1, showPrivileges=True), 20)
    with server.user("bob", {"role": "read", "db": "shop"}) as bob:
        refused(lambda: bob.shop.command("usersInfo", "ann"))
        assert bob.admin.command("usersInfo", "bob")["users"][0]["user"] == "bob"


def test_wrong_users_are_refused(server):
    create = lambda name="x", db="shop", **more: server.root[db].command("createUser", name, **{"pwd": "x", "roles": [], **more})
    create("ann")
    assert refused(lambda: create("ann"), 51003).details["errmsg"] == 'User "ann@shop" already exists'
    refused(lambda: create(roles=["nosuch"]), 31)
    refused(lambda: create(db="local"), 2)
    refused(lambda: create(pwd=""), 2)
    refused(lambda: create(pwd=5), 14)
    refused(lambda: create(name=""), 2)
    refused(lambda: create(db="shop@dev"), 73)
    refused(lambda: create(extra=1), 40415)
    refused(lambda: server.root.shop.command("createUser", "x", pwd="x"), 40414)
    refused(lambda: server.root.shop.command("createUser", "x", roles=[]), 2)
    refused(lambda: server.root.shop.command("dropUser", "nosuch"), 11)
    refused(lambda: server.root.shop.command("updateUser", "nosuch", pwd="x"), 11)
    refused(lambda: server.root.shop.command("updateUser", "ann"), 2)
    refused(lambda: server.root.shop.command("grantRolesToUser", "ann", roles=["nosuch"]), 31)
    assert server.root.shop.command("dropAllUsersFromDatabase", 1)["n"] == 1


def test_roles_are_defined_inherited_and_dropped(server):
    shop = server.root.shop
    shop.command("createRole", "packer", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find", "update"]}])
    shop.command("createRole", "foreman", roles=["packer"], privileges=[
        {"resource": {"db": "shop", "collection": "orders"}, "actions": ["insert", "remove"]}])
    server.root.shop.orders.insert_one({"_id": 1})
    with server.user("ann", "packer", db="shop") as ann:
        assert ann.shop.orders.update_one({}, {"$set": {"x": 1}}).modified_count == 1
        refused(lambda: ann.shop.orders.insert_one({}))
        refused(lambda: ann.shop.orders.update_one({"_id": 9}, {"$set": {"x": 1}}, upsert=True))
        refused(lambda: ann.shop.other.find_one())
        shop.command("grantRolesToUser", "ann", roles=["foreman"])
        ann.shop.orders.insert_one({"_id": 2})
        shop.command("revokePrivilegesFromRole", "packer", privileges=[
            {"resource": {"db": "shop", "collection": "orders"}, "actions": ["update"]}])
        refused(lambda: ann.shop.orders.update_one({}, {"$set": {"x": 2}}))
        shop.command("grantPrivilegesToRole", "packer", privileges=[
            {"resource": {"db": "shop", "collection": "orders"}, "actions": ["update"]}])
        ann.shop.orders.update_one({}, {"$set": {"x": 2}})
        [shown] = shop.command("rolesInfo", "foreman", showPrivileges=True)["roles"]
        assert shown["roles"] == shown["inheritedRoles"] == [{"role": "packer", "db": "shop"}]
        assert shown["isBuiltin"] is False and len(shown["privileges"]) == 1
        assert sorted(shown["inheritedPrivileges"][0]["actions"]) == ["find", "insert", "remove", "update"]
        refused(lambda: shop.command("grantRolesToRole", "packer", roles=["foreman"]), 49)
        shop.command("dropRole", "packer")
        assert shop.command("rolesInfo", "foreman")["roles"][0]["roles"] == []
        refused(lambda: ann.shop.orders.find_one())
        assert shop.command("dropAllRolesFromDatabase", 1)["n"] == 1
        refused(lambda: ann.shop.orders.insert_one({}))
    assert shop.command("usersInfo", "ann")["users"][0]["roles"] == []


def test_to_replace_a_role_takes_the_rights_that_it_had(server):
    """The roles and privileges that a role loses may be of any database."""
    server.root.admin.command("createRole", "clerk", roles=[{"role": "read", "db": "other"}], privileges=[])
    with server.user("ann", "userAdmin") as ann:
        refused(lambda: ann.admin.command("updateRole", "clerk", roles=[]))
        refused(lambda: ann.admin.command("updateRole", "clerk", privileges=[]))
        assert server.root.admin.command("rolesInfo", "clerk")["roles"][0]["roles"] == [{"role": "read", "db": "other"}]
    with server.user("bob", "userAdminAnyDatabase") as bob:
        bob.admin.command("updateRole", "clerk", roles=[])
    assert server.root.admin.command("rolesInfo", "clerk")["roles"][0]["roles"] == []


def test_expressions_know_the_roles_of_the_user(server):
    shop = server.root.shop
    shop.command("createRole", "packer", roles=["read"], privileges=[])
    shop.orders.insert_many([{"_id": 1, "for": ["packer"]}, {"_id": 2, "for": ["boss"]}])
    with server.user("ann", "packer", {"role": "readAnyDatabase", "db": "admin"}, db="shop") as ann:
        roles = [{"_id": f"{db}.{role}", "role": role, "db": db} for db, role in [("admin", "readAnyDatabase"), ("shop", "packer"), ("shop", "read")]]
        mine = {"$expr": {"$gt": [{"$size": {"$setIntersection": ["$for", "$$USER_ROLES.role"]}}, 0]}}
        assert list(ann.shop.orders.find(mine, {"roles": "$$USER_ROLES"})) == [{"_id": 1, "roles": roles}]
        join = {"$lookup": {"from": "orders", "as": "mine", "pipeline": [{"$match": mine}, {"$project": {"first": {"$first": "$$USER_ROLES.role"}}}]}}
        assert [one["mine"] for one in ann.shop.orders.aggregate([join], batchSize=1)] == [[{"_id": 1, "first": "readAnyDatabase"}]] * 2
    assert shop.orders.find_one({"_id": 1}, {"roles": "$$USER_ROLES"})["roles"] == [{"_id": "admin.root", "role": "root", "db": "admin"}]
    shop.drop_collection("orders")


def test_users_are_merged_by_who_may_give_all_roles(server):
    merge = {"_mergeAuthzCollections": 1, "tempUsersCollection": "shop.came", "db": "shop", "drop": False}
    document = server.root.admin["system.users"].find_one({"_id": "admin.root"})
    document.update(_id="shop.eve", user="eve", db="shop", userId=bson.Binary(bytes(16), 4))
    owner = server.user("owner", "dbOwner", db="shop")
    owner.shop.came.insert_one(document)
    refused(lambda: owner.admin.command(merge))
    refused(lambda: server.user("admins", "userAdminAnyDatabase").admin.command(merge))  # he may not read what comes
    assert not server.root.shop.command("usersInfo", "eve")["users"]
    restorer = server.user("restorer", "restore")
    restorer.admin.tempusers.insert_one(document)
    restorer.admin.command({**merge, "tempUsersCollection": "admin.tempusers", "db": ""})
    assert server.root.shop.command("usersInfo", "eve")["users"][0]["roles"] == [{"role": "root", "db": "admin"}]
    refused(lambda: server.root.admin.command({**merge, "tempUsersCollection": "admin.system.users"}), 2)
    server.root.admin.tempusers.drop()


def test_wrong_roles_are_refused(server):
    find = [{"resource": {"db": "shop", "collection": ""}, "actions": ["find"]}]
    create = lambda name="r", db="shop", **more: server.root[db].command("createRole", name, **{"privileges": [], "roles": [], **more})
    create("r")
    assert refused(lambda: create("r"), 51002).details["errmsg"] == 'Role "r@shop" already exists'
    refused(lambda: create("read"), 2)
    refused(lambda: create("x", db="other", privileges=find), 49)
    refused(lambda: create("x", roles=[{"role": "read", "db": "other"}]), 49)
    refused(lambda: create("x", privileges=[{"resource": {"cluster": True}, "actions": ["serverStatus"]}]), 49)
    refused(lambda: create("x", privileges=[{"resource": {"db": "shop", "collection": ""}, "actions": ["nosuch"]}]), 9)
    refused(lambda: create("x", privileges=[{"resource": {"db": "shop"}, "actions": ["find"]}]), 9)
    refused(lambda: server.root.shop.command("updateRole", "read", privileges=[]), 49)
    refused(lambda: server.root.shop.command("updateRole", "nosuch", privileges=[]), 31)
    refused(lambda: server.root.shop.command("dropRole", "nosuch"), 31)
    names = [role["role"] for role in server.root.shop.command("rolesInfo", 1, showBuiltinRoles=True)["roles"]]
    assert {"r", "read", "readWrite", "dbOwner"} <= set(names) and "root" not in names


def test_pipelines_need_what_they_read_and_write(server):
    server.root.shop.orders.insert_one({"_id": 1, "n": 1})
    server.root.shop.secret.insert_one({"_id": 1, "n": 1})
    server.root.shop.command("create", "seen", viewOn="secret", pipeline=[{"$project": {"n": 1}}])
    server.root.shop.command("createRole", "clerk", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": name}, "actions": ["find"]} for name in ("orders", "seen")])
    with server.user("ann", "clerk", db="shop") as ann:
        run = lambda *stages: list(ann.shop.orders.aggregate(list(stages)))
        assert len(run({"$match": {}})) == 1
        lookup = {"from": "secret", "localField": "n", "foreignField": "n", "as": "x"}
        server.root.other.orders.insert_one({"_id": 1, "n": 1})
        elsewhere = {"db": "other", "coll": "orders"}
        for stage in ({"$unionWith": elsewhere}, {"$unionWith": {**elsewhere, "pipeline": []}}, {"$lookup": {"from": elsewhere, "pipeline": [], "as": "x"}},
                      {"$facet": {"a": [{"$unionWith": elsewhere}]}}, {"$unionWith": {"coll": "orders", "pipeline": [{"$unionWith": elsewhere}]}},
                      {"$lookup": lookup}, {"$unionWith": "secret"}, {"$unionWith": {"coll": "secret", "pipeline": []}},
                      {"$facet": {"a": [{"$lookup": lookup}]}},
                      {"$lookup": {"from": "orders", "pipeline": [{"$lookup": lookup}], "as": "x"}},
                      {"$graphLookup": {"from": "secret", "startWith": "$n", "connectFromField": "n", "connectToField": "n", "as": "x"}},
                      {"$out": "made"}, {"$merge": "made"}, {"$merge": {"into": {"db": "other", "coll": "made"}}}):
            refused(lambda: run(stage))
            refused(lambda: ann.shop.command("explain", {"aggregate": "orders", "pipeline": [stage], "cursor": {}}))
        refused(lambda: ann.shop.secret.find_one())
        # A view is a way to show a part of what its reader may not see.
        assert ann.shop.seen.find_one() == {"_id": 1, "n": 1}
        assert len(run({"$lookup": {**lookup, "from": "seen"}})[0]["x"]) == 1
        refused(lambda: ann.shop.command("create", "mine", viewOn="secret", pipeline=[]))
        refused(lambda: ann.shop.command("create", "mine", viewOn="orders", pipeline=[{"$unionWith": elsewhere}]))
        refused(lambda: ann.shop.command("mapReduce", "orders", map=bson.Code("function() { emit(1, 1); }"),
                                         reduce=bson.Code("function(k, v) { return 1; }"), out="made"))


def repeating(*fields):
    """A document whose fields, pairs of a name and a value, may have the same name."""
    content = b"".join(bson.encode({name: value})[4:-1] for name, value in fields)
    return RawBSONDocument(struct.pack("<i", len(content) + 5) + content + b"\0")


def test_a_field_that_stands_twice_hides_nothing_from_the_rules(server):
    """The rule would look at the first of two fields, and the stage would read the last."""
    duplicate = 40413
    server.root.shop.orders.insert_one({"_id": 1, "n": 1})
    server.root.shop.secret.insert_one({"_id": 1, "n": 1})
    users = {"db": "admin", "coll": "system.users"}
    graph = [("startWith", "$n"), ("connectFromField", "n"), ("connectToField", "n"), ("as", "x")]
    with server.user("ann", {"role": "read", "db": "shop"}) as ann, server.user("bob", {"role": "readWrite", "db": "shop"}) as bob:
        for stage in ({"$lookup": repeating(("from", "orders"), ("from", users), ("pipeline", []), ("as", "x"))},
                      {"$lookup": repeating(("from", "orders"), ("pipeline", []), ("pipeline", [{"$unionWith": users}]), ("as", "x"))},
                      {"$lookup": {"from": repeating(("db", "shop"), ("coll", "system.users"), ("db", "admin")), "pipeline": [], "as": "x"}},
                      {"$unionWith": repeating(("db", "shop"), ("coll", "system.users"), ("db", "admin"))},
                      {"$graphLookup": repeating(("from", "orders"), ("from", "secret"), *graph)},
                      {"$facet": {"a": [{"$lookup": repeating(("from", "orders"), ("from", users), ("pipeline", []), ("as", "x"))}]}}):
            for whole in ({"aggregate": "orders", "pipeline": [stage], "cursor": {}},
                          {"explain": {"aggregate": "orders", "pipeline": [stage], "cursor": {}}},
                          {"create": "mine", "viewOn": "orders", "pipeline": [stage]}):
                refused(lambda: bob.shop.command(whole), duplicate)
            refused(lambda: ann.shop.command("aggregate", "orders", pipeline=[stage], cursor={}), duplicate)
        for stage in ({"$merge": repeating(("into", "made"), ("into", {"db": "other", "coll": "made"}))},
                      {"$merge": {"into": repeating(("db", "shop"), ("coll", "made"), ("db", "other"))}},
                      {"$out": repeating(("db", "shop"), ("coll", "made"), ("db", "other"))}):
            refused(lambda: bob.shop.command("aggregate", "orders", pipeline=[stage], cursor={}), duplicate)
        functions = {"map": bson.Code("function() { emit(1, 1); }"), "reduce": bson.Code("function(k, v) { return 1; }")}
        refused(lambda: bob.shop.command("mapReduce", "orders", **functions,
                                         out=repeating(("merge", "made"), ("db", "shop"), ("db", "other"))), duplicate)
        assert "other" not in server.root.list_database_names()
        twice = repeating(("allUsers", False), ("allUsers", True))
        refused(lambda: ann.admin.command("aggregate", 1, pipeline=[{"$currentOp": twice}], cursor={}), duplicate)
        refused(lambda: ann.admin.command("aggregate", 1, pipeline=[{"$listLocalSessions": twice}], cursor={}), duplicate)
        # The fields of commands and of their statements.
        secret = [{"$unionWith": users}]
        refused(lambda: ann.shop.command("explain", repeating(("aggregate", "orders"), ("pipeline", []), ("pipeline", secret), ("cursor", {}))),
                duplicate)
    server.root.shop.command("createRole", "editor", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find", "update"]}])
    with server.user("eve", "editor", db="shop") as eve:
        upsert = repeating(("q", {"_id": 2}), ("u", {"$set": {"n": 2}}), ("upsert", False), ("upsert", True))
        refused(lambda: eve.shop.command("update", "orders", updates=[upsert]), duplicate)
        change = [("findAndModify", "orders"), ("query", {"_id": 2}), ("update", {"$set": {"n": 2}}), ("upsert", False), ("upsert", True)]
        refused(lambda: eve.shop.command("explain", repeating(*change)), duplicate)
    assert server.root.shop.orders.count_documents({}) == 1


def test_a_database_and_a_collection_are_names_of_their_own(server):
    """The two together are a namespace, which mustn't be another's: "admin.system" and "users", "shop" and "system.users"."""
    invalid = 73
    server.root.shop.orders.insert_one({"_id": 1})
    server.root.shop.command("createBranch", "dev")
    anywhere = [{"resource": {"db": "", "collection": name}, "actions": ["find", "insert", "update", "remove"]} for name in ("users", "orders")]
    privileges = [*anywhere, {"resource": {"db": "shop", "collection": ""}, "actions": ["find", "insert", "update", "remove"]}]
    server.root.admin.command("createRole", "clerk", roles=[], privileges=privileges)
    with server.user("ann", "clerk") as ann:
        def run(*stages, db="shop"):
            return list(ann[db].orders.aggregate(list(stages)))

        # The rule knows no such database, whoever asks. It takes what stands behind an @ for a ref, which the stage refuses.
        for db, code in (("admin.system", UNAUTHORIZED), ("", UNAUTHORIZED), ("shop@dev.system", invalid)):
            there = {"db": db, "coll": "users"}
            for stage in ({"$out": there}, {"$merge": {"into": there}}, {"$lookup": {"from": there, "pipeline": [], "as": "x"}},
                          *([{"$unionWith": there}] if db else [])):
                refused(lambda: run(stage), code)
                refused(lambda: list(server.root.shop.orders.aggregate([stage])), code)
        functions = {"map": bson.Code("function() { emit(1, 1); }"), "reduce": bson.Code("function(k, v) { return 1; }")}
        for target in ({"merge": "users", "db": "admin.system"}, {"replace": "users", "db": ""}):
            refused(lambda: ann.shop.command("mapReduce", "orders", **functions, out=target))
        assert server.root.admin.command("usersInfo", 1)["users"]
        # A branch is a database by its name.
        server.root.admin.command("grantPrivilegesToRole", "clerk", privileges=[
            {"resource": {"db": "shop@dev", "collection": ""}, "actions": ["find", "insert", "update", "remove"]}])
        assert run({"$unionWith": {"db": "shop@dev", "coll": "orders"}}) == [{"_id": 1}, {"_id": 1}]
        assert run({"$lookup": {"from": {"db": "shop@dev", "coll": "orders"}, "pipeline": [], "as": "x"}}) == [{"_id": 1, "x": [{"_id": 1}]}]
        run({"$merge": {"into": {"db": "shop@dev", "coll": "made"}}})
        run({"$out": {"db": "shop@dev", "coll": "out"}})
        assert server.root["shop@dev"].made.find_one() == server.root["shop@dev"].out.find_one() == {"_id": 1}


def test_a_rename_shows_nobody_what_he_could_not_read(server):
    server.root.shop.secret.insert_one({"_id": 1})
    rename = {"resource": {"db": "shop", "collection": ""}, "actions": ["renameCollectionSameDB", "dropCollection"]}
    server.root.shop.command("createRole", "mover", roles=[], privileges=[rename])
    server.root.shop.command("createRole", "reader", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "open"}, "actions": ["find"]}])
    server.root.shop.command("createRole", "knower", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "secret"}, "actions": ["find"]}])

    def move(client, source, target, **more):
        client.admin.command({"renameCollection": f"shop.{source}", "to": f"shop.{target}", **more})

    with server.user("ann", "mover", "reader", db="shop") as ann, server.user("bob", "mover", "knower", "reader", db="shop") as bob, \
            server.user("eve", "mover", db="shop") as eve:
        refused(lambda: ann.shop.secret.find_one())
        refused(lambda: move(ann, "secret", "open"))
        server.root.shop.open.insert_one({"_id": 2})
        refused(lambda: move(ann, "secret", "open", dropTarget=True))
        # A name that she can't read either shows nothing.
        move(ann, "secret", "other")
        move(eve, "other", "secret")
        move(eve, "secret", "open", dropTarget=True)
        move(bob, "open", "secret")
        move(bob, "secret", "open")
    assert server.root.shop.open.find_one() == {"_id": 1}


def test_no_other_name_or_form_of_a_command_gets_around_its_rule(server):
    root = server.root
    root.shop.secret.insert_one({"_id": 1})
    root.shop.orders.insert_one({"_id": 1})
    root.shop.command("create", "seen", viewOn="orders", pipeline=[])
    root.shop.command("createBranch", "dev")
    functions = {"map": bson.Code("function() { emit(1, 1); }"), "reduce": bson.Code("function(k, v) { return 1; }"), "out": {"inline": 1}}
    with server.user("ann", {"role": "dbAdmin", "db": "shop"}) as ann:
        for name in ("mapreduce", "mapReduce"):
            refused(lambda: ann.shop.command("explain", {name: "secret", **functions}))
            refused(lambda: ann.shop.command({name: "secret", **functions}))
        for name in ("findandmodify", "findAndModify"):
            refused(lambda: ann.shop.command("explain", {name: "secret", "query": {}, "remove": True}))
        refused(lambda: ann.shop.command("explain", {"count": "secret"}))
        refused(lambda: ann.shop.command("collMod", "seen", viewOn="secret", pipeline=[]))
        lookup = {"$lookup": {"from": "secret", "pipeline": [], "as": "x"}}
        refused(lambda: ann.shop.command("collMod", "seen", pipeline=[lookup]))
        refused(lambda: ann.admin.command("validateDBMetadata", 1, apiParameters={"version": "1"}))
    with server.user("bob", {"role": "readWrite", "db": "shop"}, {"role": "read", "db": "shop@dev"}) as bob:
        # A merge that gives both branches the commit writes to both.
        refused(lambda: bob.shop.command("merge", "dev", into="both"))
        assert bob.shop.command("merge", "dev")["ok"] == 1
    with server.user("eve", {"role": "dbAdmin", "db": "shop"}, {"role": "read", "db": "shop@dev"}) as eve:
        refused(lambda: list(eve.shop.orders.aggregate([{"$diff": {"to": "dev"}}])))


def test_a_branch_is_a_resource_of_its_own(server):
    root = server.root
    root.shop.orders.insert_one({"_id": 1, "n": "main"})
    root.shop.command("createBranch", "dev")
    root["shop@dev"].orders.update_one({"_id": 1}, {"$set": {"n": "secret of dev"}})
    first = root["shop@dev"].command("commit", 1, message="x")
    root.admin.command("createSnapshot", 1, name="before")
    with server.user("ann", {"role": "dbOwner", "db": "shop"}) as ann:
        assert ann.shop.orders.find_one()["n"] == "main"
        for work in (lambda: ann["shop@dev"].orders.find_one(), lambda: ann["shop@before"].orders.find_one(),
                     lambda: ann.shop.command("diff", 1, **{"from": "main", "to": "dev"}),
                     lambda: ann.shop.command("merge", "dev"), lambda: ann.shop.command("createBranch", "mine", **{"from": "dev"}),
                     lambda: ann.shop.command("createTag", "mine", **{"from": "dev"}),
                     lambda: ann.shop.command("resetBranch", "main", to="dev"),
                     lambda: ann.shop.command("dedupChain", "orders", _id=1),
                     lambda: list(ann.shop.orders.aggregate([{"$acrossBranches": {}}])),
                     lambda: list(ann.shop.orders.aggregate([{"$history": {"_id": 1}}])),
                     lambda: list(ann.shop.orders.aggregate([{"$diff": {"from": "main", "to": "dev"}}])),
                     lambda: list(ann.shop.orders.aggregate([{"$lookup": {"from": {"db": "shop@dev", "coll": "orders"}, "pipeline": [], "as": "x"}}])),
                     lambda: list(ann.shop.orders.aggregate([{"$acrossSnapshots": {"pipeline": []}}])),
                     lambda: ann["shop@dev"].command("getProof", 1, coll="orders", _id=1),
                     lambda: ann.admin.command("dropSnapshot", "before")):
            refused(work)
        names = ann.list_database_names()
        assert "shop" in names and "shop@dev" not in [d["name"] for d in ann.admin.command("listDatabases", branches=True)["databases"]]
    with server.user("bob", {"role": "read", "db": "shop@dev"}) as bob:
        assert bob["shop@dev"].orders.find_one()["n"] == "secret of dev"
        refused(lambda: bob.shop.orders.find_one())
        refused(lambda: bob["shop@dev"].orders.insert_one({}))
    with server.user("eve", {"role": "readWrite", "db": "shop@*"}) as eve:
        assert eve["shop@dev"].orders.find_one()["n"] == "secret of dev"
        assert eve["shop@before"].orders.find_one()["n"] == "main"
        eve["shop@dev"].orders.insert_one({"_id": 2})
        refused(lambda: eve.shop.orders.find_one())
    with server.user("all", {"role": "dbOwner", "db": "shop"}, {"role": "dbOwner", "db": "shop@*"}) as both:
        assert both.shop.command("diff", 1, **{"from": "main", "to": "dev"})["ok"] == 1
        assert both.shop.command("merge", "dev")["ok"] == 1
    assert first["ok"] == 1


def test_cursors_and_operations_belong_to_who_made_them(server):
    server.root.shop.a.insert_many([{"_id": i} for i in range(10)])
    with server.user("ann", {"role": "read", "db": "shop"}) as ann, server.user("bob", {"role": "read", "db": "shop"}) as bob:
        reply = ann.shop.command("find", "a", batchSize=1)
        cursor = reply["cursor"]["id"]

        def more(client):
            # The drivers' own cursors send their session, and so does this.
            return client.shop.command("getMore", Int64(cursor), collection="a")
        with pytest.raises(OperationFailure):
            more(bob)
        refused(lambda: bob.shop.command("killCursors", "a", cursors=[Int64(cursor)]))
        assert bob.admin.command("currentOp", **{"$ownOps": True})["inprog"]
        refused(lambda: bob.admin.command("currentOp"))
        assert all(op["effectiveUsers"] == [{"user": "bob", "db": "admin"}] for op in
                   bob.admin.aggregate([{"$currentOp": {}}]))
        refused(lambda: list(bob.admin.aggregate([{"$currentOp": {"allUsers": True}}])))
        refused(lambda: bob.admin.command("killOp", op=1))
        assert ann.shop.command("killCursors", "a", cursors=[Int64(cursor)])["cursorsKilled"] == [cursor]


def test_a_cursor_ends_with_the_rights_of_its_user(server):
    server.root.shop.a.insert_many([{"_id": i} for i in range(10)])
    server.root.shop.command("create", "view", viewOn="a", pipeline=[{"$match": {"_id": {"$gte": 0}}}])
    server.root.shop.command("createRole", "looks", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": name}, "actions": ["find", "listIndexes"]} for name in ("b", "view")])
    looks, read = {"role": "looks", "db": "shop"}, {"role": "read", "db": "shop"}
    with server.user("ann", looks, read) as ann:
        def open_cursors():
            lookup = [{"$lookup": {"from": "a", "localField": "_id", "foreignField": "_id", "as": "x"}}]
            commands = ({"find": "a", "batchSize": 1}, {"aggregate": "a", "pipeline": [], "cursor": {"batchSize": 1}}, {"find": "view", "batchSize": 1},
                        {"aggregate": "view", "pipeline": lookup, "cursor": {"batchSize": 1}})
            return [(next(iter(one.values())), ann.shop.command(one)["cursor"]["id"]) for one in commands]

        def more(collection, cursor):
            return ann.shop.command("getMore", Int64(cursor), collection=collection, batchSize=1)["cursor"]["nextBatch"]

        cursors = open_cursors()
        assert all(len(more(*one)) == 1 for one in cursors)
        # Another user's change, and one of his own that takes nothing away.
        server.root.shop.command("createUser", "bob", pwd=PASSWORD, roles=[])
        assert all(len(more(*one)) == 1 for one in cursors)
        server.root.admin.command("grantRolesToUser", "ann", roles=[{"role": "read", "db": "other"}])
        assert all(len(more(*one)) == 1 for one in cursors)
        server.root.admin.command("revokeRolesFromUser", "ann", roles=[read])
        for position in (0, 1, 3):
            error = refused(lambda: more(*cursors[position]))
            assert error.details["errmsg"] == f"not authorized for getMore with cursor id {cursors[position][1]}"
        assert len(more(*cursors[2])) == 1  # the view is still his
        server.root.admin.command("grantRolesToUser", "ann", roles=[read])
        assert all(len(more(*one)) == 1 for one in cursors)


def test_sessions_belong_to_their_user(server):
    server.root.shop.a.insert_many([{"_id": i} for i in range(100)])
    root = server.root.admin

    def digest(user):
        return bson.Binary(hashlib.sha256(f"{user}@admin".encode()).digest())
    with server.user("ann", {"role": "read", "db": "shop"}) as ann, server.user("bob", {"role": "read", "db": "shop"}) as bob:
        with ann.start_session() as session:
            lsid = session.session_id

            def opened():
                cursor = ann.shop.command("find", "a", batchSize=1, session=session)["cursor"]["id"]
                return lambda: ann.shop.command("getMore", Int64(cursor), collection="a", batchSize=1, session=session)
            more = opened()
            # A user who knows the id of another user's session has a session of his own by it.
            bob.admin.command("killSessions", [lsid])
            bob.admin.command("endSessions", [lsid])
            refused(lambda: bob.admin.command("killAllSessions", []))
            refused(lambda: bob.admin.command("killAllSessionsByPattern", [{"lsid": {**lsid, "uid": digest("ann")}}]))
            root.command("killAllSessions", [{"user": "bob", "db": "admin"}, {"user": "nobody", "db": "admin"}])
            root.command("killAllSessionsByPattern", [{"uid": digest("bob")}])
            root.command("killAllSessionsByPattern", [{"lsid": {**lsid, "uid": digest("bob")}}, {"lsid": lsid}])
            more()
            refused(lambda: root.command("killAllSessionsByPattern", [{"uid": digest("ann"), "users": [{"user": "ann", "db": "admin"}]}]))
            refused(lambda: root.command("killAllSessionsByPattern", [{"uid": bson.Binary(b"short")}]), 2)
            refused(lambda: root.command("killAllSessions", ["ann"]), 14)
            more()
            for command, given in (("killAllSessionsByPattern", [{"lsid": {**lsid, "uid": digest("ann")}}]),
                                   ("killAllSessionsByPattern", [{"uid": digest("ann")}]), ("killAllSessionsByPattern", [{}]),
                                   ("killAllSessions", [{"user": "ann", "db": "admin"}]), ("killAllSessions", [])):
                more()
                root.command(command, given)
                refused(more, 43)
                more = opened()
            ann.admin.command("killSessions", [lsid])
            refused(more, 43)


def strange(server, *commands):
    """The replies to a client that hasn't logged in."""
    with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
        replies = []
        for command in commands:
            send_raw(connection, command)
            replies.append(receive_raw(connection))
        return replies


def lsids(count):
    return [{"id": bson.Binary(os.urandom(16), 4)} for _ in range(count)]


def active_sessions(server):
    return server.root.admin.command("serverStatus")["logicalSessionRecordCache"]["activeSessionsCount"]


def test_a_client_without_a_login_has_no_sessions():
    with Guarded("--setParameter", "maxSessions=20") as server:
        for name in ("ping", "hello", "buildInfo"):
            for reply in strange(server, *({name: 1, "lsid": lsid, "$db": "admin"} for lsid in lsids(30))):
                assert reply["ok"] == 1
        assert active_sessions(server) < 20
        with server.user("ann", {"role": "read", "db": "shop"}) as ann, ann.start_session() as session:
            assert ann.admin.command("ping", session=session)["ok"] == 1
            before = active_sessions(server)
            many = lsids(100_000) + [session.session_id]
            assert strange(server, {"endSessions": many, "$db": "admin"}, {"endSessions": 1, "$db": "admin"})[0]["ok"] == 1
            assert active_sessions(server) == before


def test_sessions_end_by_the_ten_thousand(server):
    with server.user("ann", {"role": "read", "db": "shop"}) as ann:
        assert ann.admin.command("endSessions", lsids(10_000))["ok"] == 1
        assert "10000" in refused(lambda: ann.admin.command("endSessions", lsids(10_001)), 2).details["errmsg"]


def test_a_client_without_a_login_does_not_set_the_clock(tmp_path):
    key = tmp_path / "key"
    key.write_text("sixteen and more characters")
    key.chmod(0o600)
    with Server("--replSet", "rs0", "--keyFile", str(key)) as server:
        server.initiate()
        later = bson.Timestamp(int(time.time()) + 300 * 24 * 3600, 1)
        cluster_time = {"clusterTime": later, "signature": {"hash": bson.Binary(bytes(20)), "keyId": Int64(0)}}
        for name in ("ping", "hello"):
            reply, = strange(server, {name: 1, "$clusterTime": cluster_time, "$db": "admin"})
            assert reply["ok"] == 1
            assert reply["$clusterTime"]["clusterTime"] < later


def compressed(message, raw_length):
    """OP_COMPRESSED with zlib; `message` is an OP_MSG without its header."""
    packed = zlib.compress(message, 9)
    return struct.pack("<iiiiiiB", 25 + len(packed), 1, 0, 2012, 2013, raw_length, 2) + packed


def test_a_small_message_before_a_login_does_not_unpack_to_a_large_one(server):
    def sent(pad):
        body = bson.encode({"ping": 1, "$db": "admin"})
        documents = bson.encode({"": pad}) if pad else b""
        section = b"d\0" + documents
        message = struct.pack("<I", 0) + b"\0" + body + b"\1" + struct.pack("<i", 4 + len(section)) + section
        with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
            connection.sendall(compressed(message, len(message)))
            return connection.recv(16)
    assert sent(" " * 1000)
    assert sent(" " * (2 << 20)) == b""
    assert server.root.admin.command("ping")["ok"] == 1


def test_lists_show_what_a_user_may_use(server):
    for db in ("shop", "other"):
        for collection in ("a", "b"):
            server.root[db][collection].insert_one({})
    server.root.shop.command("createRole", "one", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "a"}, "actions": ["find"]}])
    with server.user("ann", "one", db="shop") as ann:
        assert ann.list_database_names() == ["shop"]
        refused(lambda: ann.shop.command("listCollections"))
        names = ann.shop.command("listCollections", nameOnly=True, authorizedCollections=True)["cursor"]["firstBatch"]
        assert [one["name"] for one in names] == ["a"]


def test_a_user_may_be_bound_to_addresses(server):
    server.user("here", {"role": "read", "db": "shop"}, authenticationRestrictions=[{"clientSource": ["127.0.0.0/8"]}]).shop.a.find_one()
    there = server.user("there", {"role": "read", "db": "shop"}, authenticationRestrictions=[{"clientSource": ["10.1.2.3"]}])
    refused(lambda: there.shop.a.find_one(), AUTHENTICATION_FAILED)
    refused(lambda: server.user("wrong", authenticationRestrictions=[{"clientSource": ["no address"]}]), 12)
    [shown] = server.root.admin.command("usersInfo", "there", showAuthenticationRestrictions=True)["users"]
    assert shown["authenticationRestrictions"] == [{"clientSource": ["10.1.2.3"]}]


def test_logout_ends_a_login(server):
    with server.user("ann", {"role": "read", "db": "shop"}) as ann:
        with ann.start_session() as session:
            ann.shop.command("find", "a", session=session)
        ann.admin.command("logout")
        refused(lambda: ann.shop.command("find", "a"))


def talk(server, *messages):
    """Sends messages on one connection; the reply to the last."""
    with socket.create_connection((server.host, server.port), timeout=DEADLINE) as connection:
        for message in messages:
            send_raw(connection, message)
            reply = receive_raw(connection)
    return reply


@pytest.mark.parametrize("payload", [b"", b"n,,", b"n,,n=,r=x", b"p=tls-unique,,n=a,r=x", b"n,,n=a", b"n,,r=x,n=a", b"n,,n=a=2X,r=x", b"\xff\xfe",
                                     b"n,,m=x,n=a,r=y", b"n,a=b,n=a,r=y", b"n,,n=a,r=x,r=y", b"n,," + b"x" * 100_000, b"n,,n=\x00,r=x"])
def test_messages_that_are_no_login_are_refused(server, payload):
    reply = talk(server, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload, "$db": "admin"})
    assert reply["ok"] in (0, 1)
    if reply["ok"] == 1:
        reply = talk(server, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload, "$db": "admin"},
                     {"saslContinue": 1, "conversationId": 1, "payload": b"c=biws,r=x,p=AAAA", "$db": "admin"})
    assert reply["ok"] == 0 and reply["code"] == AUTHENTICATION_FAILED
    assert server.root.admin.command("ping")["ok"] == 1


def test_conversations_out_of_order_are_refused(server):
    start = {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": b"n,,n=root,r=abc", "$db": "admin"}
    proof = {"saslContinue": 1, "conversationId": 1, "payload": b"c=biws,r=abc,p=" + base64.b64encode(b"x" * 32), "$db": "admin"}
    assert talk(server, proof)["code"] == 17
    assert talk(server, start, {**proof, "conversationId": 2})["code"] == 17
    assert talk(server, start, proof)["code"] == AUTHENTICATION_FAILED
    assert talk(server, start, proof, proof)["code"] == 17
    assert talk(server, {**start, "mechanism": "PLAIN"})["code"] == 334
    assert talk(server, {**start, "mechanism": "GSSAPI"})["codeName"] == "MechanismUnavailable"
    # The proof of one conversation is none in another.
    assert talk(server, start, {"saslContinue": 1, "conversationId": 1, "payload": b"", "$db": "admin"})["code"] == AUTHENTICATION_FAILED
    assert talk(server, start, {"find": "a", "$db": "shop"})["code"] == UNAUTHORIZED


def test_a_client_that_fails_again_and_again_waits_longer(server):
    server.root.admin.command("createUser", "ann", pwd=PASSWORD, roles=[])

    def attempt():
        begun = time.monotonic()
        refused(lambda: server.login("ann", "wrong", serverSelectionTimeoutMS=DEADLINE * 1000).shop.command("buildInfo"), AUTHENTICATION_FAILED)
        return time.monotonic() - begun
    times = [attempt() for _ in range(8)]
    assert max(times[5:]) > 0.3
    # A good login from there ends it.
    server.login("ann").admin.command("ping")


def test_certificates_are_users_too(tmp_path):
    ca = Authority(tmp_path)
    certificate = ca.issue("server")
    ann = ca.issue("ann", "/O=Palimpsest/OU=Users/CN=ann")
    eve = ca.issue("eve", "/O=Palimpsest/OU=Users/CN=eve")
    with Server("--auth", "--tlsMode", "preferTLS", "--tlsCertificateKeyFile", str(certificate), "--tlsCAFile", str(ca.file),
                "--tlsAllowConnectionsWithoutCertificates") as server:
        with server.client() as client:
            client.admin.command("createUser", "root", pwd=PASSWORD, roles=["root"])
        root = server.client(username="root", password=PASSWORD)
        root["$external"].command("createUser", "CN=ann,OU=Users,O=Palimpsest", roles=[{"role": "readWrite", "db": "shop"}])

        def by(file, **more):
            return server.client(tls=True, tlsCAFile=str(ca.file), tlsCertificateKeyFile=str(file), authMechanism="MONGODB-X509", **more)
        with by(ann) as client:
            client.shop.a.insert_one({"_id": 1})
            refused(lambda: client.other.a.insert_one({}))
            assert client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"] == [
                {"user": "CN=ann,OU=Users,O=Palimpsest", "db": "$external"}]
        refused(lambda: by(eve).shop.a.find_one(), AUTHENTICATION_FAILED)
        refused(lambda: by(eve, username="CN=ann,OU=Users,O=Palimpsest").shop.a.find_one(), AUTHENTICATION_FAILED)
        refused(lambda: server.client(tls=True, tlsCAFile=str(ca.file), authMechanism="MONGODB-X509").shop.a.find_one(), AUTHENTICATION_FAILED)
        refused(lambda: root["$external"].command("createUser", "CN=x", pwd="x", roles=[]), 2)
        root.close()


def test_nobody_is_served_on_other_interfaces_without_access_control():
    server = Server(host="0.0.0.0")
    server.process = None
    try:
        with pytest.raises(RuntimeError) as left:
            server.start()
        assert "noauth" in str(left.value)
    finally:
        server.__exit__()
    with Server("--noauth", host="0.0.0.0") as open_one:
        with pymongo.MongoClient("127.0.0.1", open_one.port) as client:
            client.admin.command("ping")


def test_the_log_and_currentop_have_no_secrets(server):
    server.root.admin.command("setParameter", 1, logLevel=1)
    try:
        server.root.admin.command("createUser", "ann", pwd="donttellanybody", roles=[])
        server.root.admin.command("updateUser", "ann", pwd="donttellanybody2")
        refused(lambda: server.login("ann", "donttellanybody3").shop.command("buildInfo"), AUTHENTICATION_FAILED)
    finally:
        server.root.admin.command("setParameter", 1, logLevel=0)
    assert "donttellanybody" not in server.log.read_text(errors="replace")

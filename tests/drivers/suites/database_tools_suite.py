"""MongoDB's Database Tools, run against a member of a set with access control. `scripts/drivers --tools` builds and runs them.

The variable DATABASE_TOOLS names the folder of the programs. What a tool brings back is compared by dbHash and by what
listCollections and listIndexes show.
"""
import datetime
import json
import os
import subprocess
import threading

import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo.errors import OperationFailure

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until

TOOLS = os.environ["DATABASE_TOOLS"]
PASSWORD = "a password"
KEY = "dGhlIGtleSBvZiB0aGUgc3VpdGU="


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    key = tmp_path_factory.mktemp("key") / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    with Server("--replSet", "rs0", "--keyFile", str(key)) as server, server.client(directConnection=True) as first:
        first.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"127.0.0.1:{server.port}"}]})
        wait_until(lambda: first.admin.command("hello")["isWritablePrimary"], server.tail)
        first.admin.command("createUser", "root", pwd=PASSWORD, roles=["root"])
        with server.client(directConnection=True, username="root", password=PASSWORD) as client:
            # applyOps takes the right to do anything, as with mongod.
            everything = {"resource": {"anyResource": True}, "actions": ["anyAction"]}
            client.admin.command("createRole", "anything", privileges=[everything], roles=[])
            client.admin.command("grantRolesToUser", "root", roles=["anything"])
        yield server


@pytest.fixture
def client(server):
    with server.client(directConnection=True, username="root", password=PASSWORD) as client:
        yield client
        for name in ("shop", "other"):
            client[name].command("dropAllUsersFromDatabase")
            client[name].command("dropAllRolesFromDatabase")
        for name in client.list_database_names():
            if name not in ("admin", "config", "local"):
                client.drop_database(name)


@pytest.fixture
def run(server, tmp_path):
    def run(program, *arguments, user="root", fails=False):
        login = () if program == "bsondump" else ("--host", "127.0.0.1", "--port", str(server.port), "--username", user, "--password", PASSWORD,
                                                  "--authenticationDatabase", "admin")
        done = subprocess.run([os.path.join(TOOLS, program), *login, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert (done.returncode != 0) == fails, done.stderr[-3000:]
        return done.stdout, done.stderr
    return run


def fill(db):
    db.pages.insert_many([{"_id": i, "text": f"text {i}", "n": Int64(i), "at": datetime.datetime(2026, 1, 1 + i % 28), "id": ObjectId(),
                           "bytes": Binary(b"\x00\x01", 128), "like": Regex("a", "i"), "price": Decimal128("1.50"), "stamp": Timestamp(1, i),
                           "least": MinKey(), "most": MaxKey(), "list": [1, {"a": [2.5, None, True]}]} for i in range(400)])
    db.pages.create_index("text", unique=True)
    db.pages.create_index([("n", -1)], sparse=True)
    db.pages.create_index([("text", "text")], weights={"text": 3})
    db.pages.create_index([("list.a", 1)], partialFilterExpression={"n": {"$gt": 5}})
    db.pages.create_index([("$**", 1)], wildcardProjection={"list": 1})
    db.create_collection("log", capped=True, size=100_000, max=50)
    db.log.insert_many([{"line": i} for i in range(9)])
    db.create_collection("first_pages", viewOn="pages", pipeline=[{"$match": {"n": {"$lt": 10}}}])
    db.create_collection("weather", timeseries={"timeField": "at", "metaField": "place"})
    db.weather.insert_many([{"at": datetime.datetime(2026, 1, 1, 0, 0, i), "place": i % 3, "t": i} for i in range(50)])
    db.create_collection("checked", validator={"$jsonSchema": {"required": ["a"]}}, validationAction="error")
    db.checked.insert_one({"a": 1})
    db.create_collection("clustered", clusteredIndex={"key": {"_id": 1}, "unique": True})
    db.clustered.insert_one({"_id": 1})
    db.create_collection("names", collation={"locale": "en", "strength": 2})
    db.names.insert_one({"_id": "Ann"})


def state(db):
    """Returns all that a dump has of a database."""
    infos = {one["name"]: (one["type"], one.get("options")) for one in db.list_collections() if one["name"] != "system.views"}
    indexes = {name: sorted((json.dumps(one, default=str, sort_keys=True) for one in db[name].list_indexes()))
               for name, (kind, _) in infos.items() if kind == "collection"}
    return db.command("dbHash")["collections"], infos, indexes


@pytest.mark.parametrize("form", [("--out", "dump"), ("--gzip", "--out", "dump"), ("--archive=dump.archive",), ("--gzip", "--archive=dump.gz")])
def test_a_dump_brings_back_the_same(client, run, form):
    fill(client.shop)
    before = state(client.shop)
    run("mongodump", "--db", "shop", *form)
    client.drop_database("shop")
    place = [word for word in form if word != "--out"]
    run("mongorestore", "--nsInclude", "shop.*", *place)
    assert state(client.shop) == before


def test_a_restore_drops_and_renames(client, run):
    fill(client.shop)
    before = state(client.shop)
    run("mongodump", "--out", "dump")
    client.shop.pages.delete_many({"n": {"$gt": 100}})
    client.shop.pages.insert_one({"_id": "another"})
    run("mongorestore", "--drop", "--nsExclude", "admin.*", "dump")
    assert state(client.shop) == before
    run("mongorestore", "--nsFrom", "shop.*", "--nsTo", "copy.*", "--nsInclude", "shop.*", "dump")
    assert state(client.copy)[0] == before[0]
    assert "0 document(s) restored successfully. 400 document(s) failed" in run("mongorestore", "--nsInclude", "shop.pages", "dump")[1]


def test_a_branch_and_a_snapshot_are_databases_to_a_dump(client, run):
    client.shop.pages.insert_many([{"_id": i} for i in range(10)])
    client.shop.command({"commit": 1, "message": "first"})
    client.shop.command({"createBranch": "dev"})
    client["shop@dev"].pages.insert_one({"_id": 99})
    client.admin.command({"createSnapshot": 1, "name": "moment"})
    client.shop.pages.delete_many({})
    try:
        run("mongodump", "--db", "shop@dev", "--out", "dump")
        run("mongodump", "--db", "shop@moment", "--out", "dump")
        run("mongorestore", "--nsFrom", "shop@dev.*", "--nsTo", "of_branch.*", "--nsInclude", "shop@dev.*", "dump")
        run("mongorestore", "--nsFrom", "shop@moment.*", "--nsTo", "of_snapshot.*", "--nsInclude", "shop@moment.*", "dump")
        assert client.of_branch.pages.count_documents({}) == 11 and client.of_snapshot.pages.count_documents({}) == 10
        run("mongorestore", "--drop", "--nsFrom", "shop@moment.*", "--nsTo", "shop@dev.*", "--nsInclude", "shop@moment.*", "dump")
        assert client["shop@dev"].pages.count_documents({}) == 10 and client.shop.pages.count_documents({}) == 0
    finally:
        client.admin.command({"dropSnapshot": "moment"})


def test_a_dump_with_the_log_is_of_one_moment(client, run):
    stop = threading.Event()

    def write():
        n = 0
        while not stop.is_set():
            client.shop.a.insert_one({"_id": n})
            client.shop.b.insert_one({"_id": n})
            n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: client.shop.b.estimated_document_count() > 200, lambda: "")
        run("mongodump", "--oplog", "--out", "dump")
    finally:
        stop.set()
        writer.join()
    run("mongorestore", "--oplogReplay", "--drop", "dump")
    a, b = (client.shop[name].count_documents({}) for name in "ab")
    assert a - b in (0, 1) and a > 200


def test_users_and_roles_travel(server, client, run):
    client.shop.command("createRole", "reader", privileges=[{"resource": {"db": "shop", "collection": "pages"}, "actions": ["find"]}], roles=[])
    client.shop.command("createUser", "ann", pwd="secret", roles=["reader"])
    client.shop.pages.insert_one({})
    run("mongodump", "--db", "shop", "--dumpDbUsersAndRoles", "--out", "dump")
    client.shop.command("dropAllUsersFromDatabase")
    client.shop.command("dropAllRolesFromDatabase")
    run("mongorestore", "--db", "shop", "--restoreDbUsersAndRoles", "--drop", "dump/shop")
    with server.client(directConnection=True, username="ann", password="secret", authSource="shop") as ann:
        assert ann.shop.pages.find_one()
        with pytest.raises(OperationFailure, match="not authorized"):
            ann.shop.others.find_one()


def test_a_dump_of_all_has_the_users(server, client, run):
    client.shop.pages.insert_one({})
    client.shop.command("createUser", "ann", pwd="secret", roles=["read"])
    client.other.command("createUser", "bob", pwd="secret", roles=["read"])
    run("mongodump", "--out", "dump")
    before = list(client.admin["system.users"].find(sort=[("_id", 1)]))
    client.shop.command("dropUser", "ann")
    client.shop.command("createUser", "eve", pwd="secret", roles=["read"])
    client.other.command("updateUser", "bob", roles=["readWrite"])
    run("mongorestore", "dump")
    users = {one["_id"]: one for one in client.admin["system.users"].find()}
    assert set(users) == {"admin.root", "shop.ann", "shop.eve", "other.bob"} and users["other.bob"]["roles"][0]["role"] == "readWrite"
    run("mongorestore", "--drop", "dump")
    assert list(client.admin["system.users"].find(sort=[("_id", 1)])) == before


def test_a_user_who_may_back_up_and_restore_can(server, client, run):
    fill(client.shop)
    client.shop.command("createUser", "ann", pwd="secret", roles=["read"])
    client.admin.command("createUser", "keeper", pwd=PASSWORD, roles=["backup", "restore"])
    try:
        run("mongodump", "--out", "dump", user="keeper")
        before = client.shop.command("dbHash")["collections"]
        client.drop_database("shop")
        client.shop.command("dropUser", "ann")
        run("mongorestore", "dump", user="keeper")
        assert client.shop.command("dbHash")["collections"] == before and client.shop.command("usersInfo", "ann")["users"]
    finally:
        client.admin.command("dropUser", "keeper")


def test_json_and_csv_go_out_and_come_in(client, run):
    fill(client.shop)
    run("mongoexport", "--db", "shop", "--collection", "pages", "--jsonFormat", "canonical", "--out", "pages.json")
    run("mongoimport", "--db", "shop", "--collection", "again", "pages.json")
    hashes = client.shop.command("dbHash")["collections"]
    assert hashes["again"] == hashes["pages"]
    client.shop.again.update_many({}, {"$set": {"n": -1}})
    run("mongoimport", "--db", "shop", "--collection", "again", "--mode", "upsert", "pages.json")
    assert client.shop.command("dbHash")["collections"]["again"] == hashes["pages"]
    run("mongoimport", "--db", "shop", "--collection", "again", "--mode", "delete", "pages.json")
    assert client.shop.again.count_documents({}) == 0
    out, _ = run("mongoexport", "--db", "shop", "--collection", "pages", "--query", '{"n": {"$lt": 5}}', "--sort", '{"_id": -1}', "--fields", "_id,text",
                 "--type", "csv")
    assert out.splitlines() == ["_id,text"] + [f"{i},text {i}" for i in (4, 3, 2, 1, 0)]
    out, _ = run("mongoexport", "--db", "shop", "--collection", "first_pages")
    assert len(out.splitlines()) == 10


def test_files_come_back_as_they_went(client, run, tmp_path):
    content = os.urandom(3_000_000)
    (tmp_path / "file").write_bytes(content)
    run("mongofiles", "--db", "files", "put", "file")
    assert "file\t3000000" in run("mongofiles", "--db", "files", "list")[0]
    run("mongofiles", "--db", "files", "--local", "back", "get", "file")
    assert (tmp_path / "back").read_bytes() == content
    run("mongofiles", "--db", "files", "delete", "file")
    assert client.files.fs.chunks.count_documents({}) == 0


def test_figures_are_shown(client, run):
    client.shop.pages.insert_many([{} for _ in range(100)])
    rows = [json.loads(line) for line in run("mongostat", "--rowcount", "2", "--json", "1")[0].splitlines()]
    assert len(rows) == 2
    for row in rows:
        (row,) = row.values()
        assert row["set"] == "rs0"
        assert {"insert", "query", "dirty", "used", "vsize", "res", "qrw", "arw", "net_in", "conn"} <= set(row)
    tops = [json.loads(line) for line in run("mongotop", "--rowcount", "2", "--json", "1")[0].splitlines()]
    assert all("shop.pages" in one["totals"] for one in tops)
    assert "does not support reporting lock" in run("mongotop", "--locks", "--rowcount", "1", fails=True)[1]


def test_a_dump_is_readable_without_a_server(client, run):
    fill(client.shop)
    run("mongodump", "--db", "shop", "--out", "dump")
    lines = run("bsondump", "dump/shop/pages.bson")[0].splitlines()
    assert len(lines) == 400 and json.loads(lines[0])["text"] == "text 0"


def test_uuids_of_another_server_are_refused(client, run):
    client.shop.pages.insert_one({})
    run("mongodump", "--db", "shop", "--out", "dump")
    assert "CommandNotSupported" in run("mongorestore", "--preserveUUID", "--drop", "--nsInclude", "shop.*", "dump", fails=True)[1]

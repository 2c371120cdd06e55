"""createBackup copies a server that is in use; the copy opens and has what was there."""
import contextlib
import pathlib
import random
import shutil
import threading

import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.palimpsest import Server
from tests.support.waiting import wait_until


def backed_up(client, folder):
    return client.admin.command("createBackup", backupDir=str(folder))


def contents(db):
    return {document["_id"]: document for document in db.pages.find()}


@pytest.mark.parametrize("member", [False, True], ids=["standalone", "member"])
def test_a_copy_made_under_load_has_what_was_acknowledged_before(member, tmp_path):
    arguments = ["--replSet", "rs0"] if member else []
    with Server(*arguments) as server:
        if member:
            server.initiate()
        with server.client() as client:
            pages = client.shop.pages
            pages.create_index("n", unique=True)
            pages.insert_many([{"_id": i, "n": i, "text": f"text {i} " * 200} for i in range(500)])
            client.shop.command("createBranch", "dev")
            client["shop@dev"].pages.update_many({"_id": {"$lt": 100}}, {"$set": {"on": "dev"}})
            commit = client["shop@dev"].command("commit", 1, message="on dev")["commit"]
            client.admin.command("createSnapshot", 1, name="before")
            pages.delete_many({"_id": {"$gte": 400}})
            acknowledged = list(range(1000))
            stop = threading.Event()

            def write():
                with server.client() as other:
                    number = 1000
                    while not stop.is_set():
                        other.shop.pages.insert_one({"_id": number, "n": number})
                        acknowledged.append(number)
                        number += 1

            writer = threading.Thread(target=write)
            writer.start()
            wait_until(lambda: len(acknowledged) > 1050)
            at_begin = acknowledged[-1]
            made = backed_up(client, tmp_path / "copy")
            wait_until(lambda: acknowledged[-1] > at_begin)
            stop.set()
            writer.join()
            assert made["files"] > 5
            assert made["bytes"] == sum(path.stat().st_size for path in (tmp_path / "copy").rglob("*") if path.is_file())
    copy = Server(dbpath=tmp_path / "copy")
    with copy:
        with copy.client() as client:
            there = contents(client.shop)
            assert set(range(400)) <= set(there) and not set(there) & set(range(400, 1000))
            new = sorted(key for key in there if key >= 1000)
            assert new == list(range(1000, 1000 + len(new)))  # nothing is missing in between
            if not member:  # a member's copy is as of its checkpoint
                assert new[-1] >= at_begin
            assert len(list(client["shop@dev"].pages.find({"on": "dev"}))) == 100
            assert next(client["shop@dev"].cursor_command("log", 1))["commit"] == commit
            assert client["shop@before"].pages.count_documents({}) == 500
            assert client.shop.command("validate", "pages", full=True)["valid"]
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]


@pytest.mark.parametrize("member", [False, True], ids=["standalone", "member"])
def test_a_snapshot_of_the_files_under_the_lock_has_what_was_written_before(member, tmp_path):
    with Server(*(["--replSet", "rs0"] if member else [])) as server, contextlib.ExitStack() as connections:
        if member:
            server.initiate()
        client, other = (connections.enter_context(server.client()) for _ in range(2))
        client.shop.pages.insert_many([{"_id": i, "text": f"text {i} " * 200} for i in range(500)])
        client.shop.command("createBranch", "dev")
        acknowledged, stop = [], threading.Event()

        def write():
            while not stop.is_set():
                other.shop.pages.insert_one({"_id": 1000 + len(acknowledged)})
                other.shop.command("create", f"made{len(acknowledged)}")
                acknowledged.append(1000 + len(acknowledged))

        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: len(acknowledged) > 20)
        assert client.admin.command("fsync", lock=True)["lockCount"] == 1
        with pytest.raises(OperationFailure) as failure:
            backed_up(client, tmp_path / "backup")
        assert failure.value.code == 50886
        locked = {one["_id"] for one in client.shop.pages.find()}
        names = set(client.shop.list_collection_names())
        client.admin.command("fsync")
        server.hold()  # the copy is as of one moment, as a file system's snapshot is
        shutil.copytree(server.dbpath, tmp_path / "copy")
        server.let_go()
        assert {one["_id"] for one in client.shop.pages.find()} == locked
        written = len(acknowledged)
        assert client.admin.command("fsyncUnlock")["lockCount"] == 0
        wait_until(lambda: len(acknowledged) > written + 5)
        stop.set()
        writer.join()
    with Server(dbpath=tmp_path / "copy") as copy, copy.client() as client:
        assert {one["_id"] for one in client.shop.pages.find()} == locked
        assert set(client.shop.list_collection_names()) == names
        assert client.shop.command("validate", "pages", full=True)["valid"]
        assert len(list(client["shop@dev"].pages.find())) == 500


def test_a_server_that_is_locked_ends_on_request():
    with Server() as server, server.client() as client:
        client.admin.command("fsync", lock=True)
        blocked = threading.Thread(target=lambda: pytest.raises(PyMongoError, client.t.c.insert_one, {}))
        blocked.start()
        wait_until(lambda: any(op.get("op") == "insert" for op in client.admin.command("currentOp")["inprog"]))
        assert server.stop() == 0
        blocked.join()


def test_folders_that_cannot_be_used_are_refused(tmp_path):
    with Server() as server, server.client() as client:
        client.t.c.insert_one({"_id": 1})
        full = tmp_path / "full"
        full.mkdir()
        (full / "file").write_text("here")
        inside = pathlib.Path(server.dbpath) / "copy"
        for folder in ("relative", tmp_path / "not" / "there", full, full / "file", inside, ""):
            with pytest.raises(OperationFailure) as refused:
                backed_up(client, folder)
            assert refused.value.code == 2, folder
        assert not inside.exists() and (full / "file").read_text() == "here"
        for arguments, code in (({}, 40414), ({"backupDir": 1}, 14), ({"backupDir": str(tmp_path / "x"), "archive": "x"}, 40415)):
            with pytest.raises(OperationFailure) as refused:
                client.admin.command("createBackup", **arguments)
            assert refused.value.code == code
        with pytest.raises(OperationFailure, match="admin"):
            client.t.command("createBackup", backupDir=str(tmp_path / "x"))
        empty = tmp_path / "empty"
        empty.mkdir()
        left = tmp_path / "empty.partial"  # by a server that was killed
        left.mkdir()
        (left / "file").write_text("old")
        assert backed_up(client, f"{empty}/")["ok"] == 1
        assert not left.exists() and not (empty / "file").exists() and (empty / "palimpsest.json").exists()
        assert (empty.stat().st_mode & 0o777, (empty / "palimpsest.json").stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_backup_that_is_killed_leaves_nothing(tmp_path):
    with Server() as server, server.client() as client:
        client.t.c.insert_many([{"_id": i, "text": "x" * 1000} for i in range(1000)])
        with pytest.raises(OperationFailure) as ended:
            client.admin.command("createBackup", backupDir=str(tmp_path / "copy"), maxTimeMS=1)
        assert ended.value.code == 50
        assert list(tmp_path.iterdir()) == []
        assert backed_up(client, tmp_path / "copy")["ok"] == 1  # the one that ended is in nobody's way


def test_a_server_that_is_killed_while_it_copies_loses_nothing(tmp_path):
    with Server() as server:
        with server.client() as client:
            client.shop.pages.insert_many([{"_id": i, "text": random.randbytes(50_000)} for i in range(400)])
            there = contents(client.shop)
        copying = threading.Thread(target=attempt, args=(server, tmp_path / "copy"))
        copying.start()
        wait_until((tmp_path / "copy.partial").exists, pause=0)
        server.kill()
        copying.join()
        server.start()
        with server.client() as client:
            assert contents(client.shop) == there
            assert client.shop.command("validate", "pages", full=True)["valid"]
            if not (tmp_path / "copy").exists():  # it wasn't quicker than the kill
                assert backed_up(client, tmp_path / "copy")["ok"] == 1
        assert not (tmp_path / "copy.partial").exists()
    with Server(dbpath=tmp_path / "copy") as copy, copy.client() as client:
        assert contents(client.shop) == there


def attempt(server, folder):
    with server.client_until_killed() as client:
        try:
            backed_up(client, folder)
        except PyMongoError:  # the server was killed
            pass

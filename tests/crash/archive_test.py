"""Archives of backups: incremental ones, restored and checked; a server that is killed meanwhile; damage that a check finds."""
import json
import pathlib
import random
import subprocess
import threading

import pytest
from pymongo.errors import OperationFailure, PyMongoError

from tests.support.damage import damage_rows
from tests.support.palimpsest import BIN, Server
from tests.support.waiting import DEADLINE, wait_until


def palimpsest(*arguments, code=0, **options):
    done = subprocess.run([str(BIN / "palimpsest"), *map(str, arguments)], capture_output=True, timeout=DEADLINE, **options)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def lines(output):
    return [json.loads(line) for line in output.splitlines()]


def contents(db):
    return {document["_id"]: document for document in db.pages.find()}


def insert(client, first, count):
    client.shop.pages.insert_many([{"_id": i, "text": random.randbytes(1000)} for i in range(first, first + count)])


def contents_of(dbpath, *arguments):
    with Server(*arguments, dbpath=dbpath) as copy, copy.client() as client:
        assert client.shop.command("validate", "pages", full=True)["valid"]
        return contents(client.shop)


@pytest.mark.parametrize("where", ["client", "server"])
def test_later_backups_copy_what_has_changed_and_each_restores_its_moment(where, tmp_path):
    archive = tmp_path / "archive"
    there, sizes = [], []
    with Server() as server, server.client() as client:
        insert(client, 0, 2000)
        # Otherwise the server packs the rows once nobody writes, and a later backup has all of them once more.
        client.shop.command("compact", "pages")
        for step in range(3):
            made = lines(palimpsest("backup", "--uri", server.uri, archive, "--json", *(["--on-server"] if where == "server" else [])))[0]
            assert made["files"] > 5
            sizes.append(max(archive.iterdir()).stat().st_size)
            there.append(contents(client.shop))
            insert(client, 10_000 + 10 * step, 10)
    assert sizes[0] > 2_000_000 and max(sizes[1:]) < sizes[0] - 1_000_000
    listed = lines(palimpsest("restore", archive, "--list", "--json"))
    assert [(one["number"], one["whole"]) for one in listed] == [(1, True), (2, False), (3, False)]
    for number in (1, 3) if where == "client" else (2,):
        target = tmp_path / f"restored-{number}"
        palimpsest("restore", archive, target, "--number", number, "--check")
        assert contents_of(target) == there[number - 1]
    assert b"damaged" in damaged_archive_is_refused(archive, tmp_path / "damaged")


def damaged_archive_is_refused(archive, target):
    second = archive / "000002.backup"
    data = bytearray(second.read_bytes())
    data[random.randrange(len(data))] ^= 1
    second.write_bytes(data)
    done = subprocess.run([str(BIN / "palimpsest"), "restore", str(archive), str(target)], capture_output=True, timeout=DEADLINE)
    assert done.returncode == 1 and not target.exists()
    return done.stderr


def test_a_backup_goes_through_a_pipe_and_a_former_one_continues_it(tmp_path):
    with Server() as server, server.client() as client:
        insert(client, 0, 200)
        stream = palimpsest("backup", "--uri", server.uri, "-")
        palimpsest("restore", "-", tmp_path / "copy", input=stream)
        assert contents_of(tmp_path / "copy") == contents(client.shop)
        insert(client, 1000, 1)
        identity = json.loads(palimpsest("backup", "--uri", server.uri, tmp_path / "archive", "--json"))["id"]
        later = palimpsest("backup", "--uri", server.uri, "-", "--from", identity)
        refused = subprocess.run([str(BIN / "palimpsest"), "restore", "-", str(tmp_path / "later")], input=later, capture_output=True,
                                 timeout=DEADLINE)
        assert refused.returncode == 1 and b"whole" in refused.stderr


def test_a_server_that_is_killed_while_it_copies_leaves_the_archive_as_it_was(tmp_path):
    archive = tmp_path / "archive"
    with Server() as server:
        with server.client() as client:
            insert(client, 0, 500)
            client.admin.command("createBackup", archiveDir=str(archive))
            first = contents(client.shop)
            client.shop.pages.insert_many([{"_id": i, "text": random.randbytes(50_000)} for i in range(1000, 1400)])
            everything = contents(client.shop)
        copying = threading.Thread(target=attempt, args=(server, archive))
        copying.start()
        wait_until((archive / "000002.partial").exists, pause=0)
        server.kill()
        copying.join()
        palimpsest("restore", archive, tmp_path / "first", "--number", 1)
        # The directory, as the loss left it, is sound, and the check leaves its recovery to the server.
        assert b"is sound" in palimpsest("check", server.dbpath)
        server.start()
        with server.client() as client:
            assert contents(client.shop) == everything
            client.admin.command("createBackup", archiveDir=str(archive))
        assert not list(archive.glob("*.partial"))
    assert contents_of(tmp_path / "first") == first
    palimpsest("restore", archive, tmp_path / "last")
    assert contents_of(tmp_path / "last") == everything


def attempt(server, archive):
    with server.client_until_killed() as client:
        try:
            client.admin.command("createBackup", archiveDir=str(archive))
        except PyMongoError:  # the server was killed
            pass


def test_a_client_that_is_killed_leaves_the_archive_as_it_was(tmp_path):
    archive = tmp_path / "archive"
    with Server() as server, server.client() as client:
        client.shop.pages.insert_many([{"_id": i, "text": random.randbytes(50_000)} for i in range(400)])
        copying = subprocess.Popen([str(BIN / "palimpsest"), "backup", "--uri", server.uri, str(archive)])
        wait_until((archive / "000001.partial").exists, pause=0)
        copying.kill()
        copying.wait()

        def backup_is_over():
            now = list(client.admin.aggregate([{"$currentOp": {"idleCursors": True}}]))
            for cursor in now:
                if cursor["type"] == "idleCursor":
                    database, _, collection = cursor["ns"].partition(".")
                    client[database].command("killCursors", collection, cursors=[cursor["cursor"]["cursorId"]])
            return not any(one["type"] == "idleCursor" or {"createBackup", "getMore"} & set(one.get("command", {})) for one in now)

        wait_until(backup_is_over, server.tail)
        palimpsest("backup", "--uri", server.uri, archive)
        palimpsest("restore", archive, tmp_path / "copy")
        assert contents_of(tmp_path / "copy") == contents(client.shop)


def test_an_encrypted_directory_stays_encrypted(tmp_path):
    key = tmp_path / "key"
    key.write_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
    key.chmod(0o600)
    encryption = ["--enableEncryption", "--encryptionKeyFile", str(key)]
    archive = tmp_path / "archive"
    with Server(*encryption) as server, server.client() as client:
        client.shop.pages.insert_many([{"_id": i, "text": f"plain words {i} " * 50} for i in range(500)])
        palimpsest("backup", "--uri", server.uri, archive)
        client.shop.pages.insert_one({"_id": 1000, "text": "plain words"})
        palimpsest("backup", "--uri", server.uri, archive)
        there = contents(client.shop)
    assert all(b"plain words" not in path.read_bytes() for path in archive.iterdir())
    palimpsest("restore", archive, tmp_path / "copy", "--check", *encryption)
    palimpsest("check", tmp_path / "copy", code=2)  # without the key
    assert contents_of(tmp_path / "copy", *encryption) == there


def test_a_member_of_a_set_is_backed_up(tmp_path):
    with Server("--replSet", "rs0") as server:
        server.initiate()
        with server.client() as client:
            insert(client, 0, 300)
            uri = f"{server.uri}?directConnection=true"
            palimpsest("backup", "--uri", uri, tmp_path / "archive")
            insert(client, 1000, 5)
            palimpsest("backup", "--uri", uri, tmp_path / "archive")
            there = contents(client.shop)
    palimpsest("restore", tmp_path / "archive", tmp_path / "copy", "--check")
    found = contents_of(tmp_path / "copy")
    assert set(range(300)) <= set(found) and all(there[key] == value for key, value in found.items())


def test_arguments_that_do_not_go_together_are_refused(tmp_path):
    with Server() as server, server.client() as client:
        for arguments, code in (({"archiveDir": "relative"}, 2), ({"archiveDir": str(pathlib.Path(server.dbpath) / "x")}, 2),
                                ({"archiveDir": str(tmp_path / "a"), "backupDir": str(tmp_path / "b")}, 72),
                                ({"archiveDir": str(tmp_path / "a"), "incrementalFrom": "x"}, 72), ({"archiveDir": 1}, 14),
                                ({"incrementalFrom": "x"}, 72), ({"cursor": {}, "backupDir": str(tmp_path / "b")}, 72), ({}, 40414)):
            with pytest.raises(OperationFailure) as refused:
                client.admin.command("createBackup", **arguments)
            assert refused.value.code == code, arguments
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "private-diary").write_text("here")
        # The client isn't told what a folder of the server's machine has. The log says it.
        with pytest.raises(OperationFailure, match="no archive") as refused:
            client.admin.command("createBackup", archiveDir=str(tmp_path / "notes"))
        assert "private-diary" not in str(refused.value) and "private-diary" in server.log.read_text()
        palimpsest("check", server.dbpath, code=2)  # it is in use
    palimpsest("check", tmp_path / "notes", code=2)
    palimpsest("backup", tmp_path / "a", "--from", "x", code=2)
    palimpsest("restore", tmp_path / "notes", code=2)
    palimpsest("restore", tmp_path / "notes", tmp_path / "r", code=1)


def test_a_check_names_damaged_documents_and_changes_nothing(tmp_path):
    with Server() as server:
        with server.client() as client:
            insert(client, 0, 500)
            client.shop.people.insert_one({"_id": 1})
            uuid = next(client.shop.list_collections(filter={"name": "pages"}))["info"]["uuid"]
            assert uuid
        server.stop()
        table = max(server.dbpath.glob("records-*.wt"), key=lambda path: path.stat().st_size)
        assert damage_rows(table, keep=lambda at, pages: at == pages[0]) > 0
        before = {path: path.read_bytes() for path in server.dbpath.rglob("*") if path.is_file()}
        found = {one["ns"]: one for one in lines(palimpsest("check", server.dbpath, "--json", code=1)) if "ns" in one}
        assert found["shop.people"]["valid"] and not found["shop.pages"]["valid"]
        damaged = [one["_id"] for one in found["shop.pages"]["damaged"]]
        assert damaged and set(damaged) <= set(range(500))
        text = palimpsest("check", server.dbpath, code=1).decode()
        assert "is damaged" in text and f"{{ _id: {damaged[0]} }}" in text
        assert {path: path.read_bytes() for path in server.dbpath.rglob("*") if path.is_file()} == before

"""Encryption at rest: no file of a data directory has a document's text, and what doesn't fit is refused."""
import base64
import json
import os
import pathlib
import subprocess

import bson
import pymongo
from pymongo.errors import OperationFailure

from tests.support.palimpsest import BIN, Server
from tests.support.replica_set import ReplicaSet
from tests.support.waiting import DEADLINE, wait_until

WORDS = [b"marigold", b"periwinkle", b"snapdragon"]  # that documents, names of fields and keys are made of


def key_file(directory, name="master.key"):
    path = pathlib.Path(directory) / name
    path.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
    path.chmod(0o600)
    return path


def encrypted(key, **options):
    return Server("--enableEncryption", "--encryptionKeyFile", str(key), "--encryptionCipherMode", "AES256-GCM", **options)


def plaintext(directory):
    """The files that have one of the words."""
    found = []
    for path in pathlib.Path(directory).rglob("*"):
        try:
            if path.is_file() and any(word in path.read_bytes() for word in WORDS):
                found.append(str(path))
        except FileNotFoundError:
            pass  # a running server has removed it
    return found


def fill(client, many=3000):
    """Documents that dedup shares, an index over them, versions of one document, and a branch."""
    items = client.shop.items
    items.create_index("name")
    for start in range(0, many, 500):
        items.insert_many([{"_id": i, "name": f"marigold {i}", "text": f"periwinkle {i % 7} " * 60, "snapdragon": i} for i in range(start, start + 500)])
    for i in range(20):
        items.update_one({"_id": 1}, {"$set": {"text": f"periwinkle {i} " * 60}})


def ends_with(server, code, text):
    try:
        server.start(wait=False)
        assert server.ended() == code
        assert text in server.tail()
    finally:
        if server.running():
            server.kill()


def test_no_file_has_the_text_and_the_data_comes_back(tmp_path):
    key = key_file(tmp_path)
    with encrypted(key) as server:
        fill(server.client())
        server.client().admin.command("fsync")
        assert plaintext(server.dbpath) == []
        server.kill()  # the journal is read with the same key
        assert plaintext(server.dbpath) == []
        server.start()
        items = server.client().shop.items
        assert items.count_documents({}) == 3000
        assert items.find_one({"name": "marigold 7"})["text"].startswith("periwinkle 0")
        assert server.client().shop.command("validate", "items")["valid"]
        server.stop()
        assert plaintext(server.dbpath) == []
        marker = json.loads((server.dbpath / "palimpsest.json").read_text())
        assert marker["version"] == 4 and marker["encryption"]["cipher"] == "AES256-GCM"


def test_the_same_words_are_found_without_encryption(tmp_path):
    """The search above would find them."""
    with Server("--wiredTigerCollectionBlockCompressor", "none", "--wiredTigerJournalCompressor", "none", "--nodedup") as server:
        fill(server.client(), 500)
        server.client().admin.command("fsync")
        assert plaintext(server.dbpath)


def test_sorts_that_go_to_disk_leave_no_text(tmp_path):
    key = key_file(tmp_path)
    with encrypted(key) as server:
        client = server.client()
        fill(client)
        for start in range(0, 60):
            client.shop.wide.insert_many([{"_id": start * 100 + i, "key": -start * 100 - i, "text": "snapdragon " * 2000} for i in range(100)])
        cursor = client.shop.wide.aggregate([{"$sort": {"key": 1}}], allowDiskUse=True, batchSize=10)
        next(cursor)
        temporary = list((server.dbpath / "_tmp").glob("*"))
        assert temporary, "the sort didn't go to the disk"
        found = plaintext(server.dbpath)
        assert found == []
        assert [one["key"] for one in cursor] == list(range(-5998, 1))


def test_another_key_opens_nothing(tmp_path):
    key, other = key_file(tmp_path), key_file(tmp_path, "other.key")
    with encrypted(key) as server:
        server.client().t.c.insert_one({"_id": 1})
        server.stop()
        ends_with(encrypted(other, dbpath=server.dbpath), 100, "isn't the one that the data directory was encrypted with")
        ends_with(Server(dbpath=server.dbpath), 2, "is encrypted: it needs --enableEncryption")
        server.start()
        assert server.client().t.c.count_documents({}) == 1


def test_a_plain_directory_is_not_encrypted_afterwards(tmp_path):
    with Server() as server:
        server.client().t.c.insert_one({"_id": 1})
        server.stop()
        ends_with(encrypted(key_file(tmp_path), dbpath=server.dbpath), 2, "is not encrypted")


def test_key_files_that_are_none_are_refused(tmp_path):
    short = tmp_path / "short"
    short.write_text(base64.b64encode(b"short").decode())
    short.chmod(0o600)
    ends_with(encrypted(short), 2, "doesn't hold 32 bytes in base64")
    open_to_all = key_file(tmp_path, "open")
    open_to_all.chmod(0o644)
    ends_with(encrypted(open_to_all), 2, "too open")
    ends_with(encrypted(tmp_path / "missing"), 2, "can't be read")
    ends_with(Server("--enableEncryption"), 2, "needs --encryptionKeyFile")
    ends_with(Server("--enableEncryption", "--encryptionKeyFile", "x", "--encryptionCipherMode", "AES256-CBC"), 2, "AES256-CBC is not supported")


def test_the_master_key_changes_and_the_data_stays(tmp_path):
    key, new = key_file(tmp_path), key_file(tmp_path, "new.key")
    with encrypted(key) as server:
        fill(server.client(), 500)
        server.stop()
        before = {path.name: path.read_bytes() for path in server.dbpath.glob("*.wt")}
        change = subprocess.run([BIN / "palimpsestd", "--dbpath", server.dbpath, "--enableEncryption", "--encryptionKeyFile", key,
                                 "--encryptionKeyFileNew", new], capture_output=True, timeout=DEADLINE)
        assert change.returncode == 0, change.stdout
        assert before == {path.name: path.read_bytes() for path in server.dbpath.glob("*.wt")}
        ends_with(encrypted(key, dbpath=server.dbpath), 100, "isn't the one")
        with encrypted(new, dbpath=server.dbpath) as again:
            assert again.client().shop.items.count_documents({}) == 500


def test_a_damaged_block_is_damage_and_no_crash(tmp_path):
    key = key_file(tmp_path)
    with encrypted(key) as server:
        fill(server.client())
        server.client().admin.command("fsync")
        server.stop()
        tables = sorted(server.dbpath.glob("records-*.wt"), key=lambda path: path.stat().st_size)
        data = bytearray(tables[-1].read_bytes())
        for at in range(8192, len(data), 8192):
            data[at + 100] ^= 0xff
        tables[-1].write_bytes(data)
        server.start()
        errors = []
        try:
            list(server.client().shop.items.find())
        except OperationFailure as error:
            errors.append(error.code)
        assert errors == [301]
        assert server.client().admin.command("ping")["ok"] == 1


def test_a_newer_version_of_the_directory_is_refused(tmp_path):
    key = key_file(tmp_path)
    with encrypted(key) as server:
        server.stop()
        marker = server.dbpath / "palimpsest.json"
        written = json.loads(marker.read_text())
        marker.write_text(json.dumps({**written, "version": 5}))
        ends_with(encrypted(key, dbpath=server.dbpath), 62, "has format version 5")
        marker.write_text(json.dumps({**written, "encryption": {"cipher": "AES512-GCM", "key": written["encryption"]["key"]}}))
        ends_with(encrypted(key, dbpath=server.dbpath), 62, "of another cipher")
        marker.write_text(json.dumps({**written, "encryption": 7}))
        ends_with(encrypted(key, dbpath=server.dbpath), 62, "damaged")


def test_a_repair_restores_the_wrapped_key(tmp_path):
    key, other = key_file(tmp_path), key_file(tmp_path, "other.key")
    with encrypted(key) as server:
        server.client().shop.items.insert_one({"_id": 1, "name": "marigold"})
        server.stop()
        marker = server.dbpath / "palimpsest.json"
        written = marker.read_bytes()
        half = len(written) // 2  # in the midst of the key
        marker.write_bytes(written[:half] + bytes([written[half] ^ 1]) + written[half + 1:])
        assert encrypted(key, dbpath=server.dbpath).start(wait=False).ended() != 0

        def repair(key):
            command = [str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", "--enableEncryption",
                       "--encryptionKeyFile", str(key), "--encryptionCipherMode", "AES256-GCM"]
            return subprocess.run(command, capture_output=True, timeout=120, check=False).returncode

        assert repair(other) != 0
        assert repair(key) == 0
        assert marker.read_bytes() == written
        server.start()
        assert server.client().shop.items.find_one()["name"] == "marigold"


def test_members_copy_encrypted_data_with_one_master_key(tmp_path):
    key = key_file(tmp_path)
    with ReplicaSet(1, "--enableEncryption", "--encryptionKeyFile", str(key)) as running:
        running.client().shop.items.insert_many([{"_id": i, "name": f"marigold {i}" * 20} for i in range(2000)])
        another = running.join()
        wait_until(lambda: another.direct.shop.items.count_documents({}) == 2000, "the copy is not complete")
        for member in running.members:
            assert plaintext(member.dbpath) == []


def test_what_a_rollback_takes_away_is_sealed_and_can_be_read(tmp_path):
    key = key_file(tmp_path)
    with ReplicaSet(3, "--enableEncryption", "--encryptionKeyFile", str(key)) as running:
        running.client().shop.items.insert_one({"_id": 0})
        while True:
            old = running.primary()
            others = [member for member in running.members if member is not old]
            for member in others:
                member.kill()
            try:
                old.direct.shop.get_collection("items", write_concern=pymongo.WriteConcern(1)).insert_one({"_id": 1, "name": "marigold"})
                break
            except pymongo.errors.NotPrimaryError:  # on a busy machine it may have stepped down by now
                for member in others:
                    member.start()
                running.wait_settled()
        old.hold()
        for member in others:
            member.start()
        leading = wait_until(lambda: [member for member in others if member.state() == "PRIMARY"], "nobody leads")
        leading[0].direct.shop.items.insert_one({"_id": 2})
        old.let_go()
        sealed = wait_until(lambda: list((old.dbpath / "rollback").rglob("*.sealed")), lambda: f"no file of a rollback:\n{old.tail()}")
        running.wait_settled()
        running.wait_same_place()
        assert plaintext(old.dbpath) == []
        read = subprocess.run([BIN / "palimpsestd", "--dbpath", old.dbpath, "--enableEncryption", "--encryptionKeyFile", key,
                               "--decryptFile", sealed[0]], capture_output=True, timeout=DEADLINE)
        assert read.returncode == 0, read.stderr
        assert {"_id": 1, "name": "marigold"} in bson.decode_all(read.stdout)

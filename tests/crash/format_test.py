"""Data directories that programs of former formats wrote: they are read, or refused and left as they are."""
import subprocess
import tarfile

import bson.json_util
import pytest
from pymongo.errors import OperationFailure

from tests.crash.format_directory import FOLDER, KEY, little_picture, picture
from tests.support.palimpsest import BIN, Server


def unpack(name, target):
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target / "db", bson.json_util.loads((target / "expected.json").read_text())


def check(directory, *options):
    done = subprocess.run([str(BIN / "palimpsest"), "check", str(directory), *options], capture_output=True, timeout=120)
    assert done.returncode == 0 and b"is sound" in done.stdout, (done.stdout, done.stderr)


def files(directory):
    """Every file but the lock file, which says who has the directory."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file() and path.name != "mongod.lock"}


def test_a_directory_of_this_format_shows_what_was_written(tmp_path):
    db, expected = unpack("3", tmp_path)
    check(db)
    with Server(dbpath=db) as server, server.client() as client:
        found = picture(client)
        assert found.keys() == expected.keys()
        for name, there in expected.items():
            assert found[name] == there, name
        for collection in client.shop.list_collections(filter={"type": "collection"}):
            report = client.shop.command("validate", collection["name"], full=True)
            assert report["valid"] and not report["errors"], report
        for name in ("shop", "shop@dev"):
            assert client[name].command("verify", 1)["ok"] == 1
        # It goes on from there.
        client.shop.pages.insert_one({"_id": "new", "n": 12, "text": "new"})
        client["shop@dev"].command("commit", 1, message="later")
        client["shop@waiting"].command("abortMerge", 1)
        assert client.shop.pages.find_one({"n": 12, "_id": "new"})
    check(db)


def test_a_member_of_this_format_starts_and_knows_its_set(tmp_path):
    db, _ = unpack("3", tmp_path)
    with Server("--replSet", "rs0", dbpath=db) as server, server.client(directConnection=True) as client:
        with pytest.raises(OperationFailure) as removed:
            client.admin.command("replSetGetStatus")
        assert removed.value.code == 93  # its configuration names the port of another server
        config = client.admin.command("replSetGetConfig")["config"]
        assert config["_id"] == "rs0" and [one["_id"] for one in config["members"]] == [0]
        assert server.stop() == 0
    with Server(dbpath=db) as server, server.client() as client:
        assert client.local["oplog.rs"].find_one({"op": "c", "o.applyOps.ns": "side.moved"})
        assert client.config.transactions.count_documents({}) > 0


def test_an_encrypted_directory_of_this_format_is_read(tmp_path):
    db, expected = unpack("4-encrypted", tmp_path)
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    options = ["--enableEncryption", "--encryptionKeyFile", str(key)]
    check(db, *options)
    with Server(*options, dbpath=db) as server, server.client() as client:
        assert little_picture(client) == expected


@pytest.mark.parametrize("version", [1, 2, 5, 99])
def test_a_directory_of_another_format_is_refused_and_left_as_it_is(version, tmp_path):
    db, _ = unpack("3", tmp_path)
    marker = db / "palimpsest.json"
    marker.write_text(marker.read_text().replace('"version": 3', f'"version": {version}'))
    before = files(db)
    assert f'"version": {version}'.encode() in before["palimpsest.json"]
    for options in ([], ["--repair"], ["--replSet", "rs0"]):
        server = Server(*options, dbpath=db)
        server.start(wait=False)
        assert server.ended() == 62, server.tail()
        assert f"has format version {version}; this program reads versions 3 and 4" in server.tail()
        assert files(db) == before
    done = subprocess.run([str(BIN / "palimpsest"), "check", str(db)], capture_output=True, timeout=120)
    assert done.returncode == 2 and f"format version {version}".encode() in done.stderr, done
    assert files(db) == before

"""A server is killed, and pages are damaged that the journal changes: it starts, and a repair has what the journal had."""
import random
import subprocess

import pymongo

from tests.support.damage import damage_rows
from tests.support.palimpsest import BIN, Server

DOCUMENTS = 600
SETTINGS = ("--syncdelay", "3600", "--nodedup")
CORRUPT = 301


def fill(client):
    """Writes documents, of which the files have the first state and the journal the last. Returns that."""
    rng = random.Random(11)
    docs = client["t"]["docs"]
    docs.insert_many({"_id": key, "text": rng.randbytes(400).hex()} for key in range(DOCUMENTS))
    client.admin.command("fsync")
    for key in range(0, DOCUMENTS, 5):
        docs.replace_one({"_id": key}, {"text": rng.randbytes(400).hex()})
    docs.delete_many({"_id": {"$mod": [50, 1]}})
    docs.insert_many({"_id": key, "text": rng.randbytes(400).hex()} for key in range(DOCUMENTS, DOCUMENTS + 100))
    return {one["_id"]: one for one in docs.find()}


def in_journal(key):
    return key % 5 == 0 or key >= DOCUMENTS


def damage_records(server):
    """Damages the newest block of each place, a few of them in a row."""
    file = max(server.dbpath.glob("records-*.wt"), key=lambda path: path.stat().st_size)
    assert damage_rows(file, keep=lambda at, pages: pages.index(at) % 3 == 1) > 2


def unreadable(docs, before):
    damaged = set()
    for key in range(DOCUMENTS + 100):
        try:
            assert docs.find_one({"_id": key}) == before.get(key), key
        except pymongo.errors.OperationFailure as error:
            assert error.code == CORRUPT, error
            damaged.add(key)
    return damaged


def check_repaired(docs, before, damaged):
    """Nothing is lost but what the damaged pages alone had."""
    there = {one["_id"]: one for one in docs.find()}
    assert {key: before.get(key) for key in there} == there
    assert not before.keys() - there.keys() - damaged
    assert not [key for key in before.keys() - there.keys() if in_journal(key)]
    assert docs.database.command("validate", "docs", full=True)["valid"]


def kill_and_damage(server):
    with server.client() as client:
        before = fill(client)
    server.kill()
    damage_records(server)
    return before


def test_a_killed_server_starts_with_damaged_pages_and_repairs_them():
    with Server(*SETTINGS) as server:
        before = kill_and_damage(server)
        for again in range(3):
            server.start()
            assert (server.dbpath / "palimpsest.unapplied").exists()
            with server.client() as client:
                docs = client["t"]["docs"]
                damaged = unreadable(docs, before)
                assert damaged
                assert {key for key in damaged if in_journal(key)}, "the journal changes a damaged page"
                client["t"]["others"].insert_one({"_id": again})
                if again == 2:
                    # What is acknowledged now is in the collection.
                    reply = client["t"].command("validate", "docs", full=True, repair=True)
                    assert reply["valid"] and any("The journal had " in line for line in reply["warnings"]), reply
                    check_repaired(docs, before, damaged)
                    docs.replace_one({"_id": 0}, {"text": "later"})
                    before[0] = {"_id": 0, "text": "later"}
            server.kill()
        server.start()
        assert not (server.dbpath / "palimpsest.unapplied").exists()
        with server.client() as client:
            check_repaired(client["t"]["docs"], before, damaged)
            assert client["t"]["others"].count_documents({}) == 3


def test_a_repair_at_start_gets_through_after_a_crash():
    with Server(*SETTINGS) as server:
        before = kill_and_damage(server)
        with open(server.log, "ab") as out:
            done = subprocess.run([str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", *SETTINGS],
                                  stdout=out, stderr=out, timeout=300, check=False)
        assert done.returncode == 0, server.tail(20)
        log = server.log.read_text(errors="replace")
        assert "The journal had " in log and "Lost: document " in log
        server.start()
        with server.client() as client:
            check_repaired(client["t"]["docs"], before, {key for key in before if not in_journal(key)})


def test_an_encrypted_directory_keeps_nothing_readable_aside(tmp_path):
    key = tmp_path / "key"
    subprocess.run(f"openssl rand -base64 32 > {key} && chmod 600 {key}", shell=True, check=True)
    with Server(*SETTINGS, "--enableEncryption", "--encryptionKeyFile", str(key)) as server:
        before = kill_and_damage(server)
        server.start()
        kept = (server.dbpath / "palimpsest.unapplied").read_bytes()
        assert not any(one["text"].encode() in kept for one in before.values())
        with server.client() as client:
            damaged = unreadable(client["t"]["docs"], before)
            client["t"].command("validate", "docs", full=True, repair=True)
            check_repaired(client["t"]["docs"], before, damaged)


def test_a_killed_server_without_its_journal_says_so_until_a_repair():
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client)
        server.kill()
        for file in (server.dbpath / "journal").iterdir():
            file.unlink()
        for _ in range(2):
            server.start(wait=False)
            assert server.ended() == 14
            assert "the journal's files are missing" in server.tail(20)
        with open(server.log, "ab") as out:
            done = subprocess.run([str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", *SETTINGS],
                                  stdout=out, stderr=out, timeout=300, check=False)
        assert done.returncode == 0, server.tail(20)
        server.start()
        with server.client() as client:
            # The files have what they had at the last checkpoint.
            there = {one["_id"]: one for one in client["t"]["docs"].find()}
            assert there.keys() == set(range(DOCUMENTS))
            assert all(there[key] == before[key] for key in there.keys() & before.keys() if not in_journal(key))

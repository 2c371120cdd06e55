"""Tables of what snapshots show are damaged. Nothing determines their rows, so a repair says which collections can't be read in
which snapshots any more. Writes, other collections and later snapshots are as before."""
import contextlib
import random
import shutil
import subprocess

import pytest
from pymongo.errors import OperationFailure

from tests.support.damage import damage_rows, middle_first
from tests.support.palimpsest import BIN, Server
from tests.support.waiting import wait_until

CORRUPT = 301
SETTINGS = ("--syncdelay", "1")
SNAPSHOTS = ("plain@one", "plain@two", "other@one", "other@two", "shop@one", "shop@two", "shop@dev@one", "shop@dev@two")


def write(client, step):
    """Changes, removes and adds documents everywhere."""
    rng = random.Random(step)
    for db in ("plain", "shop", "shop@dev"):
        docs = client[db]["docs"]
        docs.update_many({"_id": {"$mod": [3, step % 3]}}, {"$set": {"k": step, "text": rng.randbytes(200).hex()}})
        docs.delete_many({"_id": {"$mod": [97, step]}})
        docs.insert_many({"_id": 10_000 * step + i, "k": i % 7} for i in range(50))


def fill(client, indexes=("k",)):
    rng = random.Random(7)
    for db in ("plain", "shop", "other"):
        for field in indexes:
            client[db]["docs"].create_index(field)
        client[db]["docs"].insert_many({"_id": i, "k": i % 7, "text": rng.randbytes(100).hex()} for i in range(2000))
    client["shop"].command("createBranch", "dev")
    write(client, 1)
    client["shop@dev"].command("commit", 1)
    client.admin.command("createSnapshot", 1, name="one")
    write(client, 2)
    client.admin.command("createSnapshot", 1, name="two")
    write(client, 3)


def read(client, state):
    docs = client[state]["docs"]
    found = {one["_id"]: one for one in docs.find()}
    assert {one["_id"]: one for one in docs.find().hint("k_1")} == found
    for key in range(0, 2000, 131):
        assert docs.find_one({"_id": key}) == found.get(key)
    assert docs.estimated_document_count() == len(found)
    return found


def readable(client, before):
    """Returns the states that can be read; they are as they were."""
    states = set()
    for state, documents in before.items():
        try:
            assert read(client, state) == documents, state
            states.add(state)
        except OperationFailure as error:
            assert error.code == CORRUPT, error
    return states


def repair(server):
    with open(server.log, "ab") as out:
        command = [str(BIN / "palimpsestd"), "--repair", "--dbpath", str(server.dbpath), "--nounixsocket", *SETTINGS]
        assert subprocess.run(command, stdout=out, stderr=out, timeout=120, check=False).returncode == 0, server.tail()


def said_lost(server):
    return [line for line in server.log.read_text().splitlines() if "Lost: what snapshots up to" in line]


OF_BRANCHES = {state for state in SNAPSHOTS if state.startswith("shop")}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", ["rows", "entries", "states"])
def test_a_repair_lets_everybody_write_again_and_names_what_snapshots_lost(kind, missing):
    with Server(*SETTINGS) as server:
        with server.client() as client:
            fill(client)
            before = {state: read(client, state) for state in SNAPSHOTS}
        server.stop()
        path, = server.dbpath.glob(f"past-{kind}.wt")
        if missing:
            path.unlink()
        else:
            assert damage_rows(path) > 0
        server.start()
        with server.client() as client:
            readable(client, before)
        server.stop()
        assert server.log.read_text().count("Error looking after snapshots") <= 1
        repair(server)
        assert len(said_lost(server)) == 1
        server.start()
        with server.client() as client:
            left = readable(client, before)
            assert not left & (OF_BRANCHES if kind == "states" else set(SNAPSHOTS))
            write(client, 4)
            client["shop@dev"].command("commit", 1)
            client["shop"].command("createBranch", "next")
            assert client["shop@dev"].command("verify", 1, deep=True)["valid"]
            client.admin.command("createSnapshot", 1, name="later")
            later = {state: read(client, state) for state in ("plain@later", "shop@later", "shop@dev@later", "other@later")}
            write(client, 5)
            client["shop"].command("dropBranch", "next")
            assert readable(client, later) == set(later)
            assert readable(client, before) == left
        # It stays so, until no snapshot from before the repair is left.
        server.stop()
        server.start()
        with server.client() as client:
            assert readable(client, before) == left
            assert readable(client, later) == set(later)
            for name in ("one", "two"):
                client.admin.command("dropSnapshot", name)
            wait_until(lambda: client.admin.command("serverStatus")["snapshots"]["waitToBeSwept"] == 0, server.tail)
            assert readable(client, later) == set(later)
            for db in ("plain", "shop"):
                reply = client[db].command("validate", "docs", full=True)
                assert reply["valid"], reply
        server.stop()
        repair(server)
        assert len(said_lost(server)) == 1


def test_other_collections_can_be_read_in_the_same_snapshots(tmp_path):
    with Server(*SETTINGS) as server:
        with server.client() as client:
            fill(client, ("k", "text"))
            before = {state: read(client, state) for state in SNAPSHOTS}
        server.stop()
        path = server.dbpath / "past-entries.wt"
        # A page may be one that nothing uses any more, or one that has rows of all these collections.
        assert any(reads_after_damage(server.dbpath, tmp_path / str(at), at, before) for at in middle_first(path))


def reads_after_damage(directory, dbpath, damaged, before):
    """Damages this page of a copy and repairs it. Returns the states that can be read then: those that the repair doesn't name."""
    shutil.copytree(directory, dbpath)
    damage_rows(dbpath / "past-entries.wt", keep=lambda at, pages: at != damaged)
    with contextlib.ExitStack() as stack:
        server = Server(*SETTINGS, dbpath=dbpath)
        stack.push(server)
        repair(server)
        lost = said_lost(server)
        if not lost:
            return set()
        server.start()
        with server.client() as client:
            left = readable(client, before)
        assert left == {state for state in SNAPSHOTS if f"{state.split('@')[0]}.docs" not in lost[0]}, lost
        return left

"""A repair counts what snapshots show anew, goes on beside damaged tables of the past, and waits for another repair."""
import concurrent.futures
import random

import pytest

from tests.support.damage import damage_rows, largest_file, named
from tests.support.palimpsest import Server

SETTINGS = ("--syncdelay", "1", "--nodedup")
DOCUMENTS = 200


def fill(client):
    """A snapshot shows every document, of which a tenth is deleted afterwards, and a tenth replaced."""
    rng = random.Random(3)
    docs = client["shop"]["things"]
    docs.insert_many({"_id": key, "text": rng.randbytes(900).hex()} for key in range(DOCUMENTS))
    client.admin.command({"createSnapshot": 1, "name": "before"})
    docs.delete_many({"_id": {"$mod": [10, 3]}})
    for key in range(7, DOCUMENTS, 10):
        docs.replace_one({"_id": key}, {"text": rng.randbytes(900).hex()})
    return {one["_id"]: one for one in docs.find()}


def damage_half(server):
    assert damage_rows(largest_file(server), keep=lambda at, pages: pages.index(at) % 2 == 0) > 0


def repair(client):
    reply = client["shop"].command("validate", "things", full=True, repair=True)
    assert reply["valid"], reply["errors"]
    return named(reply["warnings"], "Lost: document")


def check_the_rest(client, before, lost):
    assert lost and len(lost) < len(before)
    docs = client["shop"]["things"]
    assert {one["_id"]: one for one in docs.find()} == {key: one for key, one in before.items() if key not in lost}
    assert docs.estimated_document_count() == len(before) - len(lost)
    docs.insert_many({"_id": key} for key in lost)
    assert client["shop"].command("validate", "things", full=True)["valid"]


def test_what_a_snapshot_shows_is_counted_anew():
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client)
            assert client["shop@before"]["things"].estimated_document_count() == DOCUMENTS
        server.stop()
        damage_half(server)
        server.start()
        with server.client() as client:
            lost = repair(client)
            shown = client["shop@before"]["things"]
            count = len(list(shown.find()))
            assert count < DOCUMENTS
            assert shown.estimated_document_count() == shown.count_documents({}) == count
            check_the_rest(client, before, lost)


@pytest.mark.parametrize("table", ["rows", "chains", "entries", "states", "all of them"])
def test_a_repair_goes_on_beside_damaged_tables_of_the_past(table):
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client)
            client.admin.command("fsync")
        server.stop()
        damage_half(server)
        pattern = "past-*.wt" if table == "all of them" else f"past-{table}.wt"
        damaged = [path for path in server.dbpath.glob(pattern) if "copy" not in path.name]
        assert damaged
        for path in damaged:
            if path.stem.removeprefix("past-") in ("rows", "chains", "entries", "states"):
                damage_rows(path)
        server.start()
        with server.client() as client:
            check_the_rest(client, before, repair(client))


def test_repairs_that_meet_come_one_after_the_other():
    with Server(*SETTINGS) as server:
        with server.client() as client:
            before = fill(client)
        server.stop()
        damage_half(server)
        server.start()
        with server.client() as client, concurrent.futures.ThreadPoolExecutor(4) as threads:
            replies = list(threads.map(lambda _: repair(client), range(4)))
            assert sorted(map(len, replies))[:3] == [0, 0, 0]
            check_the_rest(client, before, set().union(*replies))

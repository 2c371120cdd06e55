"""Most tests of drivers run against these: one server for a file, and a database of its own for each test. Tests of transactions have a set of one
member instead, whose database `t` is empty when each of them begins."""
import random
from concurrent.futures import ThreadPoolExecutor

import pymongo
import pytest

from tests.support.palimpsest import Server
from tests.support.transactions import RawSession
from tests.support.waiting import DEADLINE


@pytest.fixture
def db(server):
    client = server.client()
    name = f"t{random.getrandbits(40):x}"
    yield client[name]
    client.drop_database(name)
    client.close()


@pytest.fixture(scope="module")
def one_member():
    with Server("--replSet", "rs0", "--setParameter", "enableTestCommands=1") as running:
        running.initiate()
        yield running


@pytest.fixture
def client(one_member):
    with pymongo.MongoClient(f"mongodb://{one_member.host}:{one_member.port}/?replicaSet=rs0", serverSelectionTimeoutMS=DEADLINE * 1000) as client:
        client.admin.command("killAllSessions", [])
        client.drop_database("t")
        yield client
        client.admin.command("configureFailPoint", "failCommand", mode="off")
        client.admin.command("killAllSessions", [])


@pytest.fixture
def raw(one_member, client):
    """Makes sessions whose commands are sent as they stand."""
    return lambda: RawSession(one_member.port)


@pytest.fixture
def pool():
    """Threads for those who wait. Where a test failed, they wait until the sessions are killed."""
    running = ThreadPoolExecutor(8)
    yield running
    running.shutdown(wait=False)

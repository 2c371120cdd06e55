"""A transaction may change several branches of a database at once: commits and snapshots that are taken meanwhile have all of it or nothing."""
import threading

import pymongo
import pytest
from pymongo.errors import OperationFailure

from tests.branches.conftest import Branched, by_id, fails
from tests.support.palimpsest import Server
from tests.support.transactions import TRANSIENT, RawSession, done, refused
from tests.support.waiting import DEADLINE, wait_until


@pytest.fixture(scope="module")
def server():
    with Server("--replSet", "rs0") as member:
        member.initiate()
        yield member


@pytest.fixture
def shop(server):
    """main and dev, which share the documents 0 to 4 of `c` and `d`."""
    with server.client(directConnection=True) as client:
        database = Branched(client)
        for name in ("c", "d"):
            database["main"][name].create_index("n")
            database["main"][name].insert_many([{"_id": i, "n": 0} for i in range(5)])
        database.create("dev")
        yield database
        client.admin.command("killAllSessions", [])
        database.check()
        client.drop_database(database.name)


def raw(server):
    return RawSession(server.port)


@pytest.mark.parametrize("end", ["commit", "abort"])
def test_two_branches_change_at_once(server, shop, end):
    main, dev = shop["main"], shop["dev"]
    session = raw(server).start()
    for database, n in ((main, 1), (dev, 2)):
        done(session.update("c", {"_id": 1}, {"$set": {"n": n}}, db=database.name))
        done(session.insert("c", {"_id": "new", "n": n}, db=database.name))
        done(session.run({"delete": "d", "deletes": [{"q": {"_id": 0}, "limit": 1}]}, database.name))
    for database, n in ((main, 1), (dev, 2)):
        assert [one["_id"] for one in session.find("c", {"n": n}, db=database.name, hint="n_1")] == [1, "new"]
        assert len(session.find("d", db=database.name)) == 4
        assert database.c.count_documents({}) == 5 and database.c.find_one({"_id": 1})["n"] == 0 and database.d.find_one({"_id": 0})
    done(session.commit() if end == "commit" else session.abort())
    for database, n in ((main, 1), (dev, 2)):
        found = by_id(database.c)
        if end == "commit":
            assert found[1]["n"] == found["new"]["n"] == n and len(found) == 6 and database.d.find_one({"_id": 0}) is None
            assert [one["_id"] for one in database.c.find({"n": n}).hint("n_1")] == [1, "new"]
        else:
            assert len(found) == 5 and found[1]["n"] == 0 and database.d.find_one({"_id": 0})


def test_changes_of_one_document_on_two_branches_do_not_conflict(server, shop):
    one, other = raw(server).start(), raw(server).start()
    done(one.update("c", {"_id": 1}, {"$set": {"n": 1}}, db=shop["main"].name))
    done(other.update("c", {"_id": 1}, {"$set": {"n": 2}}, db=shop["dev"].name))
    third = raw(server).start()
    refused(third.update("c", {"_id": 1}, {"$set": {"n": 3}}, db=shop["dev"].name), 112, TRANSIENT)
    done(one.commit()), done(other.commit())
    assert shop["main"].c.find_one({"_id": 1})["n"] == 1 and shop["dev"].c.find_one({"_id": 1})["n"] == 2


def test_a_commit_and_a_snapshot_take_nothing_of_an_open_transaction(server, shop):
    main, dev, admin = shop["main"], shop["dev"], shop.client.admin
    session = raw(server).start()
    for database in (main, dev):
        done(session.update("c", {}, {"$set": {"n": 1}}, db=database.name, multi=True))
        done(session.insert("made", {"_id": 1}, db=database.name))
    main.d.insert_one({"_id": "outside"}), dev.d.insert_one({"_id": "outside"})
    name = f"during-{shop.name}"
    commits = [database.command("commit", 1, message="during")["commit"] for database in (main, dev)]
    admin.command("createSnapshot", 1, name=name)
    assert len(session.find("c", {"n": 1}, db=dev.name)) == 5
    done(session.commit())
    for database, during in [(main, shop[commits[0][:16]]), (dev, shop[commits[1][:16]]), (main, shop[name]), (dev, shop[f"dev@{name}"])]:
        assert {one["n"] for one in during.c.find()} == {0} and "made" not in during.list_collection_names()
        assert during.d.find_one({"_id": "outside"})
        assert {one["n"] for one in database.c.find()} == {1} and database.made.find_one() == {"_id": 1}
    # What comes next has all of it.
    for database in (main, dev):
        after = shop[database.command("commit", 1, message="after")["commit"][:16]]
        assert {one["n"] for one in after.c.find()} == {1} and after.made.find_one() == {"_id": 1}
        assert database.command("verify", 1, deep=True)["damageCount"] == 0
    admin.command("dropSnapshot", name)


def test_a_transaction_reads_branches_commits_and_snapshots_of_one_moment(server, shop):
    main, dev = shop["main"], shop["dev"]
    session = raw(server).start(readConcern={"level": "snapshot"})
    assert len(session.find("c", db=main.name)) == 5
    for database in (main, dev):
        database.c.update_many({}, {"$set": {"n": 7}})
        database.c.delete_one({"_id": 4})
    assert {one["n"] for one in session.find("c", db=main.name)} == {0} == {one["n"] for one in session.find("c", db=dev.name)}
    done(session.commit())
    at = dev.command("commit", 1)["commit"][:16]
    session.start()
    done(session.update("c", {"_id": 1}, {"$set": {"n": 8}}, db=dev.name))
    assert {one["n"] for one in session.find("c", db=shop[at].name)} == {7} and {one["n"] for one in session.find("c", db=dev.name)} == {7, 8}
    done(session.commit())


def test_what_concerns_branches_waits_or_is_refused(server, shop):
    session = raw(server).start()
    done(session.insert("c", {"_id": "open"}, db=shop["dev"].name))
    for command in ({"commit": 1}, {"createBranch": "next"}, {"merge": "dev"}, {"dropBranch": "dev"}, {"createTag": "v1"}):
        other = raw(server).start()
        refused(other.run(command, shop["main"].name), 263)
    fails(50, lambda: shop["main"].command("dropBranch", "dev", force=True, maxTimeMS=200))
    fails(50, lambda: shop["dev"].command("resetBranch", "dev", to="main", force=True, maxTimeMS=200))
    done(session.commit())
    assert shop["dev"].c.find_one({"_id": "open"})
    shop["main"].command("dropBranch", "dev", force=True)


def test_commits_and_snapshots_never_show_half_of_a_transaction(server, shop):
    """Each transaction writes its number to two collections of two branches."""
    admin, stop, failures, numbers = shop.client.admin, threading.Event(), [], [0, 0, 0]

    def write(writer):
        try:
            with pymongo.MongoClient(server.host, server.port, replicaSet="rs0") as client, client.start_session() as session:
                while not stop.is_set():
                    number = numbers[writer] + 1

                    def work(session):
                        for database in (shop["main"].name, shop["dev"].name):
                            for name in ("c", "d"):
                                client[database][name].update_one({"_id": f"w{writer}"}, {"$set": {"n": number}}, upsert=True, session=session)
                    session.with_transaction(work)
                    numbers[writer] = number
        except BaseException as error:
            failures.append(error)
            raise

    writers = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(3)]
    [one.start() for one in writers]
    committed, declared = [], []
    try:
        for turn in range(12):
            enough = [number + 2 for number in numbers]
            wait_until(lambda: failures or all(now >= wanted for now, wanted in zip(numbers, enough)), lambda: f"{numbers}")
            known = list(numbers)
            if turn % 2:
                declared.append((admin.command("createSnapshot", 1, name=f"s{turn}-{shop.name}")["name"], known))
            else:
                committed += [(shop[branch].command("commit", 1)["commit"][:16], known) for branch in ("main", "dev")]
    finally:
        stop.set()
        [one.join(DEADLINE) for one in writers]
    assert not failures, failures[0]

    def numbers_of(*databases):
        seen = {tuple((by_id(database[name]).get(f"w{n}") or {"n": 0})["n"] for n in range(3)) for database in databases for name in ("c", "d")}
        assert len(seen) == 1, f"half of a transaction: {seen}"
        return seen.pop()

    for commit, known in committed:
        assert all(shown >= acknowledged for shown, acknowledged in zip(numbers_of(shop[commit]), known)), commit
    for name, known in declared:
        assert all(shown >= acknowledged for shown, acknowledged in zip(numbers_of(shop[name], shop[f"dev@{name}"]), known)), name
        admin.command("dropSnapshot", name)
    assert numbers_of(shop["main"], shop["dev"]) == tuple(numbers)


def test_the_first_branch_waits_for_an_open_transaction(server):
    with server.client(directConnection=True) as client:
        database = Branched(client)
        database["main"].c.insert_one({"_id": 0})
        session = raw(server).start()
        done(session.insert("c", {"_id": 1}, db=database.name))
        with pytest.raises(OperationFailure) as failure:
            database["main"].command("createBranch", "dev", maxTimeMS=200)
        assert failure.value.code == 50
        making = threading.Thread(target=database.create, args=("dev",))
        making.start()
        done(session.insert("c", {"_id": 2}, db=database.name))
        done(session.commit())
        making.join(DEADLINE)
        assert set(by_id(database["dev"].c)) == {0, 1, 2}
        database.check()
        client.drop_database(database.name)

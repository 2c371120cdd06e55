"""Declared snapshots in a replica set: the same number shows the same on every member, whatever happened to whom."""
import pymongo
import pytest
from pymongo.errors import NotPrimaryError, OperationFailure
from pymongo.write_concern import WriteConcern

from tests.support.replica_set import ReplicaSet


@pytest.fixture(scope="module")
def three():
    with ReplicaSet(3) as running:
        running.driver = running.client()
        yield running


def listed(client):
    return [(one["number"], one.get("name"), one["time"], one["clusterTime"]) for one in client.admin.cursor_command("listSnapshots", 1)]


def shown(client, name):
    """Returns for each snapshot the contents, by _id and by an index, and the indexes that there were."""
    out = {}
    for number, *_ in listed(client):
        then = client[f"{name}@s{number}"]
        try:
            collections = sorted(then.list_collection_names())
        except OperationFailure as error:
            assert error.code == 26 and "@" in name, error  # the branch wasn't there
            continue
        out[number] = {}
        for collection in collections:
            documents = list(then[collection].find().sort("_id", 1))
            indexes = sorted(then[collection].index_information())
            by_n = [one["_id"] for one in then[collection].find({"n": {"$gte": 3}}).hint("n_1")] if "n_1" in indexes else None
            out[number][collection] = (documents, indexes, by_n)
    return out


def history(client, name, rounds):
    database = client.get_database(name, write_concern=WriteConcern("majority"))
    database.c.create_index("n")
    for round in range(rounds):
        database.c.insert_many([{"_id": f"{round}-{i}", "n": i % 7, "text": f"text {i} " * 30} for i in range(40)])
        client.admin.command("createSnapshot", 1, **({"name": f"{name}{round}"} if round % 2 else {}))
        database.c.update_many({"n": round % 7}, {"$inc": {"n": 1}})
        database.c.delete_many({"_id": {"$regex": f"^{round}-[0-4]$"}})
        if round == 2:
            database.c.drop_index("n_1")
        if round == 3:
            database.other.insert_one({"_id": 1, "n": 5})
            database.c.create_index("n")
            client.admin.command("createSnapshot", 1)
            database.other.drop()
            for id in ("1-7", "2-1", "0-3"):
                database.command("purge", "c", id=id)
    return shown(client, name)


def check_same(three, name, due):
    three.check_same()
    for member in three.members:
        if member.state() in ("PRIMARY", "SECONDARY"):
            said = shown(member.direct, name)
            assert {number: said[number] for number in due} == due, member.name
            assert listed(member.direct) == listed(three.driver)
            report = member.direct[name].command("validate", "c", full=True)
            assert report["valid"] and not report["errors"], (member.name, report)


def test_members_show_the_same(three):
    due = history(three.driver, "one", 5)
    three.wait_settled()
    three.wait_same_place()
    check_same(three, "one", due)
    secondary = three.secondaries()[0]
    with pytest.raises((NotPrimaryError, OperationFailure)):
        secondary.direct.admin.command("createSnapshot", 1)
    dropped = sorted(due)[1]
    three.driver.get_database("admin", write_concern=WriteConcern("majority")).command("dropSnapshot", f"s{dropped}")
    del due[dropped]
    three.wait_settled()
    three.wait_same_place()
    check_same(three, "one", due)


def test_a_primary_that_is_killed_leaves_them_to_the_next(three):
    due = history(three.driver, "two", 3)
    three.wait_settled()
    killed = three.primary()
    killed.kill()
    three.primary()
    later = history(three.driver, "three", 2)
    killed.start()
    three.wait_settled()
    three.wait_same_place()
    check_same(three, "two", due)
    check_same(three, "three", {number: later[number] for number in later if number not in due})


def test_a_new_member_gets_them(three):
    due = history(three.driver, "four", 3)
    three.wait_settled()
    three.join(priority=0, votes=0)
    three.wait_same_place()
    check_same(three, "four", due)


def test_branches_are_the_same_in_them(three):
    main = three.driver.get_database("five", write_concern=WriteConcern("majority"))
    admin = three.driver.get_database("admin", write_concern=WriteConcern("majority"))
    main.c.create_index("n")
    main.c.insert_many([{"_id": i, "n": i % 7} for i in range(40)])
    admin.command("createSnapshot", 1)
    main.command("createBranch", "dev")
    dev = three.driver.get_database("five@dev", write_concern=WriteConcern("majority"))
    for round in range(4):
        dev.c.update_many({"n": round}, {"$inc": {"n": 3}})
        dev.c.delete_one({"_id": round})
        dev.c.insert_many([{"_id": f"{round}-{i}", "n": i} for i in range(5)])
        main.c.update_many({"n": 6}, {"$set": {"round": round}})
        admin.command("createSnapshot", 1)
        dev.c.update_many({"_id": {"$regex": f"^{round}-"}}, {"$set": {"again": True}})
        dev.c.delete_one({"_id": f"{round}-0"})
        (dev if round % 2 else main).command("commit", 1, message=f"{round}")
    main.command("purge", "c", id="2-1")
    main.command("resetBranch", "dev", to="main", force=True)
    due = {branch: shown(three.driver, f"five@{branch}") for branch in ("main", "dev")}
    assert len(due["dev"]) == 4 and len(due["main"]) >= 5
    three.wait_settled()
    three.wait_same_place()
    for branch, snapshots in due.items():
        check_same(three, f"five@{branch}", snapshots)


def test_a_dropped_database_with_branches_is_the_same_in_them(three):
    client = three.driver
    admin = client.get_database("admin", write_concern=WriteConcern("majority"))
    due = {}
    for round in range(2):
        main = client.get_database("gone", write_concern=WriteConcern("majority"))
        main.c.create_index("n")
        main.c.insert_many([{"_id": i, "n": i % 7, "round": round} for i in range(40)])
        main.command("createBranch", "dev")
        dev = client.get_database("gone@dev", write_concern=WriteConcern("majority"))
        dev.c.delete_many({"n": 6})
        dev.command("commit", 1, message="one")
        dev.c.update_many({"n": 1}, {"$inc": {"n": 10}})
        number = admin.command("createSnapshot", 1)["number"]
        due[number] = {branch: shown(client, f"gone@{branch}")[number] for branch in ("main", "dev")}
        assert [len(due[number][branch]["c"][0]) for branch in ("main", "dev")] == [40, 35]
        client.drop_database("gone")
    three.wait_settled()
    three.wait_same_place()
    for member in three.members:
        for number, said in due.items():
            assert {branch: shown(member.direct, f"gone@{branch}")[number] for branch in said} == said, (member.name, number)


def test_read_concern_at_the_time_of_a_snapshot(three):
    six = three.driver.get_database("six", write_concern=WriteConcern("majority"))
    six.c.insert_many([{"_id": i, "round": 0} for i in range(300)])
    time = three.driver.admin.command("createSnapshot", 1)["clusterTime"]
    six.c.update_many({}, {"$set": {"round": 1}})
    later = six.command("insert", "c", documents=[{"_id": 300}])["operationTime"]
    three.driver.admin.command("createSnapshot", 1)
    three.wait_settled()
    three.wait_same_place()
    concern = {"level": "snapshot", "atClusterTime": time}
    for member in three.members:
        database = member.direct["six"]
        cursor = database.command("find", "c", batchSize=100, sort={"_id": 1}, readConcern=concern)["cursor"]
        seen = cursor["firstBatch"]
        while cursor["id"]:
            assert cursor["atClusterTime"] == time
            cursor = database.command("getMore", cursor["id"], collection="c", batchSize=100)["cursor"]
            seen += cursor["nextBatch"]
        assert seen == [{"_id": i, "round": 0} for i in range(300)], member.name
        assert database.command("distinct", "c", key="round", readConcern=concern)["values"] == [0]
        with pytest.raises(OperationFailure) as failure:
            database.command("find", "c", readConcern={"level": "snapshot", "atClusterTime": later})
        assert failure.value.code == 239
    # This asks for a snapshot that was declared just now, on a member that may not have it yet.
    for round in range(5):
        six.c.update_many({"_id": {"$lt": 10}}, {"$set": {"round": 10 + round}})
        said = three.driver.admin.command("createSnapshot", 1)
        for member in three.secondaries():
            with member.direct.start_session() as session:
                session.advance_cluster_time(said["$clusterTime"])
                concern = {"level": "snapshot", "atClusterTime": said["clusterTime"]}
                reply = member.direct["six"].command("distinct", "c", key="round", query={"_id": 5}, readConcern=concern, session=session)
            assert reply["values"] == [10 + round]

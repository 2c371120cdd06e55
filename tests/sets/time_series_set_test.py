"""Time series on a replica set: members have the same buckets, and a new primary goes on with them."""
import datetime

from pymongo import WriteConcern
from pymongo.read_preferences import ReadPreference

from tests.support.replica_set import ReplicaSet
from tests.support.waiting import wait_until

START = datetime.datetime(2024, 1, 1)


def measurements(first, end):
    return [{"_id": number, "t": START + datetime.timedelta(seconds=number), "m": {"s": number % 2}, "v": number} for number in range(first, end)]


def test_members_have_the_same_buckets():
    with ReplicaSet(3) as members, members.client() as client:
        db = client.get_database("t", write_concern=WriteConcern("majority"))
        w = db.create_collection("w", timeseries={"timeField": "t", "metaField": "m"}, expireAfterSeconds=10**9)
        w.insert_many(measurements(0, 50))
        db.command("collMod", "w", timeseries={"granularity": "minutes"})
        w.create_index([("m.s", 1), ("t", -1)])
        w.delete_many({"v": {"$lt": 10}})
        w.update_many({"m.s": 1}, {"$set": {"m.s": 3}})
        members.wait_same_place()
        for member in members.secondaries():
            seen = member.direct.t.get_collection("w", read_preference=ReadPreference.SECONDARY)
            assert sorted(one["_id"] for one in seen.find({"m.s": 3})) == list(range(11, 50, 2))
            assert [index["name"] for index in seen.list_indexes()] == ["m_1_t_1", "m.s_1_t_-1"]
        before = {one["_id"] for one in db["system.buckets.w"].find()}
        former = members.primary()
        former.kill()
        wait_until(lambda: members.primary() not in (None, former), members.tails)
        w.insert_many(measurements(100, 150))
        assert w.count_documents({}) == 90
        # The meta {s: 0} went on with its bucket; {s: 1} was updated, so it has a new one.
        assert len({one["_id"] for one in db["system.buckets.w"].find()} - before) == 1
        former.start()
        members.wait_same_place()
        members.check_same()

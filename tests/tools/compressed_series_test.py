"""mongorestore sends the buckets of a mongod's time series as the dump has them: full ones are compressed (version 2)."""
import datetime
import struct

import pytest
from bson import Binary, ObjectId
from pymongo.errors import BulkWriteError

from tests.support.palimpsest import Server

COLUMN = 7
FIRST = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


def literal(kind, value):
    return bytes([kind, 0]) + value


def words(deltas):
    """One difference a word, in groups of up to 16 words; None: the value is missing."""
    def word(delta):
        slot = 2**60 - 1 if delta is None else (delta << 1) ^ (delta >> 63)
        return struct.pack("<Q", 14 | slot << 4)

    groups = [deltas[i:i + 16] for i in range(0, len(deltas), 16)]
    return b"".join(bytes([0x80 | len(group) - 1]) + b"".join(map(word, group)) for group in groups)


def milliseconds(moment):
    return int(moment.timestamp() * 1000)


def bucket(number, count, meta):
    """A measurement a second, with `n` counting up; every third has none."""
    first = FIRST + datetime.timedelta(hours=number)
    times = literal(9, struct.pack("<q", milliseconds(first))) + words([1000] + [0] * (count - 2)) + b"\0"
    last, deltas = 0, []
    for i in range(1, count):
        deltas.append(None if i % 3 == 2 else i - last)
        last = last if i % 3 == 2 else i
    numbers = literal(16, struct.pack("<i", 0)) + words(deltas) + b"\0"
    return {"_id": ObjectId(struct.pack(">I", int(first.timestamp())) + bytes([1, 2, 3, 4, 5, 6, 7, number])),
            "control": {"version": 2, "min": {"at": first, "n": 0}, "max": {"at": first + datetime.timedelta(seconds=count - 1), "n": last},
                        "count": count},
            "meta": meta,
            "data": {"at": Binary(times, COLUMN), "n": Binary(numbers, COLUMN)}}


def test_a_series_with_compressed_buckets_is_restored_read_and_changed():
    with Server() as server:
        database = server.client(tz_aware=True)["shop"]
        database.create_collection("weather", timeseries={"timeField": "at", "metaField": "sensor"})
        sent = [bucket(number, 1000, {"id": number % 2}) for number in range(4)]
        database["system.buckets.weather"].insert_many(sent, bypass_document_validation=True)
        weather = database.weather
        assert weather.count_documents({}) == 4000
        expected = [{"at": FIRST + datetime.timedelta(hours=2, seconds=i), "sensor": {"id": 0}, **({} if i % 3 == 2 else {"n": i})}
                    for i in range(1000)]
        assert list(weather.find({"sensor.id": 0, "at": {"$gte": FIRST + datetime.timedelta(hours=1)}}, sort=[("at", 1)])) == expected
        assert [*weather.aggregate([{"$group": {"_id": "$sensor.id", "n": {"$sum": "$n"}}}, {"$sort": {"_id": 1}}])] == [
            {"_id": id, "n": 2 * sum(i for i in range(1000) if i % 3 != 2)} for id in (0, 1)]

        weather.insert_one({"at": FIRST + datetime.timedelta(seconds=5), "sensor": {"id": 0}, "n": -1})
        assert weather.update_many({"sensor.id": 0}, {"$set": {"sensor.at": "roof"}}).modified_count == 2001
        assert weather.delete_many({"n": {"$lt": 500}, "sensor.id": 0}).deleted_count == 2 * 334 + 1
        assert weather.count_documents({"sensor.at": "roof"}) == 2 * 666
        versions = [one["control"]["version"] for one in database["system.buckets.weather"].find(sort=[("_id", 1)])]
        assert sorted(versions) == [1, 1, 2, 2]

        # What is read as a dump is restored on another series as it was.
        database.create_collection("again", timeseries={"timeField": "at", "metaField": "sensor"})
        database["system.buckets.again"].insert_many(database["system.buckets.weather"].find())
        assert sorted(map(str, database.again.find())) == sorted(map(str, weather.find()))

        damaged = bucket(9, 1000, {"id": 1})
        damaged["data"]["n"] = Binary(damaged["data"]["n"][:-9], COLUMN)
        with pytest.raises(BulkWriteError):
            database["system.buckets.weather"].insert_many([damaged])
        server.kill()
        server.start()
        assert server.client().shop.weather.count_documents({"sensor.at": "roof"}) == 2 * 666

"""Geospatial queries on random places: with an index they find what a scan finds, and distances order documents as arithmetic does."""
import math
import random

import pytest
from pymongo.errors import OperationFailure

EARTH = 6378100  # metres, MongoDB's


def angle(a, b):
    lng1, lat1, lng2, lat2 = map(math.radians, (*a, *b))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lng2 - lng1) / 2) ** 2
    return 2 * math.asin(min(1, math.sqrt(h)))


def place(rng):
    """Half of the places lie close together, and some at the edges of the map."""
    kind = rng.random()
    if kind < 0.5:
        return [round(rng.gauss(10, 1), 6), round(rng.gauss(50, 1), 6)]
    if kind < 0.6:
        return [rng.choice([-180, 180, 179.9, -179.9]), rng.uniform(-90, 90)]
    return [rng.uniform(-180, 180), rng.uniform(-90, 90)]


def point(at):
    return {"type": "Point", "coordinates": at}


def ring(rng, at, size):
    """A polygon around a place: its corners lie in the order of their directions."""
    directions = sorted(rng.uniform(0, 2 * math.pi) for _ in range(rng.randint(5, 9)))
    corners = [[max(-179.0, min(179.0, at[0] + size * math.cos(d))), max(-88.0, min(88.0, at[1] + size * math.sin(d)))] for d in directions]
    return corners + corners[:1]


def location(rng):
    at = place(rng)
    kind = rng.random()
    if kind < 0.6:
        return point(at)
    if kind < 0.7:
        return at
    if kind < 0.8:
        return {"type": "LineString", "coordinates": [at, [at[0] * 0.9 + 0.1, at[1] * 0.9 + 0.1]]}
    return {"type": "MultiPoint", "coordinates": [at, place(rng)]}


def shapes(rng):
    at, size = place(rng), rng.choice([0.01, 0.5, 3, 20])
    sphere = {"$geometry": {"type": "Polygon", "coordinates": [ring(rng, at, size)]}}
    yield {"$geoIntersects": {"$geometry": point(at)}}
    yield {"$geoWithin": {"$centerSphere": [at, math.radians(size)]}}
    yield {"$geoWithin": {"$center": [at, size]}}
    yield {"$geoWithin": {"$box": [[at[0] - size, at[1] - size], [at[0] + size, at[1] + size]]}}
    yield {"$geoWithin": {"$polygon": ring(rng, at, size)}}
    yield {"$geoIntersects": {"$geometry": {"type": "LineString", "coordinates": [at, place(rng)]}}}
    yield {"$geoWithin": sphere}
    yield {"$geoIntersects": sphere}


def check_shapes(collection, rng, rounds):
    """Returns how many documents were found."""
    found = 0
    for _ in range(rounds):
        for shape in shapes(rng):
            query = {"loc": shape}
            if rng.random() < 0.3:
                query["n"] = {"$lt": 5}
            try:
                scanned = sorted(d["_id"] for d in collection.find(query, {"_id": 1}).hint([("$natural", 1)]))
            except OperationFailure as failure:
                assert failure.code == 2, failure  # edges of a random polygon may cross
                continue
            assert sorted(d["_id"] for d in collection.find(query, {"_id": 1})) == scanned, query
            assert collection.count_documents(query) == len(scanned), query
            found += len(scanned)
    return found


@pytest.mark.parametrize("index", [[("loc", "2dsphere")], [("loc", "2dsphere"), ("n", 1)], [("n", 1), ("loc", "2dsphere")]])
def test_a_sphere_s_index_finds_what_a_scan_finds(db, index):
    rng = random.Random(str(index))
    db.c.create_index(index)
    db.c.insert_many([{"_id": i, "loc": location(rng), "n": i % 10} for i in range(400)] + [{"_id": 1000 + i, "n": i} for i in range(10)])
    assert check_shapes(db.c, rng, 12) > 50


@pytest.mark.parametrize("options", [{}, {"bits": 4}, {"min": -200, "max": 200, "bits": 32}])
def test_a_plane_s_index_finds_what_a_scan_finds(db, options):
    rng = random.Random(str(options))
    db.c.create_index([("loc", "2d"), ("n", 1)], **options)
    db.c.insert_many([{"_id": i, "loc": place(rng) if i % 5 else [place(rng), place(rng)], "n": i % 10} for i in range(400)] + [{"_id": 1000}])
    assert check_shapes(db.c, rng, 12) > 50


def near(rng, places, centre, sphere, unit):
    """A range of distances, and the places in it: [(distance, _id)] in order."""
    measure = angle if sphere else math.dist
    distances = sorted((measure(at, centre) * unit, i) for i, at in places.items())
    least, most = sorted(rng.choice(distances)[0] for _ in range(2))
    least, most = least * 0.999, most * 1.001
    return least, most, [d for d in distances if least <= d[0] <= most]


def check_order(found, expected):
    """Documents that are equally far may come in any order."""
    assert {i for i, _ in found} == {i for _, i in expected}
    for (_, at), (distance, _) in zip(found, expected):
        assert at == pytest.approx(distance, rel=1e-6, abs=1e-6)


def test_distance_orders_documents(db):
    rng = random.Random(7)
    places = {i: place(rng) for i in range(600)}
    db.sphere.create_index([("loc", "2dsphere")])
    db.plane.create_index([("loc", "2d")])
    db.sphere.insert_many([{"_id": i, "loc": point(at)} for i, at in places.items()] + [{"_id": -1}])
    db.plane.insert_many([{"_id": i, "loc": at} for i, at in places.items()] + [{"_id": -1}])
    for _ in range(25):
        centre = place(rng)
        for name, sphere, unit in (("sphere", True, EARTH), ("sphere", True, 1), ("plane", True, 1), ("plane", False, 1)):
            least, most, expected = near(rng, places, centre, sphere, unit)
            asked = point(centre) if unit == EARTH else centre
            operator = "$nearSphere" if sphere else "$near"
            found = list(db[name].find({"loc": {operator: asked, "$minDistance": least, "$maxDistance": most}}, batch_size=20))
            measure = angle if sphere else math.dist
            check_order([(d["_id"], measure(places[d["_id"]], centre) * unit) for d in found], expected)
            stage = {"near": asked, "distanceField": "far", "spherical": sphere, "minDistance": least, "maxDistance": most, "distanceMultiplier": 2}
            found = list(db[name].aggregate([{"$geoNear": {**stage, "includeLocs": "at.loc"}}], batchSize=20))
            check_order([(d["_id"], d["far"] / 2) for d in found], expected)
            assert all(d["at"]["loc"] == d["loc"] for d in found)
            found = list(db[name].aggregate([{"$geoNear": {**stage, "query": {"_id": {"$lt": 100}}}}, {"$limit": 7}]))
            check_order([(d["_id"], d["far"] / 2) for d in found], [d for d in expected if d[1] < 100][:7])


def test_branches_and_snapshots(db):
    rng = random.Random(9)
    db.c.create_index([("loc", "2dsphere")])
    db.c.insert_many([{"_id": i, "loc": location(rng), "n": 1} for i in range(150)])
    db.command("createSnapshot", "before")
    db.command("createBranch", "dev")
    dev, before = db.client[db.name + "@dev"], db.client[db.name + "@before"]
    dev.c.delete_many({"_id": {"$lt": 50}})
    dev.c.insert_many([{"_id": i, "loc": location(rng), "n": 1} for i in range(200, 260)])
    db.c.update_many({"_id": {"$gte": 100}}, {"$set": {"loc": point([10, 50])}})
    asked = {"loc": {"$near": {"$geometry": point([10, 50])}}}
    stage = [{"$geoNear": {"near": point([10, 50]), "distanceField": "far"}}]
    for state, ids in ((db, range(150)), (dev, [*range(50, 150), *range(200, 260)]), (before, range(150))):
        check_shapes(state.c, rng, 4)
        assert sorted(d["_id"] for d in state.c.find(asked)) == list(ids)
        found = list(state.c.aggregate(stage))
        assert sorted(d["_id"] for d in found) == list(ids)
        assert [d["far"] for d in found] == sorted(d["far"] for d in found)
    assert {d["_id"] for d in db.c.find(asked).limit(50)} == set(range(100, 150))
    db.command("dropBranch", "dev", force=True)
    db.command("dropSnapshot", "before")


def test_writes(db):
    rng = random.Random(11)
    db.c.create_index([("loc", "2dsphere")])
    db.c.insert_many([{"_id": i, "loc": point(place(rng)), "n": 0} for i in range(300)])
    inside = {"loc": {"$geoWithin": {"$centerSphere": [[10, 50], 0.02]}}}
    ids = {d["_id"] for d in db.c.find(inside)}
    assert len(ids) > 20
    assert db.c.update_many(inside, {"$set": {"loc": point([-70, -30])}}).modified_count == len(ids)
    assert db.c.count_documents(inside) == 0
    moved = {"loc": {"$near": {"$geometry": point([-70, -30]), "$maxDistance": 1}}}
    assert {d["_id"] for d in db.c.find(moved)} == ids
    assert db.command("count", "c", query=moved)["n"] == len(ids)
    assert set(db.c.distinct("_id", moved)) == ids
    changed = db.c.find_one_and_update(moved, {"$inc": {"n": 1}}, return_document=True)
    assert changed["n"] == 1 and changed["_id"] in ids
    last = db.c.find_one_and_delete(moved, sort=[("_id", -1)])
    assert last["_id"] == max(ids)
    assert db.c.update_many(moved, {"$set": {"loc": point([0, 0])}}).modified_count == len(ids) - 1
    away = {"loc": {"$geoIntersects": {"$geometry": point([0, 0])}}}
    assert db.c.delete_many(away).deleted_count == len(ids) - 1
    assert db.c.count_documents({}) == 300 - len(ids)
    assert [d["_id"] for d in db.c.find({"loc": {"$near": {"$geometry": point([10, 50])}}}).sort("_id", -1)] == sorted(
        (d["_id"] for d in db.c.find()), reverse=True)


def test_what_is_refused(db):
    db.c.create_index([("loc", "2dsphere")])
    db.c.insert_many([{"_id": 1, "loc": [1, 1]}, {"_id": 2}])
    here = {"$near": {"$geometry": point([0, 0])}}
    for code, call in (
        (5626500, lambda: list(db.c.find({}, {"loc": {"$elemMatch": here}}))),
        (5626500, lambda: db.c.count_documents({"loc": here})),
        (291, lambda: list(db.c.find({}).hint("loc_2dsphere"))),
        (291, lambda: list(db.c.find({"other": here}))),
        (291, lambda: list(db.c.find({"loc": {"$near": [0, 0]}}))),
        (2, lambda: list(db.c.find({"loc": here}).hint([("$natural", 1)]))),
        (26, lambda: list(db.none.aggregate([{"$geoNear": {"near": [0, 0], "distanceField": "d"}}]))),
    ):
        with pytest.raises(OperationFailure) as failure:
            call()
        assert failure.value.code == code, failure.value
    assert [d["_id"] for d in db.c.find({"loc": {"$geoWithin": {"$box": [[0, 0], [2, 2]]}}}).hint("loc_2dsphere")] == [1]


def test_the_keys_of_a_document_have_an_end(db):
    """A message's worth of places and numbers multiplies to ten billion keys."""
    too_many = 201
    keys, places, numbers = [("a.p", "2dsphere"), ("b", 1)], [{"p": [i % 179, i % 89]} for i in range(100_000)], list(range(100_000))
    db.c.create_index(keys)
    with pytest.raises(OperationFailure) as failure:
        db.c.insert_one({"_id": 1, "a": places, "b": numbers})
    assert failure.value.code == too_many and "exceeded maximum number of generated keys" in str(failure.value)
    # The same place is a key once, however often it stands there.
    db.c.insert_one({"_id": 2, "a": [{"p": [1, 1]}] * 100_000, "b": list(range(100))})
    assert db.c.count_documents({"a.p": {"$geoWithin": {"$centerSphere": [[1, 1], 0.001]}}, "b": 7}) == 1
    with pytest.raises(OperationFailure) as failure:
        db.c.update_one({"_id": 2}, {"$set": {"a": places, "b": numbers}})
    assert failure.value.code == too_many
    assert [d["_id"] for d in db.c.find({}, {"_id": 1})] == [2]
    assert db.command("validate", "c")["valid"]
    # An index over a document that is there already isn't made.
    db.d.insert_one({"_id": 1, "a": places, "b": numbers})
    with pytest.raises(OperationFailure) as failure:
        db.d.create_index(keys)
    assert failure.value.code == too_many
    assert list(db.d.index_information()) == ["_id_"]

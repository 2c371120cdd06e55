"""Whatever an operation computes, it ends soon after its time is up.

Each case of `cases()` does one thing to large values: millions of elements, hundreds of thousands of fields, texts of megabytes. Alone,
the file prints how many it did, and which of them took longest beyond their 50 ms:

    python3 -m tests.drivers.deadline_test
"""
import re
import sys
import time

import bson
import pytest
from pymongo.errors import ExecutionTimeout, OperationFailure, PyMongoError

from tests.support.palimpsest import Server
from tests.support.waiting import DEADLINE

TIME_MS = 50
NUMBERS, TEXTS, OBJECTS, FIELDS = 1_200_000, 300_000, 120_000, 300_000
SPECIFIED = 200_000  # fields of a specification
LONG_NAME = "n" * 7_000_000


def large():
    """Returns what the collection has: one document a kind of value, none above 16 MB."""
    return {
        "numbers": [n * 7919 % NUMBERS for n in range(NUMBERS)],
        "texts": [f"text {n * 7919 % TEXTS}" for n in range(TEXTS)],
        "objects": [{"k": f"k{n}", "v": n, "a": [n, {"b": n}]} for n in range(OBJECTS)],
        "pairs": [[f"k{n}", n] for n in range(OBJECTS)],
        "singles": [{f"k{n}": n} for n in range(OBJECTS)],
        "fields": {f"field{n}": n for n in range(FIELDS)},
        "text": "ab " * 4_000_000,
        "same": "x" * 8_000_000,
        "words": " ".join(f"word{n}" for n in range(1_000_000)),
        "binary": b"\x55" * 8_000_000,
        "deep": nested(90),
        "named": {LONG_NAME: [{}] * 300_000},
    }


def nested(depth):
    value = list(range(100_000))
    for _ in range(depth):
        value = {"d": value}
    return value


# Searches that try each pair of places, or more.
SLOW_PATTERNS = ["(?=x)x+[yz]", "x{1,60000}[yz]", "(x*)\\1y", "x(?=x*[yz])", "(?:x|x*+y)*z", "x*x*x*[yz]",
                 "(?=x)x+[yz]|" + "|".join(f"word{n}" for n in range(500))]

# Functions of JavaScript that take long in one step, or are called again and again for a step that takes a while.
SLOW_FUNCTIONS = [
    *(f"return Array.prototype.{name}.call({{length: 2 ** 53 - 1}}, 1)" for name in ("indexOf", "fill", "reverse", "sort", "flat", "shift", "join")),
    "return s.indexOf(s.slice(0, 4e6) + 'y')", "return s.split(s.slice(0, 4e6) + 'y')", "return s.replaceAll(s.slice(0, 4e6) + 'y', '')",
    "for (;;) s.lastIndexOf('y')", "const t = s.slice(0, 7e6) + 'y'; for (;;) s < t", "for (;;) s.trim()", "return /(x*)\\1y/.test(s)",
    "const a = new Array(1e6).fill(1); for (;;) a.indexOf(2)", "const b = 2n ** 500000n; for (;;) b * b", "return (2n ** 1000000n - 1n).toString()",
    "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; return JSON.stringify(a).length",
    "let a = []; for (let i = 0; i < 60; i++) a = [a, a]; return a.flat(Infinity).length", "s.replace(/x/g, '$`')",
]


def one(name):
    return {"input": "$" + name}


A_MILLION = {"input": {"$range": [0, 1_000_000]}}
EXPRESSIONS = {
    "numbers": [
        {"$size": {"$setUnion": ["$numbers", "$numbers"]}}, {"$setEquals": ["$numbers", {"$reverseArray": "$numbers"}]},
        {"$setIsSubset": ["$numbers", "$numbers"]}, {"$size": {"$setDifference": ["$numbers", [1]]}},
        {"$size": {"$setIntersection": ["$numbers", "$numbers"]}}, {"$in": ["x", "$numbers"]}, {"$indexOfArray": ["$numbers", -1]},
        {"$size": {"$slice": ["$numbers", 1, 1_000_000]}}, {"$size": {"$concatArrays": ["$numbers"] * 3}},
        {"$size": {"$filter": {**one("numbers"), "cond": {"$in": ["$$this", "$numbers"]}}}},
        {"$size": {"$map": {**one("numbers"), "in": {"$arrayElemAt": ["$numbers", -1]}}}},
        {"$reduce": {**one("numbers"), "initialValue": [], "in": {"$concatArrays": ["$$value", ["$$this"]]}}},
        {"$size": {"$sortArray": {**one("numbers"), "sortBy": 1}}}, {"$size": {"$zip": {"inputs": ["$numbers"] * 3}}},
        {"$sum": "$numbers"}, {"$stdDevPop": "$numbers"}, {"$max": "$numbers"}, {"$size": {"$maxN": {**one("numbers"), "n": 600_000}}},
        {"$median": {**one("numbers"), "method": "approximate"}}, {"$allElementsTrue": ["$numbers"]}, {"$anyElementTrue": [["$numbers"]]},
        {"$eq": ["$numbers", {"$slice": ["$numbers", NUMBERS]}]}, {"$toHashedIndexKey": "$numbers"},
    ],
    "texts": [
        {"$size": {"$setUnion": ["$texts", "$texts"]}}, {"$size": {"$sortArray": {**one("texts"), "sortBy": -1}}},
        {"$strLenBytes": {"$reduce": {**one("texts"), "initialValue": "", "in": {"$concat": ["$$value", "$$this"]}}}},
        {"$size": {"$map": {**one("texts"), "in": {"$split": ["$$this", " "]}}}},
        {"$size": {"$map": {**one("texts"), "in": {"$regexFindAll": {"input": "$$this", "regex": "[a-z]"}}}}},
    ],
    "objects": [
        {"$bsonSize": {"$arrayToObject": "$objects"}}, {"$size": {"$sortArray": {**one("objects"), "sortBy": {"a.b": 1, "v": -1}}}},
        {"$size": "$objects.a.b"}, {"$bsonSize": {"$mergeObjects": "$objects"}},
        {"$size": {"$map": {**one("objects"), "in": {"$mergeObjects": ["$$this", {"x": "$objects.v"}]}}}},
    ],
    "pairs": [{"$bsonSize": {"$arrayToObject": "$pairs"}}],
    "singles": [{"$bsonSize": {"$mergeObjects": "$singles"}},
                {"$bsonSize": {"$reduce": {**one("singles"), "initialValue": {}, "in": {"$mergeObjects": ["$$value", "$$this"]}}}}],
    "fields": [
        {"$size": {"$objectToArray": "$fields"}}, {"$bsonSize": {"$mergeObjects": ["$fields", "$fields"]}},
        {"$bsonSize": {"$setField": {"field": "z", "input": "$fields", "value": 1}}},
        {"$bsonSize": {"$arrayToObject": {"$objectToArray": "$fields"}}}, {"$eq": ["$fields", {"$mergeObjects": ["$fields"]}]},
        {"$or": ["$fields.nothing"] * 50_000}, {"$ifNull": ["$fields.nothing"] * 50_000}, {"$concat": ["$fields.nothing"] * 50_000},
        {"$size": {"$map": {**A_MILLION, "in": "$fields.nothing"}}},
        {"$size": {"$map": {**A_MILLION, "in": {"$bsonSize": {"$cond": [True, "$fields", {}]}}}}},
        {"$size": {"$map": {**A_MILLION, "in": {"$getField": {"field": "nothing", "input": "$fields"}}}}},
        {"$size": {"$map": {**A_MILLION, "in": {"$bsonSize": {"$setField": {"field": "z", "input": "$fields", "value": 1}}}}}},
    ],
    "text": [
        {"$size": {"$split": ["$text", " "]}}, {"$strLenBytes": {"$replaceAll": {"input": "$text", "find": "a", "replacement": "bb"}}},
        {"$strLenCP": {"$toUpper": "$text"}}, {"$indexOfCP": ["$text", "zz"]}, {"$indexOfBytes": ["$text", "zz"]},
        {"$size": {"$regexFindAll": {"input": "$text", "regex": "(a)(b)"}}}, {"$regexMatch": {"input": "$text", "regex": "(a|b| )+$"}},
        {"$regexMatch": {"input": "$text", "regex": "(a+|b+| +)+z"}}, {"$strLenBytes": {"$trim": {"input": "$text", "chars": "ab "}}},
        {"$strLenBytes": {"$substrCP": ["$text", 3_000_000, 3_000_000]}}, {"$strcasecmp": ["$text", "$text"]},
        {"$indexOfBytes": ["$text", "ab " * 2_000_000 + "x"]}, {"$indexOfCP": ["$text", "ab " * 2_000_000 + "x"]},
        {"$size": {"$split": ["$text", "ab " * 2_000_000 + "x"]}},
        {"$strLenBytes": {"$replaceAll": {"input": "$text", "find": "ab " * 2_000_000 + "x", "replacement": "bb"}}},
        {"$convert": {"input": "$text", "to": "int", "onError": 0}}, {"$dateFromString": {"dateString": "$text", "onError": 0}},
    ],
    "same": [{"$regexMatch": {"input": "$same", "regex": pattern}} for pattern in SLOW_PATTERNS]
    + [{"$function": {"lang": "js", "args": ["$same"], "body": f"function(s) {{ {body} }}"}} for body in SLOW_FUNCTIONS],
    "words": [{"$size": {"$map": {"input": {"$split": ["$words", " "]}, "in": {"$regexMatch": {"input": "x", "regex": "$$this"}}}}}],
    "deep": [{"$size": {"$ifNull": ["$deep" + ".d" * 90, []]}}, {"$bsonSize": {"$mergeObjects": ["$deep", "$deep"]}}],
}

FILTERS = {
    "numbers": [{"numbers": -1}, {"numbers": {"$in": list(range(-100_000, 0))}}, {"numbers": {"$all": list(range(0, 2_000))}},
                {"numbers": {"$elemMatch": {"$gt": NUMBERS, "$ne": 5}}}, {"numbers": {"$nin": list(range(NUMBERS, NUMBERS + 1_000))}},
                {"$or": [{"numbers": -n} for n in range(1, 2_000)]}, {"numbers": {"$mod": [NUMBERS + 1, NUMBERS]}},
                {"numbers.b": 1}, {"numbers": {"$type": "string"}}, {"numbers": {"$bitsAllSet": 1 << 40}}],
    "texts": [{"texts": {"$regex": "zz$"}}, {"texts": {"$regex": "^(t|e|x)+z"}}, {"texts": {"$in": [f"no {n}" for n in range(50_000)]}}],
    "objects": [{"objects": {"$elemMatch": {"a": {"$elemMatch": {"b": -1}}}}}, {"objects.a.b": -1}, {"objects.v": {"$lt": 0}},
                {"objects": {"k": "k1", "v": 2}}],
    "text": [{"text": {"$regex": "(a+|b+| +)+z"}}, {"text": {"$regex": "b$"}}],
    "same": [{"same": {"$regex": pattern}} for pattern in SLOW_PATTERNS]
    + [{"same": {"$in": [re.compile(pattern) for pattern in SLOW_PATTERNS]}}, {"$jsonSchema": {"properties": {"same": {"pattern": SLOW_PATTERNS[0]}}}},
       {"same": {"$in": [re.compile(f"x{n}") for n in range(100_000)]}}, {"$or": [{"same": re.compile(f"x{n}")} for n in range(50_000)]}],
    "binary": [{"binary": {operator: b"\x55" * 7_000_000}} for operator in ("$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear")],
}

UPDATES = {
    "numbers": [{"$pull": {"numbers": {"$lt": 5, "$mod": [3, 1]}}}, {"$pullAll": {"numbers": list(range(0, 100_000))}},
                {"$push": {"numbers": {"$each": [1], "$sort": 1}}}, {"$addToSet": {"numbers": {"$each": list(range(100_000))}}},
                {"$inc": {"numbers.$[]": 1}}, {"$pop": {"numbers": 1}}, {"$set": {f"numbers.{n}": 0 for n in range(0, 20_000)}},
                [{"$set": {"numbers": {"$sortArray": {**one("numbers"), "sortBy": 1}}}}]],
    "objects": [{"$set": {"objects.$[].a.$[].b": 1}}, {"$pull": {"objects": {"a.b": {"$gt": 5}}}},
                {"$push": {"objects": {"$each": [], "$sort": {"a.b": -1, "k": 1}}}}],
    "fields": [{"$set": {f"fields.field{n}": 0 for n in range(200_000)}}, {"$unset": {f"fields.field{n}": 1 for n in range(200_000)}},
               {"$rename": {"fields.field1": "x"}}],
    "texts": [{"$pull": {"texts": {"$regex": "^(t|e|x)+z"}}}],
    "named": [{"$set": {f"named.{LONG_NAME}.$[].a": {}}}],
}

GENERATED = [{"$documents": [{}]}, {"$set": {"i": {"$range": [0, 1_000_000]}}}, {"$unwind": "$i"}]
PIPELINES = [
    [*GENERATED, {"$group": {"_id": "$i"}}], [*GENERATED, {"$sort": {"i": -1}}], [*GENERATED, {"$sortByCount": "$i"}],
    [*GENERATED, {"$bucketAuto": {"groupBy": "$i", "buckets": 5}}], [*GENERATED, {"$sample": {"size": 100_000}}],
    [*GENERATED, {"$setWindowFields": {"sortBy": {"i": 1}, "output": {"s": {"$sum": "$i", "window": {"documents": [-50_000, 0]}}}}}],
    [*GENERATED, {"$facet": {"a": [{"$group": {"_id": "$i"}}], "b": [{"$match": {"i": -1}}]}}], [*GENERATED, {"$skip": 900_000}],
    [*GENERATED, {"$match": {"i": {"$lt": 0}}}], [*GENERATED, {"$redact": "$$PRUNE"}], [*GENERATED, {"$match": {"$expr": False}}],
    [*GENERATED, {"$set": {"x": "$i"}}, {"$unset": "x"}, {"$replaceWith": {"a": "$$ROOT"}}, {"$count": "n"}],
    [*GENERATED, {"$densify": {"field": "i", "range": {"step": 0.001, "bounds": "full"}}}, {"$count": "n"}],
    [*GENERATED, {"$fill": {"sortBy": {"i": 1}, "output": {"x": {"method": "locf"}}}}, {"$count": "n"}],
    [*GENERATED, {"$lookup": {"from": "nothing", "localField": "i", "foreignField": "i", "as": "f"}}, {"$count": "n"}],
    [*GENERATED, {"$group": {"_id": None, "all": {"$push": "$i"}}}], [*GENERATED, {"$group": {"_id": None, "all": {"$addToSet": "$i"}}}],
    [*GENERATED[:2], {"$set": {"i": {"$slice": ["$i", 100_000]}}}, {"$unwind": "$i"},
     {"$setWindowFields": {"sortBy": {"i": 1}, "output": {"m": {"$median": {"input": "$i", "method": "approximate"},
                                                                "window": {"documents": ["unbounded", "current"]}}}}}],
    *([{"$documents": [{}]}, {stage: specification}] for stage, specification in (
        ("$project", {f"f{n}": 1 for n in range(SPECIFIED)}), ("$project", {f"f{n}": 0 for n in range(SPECIFIED)}),
        ("$set", {f"f{n}": {"$literal": 1} for n in range(SPECIFIED)}), ("$project", {"x": {f"f{n}": "$a" for n in range(SPECIFIED)}}),
        ("$project", {"x": {"$let": {"vars": {f"f{n}": "$a" for n in range(SPECIFIED)}, "in": ["$$f0"] * SPECIFIED}}}))),
]


def cases(collection):
    """Yields (name, function of no arguments) for everything that is tried."""
    def aggregate(stages):
        return lambda: list(collection.database.aggregate(stages, maxTimeMS=TIME_MS))

    for kind, expressions in EXPRESSIONS.items():
        for expression in expressions:
            stages = [{"$match": {"_id": kind}}, {"$project": {"m": expression}}]
            yield f"{kind}: {short(expression)}", lambda stages=stages: list(collection.aggregate(stages, maxTimeMS=TIME_MS))
    for kind, filters in FILTERS.items():
        for filter_ in filters:
            yield f"{kind}: find {short(filter_)}", lambda filter_=filter_, kind=kind: list(
                collection.find({"_id": kind, **filter_}, {"_id": 1}).max_time_ms(TIME_MS))
    for kind, updates in UPDATES.items():
        for update in updates:
            command = {"update": collection.name, "updates": [{"q": {"_id": kind}, "u": update}], "maxTimeMS": TIME_MS}
            yield f"{kind}: update {short(update)}", lambda command=command: collection.database.command(command)
    for stages in PIPELINES:
        yield f"stages: {short(stages[1:])}", aggregate(stages)
    computed = {f"f{n}": {"$literal": n} for n in range(SPECIFIED // 4)}
    yield "find with a projection of many fields", lambda: list(collection.find({"_id": "fields"}, computed).max_time_ms(TIME_MS))
    for order in ({"objects.v": 1, "_id": 1}, {"numbers": 1, "text": 1}):
        yield f"find sorted by {order}", lambda order=order: list(
            collection.find({}, {"_id": 1}).sort(list(order.items())).max_time_ms(TIME_MS))
    both = {"_id": 1, "numbers": {"$range": [0, NUMBERS]}, "text": "$text"}
    yield "sort by an array and a text", lambda: list(collection.aggregate(
        [{"$match": {"_id": "text"}}, {"$project": both}, {"$sort": {"numbers": 1, "text": 1}}], maxTimeMS=TIME_MS))
    yield "distinct", lambda: collection.distinct("texts", maxTimeMS=TIME_MS)


def short(value):
    text = str(value)
    return text if len(text) < 100 else text[:97] + "..."


def fill(collection):
    for name, value in large().items():
        document = {"_id": name, name: value}
        assert len(bson.encode(document)) <= 16 << 20, (name, len(bson.encode(document)))
        collection.insert_one(document)


def seconds_of(case):
    """Returns how long it took, and its error. That it had no time is no error worth a word."""
    begun = time.monotonic()
    try:
        case()
        error = ""
    except PyMongoError as failure:
        error = str(failure)
    return time.monotonic() - begun, error


def test_operations_end_soon_after_their_time(server):
    fill(server.client().t.large)
    late = []
    for name, case in cases(server.client().t.large):
        seconds, _ = seconds_of(case)
        if seconds > DEADLINE:  # a hang is what this test looks for; the measured times are a few dozen milliseconds
            late.append(f"{name}: {seconds:.1f} s")
    assert not late, "\n".join(late)


UNCOMMITTED = 50_000  # documents; nothing that goes over them takes less than a millisecond


@pytest.mark.parametrize("db, command", [
    ("branched@dev", {"status": 1}),
    ("branched@dev", {"commit": 1}),
    ("branched@dev", {"stash": 1}),
    ("branched", {"resetBranch": "dev", "to": "main", "force": True}),
    ("branched", {"dropBranch": "dev", "force": True}),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_what_goes_over_a_branch_ends_with_its_time_and_has_changed_nothing(branched, db, command):
    with pytest.raises(ExecutionTimeout) as error:
        branched[db].command({**command, "maxTimeMS": 1})
    assert error.value.code == 50
    status = branched["branched@dev"].command("status")
    assert [(one["name"], one["inserted"], one["deleted"]) for one in status["collections"]] == [("c", UNCOMMITTED, 0)]
    assert branched["branched@dev"].c.count_documents({}) == UNCOMMITTED
    assert branched["branched"].command("listStashes")["cursor"]["firstBatch"] == []


def test_a_commit_that_ended_with_its_time_can_be_run_again(branched):
    with pytest.raises(ExecutionTimeout):
        branched["branched@dev"].command({"commit": 1, "maxTimeMS": 1})
    made = branched["branched@dev"].command("commit")
    assert made["changed"]
    assert branched["branched@" + made["commit"][:16]].c.count_documents({}) == UNCOMMITTED
    assert branched["branched@dev"].command("status")["clean"]


@pytest.fixture
def branched(server):
    client = server.client()
    client.drop_database("branched")
    client.branched.create_collection("c")
    client.branched.command("createBranch", "dev")
    client["branched@dev"].command("commit")  # so what the tests interrupt has no tree to begin with
    client["branched@dev"].c.insert_many([{"_id": n, "text": f"text {n}"} for n in range(UNCOMMITTED)])
    return client


# A search of it in a text of a million letters takes minutes.
SLOW_SEARCH = {"$regex": "[^x]*[xy]z"}


def fill_branches(database):
    """Main is a commit ahead of dev, by documents with long texts in a field and in an _id."""
    text = "a" * 1_000_000
    database.c.insert_one({"_id": 1})
    database.command("createBranch", "dev")
    database.c.insert_many([{"_id": 2, "t": text}, {"_id": {"t": text}}])
    database.command("commit", 1)


def test_filters_over_versions_end_with_their_operation(server):
    database = server.client().versioned
    fill_branches(database)
    pipeline = [{"$diff": {"from": "dev"}}, {"$match": {"_id.t": SLOW_SEARCH}}]
    for command in ({"diff": 1, "from": "dev", "filter": {"after.t": SLOW_SEARCH}},
                    {"log": 1, "touching": {"coll": "c", "filter": {"t": SLOW_SEARCH}}},
                    {"packCommits": 1, "filter": {"c": {"t": SLOW_SEARCH}}},
                    {"aggregate": "c", "pipeline": pipeline}):
        for cursor in ({}, {"batchSize": 0}):  # with the latter, a getMore searches
            begun = time.monotonic()
            with pytest.raises(OperationFailure) as failure:
                opened = database.command({**command, "cursor": cursor, "maxTimeMS": TIME_MS})["cursor"]
                database.command({"getMore": opened["id"], "collection": opened["ns"].partition(".")[2]})
            assert failure.value.code == 50, (command, failure.value)
            assert time.monotonic() - begun < DEADLINE, command


def test_a_patch_takes_no_time_for_what_did_not_change(server):
    """With a path of megabytes for each of the fields, it would take many minutes."""
    database = server.client().patched
    database.c.insert_one({"_id": 1, LONG_NAME: {f"field{n}": n for n in range(FIELDS)}})
    database.command("createBranch", "dev")
    database.c.update_one({"_id": 1}, {"$set": {f"{LONG_NAME}.field7": "new"}})
    begun = time.monotonic()
    found = database.command("diff", 1, format="jsonPatch")["cursor"]["firstBatch"]
    assert time.monotonic() - begun < DEADLINE
    operations = [(one["op"], one["path"] == f"/{LONG_NAME}/field7", one["value"]) for one in found[0]["patch"]]
    assert operations == [("test", True, 7), ("replace", True, "new")]


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


def main():
    with Server() as running:
        collection = running.client().t.large
        fill(collection)
        found = []
        for name, case in cases(collection):
            seconds, error = seconds_of(case)
            found.append((seconds * 1000 - TIME_MS, name, error))
            sys.stderr.write(".")
            sys.stderr.flush()
        found.sort(reverse=True)
        beyond = [ms for ms, _, _ in found]
        print(f"\n{len(found)} operations with maxTimeMS {TIME_MS}: beyond it at most {beyond[0]:.0f} ms, median {beyond[len(beyond) // 2]:.0f} ms; "
              f"{sum(ms > TIME_MS for ms in beyond)} took more than {2 * TIME_MS} ms")
        for ms, name, error in found[:40]:
            if ms > 25:
                print(f"{ms:8.0f} ms  {name}  {error[:100]}")


if __name__ == "__main__":
    main()

"""Lets other people's programs keep a copy of a collection through kills and step-downs, and prints what the copy has. It is no test.

    python -m tests.measure.synchronizer [--minutes 10] [--by npm|debezium]

from the root of the checkout, with what tests/requirements.txt names; PALIMPSEST_BIN is the folder of palimpsestd. `npm` is the package
mongochangestream, and needs npm; `debezium` is Debezium's engine with its connector for MongoDB, and needs a JDK and Maven. What they need goes to
build/synchronizer.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import threading
import time

from pymongo.errors import PyMongoError
from pymongo.write_concern import WriteConcern

from tests.support.palimpsest import ROOT
from tests.support.replica_set import ReplicaSet

SOURCES = pathlib.Path(__file__).parent / "synchronizer"
BUILT = ROOT / "build" / "synchronizer"
BETWEEN_FAULTS_S = 20
DOCUMENTS = 2000


def npm(uri):
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=BUILT, check=True)
    return ["node", "synchronizer.mjs", uri]


def debezium(uri):
    subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars"], cwd=BUILT, check=True)
    subprocess.run(["javac", "-cp", "jars/*", "Capture.java"], cwd=BUILT, check=True)
    (BUILT / "offsets").unlink(missing_ok=True)
    return ["java", "-cp", ".:jars/*", "Capture", uri, "offsets"]


def write(collection, stop, counts):
    rng = random.Random(1)
    n = 0
    while not stop.is_set():
        n += 1
        key = {"_id": str(rng.randrange(DOCUMENTS))}
        try:
            kind = rng.randrange(10)
            if kind == 0:
                collection.delete_one(key)
            elif kind == 1:
                collection.replace_one(key, {"n": n, "text": "t" * rng.randrange(2000)}, upsert=True)
            else:
                collection.update_one(key, {"$set": {"n": n}, "$push": {"list": {"$each": [n], "$slice": -5}}}, upsert=True)
            counts["writes"] += 1
        except PyMongoError:
            counts["failed"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--by", choices=["npm", "debezium"], default="npm")
    arguments = parser.parse_args()
    minutes = arguments.minutes
    shutil.copytree(SOURCES, BUILT, dirs_exist_ok=True)
    with ReplicaSet(3, settings={"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}) as replica_set:
        db = replica_set.client(retryWrites=True).get_database("t", write_concern=WriteConcern("majority", wtimeout=30000))
        db.docs.insert_many({"_id": str(i), "n": 0} for i in range(0, DOCUMENTS, 2))
        command = {"npm": npm, "debezium": debezium}[arguments.by](replica_set.uri)
        consumer = subprocess.Popen(command, cwd=BUILT, stdout=subprocess.PIPE, text=True)
        assert consumer.stdout.readline() == "reading\n"
        stop, counts = threading.Event(), {"writes": 0, "failed": 0}
        writer = threading.Thread(target=write, args=(db.docs, stop, counts))
        writer.start()
        faults, until = 0, time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            time.sleep(BETWEEN_FAULTS_S)
            primary = replica_set.wait_settled()
            if faults % 2:
                primary.kill()
                time.sleep(3)
                primary.start()
            else:
                primary.command("replSetStepDown", 5)
            faults += 1
            replica_set.wait_settled()
        stop.set()
        writer.join()
        db.docs.insert_one({"_id": "end"})
        answer = json.loads(consumer.communicate(timeout=300)[0])
        wanted = {one["_id"]: one["n"] for one in db.docs.find({"_id": {"$ne": "end"}})}
    copy = answer.pop("documents")
    different = sum(copy.get(key) != wanted.get(key) for key in copy.keys() | wanted.keys())
    print(json.dumps({"minutes": minutes, "faults": faults, **counts, **answer, "documents": len(wanted), "different": different}))


if __name__ == "__main__":
    main()

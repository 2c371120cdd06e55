"""Sends what MongoDB's Database Tools 100.x send to a server, without the programs.

Each function sends the commands that its tool sends, with the fields that it sends, in the order in which it sends them. Of a reply it
reads what the tool reads, and fails where the tool's types would not take what is there. The files of a dump are those of mongodump:
DIRECTORY/DATABASE/COLLECTION.bson and .metadata.json, and oplog.bson.
"""
import concurrent.futures
import contextlib
import pathlib
import threading
import urllib.parse

import bson
from bson.codec_options import CodecOptions
from bson.json_util import CANONICAL_JSON_OPTIONS, dumps, loads
from bson.raw_bson import RawBSONDocument
from pymongo.errors import OperationFailure

from tests.support.palimpsest import raw_command

RAW = CodecOptions(RawBSONDocument)
MAJORITY = {"w": "majority"}  # what the tools write with
BATCH = 1000                  # documents that mongorestore and mongoimport send in one message at most
MESSAGE_BYTES = 47_999_000    # bytes of documents that they send in one message at most


def integer(value):
    """Reads a value as a Go struct with an int64 does: it takes a double without a fraction, and anything but a number is an error."""
    assert isinstance(value, (int, float)) and not isinstance(value, bool), f"{value!r} is no number"
    assert value == int(value), f"{value!r} has a fraction"
    return int(value)


def connect(client):
    """Every tool asks this first: whether the server answers, its version, and what kind of node it is."""
    client.admin.command("ping")
    with contextlib.suppress(OperationFailure):  # only Atlas' proxy knows it
        client.admin.command("atlasVersion")
        raise AssertionError("taken for Atlas")
    info = client.admin.command("buildInfo")
    assert isinstance(info["version"], str) and all(isinstance(one, int) for one in info["versionArray"][:3])
    node = client.admin.command("ismaster")
    assert node.get("msg") != "isdbgrid"
    return "set" if "setName" in node or "hosts" in node else "standalone"


def accepts_zero_timestamps(client):
    """Returns whether the server can write documents with Timestamp(0, 0) as they are. An error of another kind ends the tool."""
    try:
        client["_mongorestore_dummy"].command("update", "_mongorestore_dummy.dummy", bypassEmptyTsReplacement=True, writeConcern=MAJORITY,
                                              updates=[{"q": {"____dummy": 1}, "u": {"$rename": {}}}])
        return True
    except OperationFailure as failure:
        assert failure.code == 40415, failure
        return False


# ---- mongodump


def dump(client, directory, db=None, collection=None, query=None, oplog=False, begun=None, done=None):
    """`begun` is called after the tool has read where its part of the oplog begins, and before it reads a document; `done` after the last document, and
    before it reads the oplog."""
    connect(client)
    directory = pathlib.Path(directory)
    if collection and not collection_info(client[db], collection):
        return
    names = [db] if db else [one for one in client.list_database_names() if one not in ("local", "config")]
    intents = [(client[name], info, directory / name) for name in names
               for info in ([collection_info(client[name], collection)] if collection else list(collections(client[name])))]
    for one in intents:
        dump_metadata(*one)
    begin = oplog_begin(client) if oplog else None
    if begun:
        begun()
    at_once(dump_documents, [(*one, query) for one in intents])
    if done:
        done()
    if oplog:
        dump_oplog(client, directory, begin)


def at_once(work, each):
    """The tools read and write four collections at once."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for one in [pool.submit(work, *arguments) for arguments in each]:
            one.result()


def collections(database):
    for one in database.cursor_command("listCollections", cursor={}):
        if one["name"].startswith("system.") and one["name"] != "system.js":
            continue
        yield one


def collection_info(database, name):
    found = list(database.cursor_command("listCollections", filter={"name": name}, cursor={}))
    return found[0] if found else None


def file_of(directory, name, ending):
    return directory / (urllib.parse.quote(name, safe="") + ending)


def dump_metadata(database, info, directory):
    name = info["name"]
    metadata = {"options": info["options"], "indexes": [], "uuid": "", "collectionName": name, "type": info["type"]}
    integer(database.command("count", name)["n"])
    if info["type"] != "view":
        metadata |= {"indexes": list(database.cursor_command("listIndexes", name, cursor={})), "uuid": info["info"]["uuid"].hex()}
    directory.mkdir(parents=True, exist_ok=True)
    file_of(directory, name, ".metadata.json").write_text(dumps(metadata, json_options=CANONICAL_JSON_OPTIONS))


def dump_documents(database, info, directory, query):
    name = info["name"]
    if info["type"] == "view":  # its definition is all that there is
        return
    assert "numExtents" not in database.command("collStats", name)  # else it would be MMAPv1
    with open(file_of(directory, name, ".bson"), "wb") as out:
        for document in database.get_collection(name, codec_options=RAW).find(query or {}):
            out.write(document.raw)


def newest_of_oplog(client, order=-1):
    found = client["local"].command("find", "oplog.rs", filter={}, sort={"$natural": order}, skip=0, limit=1, singleBatch=True)
    return found["cursor"]["firstBatch"][0]["ts"]


def oplog_begin(client):
    assert "hosts" in client.admin.command("isMaster"), "no replica set"
    open_transactions = client["config"].command("find", "transactions", filter={"state": {"$in": ["prepared", "inProgress"]}}, sort={"startOpTime": 1},
                                                 limit=1, singleBatch=True, readConcern={"level": "local"})
    assert not open_transactions["cursor"]["firstBatch"]
    return newest_of_oplog(client)


def dump_oplog(client, directory, begin):
    end = newest_of_oplog(client)
    assert newest_of_oplog(client, 1) <= begin, "the oplog was cut behind where the dump began"
    between = {"$and": [{"ts": {"$gte": begin}}, {"ts": {"$lte": end}}]}
    with open(directory / "oplog.bson", "wb") as out:
        for entry in client["local"].get_collection("oplog.rs", codec_options=RAW).find(between, oplog_replay=True):
            out.write(entry.raw)
    assert newest_of_oplog(client, 1) <= begin, "the oplog was cut behind where the dump began"


# ---- mongorestore


class Restore:
    """`db` restores the one database of the dump that `of` names under another name. `failures` counts documents that were refused."""

    def __init__(self, client, directory, db=None, of=None, collection=None, drop=False, oplog_replay=False):
        self.client, self.drop, self.failures = client, drop, 0
        self.indexes = {}
        connect(client)
        self.zero_timestamps = accepts_zero_timestamps(client)
        directory = pathlib.Path(directory)
        self.lock = threading.Lock()
        folders = sorted(one for one in directory.iterdir() if one.is_dir() and of in (None, one.name))
        at_once(self.restore_collection, [(client[db or folder.name], metadata, collection) for folder in folders
                                          for metadata in sorted(folder.glob("*.metadata.json"))])
        if oplog_replay:
            self.replay(directory / "oplog.bson")
        at_once(self.create_indexes, [(client[name], coll, indexes) for (name, coll), indexes in self.indexes.items()])

    def restore_collection(self, database, file, only):
        metadata = loads(file.read_text(), json_options=CANONICAL_JSON_OPTIONS)
        name = metadata.get("collectionName") or urllib.parse.unquote(file.name.removesuffix(".metadata.json"))
        if only and only != name:
            return
        exists = name in [one["name"] for one in database.cursor_command("listCollections", filter={}, cursor={}, nameOnly=False)]
        if exists and self.drop:
            database.command("drop", name, writeConcern=MAJORITY)
            exists = False
        indexes = {one["name"]: one for one in metadata["indexes"]}
        id_index = indexes.pop("_id_", None)
        if not exists:
            options = {field: value for field, value in metadata.get("options", {}).items() if not (id_index and field == "autoIndexId")}
            if id_index:
                options["idIndex"] = {"key": id_index["key"], "name": "_id_", "ns": f"{database.name}.{name}"}
            database.command("create", name, **options)
        if metadata.get("type") == "view":
            return
        with open(file.with_name(file.name.replace(".metadata.json", ".bson")), "rb") as documents:
            self.insert(database, name, bson.decode_file_iter(documents, RAW))
        with self.lock:
            self.indexes[database.name, name] = list(indexes.values())

    def insert(self, database, name, documents):
        batch, size = [], 0
        for document in documents:
            if batch and (len(batch) == BATCH or size + len(document.raw) > MESSAGE_BYTES):
                self.insert_batch(database, name, batch)
                batch, size = [], 0
            batch.append(document)
            size += len(document.raw)
        if batch:
            self.insert_batch(database, name, batch)

    def insert_batch(self, database, name, batch):
        options = {"bypassEmptyTsReplacement": True} if self.zero_timestamps else {}
        command = {"insert": name, "ordered": False, "bypassDocumentValidation": False, "writeConcern": MAJORITY, **options, "$db": database.name}
        reply = raw_command(*self.client.address, command, ("documents", [one.raw for one in batch]))
        if not reply["ok"]:
            raise OperationFailure(reply["errmsg"], reply["code"])
        errors = reply.get("writeErrors", [])
        for one in errors:
            if one["code"] != 11000:  # ends it
                raise OperationFailure(one["errmsg"], one["code"])
        assert integer(reply["n"]) == len(batch) - len(errors)
        with self.lock:
            self.failures += len(errors)

    @staticmethod
    def create_indexes(database, name, indexes):
        if not indexes:
            return
        sent = [{**{field: value for field, value in one.items() if field != "v"}, "ns": f"{database.name}.{name}"} for one in indexes]
        database.command("createIndexes", name, indexes=sent, ignoreUnknownIndexOptions=True)

    def replay(self, file):
        with open(file, "rb") as entries:
            for entry in bson.decode_file_iter(entries):
                self.handle(entry)

    def handle(self, entry):
        kind, ns, o = entry["op"], entry["ns"], entry["o"]
        if kind == "n" or ns.startswith("config."):
            return
        if kind == "c":
            name, value = next(iter(o.items()))
            known = {"renameCollection", "dropDatabase", "applyOps", "create", "drop", "createIndexes", "dropIndexes", "collMod", "commitIndexBuild", "startIndexBuild"}
            assert name in known, f"mongorestore ends with: unknown oplog command name {name}"
            if name == "startIndexBuild":
                return
            if name == "applyOps":
                for one in value:
                    self.handle(one)
                return
            if self.only_of_indexes(ns.split(".")[0], name, value, o):
                return
        sent = {"ts": entry["ts"], "t": entry.get("t"), "v": entry.get("v", 2), "op": kind, "ns": ns, "o": o}
        if "o2" in entry:
            sent["o2"] = entry["o2"]
        reply = self.client.admin.command("applyOps", [sent], bypassDocumentValidation=False)
        assert integer(reply["applied"]) == 1 and reply["results"] == [True], (entry, reply)

    def only_of_indexes(self, db, command, name, o):
        """Returns whether the entry concerns indexes alone: mongorestore remembers these, and makes the indexes at the end."""
        indexes = self.indexes.setdefault((db, name), []) if command not in ("dropDatabase", "renameCollection") else None
        if command == "createIndexes":
            indexes.append({field: value for field, value in o.items() if field != "createIndexes"})
        elif command == "commitIndexBuild":
            indexes += o["indexes"]
        elif command == "dropIndexes":
            indexes[:] = [one for one in indexes if one["name"] != o["index"]]
        elif command == "collMod" and "index" in o:
            for one in indexes:
                if one["name"] == o["index"]["name"]:
                    one.update({field: value for field, value in o["index"].items() if field in ("hidden", "expireAfterSeconds")})
        elif command == "dropDatabase":
            self.indexes = {key: value for key, value in self.indexes.items() if key[0] != db}
            return False
        elif command == "drop":
            del self.indexes[db, name]
            return False
        else:
            return False
        return True


# ---- mongoimport, mongoexport


def import_documents(database, name, documents, mode="insert", fields=("_id",), drop=False):
    """Returns how many were taken and how many refused. In every mode but insert the batches are ordered and end with the first error."""
    connect(database.client)
    if drop:
        database.command("drop", name, writeConcern=MAJORITY)
    zero = {"bypassEmptyTsReplacement": True} if accepts_zero_timestamps(database.client) else {}
    taken = refused = 0
    for begin in range(0, len(documents), BATCH):
        batch = documents[begin:begin + BATCH]
        if mode == "insert":
            reply = database.command("insert", name, documents=batch, ordered=False, bypassDocumentValidation=False, writeConcern=MAJORITY, **zero)
        elif mode == "delete":
            deletes = [{"q": selector(one, fields), "limit": 1} for one in batch]
            reply = database.command("delete", name, deletes=deletes, ordered=True, writeConcern=MAJORITY)
        else:
            updates = [{"q": selector(one, fields), "u": one if mode == "upsert" else {"$set": one}, "upsert": True} for one in batch]
            reply = database.command("update", name, updates=updates, ordered=True, bypassDocumentValidation=False, writeConcern=MAJORITY, **zero)
        errors = reply.get("writeErrors", [])
        taken += integer(reply["n"])
        refused += len(errors)
        if errors and mode != "insert":
            break
    return taken, refused


def selector(document, fields):
    found = {}
    for field in fields:
        value = document
        for part in field.split("."):
            value = value[part]
        found[field] = value
    return found


def export(database, name, query=None, fields=None, sort=None, skip=0, limit=0):
    """Returns the lines that mongoexport --jsonFormat canonical writes."""
    connect(database.client)
    if not collection_info(database, name):
        return []
    if not limit and not query:
        integer(database.command("count", name)["n"])
    options = {"skip": skip, "limit": limit} if limit else {"skip": skip}
    if sort:
        options["sort"] = sort
    elif not query:
        options["hint"] = {"_id": 1}
    if fields:
        options["projection"] = {"_id": 1, **{field.split(".")[0]: 1 for field in fields}}
    found = database.cursor_command("find", name, filter=query or {}, **options)
    return [dumps(one, json_options=CANONICAL_JSON_OPTIONS) for one in found]


def read_lines(lines):
    return [loads(line, json_options=CANONICAL_JSON_OPTIONS) for line in lines]


# ---- mongostat, mongotop


def status(client):
    """serverStatus as mongostat decodes it: the fields of its columns, and those that its types would refuse in another type."""
    found = client.admin.command({"serverStatus": 1, "recordStats": 0})
    for field in ("pid", "uptime", "uptimeMillis", "uptimeEstimate"):
        integer(found[field])
    for name in ("asserts", "opcounters", "opcountersRepl"):
        for value in found.get(name, {}).values():
            integer(value)
    # Without this field mongostat takes the server for one before 3.0, and shows a column of lock times.
    assert "acquireCount" in found["locks"]["Global"]
    for lock in found["locks"].values():
        for part in lock.values():
            for value in part.values():
                integer(value)
    return found


def stat_row(before, after):
    """Returns one line of mongostat, as numbers."""
    cache = after["wiredTiger"]["cache"]
    tickets = after["wiredTiger"]["concurrentTransactions"]
    queue, active = after["globalLock"]["currentQueue"], after["globalLock"]["activeClients"]
    row = {name: integer(after["opcounters"][name]) - integer(before["opcounters"][name]) for name in ("insert", "query", "update", "delete", "getmore", "command")}
    most = integer(cache["maximum bytes configured"])
    row["dirty"] = 100 * integer(cache["tracked dirty bytes in the cache"]) / most
    row["used"] = 100 * integer(cache["bytes currently in the cache"]) / most
    row["flushes"] = integer(after["wiredTiger"]["transaction"]["transaction checkpoints"]) - integer(before["wiredTiger"]["transaction"]["transaction checkpoints"])
    assert after["mem"]["supported"] and integer(after["mem"]["bits"]) == 64
    row["vsize"], row["res"] = integer(after["mem"]["virtual"]), integer(after["mem"]["resident"])
    for short, kind, who in (("r", "read", "readers"), ("w", "write", "writers")):
        row[f"a{short}"] = integer(tickets[kind]["out"])
        row[f"q{short}"] = max(0, integer(queue[who]) + integer(active[who]) - row[f"a{short}"])
    integer(queue["total"]), integer(active["total"]), integer(after["globalLock"]["totalTime"])
    row["net_in"] = integer(after["network"]["bytesIn"]) - integer(before["network"]["bytesIn"])
    row["net_out"] = integer(after["network"]["bytesOut"]) - integer(before["network"]["bytesOut"])
    integer(after["network"]["numRequests"])
    row["conn"] = integer(after["connections"]["current"])
    integer(after["connections"]["available"]), integer(after["connections"]["totalCreated"])
    assert after["storageEngine"]["name"] == "wiredTiger" and "mongos" not in after["process"]
    row["set"] = after["repl"]["setName"] if "repl" in after else None
    if "repl" in after:  # --discover goes on from here
        assert after["repl"]["me"] in after["repl"]["hosts"]
    return row


def top(client):
    """Returns what mongotop shows: {namespace: {total, read, write: (microseconds, count)}}."""
    totals = client.admin.command("top")["totals"]
    return {ns: {short: (integer(of[name]["time"]), integer(of[name]["count"])) for short, name in
                 (("total", "total"), ("read", "readLock"), ("write", "writeLock"))} for ns, of in totals.items() if ns != "note"}

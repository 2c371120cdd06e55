"""Starts, kills, holds up and compares members of real replica sets for Python tests."""
import collections
import datetime
import itertools
import os
import threading
import time

import bson
import pymongo
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.read_preferences import ReadPreference

from tests.support.palimpsest import Server
from tests.support.retries import Retries
from tests.support.waiting import DEADLINE, wait_until

STATES = {0: "STARTUP", 1: "PRIMARY", 2: "SECONDARY", 3: "RECOVERING", 5: "STARTUP2", 7: "ARBITER", 9: "ROLLBACK", 10: "REMOVED"}

# Tests with faults run this many times longer than usual; it is 1 in a usual run.
SCALE = float(os.environ.get("PALIMPSEST_SETS_SCALE", "1"))



class Member(Server):
    """One member, with direct clients that are closed with it. `tls` has the options by which they come in."""

    tls = {}

    def __init__(self, *arguments, set_name="rs0", cache_gb=0.25, **options):
        super().__init__("--replSet", set_name, "--wiredTigerCacheSizeGB", str(cache_gb), "--setParameter", "enableTestCommands=1",
                         *arguments, **options)
        self._direct = self._asking = None
        self.held = False

    @property
    def name(self):
        return f"{self.host}:{self.port}"

    @property
    def direct(self):
        """A client of this member alone, that reads whatever the member is."""
        if self._direct is None:
            self._direct = self._client(DEADLINE)
        return self._direct

    def _client(self, seconds):
        """Waits so long for a member that doesn't answer."""
        return pymongo.MongoClient(self.host, self.port, directConnection=True, serverSelectionTimeoutMS=seconds * 1000,
                                   socketTimeoutMS=DEADLINE * 1000, connectTimeoutMS=seconds * 1000, retryWrites=False,
                                   read_preference=ReadPreference.SECONDARY_PREFERRED, **self.tls)

    def command(self, name, value=1, database="admin", **more):
        return self.direct[database].command(name, value, **more)

    def state(self):
        """"PRIMARY", "SECONDARY", …; "STARTUP" before it knows a set, "DOWN" where nobody answers."""
        if not self.running() or self.held:
            return "DOWN"
        if self._asking is None:
            self._asking = self._client(10)  # polls ask for the state again, and ask other members in between
        try:
            return STATES[self._asking.admin.command("replSetGetStatus")["myState"]]
        except OperationFailure as failure:
            if failure.code in (93, 94):
                return {93: "REMOVED", 94: "STARTUP"}[failure.code]
            raise
        except PyMongoError:
            return "DOWN"

    def hold(self):
        super().hold()
        self.held = True

    def let_go(self):
        super().let_go()
        self.held = False

    def log_lines(self, *ids):
        """The log's entries with one of these ids."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            if any(f'"id":{one},' in line for one in ids):
                found.append(line)
        return found

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self):
        for client in (self._direct, self._asking):
            if client is not None:
                client.close()
        if self.held and self.running():
            self.let_go()
        self.__exit__()


class ReplicaSet:
    """A set of members on ports of their own. A context manager: members end, and their directories go, on the way out.

    `members` is a count, or a list of settings per member as they stand in the configuration ({} for a plain one). Members
    that were given in `left_out` run, but are not part of the configuration.
    """

    def __init__(self, members=3, *arguments, settings=None, left_out=0, hosts=None):
        self.plans = [{} for _ in range(members)] if isinstance(members, int) else list(members)
        # An election that nobody wanted fails what isn't retried: the default of the server is too short for a busy machine.
        self.settings = {"electionTimeoutMillis": 2500, **(settings or {})}
        self.arguments = arguments
        where = hosts or [{} for _ in range(len(self.plans) + left_out)]
        self.members = [Member(*arguments, **one) for one in where]
        self._clients = []

    def __enter__(self):
        try:
            for member in self.members:
                member.start(wait=False)
            for member in self.members:
                member.wait_listening()
            configured = [{"_id": i, "host": member.name, **plan} for i, (member, plan) in enumerate(zip(self.members, self.plans))]
            config = {"_id": "rs0", "members": configured, "settings": self.settings}
            self.members[0].command("replSetInitiate", config)
            self.wait_settled(self.members[:len(self.plans)])
            self._wait_votes(sum(plan.get("votes", 1) for plan in self.plans[1:]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for client in self._clients:
            client.close()
        if any(error):
            print([(member.name, "runs" if member.running() else "has ended") for member in self.members], self.tails(), sep="\n")
        for member in self.members:
            member.close()

    @property
    def uri(self):
        return "mongodb://" + ",".join(member.name for member in self.members) + "/?replicaSet=rs0"

    def client(self, **options):
        """A driver's client of the set, closed with it."""
        client = pymongo.MongoClient(self.uri, **{"serverSelectionTimeoutMS": DEADLINE * 1000, "heartbeatFrequencyMS": 500, **options})
        self._clients.append(client)
        return client

    def start_another(self):
        member = Member(*self.arguments)
        self.members.append(member)
        return member.start()

    def join(self, **settings):
        """One more member of the configuration, that has caught up."""
        another = self.start_another()
        self.reconfigure(lambda config: config["members"].append({"_id": max(one["_id"] for one in config["members"]) + 1, "host": another.name, **settings}))
        self.wait_settled()
        return another

    def leave(self, member):
        """Out of the configuration, and ended."""
        def without(config):
            config["members"] = [one for one in config["members"] if one["host"] != member.name]
        if self.primary() is member:
            member.command("replSetStepDown", 30)
        self.reconfigure(without)
        self.members.remove(member)
        member.close()

    def states(self):
        return [member.state() for member in self.members]

    def primary(self):
        """Waits for one. Of two that both think so the one in the later term."""
        leading = wait_until(lambda: [member for member in self.members if member.state() == "PRIMARY"],
                             lambda: f"no primary: {self.states()}\n{self.tails()}")
        return max(leading, key=lambda member: member.command("replSetGetStatus")["term"])

    def secondaries(self):
        return [member for member in self.members if member.state() == "SECONDARY"]

    def wait_settled(self, members=None):
        """Waits for one primary, with all others secondaries or arbiters. Returns it."""
        members = members or self.members

        def settled():
            states = [member.state() for member in members]
            if states.count("PRIMARY") == 1 and set(states) <= {"PRIMARY", "SECONDARY", "ARBITER"}:
                return members[states.index("PRIMARY")]
            return None

        return wait_until(settled, lambda: f"not settled: {self.states()}\n{self.tails()}")

    def _wait_votes(self, others):
        """Until so many others vote: a member that joins votes when it has caught up."""
        wait_until(lambda: sum('"change":"votes"' in line for member in self.members for line in member.log_lines(7100034)) >= others,
                   lambda: f"not all vote\n{self.tails()}")
        self.wait_membership()

    def wait_membership(self):
        """Until the changes of the membership that a primary has proposed are the set's: this write comes after them in its log."""
        def noted():
            try:
                reply = self.primary().command("appendOplogNote", data={"msg": "all vote"}, writeConcern={"w": "majority"})
                return "writeConcernError" not in reply
            except PyMongoError:
                return False

        wait_until(noted, lambda: f"nothing is majority-committed: {self.states()}\n{self.tails()}")

    def let_pass(self, seconds, members=None, still=lambda: True):
        """Lets so many seconds pass for these members, or for all that run: each has asked every other one again since, so it had the time to do
        something about what it heard, or didn't hear. `still` must hold all the time."""
        members = members or [member for member in self.members if member.running() and not member.held]
        since = {member.name: member.command("replSetGetStatus")["date"] for member in members}

        def passed():
            assert still(), f"{self.states()}\n{self.tails()}"
            return all(one.get("self") or one["lastHeartbeat"] >= since[member.name] + datetime.timedelta(seconds=seconds)
                       for member in members for one in member.command("replSetGetStatus")["members"])

        wait_until(passed, self.tails, pause=0.1)

    def config(self):
        return self.primary().command("replSetGetConfig")["config"]

    def reconfigure(self, change):
        """`change` is called with the configuration, and mends it."""
        def changed():
            config = self.config()
            change(config)
            config["version"] += 1
            try:
                self.primary().command("replSetReconfig", config)
                return True
            except PyMongoError as error:
                if getattr(error, "code", None) not in (189, 10107):
                    raise
                # Another member leads since, and may have the change: that is seen by the version.
                return self.config()["version"] >= config["version"]

        wait_until(changed, self.tails)

    def wait_same_place(self, members=None):
        """Until all have applied what the primary has written."""
        members = [member for member in members or self.members if member.running() and not member.held]

        def places():
            try:
                return {member.name: str(member.command("replSetGetStatus")["optimes"]["appliedOpTime"]) for member in members
                        if member.state() != "ARBITER"}
            except PyMongoError as error:
                return {"error": repr(error), "places": None}

        wait_until(lambda: len(set(places().values())) == 1, lambda: f"they differ: {places()} {self.states()}\n{self.tails()}")

    def check_same(self):
        """Every member that runs has the same databases, valid ones, and the same log where logs overlap."""
        self.wait_settled([member for member in self.members if member.running() and not member.held])
        members = [member for member in self.members if member.state() in ("PRIMARY", "SECONDARY")]
        for attempt in range(20):  # background work of the primary goes on: TTL, periodic entries
            self.wait_same_place(members)
            hashes = {member.name: hashes_of(member) for member in members}
            if len(set(map(str, hashes.values()))) == 1:
                break
            time.sleep(0.2)
        first = hashes[members[0].name]
        for name, own in hashes.items():
            differing = [(ns, first.get(ns), own.get(ns)) for ns in sorted({*first, *own}) if first.get(ns) != own.get(ns)]
            assert not differing, f"{members[0].name} and {name} differ: {differing}"
        for member in members:
            for ns in first:
                database, collection = ns.split(".", 1)
                report = member.direct[database].command("validate", collection)
                assert report["valid"], (member.name, ns, report)
        logs = [{entry["ts"]: bson.encode(entry) for entry in member.direct.local.oplog.rs.find()} for member in members]
        begin = max(min(log) for log in logs)
        end = min(max(log) for log in logs)
        common = [{ts: entry for ts, entry in log.items() if begin <= ts <= end} for log in logs]
        for member, log in zip(members[1:], common[1:]):
            if log != common[0]:
                ts = next(ts for ts in sorted({*log, *common[0]}) if log.get(ts) != common[0].get(ts))
                raise AssertionError(f"the logs of {members[0].name} and {member.name} differ at {ts}: "
                                     f"{[one.get(ts) and bson.decode(one[ts]) for one in (common[0], log)]}")

    def check_nobody_failed(self):
        """No member has given up by itself."""
        for member in self.members:
            lines = [line for line in member.log.read_text(errors="replace").splitlines() if '"s":"F"' in line]
            assert not lines, f"{member.name}: {lines[:3]}"

    def tails(self, lines=15):
        return "\n".join(f"---- {member.name}\n{member.tail(lines)}" for member in self.members)


def hashes_of(member):
    """dbHash of every collection of every database but `local`."""
    found = {}
    for database in member.direct.list_database_names():
        if database == "local":
            continue
        for collection, md5 in member.direct[database].command("dbHash")["collections"].items():
            found[f"{database}.{collection}"] = md5
    return found


class Load:
    """Writers that go on through faults. What was acknowledged, what clients saw, and the longest time without a write.

    w: majority from a few clients with retryable writes, each at its own documents: inserts, updates of a counter, bulks.
    """

    _numbers = itertools.count()

    def __init__(self, replica_set, writers=3, pause=0.0):
        self.set = replica_set
        self.name = f"load_{next(self._numbers)}"  # a database of its own
        self.acknowledged = []       # (collection, _id)
        self.counters = collections.Counter()      # by _id: increments acknowledged
        self.attempted = collections.Counter()     # and tried
        self.errors = collections.Counter()        # by their text, of writes that had a retry
        self.gap = 0.0               # seconds, the longest between two acknowledged writes of anybody
        self._pause = pause
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._last = time.monotonic()
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(writers)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join(DEADLINE)

    def wait_for_more(self, count=20):
        """Waits until so many more documents were acknowledged: the set takes writes."""
        enough = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= enough, lambda: f"{self.errors} {self.set.states()}\n{self.set.tails()}")

    def _write(self, writer):
        retries = Retries()
        client = pymongo.MongoClient(self.set.uri, serverSelectionTimeoutMS=DEADLINE * 1000, heartbeatFrequencyMS=500, socketTimeoutMS=30000, event_listeners=[retries])
        inserts, counters = client[self.name].inserts, client[self.name].counters
        counter = f"counter-{writer}"
        number = 0
        while not self._stop.is_set():
            number += 1
            names = [f"{writer}-{number}-{i}" for i in range(3 if number % 5 == 0 else 1)]
            kind = number % 3 == 0
            try:
                if kind:
                    self.attempted[counter] += 1
                    counters.update_one({"_id": counter}, {"$inc": {"n": 1}}, upsert=True)
                else:
                    inserts.insert_many([{"_id": name, "text": f"{name} was here, " * (number % 60)} for name in names])
                with self._lock:
                    now = time.monotonic()
                    self.gap, self._last = max(self.gap, now - self._last), now
                    if kind:
                        self.counters[counter] += 1
                    else:
                        self.acknowledged += names
            except PyMongoError as error:
                if retries.counts(error):
                    with self._lock:
                        self.errors[f"{type(error).__name__} {getattr(error, 'code', '')} {str(error)[:160]}"] += 1
            self._stop.wait(self._pause)
        client.close()

    def check_kept(self):
        """Nothing acknowledged is missing on any member, and no retried statement ran twice."""
        self.set.wait_same_place()
        for member in self.set.members:
            if member.state() not in ("PRIMARY", "SECONDARY"):
                continue
            there = {d["_id"] for d in member.direct[self.name].inserts.find({}, {"_id": 1})}
            lost = [name for name in self.acknowledged if name not in there]
            assert not lost, f"{member.name} lost {len(lost)} of {len(self.acknowledged)}: {lost[:5]}"
            for d in member.direct[self.name].counters.find():
                assert self.counters[d["_id"]] <= d["n"] <= self.attempted[d["_id"]], (member.name, d, self.counters, self.attempted)

"""The checker of transactions must find each anomaly in a made history that has it, and none in clean ones.

A history is a line per transaction: "T1: ax1 rx12 wy3 gy3" appends 1 to the list x, reads [1, 2] from it, writes 3 to the register y and
reads 3 from it. "rx" reads an empty list, and "gy" a register that nobody has written. "T1?" has an unknown outcome, and "T1!" is aborted.
"@2-5" says when it ran.
"""
import random

import pytest

from tests.support.anomalies import ABORTED, COMMITTED, INFINITY, UNKNOWN, Append, Read, Transaction, Write, find_anomalies

KINDS = {
    "a": lambda key, rest: Append(key, int(rest)),
    "w": lambda key, rest: Write(key, int(rest)),
    "r": lambda key, rest: Read(key, tuple(int(digit) for digit in rest)),
    "g": lambda key, rest: Read(key, int(rest) if rest else None),
}


def transaction(line):
    name, _, rest = line.partition(":")
    words = rest.split()
    times = [float(time) for time in words.pop()[1:].split("-")] if words and words[-1][0] == "@" else [0, INFINITY]
    outcome = {"?": UNKNOWN, "!": ABORTED}.get(name[-1], COMMITTED)
    return Transaction(name.rstrip("?!"), [KINDS[word[0]](word[1], word[2:]) for word in words], outcome, *times)


def found(*lines, **how):
    return find_anomalies([transaction(line) for line in lines], **how)


CLEAN = {
    "nothing": [],
    "one after the other": ["T1: ax1", "T2: rx1 ax2", "T3: rx12"],
    "own writes are seen": ["T1: rx ax1 rx1 ax2 rx12", "T2: rx12 ax3 rx123"],
    "an old snapshot": ["T1: ax1 ay1", "T2: ax2 ay2", "R: rx1 ry1", "S: rx12 ry12"],
    "aborted, and never seen": ["T1: ax1", "T2!: ax2 rx12", "T3: rx1"],
    "unknown, and never seen": ["T1: ax1", "T2?: ax2 ay2", "T3: rx1 ry"],
    "unknown, and seen": ["T1: ax1", "T2?: ax2 ay2", "T3: rx12 ry2"],
    "blind writes are no lost update": ["T1: ax1", "T2: ax2", "T3: rx12"],
    "registers": ["T1: wx1 wy1", "T2: gx1 wx2", "T3: gx2 gy1", "T4: gx gy"],
    "a register's own writes": ["T1: gx wx1 gx1 wx2 gx2", "T2: gx2"],
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_history_passes(name):
    findings = found(*CLEAN[name], real_time=True)
    assert findings.violations == [] and not findings.seen


ANOMALIES = {
    "two keys are written in two orders": (["T1: ax1 ay1", "T2: ax2 ay2", "R: rx12", "S: ry21"], "G0 dirty write"),
    "writes to one key are mixed": (["T1: ax1 ax3", "T2: ax2", "R: rx123"], "G0 dirty write"),
    "an aborted value is read": (["T1!: ax1", "T2: rx1"], "G1a aborted read"),
    "an aborted value is built upon": (["T1!: ax1", "T2: ax2", "R: rx12"], "G1a aborted read"),
    "an aborted register is read": (["T1!: wx1", "T2: gx1"], "G1a aborted read"),
    "a value between two of one transaction is read": (["T1: ax1 ax2", "R: rx1", "S: rx12"], "G1b intermediate read"),
    "a register between two writes is read": (["T1: wx1 wx2", "R: gx1"], "G1b intermediate read"),
    "two transactions read of each other": (["T1: ax1 ry2", "T2: ay2 rx1"], "G1c circular information flow"),
    "two transactions read registers of each other": (["T1: wx1 gy2", "T2: wy2 gx1"], "G1c circular information flow"),
    "one reads what the other wrote after it": (["T1: ax1 ry2", "T2: ax2 ay2", "R: rx12"], "G1c circular information flow"),
    "one writes over another and is read by it": (["T1: ax1 ry2", "T2: rx1 ax3 ay2"], "G1c circular information flow"),
    "two appends to what both read": (["T1: rx ax1", "T2: rx ax2", "R: rx12"], "lost update"),
    "two appends, of which one is never seen": (["T1: rx ax1", "T2: rx ax2", "R: rx1"], "lost update"),
    "two writes to what both read": (["T0: wx0", "T1: gx0 wx1", "T2: gx0 wx2"], "lost update"),
    "half of another is seen": (["T1: ax1 ay1", "R: rx1 ry"], "G-single read skew"),
    "half of another is seen in registers": (["T1: wx1 wy1", "R: gx1 gy"], "G-single read skew"),
    "a later half is seen": (["T0: ax1 ay1", "T1: rx1 ry1 ax2 ay2", "R: rx1 ry12"], "G-single read skew"),
    "a half is seen over a third": (["T1: ax1 ay1", "T2: ry1 az1", "R: rx rz1"], "G-single read skew"),
    "a read is not repeated": (["T1: ax1", "R: rx rx1"], "non-repeatable read"),
    "a read is not repeated beside an own write": (["T1: ax1", "R: rx ax2 rx12"], "non-repeatable read"),
    "a register's read is not repeated": (["T1: wx1", "R: gx gx1"], "non-repeatable read"),
    "a read is not repeated in a transaction that aborts": (["T1: ax1", "R!: rx rx1"], "non-repeatable read"),
    "two orders of one list": (["T1: ax1", "T2: ax2", "R: rx12", "S: rx21"], "incompatible orders"),
    "a list loses a value": (["T1: ax1", "T2: ax2", "T3: ax3", "R: rx123", "S: rx13"], "incompatible orders"),
    "an own write is not seen": (["T1: ax1 rx"], "internal"),
    "an own register is not seen": (["T1: wx1 gx"], "internal"),
    "nobody wrote it": (["R: rx1"], "garbage"),
    "nobody wrote the register": (["R: gx1"], "garbage"),
    "a write took effect twice": (["T1: ax1", "R: rx11"], "duplicate"),
    "two readers see two writers in two orders": (["T1: ax1", "T2: ay1", "R: rx1 ry", "S: rx ry1"], "G-nonadjacent"),
    "an unknown one is seen by half": (["T1?: ax1 ay1", "R: rx1 ry"], "G-single read skew"),
    "an unknown one shows that another was there": (["T1?: rx ax1 ay1", "T2?: ry1 az1", "R: rz1 rx"], "G-single read skew"),
    "values must be unique": (["T1: ax1", "T2: ax1"], "history"),
    "values must be unique in one transaction": (["T1: ax1 ax1"], "history"),
}


@pytest.mark.parametrize("name", ANOMALIES)
def test_an_anomaly_is_found_and_named(name):
    lines, anomaly = ANOMALIES[name]
    findings = found(*lines)
    assert anomaly in findings.names(), findings.violations


def test_a_cycle_is_named_with_its_keys():
    violations = found("T1: ax1 ay1", "R: rx1 ry").violations
    assert violations[0][1] in ("T1 -wr(x)-> R -rw(y)-> T1", "R -rw(y)-> T1 -wr(x)-> R") and len(violations) == 1


def test_write_skew_is_counted_and_allowed():
    findings = found("T1: rx ry ax1", "T2: rx ry ay2", "R: rx1 ry2")
    assert findings.violations == [] and findings.seen == {"write skew": 1, "G2-item": 1}
    findings = found("T1: gx gy wx1", "T2: gx gy wy2", "R: gx1 gy2")
    assert findings.violations == [] and findings.seen["write skew"] == 1
    # Three that each overwrite what the next has read.
    findings = found("T1: rx ay1", "T2: ry az1", "T3: rz ax1", "R: rx1 ry1 rz1")
    assert findings.violations == [] and findings.seen == {"G2-item": 1}
    # Fekete, O'Neil and O'Neil, 2004: only the reader shows that these two were no series.
    findings = found("T1: rx ry ax1", "T2: ry ay2", "R: rx ry2", "S: rx1 ry2")
    assert findings.violations == [] and findings.seen == {"G2-item": 1}


def test_an_acknowledged_write_is_seen_by_all_that_begin_later():
    assert "stale read in real time" in found("T1: ax1 @1-2", "R: rx @3-4", "S: rx1 @5-6", real_time=True).names()
    assert not found("T1: ax1 @1-2", "R: rx @3-4", "S: rx1 @5-6").violations
    assert not found("T1: ax1 @1-3", "R: rx @2-4", "S: rx1 @5-6", real_time=True).violations
    # Nobody ever sees it.
    assert "stale read in real time" in found("T1: ax1 @1-2", "R: rx @5-6", real_time=True).names()
    assert "stale order in real time" in found("T1: ax1 @1-2", "T2: ax2 @3-4", "R: rx2 @5-6", real_time=True).names()
    # Another stands between the two in time.
    assert "stale read in real time" in found("T1: ax1 @1-2", "T2: ay1 @3-4", "R: rx @5-6", "S: rx1 @7-8", real_time=True).names()
    # An unknown one may take effect later.
    assert not found("T1?: ax1 @1", "R: rx @3-4", "S: rx1 @5-6", real_time=True).violations
    # Write skew needs no overlap with others, but with each other.
    assert not found("T1: rx ry ax1 @1-4", "T2: rx ry ay2 @2-3", "R: rx1 ry2 @5-6", real_time=True).violations
    assert "stale read in real time" in found("T1: rx ry ax1 @1-2", "T2: rx ry ay2 @3-4", "R: rx1 ry2 @5-6", real_time=True).names()
    assert "stale order in real time" in found("T1: ax1 @1-2", "T2: ax2 @3-4", "R: rx21 @5-6", real_time=True).names()


class Database:
    """Snapshot isolation as a model: a transaction reads the state of its beginning, and the first committer wins."""

    def __init__(self, dice, clients=4, keys="pqr"):
        self.dice, self.clients, self.keys = dice, clients, keys
        self.lists, self.registers, self.changed = {}, {}, {}
        self.clock, self.value = 0, 0
        self.history = []

    def tick(self):
        self.clock += 1
        return self.clock

    def begin(self, name):
        return {"name": name, "at": self.tick(), "lists": dict(self.lists), "registers": dict(self.registers), "operations": [], "written": set()}

    def step(self, one):
        key, kind = self.dice.choice(self.keys), self.dice.choice("arwg")
        self.value += 1
        if kind == "a":
            one["lists"][key] = one["lists"].get(key, ()) + (self.value,)
            one["operations"].append(Append(key, self.value))
        elif kind == "r":
            one["operations"].append(Read(key, one["lists"].get(key, ())))
        elif kind == "w":
            one["registers"][key.upper()] = self.value
            one["operations"].append(Write(key.upper(), self.value))
        else:
            one["operations"].append(Read(key.upper(), one["registers"].get(key.upper())))
        if kind in "aw":
            one["written"].add(key if kind == "a" else key.upper())

    def end(self, one):
        wins = all(self.changed.get(key, 0) < one["at"] for key in one["written"]) and self.dice.random() > 0.1
        known = self.dice.random() > 0.1
        if wins:
            for key in one["written"]:
                where, own = (self.lists, one["lists"]) if key in self.keys else (self.registers, one["registers"])
                where[key], self.changed[key] = own[key], self.clock + 1
        now = self.tick()
        outcome = UNKNOWN if not known else COMMITTED if wins else ABORTED
        self.history.append(Transaction(one["name"], one["operations"], outcome, one["at"], now if outcome == COMMITTED else INFINITY))

    def run(self, count):
        running = {}
        for number in range(count):
            client = self.dice.randrange(self.clients)
            if client not in running:
                running[client] = self.begin(f"T{number}")
            elif self.dice.random() < 0.7:
                self.step(running[client])
            else:
                self.end(running.pop(client))
        return self.history


@pytest.mark.parametrize("round_number", range(20))
def test_histories_of_a_model_pass(round_number):
    findings = find_anomalies(Database(random.Random(random.getrandbits(40))).run(1500), real_time=True)
    assert findings.violations == []


def test_write_skew_occurs_in_histories_of_a_model():
    assert sum(find_anomalies(Database(random.Random(seed)).run(1500)).seen["write skew"] for seed in range(10)) > 0


class Dirty(Database):
    """Every transaction reads what others have not committed yet."""

    def begin(self, name):
        return {**super().begin(name), "lists": self.lists, "registers": self.registers}


class Careless(Database):
    """The last committer wins as well."""

    def end(self, one):
        self.changed = {}
        super().end(one)


class Unsteady(Database):
    """Every statement reads the newest state."""

    def step(self, one):
        for own, now in (("lists", self.lists), ("registers", self.registers)):
            one[own].update({key: value for key, value in now.items() if key not in one["written"]})
        super().step(one)


class Behind(Database):
    """Some transactions read a state of long before."""

    def begin(self, name):
        if self.dice.random() < 0.1:
            self.old = {"lists": dict(self.lists), "registers": dict(self.registers), "at": self.clock}
        begun = super().begin(name)
        if self.dice.random() < 0.2 and hasattr(self, "old"):
            begun.update({"lists": dict(self.old["lists"]), "registers": dict(self.old["registers"])})
            begun["stale"] = self.old["at"]
        return begun

    def end(self, one):
        real, one["at"] = one["at"], one.get("stale", one["at"])  # the conflicts of its old state count
        before = len(self.history)
        super().end(one)
        self.history[before] = self.history[before]._replace(begun=real)


@pytest.mark.parametrize("model, anomalies", [
    (Dirty, {"G1a aborted read", "non-repeatable read"}), (Careless, {"lost update"}),
    (Unsteady, {"non-repeatable read", "G-single read skew"}), (Behind, {"stale read in real time"})], ids=lambda each: getattr(each, "__name__", ""))
def test_histories_of_a_broken_model_do_not_pass(model, anomalies):
    names = set()
    for _ in range(100):  # each history has each of them by chance
        names |= find_anomalies(model(random.Random(random.getrandbits(40))).run(1500), real_time=True).names()
        if anomalies <= names:
            return
    raise AssertionError(names)


def test_a_state_of_long_before_is_a_snapshot_too():
    for _ in range(5):
        assert not find_anomalies(Behind(random.Random(random.getrandbits(40))).run(1500)).violations

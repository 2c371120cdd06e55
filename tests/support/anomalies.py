"""Finds the anomalies in a history of concurrent transactions that snapshot isolation doesn't allow.

Clients append values to lists, write values to registers, and read both. Every value is written once, so a read says which
transactions came before it. This is the method of Elle (Kingsbury and Alvaro, 2020): the reads give the order of each key's
versions; the versions give an edge from one transaction to another for each dependency; and a cycle is an anomaly.

    ww   U replaced the version that T made         T -ww-> U
    wr   U read the version that T made             T -wr-> U
    rw   U replaced the version that T read         T -rw-> U
    rt   U began after T was acknowledged           T -rt-> U

Under snapshot isolation each cycle has two rw edges in a row (Fekete et al., 2005; Cerone and Gotsman, 2016). Such cycles are write
skew: they are counted, and are no violations. The names of the others are Adya's (1999).
"""
import bisect
import collections

INFINITY = float("inf")
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"

Append = collections.namedtuple("Append", "key value")
Write = collections.namedtuple("Write", "key value")
# `value` is a tuple where the key is a list's; a register's is what it has, or None before the first write.
Read = collections.namedtuple("Read", "key value")

# One attempt of a client. `outcome` is UNKNOWN where the commit got no answer: it counts as committed if somebody saw what it wrote, and
# says nothing otherwise. `begun` is the time before its first statement, `ended` that of the answer to its commit. No two are equal.
Transaction = collections.namedtuple("Transaction", "name operations outcome begun ended", defaults=(COMMITTED, 0, INFINITY))


class Findings:
    """`violations` are (anomaly, what happened); `seen` counts what is allowed, and shows that the history could have had it."""

    def __init__(self):
        self.violations = []
        self.seen = collections.Counter()

    def add(self, anomaly, what):
        if (anomaly, what) not in self.violations:
            self.violations.append((anomaly, what))

    def names(self):
        return {anomaly for anomaly, _ in self.violations}


def find_anomalies(history, real_time=False):
    """`real_time`: a transaction must see all that was acknowledged before it began."""
    findings = Findings()
    writers, last = who_wrote(history, findings)
    for one in history:
        check_inside(one, findings)
    known = committed_of(history, writers)
    views = [(one, outside_reads(one)) for one in known]
    check_read_values(views, writers, last, {one.name for one in known}, findings)
    edges = Edges()
    add_list_edges(views, writers, edges, findings)
    add_register_edges(views, writers, edges)
    check_lost_updates(views, findings)
    if real_time:
        add_time_edges(known, edges)
    find_cycles(edges, real_time, findings)
    return findings


# ---- what each transaction wrote and read --------------------------------------------------------

def who_wrote(history, findings):
    """({(key, value): transaction}, {(key, transaction's name): its last value})"""
    writers, last = {}, {}
    for one in history:
        for operation in one.operations:
            if not isinstance(operation, Read):
                other = writers.setdefault((operation.key, operation.value), one)
                if other is not one or last.get((operation.key, one.name)) == operation.value:
                    findings.add("history", f"{operation} is written twice: values must be unique")
                last[operation.key, one.name] = operation.value
    return writers, last


def check_inside(one, findings):
    """A transaction sees its own writes, and otherwise the same each time, whatever becomes of it."""
    first, own = {}, collections.defaultdict(tuple)
    for operation in one.operations:
        key, value = operation
        if isinstance(operation, Append):
            own[key] += (value,)
        elif isinstance(operation, Write):
            own[key] = (value,)
        elif isinstance(value, tuple):
            if value[len(value) - len(own[key]):] != own[key]:
                findings.add("internal", f"{one.name} read {value} of {key} after its own {own[key]}")
                continue
            outside = value[:len(value) - len(own[key])]
            if first.setdefault(key, outside) != outside:
                findings.add("non-repeatable read", f"{one.name} read {first[key]} and then {outside} of {key}")
        elif own[key]:
            if (value,) != own[key]:
                findings.add("internal", f"{one.name} read {value} of {key} after its own {own[key][0]}")
        elif first.setdefault(key, value) != value:
            findings.add("non-repeatable read", f"{one.name} read {first[key]} and then {value} of {key}")


def outside_reads(one):
    """{key: the version that it read of others' making}"""
    found, own = {}, collections.Counter()
    for operation in one.operations:
        if not isinstance(operation, Read):
            own[operation.key] += 1
        elif isinstance(operation.value, tuple):
            found.setdefault(operation.key, operation.value[:len(operation.value) - own[operation.key]])
        elif not own[operation.key]:
            found.setdefault(operation.key, operation.value)
    return found


def values_of(version):
    return version if isinstance(version, tuple) else () if version is None else (version,)


def committed_of(history, writers):
    """Returns all that committed: those whose commit was acknowledged, and those of unknown outcome whose writes such a transaction saw."""
    known = [one for one in history if one.outcome == COMMITTED]
    names = {one.name for one in known}
    for one in known:  # it grows as it goes
        for operation in one.operations:
            if isinstance(operation, Read):
                for value in values_of(operation.value):
                    writer = writers.get((operation.key, value))
                    if writer and writer.outcome == UNKNOWN and writer.name not in names:
                        names.add(writer.name)
                        known.append(writer)
    return known


def check_read_values(views, writers, last, known, findings):
    for one, reads in views:
        for key, version in reads.items():
            values = values_of(version)
            for value in values:
                writer = writers.get((key, value))
                if writer is None:
                    findings.add("garbage", f"{one.name} read {value} of {key}, which nobody wrote")
                elif writer.name not in known:
                    findings.add("G1a aborted read", f"{one.name} read {value} of {key}, which {writer.name} wrote and took back")
            if len(set(values)) < len(values):
                findings.add("duplicate", f"{one.name} read {values} of {key}: a write took effect twice")
            writer = writers.get((key, values[-1])) if values else None
            if writer and writer.name != one.name and last[key, writer.name] != values[-1]:
                findings.add("G1b intermediate read", f"{one.name} read {values[-1]} of {key}, after which {writer.name} wrote {last[key, writer.name]}")


def check_lost_updates(views, findings):
    """Two transactions read one version of a key, and both replaced it."""
    updaters = collections.defaultdict(list)
    for one, reads in views:
        for key in {operation.key for operation in one.operations if not isinstance(operation, Read)} & set(reads):
            updaters[key, reads[key]].append(one.name)
    for (key, version), names in updaters.items():
        if len(names) > 1:
            findings.add("lost update", f"{', '.join(names)} all read {version!r} of {key} and replaced it")


# ---- dependencies --------------------------------------------------------------------------------

class Edges:
    """{from: {to: {kind: key}}}, by the transactions' names."""

    def __init__(self):
        self.of = collections.defaultdict(lambda: collections.defaultdict(dict))

    def add(self, source, target, kind, key=None):
        if source != target:
            self.of[source][target].setdefault(kind, key)


def add_list_edges(views, writers, edges, findings):
    reads, appended = collections.defaultdict(list), collections.defaultdict(dict)
    for one, _ in views:
        for operation in one.operations:
            if isinstance(operation, Append):
                appended[operation.key][operation.value] = one.name
            elif isinstance(operation, Read) and isinstance(operation.value, tuple):
                reads[operation.key].append((one.name, operation.value))
    for key in {*reads, *appended}:
        order = max((value for _, value in reads[key]), key=len, default=())
        for name, value in reads[key]:
            if order[:len(value)] != value:
                findings.add("incompatible orders", f"{name} read {value} of {key}, and somebody else {order}")
        made_by = [writers[key, value].name if (key, value) in writers else None for value in order]
        for before, after in zip(made_by, made_by[1:]):
            if before and after:
                edges.add(before, after, "ww", key)
        # What nobody saw was appended after all that was seen.
        unseen = [name for value, name in appended[key].items() if value not in order]
        if order and made_by[-1]:
            for name in unseen:
                edges.add(made_by[-1], name, "ww", key)
        for one, outside in views:
            version = outside.get(key)
            if not isinstance(version, tuple) or order[:len(version)] != version:
                continue
            if version and made_by[len(version) - 1]:
                edges.add(made_by[len(version) - 1], one.name, "wr", key)
            for name in unseen if len(version) == len(order) else made_by[len(version):len(version) + 1]:
                if name:
                    edges.add(one.name, name, "rw", key)


def add_register_edges(views, writers, edges):
    """A transaction that reads a register and then writes it says that its version came after the other."""
    replaced_by, written_by = collections.defaultdict(list), collections.defaultdict(list)
    for one, outside in views:
        for key in {operation.key for operation in one.operations if isinstance(operation, Write)}:
            written_by[key].append(one.name)
            if outside.get(key) is not None:
                replaced_by[key, outside[key]].append(one.name)
                if (key, outside[key]) in writers:
                    edges.add(writers[key, outside[key]].name, one.name, "ww", key)
    for one, outside in views:
        for key, version in outside.items():
            if isinstance(version, tuple):
                continue
            if version is not None and (key, version) in writers:
                edges.add(writers[key, version].name, one.name, "wr", key)
            for name in written_by[key] if version is None else replaced_by[key, version]:
                edges.add(one.name, name, "rw", key)


def add_time_edges(known, edges):
    """Adds edges from each transaction to those that begin next after it: to later ones there is a way over these."""
    by_begin = sorted(known, key=lambda one: one.begun)
    begins = [one.begun for one in by_begin]
    first_end = [INFINITY] * (len(by_begin) + 1)  # of those from here on
    for i in reversed(range(len(by_begin))):
        first_end[i] = min(first_end[i + 1], by_begin[i].ended)
    for one in known:
        start = bisect.bisect_right(begins, one.ended)
        for later in by_begin[start:bisect.bisect_right(begins, first_end[start])]:
            edges.add(one.name, later.name, "rt")


# ---- cycles --------------------------------------------------------------------------------------

def find_cycles(edges, real_time, findings):
    # A state is (transaction, whether an rw edge led here): where one did, no other may follow.
    def steps_over(kinds, rw_twice=False):
        plain = kinds - {"rw"}

        def steps(state):
            name, by_rw = state
            for target, there in edges.of.get(name, {}).items():
                if not plain.isdisjoint(there):
                    yield (target, False)
                if "rw" in kinds and "rw" in there and (rw_twice or not by_rw):
                    yield (target, not rw_twice)
        return steps

    forbidden = set()
    levels = [{"ww"}, {"ww", "wr"}, {"ww", "wr", "rw"}] + ([{"ww", "wr", "rw", "rt"}] if real_time else [])
    for kinds in levels:
        steps = steps_over(kinds)
        for component in components(edges.of, steps):
            cycle = shortest_cycle(component, steps)
            anomaly, what = describe(cycle, edges, kinds)
            findings.add(anomaly, what)
            forbidden |= {name for name, _ in component}
    for component in components(edges.of, steps_over({"ww", "wr", "rw"}, rw_twice=True)):
        names = {name for name, _ in component}
        if names.isdisjoint(forbidden):
            findings.seen["G2-item"] += 1
    for name, targets in edges.of.items():
        for target, kinds in targets.items():
            if name < target and "rw" in kinds and "rw" in edges.of.get(target, {}).get(name, {}):
                findings.seen["write skew"] += 1


def components(names, steps):
    """The strongly connected components of more than one state (Tarjan 1972), without recursion."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in [(name, by_rw) for name in list(names) for by_rw in (False, True)]:
        if root in number:
            continue
        work = [(root, None)]
        while work:
            state, rest = work.pop()
            if rest is None:
                number[state] = low[state] = len(number)
                stack.append(state)
                on_stack.add(state)
                rest = iter(list(steps(state)))
            for target in rest:
                if target not in number:
                    work += [(state, rest), (target, None)]
                    break
                if target in on_stack:
                    low[state] = min(low[state], low[target])
            else:
                if low[state] == number[state]:
                    component = set()
                    while state not in component:
                        component.add(stack.pop())
                    on_stack -= component
                    if len(component) > 1:
                        found.append(component)
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[state])
    return found


def shortest_cycle(component, steps, tries=200):
    """States of a short cycle, the first of them again at the end."""
    best = None
    for start in sorted(component, key=str)[:tries]:
        came_from, queue = {}, collections.deque([start])
        while queue and start not in came_from:
            state = queue.popleft()
            for target in steps(state):
                if target in component and target not in came_from:
                    came_from[target] = state
                    queue.append(target)
        cycle = [start]
        while len(cycle) == 1 or cycle[-1] != start:
            cycle.append(came_from[cycle[-1]])
        if best is None or len(cycle) < len(best):
            best = cycle[::-1]
    return best


def describe(cycle, edges, allowed):
    """(the anomaly's name, the cycle as a text)"""
    kinds, text = [], cycle[0][0]
    for (source, _), (target, by_rw) in zip(cycle, cycle[1:]):
        there = edges.of[source][target]
        kind = "rw" if by_rw else next(kind for kind in ("ww", "wr", "rt") if kind in there and kind in allowed)
        kinds.append(kind)
        text += f" -{kind}{'' if there[kind] is None else f'({there[kind]})'}-> {target}"
    skips = kinds.count("rw")
    anomaly = ("G0 dirty write" if set(kinds) == {"ww"} else "G1c circular information flow" if not skips
               else "G-single read skew" if skips == 1 else "G-nonadjacent")
    if "rt" in kinds:
        anomaly = {0: "stale order", 1: "stale read"}.get(skips, "G-nonadjacent") + " in real time"
    return anomaly, text

"""Checks whether one order of a register's operations explains what its clients saw."""
import collections

INFINITY = float("inf")

# An operation of a client on one register. `kind`: "read" (value: what it saw), "write" (value: what it wrote), "cas" (expected,
# value; succeeded). `returned` is INFINITY where it isn't known whether it happened: a write or cas that may have happened at any
# time after its call, or never. A read or a failed cas without an answer says nothing: leave it out.
Operation = collections.namedtuple("Operation", "kind called returned value expected succeeded", defaults=(None, True))


def after(operation, value):
    """The register after it, or None where it can't have happened on `value`, as a tuple of one."""
    if operation.kind == "read":
        return (value,) if value == operation.value else None
    if operation.kind == "write":
        return (operation.value,)
    if operation.succeeded:
        return (operation.value,) if value == operation.expected else None
    return (value,) if value != operation.expected else None


def linearizable(history, initial=None):
    """Wing and Gong 1993, with what was tried remembered (Lowe 2017)."""
    history = sorted(history, key=lambda one: one.called)
    certain = sum(1 << i for i, one in enumerate(history) if one.returned != INFINITY)
    tried = set()
    stack = [(0, initial)]
    while stack:
        done, value = stack.pop()
        if done & certain == certain:
            return True
        if (done, value) in tried:
            continue
        tried.add((done, value))
        # The next operation is one that was called before any of the rest has returned.
        first_return = min(one.returned for i, one in enumerate(history) if not done >> i & 1)
        for i, one in enumerate(history):
            if one.called > first_return:
                break
            if done >> i & 1:
                continue
            then = after(one, value)
            if then is not None:
                stack.append((done | 1 << i, then[0]))
    return False

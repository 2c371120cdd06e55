#!/usr/bin/env python3
"""Checks a proof that a key has a value below a root, or isn't there. Needs nothing but Python.

usage: verify_proof.py ROOT KEY PROOF

ROOT and KEY in hexadecimal, PROOF a file (-: standard input). Prints `present` and the value in hexadecimal, or `absent`, and
exits with 0; prints why the proof does not hold, and exits with 1; where there is nothing to check, with 2. With `--many FILE` it
answers a line for each line `ROOT KEY PROOF` of the file, all in hexadecimal (- for nothing). Format: docs/formats/merkle.md.
"""
import hashlib
import sys

SEARCH, BUCKET_ROOT, BUCKET_INNER, LEAF, EXTENSION, BRANCH = 1, 2, 3, 4, 5, 6


class Invalid(Exception):
    pass


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left():
            raise Invalid("it is cut short")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for shift in range(0, 64, 7):
            byte = self.byte()
            if shift == 63 and byte > 1:
                break
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Invalid("a number is too long")

    def text(self):
        return self.take(self.varint())

    def path(self):
        count = self.varint()
        halves = nibbles(self.take((count + 1) // 2))
        if any(halves[count:]):
            raise Invalid("a path is damaged")
        return halves[:count]


def sha256(data):
    return hashlib.sha256(data).digest()


def nibbles(data):
    return [half for byte in data for half in (byte >> 4, byte & 15)]


def check(holds, why):
    if not holds:
        raise Invalid(why)


def verify(root, key, proof):
    """The value, None where the key isn't there. Raises Invalid."""
    reader = Reader(proof)
    check(reader.take(4) == b"PMP\1", "it is of no known format")
    expected, level, below, way, family = root, None, None, nibbles(key), None
    while True:
        data = reader.text()
        check(data, "a step is empty")
        section = reader.text() if data[0] == SEARCH else b""
        check(sha256(data) == expected, "a step has another hash than the one above says")
        node = Reader(data)
        kind = node.byte()
        check(SEARCH <= kind <= BRANCH, "a step is of no known kind")
        kin = {SEARCH: family if family == "buckets" else "search", BUCKET_ROOT: "buckets", BUCKET_INNER: "buckets"}.get(kind, "trie")
        check(family in (None, kin), "its steps are of different structures")
        check(family == "buckets" or kind != BUCKET_INNER, "its steps are in no order")
        answered, answer = False, None

        if kind == SEARCH:
            own = node.byte()
            if family == "buckets":
                check(below[1] == 0 and own == 0, "a bucket is not where it belongs")
            check(level is None or own + 1 == level, "a node is of another level")
            level = own
            digest = None
            while node.left() and digest is None:
                last, hashed = node.text(), node.take(32)
                if last >= key:
                    digest = hashed
            if digest is None:
                check(not section, "a section is of no use")
                answered = True
            else:
                check(sha256(section) == digest, "a section has another hash")
                entries = Reader(section)
                while True:
                    check(entries.left(), "a section ends before its last key")
                    entry, value = entries.text(), entries.text()
                    if entry >= key:
                        break
                if level > 0:
                    expected = Reader(value).take(32)
                else:
                    answered, answer = True, value if entry == key else None
        elif kind == BUCKET_ROOT:
            check(family is None, "its steps are in no order")
            buckets, fan_out = node.varint(), node.varint()
            check(0 < buckets < 2**32 and 2 <= fan_out < 2**32 and node.left() == 32, "the root of the buckets is damaged")
            expected = node.take(32)
            span = 0 if buckets == 1 else 1
            while 0 < span < -(-buckets // fan_out):
                span *= fan_out
            below = [int.from_bytes(sha256(key)[:8], "big") % buckets, span, fan_out]
        elif kind == BUCKET_INNER:
            bucket, span, fan_out = below
            check(span > 0, "a node of the buckets is damaged")
            node.take(32 * (bucket // span % fan_out))
            expected = node.take(32)
            below[1] = span // fan_out
        elif kind == BRANCH:
            present, has_value = int.from_bytes(node.take(2), "little"), node.byte()
            check(has_value in (0, 1), "a node of the trie is damaged")
            children = {half: node.take(32) for half in range(16) if present >> half & 1}
            check(has_value or not node.left(), "a node of the trie is damaged")
            if not way:
                answered, answer = True, node.take(node.left()) if has_value else None
            elif way[0] in children:
                expected = children[way.pop(0)]
            else:
                answered = True
        else:
            path = node.path()
            if kind == EXTENSION:
                check(path and node.left() == 32, "a node of the trie is damaged")
            matches = way[:len(path)] == path
            way = way[len(path):]
            if kind == EXTENSION and matches:
                expected = node.take(32)
            else:
                answered, answer = True, node.take(node.left()) if matches and not way else None
        if answered:
            check(not reader.left(), "it goes on behind its end")
            return answer
        family = kin


def say(root, key, proof):
    """Prints the answer; whether the proof holds."""
    try:
        value = verify(root, key, proof)
    except Invalid as why:
        print(f"The proof does not hold: {why}")
        return False
    print("absent" if value is None else "present " + value.hex())
    return True


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--many":
        with open(sys.argv[2]) as file:
            for line in file:
                say(*(b"" if field == "-" else bytes.fromhex(field) for field in line.split()))
        return
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    with sys.stdin.buffer if sys.argv[3] == "-" else open(sys.argv[3], "rb") as file:
        proof = file.read()
    sys.exit(0 if say(bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2]), proof) else 1)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"{error.filename} cannot be read", file=sys.stderr)
        sys.exit(2)

#!/usr/bin/env python3
"""Checks a proof that a key has a value below a root, or isn't there; or that a document was in a commit, or wasn't. Needs nothing but Python.

usage: verify_proof.py --commit ID PROOF [DOCUMENT]
       verify_proof.py ROOT KEY PROOF

The first is for the `proof` of what getProof answers, as a file: ID is the commit's id, 64 hexadecimal digits, from whoever is trusted. Prints what
the commit says: `present` or `absent`, the collection's UUID, the _id (as JSON, or the bytes that it is identified by), the document's SHA-256 and
whether the document is in the file; DOCUMENT is where it is written to, as BSON. Look whether that is the _id that was asked for.

ROOT and KEY in hexadecimal, PROOF a file (-: standard input). Prints `present` and the value in hexadecimal, or `absent`, and
exits with 0; prints why the proof does not hold, and exits with 1; where there is nothing to check, with 2. With `--many FILE` it
answers a line for each line `ROOT KEY PROOF` of the file, all in hexadecimal (- for nothing). Format: docs/formats/merkle.md.
"""
import hashlib
import json
import struct
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


class Statement:
    """The bytes whose hash is the commit's id."""

    def __init__(self, commit, data):
        check(sha256(data) == commit, "it is of another commit")
        reader = Reader(data)
        check(reader.take(17) == b"palimpsest commit", "the commit is of no known format")
        check(reader.byte() == 2, "the commit's id says nothing of documents")
        self.parents = [reader.take(32) for _ in range(reader.varint())]
        self.metadata = reader.text()
        self.roots = {}
        for _ in range(reader.varint()):
            label, root = reader.text(), reader.take(32)
            check(label not in self.roots, "a collection is in the commit twice")
            self.roots[label] = root
        self.time_ms = int.from_bytes(reader.take(8), "little", signed=True)
        check(not reader.left(), "the commit goes on behind its end")


def verify_commit(commit, proof):
    """(label of the collection, key, SHA-256 of the document or None, the document or None). Raises Invalid."""
    reader = Reader(proof)
    check(reader.take(4) == b"PMC\1", "it is of no known format")
    statement = Statement(commit, reader.text())
    label, key, tree = reader.text(), reader.text(), reader.text()
    length = reader.varint()
    document = reader.take(length - 1) if length else None
    check(not reader.left(), "it goes on behind its end")
    root = statement.roots.get(label)
    check(root != bytes(32), "the commit's id says nothing of documents")
    if root is None:
        check(not tree, "a tree of no collection")
        value = None
    else:
        value = verify(root, key, tree)
    check(value is None or len(value) == 32, "a leaf has no hash of a document")
    check(document is None or (value is not None and sha256(document) == value), "the document has another hash")
    return label, key, value, document


def readable(key):
    """The _id as JSON, where the key says it; docs/formats/key-string.md."""
    kind, body = key[0] if key else 0, key[1:]
    distance, whole = abs(kind - 0x3C), 0
    constants = {0x20: "null", 0x30: "NaN", 0x31: "-Infinity", 0x3C: "0", 0x47: "Infinity", 0x78: "false", 0x79: "true"}
    if kind in constants and not body:
        return constants[kind]
    if kind == 0x70 and len(body) == 12:
        return f'ObjectId("{body.hex()}")'
    if kind == 0x80 and len(body) == 8:
        return f"Date({int.from_bytes(body, 'big') - 2**63})"
    if kind == 0x50 and body.endswith(b"\0"):
        text = body[:-1].replace(b"\1\1", b"\0").replace(b"\1\2", b"\1")
        return json.dumps(text.decode(errors="replace"), ensure_ascii=False)
    if 0x32 <= kind <= 0x46:
        if kind < 0x3C:
            body = bytes(255 - byte for byte in body)
        if 2 <= distance <= 9:
            whole = int.from_bytes(body[:distance - 1], "big")
            body = body[distance - 1:]
        if distance in (1, 10) or whole & 1:
            if len(body) == 8 and not body[7] & 1:
                return repr(struct.unpack(">d", (int.from_bytes(body, "big") >> 1).to_bytes(8, "big"))[0] * (-1 if kind < 0x3C else 1))
        elif not body:
            return str(-(whole >> 1) if kind < 0x3C else whole >> 1)
    return "key " + key.hex()


def say_commit(commit, proof, path):
    """Prints what the commit says; whether the proof holds."""
    try:
        label, key, value, document = verify_commit(commit, proof)
    except Invalid as why:
        print(f"The proof does not hold: {why}")
        return False
    print("absent" if value is None else "present")
    print("collection", label.hex())
    print("_id", readable(key))
    if value is not None:
        print("document", value.hex(), "not in the file" if document is None else f"{len(document)} bytes in the file")
    if path is not None and document is not None:
        with open(path, "wb") as file:
            file.write(document)
    return True


def say(root, key, proof):
    """Prints the answer; whether the proof holds."""
    try:
        value = verify(root, key, proof)
    except Invalid as why:
        print(f"The proof does not hold: {why}")
        return False
    print("absent" if value is None else "present " + value.hex())
    return True


def from_hex(text):
    try:
        return b"" if text == "-" else bytes.fromhex(text)
    except ValueError:
        print(f"'{text}' is not hexadecimal", file=sys.stderr)
        sys.exit(2)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--many":
        with open(sys.argv[2]) as file:
            for line in file:
                say(*map(from_hex, line.split()))
        return
    if len(sys.argv) in (4, 5) and sys.argv[1] == "--commit":
        with sys.stdin.buffer if sys.argv[3] == "-" else open(sys.argv[3], "rb") as file:
            proof = file.read()
        sys.exit(0 if say_commit(from_hex(sys.argv[2]), proof, sys.argv[4] if len(sys.argv) == 5 else None) else 1)
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    with sys.stdin.buffer if sys.argv[3] == "-" else open(sys.argv[3], "rb") as file:
        proof = file.read()
    sys.exit(0 if say(from_hex(sys.argv[1]), from_hex(sys.argv[2]), proof) else 1)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"{error.filename} cannot be read", file=sys.stderr)
        sys.exit(2)

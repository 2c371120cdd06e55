"""Sends the commands of transactions as they stand: a driver would refuse some of them, and put in numbers of its own."""
import uuid

import bson

from tests.support.palimpsest import raw_command

TRANSIENT, RETRYABLE = "TransientTransactionError", "RetryableWriteError"


class RawSession:
    """A session. Each command goes through a connection of its own: transactions belong to sessions."""

    def __init__(self, port, host="127.0.0.1"):
        self.host, self.port = host, port
        self.lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
        self.number = 0
        self._first = {}

    def start(self, **first):
        """The next command begins a transaction; `first` are its fields that only the first may have."""
        self.number += 1
        self._first = {"startTransaction": True, **first}
        return self

    def run(self, command, db="t", **more):
        """The reply to a statement of the transaction."""
        first, self._first = self._first, {}
        return raw_command(self.host, self.port, {**command, "lsid": self.lsid, "txnNumber": bson.Int64(self.number), "autocommit": False,
                                                  **first, **more, "$db": db})

    def insert(self, collection, *documents, db="t", **more):
        return self.run({"insert": collection, "documents": list(documents), **more}, db)

    def update(self, collection, query, change, db="t", **more):
        return self.run({"update": collection, "updates": [{"q": query, "u": change, **more}]}, db)

    def find(self, collection, query=None, db="t", **more):
        """The documents, sorted by _id; fails the test where there is an error."""
        reply = self.run({"find": collection, "filter": query or {}, "sort": {"_id": 1}, **more}, db)
        assert reply["ok"] == 1, reply
        return reply["cursor"]["firstBatch"]

    def commit(self, **more):
        return self.run({"commitTransaction": 1, **more}, "admin")

    def abort(self, **more):
        return self.run({"abortTransaction": 1, **more}, "admin")


def refused(reply, code, *labels):
    """Fails the test unless the reply is this error with just these labels."""
    assert reply["ok"] == 0 and reply["code"] == code, reply
    assert reply.get("errorLabels", []) == list(labels), reply
    assert reply["codeName"], reply


def done(reply):
    """Fails the test where a statement didn't do what it should."""
    assert reply["ok"] == 1 and "writeErrors" not in reply and "writeConcernError" not in reply, reply
    return reply


def send(session, command):
    """The reply to a command of this session outside of its transactions."""
    return raw_command(session.host, session.port, command)

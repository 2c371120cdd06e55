"""Errors of writes that the driver didn't repeat, though it should have."""
from pymongo.errors import AutoReconnect, BulkWriteError, ServerSelectionTimeoutError, WriteConcernError
from pymongo.monitoring import CommandListener

WRITES = ("insert", "update", "delete", "findAndModify")
STEPPED_DOWN = (189, 11602)  # of a write concern


def _retryable(error):
    if isinstance(error, BulkWriteError):
        return not error.details["writeErrors"] and all(one["code"] in STEPPED_DOWN for one in error.details["writeConcernErrors"])
    if isinstance(error, WriteConcernError):
        return error.code in STEPPED_DOWN
    return isinstance(error, AutoReconnect) and not isinstance(error, ServerSelectionTimeoutError)


class Retries(CommandListener):
    """Listens to a client that one thread uses.

    PyMongo chooses a server, and looks then whether that server takes retryable writes. If its monitor has heard in between that
    the server isn't primary any more, the write is sent without a transaction number, and isn't repeated.
    """

    def __init__(self):
        self._numbered = True

    def counts(self, error):
        """Whether users would call the error a failure: all of them, but that of a write that lacked the retry it should have had."""
        numbered, self._numbered = self._numbered, True
        return numbered or not _retryable(error)

    def started(self, event):
        if event.command_name in WRITES:
            self._numbered = "txnNumber" in event.command

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass
